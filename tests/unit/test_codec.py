"""The chain's codec is the virtual machine's, under one name."""

import pytest

from node.primitives import codec
from pvm import cbor


def test_there_is_one_codec():
    assert codec.encode is cbor.encode
    assert codec.decode is cbor.decode
    assert codec.MalformedCbor is cbor.MalformedCbor


def test_what_does_not_encode_to_itself_is_malformed():
    """D5: what does not re-encode to itself is malformed."""
    assert codec.decode(codec.encode([1, b"a", "b"])) == [1, b"a", "b"]
    with pytest.raises(codec.MalformedCbor):
        codec.decode(b"\x18\x01")  # 1, in a longer form than needed
