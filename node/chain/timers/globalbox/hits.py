"""Noted hits: watches whose keys changed, that wait to be enqueued (D51).

A hit is noted at the end of a block, when its timers and messages changed what somebody
watches, or when other rules empty the Globalbox (D55). It lies in the state under its
height and the sequence of its watch, in the order in which hits are enqueued.
"""

from collections.abc import Iterator
from itertools import islice
from typing import cast

from msgspec import Struct

from node.chain.reader import Reader, load_count
from node.chain.timers.timer import Timer, WatchKey, decode_timer
from node.primitives import codec
from node.primitives.types import Address, Height
from node.state import keys
from node.state.journal import Journal


class Hit(Struct, frozen=True):
    """A watch, and the change that it saw."""

    timer: Timer
    height: Height
    """Of the block that changed what it watches."""
    matched_keys: tuple[WatchKey, ...]
    """The first of its keys that changed, each with its actor; at most four."""


def note(journal: Journal, hit: Hit) -> None:
    """Let a hit wait for the next Deliver; its watch is in no index of idle ones."""
    timer = hit.timer
    key = keys.noted_hit(hit.height, timer.sequence)
    matched = [[address, name] for address, name in hit.matched_keys]
    record = codec.encode([timer.timer_id, matched])
    journal.put(key, record)
    index(journal, key, record)


def index(journal: Journal, key: bytes, record: bytes) -> None:
    """What is derived of a noted hit: where its watch waits, and the least height."""
    timer_id, _ = _decode(record)
    place = key[len(keys.NOTED_PREFIX) :]
    journal.put(keys.watch_wait(timer_id), place)
    height, floor = place[: keys.HEIGHT_BYTES], journal.get(keys.NOTED_FLOOR)
    if floor is None or height < floor:
        journal.put(keys.NOTED_FLOOR, height)


def forget(journal: Journal, timer: Timer) -> None:
    """Take out the noted hit of a watch that has one."""
    place = journal.get(keys.watch_wait(timer.timer_id))
    assert place is not None, "only a noted hit is forgotten"
    journal.delete(keys.NOTED_PREFIX + place)
    journal.delete(keys.watch_wait(timer.timer_id))


def is_any(reader: Reader) -> bool:
    """Whether a hit is noted."""
    return next(noted_rows(reader), None) is not None


def noted_of(reader: Reader, timer: Timer) -> Hit | None:
    """The noted hit of a live watch, or None."""
    place = reader.get(keys.watch_wait(timer.timer_id))
    if place is None or len(place) == keys.FIRE_ORDER_BYTES:
        return None
    key = keys.NOTED_PREFIX + place
    record = reader.get(key)
    assert record is not None, "the index names a hit that is not noted"
    return _read(reader, key, record)


def noted(reader: Reader, count_max: int) -> list[Hit]:
    """The first so many noted hits by height and sequence."""
    rows = islice(noted_rows(reader), count_max)
    return [_read(reader, key, record) for key, record in rows]


def take(journal: Journal, count_max: int) -> list[Hit]:
    """The first so many noted hits by height and sequence, which are noted no more."""
    rows = noted_rows(journal)
    hits = [_read(journal, key, record) for key, record in islice(rows, count_max)]
    following = next(rows, None)
    for hit in hits:
        forget(journal, hit.timer)
    floor = None
    if following is not None:
        floor = following[0][len(keys.NOTED_PREFIX) :][: keys.HEIGHT_BYTES]
    if floor != journal.get(keys.NOTED_FLOOR):
        journal.put(keys.NOTED_FLOOR, floor)
    return hits


def noted_rows(reader: Reader) -> Iterator[tuple[bytes, bytes]]:
    """Keys and records of noted hits, from a height on below which there is none."""
    if reader.get(keys.NOTED_FLOOR) is None:
        return iter(())
    floor = keys.noted_hit(load_count(reader, keys.NOTED_FLOOR), 0)
    return reader.range(floor, keys.prefix_stop(keys.NOTED_PREFIX))


def _decode(record: bytes) -> tuple[bytes, list[tuple[Address, bytes]]]:
    return cast("tuple[bytes, list[tuple[Address, bytes]]]", codec.decode(record))


def _read(reader: Reader, key: bytes, record: bytes) -> Hit:
    timer_id, matched = _decode(record)
    place = reader.get(keys.timer_by_id(timer_id))
    assert place is not None, "a noted hit is of a live watch"
    timer_key = keys.TIMER_PREFIX + place
    watch = reader.get(timer_key)
    assert watch is not None, "a watch is in the calendar"
    height = int.from_bytes(key[len(keys.NOTED_PREFIX) :][: keys.HEIGHT_BYTES], "big")
    return Hit(
        decode_timer(timer_key, watch),
        Height(height),
        tuple([(address, name) for address, name in matched]),
    )
