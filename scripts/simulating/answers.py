"""The tables and pictures of docs/auction-simulation.md, by name.

A table stands in the page between `<!-- NAME -->` and `<!-- end -->`; what is written
around it is written by people, and says what the figures mean.
"""

from collections.abc import Callable, Mapping

from simulating import prices, turns
from simulating.figures import Records, table, total_fires


def heads(records: Records) -> str:
    """What each simulation ended with: for whoever repeats it."""
    rows = [
        (f"`{name}`", f"{total_fires(record):,}", f"`{record.head[:32]}`")
        for name, record in records.items()
    ]
    return table(
        ("scenario", "fires", "first 16 bytes of the last header's hash"), rows
    )


TABLES: Mapping[str, Callable[[Records], str]] = {
    "baselines": prices.baselines,
    "baseline waits": prices.baseline_waits,
    "served": prices.served,
    "windows": turns.windows,
    "fragments": turns.fragments,
    "shocks": turns.shocks,
    "ties": turns.ties,
    "clamps": turns.clamps,
    "tiers": prices.tiers,
    "multipliers": prices.multipliers,
    "uncapped": prices.uncapped,
    "heads": heads,
}
PICTURES: Mapping[str, Callable[[Records], str]] = {
    "auction-baselines.svg": prices.draw_baselines,
    "auction-windows.svg": turns.draw_windows,
    "auction-fragments.svg": turns.draw_fragments,
    "auction-shocks.svg": turns.draw_shocks,
    "auction-tiers.svg": prices.draw_tiers,
}
