"""The HTTP port: `/healthz`, `/readyz`, `/metrics`, the page at `/`, and the API.

The socket is bound before the node says that it serves, so that its port is known;
connections wait until the library is imported, which is begun when the first callers
of the API have been answered, on a thread of its own.

Rules: nobody who connects here can slow the node or make it grow (`connections`).
Probes and scrapers come under whatever name, and from anywhere; everything else must
name this machine in `Host`, and must not come from a page of a foreign origin
(`origins`). Nothing is said here of what software says it. What is no request is
refused and counted, without a line in the log.
"""

import asyncio
import importlib
import json
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from node.http.connections import Connections
from node.http.origins import PREFLIGHT_HEADERS, Origins
from node.http.static_answer import StaticFiles
from node.runtime.settings import HttpAccess, HttpLimits
from node.runtime.types import CannotListen

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["HttpHandler", "HttpPort", "HttpSite", "Probes", "cannot_listen"]

_BACKLOG = 64
_CLOSE_SECONDS = 0.2
"""For answers in the middle when the port is closed."""
_OK, _UNAVAILABLE = 200, 503

HttpHandler: TypeAlias = (
    "Callable[[web.BaseRequest, Callable[[], bool]], "
    "Awaitable[web.StreamResponse | None]]"
)
"""Answers a request, or returns None if the path is not its own. The second argument
makes the request's connection a caller's, which may stay; False if there are too many.
Host and origin of the request are admitted already."""


class HttpSite(Struct, frozen=True):
    """What the port serves beside probes and metrics, and to whom."""

    load: "Callable[[], Sequence[HttpHandler]]" = tuple
    """Makes the handlers, which are asked in turn; called once, on a thread, before the
    port answers, so that they may import what they need."""
    access: HttpAccess = field(default_factory=HttpAccess)


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

    def __init__(
        self,
        probes: Probes,
        limits: HttpLimits | None = None,
        site: HttpSite | None = None,
    ) -> None:
        self._probes = probes
        self._limits = limits or HttpLimits()
        self._site = site or HttpSite()
        self._origins = Origins(self._site.access)
        self._connections = Connections(self._limits)
        self._site_handlers: Sequence[HttpHandler] = ()
        self._socket: socket.socket | None = None
        self._handlers: web.Server | None = None
        self._server: asyncio.Server | None = None

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
        self._site_handlers = await asyncio.to_thread(self._load)
        from node.http.request import (  # noqa: PLC0415 - see the top of this module
            make_requests,
            make_server,
        )

        limits, tls = self._limits, self._site.access.tls
        requests = make_requests(self._probes.note_answer, self._origins)
        server = make_server(self._answer, requests, self._connections, limits)
        self._handlers = server
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            server,
            sock=self._socket,
            ssl=tls,
            ssl_handshake_timeout=None if tls is None else limits.idle_ms_max / 1_000,
        )

    def _load(self) -> "Sequence[HttpHandler]":
        importlib.import_module("node.http.request")
        return self._site.load()

    async def close(self) -> None:
        """Stop answering; idempotent."""
        if self._server is not None:
            self._server.close()
        elif self._socket is not None:
            self._socket.close()
        if self._handlers is not None:
            await self._handlers.shutdown(_CLOSE_SECONDS)

    # --- requests ------------------------------------------------------------------

    async def _answer(self, request: "web.BaseRequest") -> "web.StreamResponse":
        with self._connections.answering(request.protocol):
            probe = await self._probed(request)
            return probe or await self._served(request)

    async def _probed(self, request: "web.BaseRequest") -> "web.Response | None":
        """The answer to a probe or a scraper; None to others."""
        from aiohttp import web  # noqa: PLC0415 - see the top of this module

        if request.path not in ("/healthz", "/readyz", "/metrics"):
            return None
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, headers={"Allow": "GET, HEAD"})
        match request.path:
            case "/healthz":
                return self._told(is_good=self._probes.is_alive())
            case "/readyz":
                return self._told(is_good=self._probes.is_ready())
            case _:
                accept = request.headers.get("Accept", "")
                text, content_type = await self._probes.metrics(accept)
                return web.Response(body=text, headers={"Content-Type": content_type})

    async def _served(self, request: "web.BaseRequest") -> "web.StreamResponse":
        """The answer of whatever is served beside probes, to those who may ask."""
        refused = self._refusal(request)
        if refused is not None:
            return refused
        if request.method == "OPTIONS" and "Origin" in request.headers:
            from aiohttp import web  # noqa: PLC0415 - see the top of this module

            return web.Response(status=204, headers=PREFLIGHT_HEADERS)

        def keep() -> bool:
            return self._connections.keep(request.protocol)

        for handler in self._site_handlers:
            answer = await handler(request, keep)
            if answer is not None:
                return answer
        return self._file(request)

    def _refusal(self, request: "web.BaseRequest") -> "web.Response | None":
        """Why whoever asks may not, if so."""
        if not self._origins.is_ours(request):
            return _refused(
                421,
                "Host must name the machine that is asked, or be one of --http-hosts",
            )
        origin = request.headers.get("Origin")
        if origin is None or self._origins.is_admitted(request, origin):
            return None
        return _refused(
            403,
            "this page's origin may not ask this node: it is not of this machine, nor "
            "one of --http-origins",
        )

    def _file(self, request: "web.BaseRequest") -> "web.Response":
        """A file of the page."""
        from aiohttp import web  # noqa: PLC0415 - see the top of this module

        file = self._probes.files(request.path, request.headers)
        if file is None:
            return _refused(404, "there are /, /healthz, /readyz and /metrics")
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, headers={"Allow": "GET, HEAD"})
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


_CODES = {403: "permission_denied", 404: "unimplemented", 421: "permission_denied"}
"""What a refusal is called where callers of the API read it."""


def _refused(status: int, message: str) -> "web.Response":
    from aiohttp import web  # noqa: PLC0415 - see the top of this module

    document = {"code": _CODES[status], "message": message}
    return web.Response(
        status=status,
        text=json.dumps(document) + "\n",
        content_type="application/json",
    )


def cannot_listen(address: str) -> CannotListen:
    """The refusal of an address that is taken, or not ours."""
    return CannotListen(
        f"cannot listen on {address} for HTTP: stop what listens there, or give "
        "another --http-listen, port 0, or `off`"
    )
