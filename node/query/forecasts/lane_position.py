"""Where a live timer stands where timers bid: what decides its place, and the place.

Values alone, which clients of a node read as well as the chain that finds them.
"""

from msgspec import Struct

from node.primitives.types import PPM, Amount, Height


class Standing(Struct, frozen=True):
    """What decides a timer's place, at the prices of the next block."""

    basefee_lane: Amount
    """Under `auction`, else 0."""
    max_fee: Amount
    max_priority: Amount
    """What it offers: as stated, by default, or its own agent's last answer."""
    priority: Amount
    """What of it is left above that basefee (CIP-1 §3 step 6)."""
    weight_ppm: int
    """Weight of its actor (D32, D48)."""
    waits_for: str
    """Why it has no turn whatever others offer: `cap`, `lane_basefee`, `funds`,
    `below_basefee`, or nothing."""
    basefee_cycle: Amount | None = None
    """Under `bidding`, where it is above this that tips are offered."""
    waited: int | None = None
    """Under `bidding`: blocks from its due height to the next one."""

    @property
    def effective_priority(self) -> int:
        """What decides its turn, in parts per million of a base unit a cycle.

        Under `auction` priority times weight; under `bidding` the priority, which is
        the effective tip: there the weight only breaks ties (D46).
        """
        is_weighed = self.basefee_cycle is None
        return self.priority * (self.weight_ppm if is_weighed else PPM)


class LanePosition(Struct, frozen=True):
    """Where a live timer stands under `auction` or `bidding`, as things are."""

    height: Height
    """Height at which the timer is looked at."""
    standing: Standing
    rank: int | None
    """Rank from 1 among the timers that compete then. None if the timer waits for
    another reason, or if too many would have to be counted."""
    contenders: int | None
    """Number of timers that compete then, or None likewise."""
    slice_cycles: int | None = None
    """Under `bidding`: cycles of its actor's slice of the lane, or None likewise."""
