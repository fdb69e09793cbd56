"""What an operator chooses of the running node; `node.config` puts it together.

Rules: this module imports nothing of the node, so that a config costs no event loop.
"""

from enum import StrEnum

from msgspec import Struct

__all__ = ["Confinement", "FeedLimits", "HttpLimits", "MiningMode"]


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


class HttpLimits(Struct, frozen=True):
    """What bounds the operators' port."""

    connections_max: int = 32
    """One more closes the oldest: probes and scrapers come and go."""
    connection_ms_max: int = 30_000
    """Of one connection's life, whatever its client does or leaves."""
    idle_ms_max: int = 5_000
    """Until a connection without a whole request is closed."""
    header_bytes_max: int = 4_096
    """Of a line of a request."""
