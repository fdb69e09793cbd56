"""Fees: what an execution costs, where it goes, and what the next block asks (D7).

Money moves in two steps. Before an execution its limit times the price is debited
(pre-charge); afterwards what was used is split into burned and tipped parts, what was
set aside for messages stays held, and the rest goes back (CIP-5 §6.3).
"""

from typing import TYPE_CHECKING

from node.chain.accounts import credit
from node.chain.block import Price
from node.chain.params import BasefeeConfig
from node.chain.transaction import Body
from node.primitives.types import Address, Amount
from pvm import Meter

if TYPE_CHECKING:
    from node.chain.context import BlockContext


def effective_tip(priority: int, max_fee: int, basefee: int) -> int:
    """min(priority, max_fee - basefee) (D7); negative while the basefee is above."""
    return min(priority, max_fee - basefee)


def transaction_price(body: Body, basefee_cycle: int, basefee_cell: int) -> Price:
    """What a transaction pays per unit; both maximum fees reach their basefee."""
    return Price(
        cycle_burn=Amount(basefee_cycle),
        cycle_tip=Amount(
            effective_tip(
                body.max_priority_fee_per_cycle, body.max_fee_per_cycle, basefee_cycle
            )
        ),
        cell_burn=Amount(basefee_cell),
        cell_tip=Amount(
            effective_tip(
                body.max_priority_fee_per_cell, body.max_fee_per_cell, basefee_cell
            )
        ),
    )


def settle(block: "BlockContext", payer: Address, price: Price, meter: Meter) -> None:
    """Burn and tip what was used, refund what is neither used nor held.

    CIP-5 §6.3 steps 6 and 7; the limit times the price was debited before. What the
    meter has reserved stays held by the messages that were sent (D14).
    """
    cycles, cells = meter.cycles_used, meter.cells_used
    block.burned_cycle += cycles * price.cycle_burn
    block.burned_lane += cycles * price.lane_burn
    block.burned_cell += cells * price.cell_burn
    tip = cycles * price.cycle_tip + cells * price.cell_tip
    credit(block.journal, block.params.proposer, tip)
    refund = price.cost(
        meter.cycles_limit - meter.cycles_reserved - cycles,
        meter.cells_limit - meter.cells_reserved - cells,
    )
    credit(block.journal, payer, refund)


def next_basefee(basefee: int, used: int, target: int, config: BasefeeConfig) -> Amount:
    """The basefee of the next block (D7); every division floors.

    delta = basefee · |used - target| / target / alpha, at most basefee / denom, then
    at least 1 when use was above the target; never below `min_basefee`.
    """
    delta = basefee * abs(used - target) // target // config.alpha
    delta = min(delta, basefee // config.denom)
    if used > target:
        return Amount(max(config.min_basefee, basefee + max(1, delta)))
    return Amount(max(config.min_basefee, basefee - delta))


def idle_basefee(
    basefee: int, target: int, config: BasefeeConfig, blocks: int
) -> Amount:
    """The basefee after `blocks` empty blocks (D36).

    It falls until it repeats: at most 322 steps from 2⁶⁴ at denom 8, 38,012 at 1,000.
    """
    for _ in range(blocks):
        following = next_basefee(basefee, 0, target, config)
        if following == basefee:
            break
        basefee = following
    return Amount(basefee)


LANE_STEP_DIVISOR = 8  # of the lane basefee: ±12.5 % a block (CIP-1 §5)
LANE_BASEFEE_MIN = 1


def next_lane_basefee(basefee: int, used: int, lane: int) -> Amount:
    """The timer lane's basefee of the next block under `auction` (CIP-1 §5, D30).

    delta = basefee · (2 · used - lane) / lane rounded toward zero, at least 1 unless
    just half of the lane was used, at most an eighth; never below 1.
    """
    distance = 2 * used - lane
    if distance == 0:
        return Amount(max(LANE_BASEFEE_MIN, basefee))
    delta = max(1, basefee * abs(distance) // lane)
    delta = min(delta, max(1, basefee // LANE_STEP_DIVISOR))
    following = basefee + delta if distance > 0 else basefee - delta
    return Amount(max(LANE_BASEFEE_MIN, following))


def idle_lane_basefee(basefee: int, blocks: int) -> Amount:
    """The lane basefee after `blocks` empty blocks, whatever the lane's size (D36).

    It falls until it repeats: 328 steps from 2⁶⁴ at the most. 0, where the lane has
    none, stays.
    """
    for _ in range(blocks if basefee else 0):
        following = next_lane_basefee(basefee, 0, 1)
        if following == basefee:
            break
        basefee = following
    return Amount(basefee)
