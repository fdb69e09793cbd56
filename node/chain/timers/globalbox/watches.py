"""The index of idle watches: who is looked at when a key of state changes (D51).

A watch is idle while none of its hits waits, noted or queued; only then it stands in
this index, under each actor and prefix that it watches, by its sequence. So watches
that wait cost a block nothing, and a change finds those that it concerns by a read
for each length of prefix that somebody watches there.

Beside the entries stand, for each actor and prefix, how many there are and a sequence
below which there is none, since a database walks over what was removed from it; and for
each actor how many prefixes of each length are watched. All of it is derived: it
follows from the watches in the calendar and from where their hits wait.
"""

from collections.abc import Iterator

from node.chain.reader import Reader, load_count
from node.chain.timers.timer import Timer, WatchKey
from node.primitives.types import Address
from node.state import keys
from node.state.journal import Journal

_LENGTH_BYTES = 2


def add(journal: Journal, timer: Timer) -> None:
    """A watch became idle."""
    place = keys.height8(timer.height)
    for address, prefix in dict.fromkeys(timer.watch_keys):
        journal.put(keys.idle_watches(address, prefix, timer.sequence), place)
        floor, count = _load_node(journal, address, prefix)
        if count == 0:
            _count_prefix(journal, address, len(prefix), 1)
            floor = timer.sequence
        _save_node(journal, (address, prefix), min(floor, timer.sequence), count + 1)


def forget(journal: Journal, timer: Timer) -> None:
    """A watch is idle no more."""
    for address, prefix in dict.fromkeys(timer.watch_keys):
        journal.delete(keys.idle_watches(address, prefix, timer.sequence))
        floor, count = _load_node(journal, address, prefix)
        assert count > 0, "an idle watch stands under each of its keys"
        if count == 1:
            _count_prefix(journal, address, len(prefix), -1)
        if floor == timer.sequence:
            floor += 1
        _save_node(journal, (address, prefix), floor, count - 1)


def move(journal: Journal, timer: Timer) -> None:
    """An idle watch has another place in the calendar; who watches what stays."""
    place = keys.height8(timer.height)
    for address, prefix in dict.fromkeys(timer.watch_keys):
        journal.put(keys.idle_watches(address, prefix, timer.sequence), place)


def settle(journal: Journal, watched: WatchKey) -> None:
    """After many left at once: remember where those begin that are left, if any."""
    known, count = _load_node(journal, *watched)
    if count:
        first, _ = next(watches_of(journal, *watched))
        if first > known:
            _save_node(journal, watched, first, count)


def is_idle(reader: Reader, timer: Timer) -> bool:
    """Whether no hit of a live watch waits."""
    return reader.get(keys.watch_wait(timer.timer_id)) is None


def lengths(reader: Reader, address: Address) -> list[int]:
    """The lengths of the prefixes that idle watches watch of an actor, ascending."""
    start = keys.watch_lengths(address)
    rows = reader.range(start + b"\0", keys.prefix_stop(start))
    return [int.from_bytes(key[len(start) :], "big") for key, _ in rows]


def is_watched(reader: Reader, address: Address) -> bool:
    """Whether any idle watch watches something of an actor."""
    return reader.get(keys.watch_lengths(address)) is not None


def is_any(reader: Reader, address: Address, prefix: bytes) -> bool:
    """Whether any idle watch watches just this."""
    return reader.get(_node(address, prefix)) is not None


def watches_of(
    reader: Reader, address: Address, prefix: bytes
) -> Iterator[tuple[int, int]]:
    """Sequence and place in the calendar of each that watches this, ascending."""
    floor, count = _load_node(reader, address, prefix)
    if count == 1:  # who is mostly the one that the floor names: no range is opened
        place = reader.get(keys.idle_watches(address, prefix, floor))
        if place is not None:
            yield floor, int.from_bytes(place, "big")
            return
    start = keys.idle_watches(address, prefix)
    rows = reader.range(start + keys.height8(floor), keys.prefix_stop(start))
    for key, place in rows:
        sequence = int.from_bytes(key[-keys.SEQUENCE_BYTES :], "big")
        yield sequence, int.from_bytes(place, "big")


# --- how many ------------------------------------------------------------------------


def _node(address: Address, prefix: bytes) -> bytes:
    return keys.watch_prefix(address, prefix)


def _load_node(reader: Reader, address: Address, prefix: bytes) -> tuple[int, int]:
    """A sequence below which nobody watches this, and how many do."""
    data = reader.get(_node(address, prefix))
    if data is None:
        return 0, 0
    floor, count = data[: keys.SEQUENCE_BYTES], data[keys.SEQUENCE_BYTES :]
    return int.from_bytes(floor, "big"), int.from_bytes(count, "big")


def _save_node(journal: Journal, watched: WatchKey, floor: int, count: int) -> None:
    data = keys.height8(floor) + keys.height8(count) if count else None
    journal.put(_node(*watched), data)


def _count_prefix(journal: Journal, address: Address, length: int, change: int) -> None:
    for key in (
        keys.watch_lengths(address),
        keys.watch_lengths(address, length),
    ):
        count = load_count(journal, key) + change
        journal.put(key, keys.height8(count) if count else None)


# --- for those who doubt -------------------------------------------------------------


def expected(watches: Iterator[Timer]) -> Iterator[tuple[bytes, bytes]]:
    """The entries of idle watches, each with its value."""
    for timer in watches:
        for address, prefix in dict.fromkeys(timer.watch_keys):
            key = keys.idle_watches(address, prefix, timer.sequence)
            yield key, keys.height8(timer.height)
