"""What a module offers to those who import it, and which module an import means.

`resolve` leaves two forms: `import module as name` and `from module import name` of a
name that is no module itself, under the one name that each module has. What cannot
be resolved stays as it is, for the policy to refuse.
"""

import ast
from collections.abc import Callable, Iterator

from msgspec import Struct

from pvm import language


class ModuleNames(Struct, frozen=True):
    """What the compiler knows of a module."""

    exports: frozenset[str]
    """Names that can be imported from it, or read as its attributes."""
    attributes: frozenset[str] = frozenset()
    """Attribute names that its objects have, and those of what it imports."""
    classes: frozenset[str] = frozenset()
    """Exports that may be base classes."""
    exceptions: frozenset[str] = frozenset()
    """Those of them that are exception classes: they may be raised and caught."""


Find = Callable[[str], ModuleNames | None]
"""What a module offers, None if there is none of that name."""


def nothing(_name: str) -> ModuleNames | None:
    """There is no module."""
    return None


def real_name(name: str) -> str:
    """A module's own name: it may have others."""
    first, dot, rest = name.partition(".")
    return language.MODULE_ALIASES.get(first, first) + dot + rest


def resolve(tree: ast.Module, find: Find) -> None:
    """Rewrite the imports of a module's top level, in place."""
    body: list[ast.stmt] = []
    for node in tree.body:
        body += _resolved(node, find)
    tree.body = body


def _resolved(node: ast.stmt, find: Find) -> Iterator[ast.stmt]:
    match node:
        case ast.Import(names=names):
            for alias in names:
                _name_module(alias, find)
            yield node
        case ast.ImportFrom(module=str(module), level=0, names=names):
            node.module = real_name(module)
            inside = [one for one in names if find(f"{node.module}.{one.name}")]
            names = [one for one in names if one not in inside]
            for alias in inside:
                alias.asname = alias.asname or alias.name
                alias.name = f"{node.module}.{alias.name}"
            if inside:
                yield ast.copy_location(ast.Import(inside), node)
            if names:
                node.names = names
                yield node
        case _:
            yield node


def _name_module(alias: ast.alias, find: Find) -> None:
    """`import a.b` binds `a`, of which `b` is an attribute."""
    name = real_name(alias.name)
    if alias.asname is None:
        alias.asname = alias.name.partition(".")[0]
        if find(name) is not None:
            name = name.partition(".")[0]
    if alias.asname == name:
        alias.asname = None
    alias.name = name
