"""RestrictedPython as a gate: every check of it stays, none of its rewriting.

RestrictedPython's guards at run time are replaced by static rules and by helpers that
also charge (sandbox.md §2, with measurements); what it refuses is refused. Three things
are admitted beyond it: `nonlocal`, the dunder methods of the language, and a class
without RestrictedPython's metaclass.
"""

import ast
import re
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, TypeVar

from RestrictedPython.transformer import RestrictingNodeTransformer
from typing_extensions import override

from pvm import language
from pvm.errors import CompileError, Refusal
from pvm.walking import walk

if TYPE_CHECKING:
    from RestrictedPython._types import T_pos_ast

_Node = TypeVar("_Node", bound=ast.AST)
_LINE = re.compile(r"Line (\d+): (.*)", re.DOTALL)


def restrict(tree: ast.Module) -> ast.Module:
    """The tree unchanged; raises `CompileError` for what RestrictedPython refuses."""
    transformer = ActorTransformer()
    passed: set[tuple[object, ...]] = set()
    for node in walk(tree):
        what = _what_is_checked(node)
        if what not in passed:
            is_admitted = transformer.check(node)
            if is_admitted and what is not None:
                passed.add(what)
        if node.__class__ in _OPERATIONS:
            operators = getattr(node, "ops", None) or [getattr(node, "op", node)]
            for operator in operators:
                what = (operator.__class__,)
                if what not in passed and transformer.check(operator):
                    passed.add(what)
    if transformer.errors:
        raise CompileError(tuple(map(_refusal, transformer.errors)))
    return tree


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


def _what_is_checked(node: ast.AST) -> tuple[object, ...] | None:
    """What the verdict on a node depends on, None if on more than this says.

    Whoever is refused is refused again at its next place: each has its own line.
    """
    kind = node.__class__
    if isinstance(node, ast.Name):
        return kind, node.id, node.ctx.__class__
    if isinstance(node, ast.Attribute):
        return kind, node.attr, node.ctx.__class__
    if isinstance(node, ast.Call):
        return kind, node.func.id if isinstance(node.func, ast.Name) else None
    return (kind,) if kind in _UNCONDITIONAL else None


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
        before = [(field, _copied(value)) for field, value in ast.iter_fields(node)]
        if isinstance(node, ast.Attribute | ast.Subscript):
            node.value = _LEAF  # not checked; what is written around it is walked
        if not hasattr(node, "lineno"):
            ast.copy_location(node, _LEAF)  # desugaring wrote it: nothing to refuse
        self.visit(node)
        for field, value in before:
            setattr(node, field, value)
        return len(self.errors) == refused

    @override
    def node_contents_visit(self, node: _Node) -> _Node:
        """Leave the children alone: each is checked by itself, without recursion."""
        return node

    @override
    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        """Admitted: names are checked as everywhere."""
        for name in node.names:
            self.check_name(node, name)
        return node

    @override
    def check_name(
        self,
        node: "T_pos_ast",
        name: str | None,
        allow_magic_methods: bool = False,
    ) -> None:
        """Admit the dunder methods of the language, in classes only."""
        is_dunder = allow_magic_methods and name in language.DUNDER_METHODS
        if is_dunder and node.col_offset != 0:
            return
        super().check_name(node, name, allow_magic_methods)


def _copied(value: object) -> object:
    return list(value) if isinstance(value, list) else value
