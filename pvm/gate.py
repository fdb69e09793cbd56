"""RestrictedPython as a gate: every check of it stays, none of its rewriting.

RestrictedPython's guards at run time are replaced by static rules and by helpers that
also charge (sandbox.md §2, with measurements); what it refuses is refused. Three things
are admitted beyond it: `nonlocal`, the dunder methods of the language, and a class
without RestrictedPython's metaclass.
"""

import ast
import re
from typing import TYPE_CHECKING, TypeVar

from RestrictedPython.transformer import RestrictingNodeTransformer
from typing_extensions import override

from pvm import language
from pvm.errors import CompileError, Refusal

if TYPE_CHECKING:
    from RestrictedPython._types import T_pos_ast

_Node = TypeVar("_Node", bound=ast.AST)
_LINE = re.compile(r"Line (\d+): (.*)", re.DOTALL)


def restrict(tree: ast.Module) -> ast.Module:
    """The tree unchanged; raises `CompileError` for what RestrictedPython refuses."""
    transformer = ActorTransformer()
    for node in list(ast.walk(tree)):
        transformer.check(node)
    if transformer.errors:
        raise CompileError(tuple(map(_refusal, transformer.errors)))
    return tree


def _refusal(error: str) -> Refusal:
    found = _LINE.fullmatch(error)
    if found is None:
        return Refusal(1, 0, error, "")
    return Refusal(int(found.group(1)), 0, found.group(2), "")


class ActorTransformer(RestrictingNodeTransformer):
    """Runs the checks of one node at a time and undoes its rewriting."""

    def check(self, node: ast.AST) -> None:
        """Check one node, then put it back as it was."""
        before = [(field, _copied(value)) for field, value in ast.iter_fields(node)]
        self.visit(node)
        for field, value in before:
            setattr(node, field, value)

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
