"""Large answers: made beside the event loop, and bounded on their way.

Why: a block may have 35,000 events. Twenty callers who wanted such a block kept the
event loop, and with it everybody else, for five seconds.

Rules: what takes more than `SMALL_BYTES` to read or to make is made on a thread of its
own, one answer at a time, in pieces that let other threads run; what is smaller is made
at once, as nothing is quicker. A large answer has `AnswerRoom` before it is made:
who reads nothing makes the node do nothing, either.
"""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

from google.protobuf.message import Message
from msgspec import Struct

from node.rpc.limits import RpcLimits
from node.rpc.room import AnswerRoom, Lease
from node.rpc.service import Context
from node.runtime.types import NodeStopping

__all__ = [
    "SMALL_BYTES",
    "Answers",
    "EncodedAnswer",
    "as_answer",
    "delimited",
    "release_at_end",
]

SMALL_BYTES = 16 << 10
"""Read, or made, in a millisecond or two. All calls that there may be at a time, with
an unread answer of this size each, have 64 MiB."""

_LENGTH_DELIMITED = 2
"""Wire type of a message in a message."""

Result = TypeVar("Result")
Request = TypeVar("Request")
Response = TypeVar("Response", bound=Message)


class EncodedAnswer(Struct, frozen=True):
    """An answer that is encoded, and has room."""

    data: bytes


def release_at_end(lease: Lease, context: Context[Request, Result]) -> None:
    """Release room when a call has ended: its answer was taken, or is not wanted."""

    def release(_: Context[Request, Result]) -> None:
        lease.release()

    # gRPC's types ask for an instance of a class that gRPC does not have.
    context.add_done_callback(release)  # type: ignore[arg-type]


def as_answer(data: bytes, kind: type[Response]) -> Response:  # noqa: ARG001 - a type
    """Encoded bytes in the place of the message that they encode: see `Guard`."""
    return cast("Response", EncodedAnswer(data))


def delimited(field: int, parts: Iterable[bytes]) -> bytes:
    """A message with one field, which is a message whose encoding comes in parts."""
    data = b"".join(parts)
    return _varint(field << 3 | _LENGTH_DELIMITED) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits a byte
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


class Answers:
    """Where services have large answers made."""

    __slots__ = ("_is_closed", "_thread", "room")

    def __init__(self, limits: RpcLimits | None = None) -> None:
        self.room = AnswerRoom(limits or RpcLimits())
        self._is_closed = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="answers")

    async def run(self, make: Callable[[], Result]) -> Result:
        """What `make` returns or raises, called on the thread when it is its turn.

        Raises:
            NodeStopping: Nothing more is made.
        """
        if self._is_closed:
            raise NodeStopping("the node is stopping")
        return await asyncio.get_running_loop().run_in_executor(self._thread, make)

    async def one(
        self,
        context: Context[Request, Response],
        weight: int,
        kind: type[Response],
        make: Callable[[], Response | bytes],
    ) -> Response:
        """The answer to a call with one: what `make` makes, or has encoded.

        `weight` is about how many bytes are read for it.

        Raises:
            NoRoom: There is none for a large one.
        """
        if weight <= SMALL_BYTES:
            made = make()
            return as_answer(made, kind) if isinstance(made, bytes) else made
        lease = await self.room.lend(context.peer(), weight)
        release_at_end(lease, context)
        data = await self.run(lambda: _encoded(make()))
        lease.resize(len(data))
        lease.send()
        return as_answer(data, kind)

    async def lend(self, context: Context[Request, Response], weight: int) -> Lease:
        """Room for what a stream will answer.

        Raises:
            NoRoom: There is none.
        """
        return await self.room.lend(context.peer(), weight)

    def close(self) -> None:
        """Make nothing more."""
        self._is_closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)


def _encoded(made: Message | bytes) -> bytes:
    return made if isinstance(made, bytes) else made.SerializeToString()
