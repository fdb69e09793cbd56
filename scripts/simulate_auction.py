"""Answer CIP-1 §16's questions with simulations; write docs/auction-simulation.md.

    python scripts/simulate_auction.py [--jobs N] [--check]
    python scripts/simulate_auction.py --only NAME … [--blocks N] [--results FOLDER]

Every scenario is a chain of 10,000 blocks, in a process of its own; together some
twenty minutes of one core. Same code, same bytes, on every machine: what was
simulated, the tables and the pictures. With `--check` nothing is written, and a page
or picture that differs makes the exit code 1; with `--only` scenarios are simulated
and the page is left alone; with `--draw` it is written from records that were kept.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from msgspec.structs import replace
from simulating.answers import PICTURES, TABLES
from simulating.figures import Records, total_fires
from simulating.gathering import read_record, write_record
from simulating.pages import fill_in, path_of, publish
from simulating.scenarios import BLOCKS, Scenario, scenarios
from simulating.world import simulate

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGE = DOCS / "auction-simulation.md"
RESULTS = ROOT / "build" / "auction-simulation"


def live_through(scenario: Scenario) -> tuple[str, str, float]:
    """Name, record, seconds of the processor."""
    began = time.process_time()
    record = simulate(scenario)
    return scenario.name, write_record(record), time.process_time() - began


def run(wanted: list[Scenario], jobs: int, folder: Path) -> None:
    """Simulate, several at a time, and keep each record in a file."""
    folder.mkdir(parents=True, exist_ok=True)
    fires, seconds = 0, 0.0
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed(pool.submit(live_through, one) for one in wanted):
            name, record, spent = done.result()
            path_of(folder, name).write_text(record, encoding="utf-8")
            fired = total_fires(read_record(record))
            fires, seconds = fires + fired, seconds + spent
            print(f"{name:32} {fired:7,} fires, {fired / spent:5,.0f}/s", flush=True)
    print(f"{len(wanted)} scenarios, {fires:,} fires, {fires / seconds:,.0f}/s a core")


def documents(records: Records) -> Iterator[tuple[Path, str]]:
    """Every file that follows from the records, and what it should hold."""
    yield PAGE, fill_in(PAGE.read_text("utf-8"), lambda name: TABLES[name](records))
    for name, picture in PICTURES.items():
        yield DOCS / name, picture(records)


def _arguments(table: dict[str, Scenario]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=table)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--blocks", type=int, default=BLOCKS, metavar="N")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER")
    parser.add_argument("--draw", action="store_true", help="simulate nothing")
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    return parser.parse_args()


def main() -> int:
    """Exit code: 1 if the page is to be written anew, with `--check`."""
    table = scenarios()
    arguments = _arguments(table)
    names = arguments.only or list(table)
    if not arguments.draw:
        wanted = [replace(table[name], blocks=arguments.blocks) for name in names]
        run(wanted, arguments.jobs, arguments.results)
    if arguments.only:
        return 0
    paths = {name: path_of(arguments.results, name) for name in names}
    records = {name: read_record(path.read_text()) for name, path in paths.items()}
    differing = publish(documents(records), is_check=arguments.check)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
