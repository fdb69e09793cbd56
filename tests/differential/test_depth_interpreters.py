"""Depth is decided by our count alone: on any interpreter, stack and cache (§5)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interpreters import others

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("depth_fingerprint.py")


def fingerprint(python):
    """How each recursion ends; the script fails where an interpreter gave up."""
    done = subprocess.run(
        [python, "-W", "error", str(SCRIPT)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def here():
    return fingerprint(sys.executable)


def test_no_construct_comes_near_the_interpreters_limit(here):
    """Each recursion ends by the chain of links, with room left in frames and in C.

    Whoever calls, from however deep; a chain of 32 `call_actor`s built with a warm
    cache applies with a cold one.
    """
    assert len(here) > 300


def test_the_other_interpreters_end_each_recursion_alike(here):
    """3.11 has a frame for each comprehension, 3.12 for none."""
    for other in others():
        assert fingerprint(other) == here, other
