"""The operator's log: lines with keys, written by a thread of its own.

Whoever says something goes on at once: a line is put into a bounded queue, and one
thread writes. A reader who does not read, a full pipe or a slow disk, therefore never
stops the chain; what finds no room is counted, and the log says so when it is read
again. structlog, which takes longer to import than a store to open, is imported on that
thread, and not before `open`: the node calls it shortly after it serves.

Rules: the descriptor is written to directly, for a thread that waits inside a Python
stream would keep the interpreter from ending.
"""

import logging
import os
import re
import select
import traceback
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Event, Thread
from typing import TypeAlias

from typing_extensions import override

from node.runtime.clock import Clock

__all__ = ["LINES_WAITING_MAX", "NodeLog"]

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}

LINES_WAITING_MAX = 4_096
"""More than a start says or a reader falls behind, and some megabytes."""

_TOGETHER_SECONDS = 0.05
"""Lines of one such time are written together: who writes each as it comes wakes a
thread for each, and keeps the interpreter from a block as often."""

_STUCK_SECONDS = 0.25
"""An ending node waits that long for a reader who takes nothing."""

_COLUMNS = 80
"""Of a terminal that does not know."""

_INDENT = "  "
_HEAD = frozenset({"timestamp", "level", "event"})
_NOTHING: tuple[object, ...] = (0, None, "", [])
_HASH = re.compile("[0-9a-f]{64}")
_HASH_SHOWN = 12

_Fields: TypeAlias = dict[str, object]


class NodeLog:
    """Lines with keys, on one file descriptor."""

    def __init__(
        self, clock: Clock, *, level: str, is_console: bool, descriptor: int
    ) -> None:
        self._clock = clock
        self._level = _LEVELS[level]
        self._is_console = is_console
        self._descriptor = descriptor
        self._waiting: SimpleQueue[_Fields | str | None] = SimpleQueue()
        self._writer: Thread | None = None
        self._is_closing = Event()
        self._dropped = 0
        self._written = 0
        self._is_writing = False

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

    def sentence(self, text: str) -> None:
        """A line for whoever started the node, as it is."""
        self._waiting.put(text)

    def open(self) -> None:
        """Begin to write, with what was said before; idempotent."""
        if self._writer is None:
            self._writer = Thread(target=self._write_all, name="log", daemon=True)
            self._writer.start()

    def close(self) -> None:
        """Write what waits, as long as somebody takes it."""
        self.open()
        assert self._writer is not None
        self._is_closing.set()
        self._waiting.put(None)
        is_stuck = False
        while self._writer.is_alive() and not is_stuck:
            written = self._written
            self._writer.join(_STUCK_SECONDS)
            is_stuck = self._is_writing and self._written == written

    def handler(self) -> logging.Handler:
        """Takes in what libraries say by `logging`."""
        return _Handler(self)

    def _say(self, level: str, event: str, fields: _Fields) -> None:
        if _LEVELS[level] < self._level:
            return
        if self._waiting.qsize() >= LINES_WAITING_MAX:
            self._dropped += 1
            return
        self._waiting.put(self._line(level, event, fields))

    def _line(self, level: str, event: str, fields: _Fields) -> _Fields:
        line = {"timestamp": self._clock.utc(), "level": level, "event": event}
        return {**line, **fields}

    # --- on the writer's thread ------------------------------------------------------

    def _write_all(self) -> None:
        told = 0
        while (line := self._waiting.get()) is not None:
            if self._waiting.empty():
                self._is_closing.wait(_TOGETHER_SECONDS)
            self._write(line if isinstance(line, str) else self._render(line))
            if (dropped := self._dropped) > told:
                fields: _Fields = {"lines": dropped - told}
                notice = self._line("warning", "log_lines_dropped", fields)
                self._write(self._render(notice))
                told = dropped

    def _render(self, line: _Fields) -> str:
        import structlog  # noqa: PLC0415 - see the top of this module

        if not self._is_console:
            return str(structlog.processors.JSONRenderer()(None, "", line))
        if not os.isatty(self._descriptor):
            return structlog.dev.ConsoleRenderer(colors=False)(None, "", line)
        render = structlog.dev.ConsoleRenderer(pad_event_to=0, sort_keys=False)
        plain = structlog.dev.ConsoleRenderer(0, colors=False, sort_keys=False)
        columns = os.get_terminal_size(self._descriptor).columns or _COLUMNS
        parts = _fitted(line, columns, lambda part: plain(None, "", {**part}))
        return f"\n{_INDENT}".join(render(None, "", {**part}) for part in parts)

    def _write(self, text: str) -> None:
        rest = f"{text}\n".encode(errors="backslashreplace")
        self._is_writing = True
        try:
            while rest:
                try:
                    rest = rest[os.write(self._descriptor, rest) :]
                except BlockingIOError:  # another process made the pipe so
                    select.select([], [self._descriptor], [])
        except OSError:
            pass  # nobody reads the log any more: no reason to stop a chain
        self._is_writing = False
        self._written += 1


def _fitted(
    line: _Fields, columns: int, shown: Callable[[_Fields], str]
) -> Iterator[_Fields]:
    """A line of a terminal in parts that fit it, but for a field that alone does not.

    The time is that of the day, hashes are cut, and what is 0 or nothing is left out:
    whoever wants all of it takes JSON.
    """
    part: _Fields = {name: line[name] for name in sorted(_HEAD)}
    part["timestamp"] = str(line["timestamp"]).partition("T")[2].rstrip("Z")
    room = columns
    for name in sorted(line.keys() - _HEAD, key=lambda name: (name != "height", name)):
        value = line[name]
        if isinstance(value, str) and _HASH.fullmatch(value):
            value = f"{value[:_HASH_SHOWN]}…"
        if value in _NOTHING:
            continue
        longer = {**part, name: value}
        if part and len(shown(longer)) > room:
            yield part
            room, longer = columns - len(_INDENT), {name: value}
        part = longer
    yield part


class _Handler(logging.Handler):
    """What libraries say, in the form of the node's own lines."""

    def __init__(self, log: NodeLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    @override
    def emit(self, record: logging.LogRecord) -> None:
        fields: _Fields = {"logger": record.name, "text": record.getMessage()}
        if record.exc_info is not None:
            fields["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        is_error = record.levelno >= logging.ERROR
        (self._log.error if is_error else self._log.warning)("library_says", **fields)
