"""The decorators of `cowboy_sdk`: where they may stand, and what they mean."""

import pytest

from pvm.driver.actors import compile_actor
from pvm.errors import CompileError
from pvm.testing import DEPLOYER, SENDER, World, call_once

HEAD = (
    "from cowboy_sdk import (OWNER, SELF, actor, bounded_loop, callable_by, deferred,\n"
    "    public, pure, reentrancy_guard, BoundedRange)\n"
)


def actor_with(method: str) -> str:
    return f"{HEAD}@actor\nclass Box:\n    {method}\n"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("@actor\ndef f(): pass", "actor stands on a function"),
        ("@actor()\nclass A: pass", "actor takes no arguments"),
        ("@public\nclass A: pass", "public stands on a class"),
        ("@public\ndef f(): pass", "something else than a method of the actor"),
        (
            "class A:\n    @public\n    def f(self): pass",
            "something else than a method",
        ),
        ("@actor\nclass A: pass\n@actor\nclass B: pass", "a second class is marked"),
        ("x = public", "public only decorates"),
        ("guard = callable_by(OWNER)", "callable_by only decorates"),
        ("def f(x): return pure(x)", "pure only decorates"),
    ],
)
def test_where_they_may_not_stand(source, reason):
    with pytest.raises(CompileError) as error:
        compile_actor((HEAD + source).encode())
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("@public()\n    def f(self): pass", "public takes no arguments"),
        ("@callable_by\n    def f(self): pass", "callable_by names no caller"),
        ("@callable_by()\n    def f(self): pass", "callable_by names no caller"),
        ("@callable_by(who=OWNER)\n    def f(self): pass", "names no caller"),
        ("@callable_by(OWNER, x=1)\n    def f(self): pass", "takes no keywords"),
        ("@callable_by(*[OWNER])\n    def f(self): pass", "a spread list of callers"),
        ("@callable_by('0x12')\n    def f(self): pass", "a caller is no address"),
        ("@callable_by(b'12')\n    def f(self): pass", "a caller is no address"),
        ("@callable_by(5)\n    def f(self): pass", "a caller is no address"),
        ("@public\n    @callable_by(OWNER)\n    def f(self): pass", "contradict"),
        ("@pure\n    @deferred\n    def f(self): pass", "contradict"),
        ("@public\n    @property\n    def f(self): pass", "beside another decorator"),
        ("@public\n    def f(self): yield 1", "public stands on a generator"),
        ("@public\n    def __init__(self): pass", "public stands on __init__"),
        ("@bounded_loop\n    def f(self): pass", "bounded_loop takes max_iterations"),
        ("@bounded_loop(0)\n    def f(self): pass", "bounded_loop takes"),
        ("@bounded_loop(True)\n    def f(self): pass", "bounded_loop takes"),
        ("@actor\n    def f(self): pass", "actor stands on a function"),
    ],
)
def test_what_they_may_not_say(method, reason):
    with pytest.raises(CompileError) as error:
        compile_actor(actor_with(method).encode())
    assert reason in str(error.value)


@pytest.mark.parametrize(
    "head",
    [
        "from cowboy_sdk import actor, public\n@actor",
        "from pvm_sdk import actor, public\n@actor",
        "from cowboy_sdk import actor as marked, public\n@marked",
        "import cowboy_sdk\nfrom cowboy_sdk import public\n@cowboy_sdk.actor",
        "import cowboy_sdk as sdk\nfrom cowboy_sdk import public\n@sdk.actor",
    ],
)
def test_they_are_known_by_what_was_imported(head):
    """The class marked `@actor` goes before the one named `Actor` (host-api.md §1)."""
    source = f"""{head}
class Marked:
    @public
    def run(self):
        return b"marked"

class Actor:
    def run(self):
        return b"named"
"""
    assert call_once(source).value == b"marked"


def test_a_name_of_the_actors_own_is_no_decorator():
    source = """
class Actor:
    def public(self):
        return b"public"

def actor(x):
    return x

def pure():
    return actor(b"pure")
"""
    assert call_once(source, "public").value == b"public"
    assert call_once(source, "pure").value == b"pure"


def test_rules_hold_for_the_classes_that_the_actor_derives_from():
    source = f"""{HEAD}
class Base:
    @callable_by(OWNER)
    def reset(self):
        return b"reset"

    def own(self):
        return b"own"

@actor
class Box(Base):
    @public
    def run(self):
        return self.own()
"""
    world = World()
    box = world.deploy(source)
    assert world.call(box, "run").value == b"own"
    assert "PermissionDenied" in world.call(box, "own").error
    assert "PermissionDenied" in world.call(box, "reset").error
    assert world.run(world.message(box, ("reset",), b"", DEPLOYER)).value == b"reset"


def test_callers_are_evaluated_where_they_stand():
    source = f"""{HEAD}
ADMIN = bytes.fromhex({SENDER.hex()!r})

@actor
class Box:
    GUESTS = ADMIN

    @callable_by(GUESTS)
    def by_constant(self): return b"1"

    @callable_by(ADMIN, OWNER)
    def by_name(self, ADMIN=None): return b"2"

    @callable_by("0x{SENDER.hex()}")
    def by_text(self): return b"3"

    @callable_by({SENDER!r})
    def by_bytes(self): return b"4"

    @callable_by(str(5))
    def by_mistake(self): return b"5"
"""
    for handler, value in (
        ("by_constant", b"1"), ("by_name", b"2"), ("by_text", b"3"), ("by_bytes", b"4"),
    ):  # fmt: skip
        assert call_once(source, handler).value == value
    assert call_once(source, "by_mistake").error.startswith("HostError.InvalidInput")


def test_a_loop_is_bounded_where_it_stands():
    source = f"""{HEAD}
from cowboy_sdk import LoopBoundExceeded

@bounded_loop(max_iterations=3)
def run(payload):
    seen = []
    try:
        for item in BoundedRange([1, 2, 3, 4]):
            seen.append(item)
    except LoopBoundExceeded as error:
        seen.append(str(error))
    for item in BoundedRange(9):
        if item == 2:
            break
    return seen

def unbounded():
    return [item for item in BoundedRange([1])]
"""
    value = call_once(source).value
    assert value.endswith(b"more than 3 iterations")
    assert value[:4] == b"\x84\x01\x02\x03"
    assert call_once(source, "unbounded").error.startswith("ValueError")


def test_a_method_with_a_rule_may_nest_as_deep_as_any():
    """The `try` of a rule is one block more for the compiler (sandbox.md §1)."""
    loops = ""
    for level in range(16):
        loops += f"{' ' * (8 + 4 * level)}for i{level} in [1]:\n"
    source = f"""{HEAD}
@actor
class Box:
    @public
    def run(self, payload):
{loops}{" " * 72}return payload
"""
    assert call_once(source, payload=b"deep").value == b"deep"


def test_a_class_without_rules_pays_nothing_for_them():
    plain = "class Box:\n    def run(self):\n        return b'x'\n"
    marked = f"from cowboy_sdk import actor\n@actor\n{plain}"
    bare = call_once("import cowboy_sdk\n" + plain).cycles_used
    assert call_once(marked).cycles_used == bare
