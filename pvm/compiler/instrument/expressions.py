"""Names, attributes, items, displays and f-strings.

Each guard is the plain operation where that is proven to be paid for by syntax alone,
and a helper otherwise; the helper gives the same result at the same price. Where a
walrus may not stand, or the operands are not bound, the helper is called at once. All
of them are in the table of sandbox-internals.md §2.
"""

import ast
from collections.abc import Mapping

from pvm import language
from pvm.compiler.facts import ENUM
from pvm.compiler.instrument.context import InstrumentContext
from pvm.compiler.instrument.operands import bind_to_name, use_twice, write_twice
from pvm.compiler.lowering import dataclasses, decorators, desugar
from pvm.compiler.syntax import tree
from pvm.compiler.syntax.tree import Here, is_super, literal_format
from pvm.language import KEY_LENGTH_MAX

_KEY_BITS = 60

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


def write_constant(_context: InstrumentContext, node: ast.Constant) -> ast.expr:
    """A literal stands as it is: syntax has paid for it."""
    return node


def write_name(context: InstrumentContext, node: ast.Name) -> ast.expr:
    """A variable, or the helper that stands for a name which `desugar` wrote."""
    helper = HELPERS.get(node.id)
    return node if helper is None else context.here.load(helper)


def load_class(context: InstrumentContext, node: ast.expr) -> ast.Name | None:
    """A name bound to the native class or to a class of the module."""
    if not isinstance(node, ast.Name):
        return None
    if node.id in context.facts.classes:
        return context.here.load(node.id)
    known = language.CLASSES | language.CLASSES_NEVER | language.EXCEPTIONS
    if node.id in known and context.facts.is_universal(node.id):
        return context.here.load(f"_{node.id}")
    return None


def write_subject(context: InstrumentContext, node: ast.expr) -> ast.expr:
    """What an attribute is read of, or an item: its own value goes nowhere.

    A native method has neither, so reading one needs no price there.
    """
    if isinstance(node, ast.Attribute) and node.attr in language.METHOD_NAMES:
        node.value = write_subject(context, node.value)
        return node
    return context.write(node)


def write_attribute(context: InstrumentContext, node: ast.Attribute) -> ast.expr:
    """A read; a name that natives have, too, shows nothing of theirs."""
    here = context.here
    is_guarded = _is_guarded(context, node.attr)
    is_above = reads_super(context, node)
    value = write_subject(context, node.value)
    if node.attr.startswith(desugar.DUNDER_PREFIX):
        return _write_dunder(here, value, node.attr.removeprefix(desugar.DUNDER_PREFIX))
    if is_above:
        return here.call("_above", value, here.constant(node.attr))
    if is_guarded:
        return _read_guarded(here, value, node.attr)
    node.value = value
    return node


def _read_guarded(here: Here, value: ast.expr, name: str) -> ast.expr:
    helper = here.call("_bind", value, here.constant(name))
    if not tree.is_atom(value):
        return helper
    plain = here.attribute(value, name)
    if name not in language.EXCEPTION_ATTRIBUTES:
        return unless_native(here, value, name, helper, plain)
    kind = here.attribute(value, "__class__")
    kinds = here.load(f"_readers_{name}")
    test = here.compare(kind, tree.IN, kinds)
    return here.either(test, helper, plain)


def unless_native(
    here: Here,
    value: ast.expr,
    name: str,
    native: ast.expr,
    plain: ast.expr,
) -> ast.expr:
    """`native` if `value` has an attribute by being native, else `plain`."""
    operator = tree.IS if name in language.OWNED_BY_ONE_TYPE else tree.IN
    kind = here.attribute(value, "__class__")
    owners = here.load(f"_owners_{name}")
    test = here.compare(kind, operator, owners)
    return here.either(test, native, plain)


def _write_dunder(here: Here, value: ast.expr, name: str) -> ast.expr:
    """`super().__name__`, or `x.__class__`."""
    if name == "class":
        return here.attribute(value, "__class__")
    if name == "init":
        return here.call("_initializer", value)
    return here.call("_inherited", value, here.constant(f"__{name}__"))


def reads_super(context: InstrumentContext, node: ast.Attribute) -> bool:
    """Whether it is read of `super()`, which asks no metaclass."""
    return is_super(node.value) and context.facts.is_universal("super")


def _is_guarded(context: InstrumentContext, name: str) -> bool:
    """Whether something native could show more by the name than an actor may see.

    `args`, `name` and `value` are read as they are where no class can have them
    from an exception of CPython's: such a class names that exception.
    """
    if name in language.GUARDED_ATTRIBUTES:
        return True
    showing = language.EXCEPTION_ATTRIBUTES.get(name)
    return showing is not None and not showing.isdisjoint(context.facts.read)


def write_subscript(context: InstrumentContext, node: ast.Subscript) -> ast.expr:
    """An item; a tuple as key pays for its hash."""
    here = context.here
    if isinstance(node.slice, ast.Slice):
        return here.call(
            "_slice", context.write(node.value), *write_bounds(context, node.slice)
        )
    if is_short_key(node.slice):
        node.value = write_subject(context, node.value)
        return node
    if not context.inlines():
        value, key = write_subject(context, node.value), context.write(node.slice)
        return here.call("_getitem", value, key)
    container, name = bind_to_name(context, write_subject(context, node.value))
    first, second = write_twice(context, node.slice)
    key = here.either(
        here.has_other_class(first, "_tuple"),
        second,
        here.call("_key", here.load(name), second),
    )
    node.value, node.slice = container, key
    return node


def write_bounds(context: InstrumentContext, node: ast.Slice) -> list[ast.expr]:
    """The three bounds of a slice, None where absent."""
    parts = (node.lower, node.upper, node.step)
    return [
        context.write(part) if part else context.here.constant(None) for part in parts
    ]


def is_short_key(node: ast.expr) -> bool:
    """Whether `node` is a literal that may be a key and costs nothing as one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return len(node.value) <= KEY_LENGTH_MAX
    number = tree.literal_int(node)
    if number is not None:
        return number.bit_length() <= _KEY_BITS
    return isinstance(node, ast.Constant)


def write_element(context: InstrumentContext, node: ast.expr) -> ast.expr:
    """An item of a display or an argument, which may be spread."""
    if isinstance(node, ast.Starred):
        node.value = context.here.call("_star", context.write(node.value))
        return node
    return context.write(node)


def write_sequence(context: InstrumentContext, node: ast.Tuple | ast.List) -> ast.expr:
    """A tuple or a list."""
    node.elts = [write_element(context, item) for item in node.elts]
    return node


def write_dict(context: InstrumentContext, node: ast.Dict) -> ast.expr:
    """A display of a dict: keys that may be long, or no keys at all, are checked."""
    here = context.here
    keys: list[ast.expr | None] = []
    values: list[ast.expr] = []
    size = here.constant(len(node.keys))
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            keys.append(None)
            values.append(here.call("_spread_dict", context.write(value)))
            continue
        written = context.write(key)
        if not is_short_key(key):
            written = here.call("_new_key", size, written)
        keys.append(written)
        values.append(context.write(value))
    node.keys, node.values = keys, values
    return node


def write_f_string(context: InstrumentContext, node: ast.JoinedStr) -> ast.expr:
    """An f-string: each field is a text when it is joined."""
    here = context.here
    parts: list[ast.expr] = []
    for part in node.values:
        if not isinstance(part, ast.FormattedValue):
            parts.append(part)
            continue
        specification = ""
        if part.format_spec is not None:
            specification = literal_format(part.format_spec) or ""
        conversion = chr(part.conversion) if part.conversion > 0 else ""
        text = _write_field(context, part.value, conversion, specification)
        parts.append(here.put(ast.FormattedValue(text, -1)))
    return here.put(ast.JoinedStr(parts))


def _write_field(context: InstrumentContext, node: ast.expr, *form: str) -> ast.expr:
    """A field of an f-string: an int of a word or a short text as it is.

    The guard is long, so only a loop has it.
    """
    here = context.here
    value = context.write(node)
    if any(form):
        return here.call("_format", value, *map(here.constant, form))
    if not (context.scope.in_loop and context.inlines(value)):
        return here.call("_format", value)
    first, second = use_twice(context, value)
    is_text = here.conjunction(
        here.has_class(second, "_str"),
        here.has_short_length(second),
    )
    test = here.disjunction(is_word(here, first, second), is_text)
    return here.either(test, second, here.call("_format", second))


def is_word(here: Here, first: ast.expr, second: ast.expr) -> ast.expr:
    """Whether a value is an int of at most 64 bits."""
    return here.conjunction(
        here.has_class(first, "_int"),
        here.is_short_int(second, _WORD_BITS),
    )
