"""Types that the language lacks, or checks of those it has."""

from cowboy_sdk.native import Address

ordered_set = set


def BlockHeight(height):
    """A height: a plain int, checked."""
    if type(height) is not int or height < 0:
        raise ValueError(f"a height is an int of 0 or more, not {height!r}")
    return height


class PriorityTier:
    """What `priority_tier_hint` of a timer may say (CIP-1 §7.3)."""

    ECONOMY = "economy"
    STANDARD = "standard"
    FAST = "fast"
    URGENT = "urgent"
