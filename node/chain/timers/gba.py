"""Gas Bidding Agents: what a due timer offers in this block (CIP-1 §7, D34).

A timer without an agent offers what it stated, and the default agent fills what it
left out. A custom agent is asked read-only, at its payer's cost; whatever it does
instead of answering, its timer gets the default bid, and everybody else the same
block. An answer is only ever two amounts.
"""

from msgspec import Struct

from node.chain.accounts import debit, load_account
from node.chain.block import Price, ReceiptKind
from node.chain.booking import book
from node.chain.context import BlockContext, ExecutionScope
from node.chain.messages import Call, process_entered
from node.chain.params import AGENT_CYCLES, U128_MAX
from node.chain.timers.timer import Timer
from node.primitives import codec
from node.primitives.types import NOTHING, ZERO_HASH, Address, Amount
from pvm import Meter, Outcome

HANDLERS = ("get_gas_bid", "getGasBid")
FEE_NAMES = ("max_fee_per_cycle", "max_priority_fee_per_cycle")
HEADROOM = 2
"""Lane basefees in the default maximum fee: five full blocks of growth (CIP-1 §7.1)."""


class Bid(Struct, frozen=True):
    """What a timer offers per cycle for its place in the lane, in base units."""

    max_fee: Amount
    """Bounds lane basefee and priority together; not the cycle basefee (D29)."""
    max_priority: Amount

    def priority(self, lane_basefee: int) -> Amount:
        """What is paid above the basefees: clamped, not refused (CIP-1 §3 step 6)."""
        return Amount(max(0, min(self.max_priority, self.max_fee - lane_basefee)))


def default_bid(timer: Timer, lane_basefee: int, p50: int) -> Bid:
    """What the timer stated; the default agent fills what is missing (D31)."""
    fee, priority = timer.max_fee_per_cycle, timer.max_priority_fee_per_cycle
    return fill_bid(fee, priority, lane_basefee, p50)


def fill_bid(
    fee: Amount | None, priority: Amount | None, lane_basefee: int, p50: int
) -> Bid:
    """What is stated, and what the default agent says for the rest (CIP-1 §7.1)."""
    stated = 0 if priority is None else priority
    return Bid(
        Amount(HEADROOM * lane_basefee + stated) if fee is None else fee,
        Amount(p50) if priority is None else priority,
    )


def last_bid(timer: Timer, lane_basefee: int, p50: int) -> Bid:
    """What it offers as far as is known without asking: its agent's last answer."""
    if timer.last_bid is not None:
        return Bid(*timer.last_bid)
    return default_bid(timer, lane_basefee, p50)


def bid_of(block: BlockContext, timer: Timer) -> tuple[Bid, bool]:
    """What a timer offers in this block, and whether its own agent answered it."""
    if timer.gba is not None:
        answer = _ask(block, timer, timer.gba)
        if answer is not None:
            return answer, True
    prices = block.prices
    return default_bid(timer, prices.basefee_lane, prices.p50_priority), False


def _ask(block: BlockContext, timer: Timer, agent: Address) -> Bid | None:
    """The agent's answer; None if there is none, or no budget to ask for it.

    Real cycles are charged to the fee payer and burned, also when the timer waits.
    """
    if block.agent_cycles + AGENT_CYCLES > block.timer_config.lane_gba_cycles:
        return None
    price = Price(block.prices.basefee_cycle, NOTHING, NOTHING, NOTHING)
    available = load_account(block.journal, timer.fee_payer).balance
    if available < price.cost(AGENT_CYCLES, 0):
        _emit_failed(block, timer, "InsufficientBalance")
        return None
    execution = ExecutionScope(
        block=block,
        kind=ReceiptKind.AGENT,
        origin=ZERO_HASH,
        payer=timer.fee_payer,
        price=price,
        signer=None,
        timer_id=timer.timer_id,
    )
    call = Call(
        agent, timer.actor, HANDLERS, _context(block, timer), is_structured=True
    )
    outcome, used = _run(execution, call)
    debit(block.journal, timer.fee_payer, price.cost(used.cycles_used, 0))
    block.burned_cycle += used.cycles_used * price.cycle_burn
    book(execution, used, outcome, id_=timer.timer_id, call=call)
    answer = _read(outcome.value) if outcome.failure is None else None
    if answer is None:
        kind = "Answer" if outcome.failure is None else outcome.failure.kind
        _emit_failed(block, timer, kind)
    return answer


def _run(execution: ExecutionScope, call: Call) -> tuple[Outcome, Meter]:
    """What came of the question, and the cycles of it: its cells are free."""
    block = execution.block
    meter = Meter(AGENT_CYCLES, block.params.block_cells, read_only=True)
    base = block.timer_config.fire_base_cycles
    outcome = process_entered(execution, call, meter, base)
    used = Meter(AGENT_CYCLES, 0)
    used.charge_cycles(meter.cycles_used)
    return outcome, used


def _context(block: BlockContext, timer: Timer) -> bytes:
    """CIP-1 §7.2, name by name; balances are those before the charge (D34)."""
    prices = block.prices
    return codec.encode(
        {
            "trigger_block_height": timer.height,
            "current_block_height": block.height,
            "basefee_cycle": prices.basefee_cycle,
            "basefee_cell": prices.basefee_cell,
            "basefee_lane_timer": prices.basefee_lane,
            "last_block_cycle_usage": block.before.last_cycles_used,
            "previous_block_p50_priority_tip_per_cycle": prices.p50_priority,
            "owner_actor_balance": load_account(block.journal, timer.actor).balance,
        }
    )


def _read(value: bytes) -> Bid | None:
    """A dict with the two fees' names, or a list of the two; amounts, no bools."""
    try:
        answer = codec.decode(value)
    except codec.MalformedCbor:
        return None
    fees = [answer.get(n) for n in FEE_NAMES] if isinstance(answer, dict) else answer
    if not isinstance(fees, list) or len(fees) != len(FEE_NAMES):
        return None
    fee, priority = fees
    if type(fee) is not int or type(priority) is not int:
        return None
    if not (0 <= fee <= U128_MAX and 0 <= priority <= U128_MAX):
        return None
    return Bid(Amount(fee), Amount(priority))


def _emit_failed(block: BlockContext, timer: Timer, reason: str) -> None:
    block.emit(
        "GbaFailed", timer_id=timer.timer_id, gba=timer.gba or b"", reason=reason
    )
