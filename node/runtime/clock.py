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

    def monotonic(self) -> float:
        """Seconds since some moment; may stand still while the host sleeps."""
        return time.monotonic()

    def utc(self) -> str:
        """The date and time, ISO 8601 with milliseconds."""
        now = datetime.fromtimestamp(time.time(), UTC)
        return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
