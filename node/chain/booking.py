"""Booking: the one place where a block takes what an execution did and used.

An execution that ended stands in its `ExecutionScope`, whose side effects are what was
not undone. `book` lets the timer store and the mailbox take them (D18), makes the
receipt, the events and the entries of the timer trace, and adds to what the block used:
cycles by lane, cells, written keys. Money is settled before (`fees.settle`).
"""

from typing import TYPE_CHECKING

from node.chain.block import Receipt, ReceiptKind
from node.chain.context import BlockContext, ExecutionScope, system_event
from node.chain.effects import (
    CodeReplaced,
    Effect,
    EventEmitted,
    FireCancelled,
    MessageSent,
    RandomnessDrawn,
    StorageWritten,
    TimerCancelled,
    TimerEffect,
    TimerExtended,
    TimerScheduled,
    TimerUpdated,
    Transferred,
)
from node.chain.mailbox import enqueue
from node.chain.messages import Call
from node.chain.timers import calendar
from node.chain.timers.funding_hint import funding_hint
from node.chain.timers.ruleset import FeeTerms
from node.chain.timers.timer import Decision, Timer, TimerDecision
from node.chain.upgrades import UPGRADED, install_code
from pvm import Meter, Outcome

if TYPE_CHECKING:
    from node.primitives import codec
    from node.primitives.types import Address


def book(
    execution: ExecutionScope, meter: Meter, outcome: Outcome, *, id_: bytes, call: Call
) -> Receipt:
    """Close an execution: all that it did and used enters the block."""
    block, effects = execution.block, execution.effects
    scheduled = take_effects(execution)
    receipt = Receipt(
        kind=execution.kind,
        index=execution.receipt_index,
        id=id_,
        origin=execution.origin,
        sender=call.sender,
        actor=call.actor,
        handler=execution.handler or call.handlers[0],
        payer=execution.payer,
        cycles_limit=meter.cycles_limit,
        cells_limit=meter.cells_limit,
        cycles_used=meter.cycles_used,
        cells_used=meter.cells_used,
        price=execution.price,
        cycles_held=meter.cycles_reserved,
        cells_held=meter.cells_reserved,
        value=outcome.value,
        failure=outcome.failure,
        scheduled=tuple([timer.timer_id for timer in scheduled]),
        hint=outcome.hint or funding_hint(block, scheduled),
        delivery=execution.delivery,
    )
    block.writes += len(effects.written)
    block.cells += receipt.cells_used
    match receipt.kind:
        case ReceiptKind.TRANSACTION:
            block.user_cycles += receipt.cycles_used
        case ReceiptKind.FIRE:
            block.timer_cycles += receipt.cycles_used
        case ReceiptKind.ENGINE_MESSAGE | ReceiptKind.MAILBOX_MESSAGE:
            block.deferred_cycles += receipt.cycles_used
        case ReceiptKind.AGENT:
            block.agent_cycles += receipt.cycles_used
    if execution.output is not None:
        block.outputs[receipt.index] = execution.output.output()
    block.receipts.append(receipt)
    return receipt


def take_effects(execution: ExecutionScope) -> list[Timer]:
    """Let the block take all that stands of an execution; the timers it scheduled.

    A timer that was changed many times is written once: its payload may be long, and
    nobody paid for writing it (CIP-5 §6.1).
    """
    block, effects = execution.block, execution.effects
    scheduled: list[Timer] = []
    replaced: dict[Address, CodeReplaced] = {}
    changed: dict[int, tuple[Timer, Timer]] = {}  # sequence → as it was, as it is now
    for effect in effects.log:
        match effect:
            case TimerScheduled(timer):
                scheduled.append(timer)
            case TimerExtended(before, timer) | TimerUpdated(before, timer):
                first, _ = changed.get(timer.sequence, (before, timer))
                changed[timer.sequence] = first, timer
            case TimerCancelled(timer) if timer.sequence in changed:
                _rewrite(block, *changed.pop(timer.sequence))
            case CodeReplaced(actor):
                replaced.pop(actor, None)
                replaced[actor] = effect  # the last of an actor's wins (D58)
            case _:
                pass
        _take(execution, effect)
    for before, timer in changed.values():
        _rewrite(block, before, timer)
    for one in replaced.values():
        numbers = install_code(block.journal, one.actor, one.code, one.code_hash)
        block.events.append(system_event(UPGRADED, numbers, execution.receipt_index))
    block.timer_sequence += effects.timers_scheduled
    block.messages_queued += effects.messages_sent
    return scheduled


def _take(execution: ExecutionScope, effect: Effect) -> None:
    """Let the stores take an effect (D18), and the timer trace and events tell it.

    Changes of live timers are `take_effects`'s.
    """
    match effect:
        case EventEmitted(event):
            execution.block.events.append(event)
        case MessageSent(message):
            enqueue(execution.block.journal, message)
        case Transferred() | StorageWritten() | RandomnessDrawn() | CodeReplaced():
            pass  # the journal has what they changed; `take_effects` replaces code
        case _:
            _take_timer(execution, effect)


def _take_timer(execution: ExecutionScope, effect: TimerEffect) -> None:
    block = execution.block
    match effect:
        case TimerScheduled(timer, terms):
            calendar.insert(block.journal, timer)
            numbers = {"expires_at": timer.expires_at, "gas_limit": timer.gas_limit}
            if timer.is_watch:
                numbers["watch_keys"] = len(timer.watch_keys)
            _decide(execution, timer, Decision.SCHEDULED, numbers)
            _announce_scheduled(execution, timer, terms)
        case TimerExtended(_, timer):
            numbers = {"expires_at": int(timer.expires_at)}
            _decide(execution, timer, Decision.EXTENDED, numbers)
        case TimerUpdated(_, timer):
            numbers = {"gas_limit": timer.gas_limit, "bid_fp": timer.bid_fp}
            _decide(execution, timer, Decision.UPDATED, numbers)
        case TimerCancelled(timer, by):
            if calendar.remove_anywhere(block.journal, timer):
                block.due_book.forget(timer)
            _decide(execution, timer, Decision.CANCELLED, {}, by)
        case FireCancelled(timer, refund):
            block.queue[timer.timer_id].is_cancelled = True
            numbers = {"refunded": int(refund)}
            _decide(execution, timer, Decision.CANCELLED, numbers, "actor")


def _rewrite(block: BlockContext, before: Timer, timer: Timer) -> None:
    """A live timer's record is another; of a watch the place may be (D51)."""
    if timer.height == before.height:
        if calendar.replace_anywhere(block.journal, timer):
            block.due_book.amend(before, timer)
    else:
        calendar.move(block.journal, before, timer)
        block.due_book.forget(before)


def _announce_scheduled(
    execution: ExecutionScope, timer: Timer, terms: FeeTerms
) -> None:
    block, index = execution.block, execution.receipt_index
    data: dict[str, codec.Value] = {
        "timer_id": timer.timer_id,
        "actor": timer.actor,
        "height": timer.height,
        "fee_payer": timer.fee_payer,
        "gas_limit": timer.gas_limit,
        "expires_at": timer.expires_at,
        "expires_before_due": timer.expires_at < timer.height,
    }
    if timer.is_watch:  # which sees nothing of the block that registered it
        data["height"] = None
        data["expires_before_due"] = timer.expires_at <= block.height
        data["watch_keys"] = len(timer.watch_keys)
    if timer.other_target is not None:
        data["target"] = timer.other_target
    block.events.append(system_event("TimerScheduled", data, index))
    announcement = block.rule_set.announcement(timer, terms)
    if announcement is not None:
        block.events.append(system_event(*announcement, index))


def _decide(
    execution: ExecutionScope,
    timer: Timer,
    decision: Decision,
    numbers: dict[str, int],
    reason: str = "",
) -> None:
    height = execution.block.height
    execution.block.trace.append(
        TimerDecision(
            timer.timer_id,
            timer.actor,
            timer.fee_payer,
            timer.height,
            decision,
            reason,
            {"current_height": height, "sequence": timer.sequence, **numbers},
            execution.receipt_index,
            execution.origin,
        )
    )
