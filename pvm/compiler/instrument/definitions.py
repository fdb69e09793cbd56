"""Functions, generators, lambdas and classes: entry is paid, depth is counted.

A leaf counts no depth. A generator's function pays for the generator and returns it;
the generator counts on each resume, and while suspended leaves the depth as it was.
"""

import ast

from pvm import costs, language
from pvm.compiler.analysis import leaf_functions
from pvm.compiler.facts import counters, is_generator
from pvm.compiler.instrument.blocks import ENTRY_DEPTH, amounts, charge, enter
from pvm.compiler.instrument.context import InstrumentContext, Scope
from pvm.compiler.instrument.expressions import load_class
from pvm.compiler.pricing import FREE, price
from pvm.compiler.syntax import tree
from pvm.compiler.syntax.locations import flatten
from pvm.compiler.syntax.tree import Here
from pvm.compiler.syntax.visitor import blocks_of, parameters


def write_function_def(
    context: InstrumentContext, node: ast.FunctionDef
) -> list[ast.stmt]:
    """A function statement: its head runs here, its body pays on each call."""
    return [_write_function(context, node, FREE)]


def _write_function(
    context: InstrumentContext, node: ast.FunctionDef, more: int
) -> ast.FunctionDef:
    decorators = [_write_decorator(context, one) for one in node.decorator_list]
    write_defaults(context, node.args)
    outer = context.scope, context.used, context.caught
    context.used, context.caught = set(), []
    if is_generator(context.facts, node):
        body = _write_generator_body(context, node)
    else:
        body = _write_body(context, node, more)
    context.scope, context.used, context.caught = outer
    node.body, node.decorator_list = body, decorators
    node.end_lineno, node.end_col_offset = node.lineno, node.col_offset
    return node


def _write_decorator(context: InstrumentContext, node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Attribute) and node.attr == "setter":
        return node
    name = node.id if isinstance(node, ast.Name) else ""
    if name in language.DECORATORS and context.facts.is_universal(name):
        return context.here.load(f"_{name}")  # no actor can say that
    return context.write_without_walrus(node)


def _write_body(
    context: InstrumentContext, node: ast.FunctionDef, more: int
) -> list[ast.stmt]:
    here = context.here
    is_counted = not leaf_functions.is_leaf(context.facts, node)
    context.scope = Scope(
        is_hot=context.is_called(node.name),
        has_depth=is_counted,
        subject=_first_parameter(node),
        counters=counters(context.facts, node),
    )
    paid = context.pricing.block(node.body) + more + context.pricing.entry(node)
    if not is_counted:
        body = charge(context, paid, node.body) + context.write_statements(node.body)
        return _declare_cells(context, body)
    head = enter(context, paid, node.body)
    body = context.write_statements(node.body) or [here.nothing()]
    restore = here.assign("_depth", here.load(ENTRY_DEPTH))
    return _declare_cells(context, [*head, _restoring(here, body, restore)])


def _restoring(here: Here, body: list[ast.stmt], restore: ast.stmt) -> ast.Try:
    return here.put(ast.Try(body, [], [], [restore]))


def _write_generator_body(
    context: InstrumentContext, node: ast.FunctionDef
) -> list[ast.stmt]:
    """Pay for the generator, then make it: `_generator(…)` has the body."""
    here = context.here
    context.scope = Scope(
        is_hot=context.is_called(node.name),
        has_depth=True,
        counters=counters(context.facts, node),
    )
    paid = context.pricing.block(node.body) + costs.RESUME
    making = context.pricing.generator(node)  # before its names are more
    head = enter(context, paid, node.body)
    body = context.write_statements(node.body)
    depth = here.load(ENTRY_DEPTH)
    restore = here.when(
        here.compare(depth, tree.IS_NOT, here.constant(None)),
        here.assign("_depth", depth),
    )
    inner_body = _declare_cells(context, [*head, _restoring(here, body, restore)])
    names = [one.arg for one in parameters(node.args)]
    inner = here.put(tree.function("_generator", here.parameters(names), inner_body))
    context.used = set()
    made = here.call("_generator", *map(here.load, names))
    paid_body = [*charge(context, making), inner, here.put(ast.Return(made))]
    return _declare_cells(context, paid_body)


def write_yield(context: InstrumentContext, node: ast.Yield) -> list[ast.stmt]:
    """Leave the depth as it was found while suspended; pay on resuming."""
    here = context.here
    value = here.constant(None) if node.value is None else context.write(node.value)
    name = context.temporary()
    context.used.update(("_cycles", "_depth"))
    return [
        here.assign(name, value),
        here.assign("_depth", here.load(ENTRY_DEPTH)),
        here.assign(ENTRY_DEPTH, here.constant(None)),
        here.do(here.put(ast.Yield(here.load(name)))),
        *enter(context, costs.RESUME),
    ]


def _declare_cells(context: InstrumentContext, body: list[ast.stmt]) -> list[ast.stmt]:
    cells = sorted(context.used)
    return [context.here.put(ast.Nonlocal(cells)), *body] if cells else body


def write_lambda(context: InstrumentContext, node: ast.Lambda) -> ast.expr:
    """A helper takes the price and the depth, and gives the depth back."""
    here = context.here
    write_defaults(context, node.args)
    cost = context.pricing.expression(node.body) + context.pricing.entry(node)
    is_leaf = leaf_functions.is_leaf(context.facts, node)
    outer = context.scope
    context.scope = Scope(allows_walrus=outer.allows_walrus)
    body = context.write(node.body)
    context.scope = outer
    paid = amounts(here, cost)
    if is_leaf:
        body = here.disjunction(here.call("_pay", *paid), body)
    else:
        body = here.call("_leave", here.call("_enter", *paid), body)
    node.body = body
    return node


def write_defaults(context: InstrumentContext, node: ast.arguments) -> None:
    """Rewrite the defaults of parameters."""
    node.defaults = [context.write_without_walrus(one) for one in node.defaults]
    node.kw_defaults = [
        None if one is None else context.write_without_walrus(one)
        for one in node.kw_defaults
    ]


def write_class_def(context: InstrumentContext, node: ast.ClassDef) -> list[ast.stmt]:
    """Methods are functions; an `__init__` pays for the whole instance."""
    pays = any(
        isinstance(part, ast.FunctionDef) and part.name == "__init__"
        for part in node.body
    )
    instance = _instance_bytes(node) if pays else 0
    allowed, context.scope.allows_walrus = context.scope.allows_walrus, False
    body: list[ast.stmt] = []
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            context.pricing.prepaid_subject = _first_parameter(part) if pays else None
            more = price(0, instance) if part.name == "__init__" else FREE
            flatten(part)
            before, context.here = context.here, Here(part.lineno, part.col_offset)
            with context.place(part):
                body.append(_write_function(context, part, more))
            context.here = before
            context.pricing.prepaid_subject = None
        else:
            body += context.write_statement(part)
    context.scope.allows_walrus = allowed
    bases = [load_class(context, base) or context.write(base) for base in node.bases]
    class_ = tree.class_(node.name, bases, body or [context.here.nothing()])
    return [context.here.put(class_)]


def _instance_bytes(node: ast.ClassDef) -> int:
    """What an instance takes, with every attribute that its class writes."""
    attributes: set[str] = set()
    targets = _targets(node)
    for target in targets:  # which grows
        match target:
            case ast.Attribute(attr=name):
                attributes.add(name)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                targets += elements
            case ast.Starred(value=value):
                targets.append(value)
            case _:
                pass
    return costs.INSTANCE_BYTES + costs.ATTRIBUTE_BYTES * len(attributes)


def _targets(node: ast.ClassDef) -> list[ast.expr]:
    """What statements in a class assign to, at any depth: expressions bind names."""
    found: list[ast.expr] = []
    statements = list(node.body)
    for statement in statements:  # which grows
        match statement:
            case ast.Assign(targets=targets):
                found += targets
            case ast.For(target=target):
                found.append(target)
            case ast.With(items=items):
                found += [one.optional_vars for one in items if one.optional_vars]
            case _:
                pass
        for block in blocks_of(statement):
            statements += block
    return found


def _first_parameter(node: ast.FunctionDef) -> str | None:
    every = node.args.posonlyargs or node.args.args
    return every[0].arg if every else None
