"""The clock: the only module that reads the time.

Wall time paces blocks in `interval` mode, bounds how long somebody waits, and dates
the lines of the log; nothing that the chain computes depends on it (D37, D40). Blocks
carry virtual time.
"""

import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """A source of time."""

    def monotonic(self) -> float:
        """Seconds since some moment, never backwards; for distances only."""
        ...

    def utc(self) -> str:
        """The date and time, ISO 8601 with milliseconds; for people only."""
        ...


class SystemClock:
    """The clock of the operating system."""

    __slots__ = ("_second", "_text")

    def __init__(self) -> None:
        self._second = -1
        self._text = ""

    def monotonic(self) -> float:
        """Seconds since some moment; may stand still while the host sleeps."""
        return time.monotonic()

    def utc(self) -> str:
        """The date and time, ISO 8601 with milliseconds."""
        second, milliseconds = divmod(time.time_ns() // 1_000_000, 1_000)
        text = self._text
        if second != self._second:
            now = datetime.fromtimestamp(second, UTC)
            text = now.isoformat(timespec="seconds").removesuffix("+00:00")
            self._second, self._text = second, text
        return f"{text}.{milliseconds:03}Z"
