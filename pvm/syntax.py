"""Short words for building syntax trees; nothing here decides anything.

Inserted names begin with one underscore, which no actor's name can after the gate.
"""

import ast
from collections.abc import Callable, Sequence

from pvm import costs

Rewriting = Callable[..., ast.expr]  # type: ignore[explicit-any] # by kind of node
StatementRewriting = Callable[..., list[ast.stmt]]  # type: ignore[explicit-any]

TEMPORARY = "_t"
"""Prefix of values bound inside one expression."""


_LOAD = ast.Load()
_STORE = ast.Store()


def load(name: str) -> ast.Name:
    """Read a variable."""
    return ast.Name(name, _LOAD)


def store(name: str) -> ast.Name:
    """Write a variable."""
    return ast.Name(name, _STORE)


def call(name: str, *arguments: ast.expr) -> ast.Call:
    """Call a helper."""
    return ast.Call(load(name), list(arguments), [])


def constant(value: str | int | None) -> ast.Constant:
    """A literal."""
    return ast.Constant(value)


def assign(name: str, value: ast.expr) -> ast.Assign:
    """`name = value`."""
    return ast.Assign([store(name)], value)


def bind(name: str, value: ast.expr) -> ast.NamedExpr:
    """`(name := value)`."""
    return ast.NamedExpr(store(name), value)


def compare(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> ast.Compare:
    """`left operator right`."""
    return ast.Compare(left, [operator], [right])


def has_class(value: ast.expr, name: str) -> ast.Compare:
    """`value.__class__ is name`."""
    return compare(ast.Attribute(value, "__class__", _LOAD), ast.Is(), load(name))


def is_short_int(value: ast.expr) -> ast.Compare:
    """`value.bit_length() < 257`: what syntax alone has paid for."""
    method = ast.Attribute(value, "bit_length", _LOAD)
    return compare(ast.Call(method, [], []), ast.Lt(), constant(257))


def has_short_length(value: ast.expr) -> ast.Compare:
    """`len(value) < 65`: of a text, what syntax alone has paid for."""
    return compare(call("_len", value), ast.Lt(), constant(costs.TEXT_FREE + 1))


def conjunction(*values: ast.expr) -> ast.expr:
    """`a and b and …`."""
    if len(values) == 1:
        return values[0]
    return ast.BoolOp(ast.And(), list(values))


def either(test: ast.expr, body: ast.expr, orelse: ast.expr) -> ast.IfExp:
    """`body if test else orelse`."""
    return ast.IfExp(test, body, orelse)


def function(
    name: str,
    arguments: ast.arguments,
    body: Sequence[ast.stmt],
    decorators: Sequence[ast.expr] = (),
) -> ast.FunctionDef:
    """`def name(arguments): body`."""
    node = ast.FunctionDef(name, arguments, list(body), list(decorators))
    if "type_params" in ast.FunctionDef._fields:
        vars(node)["type_params"] = []  # 3.12
    return node


def class_(
    name: str, bases: Sequence[ast.expr], body: Sequence[ast.stmt]
) -> ast.ClassDef:
    """`class name(bases): body`."""
    node = ast.ClassDef(name, list(bases), [], list(body), [])
    if "type_params" in ast.ClassDef._fields:
        vars(node)["type_params"] = []  # 3.12
    return node


def parameters(names: Sequence[str] = ()) -> ast.arguments:
    """Plain positional parameters."""
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


def is_atom(node: ast.expr) -> bool:
    """Whether evaluating `node` again gives the same, runs nothing and costs nothing.

    True of literals and names; between two evaluations nothing else may run.
    """
    return node.__class__ in _ATOMS


_ATOMS = frozenset({ast.Constant, ast.Name})


def again(node: ast.expr) -> ast.expr:
    """A second copy of an atom."""
    if isinstance(node, ast.Name):
        return load(node.id)
    assert isinstance(node, ast.Constant)
    return ast.Constant(node.value)


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
