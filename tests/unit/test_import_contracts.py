"""The import contracts of pyproject.toml hold, and break when they should.

Each case changes a copy of the sources and runs `lint-imports` on it as `make check`
does: a contract that nothing can break holds nothing.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MACHINE = "the virtual machine does not know the chain"
LAYERS = "node is a stack of layers"
ROOMS = "the virtual machine is a stack of layers"
APART = "the compiler and the runtime of the machine do not know each other"
RINGS = "no ring of imports in the machine"
SANS_IO = "the core is sans-IO"
LEVELDB = "one module touches LevelDB"

# Lines added to modules (made where they are missing) → the contract that must break.
VIOLATIONS = {
    "the machine imports the chain": ({"pvm/types.py": "import node.state"}, MACHINE),
    "the runtime imports the compiler": (
        {"pvm/runtime/values.py": "import pvm.compiler.facts"},
        APART,
    ),
    "the compiler imports the runtime, over a module between them": (
        {
            "pvm/compiler/gate.py": "import pvm.errors",
            "pvm/errors.py": "import pvm.runtime.values",
        },
        APART,
    ),
    "the compiler imports what joins it with the runtime": (
        {"pvm/compiler/gate.py": "import pvm.driver.actors"},
        ROOMS,
    ),
    "a room of the machine is not declared": ({"pvm/surprise.py": ""}, ROOMS),
    "two modules of the machine import each other, one of them for its types": (
        {
            "pvm/runtime/execution.py": "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n    from pvm.runtime.namespaces import enter"
        },
        RINGS,
    ),
    "a lower layer imports a higher one": (
        {"node/primitives/types.py": "import node.chain"},
        LAYERS,
    ),
    "the state imports the chain": (
        {"node/state/keys.py": "import node.chain"},
        LAYERS,
    ),
    "a module is not declared": ({"node/surprise.py": ""}, LAYERS),
    "the chain reads the clock": ({"node/chain/params.py": "import time"}, SANS_IO),
    "the chain reads the clock three modules down": (
        {
            "node/chain/params.py": "import node.chain.pacing",
            "node/chain/pacing.py": "import node.primitives.pacing",
            "node/primitives/pacing.py": "import time",
        },
        SANS_IO,
    ),
    "the machine reads the clock through an undeclared module of the state": (
        {
            "node/state/keys.py": "import node.state.pacing",
            "node/state/pacing.py": "import time",
        },
        SANS_IO,
    ),
    "the machine is random": ({"pvm/runtime/values.py": "import random"}, SANS_IO),
    "the machine has a second module with threads": (
        {"pvm/meter.py": "import threading"},
        SANS_IO,
    ),
    "a second module touches LevelDB": (
        {"node/runtime/feed.py": "import plyvel"},
        LEVELDB,
    ),
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for package in ("node", "pvm"):
        shutil.copytree(
            ROOT / package,
            tmp_path / package,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(folder: Path) -> tuple[int, str]:
    """Exit code and output; imports are looked up in `folder` first."""
    program = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run(
        [program, "--no-cache", "--no-logo"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def verdicts(output: str) -> dict[str, bool]:
    """Name of a contract → whether it was kept."""
    lines = re.findall(r"^(.+) (KEPT|BROKEN)(?: \(.*\))?$", output, re.MULTILINE)
    return {name: verdict == "KEPT" for name, verdict in lines}


def test_every_contract_is_kept(checkout):
    code, output = lint_imports(checkout)
    assert (code, verdicts(output)) == (
        0,
        dict.fromkeys([MACHINE, LAYERS, ROOMS, APART, RINGS, SANS_IO, LEVELDB], True),
    ), output


@pytest.mark.parametrize("case", VIOLATIONS)
def test_a_violation_breaks_the_contract(checkout, case):
    changes, broken = VIOLATIONS[case]
    for name, line in changes.items():
        path = checkout / name
        text = path.read_text() if path.exists() else '"""Added by a test."""\n'
        path.write_text(f"{text}\n{line}\n")
    code, output = lint_imports(checkout)
    assert (code, verdicts(output).get(broken)) == (1, False), output
