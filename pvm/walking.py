"""What is below a node: the one walk that every step of the compiler shares.

A node's kind decides which of its fields hold nodes, so that no field is asked what it
holds. The marks of a read or a write (`Load`, `Store`) and operators, which have no
place and nothing below them, are not counted as nodes here; whoever judges operators
reads `op` and `ops`. A kind that is not in the language is walked as `ast` does it:
only what comes before the policy meets one.
"""

import ast
from collections.abc import Mapping

from pvm import language

_HOLD_NO_NODES = language.words(
    "arg asname attr conversion ctx id is_async kind level module name op ops simple "
    "type_comment type_ignores type_params"
)
_LITERALS = frozenset({ast.Constant, ast.Global, ast.Nonlocal})


def _fields_of(kind: type[ast.AST]) -> tuple[str, ...]:
    if kind in _LITERALS:
        return ()
    return tuple(field for field in kind._fields if field not in _HOLD_NO_NODES)


FIELDS: Mapping[type[ast.AST], tuple[str, ...]] = {
    kind: _fields_of(kind) for kind in language.NODES
}
"""Kind → the fields that hold a node, nodes or None, in the order of the source."""


def children(node: ast.AST) -> list[ast.AST]:
    """Nodes directly below, in the order of the source."""
    fields = FIELDS.get(node.__class__)
    if fields is None:
        return list(ast.iter_child_nodes(node))
    found: list[ast.AST] = []
    for field in fields:
        value = getattr(node, field)
        if value.__class__ is list:
            found += filter(None, value)
        elif value is not None:
            found.append(value)
    return found


def handled(owner: object, prefix: str) -> list[tuple[type[ast.AST], str]]:
    """Kinds for which `owner` has a method of its own, with the method's name."""
    names = [(kind, prefix + kind.__name__.lower()) for kind in language.NODES]
    return [(kind, name) for kind, name in names if hasattr(owner, name)]


def marks(node: ast.AST) -> int:
    """How many operators and marks of a read or write are directly below a node."""
    fields = node._fields
    return ("ctx" in fields) + ("op" in fields) + len(getattr(node, "ops", ()))


def walk(*roots: ast.AST) -> list[ast.AST]:
    """The roots and every node below them, level by level."""
    found = list(roots)
    for node in found:  # which grows
        fields = FIELDS.get(node.__class__)
        if fields is None:
            found += ast.iter_child_nodes(node)
            continue
        for field in fields:
            value = getattr(node, field)
            if value.__class__ is list:
                found += filter(None, value)
            elif value is not None:
                found.append(value)
    return found
