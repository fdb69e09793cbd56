"""Prices of syntax: what a block of straight-line source costs, in cycles and bytes.

A pure function of the desugared tree (sandbox.md, rule 2), linear in its size: what an
`if` costs is asked by its block and again when it is instrumented, and is remembered.
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from pvm import costs, language, syntax
from pvm.facts import Facts
from pvm.walking import children, handled


class Price(NamedTuple):
    """What is charged when a block is entered."""

    cycles: int
    bytes: int

    def plus(self, other: "Price") -> "Price":
        """The sum of two prices."""
        return Price(self.cycles + other.cycles, self.bytes + other.bytes)

    def dearer(self, other: "Price") -> "Price":
        """The dearer of two alternatives, each unit by itself."""
        return Price(max(self.cycles, other.cycles), max(self.bytes, other.bytes))


FREE = Price(0, 0)
_FREE = frozenset({ast.Name, ast.Constant})


_Pricer = Callable[..., Price]  # type: ignore[explicit-any] # by kind of node


class Pricing:
    """Prices of one module's nodes, each computed once."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._ifs: dict[int, tuple[Price, Price]] = {}
        self._prices: dict[type[ast.AST], _Pricer] = {
            kind: getattr(self, name) for kind, name in handled(self, "_price_")
        }
        self.prepaid_subject: str | None = None
        """First parameter of a method whose class pays for its attributes."""

    def expression(self, node: ast.AST | None) -> Price:
        """What evaluating costs, without what nested functions do."""
        if node is None or node.__class__ in _FREE:
            return FREE
        special = self._prices.get(node.__class__)
        if special is not None:
            return special(node)
        return self._sum(_own(self.facts, node), children(node))

    def _sum(self, own: Price, nodes: Iterable[ast.AST | None]) -> Price:
        cycles, bytes_ = own
        for node in nodes:
            if node.__class__ not in _FREE:
                price = self.expression(node)
                cycles += price.cycles
                bytes_ += price.bytes
        return Price(cycles, bytes_)

    def expressions(self, nodes: Iterable[ast.AST | None]) -> Price:
        """The sum over several nodes."""
        return self._sum(FREE, nodes)

    def block(self, body: Iterable[ast.stmt]) -> Price:
        """What entering a block costs, without the blocks nested in it."""
        cycles = bytes_ = 0
        for statement in body:
            price = self.statement(statement)
            cycles += price.cycles
            bytes_ += price.bytes
        return Price(cycles, bytes_)

    def statement(self, node: ast.stmt) -> Price:
        """The share of one statement in the price of its block."""
        special = self._prices.get(node.__class__)
        if special is not None:
            return special(node)
        price = Price(costs.STATEMENT, 0)
        if isinstance(node, ast.Assign | ast.Delete):
            price = Price(costs.STATEMENT * len(node.targets), 0)
        if isinstance(node, ast.Raise | ast.Assert):
            # The exception pays for its memory when it is raised.
            bytes_ = costs.EXCEPTION_BYTES if self.makes_exception(node) else 0
            price = Price(costs.RAISE, -bytes_)
        return self._sum(price, children(node))

    def makes_exception(self, node: ast.stmt) -> bool:
        """Whether a statement is `raise Error(…)` of the universe."""
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name))):
                return name in language.EXCEPTIONS and self.facts.is_universal(name)
            case _:
                return False

    def arms(self, node: ast.If) -> tuple[Price, Price]:
        """Prices of the two arms of an `if`."""
        found = self._ifs.get(id(node))
        if found is None:
            found = self.block(node.body), self.block(node.orelse)
            self._ifs[id(node)] = found
        return found

    def is_lumped(self, node: ast.If) -> bool:
        """Whether the arms of an `if` are paid by the block it stands in."""
        body, orelse = self.arms(node)
        return abs(body.cycles - orelse.cycles) <= costs.IF_LUMPED_MAX

    def attribute_store(self, node: ast.Attribute) -> Price:
        """An attribute that its class did not pay for when the instance was made."""
        subject = node.value
        is_prepaid = (
            isinstance(subject, ast.Name) and subject.id == self.prepaid_subject
        )
        return Price(costs.ATTRIBUTE, 0 if is_prepaid else costs.ATTRIBUTE_BYTES)

    # ---- expressions with a rule of their own

    def _price_attribute(self, node: ast.Attribute) -> Price:
        own = Price(costs.ATTRIBUTE, 0)
        if isinstance(node.ctx, ast.Store):
            own = self.attribute_store(node)
        return own.plus(self.expression(node.value))

    def _price_lambda(self, node: ast.Lambda) -> Price:
        own = Price(costs.DEFINITION, costs.FUNCTION_BYTES)
        return own.plus(self._defaults(node.args))

    def _defaults(self, node: ast.arguments) -> Price:
        return self.expressions([*node.defaults, *node.kw_defaults])

    def _price_listcomp(self, node: ast.ListComp | ast.DictComp) -> Price:
        own = Price(costs.COMPREHENSION, costs.COMPREHENSION_BYTES)
        return own.plus(self.expression(node.generators[0].iter))

    _price_dictcomp = _price_listcomp

    def _price_ifexp(self, node: ast.IfExp) -> Price:
        sides = self.expression(node.body).dearer(self.expression(node.orelse))
        return Price(costs.CONDITIONAL, 0).plus(self.expression(node.test)).plus(sides)

    def _price_tuple(self, node: ast.Tuple) -> Price:
        is_constant = all(isinstance(element, ast.Constant) for element in node.elts)
        if not isinstance(node.ctx, ast.Load):
            return Price(len(node.elts), 0).plus(self.expressions(node.elts))
        if is_constant:
            return FREE
        return _display(len(node.elts)).plus(self.expressions(node.elts))

    # ---- statements with a rule of their own

    def _price_if(self, node: ast.If) -> Price:
        price = Price(costs.CONDITIONAL, 0).plus(self.expression(node.test))
        body, orelse = self.arms(node)
        return price.plus(body.dearer(orelse)) if self.is_lumped(node) else price

    def _price_for(self, node: ast.For) -> Price:
        return Price(costs.FOR, 0).plus(self.expression(node.iter))

    def _price_while(self, node: ast.While) -> Price:
        return Price(costs.WHILE_ROUND, 0).plus(self.expression(node.test))

    def _price_try(self, node: ast.Try) -> Price:
        return Price(costs.TRY, 0).plus(self.block(node.body))

    def _price_with(self, node: ast.With) -> Price:
        price = self.block(node.body)
        for item in node.items:
            price = price.plus(Price(costs.WITH, 0))
            price = price.plus(self.expression(item.context_expr))
            price = price.plus(self.expression(item.optional_vars))
        return price

    def _price_functiondef(self, node: ast.FunctionDef) -> Price:
        own = Price(
            costs.DEFINITION + costs.CALL * len(node.decorator_list),
            costs.FUNCTION_BYTES,
        )
        decorators = self.expressions(node.decorator_list)
        return own.plus(decorators).plus(self._defaults(node.args))

    def _price_classdef(self, node: ast.ClassDef) -> Price:
        return Price(costs.CLASS, 0).plus(self.block(node.body))

    def _price_expr(self, node: ast.Expr) -> Price:
        if isinstance(node.value, ast.Constant):
            return FREE
        return Price(costs.STATEMENT, 0).plus(self.expression(node.value))

    def _price_pass(self, _node: ast.stmt) -> Price:
        return FREE

    _price_global = _price_pass
    _price_nonlocal = _price_pass
    _price_import = _price_pass
    _price_importfrom = _price_pass


def _display(items: int) -> Price:
    return Price(
        costs.SEQUENCE_DISPLAY + items,
        costs.SEQUENCE_DISPLAY_BYTES + costs.SEQUENCE_DISPLAY_BYTES_PER_ITEM * items,
    )


def _own(  # noqa: C901, PLR0911, PLR0912 - a line for each kind of node
    facts: Facts, node: ast.AST
) -> Price:
    """What a node costs beside its children."""
    match node:
        case ast.BinOp(op=operator):
            name = type(operator).__name__
            return Price(costs.OPERATOR_OF.get(name, costs.OPERATOR), 0)
        case ast.UnaryOp():
            return Price(costs.OPERATOR, 0)
        case ast.Compare():
            return Price(_compared(node), 0)
        case ast.BoolOp(values=values):
            return Price(costs.OPERATOR * (len(values) - 1), 0)
        case ast.Subscript(ctx=ast.Store()):
            return Price(costs.SUBSCRIPT, costs.STORE_BYTES)
        case ast.Subscript():
            return Price(costs.SUBSCRIPT, 0)
        case ast.List(elts=elements, ctx=ast.Load()):
            return _display(len(elements))
        case ast.List(elts=elements):
            return Price(len(elements), 0)
        case ast.Call():
            return _call(facts, node).plus(_passed(node))
        case ast.Dict(keys=keys):
            return Price(
                costs.DICT_DISPLAY + costs.DICT_DISPLAY_PER_ITEM * len(keys),
                costs.DICT_DISPLAY_BYTES
                + costs.DICT_DISPLAY_BYTES_PER_ITEM * len(keys),
            )
        case ast.JoinedStr(values=parts):
            cycles = costs.F_STRING + sum(map(_part_cycles, parts))
            return Price(cycles, _text_bytes(parts))
        case ast.Yield():
            return Price(costs.YIELD, 0)
        case _:
            return FREE


def _compared(node: ast.Compare) -> int:
    """Cycles of a chain of comparisons; those with a short literal are plain."""
    cycles = 0
    left = node.left
    for operator, side in zip(node.ops, node.comparators, strict=True):
        is_plain = isinstance(operator, ast.Is | ast.IsNot) or (
            syntax.is_short_scalar(left) or syntax.is_short_scalar(side)
        )
        cycles += costs.OPERATOR if is_plain else costs.COMPARISON
        cycles += _searched(operator, side)
        left = side
    return cycles


def _searched(operator: ast.cmpop, side: ast.expr) -> int:
    """Items of a literal display in which something is searched."""
    is_search = isinstance(operator, ast.In | ast.NotIn)
    return len(side.elts) if is_search and isinstance(side, ast.Tuple) else 0


def _passed(node: ast.Call) -> Price:
    """Arguments beyond the usual few: a callee may keep them all."""
    positional = max(0, len(node.args) - costs.ARGUMENTS_FREE)
    named = max(0, len(node.keywords) - costs.KEYWORDS_FREE)
    bytes_ = costs.SEQUENCE_DISPLAY_BYTES_PER_ITEM * positional
    bytes_ += costs.DICT_DISPLAY_BYTES_PER_ITEM * named
    return Price(positional + named, bytes_)


def _part_cycles(part: ast.expr) -> int:
    if isinstance(part, ast.Constant) and isinstance(part.value, str):
        return len(part.value)
    if isinstance(part, ast.FormattedValue) and (
        part.format_spec is not None or part.conversion > 0
    ):
        return costs.F_STRING_PER_FIELD + costs.F_STRING_PER_FORM
    return costs.F_STRING_PER_FIELD


def _text_bytes(parts: Sequence[ast.expr]) -> int:
    """Memory of an f-string that may be longer than what is free.

    A field of a short text has not paid for it; a longer one has, for itself.
    """
    texts = [part for part in parts if isinstance(part, ast.Constant)]
    length = sum(map(_part_cycles, texts))
    length += costs.TEXT_FREE * (len(parts) - len(texts))
    return costs.TEXT_BYTES + length if length > costs.TEXT_FREE else 0


_STORING_METHODS = frozenset({"append", "add", "insert", "setdefault"})


def _call(facts: Facts, node: ast.Call) -> Price:
    match node.func:
        case ast.Name(id=name) if facts.is_universal(name):
            usual = costs.HELPER_CALL if name in language.FUNCTIONS else costs.CALL
            cycles = costs.CALL_OF_BUILTIN.get(name, usual)
            return Price(cycles, _call_bytes(name))
        case ast.Attribute(attr="pop") if node.args:
            return Price(costs.HELPER_CALL, 0)
        case ast.Attribute(attr=name):
            is_native = name in language.METHOD_NAMES
            usual = costs.HELPER_CALL if is_native else costs.CALL
            cycles = costs.CALL_OF_METHOD.get(name, usual)
            return Price(cycles, costs.STORE_BYTES if name in _STORING_METHODS else 0)
        case _:
            return Price(costs.CALL, 0)


def _call_bytes(name: str) -> int:
    if name in {"str", "repr"}:
        return costs.STR_CALL_BYTES
    return costs.EXCEPTION_BYTES if name in language.EXCEPTIONS else 0
