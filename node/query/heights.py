"""Ranges of heights in few numbers: what is due, what happened, how lanes were used.

A range is cut into buckets of equal width, a power of 4, each beginning at a multiple
of it: whoever moves through the chain sees the same numbers again. What is due is
counted by the pages of the calendar's tree, what happened by the totals that history
keeps; so an answer costs what its buckets are, whatever the number of timers and
blocks.
"""

from collections.abc import Iterator

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
from node.totals import LEVEL_BITS, RunningTotals, load_totals

__all__ = [
    "BUCKETS_MAX",
    "HeightBuckets",
    "count_due",
    "cut",
    "epochs_reach",
    "lane_limits",
    "lane_use",
    "totals_by_bucket",
]

BUCKETS_MAX = 1_024
"""That one answer has."""

_SEQUENCE_BITS = 8 * keys.SEQUENCE_BYTES


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
    """The narrowest buckets, at most so many, that hold a range; it is not empty."""
    level = 0
    while True:
        bits = LEVEL_BITS * level
        count = (last_height >> bits) - (first_height >> bits) + 1
        if count <= buckets_max:
            return HeightBuckets(level, first_height >> bits, count)
        level += 1


def totals_by_bucket(
    state: State, buckets: HeightBuckets
) -> Iterator[tuple[int, BlockTotals]]:
    """Totals of buckets in which headers stand, each with the place of its bucket."""
    snapshot, head = state.snapshot, state.head.height
    level = buckets.level
    first, last = buckets.first_height, min(buckets.last_height, head)
    if first > last:
        return
    for height, totals in load_totals(snapshot, level, first, last):
        yield height // buckets.width - buckets.first, totals
    place = head // buckets.width - buckets.first
    if level and place < buckets.count:  # at level 0 the head has a record
        left = RunningTotals.load(snapshot, head).of_group(level)
        if left is not None:
            yield place, left


# --- what is due ---------------------------------------------------------------------


def count_due(state: State, first: int, last: int, buckets_max: int) -> DueTimers:
    """How many timers are due from one height to another, and what became of others."""
    buckets = cut(first, last, buckets_max)
    calendar = open_tree(state.snapshot, CALENDAR)
    shift = _SEQUENCE_BITS + LEVEL_BITS * buckets.level
    pending = calendar.counts(shift, buckets.first, buckets.count)
    totals = dict(totals_by_bucket(state, buckets))
    tiers = TieredCalendar(state.snapshot, state.head.height, state.params.calendar)
    return DueTimers(
        tuple(
            DueBucket(*bounds, count, totals.get(place))
            for place, (bounds, count) in enumerate(
                zip(buckets.bounds(), pending, strict=True)
            )
        ),
        buckets.width,
        tiers.ring_last,
        tiers.epoch_last,
        sum(calendar.counts(8 * CALENDAR.key_bytes, 0, 1)),
        sum(open_tree(state.snapshot, GLOBALBOX).counts(8 * GLOBALBOX.key_bytes, 0, 1)),
        _counted_from(state),
    )


def _counted_from(state: State) -> Height:
    """Genesis; else where a state file began, or what was kept when counting began."""
    oldest = load_oldest(state.snapshot).header
    if oldest:
        return Height(oldest + 1)  # what happened in the file's own block is not known
    found = load_totals(state.snapshot, 0, 0, keys.HEIGHT_LAST)
    return next(found, (Height(state.head.height + 1), None))[0]


def epochs_reach(state: State) -> int:
    """The last height that the epoch queue reaches at the head."""
    height, sizes = state.head.height, state.params.calendar
    return TieredCalendar(state.snapshot, height, sizes).epoch_last


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


def lane_use(state: State, first: int, last: int, buckets_max: int) -> LaneUseRange:
    """How lanes were used from one height to another, and what was paid."""
    buckets = cut(first, last, buckets_max)
    totals = dict(totals_by_bucket(state, buckets))
    return LaneUseRange(
        tuple(
            LaneUseBucket(*bounds, totals.get(place))
            for place, bounds in enumerate(buckets.bounds())
        ),
        buckets.width,
        lane_limits(state),
        _counted_from(state),
    )
