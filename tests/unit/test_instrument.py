"""`compiler.instrument`: charges and guards, linear (sandbox-internals.md §2, §4)."""

import ast
import gc
import re
import time
from pathlib import Path

import pytest

from pvm import compile_actor, language
from pvm.compiler.facts import gather
from pvm.compiler.instrument import module
from pvm.compiler.instrument.module import instrument
from pvm.compiler.lowering.desugar import desugar
from pvm.compiler.parser import parse
from pvm.testing import call_once

WRITTEN_BEFORE = {
    ast.AnnAssign, ast.Set, ast.SetComp, ast.GeneratorExp, ast.YieldFrom,
}  # fmt: skip
"""By `desugar`, in plain statements."""

WRITTEN_BY_THE_KIND_AROUND = {ast.FormattedValue, ast.Slice, ast.Starred, ast.Yield}


def test_every_kind_of_the_language_has_a_function_that_writes_it():
    """What the policy admits and nobody writes would fail as a bug at deployment."""
    kinds = language.NODES - WRITTEN_BEFORE - WRITTEN_BY_THE_KIND_AROUND
    statements = {kind for kind in kinds if issubclass(kind, ast.stmt)}
    expressions = {kind for kind in kinds if issubclass(kind, ast.expr)}
    assert set(module._STATEMENTS) == statements
    assert set(module._EXPRESSIONS) == expressions


def instrumented(source):
    return ast.unparse(instrumented_tree(source))


def instrumented_tree(source):
    tree = parse(source.encode())
    desugar(tree, gather(tree))
    return instrument(tree, gather(tree))


def cycles(body, setup=""):
    """What a body costs in a function beyond an empty one."""
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    full = call_once(f"{setup}\ndef run():\n{indented}    return None")
    empty = call_once(f"{setup}\ndef run():\n    return None")
    assert full.error == ""
    return full.cycles_used - empty.cycles_used


@pytest.mark.parametrize(
    ("body", "price"),
    [
        ("x = 1", 1),
        ("x = 1 + 2", 2),
        ("x = 7 // 2", 1 + 3),
        ("x = 1\ny = x < x", 1 + 1 + 2),
        ("x = 1\ny = x < 2", 1 + 1 + 1),
        ("x = max(1, 2)", 1 + 24 + 3),
        ("x = 'a'.strip()", 1 + 24 + 1),
        ("x = y = 1", 2),
        ("x = [1, 2]", 1 + 4 + 2),
        ("x = (1, 2)", 1),
        ("x = {1: 2}", 1 + 8 + 4),
        ("x = len('a')", 1 + 5),
        ("x = abs(1)", 1 + 10),
        ("x = 'a'[0]", 1 + 3),
        ("x = f'ab{1}'", 1 + 2 + 2 + 6),
        ("x = 1 if len('') else 2 + 3", 1 + 1 + 5 + 1 + 1),
        ("for i in range(3):\n    pass", 2 + 10 + 3 * 2),
        ("i = 0\nwhile i < 3:\n    i += 1", 1 + 2 + 3 * (2 + 1)),
        ("x = [i for i in range(3)]", 1 + 20 + 10 + 3 * 2),
        ("if len(''):\n    x = 1\nelse:\n    x = 2", 1 + 5 + 1 + 1),
        ("try:\n    x = 1\nfinally:\n    x = 2", 3 + 1 + 3 + 1),
        ("try:\n    raise ValueError\nexcept ValueError:\n    pass", 3 + 5 + 15 + 20),
        ("def f():\n    return 1\nf()", 10 + 11 + 2 + 1),
        ("f = lambda: 1\nf()", 11 + 11 + 2),
        ("'docstring'\npass", 0),
        ("x = 1 in (1, 2, 3)", 1 + 1 + 3),
    ],
)
def test_syntax_costs_what_the_table_says(body, price):
    assert cycles(body) == price


def test_an_if_whose_arms_differ_by_more_than_32_pays_for_the_arm_it_takes():
    dear = "\n".join(["    x = 1"] * 40)
    assert cycles(f"if 0 == 1:\n{dear}") == 1 + 1
    assert cycles(f"if 1 == 1:\n{dear}") == 1 + 1 + 40
    cheap = "\n".join(["    x = 1"] * 32)
    assert cycles(f"if 0 == 1:\n{cheap}") == 1 + 1 + 32


def test_a_block_is_paid_whole_on_entry_even_if_left_early():
    assert cycles("for i in range(9):\n    break\n    x = 1 + 2") == 2 + 10 + 2 + 1 + 2


def test_a_leaf_counts_no_depth_and_others_do():
    assert (
        "_depth"
        not in instrumented("def f(x):\n    return len(x)").split("_memory")[-1]
    )
    assert "_depth = _e" in instrumented("def f(x):\n    return f(x)")
    assert "_depth = _e" in instrumented("def f(x):\n    return sorted(x, key=f)")
    assert "_depth = _e" in instrumented("def f(x):\n    return map(f, x)")


def misplaced(statement):
    """Expressions that do not stand in the line of their statement."""
    stack = list(ast.iter_child_nodes(statement))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.stmt):
            yield from misplaced(node)
            continue
        if not isinstance(node, ast.ExceptHandler) and (
            getattr(node, "lineno", statement.lineno) != statement.lineno
        ):
            yield node
        stack += ast.iter_child_nodes(node)


ACTORS = Path(__file__).parents[2] / "genesis" / "actors"
SPREAD = """
from dataclasses import dataclass, field
from enum import Enum

@dataclass
class Point:
    x: int
    y: list = field(
        default_factory=lambda: [
            1
        ]
    )

class Kind(Enum):
    ONE = (
        1
    )

class Many:
    def run(self, x=[
        1
    ], *,
        y=2):
        with (
            x
        ) as y:
            self.x[
                y
            ] += f"{x}" f'''a
            {y}'''
        for (
            x, *y
        ) in {
            1,
            2
        }:
            yield from (
                x
            )
        try:
            del x[
                0
            ], y
        except (
            ValueError,
            TypeError
        ) as error:
            raise
        finally:
            x = sum(
                a
                for a in y
                if a
            )
"""


@pytest.mark.parametrize(
    "source",
    [*(path.read_text() for path in sorted(ACTORS.glob("*.py"))), SPREAD],
)
def test_expressions_stand_in_the_line_of_their_statement(source):
    """A failure names the same line on every interpreter (sandbox-internals.md §6)."""
    tree = instrumented_tree(source)
    assert [ast.unparse(node) for one in tree.body for node in misplaced(one)] == []


def test_what_runs_once_for_a_call_from_outside_is_left_to_helpers():
    """The result and the price are the same (sandbox-internals.md, rule 6)."""
    body = (
        "(a, b):\n    c = a + b\n    for i in [a, b]:\n        c = c - i\n    return c"
    )
    once = f"def f{body}\ndef run():\n    return 1"
    often = f"def f{body}\ndef run():\n    return f(1, 2)"
    assert "_add(a, b)" in instrumented(once)
    assert "_sub(c, i)" not in instrumented(once).replace("else _sub(c, i)", "")
    assert "_add(a, b)" not in instrumented(often)

    entered = "def f(a):\n    return str(a + a) + f'{a}' if a != b'' else [a < a, a]"
    ends = [
        call_once(entered + more, handler="f", payload=b"abc")
        for more in ("\ndef g():\n    return 0", "\ndef g():\n    return f(b'')")
    ]
    assert "_pay(" in instrumented(entered)
    assert ends[0].value == ends[1].value
    assert ends[0].cycles_used == ends[1].cycles_used
    assert ends[0].memory_used == ends[1].memory_used


def test_the_guard_of_a_field_stands_in_loops_only():
    source = "def f(x):\n    y = f'{x}'\n    return [f'{f(i)}' for i in y]"
    written = instrumented(source)
    assert written.count("_format(x)") == 1
    assert "else _format(_c1)" in written


def test_compiling_leaves_nothing_to_the_garbage_collector():
    """Trees are freed when they are not needed, not when somebody looks."""
    source = b"def f(x):\n    return x\n" * 100
    compile_actor(source)
    gc.collect()
    gc.disable()
    try:
        compile_actor(source)
        left = gc.collect()
    finally:
        gc.enable()
    assert left == 0


def test_an_arm_of_the_module_may_pay_for_itself():
    dear = "".join(["    x = 1\n"] * 40)
    source = f"if 1 == 1:\n{dear}def run():\n    return x"
    assert call_once(source).value == b"\x01"


def test_the_target_of_a_loop_costs_its_syntax():
    """Not what guards its parts (sandbox-internals.md, rule 2)."""
    setup = "d = {'a': [0]}\nk = 'a'\n"
    assert cycles("for d[k][0] in [1, 2]:\n    pass", setup) == (
        2 + (4 + 2) + 2 * (2 + 2 * 3)
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda n: "def f(x):\n" + "    x = x + 1\n" * n,
        lambda n: (
            "def f(x):\n    return " + "+".join(["x"] * 60) + "\n" + "y = 1\n" * n
        ),
        lambda n: "def f(x):\n" + "    if x:\n        x = [x, x]\n" * n,
        lambda n: "x = [" + "[1]," * n + "]",
    ],
)
def test_compiling_is_linear_in_the_source(make):
    """Eight times the source, at most some twenty times the work."""

    def seconds(count):
        source = make(count).encode()
        started = time.process_time()
        compile_actor(source)
        return time.process_time() - started

    seconds(20)
    short = min(seconds(100) for _ in range(3))
    assert min(seconds(800) for _ in range(2)) < 20 * short + 0.05


def test_an_exception_is_paid_when_it_is_raised():
    """Of `raise E(…)`; one that is made without is paid where it is made."""

    def used(body):
        source = f"def run():\n    {body}\n    return None"
        return call_once(source).memory_used

    assert used("if 0:\n        raise ValueError('x')") == used(
        "if 0:\n        y = 'x'"
    )
    assert used("x = ValueError('x')") == used("x = 'x'") + 256
    caught = "try:\n        raise {}\n    except ValueError:\n        pass"
    plain = used(caught.format("ValueError('x')"))
    assert plain == used(caught.format("ValueError"))
    assert (
        plain == used("try:\n        pass\n    except ValueError:\n        pass") + 256
    )


def test_memory_is_charged_for_what_is_kept():
    def used(body):
        return call_once(f"def run():\n    {body}\n    return None").memory_used

    base = used("pass")
    assert used("x = [1, 2]") - base == 64 + 16
    assert used("x = {1: 2}") - base == 64 + 100
    assert used("x = {}; x[1] = 2") - base == 64 + 64
    assert used("x = []; x.append(2)") - base == 64 + 64
    assert used("x = [i for i in (1, 2)]") - base == 64 + 2 * 40
    assert used("x = 'a' * 1000") - base == 56 + 1000
    assert used("x = '\\u1234' * 1000") - base == 56 + 4 * 1000
    assert used("x = ValueError()") - base == 256


SUBTRACTING = "class Number:\n    def __sub__(self, other):\n        return 0\n"
LONG_STEPS = [
    *("x + 1", "1 + x", "x - 1", "x - -1", "x + -1"),
    *(f"x + {1 << 70}", f"x - {1 << 70}"),
    *("[x + 1 for _ in (0,)]", "[y for y in (x + 1,)]", "(lambda y=x + 1: y)"),
]


@pytest.mark.parametrize("setup", ["", SUBTRACTING])
@pytest.mark.parametrize("step", LONG_STEPS)
def test_a_step_from_a_long_integer_is_paid_as_any_sum(step, setup):
    """`x ± literal` of 4,001 bits: 8 + bits // 64 cycles, bits // 8 bytes."""

    def used(bits):
        source = (
            f"{setup}\ndef steps(x):\n    return {step}\n"
            f"def run():\n    steps((1 << {bits}) + 1)\n    return None\n"
        )
        return call_once(source)

    short, long = used(250), used(4_000)
    assert short.error == long.error == ""
    shifted = 8 + 4_001 // 64
    assert long.cycles_used - short.cycles_used >= 2 * shifted + 8 + 4_001 // 64
    assert long.memory_used - short.memory_used == 3 * (4_001 // 8)


def test_a_step_beyond_4096_bits_fails_at_once():
    """D40: it had one bit more until the next check."""
    longest = "def run():\n    x = ((1 << 4_095) - 1) * 2 + 1\n    return len([x{}])"
    assert call_once(longest.format("")).error == ""
    failed = call_once(longest.format(" + 1")).error
    assert failed == "OverflowError: an integer of more than 4,096 bits"


COUNTERS = [
    *("i = i + 1", "i = 1 + i", "i = i - 1", "i = 1 - i", "i = i + -1"),
    *("i += 1", "i -= 1", "x = i + 1", "f(1 - i, i - 1)", "x = [i + 1 for x in (0,)]"),
]


@pytest.mark.parametrize("step", COUNTERS)
def test_a_variable_that_only_counts_is_stepped_without_a_guard(step):
    """A literal and steps by literals: 2³⁰ of less than 2⁶³ stay below 256 bits."""
    source = f"def f(*x):\n    i = 0\n    while i < 9:\n        {step}\n"
    assert not re.search("bit_length|_added|_iadd|_in_place", instrumented(source))


MAY_BE_LONG = [
    "i = e",
    "x = i = e",
    "x, i = 1, e",
    "(i := e)",
    "for i in (e,):\n        pass",
    "[0 for _ in (0,) if (i := e)]",
    "i += e",
    "i = i + e",
    "i = yield_(e)[0]",
    "with M(e) as i:\n        pass",
    "def g():\n        nonlocal i\n        i = e\n    g()",
    "f = lambda i: i + 1\n    i = f(e)",
    "i = [i + 1 for i in (e,)][0]",
    "global j\n    j = e\n    i = j",
]


@pytest.mark.parametrize("bits", [200, 4_000])
@pytest.mark.parametrize("changed", MAY_BE_LONG)
def test_a_variable_that_may_be_long_is_stepped_with_a_guard(changed, bits):
    """Each form that binds a name; `bits // 8` bytes for a long one."""

    def used(result):
        source = (
            "class M:\n    def __init__(self, e):\n        self.e = e\n"
            "    def __enter__(self):\n        return self.e\n"
            "    def __exit__(self, *x):\n        pass\n"
            "def yield_(e):\n    return [e]\n"
            f"def made(e):\n    i = 0\n    {changed}\n    return {result}\n"
            f"def run():\n    made((1 << {bits}) + 1)\n"
        )
        return call_once(source)

    held, stepped = used("i"), used("i + 1")
    assert held.error == stepped.error == ""
    paid = (bits + 1) // 8 if bits > 256 else 0
    assert stepped.memory_used - held.memory_used == paid


LONG = (1 << 4_000) + 1
LONG_BY_ITSELF = [
    ("def made(i):\n    if not i:\n        i = 0\n    return [{}]\n", "i + 1"),
    ("i = 0\ndef made(e):\n    global i\n    i = e\n    return [{}]\n", "i + 1"),
    ("def made(e):\n    i = 0\n    return (lambda i: {})(e) and 0\n", "i + 1"),
    ("def made(e):\n    i = 0\n    x = [{} for i in (e,)]\n", "i + 1"),
    ("def made(e):\n    i = 0\n    def g(i):\n        {}\n    g(e)\n", "i + 1"),
    (f"def made(e):\n    i = {LONG}\n    i = {{}}\n", "i + 1"),
    ("def made(e):\n    i = 0\n    i = {}\n", f"i + {LONG}"),
    ("def made(e):\n    i = 0\n    i = {}\n", f"i - {LONG}"),
]


@pytest.mark.parametrize(("source", "step"), LONG_BY_ITSELF)
def test_a_name_that_means_something_long_is_no_counter(source, step):
    """Parameters, globals, variables of other scopes, and long literals."""

    def used(value):
        called = f"def run():\n    made({LONG})\n"
        done = call_once(source.format(value) + called)
        assert done.error == ""
        return done.memory_used

    assert used(step) - used("i") == 4_001 // 8


def test_a_step_of_what_can_only_be_an_int_asks_for_its_length_alone():
    """Without `__add__` and `__sub__` nothing else comes of `x + 1`."""
    steps = "def f(x):\n    x.y = x.y + 1\n    return f(x - 1)\n"
    assert "__class__" not in instrumented(steps)
    assert instrumented(steps).count("bit_length() < 257") == 2
    assert "__class__" in instrumented(SUBTRACTING + steps)


YIELDING = """
def values(x, k):
    {body}

def run():
    for _ in values({{}}, {key}):
        pass
"""


@pytest.mark.parametrize(
    "key", ["1", "'a'", "(1, 2, 3)", "(1,) * 200", "'a' * 3000", "[1]"]
)
def test_a_key_that_is_assigned_a_yield_is_guarded_and_paid(key):
    """`x[k] = yield v` is `x[k] = None` after a yield, which is one statement less."""
    both, apart = (
        call_once(YIELDING.format(body=body, key=key))
        for body in ("x[k] = yield 1", "yield 1\n    x[k] = None")
    )
    assert both.error == apart.error
    assert both.error.startswith(
        {"[1]": "TypeError", "'a' * 3000": "Value"}.get(key, "")
    )
    assert both.cycles_used == apart.cycles_used - 1
    assert both.memory_used == apart.memory_used
    bare = call_once(YIELDING.format(body="yield 1", key=key))
    assert both.memory_used > bare.memory_used


@pytest.mark.parametrize(
    ("handler", "price"), [("pass", 0), ("raise", 70 + 5 + 15 + 20)]
)
def test_a_bare_raise_costs_what_a_raise_does(handler, price):
    """`RAISE` 5 and `RAISED` 15; `CAUGHT` 70 for the failure that it names."""
    body = (
        "try:\n    try:\n        raise ValueError\n"
        f"    except ValueError:\n        {handler}\n"
        "except ValueError:\n    pass"
    )
    assert cycles(body) == 3 + 3 + (5 + 15) + 20 + price


@pytest.mark.parametrize(
    "source", ["enumerate({0})", "zip({0}, {0})", "enumerate(zip({0}, {0}))"]
)
def test_what_a_loop_runs_over_stays_lazy(source):
    """Directly as a source: no list is made, however many there are."""

    def used(count):
        loop = f"for a, b in {source.format(f'range({count})')}:\n        pass"
        return call_once(f"def run():\n    {loop}\n    return None").memory_used

    grows = "zip" in source and "enumerate" in source  # an argument is a list
    assert (used(1_000) == used(1)) is not grows
