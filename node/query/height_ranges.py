"""What is told of a range of heights: buckets with a few numbers each.

Values alone; `heights` finds them.
"""

from msgspec import Struct

from node.chain.block_totals import BlockTotals
from node.primitives.types import Height

__all__ = ["DueBucket", "DueTimers", "LaneLimits", "LaneUseBucket", "LaneUseRange"]


class DueBucket(Struct, frozen=True):
    """Heights, the timers that wait for them, and what happened there."""

    first_height: Height
    last_height: Height
    pending: int
    """Live timers of the calendar that are due at these heights."""
    totals: BlockTotals | None
    """Of the headers that stand there; None if none does."""


class DueTimers(Struct, frozen=True):
    """A range of the calendar in numbers."""

    buckets: tuple[DueBucket, ...]
    width: int
    ring_last: int
    """The last height that lies within the ring (D24)."""
    epoch_last: int
    """The last height that the epoch queue reaches; what lies behind is overflow."""
    pending: int
    """Live timers of the whole calendar."""
    queued: int
    """Fires that wait in the Globalbox: their timers have left the calendar (D52)."""
    counted_from: Height
    """Nothing is told of blocks below."""


class LaneLimits(Struct, frozen=True):
    """What the next block has, and what its basefees aim at (D7, D8, D43)."""

    transaction_cycles: int
    timer_cycles: int
    message_cycles: int
    agent_cycles: int
    cells: int
    target_cycles: int
    """Above which the basefee of cycles rises."""
    target_cells: int


class LaneUseBucket(Struct, frozen=True):
    """Heights, and what the blocks there used and paid."""

    first_height: Height
    last_height: Height
    totals: BlockTotals | None
    """None where no header stands: above the head, or inside of a run (D36)."""


class LaneUseRange(Struct, frozen=True):
    """How lanes were used over a range of heights."""

    buckets: tuple[LaneUseBucket, ...]
    width: int
    limits: LaneLimits
    counted_from: Height
    """Nothing is told of blocks below."""
