"""Canonical CBOR: the one byte form of every value that is hashed or stored.

Why a codec of our own: these bytes are consensus (D5), so a value must have exactly
one form and a form exactly one value. `cbor2` decodes tags into regular
expressions, decimals, fractions, dates and shared references, whose cost and errors
a sender would choose, and its canonical mode sorts map keys by length first
(RFC 7049) rather than by their bytes. It serves as the other half of a differential
test instead.

Rules (RFC 8949 §4.2.1 and what we leave out):

* values: int of any size, bytes, str of valid UTF-8, bool, None, list (a tuple
  encodes as one), dict; nothing else, and no subclass of these;
* the shortest head; lengths definite; integers beyond 64 bits as tags 2 and 3
  without leading zeros; no other tag, float, undefined or simple value;
* map keys in the order of their encodings, each once. A key is str, bytes or an
  int of magnitude below 2**60: `True` and `1` are one key to Python, and larger
  integers can be chosen to collide in a dict, which makes it quadratic;
* containers nest at most `depth_max` deep.

`decode` accepts exactly what `encode` returns: everything else is `MalformedCbor`,
after work that is linear in the bytes given. A length that a head claims is
believed only when the bytes are there.
"""

from collections.abc import Callable, Sequence
from struct import Struct
from types import MappingProxyType
from typing import Final, TypeAlias

Value: TypeAlias = (
    "int | bytes | str | bool | list[Value] | dict[int | bytes | str, Value] | None"
)
"""What `decode` returns."""

DEPTH_MAX: Final = 64
"""Containers inside one another: far below any stack, above any sensible record."""

MAP_PAIR_ITEMS: Final = 6
"""A pair of a map is the work of six items: its key is sorted, or compared, too."""

KEY_INT_BOUND: Final = 2**60
"""Integer keys lie strictly between -KEY_INT_BOUND and KEY_INT_BOUND."""

_INT, _NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP, _TAG, _SIMPLE = range(8)
_INFO_DIRECT = 24  # below: the head's low five bits are the argument itself
_INFO_RESERVED = 28  # from here: reserved, or an indefinite length
_ARGUMENT_MIN = (24, 1 << 8, 1 << 16, 1 << 32)  # by width: smaller has a shorter head
_WORD_BOUND = 1 << 64
_BIGNUM_BYTES_MIN = 9
_TEXT_HEAD = _TEXT << 5
_BIGNUM_TAGS = (_TAG << 5 | 2, _TAG << 5 | 3)
_BIGNUM_HEADS: Final = tuple(bytes((tag,)) for tag in _BIGNUM_TAGS)
_FALSE, _TRUE, _NULL = b"\xf4", b"\xf5", b"\xf6"
_SIMPLE_VALUES: Final = MappingProxyType({0xF4: False, 0xF5: True, 0xF6: None})

_HEADS: Final = tuple(
    tuple(bytes((major << 5 | n,)) for n in range(_INFO_DIRECT))
    + tuple(bytes((major << 5 | 24, n)) for n in range(_INFO_DIRECT, 1 << 8))
    for major in range(_TAG)
)
_ARRAY_HEADS: Final = _HEADS[_ARRAY]
_INT_HEADS: Final = _HEADS[_INT]
_BYTES_HEADS: Final = _HEADS[_BYTES]
_TEXT_HEADS: Final = _HEADS[_TEXT]
_HEAD_2: Final = Struct(">BH").pack
_HEAD_4: Final = Struct(">BI").pack
_HEAD_8: Final = Struct(">BQ").pack


_Limits: TypeAlias = tuple[int, Callable[[int], None]]
"""While reading: containers that may still be entered, and what to call then."""


class MalformedCbor(ValueError):  # noqa: N818 - the design's name
    """Bytes that are not the canonical form of any value."""


class UnencodableValue(ValueError):  # noqa: N818 - named like its counterpart
    """A value that has no canonical form here: wrong type, key or depth."""


def encode(value: object, *, depth_max: int = DEPTH_MAX) -> bytes:
    """The canonical bytes of `value`.

    Raises:
        UnencodableValue: a type, key, lone surrogate or nesting that is not admitted.

    The caller bounds size: shared structure is written out as often as it occurs.
    """
    try:
        if type(value) is list and len(value) < 1 << 8 and depth_max > 0:
            parts = [_ARRAY_HEADS[len(value)]]
            _write(value, parts.append, depth_max - 1)
        elif type(value) is int:
            return _integer(value)
        else:
            parts = []
            _write((value,), parts.append, depth_max)
    except UnicodeEncodeError:
        raise UnencodableValue("str with a lone surrogate") from None
    return b"".join(parts)


def decode(
    data: bytes,
    *,
    depth_max: int = DEPTH_MAX,
    enter: Callable[[int], None] | None = None,
) -> Value:
    """The value whose canonical form is `data`, all of it.

    Args:
        data: the encoded value.
        depth_max: how deep containers may nest.
        enter: called before a container is read with the number of its items, a
            map's pair counting as `MAP_PAIR_ITEMS`: where a metered caller charges.
            It may raise.

    Raises:
        MalformedCbor: `data` is not what `encode` would return for any value.
    """
    try:
        value, end = _read_one(data, (depth_max, enter or _enter_freely))
    except IndexError:
        raise MalformedCbor("ends early") from None
    except UnicodeDecodeError:
        raise MalformedCbor("text that is not UTF-8") from None
    # A slice beyond the end is short without complaint; this is where it shows.
    if end != len(data):
        raise MalformedCbor("ends early" if end > len(data) else "bytes left over")
    return value


def _enter_freely(items: int) -> None:
    """Charge nothing: what the node reads of its own is paid elsewhere."""


_SCALAR: Final = (0, _enter_freely)


def _head(major: int, argument: int) -> bytes:
    """The shortest head; `argument` is below 2**64."""
    if argument < 1 << 8:
        return _HEADS[major][argument]
    if argument < 1 << 16:
        return _HEAD_2(major << 5 | 25, argument)
    if argument < 1 << 32:
        return _HEAD_4(major << 5 | 26, argument)
    return _HEAD_8(major << 5 | 27, argument)


def _write(  # noqa: C901 - a line for each width
    values: Sequence[object], append: Callable[[bytes], None], depth_left: int
) -> None:
    # What the node's records are made of costs no call here.
    for value in values:
        if type(value) is int:
            if value < 1 << 8:
                append(_INT_HEADS[value] if value >= 0 else _integer(value))
            elif value < 1 << 16:
                append(_HEAD_2(25, value))
            elif value < 1 << 32:
                append(_HEAD_4(26, value))
            else:
                append(_HEAD_8(27, value) if value < _WORD_BOUND else _integer(value))
        elif type(value) is bytes:
            length = len(value)
            append(_BYTES_HEADS[length] if length < 1 << 8 else _head(_BYTES, length))
            append(value)
        elif type(value) is str:
            text = value.encode()
            length = len(text)
            append(_TEXT_HEADS[length] if length < 1 << 8 else _head(_TEXT, length))
            append(text)
        elif type(value) is list and depth_left > 0:
            length = len(value)
            append(_ARRAY_HEADS[length] if length < 1 << 8 else _head(_ARRAY, length))
            _write(value, append, depth_left - 1)
        else:
            _write_other(value, append, depth_left)


def _write_other(
    value: object, append: Callable[[bytes], None], depth_left: int
) -> None:
    if value is None:
        append(_NULL)
    elif type(value) is list or type(value) is tuple:
        if depth_left <= 0:
            raise UnencodableValue("nested too deeply")
        append(_head(_ARRAY, len(value)))
        _write(value, append, depth_left - 1)
    elif type(value) is bool:
        append(_TRUE if value else _FALSE)
    elif type(value) is dict:
        if depth_left <= 0:
            raise UnencodableValue("nested too deeply")
        _write_map(value, append, depth_left - 1)
    else:
        raise UnencodableValue(f"{type(value).__name__} has no form")


def _write_map(
    value: dict[object, object], append: Callable[[bytes], None], depth_left: int
) -> None:
    append(_head(_MAP, len(value)))
    if not value:
        return
    # No two encodings are equal, so the sort never looks at a value.
    for key, item in sorted((_key(key), item) for key, item in value.items()):
        append(key)
        _write((item,), append, depth_left)


def _key(key: object) -> bytes:
    if type(key) is str:
        text = key.encode()
        return _head(_TEXT, len(text)) + text
    if type(key) is bytes:
        return _head(_BYTES, len(key)) + key
    if type(key) is not int:
        raise UnencodableValue(f"a key of type {type(key).__name__}")
    if not -KEY_INT_BOUND < key < KEY_INT_BOUND:
        raise UnencodableValue("an integer key of 2**60 or more")
    return _integer(key)


def _integer(value: int) -> bytes:
    major = _INT
    if value < 0:
        major, value = _NEGATIVE, -1 - value
    if value < _WORD_BOUND:
        return _head(major, value)
    digits = value.to_bytes((value.bit_length() + 7) // 8)
    return _BIGNUM_HEADS[major] + _head(_BYTES, len(digits)) + digits


def _read(
    data: bytes, position: int, count: int, limits: _Limits
) -> tuple[list[Value], int]:
    """`count` values from `position`, and where they end.

    Every round consumes a byte or raises `IndexError`, so that an absurd `count`
    costs no more than the bytes there are.
    """
    values: list[Value] = []
    append = values.append
    for _ in range(count):
        head = data[position]
        position += 1
        if head < _INFO_DIRECT:
            append(head)
            continue
        argument = head & 31
        if argument >= _INFO_DIRECT:
            argument, position = _argument(data, position, argument)
        major = head >> 5
        if major == _BYTES:
            append(data[position : position + argument])
            position += argument
        elif major == _INT:
            append(argument)
        elif major == _ARRAY:
            _require_bytes_left(data, position, argument)
            inner = _enter(argument, limits)
            items, position = _read(data, position, argument, inner)
            append(items)
        else:
            value, position = _read_other(data, position, head, argument, limits)
            append(value)
    return values, position


def _read_one(data: bytes, limits: _Limits) -> tuple[Value, int]:
    """The first value, and where it ends; an integer, as actors store most, at once."""
    head = data[0]
    if head < _INFO_DIRECT:
        return head, 1
    if head < _INFO_RESERVED:
        return _argument(data, 1, head)
    (value,), end = _read(data, 0, 1, limits)
    return value, end


def _require_bytes_left(data: bytes, position: int, items: int) -> None:
    if items > len(data) - position:  # each takes a byte at least
        raise MalformedCbor("ends early")


def _enter(items: int, limits: _Limits) -> _Limits:
    depth_left, enter = limits
    if depth_left <= 0:
        raise MalformedCbor("nested too deeply")
    enter(items)
    return depth_left - 1, enter


def _argument(data: bytes, position: int, info: int) -> tuple[int, int]:
    if info >= _INFO_RESERVED:
        raise MalformedCbor("an indefinite length or a reserved head")
    end = position + (1 << info - _INFO_DIRECT)
    argument = int.from_bytes(data[position:end])
    if argument < _ARGUMENT_MIN[info - _INFO_DIRECT]:
        raise MalformedCbor("ends early, or a head longer than it need be")
    return argument, end


def _read_other(
    data: bytes, position: int, head: int, argument: int, limits: _Limits
) -> tuple[Value, int]:
    major = head >> 5
    if major == _TEXT:
        end = position + argument
        return data[position:end].decode(), end
    if major == _NEGATIVE:
        return -1 - argument, position
    if major == _MAP:
        _require_bytes_left(data, position, 2 * argument)
        inner = _enter(MAP_PAIR_ITEMS * argument, limits)
        return _read_map(data, position, argument, inner)
    if major == _TAG:
        return _read_bignum(data, position, head)
    if head not in _SIMPLE_VALUES:
        raise MalformedCbor("a float, undefined or unknown simple value")
    return _SIMPLE_VALUES[head], position


def _read_bignum(data: bytes, position: int, head: int) -> tuple[int, int]:
    if head not in _BIGNUM_TAGS:
        raise MalformedCbor("a tag other than 2 and 3")
    if data[position] >> 5 != _BYTES:
        raise MalformedCbor("a bignum that is not bytes")
    (digits,), position = _read(data, position, 1, _SCALAR)
    assert type(digits) is bytes
    if len(digits) < _BIGNUM_BYTES_MIN or not digits[0]:
        raise MalformedCbor("a bignum longer than it need be")
    value = int.from_bytes(digits)
    return (value if head == _BIGNUM_TAGS[0] else -1 - value), position


def _read_map(
    data: bytes, position: int, count: int, limits: _Limits
) -> tuple[dict[int | bytes | str, Value], int]:
    values: dict[int | bytes | str, Value] = {}
    before = b""  # below every encoding
    for _ in range(count):
        key, end = _read_key(data, position)
        encoded = data[position:end]
        if encoded <= before:
            raise MalformedCbor("keys out of order, or one twice")
        before = encoded
        (values[key],), position = _read(data, end, 1, limits)
    return values, position


def _read_key(data: bytes, position: int) -> tuple[int | bytes | str, int]:
    head = data[position]
    if _TEXT_HEAD <= head < _TEXT_HEAD + _INFO_DIRECT:  # the commonest key by far
        end = position + 1 + head - _TEXT_HEAD
        return data[position + 1 : end].decode(), end
    if head >> 5 > _TEXT:
        raise MalformedCbor("a key that is not str, bytes or a small int")
    (key,), end = _read(data, position, 1, _SCALAR)
    assert type(key) is str or type(key) is bytes or type(key) is int
    if type(key) is int and not -KEY_INT_BOUND < key < KEY_INT_BOUND:
        raise MalformedCbor("an integer key of 2**60 or more")
    return key, end
