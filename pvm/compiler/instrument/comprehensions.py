"""Comprehensions: each source is paid for all its rounds before the first."""

import ast
from collections.abc import Sequence

from pvm import costs
from pvm.compiler.instrument.assignments import write_target
from pvm.compiler.instrument.blocks import amounts
from pvm.compiler.instrument.context import InstrumentContext
from pvm.compiler.pricing import price
from pvm.compiler.syntax import tree


def write_list_comprehension(
    context: InstrumentContext, node: ast.ListComp
) -> ast.expr:
    """The list is made natively: its sources have paid for all rounds."""
    elements = [node.elt]
    generators = _write_generators(context, node.generators, elements)
    (element,) = _write_elements(context, elements)
    node.elt, node.generators = element, generators
    return node


def write_dict_comprehension(
    context: InstrumentContext, node: ast.DictComp
) -> ast.expr:
    """The pairs are made natively, a helper makes the dict of them."""
    here = context.here
    elements = [node.key, node.value]
    generators = _write_generators(
        context, node.generators, elements, costs.MAPPING_BYTES_PER_ITEM
    )
    pair = here.put(ast.Tuple(_write_elements(context, elements), tree.LOAD))
    pairs = here.put(ast.ListComp(pair, generators))
    return here.call("_dict_of", pairs)


def _write_elements(
    context: InstrumentContext, nodes: Sequence[ast.expr]
) -> list[ast.expr]:
    """Expressions inside a comprehension: their temporaries are their own."""
    scope = context.scope
    before, scope.prefix = scope.prefix, "_c"
    outside = scope.enter_loop()
    result = context.write_all(nodes)
    scope.is_hot, scope.in_loop = outside
    scope.prefix = before
    return result


def _write_generators(
    context: InstrumentContext,
    nodes: Sequence[ast.comprehension],
    elements: Sequence[ast.expr],
    bytes_per_item: int = costs.ITERATED_BYTES_PER_ITEM,
) -> list[ast.comprehension]:
    """The `for` clauses, each source snapshot and paid for all its rounds."""
    here = context.here
    result: list[ast.comprehension] = []
    for index, node in enumerate(nodes):
        cost = costs.COMPREHENSION_ROUND + sum(map(context.pricing.test, node.ifs))
        cost += context.pricing.expression(node.target)
        if index + 1 < len(nodes):
            cost += context.pricing.expression(nodes[index + 1].iter)
            cost += costs.COMPREHENSION_INNER_ROUND
        else:
            cost += context.pricing.expressions(elements) + price(0, bytes_per_item)
        source = context.write_without_walrus(node.iter)
        result.append(
            ast.comprehension(
                write_target(context, node.target),
                here.call("_pre", source, *amounts(here, cost)),
                _write_elements(context, node.ifs),
                0,
            )
        )
    return result
