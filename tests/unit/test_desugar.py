"""`pvm.compiler.lowering.desugar`: before → after (sandbox-internals.md §2)."""

import ast
from pathlib import Path

import pytest

from pvm.compiler.facts import gather
from pvm.compiler.lowering.desugar import desugar
from pvm.compiler.syntax.visitor import survey, walk
from pvm.language import public_name

PROGRAMS = Path(__file__).parents[1] / "actors" / "programs.py"


def after(source):
    tree = ast.parse(source)
    desugar(tree, gather(tree))
    return ast.unparse(tree)


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("self._x", "self.private_x"),
        ("_", "_"),
        ("{a, b}", "hidden_set([a, b])"),
        ("{f(x) for x in y}", "hidden_set([f(x) for x in y])"),
        ("list((f(x) for x in y))", "list([f(x) for x in y])"),
        ("next((x for x in y))", "next(hidden_iterator([x for x in y]))"),
        ("x: int = 1", "x = 1"),
        ("x: int", "pass"),
        ("type(x).__name__", "hidden_name(x)"),
        ("x.y.__class__.__name__", "hidden_name(x.y)"),
        ("super().__init__(1)", "super().hidden_dunder_init(1)"),
        ("getattr(o, '_a', 1)", "getattr(o, 'private_a', 1)"),
        ("import typing\nfrom typing import List", ""),
        ("def f(_a: int) -> str: return _a", "def f(private_a):\n    return private_a"),
        ("global_ += 1", "global_ += 1"),
    ],
)
def test_an_expression_is_written_plainly(before, wanted):
    assert after(before) == wanted


def test_an_augmented_item_evaluates_object_and_key_once():
    assert after("self.d[k()] += v").split("\n") == [
        "hidden_1 = self.d",
        "hidden_3 = k()",
        "hidden_2 = hidden_1[hidden_3]",
        "hidden_2 += v",
        "hidden_1[hidden_3] = hidden_2",
    ]


def test_an_augmented_attribute_evaluates_the_object_once():
    assert after("f().x -= 1").split("\n") == [
        "hidden_1 = f()",
        "hidden_2 = hidden_1.x",
        "hidden_2 -= 1",
        "hidden_1.x = hidden_2",
    ]


def test_yield_from_is_a_loop():
    assert "for hidden_yielded in g:\n        yield hidden_yielded" in after(
        "def f():\n    yield from g"
    )


def test_a_class_has_an_init_that_can_carry_its_price():
    assert "def __init__(self):\n        pass" in after("class A:\n    pass")
    assert "*hidden_arguments" in after("class A(ValueError):\n    pass")
    inherited = after("class A:\n    def __init__(self): pass\nclass B(A):\n    pass")
    assert inherited.count("__init__") == 1


def test_names_are_shown_as_they_were_written():
    assert public_name("private_x") == "_x"
    assert public_name("x") == "x"


@pytest.mark.parametrize(
    "source",
    [
        *PROGRAMS.read_text("utf-8").split("\n---\n"),
        "next(({_a} for _a in x))",
        "x = {type(y).__name__ for y in ({1} for z in [])}",
        "class A:\n    def _f(self, _b: int = (lambda _c: {_c})(1)):\n        pass",
        "from dataclasses import dataclass\n\n@dataclass\nclass A:\n    _x: int = 1",
    ],
)
def test_it_tells_the_nodes_of_the_tree_as_it_is_then(source):
    """What the gate looks at is what runs: each node, none that was replaced."""
    tree = ast.parse(source)
    found = desugar(tree, gather(tree))
    told = [node for nodes in found.kinds.values() for node in nodes]
    assert sorted(map(id, told)) == sorted(map(id, walk(tree)))
    assert found == survey(tree)
    assert all(
        node.__class__ is kind for kind in found.kinds for node in found.of(kind)
    )
