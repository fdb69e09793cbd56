"""Traces, changes and what was printed, as protobuf."""

from typing import TypeAlias

from node.chain.timers.timer import Timer
from node.query.trace.records import (
    CallRefused,
    Changes,
    EventMade,
    ExecutionTrace,
    MessageQueued,
    Step,
    StorageWrite,
    TimerTouched,
    TracedCall,
    TracedFrame,
    TransferMade,
    UpgradeMade,
)
from node.rpc import convert
from node.rpc.v1 import timers_pb2
from node.rpc.v1 import traces_pb2 as pb

__all__ = ["call_to_proto", "changes_to_proto", "trace_to_proto"]

_Step: TypeAlias = pb.TraceStep


def trace_to_proto(trace: ExecutionTrace) -> pb.ExecutionTrace:
    """A trace with its receipt and what was changed."""
    receipt = convert.receipt_to_proto(trace.receipt, trace.height)
    return pb.ExecutionTrace(
        height=trace.height,
        receipt=receipt,
        call=None if trace.call is None else call_to_proto(trace.call),
        changes=changes_to_proto(trace.changes),
    )


def call_to_proto(call: TracedCall) -> pb.TracedCall:
    """A call with all below it."""
    return pb.TracedCall(
        actor=call.actor,
        handler=call.handler,
        sender=call.sender,
        value=str(call.value),
        payload=call.payload,
        returned=call.returned,
        error=convert.failure_to_proto(call.failure),
        cycles=call.cycles,
        cells=call.cells,
        own_cycles=call.own_cycles,
        own_cells=call.own_cells,
        steps=map(_step_to_proto, call.steps),
        frames=map(_frame_to_proto, call.frames),
        cut=call.cut,
        cut_cycles=call.cut_cycles,
        cut_cells=call.cut_cells,
    )


def _frame_to_proto(frame: TracedFrame) -> pb.TracedFrame:
    return pb.TracedFrame(
        actor=frame.actor,
        function=frame.function,
        line=frame.line,
        source=frame.source,
        variables=[
            pb.LocalVariable(name=one.name, text=one.text) for one in frame.variables
        ],
    )


def _step_to_proto(  # noqa: C901, PLR0911 - a line for each kind
    step: Step,
) -> _Step:
    match step:
        case StorageWrite(key, before, after):
            return _Step(storage=pb.StorageWrite(key=key, before=before, after=after))
        case TransferMade(to, amount):
            return _Step(transfer=pb.TransferMade(to=to, amount=str(amount)))
        case EventMade(topic, data):
            return _Step(event=pb.EventMade(topic=topic, data=data))
        case TimerTouched():
            return _Step(timer=_touched_to_proto(step))
        case MessageQueued():
            return _Step(message=_queued_to_proto(step))
        case UpgradeMade(code_hash):
            return _Step(upgrade=pb.UpgradeMade(code_hash=code_hash))
        case CallRefused(name, reason):
            return _Step(refused=pb.CallRefused(name=name, reason=reason))
        case TracedCall():
            return _Step(call=call_to_proto(step))
        case _:
            return _Step(printed=convert.printed_to_proto(step))


def _touched_to_proto(step: TimerTouched) -> pb.TimerTouched:
    return pb.TimerTouched(
        what=step.what,
        timer_id=step.timer_id,
        height=step.height,
        expires_at=step.expires_at,
        payload=step.payload,
    )


def _queued_to_proto(step: MessageQueued) -> pb.MessageQueued:
    return pb.MessageQueued(
        target=step.target,
        handler=step.handler,
        payload=step.payload,
        cycles=step.cycles,
        cells=step.cells,
        is_deferred=step.is_deferred,
    )


def changes_to_proto(changes: Changes) -> pb.Changes:
    """What was changed."""
    return pb.Changes(
        storage=[
            pb.StorageChange(
                actor=one.actor, key=one.key, before=one.before, after=one.after
            )
            for one in changes.storage
        ],
        balances=[
            pb.BalanceChange(
                address=one.address, before=str(one.before), after=str(one.after)
            )
            for one in changes.balances
        ],
        timers=[
            pb.TimerReplaced(
                timer_id=one.timer_id,
                before=_timer_to_proto(one.before),
                after=_timer_to_proto(one.after),
            )
            for one in changes.timers
        ],
        codes=[
            pb.CodeChange(actor=one.actor, before=one.before, after=one.after)
            for one in changes.codes
        ],
        cut=changes.cut,
    )


def _timer_to_proto(timer: Timer | None) -> timers_pb2.Timer | None:
    return None if timer is None else convert.record_to_proto(timer)
