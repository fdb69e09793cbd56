"""RestrictedPython as a gate: every check of it stays, none of its rewriting.

RestrictedPython's guards at run time are replaced by static rules and by helpers that
also charge (sandbox-internals.md §2, with measurements); what it refuses is refused.
Four things are admitted beyond it: `nonlocal`, the dunder methods of the language, a
class without RestrictedPython's metaclass, and reading `breakpoint`, ours by D59.

Of builtins RestrictedPython knows nothing: it leaves them to the namespace that code
runs in. So names are looked at once more here, in the tree that will run and without
the facts by which the policy admitted them: `check_names`.
"""

import ast
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, TypeVar, cast

from RestrictedPython.transformer import RestrictingNodeTransformer
from typing_extensions import override

from pvm import language
from pvm.compiler.parser import check_written
from pvm.compiler.syntax.tree import is_super
from pvm.compiler.syntax.visitor import Survey, survey, walk
from pvm.errors import CompileError, Refusal

if TYPE_CHECKING:
    from RestrictedPython._types import T_pos_ast

_Node = TypeVar("_Node", bound=ast.AST)
_LINE = re.compile(r"Line (\d+): (.*)", re.DOTALL)


def restrict(tree: ast.Module, found: Survey | None = None) -> None:
    """Refuse what is beyond the limits, by RestrictedPython, and names out of place.

    The tree stays as it is. Nodes that are alike for RestrictedPython are checked once;
    in a source of which it refuses something every node is, so that each place is
    named.

    Raises:
        CompileError: with all that the first of the three refuses.
    """
    found = found or survey(tree)
    check_written(tree, found)
    transformer = ActorTransformer()
    samples = (one for kind in found.kinds for one in _samples(kind, found.of(kind)))
    if not all(map(transformer.check, samples)):
        transformer = ActorTransformer()
        for node in walk(tree):
            transformer.check(node)
            for operator in _operators(node):
                transformer.check(operator)
        raise CompileError(tuple(map(_refusal, transformer.errors)))
    check_names(found)


_KNOWN = frozenset[str]().union(
    language.FUNCTIONS,
    language.EXCEPTIONS,
    language.CLASSES_NEVER,
    language.IMPLICIT_MODULES,
    (
        f"hidden_{name}"
        for name in language.words("enter enum iterator leave members missing name set")
    ),
)
"""Builtins that are harmless as values, and the helpers that lowering names."""
_DUNDER = "hidden_dunder_"


def check_names(found: Survey) -> None:
    """Refuse a name that nothing in the tree binds, and a special one out of its form.

    The policy admits a name that the source binds. Had what binds it been dropped, or
    had a call other arguments than it seems, a builtin would be called by what no step
    has looked at. This asks the tree itself, and shares no fact with the policy.

    Raises:
        CompileError: with each such name or attribute.
    """
    bound = _bound(found) | _KNOWN
    formed = {id(one.func) for one in found.of(ast.Call) if _is_formed(one)}
    decorators = (
        part for one in found.of(ast.FunctionDef) for part in one.decorator_list
    )
    formed.update(
        id(one) for one in decorators if getattr(one, "id", "") in language.DECORATORS
    )
    refused = [
        Refusal(node.lineno, node.col_offset, f"nothing binds the name {node.id!r}", "")
        for node in found.of(ast.Name)
        if node.id not in bound and id(node) not in formed
    ]
    refused += [
        Refusal(node.lineno, node.col_offset, f"the attribute {node.attr!r}", "")
        for node in found.of(ast.Attribute)
        if node.attr in language.NEVER_ATTRIBUTES or _is_misplaced_dunder(node)
    ]
    if refused:
        raise CompileError(tuple(refused[: language.REFUSALS_MAX]))


def _bound(found: Survey) -> set[str]:
    """Names that something binds or deletes, in whatever scope."""
    bound = {
        node.id for node in found.of(ast.Name) if node.ctx.__class__ is not ast.Load
    }
    bound.update(node.arg for node in found.of(ast.arg))
    bound.update(node.name for node in found.of(ast.FunctionDef))
    bound.update(node.name for node in found.of(ast.ClassDef))
    bound.update(node.name for node in found.of(ast.ExceptHandler) if node.name)
    bound.update(node.asname or node.name for node in found.of(ast.alias))
    return bound


def _is_formed(node: ast.Call) -> bool:
    """Whether it is a form of the language: `getattr(x, "literal")`, `super()`."""
    if getattr(node.func, "id", "") not in language.SPECIAL_NAMES:
        return False
    match node:
        case ast.Call(ast.Name("super"), [], []):
            return True
        case ast.Call(
            ast.Name("getattr"), [value, ast.Constant(str(name)), *default], []
        ):
            is_spread = any(isinstance(one, ast.Starred) for one in (value, *default))
            return not is_spread and len(default) <= 1 and _is_readable(name)
        case ast.Call(ast.Name("hasattr"), [value, ast.Constant(str(name))], []):
            return not isinstance(value, ast.Starred) and _is_readable(name)
        case _:
            return False


def _is_readable(name: str) -> bool:
    return not name.startswith("__") and name not in language.NEVER_ATTRIBUTES


def _is_misplaced_dunder(node: ast.Attribute) -> bool:
    """Whether what lowering made of a dunder stands where it does not put it."""
    if not node.attr.startswith(_DUNDER) or node.attr == f"{_DUNDER}class":
        return False
    name = f"__{node.attr.removeprefix(_DUNDER)}__"
    return name not in language.DUNDER_METHODS or not is_super(node.value)


def _samples(kind: type[ast.AST], nodes: Sequence[ast.AST]) -> Iterable[ast.AST]:
    """Of nodes of one kind those that differ in what RestrictedPython looks at."""
    if kind is ast.Name:  # there are many
        names = cast("Sequence[ast.Name]", nodes)
        return {(node.id, node.ctx.__class__): node for node in names}.values()
    if kind is ast.Attribute:
        reads = cast("Sequence[ast.Attribute]", nodes)
        return {(node.attr, node.ctx.__class__): node for node in reads}.values()
    if kind is ast.Call:
        calls = cast("Sequence[ast.Call]", nodes)
        return {_callee(node): node for node in calls}.values()
    first = nodes[:1] if kind in _UNCONDITIONAL else nodes
    if kind in _OPERATIONS:
        operators = [one for node in nodes for one in _operators(node)]
        return [*first, *{one.__class__: one for one in operators}.values()]
    return first


def _operators(node: ast.AST) -> Sequence[ast.AST]:
    """Operators of a node, which have no place."""
    if node.__class__ not in _OPERATIONS:
        return ()
    many: Sequence[ast.AST] | None = getattr(node, "ops", None)
    return [getattr(node, "op")] if many is None else many  # noqa: B009 - by kind


_OPERATIONS = frozenset(
    {ast.AugAssign, ast.BinOp, ast.BoolOp, ast.Compare, ast.UnaryOp}
)
_LEAF = ast.Name("leaf", ast.Load(), lineno=1, col_offset=0)


def _names_in(code: CodeType) -> set[str]:
    """Names that a function's code uses, with the functions inside it."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*map(_names_in, inner))


def _refusing() -> frozenset[str]:
    """Methods of RestrictedPython's transformer that can come to `error`.

    Going on below a node is no such way: here every node is checked by itself.
    """
    uses = {
        name: _names_in(function.__code__)
        for name, function in vars(RestrictingNodeTransformer).items()
        if isinstance(function, FunctionType) and name != "node_contents_visit"
    }
    found = {"error", "visit", "generic_visit"}
    while more := {name for name in uses if uses[name] & found} - found:
        found |= more
    return frozenset(found)


_REFUSING = _refusing()
_UNCONDITIONAL = frozenset(
    kind
    for kind in language.NODES
    if f"visit_{kind.__name__}" in vars(RestrictingNodeTransformer)
    and f"visit_{kind.__name__}" not in _REFUSING
)
"""Kinds of which RestrictedPython admits every node."""


def _callee(node: ast.Call) -> str | None:
    return node.func.id if isinstance(node.func, ast.Name) else None


_CHECKED_FIRST = frozenset({ast.Attribute})
"""Kinds that RestrictedPython checks before it goes below a node, and then rewrites."""


class _BelowError(Exception):
    """It does so: the node is checked."""


def _refusal(error: str) -> Refusal:
    found = _LINE.fullmatch(error)
    if found is None:
        return Refusal(1, 0, error, "")
    return Refusal(int(found.group(1)), 0, found.group(2), "")


class ActorTransformer(RestrictingNodeTransformer):
    """Runs the checks of one node at a time and undoes its rewriting."""

    def check(self, node: ast.AST) -> bool:
        """Check one node, then put it back as it was; says if it was admitted."""
        refused = len(self.errors)
        if node.__class__ in _CHECKED_FIRST:
            with suppress(_BelowError):
                self.visit(node)
            return len(self.errors) == refused
        if node.__class__ is ast.Name:  # which it replaces and never changes
            self.visit(node)
            return len(self.errors) == refused
        fields = vars(node)
        before = fields.copy()
        lists = [
            (value, value[:]) for value in before.values() if value.__class__ is list
        ]
        if isinstance(node, ast.Subscript):
            node.value = _LEAF  # not checked; what is written around it is walked
        self.visit(node)
        fields.update(before)
        for value, items in lists:
            value[:] = items
        return len(self.errors) == refused

    @override
    def node_contents_visit(self, node: _Node) -> _Node:
        """Leave the children alone: each is checked by itself, without recursion."""
        if node.__class__ in _CHECKED_FIRST:
            raise _BelowError
        return node

    @override
    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        """Admitted: names are checked as everywhere."""
        for name in node.names:
            self.check_name(node, name)
        return node

    @override
    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Checked as it is there; a class stays without a metaclass."""
        self.check_name(node, node.name)
        if any(keyword.arg == "metaclass" for keyword in node.keywords):
            self.error(node, 'The keyword argument "metaclass" is not allowed.')
        return node

    @override
    def check_name(
        self,
        node: "T_pos_ast",
        name: str | None,
        allow_magic_methods: bool = False,
    ) -> None:
        """Admit the language's dunder methods, in classes only, and `breakpoint`."""
        if name == "breakpoint" and isinstance(getattr(node, "ctx", None), ast.Load):
            return
        is_dunder = allow_magic_methods and name in language.DUNDER_METHODS
        if is_dunder and node.col_offset != 0:
            return
        super().check_name(node, name, allow_magic_methods)
