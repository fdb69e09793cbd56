"""The queue of fires: one ordered set in the state, and the first fire of each target.

A fire lies under its order (`fires.py`), in a Merkle tree of its own, so that its
place and the emptiness of the queue can be proven. Beside it stand derived entries: the
fires of each target, which of them is its first and how many there are, and the first
fires of all targets in the order of all. So whoever takes fires from the head passes
over a target that has had its share without a look at what it has queued (D53).

Rules: what a change costs does not depend on how many fires are queued. A HEIGHT
timer that is queued is live: its id, its actor's list and counts stay as they are in
the calendar's indexes; only its record moves. A watch stays in the calendar.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import islice

from node.chain.reader import Reader
from node.chain.timers.globalbox.fires import GlobalFire, decode_fire, target_of
from node.primitives.types import Address
from node.state import keys
from node.state.journal import Journal


def insert(journal: Journal, fire: GlobalFire) -> None:
    """Queue a fire; whose timer it is must not be in the calendar, or be a watch."""
    order = fire.order
    journal.add(keys.fire(order), fire.encode())
    wait = keys.watch_wait if fire.is_of_watch else keys.timer_by_id
    journal.put(wait(fire.timer_id), order)
    journal.add(keys.fire_by_target(fire.target, order), b"")
    first, count = _load_target(journal, fire.target)
    if first is None or order < first:
        _move_head(journal, first, order)
        first = order
    _save_target(journal, fire.target, first, count + 1)


def remove(journal: Journal, fire: GlobalFire) -> None:
    """Take a fire out; where its timer is from then on is the caller's business."""
    order, target = fire.order, fire.target
    journal.delete(keys.fire(order))
    wait = keys.watch_wait if fire.is_of_watch else keys.timer_by_id
    journal.delete(wait(fire.timer_id))
    journal.delete(keys.fire_by_target(target, order))
    first, count = _load_target(journal, target)
    assert first is not None, "a queued fire is one of its target's"
    if order == first:
        following = next(_fires_behind(journal, target, order), None)
        _move_head(journal, first, following)
        first = following
    _save_target(journal, target, first, count - 1)


def rewrite(journal: Journal, fire: GlobalFire) -> None:
    """Write a queued fire's record anew; its place stays (GBX §6.2)."""
    journal.put(keys.fire(fire.order), fire.encode())


def load(reader: Reader, order: bytes) -> GlobalFire:
    """The fire under an order, which some index names."""
    record = reader.get(keys.fire(order))
    assert record is not None, "an index names a fire that is not queued"
    return decode_fire(order, record)


def fire_of_watch(reader: Reader, timer_id: bytes) -> GlobalFire | None:
    """The queued fire of a watch, or None."""
    wait = reader.get(keys.watch_wait(timer_id))
    is_queued = wait is not None and len(wait) == keys.FIRE_ORDER_BYTES
    return load(reader, wait) if wait is not None and is_queued else None


def in_order(journal: Journal, floor: bytes | None) -> Iterator[GlobalFire]:
    """All queued fires from the head, as they stand at the call.

    `floor` is the first order of the parent's queue, or None if that is empty.
    """
    start, stop = keys.FIRE_PREFIX, keys.prefix_stop(keys.FIRE_PREFIX)
    base = stop if floor is None else keys.fire(floor)
    for key, record in journal.range(start, stop, base):
        yield decode_fire(key[len(start) :], record)


# --- the fires of one target ---------------------------------------------------------


def count_of(reader: Reader, target: Address) -> int:
    """How many fires of a target are queued."""
    return _load_target(reader, target)[1]


def _load_target(reader: Reader, target: Address) -> tuple[bytes | None, int]:
    """The order of a target's first fire, and how many it has."""
    data = reader.get(keys.target_queue(target))
    if data is None:
        return None, 0
    order, count = data[: keys.FIRE_ORDER_BYTES], data[keys.FIRE_ORDER_BYTES :]
    return order, int.from_bytes(count, "big")


def _save_target(
    journal: Journal, target: Address, first: bytes | None, count: int
) -> None:
    assert (first is None) == (count == 0), "who has fires has a first one"
    data = None if first is None else first + keys.height8(count)
    journal.put(keys.target_queue(target), data)


def _move_head(journal: Journal, old: bytes | None, new: bytes | None) -> None:
    if old is not None:
        journal.delete(keys.target_head(old))
    if new is not None:
        journal.put(keys.target_head(new), b"")


def _fires_behind(journal: Journal, target: Address, order: bytes) -> Iterator[bytes]:
    start = keys.fire_by_target(target)
    rows = journal.range(start + order + b"\0", keys.prefix_stop(start))
    return (key[len(start) :] for key, _ in rows)


class HeadWalk:
    """From the head of the queue, fire by fire, without those of some targets (D53).

    The caller removes the fire that it took, or not, and says how to go on.
    """

    __slots__ = ("_ahead", "_behind_max", "_heads", "_journal", "_known")

    def __init__(
        self, journal: Journal, floor: bytes | None, target_fires_max: int
    ) -> None:
        """`floor` as of `in_order`; a target's next fires are read so many at once."""
        start, stop = (
            keys.TARGET_HEADS_PREFIX,
            keys.prefix_stop(keys.TARGET_HEADS_PREFIX),
        )
        base = stop if floor is None else keys.target_head(floor)
        rows = journal.range(start, stop, base)
        self._journal = journal
        self._behind_max = target_fires_max
        self._heads = (key[len(start) :] for key, _ in rows)
        self._ahead: list[bytes] = []
        """First fires that were read, as a heap: one of the targets' heads at least."""
        self._known: dict[Address, Iterator[bytes]] = {}
        self._read_head()

    def _read_head(self) -> None:
        head = next(self._heads, None)
        if head is not None:
            heappush(self._ahead, head)

    def peek(self) -> bytes | None:
        """Order of the first fire that is left, or None."""
        return self._ahead[0] if self._ahead else None

    def pass_over(self) -> None:
        """Go on behind the target of the first fire: no fire of it is shown again."""
        order = heappop(self._ahead)
        if target_of(order) not in self._known:
            self._read_head()

    def advance(self) -> None:
        """Go on behind the first fire."""
        order = heappop(self._ahead)
        target = target_of(order)
        if target not in self._known:
            self._read_head()
            self._known[target] = _orders_behind(
                self._journal, target, order, self._behind_max
            )
        following = next(self._known[target], None)
        if following is not None:
            heappush(self._ahead, following)


def _orders_behind(
    journal: Journal, target: Address, order: bytes, count_max: int
) -> Iterator[bytes]:
    """The next fires of a target, in parts: each as it stands when it is wanted."""
    if count_of(journal, target) == 0:
        return
    last = order
    while part := list(islice(_fires_behind(journal, target, last), count_max)):
        yield from part
        last = part[-1]
