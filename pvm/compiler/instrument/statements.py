"""Branches, loops, `raise`, imports, and statements of one expression or none."""

import ast

from pvm import costs
from pvm.compiler import probes
from pvm.compiler.instrument.assignments import write_target
from pvm.compiler.instrument.blocks import write_block, write_round
from pvm.compiler.instrument.context import InstrumentContext
from pvm.compiler.instrument.definitions import write_yield
from pvm.compiler.instrument.expressions import load_class
from pvm.compiler.pricing import FREE, price


def write_expression_statement(
    context: InstrumentContext, node: ast.Expr
) -> list[ast.stmt]:
    """A bare literal is dropped but for probes; a `yield` leaves and comes back."""
    if isinstance(node.value, ast.Constant):
        return probes.write(context.here, node.value.value)
    if isinstance(node.value, ast.Yield):
        return write_yield(context, node.value)
    node.value = context.write(node.value)
    return [node]


def write_if(context: InstrumentContext, node: ast.If) -> list[ast.stmt]:
    """Arms that the block around has paid for pay nothing; others are blocks."""
    node.test = context.write(node.test)
    if context.pricing.is_lumped(node):
        body = context.write_statements(node.body) or [context.here.nothing()]
        orelse = context.write_statements(node.orelse)
    else:
        body = write_block(context, node.body)
        orelse = write_block(context, node.orelse) if node.orelse else []
    node.body, node.orelse = body, orelse
    return [node]


def write_while(context: InstrumentContext, node: ast.While) -> list[ast.stmt]:
    """Each round is a block, which has the price of the test."""
    paid = costs.WHILE_ROUND + context.pricing.test(node.test)
    before = context.scope.enter_loop()
    node.test = context.write(node.test)
    context.scope.is_hot, context.scope.in_loop = before
    node.body = write_round(context, node.body, paid)
    node.orelse = write_block(context, node.orelse) if node.orelse else []
    return [node]


def write_for(context: InstrumentContext, node: ast.For) -> list[ast.stmt]:
    """Each round is a block; what is run over is a snapshot that was paid for."""
    round_ = costs.FOR_ROUND + context.pricing.expression(node.target)
    node.iter, more = _write_source(context, node)
    node.target = write_target(context, node.target)
    node.body = write_round(context, node.body, round_ + more)
    node.orelse = write_block(context, node.orelse) if node.orelse else []
    return [node]


def _write_source(context: InstrumentContext, node: ast.For) -> tuple[ast.expr, int]:
    """What a loop runs over; `enumerate`, `zip` and `reversed` stay lazy."""
    match node.iter:
        case ast.Call(
            func=ast.Name(id=("enumerate" | "zip" | "reversed") as name),
            args=arguments,
            keywords=[],
        ) if context.facts.is_universal(name) and not (
            any(isinstance(argument, ast.Starred) for argument in arguments)
            or (name == "enumerate" and len(arguments) > 1)
        ):
            size = len(arguments)
            is_unpacked = isinstance(node.target, ast.Tuple | ast.List)
            held = 0 if is_unpacked or name == "reversed" else 8 * (size + 1)
            bytes_ = held and held + costs.SEQUENCE_BYTES
            source = context.here.call(f"_{name}", *context.write_all(arguments))
            return source, price(size, bytes_)
        case source:
            return context.write(source), FREE


def write_return(context: InstrumentContext, node: ast.Return) -> list[ast.stmt]:
    """`return`, of nothing or of a value."""
    node.value = context.write_optional(node.value)
    return [node]


def write_raise(context: InstrumentContext, node: ast.Raise) -> list[ast.stmt]:
    """What is raised is made, or said again, by a helper."""
    here = context.here
    if node.exc is None:
        caught = here.load(context.caught[-1])
        node.exc = here.call("_again", caught)
        return [node]
    exception = load_class(context, node.exc) or context.write(node.exc)
    arguments = [exception]
    if node.cause is not None:
        arguments.append(context.write(node.cause))
    helper = "_made" if context.pricing.makes_exception(node) else "_said"
    node.exc, node.cause = here.call(helper, *arguments), None
    return [node]


def write_assert(context: InstrumentContext, node: ast.Assert) -> list[ast.stmt]:
    """An `if` that raises: interpreters may leave an assertion out."""
    here = context.here
    message = [] if node.msg is None else [context.write(node.msg)]
    test = here.negation(context.write(node.test))
    failed = ast.Raise(here.call("_failed", *message))
    return [here.when(test, here.put(failed))]


def write_import(context: InstrumentContext, node: ast.Import) -> list[ast.stmt]:
    """A helper hands out each module."""
    here = context.here
    return [
        here.assign(
            alias.asname or alias.name,
            here.call("_import", here.constant(alias.name)),
        )
        for alias in node.names
    ]


def write_import_from(
    context: InstrumentContext, node: ast.ImportFrom
) -> list[ast.stmt]:
    """A helper hands out each name of the module."""
    here = context.here
    return [
        here.assign(
            alias.asname or alias.name,
            here.call(
                "_import_from",
                here.constant(node.module),
                here.constant(alias.name),
            ),
        )
        for alias in node.names
    ]


def write_global(context: InstrumentContext, node: ast.Global) -> list[ast.stmt]:
    """In the module's body, names are global already."""
    return [] if context.scope.is_module else [node]


def write_as_it_is(_context: InstrumentContext, node: ast.stmt) -> list[ast.stmt]:
    """A statement without an expression."""
    return [node]


def write_pass(_context: InstrumentContext, _node: ast.stmt) -> list[ast.stmt]:
    """Nothing: an empty block gets a `pass` again."""
    return []
