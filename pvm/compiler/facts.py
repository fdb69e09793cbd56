"""What a module says about itself: names it binds, classes, imports, attributes.

Computed in one walk over the tree, before the policy and again after desugaring; no
step changes a fact, each only reads them.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from msgspec import Struct

from pvm import costs, language
from pvm.compiler.syntax.imports import Find, nothing
from pvm.compiler.syntax.tree import literal_int
from pvm.compiler.syntax.visitor import (
    LEAVES,
    Survey,
    children,
    head,
    marks,
    parameters,
    survey,
    walk,
)

FunctionNode = ast.FunctionDef | ast.Lambda
ENUM = "hidden_enum"
"""The base of an Enum, desugared."""


class Facts(Struct, frozen=True):
    """Static knowledge of one module."""

    bindings: Mapping[str, int]
    """Names bound anywhere, in any scope, by any form: how often each is."""
    classes: Mapping[str, ast.ClassDef]
    """Top-level classes whose name nothing else binds."""
    exceptions: frozenset[str]
    """Those that derive from an exception, and exceptions imported from a library."""
    module_errors: frozenset[str]
    """Local names of the exception classes imported from native modules."""
    imports: Mapping[str, tuple[str, str]]
    """Local name → module and name there, for names imported from a module."""
    inert: frozenset[str]
    """Local names of what is imported for annotations."""
    modules: Mapping[str, str]
    """Local name → module, for imports whose name nothing else binds."""
    attributes: frozenset[str]
    """Attribute names the module itself defines."""
    read: frozenset[str]
    """Names and attribute names that the module reads anywhere."""
    is_simple: bool
    """No dunder method but `__init__` and no decorator: operators and attribute
    access run nothing of the actor's."""
    can_negate: bool
    """`x - 1` is `x + -1`: no class that could be met has `__add__` or `__sub__`."""
    has_generators: bool
    """Some function of the module is one."""
    shared: frozenset[str]
    """Names that some function declares `global` or `nonlocal`."""
    mismatch: int
    """Cycles of a call that does not fit its function: the interpreter names all that
    is missing, and 3.13 looks for a parameter that is spelled like an unknown one. 0
    where it takes no more than the call itself."""

    def meaning(self, node: ast.expr) -> str:
        """`module.name` for what is imported, by either form; else nothing."""
        match node:
            case ast.Name(id=local) if local in self.imports:
                return ".".join(self.imports[local])
            case ast.Attribute(value=ast.Name(id=local), attr=name):
                return f"{self.modules[local]}.{name}" if local in self.modules else ""
            case _:
                return ""

    def module_error(self, node: ast.expr) -> str:
        """The exception of a native module that an expression names; else nothing."""
        module, _, name = self.meaning(node).rpartition(".")
        return name if name in language.MODULE_ERRORS.get(module, ()) else ""

    def is_enum(self, name: str) -> bool:
        """Whether a class of the module is an Enum, desugared or not."""
        node = self.classes.get(name)
        return node is not None and any(
            self.meaning(base) == "enum.Enum"
            or (isinstance(base, ast.Name) and base.id == ENUM)
            for base in node.bases
        )

    @property
    def bound(self) -> AbstractSet[str]:
        """Names bound anywhere."""
        return self.bindings.keys()

    def is_universal(self, name: str) -> bool:
        """Whether `name` means the builtin wherever it stands."""
        return name not in self.bindings


def gather(
    tree: ast.Module,
    find: Find = nothing,
    found: Survey | None = None,
    admitted: Facts | None = None,
) -> Facts:
    """Collect from the nodes of a tree.

    Args:
        tree: the module.
        find: knows the exceptions of modules.
        found: its nodes, if somebody has found them.
        admitted: what the policy knew, where the tree was rewritten since: a name stays
            bound as often, though what bound it may be gone, for the policy has
            admitted uses of it by that.
    """
    found = found or survey(tree)
    read, bindings = _names(found)
    if admitted is not None:
        for name, times in admitted.bindings.items():
            bindings[name] = max(times, bindings.get(name, 0))
    attributes: set[str] = set()
    for node in found.of(ast.Attribute):
        (read if node.ctx.__class__ is ast.Load else attributes).add(node.attr)
    is_simple = can_negate = True
    for class_ in found.of(ast.ClassDef):
        attributes.update(_class_attributes(class_))
    for function in found.of(ast.FunctionDef):
        is_dunder = function.name.startswith("__") and function.name != "__init__"
        is_simple = is_simple and not is_dunder and not function.decorator_list
        can_negate = can_negate and function.name not in _ADDING
    imported = {alias.name for node in found.of(ast.Import) for alias in node.names}
    imported.update(node.module or "" for node in found.of(ast.ImportFrom))
    can_negate = can_negate and imported <= _WITHOUT_OPERATORS
    classes = {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and bindings[node.name] == 1
    }
    modules = {
        local: name for local, name in _imported(tree) if bindings.get(local) == 1
    }
    modules |= {name: name for name in language.IMPLICIT_MODULES - bindings.keys()}
    imports = {
        local: names for local, names in _names_imported(tree) if bindings[local] == 1
    }
    caught = {local for local, names in imports.items() if _is_exception(names, find)}
    return Facts(
        bindings,
        classes,
        _exceptions(classes, bindings, caught),
        frozenset(name for name in _module_errors(tree) if bindings[name] == 1),
        imports,
        frozenset(_inert_names(tree)),
        modules,
        frozenset(attributes),
        frozenset(read),
        is_simple,
        can_negate,
        any(found.of(kind) for kind in _YIELDING),
        frozenset(_shared(found)),
        _mismatch(found),
    )


def _mismatch(found: Survey) -> int:
    """The dearest of all functions."""
    has_keywords = bool(found.of(ast.keyword))
    dearest = 0
    for one in found.of(ast.arguments):
        names = [*one.posonlyargs, *one.args, *one.kwonlyargs]
        if len(names) > _MANY:
            dearest = max(dearest, costs.CAUGHT_MISMATCH)
        if has_keywords:
            lengths = (min(len(name.arg), _COMPARED_MAX) for name in names)
            cells = sum(length * length for length in lengths)
            if cells > _CELLS_FREE:
                price = cells // costs.MISSPELLED_PER
                dearest = max(dearest, costs.CAUGHT_MISMATCH, price)
    return dearest


def _shared(found: Survey) -> Iterator[str]:
    for node in found.of(ast.Global):
        yield from node.names
    for other in found.of(ast.Nonlocal):
        yield from other.names


def _names(found: Survey) -> tuple[set[str], dict[str, int]]:
    """Names that are read, and how often each name is bound."""
    read: set[str] = set()
    names = [node.arg for node in found.of(ast.arg)]
    names += [node.name for node in found.of(ast.FunctionDef)]
    for name in found.of(ast.Name):
        if name.ctx.__class__ is ast.Load:
            read.add(name.id)
        else:
            names.append(name.id)
    for kind in _OTHER_BINDING:
        for node in found.of(kind):
            names += _bound_by(node)
    return read, dict(Counter(names))


_OTHER_BINDING = (ast.ClassDef, ast.ExceptHandler, ast.Import, ast.ImportFrom)
_BINDING = frozenset({ast.Name, ast.arg, ast.FunctionDef, *_OTHER_BINDING})
_YIELDING = (ast.Yield, ast.YieldFrom)


_MANY = 16  # parameters
_COMPARED_MAX = 40
"""Characters in which two names differ, of those that the interpreter compares."""
_CELLS_FREE = 256
"""Pairs of characters that it compares in less time than its call takes."""
_ADDING = frozenset({"__add__", "__sub__"})

_WITHOUT_OPERATORS = (
    language.INERT_MODULES
    | language.COMPILER_MODULES.keys()
    | language.words("base64 binascii hashlib hmac json math pvm_host struct")
)
"""Modules whose objects, if there are any, neither add nor subtract."""


def _bound_by(node: ast.AST) -> Iterator[str]:  # noqa: C901 - a case for each form
    """Names that this node, without its children, binds."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.ExceptHandler(name=str(name)):
            yield name
        case ast.Import(names=names):
            for alias in names:
                if alias.name not in language.INERT_MODULES:
                    yield alias.asname or alias.name
        case ast.ImportFrom(names=names, module=module):
            if module not in language.INERT_MODULES:
                yield from (alias.asname or alias.name for alias in names)
        case _:
            return


def _class_attributes(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        yield from _bound_by(statement)
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            for name in walk(statement):
                yield from _bound_by(name)


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name not in language.INERT_MODULES:
                    yield alias.asname or alias.name, alias.name


def _names_imported(tree: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom):
            module = statement.module or ""
            if module not in language.INERT_MODULES:
                for alias in statement.names:
                    yield alias.asname or alias.name, (module, alias.name)


def _inert_names(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom):
            if statement.module in language.INERT_MODULES:
                yield from (alias.asname or alias.name for alias in statement.names)
        elif isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name in language.INERT_MODULES:
                    yield alias.asname or alias.name


def _is_exception(imported: tuple[str, str], find: Find) -> bool:
    module, name = imported
    names = find(module)
    return names is not None and name in names.exceptions


def _module_errors(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom):
            errors = language.MODULE_ERRORS.get(statement.module or "", frozenset())
            for alias in statement.names:
                if alias.name in errors:
                    yield alias.asname or alias.name


def _exceptions(
    classes: Mapping[str, ast.ClassDef],
    bindings: Mapping[str, int],
    imported: set[str],
) -> frozenset[str]:
    """Imported exceptions, and classes that derive from one, bases first."""
    found = set(imported)
    for name, node in classes.items():
        for base in node.bases:
            if not isinstance(base, ast.Name):
                continue
            is_universal = base.id in language.EXCEPTIONS and base.id not in bindings
            if is_universal or base.id in found:
                found.add(name)
    return frozenset(found)


def ancestors(facts: Facts, node: ast.ClassDef) -> set[str]:
    """Classes that a class derives from, as far as its module tells."""
    found: set[str] = set()
    bases = list(node.bases)
    for base in bases:  # which grows
        name = base.id if isinstance(base, ast.Name) else ast.unparse(base)
        if name not in found:
            found.add(name)
            parent = facts.classes.get(name)
            bases += [] if parent is None or parent is node else parent.bases
    return found


def own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Nodes of a function's body, without those of nested functions and classes.

    A nested function is yielded itself, and its decorators and defaults are walked.
    Depth first: who looks for a call has it soon.
    """
    stack: list[ast.AST] = body[::-1]  # type: ignore[assignment] # they are nodes
    while stack:
        node = stack.pop()
        yield node
        kind = node.__class__
        if kind not in LEAVES:
            stack += _own_children(node) if kind in _SCOPES else children(node)


_SCOPES = frozenset({ast.FunctionDef, ast.Lambda, ast.ClassDef})


def _own_children(node: ast.AST) -> Iterable[ast.AST]:
    return head(node) if isinstance(node, FunctionNode) else ()


_EXITS = (ast.Return, ast.Break, ast.Continue)


def copied_nodes(node: ast.Try) -> int:
    """Nodes that the compiler makes of the `finally` of a `try`, in all its copies."""
    inside: list[ast.stmt] = [*node.body, *node.orelse]
    inside += [statement for handler in node.handlers for statement in handler.body]
    exits = sum(isinstance(part, _EXITS) for part in own_nodes(inside))
    size = 0
    for part in own_nodes(node.finalbody):
        size += 1 + marks(part)
        if isinstance(part, ast.Try) and part.finalbody:
            size += copied_nodes(part)
    return size * (exits + 2)


def is_generator(facts: Facts, node: ast.FunctionDef) -> bool:
    """Whether calling the function makes a generator."""
    return facts.has_generators and any(
        part.__class__ in _YIELDING for part in own_nodes(node.body)
    )


def variables(node: FunctionNode) -> frozenset[str]:
    """Names that a function binds: parameters, and what its own body assigns."""
    body: list[ast.stmt] = (
        node.body if isinstance(node, ast.FunctionDef) else [ast.Expr(node.body)]
    )
    bound = {
        name
        for part in own_nodes(body)
        if part.__class__ in _BINDING
        for name in _bound_by(part)
    }
    return frozenset(bound.union(one.arg for one in parameters(node.args)))


_STEP_BITS = 63


def counters(facts: Facts, node: ast.FunctionDef) -> frozenset[str]:
    """Variables of a function that count: each is a literal, or itself ± a literal.

    A call takes less than 2³⁰ steps, of less than 2⁶³ each: what is in one is an int
    below 2⁹⁴, whose sum with another literal takes no guard.
    """
    counting: list[str] = []
    bound = [one.arg for one in parameters(node.args)]
    for part in own_nodes(node.body):
        kind = part.__class__
        if kind is ast.Name:
            if part.ctx.__class__ is not ast.Load:  # type: ignore[attr-defined]
                bound.append(part.id)  # type: ignore[attr-defined] # a name
        elif kind is ast.Assign or kind is ast.AugAssign:
            counting += _counts(part)
        elif kind in _BINDING:
            bound += _bound_by(part)
    if not counting:
        return frozenset()
    every = Counter(bound)
    return frozenset(
        name
        for name, times in Counter(counting).items()
        if every[name] == times and name not in facts.shared
    )


def _counts(node: ast.AST) -> Iterator[str]:
    """The variable that a statement sets to a literal, or steps by one."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp() as value):
            if is_step(value, {name}):
                yield name
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            if _is_step_literal(value):
                yield name
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub()):
            if _is_step_literal(node.value):
                yield name
        case _:
            return


def is_step(node: ast.BinOp, names: AbstractSet[str]) -> bool:
    """Whether an operation adds a short literal to a name, or subtracts."""
    match node:
        case ast.BinOp(ast.Name(id=name), ast.Add() | ast.Sub(), literal):
            return name in names and _is_step_literal(literal)
        case ast.BinOp(literal, ast.Add() | ast.Sub(), ast.Name(id=name)):
            return name in names and _is_step_literal(literal)
        case _:
            return False


def _is_step_literal(node: ast.expr) -> bool:
    number = literal_int(node)
    return number is not None and number.bit_length() <= _STEP_BITS
