"""The laws of `tests/vm_invariants.py`; a failing seed is printed with its example."""

from contextlib import ExitStack, closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import fuzz, vm_invariants
from tests.compile_verdict import OtherInterpreter
from tests.interpreters import others

SEEDS = st.integers(0, 2**32)
WILDNESS = st.sampled_from(vm_invariants.WILDNESS)
SHARE = 10
"""Of the examples of a profile: these take longer than others."""
EXAMPLES = max(4, settings().max_examples // SHARE)
TEXTS = st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))

few = settings(max_examples=EXAMPLES)


@pytest.fixture(scope="module")
def interpreters():
    """Processes of the other interpreters that this checkout has."""
    with ExitStack() as processes:
        yield [
            processes.enter_context(closing(OtherInterpreter(python)))
            for python in others()
        ]


@few
@given(SEEDS)
def test_a_program_of_the_language_gives_what_plain_python_gives(seed):
    vm_invariants.gives_what_plain_python_gives(seed)


@few
@given(SEEDS, WILDNESS, st.data())
def test_a_budget_is_exact_and_no_smaller_one_is_enough(seed, wildness, data):
    vm_invariants.has_an_exact_budget(
        seed, wildness, lambda used: data.draw(st.integers(0, used - 1))
    )


@few
@given(SEEDS, WILDNESS, st.integers(0, 2))
def test_programs_inside_and_just_outside_are_the_same_everywhere(
    interpreters, seed, wildness, mutations
):
    vm_invariants.is_the_same_everywhere(interpreters, seed, wildness, mutations)


@few
@given(SEEDS, WILDNESS)
def test_what_is_left_to_helpers_costs_the_same(seed, wildness):
    vm_invariants.costs_the_same_without_inlining(seed, wildness)


@given(st.binary(max_size=300) | TEXTS)
def test_any_bytes_are_compiled_or_refused(source):
    vm_invariants.is_compiled_or_refused(source)


@few
@given(SEEDS, st.binary(max_size=8))
def test_a_broken_program_is_compiled_or_refused(seed, noise):
    vm_invariants.is_compiled_or_refused(vm_invariants.broken(seed, noise))


def test_the_fuzzer_names_the_seed_and_the_law_that_fails(monkeypatch, capsys):
    monkeypatch.setattr(
        vm_invariants, "is_compiled_or_refused", lambda source: source.nothing
    )
    failed = fuzz.run(7, 1, interpreters=())
    assert failed == 1
    assert "SEED=7" in capsys.readouterr().err
    monkeypatch.undo()
    assert fuzz.run(7, 0, interpreters=()) == 0
