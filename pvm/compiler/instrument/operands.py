"""Values that a guard reads twice: once to test, once to use."""

import ast

from pvm.compiler.instrument.context import InstrumentContext
from pvm.compiler.syntax.tree import Here, is_atom


def bind_to_name(context: InstrumentContext, value: ast.expr) -> tuple[ast.expr, str]:
    """An expression that leaves its value in a variable, and that variable."""
    if isinstance(value, ast.Name):
        return value, value.id
    name = context.temporary()
    return context.here.bind(name, value), name


def write_twice(
    context: InstrumentContext, node: ast.expr
) -> tuple[ast.expr, ast.expr]:
    """An expression for the first use of a value and one for the next."""
    return use_twice(context, context.write(node))


def use_twice(context: InstrumentContext, value: ast.expr) -> tuple[ast.expr, ast.expr]:
    """As `write_twice`, of what is written already."""
    if is_atom(value):
        return value, value
    name = context.temporary()
    return context.here.bind(name, value), context.here.load(name)


def write_operands(
    context: InstrumentContext, left: ast.expr, right: ast.expr
) -> tuple[ast.expr, ast.expr, ast.expr, ast.expr]:
    """Both operands for a first use, and atoms for the next."""
    here = context.here
    first, second = context.write(left), context.write(right)
    if is_atom(second) and is_atom(first):
        return first, second, first, second
    if not isinstance(first, ast.Constant):
        first = here.bind(context.temporary(), first)
    if not is_atom(second):
        second = here.bind(context.temporary(), second)
    return first, second, _read_again(here, first), _read_again(here, second)


def _read_again(here: Here, node: ast.expr) -> ast.expr:
    """What reads again what `node`, an atom or a walrus, has left."""
    return here.load(node.target.id) if isinstance(node, ast.NamedExpr) else node
