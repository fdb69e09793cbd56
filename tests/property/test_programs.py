"""Programs that nobody thought of: laws of the VM on what a grammar writes.

`tests/grammar.py` writes them; whatever was found this way is a named case of
`tests/actors/attacks.py`. A seed that fails is printed and is the whole example.
"""

import os
import re
import warnings
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pvm import CompileError, cbor, compile_actor
from pvm.testing import World, call_once
from tests.grammar import Grammar, mutated
from tests.verdicts import OTHER, OtherInterpreter, verdict

SEEDS = st.integers(0, 2**32)
SHARE = 10
"""Of the examples of a profile: these take longer than others."""
EXAMPLES = max(4, settings().max_examples // SHARE)
EXHAUSTED = frozenset({"OutOfCycles", "OutOfMemory"})
PARSE_LINE = re.compile(r"line \d+, column 0: the source does not parse")

TEXTS = st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))

few = settings(max_examples=EXAMPLES)


@pytest.fixture(scope="module")
def other():
    """The second interpreter; the same one again where there is no second."""
    if not OTHER.exists():
        wanted = os.environ.get("REQUIRE_BOTH_INTERPRETERS") == "1"
        assert not wanted, "make setup VENV=.venv-3.12 PYTHON=python3.12"
        yield None
        return
    process = OtherInterpreter()
    yield process
    process.close()


def plain(source):
    """What CPython gives for a program: `run()`, encoded as the VM would."""
    namespace = {"__name__": "program"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a comparison by `is` with a literal
        exec(compile(source, "program", "exec", dont_inherit=True), namespace)
    return cbor.encode(_as_value(namespace["run"]()))


def _as_value(value):
    if isinstance(value, tuple | list):
        return [_as_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_value(item) for key, item in value.items()}
    # sandbox.md §6: it is reported as its base, which 3.12 does not tell apart.
    return "NameError" if value == "UnboundLocalError" else value


def parses(source):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "program", "exec", dont_inherit=True)
        except SyntaxError:
            return False
    return True


@few
@given(SEEDS)
def test_a_program_of_the_language_gives_what_plain_python_gives(seed):
    source = Grammar(Random(seed)).program()
    if not parses(source):
        with pytest.raises(CompileError):
            compile_actor(source.encode())
        return
    result = call_once(source, cycles=1_000_000)
    failure = result.outcome.failure
    if failure is not None:
        assert failure.kind in EXHAUSTED, result.error
        return
    assert result.value == plain(source)


@few
@given(SEEDS, st.sampled_from([0, 0.02, 0.1, 0.3]), st.data())
def test_a_budget_is_exact_and_no_smaller_one_is_enough(seed, wildness, data):
    """N cycles return, n - 1 halt, whatever the program does (sandbox.md §9)."""
    source = Grammar(Random(seed), wildness).program()
    if not parses(source):
        return
    world = World()
    try:
        actor = world.add(source)
    except CompileError:
        assert wildness, "a program of the language is not refused"
        return
    whole = world.call(actor, "run", cycles=1_000_000)
    used = whole.cycles_used
    if whole.outcome.failure is None or whole.outcome.failure.kind not in EXHAUSTED:
        again = world.call(actor, "run", cycles=used)
        assert again.outcome == whole.outcome
        assert (again.cycles_used, again.memory_used) == (used, whole.memory_used)
    budget = data.draw(st.sampled_from([used - 1, 0]) | st.integers(0, used - 1))
    short = world.call(actor, "run", cycles=budget)
    assert short.outcome.failure is not None
    assert short.outcome.failure.kind == "OutOfCycles"
    assert short.cycles_used == budget


@few
@given(SEEDS, st.sampled_from([0, 0.02, 0.1, 0.3]), st.integers(0, 2))
def test_programs_inside_and_just_outside_are_the_same_everywhere(
    other, seed, wildness, mutations
):
    """Refusals, outcomes and all that is used, on both interpreters (D40).

    Nothing but typed failures leaves `execute`: `verdict` lets all else through.
    """
    random = Random(seed)
    source = Grammar(random, wildness).program()
    for _ in range(mutations):
        source = mutated(source, random)
    here = verdict(source)
    if other is not None:
        # Where a text does not parse each parser has an opinion of its own.
        assert PARSE_LINE.sub("", other.verdict(source)) == PARSE_LINE.sub("", here)


@given(st.binary(max_size=300) | TEXTS)
def test_any_bytes_are_compiled_or_refused(source):
    with suppress(CompileError):
        assert compile_actor(source)


@few
@given(SEEDS, st.binary(max_size=8))
def test_a_broken_program_is_compiled_or_refused(seed, noise):
    random = Random(seed)
    source = mutated(Grammar(random).program(), random).encode("utf-8", "surrogatepass")
    place = random.randrange(len(source))
    with suppress(CompileError):
        assert compile_actor(source[:place] + noise + source[place:])
