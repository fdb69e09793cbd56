"""What the checks of the policy share: facts, a table of checks, what was refused.

A check takes the context, a node of its kind and where that stands. It has what is
below checked by the context, which looks the kinds up in the table again; a kind that
is not in the table is refused.
"""

import ast
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from pvm import language
from pvm.compiler.facts import Facts, FunctionNode
from pvm.compiler.lowering import dataclasses, decorators
from pvm.compiler.policy.values import (
    check_identifier,
)
from pvm.compiler.syntax.imports import Find, ModuleNames
from pvm.compiler.syntax.visitor import children
from pvm.errors import Refusal


class Position(Struct, frozen=True):
    """Where a node stands."""

    function: ast.FunctionDef | ast.Lambda | None = None
    is_method: bool = False
    """Set directly in a method, not in what is nested in it."""
    class_body: bool = False
    class_kind: str = ""
    """In the body of a dataclass or of an Enum: "dataclass", "enum"."""
    is_generator: bool = False
    in_comprehension: bool = False
    functions: tuple[FunctionNode, ...] = ()
    """This function and those around it, outermost first."""
    in_protected: bool = False
    """Inside `try` or `with` of this function."""
    in_handler: bool = False
    in_loop: bool = False
    blocks: int = 0
    scopes: int = 0


Checks = Mapping[type[ast.AST], Callable[..., None]]  # type: ignore[explicit-any] # of the kind
"""Kind of a node → what checks it and what is below."""


class PolicyContext:
    """One module being checked: what it defines, and what was refused in it."""

    def __init__(
        self, facts: Facts, find: Find, checks: Checks, tree: ast.Module
    ) -> None:
        self.facts = facts
        self.find = find
        self.records = dataclasses.records_of(facts)
        """Its dataclasses."""
        self._checks = checks
        self.top_level = frozenset(map(id, tree.body))
        """The statements of the module itself: the identities of their nodes."""
        self.admitted: set[str] = set()
        """Identifiers that were looked at and are none to refuse."""
        self.plain: set[str] = set()
        """Names that were looked at and may stand anywhere."""
        self.plain_attributes: set[str] = set()
        """Attribute names that were looked at and may be read and written."""
        self.plain_exports: set[tuple[str, str]] = set()
        """Modules' local names and their attributes that were looked at."""
        self.variables: dict[FunctionNode, frozenset[str]] = {}
        self.refusals: list[Refusal] = []
        self.declared: set[tuple[FunctionNode | None, str | None]] = set()
        """Functions, and names that they declare global or nonlocal."""
        self.functions = 0
        self.managers = 0
        self.copied = 0
        """Nodes that the compiler writes out more than once."""
        self.copies_over = False
        self.classes_seen: set[str] = set()
        modules = facts.modules.values()
        self.has_references = decorators.SDK in modules or (
            (decorators.SDK, "ActorRef") in facts.imports.values()
        )
        """An `ActorRef` has a method of any name."""
        used = {*modules, *(module for module, _ in facts.imports.values())}
        self.attributes = facts.attributes.union(
            language.METHOD_NAMES,
            language.UNIVERSAL_ATTRIBUTES,
            *(self.names_of(module).exports for module in modules),
            *(self.names_of(module).attributes for module in used),
        )

    def names_of(self, module: str | None) -> ModuleNames:
        """What a module offers: nothing if it is none."""
        names = None if module is None else self.find(module)
        return names or ModuleNames(frozenset())

    def is_library_class(self, local: str) -> bool:
        """Whether `local` is a class imported from a library module."""
        module, name = self.facts.imports.get(local, (None, ""))
        return name in self.names_of(module).classes

    def refuse(self, node: ast.AST, reason: str, instead: str = "") -> None:
        """Remember a refusal at the place of `node`: of a block, its first line."""
        line = getattr(node, "lineno", 1)
        column = getattr(node, "col_offset", 0)
        end_line, end_column = 0, 0
        if not isinstance(node, ast.stmt) or not hasattr(node, "body"):
            end_line = getattr(node, "end_lineno", None) or 0
            end_column = getattr(node, "end_col_offset", None) or 0
        self.refusals.append(
            Refusal(line, column, reason, instead, end_line, end_column)
        )

    def check_body(self, body: Iterable[ast.stmt], position: Position) -> None:
        """Check statements in order."""
        for statement in body:
            self.check(statement, position)

    def check(self, node: ast.AST, position: Position) -> None:
        """Check one node and what is below it."""
        kind = node.__class__
        if kind is ast.Name and node.id in self.plain:  # type: ignore[attr-defined]
            return  # as for most
        check = self._checks.get(kind)
        if check is None:
            self._refuse_kind(node, node)
            return
        if position.class_body and isinstance(node, ast.stmt):
            self._check_in_class(node)
        check(self, node, position)

    def check_children(self, node: ast.AST, position: Position) -> None:
        """Check what is below a node."""
        if position.class_body:
            for child in children(node):
                self.check(child, position)
            return
        checks, plain = self._checks, self.plain
        for child in children(node):
            kind = child.__class__
            check = checks.get(kind)
            if check is None:
                self._refuse_kind(child, child)
            elif kind is not ast.Name or child.id not in plain:  # type: ignore[attr-defined]
                check(self, child, position)

    def check_operator(
        self, node: ast.AST, operator: ast.operator | ast.unaryop
    ) -> None:
        """Refuse an operator that is not in the language at the place of `node`."""
        if operator.__class__ not in language.NODES:
            self._refuse_kind(node, operator)

    def _refuse_kind(self, place: ast.AST, node: ast.AST) -> None:
        name = node.__class__.__name__
        unknown = f"{name} is not in the language", ""
        self.refuse(place, *language.REFUSED_NODES.get(name, unknown))

    def check_identifier(self, node: ast.AST, name: str) -> None:
        """Check a name that the source gives to something."""
        if name in self.admitted:
            return
        found = list(check_identifier(name))
        if not found:
            self.admitted.add(name)
        for reason, instead in found:
            self.refuse(node, reason, instead)

    def is_module_error(self, node: ast.expr) -> bool:
        """Whether `node` names an exception of a native module."""
        match node:
            case ast.Name(id=name):
                return name in self.facts.module_errors
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                real = self.facts.modules.get(module, "")
                return name in language.MODULE_ERRORS.get(real, frozenset())
            case _:
                return False

    def _check_in_class(self, node: ast.stmt) -> None:
        """Methods, constants, annotations and a docstring (sandbox.md §1)."""
        match node:
            case ast.FunctionDef() | ast.Pass() | ast.Expr(value=ast.Constant()):
                return
            case ast.Assign(targets=targets):
                is_plain = all(isinstance(target, ast.Name) for target in targets)
            case ast.AnnAssign(target=target):
                is_plain = isinstance(target, ast.Name)
            case _:
                is_plain = False
        if not is_plain:
            self.refuse(node, "a class body holds methods and constants only")
