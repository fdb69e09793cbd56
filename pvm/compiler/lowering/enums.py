"""The body of an `Enum`: its constants are members, `auto()` counts on.

Read by `policy`, which refuses what is not listed here, and by `desugar`.
"""

import ast
from collections.abc import Iterator

from pvm.compiler.facts import Facts
from pvm.compiler.syntax.visitor import bound_in_class

_INSTEAD = "constants, and methods that read .name and .value"


def check(facts: Facts, node: ast.ClassDef) -> Iterator[tuple[ast.AST, str, str]]:
    """Places to refuse in an Enum: each with its reason and what to write instead."""
    if len(node.bases) != 1:
        yield node, "an Enum has other bases than Enum", "Enum alone, and .value"
    if node.decorator_list:
        yield node, "an Enum has decorators", _INSTEAD
    yield from _check_autos(facts, node)
    for statement in node.body:
        for name in bound_in_class(statement):
            if name == "__init__":
                yield statement, "an Enum has an __init__", _INSTEAD
            elif name in {"name", "value"}:
                yield statement, f"a member is called {name}", "another name"
            elif name[0] == "_" and not isinstance(statement, ast.FunctionDef):
                yield statement, "a member begins with an underscore", "another name"


def _check_autos(
    facts: Facts, node: ast.ClassDef
) -> Iterator[tuple[ast.AST, str, str]]:
    """`auto()` is one more than the largest number before it."""
    is_counted = True
    for value in _values(node):
        if is_auto(facts, value):
            if not is_counted:
                yield value, "auto() after a value that is no literal int", "an int"
        elif _number(value) is None:
            is_counted = False


def number(facts: Facts, node: ast.ClassDef) -> None:
    """Write the number that each `auto()` of an Enum stands for."""
    numbers = [0]
    for statement in node.body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            continue
        if is_auto(facts, statement.value):
            assert statement.value is not None
            counted = ast.Constant(max(numbers) + 1)
            statement.value = ast.copy_location(counted, statement.value)
        numbers.append(_number(statement.value) or 0)


def is_auto(facts: Facts, node: ast.expr | None) -> bool:
    """Whether a member's value is `auto()`."""
    return (
        isinstance(node, ast.Call)
        and facts.meaning(node.func) == "enum.auto"
        and not node.args
        and not node.keywords
    )


def _values(node: ast.ClassDef) -> Iterator[ast.expr]:
    for statement in node.body:
        match statement:
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                yield value
            case _:
                pass


def _number(node: ast.expr | None) -> int | None:
    match node:
        case ast.Constant(value=int(number)) if type(number) is int:
            return number
        case _:
            return None
