"""`syntax.visitor`: the compiler's walk sees the nodes that `ast.walk` sees."""

import ast
from pathlib import Path

import pytest

from pvm.compiler.gate import restrict
from pvm.compiler.syntax.visitor import children, marks, walk
from pvm.errors import CompileError

MARKS = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
PROGRAMS = Path(__file__).parents[1] / "actors" / "programs.py"
SOURCES = [
    *PROGRAMS.read_text("utf-8").split("\n---\n"),
    "def f(a, /, b=1, *c, d, e=2, **f): return {**a, 1: b}, lambda *g, h=3: g",
    "async def f():\n    async with a as b: await c",
    "match a:\n    case {1: [*b], **c} | D(e=f): pass",
    "global a\nx: int = 1\ny: str\ntry: pass\nexcept* E as e: raise A from b",
]


@pytest.mark.parametrize("source", SOURCES)
def test_the_walk_is_that_of_ast_without_marks(source):
    tree = ast.parse(source)
    wanted = [node for node in ast.walk(tree) if not isinstance(node, MARKS)]
    # A kind that is not in the language is walked with all that is below it.
    found = [node for node in walk(tree) if not isinstance(node, MARKS)]
    assert found == wanted
    for node in wanted:
        below = [one for one in children(node) if not isinstance(one, MARKS)]
        assert below == [
            one for one in ast.iter_child_nodes(node) if not isinstance(one, MARKS)
        ]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [("a", 1), ("a + b", 1), ("a < b <= c", 2), ("not a", 1), ("1", 0), ("f()", 0)],
)
def test_marks_are_contexts_and_operators(source, wanted):
    node = ast.parse(source, mode="eval").body
    assert marks(node) == wanted


@pytest.mark.parametrize(
    "refused",
    [
        "_a", "x._a", "x._a = 1", "del x._a", "exec()", "x.gi_frame", "x.gi_frame = 1",
        "x.a__roles__", "del x.a__roles__",
    ],
)  # fmt: skip
def test_the_gate_refuses_a_name_at_each_of_its_lines(refused):
    """What it knows already is what it admitted, never what it refused."""
    source = f"a = x.a(b)\n{refused}\na = x.a(b, print, printed)\n{refused}"
    tree = ast.parse(source)
    before = ast.dump(tree, include_attributes=True)
    with pytest.raises(CompileError) as caught:
        restrict(tree)
    assert [refusal.line for refusal in caught.value.refusals] == [2, 4]
    assert ast.dump(tree, include_attributes=True) == before
