"""The tables and pictures of docs/auction-simulation.md, by name.

A table stands in the page between `<!-- NAME -->` and `<!-- end -->`; what is written
around it is written by people, and says what the figures mean.
"""

from collections.abc import Callable, Mapping

from simulating import prices, turns
from simulating.figures import Records

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
}
PICTURES: Mapping[str, Callable[[Records], str]] = {
    "auction-baselines.svg": prices.draw_baselines,
    "auction-windows.svg": turns.draw_windows,
    "auction-fragments.svg": turns.draw_fragments,
    "auction-shocks.svg": turns.draw_shocks,
    "auction-tiers.svg": prices.draw_tiers,
}
