"""The calendar: one ordered set of all live timers, as keys of the state (D22, D24).

A timer lies under (height, sequence) from the moment it is accepted until it leaves
by one of the exits of CIP-5 §5.4. Nothing moves when it is put off: it is simply due
again. So rollback, snapshots and the state root cost nothing extra, and memory stays
bounded whatever the number of timers. `tiers` holds of this set what is due next, as
ring, epoch queue and overflow, from which blocks read; no outcome depends on them.

Beside the record stand three derived entries: by id, by actor, and the actor's count.
"""

from collections.abc import Iterator

from node.chain.reader import Reader, load_count
from node.chain.timers.timer import Timer, decode_timer
from node.primitives.types import Address, TimerId
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
    if first_height > min(last_height, keys.HEIGHT_LAST):
        return
    stop = stop_after(last_height)
    for key, record in reader.range(keys.timer(first_height, 0), stop):
        yield decode_timer(key, record)


def stop_after(height: int) -> bytes:
    """The least key above every timer of a height; the last height has no next."""
    return keys.timer(height + 1, 0) if height < keys.HEIGHT_LAST else keys.TIMERS_STOP
