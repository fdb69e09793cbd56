"""Prices of syntax: what a block of straight-line source costs, in cycles and bytes.

A pure function of the desugared tree (sandbox-internals.md, rule 2), linear in its
size: what an `if` costs is asked by its block and again when it is instrumented, and is
remembered.

A price is one number, cycles and 2^40 for each byte, so that the price of several
things is the sum of theirs.
"""

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence

from pvm import costs, language
from pvm.compiler.facts import Facts, FunctionNode, ancestors, variables
from pvm.compiler.syntax import tree
from pvm.compiler.syntax.visitor import children

_BYTE_BITS = 40

FREE = 0
_FREE = frozenset({ast.Name, ast.Constant})


def price(cycles: int, bytes_: int = 0) -> int:
    """What is charged together when a block is entered."""
    return cycles + (bytes_ << _BYTE_BITS)


def cycles_of(amount: int) -> int:
    """The cycles of a price."""
    return amount & ((1 << _BYTE_BITS) - 1)


def bytes_of(amount: int) -> int:
    """The bytes of a price."""
    return amount >> _BYTE_BITS


def dearer(one: int, other: int) -> int:
    """The dearer of two alternatives, each unit by itself."""
    return price(
        max(cycles_of(one), cycles_of(other)), max(bytes_of(one), bytes_of(other))
    )


_Pricer = Callable[..., int]  # type: ignore[explicit-any] # by kind of node


class Pricing:
    """Prices of one module's nodes, each computed once."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._ifs: dict[int, tuple[int, int]] = {}
        self.prepaid_subject: str | None = None
        """First parameter of a method whose class pays for its attributes."""
        lineages = (len(ancestors(facts, node)) for node in facts.classes.values())
        self.attribute = costs.ATTRIBUTE + max(lineages, default=0) // (
            costs.ATTRIBUTE_ANCESTORS
        )

    def expression(self, node: ast.AST | None) -> int:
        """What evaluating costs, without what nested functions do."""
        return FREE if node is None else _PRICERS[node.__class__](self, node)

    def expressions(self, nodes: Iterable[ast.AST | None]) -> int:
        """The sum over several nodes."""
        total = FREE
        for node in nodes:
            if node.__class__ not in _FREE and node is not None:
                total += _PRICERS[node.__class__](self, node)
        return total

    def test(self, node: ast.expr) -> int:
        """The same, and asking for the truth of it, which of a set takes work."""
        asked = FREE if node.__class__ in _TRUE_OR_FALSE else costs.TRUTH
        return asked + _PRICERS[node.__class__](self, node)

    def block(self, body: Iterable[ast.stmt]) -> int:
        """What entering a block costs, without the blocks nested in it."""
        total = FREE
        for statement in body:
            total += _PRICERS[statement.__class__](self, statement)
        return total

    def statement(self, node: ast.stmt) -> int:
        """The share of one statement in the price of its block."""
        return _PRICERS[node.__class__](self, node)

    def makes_exception(self, node: ast.Raise) -> bool:
        """Whether a statement is `raise Error(…)` of the universe."""
        match node.exc:
            case ast.Call(func=ast.Name(id=name)):
                return name in language.EXCEPTIONS and self.facts.is_universal(name)
            case _:
                return False

    def arms(self, node: ast.If) -> tuple[int, int]:
        """Prices of the two arms of an `if`."""
        found = self._ifs.get(id(node))
        if found is None:
            found = self.block(node.body), self.block(node.orelse)
            self._ifs[id(node)] = found
        return found

    def is_lumped(self, node: ast.If) -> bool:
        """Whether the arms of an `if` are paid by the block it stands in."""
        body, orelse = self.arms(node)
        return abs(cycles_of(body) - cycles_of(orelse)) <= costs.IF_LUMPED_MAX

    def entry(self, node: FunctionNode) -> int:
        """What entering a function costs, beside its block."""
        spread = (node.args.vararg is not None) + (node.args.kwarg is not None)
        return price(costs.FUNCTION_ENTRY, costs.VARIADIC_BYTES * spread)

    def generator(self, node: ast.FunctionDef) -> int:
        """What making a generator costs; it keeps every variable."""
        more = max(0, len(variables(node)) - costs.GENERATOR_PLACES_FREE)
        bytes_ = costs.GENERATOR_BYTES + costs.PLACE_BYTES * more
        cycles = costs.FUNCTION_ENTRY + costs.DEFINITION + costs.CALL
        return price(cycles, bytes_)


def _free(_pricing: Pricing, _node: ast.AST) -> int:
    return FREE


def _price_inside(pricing: Pricing, node: ast.AST) -> int:
    """What has no rule of its own costs what is below it."""
    return pricing.expressions(children(node))


def _price_statement(pricing: Pricing, node: ast.AST) -> int:
    """The same of a statement."""
    return costs.STATEMENT + pricing.expressions(children(node))


# ---- expressions with a rule of their own


def _price_binary(pricing: Pricing, node: ast.BinOp) -> int:
    own = _OPERATOR_OF.get(node.op.__class__, costs.OPERATOR)
    return own + pricing.expressions((node.left, node.right))


def _price_unary(pricing: Pricing, node: ast.UnaryOp) -> int:
    if node.op.__class__ is ast.Not:
        return costs.OPERATOR + pricing.test(node.operand)
    return costs.OPERATOR + pricing.expression(node.operand)


def _price_boolean(pricing: Pricing, node: ast.BoolOp) -> int:
    own = costs.OPERATOR * (len(node.values) - 1)
    return own + sum(map(pricing.test, node.values))


def _price_comparison(pricing: Pricing, node: ast.Compare) -> int:
    """A chain of comparisons; those with a short literal are plain."""
    total = pricing.expression(node.left) + pricing.expressions(node.comparators)
    left = node.left
    for operator, side in zip(node.ops, node.comparators, strict=True):
        is_plain = (
            operator.__class__ in tree.IDENTITIES
            or tree.is_short_scalar(left)
            or tree.is_short_scalar(side)
        )
        total += costs.OPERATOR if is_plain else costs.COMPARISON
        if isinstance(operator, ast.In | ast.NotIn):
            total += 0 if is_plain else costs.MEMBERSHIP
            if isinstance(side, ast.Tuple):
                total += len(side.elts)  # a display in which something is searched
        left = side
    return total


def _price_subscript(pricing: Pricing, node: ast.Subscript) -> int:
    is_store = node.ctx.__class__ is ast.Store
    own = price(costs.SUBSCRIPT, costs.STORE_BYTES if is_store else 0)
    return own + pricing.expressions((node.value, node.slice))


def _price_attribute(pricing: Pricing, node: ast.Attribute) -> int:
    """An attribute; one that its class has not paid for takes memory."""
    subject = node.value
    own = pricing.attribute
    if node.ctx.__class__ is ast.Store:
        is_prepaid = (
            isinstance(subject, ast.Name) and subject.id == pricing.prepaid_subject
        )
        own = price(own, 0 if is_prepaid else costs.ATTRIBUTE_BYTES)
    return own + _PRICERS[subject.__class__](pricing, subject)


def _price_call(pricing: Pricing, node: ast.Call) -> int:
    total = _call(pricing.facts, node)
    if len(node.args) > costs.ARGUMENTS_FREE or (
        len(node.keywords) > costs.KEYWORDS_FREE
    ):
        total += _passed(node)
    if node.func.__class__ is not ast.Name:
        total += pricing.expression(node.func)
    if node.keywords:
        total += pricing.expressions(node.keywords)
    return total + pricing.expressions(node.args)


def _price_keyword(pricing: Pricing, node: ast.keyword) -> int:
    return pricing.expression(node.value)


def _price_lambda(pricing: Pricing, node: ast.Lambda) -> int:
    return costs.DEFINITION + _price_function(pricing, node.args)


def _price_function(pricing: Pricing, node: ast.arguments) -> int:
    """A function made, which keeps its defaults."""
    defaults = [*node.defaults, *node.kw_defaults]
    bytes_ = costs.FUNCTION_BYTES + _places(defaults)
    return price(0, bytes_) + pricing.expressions(defaults)


def _price_comprehension(pricing: Pricing, node: ast.ListComp | ast.DictComp) -> int:
    own = price(costs.COMPREHENSION, costs.COMPREHENSION_BYTES)
    return own + pricing.expression(node.generators[0].iter)


def _price_conditional(pricing: Pricing, node: ast.IfExp) -> int:
    sides = dearer(pricing.expression(node.body), pricing.expression(node.orelse))
    return costs.CONDITIONAL + pricing.test(node.test) + sides


def _price_tuple(pricing: Pricing, node: ast.Tuple) -> int:
    is_constant = all(element.__class__ is ast.Constant for element in node.elts)
    if node.ctx.__class__ is not ast.Load:
        return len(node.elts) + pricing.expressions(node.elts)
    if is_constant:
        return FREE
    return _display(node.elts) + pricing.expressions(node.elts)


def _price_list(pricing: Pricing, node: ast.List) -> int:
    is_read = node.ctx.__class__ is ast.Load
    own = _display(node.elts) if is_read else len(node.elts)
    return own + pricing.expressions(node.elts)


def _price_dict(pricing: Pricing, node: ast.Dict) -> int:
    size = len(node.keys)
    own = price(
        costs.DICT_DISPLAY + costs.DICT_DISPLAY_PER_ITEM * size,
        costs.DICT_DISPLAY_BYTES + costs.DICT_DISPLAY_BYTES_PER_ITEM * size,
    )
    return own + pricing.expressions(node.keys) + pricing.expressions(node.values)


def _price_f_string(pricing: Pricing, node: ast.JoinedStr) -> int:
    cycles = costs.F_STRING + sum(map(_part_cycles, node.values))
    return price(cycles, _text_bytes(node.values)) + pricing.expressions(node.values)


def _price_yield(pricing: Pricing, node: ast.Yield) -> int:
    return costs.YIELD + pricing.expression(node.value)


# ---- statements with a rule of their own


def _price_assign(pricing: Pricing, node: ast.Assign) -> int:
    own = costs.STATEMENT * len(node.targets)
    return own + pricing.expressions(node.targets) + pricing.expression(node.value)


def _price_delete(pricing: Pricing, node: ast.Delete) -> int:
    removed = sum(isinstance(one, ast.Subscript) for one in node.targets)
    own = costs.STATEMENT * len(node.targets) + costs.DELETION * removed
    return own + pricing.expressions(node.targets)


def _price_return(pricing: Pricing, node: ast.Return) -> int:
    return costs.STATEMENT + pricing.expression(node.value)


def _price_raise(pricing: Pricing, node: ast.Raise) -> int:
    total = costs.RAISE + pricing.expressions((node.exc, node.cause))
    # The exception pays for its memory when it is raised.
    bytes_ = costs.EXCEPTION_BYTES if pricing.makes_exception(node) else 0
    return total - price(0, bytes_)


def _price_assert(pricing: Pricing, node: ast.Assert) -> int:
    return costs.RAISE + pricing.test(node.test) + pricing.expression(node.msg)


def _price_if(pricing: Pricing, node: ast.If) -> int:
    own = costs.CONDITIONAL + pricing.test(node.test)
    return own + dearer(*pricing.arms(node)) if pricing.is_lumped(node) else own


def _price_for(pricing: Pricing, node: ast.For) -> int:
    return costs.FOR + pricing.expression(node.iter)


def _price_while(pricing: Pricing, node: ast.While) -> int:
    return costs.WHILE_ROUND + pricing.test(node.test)


def _price_try(pricing: Pricing, node: ast.Try) -> int:
    return costs.TRY + pricing.block(node.body)


def _price_with(pricing: Pricing, node: ast.With) -> int:
    total = pricing.block(node.body)
    for item in node.items:
        total += costs.WITH + pricing.expression(item.context_expr)
        total += pricing.expression(item.optional_vars)
    return total


def _price_function_def(pricing: Pricing, node: ast.FunctionDef) -> int:
    own = costs.DEFINITION + costs.CALL * len(node.decorator_list)
    return (
        own
        + pricing.expressions(node.decorator_list)
        + _price_function(pricing, node.args)
    )


def _price_class_def(pricing: Pricing, node: ast.ClassDef) -> int:
    own = costs.CLASS + costs.CLASS_PER_ANCESTOR * len(ancestors(pricing.facts, node))
    return own + pricing.block(node.body)


def _price_expression_statement(pricing: Pricing, node: ast.Expr) -> int:
    if isinstance(node.value, ast.Constant):
        return FREE
    return costs.STATEMENT + pricing.expression(node.value)


_OWN_PRICERS: Mapping[type[ast.AST], _Pricer] = {
    ast.Assert: _price_assert,
    ast.Assign: _price_assign,
    ast.Attribute: _price_attribute,
    ast.BinOp: _price_binary,
    ast.BoolOp: _price_boolean,
    ast.Call: _price_call,
    ast.ClassDef: _price_class_def,
    ast.Compare: _price_comparison,
    ast.Constant: _free,
    ast.Delete: _price_delete,
    ast.Dict: _price_dict,
    ast.DictComp: _price_comprehension,
    ast.Expr: _price_expression_statement,
    ast.For: _price_for,
    ast.FunctionDef: _price_function_def,
    ast.Global: _free,
    ast.If: _price_if,
    ast.IfExp: _price_conditional,
    ast.Import: _free,
    ast.ImportFrom: _free,
    ast.JoinedStr: _price_f_string,
    ast.Lambda: _price_lambda,
    ast.List: _price_list,
    ast.ListComp: _price_comprehension,
    ast.Name: _free,
    ast.Nonlocal: _free,
    ast.Pass: _free,
    ast.Raise: _price_raise,
    ast.Return: _price_return,
    ast.Subscript: _price_subscript,
    ast.Try: _price_try,
    ast.Tuple: _price_tuple,
    ast.UnaryOp: _price_unary,
    ast.While: _price_while,
    ast.With: _price_with,
    ast.Yield: _price_yield,
    ast.keyword: _price_keyword,
}


def _usual(kind: type[ast.AST]) -> _Pricer:
    return _price_statement if issubclass(kind, ast.stmt) else _price_inside


_PRICERS: Mapping[type[ast.AST], _Pricer] = {
    kind: _OWN_PRICERS.get(kind) or _usual(kind) for kind in language.NODES
}
_TRUE_OR_FALSE = frozenset({ast.BoolOp, ast.Compare, ast.Constant, ast.UnaryOp})
"""Expressions whose value has been asked for its truth, or is a number."""
_OPERATOR_OF: Mapping[type[ast.AST], int] = {
    kind: costs.OPERATOR_OF[kind.__name__]
    for kind in language.NODES
    if kind.__name__ in costs.OPERATOR_OF
}


def _display(items: Sequence[ast.expr]) -> int:
    size = len(items)
    bytes_ = costs.SEQUENCE_DISPLAY_BYTES + costs.SEQUENCE_DISPLAY_BYTES_PER_ITEM * size
    if size > costs.PLACES_FREE:
        bytes_ += _places(items[costs.PLACES_FREE :])
    return price(costs.SEQUENCE_DISPLAY + size, bytes_)


def _places(nodes: Iterable[ast.expr | None]) -> int:
    """Memory of the values among them that are computed."""
    return costs.PLACE_BYTES * sum(
        node is not None and node.__class__ is not ast.Constant for node in nodes
    )


def _passed(node: ast.Call) -> int:
    """Arguments beyond the usual few: a callee may keep them all."""
    positional = max(0, len(node.args) - costs.ARGUMENTS_FREE)
    named = max(0, len(node.keywords) - costs.KEYWORDS_FREE)
    bytes_ = costs.PLACE_BYTES * positional
    bytes_ += costs.DICT_DISPLAY_BYTES_PER_ITEM * named
    return price(positional + named, bytes_)


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


def _call(facts: Facts, node: ast.Call) -> int:
    function = node.func
    if isinstance(function, ast.Attribute):
        if function.attr == "pop" and node.args:
            return costs.HELPER_CALL
        return _METHOD_CALLS.get(function.attr, costs.CALL)
    if isinstance(function, ast.Name) and function.id not in facts.bound:
        return _BUILTIN_CALLS.get(function.id, costs.CALL)
    return costs.CALL


_STORING_METHODS = frozenset({"append", "add", "insert", "setdefault"})
_METHOD_CALLS: Mapping[str, int] = {
    name: price(
        costs.CALL_OF_METHOD.get(name, costs.HELPER_CALL),
        costs.STORE_BYTES if name in _STORING_METHODS else 0,
    )
    for name in language.METHOD_NAMES
}


def _call_bytes(name: str) -> int:
    if name in {"str", "repr"}:
        return costs.STR_CALL_BYTES
    return costs.EXCEPTION_BYTES if name in language.EXCEPTIONS else 0


_BUILTIN_CALLS: Mapping[str, int] = {
    name: price(
        costs.CALL_OF_BUILTIN.get(
            name, costs.HELPER_CALL if name in language.FUNCTIONS else costs.CALL
        ),
        _call_bytes(name),
    )
    for name in language.FUNCTIONS | language.EXCEPTIONS
}
