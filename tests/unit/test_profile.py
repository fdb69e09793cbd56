"""Cycles by line: exact in sum, and of the execution that a chain makes."""

import sys
from pathlib import Path

import pytest

from pvm import CompileError
from pvm.testing import World
from pvm.tools.profile import NO_LINE

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


LEFT = """def run():
    total = 0
    for i in range(3):
        total += 1
        if i == 1:
            continue
        total += 2
    try:
        total += {}["k"]
        total += 1
    except KeyError:
        total += 1
    if total:
        raise ValueError("no")
    total += 1
    return total
"""

LATER = """def steps(n):
    for i in range(n):
        yield i
        n = n + 1
    n = n + 1


def run():
    total = 0
    for i in steps(3):
        total += i
        if i == stop:
            break
        total = total + 1
    return total
"""


def test_a_line_that_was_never_reached_has_no_count(world):
    """A block is paid whole on entry (sandbox.md §4): by the line that opens it."""
    whole = world.profile(world.add(LEFT.replace("if total:", "if False:")), "run")
    result = world.profile(world.add(LEFT), "run")
    assert result.error
    assert {*whole.lines} - {*result.lines} == {15, 16}
    assert result.lines[1] == sum(whole.lines[line] for line in (1, 15, 16))
    assert 10 not in whole.lines
    assert (whole.lines[4], whole.lines[7]) == (
        3 * whole.lines[12],
        2 * whole.lines[12],
    )
    assert sum(result.lines.values()) == result.cycles_used


@pytest.mark.parametrize(("stop", "left"), [(0, {4, 5, 14}), (9, set())])
def test_lines_after_a_yield_count_when_the_generator_went_on(world, stop, left):
    """What was paid before a `yield` waits for lines that come after it."""
    result = world.profile(world.add(f"stop = {stop}\n" + LATER), "run")
    assert result.error == ""
    counted = {line - 1 for line in result.lines}
    assert counted >= {2, 3, 9, 10, 11, 12}
    assert {4, 5, 14} - counted == left
    assert sum(result.lines.values()) == result.cycles_used


def test_the_thread_is_traced_by_whom_it_was_before(world):
    actor = world.add(SOURCE)

    def trace(*_):
        return None

    def work():
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            world.profile(actor, "run")
            return sys.gettrace()
        finally:
            sys.settrace(before)

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
