"""`pvm.compiler`: one pipeline, immutable code, a cache that its caller owns."""

import ast

import pytest

from pvm import CompileError, compile_actor
from pvm.compiler.gate import restrict
from pvm.compiler.parser import parse


def test_what_lowering_calls_a_method_is_no_handler():
    """host-api.md §1: `__post_init__` is the actor's own, under any name."""
    code = compile_actor(
        b"""from dataclasses import dataclass
@dataclass
class Actor:
    n: int = 1
    def __post_init__(self):
        self.storage["owner"] = "anybody"
    def run(self):
        return self.n
"""
    )
    assert code.handlers == ("run",)


def test_handlers_are_public_functions_then_public_methods():
    """host-api.md §1: which handlers exist."""
    code = compile_actor(b"""
import json
from json import loads

class Base:
    def inherited(self): pass
    def _hidden(self): pass

class Actor(Base):
    def method(self): pass
    def both(self): pass
    @property
    def shown(self): return 1

def both(payload): pass
def _private(): pass
other = both
""")
    assert code.handlers == ("both", "method", "inherited")
    assert code.functions == {"both"}
    assert code.methods == {"method", "both", "inherited"}
    assert code.actor_class == "Actor"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("class A:\n    pass", "A"),
        ("class A:\n    pass\nclass B:\n    pass", None),
        ("class A:\n    pass\nclass Actor:\n    pass", "Actor"),
        ("class E(ValueError):\n    pass\nclass A:\n    pass", "A"),
        ("class E(ValueError):\n    pass\nclass F(E):\n    pass", None),
        ("x = 1", None),
    ],
)
def test_the_actor_class_is_named_actor_or_the_only_one(source, name):
    """Exceptions of the module are not counted."""
    assert compile_actor(source.encode()).actor_class == name


def test_code_is_immutable():
    code = compile_actor(b"def f(): pass")
    with pytest.raises(AttributeError):
        code.handlers = ()


@pytest.mark.parametrize(
    "source",
    [
        "async def f(): pass",
        "match 1:\n    case 1: pass",
        "_x = 1",
        "x.__class__",
        "x.gi_frame",
        "def __init__(): pass",
        "from a import *",
        "try:\n    pass\nexcept* ValueError:\n    pass",
        "exec('1')",
        "a.b += 1",
    ],
)
def test_restricted_python_is_a_real_gate(source):
    """Its checks hold by themselves, whatever our policy lets through."""
    with pytest.raises(CompileError):
        restrict(parse(source.encode()))


@pytest.mark.parametrize(
    "source",
    [
        "def f(x, y):\n    return getattr(x, y)",
        "def f(x):\n    return getattr(*x, 'a')",
        "def f(x):\n    return getattr(x, 'a', *x)",
        "def f(x):\n    return getattr(x, 'a', 1, 2)",
        "def f(x):\n    return getattr(x, 'a', y=1)",
        "def f(x):\n    return getattr(x, '__globals__')",
        "def f(x):\n    return getattr(x, 'gi_frame')",
        "def f(x):\n    return hasattr(*x, 'a')",
        "def f(x):\n    return hasattr(x, x)",
        "x = getattr",
        "x = [hasattr]",
        "x = super",
        "x = super(1, 2)",
        "x = property",
        "@getattr\ndef f(x):\n    return x",
        "x = setattr",
        "x = globals()",
        "x = hidden_other(1)",
        "def f(x):\n    return x.mro()",
        "def f(x):\n    return x.hidden_dunder_globals",
        "def f(x):\n    return x.hidden_dunder_init",
        "class A:\n    def f(self):\n        return super().hidden_dunder_globals",
    ],
)
def test_the_gate_looks_at_names_once_more(source):
    """sandbox-internals.md §2: in the tree that runs, whatever the policy thought."""
    with pytest.raises(CompileError):
        restrict(parse(source.encode()))


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    return [getattr(x, 'a'), getattr(x, 'b', 1), hasattr(x, 'c')]",
        "def getattr(x, y):\n    return [getattr(*x), getattr(x, y), getattr]",
        "class A:\n    @property\n    def f(self):\n        return super().f()",
        "class A:\n    def f(self):\n        return super().hidden_dunder_init(1)",
        "x = hidden_set([len, print, ValueError, pvm_host])",
        "try:\n    x = 1\nexcept ValueError as e:\n    [e, x]",
        "import a.b as c, d\nfor f in d:\n    with f as g: del h\n    [c, g, h]",
        "def f(a, /, b, *c, d=1, **e):\n    return lambda g: (a, b, c, d, e, f, g)",
    ],
)
def test_the_gate_admits_names_that_something_binds(source):
    restrict(parse(source.encode()))


def test_the_gate_changes_nothing():

    source = (
        b"def f(x):\n    for a, b in x:\n        a.b = x[1]\n    a, b = x\n    x += 1"
    )
    tree = parse(source)
    before = ast.dump(tree)
    restrict(tree)
    assert ast.dump(tree) == before
