"""Canonical CBOR, as storage, calls and messages have it."""

import pvm_host
from cowboy_sdk.errors import CodecError


def encode(value):
    """The bytes of a value."""
    try:
        return pvm_host.cbor_encode(value)
    except pvm_host.HostError as error:
        raise CodecError(str(error))


def decode(data):
    """The value of the bytes."""
    try:
        return pvm_host.cbor_decode(data)
    except pvm_host.HostError as error:
        raise CodecError(str(error))
