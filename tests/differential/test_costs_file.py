"""A file of costs is the same on every interpreter, for all programs of the corpus."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.interpreters import ROOT, others

SUITE = """
from pathlib import Path
import pytest
from node.client import TransactionFailed
from node.testing import TransactionRefused

FOLDER = Path({folder!r})
SOURCES = (FOLDER / "actors" / "programs.py").read_text().split("\\n---\\n")
SOURCES += [path.read_text() for path in sorted(Path({actors!r}).glob("*.py"))]

@pytest.mark.parametrize("number", range(len(SOURCES)))
def test_source(devnet, number):
    devnet.is_strict = False
    try:
        actor = devnet.deploy(SOURCES[number], value="50 CBY")
        actor.call("run", b"", cycles_limit=900_000, cells_limit=90_000)
    except (TransactionFailed, TransactionRefused):
        pass
    devnet.advance(blocks=30)
"""


def costs_of(python, folder):
    """The file that this interpreter's run writes."""
    command = [python, "-m", "pytest", "-q", "--devnet-costs", "costs.json"]
    plugins = ["-p", "node.testing.plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *plugins],
        cwd=folder,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    file = folder / "costs.json"
    found = file.read_bytes()
    file.unlink()
    return found


@pytest.mark.slow
def test_each_interpreter_writes_the_same_file(tmp_path):
    tests, actors = ROOT / "tests", ROOT / "genesis" / "actors"
    suite = SUITE.format(folder=str(tests), actors=str(actors))
    (tmp_path / "test_sources.py").write_text(suite, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    own = costs_of(Path(sys.executable), tmp_path)
    assert own.count(b"test_source[") > 40
    for python in others():
        assert costs_of(python, tmp_path) == own, python
