"""Every attack with the budget of a whole block, in a process that is watched.

The process must end by itself, in time, and within the memory that the allocation
account allows it (sandbox-internals.md §5, §9): no escape, no hang, no death.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interpreters import others

ROOT = Path(__file__).parents[2]
SECONDS_MAX = 300
MEGABYTES_MAX = 120
"""Of the interpreter with all of `pvm`, and the account with what it may be off."""

OTHER_BOUNDS = ("OutOfMemory", "OverflowError")

INTERPRETERS = [Path(sys.executable), *others()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "python", INTERPRETERS, ids=lambda python: python.parents[1].name
)
def test_every_attack_ends_and_the_process_lives(python):
    done = subprocess.run(
        [python, str(Path(__file__).with_name("watched.py"))],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "random"},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) > 100
    for line in lines:
        assert line["end"].split(":")[0] in {
            line["expected"],
            line["expected"].split()[0],
            # With a block's budget another bound is met first.
            *(OTHER_BOUNDS if line["expected"] == "OutOfCycles" else ()),
        }, line
    assert max(line["megabytes"] for line in lines) < MEGABYTES_MAX
