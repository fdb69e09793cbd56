"""How values print: hashes, addresses and payloads in hex, as in every sentence.

For people at a prompt and in the reports of tests; nothing is ever read back from it.

What actors say is text of strangers: it may hold what moves a terminal's cursor, turns
the direction of writing, or cannot be seen. `foreign` shows such characters by number.
"""

import unicodedata
from enum import Enum
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from msgspec import Struct

__all__ = ["foreign", "show_struct"]

BYTES_SHOWN = 128
"""Of longer ones the beginning, and how many there are."""


_UNSEEN = frozenset(
    map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0))
) | frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
"""Letters and marks that Unicode has drawn as nothing at all."""

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, formats such as those of direction, what is no character, line ends."""


def foreign(text: str, *, is_multiline: bool = False) -> str:
    """Somebody else's text, fit for a terminal: what is unseen, by number.

    Line ends are kept in a text of several lines; tabs are, too.
    """
    if text.isascii() and text.isprintable():
        return text
    kept = "\t\n" if is_multiline else ""
    return "".join(
        character if character in kept or _is_seen(character) else _escaped(character)
        for character in text
    )


def _is_seen(character: str) -> bool:
    category = unicodedata.category(character)
    return category not in _HIDDEN_CATEGORIES and character not in _UNSEEN


def _escaped(character: str) -> str:
    number = ord(character)
    if number <= 0xFF:  # noqa: PLR2004 - a byte
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004


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
