"""The timer lane: what every rule set shares (CIP-5 §5, §6).

classify → order → gate → charge → fire → settle → put off. A rule set says in which
order and at which price (`ruleset.RuleSet.run_lane`); the steps themselves, and the
record of each decision with the numbers compared, are here.
"""

from collections.abc import Mapping
from heapq import merge
from operator import itemgetter
from types import MappingProxyType

from msgspec.structs import replace

from node.chain.accounts import Account, credit, load_account, save_account
from node.chain.block import ReceiptKind
from node.chain.booking import book
from node.chain.context import BlockContext, ExecutionScope, QueuedFire
from node.chain.fees import settle
from node.chain.messages import Call, process_entered
from node.chain.params import GC_CYCLES_PER_REMOVAL, WRITES_BEFORE_DEFERRED_STOP
from node.chain.timers import calendar
from node.chain.timers.tiers import Held
from node.chain.timers.timer import (
    Decision,
    Timer,
    TimerDecision,
    decode_timer,
    route_payload,
)
from node.primitives.types import ZERO_HASH, Amount
from pvm import FireContext, Meter

DEFAULT_HANDLERS = ("handle_timer", "on_timer")
"""The second only where the first is absent (D12)."""
NO_STORY: Mapping[str, int] = MappingProxyType({})
"""What rules tell of a decision in the timer trace beside what the lane compared."""


def due_timers(block: BlockContext) -> list[Timer]:
    """Those the block looks at: the first that are due (D8, D22).

    They are the parent's, as this block's transactions left them.
    """
    journal, parent = block.journal, block.calendar
    changed, timers = journal.changed_keys(), list[Timer]()
    found = parent.due(block.height)
    if block.returned:  # of which the parent's calendar knows nothing
        again = ((key, Held(None)) for key in sorted(block.returned))
        found = merge(found, again, key=itemgetter(0))
    for key, held in found:
        if len(timers) == block.timer_config.max_due_examined:
            break
        if key not in changed:
            timers.append(held.timer(key, parent.reader))
        elif (record := journal.get(key)) is not None:
            timers.append(decode_timer(key, record))
    return timers


def has_gc_budget(block: BlockContext) -> bool:
    """Whether one more removal fits the cleanup lane (CIP-5 §6.5)."""
    budget = block.timer_config.gc_cycles_per_block
    return block.gc_cycles + GC_CYCLES_PER_REMOVAL <= budget


def expire(block: BlockContext, timer: Timer) -> bool:
    """Remove an expired timer under the GC budget; False if it has to wait."""
    numbers: dict[str, int] = {"expires_at": timer.expires_at}
    if not _collect(block, timer, Decision.EXPIRED, numbers):
        return False
    block.emit(
        "TimerExpired",
        timer_id=timer.timer_id,
        expires_at=timer.expires_at,
        current_height=block.height,
    )
    return True


def remove_unfunded(
    block: BlockContext,
    timer: Timer,
    required: int,
    available: int,
    story: Mapping[str, int] = NO_STORY,
) -> bool:
    """Destroy a timer whose payer cannot pay (CIP-5 §5.4 path 2); False if it waits."""
    numbers = {"required": required, "available": available, **story}
    if not _collect(block, timer, Decision.REMOVED_INSUFFICIENT_FUNDS, numbers):
        return False
    block.emit(
        "TimerCancelledInsufficientFunds",
        timer_id=timer.timer_id,
        fee_payer=timer.fee_payer,
        required=required,
        available=available,
        hint="keep one reserve of max_cost per pending timer",
    )
    return True


def _collect(
    block: BlockContext, timer: Timer, decision: Decision, numbers: dict[str, int]
) -> bool:
    if not has_gc_budget(block):
        put_off(
            block,
            timer,
            "gc",
            {
                **numbers,
                "gc_cycles_used": block.gc_cycles,
                "gc_cycles_limit": block.timer_config.gc_cycles_per_block,
            },
        )
        return False
    block.gc_cycles += GC_CYCLES_PER_REMOVAL
    if calendar.remove_anywhere(block.journal, timer):
        block.due_book.forget(timer)
    record(block, timer, decision, numbers=numbers)
    return True


def rewrite(block: BlockContext, old: Timer, new: Timer) -> None:
    """A note in the record: its place stays (D22)."""
    calendar.replace(block.journal, new)
    block.due_book.amend(old, new)


def put_off(
    block: BlockContext, timer: Timer, reason: str, numbers: dict[str, int]
) -> None:
    """Note why a timer waits; its record does not change (D22); no event."""
    record(block, timer, Decision.PUT_OFF, reason, numbers)


def available_funds(block: BlockContext, timer: Timer) -> Amount:
    """The present balance of the fee payer."""
    return load_account(block.journal, timer.fee_payer).balance


def pre_charge(
    block: BlockContext,
    queued: QueuedFire,
    payer: Account,
    record: bytes | None = None,
) -> None:
    """Debit max_cost, take the record out (CIP-5 §5.1 step 4, §6.3 step 4).

    `payer` is the account as it stands; it has enough. `record` is the timer's, if the
    caller knows it.
    """
    timer, left = queued.timer, payer.balance - queued.max_cost
    assert left >= 0, "who cannot pay is not charged"
    save_account(block.journal, timer.fee_payer, replace(payer, balance=left))
    calendar.remove(block.journal, timer, record)
    block.due_book.forget(timer)


def has_writes_left(block: BlockContext) -> bool:
    """The gate of written keys, which stands with the lane's (D43)."""
    return block.writes < WRITES_BEFORE_DEFERRED_STOP


def has_cells_left(block: BlockContext) -> bool:
    """The gate of cells, the last one before a fire (D8)."""
    cells = block.cells + block.timer_config.max_cells_per_fire
    return cells <= block.params.block_cells


def give_back(block: BlockContext, queued: QueuedFire) -> None:
    """Refund a queued fire whole and give its record back unchanged (D8, D21)."""
    timer = queued.timer
    credit(block.journal, timer.fee_payer, queued.max_cost)
    calendar.insert(block.journal, timer)


def put_off_for_writes(
    block: BlockContext, timer: Timer, story: Mapping[str, int] = NO_STORY
) -> None:
    """Note that the block changed too many keys for one more fire (D43)."""
    numbers = {"writes": block.writes, "limit": WRITES_BEFORE_DEFERRED_STOP}
    put_off(block, timer, "writes", {**numbers, **story})


def put_off_for_cells(
    block: BlockContext, timer: Timer, story: Mapping[str, int] = NO_STORY
) -> None:
    """Note that the block has no room for the cells of one more fire (D8)."""
    numbers = {
        "cells_used": block.cells,
        "cells_cap": block.timer_config.max_cells_per_fire,
        "cells_limit": block.params.block_cells,
    }
    put_off(block, timer, "cells", {**numbers, **story})


def fire(
    block: BlockContext,
    queued: QueuedFire,
    story: dict[str, int] | None = None,
    delivery: FireContext | None = None,
) -> None:
    """Execute a pre-charged fire under its budget and settle it (CIP-5 §5.2, §6.3).

    The story, which is nobody else's, becomes that of the decision.

    The handler of the target runs with the owner as its caller, who are one actor but
    under `globalbox` (D50), in a fresh transaction context with no parent; effects are
    kept on success and discarded on failure, charged either way.
    """
    timer = queued.timer
    execution = ExecutionScope(
        block=block,
        kind=ReceiptKind.FIRE,
        origin=ZERO_HASH,  # no parent transaction (CIP-5 §5.2)
        payer=timer.fee_payer,
        price=queued.price,
        signer=None,
        timer_id=timer.timer_id,
        delivery=delivery,
    )
    handler, payload = route_payload(timer.payload)
    handlers = (handler,) if handler else DEFAULT_HANDLERS
    call = Call(timer.target, timer.actor, handlers, payload)
    meter = Meter(queued.cycles_limit, block.timer_config.max_cells_per_fire)
    base = block.timer_config.fire_base_cycles
    outcome = process_entered(execution, call, meter, base)
    settle(block, timer.fee_payer, queued.price, meter)
    numbers = {} if story is None else story
    numbers["current_height"] = block.height
    numbers["sequence"] = timer.sequence
    numbers["expires_at"] = timer.expires_at
    numbers["max_cost"] = queued.max_cost
    numbers["available"] = queued.available
    numbers["limit"] = queued.cycles_limit
    numbers["reserved"] = queued.reserved
    numbers["lane"] = block.timer_config.lane_timer_cycles
    numbers["cycles_used"] = meter.cycles_used
    numbers["cells_used"] = meter.cells_used
    block.trace.append(
        TimerDecision(
            timer.timer_id,
            timer.actor,
            timer.fee_payer,
            timer.height,
            Decision.FIRED,
            "",
            numbers,
            execution.receipt_index,
        )
    )
    book(execution, meter, outcome, id_=timer.timer_id, call=call)


def record(
    block: BlockContext,
    timer: Timer,
    decision: Decision,
    reason: str = "",
    numbers: Mapping[str, int] = NO_STORY,
) -> None:
    """One entry of the block's timer trace, with the numbers compared (D17)."""
    block.trace.append(
        TimerDecision(
            timer.timer_id,
            timer.actor,
            timer.fee_payer,
            timer.height,
            decision,
            reason,
            {"current_height": block.height, "sequence": timer.sequence, **numbers},
        )
    )
