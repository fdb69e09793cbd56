"""Assignments, deletions, and what both may be of."""

import ast
from collections.abc import Mapping
from typing import cast

from pvm.compiler.facts import is_step
from pvm.compiler.instrument.context import InstrumentContext
from pvm.compiler.instrument.definitions import write_yield
from pvm.compiler.instrument.expressions import (
    is_short_key,
    write_bounds,
    write_subject,
)
from pvm.compiler.instrument.operands import bind_to_name, write_twice
from pvm.compiler.syntax import tree
from pvm.compiler.syntax.tree import Here
from pvm.language import KEY_LENGTH_MAX

_IN_PLACE: Mapping[type[ast.operator], str] = {
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.BitAnd: "and",
    ast.Sub: "sub",
}


def write_assignment(context: InstrumentContext, node: ast.Assign) -> list[ast.stmt]:
    """A slice, or a target that unpacks, goes to a helper; a name is bound as it is."""
    here = context.here
    if isinstance(node.value, ast.Yield):
        resumed = write_yield(context, node.value)
        node.targets = [write_target(context, one) for one in node.targets]
        node.value = here.constant(None)
        return [*resumed, node]
    first = node.targets[0]
    if len(node.targets) == 1 and isinstance(first, ast.Name):
        node.value = context.write(node.value)
        return [node]
    if (
        len(node.targets) == 1
        and isinstance(first, ast.Subscript)
        and isinstance(first.slice, ast.Slice)
    ):
        return [here.do(_write_set_slice(context, first, node.value))]
    value = context.write(node.value)
    if any(_has_star(target) for target in node.targets):
        value = here.call("_star", value)
    node.targets = [write_target(context, one) for one in node.targets]
    node.value = value
    return [node]


def _has_star(target: ast.expr) -> bool:
    return isinstance(target, ast.Tuple | ast.List) and any(
        isinstance(element, ast.Starred) for element in target.elts
    )


def _write_set_slice(
    context: InstrumentContext, target: ast.Subscript, value: ast.expr
) -> ast.expr:
    bounds = write_bounds(context, cast("ast.Slice", target.slice))
    written = context.write(value)
    return context.here.call(
        "_set_slice", written, context.write(target.value), *bounds
    )


def write_target(context: InstrumentContext, node: ast.expr) -> ast.expr:
    """The instrumented form of an expression that is assigned to."""
    match node:
        case ast.Name():
            return node
        case ast.Starred(value=value):
            node.value = write_target(context, value)
            return node
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            targets = [write_target(context, element) for element in elements]
            return context.here.put(ast.Tuple(targets, tree.STORE))
        case ast.Attribute(value=value):
            node.value = write_subject(context, value)
            return node
        case ast.Subscript():
            return _write_subscript_target(context, node)
        case _:
            raise AssertionError(f"{type(node).__name__} is no target")


def _write_subscript_target(
    context: InstrumentContext, node: ast.Subscript
) -> ast.expr:
    here = context.here
    assert not isinstance(node.slice, ast.Slice), "the policy refuses it"
    if is_short_key(node.slice):
        node.value = write_subject(context, node.value)
        return node
    container, name = bind_to_name(context, write_subject(context, node.value))
    if not context.inlines():
        key: ast.expr = here.call(
            "_new_key", here.load(name), context.write(node.slice)
        )
        node.value, node.slice = container, key
        return node
    first, second = write_twice(context, node.slice)
    test = here.conjunction(
        here.has_class(first, "_str"),
        here.has_short_length(second, KEY_LENGTH_MAX),
    )
    key = here.either(test, second, here.call("_new_key", here.load(name), second))
    node.value, node.slice = container, key
    return node


def write_augmented_assignment(
    context: InstrumentContext, node: ast.AugAssign
) -> list[ast.stmt]:
    """`x += v` on a name; a list is changed in place."""
    here = context.here
    target = cast("ast.Name", node.target)
    name = target.id
    step = here.binary(here.load(name), node.op, node.value)
    if is_step(step, context.scope.counters):
        return [here.assign(name, step)]
    value = context.write(node.value)
    before: list[ast.stmt] = []
    left: ast.expr = here.load(name)
    if not tree.is_atom(value):
        held, result = context.temporary(), context.temporary()
        before = [here.assign(held, left), here.assign(result, value)]
        left, value = here.load(held), here.load(result)
    if isinstance(node.op, ast.BitOr | ast.BitXor | ast.BitAnd | ast.Sub):
        changed = _write_in_place(here, left, node.op, value)
        return [*before, here.assign(name, changed)]
    if not isinstance(node.op, ast.Add | ast.Mult):
        number = node.value if isinstance(node.value, ast.Constant) else value
        operation = here.binary(left, node.op, number)
        return [*before, here.assign(name, context.write(operation))]
    helper = "_iadd" if isinstance(node.op, ast.Add) else "_imul"
    in_place: ast.expr = here.call(helper, left, value)
    if isinstance(node.op, ast.Add) and context.inlines():
        total = here.bind(context.temporary(), here.binary(left, node.op, value))
        test = here.conjunction(here.has_class(left, "_int"), here.is_short_int(total))
        in_place = here.either(test, here.load(total.target.id), in_place)
    return [*before, here.assign(name, in_place)]


def _write_in_place(
    here: Here, left: ast.expr, operator: ast.operator, right: ast.expr
) -> ast.expr:
    """An operation between atoms that changes a set where it is."""
    name = here.constant(_IN_PLACE[type(operator)])
    helper = here.call("_in_place", name, left, right)
    if not isinstance(operator, ast.Sub):
        return helper
    result = tree.TEMPORARY + "0"
    plain = here.binary(left, operator, right)
    test = here.conjunction(
        here.has_class(left, "_int"),
        here.is_short_int(here.bind(result, plain)),
    )
    return here.either(test, here.load(result), helper)


def write_delete(context: InstrumentContext, node: ast.Delete) -> list[ast.stmt]:
    """Items and slices are deleted by helpers, names and attributes as they are."""
    return [
        statement
        for one in node.targets
        for statement in _write_delete_one(context, one)
    ]


def _write_delete_one(context: InstrumentContext, node: ast.expr) -> list[ast.stmt]:
    here = context.here
    match node:
        case ast.Name():
            return [_delete_target(here, node)]
        case ast.Attribute(value=value):
            node.value = context.write(value)
            return [_delete_target(here, node)]
        case ast.Subscript(value=value, slice=ast.Slice() as bounds):
            parts = [context.write(value), *write_bounds(context, bounds)]
            return [here.do(here.call("_delete_slice", *parts))]
        case ast.Subscript(value=value, slice=key):
            pair = context.write(value), context.write(key)
            return [here.do(here.call("_delete", *pair))]
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return [
                one for part in elements for one in _write_delete_one(context, part)
            ]
        case _:
            raise AssertionError(f"{type(node).__name__} cannot be deleted")


def _delete_target(here: Here, node: ast.expr) -> ast.stmt:
    return here.put(ast.Delete([node]))
