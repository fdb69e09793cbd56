"""ConnectEndpoint: answers HTTP requests for procedures, as the Connect protocol says.

One request is one call: `POST /package.Service/Method`, with a message as JSON or
protobuf, and a message, or a stream of them in envelopes, as the answer. The methods
and their guard are those of the gRPC server: the same token, limits, refusals, counts.

Rules: what is refused is refused before anything of it is executed, and without the
token before its body is read. A caller who goes away cancels the call. A stream ends
the connection that it is on, and nothing more is read from there; who takes nothing of
what is sent for `stalled_ms_max` is let go. Large messages are converted to JSON beside
the event loop, once there is room for what comes of them.
"""

import asyncio
import re
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
)
from contextlib import aclosing, asynccontextmanager, suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeAlias, cast
from urllib.parse import quote

import grpc
from aiohttp import hdrs, web
from google.protobuf.message import Message
from msgspec import Struct

from node.rpc.answers import SMALL_BYTES, Answers
from node.rpc.connect.bodies import RequestBodies
from node.rpc.connect.call import ConnectCall, ConnectRefusal
from node.rpc.connect.messages import (
    END_OF_STREAM,
    as_json,
    enveloped,
    from_json,
    open_envelope,
)
from node.rpc.connect.procedures import PATH_PREFIX, Procedure, Procedures
from node.rpc.connect.refusals import (
    as_refused,
    end_of_stream,
    error_document,
    http_status,
)
from node.rpc.guard import REFUSED
from node.rpc.limits import RpcLimits
from node.rpc.requests import MalformedRequest

if TYPE_CHECKING:
    from node.rpc.service import Context

__all__ = ["ConnectEndpoint"]

_KeepConnection: TypeAlias = Callable[[], bool]
"""Makes a connection a caller's; False if there are too many."""
_Context: TypeAlias = "Context[object, object]"
_Unary: TypeAlias = Callable[[bytes, _Context], Awaitable[bytes]]
_Stream: TypeAlias = Callable[[bytes, _Context], AsyncGenerator[bytes, None]]
_Handler: TypeAlias = "grpc.RpcMethodHandler[object, object]"

_VERSION = "Connect-Protocol-Version"
_TIMEOUT = "Connect-Timeout-Ms"
_MILLISECONDS = re.compile(r"[0-9]{1,10}", re.ASCII)

_GONE = 499
"""The status of an answer that nobody reads."""

_SMALL_KEPT = 64
"""Small messages whose JSON is kept: all who follow a chain get the same ones."""

_JSON_GROWTH = 3
"""A message as JSON has about so many times the bytes that it has as protobuf."""


class _Form(Struct, frozen=True):
    """How a caller writes messages and wants to read them."""

    content_type: str
    is_json: bool
    is_stream: bool


_FORMS = {
    form.content_type: form
    for form in (
        _Form("application/json", is_json=True, is_stream=False),
        _Form("application/proto", is_json=False, is_stream=False),
        _Form("application/connect+json", is_json=True, is_stream=True),
        _Form("application/connect+proto", is_json=False, is_stream=True),
    )
}


class _Begun(Struct, frozen=True):
    """A call that was admitted, with its request as protobuf."""

    handler: _Handler
    procedure: Procedure
    form: _Form
    data: bytes


class ConnectEndpoint:
    """Serves the services of a node over HTTP."""

    def __init__(
        self,
        services: Mapping[str, grpc.GenericRpcHandler],
        answers: Answers,
        limits: RpcLimits,
    ) -> None:
        self._procedures = Procedures(services)
        self._answers = answers
        self._limits = limits
        self._bodies = RequestBodies(limits)
        self._small_json = lru_cache(_SMALL_KEPT)(_small_json)

    async def answer(
        self, request: web.BaseRequest, keep: _KeepConnection
    ) -> web.StreamResponse | None:
        """The answer to a request; None if its path is none of a procedure."""
        if not request.path.startswith(PATH_PREFIX):
            return None
        if request.method != hdrs.METH_POST:
            return _unfit(405, "call this with POST", Allow="POST")
        form = _form_of(request)
        if form is None:
            return _unfit(415, f"send the header Content-Type: {' or '.join(_FORMS)}")
        return await self._told(request, form, keep)

    async def _told(
        self, request: web.BaseRequest, form: _Form, keep: _KeepConnection
    ) -> web.StreamResponse:
        """The answer to what has the form of a call, or why there is none."""
        try:
            return await self._call(request, form, keep)
        except ConnectionError:  # the library sees that nobody is there
            return web.Response(status=_GONE)
        except Exception as error:  # noqa: BLE001 - the table of errors tells each
            return _refusal(form, as_refused(error, request.path))

    async def _call(
        self, request: web.BaseRequest, form: _Form, keep: _KeepConnection
    ) -> web.StreamResponse:
        procedure = self._procedures.find(request.path)
        if procedure.is_stream != form.is_stream:
            return _of_other_form(procedure)
        deadline = _deadline_of(request)
        with ConnectCall(_peer_of(request), deadline) as call:
            async with _in_time(deadline):
                begun = await self._begin(request, form, procedure, keep)
            if procedure.is_stream:
                return await self._stream(request, begun, call, deadline)
            async with _in_time(deadline):
                return await self._one(request, begun, call)

    async def _begin(
        self,
        request: web.BaseRequest,
        form: _Form,
        procedure: Procedure,
        keep: _KeepConnection,
    ) -> _Begun:
        """All that comes before the method.

        Raises:
            ConnectRefusal: This is no call, or there is no room for it.
            MalformedRequest: The body is no message of this method.
        """
        if request.headers.get(_VERSION, "1") != "1":
            raise ConnectRefusal(
                grpc.StatusCode.INVALID_ARGUMENT, f"{_VERSION} is 1, if it is sent"
            )
        authorization = request.headers.get(hdrs.AUTHORIZATION)
        handler = self._procedures.handler(procedure, authorization)
        if handler is REFUSED:  # its body is not read
            return _Begun(handler, procedure, form, b"")
        data = await self._bodies.read(request)
        if not keep():
            raise ConnectRefusal(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                "too many callers are served already: end a stream, or call over gRPC",
            )
        if form.is_stream:
            data = open_envelope(data)
        if form.is_json:
            data = await self._wire_of(procedure.request, data)
        return _Begun(handler, procedure, form, data)

    # --- answers -------------------------------------------------------------------

    async def _one(
        self, request: web.BaseRequest, begun: _Begun, call: ConnectCall
    ) -> web.StreamResponse:
        method = cast("_Unary", begun.handler.unary_unary)
        data = await method(begun.data, cast("_Context", call))
        async with self._as_wanted(begun, data, call) as body:
            response = web.Response(body=body, content_type=begun.form.content_type)
            if len(body) > SMALL_BYTES:  # it has room until it was taken
                await response.prepare(request)
                await self._sent(request, response.write_eof)
            return response

    async def _stream(
        self,
        request: web.BaseRequest,
        begun: _Begun,
        call: ConnectCall,
        deadline: float | None,
    ) -> web.StreamResponse:
        response = web.StreamResponse()
        response.content_type = begun.form.content_type
        response.force_close()
        await response.prepare(request)
        _read_no_more(request)
        refused = None
        try:
            async with _in_time(deadline), aclosing(_messages(begun, call)) as messages:
                async for data in messages:
                    async with self._as_wanted(begun, data, call) as body:
                        envelope = enveloped(body)
                        await self._sent(request, partial(response.write, envelope))
        except ConnectionError:
            raise
        except Exception as error:  # noqa: BLE001 - the table of errors tells each
            refused = as_refused(error, request.path)
        end = enveloped(end_of_stream(refused), END_OF_STREAM)
        await self._sent(request, partial(response.write, end))
        return response

    async def _sent(
        self, request: web.BaseRequest, send: Callable[[], Awaitable[None]]
    ) -> None:
        """Send, and wait until the caller took most of it.

        Raises:
            ConnectionError: The caller went away, or took nothing for too long.
        """
        limit = asyncio.timeout(self._limits.stalled_ms_max / 1_000)
        try:
            async with limit:
                await send()
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError("the caller reads nothing") from None

    # --- JSON ----------------------------------------------------------------------

    async def _wire_of(self, kind: type[Message], text: bytes) -> bytes:
        """A request of JSON as protobuf's bytes."""

        def convert() -> bytes:
            return from_json(kind, text).SerializeToString()

        if len(text) <= SMALL_BYTES:
            return convert()
        return await self._answers.run(convert)

    @asynccontextmanager
    async def _as_wanted(
        self, begun: _Begun, data: bytes, call: ConnectCall
    ) -> AsyncIterator[bytes]:
        """A message as its caller reads it; a large one has room meanwhile.

        Raises:
            ConnectRefusal: It is too large for JSON.
            NoRoom: There is none for it.
        """
        kind, most = begun.procedure.response, self._limits.json_bytes_max
        if not begun.form.is_json:
            yield data
            return
        if len(data) <= SMALL_BYTES:
            yield self._small_json(begun.procedure, data)
            return
        if len(data) > most:
            raise ConnectRefusal(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"the answer has {len(data)} bytes, and JSON is made of {most} at "
                "most: ask for less, or for protobuf",
            )
        # Beside the room that the guard has for protobuf's bytes, until both are sent.
        peer = f"json {call.peer()}"
        with await self._answers.room.lend(peer, len(data) * _JSON_GROWTH) as lease:
            text = await self._answers.run(
                lambda: as_json(kind.FromString(data), is_large=True)
            )
            lease.resize(len(text))
            yield text


def _small_json(procedure: Procedure, data: bytes) -> bytes:
    return as_json(procedure.response.FromString(data))


async def _messages(begun: _Begun, call: ConnectCall) -> AsyncGenerator[bytes, None]:
    """What a method answers, or its guard instead of it."""
    context = cast("_Context", call)
    if begun.handler.unary_stream is None:
        await cast("_Unary", begun.handler.unary_unary)(begun.data, context)
        return
    method = cast("_Stream", begun.handler.unary_stream)
    async with aclosing(method(begun.data, context)) as messages:
        async for data in messages:
            yield data


# --- requests ---------------------------------------------------------------------


def _form_of(request: web.BaseRequest) -> _Form | None:
    """The form that a request's content type names, in UTF-8 if it says so."""
    if (request.charset or "utf-8").lower() != "utf-8":
        return None
    return _FORMS.get(request.content_type)


def _deadline_of(request: web.BaseRequest) -> float | None:
    """When the caller waits no longer, by the clock of the event loop.

    Raises:
        MalformedRequest: The header is no number of milliseconds.
    """
    text = request.headers.get(_TIMEOUT)
    if text is None:
        return None
    if _MILLISECONDS.fullmatch(text) is None:
        raise MalformedRequest(f"{_TIMEOUT} is a number of at most ten digits")
    return asyncio.get_running_loop().time() + int(text) / 1_000


@asynccontextmanager
async def _in_time(deadline: float | None) -> AsyncIterator[None]:
    """An end for what takes longer than the caller waits.

    Raises:
        ConnectRefusal: The caller's time is over.
    """
    limit = asyncio.timeout_at(deadline)
    try:
        async with limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise ConnectRefusal(
            grpc.StatusCode.DEADLINE_EXCEEDED,
            f"no answer within the milliseconds of {_TIMEOUT}",
        ) from None


def _peer_of(request: web.BaseRequest) -> str:
    """Who calls, as gRPC writes it."""
    transport = request.transport
    address = None if transport is None else transport.get_extra_info("peername")
    if address is None:
        return "gone"
    host, port = address[:2]
    if ":" in host:
        return f"ipv6:{quote(f'[{host}]', safe='')}:{port}"
    return f"ipv4:{host}:{port}"


def _read_no_more(request: web.BaseRequest) -> None:
    """Drop whatever else the caller sends, but notice that he goes away."""
    request.protocol.close()
    if request.transport is not None:
        with suppress(RuntimeError):
            request.transport.resume_reading()


# --- refusals ---------------------------------------------------------------------


def _refusal(form: _Form, refused: ConnectRefusal) -> web.Response:
    """A refusal before anything was answered, in the form of the answer."""
    if form.is_stream:
        body = enveloped(end_of_stream(refused), END_OF_STREAM)
        return web.Response(body=body, content_type=form.content_type)
    response = web.Response(
        status=http_status(refused),
        body=error_document(refused),
        content_type="application/json",
    )
    if refused.code is grpc.StatusCode.UNAUTHENTICATED:
        response.headers[hdrs.WWW_AUTHENTICATE] = "Bearer"
    return response


def _of_other_form(procedure: Procedure) -> web.Response:
    if procedure.is_stream:
        text = "answers with a stream: send Content-Type: application/connect+json"
    else:
        text = "answers with one message: send Content-Type: application/json"
    return _unfit(415, f"{procedure.path} {text}, or the same with proto")


def _unfit(status: int, message: str, **headers: str) -> web.Response:
    """What is no call: told in the form of a refusal, with a status of HTTP's own."""
    refused = ConnectRefusal(grpc.StatusCode.INVALID_ARGUMENT, message)
    return web.Response(
        status=status,
        body=error_document(refused),
        content_type="application/json",
        headers=headers,
    )
