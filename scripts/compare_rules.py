"""Let the same worlds pass under every set of timer rules, and compare.

    python scripts/compare_rules.py [--workers N] [--check]
    python scripts/compare_rules.py --only WORLD … [--rules NAME …] [--blocks N]

It writes the tables and pictures of docs/rules-compared.md. Each world under each set
of rules is a chain of its own, in one of N processes; together some minutes of one
core. The same seed gives the same bytes, with any number of workers. With `--check`
nothing is written, and a page or picture that differs makes the exit code 1; with
`--only`, `--rules`, `--blocks` or another `--seed` the tables are printed, and the page
is left alone; with `--draw` it is written from records that were kept.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from comparing.living import live
from comparing.measures import Records, fires
from comparing.noting import Record, read_record, write_record
from comparing.tables import PICTURES, table_of
from comparing.worlds import BLOCKS, worlds
from simulating.pages import fill_in, path_of, publish

from node.chain.timers.rules import RULE_SETS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGE = DOCS / "rules-compared.md"
RESULTS = ROOT / "build" / "rules-compared"
SEED = 1
"""Of the page."""


def live_through(name: str, blocks: int, rules: str, seed: int) -> tuple[str, float]:
    """The record of a world, and seconds of the processor."""
    began = time.process_time()
    record = live(worlds(blocks)[name], rules, seed)
    return write_record(record), time.process_time() - began


def run(arguments: argparse.Namespace) -> Records:
    """Let each world pass under each of the rules, several at a time."""
    blocks, seed, workers = arguments.blocks, arguments.seed, arguments.workers
    found: dict[str, Record] = {}
    seconds = 0.0
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = [
            pool.submit(live_through, world, blocks, rules, seed)
            for world in arguments.only
            for rules in arguments.rules
        ]
        for each in waiting:
            text, spent = each.result()
            record = read_record(text)
            found[record.name] = record
            seconds += spent
            count = fires(record)
            print(f"{record.name:28} {count:7,} fires, {spent:5.1f} s", flush=True)
    print(f"{len(found)} worlds, {seconds:.0f} s of one core")
    return found


def documents(records: Records) -> Iterator[tuple[Path, str]]:
    """Every file that follows from the records, and what it should hold."""
    page = PAGE.read_text("utf-8")
    yield PAGE, fill_in(page, lambda name: table_of(records, name))
    for name, picture in PICTURES.items():
        yield DOCS / name, picture(records)


def print_tables(records: Records) -> None:
    """All tables of the worlds that there are, on standard output."""
    groups = {record.world: list(record.fires) for record in records.values()}
    for world, names in groups.items():
        print(f"\n{world}\n\n{table_of(records, world)}")
        if len(names) > 1:
            print(table_of(records, f"{world} by group"))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    every, rules = list(worlds()), list(RULE_SETS)
    for flag, metavar, choices in (("only", "WORLD", every), ("rules", "NAME", rules)):
        parser.add_argument(
            f"--{flag}", nargs="+", metavar=metavar, choices=choices, default=choices
        )
    parser.add_argument("--blocks", type=int, default=BLOCKS, metavar="N")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--draw", action="store_true", help="simulate nothing")
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    return parser.parse_args()


def main() -> int:
    """Exit code: 1 if the page is to be written anew, with `--check`."""
    arguments = _arguments()
    asked = (arguments.only, arguments.rules, arguments.blocks, arguments.seed)
    if asked != (list(worlds()), list(RULE_SETS), BLOCKS, SEED):
        print_tables(run(arguments))
        return 0
    if not arguments.draw:
        RESULTS.mkdir(parents=True, exist_ok=True)
        for name, record in run(arguments).items():
            path_of(RESULTS, name).write_text(write_record(record), "utf-8")
    names = [f"{world}/{rules}" for world in worlds() for rules in RULE_SETS]
    kept = {name: path_of(RESULTS, name).read_text("utf-8") for name in names}
    records = {name: read_record(text) for name, text in kept.items()}
    return 1 if publish(documents(records), is_check=arguments.check) else 0


if __name__ == "__main__":
    sys.exit(main())
