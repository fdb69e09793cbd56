"""Fires that populations of actors make in a second, as `make simulate-auction` does.

Each of them is scheduled by the fire before it, priced, noted, and in the supply that
is checked after its block.
"""

import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from msgspec.structs import replace
from simulating.figures import total_fires
from simulating.scenarios import scenarios
from simulating.world import simulate

from benches.inprocess import fires_per_second
from benches.report import Row, Section, interleave, median

SCENARIO = "steady/auction"
BLOCKS = 1_000
ROUNDS = 3
PER_CORE_MIN = 2_000

_AUCTION = [{"height": 0, "rules": "auction"}]


def measure_simulation() -> Section:
    """One scenario alone, and one on each core."""
    processes = os.cpu_count() or 1
    alone, trivial = interleave(
        ROUNDS, _simulated, lambda: fires_per_second(activations=_AUCTION)
    )
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        began = [pool.submit(_simulated) for _ in range(processes)]
        together = [one.result() for one in began]
    baseline = f"of trivial handlers that schedule nothing: {median(trivial):,.0f}/s"
    rows = (
        Row(
            "fires a second of a simulation, one process",
            f"{median(alone):,.0f}/s",
            baseline,
            f"> {PER_CORE_MIN:,}/s",
            median(alone) > PER_CORE_MIN,
        ),
        Row(
            f"of {processes} processes at once, all together",
            f"{sum(together):,.0f}/s",
            f"one alone: {median(alone):,.0f}/s",
            "",
            None,
        ),
    )
    method = (
        f"{BLOCKS:,} blocks of `{SCENARIO}` of docs/auction-simulation.md, deployments "
        "and checks of the supply included: heartbeats that schedule their next fire, "
        "priced out or not by a lane that is wanted to 115 %."
    )
    return Section("Auction: simulation", method, rows)


def _simulated() -> float:
    scenario = replace(scenarios()[SCENARIO], blocks=BLOCKS)
    began = time.perf_counter()
    record = simulate(scenario)
    return total_fires(record) / (time.perf_counter() - began)
