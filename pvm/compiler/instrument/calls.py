"""Calls: of methods, of builtins, of whatever else a value may be."""

import ast
from collections.abc import Sequence
from typing import cast

from pvm import costs, language
from pvm.compiler.instrument.context import InstrumentContext
from pvm.compiler.instrument.expressions import (
    HELPERS,
    is_short_key,
    is_word,
    load_class,
    reads_super,
    unless_native,
    write_element,
    write_subject,
)
from pvm.compiler.instrument.operands import bind_to_name, use_twice
from pvm.compiler.lowering import desugar
from pvm.compiler.syntax import tree
from pvm.compiler.syntax.tree import Here, is_super

_AFFIXES = frozenset({"startswith", "endswith"})


def write_call(context: InstrumentContext, node: ast.Call) -> ast.expr:
    """A method, a builtin of the language, or a value of which nothing is known."""
    if is_super(node) and context.facts.is_universal("super"):
        return _write_super(context)
    arguments = [write_element(context, argument) for argument in node.args]
    keywords = [_write_keyword(context, keyword) for keyword in node.keywords]
    function = node.func
    if isinstance(function, ast.Attribute):
        return _call_method(context, function, arguments, keywords)
    if isinstance(function, ast.Name) and context.facts.is_universal(function.id):
        return _call_builtin(context, function.id, node, arguments, keywords)
    node.func = context.write(function)
    node.args, node.keywords = arguments, keywords
    return node


def _write_super(context: InstrumentContext) -> ast.expr:
    """`super()` with its arguments written out.

    Without them interpreters differ in what they raise where the class is not
    made yet or the method has deleted its first parameter.
    """
    subject = context.scope.subject
    assert subject is not None, "the policy refuses it outside of methods"
    load = context.here.load
    return context.here.call("_super", load("__class__"), load(subject))


def _write_keyword(context: InstrumentContext, node: ast.keyword) -> ast.keyword:
    value = context.write(node.value)
    is_spread = node.arg is None
    node.value = context.here.call("_keywords", value) if is_spread else value
    return node


def _call_method(  # noqa: PLR0911 - a line for each form of a call
    context: InstrumentContext,
    function: ast.Attribute,
    arguments: list[ast.expr],
    keywords: list[ast.keyword],
) -> ast.expr:
    here = context.here
    name = function.attr
    is_native = name in language.NATIVE_CALLS
    if reads_super(context, function) and not name.startswith(desugar.DUNDER_PREFIX):
        function.value = write_subject(context, function.value)
        return _call(here, function, arguments, keywords)
    if name not in language.GUARDED_ATTRIBUTES:
        return _call(here, context.write(function), arguments, keywords)
    if name == "get" and arguments and not is_short_key(arguments[0]):
        is_native = isinstance(arguments[0], ast.Name)
        if is_native and not keywords:
            return _call_get(context, function.value, arguments)
        is_native = False
    value = write_subject(context, function.value)
    is_native = is_native or (name in _AFFIXES and _is_short_text(arguments))
    if is_native and not keywords:
        return _call(here, here.attribute(value, name), arguments, [])
    if name == "pop" and not (arguments or keywords) and tree.is_atom(value):
        return _pop(here, value)
    if name in context.facts.attributes:
        function = here.attribute(_receiver(context, value, name), name)
        return _call(here, function, arguments, keywords)
    helper = here.load(f"_m_{name}")
    return _call(here, helper, [value, *arguments], keywords)


def _receiver(context: InstrumentContext, value: ast.expr, name: str) -> ast.expr:
    """The object on which a method is called that an actor's class may have.

    It stays an object with a method, which is faster than calling what a choice
    between two methods gave.
    """
    here = context.here
    if not context.inlines(value):
        return here.call("_receiver", value, here.constant(name))
    first, second = use_twice(context, value)
    return unless_native(here, first, name, here.call("_native", second), second)


def _pop(here: Here, value: ast.expr) -> ast.expr:
    """`value.pop()`: native of a list, else priced by what it is."""
    return here.either(
        here.has_class(value, "_list"),
        _call(here, here.attribute(value, "pop"), [], []),
        here.call("_m_pop", value),
    )


def _call_get(
    context: InstrumentContext, node: ast.expr, arguments: list[ast.expr]
) -> ast.expr:
    """`d.get(k)`: native, a tuple as key pays.

    Without the room for that, too, the attribute is looked up before the key.
    """
    here = context.here
    if not context.inlines():
        getter = here.call("_getter", write_subject(context, node))
        return _call(here, getter, arguments, [])
    container, name = bind_to_name(context, write_subject(context, node))
    key = arguments[0]
    guarded = here.either(
        here.has_other_class(key, "_tuple"),
        key,
        here.call("_key", here.load(name), key),
    )
    function = here.attribute(container, "get")
    return _call(here, function, [guarded, *arguments[1:]], [])


def _is_short_text(arguments: Sequence[ast.expr]) -> bool:
    """Whether the only argument is a short literal text."""
    if len(arguments) != 1 or not isinstance(arguments[0], ast.Constant):
        return False
    value = arguments[0].value
    return isinstance(value, str | bytes) and len(value) <= costs.TEXT_FREE


def _call_builtin(
    context: InstrumentContext,
    name: str,
    node: ast.Call,
    arguments: list[ast.expr],
    keywords: list[ast.keyword],
) -> ast.expr:
    here = context.here
    if name in {"getattr", "hasattr"}:
        return _call(here, here.load(f"_{name}"), arguments, keywords)
    if name in {"isinstance", "issubclass"}:
        classes = _load_classes(context, node.args[1])
        is_native = classes is not None and name == "isinstance"
        helper = "_isinstance" if is_native else _called(name)
        return here.call(helper, arguments[0], classes or arguments[1])
    if name in language.EXCEPTIONS:
        function: ast.expr = here.load(f"_{name}")
        if keywords:
            arguments = [function, *arguments]
            function = here.load("_make_error")
        return _call(here, function, arguments, keywords)
    if name == "str" and len(arguments) == 1 and not keywords:
        return _call_str(context, arguments[0])
    called = here.load(HELPERS.get(name) or _called(name))
    return _call(here, called, arguments, keywords)


def _called(name: str) -> str:
    """What stands for a builtin that is called by its name, which has paid for it."""
    return f"_call_{name}" if name in language.DEAR_FUNCTIONS else name


def _call_str(context: InstrumentContext, value: ast.expr) -> ast.expr:
    """`str(value)`: native of an int of a word."""
    here = context.here
    if isinstance(value, ast.Starred) or not context.inlines(value):
        return here.call("str", value)
    first, second = use_twice(context, value)
    return here.either(
        is_word(here, first, second),
        here.call("_str", second),
        here.call("str", second),
    )


def _load_classes(context: InstrumentContext, node: ast.expr) -> ast.expr | None:
    """Native classes for `isinstance`, if their names prove what they are."""
    if isinstance(node, ast.Tuple):
        found = [_load_classes(context, element) for element in node.elts]
        known = [one for one in found if isinstance(one, ast.Name)]
        if len(known) != len(found):
            return None
        names = cast("list[ast.expr]", known)
        return context.here.put(ast.Tuple(names, tree.LOAD))
    return load_class(context, node)


def _call(
    here: Here,
    function: ast.expr,
    arguments: list[ast.expr],
    keywords: list[ast.keyword],
) -> ast.Call:
    return here.put(ast.Call(function, arguments, keywords))
