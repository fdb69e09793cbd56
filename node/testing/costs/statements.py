"""Where lines of a source belong: which statement of which function.

A line's number changes with each line above it, and a statement's other lines with its
form; interpreters differ in which line of a statement they are at. So costs are told of
statements, known by their function and their first line's text.
"""

import ast
import warnings
from collections.abc import Iterator

from msgspec import Struct

from node.query.costs.profiles import NO_LINE_NAME
from pvm import NO_LINE

__all__ = ["SourceStatement", "statements"]

TEXT_LENGTH_MAX = 120
"""Characters of a statement that are kept: enough to know it by."""


class SourceStatement(Struct, frozen=True):
    """A statement without those below it."""

    line: int
    """Its first line, from 1; `NO_LINE` for what belongs to none."""
    text: str
    """Its function, and its first line."""


def statements(source: str) -> dict[int, SourceStatement]:
    """The innermost statement of each line, and what belongs to no line."""
    rows = source.split("\n")
    by_line = {NO_LINE: SourceStatement(NO_LINE, NO_LINE_NAME)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes: they are the author's business
        tree = ast.parse(source)
    for name, node in _statements(tree, ""):
        first = min([node.lineno, *_decorators(node)])
        text = f"{name or '(module)'}: {rows[node.lineno - 1].strip()}"
        statement = SourceStatement(first, text[:TEXT_LENGTH_MAX])
        last = node.end_lineno or first
        by_line |= dict.fromkeys(range(first, last + 1), statement)
    return by_line


def _statements(node: ast.AST, name: str) -> Iterator[tuple[str, ast.stmt]]:
    """Statements in the order of the source, each with the function that it is in."""
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, ast.stmt):
            yield name, child
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = f"{name}.{child.name}" if name else child.name
        yield from _statements(child, inner)


def _decorators(node: ast.stmt) -> list[int]:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return [decorator.lineno for decorator in decorators]
