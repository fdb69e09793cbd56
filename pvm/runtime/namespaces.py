"""What a module's body makes: anew for each message, unless nothing can change it.

D11 gives every message fresh globals and fresh classes. A source of imports, functions,
classes and immutable values that never sets an attribute and never says `global` cannot
change what its body made, so that the next message could not tell it from fresh: it
gets the same again. Making a class takes longer than most handlers run.

Rules: only what is unchanging by its source is kept (`is_unchanging`); a message pays
for what is kept what its body took, and runs the body where it cannot, to halt where
that halts; what is kept is a `VmExecution`'s own, bounded, and part of no result.
"""

import ast
from collections.abc import Iterable
from types import FunctionType
from typing import TYPE_CHECKING, Final

from pvm import language
from pvm.compiler.facts import Facts
from pvm.compiler.syntax.visitor import Survey, walk
from pvm.runtime.execution import ACTOR_MODULE, VmExecution

if TYPE_CHECKING:
    from pvm.driver.actors import ActorCode

NAMESPACES_MAX: Final = 32
"""Kept by one `VmExecution`: some 10 KB each, of the longest source some 2 MB."""

_VALUES = (ast.Constant, ast.Name, ast.Tuple, ast.UnaryOp, ast.BinOp)
"""Of constants and names of what a module holds, these make nothing mutable."""


class Namespace:
    """Names of a module whose body has run, and what that took."""

    __slots__ = ("code", "cycles", "given", "memory", "names", "owner")

    def __init__(self, code: "ActorCode", names: dict[str, object]) -> None:
        self.code = code
        self.names = names
        self.cycles = 0
        self.memory = 0
        self.owner: tuple[bytes, bytes] | None = None
        """Address and deployer of whose state the actor's class has, once it has."""
        self.given: list[str] = []
        """Attributes of it: those of the state that it does not define itself."""


def enter(vm: VmExecution, code: "ActorCode") -> Namespace:
    """The namespace of a module for one message, paid for."""
    kept = vm.namespaces.get(id(code))
    if kept is not None and _is_paid(vm, kept):
        return kept
    return _make(vm, code)


def _is_paid(vm: VmExecution, kept: Namespace) -> bool:
    cycles = vm.cycles.cell_contents - kept.cycles
    memory = vm.memory.cell_contents - kept.memory
    if cycles < 0 or memory < 0:
        return False
    vm.cycles.cell_contents = cycles
    vm.memory.cell_contents = memory
    return True


def _make(vm: VmExecution, code: "ActorCode") -> Namespace:
    cycles, memory = vm.cycles.cell_contents, vm.memory.cell_contents
    names: dict[str, object] = {"__builtins__": vm.names, "__name__": ACTOR_MODULE}
    made = Namespace(code, names)
    FunctionType(code.module, names, closure=vm.cells)()
    if code.is_unchanging:
        made.cycles = cycles - vm.cycles.cell_contents
        made.memory = memory - vm.memory.cell_contents
        if len(vm.namespaces) >= NAMESPACES_MAX:
            del vm.namespaces[next(iter(vm.namespaces))]
        vm.namespaces[id(code)] = made  # which holds the code, so the id is its own
    return made


# --- what the source says -----------------------------------------------------------


def is_unchanging(tree: ast.Module, facts: Facts, found: Survey) -> bool:
    """Whether nothing can change what the body of a module makes, once it has run.

    `tree` passed the gate; facts and nodes are of it. The body makes functions, classes
    of functions and immutable values: attributes are the only way into those. Imports
    stand in the body alone, so that none of a function costs less after it.
    """
    has_class = any(isinstance(part, ast.ClassDef) for part in tree.body)
    # Functions alone are made as fast as they are found.
    return has_class and not _changes(found) and _is_fixed(tree.body, facts)


def _is_fixed(body: Iterable[ast.stmt], facts: Facts) -> bool:
    return all(_is_fixed_statement(part, facts) for part in body)


def _is_fixed_statement(node: ast.stmt, facts: Facts) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Expr(ast.Constant()):
            return True
        case ast.Assign(targets=[ast.Name()], value=value):
            return _is_value(value)
        case ast.FunctionDef(args=parameters, decorator_list=decorators):
            defaults = filter(None, (*parameters.defaults, *parameters.kw_defaults))
            return all(map(_is_value, defaults)) and all(
                isinstance(one, ast.Name) and one.id in language.DECORATORS
                for one in decorators
            )
        case ast.ClassDef(bases=bases, body=body, decorator_list=[], keywords=[]):
            return _is_fixed(body, facts) and all(
                isinstance(base, ast.Name)
                and (
                    base.id in facts.classes
                    or base.id in facts.exceptions
                    or base.id in language.EXCEPTIONS
                )
                for base in bases
            )
        case _:
            return False


def _is_value(node: ast.expr) -> bool:
    """Whether an expression, whatever it says, makes nothing that could be changed."""
    return all(isinstance(part, _VALUES) for part in walk(node))


def _changes(found: Survey) -> bool:
    """Whether an attribute is set or deleted anywhere, or a name of the module."""
    return bool(found.of(ast.Global)) or any(
        not isinstance(node.ctx, ast.Load) for node in found.of(ast.Attribute)
    )
