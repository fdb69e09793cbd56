"""GlobalFire: one fire that waits in the Globalbox, and the key that orders it (D52).

The key says everything that fires are compared by, the best first, so that the order
never changes once a fire is queued, and the queue is one ordered set::

    order   rank BE32 | 255 - bucket | cursor BE4 | origin BE8 | target20 | timer id
    rank    2²⁵⁵ - (score - A(h)), score = w_age · (h - origin) + w_bid · bid

`A(h)` is how old everybody has become up to the block that queues the fire: taken off,
it makes scores of different blocks comparable, and ageing costs nothing. The record
beside the key has what else the fire is made of; a HEIGHT timer's lies in it, since it
left the calendar, a watch's does not.
"""

from typing import cast

from msgspec import Struct

from node.chain.timers.timer import Timer, WatchKey, decode_timer
from node.primitives import codec
from node.primitives.hex_repr import show_struct
from node.primitives.types import Address, Height, TimerId
from node.state import keys

BID_FRACTION_BITS = 96
"""Of a bid, Q32.96: what stands above them is base units a cycle (D50)."""
RANK_ORIGIN = 1 << 255
_RANK_BYTES = 32
_CURSOR_BYTES = 4
_BUCKET_LAST = 255
_CURSOR = slice(33, 37)
_ORIGIN = slice(37, 45)
_TARGET = slice(45, 65)
_TIMER_ID = slice(65, 97)


class GlobalFire(Struct, frozen=True):
    """A queued fire (GBX §5.3, D52)."""

    __repr__ = show_struct

    order: bytes
    """By which all queued fires are ordered: 97 bytes."""
    bid_fp: int
    """The bid that bought its place; what the timer says later does not change it."""
    sequence: int
    """Of its timer."""
    matched_keys: tuple[WatchKey, ...] = ()
    """Of a watch's: the first keys that changed, each with its actor (D51)."""
    record: bytes = b""
    """Of a HEIGHT timer, which lies here and not in the calendar; of a watch nothing.
    """

    @property
    def is_of_watch(self) -> bool:
        """Whether a change of state caused it, and not a height."""
        return not self.record

    @property
    def origin(self) -> Height:
        """The due height; of a watch the height of the hit (D52)."""
        return Height(int.from_bytes(self.order[_ORIGIN], "big"))

    @property
    def target(self) -> Address:
        """Whose handler it calls."""
        return target_of(self.order)

    @property
    def timer_id(self) -> TimerId:
        """Of its timer."""
        return TimerId(self.order[_TIMER_ID])

    def encode(self) -> bytes:
        """The record under its order."""
        matched = [[address, key] for address, key in self.matched_keys]
        return codec.encode([self.bid_fp, self.sequence, matched, self.record])

    def height_timer(self) -> Timer:
        """The HEIGHT timer that lies in it."""
        assert self.record, "a watch lies in the calendar"
        return decode_timer(keys.timer(self.origin, self.sequence), self.record)


class OrderedBy(Struct, frozen=True, gc=False):
    """What the bytes of an order say, but for the rank."""

    bucket: int
    cursor: int
    origin: Height
    target: Address
    timer_id: TimerId


def read_order(order: bytes) -> OrderedBy:
    """What `order_of` wrote; trusts its bytes."""
    return OrderedBy(
        _BUCKET_LAST - order[_RANK_BYTES],
        int.from_bytes(order[_CURSOR], "big"),
        Height(int.from_bytes(order[_ORIGIN], "big")),
        Address(order[_TARGET]),
        TimerId(order[_TIMER_ID]),
    )


def target_of(order: bytes) -> Address:
    """Whose handler the fire of an order calls."""
    return Address(order[_TARGET])


def decode_fire(order: bytes, record: bytes) -> GlobalFire:
    """The fire under an order; trusts its bytes."""
    bid_fp, sequence, matched, timer_record = cast(
        "tuple[int, int, list[tuple[Address, bytes]], bytes]", codec.decode(record)
    )
    return GlobalFire(
        order,
        bid_fp,
        sequence,
        tuple([(address, key) for address, key in matched]),
        timer_record,
    )


def order_of(
    rank: int, bucket: int, cursor: int, origin: int, target: Address, timer_id: bytes
) -> bytes:
    """The bytes that order a fire (D52)."""
    return b"".join(
        (
            rank.to_bytes(_RANK_BYTES, "big"),
            bytes((_BUCKET_LAST - bucket,)),
            cursor.to_bytes(_CURSOR_BYTES, "big"),
            keys.height8(origin),
            target,
            timer_id,
        )
    )
