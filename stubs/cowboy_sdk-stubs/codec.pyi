"""Canonical CBOR, as storage, calls and messages have it."""

from typing import Any

from cowboy_sdk.errors import CodecError as CodecError
from pvm_host import Value

def encode(value: Value) -> bytes:
    """The bytes of a value.

    Raises:
        CodecError: it has no canonical CBOR.
    """

def decode(data: bytes) -> Any:
    """The value of the bytes.

    Raises:
        CodecError: they are no canonical CBOR.
    """
