"""Messages as HTTP carries them: protobuf, or JSON; one by one, or in envelopes.

Guard and methods take and give protobuf's bytes; what a caller wants as JSON is
converted here, at the edge. JSON is protobuf's own mapping (64-bit integers are
strings, bytes are base64), with fields that are 0 or empty, so that who reads it by
hand need not know which fields there are.

Rules: a field that no message has is refused, since it is a typing error more often
than a newer client. Whatever a text contains, the refusal says in a sentence why it is
no message, and shows little of it.
"""

import json
from io import StringIO
from typing import TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message

from node.primitives.hex_repr import foreign
from node.rpc.requests import MalformedRequest

__all__ = ["END_OF_STREAM", "as_json", "enveloped", "from_json", "open_envelope"]

END_OF_STREAM = 2
"""The flag of an envelope whose message says how a stream ended."""

_HEAD_BYTES = 5
"""Flags, and the length of the message as four bytes."""

_SHOWN_MAX = 200
"""Characters of what the library says of a text."""

_PREFIX = "Failed to load JSON: "
"""The library's, once or twice before what it says."""

AnyKind = TypeVar("AnyKind", bound=Message)


def enveloped(message: bytes, flags: int = 0) -> bytes:
    """A message in its envelope."""
    return bytes((flags,)) + len(message).to_bytes(4, "big") + message


def open_envelope(body: bytes) -> bytes:
    """The one message of a request that begins a stream.

    Raises:
        MalformedRequest: The body is not exactly one message in an envelope.
    """
    if len(body) < _HEAD_BYTES:
        raise MalformedRequest(
            "the body has no envelope: a byte of flags, 0, and the length of the "
            "message as four bytes stand before it"
        )
    flags, length = body[0], int.from_bytes(body[1:_HEAD_BYTES], "big")
    if flags:
        raise MalformedRequest(
            f"the flags of the envelope are {flags}: a request has 0, and is not "
            "compressed"
        )
    if length != len(body) - _HEAD_BYTES:
        raise MalformedRequest(
            f"the envelope announces {length} bytes and {len(body) - _HEAD_BYTES} "
            "follow: a request is one message"
        )
    return body[_HEAD_BYTES:]


def from_json(kind: type[AnyKind], text: bytes) -> AnyKind:
    """The message that a text says.

    Raises:
        MalformedRequest: It says none of this kind.
    """
    if not text.lstrip().startswith(b"{"):
        raise MalformedRequest(
            "the body is no object of JSON: write `{}` for an empty message"
        )
    try:
        return json_format.Parse(text, kind())
    except (UnicodeDecodeError, json_format.ParseError) as error:
        said = " ".join(str(error).replace(_PREFIX, "").split()).rstrip(".")
        said = foreign(said[:_SHOWN_MAX])
        name = kind.DESCRIPTOR.name
        raise MalformedRequest(f"the JSON is no {name}: {said}") from None


def as_json(message: Message, *, is_large: bool = False) -> bytes:
    """What a message says, as a text; a large one in pieces that let others run."""
    document = json_format.MessageToDict(
        message, always_print_fields_with_no_presence=True
    )
    encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    if not is_large:
        return encoder.encode(document).encode()
    text = StringIO()
    for piece in encoder.iterencode(document):
        text.write(piece)
    return text.getvalue().encode()
