"""Traces and changes out of protobuf."""

from node.chain.block import ReadOnlyResult
from node.client.decoding import (
    failure_from_proto,
    receipt_from_proto,
    timer_from_proto,
)
from node.primitives.types import Address, Height
from node.query.trace.records import (
    BalanceChange,
    CallRefused,
    Changes,
    CodeChange,
    EventMade,
    ExecutionTrace,
    MessageQueued,
    ReadTrace,
    Step,
    StorageChange,
    StorageWrite,
    TimerReplaced,
    TimerTouched,
    TracedCall,
    TracedFrame,
    TransferMade,
    UpgradeMade,
)
from node.rpc.v1 import queries_pb2, types_pb2
from node.rpc.v1 import traces_pb2 as pb
from pvm.output import Printed, Printout
from pvm.tools.frames import LocalVariable

__all__ = [
    "call_from_proto",
    "changes_from_proto",
    "printout_from_proto",
    "read_trace_from_proto",
    "trace_from_proto",
]


def trace_from_proto(message: pb.ExecutionTrace) -> ExecutionTrace:
    """A trace with its receipt and what was changed."""
    return ExecutionTrace(
        Height(message.height),
        receipt_from_proto(message.receipt),
        call_from_proto(message.call) if message.HasField("call") else None,
        changes_from_proto(message.changes),
    )


def call_from_proto(message: pb.TracedCall) -> TracedCall:
    """A call with all below it."""
    failed = message.HasField("error")
    return TracedCall(
        Address(message.actor),
        message.handler,
        Address(message.sender),
        int(message.value),
        message.payload,
        message.returned,
        failure_from_proto(message.error) if failed else None,
        message.cycles,
        message.cells,
        message.own_cycles,
        message.own_cells,
        tuple(map(_step_from_proto, message.steps)),
        tuple(map(_frame_from_proto, message.frames)),
        message.cut,
        message.cut_cycles,
        message.cut_cells,
    )


def read_trace_from_proto(message: queries_pb2.CallReadOnlyResponse) -> ReadTrace:
    """A read-only call with the calls that it made."""
    is_failed = message.status != types_pb2.EXECUTION_STATUS_SUCCEEDED
    result = ReadOnlyResult(
        message.value,
        failure_from_proto(message.error) if is_failed else None,
        message.cycles_used,
        message.cells_used,
        printout_from_proto(message.output),
    )
    return ReadTrace(result, call_from_proto(message.trace))


def _frame_from_proto(message: pb.TracedFrame) -> TracedFrame:
    return TracedFrame(
        Address(message.actor),
        message.function,
        message.line,
        message.source,
        tuple(LocalVariable(one.name, one.text) for one in message.variables),
    )


def _step_from_proto(  # noqa: C901, PLR0911 - a line for each kind
    message: pb.TraceStep,
) -> Step:
    match message.WhichOneof("step"):
        case "storage":
            return StorageWrite(message.storage.key, *_pair(message.storage))
        case "transfer":
            transfer = message.transfer
            return TransferMade(Address(transfer.to), int(transfer.amount))
        case "event":
            return EventMade(message.event.topic, message.event.data)
        case "timer":
            timer = message.timer
            return TimerTouched(
                timer.what,
                timer.timer_id,
                timer.height,
                timer.expires_at,
                timer.payload,
            )
        case "message":
            return _queued_from_proto(message.message)
        case "upgrade":
            return UpgradeMade(message.upgrade.code_hash)
        case "refused":
            return CallRefused(message.refused.name, message.refused.reason)
        case "printed":
            return _printed_from_proto(message.printed)
        case _:
            return call_from_proto(message.call)


def _queued_from_proto(message: pb.MessageQueued) -> MessageQueued:
    return MessageQueued(
        Address(message.target),
        message.handler,
        message.payload,
        message.cycles,
        message.cells,
        message.is_deferred,
    )


def _pair(
    message: pb.StorageWrite | pb.StorageChange,
) -> tuple[bytes | None, bytes | None]:
    return (
        message.before if message.HasField("before") else None,
        message.after if message.HasField("after") else None,
    )


def _printed_from_proto(message: types_pb2.Printed) -> Printed:
    return Printed(Address(message.actor), message.level, message.text)


def printout_from_proto(message: types_pb2.Printout) -> Printout:
    """All that an execution wrote."""
    return Printout(tuple(map(_printed_from_proto, message.printed)), message.cut)


def changes_from_proto(message: pb.Changes) -> Changes:
    """What was changed."""
    return Changes(
        tuple(
            StorageChange(Address(one.actor), one.key, *_pair(one))
            for one in message.storage
        ),
        tuple(
            BalanceChange(Address(one.address), int(one.before), int(one.after))
            for one in message.balances
        ),
        tuple(map(_replaced_from_proto, message.timers)),
        tuple(
            CodeChange(Address(one.actor), one.before, one.after)
            for one in message.codes
        ),
        message.cut,
    )


def _replaced_from_proto(message: pb.TimerReplaced) -> TimerReplaced:
    return TimerReplaced(
        message.timer_id,
        timer_from_proto(message.before) if message.HasField("before") else None,
        timer_from_proto(message.after) if message.HasField("after") else None,
    )
