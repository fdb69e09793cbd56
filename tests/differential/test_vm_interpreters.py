"""The same receipts on every supported CPython and with any hash seed (D40)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interpreters import others

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("vm_fingerprint.py")


def fingerprint(python, seed, *which):
    """What the script prints, where every warning of Python's would be an error."""
    done = subprocess.run(
        [python, "-W", "error", str(SCRIPT), *which],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def here():
    found = fingerprint(sys.executable, "0")
    assert len(found) > 100
    return found


def test_the_hash_seed_changes_nothing(here):
    assert fingerprint(sys.executable, "7") == here


def test_the_other_interpreters_give_the_same(here):
    """Values, failures, lines, refusals, cycles, cells and memory."""
    for other in others():
        assert fingerprint(other, "3") == here, other


@pytest.mark.slow
def test_workloads_and_rows_of_the_price_table_use_the_same_everywhere():
    """Every constant, builtin, method and function, with the operands of the bench."""
    found = fingerprint(sys.executable, "0", "benches")
    assert len(found) > 300
    assert fingerprint(sys.executable, "11", "benches") == found
    for other in others():
        assert fingerprint(other, "5", "benches") == found, other
