"""The operator's log: structlog, imported when nobody waits for the node to serve.

structlog brings a printer of tables with it, and importing both takes longer than
opening a store. So lines are kept, with their time, until `open`; the node opens its
log shortly after it serves, and when it ends.
"""

import sys
from collections.abc import Callable
from typing import IO

from node.runtime.clock import Clock

__all__ = ["NodeLog"]

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}

LINES_KEPT_MAX = 10_000
"""Before `open`: far more than a start says."""


class NodeLog:
    """Lines with keys, on one stream."""

    def __init__(
        self,
        clock: Clock,
        *,
        level: str,
        is_console: bool,
        stream: IO[str] | None = None,
    ) -> None:
        self._clock = clock
        self._level = _LEVELS[level]
        self._is_console = is_console
        self._stream = stream or sys.stderr
        self._emit: Callable[[str, dict[str, object]], None] | None = None
        self._kept: list[tuple[str, dict[str, object]]] = []

    def debug(self, event: str, /, **fields: object) -> None:
        """What only somebody who looks for a defect wants to know."""
        self._say("debug", event, fields)

    def info(self, event: str, /, **fields: object) -> None:
        """What happened, at the moment it became a fact."""
        self._say("info", event, fields)

    def warning(self, event: str, /, **fields: object) -> None:
        """What the operator may want to change."""
        self._say("warning", event, fields)

    def error(self, event: str, /, **fields: object) -> None:
        """What ended something."""
        self._say("error", event, fields)

    def load(self) -> None:
        """Import structlog, on any thread: then `open` takes no time."""
        import structlog  # noqa: F401, PLC0415 - see the top of this module

    def open(self) -> None:
        """Import structlog, say what was kept, and from now on every line at once."""
        if self._emit is None:
            self._emit = _emitter(self._stream, is_console=self._is_console)
            for level, fields in self._kept:
                self._emit(level, fields)
            self._kept.clear()

    def _say(self, level: str, event: str, fields: dict[str, object]) -> None:
        if _LEVELS[level] < self._level:
            return
        line = {"timestamp": self._clock.utc(), "level": level, "event": event}
        if self._emit is not None:
            self._emit(level, {**line, **fields})
        elif len(self._kept) < LINES_KEPT_MAX:
            self._kept.append((level, {**line, **fields}))


def _emitter(
    stream: IO[str], *, is_console: bool
) -> Callable[[str, dict[str, object]], None]:
    import structlog  # noqa: PLC0415 - see the top of this module

    render: Callable[[object, str, dict[str, object]], str | bytes]
    if is_console:
        render = structlog.dev.ConsoleRenderer(colors=stream.isatty())
    else:
        render = structlog.processors.JSONRenderer()

    def emit(level: str, fields: dict[str, object]) -> None:
        try:
            stream.write(f"{render(None, level, fields)!s}\n")
            stream.flush()
        except OSError:
            return  # nobody reads the log any more: no reason to stop a chain
        except ValueError:
            return  # the stream was closed

    return emit
