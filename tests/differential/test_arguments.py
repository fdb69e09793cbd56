"""No argument is read differently by another CPython (sandbox-internals.md §6)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interpreters import others

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("arguments_fingerprint.py")


def fingerprint(python, *functions):
    """What the script prints of functions whose names begin so."""
    done = subprocess.run(
        [python, "-W", "error", str(SCRIPT), *functions],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout.splitlines()


@pytest.mark.slow
def test_every_function_reads_every_argument_alike_on_every_interpreter():
    """Each kind of value in each place and under each keyword, and what it costs.

    3.12 takes `splitlines("x")` and `ImportError(name_from=…)`, 3.11 neither.
    """
    found = fingerprint(sys.executable)
    assert len(found) > 10_000
    for other in others():
        differ = set(fingerprint(other)) ^ set(found)
        assert sorted({line.rpartition(" ")[0] for line in differ}) == []


_SOME = ("ImportError", "collections", "int", "pow", "set of 0", "storage.")


@pytest.mark.parametrize("name", _SOME)
def test_some_of_them_do_so_in_every_run(name):
    found = fingerprint(sys.executable, name)
    assert found
    for other in others():
        assert fingerprint(other, name) == found, other
