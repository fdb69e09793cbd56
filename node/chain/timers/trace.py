"""A block's timer trace as bytes: every decision about timers, in order (D17).

In a backlog one block can put off 10,000 timers, and the next one the same ones again:
they are told by their places in the calendar, and those that follow one another by the
first one and how many. Every other decision is an encoding of its own, which history
also keeps under the timer. What is not asked for is not decoded. Nothing of it is in a
root::

    trace   [item, …]          item     decision, or a run of put-offs
    run     [[[reason, numbers, rival], …], reasons, places, ranks]
    reasons of each put-off where its reason stands in the table: 1 byte, or 4 where the
            table is longer than 256; nothing where all have the same
    places  [due height8 | sequence8 | count4, …] of consecutive sequences
    ranks   [rank4 | count4, …] of consecutive ranks, or nothing where there are none

Whose a place is says the calendar, or history of a timer that ended: no two timers ever
have the same one (D22). All integers are big-endian.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, groupby, islice, repeat
from operator import itemgetter
from struct import Struct
from typing import TypeAlias, cast

from node.chain.timers.globalbox.fires import read_order
from node.chain.timers.timer import Decision, TimerDecision
from node.primitives import codec
from node.primitives.types import Address, Hash32, Height, TimerId

__all__ = [
    "Identity",
    "count_put_offs",
    "decode_decision",
    "decode_entries",
    "decode_trace",
    "encode_trace",
    "find_put_offs",
]

_PLACES = Struct(">QQI")
_RANKS = Struct(">II")
_TABLE_OF_BYTES = 256
_PLAIN_FIELDS = 9
"""Of a decision outside of the Globalbox."""
_VARIED = ("sequence", "rank")
"""The numbers that differ in every put-off: they stand beside the table."""

Identity: TypeAlias = tuple[TimerId, Address, Address]
"""A timer's id, its actor and its fee payer."""

_StoredDecision: TypeAlias = tuple[
    TimerId, Address, Address, Height, str, str, dict[str, int], int | None, Hash32
]
_StoredReason: TypeAlias = tuple[str, dict[str, int], TimerId | None]
_StoredRun: TypeAlias = tuple[list[_StoredReason], bytes, bytes, bytes]
_StoredTrace: TypeAlias = list[bytes | _StoredRun]


def encode_trace(
    trace: Sequence[TimerDecision],
) -> tuple[bytes, list[tuple[int, TimerDecision, bytes]]]:
    """The trace, and of each decision but put-offs its index and its encoding."""
    items: list[codec.Value] = []
    entries: list[tuple[int, TimerDecision, bytes]] = []
    index = 0
    for kind, group in groupby(trace, _kind):
        decisions = list(group)
        if kind:
            items.append(_pack(decisions))
        else:
            found = [(at, d, _encode(d)) for at, d in enumerate(decisions, index)]
            items += [entry for _, _, entry in found]
            entries += found
        index += len(decisions)
    return codec.encode(items), entries


def _kind(decision: TimerDecision) -> int:
    """Of what stands together: 0 for no put-off, 1 for one without a rank, 2 with."""
    if decision.decision is not Decision.PUT_OFF:
        return 0
    return 2 if "rank" in decision.numbers else 1


_ENQUEUED_TAG = b"\x01"
"""Begins no array of canonical CBOR, as all other entries are."""
_ENQUEUED = Struct(">97s20s20sQQQ16s32sB")
"""Order, actor, payer, due height, height, sequence, bid, score, if of a watch."""


def _encode_enqueued(decision: TimerDecision) -> bytes:
    """A fire that was queued, of which a block can have 12,000: in a fixed form."""
    numbers = decision.numbers
    return _ENQUEUED_TAG + _ENQUEUED.pack(
        decision.order,
        decision.actor,
        decision.fee_payer,
        decision.due_height,
        numbers["current_height"],
        numbers["sequence"],
        numbers["bid_fp"].to_bytes(16, "big"),
        numbers["score"].to_bytes(32, "big"),
        "hit_height" in numbers,
    )


def _decode_enqueued(entry: bytes) -> TimerDecision:
    order, actor, payer, due, height, sequence, bid_fp, score, is_of_watch = (
        _ENQUEUED.unpack(entry[1:])
    )
    place = read_order(order)
    numbers = {
        "current_height": height,
        "sequence": sequence,
        "score": int.from_bytes(score, "big"),
        "origin": place.origin,
        "cursor": place.cursor,
        "bucket": place.bucket,
        "bid_fp": int.from_bytes(bid_fp, "big"),
    }
    if is_of_watch:
        numbers["hit_height"] = place.origin
    decision = Decision.ENQUEUED
    return TimerDecision(
        place.timer_id,
        Address(actor),
        Address(payer),
        Height(due),
        decision,
        "",
        numbers,
        order=order,
    )


def _encode(decision: TimerDecision) -> bytes:
    if decision.decision is Decision.ENQUEUED:
        return _encode_enqueued(decision)
    fields: list[codec.Value] = [
        decision.timer_id,
        decision.actor,
        decision.fee_payer,
        decision.due_height,
        decision.decision.value,
        decision.reason,
        decision.numbers,  # type: ignore[list-item]
        decision.receipt_index,
        decision.origin,
    ]
    if decision.order or decision.matched_keys:
        matched = [list(matched) for matched in decision.matched_keys]
        fields += [decision.order, matched]  # type: ignore[list-item]
    return codec.encode(fields)


def _pack(decisions: Sequence[TimerDecision]) -> list[codec.Value]:
    reasons: dict[tuple[object, ...], int] = {}
    table: list[codec.Value] = []
    indexes = list[int]()
    for decision in decisions:
        numbers = decision.numbers
        names = tuple(numbers)
        reason = (decision.reason, decision.rival, names, _compared(names)(numbers))
        index = reasons.get(reason)
        if index is None:
            index = reasons[reason] = len(reasons)
            shown: dict[int | bytes | str, codec.Value] = {}
            shown.update(numbers)
            shown.update((name, 0) for name in _VARIED if name in numbers)
            table.append([decision.reason, shown, decision.rival])
        indexes.append(index)
    # As one number: consecutive sequences of one height follow one another.
    places = [one.due_height << 64 | one.numbers["sequence"] for one in decisions]
    is_ranked = "rank" in decisions[0].numbers
    ranks = [one.numbers["rank"] for one in decisions] if is_ranked else []
    return [
        table,
        b"" if len(table) == 1 else _pack_indexes(indexes, len(table)),
        _pack_spans(places, 16),
        _pack_spans(ranks, 4),
    ]


def _pack_indexes(indexes: Sequence[int], count: int) -> bytes:
    width = _index_bytes(count)
    if width == 1:
        return bytes(indexes)
    return b"".join(index.to_bytes(width, "big") for index in indexes)


def _index_bytes(count: int) -> int:
    return 1 if count <= _TABLE_OF_BYTES else 4


def _pack_spans(values: Iterable[int], width: int) -> bytes:
    """Of values that follow one another the first, of so many bytes, and the count."""
    spans = list[tuple[int, int]]()
    first = count = 0
    for value in values:
        if count and value == first + count:
            count += 1
            continue
        if count:
            spans.append((first, count))
        first, count = value, 1
    if count:
        spans.append((first, count))
    return b"".join(
        first.to_bytes(width, "big") + count.to_bytes(4, "big")
        for first, count in spans
    )


@lru_cache(maxsize=64)
def _compared(names: tuple[str, ...]) -> Callable[[dict[str, int]], object]:
    """What reads the numbers that put-offs have in common."""
    compared = [name for name in names if name not in _VARIED]
    return itemgetter(*compared) if compared else len


def decode_decision(entry: bytes) -> TimerDecision:
    """A decision that is no put-off."""
    if entry.startswith(_ENQUEUED_TAG):
        return _decode_enqueued(entry)
    fields = cast("list[codec.Value]", codec.decode(entry))
    order, matched = cast(
        "tuple[bytes, list[list[bytes]]]", fields[_PLAIN_FIELDS:] or (b"", [])
    )
    timer_id, actor, payer, due, decision, reason, numbers, receipt_index, origin = (
        cast("_StoredDecision", fields[:_PLAIN_FIELDS])
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
        order=order,
        matched_keys=tuple([(Address(at), key) for at, key in matched]),
    )


def decode_trace(
    data: bytes, identify: Callable[[int, int], Identity], skipped: int = 0
) -> Iterator[tuple[int, TimerDecision]]:
    """All decisions from the index `skipped` on, each with its index.

    `identify` says whose a due height and sequence are.
    """
    index = 0
    for item in cast("_StoredTrace", codec.decode(data)):
        if isinstance(item, bytes):
            if index >= skipped:
                yield index, decode_decision(item)
            index += 1
        else:
            first = max(skipped - index, 0)
            yield from enumerate(_unpack_from(item, first, identify), index + first)
            index += _count(item)


def decode_entries(
    data: bytes, skipped: int = 0
) -> Iterator[tuple[int, TimerDecision]]:
    """The same without put-offs, which are passed over: far cheaper."""
    index = 0
    for item in cast("_StoredTrace", codec.decode(data)):
        if isinstance(item, bytes):
            if index >= skipped:
                yield index, decode_decision(item)
            index += 1
        else:
            index += _count(item)


def find_put_offs(
    data: bytes, place: tuple[int, int], identity: Identity
) -> Iterator[tuple[int, TimerDecision]]:
    """Put-offs of the timer at a due height and sequence, each with its index."""
    index = 0
    for item in cast("_StoredTrace", codec.decode(data)):
        if isinstance(item, bytes):
            index += 1
            continue
        row = 0
        for due_height, first, count in _PLACES.iter_unpack(item[2]):
            if due_height == place[0] and first <= place[1] < first + count:
                at = row + place[1] - first
                yield index + at, next(_unpack_from(item, at, lambda *_: identity))
            row += count
        index += row


def count_put_offs(data: bytes) -> int:
    """How many timers a block put off."""
    items = cast("_StoredTrace", codec.decode(data))
    return sum(_count(item) for item in items if not isinstance(item, bytes))


def _count(run: _StoredRun) -> int:
    return sum(count for _, _, count in _PLACES.iter_unpack(run[2]))


def _unpack_from(
    run: _StoredRun, skipped: int, identify: Callable[[int, int], Identity]
) -> Iterator[TimerDecision]:
    """Put-offs of a run, the first so many left out."""
    table, indexes, places, ranks = run
    width = _index_bytes(len(table))
    each_rank = chain.from_iterable(
        range(first, first + count) for first, count in _RANKS.iter_unpack(ranks)
    )
    each_place = (
        (due_height, sequence)
        for due_height, first, count in _PLACES.iter_unpack(places)
        for sequence in range(first, first + count)
    )
    ranked = zip(each_place, each_rank if ranks else repeat(0), strict=False)
    for row, (place, rank) in enumerate(islice(ranked, skipped, None), skipped):
        at = indexes[row * width : (row + 1) * width]
        reason = table[int.from_bytes(at, "big")]
        yield _put_off(reason, place, rank, identify(*place))


def _put_off(
    stored: _StoredReason, place: tuple[int, int], rank: int, identity: Identity
) -> TimerDecision:
    reason, numbers, rival = stored
    due_height, sequence = place
    varied = {"sequence": sequence, "rank": rank}
    return TimerDecision(
        *identity,
        Height(due_height),
        Decision.PUT_OFF,
        reason,
        {name: varied.get(name, number) for name, number in numbers.items()},
        rival=rival,
    )
