"""Why an execution failed: kind, message, call stack and hint (host-api.md §2)."""

import pytest

from node.history import _encode_failure
from node.primitives import codec
from pvm import CompileError, compile_actor, source_refused
from pvm.runtime.failures import FAILURE_BYTES_MAX, STACK_FRAMES_MAX
from pvm.testing import World, call_once
from pvm.types import Frame

NAMES = """
import json

class OutOfCycles(Exception):
    pass

class HandlerNotFound(Exception):
    pass

def run(payload):
    if payload == b"halt":
        raise OutOfCycles("not really")
    if payload == b"handler":
        raise HandlerNotFound("nor this")
    raise ValueError(payload.decode())
"""


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (b"halt", "actor.OutOfCycles"),
        (b"handler", "actor.HandlerNotFound"),
        (b"x", "ValueError"),
    ],
)
def test_a_class_of_the_actors_never_passes_for_one_of_ours(payload, kind):
    assert call_once(NAMES, payload=payload).outcome.failure.kind == kind


def test_a_caller_is_told_of_a_handler_that_only_claims_to_be_missing():
    world = World()
    callee = world.add(NAMES)
    source = f"""
def run(payload):
    try:
        pvm_host.call_actor({callee!r}, "run", payload, 10_000)
    except pvm_host.RevertError as error:
        return str(error)
"""
    value = world.call(world.add(source), "run", b"handler").value
    assert value == b"actor.HandlerNotFound: nor this"


STACKED = """
class Book:
    def total(self, payload):
        return self._sum([1, 2])

    def _sum(self, items):
        return [self._item(item) for item in items]

    def _item(self, item):
        def inner():
            return {}[item]
        return inner()

    def lambda_(self, payload):
        return sorted([2, 1], key=lambda item: [][item])

    def lazy(self, payload):
        return [item for item in self._each()]

    def _each(self):
        yield 1 // 0

def deep(payload):
    return deep(payload) if pvm_host.charge_gas(1) else deeper(30)

def deeper(n):
    return deeper(n - 1) if n else {}[n]
"""


@pytest.mark.parametrize(
    ("handler", "stack"),
    [
        (
            "total",
            [
                ("Book.total", 4),
                ("Book._sum", 7),
                ("Book._item", 12),
                ("Book._item.inner", 11),
            ],
        ),
        ("lambda_", [("Book.lambda_", 15), ("Book.lambda_.<lambda>", 15)]),
        ("lazy", [("Book.lazy", 18), ("Book._each", 21)]),
        ("deep", [("deeper", 27)] * STACK_FRAMES_MAX),
    ],
)
def test_the_stack_is_the_actors_own_on_every_interpreter(handler, stack):
    """A comprehension is a frame on 3.11 only; helpers are none anywhere."""
    failure = call_once(STACKED, handler).outcome.failure
    assert failure.stack == tuple(Frame(*frame) for frame in stack)
    assert failure.line == stack[-1][1]


def test_the_body_of_a_module_is_a_frame():
    failure = call_once("x = {}['k']\ndef run(): pass").outcome.failure
    assert failure.stack == (Frame("<module>", 1),)


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("pvm_host.set_state('k', b'')", "text.encode()"),
        ("pvm_host.sha256('text')", "text.encode()"),
        ("payload + 'text'", "payload.decode()"),
        ("self.storage['absent']", "get(key, default)"),
        ("pvm_host.transfer(self.address, 1)", "send the actor base units"),
        ("pvm_host.charge_gas(10**9)", "more cycles"),
        ("pvm_host.set_state(b'k', b'v' * 60_000)", "more cells"),
        ("return {1, 2}", "return None, bytes"),
    ],
)
def test_frequent_first_mistakes_get_a_hint(statement, hint):
    """host-api.md §2: what to try, in the receipt."""
    source = f"class Actor:\n    def run(self, payload):\n        {statement}\n"
    world = World()
    failure = world.call(world.add(source), "run", cells=50_000).outcome.failure
    assert hint in failure.hint


def test_a_missing_handler_names_those_that_there_are():
    failure = call_once("def one(): pass\ndef two(): pass", "too").outcome.failure
    assert (failure.message, failure.hint) == (
        "no handler too",
        "this actor has one, two",
    )
    assert call_once("x = 1").outcome.failure.hint == "this actor has no handlers"


def _left(failure):
    """Bytes that history keeps of a failure."""
    return len(codec.encode(_encode_failure(failure)))


@pytest.mark.parametrize(
    "text", ["x" * 60_000, "\U0001f600" * 9_000, "\\ud800" * 9_000, "é" * 9_000]
)
def test_what_a_failure_leaves_is_bounded(text):
    """4,000 bytes, of the longest names and texts (host-api.md §2)."""
    name = "n" * 100
    functions = "".join(
        f"{'    ' * n}def {name}(m):\n" for n in range(1, 12)
    )  # inside one another
    calls = "".join(
        f"{'    ' * n}return {name}(m - 1) if m else {name}(9)\n"
        for n in range(11, 0, -1)
    )
    source = (
        f"class {'C' * 100}(Exception):\n    pass\n"
        f"def {name}(payload):\n    m = 30\n{functions}{'    ' * 12}"
        f"if m:\n{'    ' * 13}return {name}(m - 1)\n{'    ' * 12}"
        f"raise {'C' * 100}(payload.decode())\n{calls}"
    )
    raised = (
        source
        if "ud800" not in text
        else source.replace("payload.decode()", "'\\ud800' * 9_000")
    )
    failure = call_once(raised, name, text.encode()[:60_000]).outcome.failure
    assert failure.kind == f"actor.{'C' * 100}"
    assert len(failure.stack) == STACK_FRAMES_MAX
    assert 990 < len(failure.message.encode()) <= 1_000
    assert {len(frame.function) for frame in failure.stack} == {100}
    assert _left(failure) <= FAILURE_BYTES_MAX


def test_what_a_missing_handler_leaves_is_bounded():
    """The hint lists no more names than 300 characters have."""
    source = "".join(f"def {'n' * 96}{n}(): pass\n" for n in range(200))
    failure = call_once(source, "h" * 256).outcome.failure
    assert failure.kind == "HandlerNotFound"
    assert _left(failure) <= FAILURE_BYTES_MAX


def test_what_a_refused_source_leaves_is_bounded():
    """Twenty refusals of 200 characters, whatever they quote."""
    source = "\n".join(f"x = f'{{x:{'w' * 3_000}}}'" for _ in range(20))
    with pytest.raises(CompileError) as refused:
        compile_actor(source.encode())
    failure = source_refused(refused.value)
    assert failure.line == 1
    assert failure.message.count("\n") == 19
    assert _left(failure) <= FAILURE_BYTES_MAX + 20 * 10


WRONG_ARGUMENTS = [
    ("def f(a, b): pass", "f(1, 2, 3)", "f() takes 2 arguments, 3 given"),
    ("def f(): pass", "f(1)", "f() takes no arguments, 1 given"),
    ("def f(a): pass", "f(1, *[2] * 9)", "f() takes 1 argument, 10 given"),
    ("def f(a, b=1): pass", "f(1, 2, 3)", "f() takes 1 to 2 arguments, 3 given"),
    ("def f(a=1): pass", "f(1, 2)", "f() takes 0 to 1 arguments, 2 given"),
    (
        "def f(a, *, k=1): pass",
        "f(1, 2, k=3)",
        "f() takes 1 positional argument, 2 given",
    ),
    ("def f(a, b): pass", "f()", "f() misses 'a', 'b'"),
    ("def f(a, b): pass", "f(b=1)", "f() misses 'a'"),
    ("def f(a, *, k): pass", "f(1)", "f() misses 'k'"),
    ("def f(a, b, c, d, e, g): pass", "f()", "f() misses 'a', 'b', 'c', 'd', 2 more"),
    ("def f(a): pass", "f(1, x=2)", "f() takes no argument named 'x'"),
    ("def f(a): pass", "f(**{'x': 2})", "f() takes no argument named 'x'"),
    ("def f(counts): pass", "f(count=2)", "f() takes no argument named 'count'"),
    ("def f(a): pass", "f(1, a=2)", "f() got 'a' twice"),
    ("def f(a, b, /): pass", "f(a=2, b=1)", "f() takes 'a', 'b' by position only"),
    ("def _f(_a): pass", "_f()", "_f() misses '_a'"),
    ("f = lambda a: a", "f()", "<lambda>() misses 'a'"),
    ("def f(a):\n    yield a", "f()", "f() misses 'a'"),
    ("class A:\n    def m(self, a): pass", "A().m()", "A.m() misses 'a'"),
    (
        "class A:\n    def m(self, a): pass",
        "A().m(1, 2)",
        "A.m() takes 1 argument, 2 given",
    ),
    (
        "class A:\n    @classmethod\n    def m(cls): pass",
        "A.m(1)",
        "A.m() takes no arguments, 1 given",
    ),
    (
        "class A:\n    @staticmethod\n    def m(a): pass",
        "A.m(1, 2)",
        "A.m() takes 1 argument, 2 given",
    ),
    ("class A:\n    def __init__(self, a): pass", "A()", "A() misses 'a'"),
    ("class A:\n    pass", "A(1)", "A() takes no arguments, 1 given"),
    (
        "class B:\n    def m(self): pass\nclass A(B):\n    pass",
        "A().m(1)",
        "B.m() takes no arguments, 1 given",
    ),
    (
        "def o():\n    def f(a): pass\n    return f",
        "o()()",
        "o.f() misses 'a'",
    ),
    (
        "import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int\n    y: int",
        "P(1)",
        "P() misses 'y'",
    ),
    (
        "def f(a): pass",
        "sorted([1, 2], key=lambda: 1)",
        "run.<lambda>() takes no arguments, 1 given",
    ),
    ("from heapq import heappush", "heappush([])", "heappush() misses 'item'"),
    ("import heapq", "heapq.heappush([])", "heappush() misses 'item'"),
    (
        "from functools import reduce",
        "reduce(lambda a: a, [1, 2])",
        "run.<lambda>() takes 1 argument, 2 given",
    ),
]


@pytest.mark.parametrize(("head", "call", "message"), WRONG_ARGUMENTS)
def test_wrong_arguments_are_told_in_our_words(head, call, message):
    """What is called, and what is wrong with the arguments."""
    failure = call_once(f"{head}\ndef run():\n    {call}\n").outcome.failure
    assert (failure.kind, failure.message) == ("TypeError", message)


GENERAL = "a call with wrong arguments, or an operation on values of wrong types"


@pytest.mark.parametrize(
    "body",
    [
        "len(1, 2)",
        "len(1)",
        "sorted()",
        "1 + 'a'",
        "'a'.split(1, 2, 3)",
        "ValueError(x=1)",
        "f(**{'x' * 101: 1})",
        "f(**{\"x'. Did you mean 'y\": 1})",
        "f(**{'\\u00e9': 1})",
        "f(a=1, **{'a': 1})",
        "to_list(1)",
    ],
)
def test_what_cannot_be_told_is_told_in_general(body):
    """Nothing of the interpreter's words, nor of names that no actor gave."""
    source = f"def f(a): pass\nto_list = list\ndef run():\n    {body}\n"
    failure = call_once(source).outcome.failure
    assert failure.kind == "TypeError"
    assert failure.message == GENERAL or "given" not in failure.message


def test_names_of_arguments_are_bounded():
    """Four of them, of 100 characters each."""
    names = [f"{'n' * 97}{i}" for i in range(100, 160)]
    source = (
        f"def {'f' * 100}({', '.join(names)}): pass\ndef run():\n    {'f' * 100}()\n"
    )
    message = call_once(source).outcome.failure.message
    shown = ", ".join(f"'{name}'" for name in names[:4])
    assert message == f"{'f' * 100}() misses {shown}, 56 more"


def test_wrong_arguments_that_are_caught_have_no_text():
    """sandbox.md §6: what the interpreter says is not for actors."""
    source = (
        "def f(a): pass\ndef run():\n    try:\n        f()\n"
        "    except TypeError as error:\n        return repr(error) + str(error)\n"
    )
    assert call_once(source).outcome.value == b"TypeError()TypeError"
