"""A block's timer trace as bytes: every decision about timers, in order (D17).

A put-off, of which one block can have 10,000, takes 60 bytes in a row and its share of
two tables; every other decision is an encoding of its own, which history also keeps
under the timer. What is not asked for is not decoded. Nothing of it is in a root::

    trace   [item, …]          item     decision, or a run of put-offs
    run     [addresses, [[reason, numbers], …], rows]
    row     timer id32 | actor4 | payer4 | due height8 | sequence8 | reason4

Actor, payer and reason are places in the tables of the run, in the order in which they
first appear. All integers are big-endian.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from struct import Struct
from typing import TypeAlias, cast

from node.chain.timers.timer import Decision, TimerDecision
from node.primitives import codec
from node.primitives.types import Address, Hash32, Height, TimerId

__all__ = [
    "decode_decision",
    "decode_trace",
    "encode_trace",
    "find_put_offs",
    "is_put_off",
]

_ID_BYTES = 32
_ROW = Struct(">32sIIQQI")
_SEQUENCE = "sequence"
"""The number that differs in every put-off: it stands in the row."""

_StoredDecision: TypeAlias = tuple[
    TimerId, Address, Address, Height, str, str, dict[str, int], int | None, Hash32
]
_StoredRun: TypeAlias = tuple[list[Address], list[tuple[str, dict[str, int]]], bytes]
_StoredTrace: TypeAlias = list[bytes | _StoredRun]


def encode_trace(
    trace: Sequence[TimerDecision],
) -> tuple[bytes, list[tuple[int, TimerDecision, bytes]]]:
    """The trace, and of each decision but put-offs its index and its encoding."""
    items: list[codec.Value] = []
    entries: list[tuple[int, TimerDecision, bytes]] = []
    index = 0
    for are_put_offs, group in groupby(trace, is_put_off):
        decisions = list(group)
        if are_put_offs:
            items.append(_pack(decisions))
        else:
            found = [(at, d, _encode(d)) for at, d in enumerate(decisions, index)]
            items += [entry for _, _, entry in found]
            entries += found
        index += len(decisions)
    return codec.encode(items), entries


def is_put_off(decision: TimerDecision) -> bool:
    """Whether a timer only waits."""
    return decision.decision is Decision.PUT_OFF


def _encode(decision: TimerDecision) -> bytes:
    return codec.encode(
        [
            decision.timer_id,
            decision.actor,
            decision.fee_payer,
            decision.due_height,
            decision.decision.value,
            decision.reason,
            decision.numbers,
            decision.receipt_index,
            decision.origin,
        ]
    )


def _pack(decisions: Sequence[TimerDecision]) -> list[codec.Value]:
    addresses: dict[Address, int] = {}
    reasons: dict[tuple[object, ...], int] = {}
    table: list[codec.Value] = []
    rows: list[bytes] = []
    for decision in decisions:
        assert len(decision.timer_id) == _ID_BYTES, "ids are hashes"
        numbers = decision.numbers
        compared = [n for name, n in numbers.items() if name != _SEQUENCE]
        reason = (decision.reason, *numbers, *compared)
        if reason not in reasons:
            reasons[reason] = len(reasons)
            shown: dict[int | bytes | str, codec.Value] = {}
            shown.update(numbers)
            if _SEQUENCE in shown:
                shown[_SEQUENCE] = 0
            table.append([decision.reason, shown])
        rows.append(
            _ROW.pack(
                decision.timer_id,
                addresses.setdefault(decision.actor, len(addresses)),
                addresses.setdefault(decision.fee_payer, len(addresses)),
                decision.due_height,
                numbers.get(_SEQUENCE, 0),
                reasons[reason],
            )
        )
    return [list(addresses), table, b"".join(rows)]


def decode_decision(entry: bytes) -> TimerDecision:
    """A decision that is no put-off."""
    timer_id, actor, payer, due, decision, reason, numbers, receipt_index, origin = (
        cast("_StoredDecision", codec.decode(entry))
    )
    return TimerDecision(
        timer_id,
        actor,
        payer,
        due,
        Decision(decision),
        reason,
        numbers,
        receipt_index,
        origin,
    )


def decode_trace(data: bytes, skipped: int = 0) -> Iterator[tuple[int, TimerDecision]]:
    """All decisions from the index `skipped` on, each with its index."""
    index = 0
    for item in cast("_StoredTrace", codec.decode(data)):
        if isinstance(item, bytes):
            if index >= skipped:
                yield index, decode_decision(item)
            index += 1
        else:
            count = len(item[2]) // _ROW.size
            for row in range(max(skipped - index, 0), count):
                yield index + row, _unpack(item, row)
            index += count


def find_put_offs(data: bytes, timer_id: bytes) -> Iterator[tuple[int, TimerDecision]]:
    """Put-offs of one timer, each with its index."""
    if timer_id not in data:  # far cheaper than to decode thousands of others
        return
    index = 0
    for item in cast("_StoredTrace", codec.decode(data)):
        if isinstance(item, bytes):
            index += 1
            continue
        rows = item[2]
        at = rows.find(timer_id)
        while at >= 0:
            row, offset = divmod(at, _ROW.size)
            if not offset and len(timer_id) == _ID_BYTES:
                yield index + row, _unpack(item, row)
            at = rows.find(timer_id, at + 1)
        index += len(rows) // _ROW.size


def _unpack(run: _StoredRun, row: int) -> TimerDecision:
    addresses, table, rows = run
    timer_id, actor, payer, due_height, sequence, why = _ROW.unpack_from(
        rows, row * _ROW.size
    )
    reason, numbers = table[why]
    if _SEQUENCE in numbers:
        numbers = {**numbers, _SEQUENCE: sequence}
    return TimerDecision(
        timer_id,
        addresses[actor],
        addresses[payer],
        due_height,
        Decision.PUT_OFF,
        reason,
        numbers,
    )
