"""Operators: plain where syntax has paid, a helper otherwise.

Where a walrus may not stand the helper is called at once; the result and the price
are the same (sandbox-internals.md, rule 6).
"""

import ast
from collections.abc import Callable, Mapping
from typing import cast

from pvm import costs
from pvm.compiler.facts import is_step
from pvm.compiler.instrument.context import InstrumentContext
from pvm.compiler.instrument.operands import write_operands
from pvm.compiler.syntax import tree
from pvm.compiler.syntax.tree import Here, is_atom
from pvm.errors import CompileError, Refusal

_ARITHMETIC: Mapping[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.BitAnd: "and",
}

_COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "_eq",
    ast.NotEq: "_ne",
    ast.Lt: "_lt",
    ast.LtE: "_le",
    ast.Gt: "_gt",
    ast.GtE: "_ge",
}


def write_unary(context: InstrumentContext, node: ast.UnaryOp) -> ast.expr:
    """`not`, and signs whose result may be a longer int than the operand."""
    here = context.here
    operand = node.operand = context.write(node.operand)
    plain: ast.expr = node
    if node.op.__class__ is ast.Invert:
        # `~True` warns on 3.12, and whoever runs a node may make that an error.
        plain = here.binary(here.constant(-1), ast.Sub(), operand)
    if node.op.__class__ is ast.Not or operand.__class__ is ast.Constant:
        return plain
    return _guard_int(context, plain)


def write_boolean(context: InstrumentContext, node: ast.BoolOp) -> ast.expr:
    """`and`, `or`: Python's own, between guarded operands."""
    node.values = context.write_all(node.values)
    return node


def write_conditional(context: InstrumentContext, node: ast.IfExp) -> ast.expr:
    """`a if test else b`: Python's own, between guarded operands."""
    node.test = context.write(node.test)
    node.body, node.orelse = context.write(node.body), context.write(node.orelse)
    return node


def write_walrus(context: InstrumentContext, node: ast.NamedExpr) -> ast.expr:
    """`(name := value)`."""
    node.value = context.write(node.value)
    return node


def write_binary(context: InstrumentContext, node: ast.BinOp) -> ast.expr:
    """An operation: as it is where the result is surely short, else guarded."""
    kind = node.op.__class__
    if _is_small(node) or is_step(node, context.scope.counters):
        return node
    if _is_step(node) and (kind is ast.Add or context.facts.can_negate):
        return _guard_int(
            context, _write_step(context, node), is_int=context.facts.can_negate
        )
    inline = _INLINE.get(kind)
    if inline is None or not context.inlines():
        name = "_" + _ARITHMETIC[kind]
        return context.here.call(
            name, context.write(node.left), context.write(node.right)
        )
    return inline(context, node)


def _guard_int(
    context: InstrumentContext, plain: ast.expr, *, is_int: bool = False
) -> ast.expr:
    """An operation between rewritten operands that gives an int as a rule.

    With `is_int` it gives one or fails.
    """
    here = context.here
    if not context.inlines():
        return here.call("_added", plain)
    result = context.temporary()
    bound = here.bind(result, plain)
    test: ast.expr = here.is_short_int(bound)
    if not is_int:
        test = here.conjunction(
            here.has_class(bound, "_int"),
            here.is_short_int(here.load(result)),
        )
    return here.either(
        test,
        here.load(result),
        here.call("_added", here.load(result)),
    )


def _write_step(context: InstrumentContext, node: ast.BinOp) -> ast.BinOp:
    """`x - literal` adds: a view of a dict would subtract, unpaid."""
    here = context.here
    if node.op.__class__ is ast.Add:
        left, right = context.write(node.left), context.write(node.right)
        return here.binary(left, node.op, right)
    step = here.constant(-cast("int", tree.literal_int(node.right)))
    return here.binary(context.write(node.left), tree.ADD, step)


def _add_inline(context: InstrumentContext, node: ast.BinOp) -> ast.expr:
    """`a + b`, of ints and short texts in place."""
    here = context.here
    is_text_left = isinstance(node.left, ast.Constant) and isinstance(
        node.left.value, str
    )
    node.left, node.right = context.write(node.left), context.write(node.right)
    name = context.temporary()
    bound = here.bind(name, node)
    if is_text_left:
        test: ast.expr = here.has_short_length(bound)
    else:
        is_int = here.has_class(bound, "_int")
        is_text = here.conjunction(
            here.has_class(here.load(name), "_str"),
            here.has_short_length(here.load(name)),
        )
        short = here.conjunction(is_int, here.is_short_int(here.load(name)))
        test = here.disjunction(short, is_text)
    return here.either(test, here.load(name), here.call("_added", here.load(name)))


def _subtract_inline(context: InstrumentContext, node: ast.BinOp) -> ast.expr:
    """`a - b`, of ints in place."""
    here = context.here
    left, right, left_again, right_again = write_operands(
        context, node.left, node.right
    )
    name = context.temporary()
    difference = here.bind(name, here.binary(left_again, node.op, right_again))
    test = here.conjunction(_are_ints(here, left, right), here.is_short_int(difference))
    helper = here.call("_sub", left_again, right_again)
    return here.either(test, here.load(name), helper)


def _multiply_inline(context: InstrumentContext, node: ast.BinOp) -> ast.expr:
    """`a * b` of names and literals, of ints in place."""
    here = context.here
    sides = (node.left, node.right)
    if not all(isinstance(side, ast.Name) or _is_int(side) for side in sides):
        return here.call("_mul", context.write(node.left), context.write(node.right))
    left, right = context.write(node.left), context.write(node.right)
    name = context.temporary()
    product = here.bind(name, here.binary(left, node.op, right))
    tests = [
        here.has_class(side, "_int")
        for side in (left, right)
        if not isinstance(side, ast.Constant)
    ]
    test = here.conjunction(*tests, here.is_short_int(product))
    return here.either(test, here.load(name), here.call("_mul", left, right))


def _divide_inline(context: InstrumentContext, node: ast.BinOp) -> ast.expr:
    """`a // b` and `a % b`, of short ints in place.

    Of a short and a long one the rest may be long: it is what is missing to the
    long one where their signs differ.
    """
    here = context.here
    name = "_" + _ARITHMETIC[type(node.op)]
    left, right, left_again, right_again = write_operands(
        context, node.left, node.right
    )
    if not is_atom(right):
        return here.call(name, left, right)  # bound operands would be read too early
    tests = [here.has_class(left, "_int"), here.is_short_int(left_again)]
    if not _is_short_int(right):
        tests += [here.has_class(right, "_int"), here.is_short_int(right)]
    test = here.conjunction(*tests)
    plain = here.binary(left_again, node.op, right)
    helper = here.call(name, left_again, right_again)
    return here.either(test, plain, helper)


def _combine_bits_inline(context: InstrumentContext, node: ast.BinOp) -> ast.expr:
    """`| ^ &`, of ints in place."""
    here = context.here
    name = "_" + _ARITHMETIC[type(node.op)]
    left, right, left_again, right_again = write_operands(
        context, node.left, node.right
    )
    if not (is_atom(left) and is_atom(right)):
        return here.call(name, left, right)
    result = context.temporary()
    plain = here.bind(result, here.binary(left_again, node.op, right_again))
    test = here.conjunction(here.has_class(left, "_int"), here.is_short_int(plain))
    return here.either(test, here.load(result), here.call(name, left, right))


_INLINE: Mapping[
    type[ast.operator], Callable[[InstrumentContext, ast.BinOp], ast.expr]
] = {
    ast.Add: _add_inline,
    ast.Sub: _subtract_inline,
    ast.Mult: _multiply_inline,
    ast.FloorDiv: _divide_inline,
    ast.Mod: _divide_inline,
    ast.BitOr: _combine_bits_inline,
    ast.BitXor: _combine_bits_inline,
    ast.BitAnd: _combine_bits_inline,
}
"""Operators that have a form in place; the others call their helper."""


def write_comparison(context: InstrumentContext, node: ast.Compare) -> ast.expr:
    """A comparison, or a chain: what stands between two operators is bound."""
    if len(node.ops) == 1:
        return _compare_two(context, node.left, node.ops[0], node.comparators[0])
    here = context.here
    parts: list[ast.expr] = []
    left = node.left
    for operator, comparator in zip(node.ops, node.comparators, strict=True):
        right = following = comparator
        if not is_atom(right) and right is not node.comparators[-1]:
            if not context.scope.allows_walrus:
                raise _refused_chain(node)
            name = context.temporary()
            right, following = here.bind(name, right), here.load(name)
        parts.append(_compare_two(context, left, operator, right))
        left = following
    return here.conjunction(*parts)


def _compare_two(
    context: InstrumentContext, left: ast.expr, operator: ast.cmpop, right: ast.expr
) -> ast.expr:
    here = context.here
    if isinstance(operator, ast.Is | ast.IsNot):
        return here.compare(context.write(left), operator, context.write(right))
    if isinstance(operator, ast.In | ast.NotIn):
        return _write_membership(context, left, operator, right)
    if tree.is_short_scalar(left) or tree.is_short_scalar(right):
        return here.compare(context.write(left), operator, context.write(right))
    name = _COMPARISONS[type(operator)]
    if not context.inlines():
        return here.call(name, context.write(left), context.write(right))
    first, second, first_again, second_again = write_operands(context, left, right)
    test = _are_ints(here, first, second)
    plain = here.compare(first_again, operator, second_again)
    helper = here.call(name, first_again, second_again)
    return here.either(test, plain, helper)


def _write_membership(
    context: InstrumentContext, left: ast.expr, operator: ast.cmpop, right: ast.expr
) -> ast.expr:
    here = context.here
    if _is_literal_display(right):
        return here.compare(context.write(left), operator, right)
    found = _write_in(context, left, right)
    if isinstance(operator, ast.NotIn):
        return here.negation(found)
    return found


def _write_in(context: InstrumentContext, left: ast.expr, right: ast.expr) -> ast.expr:
    """`left in right`: native in a dict, but for a tuple."""
    here = context.here
    if not context.inlines():
        return here.call("_in", context.write(left), context.write(right))
    first, second, first_again, second_again = write_operands(context, left, right)
    no_tuple = here.has_other_class(first, "_tuple")
    if not (is_atom(first) and is_atom(second)):
        return here.call("_in", first, second)
    test = here.conjunction(no_tuple, here.has_class(second, "_dict"))
    plain = here.compare(first_again, tree.IN, second_again)
    return here.either(test, plain, here.call("_in", first, second))


def _are_ints(here: Here, left: ast.expr, right: ast.expr) -> ast.expr:
    """A test that evaluates both operands, in order, and is true of two ints.

    Between atoms the left one decides: nothing of an actor's runs for an int there.
    """
    if is_atom(left) and is_atom(right):
        return here.has_class(left, "_int")
    one, other = (here.attribute(side, "__class__") for side in (left, right))
    operators: list[ast.cmpop] = [tree.IS, tree.IS]
    both: list[ast.expr] = [other, here.load("_int")]
    return here.put(ast.Compare(one, operators, both))


def _refused_chain(node: ast.Compare) -> CompileError:
    return CompileError(
        (
            Refusal(
                node.lineno,
                node.col_offset,
                "a chained comparison stands where nothing can be bound",
                "two comparisons joined by `and`",
            ),
        )
    )


def _is_int(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and tree.literal_int(node) is not None


def _is_short_int(node: ast.expr) -> bool:
    number = tree.literal_int(node)
    return number is not None and number.bit_length() <= costs.INT_FREE_BITS


def _is_literal_display(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple | ast.List) and all(
        tree.is_short_scalar(element) for element in node.elts
    )


def _is_step(node: ast.BinOp) -> bool:
    """`x ± literal`, which gives no text that would have to be paid for."""
    if not isinstance(node.op, ast.Add | ast.Sub):
        return False
    sides = [node.right] if isinstance(node.op, ast.Sub) else [node.left, node.right]
    return any(tree.literal_int(side) is not None for side in sides)


def _is_small(node: ast.BinOp) -> bool:
    """Whether both operands are literals and the result is surely short."""
    left = tree.literal_int(node.left)
    right = None if left is None else tree.literal_int(node.right)
    if left is None or right is None:
        return False
    if isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        return left.bit_length() + right.bit_length() <= costs.INT_FREE_BITS
    if isinstance(node.op, ast.Pow):
        return right >= 0 and left.bit_length() * right <= costs.INT_FREE_BITS
    if isinstance(node.op, ast.LShift):
        return right >= 0 and left.bit_length() + right <= costs.INT_FREE_BITS
    return False
