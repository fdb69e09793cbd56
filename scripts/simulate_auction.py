"""Answer CIP-1 §16's questions with simulations; write docs/auction-simulation.md.

    python scripts/simulate_auction.py [--only NAME …] [--jobs N] [--blocks N]

Every scenario is a chain of 10,000 blocks, in a process of its own; some twenty
minutes of one core. Same code, same bytes, on every machine: what was simulated, the
tables and the pictures.
"""

import argparse
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path

from simulating.scenarios import BLOCKS, Scenario, scenarios
from simulating.world import simulate

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "auction-simulation"


def live_through(scenario: Scenario) -> tuple[str, str, float]:
    """Name, record as JSON, seconds of the processor."""
    began = time.process_time()
    record = simulate(scenario)
    spent = time.process_time() - began
    return scenario.name, json.dumps(asdict(record), separators=(",", ":")), spent


def run(wanted: list[Scenario], jobs: int, folder: Path) -> None:
    """Simulate, several at a time, and keep each record in a file."""
    folder.mkdir(parents=True, exist_ok=True)
    fires = 0
    seconds = 0.0
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed(pool.submit(live_through, one) for one in wanted):
            name, record, spent = done.result()
            path_of(folder, name).write_text(record, encoding="utf-8")
            fired = sum(map(sum, json.loads(record)["fires"].values()))
            fires += fired
            seconds += spent
            print(f"{name:32} {fired:7,} fires, {fired / spent:5,.0f}/s", flush=True)
    print(f"{len(wanted)} scenarios, {fires:,} fires, {fires / seconds:,.0f}/s a core")


def path_of(folder: Path, name: str) -> Path:
    """The file that keeps a scenario's record."""
    return folder / (name.replace("/", "-").replace(":", "-") + ".json")


def main() -> int:
    """Exit code: 0."""
    table = scenarios()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help=", ".join(table))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--blocks", type=int, default=BLOCKS, metavar="N")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.only or () if name not in table]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(table)}")
    wanted = [
        replace(scenario, blocks=arguments.blocks)
        for name, scenario in table.items()
        if arguments.only is None or name in arguments.only
    ]
    run(wanted, arguments.jobs, arguments.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
