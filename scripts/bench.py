"""Measure the node's speed and write docs/performance.md.

    python scripts/bench.py [--only NAME …] [--dry-run]
    python scripts/bench.py --soak MINUTES
    python scripts/bench.py --filled FOLDER

Takes some eight minutes. A target that is missed makes the exit code 1.
"""

import argparse
import compileall
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from benches import (
    atscale,
    auction,
    bidding,
    globalbox,
    heights,
    hoarding,
    inprocess,
    load,
    longchain,
    longtime,
    overhttp,
    rewinding,
    siege,
    simulation,
    starting,
    traffic,
    vm,
)
from benches.report import (
    Section,
    find_section,
    machine,
    progress,
    render,
    render_section,
)

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "docs" / "performance.md"
SOAK_TITLE = "Soak"
KEPT_TITLES = (atscale.FILLED_TITLE, SOAK_TITLE)
"""Of sections that `--filled` and `--soak` write and all else leaves alone."""

MEASUREMENTS: dict[str, Callable[[], Section]] = {
    "start": starting.measure_start,
    "import": starting.measure_import,
    "devnet": inprocess.measure_devnet,
    "empty": inprocess.measure_empty_blocks,
    "fires": inprocess.measure_fires,
    "calls": inprocess.measure_calls,
    "traces": inprocess.measure_traces,
    "plugin": longtime.measure_plugin,
    "year": longtime.measure_year,
    "advance": longtime.measure_advance,
    "snapshots": rewinding.measure_devnet_snapshots,
    "named": rewinding.measure_named_snapshots,
    "replay": rewinding.measure_replay,
    "due": auction.measure_looking,
    "auction": auction.measure_auction_fires,
    "fairness": auction.measure_fairness,
    "bidding": bidding.measure_bidding_fires,
    "epoch": bidding.measure_epoch,
    "globalbox": globalbox.measure_globalbox_fires,
    "queue": globalbox.measure_queue,
    "watches": globalbox.measure_watches,
    "simulation": simulation.measure_simulation,
    "serial": traffic.measure_serial,
    "http": overhttp.measure_http,
    "flight": traffic.measure_in_flight,
    "memory": starting.measure_memory,
    "status": load.measure_status,
    "siege": siege.measure_siege,
    "long": longchain.measure_long_chain,
    "compile": vm.measure_compiling,
    "messages": vm.measure_messages,
    "scale": atscale.measure_scale,
    "heights": heights.measure_heights,
    "vm": vm.measure_ratios,
    "prices": vm.measure_prices,
    "hoarding": hoarding.measure_hoarding,
}


def main() -> int:
    """Exit code: 0 all targets reached, 1 one was missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, metavar="NAME")
    parser.add_argument(
        "--soak",
        type=float,
        metavar="MINUTES",
        help="only use one node for that long; replaces the report's soak",
    )
    parser.add_argument(
        "--filled",
        type=Path,
        metavar="FOLDER",
        help="of fill_timers.py: only measure ten million timers; replaces the "
        "report's section on them",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the report, write nothing"
    )
    arguments = parser.parse_args()
    # Told to stop, end the processes that were started, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if arguments.soak is not None:
        _soak(arguments.soak)
        return 0
    for package in ("node", "pvm"):  # as pip does for a wheel
        compileall.compile_dir(ROOT / package, quiet=1)
    if arguments.filled is not None:
        section = atscale.measure_scale(arguments.filled)
        sys.stdout.write(render_section(section))
        if not arguments.dry_run:
            _replace(section)
        return _tell_missed([section])
    facts = machine()
    sections = []
    for name, measure in MEASUREMENTS.items():
        if arguments.only is None or name in arguments.only:
            progress(f"measuring: {name}")
            sections.append(measure())
    text = render(facts, sections)
    if arguments.dry_run or arguments.only is not None:
        sys.stdout.write(text)
    else:
        before = REPORT.read_text("utf-8")
        _write(text + "".join(find_section(before, title) for title in KEPT_TITLES))
    return _tell_missed(sections)


def _tell_missed(sections: list[Section]) -> int:
    """Exit code, by whether a target was missed."""
    missed = [
        row.what
        for section in sections
        for row in section.rows
        if row.is_reached is False
    ]
    for what in missed:
        progress(f"missed: {what}")
    return 1 if missed else 0


def _soak(minutes: float) -> None:
    """Put a soak's figures in the place of the last one's."""
    _replace(load.measure_soak(minutes))


def _replace(section: Section) -> None:
    """Put a section in the place of the last one of its title."""
    text, shown = REPORT.read_text("utf-8"), render_section(section)
    before = find_section(text, section.title)
    _write(text.replace(before, shown) if before else text + shown)


def _write(text: str) -> None:
    REPORT.write_text(text, encoding="utf-8")
    progress(f"written: {REPORT.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
