"""Ring, epoch queue, overflow: the calendar as CIP-1 §2 names its tiers (D24).

The tier of a timer is a pure function of its due height and the current one, so a
"promotion" moves no key of the state. `TieredCalendar` is what the node reads due
timers from: the memory of whoever drives the chain, in which

* a bucket of the ring holds the timers of one height, the current one the overdue, too,
* a bucket of the epoch queue holds those of an epoch that the ring does not reach yet,
* the overflow set is what lies behind: it stays in the store.

As time passes ring buckets are filled from epoch buckets, and these from the overflow
set, a bounded number of timers a block. No outcome depends on it: the ordered set of
`calendar` is what the state holds, and a fresh `TieredCalendar` says the same.

Rules: the buckets hold just the live timers between `start` and `cursor`, two keys of
the ordered set; each lies in the bucket that `tier_of` and `bucket_of` say; at most
`HELD_MAX` timers are held. Right for any positive sizes, a ring smaller than an epoch
included.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import islice

from msgspec import Struct

from node.chain.params import CalendarSizes
from node.chain.reader import Reader
from node.chain.timers.calendar import stop_after
from node.chain.timers.timer import Timer, decode_timer
from node.primitives.types import Height
from node.state import keys

HELD_MAX = 32_768
"""Timers in memory: some 40 MB at the most."""
FILLED_A_BLOCK_MAX = 256
"""Timers that one block brings in from the overflow set: half a millisecond."""
FILLED_FOR_DUE_MAX = 16_384
"""Those that are read at once because they are due: more are read and not held."""
RECORD_BYTES_HELD_MAX = 1_024
"""Larger records stay in the store until they are read."""

FIRST_KEY = keys.timer(0, 0)


class Tier(StrEnum):
    """Which horizon a timer belongs to."""

    RING = "ring"
    EPOCH = "epoch"
    OVERFLOW = "overflow"


def tier_of(due: int, height: int, sizes: CalendarSizes) -> Tier:
    """Ring if due - h < ring_size, else epoch if due // L - h // L ≤ epochs (D24)."""
    if due - height < sizes.ring_size:
        return Tier.RING
    length = sizes.epoch_length
    if due // length - height // length <= sizes.epochs:
        return Tier.EPOCH
    return Tier.OVERFLOW


def bucket_of(due: int, height: int, sizes: CalendarSizes) -> int | None:
    """Slot in the ring, number of the epoch, or None in the overflow set.

    An overdue timer stands in the slot of the height that looks at it: the current.
    """
    match tier_of(due, height, sizes):
        case Tier.RING:
            return max(due, height) % sizes.ring_size
        case Tier.EPOCH:
            return due // sizes.epoch_length
        case Tier.OVERFLOW:
            return None


class Held(Struct, gc=False):
    """A live timer in a bucket.

    Bytes and numbers alone, and so no part of a cycle: the interpreter's search for
    cycles passes by it and by the buckets, however many there are.
    """

    record: bytes | None
    """None of a large one, which stays in the store."""
    _timer: Timer | None = None

    def timer(self, key: bytes, reader: Reader) -> Timer:
        """The timer under its key, decoded once."""
        if self._timer is not None:
            return self._timer
        if self.record is not None:
            self._timer = decode_timer(key, self.record)
            return self._timer
        record = reader.get(key)
        assert record is not None, "a bucket names a timer that is not in the calendar"
        return decode_timer(key, record)


class Tally(Struct, frozen=True, gc=False):
    """How many timers the buckets of a state hold; outside of the bounds none are."""

    state_root: bytes
    ring: int
    epoch: int
    start: bytes
    cursor: bytes


Bucket = dict[bytes, Held]
"""Timers by their keys in the ordered set, in any order."""


class TieredCalendar:
    """The three tiers of one state, whose head is at `height`."""

    __slots__ = (
        "_count", "_cursor", "_epochs", "_ring", "_start", "epoch_last", "height",
        "reader", "ring_last", "sizes", "state_root", "tally",
    )  # fmt: skip

    def __init__(
        self,
        reader: Reader,
        height: int,
        sizes: CalendarSizes,
        state_root: bytes = b"",
    ) -> None:
        """Nothing is held yet; the reader is of the state at the height."""
        self.state_root = state_root
        self.reader = reader
        self.sizes = sizes
        self._move_to(height)
        self._ring: dict[int, Bucket] = {}
        """Height that looks at it → bucket; its slot is that height % `ring_size`."""
        self._epochs: dict[int, dict[int, Bucket]] = {}
        """Epoch → due height → bucket: what the ring takes at once lies together."""
        self._count = 0
        self._start = self._cursor = FIRST_KEY
        self.tally = self._count_up()
        """Of the last `advance`; another thread may read it."""

    def _move_to(self, height: int) -> None:
        self.height = height
        self.ring_last = height + self.sizes.ring_size - 1
        """The last height that lies within the ring."""
        length = self.sizes.epoch_length
        last = (height // length + self.sizes.epochs + 1) * length - 1
        self.epoch_last = max(last, self.ring_last)
        """The last height that the epoch queue reaches, never before the ring's."""

    # --- reading -----------------------------------------------------------------

    def between(
        self,
        first: bytes = FIRST_KEY,
        stop: bytes = keys.TIMERS_STOP,
        filled_max: int = FILLED_A_BLOCK_MAX,
    ) -> Iterator[tuple[bytes, Held]]:
        """Live timers with first ≤ key < stop, in due order.

        From the buckets, as far as they reach, and behind them from the store. Of what
        is missing at most `filled_max` timers are brought in.
        """
        if first < self._start:
            self._forget()
        self._fill(stop, filled_max)
        yield from self._held_between(first, stop)
        if self._cursor < stop:
            for key, record in self.reader.range(max(first, self._cursor), stop):
                yield key, Held(record)

    def due(self, height: int) -> Iterator[tuple[bytes, Held]]:
        """Live timers that are due at a height, in the order of D22."""
        return self.between(FIRST_KEY, stop_after(height), FILLED_FOR_DUE_MAX)

    def timers(self, first_height: int, last_height: int) -> Iterator[Timer]:
        """Live timers due at these heights, decoded, in due order."""
        if first_height > last_height:
            return
        first = keys.timer(first_height, 0)
        for key, held in self.between(first, stop_after(last_height)):
            yield held.timer(key, self.reader)

    def first_due(self) -> Height | None:
        """The due height of the first live timer, or None."""
        key = next(self._held_between(FIRST_KEY, keys.TIMERS_STOP), (None,))[0]
        if key is None or self._start > FIRST_KEY:
            key = next(self.between(), (None,))[0]
        return None if key is None else Height(keys.timer_height(key))

    def ring_bucket(self, slot: int) -> Iterator[Timer]:
        """Timers of one slot: those due at its height; overdue ones in the current."""
        size = self.sizes.ring_size
        due = self.height + (slot - self.height) % size
        first = 0 if due == self.height else due
        return self.timers(first, min(due, keys.HEIGHT_LAST))

    def ring(self) -> Iterator[Timer]:
        """All timers of the ring, in due order, overdue ones first."""
        return self.timers(0, min(self.ring_last, keys.HEIGHT_LAST))

    def epoch_bucket(self, epoch: int) -> Iterator[Timer]:
        """Timers of one epoch that are beyond the ring and within the queue."""
        length = self.sizes.epoch_length
        first = max(epoch * length, self.ring_last + 1)
        last = min((epoch + 1) * length - 1, self.epoch_last, keys.HEIGHT_LAST)
        return self.timers(first, last) if first <= last else iter(())

    def overflow(self) -> Iterator[Timer]:
        """Timers beyond the epoch queue, in due order."""
        first = self.epoch_last + 1
        return self.timers(first, keys.HEIGHT_LAST)

    # --- time and changes --------------------------------------------------------

    def advance(
        self,
        reader: Reader,
        height: int,
        changes: Mapping[bytes, bytes | None],
        state_root: bytes = b"",
    ) -> None:
        """Follow the chain to its next head: what its block wrote, and time.

        `changes` are of all keys; between the bounds lie none but the ordered set's.
        """
        assert height > self.height, "time passes"
        self.reader, self.state_root = reader, state_root
        # With the old bounds, so that what is new finds the place that it would have.
        self._cursor = min(self._cursor, stop_after(self.epoch_last))
        for key in changes:
            if self._start <= key < self._cursor:
                self._change(key, changes[key])
        self._promote(height)
        if self._count < HELD_MAX // 2:
            self._fill(stop_after(self.epoch_last), FILLED_A_BLOCK_MAX)
        self.tally = self._count_up()

    def let_go(self, first: bytes) -> None:
        """Hold nothing before a key: other orders have what lies there."""
        assert first <= stop_after(self.height), "what is to come is still needed"
        if first <= self._start:
            return
        for key in [key for key in self._ring.get(self.height, {}) if key < first]:
            self._change(key, None)
        self._start = first
        self._cursor = max(first, self._cursor)

    def _change(self, key: bytes, record: bytes | None) -> None:
        due = keys.timer_height(key)
        bucket = self._bucket(due)
        if record is None:
            if bucket.pop(key, None) is not None:
                self._count -= 1
            if not bucket:
                self._drop_bucket(due)
            return
        self._count += key not in bucket
        is_small = len(record) <= RECORD_BYTES_HELD_MAX
        bucket[key] = Held(record if is_small else None)
        if self._count > HELD_MAX:
            self._shed()

    def _bucket(self, due: int) -> Bucket:
        if due <= self.ring_last:
            return self._ring.setdefault(max(due, self.height), {})
        heights = self._epochs.setdefault(due // self.sizes.epoch_length, {})
        return heights.setdefault(due, {})

    def _drop_bucket(self, due: int) -> None:
        if due <= self.ring_last:
            del self._ring[max(due, self.height)]
            return
        epoch = due // self.sizes.epoch_length
        del self._epochs[epoch][due]
        if not self._epochs[epoch]:
            del self._epochs[epoch]

    def _promote(self, height: int) -> None:
        """Move what time moves: to the current slot, and from epochs into the ring."""
        current: Bucket = {}
        for passed in _within(self._ring, self.height, height):
            current.update(self._ring.pop(passed))
        if current:
            self._ring[height] = current
        ring_last = self.ring_last
        self._move_to(height)
        for epoch in sorted(self._epochs):
            if epoch * self.sizes.epoch_length > self.ring_last:
                break
            heights = self._epochs[epoch]
            for due in _within(heights, ring_last + 1, self.ring_last):
                self._bucket(due).update(heights.pop(due))
            if not heights:
                del self._epochs[epoch]

    # --- what is held ------------------------------------------------------------

    def _held_between(self, first: bytes, stop: bytes) -> Iterator[tuple[bytes, Held]]:
        # What is overdue lies in the bucket of the current height.
        low = max(self.height, keys.timer_height(first))
        is_all = stop == keys.TIMERS_STOP
        last = keys.HEIGHT_LAST if is_all else keys.timer_height(stop)
        high = max(self.height, last)
        epochs = map(self._epochs.__getitem__, sorted(self._epochs))
        for buckets in (self._ring, *epochs):
            for height in _within(buckets, low, high):
                bucket = buckets[height]
                for key in sorted(bucket):
                    if first <= key < stop:
                        yield key, bucket[key]

    def _fill(self, stop: bytes, count_max: int) -> None:
        """Bring in what follows in the overflow set, at most so many timers."""
        stop = min(stop, stop_after(self.epoch_last))
        count_max = min(count_max, HELD_MAX - self._count)
        if self._cursor >= stop or count_max <= 0:
            return
        pairs = list(islice(self.reader.range(self._cursor, stop), count_max))
        self._cursor = pairs[-1][0] + b"\0" if len(pairs) == count_max else stop
        for key, record in pairs:
            self._change(key, record)

    def _shed(self) -> None:
        """Leave to the store what is due last, down to half of the bound."""
        places = sorted(key for bucket in self._all() for key in bucket)
        self._cursor = places[HELD_MAX // 2]
        for key in places[HELD_MAX // 2 :]:
            self._change(key, None)

    def _all(self) -> Iterator[Bucket]:
        yield from self._ring.values()
        for heights in self._epochs.values():
            yield from heights.values()

    def _count_up(self) -> Tally:
        ring = sum(map(len, self._ring.values()))
        bounds = self._start, self._cursor
        return Tally(self.state_root, ring, self._count - ring, *bounds)

    def held(self) -> Iterator[tuple[Tier, int, bytes]]:
        """Tier, number of the bucket and key of each timer in memory, unordered."""
        for height, bucket in self._ring.items():
            slot = height % self.sizes.ring_size
            yield from ((Tier.RING, slot, key) for key in bucket)
        for epoch, heights in self._epochs.items():
            for bucket in heights.values():
                yield from ((Tier.EPOCH, epoch, key) for key in bucket)

    def _forget(self) -> None:
        self._ring.clear()
        self._epochs.clear()
        self._count = 0
        self._start = self._cursor = FIRST_KEY


def _within(buckets: Mapping[int, Bucket], first: int, last: int) -> list[int]:
    """Heights of buckets from `first` to `last`, ascending, at the lesser effort."""
    if last - first < len(buckets):
        return [height for height in range(first, last + 1) if height in buckets]
    return sorted([height for height in buckets if first <= height <= last])
