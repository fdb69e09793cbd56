"""Rules that are not the protocol's, for comparison, in force while a context lasts.

The consensus code knows nothing of them. A variant puts another rule set into the
table that the transition reads, or another function where the auction asks for
weights; all else of a block is the chain's own.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from msgspec.structs import replace
from typing_extensions import override

from node.chain import transition
from node.chain.accounts import load_account
from node.chain.block import Price, ReceiptKind
from node.chain.context import BlockContext, ExecutionScope
from node.chain.fees import LANE_BASEFEE_MIN
from node.chain.globals import BlockPrices, Globals
from node.chain.params import U128_MAX
from node.chain.reader import Reader
from node.chain.timers import auction_lane, fairness
from node.chain.timers.auction_lane import fire_price
from node.chain.timers.gba import Bid
from node.chain.timers.rules import RULE_SETS
from node.chain.timers.rules.auction import Auction
from node.chain.timers.ruleset import FeeTerms
from node.chain.timers.timer import Decision, Timer
from node.primitives.types import NOTHING, PPM, Address, Amount
from node.state.journal import Journal
from pvm import ScheduleRequest

STEP_DIVISOR = 8
"""Of a bid that was not enough: programs raise theirs as fast as the lane basefee."""
SUBSIDY_PERMILLE = 800
_PERMILLE = 1_000
_SCALE = 2**20
"""Of smoothed medians, which are whole numbers like all else."""


# --- a first-price auction ------------------------------------------------------------


class FirstPrice(Auction):
    """Pay what you bid, highest first; no lane basefee, no fairness.

    Who states no tip lets a program bid: a step above the lowest bid that was enough
    in the block before if somebody had to wait, nothing if nobody had to.
    """

    @override
    def next_prices(self, block: BlockContext) -> tuple[Amount, Amount]:
        tips = [r.price.cycle_tip for r in block.receipts if r.kind is ReceiptKind.FIRE]
        is_crowded = any(
            d.decision is Decision.PUT_OFF and d.reason == "lane" for d in block.trace
        )
        if not tips or not is_crowded:
            return Amount(LANE_BASEFEE_MIN), NOTHING
        enough = min(tips)
        bid = enough + max(1, enough // STEP_DIVISOR)
        return Amount(LANE_BASEFEE_MIN), Amount(bid)


def _first_price_bid(timer: Timer, _lane_basefee: int, enough: int) -> Bid:
    fee = U128_MAX if timer.max_fee_per_cycle is None else timer.max_fee_per_cycle
    stated = timer.max_priority_fee_per_cycle or 0
    return Bid(Amount(fee), Amount(max(stated, enough)))


class _NoWeights(fairness.Weights):
    @override
    def of(self, actor: Address) -> int:
        return PPM


# --- weights --------------------------------------------------------------------------


class _DeployerWeights(fairness.Weights):
    """W of all actors that one account deployed together."""

    @override
    def of(self, actor: Address) -> int:
        return super().of(_deployer(self.reader, actor))


def _deployer(reader: Reader, actor: Address) -> Address:
    return Address(load_account(reader, actor).deployer)


_note = fairness.note


def _note_deployers(
    journal: Journal, height: int, fires: Mapping[Address, int]
) -> None:
    together: dict[Address, int] = {}
    for actor, count in fires.items():
        deployer = _deployer(journal, actor)
        together[deployer] = together.get(deployer, 0) + count
    _note(journal, height, together)


_Weights = fairness.Weights


def _smoothed(blocks: int) -> Callable[[Reader], fairness.Weights]:
    """Weights around a median that follows the network's by 1/blocks a block."""
    smooth: list[int] = []

    def weights(reader: Reader) -> fairness.Weights:
        median = fairness.network_median(reader) * _SCALE
        if not smooth:
            smooth.append(median)
        smooth[0] += (median - smooth[0]) // blocks
        return _Weights(reader, smooth[0] // _SCALE)

    return weights


# --- clamping -------------------------------------------------------------------------


class ClampedLate(Auction):
    """A stated tip is recorded as it was stated; each block clamps it for itself."""

    @override
    def validate_terms(
        self, execution: ExecutionScope, request: ScheduleRequest
    ) -> FeeTerms:
        found = super().validate_terms(execution, request)
        if found.clamped_from is None:
            return found
        return replace(
            found, max_priority_fee_per_cycle=found.clamped_from, clamped_from=None
        )


# --- a subsidy ------------------------------------------------------------------------


class Subsidised(Auction):
    """The lane basefee is charged at 0.8 of what the controller says."""

    def __init__(self) -> None:
        self._full = NOTHING

    @override
    def enter(self, block: BlockContext, *, is_first: bool) -> None:
        super().enter(block, is_first=is_first)
        self._full = block.prices.basefee_lane
        block.prices = replace(block.prices, basefee_lane=_subsidised(self._full))

    @override
    def next_prices(self, block: BlockContext) -> tuple[Amount, Amount]:
        prices = block.prices
        block.prices = replace(prices, basefee_lane=self._full)
        following = super().next_prices(block)
        block.prices = prices
        return following


def _subsidised(fee: int) -> Amount:
    return Amount(max(1, fee * SUBSIDY_PERMILLE // _PERMILLE))


def _subsidised_price(prices: BlockPrices, tip: Amount) -> Price:
    price = fire_price(prices, tip)
    return replace(price, cycle_burn=_subsidised(price.cycle_burn))


def cycle_price(name: str, globals_: Globals) -> int:
    """What a fire pays for a cycle in the next block, without a tip."""
    cycle, lane = globals_.basefee_cycle, globals_.basefee_lane
    if name.startswith("subsidy"):
        lane = _subsidised(lane)
    return lane + (_subsidised(cycle) if name == "subsidy-all" else cycle)


# --- which there are ------------------------------------------------------------------


@contextmanager
def in_force(name: str) -> Iterator[None]:
    """Let a variant hold in this process; "auction" and "fifo" are the chain's own."""
    with ExitStack() as stack:
        for target, attribute, value in _patches(name):
            stack.enter_context(patch.object(target, attribute, value))
        yield


def _patches(name: str) -> list[tuple[object, str, object]]:
    family, _, blocks = name.partition(":")
    lane_only: list[tuple[object, str, object]] = [
        (transition, "RULE_SETS", {**RULE_SETS, "auction": Subsidised()})
    ]
    table: dict[str, list[tuple[object, str, object]]] = {
        "auction": [],
        "fifo": [],
        "first-price": [
            (transition, "RULE_SETS", {**RULE_SETS, "auction": FirstPrice()}),
            (auction_lane, "default_bid", _first_price_bid),
            (fairness, "Weights", _NoWeights),
        ],
        "per-deployer": [
            (fairness, "Weights", _DeployerWeights),
            (fairness, "note", _note_deployers),
        ],
        "clamped-late": [
            (transition, "RULE_SETS", {**RULE_SETS, "auction": ClampedLate()})
        ],
        "smoothed": [(fairness, "Weights", _smoothed(int(blocks or 1)))],
        "subsidy-lane": [*lane_only],
        "subsidy-all": [
            *lane_only,
            (auction_lane, "fire_price", _subsidised_price),
        ],
    }
    return table[family]
