"""A bundle of one CPython is taken by others, and written again alike (D40)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interpreters import others

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("bundle_exchange.py")
CHECK = ("-m", "node", "bundle", "check", "--json")


def run(python, *arguments):
    done = subprocess.run(
        [str(python), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("other", others(), ids=lambda python: python.parents[1].name)
def test_either_interpreter_takes_the_bundles_of_the_other(other, tmp_path):
    """Written, checked by the command, imported and exported: the same bytes."""
    pythons = {"here": Path(sys.executable), "there": other}
    for name, python in pythons.items():
        run(python, SCRIPT, "write", tmp_path / name)
    written = (tmp_path / "here").read_bytes()
    assert (tmp_path / "there").read_bytes() == written
    found = []
    for name, python in (("there", pythons["here"]), ("here", pythons["there"])):
        told = json.loads(run(python, *CHECK, tmp_path / name))
        found.append([told[what] for what in ("height", "receipts", "events")])
        again = tmp_path / f"{name}-again"
        run(python, SCRIPT, "again", tmp_path / name, again)
        assert again.read_bytes() == written
    assert found[0] == found[1]
    assert all(found[0])
