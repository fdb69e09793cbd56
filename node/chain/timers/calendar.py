"""The calendar: one ordered set of all live timers, as keys of the state (D22, D24).

A timer lies under (height, sequence) from the moment it is accepted until it leaves
by one of the exits of CIP-5 §5.4. Nothing moves when it is put off: it is simply due
again. So rollback, snapshots and the state root cost nothing extra, and memory stays
bounded whatever the number of timers. `tiers` shows this set as ring, epoch queue and
overflow; no outcome depends on them.

Beside the record stand three derived entries: by id, by actor, and the actor's count.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from node.chain.params import U64_MAX
from node.chain.reader import Reader, load_count
from node.chain.timers.timer import Timer, decode_timer
from node.primitives.types import Address, Height, TimerId
from node.state import keys
from node.state.journal import Journal


def insert(journal: Journal, timer: Timer) -> None:
    """Add a timer, newly accepted or given back by the cells gate (D21).

    Nothing lies under its keys: no two timers share a sequence, nor an id, which the
    actor's counter makes (D19).
    """
    place = keys.timer_place(timer.height, timer.sequence)
    journal.add(keys.TIMER_PREFIX + place, timer.encode())
    journal.add(keys.timer_by_id(timer.timer_id), place)
    journal.add(keys.timer_by_actor(timer.actor, place), timer.timer_id)
    _count(journal, timer.actor, 1)


def remove(journal: Journal, timer: Timer, record: bytes | None = None) -> None:
    """Take a live timer out; it must be there, with `record` if that is known."""
    place = keys.timer_place(timer.height, timer.sequence)
    if record is None:
        journal.delete(keys.TIMER_PREFIX + place)
    else:
        journal.remove(keys.TIMER_PREFIX + place, record)
    journal.remove(keys.timer_by_id(timer.timer_id), place)
    journal.remove(keys.timer_by_actor(timer.actor, place), timer.timer_id)
    _count(journal, timer.actor, -1)


def replace(journal: Journal, timer: Timer) -> None:
    """Write a live timer's record anew under the same key: an extension."""
    journal.put(keys.timer(timer.height, timer.sequence), timer.encode())


def _count(journal: Journal, actor: Address, change: int) -> None:
    count = count_of(journal, actor) + change
    assert count >= 0, "more timers left an actor than it had"
    if count:
        journal.put(keys.timer_count(actor), keys.height8(count))
    else:
        journal.delete(keys.timer_count(actor))


def count_of(reader: Reader, actor: Address) -> int:
    """How many live timers an actor holds (CIP-5 §4.2)."""
    return load_count(reader, keys.timer_count(actor))


def load_timer(reader: Reader, timer_id: TimerId | bytes) -> Timer | None:
    """A live timer by its id, or None."""
    place = reader.get(keys.timer_by_id(timer_id))
    if place is None:
        return None
    key = keys.TIMER_PREFIX + place
    record = reader.get(key)
    assert record is not None, "the index names a timer that is not in the calendar"
    return decode_timer(key, record)


def timers_of(reader: Reader, actor: Address) -> Iterator[Timer]:
    """An actor's live timers in due order."""
    start = keys.timer_by_actor(actor)
    for key, _ in reader.range(start, keys.prefix_stop(start)):
        place = keys.TIMER_PREFIX + key[len(start) :]
        record = reader.get(place)
        assert record is not None, "the index names a timer that is not there"
        yield decode_timer(place, record)


def places_of(reader: Reader, actor: Address) -> list[tuple[bytes, bytes]]:
    """Places and ids of an actor's live timers in due order."""
    start = keys.timer_by_actor(actor)
    found = reader.range(start, keys.prefix_stop(start))
    return [(key[len(start) :], timer_id) for key, timer_id in found]


def timers_between(
    reader: Reader, first_height: int, last_height: int
) -> Iterator[Timer]:
    """Live timers of all actors, due in first_height … last_height, in due order."""
    if first_height > min(last_height, U64_MAX):
        return
    for key, record in reader.range(*due_bounds(first_height, last_height)):
        yield decode_timer(key, record)


def due_bounds(first_height: int, last_height: int) -> tuple[bytes, bytes]:
    """Where the keys of timers due at these heights begin, and where they stop."""
    return keys.timer(first_height, 0), _stop_after(last_height)


QUEUED_RECORD_BYTES_MAX = 1_024
"""Larger records are not kept between blocks: 10,000 of these take some 20 MiB."""


class DueQueue:
    """Timers that a block found due and left, decoded: the next one meets them again.

    It remembers what a key and a record decode to, and nothing of any state: whatever
    became of the chain meanwhile, it can only save work. It holds what the latest
    block put off, so at most `max_due_examined` timers.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[bytes, Timer]] = {}

    def __len__(self) -> int:
        """How many timers it remembers."""
        return len(self._known)

    def decode(self, pairs: Iterable[tuple[bytes, bytes]]) -> list[Timer]:
        """The timers under these keys; from now on these are remembered."""
        before, timers = self._known, []
        known: dict[bytes, tuple[bytes, Timer]] = {}
        for key, record in pairs:
            entry = before.get(key)
            if entry is None or entry[0] != record:
                entry = (record, decode_timer(key, record))
            if len(record) <= QUEUED_RECORD_BYTES_MAX:
                known[key] = entry
            timers.append(entry[1])
        self._known = known
        return timers


def due(
    reader: Reader,
    height: int,
    count_max: int,
    floor: bytes = keys.TIMER_PREFIX,
    queue: DueQueue | None = None,
) -> list[Timer]:
    """Timers that are due: height at most `height`, by height, then sequence (D22).

    At most `count_max` of them, the first (D8). `floor` is a key below which nothing
    lives: where to start, so that removed timers are not walked over again. `queue`
    may know them from the block before.
    """
    if floor == keys.TIMERS_STOP or floor >= (stop := _stop_after(height)):
        return []
    pairs = reader.range(max(floor, keys.timer(0, 0)), stop)
    return (DueQueue() if queue is None else queue).decode(islice(pairs, count_max))


def first(reader: Reader, floor: bytes = keys.TIMER_PREFIX) -> Height | None:
    """The due height of the first live timer, or None."""
    stop = keys.prefix_stop(keys.TIMER_PREFIX)
    for key, _ in reader.range(max(floor, keys.timer(0, 0)), stop):
        return Height(keys.timer_height(key))
    return None


def _stop_after(height: int) -> bytes:
    """The least key above every timer of a height; the last height has no next."""
    if height >= U64_MAX:
        return keys.prefix_stop(keys.TIMER_PREFIX)
    return keys.timer(height + 1, 0)
