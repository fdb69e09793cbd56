"""The same chain on every supported CPython and with any hash seed (D40)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interpreters import others

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("chain_fingerprint.py")


def fingerprint(python, seed):
    done = subprocess.run(
        [python, str(SCRIPT)],
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
    assert len(found) > 200
    return found


def test_the_hash_seed_changes_no_block(here):
    assert fingerprint(sys.executable, "7") == here


def test_the_other_interpreters_make_the_same_blocks(here):
    """Hashes, failures with their texts and lines, cycles, answers."""
    for other in others():
        for seed in ("0", "7"):
            assert fingerprint(str(other), seed) == here, (other, seed)
