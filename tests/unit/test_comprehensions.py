"""Comprehensions' variables have names of their own (sandbox-internals.md §2)."""

import ast

import pytest

from pvm.compiler.lowering.comprehensions import rename_variables
from pvm.compiler.syntax.visitor import survey
from pvm.errors import CompileError
from pvm.testing import World


@pytest.mark.parametrize(
    ("source", "renamed"),
    [
        ("[x for x in x]", "[hidden_1_x for hidden_1_x in x]"),
        (
            "[x for y in x for x in y]",
            "[hidden_1_x for hidden_1_y in x for hidden_1_x in hidden_1_y]",
        ),
        (
            "[[x for x in x] for x in x]",
            "[[hidden_2_x for hidden_2_x in hidden_1_x] for hidden_1_x in x]",
        ),
        (
            "[x for x in [x for x in x]]",
            "[hidden_1_x for hidden_1_x in [hidden_1_x for hidden_1_x in x]]",
        ),
        (
            "{k: lambda k, v=k: (k, z) for k, *z in d}",
            """{
            hidden_1_k: lambda k, v=hidden_1_k: (k, hidden_1_z)
            for hidden_1_k, *hidden_1_z in d}""",
        ),
        (
            "[lambda: (x := 1) for x in y]",
            "[lambda: (x := 1) for hidden_1_x in y]",
        ),
        (
            "[lambda: [x for x in x] for x in y]",
            "[lambda: [hidden_2_x for hidden_2_x in hidden_1_x] for hidden_1_x in y]",
        ),
    ],
)
def test_each_variable_is_renamed_where_it_is_meant(source, renamed):
    tree = ast.parse(source)
    names = rename_variables(survey(tree))
    assert ast.dump(tree) == ast.dump(ast.parse(renamed))
    assert names == {
        node.id for node in ast.walk(tree) if getattr(node, "id", "")[:7] == "hidden_"
    }


def test_a_variable_of_a_comprehension_around_is_not_assigned_to():
    with pytest.raises(CompileError, match="stands where it may not"):
        World().add("def run():\n    return [(x := 1) for x in (1, 2)]\n")


def test_few_variables_hide_those_of_comprehensions_around():
    """A call makes room for all of them (sandbox.md §1)."""
    names = ", ".join(f"v{n}" for n in range(100))
    two = f"[0 for {names} in ()]"
    three = f"[{two} for {names} in ()]"
    World().add(f"def run():\n    return [{three} for {names} in ()]\n")
    source = f"def run():\n    return [[{three} for {names} in ()] for {names} in ()]\n"
    with pytest.raises(CompileError, match="more than 256 variables of comprehensions"):
        World().add(source)
