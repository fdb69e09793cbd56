"""The calendar: one ordered set of all live timers, as keys of the state (D22, D24).

A timer lies under (height, sequence) from the moment it is accepted until it leaves
by one of the exits of CIP-5 §5.4. Nothing moves when it is put off: it is simply due
again. So rollback, snapshots and the state root cost nothing extra, and memory stays
bounded whatever the number of timers. `tiers` holds of this set what is due next, as
ring, epoch queue and overflow, from which blocks read; no outcome depends on them.

Beside the record stand derived entries: by id, by actor, the actor's count, and how
many a target has that others own. Under `globalbox` a HEIGHT timer that is due moves
into the queue of fires, record and id; the other entries stay, for it is live (D52).
"""

from collections.abc import Iterator

from msgspec import structs

from node.chain.reader import Reader, load_count
from node.chain.timers.globalbox import hits, queue, watches
from node.chain.timers.globalbox.fires import GlobalFire
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
    _insert_owned(journal, timer, place)
    if timer.watch_keys and watches.is_idle(journal, timer):
        watches.add(journal, timer)


def _insert_owned(journal: Journal, timer: Timer, place: bytes) -> None:
    """What is known of a live timer by its owner and its target."""
    journal.add(keys.timer_by_actor(timer.actor, place), timer.timer_id)
    _count(journal, keys.timer_count(timer.actor), 1)
    if timer.other_target is not None:
        _count(journal, keys.guest_count(timer.other_target), 1)


def _remove_owned(journal: Journal, timer: Timer, place: bytes) -> None:
    journal.remove(keys.timer_by_actor(timer.actor, place), timer.timer_id)
    _count(journal, keys.timer_count(timer.actor), -1)
    if timer.other_target is not None:
        _count(journal, keys.guest_count(timer.other_target), -1)


def remove(journal: Journal, timer: Timer, record: bytes | None = None) -> None:
    """Take a live timer out; it must be there, with `record` if that is known.

    With a watch goes what waits of it: a queued fire, a noted hit (D51).
    """
    if timer.watch_keys:
        _release(journal, timer)
    place = keys.timer_place(timer.height, timer.sequence)
    if record is None:
        journal.delete(keys.TIMER_PREFIX + place)
    else:
        journal.remove(keys.TIMER_PREFIX + place, record)
    journal.remove(keys.timer_by_id(timer.timer_id), place)
    _remove_owned(journal, timer, place)


def _release(journal: Journal, watch: Timer) -> None:
    """Nothing waits of a watch any more, nor does it for a change of state."""
    fire = queue.fire_of_watch(journal, watch.timer_id)
    if fire is not None:
        queue.remove(journal, fire)
    elif watches.is_idle(journal, watch):
        watches.forget(journal, watch)
    else:
        hits.forget(journal, watch)


def remove_anywhere(journal: Journal, timer: Timer) -> bool:
    """Take a live timer out, of the calendar or of the queue of fires.

    Returned is whether it was in the calendar.
    """
    fire = fire_of(journal, timer)
    if fire is not None:
        remove_queued(journal, timer, fire)
        return False
    remove(journal, timer)
    return True


def remove_queued(journal: Journal, timer: Timer, fire: GlobalFire) -> None:
    """Take a HEIGHT timer out that is queued."""
    queue.remove(journal, fire)
    _remove_owned(journal, timer, keys.timer_place(timer.height, timer.sequence))


def insert_queued(journal: Journal, timer: Timer, fire: GlobalFire) -> None:
    """Give a HEIGHT timer back to the place in the queue that it had (D54)."""
    queue.insert(journal, fire)
    _insert_owned(journal, timer, keys.timer_place(timer.height, timer.sequence))


def enqueue(journal: Journal, timer: Timer, fire: GlobalFire) -> None:
    """Move a live HEIGHT timer into the queue of fires (D52)."""
    place = keys.timer_place(timer.height, timer.sequence)
    journal.remove(keys.TIMER_PREFIX + place, fire.record)
    journal.remove(keys.timer_by_id(timer.timer_id), place)
    queue.insert(journal, fire)


def leave_queue(journal: Journal, timer: Timer, fire: GlobalFire) -> None:
    """Move a HEIGHT timer out of the queue: it is due in the calendar again (D55)."""
    queue.remove(journal, fire)
    place = keys.timer_place(timer.height, timer.sequence)
    journal.put(keys.TIMER_PREFIX + place, fire.record)
    journal.put(keys.timer_by_id(timer.timer_id), place)


def fire_of(reader: Reader, timer: Timer) -> GlobalFire | None:
    """The queued fire in which a live HEIGHT timer lies; None if in the calendar."""
    where = reader.get(keys.timer_by_id(timer.timer_id))
    assert where is not None, "a live timer has an id"
    if len(where) != keys.FIRE_ORDER_BYTES:
        return None
    return queue.load(reader, where)


def timer_of(reader: Reader, fire: GlobalFire) -> Timer:
    """The timer of a queued fire as it is now."""
    if not fire.is_of_watch:
        return fire.height_timer()
    watch = load_timer(reader, fire.timer_id)
    assert watch is not None, "with a watch its queued fire goes"
    return watch


def replace(journal: Journal, timer: Timer) -> None:
    """Write the record of a timer in the calendar anew under the same key (D22)."""
    journal.put(keys.timer(timer.height, timer.sequence), timer.encode())


def replace_anywhere(journal: Journal, timer: Timer) -> bool:
    """Write a live timer's record anew, wherever it lies; its place stays.

    Returned is whether it is in the calendar.
    """
    fire = fire_of(journal, timer)
    if fire is not None:
        queue.rewrite(journal, structs.replace(fire, record=timer.encode()))
        return False
    replace(journal, timer)
    return True


def move(journal: Journal, before: Timer, watch: Timer) -> None:
    """Write a watch anew at the place that another expiry gives it (D51)."""
    old = keys.timer_place(before.height, before.sequence)
    place = keys.timer_place(watch.height, watch.sequence)
    journal.delete(keys.TIMER_PREFIX + old)
    journal.put(keys.TIMER_PREFIX + place, watch.encode())
    journal.put(keys.timer_by_id(watch.timer_id), place)
    journal.delete(keys.timer_by_actor(watch.actor, old))
    journal.put(keys.timer_by_actor(watch.actor, place), watch.timer_id)
    if watches.is_idle(journal, watch):
        watches.move(journal, watch)


def _count(journal: Journal, key: bytes, change: int) -> None:
    count = load_count(journal, key) + change
    assert count >= 0, "more timers left than there were"
    if count:
        journal.put(key, keys.height8(count))
    else:
        journal.delete(key)


def count_of(reader: Reader, actor: Address) -> int:
    """How many live timers an actor holds (CIP-5 §4.2)."""
    return load_count(reader, keys.timer_count(actor))


def guests_of(reader: Reader, target: Address) -> int:
    """How many live timers of other owners call a target (D56)."""
    return load_count(reader, keys.guest_count(target))


def load_timer(reader: Reader, timer_id: TimerId | bytes) -> Timer | None:
    """A live timer by its id, or None; one that is queued is live."""
    place = reader.get(keys.timer_by_id(timer_id))
    if place is None:
        return None
    if len(place) == keys.FIRE_ORDER_BYTES:
        return queue.load(reader, place).height_timer()
    key = keys.TIMER_PREFIX + place
    record = reader.get(key)
    assert record is not None, "the index names a timer that is not in the calendar"
    return decode_timer(key, record)


def timers_of(reader: Reader, actor: Address) -> Iterator[Timer]:
    """An actor's live timers in due order."""
    start = keys.timer_by_actor(actor)
    for key, timer_id in reader.range(start, keys.prefix_stop(start)):
        place = keys.TIMER_PREFIX + key[len(start) :]
        record = reader.get(place)
        if record is not None:
            yield decode_timer(place, record)
            continue
        queued = load_timer(reader, timer_id)
        assert queued is not None, "the index names a timer that is not there"
        yield queued


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
