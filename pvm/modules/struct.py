"""`struct` for actors: fixed layouts of integers and bytes.

Rules (sandbox.md §3): the format begins with the byte order, `<`, `>`, `!` or `=`
(here little-endian, whatever the machine), so that nothing depends on it; codes
`x c b B ? h H i I l L q Q s`, each with a count of at most 4,096; no spaces, no
floats. 10 cycles and one a byte of the format and of the data; a malformed format or
value is a `ValueError`.
"""

import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pvm import costs
from pvm.modules.arguments import require_bytes, require_str
from pvm.modules.base64 import charge_text
from pvm.runtime.context import Bound, ModuleContext
from pvm.runtime.exceptions import refused

EXPORTS: Final = frozenset({"calcsize", "pack", "unpack"})

COUNT_MAX: Final = 4_096

FORMAT_LENGTH_MAX: Final = 256
"""Characters of a format: the standard library makes and keeps an object of each."""

_COUNT_DIGITS_MAX = 4
_ORDERS = "<>!="
_SIZES: Final = MappingProxyType(
    {"x": 1, "c": 1, "b": 1, "B": 1, "?": 1, "h": 2, "H": 2, "i": 4, "I": 4}
    | {"l": 4, "L": 4, "q": 8, "Q": 8, "s": 1}
)
_TYPES: Final = MappingProxyType({"c": bytes, "s": bytes, "?": bool})  # int else


def make(context: ModuleContext) -> Mapping[str, object]:
    """The names of `struct` for one execution."""
    functions = _Struct(context)
    return {name: getattr(functions, name) for name in EXPORTS}


class _Struct(Bound):
    """The functions of the module."""

    __slots__ = ()

    def calcsize(self, fmt: object) -> int:
        """Bytes that the format takes."""
        return _size(self._parse(fmt)[1])

    def pack(self, fmt: object, *values: object) -> bytes:
        """The values in the format's layout."""
        native, fields = self._parse(fmt)
        size = _size(fields)
        self._meter.charge_cycles(size + costs.WALK_ITEM * len(values))
        charge_text(self._meter, size)
        wanted = _wanted(fields)
        if len(wanted) != len(values):
            raise refused(
                ValueError("as many values as the format has fields are wanted")
            )
        for value, kind in zip(values, wanted, strict=True):
            if type(value) is not kind:
                raise refused(TypeError("a value of another type than the format's"))
        try:
            return struct.pack(native, *values)
        except struct.error:
            raise refused(ValueError("a value that its field cannot hold")) from None

    def unpack(self, fmt: object, data: object) -> tuple[int | bytes | bool, ...]:
        """The values that lie in `data`, which is exactly as long as the format."""
        native, fields = self._parse(fmt)
        data = require_bytes(data)
        if len(data) != _size(fields):
            raise refused(ValueError("data of the format's size is wanted"))
        values = sum(_values(code, count) for code, count in fields)
        self._meter.charge_cycles(len(data) + costs.WALK_ITEM * values)
        self._meter.charge_memory(
            costs.SEQUENCE_BYTES + costs.ITERATED_BYTES_PER_ITEM * values + len(data)
        )
        return struct.unpack(native, data)

    def _parse(self, fmt: object) -> tuple[str, list[tuple[str, int]]]:
        """The format for the standard library, and its codes with their counts."""
        self._meter.charge_cycles(costs.TRANSCODE)
        text = require_str(fmt)
        self._meter.charge_cycles(costs.STRUCT_FORMAT_PER_CHARACTER * len(text))
        if len(text) > FORMAT_LENGTH_MAX:
            raise refused(ValueError("a format of more than 256 characters"))
        if not text or text[0] not in _ORDERS:
            raise refused(ValueError("a format must begin with its byte order"))
        fields = []
        digits = ""
        for character in text[1:]:
            if character in "0123456789":
                digits += character
                if len(digits) > _COUNT_DIGITS_MAX or int(digits) > COUNT_MAX:
                    raise refused(ValueError("a count of more than 4,096"))
            elif character in _SIZES:
                fields.append((character, int(digits or "1")))
                digits = ""
            else:
                raise refused(ValueError("a code that is not admitted"))
        if digits:
            raise refused(ValueError("a count without a code"))
        # One size fits all machines only with an explicit order: "=" is native.
        return text.replace("=", "<", 1), fields


def _size(fields: list[tuple[str, int]]) -> int:
    return sum(_SIZES[code] * count for code, count in fields)


def _values(code: str, count: int) -> int:
    """How many values a field takes or gives."""
    if code == "x":
        return 0
    return 1 if code == "s" else count


def _wanted(fields: list[tuple[str, int]]) -> list[type]:
    wanted: list[type] = []
    for code, count in fields:
        wanted.extend([_TYPES.get(code, int)] * _values(code, count))
    return wanted
