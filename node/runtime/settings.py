"""What an operator chooses of the running node; `node.config` puts it together.

Rules: this module imports nothing of the node, so that a config costs no event loop.
"""

from enum import StrEnum
from ssl import SSLContext

from msgspec import Struct

__all__ = ["Confinement", "FeedLimits", "HttpAccess", "HttpLimits", "MiningMode"]


class MiningMode(StrEnum):
    """What makes the next block."""

    INTERVAL = "interval"
    """Wall time: a block every pace."""
    INSTANT = "instant"
    """An admitted transaction: one a block, then until no message is pending."""
    MANUAL = "manual"
    """`Mine` alone."""


class Confinement(StrEnum):
    """What is asked of the walls around a process that executes actors."""

    AUTO = "auto"
    """Those that this machine has."""
    REQUIRED = "required"
    """All that the kernel builds, or no start."""
    OFF = "off"
    """None."""


class FeedLimits(Struct, frozen=True):
    """What bounds a feed."""

    buffered_max: int = 1_024
    """Notices that wait for one reader: a quarter of an hour of blocks at 1 s."""
    buffered_bytes_max: int = 32 << 20
    """Of them, about; all readers share what they wait for."""
    subscriptions_max: int = 1_024
    """Readers at a time."""


class HttpAccess(Struct, frozen=True):
    """To whom the HTTP port answers more than probes and metrics."""

    is_api_served: bool = True
    """Whether the API is served there."""
    hosts: frozenset[str] = frozenset()
    """Names in `Host` beside those of this machine, in lower case, without a port."""
    origins: frozenset[str] = frozenset()
    """Origins of pages beside those of this machine, in lower case."""
    tls: SSLContext | None = None
    """With the node's certificate, if it has one."""


class HttpLimits(Struct, frozen=True):
    """What bounds the HTTP port."""

    connections_max: int = 128
    """Of strangers; one more closes the oldest: probes and scrapers come and go."""
    connection_ms_max: int = 30_000
    """Of a stranger's connection's life, whatever its client does or leaves."""
    idle_ms_max: int = 5_000
    """Until a stranger's connection without a whole request is closed."""
    callers_max: int = 256
    """Connections that made a call of the API; one more closes one that is idle, or is
    refused. Each is a file of the process, which may have 1,024 on most machines."""
    caller_idle_ms_max: int = 75_000
    """Until a caller's connection is closed on which nothing is asked: longer than
    browsers and their like keep one."""
    header_bytes_max: int = 8_190
    """Of a line of a request."""
