"""What stands between a call and its method: token, decoding, time limit, room, count.

Rules: a call without the token is refused before its request is decoded; a request
that is none is refused, and is no defect of the node. A call that may wait has an end:
its client's deadline, or the server's. Streams are bounded by their buffers, not by
time. An answer that is not small has room until its reader has taken it. What a method
raises is told by the table of errors, and no method tells it itself. What is counted is
the method's name and how it ended.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import NoReturn, TypeAlias, cast

import grpc
from google.protobuf.message import DecodeError, Message
from msgspec import Struct, field
from typing_extensions import override

from node.rpc.access import Unauthenticated, authorization, is_authorized
from node.rpc.answers import SMALL_BYTES, EncodedAnswer, release_at_end
from node.rpc.errors import CallTooLong
from node.rpc.limits import RpcLimits
from node.rpc.requests import MalformedRequest
from node.rpc.room import AnswerRoom
from node.rpc.service import Context, refuse
from node.runtime.clock import Clock, SystemClock
from node.runtime.stats import NodeStats

__all__ = ["REFUSED", "CallWatch", "Guard"]

_Handler: TypeAlias = "grpc.RpcMethodHandler[object, object]"
_Context: TypeAlias = Context[object, object]
_Unary = Callable[[object, _Context], Awaitable[object]]
_Stream = Callable[[object, _Context], AsyncGenerator[object, None]]
_Decode = Callable[[bytes], object]
_Taken = Callable[[object], object]
"""Bytes of a request, or parts of one, as the method takes them."""


class CallWatch(Struct, frozen=True):
    """Where calls are counted, and by which clock."""

    stats: NodeStats = field(default_factory=NodeStats)
    clock: Clock = field(default_factory=SystemClock)


class Guard:
    """Puts services behind what they share."""

    def __init__(
        self, token: str | None, limits: RpcLimits, watch: CallWatch, room: AnswerRoom
    ) -> None:
        self._wanted = None if token is None else authorization(token).encode()
        self._call_ms_max = limits.call_ms_max
        self._watch = watch
        self._room = room

    def admitted(self, handler: grpc.GenericRpcHandler) -> grpc.GenericRpcHandler:
        """A service for those who have the token, if there is one."""
        return _Guarded(handler, self._wanted, lambda _method, handler: handler)

    def watched(self, handler: grpc.GenericRpcHandler) -> grpc.GenericRpcHandler:
        """`admitted`, and its calls are bounded and counted."""
        return _Guarded(handler, self._wanted, self._wrap)

    def _wrap(self, method: str, handler: _Handler) -> _Handler:
        """The handler of bytes for bytes: a request is decoded where it can be told."""
        name = method.removeprefix("/")
        decode = handler.request_deserializer
        assert decode is not None, "generated code says how a request is decoded"
        if handler.unary_unary is not None:
            method_ = cast("_Unary", handler.unary_unary)
            answer = self._answering(name, method_, partial(_decoded, decode))
            return grpc.unary_unary_rpc_method_handler(answer)
        if handler.stream_unary is not None:
            method_ = cast("_Unary", handler.stream_unary)
            answer = self._answering(name, method_, partial(_all_decoded, decode))
            return grpc.stream_unary_rpc_method_handler(answer)
        assert handler.unary_stream is not None, "no method takes and gives a stream"
        stream = cast("_Stream", handler.unary_stream)
        return grpc.unary_stream_rpc_method_handler(
            self._streaming(name, stream, partial(_decoded, decode))
        )

    # --- the one function around a method ------------------------------------------

    def _answering(self, name: str, method: _Unary, taken: _Taken) -> _Unary:
        async def answer(data: object, context: _Context) -> object:
            try:
                async with self._call(name, context), self._in_time(context):
                    return self._encoded(await method(taken(data), context), context)
            except Exception as error:
                _forget_frames(error)
                raise
            finally:
                del data  # gRPC keeps this frame of a call that failed

        return answer

    def _streaming(self, name: str, method: _Stream, taken: _Taken) -> _Stream:
        async def answer(
            data: object, context: _Context
        ) -> AsyncGenerator[object, None]:
            try:
                async with (
                    self._call(name, context, is_timed=False),
                    aclosing(method(taken(data), context)) as responses,
                ):
                    async for response in responses:
                        if isinstance(response, EncodedAnswer):
                            yield response.data
                            continue
                        encoded = cast("Message", response).SerializeToString()
                        del response
                        if len(encoded) <= SMALL_BYTES:
                            yield encoded
                            continue
                        size = len(encoded)
                        with await self._room.lend(context.peer(), size) as lease:
                            lease.send()
                            yield encoded
            except Exception as error:
                _forget_frames(error)
                raise

        return answer

    @asynccontextmanager
    async def _call(
        self, name: str, context: _Context, *, is_timed: bool = True
    ) -> AsyncIterator[None]:
        """A call: what it raises is told by the table of errors; its end is counted."""
        clock, stats = self._watch.clock, self._watch.stats
        began, status = clock.monotonic(), "CANCELLED"
        try:
            yield
            status = "OK"
        except Exception as error:
            try:
                await refuse(error, context, name)
            except Exception:
                status = context.code().name
                raise
            raise
        finally:
            seconds = clock.monotonic() - began if is_timed else None
            stats.note_call(name, status, seconds)

    @asynccontextmanager
    async def _in_time(self, context: _Context) -> AsyncIterator[None]:
        """An end for a call that came without one.

        Raises:
            CallTooLong: The server's limit is over.
        """
        if context.time_remaining() is not None:
            yield
            return
        limit = asyncio.timeout(self._call_ms_max / 1_000)
        try:
            async with limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            raise CallTooLong(self._call_ms_max) from None

    def _encoded(self, response: object, context: _Context) -> bytes:
        """An answer's bytes, for which there is room until the call has ended."""
        if isinstance(response, EncodedAnswer):
            return response.data
        data = cast("Message", response).SerializeToString()
        if len(data) > SMALL_BYTES:
            lease = self._room.lend_now(context.peer(), len(data))
            release_at_end(lease, context)
            lease.send()
        return data


def _decoded(decode: _Decode, data: object) -> object:
    try:
        return decode(cast("bytes", data))
    except DecodeError as error:
        raise MalformedRequest("the request is no message of this method") from error


async def _all_decoded(decode: _Decode, parts: object) -> AsyncIterator[object]:
    async for data in cast("AsyncIterator[object]", parts):
        yield _decoded(decode, data)


class _Guarded(grpc.GenericRpcHandler):
    """A service whose methods are found behind the guard."""

    def __init__(
        self,
        inner: grpc.GenericRpcHandler,
        wanted: bytes | None,
        wrap: Callable[[str, _Handler], _Handler],
    ) -> None:
        self._inner = inner
        self._wanted = wanted
        self._wrap = wrap
        self._wrapped: dict[str, _Handler] = {}

    @override
    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> "_Handler | None":
        method = handler_call_details.method
        wrapped = self._wrapped.get(method)
        if wrapped is None:
            found = self._inner.service(handler_call_details)
            if found is None:
                return None
            wrapped = self._wrapped[method] = self._wrap(method, found)
        if self._wanted is None or is_authorized(
            handler_call_details.invocation_metadata, self._wanted
        ):
            return wrapped
        return REFUSED


async def _refuse_call(_request: object, context: Context[object, object]) -> NoReturn:
    error = Unauthenticated("this node wants a token, and the call has another or none")
    await refuse(error, context, "")
    raise error


REFUSED: _Handler = grpc.unary_unary_rpc_method_handler(_refuse_call)
"""What a call without the token finds instead of its method."""


def _forget_frames(error: BaseException | None) -> None:
    """Let go of what the frames that an error passed through hold.

    gRPC keeps the exception that ends a call in a cycle with them, so that they live
    until a collection: four hundred refused transactions of 2 MiB took a gigabyte. A
    context manager's `__aexit__` is such a frame, so this is called outside of all.
    Who wants a defect's traceback logged it before.
    """
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
