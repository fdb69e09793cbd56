"""What is told of a range of heights: buckets with a few numbers each.

Values alone; `heights` finds them.
"""

from msgspec import Struct

from node.chain.block_totals import BlockTotals
from node.primitives.types import Height

__all__ = [
    "BUCKETS_DEFAULT",
    "BUCKETS_MAX",
    "DueBucket",
    "DueTimers",
    "LaneLimits",
    "LaneUseBucket",
    "LaneUseRange",
    "within",
]

BUCKETS_DEFAULT = 256
"""Into which a range is cut at the most, unless another number is said."""

BUCKETS_MAX = 1_024
"""That one answer has."""


def within(
    first: int | None, last: int | None, usual: tuple[int, int]
) -> tuple[int, int]:
    """A range of heights of which an end may be left out; it is empty if it is bad."""
    if first is None:
        first = usual[0] if last is None else min(usual[0], last)
    return first, max(usual[1], first) if last is None else last


class DueBucket(Struct, frozen=True):
    """Heights, the timers that wait for them, and what the blocks there decided."""

    first_height: Height
    last_height: Height
    """Included."""
    pending: int
    """Live timers of the calendar that are due at these heights."""
    scheduled: int = 0
    """By the blocks whose headers stand there; as is all that follows."""
    fires: int = 0
    put_offs: int = 0
    expired: int = 0
    removed: int = 0
    """Since their payers could not pay."""
    cancelled: int = 0


class DueTimers(Struct, frozen=True):
    """A range of the calendar in numbers."""

    buckets: tuple[DueBucket, ...]
    width: int
    """Heights of each bucket: a power of 4."""
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
    """Included."""
    totals: BlockTotals | None
    """None where no header stands: above the head, or inside of a run (D36)."""


class LaneUseRange(Struct, frozen=True):
    """How lanes were used over a range of heights."""

    buckets: tuple[LaneUseBucket, ...]
    width: int
    """Heights of each bucket: a power of 4."""
    limits: LaneLimits
    counted_from: Height
    """Nothing is told of blocks below."""
