"""Connections: who is connected to the HTTP port, and who has to go.

Whoever connects is a stranger: for a bounded time, one of a bounded number, of whom the
oldest gives way to a new one. So whatever strangers do, a probe comes through. One that
made a call is a caller's: it stays as long as its calls last, callers have a bound of
their own, and of them only one that is idle gives way.

Rules: who has to go is cut off, whatever was not read of what was sent: a connection
that is closed in peace stays for as long as its other end reads nothing.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from node.runtime.settings import HttpLimits

if TYPE_CHECKING:
    from aiohttp.web_protocol import RequestHandler

__all__ = ["Connections"]


class _Connection:
    """One of them, and since when it is quiet."""

    __slots__ = ("began", "handler", "is_busy", "look", "quiet_since", "transport")

    def __init__(
        self, handler: "RequestHandler", transport: asyncio.Transport, now: float
    ) -> None:
        self.handler = handler
        self.transport = transport
        self.began = now
        self.quiet_since = now
        self.is_busy = False
        self.look: asyncio.TimerHandle | None = None
        """When it is looked at next; what it holds lives no longer than that."""

    def forget(self) -> None:
        """Look at it no more."""
        if self.look is not None:
            self.look.cancel()

    def end(self) -> None:
        """Cut it off."""
        self.forget()
        self.transport.abort()
        self.handler.force_close()


class Connections:
    """Counts connections, and ends those that there is no place or time for."""

    __slots__ = ("_callers", "_limits", "_strangers")

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._strangers: dict[RequestHandler, _Connection] = {}
        self._callers: dict[RequestHandler, _Connection] = {}

    def admit(self, handler: "RequestHandler", transport: asyncio.Transport) -> None:
        """Take a new one in; the oldest stranger goes if there are too many."""
        if len(self._strangers) >= self._limits.connections_max:
            oldest = next(iter(self._strangers))
            self._strangers.pop(oldest).end()
        now = asyncio.get_running_loop().time()
        connection = self._strangers[handler] = _Connection(handler, transport, now)
        self._look(connection)

    def forget(self, handler: "RequestHandler") -> None:
        """It has ended."""
        for known in (self._strangers, self._callers):
            connection = known.pop(handler, None)
            if connection is not None:
                connection.forget()

    @contextmanager
    def answering(self, handler: "RequestHandler") -> Iterator[None]:
        """The time in which one of its requests is answered."""
        connection = self._strangers.get(handler) or self._callers.get(handler)
        if connection is None:  # it has to go already
            yield
            return
        connection.is_busy = True
        try:
            yield
        finally:
            connection.is_busy = False
            connection.quiet_since = asyncio.get_running_loop().time()

    def keep(self, handler: "RequestHandler") -> bool:
        """Make it a caller's; False if there are too many, and all are busy."""
        if handler in self._callers:
            return True
        if len(self._callers) >= self._limits.callers_max and not self._end_idle():
            return False
        connection = self._strangers.pop(handler, None)
        if connection is None:
            return False
        self._callers[handler] = connection
        return True

    def _end_idle(self) -> bool:
        """End the caller's connection that is idle for longest, if one is."""
        idle = [one for one in self._callers.values() if not one.is_busy]
        if not idle:
            return False
        longest = min(idle, key=lambda one: one.quiet_since)
        del self._callers[longest.handler]
        longest.end()
        return True

    def _look(self, connection: _Connection) -> None:
        """End one whose time is up, and look again when that of another may be."""
        loop, ends = asyncio.get_running_loop(), self._ends_at(connection)
        if loop.time() < ends:
            connection.look = loop.call_at(ends, self._look, connection)
            return
        self.forget(connection.handler)
        connection.end()

    def _ends_at(self, connection: _Connection) -> float:
        """When one has to go if nothing happens on it."""
        limits = self._limits
        if connection.handler in self._callers:
            idle = limits.caller_idle_ms_max / 1_000
            if connection.is_busy:
                return asyncio.get_running_loop().time() + idle
            return connection.quiet_since + idle
        ends = connection.began + limits.connection_ms_max / 1_000
        if connection.is_busy:
            return ends
        return min(ends, connection.quiet_since + limits.idle_ms_max / 1_000)
