"""Laws of the VM on programs that nobody thought of (sandbox-internals.md §9).

`tests/grammar.py` writes them; whatever was found this way is a named case of
`tests/actors/attacks.py`. `tests/property/test_programs.py` tries the laws with the
seeds of Hypothesis, `tests/fuzz.py` for as long as one likes.
"""

import re
import warnings
from contextlib import suppress
from random import Random
from unittest import mock

from pvm import CompileError, cbor, compile_actor
from pvm.testing import World, call_once
from tests.compile_verdict import verdict
from tests.grammar import Grammar, mutated

WILDNESS = (0, 0.02, 0.1, 0.3)
EXHAUSTED = frozenset({"OutOfCycles", "OutOfMemory"})
CYCLES = 1_000_000
_OVERFLOW = b"OverflowError"
_LEFT_OUT = "a chained comparison stands where nothing can be bound"
_PARSE_LINE = re.compile(r"line \d+, column 0: the source does not parse")


def plain(source):
    """What CPython gives for a program: `run()`, encoded as the VM would."""
    namespace = {"__name__": "program"}
    with warnings.catch_warnings():
        # Of a comparison by `is` with a literal; on 3.12 of `~True`, when it runs.
        warnings.simplefilter("ignore")
        exec(compile(source, "program", "exec", dont_inherit=True), namespace)
        value = namespace["run"]()
    return cbor.encode(_as_value(value))


def _as_value(value):
    if isinstance(value, tuple | list):
        return [_as_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_value(item) for key, item in value.items()}
    # sandbox-internals.md §6: reported as its base, which 3.12 does not tell apart.
    return "NameError" if value == "UnboundLocalError" else value


def parses(source):
    """Whether CPython compiles it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "program", "exec", dont_inherit=True)
        except SyntaxError:
            return False
    return True


def is_refused(source):
    """Whether it is no actor; raises whatever is no `CompileError`."""
    try:
        compile_actor(source)
    except CompileError:
        return True
    return False


def is_left_out(source):
    """Whether it has the one form that the language lacks and the grammar writes.

    A chained comparison's middle is kept in a temporary; Python lets none be bound in
    the source of a comprehension, nor in a default.
    """
    try:
        compile_actor(source.encode())
    except CompileError as error:
        return all(refusal.reason == _LEFT_OUT for refusal in error.refusals)
    return False


def gives_what_plain_python_gives(seed):
    """A program of the language is compiled, and its value is CPython's."""
    source = Grammar(Random(seed)).program()
    if not parses(source):
        assert is_refused(source.encode())
        return
    if is_left_out(source):
        return
    result = call_once(source, cycles=CYCLES)
    failure = result.outcome.failure
    if failure is not None and failure.kind == "TooDeepRecursion":
        assert b"RecursionError" in plain(source), "it ends, but not here"
        return
    if failure is not None:
        assert failure.kind in EXHAUSTED, result.error
        return
    wanted = plain(source)
    # Integers end at 4,096 bits (D40), and then a program goes its own way.
    if _OVERFLOW not in result.value or _OVERFLOW in wanted:
        assert result.value == wanted


def has_an_exact_budget(seed, wildness, choose):
    """N cycles return, n - 1 and any fewer halt, whatever the program does.

    `choose(n)` gives a number of cycles from 0 to n - 1.
    """
    source = Grammar(Random(seed), wildness).program()
    if not parses(source):
        return
    world = World()
    try:
        actor = world.add(source)
    except CompileError:
        assert wildness or is_left_out(source), "the language has it"
        return
    keeps_an_exact_budget(world, actor, choose)


def keeps_an_exact_budget(world, actor, choose):
    """The law of `has_an_exact_budget`, of an actor's `run`."""
    whole = world.call(actor, "run", cycles=CYCLES)
    used = whole.cycles_used
    if whole.outcome.failure is None or whole.outcome.failure.kind not in EXHAUSTED:
        again = world.call(actor, "run", cycles=used)
        assert again.outcome == whole.outcome
        assert (again.cycles_used, again.memory_used) == (used, whole.memory_used)
    for budget in (used - 1, choose(used)):
        short = world.call(actor, "run", cycles=budget)
        assert short.outcome.failure is not None
        assert short.outcome.failure.kind == "OutOfCycles"
        assert short.cycles_used == budget


def is_the_same_everywhere(interpreters, seed, wildness, mutations):
    """Refusals, outcomes and all that is used, on every interpreter (D40).

    Nothing but typed failures leaves `execute`: `verdict` lets all else through.
    """
    random = Random(seed)
    source = Grammar(random, wildness).program()
    for _ in range(mutations):
        source = mutated(source, random)
    here = verdict(source)
    # Where a text does not parse each parser has an opinion of its own.
    here = _PARSE_LINE.sub("", here)
    for other in interpreters:
        assert _PARSE_LINE.sub("", other.verdict(source)) == here, other.python


def costs_the_same_without_inlining(seed, wildness):
    """Helpers do what guards in the code do, for the same price (rule 6)."""
    source = Grammar(Random(seed), wildness).program()
    with mock.patch("pvm.compiler.instrument.context.INLINE_MAX", 0):
        helped = verdict(source)
    assert helped == verdict(source)


def is_compiled_or_refused(source):
    """Any bytes; nothing but a `CompileError` leaves the compiler."""
    with suppress(CompileError):
        assert compile_actor(source)


def broken(seed, noise):
    """A program with some bytes of noise in it."""
    random = Random(seed)
    source = mutated(Grammar(random).program(), random).encode("utf-8", "surrogatepass")
    place = random.randrange(len(source))
    return source[:place] + noise + source[place:]
