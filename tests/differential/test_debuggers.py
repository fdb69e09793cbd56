"""An editor's debugger in an actor: debugpy as VS Code drives it, and pdb under pytest.

What the chain computes is the same with a debugger and without.
"""

import os
import subprocess
import sys

import pytest

from tests.debug_adapter import DebugAdapter
from tests.doc_runner import ROOT

SHOP = """\
class Shop:
    def buy(self, payload):
        count = pvm_host.cbor_decode(payload)["count"]
        left = self._left(count)
        self.storage["left"] = left
        return left

    def _left(self, count):
        return 10 - count
"""
STOPPING = SHOP.replace("        return 10", "        breakpoint()\n        return 10")
SUITE = """\
from pathlib import Path


def test_it(devnet):
    shop = devnet.deploy(Path("shop.py"))
    receipt = shop.buy({"count": 3})
    assert receipt.result == 7
    Path("root").write_text(devnet.head.state_root.hex())
"""
PYTEST = ("-q", "-p", "node.testing.entry", "-p", "no:cacheprovider")
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def line(source, text):
    rows = source.splitlines()
    return next(number for number, row in enumerate(rows, 1) if text in row)


@pytest.fixture
def project(tmp_path, request):
    """The root that the suite finds without a debugger stands in it."""
    (tmp_path / "shop.py").write_text(getattr(request, "param", SHOP))
    (tmp_path / "test_shop.py").write_text(SUITE)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *PYTEST],
        cwd=tmp_path,
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert "1 passed" in run.stdout, run.stdout
    return tmp_path


@pytest.mark.slow
def test_debugpy_stops_in_an_actor_under_pytest_and_changes_nothing(project):
    """With the locals of the actor, and steps that stay in its file."""
    shop, root = project / "shop.py", (project / "root").read_text()
    (project / "root").unlink()
    number = line(SHOP, "left = self._left")
    with DebugAdapter(project) as debugger:
        debugger.launch(
            {shop: [number]},
            module="pytest",
            args=[*PYTEST, "--devnet-debug"],
            cwd=str(project),
            env=ENVIRONMENT,
            console="internalConsole",
            justMyCode=True,
        )
        frame, variables = debugger.stopped()
        assert (frame["source"]["path"], frame["line"]) == (str(shop), number)
        assert variables["count"] == "3"
        debugger.resume("next")
        frame, variables = debugger.stopped()
        assert (frame["source"]["path"], frame["line"]) == (str(shop), number + 1)
        assert (variables["count"], variables["left"]) == ("3", "7")
        debugger.resume()
        assert debugger.stopped() is None, "once a call"
        assert "1 passed" in debugger.output
    assert (project / "root").read_text() == root


@pytest.mark.slow
def test_pdb_under_pytest_stops_where_a_breakpoint_is_set(project):
    """`--trace` begins in the test; `b FILE:LINE` is an actor's."""
    number = line(SHOP, "left = self._left")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *PYTEST, "--devnet-debug", "--trace"],
        cwd=project,
        env=os.environ | ENVIRONMENT,
        input=f"b shop.py:{number}\nc\np count\nw\nc\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    told = run.stdout
    assert f"> {project / 'shop.py'}({number})buy()\n-> left = self._left" in told
    assert "(Pdb) 3\n" in told
    assert "1 passed" in told, told


@pytest.mark.slow
@pytest.mark.parametrize("project", [STOPPING], indirect=True)
def test_breakpoint_in_an_actor_stops_in_its_frame(project):
    """Of pdb under pytest, and of debugpy; elsewhere it does nothing (D59)."""
    shop, root = project / "shop.py", (project / "root").read_text()
    number = line(STOPPING, "return 10 - count")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *PYTEST, "--devnet-debug"],
        cwd=project,
        env=os.environ | ENVIRONMENT,
        input="p count\nc\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert f"> {shop}({number})private_left()\n-> return 10 - count" in run.stdout
    assert "(Pdb) 3\n" in run.stdout
    assert "1 passed" in run.stdout
    assert (project / "root").read_text() == root
    with DebugAdapter(project) as debugger:
        debugger.launch(
            {},
            module="pytest",
            args=[*PYTEST, "--devnet-debug"],
            cwd=str(project),
            env=ENVIRONMENT,
            console="internalConsole",
        )
        frame, variables = debugger.stopped()
        assert (frame["source"]["path"], frame["line"]) == (str(shop), number)
        assert variables["count"] == "3"
        debugger.resume()
        assert debugger.stopped() is None
    assert (project / "root").read_text() == root
