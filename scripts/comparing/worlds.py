"""Which worlds there are: who lives in them, what they want and what they have.

Wanted turns are counted a block. A fire uses 155,000 of the 250,000 cycles that it may
use: the lane of 2,000,000 holds eight that are reserved whole, or twelve real ones.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct
from simulating.agents import Dice

from comparing.actors import Need

BLOCKS = 1_000
"""Of a world, after its actors were deployed; of the long idle one many times that."""
IDLE_TIMES = 40
PLENTY = 10_000 * 10**9
"""Base units that an actor has who never runs out of them."""


class Group(Struct, frozen=True):
    """Actors with one kind of need."""

    name: str
    actors: int
    need: Callable[[Dice], Need]
    period: int = 0
    """Blocks from one turn to the next; 0 for actors that have single turns only."""
    moments: tuple[int, ...] = ()
    """Blocks after the beginning at which all have a turn; else each begins anywhere
    within its first period."""
    timers: int = 1
    """Standing orders of each actor, which begin independently of each other."""
    is_one_deployer: bool = False
    """Whether one account deployed all of them; else each has its own."""
    funds: int = PLENTY
    """Base units of each actor."""
    topped_up_every: int = 0
    """Blocks after which each gets as much again; 0 for never."""


class World(Struct, frozen=True):
    """One population."""

    name: str
    groups: tuple[Group, ...]
    blocks: int = BLOCKS
    is_idle: bool = False
    """Whether time passes in runs where nothing happens."""


def _same(*numbers: int) -> Callable[[Dice], Need]:
    need = Need(*numbers)
    return lambda _dice: need


def _by_worth(dice: Dice) -> Need:
    """From 1,250 to 20,000, each doubling as likely as any other; nobody tips."""
    return Need(dice.octaves(1_250, 4))


def _crowd(dice: Dice) -> Need:
    """Who comes offers a tenth of what it would pay above the basefee."""
    worth = dice.octaves(2_500, 4)
    return Need(worth, (worth - 1_000) // 10)


def _steady(_: int) -> tuple[Group, ...]:
    return (Group("actors", 60, _by_worth, period=15),)


def _congested(_: int) -> tuple[Group, ...]:
    return (Group("actors", 150, _by_worth, period=10),)


def _spam(_: int) -> tuple[Group, ...]:
    honest = Group("honest", 40, _same(4_000), period=10)
    spam = Group("spammer", 60, _same(1_100), period=5, is_one_deployer=True)
    return (honest, spam)


def _hog(_: int) -> tuple[Group, ...]:
    """The same demand as of `spam`, by one actor."""
    honest = Group("honest", 40, _same(4_000), period=10)
    return (honest, Group("hog", 1, _same(1_100), period=5, timers=60))


def _flash_crowd(blocks: int) -> tuple[Group, ...]:
    residents = Group("residents", 40, _same(3_000), period=10)
    moments = (blocks // 4, 5 * blocks // 8)
    return (residents, Group("newcomers", 200, _crowd, moments=moments))


def _poor_and_rich(blocks: int) -> tuple[Group, ...]:
    """The poor bid as the middle, have money for some turns, and get it four times."""
    return (
        Group("rich", 26, _same(10_000, 500), period=8),
        Group("middle", 78, _same(3_000, 50), period=8),
        Group(
            "poor",
            26,
            _same(3_000, 50),
            period=8,
            funds=2_500_000_000,
            topped_up_every=max(1, blocks // 4),
        ),
    )


def _long_idle(blocks: int) -> tuple[Group, ...]:
    return (Group("actors", 60, _by_worth, period=blocks // 8, moments=(blocks // 8,)),)


def _need(_: int) -> tuple[Group, ...]:
    return (
        Group("urgent", 28, _same(8_000, 200, 200), period=10),
        Group("patient", 112, _same(8_000, 0, 10), period=10),
    )


_WORLDS: Mapping[str, Callable[[int], tuple[Group, ...]]] = {
    "steady": _steady,
    "congested": _congested,
    "spam": _spam,
    "hog": _hog,
    "flash crowd": _flash_crowd,
    "poor and rich": _poor_and_rich,
    "long idle": _long_idle,
    "need": _need,
}


def worlds(blocks: int = BLOCKS) -> dict[str, World]:
    """All of them, by name."""
    found = {}
    for name, groups in _WORLDS.items():
        is_idle = name == "long idle"
        length = blocks * IDLE_TIMES if is_idle else blocks
        found[name] = World(name, groups(length), length, is_idle)
    return found
