"""Actors under a debugger: Python's own stops in them, and roots are the same."""

import bdb
import linecache
import sys
from pathlib import Path
from types import ModuleType

import pytest

from node.testing import Devnet, ReadFailed, TransactionFailed
from pvm import compile_actor
from pvm.language import is_of_actor
from pvm.tools.debugger import _renamed

SHOP = """\
import json


class Shop:
    def deploy(self):
        self.storage["sold"] = 0

    def buy(self, payload):
        count = json.loads(payload)["count"]
        self.storage["sold"] += count
        return self._left(count)

    def left_after(self, payload):
        return self._left(int(payload))

    def _left(self, count):
        left = 10 - count
        assert left >= 0, "sold out"
        return left

    def __str__(self):
        raise ValueError("nobody asked")
"""
CALLER = """\
def buy(payload):
    return pvm_host.call_actor(payload[:20], "buy", payload[20:])
"""
LINES = SHOP.splitlines()


@pytest.fixture(autouse=True)
def traced_as_before():
    """Give the thread back to what counts its lines: a debugger leaves it to nobody."""
    before = sys.gettrace()
    yield
    sys.settrace(before)


def line(text):
    return next(number for number, row in enumerate(LINES, 1) if text in row)


class Stops(bdb.Bdb):
    """A debugger that notes where it stops, with the locals."""

    def __init__(self, path, lines):
        super().__init__()
        self.found = []
        self.path = str(path)
        for number in lines:
            assert self.set_break(str(path), number) is None

    def user_line(self, frame):
        if frame.f_code.co_filename == self.path:  # and not where it was begun
            self.found.append((frame.f_lineno, frame.f_locals.get("count")))
        self.set_continue()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "shop.py"
    path.write_text(SHOP)
    return path


def bought(chain, path):
    """What a chain does with a shop: its root, and what is read."""
    shop = chain.deploy(path)
    caller = chain.deploy(CALLER)
    shop.call("buy", b'{"count": 3}')
    caller.call("buy", shop.address + b'{"count": 4}', expect_failure=False)
    failed = shop.call("buy", b'{"count": 11}', expect_failure=True)
    with pytest.raises(ReadFailed) as told:
        shop.read("left_after", b"12")
    return chain.head.state_root, failed, str(told.value)


def test_stock_bdb_stops_in_an_actors_file_once_a_call(path):
    """Not while limits are estimated, and in callees and reads, too."""
    stops = Stops(path, [line("left = 10")])
    with Devnet(debug=True) as chain:
        watched = stops.runcall(bought, chain, path)
    assert stops.found == [(line("left = 10"), count) for count in (3, 4, 11, 12)]
    with Devnet() as chain:
        assert bought(chain, path) == watched, "no debugger changes a root"


def test_without_debug_an_actor_has_no_file(path):
    stops = Stops(path, [line("left = 10")])
    with Devnet() as chain:
        stops.runcall(bought, chain, path)
    assert stops.found == []


def test_debug_can_be_chosen_at_any_time_and_beside_a_profile(path):
    stops = Stops(path, [line("left = 10")])
    with Devnet() as chain:
        shop = chain.deploy(path)
        assert not chain.debug
        chain.debug = True
        with chain.profile() as profile:
            shop.call("buy", b'{"count": 1}')
        assert profile.cycles > 0
        stops.runcall(shop.call, "buy", b'{"count": 1}')
        assert len(stops.found) == 1
        chain.debug = False
        stops.runcall(shop.call, "buy", b'{"count": 1}')
        assert len(stops.found) == 1


def test_the_file_of_a_source_given_as_a_text_is_found(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    (path.parent / ".hidden").mkdir()
    (path.parent / ".hidden" / "shop.py").write_text(SHOP)
    (path.parent / "unreadable.py").symlink_to("nowhere")
    stops = Stops(path, [line("left = 10")])
    with Devnet(debug=True) as chain:
        shop = chain.deploy(SHOP)
        stops.runcall(shop.call, "buy", b'{"count": 1}')
    assert len(stops.found) == 1


def test_a_source_in_no_file_is_shown_by_debuggers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = []

    class Steps(Stops):
        def user_call(self, frame, _arguments):
            if is_of_actor(frame.f_code):
                names.append((frame.f_code.co_filename, frame.f_lineno))

        def user_line(self, _frame):
            self.set_step()

    with Devnet(debug=True) as chain:
        shop = chain.deploy(SHOP)
        Steps("", []).runcall(shop.call, "buy", b'{"count": 1}')
    name, number = names[-1]
    assert name.startswith("<actor ")
    linecache.checkcache()
    assert linecache.getline(name, number) == "    def _left(self, count):\n"


def test_ending_the_debugger_ends_the_test_not_the_call(path):
    class Quits(Stops):
        def user_line(self, frame):
            super().user_line(frame)
            if self.found:
                self.set_quit()

    def act():
        with pytest.raises(bdb.BdbQuit):
            shop.call("buy", b'{"count": 1}')

    with Devnet(debug=True) as chain:
        shop = chain.deploy(path)
        Quits(path, [line("left = 10")]).runcall(act)


def test_breakpoint_calls_the_debugger_from_the_actors_frame(path, monkeypatch):
    """It stops there and does nothing elsewhere, at the same price (D59)."""
    source = SHOP.replace(
        "        left = 10", "        breakpoint()\n        left = 10"
    )
    path.write_text(source)
    found = []

    def hook():
        frame = sys._getframe(1)
        found.append((frame.f_code.co_filename, frame.f_locals["count"]))
        return "what it returns is nobody's"

    monkeypatch.setattr(sys, "breakpointhook", hook)
    with Devnet() as chain:
        plain = bought(chain, path)
    assert found == []
    with Devnet(debug=True) as chain:
        assert bought(chain, path) == plain
    assert found == [(str(path), count) for count in (3, 4, 11, 12)]


def test_breakpoint_as_a_value_does_nothing(path, monkeypatch):
    """No frame of the actor's would be the one that calls the debugger."""
    path.write_text("def stop():\n    halt = breakpoint\n    halt()\n    return 1\n")
    monkeypatch.setattr(sys, "breakpointhook", lambda: pytest.fail("it stopped"))
    with Devnet(debug=True) as chain:
        assert chain.deploy(path).stop().result == 1


@pytest.mark.parametrize("variable", ["0", "a_debugger.stop"])
def test_breakpoint_obeys_pythons_variable(path, monkeypatch, variable):
    path.write_text("def stop():\n    breakpoint()\n")
    called, debugger = [], ModuleType("a_debugger")
    debugger.stop = lambda: called.append(1)
    monkeypatch.setitem(sys.modules, "a_debugger", debugger)
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    monkeypatch.setenv("PYTHONBREAKPOINT", variable)
    with Devnet(debug=True) as chain:
        chain.deploy(path).call("stop")
    assert len(called) == (variable != "0")


def test_code_of_a_file_is_another_code_than_what_it_was_made_of():
    """CPython compares no file names, and pydevd remembers by the code what to skip."""
    module = compile_actor(SHOP.encode()).module
    renamed = _renamed(module, "/somewhere/shop.py")
    assert renamed != module
    assert is_of_actor(renamed)
    assert is_of_actor(module)
    assert not is_of_actor(bought.__code__)


# --- what failures say ----------------------------------------------------------------


def test_a_failure_names_the_file_the_deepest_frame_first(path):
    """In the form of which terminals and editors make links, with or without debug."""
    for debug in (False, True):
        with Devnet(debug=debug) as chain:
            caller = chain.deploy(CALLER)
            payload = chain.deploy(path).address + b'{"count": 11}'
            with pytest.raises(TransactionFailed) as told:
                caller.call("buy", payload)
        assert str(told.value).splitlines()[1:7] == [
            f'  File "{path}", line {line("assert")}, in Shop._left',
            f"    {LINES[line('assert') - 1].strip()}",
            f'  File "{path}", line {line("return self._left")}, in Shop.buy',
            "    return self._left(count)",
            '  File "<actor>", line 2, in buy',
            '    return pvm_host.call_actor(payload[:20], "buy", payload[20:])',
        ]


def test_a_refused_source_and_a_failing_constructor_name_the_file(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("x = 1\ny = x // 0\n")
    with Devnet() as chain, pytest.raises(TransactionFailed) as told:
        chain.deploy(broken)
    assert f'  File "{broken}", line 2, in <module>' in str(told.value)


def test_an_actor_whose_constructor_failed_has_its_name(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("def deploy():\n    return [][1]\n")
    refused = tmp_path / "refused.py"
    refused.write_text("import os\n")
    with Devnet() as chain:
        for file in (broken, refused):
            with pytest.raises(TransactionFailed) as told:
                chain.deploy(file)
        assert told.value.receipt.actor == b""
        assert list(chain.labels.values())[10:] == ["broken"]
        assert "failed in deploy, line 2 of broken: return [][1]" in str(
            chain.trace(chain.receipts()[0].id)
        )


def test_a_file_that_is_no_source_is_refused(tmp_path):
    long = tmp_path / "long.py"
    long.write_text("#" * 70_000)
    with Devnet() as chain:
        for file, said in ((long, "at most 65,536 bytes"), (tmp_path, "can be read")):
            with pytest.raises(ValueError, match=f"^source: .*{said}"):
                chain.deploy(file)
        with pytest.raises(ValueError, match=r"^source: .*Path\(…\)"):
            chain.deploy(str(Path("heart.py")))
        assert chain.height == 0
