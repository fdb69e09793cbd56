"""Cycles by line: exact in sum, and of the execution that a chain makes."""

import sys
from pathlib import Path

import pytest

from pvm import CompileError
from pvm.profile import NO_LINE
from pvm.testing import World

PROGRAMS = Path(__file__).parents[1] / "actors" / "programs.py"
CORPUS = PROGRAMS.read_text().split("\n---\n")

SOURCE = """def helper(n):
    s = "a" * n
    return s * 3


def run():
    total = 0
    for i in range(10):
        total += i
        if i > 4:
            total += len(helper(100))
    try:
        y = {}["k"]
    except KeyError:
        y = 1
    pvm_host.set_state(b"k", b"v")
    return [y, sum([n * 2 for n in range(50)])]
"""


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.mark.parametrize("source", [*CORPUS, SOURCE])
def test_the_lines_add_up_to_the_meter_and_nothing_else_changes(world, source):
    actor = world.add(source)
    called = world.call(actor, "run")
    profiled = world.profile(actor, "run")
    assert profiled.outcome == called.outcome
    assert profiled.cycles_used == called.cycles_used
    assert profiled.memory_used == called.memory_used
    assert sum(profiled.lines.values()) == called.cycles_used
    assert min(profiled.lines.values()) > 0
    assert max(profiled.lines) <= source.count("\n") + 1


def test_a_halted_execution_adds_up_to_its_whole_budget(world):
    """Out of cycles uses up the whole budget (D16)."""
    actor = world.add(SOURCE)
    used = world.call(actor, "run").cycles_used
    for budget in range(0, used, 97):
        result = world.profile(actor, "run", cycles=budget)
        assert result.outcome == world.call(actor, "run", cycles=budget).outcome
        assert sum(result.lines.values()) == budget


def test_a_line_has_what_it_makes_the_meter_count(world):
    """Blocks by statement; operands, host calls and builtins where they happen."""
    lines = world.profile(world.add(SOURCE), "run").lines
    assert lines[2] > 5 * 100
    assert lines[3] > 5 * 300
    assert lines[9] % 10 == 0
    assert lines[15] == 1
    assert lines[16] > 200
    assert 17 in lines
    assert NO_LINE in lines


def test_the_thread_is_traced_by_whom_it_was_before(world):
    actor = world.add(SOURCE)

    def trace(*_):
        return None

    def work():
        sys.settrace(trace)
        try:
            world.profile(actor, "run")
            return sys.gettrace()
        finally:
            sys.settrace(None)

    assert world.worker.run(work) is trace


def test_a_called_actor_is_the_business_of_the_line_that_calls(world):
    callee = world.add("def run(payload):\n    for i in range(100):\n        pass")
    source = (
        f"def run():\n    x = 1\n    pvm_host.call_actor({bytes(callee)!r}, 'run', b'')"
    )
    result = world.profile(world.add(source), "run")
    assert result.error == ""
    assert result.lines[3] > 600
    assert sum(result.lines.values()) == result.cycles_used


def test_a_refused_source_has_no_profile():
    world = World()
    with pytest.raises(CompileError):
        world.profile(world.add("def run(:"), "run")
