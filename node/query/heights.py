"""Ranges of heights in few numbers: what is due, what happened, how lanes were used.

A range is cut into buckets of equal width, a power of 4, each beginning at a multiple
of it: whoever moves through the chain sees the same numbers again. What is due is
counted by the pages of the calendar's tree, what happened by the totals that history
keeps; so an answer costs what its buckets are, whatever the number of timers and
blocks.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from msgspec import Struct

from node.chain.block_totals import BlockTotals
from node.chain.timers.tiers import TieredCalendar
from node.chain.transition import State, head_governed
from node.primitives.types import Height
from node.query.height_ranges import (
    DueBucket,
    DueTimers,
    LaneLimits,
    LaneUseBucket,
    LaneUseRange,
)
from node.state import keys
from node.state.commitment import CALENDAR, GLOBALBOX, open_tree
from node.state.retention import load_oldest
from node.state.store import StoreSnapshot
from node.totals import LEVEL_BITS, RunningTotals, load_totals

__all__ = [
    "HeightBuckets",
    "Past",
    "StoredPast",
    "count_due",
    "cut",
    "lane_limits",
    "lane_use",
    "past_of",
    "upcoming",
]

_SEQUENCE_BITS = 8 * keys.SEQUENCE_BYTES
_LEVEL_MAX = 31
"""Whose buckets have 2⁶² heights; those of the next have more than 64 bits tell."""


class HeightBuckets(Struct, frozen=True):
    """How a range of heights is cut."""

    level: int
    """Each bucket has 4 to this power heights."""
    first: int
    """Number of the first bucket: its first height divided by the width."""
    count: int

    @property
    def width(self) -> int:
        """Heights of a bucket."""
        return 1 << LEVEL_BITS * self.level

    @property
    def first_height(self) -> Height:
        """Of all buckets."""
        return Height(self.first * self.width)

    @property
    def last_height(self) -> Height:
        """Of all buckets."""
        return Height((self.first + self.count) * self.width - 1)

    def bounds(self) -> Iterator[tuple[Height, Height]]:
        """First and last height of each."""
        for number in range(self.first, self.first + self.count):
            low = number * self.width
            yield Height(low), Height(low + self.width - 1)


def cut(first_height: int, last_height: int, buckets_max: int) -> HeightBuckets:
    """The narrowest buckets, at most so many, that hold a range; it is not empty.

    Of all heights that there can be it takes 4 buckets at least: one of them is as wide
    as a number of heights may be.
    """
    level = count = 0
    for level in range(_LEVEL_MAX + 1):
        bits = LEVEL_BITS * level
        count = (last_height >> bits) - (first_height >> bits) + 1
        if count <= buckets_max:
            break
    return HeightBuckets(level, first_height >> LEVEL_BITS * level, count)


class Past(Protocol):
    """What is known of the blocks of a chain, added up."""

    def totals(self, buckets: HeightBuckets) -> Mapping[int, BlockTotals]:
        """Of buckets in which headers stand, by the place of the bucket."""
        ...

    def counted_from(self) -> Height:
        """The first height of which anything is known."""
        ...


class StoredPast(Struct, frozen=True):
    """The past of a chain whose history is in a store."""

    snapshot: StoreSnapshot
    head: int

    def totals(self, buckets: HeightBuckets) -> Mapping[int, BlockTotals]:
        """Of buckets in which headers stand, by the place of the bucket."""
        level, snapshot = buckets.level, self.snapshot
        first, last = buckets.first_height, min(buckets.last_height, self.head)
        if first > last:
            return {}
        found = {
            height // buckets.width - buckets.first: totals
            for height, totals in load_totals(snapshot, level, first, last)
        }
        place = self.head // buckets.width - buckets.first
        if level and place < buckets.count:  # at level 0 the head has a record
            left = RunningTotals.load(snapshot, self.head).of_group(level)
            if left is not None:
                found[place] = left
        return found

    def counted_from(self) -> Height:
        """Genesis; else where a state file began, or what was kept once counted."""
        oldest = load_oldest(self.snapshot).header
        if oldest:
            return Height(oldest + 1)  # what the file's own block did is not known
        found = load_totals(self.snapshot, 0, 0, keys.HEIGHT_LAST)
        return next(found, (Height(self.head + 1), None))[0]


def past_of(state: State) -> StoredPast:
    """The past of a node's chain."""
    return StoredPast(state.snapshot, state.head.height)


# --- what is due ---------------------------------------------------------------------


def count_due(
    state: State, past: Past, heights: tuple[int, int], buckets_max: int
) -> DueTimers:
    """How many timers are due from one height to another, and what came of others."""
    buckets = cut(*heights, buckets_max)
    calendar = open_tree(state.snapshot, CALENDAR)
    shift = _SEQUENCE_BITS + LEVEL_BITS * buckets.level
    pending = calendar.counts(shift, buckets.first, buckets.count)
    totals = past.totals(buckets)
    tiers = TieredCalendar(state.snapshot, state.head.height, state.params.calendar)
    return DueTimers(
        tuple(
            _due_bucket(bounds, count, totals.get(place))
            for place, (bounds, count) in enumerate(
                zip(buckets.bounds(), pending, strict=True)
            )
        ),
        buckets.width,
        tiers.ring_last,
        tiers.epoch_last,
        calendar.count(),
        open_tree(state.snapshot, GLOBALBOX).count(),
        past.counted_from(),
    )


def _due_bucket(
    bounds: tuple[Height, Height], pending: int, totals: BlockTotals | None
) -> DueBucket:
    if totals is None:
        return DueBucket(*bounds, pending)
    return DueBucket(
        *bounds,
        pending,
        totals.scheduled,
        totals.fires,
        totals.put_offs,
        totals.expired,
        totals.removed,
        totals.cancelled,
    )


def upcoming(state: State) -> tuple[int, int]:
    """From the head to the last height that the epoch queue reaches."""
    height, sizes = state.head.height, state.params.calendar
    return height, TieredCalendar(state.snapshot, height, sizes).epoch_last


# --- how lanes were used -------------------------------------------------------------


def lane_limits(state: State) -> LaneLimits:
    """What the next block has."""
    params, governed = state.params, head_governed(state)
    return LaneLimits(
        params.lane_user_cycles,
        governed.timer_config.lane_timer_cycles,
        params.lane_deferred_cycles,
        governed.timer_config.lane_gba_cycles,
        params.block_cells,
        governed.basefee_config.target_cycles,
        governed.basefee_config.target_cells,
    )


def lane_use(
    state: State, past: Past, heights: tuple[int, int], buckets_max: int
) -> LaneUseRange:
    """How lanes were used from one height to another, and what was paid."""
    buckets = cut(*heights, buckets_max)
    totals = past.totals(buckets)
    return LaneUseRange(
        tuple(
            LaneUseBucket(*bounds, totals.get(place))
            for place, bounds in enumerate(buckets.bounds())
        ),
        buckets.width,
        lane_limits(state),
        past.counted_from(),
    )
