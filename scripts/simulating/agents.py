"""The actors of a simulation, in groups: what they schedule, how often, for how much.

An actor knows nothing but the terms that each timer carries in its payload: after how
many blocks it wants to fire again, until when, and what it offers. Whatever a group
does, it does through this one source, so that groups differ by their terms alone.
"""

from collections.abc import Callable

from msgspec import Struct

from node.primitives import codec

_MASK = 2**64 - 1
_SOURCE = """
import pvm_host

def follow(payload):
    pvm_host.set_state(b"next", payload)

def arm(payload):
    for height, each in pvm_host.cbor_decode(payload):
        period, until, fee, tip, tier = pvm_host.cbor_decode(each)
        pvm_host.schedule_timer(
            height, each, None, {limit}, None, fee, tip, None, tier
        )

def again(payload):
    period, until, fee, tip, tier = pvm_host.cbor_decode(payload)
    height = pvm_host.block_height() + period
    if period and height <= until:
        pvm_host.schedule_timer(
            height, payload, None, {limit}, None, fee, tip, None, tier
        )

def handle_timer(payload):
    {body}
    pvm_host.charge_gas(pvm_host.gas_left() - {left})
"""


class Kind(Struct, frozen=True):
    """A source, and how many cycles a fire of it may use and uses.

    What it did not need it charges itself, so that a fire is the same part of the lane
    whatever the prices of the virtual machine are.
    """

    limit: int
    """Of each fire, in cycles; the cap of the chain is the same, its lane holds 8."""
    left: int
    """Of it when the handler charges itself: that costs a few cycles more."""
    body: str

    @property
    def source(self) -> str:
        """As it is deployed."""
        return _SOURCE.format(limit=self.limit, left=self.left, body=self.body)


PLAIN = Kind(5_000, 1_891, "again(payload)")
"""The actor that fired schedules its next timer; 3,116 cycles."""
RING = Kind(
    7_400,
    2_789,
    'pvm_host.call_actor(pvm_host.get_state(b"next"), "again", payload, 2_000)',
)
"""The actor that fired lets the next of its ring schedule: identities take turns."""


class Dice:
    """SplitMix64: the same numbers on every machine and interpreter."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def below(self, stop: int) -> int:
        """From 0 to stop - 1; the bias for stops far below 2^64 is of no account."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return (mixed ^ (mixed >> 31)) % stop

    def octaves(self, low: int, count: int) -> int:
        """From low to low·2^count: each doubling as likely as any other."""
        start = low << self.below(count)
        return start + self.below(start)


class Terms(Struct, frozen=True):
    """What a timer carries; its fields, in order, are the actor's `terms`."""

    period: int
    """Blocks from a fire to the next due height; 0 for a timer that fires once."""
    until: int
    """No due height is above it."""
    fee: int | None
    """max_fee_per_cycle: what its owner would pay, lane basefee and tip together."""
    tip: int | None = None
    tier: str | None = None

    def encode(self) -> bytes:
        """The payload."""
        return codec.encode([self.period, self.until, self.fee, self.tip, self.tier])


class Group(Struct, frozen=True):
    """Actors of one kind of demand."""

    name: str
    actors: int
    terms: Callable[[Dice, int, int], Terms]
    """Of a timer: from dice, the actor's number in the group, the last height."""
    timers: int = 1
    """Of the whole group's actors each; of a ring, of the ring."""
    start: int = 0
    """Blocks after the beginning at which the first timers are due."""
    owner: int | None = None
    """The account that deployed all of them; each has its own if there is none."""
    is_ring: bool = False


def steady(
    period: int, fee: int | None, tip: int | None = None, *, tier: str | None = None
) -> Callable[[Dice, int, int], Terms]:
    """Terms that are the same for everybody, as long as the simulation lasts."""
    return lambda _dice, _number, last: Terms(period, last, fee, tip, tier)


def valued(period: int) -> Callable[[Dice, int, int], Terms]:
    """One actor in four states no price; those that do are of values 125 to 8,000."""

    def choose(dice: Dice, number: int, last: int) -> Terms:
        value = dice.octaves(125, 6)
        return Terms(period, last, value if number % 4 else None)

    return choose


def passing(
    period: int, until: int, fee: int, tip: int | None = None
) -> Callable[[Dice, int, int], Terms]:
    """Terms that end `until` blocks after the beginning."""
    return lambda _dice, _number, _last: Terms(period, until, fee, tip)
