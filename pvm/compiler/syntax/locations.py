"""Where nodes stand: expressions where their statement does.

A failure names the line of a statement, whatever an interpreter thinks of the lines
inside it. What the compiler adds is put where it is made (`tree.Here`); here are the
nodes of sources that stand on several lines, or come from another place.
"""

import ast
from collections.abc import Mapping

from pvm.compiler.syntax.visitor import (
    BLOCK_FIELDS,
    FIELDS,
    LEAVES,
    children,
    head,
    parameters,
    walk,
)

_PLACELESS = frozenset({ast.arguments, ast.comprehension, ast.withitem})


def place(tree: ast.AST, node: ast.expr | ast.stmt) -> None:
    """Put all of `tree` where `node` begins."""
    line, column = node.lineno, node.col_offset
    for part in walk(tree):
        if part.__class__ not in _PLACELESS:
            _put(part, line, column)


def flatten(statement: ast.stmt) -> None:
    """Put the statement's own expressions where it begins.

    What begins and ends in its line is left as it is, with all that is below.
    """
    line, column = statement.lineno, statement.col_offset
    nodes = _own_parts(statement)
    for node in nodes:  # which grows
        if node.__class__ not in _PLACELESS:
            if node.lineno == line == node.end_lineno:  # type: ignore[attr-defined]
                continue
            _put(node, line, column)
        if node.__class__ not in LEAVES:
            nodes += children(node)


_OWN_FIELDS: Mapping[type[ast.AST], tuple[str, ...]] = {
    kind: tuple(field for field in fields if field not in BLOCK_FIELDS)
    for kind, fields in FIELDS.items()
}


def _own_parts(statement: ast.stmt) -> list[ast.AST]:
    """What is below a statement, without the statements in it."""
    if isinstance(statement, ast.FunctionDef):
        return [*head(statement), *parameters(statement.args)]
    if isinstance(statement, ast.Try):
        return [handler.type for handler in statement.handlers if handler.type]
    found: list[ast.AST] = []
    for field in _OWN_FIELDS[statement.__class__]:
        value = getattr(statement, field)
        if value.__class__ is list:
            found += value
        elif value is not None:
            found.append(value)
    return found


def _put(node: ast.AST, line: int, column: int) -> None:
    node.lineno = node.end_lineno = line  # type: ignore[attr-defined]
    node.col_offset = node.end_col_offset = column  # type: ignore[attr-defined]
