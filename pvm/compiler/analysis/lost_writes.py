"""Writes into a value that `self.storage` gave: they change a copy and are lost.

The most frequent first mistake of an author (host-api.md §3), and never an error:
the deployment's receipt tells it. Only what can be seen in one statement is told.
"""

import ast
from collections.abc import Iterator

from pvm.compiler.syntax.visitor import Survey

_CHANGING = frozenset(
    {
        "add", "append", "clear", "extend", "insert", "pop", "popitem", "remove",
        "reverse", "setdefault", "sort", "update",
    }
)  # fmt: skip


def first_lost_write(found: Survey) -> int | None:
    """Line of the first such statement, from 1."""
    lost: list[ast.stmt] = [
        node for node in found.of(ast.Assign) if any(map(_is_inside, node.targets))
    ]
    lost += [
        node for node in found.of(ast.Delete) if any(map(_is_inside, node.targets))
    ]
    lost += [node for node in found.of(ast.AugAssign) if _is_inside(node.target)]
    lost += [node for node in found.of(ast.Expr) if _changes(node.value)]
    return min((node.lineno for node in lost), default=None)


def hint(line: int | None) -> str:
    """What to write instead; nothing if nothing is lost."""
    if line is None:
        return ""
    return (
        f"line {line} changes a copy, which is lost: write the whole value back, as in "
        'd = self.storage["d"]; d["k"] = 1; self.storage["d"] = d'
    )


def _changes(node: ast.expr) -> bool:
    """Whether an expression calls what changes a value that storage gave."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name)):
            return name in _CHANGING and any(map(_stored, _down(value)))
        case _:
            return False


def _is_inside(target: ast.expr) -> bool:
    """An item of what `self.storage[…]` gives."""
    return isinstance(target, ast.Subscript) and any(map(_stored, _down(target.value)))


def _down(node: ast.expr) -> Iterator[ast.expr]:
    """`a[b][c]`, `a[b]`, `a`."""
    while isinstance(node, ast.Subscript):
        yield node
        node = node.value


def _stored(node: ast.expr) -> bool:
    """`self.storage[…]` itself."""
    match node:
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id="self"), attr="storage")
        ):
            return True
        case _:
            return False
