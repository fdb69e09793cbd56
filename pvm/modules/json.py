"""`json` for actors: `loads`, `dumps` and `JSONDecodeError` over the standard library.

Rules (sandbox.md §3, §4):

* `loads`: text is paid and its brackets counted before it is parsed: nested at most
  64; no fraction, exponent, NaN or integer of more than 4,096 bits (1,234 digits at
  most); keys at most 1,024 characters. 16 cycles a bracket that opens, 8 a comma,
  colon and such a bracket, 20 and one a byte; 20 bytes of memory a byte;
* `dumps`: the value is walked first, on an explicit stack, and pays 16 a container,
  8 an item, nested at most 64, then 20 and one a character of the exact size of the
  text, whose memory is 4 bytes a character where it is not ASCII;
* functions of the actor's are called where nothing of CPython's JSON is at work: after
  the text is read, before the value is written (`pvm.modules.json_hooks`);
* a text that is refused is a `JSONDecodeError`, a value a `ValueError`, or a
  `TypeError` for a type without a form.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from json.encoder import (  # type: ignore[attr-defined] # of CPython
    c_make_encoder,
    encode_basestring,
    encode_basestring_ascii,
)
from typing import Final, NamedTuple, NoReturn, TypeAlias, TypeGuard

from pvm import costs
from pvm.errors import JSONDecodeError
from pvm.language import KEY_LENGTH_MAX
from pvm.meter import Meter
from pvm.modules.arguments import require_bool, require_int, require_str
from pvm.modules.base64 import charge_text
from pvm.modules.json_hooks import DEPTH_MAX, Reading, Writing, hook
from pvm.runtime.context import Bound, ModuleContext
from pvm.runtime.exceptions import refused
from pvm.runtime.values import INT_BITS_MAX, is_key, nested_in

_FUNCTIONS: Final = ("dumps", "loads")
EXPORTS: Final = frozenset({*_FUNCTIONS, "JSONDecodeError"})
ATTRIBUTES: Final = frozenset({"doc", "msg"})
"""Of a `JSONDecodeError`. Where the text went wrong is said differently by versions."""

INT_DIGITS_MAX: Final = 1_234
INDENT_MAX: Final = 8
SEPARATOR_LENGTH_MAX: Final = 16

_Container: TypeAlias = "list[object] | tuple[object, ...] | dict[object, object]"
_JsonValue: TypeAlias = (
    "int | str | bool | list[_JsonValue] | dict[str, _JsonValue] | None"
)

_OTHER_THAN_BRACKETS = bytes(n for n in range(256) if n not in b"[]{}")
_DIGITS_TO_ZERO = bytes(
    ord("0") if n in b"0123456789" else ord(" ") for n in range(256)
)
_SPACE = " \t\n\r"
"""What may stand around a value (RFC 8259 §2)."""
_LONG_INTEGER = b"0" * (INT_DIGITS_MAX + 1)
_INT_MAGNITUDE_BITS_FREE = 64
_WORD = 1 << _INT_MAGNITUDE_BITS_FREE
_SHORT_ITEMS_MAX = 16
"""Of a dict whose text may be made before it is paid for: some 13,000 bytes at most."""


def make(context: ModuleContext) -> Mapping[str, object]:
    """The names of `json` for one execution."""
    functions = _Json(context)
    names: dict[str, object] = {name: getattr(functions, name) for name in _FUNCTIONS}
    names["JSONDecodeError"] = JSONDecodeError
    return names


class _Json(Bound):
    """The functions of the module."""

    __slots__ = ()

    def loads(  # noqa: PLR0913 - as in CPython
        self,
        s: object,
        *,
        cls: object = None,
        object_hook: object = None,
        parse_float: object = None,
        parse_int: object = None,
        parse_constant: object = None,
        object_pairs_hook: object = None,
    ) -> object:
        """The value that JSON text, a str or bytes of UTF-8, stands for."""
        meter = self._meter
        meter.charge_cycles(costs.JSON)
        _require_none("cls", cls)
        hooks = (object_hook, object_pairs_hook, parse_int, parse_float, parse_constant)
        is_plain = all(one is None for one in hooks)
        reading = None if is_plain else Reading(meter, *hooks)
        if type(s) is bytes:
            meter.charge_cycles(len(s))
            text = s.decode("utf-8")
        else:
            text = require_str(s)
            meter.charge_cycles(len(text))
        # Characters outside ASCII take more than one byte of memory and of UTF-8.
        size = len(text) if text.isascii() else 4 * len(text)
        meter.charge_cycles(size - len(text))
        meter.charge_memory(costs.DECODED_BYTES_PER_BYTE * size)
        try:
            if reading is None:
                return _read(text, meter)
            meter.charge_cycles(costs.JSON)
            meter.charge_memory(costs.DECODED_BYTES_PER_BYTE * size)
            read = _read_in_steps(text, meter, reading.decoder(_refuse_fraction))
        except _UnreadError as error:
            raise refused(JSONDecodeError(str(error), text)) from None
        return reading.value_of(read)

    def dumps(  # noqa: PLR0913 - as in CPython
        self,
        obj: object,
        *,
        skipkeys: object = False,
        ensure_ascii: object = True,
        check_circular: object = True,
        allow_nan: object = True,
        cls: object = None,
        indent: object = None,
        separators: object = None,
        default: object = None,
        sort_keys: object = False,
    ) -> str:
        """JSON text of a value."""
        meter = self._meter
        meter.charge_cycles(costs.JSON)
        # Circles are refused and NaN does not exist, whatever is said of them.
        require_bool(check_circular)
        require_bool(allow_nan)
        _require_none("cls", cls)
        layout = _layout(indent, separators, is_ascii=require_bool(ensure_ascii))
        is_sorted = require_bool(sort_keys)
        if require_bool(skipkeys) or default is not None:
            function = hook("default", default)
            obj = Writing(meter, function, is_skipping=bool(skipkeys)).copy_of(obj)
        if layout is _PLAIN and not is_sorted and _is_short(obj):
            text = _encode(obj, layout, is_sorted=False)
            if "\\" not in text:  # nothing was escaped, which costs more
                items = costs.WALK_CONTAINER + 2 * costs.WALK_ITEM * len(obj)
                meter.charge_cycles(items + len(text))
                charge_text(meter, len(text))
                return text
        walk = _Walk(meter, layout, is_sorted=is_sorted)
        size = walk.size_of(obj)
        charge_text(meter, size if walk.is_ascii else 4 * size)
        text = _encode(obj, layout, is_sorted=is_sorted)
        assert len(text) == size, "the walk foresees the size"
        return text


def _require_none(name: str, value: object) -> None:
    """Refuse what has no form here."""
    if value is not None:
        raise refused(TypeError(f"json takes no {name} here: None is wanted"))


class _UnreadError(ValueError):
    """Why a text is refused."""


class _Layout(NamedTuple):
    """How `dumps` sets out its text."""

    indent: str | None
    item: str
    key: str
    is_ascii: bool


_PLAIN: Final = _Layout(None, ", ", ": ", is_ascii=True)
_PLAIN_ENCODE: Final[Callable[[object, int], Iterable[str]]] = c_make_encoder(
    markers=None,
    default=None,
    encoder=encode_basestring_ascii,
    indent=None,
    key_separator=": ",
    item_separator=", ",
    sort_keys=False,
    skipkeys=False,
    allow_nan=False,
)
"""What `JSONEncoder` makes anew for each text: without a check for circles, an encoder
of other types, an indent, sorted or skipped keys and NaN, none of which come here."""


def _refuse_fraction(_: str) -> NoReturn:
    raise _UnreadError("fractions, exponents and NaN are not admitted")


_DECODER: Final = json.JSONDecoder(
    parse_float=_refuse_fraction, parse_constant=_refuse_fraction
)


def _is_short(value: object) -> TypeGuard[dict[str, object]]:
    """Whether it is a dict of few short scalars, written as soon as foreseen."""
    if type(value) is not dict or len(value) > _SHORT_ITEMS_MAX:
        return False
    for key, item in value.items():
        if type(key) is not str or len(key) > costs.TEXT_FREE:
            return False
        if type(item) is str:
            if len(item) > costs.TEXT_FREE:
                return False
        elif type(item) is not int or not -_WORD < item < _WORD:
            return False
    return True


def _encode(value: object, layout: _Layout, *, is_sorted: bool) -> str:
    """The text of a value that was walked."""
    if layout is _PLAIN and not is_sorted:
        return "".join(_PLAIN_ENCODE(value, 0))
    encoder = json.JSONEncoder(
        check_circular=False,  # the walk ends only where there is no circle
        ensure_ascii=layout.is_ascii,
        sort_keys=is_sorted,
        indent=layout.indent,
        separators=(layout.item, layout.key),
    )
    return encoder.encode(value)


def _read(text: str, meter: Meter) -> object:
    """What a text says, nothing of it asked of the actor."""
    flat = _read_flat(text) if len(text) <= KEY_LENGTH_MAX else None
    if flat is not None:
        items = 2 * len(flat)
        meter.charge_cycles(costs.WALK_CONTAINER + costs.WALK_ITEM * items)
        return flat
    return _read_in_steps(text, meter, _DECODER)


def _read_in_steps(text: str, meter: Meter, decoder: json.JSONDecoder) -> object:
    structure = _structure_of(_outside_strings(text))
    meter.charge_cycles(structure if decoder is _DECODER else 2 * structure)
    body = text.strip(_SPACE)
    try:  # as `decode`, which would look for that space with patterns
        value, end = decoder.raw_decode(body)
    except json.JSONDecodeError:
        raise _UnreadError("not JSON") from None
    if end != len(body):
        raise _UnreadError("not JSON")
    if len(text) > KEY_LENGTH_MAX:  # no shorter one holds anything too long
        _require_actor_value(value)
    return value


def _read_flat(text: str) -> dict[str, _JsonValue] | None:
    """What a short text says, if it is one dict of scalars, and plainly so.

    None where strings hold what looks like structure, where a key comes twice, and
    where the text is not JSON: there it is looked at in steps.
    """
    if text[:1] != "{" or "[" in text or "{" in text[1:]:
        return None
    value: dict[str, _JsonValue]
    try:
        value, end = _DECODER.raw_decode(text)
    except ValueError:
        return None
    count = len(value)
    is_plain = text.count(",") == count - 1 and text.count(":") == count
    return value if is_plain and end == len(text) else None


def _outside_strings(text: str) -> bytes:
    """`text` without what lies in its strings, as far as it is well formed.

    Escaped characters go first, so that every quote left begins or ends a string.
    """
    if "\\" in text:
        text = text.replace("\\\\", "").replace('\\"', "")
    return "".join(text.split('"')[::2]).encode("ascii", "replace")


def _structure_of(outside: bytes) -> int:
    """What parsing will build, in cycles; refuses depth and long integers."""
    containers = outside.count(b"[") + outside.count(b"{")
    items = containers + outside.count(b",") + outside.count(b":")
    if containers > DEPTH_MAX:
        _refuse_deep(outside.translate(None, _OTHER_THAN_BRACKETS))
    is_long = len(outside) > INT_DIGITS_MAX
    if is_long and _LONG_INTEGER in outside.translate(_DIGITS_TO_ZERO):
        raise _UnreadError("an integer of more than 1,234 digits")
    return costs.WALK_CONTAINER * containers + costs.WALK_ITEM * items


def _refuse_deep(brackets: bytes) -> None:
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"[{" else -1
        if depth > DEPTH_MAX:
            raise _UnreadError("nested more than 64 deep")


def _require_actor_value(value: object) -> None:
    """Refuse what an actor could not have made; paid by the structure's charge."""
    stack = [value]
    while stack:
        item = stack.pop()
        if type(item) is list:
            stack.extend(item)
        elif type(item) is dict:
            _require_keys(item)
            stack.extend(item.values())
        elif type(item) is tuple:  # an object's pairs, for hooks
            _require_keys([key for key, _ in item])
            stack.extend(value for _, value in item)
        elif type(item) is int and item.bit_length() > INT_BITS_MAX:
            raise _UnreadError("an integer of more than 4,096 bits")


def _require_keys(keys: Collection[str]) -> None:
    if keys and max(map(len, keys)) > KEY_LENGTH_MAX:
        raise _UnreadError("a key of more than 1,024 characters")


def _layout(indent: object, separators: object, *, is_ascii: bool) -> _Layout:
    if indent is None and separators is None and is_ascii:
        return _PLAIN
    space = None if indent is None else _indent(indent)
    if separators is None:
        return _Layout(space, ", " if space is None else ",", ": ", is_ascii)
    if type(separators) is not tuple and type(separators) is not list:
        raise refused(TypeError("a pair of separators is wanted"))
    if len(separators) != 2:  # noqa: PLR2004
        raise refused(ValueError("a pair of separators is wanted"))
    item, key = map(require_str, separators)
    for separator in (item, key):
        if len(separator) > SEPARATOR_LENGTH_MAX or not separator.isascii():
            raise refused(ValueError("a separator is ASCII, at most 16 characters"))
    return _Layout(space, item, key, is_ascii)


def _indent(indent: object) -> str:
    """What stands before an item for each level."""
    if type(indent) is str:
        if len(indent) > INDENT_MAX or not indent.isascii():
            raise refused(ValueError("an indent is ASCII, at most 8 characters"))
        return indent
    width = require_int(indent)
    if not 0 <= width <= INDENT_MAX:
        raise refused(ValueError("an indent from 0 to 8 is wanted"))
    return " " * width


class _Walk:
    """The walk of one value before it is written: charges, and foresees the size."""

    __slots__ = (
        "_encode", "_is_sorted", "_layout", "_meter", "_waiting", "is_ascii"
    )  # fmt: skip

    def __init__(self, meter: Meter, layout: _Layout, *, is_sorted: bool) -> None:
        self._meter = meter
        self._layout = layout
        self._is_sorted = is_sorted
        self._encode = encode_basestring_ascii if layout.is_ascii else encode_basestring
        self.is_ascii = True
        """Of the text, as far as it was walked."""
        self._waiting: list[Iterator[object]] = []

    def size_of(self, value: object) -> int:
        """Characters of the text of `value`; everything is charged when it returns."""
        size = self._size_of_value(value, 1)
        while self._waiting:
            item = next(self._waiting[-1], None)
            if item is None:
                self._waiting.pop()
                continue
            depth = len(self._waiting) + 1
            if depth > DEPTH_MAX:
                raise refused(ValueError("nested more than 64 deep"))
            size += self._size_of_value(item, depth)
        return size

    def _size_of_value(self, value: object, depth: int) -> int:
        if type(value) is list or type(value) is tuple or type(value) is dict:
            return self._size_of_container(value, depth)
        size = self._size_of_item(value)
        self._meter.charge_cycles(size)
        return size

    def _size_of_container(self, container: _Container, depth: int) -> int:
        count = len(container)
        is_dict = type(container) is dict
        self._charge_items(count, is_dict=is_dict)
        layout = self._layout
        size = 2
        if count:
            size += (count - 1) * len(layout.item)
            if layout.indent is not None:
                width = len(layout.indent)
                size += count * (1 + width * depth) + 1 + width * (depth - 1)
        if type(container) is dict:
            size += count * len(layout.key)
            for key in container:
                size += self._size_of_key(key)
            container = tuple(container.values())
        is_flat = True
        for item in container:
            if type(item) is str:
                item_size = self._size_of_text(item)
            else:
                item_size = self._size_of_item(item)
            size += item_size
            is_flat = is_flat and item_size > 0
        self._meter.charge_cycles(size)
        if not is_flat:
            self._waiting.append(nested_in(container))
        return size

    def _charge_items(self, count: int, *, is_dict: bool) -> None:
        items = 2 * count if is_dict else count
        cycles = costs.WALK_CONTAINER + costs.WALK_ITEM * items
        if self._layout.indent is not None:
            cycles += costs.JSON_INDENT_PER_ITEM * (1 + items)
        if is_dict and self._is_sorted:
            cycles += count * count.bit_length()
        self._meter.charge_cycles(cycles)

    def _size_of_item(self, item: object) -> int:
        """Of a scalar; 0 of a container, whose turn comes."""
        if type(item) is str:
            return self._size_of_text(item)
        if type(item) is int:
            return self._size_of_int(item)
        if item is None or type(item) is bool:
            return 5 if item is False else 4
        if type(item) is list or type(item) is tuple or type(item) is dict:
            return 0
        raise refused(TypeError("a value of this type has no form in JSON"))

    def _size_of_key(self, key: object) -> int:
        if type(key) is str and len(key) <= KEY_LENGTH_MAX:
            return self._size_of_text(key)
        if not is_key(key):
            raise refused(TypeError("a key must be str or int"))
        return self._size_of_item(key) + 2

    def _size_of_text(self, text: str) -> int:
        if not text.isascii() and not self._layout.is_ascii:
            self.is_ascii = False
        if len(text) <= costs.TEXT_FREE:  # no work to speak of: written at once
            size = len(self._encode(text))
            if size > len(text) + 2:
                self._meter.charge_cycles(len(text))
            return size
        if text.isascii() and text.isprintable() and not ('"' in text or "\\" in text):
            return len(text) + 2
        # Escapes: the only way to know is to write them, one text at a time.
        self._meter.charge_cycles(len(text))
        return len(self._encode(text))

    def _size_of_int(self, number: int) -> int:
        bits = number.bit_length()
        if bits > INT_BITS_MAX:
            raise refused(ValueError("an integer of more than 4,096 bits"))
        if bits > _INT_MAGNITUDE_BITS_FREE:
            digits = bits * 30_103 // 100_000 + 1  # log10(2), rounded up
            work = costs.TEXT_OF_INT + digits + bits * bits // costs.TEXT_OF_INT_PER
            self._meter.charge_cycles(work)
        return len(str(number))
