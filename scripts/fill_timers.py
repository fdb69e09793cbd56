"""Make a folder that holds a chain with millions of pending timers.

    python scripts/fill_timers.py FOLDER [--timers 10000000]

The state is written in order, one family of keys after another, with the chain's tree
code; LevelDB is waited for until it is at rest, and the root is checked against all
records and pages. Ten million timers take some seven minutes, 2.1 GiB of disk, and
another 2 GiB for temporary files while it runs. `cowboy-devnet start --data-dir FOLDER
--mining manual` then serves it.
"""

import argparse
import sys
import time
from pathlib import Path

from benches.filling import all_tiers, check, fill, folder_mib, settle
from benches.report import progress

from node.state.leveldb import LevelStore

TIMERS = 10_000_000


def main() -> int:
    """Exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--timers", type=int, default=TIMERS)
    parser.add_argument(
        "--schedulers", type=int, default=0, help="idle actors, for a bench"
    )
    parser.add_argument(
        "--unchecked", action="store_true", help="do not compare records and pages"
    )
    arguments = parser.parse_args()
    if arguments.folder.exists() and any(arguments.folder.iterdir()):
        parser.error(f"{arguments.folder} is not empty")
    began = time.perf_counter()
    with LevelStore(arguments.folder) as store:
        state = fill(
            store,
            all_tiers(arguments.timers),
            progress,
            schedulers=arguments.schedulers,
        )
        progress(f"filled in {time.perf_counter() - began:.0f} s")
        settle(store, progress)
        if not arguments.unchecked:
            progress("checking the root against all records")
            check(state)
    root = state.head.state_root.hex()
    progress(
        f"state root 0x{root}, {folder_mib(arguments.folder):,.0f} MiB, "
        f"{time.perf_counter() - began:.0f} s in all"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
