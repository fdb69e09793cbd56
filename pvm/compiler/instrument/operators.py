"""Guards of operators: plain where syntax has paid, a helper otherwise.

Where a walrus may not stand the helper is called at once; the result and the price
are the same (sandbox-internals.md, rule 6).
"""

import ast
from collections.abc import Callable, Mapping
from typing import cast

from pvm import costs
from pvm.compiler.facts import is_step
from pvm.compiler.instrument.context import Writer
from pvm.compiler.syntax import tree
from pvm.compiler.syntax.tree import is_atom
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


class Operations(Writer):
    """Arithmetic, comparisons and what decides between expressions."""

    def _write_unaryop(self, node: ast.UnaryOp) -> ast.expr:
        operand = node.operand = self.rewrite(node.operand)
        plain: ast.expr = node
        if node.op.__class__ is ast.Invert:
            # `~True` warns on 3.12, and whoever runs a node may make that an error.
            plain = self.here.binary(self.here.constant(-1), ast.Sub(), operand)
        if node.op.__class__ is ast.Not or operand.__class__ is ast.Constant:
            return plain
        return self._made(plain)

    def _made(self, plain: ast.expr, *, is_int: bool = False) -> ast.expr:
        """An operation between rewritten operands that gives an int as a rule.

        With `is_int` it gives one or fails.
        """
        if not self.inlines():
            return self.here.call("_added", plain)
        result = self.temporary()
        bound = self.here.bind(result, plain)
        test: ast.expr = self.here.is_short_int(bound)
        if not is_int:
            test = self.here.conjunction(
                self.here.has_class(bound, "_int"),
                self.here.is_short_int(self.here.load(result)),
            )
        return self.here.either(
            test,
            self.here.load(result),
            self.here.call("_added", self.here.load(result)),
        )

    def _write_boolop(self, node: ast.BoolOp) -> ast.expr:
        node.values = self.rewrite_all(node.values)
        return node

    def _write_ifexp(self, node: ast.IfExp) -> ast.expr:
        node.test = self.rewrite(node.test)
        node.body, node.orelse = self.rewrite(node.body), self.rewrite(node.orelse)
        return node

    def _write_namedexpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = self.rewrite(node.value)
        return node

    def _write_binop(self, node: ast.BinOp) -> ast.expr:
        kind = node.op.__class__
        if _is_small(node) or is_step(node, self.scope.counters):
            return node
        if _is_step(node) and (kind is ast.Add or self.facts.can_negate):
            return self._made(self._step(node), is_int=self.facts.can_negate)
        inline = _INLINE.get(kind)
        if inline is None or not self.inlines():
            name = "_" + _ARITHMETIC[kind]
            return self.here.call(
                name, self.rewrite(node.left), self.rewrite(node.right)
            )
        return inline(self, node)

    def _step(self, node: ast.BinOp) -> ast.BinOp:
        """`x - literal` adds: a view of a dict would subtract, unpaid."""
        if node.op.__class__ is ast.Add:
            left, right = self.rewrite(node.left), self.rewrite(node.right)
            return self.here.binary(left, node.op, right)
        step = self.here.constant(-cast("int", tree.literal_int(node.right)))
        return self.here.binary(self.rewrite(node.left), tree.ADD, step)

    def inline_add(self, node: ast.BinOp) -> ast.expr:
        """`a + b`, of ints and short texts in place."""
        is_text_left = isinstance(node.left, ast.Constant) and isinstance(
            node.left.value, str
        )
        node.left, node.right = self.rewrite(node.left), self.rewrite(node.right)
        name = self.temporary()
        bound = self.here.bind(name, node)
        if is_text_left:
            test: ast.expr = self.here.has_short_length(bound)
        else:
            is_int = self.here.has_class(bound, "_int")
            is_text = self.here.conjunction(
                self.here.has_class(self.here.load(name), "_str"),
                self.here.has_short_length(self.here.load(name)),
            )
            short = self.here.conjunction(
                is_int, self.here.is_short_int(self.here.load(name))
            )
            test = self.here.disjunction(short, is_text)
        return self.here.either(
            test, self.here.load(name), self.here.call("_added", self.here.load(name))
        )

    def inline_sub(self, node: ast.BinOp) -> ast.expr:
        """`a - b`, of ints in place."""
        left, right, left_again, right_again = self.operands(node.left, node.right)
        name = self.temporary()
        difference = self.here.bind(
            name, self.here.binary(left_again, node.op, right_again)
        )
        test = self.here.conjunction(
            self._are_ints(left, right), self.here.is_short_int(difference)
        )
        helper = self.here.call("_sub", left_again, right_again)
        return self.here.either(test, self.here.load(name), helper)

    def inline_mul(self, node: ast.BinOp) -> ast.expr:
        """`a * b` of names and literals, of ints in place."""
        sides = (node.left, node.right)
        if not all(isinstance(side, ast.Name) or _is_int(side) for side in sides):
            return self.here.call(
                "_mul", self.rewrite(node.left), self.rewrite(node.right)
            )
        left, right = self.rewrite(node.left), self.rewrite(node.right)
        name = self.temporary()
        product = self.here.bind(name, self.here.binary(left, node.op, right))
        tests = [
            self.here.has_class(side, "_int")
            for side in (left, right)
            if not isinstance(side, ast.Constant)
        ]
        test = self.here.conjunction(*tests, self.here.is_short_int(product))
        return self.here.either(
            test, self.here.load(name), self.here.call("_mul", left, right)
        )

    def inline_division(self, node: ast.BinOp) -> ast.expr:
        """`a // b` and `a % b`, of short ints in place.

        Of a short and a long one the rest may be long: it is what is missing to the
        long one where their signs differ.
        """
        name = "_" + _ARITHMETIC[type(node.op)]
        left, right, left_again, right_again = self.operands(node.left, node.right)
        if not is_atom(right):
            return self.here.call(
                name, left, right
            )  # bound operands would be read too early
        tests = [self.here.has_class(left, "_int"), self.here.is_short_int(left_again)]
        if not _is_short_int(right):
            tests += [self.here.has_class(right, "_int"), self.here.is_short_int(right)]
        test = self.here.conjunction(*tests)
        plain = self.here.binary(left_again, node.op, right)
        helper = self.here.call(name, left_again, right_again)
        return self.here.either(test, plain, helper)

    def _write_compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) == 1:
            return self._compare_two(node.left, node.ops[0], node.comparators[0])
        parts: list[ast.expr] = []
        left = node.left
        for operator, comparator in zip(node.ops, node.comparators, strict=True):
            right = following = comparator
            if not is_atom(right) and right is not node.comparators[-1]:
                if not self.scope.allows_walrus:
                    raise _refused_chain(node)
                name = self.temporary()
                right, following = self.here.bind(name, right), self.here.load(name)
            parts.append(self._compare_two(left, operator, right))
            left = following
        return self.here.conjunction(*parts)

    def _compare_two(
        self, left: ast.expr, operator: ast.cmpop, right: ast.expr
    ) -> ast.expr:
        if isinstance(operator, ast.Is | ast.IsNot):
            return self.here.compare(self.rewrite(left), operator, self.rewrite(right))
        if isinstance(operator, ast.In | ast.NotIn):
            return self._membership(left, operator, right)
        if tree.is_short_scalar(left) or tree.is_short_scalar(right):
            return self.here.compare(self.rewrite(left), operator, self.rewrite(right))
        name = _COMPARISONS[type(operator)]
        if not self.inlines():
            return self.here.call(name, self.rewrite(left), self.rewrite(right))
        first, second, first_again, second_again = self.operands(left, right)
        test = self._are_ints(first, second)
        plain = self.here.compare(first_again, operator, second_again)
        helper = self.here.call(name, first_again, second_again)
        return self.here.either(test, plain, helper)

    def _membership(
        self, left: ast.expr, operator: ast.cmpop, right: ast.expr
    ) -> ast.expr:
        if _is_literal_display(right):
            return self.here.compare(self.rewrite(left), operator, right)
        found = self._found(left, right)
        if isinstance(operator, ast.NotIn):
            return self.here.negation(found)
        return found

    def _found(self, left: ast.expr, right: ast.expr) -> ast.expr:
        """`left in right`: native in a dict, but for a tuple."""
        if not self.inlines():
            return self.here.call("_in", self.rewrite(left), self.rewrite(right))
        first, second, first_again, second_again = self.operands(left, right)
        no_tuple = self.is_no_tuple(first)
        if not (is_atom(first) and is_atom(second)):
            return self.here.call("_in", first, second)
        test = self.here.conjunction(no_tuple, self.here.has_class(second, "_dict"))
        plain = self.here.compare(first_again, tree.IN, second_again)
        return self.here.either(test, plain, self.here.call("_in", first, second))

    def is_no_tuple(self, node: ast.expr) -> ast.Compare:
        """A test that a value is no tuple."""
        kind = self.here.attribute(node, "__class__")
        return self.here.compare(kind, tree.IS_NOT, self.here.load("_tuple"))

    def _are_ints(self, left: ast.expr, right: ast.expr) -> ast.expr:
        """A test that evaluates both operands, in order, and is true of two ints.

        Between atoms the left one decides: nothing of an actor's runs for an int there.
        """
        if is_atom(left) and is_atom(right):
            return self.here.has_class(left, "_int")
        one, other = (self.here.attribute(side, "__class__") for side in (left, right))
        operators: list[ast.cmpop] = [tree.IS, tree.IS]
        both: list[ast.expr] = [other, self.here.load("_int")]
        return self.here.put(ast.Compare(one, operators, both))

    def inline_bits(self, node: ast.BinOp) -> ast.expr:
        """`| ^ &`, of ints in place."""
        name = "_" + _ARITHMETIC[type(node.op)]
        left, right, left_again, right_again = self.operands(node.left, node.right)
        if not (is_atom(left) and is_atom(right)):
            return self.here.call(name, left, right)
        result = self.temporary()
        plain = self.here.bind(
            result, self.here.binary(left_again, node.op, right_again)
        )
        test = self.here.conjunction(
            self.here.has_class(left, "_int"), self.here.is_short_int(plain)
        )
        return self.here.either(
            test, self.here.load(result), self.here.call(name, left, right)
        )


_INLINE: Mapping[type[ast.operator], Callable[[Operations, ast.BinOp], ast.expr]] = {
    ast.Add: Operations.inline_add,
    ast.Sub: Operations.inline_sub,
    ast.Mult: Operations.inline_mul,
    ast.FloorDiv: Operations.inline_division,
    ast.Mod: Operations.inline_division,
    ast.BitOr: Operations.inline_bits,
    ast.BitXor: Operations.inline_bits,
    ast.BitAnd: Operations.inline_bits,
}


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
