"""The depth of actors' calls: 256 frames, then a halt (sandbox.md §5)."""

import pytest

from pvm import CompileError, StackExhausted, compile_actor
from pvm.depth import END, LINKS
from pvm.testing import World, call_once
from pvm.types import DEPTH_MAX

RECURSION = """
def down(n):
    return down(n - 1) + 1 if n else 0
def run():
    return str(down({}))
"""


def test_the_chain_has_a_link_for_each_frame():
    assert len(LINKS) == DEPTH_MAX + 1
    assert all(link == (LINKS[n],) for n, link in enumerate(LINKS[1:]))
    assert LINKS[0] is END


def test_256_frames_are_reached_and_257_are_not():
    """`run` is the first, `down(n)` makes n + 1."""
    assert call_once(RECURSION.format(DEPTH_MAX - 2)).value == b"254"
    error = call_once(RECURSION.format(DEPTH_MAX - 1)).error
    assert error.startswith("TooDeepRecursion")


@pytest.mark.parametrize(
    "body",
    [
        "return run()",
        "return (lambda: run())()",
        "return sorted([1], key=lambda x: run())",
        "return [run() for i in range(1)]",
        "return next(again())",
        "return map(lambda x: run(), [1])",
        "return filter(lambda x: run(), [1])",
        "return json.dumps({1}, default=lambda x: run())",
        "return json.loads('{}', object_hook=lambda x: run())",
        "return json.loads('{}', object_pairs_hook=lambda x: run())",
        "return json.loads('1', parse_int=lambda x: run())",
    ],
)
def test_every_way_to_call_is_counted(body):
    source = f"import json\ndef run():\n    {body}\ndef again():\n    yield run()\n"
    assert call_once(source).error.startswith("TooDeepRecursion")


def test_what_calls_without_a_frame_of_the_actors_is_counted():
    """Natives that call one another take the stack that frames would have taken."""
    source = """
def run():
    wrapped, lists = [map], []
    for i in range({}):
        lists.append(wrapped)
        wrapped = [wrapped]
    try:
        return map(map, *lists)
    except TypeError:
        return "the innermost has nothing to map"
"""
    reached = call_once(source.format(DEPTH_MAX - 2))
    assert reached.value == b"the innermost has nothing to map"
    error = call_once(source.format(DEPTH_MAX + 1)).error
    assert error.startswith("TooDeepRecursion")


def test_a_halt_for_depth_is_final():
    """No `finally` and no handler runs after it (sandbox.md §7)."""
    source = """
import pvm_host
def deep():
    try:
        deep()
    except Exception:
        pvm_host.emit_event("caught", b"")
    finally:
        pvm_host.emit_event("finally", b"")
def run():
    deep()
"""
    result = call_once(source)
    assert result.error.startswith("TooDeepRecursion")
    assert result.effects == ()


def test_the_depth_is_given_back_by_whatever_leaves_a_function():
    source = """
def fails():
    len(1)
    return fails()
def gives():
    yield fails
def run():
    for i in range(600):
        try:
            fails()
        except TypeError:
            pass
        for f in gives():
            (lambda: f)()
    return "done"
"""
    assert call_once(source).value == b"done"


CALLS_ITSELF = """
class Calls:
    {decorators}
    def {name}(self, *more):
        return self
def keep(function):
    return function
def run():
    return 1
"""


@pytest.mark.parametrize(
    ("decorators", "name", "reason"),
    [
        ("@property", "__call__", "the interpreter calls __call__ itself"),
        ("@keep", "__call__", "the interpreter calls __call__ itself"),
        ("@staticmethod", "__eq__", "the interpreter calls __eq__ itself"),
        ("@classmethod", "__len__", "the interpreter calls __len__ itself"),
        ("@staticmethod\n    @staticmethod", "f", "stand alone"),
        ("@classmethod\n    @keep\n    @property", "f", "stand alone"),
        ("@property\n    @property", "f", "stand alone"),
    ],
)
def test_no_native_calls_another_uncounted(decorators, name, reason):
    """`__call__` that is a property, or 3,000 times `staticmethod`, recurs in C."""
    source = CALLS_ITSELF.format(decorators=decorators, name=name)
    with pytest.raises(CompileError, match=reason):
        compile_actor(source.encode())


@pytest.mark.parametrize(
    ("decorators", "name"),
    [("@keep", "f"), ("@property\n    @keep", "f"), ("", "__call__")],
)
def test_other_decorators_stand(decorators, name):
    source = "def keep(function):\n    return function\n" + CALLS_ITSELF.format(
        decorators=decorators, name=name
    )
    assert call_once(source).value == b"\x01"


GIVES_UP = """
import pvm_host
def run(payload):
    try:
        return deep(payload)
    except Exception as error:
        return "caught"
    finally:
        pvm_host.emit_event("ran", b"")
def deep(payload):
    if payload:
        return pvm_host.call_actor(payload, "run", b"", 100_000)
    return pvm_host.randomness(payload)
"""


@pytest.mark.parametrize("through", ["itself", "another"])
def test_a_recursion_error_of_the_interpreter_is_no_outcome(monkeypatch, through):
    """It leaves every execution of the chain, whatever its actors catch."""
    world = World()
    actor = world.add(GIVES_UP)

    def gives_up(_host, _domain):
        raise RecursionError

    monkeypatch.setattr("pvm.testing.DictionaryHost.randomness", gives_up)
    with pytest.raises(StackExhausted):
        world.call(actor, "run", actor if through == "another" else b"")
    monkeypatch.undo()
    assert len(world.call(actor, "run").value) == 32


COMPREHENDED = f"""
def f(n):
    if n < 1:
        return 0
    return {"[" * 14}f(n - 1){" for x in [1]][0]" * 14}
def run():
    return f(200)
"""


def test_comprehensions_around_each_call_are_no_depth():
    """3.11 has a frame for each of the 14: 2,800 of them, and 3.12 none."""
    result = call_once(COMPREHENDED)
    assert (result.value, result.cycles_used) == (b"\x00", 87_718)
