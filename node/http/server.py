"""The operators' port: `/healthz`, `/readyz`, `/metrics`, and the page at `/`.

The socket is bound before the node says that it serves, so that its port is known;
connections wait until the library is imported, which is begun when the first callers
of the API have been answered, on a thread of its own.

Rules: nobody who connects here can slow the node or make it grow. A connection lives
for a bounded time, there is a bounded number of them, the oldest gives way to a new
one, and no request has a body that is read. Nothing is changed by a request, and
nothing is said here that is not a number of the node, nor what software says it. What
is no request is refused and counted, without a line in the log. `Host` must name this
machine, so that no page in a browser reaches the port by a name of its own; probes and
scrapers come under other names, and may.
"""

import asyncio
import importlib
import json
import socket
from collections import deque
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import TYPE_CHECKING

from msgspec import Struct

from node.http.static_answer import StaticFiles
from node.runtime.settings import HttpLimits
from node.runtime.types import CannotListen

if TYPE_CHECKING:
    from aiohttp import web
    from aiohttp.web_protocol import RequestHandler

__all__ = ["HttpPort", "Probes", "cannot_listen"]

_BACKLOG = 64
_CLOSE_SECONDS = 0.2
"""For answers in the middle when the port is closed."""
_OK, _UNAVAILABLE = 200, 503


class Probes(Struct, frozen=True):
    """What the port asks of the node."""

    is_alive: Callable[[], bool]
    """Whether the process does what it is for: the engine runs."""
    is_ready: Callable[[], bool]
    """Whether the head is loaded, the API serves, and nobody asked it to stop."""
    height: Callable[[], int]
    metrics: Callable[[str], Awaitable[tuple[bytes, str]]]
    """Text and content type for an `Accept` header."""
    note_answer: Callable[[int], None] = lambda _status: None
    """Takes the status of each answer."""
    files: StaticFiles = lambda _path, _headers: None
    """The files of the page, for callers whose `Host` names this machine."""


class HttpPort:
    """Bind it, serve, close it."""

    def __init__(self, probes: Probes, limits: HttpLimits | None = None) -> None:
        self._probes = probes
        self._limits = limits or HttpLimits()
        self._socket: socket.socket | None = None
        self._handlers: web.Server | None = None
        self._server: asyncio.Server | None = None
        self._open: deque[RequestHandler] = deque()

    def bind(self, host: str, port: int) -> int:
        """Listen, port 0 for a free one; the port. Nothing is answered yet.

        Raises:
            CannotListen: The address is taken, or not ours.
        """
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server(
                (host, port), family=family, backlog=_BACKLOG
            )
        except OSError as error:
            raise cannot_listen(f"{host}:{port}") from error
        number: int = self._socket.getsockname()[1]
        return number

    async def serve(self) -> None:
        """Import the library, and answer."""
        assert self._socket is not None, "bind comes first"
        await asyncio.to_thread(importlib.import_module, "node.http.request")
        from aiohttp import web  # noqa: PLC0415 - see the top of this module

        from node.http.request import (  # noqa: PLC0415 - as above
            make_requests,
            port_logger,
        )

        limits = self._limits
        server = web.Server(
            self._answer,
            request_factory=make_requests(self._probes.note_answer),
            access_log=None,
            logger=port_logger(),
            keepalive_timeout=limits.idle_ms_max / 1_000,
            lingering_time=0,
            max_line_size=limits.header_bytes_max,
            max_field_size=limits.header_bytes_max,
        )
        self._handlers = server
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: self._bounded(server()), sock=self._socket
        )

    async def close(self) -> None:
        """Stop answering; idempotent."""
        if self._server is not None:
            self._server.close()
        elif self._socket is not None:
            self._socket.close()
        if self._handlers is not None:
            await self._handlers.shutdown(_CLOSE_SECONDS)

    def _bounded(self, handler: "RequestHandler") -> "RequestHandler":
        """Close the oldest if there are too many, and this one when its time is up."""
        limits = self._limits
        while self._open and self._open[0].transport is None:
            self._open.popleft()
        if len(self._open) >= limits.connections_max:
            _end(self._open.popleft())
        self._open.append(handler)
        loop = asyncio.get_running_loop()
        loop.call_later(limits.connection_ms_max / 1_000, _end, handler)
        return handler

    async def _answer(self, request: "web.BaseRequest") -> "web.Response":
        from aiohttp import web  # noqa: PLC0415 - see the top of this module

        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, headers={"Allow": "GET, HEAD"})
        match request.path:
            case "/healthz":
                return self._told(is_good=self._probes.is_alive())
            case "/readyz":
                return self._told(is_good=self._probes.is_ready())
            case "/metrics":
                accept = request.headers.get("Accept", "")
                text, content_type = await self._probes.metrics(accept)
                return web.Response(body=text, headers={"Content-Type": content_type})
            case _:
                return self._file(request)

    def _file(self, request: "web.BaseRequest") -> "web.Response":
        """A file of the page, for whoever names this machine."""
        from aiohttp import web  # noqa: PLC0415 - see the top of this module

        if not _is_this_machine(request):
            text = "Host must name the machine that is asked\n"
            return web.Response(status=421, text=text)
        file = self._probes.files(request.path, request.headers)
        if file is None:
            text = "there are /, /healthz, /readyz and /metrics\n"
            return web.Response(status=404, text=text)
        return web.Response(status=file.status, headers=file.headers, body=file.body)

    def _told(self, *, is_good: bool) -> "web.Response":
        from aiohttp import web  # noqa: PLC0415 - see the top of this module

        status = "ok" if is_good else "unavailable"
        document = {"status": status, "height": self._probes.height()}
        return web.Response(
            status=_OK if is_good else _UNAVAILABLE,
            text=json.dumps(document) + "\n",
            content_type="application/json",
        )


def _is_this_machine(request: "web.BaseRequest") -> bool:
    """Whether `Host` is a loopback name, or the address that was connected to."""
    host = request.headers.get("Host", "")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    name = name.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    if address.is_loopback or request.transport is None:
        return True
    listening = ip_address(request.transport.get_extra_info("sockname")[0])
    mapped = getattr(listening, "ipv4_mapped", None)
    return address in (listening, mapped)


def _end(handler: "RequestHandler") -> None:
    """Close a connection now, whether its client reads or not."""
    if isinstance(handler.transport, asyncio.Transport):
        handler.transport.abort()
    handler.force_close()


def cannot_listen(address: str) -> CannotListen:
    """The refusal of an address that is taken, or not ours."""
    return CannotListen(
        f"cannot listen on {address} for HTTP: stop what listens there, or give "
        "another --http-listen, port 0, or `off`"
    )
