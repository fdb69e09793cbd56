"""What is below a node: the one walk that every step of the compiler shares.

A node's kind decides which of its fields hold nodes, so that no field is asked what it
holds. The marks of a read or a write (`Load`, `Store`) and operators, which have no
place and nothing below them, are not counted as nodes here; whoever judges operators
reads `op` and `ops`. A kind that is not in the language is walked as `ast` does it:
only what comes before the policy meets one.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import Struct

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


LEAVES = frozenset({ast.Constant, ast.Name})
"""Kinds that most nodes are of, with nothing below them."""


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


def head(node: ast.FunctionDef | ast.Lambda) -> list[ast.expr]:
    """What of a function runs where it stands: decorators, and defaults."""
    found = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    return (
        [*node.decorator_list, *found] if isinstance(node, ast.FunctionDef) else found
    )


def parameters(node: ast.arguments) -> list[ast.arg]:
    """Every parameter: positional ones, those by name, then `*` and `**`."""
    found = [*node.posonlyargs, *node.args, *node.kwonlyargs]
    if node.vararg is not None:
        found.append(node.vararg)
    if node.kwarg is not None:
        found.append(node.kwarg)
    return found


BLOCK_FIELDS = frozenset({"body", "finalbody", "handlers", "orelse"})
"""The fields of a statement that hold statements, or handlers that do."""

_BLOCKS: Mapping[type[ast.AST], tuple[str, ...]] = {
    kind: tuple(
        field
        for field in fields
        if field in BLOCK_FIELDS and issubclass(kind, ast.stmt | ast.ExceptHandler)
    )
    for kind, fields in FIELDS.items()
}


def blocks_of(node: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of a statement: its own, and those of its handlers."""
    found: list[list[ast.stmt]] = []
    for field in _BLOCKS[node.__class__]:
        value = getattr(node, field)
        if field == "handlers":
            found += [handler.body for handler in value]
        else:
            found.append(value)
    return found


_Node = TypeVar("_Node", bound=ast.AST)


class Survey(Struct, frozen=True):
    """The nodes of a tree by kind, for steps that look at few kinds each."""

    kinds: Mapping[type[ast.AST], Sequence[ast.AST]]
    size: int
    levels: int
    """How deep the tree is, itself counted."""

    def of(self, kind: type[_Node]) -> Sequence[_Node]:
        """All nodes of exactly that kind, level by level."""
        return self.kinds.get(kind, ())  # type: ignore[return-value] # of that kind


def survey(tree: ast.AST) -> Survey:
    """Look at every node once, without recursion.

    Nodes of a level are taken by kind, so that a field is read of all of them at once.
    """
    kinds: defaultdict[type[ast.AST], list[ast.AST]] = defaultdict(list)
    size = levels = 0
    level: list[ast.AST] = [tree]
    while level:
        size += len(level)
        levels += 1
        here: defaultdict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        for node in level:
            here[node.__class__].append(node)
        level = []
        for kind, nodes in here.items():
            kinds[kind] += nodes
            fields = _FIELD_GETTERS.get(kind)
            if fields is None:
                level += chain.from_iterable(map(ast.iter_child_nodes, nodes))
                continue
            for field in fields:
                values = [*map(field, nodes)]
                if values[0].__class__ is list:  # as in each node of the kind
                    level += filter(None, chain.from_iterable(values))
                else:
                    level += filter(None, values)
    return Survey(dict(kinds), size, levels)


_FieldGetter = Callable[[ast.AST], Any]  # type: ignore[explicit-any]

_FIELD_GETTERS: Mapping[type[ast.AST], Sequence[_FieldGetter]] = {
    kind: tuple(map(attrgetter, fields)) for kind, fields in FIELDS.items()
}


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


def bound_in_class(node: ast.stmt) -> Iterator[str]:
    """Names that a statement of a class body gives to something."""
    match node:
        case ast.FunctionDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            return
