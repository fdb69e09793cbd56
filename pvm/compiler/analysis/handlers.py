"""Which functions and methods messages can reach, and which class is the actor's."""

import ast

from msgspec import Struct

from pvm.compiler.facts import Facts
from pvm.compiler.lowering.decorators import is_property

_NOT_PUBLIC = ("_", "private_", "hidden_")
"""How names begin that are the actor's own, or that lowering has written."""


class Handlers(Struct, frozen=True):
    """What a module offers to messages (host-api.md §1)."""

    functions: tuple[str, ...]
    """Public functions of the module, in source order."""
    methods: tuple[str, ...]
    """Public methods of the actor's class and of its bases, each once."""
    actor_class: str | None
    """The class marked `@actor`, else the one that derives from `cowboy_sdk.Actor`,
    else the one named `Actor`, else the only class that is no exception and derives
    from no library."""


def find_handlers(tree: ast.Module, facts: Facts, marked: str | None) -> Handlers:
    """The handlers of a tree that passed the gate; `marked` is the class of `Marks`."""
    actor_class = marked or _actor_class(facts)
    return Handlers(_public(tree.body), _methods(facts, actor_class), actor_class)


def _public(body: list[ast.stmt]) -> tuple[str, ...]:
    return tuple(
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith(_NOT_PUBLIC)
        and not any(map(is_property, node.decorator_list))
    )


def _actor_class(facts: Facts) -> str | None:
    if "Actor" in facts.classes:
        return "Actor"
    ordinary = [
        name
        for name, node in facts.classes.items()
        if name not in facts.exceptions
        and not facts.is_enum(name)
        and not _is_of_library(node, facts)
    ]
    return ordinary[0] if len(ordinary) == 1 else None


def _is_of_library(node: ast.ClassDef, facts: Facts) -> bool:
    """Whether a class derives from one that was imported: a model, an enumeration."""
    return any(
        isinstance(base, ast.Name) and base.id in facts.imports for base in node.bases
    )


def _methods(facts: Facts, actor_class: str | None) -> tuple[str, ...]:
    names: dict[str, None] = {}
    stack = [] if actor_class is None else [actor_class]
    while stack:
        node = facts.classes.get(stack.pop())
        if node is not None:
            names.update(dict.fromkeys(_public(node.body)))
            stack.extend(
                base.id for base in reversed(node.bases) if isinstance(base, ast.Name)
            )
    return tuple(names)
