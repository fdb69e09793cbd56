"""`try` and `with`: halts pass, depth is restored, exceptions are made readable."""

import ast
from collections.abc import Sequence
from typing import cast

from pvm import costs, language
from pvm.compiler import probes
from pvm.compiler.instrument.assignments import write_target
from pvm.compiler.instrument.blocks import charge, restore_depth, write_block
from pvm.compiler.instrument.context import InstrumentContext
from pvm.compiler.instrument.expressions import load_class
from pvm.compiler.syntax import tree
from pvm.compiler.syntax.tree import Here
from pvm.compiler.syntax.visitor import walk

_OTHER_EXCEPTIONS = language.EXCEPTIONS - {"Exception", "TypeError"}
_FATAL = ("_RecursionError", "_MemoryError", "_HostMemoryExhausted")


def write_try(context: InstrumentContext, node: ast.Try) -> list[ast.stmt]:
    """Handlers and `finally` run halted after the interpreter's own limits."""
    here = context.here
    body = context.write_statements(node.body) or [here.nothing()]
    handlers = [_write_handler(context, handler) for handler in node.handlers]
    orelse = write_block(context, node.orelse) if node.orelse else []
    if handlers:
        handlers.insert(0, _fatal_handler(here))
        body = [here.put(ast.Try(body, handlers, orelse, []))]
    if not node.finalbody:
        return body
    final = restore_depth(context, write_block(context, node.finalbody, costs.FINALLY))
    return [_write_finally(here, body, final)]


def _write_handler(
    context: InstrumentContext, node: ast.ExceptHandler
) -> ast.ExceptHandler:
    here = context.here
    assert node.type is not None, "the policy refuses a bare except"
    is_again = any(
        isinstance(part, ast.Raise) and part.exc is None for part in walk(*node.body)
    )
    name = node.name
    pays = context.facts.mismatch and _catches_mismatches(context, node.type)
    if name is None and (is_again or pays):
        name = context.fresh("_x")
    price = context.pricing.block(node.body) + costs.HANDLER
    head = restore_depth(context, charge(context, price, node.body))
    held = ""
    if name is not None:
        head.append(_let_read(context, name))
    if is_again:
        held = context.fresh("_h")
        head.append(here.assign(held, here.load(cast("str", name))))
    context.caught.append(held)
    body = context.write_statements(node.body)
    context.caught.pop()
    caught = _write_caught_classes(context, node.type)
    node.type, node.name = probes.write_tested(here, node, caught), name
    node.body = head + body
    return here.put(node)


def _catches_mismatches(context: InstrumentContext, node: ast.expr) -> bool:
    """Whether the handler may meet a `TypeError`."""
    kinds = node.elts if isinstance(node, ast.Tuple) else [node]
    return not all(
        isinstance(kind, ast.Name)
        and kind.id in _OTHER_EXCEPTIONS
        and context.facts.is_universal(kind.id)
        for kind in kinds
    )


def _let_read(context: InstrumentContext, error: str) -> ast.stmt:
    """Make an exception readable, and pay for what the interpreter made of it."""
    here = context.here
    operands: list[ast.expr] = [here.load(error)]
    if context.facts.mismatch > costs.CAUGHT_MISMATCH:
        operands.append(here.constant(context.facts.mismatch))
    return here.assign(error, here.call("_caught", *operands))


def _write_caught_classes(context: InstrumentContext, node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Tuple):
        names = [_write_caught_classes(context, element) for element in node.elts]
        return context.here.put(ast.Tuple(names, tree.LOAD))
    error = context.facts.module_error(node)
    if error:  # what the module has under this name is no class
        return context.here.load(f"_{error}")
    return load_class(context, node) or context.write(node)


def write_with(context: InstrumentContext, node: ast.With) -> list[ast.stmt]:
    """`with`: each manager is a `try` of its own, inside of that of the one before."""
    return _write_with_items(context, node.items, node.body)


def _write_with_items(
    context: InstrumentContext, items: Sequence[ast.withitem], body: Sequence[ast.stmt]
) -> list[ast.stmt]:
    """`__exit__` sees our values: no traceback, and is called once."""
    if not items:
        return context.write_statements(body)
    here, item = context.here, items[0]
    manager, entered = context.fresh("_w"), context.fresh("_w")
    pending, error = context.fresh("_w"), context.fresh("_x")
    head = [
        here.assign(manager, context.write(item.context_expr)),
        here.assign(entered, here.call("_enter_context", here.load(manager))),
        here.assign(pending, here.constant(True)),  # noqa: FBT003 - of the tree
    ]
    inner: list[ast.stmt] = []
    if item.optional_vars is not None:
        target = write_target(context, item.optional_vars)
        inner.append(here.put(ast.Assign([target], here.load(entered))))
    inner += _write_with_items(context, items[1:], body)
    left = here.call("_exit_context", here.load(manager), here.load(error))
    again = ast.Raise(here.call("_again", here.load(error)))
    handled = [
        *restore_depth(context, charge(context, costs.HANDLER)),
        here.assign(pending, here.constant(False)),  # noqa: FBT003 - of the tree
        _let_read(context, error),
        here.when(here.negation(left), here.put(again)),
    ]
    handler = ast.ExceptHandler(here.load("_Exception"), error, handled)
    handlers = [_fatal_handler(here), here.put(handler)]
    protected = ast.Try(inner or [here.nothing()], handlers, [], [])
    ended = here.call("_exit_context", here.load(manager), here.constant(None))
    final = [
        *restore_depth(context, charge(context, costs.FINALLY)),
        here.when(here.load(pending), here.do(ended)),
    ]
    return [*head, _write_finally(here, [here.put(protected)], final)]


def _write_finally(here: Here, body: list[ast.stmt], final: list[ast.stmt]) -> ast.stmt:
    """What runs in any case runs halted after the interpreter's own limits."""
    return here.put(ast.Try(body, [_fatal_handler(here)], [], final))


def _fatal_handler(here: Here) -> ast.ExceptHandler:
    """The interpreter's own limits must never decide (sandbox-internals.md §5)."""
    names: list[ast.expr] = [here.load(name) for name in _FATAL]
    classes = here.put(ast.Tuple(names, tree.LOAD))
    fatal = here.do(here.call("_fatal"))
    return here.put(ast.ExceptHandler(classes, None, [fatal]))
