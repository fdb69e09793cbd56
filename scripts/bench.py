"""Measure the node's speed and write docs/performance.md.

    python scripts/bench.py [--only NAME …] [--dry-run]

Takes about a minute. A target that is missed makes the exit code 1.
"""

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from benches import inprocess, starting, traffic
from benches.report import Section, machine, progress, render

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "docs" / "performance.md"

MEASUREMENTS: dict[str, Callable[[], Section]] = {
    "start": starting.measure_start,
    "import": starting.measure_import,
    "devnet": inprocess.measure_devnet,
    "empty": inprocess.measure_empty_blocks,
    "fires": inprocess.measure_fires,
    "calls": inprocess.measure_calls,
    "serial": traffic.measure_serial,
    "flight": traffic.measure_in_flight,
    "memory": starting.measure_memory,
    "vm": inprocess.measure_vm,
}


def main() -> int:
    """Exit code: 0 all targets reached, 1 one was missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, metavar="NAME")
    parser.add_argument(
        "--dry-run", action="store_true", help="print the report, write nothing"
    )
    arguments = parser.parse_args()
    # Told to stop, end the processes that were started, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
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
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.write_text(text, encoding="utf-8")
        progress(f"written: {REPORT.relative_to(ROOT)}")
    missed = [
        row.what
        for section in sections
        for row in section.rows
        if row.is_reached is False
    ]
    for what in missed:
        progress(f"missed: {what}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
