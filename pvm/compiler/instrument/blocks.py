"""Blocks: each begins by paying for itself in full (sandbox-internals.md, rule 1)."""

import ast
from collections.abc import Sequence

from pvm.compiler.block_costs import PAID
from pvm.compiler.instrument.context import InstrumentContext
from pvm.compiler.pricing import FREE, bytes_of, cycles_of
from pvm.compiler.syntax import tree
from pvm.compiler.syntax.tree import Here

ENTRY_DEPTH = "_e"
"""Local of a function that counts depth: the depth it found."""


def write_block(
    context: InstrumentContext, body: Sequence[ast.stmt], more: int = FREE
) -> list[ast.stmt]:
    """A block with its charge; never empty."""
    price = context.pricing.block(body) + more
    paid = charge(context, price, body)
    return paid + context.write_statements(body) or [context.here.nothing()]


def write_round(
    context: InstrumentContext, body: Sequence[ast.stmt], more: int
) -> list[ast.stmt]:
    """The block that each round of a loop enters."""
    before = context.scope.enter_loop()
    result = write_block(context, body, more)
    context.scope.is_hot, context.scope.in_loop = before
    return result


def charge(
    context: InstrumentContext, price: int, body: Sequence[ast.stmt] = ()
) -> list[ast.stmt]:
    """Pay for a block, of which `body` are the statements."""
    here = context.here
    if price == FREE:
        return []
    if context.scope.is_hot:
        paid = _charge_in_place(context, cycles_of(price), bytes_of(price))
    else:
        paid = here.do(here.call("_pay", *amounts(here, price)))
    return [paid, *_note_paid(context, price, body)]


def _charge_in_place(context: InstrumentContext, cycles: int, bytes_: int) -> ast.stmt:
    here = context.here
    tests: list[ast.expr] = []
    if cycles:
        context.used.add("_cycles")
        tests.append(_below_zero(here, "_cycles", cycles))
    if bytes_:
        context.used.add("_memory")
        tests.append(_below_zero(here, "_memory", bytes_))
    halt = here.do(here.call("_halt"))
    return here.when(here.disjunction(*tests), halt)


def _below_zero(here: Here, cell: str, amount: int) -> ast.Compare:
    left = here.binary(here.load(cell), tree.SUBTRACT, here.constant(amount))
    return here.compare(here.bind(cell, left), tree.LESS, here.constant(0))


def _note_paid(
    context: InstrumentContext, price: int, body: Sequence[ast.stmt]
) -> list[ast.stmt]:
    """What says that a block is paid, if a tool asks."""
    if context.block_costs is None:
        return []
    here = context.here
    number = context.block_costs.add(context.pricing, body, price)
    return [here.do(here.call(PAID, here.constant(number)))]


def enter(
    context: InstrumentContext, price: int, body: Sequence[ast.stmt] = ()
) -> list[ast.stmt]:
    """Pay for a block that counts depth, and take one of it (`pvm.depth`)."""
    here = context.here
    context.used.add("_depth")
    if not context.scope.is_hot:
        entered = here.assign(ENTRY_DEPTH, here.call("_enter", *amounts(here, price)))
        return [entered, *_note_paid(context, price, body)]
    targets = [here.store(ENTRY_DEPTH), _one_deeper(here)]
    taken = here.put(ast.Assign(targets, here.load("_depth")))
    return [*charge(context, price, body), taken]


def restore_depth(context: InstrumentContext, body: list[ast.stmt]) -> list[ast.stmt]:
    """After an exception, the depth of this function again.

    A lambda that raised has not given back what it took.
    """
    here = context.here
    if not context.scope.has_depth:
        return body
    context.used.add("_depth")
    if context.scope.is_module:
        return [here.assign("_depth", here.load(ENTRY_DEPTH)), *body]
    taken = ast.Assign([_one_deeper(here)], here.load(ENTRY_DEPTH))
    return [here.put(taken), *body]


def _one_deeper(here: Here) -> ast.List:
    """The target that takes the next link of the chain."""
    return here.put(ast.List([here.store("_depth")], tree.STORE))


def amounts(here: Here, price: int) -> tuple[ast.Constant, ast.Constant]:
    """What a helper is told to charge."""
    constant = here.constant
    return constant(cycles_of(price)), constant(bytes_of(price))
