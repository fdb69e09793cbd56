"""Actors as they run: compiled, their handlers known."""

import ast

from pvm.actor_code import ActorCode
from pvm.compiler.block_costs import BlockCosts
from pvm.compiler.facts import Facts
from pvm.compiler.pipeline import Compiled, compile_module
from pvm.driver.library_loader import find_module
from pvm.errors import CompileError, without_memory_errors
from pvm.node_charges import Charge, free


@without_memory_errors
def compile_actor(
    source: bytes, ledger: BlockCosts | None = None, charge: Charge = free
) -> ActorCode:
    """Compile an actor's source; with a ledger for tools, not for a chain.

    Args:
        source: of the actor.
        ledger: where the prices of its blocks are written down.
        charge: takes `COMPILE_PER_NODE` cycles for each node, before it is made; what
            it raises ends the compiling.

    Raises:
        CompileError: it is not UTF-8, does not parse or is not in the language;
            carries every refusal of the first step that refuses, and of names.
        HostMemoryExhausted: this machine has no memory left; it is no refusal.
    """
    compiled = compile_module(source, find_module, block_costs=ledger, charge=charge)
    return _actor_code(compiled, is_watched=ledger is not None)


def _actor_code(compiled: Compiled, *, is_watched: bool) -> ActorCode:
    facts, marks = compiled.facts, compiled.marks
    functions = _public(compiled.tree.body)
    actor_class = marks.actor_class or _actor_class(facts)
    methods = _methods(facts, actor_class)
    return ActorCode(
        module=compiled.code,
        handlers=tuple(dict.fromkeys([*functions, *methods])),
        functions=frozenset(functions),
        methods=frozenset(methods),
        actor_class=actor_class,
        constructors=marks.constructors,
        nodes=compiled.nodes,
        # Whoever counts by line wants to see the body run.
        is_unchanging=compiled.is_unchanging and not is_watched,
        hint=marks.hint,
    )


def _public(body: list[ast.stmt]) -> list[str]:
    return [
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith(("_", "private_"))
        and not any(_is_property(decorator) for decorator in node.decorator_list)
    ]


def _is_property(node: ast.expr) -> bool:
    # Instrumented, it is `_property`, which no actor can name.
    return (isinstance(node, ast.Name) and node.id in {"property", "_property"}) or (
        isinstance(node, ast.Attribute) and node.attr == "setter"
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


def _methods(facts: Facts, actor_class: str | None) -> list[str]:
    """Public methods of the class and its bases, each once."""
    names: dict[str, None] = {}
    stack = [] if actor_class is None else [actor_class]
    while stack:
        node = facts.classes.get(stack.pop())
        if node is not None:
            names.update(dict.fromkeys(_public(node.body)))
            stack.extend(
                base.id for base in reversed(node.bases) if isinstance(base, ast.Name)
            )
    return list(names)


__all__ = ["ActorCode", "CompileError", "compile_actor"]
