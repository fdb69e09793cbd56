"""Instrumenting expressions: guards where work depends on operands.

This is the table of sandbox-internals.md §2.

Each guard is the plain operation where that is proven to be paid for by syntax alone,
and a helper otherwise; the helper gives the same result at the same price. Where a
walrus may not stand, or the operands are not bound, the helper is called at once.
"""

import ast
from collections.abc import Mapping, Sequence
from typing import cast

from pvm import costs, language
from pvm.compiler.analysis import leaf_functions
from pvm.compiler.facts import ENUM
from pvm.compiler.instrument.context import Scope
from pvm.compiler.instrument.operators import Operations
from pvm.compiler.lowering import dataclasses, decorators, desugar
from pvm.compiler.policy.values import is_super, literal_format
from pvm.compiler.pricing import bytes_of, cycles_of, price
from pvm.compiler.syntax import tree

KEY_LENGTH_MAX = 1_024

KEY_BITS = 60

_WORD_BITS = 64

HELPERS: Mapping[str, str] = {
    desugar.SET: "_set_of",
    desugar.ITERATOR: "_call_iter",
    desugar.CLASS_NAME: "_class_name",
    decorators.ENTER: "_enter_method",
    decorators.LEAVE: "_leave_method",
    desugar.MEMBERS: "_members",
    ENUM: "_Enum",
    dataclasses.MISSING: "_missing",
}
"""What desugaring wrote → the helper."""


def _called(name: str) -> str:
    """What stands for a builtin that is called by its name, which has paid for it."""
    return f"_call_{name}" if name in language.DEAR_FUNCTIONS else name


class Expressions(Operations):
    """Names, items, displays, calls, lambdas, comprehensions and targets."""

    def _write_constant(self, node: ast.Constant) -> ast.expr:
        return node

    def _write_name(self, node: ast.Name) -> ast.expr:
        helper = HELPERS.get(node.id)
        return node if helper is None else self.here.load(helper)

    def subject(self, node: ast.expr) -> ast.expr:
        """What an attribute is read of, or an item: its own value goes nowhere.

        A native method has neither, so reading one needs no price there.
        """
        if isinstance(node, ast.Attribute) and node.attr in language.METHOD_NAMES:
            node.value = self.subject(node.value)
            return node
        return self.rewrite(node)

    def _write_attribute(self, node: ast.Attribute) -> ast.expr:
        is_guarded = self._is_guarded(node.attr)
        is_above = self._is_above(node)
        value = self.subject(node.value)
        if node.attr.startswith(desugar.DUNDER_PREFIX):
            return self._dunder(value, node.attr.removeprefix(desugar.DUNDER_PREFIX))
        if is_above:
            return self.here.call("_above", value, self.here.constant(node.attr))
        if is_guarded:
            return self._read_guarded(value, node.attr)
        node.value = value
        return node

    def _read_guarded(self, value: ast.expr, name: str) -> ast.expr:
        helper = self.here.call("_bind", value, self.here.constant(name))
        if not tree.is_atom(value):
            return helper
        plain = self.here.attribute(value, name)
        if name not in language.EXCEPTION_ATTRIBUTES:
            return self._unless_native(value, name, helper, plain)
        kind = self.here.attribute(value, "__class__")
        kinds = self.here.load(f"_readers_{name}")
        test = self.here.compare(kind, tree.IN, kinds)
        return self.here.either(test, helper, plain)

    def _dunder(self, value: ast.expr, name: str) -> ast.expr:
        """`super().__name__`, or `x.__class__`."""
        if name == "class":
            return self.here.attribute(value, "__class__")
        if name == "init":
            return self.here.call("_initializer", value)
        return self.here.call("_inherited", value, self.here.constant(f"__{name}__"))

    def _is_above(self, node: ast.Attribute) -> bool:
        """Whether it is read of `super()`, which asks no metaclass."""
        return is_super(node.value) and self.facts.is_universal("super")

    def _is_guarded(self, name: str) -> bool:
        """Whether something native could show more by the name than an actor may see.

        `args`, `name` and `value` are read as they are where no class can have them
        from an exception of CPython's: such a class names that exception.
        """
        if name in language.GUARDED_ATTRIBUTES:
            return True
        showing = language.EXCEPTION_ATTRIBUTES.get(name)
        return showing is not None and not showing.isdisjoint(self.facts.read)

    def _write_subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.slice, ast.Slice):
            return self.here.call(
                "_slice", self.rewrite(node.value), *self.bounds(node.slice)
            )
        if is_short_key(node.slice):
            node.value = self.subject(node.value)
            return node
        if not self.inlines():
            value, key = self.subject(node.value), self.rewrite(node.slice)
            return self.here.call("_getitem", value, key)
        container, name = self.named(self.subject(node.value))
        first, second = self.twice(node.slice)
        key = self.here.either(
            self.is_no_tuple(first),
            second,
            self.here.call("_key", self.here.load(name), second),
        )
        node.value, node.slice = container, key
        return node

    def bounds(self, node: ast.Slice) -> list[ast.expr]:
        """The three bounds of a slice, None where absent."""
        parts = (node.lower, node.upper, node.step)
        return [
            self.rewrite(part) if part else self.here.constant(None) for part in parts
        ]

    def element(self, node: ast.expr) -> ast.expr:
        """An item of a display or an argument, which may be spread."""
        if isinstance(node, ast.Starred):
            node.value = self.here.call("_star", self.rewrite(node.value))
            return node
        return self.rewrite(node)

    def _write_tuple(self, node: ast.Tuple | ast.List) -> ast.expr:
        node.elts = [self.element(item) for item in node.elts]
        return node

    _write_list = _write_tuple

    def _write_dict(self, node: ast.Dict) -> ast.expr:
        keys: list[ast.expr | None] = []
        values: list[ast.expr] = []
        size = self.here.constant(len(node.keys))
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                keys.append(None)
                values.append(self.here.call("_spread_dict", self.rewrite(value)))
                continue
            written = self.rewrite(key)
            if not is_short_key(key):
                written = self.here.call("_new_key", size, written)
            keys.append(written)
            values.append(self.rewrite(value))
        node.keys, node.values = keys, values
        return node

    def _write_joinedstr(self, node: ast.JoinedStr) -> ast.expr:
        parts: list[ast.expr] = []
        for part in node.values:
            if not isinstance(part, ast.FormattedValue):
                parts.append(part)
                continue
            specification = ""
            if part.format_spec is not None:
                specification = literal_format(part.format_spec) or ""
            conversion = chr(part.conversion) if part.conversion > 0 else ""
            text = self._field(part.value, conversion, specification)
            parts.append(self.here.put(ast.FormattedValue(text, -1)))
        return self.here.put(ast.JoinedStr(parts))

    def _field(self, node: ast.expr, *form: str) -> ast.expr:
        """A field of an f-string: an int of a word or a short text as it is.

        The guard is long, so only a loop has it.
        """
        value = self.rewrite(node)
        if any(form):
            return self.here.call("_format", value, *map(self.here.constant, form))
        if not (self.scope.in_loop and self.inlines(value)):
            return self.here.call("_format", value)
        first, second = self.held(value)
        is_text = self.here.conjunction(
            self.here.has_class(second, "_str"),
            self.here.has_short_length(second),
        )
        test = self.here.disjunction(self._is_word(first, second), is_text)
        return self.here.either(test, second, self.here.call("_format", second))

    def _write_call(self, node: ast.Call) -> ast.expr:
        if is_super(node) and self.facts.is_universal("super"):
            return self._write_super()
        arguments = [self.element(argument) for argument in node.args]
        keywords = [self._keyword(keyword) for keyword in node.keywords]
        function = node.func
        if isinstance(function, ast.Attribute):
            return self._call_method(function, arguments, keywords)
        if isinstance(function, ast.Name) and self.facts.is_universal(function.id):
            return self._call_builtin(function.id, node, arguments, keywords)
        node.func, node.args, node.keywords = (
            self.rewrite(function),
            arguments,
            keywords,
        )
        return node

    def _write_super(self) -> ast.expr:
        """`super()` with its arguments written out.

        Without them interpreters differ in what they raise where the class is not
        made yet or the method has deleted its first parameter.
        """
        subject = self.scope.subject
        assert subject is not None, "the policy refuses it outside of methods"
        load = self.here.load
        return self.here.call("super", load("__class__"), load(subject))

    def _keyword(self, node: ast.keyword) -> ast.keyword:
        value = self.rewrite(node.value)
        node.value = (
            value if node.arg is not None else self.here.call("_keywords", value)
        )
        return node

    def _call_method(  # noqa: PLR0911 - a line for each form of a call
        self,
        function: ast.Attribute,
        arguments: list[ast.expr],
        keywords: list[ast.keyword],
    ) -> ast.expr:
        name = function.attr
        is_native = name in language.NATIVE_CALLS
        if self._is_above(function) and not name.startswith(desugar.DUNDER_PREFIX):
            function.value = self.subject(function.value)
            return self._call(function, arguments, keywords)
        if name not in language.GUARDED_ATTRIBUTES:
            return self._call(self.rewrite(function), arguments, keywords)
        if name == "get" and arguments and not is_short_key(arguments[0]):
            is_native = isinstance(arguments[0], ast.Name)
            if is_native and not keywords:
                return self._call_get(function.value, arguments)
            is_native = False
        value = self.subject(function.value)
        is_native = is_native or (name in _AFFIXES and is_short_text(arguments))
        if is_native and not keywords:
            return self._call(self.here.attribute(value, name), arguments, [])
        if name == "pop" and not (arguments or keywords) and tree.is_atom(value):
            return self._pop(value)
        if name in self.facts.attributes:
            function = self.here.attribute(self._receiver(value, name), name)
            return self._call(function, arguments, keywords)
        helper = self.here.load(f"_m_{name}")
        return self._call(helper, [value, *arguments], keywords)

    def _call(
        self,
        function: ast.expr,
        arguments: list[ast.expr],
        keywords: list[ast.keyword],
    ) -> ast.Call:
        return self.here.put(ast.Call(function, arguments, keywords))

    def _receiver(self, value: ast.expr, name: str) -> ast.expr:
        """The object on which a method is called that an actor's class may have.

        It stays an object with a method, which is faster than calling what a choice
        between two methods gave.
        """
        if not self.inlines(value):
            return self.here.call("_receiver", value, self.here.constant(name))
        first, second = self.held(value)
        return self._unless_native(
            first, name, self.here.call("_native", second), second
        )

    def _pop(self, value: ast.expr) -> ast.expr:
        """`value.pop()`: native of a list, else priced by what it is."""
        return self.here.either(
            self.here.has_class(value, "_list"),
            self._call(self.here.attribute(value, "pop"), [], []),
            self.here.call("_m_pop", value),
        )

    def _is_word(self, first: ast.expr, second: ast.expr) -> ast.expr:
        """Whether a value is an int of at most 64 bits."""
        return self.here.conjunction(
            self.here.has_class(first, "_int"),
            self.here.is_short_int(second, _WORD_BITS),
        )

    def _unless_native(
        self, value: ast.expr, name: str, native: ast.expr, plain: ast.expr
    ) -> ast.expr:
        """`native` if `value` has an attribute by being native, else `plain`."""
        operator = tree.IS if name in language.OWNED_BY_ONE_TYPE else tree.IN
        kind = self.here.attribute(value, "__class__")
        owners = self.here.load(f"_owners_{name}")
        test = self.here.compare(kind, operator, owners)
        return self.here.either(test, native, plain)

    def _call_get(self, node: ast.expr, arguments: list[ast.expr]) -> ast.expr:
        """`d.get(k)`: native, a tuple as key pays.

        Without the room for that, too, the attribute is looked up before the key.
        """
        if not self.inlines():
            getter = self.here.call("_getter", self.subject(node))
            return self._call(getter, arguments, [])
        container, name = self.named(self.subject(node))
        key = arguments[0]
        guarded = self.here.either(
            self.is_no_tuple(key),
            key,
            self.here.call("_key", self.here.load(name), key),
        )
        function = self.here.attribute(container, "get")
        return self._call(function, [guarded, *arguments[1:]], [])

    def _call_builtin(
        self,
        name: str,
        node: ast.Call,
        arguments: list[ast.expr],
        keywords: list[ast.keyword],
    ) -> ast.expr:
        if name in {"getattr", "hasattr"}:
            return self._call(self.here.load(f"_{name}"), arguments, keywords)
        if name in {"isinstance", "issubclass"}:
            classes = self._classes(node.args[1])
            is_native = classes is not None and name == "isinstance"
            helper = "_isinstance" if is_native else _called(name)
            return self.here.call(helper, arguments[0], classes or arguments[1])
        if name in language.EXCEPTIONS:
            function: ast.expr = self.here.load(f"_{name}")
            if keywords:
                arguments = [function, *arguments]
                function = self.here.load("_make_error")
            return self._call(function, arguments, keywords)
        if name == "str" and len(arguments) == 1 and not keywords:
            return self._call_str(arguments[0])
        called = self.here.load(HELPERS.get(name) or _called(name))
        return self._call(called, arguments, keywords)

    def _call_str(self, value: ast.expr) -> ast.expr:
        """`str(value)`: native of an int of a word."""
        if isinstance(value, ast.Starred) or not self.inlines(value):
            return self.here.call("str", value)
        first, second = self.held(value)
        return self.here.either(
            self._is_word(first, second),
            self.here.call("_str", second),
            self.here.call("str", second),
        )

    def _classes(self, node: ast.expr) -> ast.expr | None:
        """Native classes for `isinstance`, if their names prove what they are."""
        if isinstance(node, ast.Tuple):
            found = [self._classes(element) for element in node.elts]
            known = [one for one in found if isinstance(one, ast.Name)]
            if len(known) != len(found):
                return None
            names = cast("list[ast.expr]", known)
            return self.here.put(ast.Tuple(names, tree.LOAD))
        return self.class_name(node)

    def _write_lambda(self, node: ast.Lambda) -> ast.expr:
        self.defaults(node.args)
        cost = self.pricing.expression(node.body) + self.pricing.entry(node)
        is_leaf = leaf_functions.is_leaf(self.facts, node)
        outer = self.scope
        self.scope = Scope(allows_walrus=outer.allows_walrus)
        body = self.rewrite(node.body)
        self.scope = outer
        paid = [self.here.constant(cycles_of(cost)), self.here.constant(bytes_of(cost))]
        if is_leaf:
            body = self.here.disjunction(self.here.call("_pay", *paid), body)
        else:
            body = self.here.call("_leave", self.here.call("_enter", *paid), body)
        node.body = body
        return node

    def defaults(self, node: ast.arguments) -> None:
        """Rewrite the defaults of parameters."""
        node.defaults = [self.rewrite_without_walrus(one) for one in node.defaults]
        node.kw_defaults = [
            None if one is None else self.rewrite_without_walrus(one)
            for one in node.kw_defaults
        ]

    def _write_listcomp(self, node: ast.ListComp) -> ast.expr:
        elements = [node.elt]
        generators = self._generators(node.generators, elements)
        (element,) = self._elements(elements)
        node.elt, node.generators = element, generators
        return node

    def _write_dictcomp(self, node: ast.DictComp) -> ast.expr:
        elements = [node.key, node.value]
        generators = self._generators(
            node.generators, elements, costs.MAPPING_BYTES_PER_ITEM
        )
        pair = self.here.put(ast.Tuple(self._elements(elements), tree.LOAD))
        pairs = self.here.put(ast.ListComp(pair, generators))
        return self.here.call("_dict_of", pairs)

    def _elements(self, nodes: Sequence[ast.expr]) -> list[ast.expr]:
        """Expressions inside a comprehension: their temporaries are their own."""
        scope = self.scope
        before, scope.prefix = scope.prefix, "_c"
        outside = scope.enter_loop()
        result = self.rewrite_all(nodes)
        scope.is_hot, scope.in_loop = outside
        scope.prefix = before
        return result

    def _generators(
        self,
        nodes: Sequence[ast.comprehension],
        elements: Sequence[ast.expr],
        bytes_per_item: int = costs.ITERATED_BYTES_PER_ITEM,
    ) -> list[ast.comprehension]:
        """The `for` clauses, each source snapshot and paid for all its rounds."""
        result: list[ast.comprehension] = []
        for index, node in enumerate(nodes):
            cost = costs.COMPREHENSION_ROUND + sum(map(self.pricing.test, node.ifs))
            cost += self.pricing.expression(node.target)
            if index + 1 < len(nodes):
                cost += self.pricing.expression(nodes[index + 1].iter)
                cost += costs.COMPREHENSION_INNER_ROUND
            else:
                cost += self.pricing.expressions(elements) + price(0, bytes_per_item)
            source = self.rewrite_without_walrus(node.iter)
            paid = [
                self.here.constant(cycles_of(cost)),
                self.here.constant(bytes_of(cost)),
            ]
            result.append(
                ast.comprehension(
                    self.target(node.target),
                    self.here.call("_pre", source, *paid),
                    self._elements(node.ifs),
                    0,
                )
            )
        return result

    def target(self, node: ast.expr) -> ast.expr:
        """The instrumented form of an expression that is assigned to."""
        match node:
            case ast.Name():
                return node
            case ast.Starred(value=value):
                node.value = self.target(value)
                return node
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                targets = [self.target(element) for element in elements]
                return self.here.put(ast.Tuple(targets, tree.STORE))
            case ast.Attribute(value=value):
                node.value = self.subject(value)
                return node
            case ast.Subscript():
                return self._subscript_target(node)
            case _:
                raise AssertionError(f"{type(node).__name__} is no target")

    def _subscript_target(self, node: ast.Subscript) -> ast.expr:
        assert not isinstance(node.slice, ast.Slice), "the policy refuses it"
        if is_short_key(node.slice):
            node.value = self.subject(node.value)
            return node
        container, name = self.named(self.subject(node.value))
        if not self.inlines():
            key: ast.expr = self.here.call(
                "_new_key", self.here.load(name), self.rewrite(node.slice)
            )
            node.value, node.slice = container, key
            return node
        first, second = self.twice(node.slice)
        test = self.here.conjunction(
            self.here.has_class(first, "_str"),
            self.here.has_short_length(second, KEY_LENGTH_MAX),
        )
        key = self.here.either(
            test, second, self.here.call("_new_key", self.here.load(name), second)
        )
        node.value, node.slice = container, key
        return node


_AFFIXES = frozenset({"startswith", "endswith"})


def is_short_text(arguments: Sequence[ast.expr]) -> bool:
    """Whether the only argument is a short literal text."""
    if len(arguments) != 1 or not isinstance(arguments[0], ast.Constant):
        return False
    value = arguments[0].value
    return isinstance(value, str | bytes) and len(value) <= costs.TEXT_FREE


def is_short_key(node: ast.expr) -> bool:
    """Whether `node` is a literal that may be a key and costs nothing as one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return len(node.value) <= KEY_LENGTH_MAX
    number = tree.literal_int(node)
    if number is not None:
        return number.bit_length() <= KEY_BITS
    return isinstance(node, ast.Constant)
