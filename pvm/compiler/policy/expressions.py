"""Displays, comparisons, operations, f-strings and comprehensions."""

import ast

from msgspec.structs import replace

from pvm import language
from pvm.compiler.policy import values
from pvm.compiler.policy.context import PolicyContext, Position
from pvm.compiler.policy.names import check_class_name, check_items, is_class_of
from pvm.compiler.policy.scopes import check_scopes
from pvm.compiler.syntax import tree
from pvm.compiler.syntax.visitor import walk


def check_display(
    context: PolicyContext, node: ast.Tuple | ast.List | ast.Set, position: Position
) -> None:
    """A tuple, list or set, whose items may be spread."""
    check_items(context, node.elts, position)


def check_starred(
    context: PolicyContext, node: ast.Starred, position: Position
) -> None:
    """A star where nothing is spread."""
    context.refuse(node, "a star stands where nothing is spread", "a list around it")
    context.check(node.value, position)


def check_comparison(
    context: PolicyContext, node: ast.Compare, position: Position
) -> None:
    """A comparison, or a chain; `is` and classes are admitted in some places."""
    sides = [node.left, *node.comparators]
    if len(node.ops) > language.COMPARISONS_MAX:
        reason = f"a chain of more than {language.COMPARISONS_MAX} comparisons"
        context.refuse(node, reason, "two of them joined by `and`")
    has_is = False
    for index, operator in enumerate(node.ops):
        if operator.__class__ not in tree.IDENTITIES:
            continue
        has_is = True
        if not any(_has_identity(context, one) for one in sides[index : index + 2]):
            context.refuse(node, "`is` compares with None, True, False, a class", "==")
    # Once for all sides: a chain may be long.
    is_type_call = any(is_class_of(context, one) for one in sides)
    for side in sides:
        if has_is and context.is_module_error(side):
            context.refuse(
                node, "`is` with an exception of a native module", "isinstance"
            )
        elif has_is or (is_type_call and isinstance(side, ast.Name)):
            check_class_name(context, side, position)
        else:
            context.check(side, position)


def _has_identity(context: PolicyContext, node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=None | True | False):
            return True
        case ast.Name(id=name):
            is_builtin = name in language.EXCEPTIONS or name in language.CLASSES
            return name in context.facts.classes or (
                is_builtin and context.facts.is_universal(name)
            )
        case ast.Call():
            return is_class_of(context, node)
        case ast.Attribute(value=ast.Name(id=name)):
            return context.facts.is_enum(name)
        case _:
            return False


def check_subscript(
    context: PolicyContext, node: ast.Subscript, position: Position
) -> None:
    """An item or a slice."""
    if isinstance(node.ctx, ast.Store) and isinstance(node.slice, ast.Slice):
        reason = "a slice among several targets"
        context.refuse(node, reason, "an assignment of its own")
    check_subscript_parts(context, node, position)


def check_subscript_parts(
    context: PolicyContext, node: ast.Subscript, position: Position
) -> None:
    """What a subscript is made of, which alone may hold a slice."""
    context.check(node.value, position)
    if isinstance(node.slice, ast.Slice):
        context.check_children(node.slice, position)
    else:
        context.check(node.slice, position)


def check_slice(context: PolicyContext, node: ast.Slice, position: Position) -> None:
    """A slice as an item, as in `x[1:2, 3]`: no container takes one."""
    context.refuse(node, "a slice among other items", "x[a:b]")
    context.check_children(node, position)


def check_constant(
    context: PolicyContext, node: ast.Constant, _position: Position
) -> None:
    """A literal."""
    for reason, instead in values.check_constant(node.value):
        context.refuse(node, reason, instead)


def check_binary(context: PolicyContext, node: ast.BinOp, position: Position) -> None:
    """An operation between two values."""
    is_text = isinstance(node.left, ast.JoinedStr) or (
        isinstance(node.left, ast.Constant) and isinstance(node.left.value, str | bytes)
    )
    if isinstance(node.op, ast.Mod) and is_text:
        context.refuse(node, "% on text has unbounded widths", "an f-string")
    context.check(node.left, position)
    context.check_operator(node, node.op)
    context.check(node.right, position)


def check_field_of_f_string(
    context: PolicyContext, node: ast.FormattedValue, position: Position
) -> None:
    """A field of an f-string."""
    for reason, instead in values.check_f_string_field(node):
        context.refuse(node, reason, instead)
    if not isinstance(node.value, ast.Starred):
        context.check(node.value, position)


def check_comprehension_expression(
    context: PolicyContext, node: ast.expr, position: Position
) -> None:
    """A list, set or dict made by a comprehension, or a generator expression."""
    if position.class_body:
        context.refuse(node, "a comprehension stands in a class body", "a method")
    inner = replace(position, in_comprehension=True, scopes=position.scopes + 1)
    check_scopes(context, node, inner)
    context.check_children(node, inner)


def check_generator(
    context: PolicyContext, node: ast.comprehension, position: Position
) -> None:
    """A `for … in … if …` of a comprehension."""
    if node.is_async:
        context.refuse(node.iter, "async is not available")
    check_no_star(context, node.target)
    for part in walk(node.target):
        if isinstance(part, ast.Attribute | ast.Subscript):
            context.refuse(
                part, "a comprehension assigns to something else than a name"
            )
    context.check_children(node, position)


def check_no_star(context: PolicyContext, target: ast.expr) -> None:
    """A target that may not spread."""
    if any(isinstance(part, ast.Starred) for part in walk(target)):
        context.refuse(
            target, "a starred target in another or in `for`", "unpack apart"
        )


def check_walrus(
    context: PolicyContext, node: ast.NamedExpr, position: Position
) -> None:
    """An assignment expression."""
    if position.class_body:
        context.refuse(node, "an assignment expression stands in a class body")
    context.check_children(node, position)


def check_yield(context: PolicyContext, node: ast.expr, position: Position) -> None:
    """A `yield` that is no statement and is assigned to no name."""
    context.refuse(node, "yield stands inside an expression", "yield v, or x = yield v")
    context.check_children(node, position)
