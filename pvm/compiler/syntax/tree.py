"""Short words for building syntax trees; nothing here decides anything.

Inserted names begin with one underscore, which no actor's name can after the gate.
"""

import ast
from collections.abc import Sequence
from typing import TypeVar

from pvm import costs

TEMPORARY = "_t"
"""Prefix of values bound inside one expression."""


LOAD = ast.Load()
STORE = ast.Store()
ADD, SUBTRACT = ast.Add(), ast.Sub()
AND, OR, NOT = ast.And(), ast.Or(), ast.Not()
IN, IS, IS_NOT, LESS = ast.In(), ast.Is(), ast.IsNot(), ast.Lt()
IDENTITIES = frozenset({ast.Is, ast.IsNot})

_Node = TypeVar("_Node", bound=ast.expr | ast.stmt | ast.arg | ast.ExceptHandler)


class Here:
    """Makes nodes that stand at one place.

    What only reads a variable is made once for a place: nothing changes it later. The
    kinds that are made most are put in place without a call.
    """

    __slots__ = ("_loads", "column", "line")

    def __init__(self, line: int, column: int) -> None:
        self.line = line
        self.column = column
        self._loads: dict[str, ast.Name] = {}

    def put(self, node: _Node) -> _Node:
        """A new node, put here."""
        node.lineno = self.line
        node.col_offset = self.column
        return node

    def load(self, name: str) -> ast.Name:
        """Read a variable."""
        found = self._loads.get(name)
        if found is None:
            found = self._loads[name] = ast.Name(name, LOAD)
            found.lineno = self.line
            found.col_offset = self.column
        return found

    def store(self, name: str) -> ast.Name:
        """Write a variable."""
        node = ast.Name(name, STORE)
        node.lineno, node.col_offset = self.line, self.column
        return node

    def call(self, name: str, *arguments: ast.expr) -> ast.Call:
        """Call a helper."""
        node = ast.Call(self.load(name), list(arguments), [])
        node.lineno, node.col_offset = self.line, self.column
        return node

    def constant(self, value: str | int | None) -> ast.Constant:
        """A literal."""
        node = ast.Constant(value)
        node.lineno, node.col_offset = self.line, self.column
        return node

    def assign(self, name: str, value: ast.expr) -> ast.Assign:
        """`name = value`."""
        return self.put(ast.Assign([self.store(name)], value))

    def bind(self, name: str, value: ast.expr) -> ast.NamedExpr:
        """`(name := value)`."""
        node = ast.NamedExpr(self.store(name), value)
        node.lineno, node.col_offset = self.line, self.column
        return node

    def attribute(self, value: ast.expr, name: str) -> ast.Attribute:
        """`value.name`."""
        node = ast.Attribute(value, name, LOAD)
        node.lineno, node.col_offset = self.line, self.column
        return node

    def binary(
        self, left: ast.expr, operator: ast.operator, right: ast.expr
    ) -> ast.BinOp:
        """`left operator right`."""
        return self.put(ast.BinOp(left, operator, right))

    def compare(
        self, left: ast.expr, operator: ast.cmpop, right: ast.expr
    ) -> ast.Compare:
        """`left operator right`."""
        node = ast.Compare(left, [operator], [right])
        node.lineno, node.col_offset = self.line, self.column
        return node

    def has_class(self, value: ast.expr, name: str) -> ast.Compare:
        """`value.__class__ is name`."""
        return self.compare(self.attribute(value, "__class__"), IS, self.load(name))

    def has_other_class(self, value: ast.expr, name: str) -> ast.Compare:
        """`value.__class__ is not name`."""
        kind = self.attribute(value, "__class__")
        return self.compare(kind, IS_NOT, self.load(name))

    def is_short_int(self, value: ast.expr, bits: int = 256) -> ast.Compare:
        """`value.bit_length() < 257`: what syntax alone has paid for."""
        length = self.put(ast.Call(self.attribute(value, "bit_length"), [], []))
        return self.compare(length, LESS, self.constant(bits + 1))

    def has_short_length(
        self, value: ast.expr, length: int = costs.TEXT_FREE
    ) -> ast.Compare:
        """`len(value) < 65`: of a text, what syntax alone has paid for."""
        return self.compare(self.call("_len", value), LESS, self.constant(length + 1))

    def conjunction(self, *values: ast.expr) -> ast.expr:
        """`a and b and …`."""
        return values[0] if len(values) == 1 else self.put(ast.BoolOp(AND, [*values]))

    def disjunction(self, *values: ast.expr) -> ast.expr:
        """`a or b or …`."""
        return values[0] if len(values) == 1 else self.put(ast.BoolOp(OR, [*values]))

    def negation(self, value: ast.expr) -> ast.UnaryOp:
        """`not value`."""
        return self.put(ast.UnaryOp(NOT, value))

    def either(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> ast.IfExp:
        """`body if test else orelse`."""
        return self.put(ast.IfExp(test, body, orelse))

    def when(self, test: ast.expr, *body: ast.stmt) -> ast.If:
        """`if test: body`."""
        return self.put(ast.If(test, [*body], []))

    def do(self, value: ast.expr) -> ast.Expr:
        """A statement that is an expression."""
        return self.put(ast.Expr(value))

    def nothing(self) -> ast.Pass:
        """`pass`, for a block without statements."""
        return self.put(ast.Pass())

    def parameters(self, names: Sequence[str] = ()) -> ast.arguments:
        """Plain positional parameters."""
        every = [self.put(ast.arg(name)) for name in names]
        return ast.arguments([], every, None, [], [], None, [])


_HAS_TYPE_PARAMS = "type_params" in ast.FunctionDef._fields  # from 3.12 on


def function(
    name: str,
    arguments: ast.arguments,
    body: Sequence[ast.stmt],
    decorators: Sequence[ast.expr] = (),
) -> ast.FunctionDef:
    """`def name(arguments): body`."""
    node = ast.FunctionDef(name, arguments, list(body), list(decorators))
    if _HAS_TYPE_PARAMS:
        vars(node)["type_params"] = []
    return node


def class_(
    name: str, bases: Sequence[ast.expr], body: Sequence[ast.stmt]
) -> ast.ClassDef:
    """`class name(bases): body`."""
    node = ast.ClassDef(name, list(bases), [], list(body), [])
    if _HAS_TYPE_PARAMS:
        vars(node)["type_params"] = []
    return node


def is_atom(node: ast.expr) -> bool:
    """Whether evaluating `node` again gives the same, runs nothing and costs nothing.

    True of literals and names; between two evaluations nothing else may run.
    """
    return node.__class__ in _ATOMS


_ATOMS = frozenset({ast.Constant, ast.Name})


def literal_int(node: ast.expr) -> int | None:
    """The value of an integer literal, which may have a sign, else None."""
    if isinstance(node, ast.Constant):
        return node.value if node.value.__class__ is int else None
    if not isinstance(node, ast.UnaryOp) or node.op.__class__ is not ast.USub:
        return None
    operand = node.operand
    is_int = isinstance(operand, ast.Constant) and isinstance(operand.value, int)
    return -operand.value if is_int else None  # type: ignore[attr-defined]


def is_short_scalar(node: ast.expr) -> bool:
    """A literal with which comparing costs no more than its syntax."""
    if not isinstance(node, ast.Constant):
        return literal_int(node) is not None
    value: object = node.value
    return not isinstance(value, str | bytes) or len(value) <= costs.TEXT_FREE


def literal_format(node: ast.expr) -> str | None:
    """The text of a format specification if it is a literal, else None."""
    if not isinstance(node, ast.JoinedStr):
        return None
    parts = [
        part.value
        for part in node.values
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    return "".join(parts) if len(parts) == len(node.values) else None


def is_super(node: ast.expr) -> bool:
    """Whether a node is a call of `super`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "super"
    )
