"""A block's timer trace as bytes: every decision about timers, in order (D17).

A put-off, of which one block can have 10,000, takes 60 bytes in a row and its share of
two tables; every other decision is an encoding of its own, which history also keeps
under the timer. What is not asked for is not decoded. Nothing of it is in a root::

    trace   [item, …]          item     decision, or a run of put-offs
    run     [addresses, [[reason, numbers, rival], …], rows, ranks]
    row     timer id32 | actor4 | payer4 | due height8 | sequence8 | reason4
    ranks   rank4 of each row, or nothing if none has one

Actor, payer and reason are places in the tables of the run, in the order in which they
first appear. All integers are big-endian.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from struct import Struct
from typing import TypeAlias, cast

from node.chain.timers.timer import Decision, TimerDecision
from node.primitives import codec
from node.primitives.types import Address, Hash32, Height, TimerId

__all__ = [
    "decode_decision",
    "decode_entries",
    "decode_trace",
    "encode_trace",
    "find_put_offs",
    "is_put_off",
]

_ID_BYTES = 32
_ROW = Struct(">32sIIQQI")
_RANK = Struct(">I")
_VARIED = ("sequence", "rank")
"""The numbers that differ in every put-off: they stand beside the table."""

_StoredDecision: TypeAlias = tuple[
    TimerId, Address, Address, Height, str, str, dict[str, int], int | None, Hash32
]
_StoredReason: TypeAlias = tuple[str, dict[str, int], TimerId | None]
_StoredRun: TypeAlias = tuple[list[Address], list[_StoredReason], bytes, bytes]
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
    rows, ranks = list[bytes](), list[int]()
    for decision in decisions:
        assert len(decision.timer_id) == _ID_BYTES, "ids are hashes"
        numbers = decision.numbers
        names = tuple(numbers)
        reason = (decision.reason, decision.rival, names, _compared(names)(numbers))
        if reason not in reasons:
            reasons[reason] = len(reasons)
            shown: dict[int | bytes | str, codec.Value] = {}
            shown.update(numbers)
            shown.update((name, 0) for name in _VARIED if name in numbers)
            table.append([decision.reason, shown, decision.rival])
        rows.append(
            _ROW.pack(
                decision.timer_id,
                addresses.setdefault(decision.actor, len(addresses)),
                addresses.setdefault(decision.fee_payer, len(addresses)),
                decision.due_height,
                numbers.get("sequence", 0),
                reasons[reason],
            )
        )
        ranks.append(numbers.get("rank", 0))
    packed = b"".join(map(_RANK.pack, ranks)) if any(ranks) else b""
    return [list(addresses), table, b"".join(rows), packed]


@lru_cache(maxsize=64)
def _compared(names: tuple[str, ...]) -> Callable[[dict[str, int]], object]:
    """What reads the numbers that put-offs have in common."""
    compared = [name for name in names if name not in _VARIED]
    return itemgetter(*compared) if compared else len


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


def decode_entries(data: bytes) -> Iterator[TimerDecision]:
    """All decisions but put-offs, which are passed over: far cheaper."""
    for item in cast("_StoredTrace", codec.decode(data)):
        if isinstance(item, bytes):
            yield decode_decision(item)


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
    addresses, table, rows, ranks = run
    timer_id, actor, payer, due_height, sequence, why = _ROW.unpack_from(
        rows, row * _ROW.size
    )
    reason, numbers, rival = table[why]
    varied = {"sequence": sequence}
    if ranks:
        (varied["rank"],) = _RANK.unpack_from(ranks, row * _RANK.size)
    shown = {name: varied.get(name, number) for name, number in numbers.items()}
    return TimerDecision(
        timer_id,
        addresses[actor],
        addresses[payer],
        due_height,
        Decision.PUT_OFF,
        reason,
        shown,
        rival=rival,
    )
