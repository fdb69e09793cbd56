"""What importing the packages for users loads: names resolve late (PEP 562)."""

import subprocess
import sys

import pytest

_SHOW = """
import sys
before = set(sys.modules)
{statement}
loaded = set(sys.modules) - before
print(*sorted({{name for name in loaded if name.split(".")[0] == "node"}}))
print(*sorted({{name.split(".")[0] for name in loaded}} & {{*{watched!r}}}))
"""

WATCHED = (
    "RestrictedPython", "aiohttp", "asyncio", "click", "coincurve", "google", "grpc",
    "plyvel", "pvm", "rich", "structlog", "uvloop",
)  # fmt: skip
"""What takes long to import, or what this statement's user may not have."""


def imports_of(statement: str) -> tuple[set[str], set[str]]:
    """Modules of `node`, and packages of `WATCHED`, that a statement loads."""
    output = subprocess.run(
        [sys.executable, "-c", _SHOW.format(statement=statement, watched=WATCHED)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    modules, packages = output.splitlines()
    return set(modules.split()), set(packages.split())


@pytest.mark.parametrize("package", ["client", "testing", "rpc"])
def test_a_package_loads_nothing_but_itself(package):
    modules, packages = imports_of(f"import node.{package}")
    assert modules == {"node", f"node.{package}"}
    assert packages == set()


def test_the_pytest_plugin_loads_pytest_alone():
    """Every run of pytest loads it, also those that never ask for a chain."""
    modules, packages = imports_of("import pytest; import node.testing.plugin")
    assert modules == {"node", "node.testing", "node.testing.plugin"}
    assert packages == set()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("from node import __version__", set()),
        ("from node.client import Wallet", {"coincurve", "pvm"}),
        ("from node.testing import Devnet", {"coincurve", "pvm", "RestrictedPython"}),
        (
            "from node.client import Client",
            {"coincurve", "pvm", "grpc", "google", "asyncio"},
        ),
    ],
)
def test_a_name_loads_what_it_needs(statement, expected):
    """A chain in the process needs no gRPC; a client neither LevelDB nor engine."""
    modules, packages = imports_of(statement)
    assert packages == expected
    assert not {"node.runtime.engine", "node.state.leveldb"} & modules


@pytest.mark.parametrize("package", ["node.client", "node.testing"])
def test_every_export_is_there_and_no_other_name(package):
    code = (
        f"import {package} as p; [getattr(p, name) for name in p.__all__]\n"
        "try: p.Nothing\n"
        "except AttributeError as error: print(error)"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert "Nothing" in output
