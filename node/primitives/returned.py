"""What a handler returned, read back from the bytes that a receipt holds of it.

A handler's `None` is no bytes, bytes are themselves, a text is UTF-8 and all else
canonical CBOR (host-api.md §1). The bytes alone do not always tell which: an annotation
of the handler decides, and without one text goes before CBOR, and CBOR before bytes.
"""

from collections.abc import Mapping
from typing import Final

from node.primitives import codec

__all__ = ["decode_returned", "encode_argument"]

_EMPTY: Final[Mapping[str, codec.Value]] = {"bytes": b"", "str": ""}
"""What no bytes are, unless they are None."""

_CODED: Final[Mapping[str, type]] = {
    "bool": bool,
    "int": int,
    **dict.fromkeys(("list", "List", "Sequence", "tuple", "Tuple"), list),
    **dict.fromkeys(("dict", "Dict", "Mapping"), dict),
}
"""Annotations of values that are CBOR, without their parameters, and what is read."""


def decode_returned(data: bytes, annotation: str = "") -> codec.Value:
    """The value that a handler returned.

    Args:
        data: what the receipt holds.
        annotation: of what the handler returns, as its source says it; may be empty.
            Bytes that are not of its type are read as if there were none.
    """
    head = annotation.partition("[")[0].rpartition(".")[2]
    if not data:
        return _EMPTY.get(head)
    if head == "bytes":
        return data
    if head in _CODED:
        value = _coded(data)
        if type(value) is _CODED[head]:
            return value
    text = _text(data)
    if text is not None and (head == "str" or text.isprintable()):
        return text
    return _coded(data)


def encode_argument(value: codec.Value) -> bytes:
    """The payload for an argument, by the same rule: what a handler would return.

    Raises:
        TypeError: it has no form.
    """
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else codec.encode(value)


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _coded(data: bytes) -> codec.Value:
    """The value that canonical CBOR says; other bytes as they are."""
    try:
        return codec.decode(data)
    except codec.MalformedCbor:
        return data
