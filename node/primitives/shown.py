"""How values print: hashes, addresses and payloads in hex, as in every sentence.

For people at a prompt and in the reports of tests; nothing is ever read back from it.
"""

from enum import Enum
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from msgspec import Struct

__all__ = ["show_struct"]

BYTES_SHOWN = 128
"""Of longer ones the beginning, and how many there are."""


def show_struct(value: object) -> str:
    """`Name(field=…, …)`; meant to be a struct's `__repr__`."""
    names = cast("Struct", value).__struct_fields__
    fields = ", ".join(f"{name}={_show(getattr(value, name))}" for name in names)
    return f"{type(value).__name__}({fields})"


def _show(value: object) -> str:
    match value:
        case bytes() if len(value) > BYTES_SHOWN:
            return f"0x{value[:BYTES_SHOWN].hex()}… ({len(value):,} bytes)"
        case bytes():
            return f"0x{value.hex()}" if value else 'b""'
        case Enum():
            return value.name
        case tuple() | list():
            return f"[{', '.join(map(_show, value))}]"
        case _:
            return repr(value)
