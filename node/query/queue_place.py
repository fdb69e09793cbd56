"""Where a fire stands in the Globalbox, and how a watch is doing: values alone.

Clients of a node read them as well as the chain that finds them.
"""

from enum import StrEnum

from msgspec import Struct

from node.chain.timers.globalbox.fires import BID_FRACTION_BITS
from node.chain.timers.timer import Timer, WatchKey
from node.primitives.hex_repr import show_struct
from node.primitives.types import Amount, Height


class QueuePlace(Struct, frozen=True):
    """Where a fire stands in the Globalbox, as things are (D52)."""

    __repr__ = show_struct

    order: bytes
    """By which all queued fires are ordered, 97 bytes: the lesser comes first."""
    rank: int | None
    """From 1, among all that are queued. None if too many would have to be counted."""
    score: int
    """What it would compare by with those that the next block queues."""
    bid_fp: int
    """The bid that bought its place; Q32.96, base units a cycle."""
    origin: Height
    """The due height; of a watch the height of the hit."""
    matched_keys: tuple[WatchKey, ...] = ()
    """Of a watch's fire: the first keys that changed, each with its actor."""

    @property
    def tip(self) -> Amount:
        """What the fire pays the proposer a cycle, in base units (D54)."""
        return Amount(self.bid_fp >> BID_FRACTION_BITS)


class QueuedTimer(Struct, frozen=True):
    """A timer whose fire is queued in the Globalbox."""

    timer: Timer
    place: QueuePlace


class WatchState(StrEnum):
    """Whether a change of state would make a watch fire (D51)."""

    IDLE = "idle"
    """It waits for a change."""
    NOTED = "noted"
    """A change was seen; the fire is queued in a block to come."""
    QUEUED = "queued"
    """Its fire is queued in the Globalbox."""


class WatchStatus(Struct, frozen=True):
    """How a live watch is doing (D51)."""

    __repr__ = show_struct

    state: WatchState
    hit_height: Height | None = None
    """Height of the block that changed what it watches; None while it is idle."""
    matched_keys: tuple[WatchKey, ...] = ()
    """The first keys that changed, each with its actor; none while it is idle."""


class LiveWatch(Struct, frozen=True):
    """A live watch, and how it is doing."""

    timer: Timer
    status: WatchStatus


__all__ = ["LiveWatch", "QueuePlace", "QueuedTimer", "WatchState", "WatchStatus"]
