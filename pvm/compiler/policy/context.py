"""The walk of the policy: deny by default, collect refusals, know the place."""

import ast
from collections.abc import Iterable

from msgspec import Struct

from pvm import language
from pvm.compiler.facts import Facts, FunctionNode, variables
from pvm.compiler.lowering import decorators
from pvm.compiler.policy.values import (
    check_identifier,
)
from pvm.compiler.syntax.imports import Find, ModuleNames
from pvm.compiler.syntax.visitor import Handled, children, parameters, walk
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


class PolicyWalk:
    """One walk; holds what was refused and what the module defines.

    A node whose kind has no `_check_…` method of its own is admitted with its children.
    """

    def __init__(self, facts: Facts, find: Find, own: Handled) -> None:
        self.facts = facts
        self.find = find
        self.checks = own
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
        """Remember a refusal at the place of `node`."""
        line = getattr(node, "lineno", 1)
        column = getattr(node, "col_offset", 0)
        self.refusals.append(Refusal(line, column, reason, instead))

    def check_body(self, body: Iterable[ast.stmt], position: Position) -> None:
        """Check statements in order."""
        for statement in body:
            self.check(statement, position)

    def check(self, node: ast.AST, position: Position) -> None:
        """Check one node and what is below it."""
        kind = node.__class__
        if kind is ast.Name and node.id in self.plain:  # type: ignore[attr-defined]
            return  # as for most
        check = self.checks.get(kind)
        if check is None:
            self._refuse_kind(node, node)
            return
        if position.class_body and isinstance(node, ast.stmt):
            self.check_in_class(node)
        check(self, node, position)

    def check_children(self, node: ast.AST, position: Position) -> None:
        """Check what is below a node."""
        if position.class_body:
            for child in children(node):
                self.check(child, position)
            return
        checks, plain = self.checks, self.plain
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

    def check_class_name(self, node: ast.expr, position: Position) -> bool:
        """Accept a name that stands for a class here; else check it as a value."""
        if isinstance(node, ast.Tuple):
            for element in node.elts:
                self.check_class_name(element, position)
            return True
        if self.is_module_error(node):
            return True
        if isinstance(node, ast.Name) and node.id not in self.facts.bound:
            known = language.EXCEPTIONS | language.CLASSES | language.CLASSES_NEVER
            if node.id in known:
                return True
        self.check(node, position)
        return False

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

    def is_class_of(self, node: ast.expr) -> bool:
        """`type(x)` or `x.__class__`."""
        match node:
            case ast.Call(func=ast.Name(id="type"), args=[_], keywords=[]):
                return self.facts.is_universal("type")
            case ast.Attribute(attr="__class__"):
                return True
            case _:
                return False

    def check_scopes(self, node: ast.AST, position: Position) -> None:
        """Functions and comprehensions inside one another."""
        if position.scopes > language.SCOPES_NESTED_MAX:
            self.refuse(
                node,
                "functions and comprehensions are nested more than "
                f"{language.SCOPES_NESTED_MAX} deep",
                "a function of the module",
            )

    def check_variables(self, node: FunctionNode, position: Position) -> None:
        """How many variables a function has, and of those around it uses.

        A module that binds no more names in all need not be looked at.
        """
        names = len(self.facts.bound)
        is_many = names > language.VARIABLES_MAX
        if is_many and len(self._variables(node)) > language.VARIABLES_MAX:
            self.refuse(node, f"more than {language.VARIABLES_MAX} variables", "a dict")
        if names <= language.ENCLOSING_MAX or not position.functions:
            return
        used = {part.id for part in walk(node) if isinstance(part, ast.Name)}
        around = frozenset[str]().union(*map(self._variables, position.functions))
        if len((used & around) - self._variables(node)) > language.ENCLOSING_MAX:
            self.refuse(
                node,
                f"more than {language.ENCLOSING_MAX} variables of the functions around",
                "a parameter that holds them",
            )

    def _variables(self, node: FunctionNode) -> frozenset[str]:
        found = self.variables.get(node)
        if found is None:
            found = self.variables[node] = variables(node)
        return found

    def check_no_star(self, target: ast.expr) -> None:
        """A target that may not spread."""
        if any(isinstance(part, ast.Starred) for part in walk(target)):
            self.refuse(
                target, "a starred target in another or in `for`", "unpack apart"
            )

    def check_parameters(self, node: ast.arguments, position: Position) -> None:
        """Names and defaults of parameters; annotations are dropped."""
        every = parameters(node)
        if len(every) > language.PARAMETERS_MAX:
            self.refuse(every[0], f"more than {language.PARAMETERS_MAX} parameters")
        for parameter in every:
            self.check_identifier(parameter, parameter.arg)
        for default in [*node.defaults, *node.kw_defaults]:
            if default is not None:
                self.check(default, position)

    def check_in_class(self, node: ast.stmt) -> None:
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
