"""Requests and connections of the HTTP port, as the library is made to see them.

Imported with the library, when the port begins to answer.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from aiohttp import hdrs
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import StreamReader
from aiohttp.web import BaseRequest, Server, StreamResponse
from aiohttp.web_protocol import RequestHandler
from typing_extensions import override

from node.http.connections import Connections
from node.http.origins import Origins
from node.runtime.settings import HttpLimits

__all__ = ["make_requests", "make_server"]

_NEVER_SECONDS = 86_400.0
"""Until the library would close an idle connection: `Connections` does."""

_LINGER_SECONDS = 1.0
"""In which the rest of a request that was refused is read and dropped: who still writes
when his connection is closed may never see why."""

_Answer: TypeAlias = Callable[[BaseRequest], Awaitable[StreamResponse]]

_Factory: TypeAlias = Callable[
    [
        RawRequestMessage,
        StreamReader,
        RequestHandler,
        AbstractStreamWriter,
        "asyncio.Task[None]",
    ],
    BaseRequest,
]


class _CountedServer(Server):
    """The library's, which tells of connections."""

    connections_known: Connections

    @override
    def connection_made(
        self, handler: RequestHandler, transport: asyncio.Transport
    ) -> None:
        super().connection_made(handler, transport)
        self.connections_known.admit(handler, transport)

    @override
    def connection_lost(
        self, handler: RequestHandler, exc: BaseException | None = None
    ) -> None:
        self.connections_known.forget(handler)
        super().connection_lost(handler, exc)


def make_server(
    answer: _Answer, factory: _Factory, connections: Connections, limits: HttpLimits
) -> Server:
    """What makes the protocol of each connection."""
    server = _CountedServer(
        answer,
        request_factory=factory,
        handler_cancellation=True,
        access_log=None,
        logger=_port_logger(),
        keepalive_timeout=_NEVER_SECONDS,
        lingering_time=_LINGER_SECONDS,
        max_line_size=limits.header_bytes_max,
        max_field_size=limits.header_bytes_max,
        auto_decompress=False,
    )
    server.connections_known = connections
    return server


def make_requests(note_answer: Callable[[int], None], origins: Origins) -> _Factory:
    """Requests whose answers do not name the software, and are told by status.

    Answers to a page of an admitted origin say that it may read them.
    """
    loop = asyncio.get_running_loop()

    class Request(BaseRequest):
        @override
        async def _prepare_hook(self, response: StreamResponse) -> None:
            """What the library calls before it writes any answer, its own ones, too."""
            headers = response.headers
            headers.pop(hdrs.SERVER, None)
            headers[hdrs.X_CONTENT_TYPE_OPTIONS] = "nosniff"
            headers.setdefault(hdrs.VARY, hdrs.ORIGIN)
            origin = self.headers.get(hdrs.ORIGIN)
            if origin is not None and origins.is_admitted(self, origin):
                headers[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = origin
            note_answer(response.status)

    return lambda message, payload, protocol, writer, task: Request(
        message, payload, protocol, writer, task, loop
    )


def _port_logger() -> logging.Logger:
    """A log of defects: what is no request is none of them."""
    logger = logging.getLogger(__name__)
    logger.addFilter(_is_defect)
    return logger


def _is_defect(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError)
