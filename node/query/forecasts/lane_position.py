"""Where a live timer stands under `auction`: what decides its place, and the place.

Values alone, which clients of a node read as well as the chain that finds them.
"""

from msgspec import Struct

from node.primitives.types import Amount, Height


class Standing(Struct, frozen=True):
    """What decides a timer's place under `auction`, at the prices of the next block."""

    basefee_lane: Amount
    max_fee: Amount
    max_priority: Amount
    """What it offers: as stated, by default, or its own agent's last answer."""
    priority: Amount
    """What of it is left above the lane basefee (CIP-1 §3 step 6)."""
    weight_ppm: int
    """W of its actor (D32)."""
    waits_for: str
    """Why it has no turn whatever others offer: `cap`, `lane_basefee`, or nothing."""

    @property
    def effective_priority(self) -> int:
        """Priority times weight, in parts per million of a base unit a cycle."""
        return self.priority * self.weight_ppm


class LanePosition(Struct, frozen=True):
    """Where a live timer stands under `auction`, as things are."""

    height: Height
    """Height at which the timer is looked at."""
    standing: Standing
    rank: int | None
    """Rank from 1 among the timers that compete then. None if the timer waits for
    another reason, or if too many would have to be counted."""
    contenders: int | None
    """Number of timers that compete then, or None likewise."""
