"""The HTTP port: `/healthz`, `/readyz`, `/metrics`, the page at `/`, and the API.

The socket is bound before the node says that it serves, so that its port is known;
connections wait until the library is imported, which is begun when the first callers
of the API have been answered, on a thread of its own. `answering` is the half that
needs it.

Rules: nobody who connects here can slow the node or make it grow. Nothing is said here
of what software says it. What is no request is refused and counted, without a line in
the log.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from node.runtime.settings import HttpAccess, HttpLimits
from node.runtime.types import CannotListen

if TYPE_CHECKING:
    from aiohttp import web

    from node.http.answering import PortAnswers

__all__ = [
    "HttpHandler",
    "HttpPort",
    "HttpSite",
    "Probes",
    "cannot_listen",
    "require_listenable",
]

_BACKLOG = 64
_CLOSE_SECONDS = 0.2
"""For answers in the middle when the port is closed."""

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
        self._socket: socket.socket | None = None
        self._handlers: web.Server | None = None
        self._server: asyncio.Server | None = None

    def bind(self, host: str, port: int) -> int:
        """Listen, port 0 for a free one; the port. Nothing is answered yet.

        Raises:
            CannotListen: The address is taken, or not ours.
        """
        self._socket = _listening(host, port)
        number: int = self._socket.getsockname()[1]
        return number

    async def serve(self) -> None:
        """Import the library, and answer."""
        assert self._socket is not None, "bind comes first"
        answers = await asyncio.to_thread(self._load)
        self._handlers = answers.make_server()
        tls, idle_ms_max = self._site.access.tls, self._limits.idle_ms_max
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._handlers,
            sock=self._socket,
            ssl=tls,
            ssl_handshake_timeout=None if tls is None else idle_ms_max / 1_000,
        )

    def _load(self) -> "PortAnswers":
        # Imported late: see the top of this module.
        from node.http.answering import PortAnswers  # noqa: PLC0415

        return PortAnswers(self._probes, self._site, self._limits)

    async def close(self) -> None:
        """Stop answering; idempotent."""
        if self._server is not None:
            self._server.close()
        elif self._socket is not None:
            self._socket.close()
        if self._handlers is not None:
            await self._handlers.shutdown(_CLOSE_SECONDS)


def require_listenable(host: str, port: int) -> None:
    """Refuse an address that is taken before work is done for nothing.

    Raises:
        CannotListen: The address is taken, or not ours.
    """
    _listening(host, port).close()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise cannot_listen(f"{host}:{port}") from error


def cannot_listen(address: str) -> CannotListen:
    """The refusal of an address that is taken, or not ours."""
    return CannotListen(
        f"cannot listen on {address} for HTTP: stop what listens there, or give "
        "another --http-listen (port 0 picks a free one; a node needs none: `off`)"
    )
