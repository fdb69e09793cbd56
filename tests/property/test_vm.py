"""Laws of the actor VM: exact budgets, Python's values (sandbox-internals.md §9)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pvm import cbor, compile_actor
from pvm.testing import World, call_once

CORPUS = Path(__file__).parents[1] / "actors" / "programs.py"
PROGRAMS = CORPUS.read_text().split("\n---\n")


def plain(source):
    """What CPython gives for a program, as the VM would encode it."""
    namespace = {}
    exec(compile(source, "program", "exec"), namespace)
    return cbor.encode(as_value(namespace["run"]()))


def as_value(value):
    if isinstance(value, tuple | list):
        return [as_value(item) for item in value]
    if isinstance(value, dict):
        return {key: as_value(item) for key, item in value.items()}
    return value


@pytest.mark.parametrize("source", PROGRAMS)
def test_an_instrumented_program_gives_the_value_of_the_plain_one(source):
    result = call_once(source)
    assert result.error == ""
    assert cbor.decode(result.value) == cbor.decode(plain(source))


@pytest.mark.parametrize("source", PROGRAMS)
def test_n_cycles_return_and_one_less_halts(source):
    """A budget is exact, and used up as a whole when it is not enough (D16)."""
    world = World()
    actor = world.add(source)
    used = world.call(actor, "run").cycles_used
    assert world.call(actor, "run", cycles=used).error == ""
    short = world.call(actor, "run", cycles=used - 1)
    assert short.outcome.failure.kind == "OutOfCycles"
    assert short.cycles_used == used - 1


@pytest.mark.parametrize("source", PROGRAMS)
@given(data=st.data())
def test_any_smaller_budget_halts(source, data):
    world = World()
    actor = world.add(source)
    used = world.call(actor, "run").cycles_used
    budget = data.draw(st.integers(0, used - 1))
    result = world.call(actor, "run", cycles=budget)
    assert result.outcome.failure.kind == "OutOfCycles"
    assert result.cycles_used == budget


@given(
    st.lists(st.integers(-(2**4096) + 1, 2**4096 - 1), min_size=2, max_size=2),
    st.sampled_from(["+", "-", "*", "//", "%", "&", "|", "^", "<", "==", ">="]),
)
def test_integers_are_pythons_within_4096_bits(operands, operator):
    """Beyond the bound there is `OverflowError`, never a wrong number (D40)."""
    left, right = operands
    source = f"def run():\n    a = {left}\n    b = {right}\n    return a {operator} b"
    result = call_once(source)
    try:
        expected = eval(f"a {operator} b", {"a": left, "b": right})
    except ZeroDivisionError:
        assert result.error == "ZeroDivisionError"
        return
    if expected.bit_length() > 4096:
        assert result.outcome.failure.kind == "OverflowError"
    else:
        assert cbor.decode(result.value) == expected


def test_compiling_twice_gives_the_same_code():
    for source in PROGRAMS:
        one, other = compile_actor(source.encode()), compile_actor(source.encode())
        assert one.module == other.module
