"""What stands between a call and its method: token, time limit, count.

Rules: a call without the token is refused before its request is decoded. A call that
may wait has an end: its client's deadline, or the server's. Streams are bounded by
their buffers, not by time. What is counted is the method's name and how it ended.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NoReturn, TypeAlias, cast

import grpc
from msgspec import Struct, field
from typing_extensions import override

from node.rpc.access import Unauthenticated, authorization, is_authorized
from node.rpc.errors import CallTooLong
from node.rpc.service import Context, refuse
from node.runtime.clock import Clock, SystemClock
from node.runtime.figures import Figures

__all__ = ["CallWatch", "Guard"]

_Handler: TypeAlias = "grpc.RpcMethodHandler[object, object]"
_Unary = Callable[[object, Context[object, object]], Awaitable[object]]
_Stream = Callable[[object, Context[object, object]], AsyncIterator[object]]


class CallWatch(Struct, frozen=True):
    """Where calls are counted, and by which clock."""

    figures: Figures = field(default_factory=Figures)
    clock: Clock = field(default_factory=SystemClock)


class Guard:
    """Puts services behind what they share."""

    def __init__(self, token: str | None, call_ms_max: int, watch: CallWatch) -> None:
        self._wanted = None if token is None else authorization(token).encode()
        self._call_ms_max = call_ms_max
        self._watch = watch

    def admitted(self, handler: grpc.GenericRpcHandler) -> grpc.GenericRpcHandler:
        """A service for those who have the token, if there is one."""
        return _Guarded(handler, self._wanted, lambda _method, handler: handler)

    def watched(self, handler: grpc.GenericRpcHandler) -> grpc.GenericRpcHandler:
        """`admitted`, and its calls are bounded and counted."""
        return _Guarded(handler, self._wanted, self._wrap)

    def _wrap(self, method: str, handler: _Handler) -> _Handler:
        name = method.removeprefix("/")
        if handler.unary_unary is not None:
            return grpc.unary_unary_rpc_method_handler(
                self._bounded(name, cast("_Unary", handler.unary_unary)),
                handler.request_deserializer,
                handler.response_serializer,
            )
        if handler.stream_unary is not None:
            return grpc.stream_unary_rpc_method_handler(
                self._bounded(name, cast("_Unary", handler.stream_unary)),
                handler.request_deserializer,
                handler.response_serializer,
            )
        assert handler.unary_stream is not None, "no method takes and gives a stream"
        return grpc.unary_stream_rpc_method_handler(
            self._counted(name, cast("_Stream", handler.unary_stream)),
            handler.request_deserializer,
            handler.response_serializer,
        )

    def _bounded(self, name: str, method: _Unary) -> _Unary:
        """A method that ends in time, and is counted."""
        clock, figures = self._watch.clock, self._watch.figures

        async def call(request: object, context: Context[object, object]) -> object:
            began = clock.monotonic()
            status = "CANCELLED"
            try:
                if context.time_remaining() is None:
                    response = await self._limited(name, method, request, context)
                else:
                    response = await method(request, context)
                status = "OK"
            except Exception as error:
                status = context.code().name
                del request
                _forget_frames(error)
                raise
            finally:
                figures.note_call(name, status, clock.monotonic() - began)
            return response

        return call

    async def _limited(
        self,
        name: str,
        method: _Unary,
        request: object,
        context: Context[object, object],
    ) -> object:
        try:
            async with asyncio.timeout(self._call_ms_max / 1_000):
                return await method(request, context)
        except TimeoutError:
            error = CallTooLong(self._call_ms_max)
            await refuse(error, context, name)
            raise error from None

    def _counted(self, name: str, method: _Stream) -> _Stream:
        figures = self._watch.figures

        async def call(
            request: object, context: Context[object, object]
        ) -> AsyncIterator[object]:
            status = "CANCELLED"
            try:
                async for response in method(request, context):
                    yield response
                    del response
                status = "OK"
            except Exception as error:
                status = context.code().name
                _forget_frames(error)
                raise
            finally:
                figures.note_call(name, status, None)

        return call


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
        return _REFUSED


async def _refuse_call(_request: object, context: Context[object, object]) -> NoReturn:
    error = Unauthenticated("this node wants a token, and the call has another or none")
    await refuse(error, context, "")
    raise error


_REFUSED: _Handler = grpc.unary_unary_rpc_method_handler(_refuse_call)


def _forget_frames(error: BaseException | None) -> None:
    """Let go of what the frames that an error passed through hold.

    gRPC keeps the exception that ends a call in a cycle with them, so that they live
    until a collection: four hundred refused transactions of 2 MiB took a gigabyte.
    Who wants a defect's traceback logged it before.
    """
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
