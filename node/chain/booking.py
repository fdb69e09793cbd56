"""Booking: the one place where a block takes what an execution did and used.

An execution that ended stands in its `ExecutionScope`, whose side effects are what was
not undone. `book` lets the timer store and the mailbox take them (D18), makes the
receipt, the events and the entries of the timer trace, and adds to what the block used:
cycles by lane, cells, written keys. Money is settled before (`fees.settle`).
"""

from collections.abc import Iterator

from node.chain.block import Event, Receipt, ReceiptKind
from node.chain.context import BlockContext, ExecutionScope, system_event
from node.chain.effects import (
    Effect,
    EventEmitted,
    FireCancelled,
    MessageSent,
    TimerCancelled,
    TimerExtended,
    TimerScheduled,
)
from node.chain.mailbox import enqueue
from node.chain.messages import Call
from node.chain.timers import calendar
from node.chain.timers.funding_hint import funding_hint
from node.chain.timers.timer import Decision, Timer, TimerDecision
from node.primitives import codec
from pvm import Meter, Outcome


def book(
    execution: ExecutionScope, meter: Meter, outcome: Outcome, *, id_: bytes, call: Call
) -> Receipt:
    """Close an execution: all that it did and used enters the block."""
    block, effects = execution.block, execution.effects
    for effect in effects.entries:
        _take(block, effect)
    block.timer_sequence += effects.count(TimerScheduled)
    block.messages_queued += effects.count(MessageSent)
    scheduled = effects.scheduled
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
    )
    block.events.extend(_events(execution))
    block.trace.extend(_decisions(execution))
    block.writes += effects.writes
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
    block.receipts.append(receipt)
    return receipt


def _take(block: BlockContext, effect: Effect) -> None:
    """Let the timer store or the mailbox take an effect."""
    match effect:
        case TimerScheduled(timer):
            calendar.insert(block.journal, timer)
        case TimerExtended(before, timer):
            calendar.replace(block.journal, timer)
            block.due_book.amend(before, timer)
        case TimerCancelled(timer):
            calendar.remove(block.journal, timer)
            block.due_book.forget(timer)
        case FireCancelled(timer):
            block.queue[timer.timer_id].is_cancelled = True
        case MessageSent(message):
            enqueue(block.journal, message)
        case _:
            pass


def _events(execution: ExecutionScope) -> Iterator[Event]:
    """What the side effects say to whoever watches, in order (D17)."""
    rules, index = execution.block.rule_set, execution.receipt_index
    for effect in execution.effects.entries:
        match effect:
            case EventEmitted(event):
                yield event
            case TimerScheduled(timer, terms):
                yield system_event("TimerScheduled", _scheduled(timer), index)
                announced = rules.announcement(timer, terms)
                if announced is not None:
                    yield system_event(*announced, index)
            case TimerExtended(_, timer, "governance"):
                numbers: dict[str, codec.Value] = {
                    "timer_id": timer.timer_id,
                    "expires_at": timer.expires_at,
                }
                yield system_event("timer.extended_by_governance", numbers, index)
            case TimerCancelled(timer, "governance"):
                numbers = {"timer_id": timer.timer_id}
                yield system_event("timer.cancelled_by_governance", numbers, index)
            case _:
                pass


def _scheduled(timer: Timer) -> dict[str, codec.Value]:
    return {
        "timer_id": timer.timer_id,
        "actor": timer.actor,
        "height": timer.height,
        "fee_payer": timer.fee_payer,
        "gas_limit": timer.gas_limit,
        "expires_at": timer.expires_at,
        "expires_before_due": timer.expires_at < timer.height,
    }


def _decisions(execution: ExecutionScope) -> Iterator[TimerDecision]:
    """What the side effects did to timers, in order, for the timer trace."""
    for effect in execution.effects.entries:
        match effect:
            case TimerScheduled(timer):
                numbers = {"expires_at": timer.expires_at, "gas_limit": timer.gas_limit}
                yield _decision(execution, timer, Decision.SCHEDULED, "", numbers)
            case TimerExtended(_, timer):
                numbers = {"expires_at": int(timer.expires_at)}
                yield _decision(execution, timer, Decision.EXTENDED, "", numbers)
            case TimerCancelled(timer, by):
                yield _decision(execution, timer, Decision.CANCELLED, by, {})
            case FireCancelled(timer, refund):
                numbers = {"refunded": int(refund)}
                yield _decision(execution, timer, Decision.CANCELLED, "actor", numbers)
            case _:
                pass


def _decision(
    execution: ExecutionScope,
    timer: Timer,
    decision: Decision,
    reason: str,
    numbers: dict[str, int],
) -> TimerDecision:
    return TimerDecision(
        timer.timer_id,
        timer.actor,
        timer.fee_payer,
        timer.height,
        decision,
        reason,
        {
            "current_height": execution.block.height,
            "sequence": timer.sequence,
            **numbers,
        },
        execution.receipt_index,
        execution.origin,
    )
