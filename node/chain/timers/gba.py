"""Gas Bidding Agents: what a due timer offers in this block (CIP-1 §7, D34, D45).

A timer without an agent offers what it stated, and the default agent fills what it
left out. A custom agent is asked read-only, at its payer's cost; whatever it does
instead of answering, its timer gets the default bid, and everybody else the same
block. An answer is only ever two amounts.
"""

from collections.abc import Callable

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
HEADROOM = 2
"""Basefees in the default maximum fee: five full blocks of growth (CIP-1 §7.1)."""


class Bid(Struct, frozen=True):
    """What a timer offers per cycle for its place in the lane, in base units."""

    max_fee: Amount
    """Bounds basefee and priority together. Under `auction` the basefee is the lane's,
    not the cycle's (D29); under `bidding`, which has no other, it is the cycle's."""
    max_priority: Amount

    def priority(self, basefee: int) -> Amount:
        """What is paid above the basefees: clamped, not refused (CIP-1 §3 step 6)."""
        return Amount(max(0, min(self.max_priority, self.max_fee - basefee)))


class Inquiry(Struct, frozen=True):
    """How a set of rules asks agents."""

    context: Callable[[BlockContext, Timer], dict[bytes | int | str, codec.Value]]
    """What an agent is told, by name."""
    answers: tuple[str, str]
    """Names of the maximum fee and of the priority in what it answers."""


def default_bid(timer: Timer, basefee: int, p50: int) -> Bid:
    """What the timer stated; the default agent fills what is missing (D31)."""
    fee, priority = timer.max_fee_per_cycle, timer.max_priority_fee_per_cycle
    return fill_bid(fee, priority, basefee, p50)


def fill_bid(
    fee: Amount | None, priority: Amount | None, basefee: int, p50: int
) -> Bid:
    """What is stated, and what the default agent says for the rest (CIP-1 §7.1)."""
    stated = 0 if priority is None else priority
    return Bid(
        Amount(HEADROOM * basefee + stated) if fee is None else fee,
        Amount(p50) if priority is None else priority,
    )


def last_bid(timer: Timer, basefee: int, p50: int) -> Bid:
    """What it offers as far as is known without asking: its agent's last answer."""
    if timer.last_bid is not None:
        return Bid(*timer.last_bid)
    return default_bid(timer, basefee, p50)


def bid_of(
    block: BlockContext, timer: Timer, inquiry: Inquiry, default: Bid
) -> tuple[Bid, bool]:
    """What a timer offers in this block, and whether its own agent answered it."""
    answer = None if timer.gba is None else _ask(block, timer, timer.gba, inquiry)
    return (default, False) if answer is None else (answer, True)


def _ask(
    block: BlockContext, timer: Timer, agent: Address, inquiry: Inquiry
) -> Bid | None:
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
    told = codec.encode(inquiry.context(block, timer))
    call = Call(agent, timer.actor, HANDLERS, told, is_structured=True)
    outcome, used = _run(execution, call)
    debit(block.journal, timer.fee_payer, price.cost(used.cycles_used, 0))
    block.burned_cycle += used.cycles_used * price.cycle_burn
    book(execution, used, outcome, id_=timer.timer_id, call=call)
    is_heard = outcome.failure is None
    answer = _read(outcome.value, inquiry.answers) if is_heard else None
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


def common_context(
    block: BlockContext, timer: Timer
) -> dict[bytes | int | str, codec.Value]:
    """CIP-1v1 §4.2, name by name; balances are those before the charge (D34)."""
    prices = block.prices
    return {
        "trigger_block_height": timer.height,
        "current_block_height": block.height,
        "basefee_cycle": prices.basefee_cycle,
        "basefee_cell": prices.basefee_cell,
        "last_block_cycle_usage": block.before.last_cycles_used,
        "owner_actor_balance": load_account(block.journal, timer.actor).balance,
    }


def _read(value: bytes, names: tuple[str, str]) -> Bid | None:
    """A dict with the two fees' names, or a list of the two; amounts, no bools."""
    try:
        answer = codec.decode(value)
    except codec.MalformedCbor:
        return None
    fees = [answer.get(n) for n in names] if isinstance(answer, dict) else answer
    if not isinstance(fees, list) or len(fees) != len(names):
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
