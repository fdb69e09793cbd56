"""What all services share: how a method answers, and how it refuses."""

import logging
from typing import Literal, Protocol, TypeVar

import grpc

from node.chain.transition import State
from node.primitives import codec
from node.primitives.crypto import blake2b256
from node.rpc.errors import InvalidPageToken, refusal_of
from node.runtime.types import Backend

__all__ = [
    "Context",
    "Pager",
    "at_height",
    "refuse",
    "state_at",
]

Request = TypeVar("Request")
Response = TypeVar("Response")

_DIGEST_BYTES = 8


Context = grpc.aio.ServicerContext


async def refuse(
    error: Exception, context: Context[Request, Response], method: str
) -> None:
    """End a call with what the table of errors says; a defect is logged, too."""
    refusal = refusal_of(error)
    if refusal.code is grpc.StatusCode.INTERNAL:
        logging.getLogger(__name__).error("%s failed", method, exc_info=error)
    await context.abort(refusal.code, refusal.message, refusal.trailing_metadata())


class _AtHeight(Protocol):
    """A request with `optional uint64 at_height`."""

    at_height: int

    def HasField(self, field_name: Literal["at_height"], /) -> bool:
        """Whether an optional field is set."""
        ...


def at_height(request: _AtHeight) -> int | None:
    """The height that a request asks for, or None for the head."""
    return request.at_height if request.HasField("at_height") else None


async def state_at(backend: Backend, height: int | None) -> State:
    """The state after the block at a height; None is the head's.

    Raises:
        HistoryNotKept: It is not kept.
        HeightNotReached: The height is above the head.
    """
    state = backend.state
    if height is None or height == state.head.height:
        return state
    return await backend.run_read(lambda past: past, height)


class Pager:
    """Page tokens of one list: where to go on, sealed with the question.

    A token is opaque to callers, and good only for the question that it continues.
    """

    __slots__ = ("_digest",)

    def __init__(self, *question: codec.Value) -> None:
        self._digest = blake2b256(codec.encode(list(question)))[:_DIGEST_BYTES]

    def token(self, next_key: bytes | None) -> str:
        """The token of the page that begins with a key; "" if there is none."""
        return "" if next_key is None else (self._digest + next_key).hex()

    def start(self, token: str) -> bytes:
        """Where a token's page begins; b"" for the first page.

        Raises:
            InvalidPageToken: The token is none, or one of another question.
        """
        if not token:
            return b""
        try:
            data = bytes.fromhex(token)
        except ValueError:
            raise InvalidPageToken("this is no page token") from None
        if data[:_DIGEST_BYTES] != self._digest or token != data.hex():
            raise InvalidPageToken("this page token continues another question")
        return data[_DIGEST_BYTES:]

    def start_of(self, token: str, *widths: int) -> bytes:
        """As `start`, for keys of a fixed width, or of one of several.

        Raises:
            InvalidPageToken: As `start`, or the key has another width.
        """
        key = self.start(token)
        if key and len(key) not in widths:
            raise InvalidPageToken("this is no page token")
        return key
