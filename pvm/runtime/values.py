"""Which values cross the border of an execution, and what carrying them costs.

A handler's return value, the values of `self.storage` and `cbor_encode` leave actor
code as canonical CBOR; `cbor_decode` and storage bring them back (host-api.md §1, §3).

Rules (sandbox.md §4, §5):

* exact types only: int, str, bytes, bool, None, list, tuple, dict with str or int
  keys. Neither our ordered set nor an instance has a form;
* a value is walked on an explicit stack before anything is built: 16 cycles a
  container, 8 an item (a key and its value count as three, for keys are sorted and
  compared besides), nested at most 64. What shares
  structure is walked as often as it occurs, so that `x = [x, x]` forty times is
  stopped by the charge;
* then 20 cycles and one a byte, and memory for the bytes; the size is known and paid
  before the bytes exist;
* decoded values cost 20 bytes of memory a byte, before they are decoded.
"""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from pvm import costs
from pvm.cbor import (
    DEPTH_MAX,
    KEY_INT_BOUND,
    MAP_PAIR_ITEMS,
    MalformedCbor,
    UnencodableValue,
    Value,
)
from pvm.cbor import decode as _decode
from pvm.cbor import encode as _encode
from pvm.language import KEY_LENGTH_MAX
from pvm.meter import Meter

__all__ = [
    "INT_BITS_MAX",
    "MalformedCbor",
    "UnencodableValue",
    "encode_return",
    "from_cbor",
    "is_key",
    "to_cbor",
    "type_name",
]

INT_BITS_MAX: Final = 4_096
"""No integer of an actor is longer (sandbox.md §5)."""

_WORD = 1 << 64
_FIRST_BEYOND_UINT: Final = b"\x20"
"""What begins lower is an integer of 0 or more, in nine bytes at most."""

_SCALARS: Final = frozenset({int, bool, str, bytes, type(None)})

_Container: TypeAlias = "list[object] | tuple[object, ...] | dict[object, object]"


def encode_return(value: object, meter: Meter) -> bytes:
    """What a receipt holds of a handler's return value (host-api.md §1).

    `None` is empty, bytes are themselves, str is UTF-8, all else canonical CBOR.
    Charges one cell a byte, and of cycles those of `to_cbor` where it is used.

    Raises:
        UnencodableValue: no form, or more than 65,536 bytes.
    """
    if value is None:
        return b""
    if type(value) is bytes:
        returned = value
    elif type(value) is str:
        _refuse_long(len(value))  # before the work of encoding it
        returned = _utf8(value)
    else:
        returned = to_cbor(value, meter)
    _refuse_long(len(returned))
    meter.charge_cells(len(returned))
    return returned


def to_cbor(value: object, meter: Meter) -> bytes:
    """Canonical CBOR of an actor's value, charged as the module says.

    Raises:
        UnencodableValue: the value, or something in it, has no form.
    """
    if type(value) is int and 0 <= value < _WORD:  # nine bytes at most
        encoded = _encode(value)
        meter.charge_cycles(costs.CODEC + len(encoded))
        return encoded
    meter.charge_cycles(costs.CODEC)
    size = _charge_walk(value, meter)
    if size > costs.TEXT_FREE:
        meter.charge_memory(costs.TEXT_BYTES + size)
    encoded = _encode(value, depth_max=DEPTH_MAX)
    assert len(encoded) == size, "the walk foresees the size"
    return encoded


def from_cbor(data: bytes, meter: Meter) -> Value:
    """The actor's value that `data` encodes, charged as the module says.

    Raises:
        MalformedCbor: not canonical, or a value that `to_cbor` would refuse.
    """
    meter.charge_cycles(costs.CODEC + len(data))
    meter.charge_memory(costs.DECODED_BYTES_PER_BYTE * len(data))
    if data[:1] < _FIRST_BEYOND_UINT:
        return _decode(data)

    def charge_container(items: int) -> None:
        meter.charge_cycles(costs.WALK_CONTAINER + costs.WALK_ITEM * items)

    value = _decode(data, depth_max=DEPTH_MAX, enter=charge_container)
    _require_actor_value(value)
    return value


def is_key(key: object) -> bool:
    """True if a decoded dict may have this key: a str or int within the limits."""
    if type(key) is str:
        return len(key) <= KEY_LENGTH_MAX
    return type(key) is int and -KEY_INT_BOUND < key < KEY_INT_BOUND


def type_name(value: object) -> str:
    """What to call the type of `value` in a message: the same on every interpreter.

    A class of the actor's may be named anything, so it is only "an object".
    """
    kind = type(value)
    if kind.__module__ == "pvm.runtime.ordered_set":
        return "set"
    return kind.__name__ if kind.__module__ == "builtins" else "an object"


def _charge_walk(value: object, meter: Meter) -> int:
    """Charge the walk and the bytes of `value`; returns the size of its encoding.

    Depth first, each container paid before it is looked into, each item's bytes
    before the next item.
    """
    size = max(0, _scalar_bytes(value, meter))
    meter.charge_cycles(size)
    if size:
        return size  # of a scalar: there is nothing in it
    # Iterators wait, not items: what shares structure would take room for each.
    waiting = [nested_in([value])]
    while waiting:
        item = next(waiting[-1], None)
        if item is None:
            waiting.pop()
            continue
        container = _container(item)
        if len(waiting) > DEPTH_MAX:
            raise UnencodableValue(f"nested more than {DEPTH_MAX} deep")
        count = len(container)
        items = MAP_PAIR_ITEMS * count if type(container) is dict else count
        meter.charge_cycles(costs.WALK_CONTAINER + costs.WALK_ITEM * items)
        bytes_here = _head_bytes(count)
        if type(container) is dict:
            bytes_here += _keys_bytes(container, meter)
            container = tuple(container.values())
        for item in container:
            bytes_here += max(0, _scalar_bytes(item, meter))
        meter.charge_cycles(bytes_here)
        size += bytes_here
        waiting.append(nested_in(container))
    return size


def nested_in(items: Iterable[object]) -> Iterator[object]:
    """Those of the items that are no scalars."""
    return (item for item in items if type(item) not in _SCALARS)


def _container(value: object) -> _Container:
    if type(value) is list or type(value) is tuple or type(value) is dict:
        return value
    raise UnencodableValue(f"{type_name(value)} has no form as CBOR")


def _keys_bytes(container: dict[object, object], meter: Meter) -> int:
    size = 0
    for key in container:
        if not is_key(key):
            raise UnencodableValue(f"a key must be str or int, not {type_name(key)}")
        size += _scalar_bytes(key, meter)
    return size


def _scalar_bytes(value: object, meter: Meter) -> int:
    """Bytes of an encoded scalar; -1 for what is none.

    Text that is not ASCII has to be encoded to know: that is paid by the character.
    """
    if type(value) is int:
        return _head_bytes(value) if 0 <= value < 1 << 64 else _int_bytes(value)
    if type(value) is str:
        length = len(value)
        if not value.isascii():
            meter.charge_cycles(length)
            length = len(_utf8(value))
    elif type(value) is bytes:
        length = len(value)
    elif value is None or type(value) is bool:
        return 1
    else:
        return -1
    return _head_bytes(length) + length


def _int_bytes(value: int) -> int:
    if value.bit_length() > INT_BITS_MAX:
        raise UnencodableValue(f"an integer of more than {INT_BITS_MAX} bits")
    magnitude = value if value >= 0 else -1 - value
    if magnitude >> 64 == 0:
        return _head_bytes(magnitude)
    length = (magnitude.bit_length() + 7) // 8
    return 1 + _head_bytes(length) + length  # tag, head of the bytes, bytes


def _head_bytes(argument: int) -> int:
    if argument < 24:  # noqa: PLR2004 - RFC 8949 §3
        return 1
    if argument < 1 << 8:
        return 2
    if argument < 1 << 16:
        return 3
    return 5 if argument < 1 << 32 else 9


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UnencodableValue("str with a lone surrogate") from None


def _refuse_long(length: int) -> None:
    if length > costs.RETURNED_BYTES_MAX:
        raise UnencodableValue(f"more than {costs.RETURNED_BYTES_MAX} bytes")


def _require_actor_value(value: Value) -> None:
    """Refuse what an actor could not have made; paid by the charge of the decoding."""
    if type(value) is int and -_WORD < value < _WORD:
        return
    stack: list[Value] = [value]
    while stack:
        item = stack.pop()
        if type(item) is list:
            stack.extend(item)
        elif type(item) is dict:
            if not all(map(is_key, item)):
                raise MalformedCbor("a key that no dict of an actor may have")
            stack.extend(item.values())
        elif type(item) is int and item.bit_length() > INT_BITS_MAX:
            raise MalformedCbor(f"an integer of more than {INT_BITS_MAX} bits")
