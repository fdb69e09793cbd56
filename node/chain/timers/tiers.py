"""Ring, epoch queue, overflow: the calendar as CIP-1 §2 names its tiers (D24).

The tier of a timer is a pure function of its due height and the current one, so a
"promotion" is a change of view and moves no key: reading a bucket is a range read of
the ordered set, O(1) in the number of timers that lie elsewhere. Right for any
positive sizes, a ring smaller than an epoch included.
"""

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from node.chain.params import CalendarSizes
from node.chain.reader import Reader
from node.chain.timers.calendar import timers_between
from node.chain.timers.timer import Timer


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


class TieredCalendar(Struct, frozen=True):
    """The three tiers at one height: views that read the ordered set."""

    reader: Reader
    height: int
    sizes: CalendarSizes

    @property
    def ring_last(self) -> int:
        """The last height that lies within the ring."""
        return self.height + self.sizes.ring_size - 1

    @property
    def epoch_last(self) -> int:
        """The last height that the epoch queue reaches, never before the ring's."""
        length = self.sizes.epoch_length
        last = (self.height // length + self.sizes.epochs + 1) * length - 1
        return max(last, self.ring_last)

    def ring_bucket(self, slot: int) -> Iterator[Timer]:
        """Timers of one slot: those due at its height; overdue ones in the current."""
        size = self.sizes.ring_size
        due = self.height + (slot - self.height) % size
        first = 0 if due == self.height else due
        return timers_between(self.reader, first, due)

    def ring(self) -> Iterator[Timer]:
        """All timers of the ring, in due order, overdue ones first."""
        return timers_between(self.reader, 0, self.ring_last)

    def epoch_bucket(self, epoch: int) -> Iterator[Timer]:
        """Timers of one epoch that are beyond the ring and within the queue."""
        length = self.sizes.epoch_length
        first = max(epoch * length, self.ring_last + 1)
        last = min((epoch + 1) * length - 1, self.epoch_last)
        if first > last:
            return iter(())
        return timers_between(self.reader, first, last)

    def overflow(self) -> Iterator[Timer]:
        """Timers beyond the epoch queue, in due order."""
        return timers_between(self.reader, self.epoch_last + 1, 2**64 - 1)
