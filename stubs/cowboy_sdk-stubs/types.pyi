"""Types that the language lacks, or checks of those it has."""

from typing import Final

from cowboy_sdk.native import Address as Address

ordered_set = set

def BlockHeight(height: int) -> int:
    """The height, checked; ValueError unless it is an int of 0 or more."""

class PriorityTier:
    """What `priority_tier_hint` of a timer may say (CIP-1 §7.3)."""

    ECONOMY: Final = "economy"
    STANDARD: Final = "standard"
    FAST: Final = "fast"
    URGENT: Final = "urgent"
