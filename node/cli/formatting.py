"""Messages of the node in words: rows of tables and lines."""

from collections.abc import Mapping

from node.cli.output import (
    amount,
    bytes_text,
    cbor_text,
    hexadecimal,
    returned_text,
)
from node.primitives.hex_repr import foreign
from node.rpc.v1 import dev_pb2, types_pb2

__all__ = [
    "EVENT_COLUMNS",
    "RECEIPT_COLUMNS",
    "dropped_text",
    "event_row",
    "failure_text",
    "header_fields",
    "is_success",
    "printed_text",
    "receipt_fields",
    "receipt_kind_text",
    "receipt_row",
]

EVENT_COLUMNS = ("height", "index", "emitter", "topic", "data")
RECEIPT_COLUMNS = ("index", "kind", "actor", "handler", "status", "cycles", "fee", "id")

_REFUSED_SOURCE = "CompileError"

_KINDS: Mapping[int, str] = {
    types_pb2.RECEIPT_KIND_TRANSACTION: "transaction",
    types_pb2.RECEIPT_KIND_FIRE: "fire",
    types_pb2.RECEIPT_KIND_ENGINE_MESSAGE: "engine message",
    types_pb2.RECEIPT_KIND_MAILBOX_MESSAGE: "mailbox message",
    types_pb2.RECEIPT_KIND_AGENT: "agent",
}


def receipt_kind_text(kind: int) -> str:
    """What was executed."""
    return _KINDS[kind]


def failure_text(error: types_pb2.ExecutionError) -> str:
    """Kind, message, place and hint of a failed execution.

    A refused source names its places itself, one a line.
    """
    place = ""
    if error.HasField("line") and error.kind != _REFUSED_SOURCE:
        handler = f" in {error.handler}" if error.handler else ""
        place = f"{handler}, line {error.line}"
    message = f": {error.message}" if error.message else ""
    hint = f" ({error.hint})" if error.hint else ""
    return f"{error.kind}{message}{place}{hint}"


def _stack_text(error: types_pb2.ExecutionError) -> str:
    """The calls that led to the failure, outermost first; nothing for a single one."""
    if len(error.stack) < 2:  # noqa: PLR2004 - the place says as much
        return ""
    return " > ".join(map(_frame_text, error.stack))


def _frame_text(frame: types_pb2.StackFrame) -> str:
    """`function:line`, of a callee behind its address."""
    whose = f"0x{frame.actor.hex()} " if frame.actor else ""
    return f"{whose}{frame.function}:{frame.line}"


def _address(address: bytes) -> str:
    """An address; a deployment that was refused has none."""
    return hexadecimal(address) if address else ""


def dropped_text(dropped: types_pb2.DroppedTransaction) -> str:
    """Why a transaction never entered a block."""
    return f"{dropped.reason}: {dropped.message}"


def is_success(receipt: types_pb2.Receipt) -> bool:
    """Whether the execution took effect."""
    return receipt.status == types_pb2.EXECUTION_STATUS_SUCCEEDED


def receipt_fields(
    receipt: types_pb2.Receipt, *, is_deployment: bool = False
) -> dict[str, str]:
    """What became of one execution; a deployment that failed left no actor."""
    is_there = is_success(receipt) or not is_deployment
    fields = {
        "status": "succeeded" if is_success(receipt) else "failed",
        "height": str(receipt.height),
        "kind": _KINDS[receipt.kind],
        "id": hexadecimal(receipt.id),
        "sender": hexadecimal(receipt.sender),
        "actor" if receipt.handler else "target": (
            _address(receipt.actor) if is_there else ""
        ),
        "handler": receipt.handler,
        "value": returned_text(receipt.value) if receipt.value else "",
        "cycles": f"{receipt.cycles_used:,} of {receipt.cycles_limit:,}",
        "cells": f"{receipt.cells_used:,} of {receipt.cells_limit:,}",
        "fee": amount(receipt.fee),
        **_fee_parts(receipt),
        "paid by": hexadecimal(receipt.payer),
    }
    if not is_success(receipt):
        fields["error"] = failure_text(receipt.error)
        fields["calls"] = _stack_text(receipt.error)
    for number, timer_id in enumerate(receipt.scheduled_timer_ids, 1):
        fields[f"timer {number}"] = hexadecimal(timer_id)
    names = (types_pb2.Warning.Name(warning) for warning in receipt.warnings)
    fields["warning"] = ", ".join(names)
    fields["hint"] = receipt.hint
    return {name: text for name, text in fields.items() if text}


def _fee_parts(receipt: types_pb2.Receipt) -> dict[str, str]:
    """Where the fee went: burned for cycles, cells and the timer lane, or tipped."""
    parts = {
        "burned for cycles": receipt.burned_cycle,
        "burned for cells": receipt.burned_cell,
        "burned for the timer lane": receipt.burned_lane,
        "tip": receipt.tip,
    }
    return {name: amount(part) for name, part in parts.items() if int(part or "0")}


def printed_text(output: types_pb2.Printout) -> str:
    """What an execution printed, line by line; each actor's where several did."""
    lines: list[str] = []
    is_mixed = len({one.actor for one in output.printed}) > 1
    last = b""
    for one in output.printed:
        if is_mixed and one.actor != last:
            lines.append(f"{hexadecimal(one.actor)}:")
            last = one.actor
        level = f"[{one.level}] " if one.level else ""
        written = one.text.removesuffix("\n").split("\n")
        lines += [f"  {level}{foreign(line)}" for line in written]
    if output.cut:
        lines.append(f"  … {output.cut:,} characters more, which nobody keeps")
    return "\n".join(lines)


def receipt_row(receipt: types_pb2.Receipt) -> tuple[str, ...]:
    """One line of a block's receipts."""
    return (
        str(receipt.index),
        _KINDS[receipt.kind],
        _address(receipt.actor),
        receipt.handler,
        "succeeded" if is_success(receipt) else failure_text(receipt.error),
        f"{receipt.cycles_used:,}",
        amount(receipt.fee),
        hexadecimal(receipt.id),
    )


def event_row(event: types_pb2.Event) -> tuple[str, ...]:
    """One line of a list of events."""
    if event.emitter:
        emitter, data = hexadecimal(event.emitter), bytes_text(event.data)
    else:
        emitter, data = "system", cbor_text(event.data)
    return str(event.height), str(event.index), emitter, event.topic, data


def advance_fields(answer: dev_pb2.AdvanceResponse, heights: int) -> dict[str, str]:
    """What happened while time passed; `heights` counts those at which anything did."""
    summary = answer.summary
    return {
        "height": str(answer.head.height),
        "virtual time": f"{answer.head.timestamp_ms:,} ms",
        "heights with content": f"{heights:,}",
        "fires": f"{summary.fires:,}, of them failed {summary.fires_failed:,}",
        "fees of fires": amount(summary.fire_fees),
        "put off": f"{summary.put_off:,}",
        "expired": f"{summary.expired:,}",
        "removed for want of funds": f"{summary.removed_insufficient_funds:,}",
    }


def _lane_basefee(header: types_pb2.Header) -> dict[str, str]:
    """Under `auction` alone there is one."""
    fee = int(header.basefee_lane or "0")
    return {"basefee of the timer lane": amount(str(fee))} if fee else {}


def header_fields(header: types_pb2.Header) -> dict[str, str]:
    """A block's header."""
    return {
        "height": str(header.height),
        "hash": hexadecimal(header.hash),
        "parent": hexadecimal(header.parent_hash),
        "virtual time": f"{header.timestamp_ms:,} ms",
        "proposer": hexadecimal(header.proposer),
        "basefee per cycle": amount(header.basefee_cycle),
        "basefee per cell": amount(header.basefee_cell),
        **_lane_basefee(header),
        "cycles used": f"{header.cycles_used:,}",
        "cells used": f"{header.cells_used:,}",
        "state root": hexadecimal(header.state_root),
    }
