"""The canonical encoding: the only bytes that are ever hashed.

Deterministic CBOR (RFC 8949 §4.2.1), strict on the way in: bytes that do not encode
again to themselves are malformed (D5). It is the virtual machine's own codec under
the chain's name, so that an actor's values and the chain's records cannot drift
apart. Protobuf is never hashed.
"""

from pvm.cbor import MalformedCbor, Value, decode, encode

__all__ = ["MalformedCbor", "Value", "decode", "encode"]
