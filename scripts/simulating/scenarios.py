"""Which simulations there are: demand, rules, seed; and what each is there to show.

Loads are in fires a block. A fire uses six tenths of its limit, so twelve fit a block
and 6.4 are half of the lane.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from simulating.agents import (
    PLAIN,
    RING,
    Dice,
    Group,
    Kind,
    Terms,
    passing,
    steady,
    valued,
)

BLOCKS = 10_000
"""Of a simulation, after its actors were deployed."""
PRICE = 2_000
"""What all would pay where only their places in the line are compared."""
TIP = 0
"""Of them: nothing that could be clamped; equal tips leave the order to W anyway."""


class Burst(Struct, frozen=True):
    """Demand that comes at once: at random heights all of a group's actors schedule."""

    group: str
    every: int
    """Blocks between two, on average."""
    timers: int
    """Of each actor."""
    terms: Callable[[Dice], Terms]


class Buyers(Struct, frozen=True):
    """Users who schedule once in a while if the whole price a cycle suits them."""

    group: str
    every: int
    """Blocks after which each looks again."""
    low: int
    high: int
    """Between them lies what a cycle is worth to each, cycle basefee included."""


class Mix(Struct, frozen=True):
    """A demand."""

    groups: tuple[Group, ...]
    bursts: tuple[Burst, ...] = ()
    buyers: tuple[Buyers, ...] = ()
    kind: Kind = PLAIN


class Scenario(Struct, frozen=True):
    """One simulation."""

    name: str
    mix: str
    """Of MIXES; after a colon a number for it."""
    rules: str = "auction"
    """A variant's name."""
    window: int = 1_000
    tie_break: str = "fair"
    seed: int = 1
    blocks: int = BLOCKS


def _liquidation(dice: Dice) -> Terms:
    return Terms(0, 0, 50_000, dice.octaves(10, 7))


def _steady(_: int) -> Mix:
    return Mix((Group("heartbeats", 300, valued(20)),))


def _liquidations(_: int) -> Mix:
    """100 liquidations at once, eight lanes, every 60 blocks on average."""
    groups = (
        Group("heartbeats", 80, valued(20)),
        Group("liquidators", 20, steady(0, None), timers=0),
    )
    return Mix(groups, (Burst("liquidators", 60, 5, _liquidation),))


def _spam(_: int) -> Mix:
    """12 fires a block of one actor that would pay little."""
    groups = (
        Group("heartbeats", 80, valued(20)),
        Group("spammer", 1, steady(10, 100), timers=120, owner=0),
    )
    return Mix(groups)


def _whale(blocks: int) -> Mix:
    """One actor that offers 12 fires a block in the second and third quarter."""
    terms = passing(10, 3 * blocks // 4, 3_000)
    groups = (
        Group("heartbeats", 80, valued(20)),
        Group("whale", 1, terms, timers=120, start=blocks // 4, owner=0),
    )
    return Mix(groups)


def _fragments(actors: int) -> Mix:
    """30 timers of one owner, each going round all of its actors; 40 honest actors."""
    groups = (
        Group("honest", 40, steady(10, PRICE, TIP)),
        Group("whale", actors, steady(5, PRICE, TIP), 30, 0, 0, is_ring=True),
    )
    return Mix(groups, kind=RING)


def _swap(blocks: int) -> Mix:
    """Ten actors are heavy and ten light; after half of the time they change."""
    half = blocks // 2
    heavy, light = passing(10, half, PRICE, TIP), passing(40, half, PRICE, TIP)
    to_light, to_heavy = steady(40, PRICE, TIP), steady(10, PRICE, TIP)
    groups = (
        Group("heartbeats", 40, steady(20, PRICE, TIP)),
        Group("first heavy", 10, heavy, timers=8),
        Group("first light", 10, light),
        Group("first heavy", 10, to_light, start=half),
        Group("first light", 10, to_heavy, timers=8, start=half),
    )
    return Mix(groups)


def _crowds(blocks: int) -> Mix:
    """Two crowds of newcomers, one that fires seldom, one that fires often."""
    fifth = blocks // 5
    groups = (
        *(
            Group(f"{n} a period", 10, steady(20, PRICE, TIP), timers=n)
            for n in (1, 2, 4, 8)
        ),
        Group("light crowd", 100, passing(200, 2 * fifth, PRICE, TIP), 1, fifth),
        Group("heavy crowd", 60, passing(20, 4 * fifth, PRICE, TIP), 2, 3 * fifth),
    )
    return Mix(groups)


def _equals(_: int) -> Mix:
    """Forty equal actors, ten fires a block wanted, no tips."""
    return Mix((Group("equals", 40, steady(8, PRICE, 0), timers=2),))


def _clamped(_: int) -> Mix:
    """The same with a tip that the maximum fee does not always leave room for."""
    return Mix((Group("equals", 40, steady(8, PRICE, 100), timers=2),))


TIERS = ("economy", "standard", "fast", "urgent")


def _tiers(lanes: int) -> Mix:
    """Users of the tiers beside those who state tips, and bursts of some lanes."""
    groups = (
        Group(
            "stated", 60, lambda d, _, last: Terms(20, last, None, 50 + d.below(101))
        ),
        *(Group(tier, 20, steady(40, None, tier=tier)) for tier in TIERS),
        Group("burst", 12, steady(0, None), timers=0),
    )
    bursts = (Burst("burst", 50, lanes, _burst_tips),) if lanes else ()
    return Mix(groups, bursts)


def _burst_tips(dice: Dice) -> Terms:
    return Terms(0, 0, None, dice.octaves(13, 5))


def _only_tiers(blocks: int) -> Mix:
    """Those who state tips leave after a fifth of the time; all else has tiers."""
    fifth = blocks // 5
    groups = (
        Group("stated", 40, lambda d, *_: Terms(20, fifth, None, 50 + d.below(101))),
        *(Group(tier, 20, steady(20, None, tier=tier)) for tier in TIERS),
    )
    return Mix(groups)


def _uncapped(_: int) -> Mix:
    """Eight fires a block of actors that state no price: 60 % of the lane."""
    return Mix((Group("heartbeats", 80, steady(10, None)),))


def _slack(_: int) -> Mix:
    """Two fires a block whatever the price, and users who compare it."""
    groups = (
        Group("heartbeats", 40, steady(20, None)),
        Group("buyers", 100, steady(0, None), timers=0),
    )
    return Mix(groups, buyers=(Buyers("buyers", 50, 500, 1_500),))


MIXES: Mapping[str, Callable[[int], Mix]] = {
    "steady": _steady,
    "liquidations": _liquidations,
    "spam": _spam,
    "whale": _whale,
    "fragments": _fragments,
    "swap": _swap,
    "crowds": _crowds,
    "equals": _equals,
    "clamped": _clamped,
    "tiers": _tiers,
    "only-tiers": _only_tiers,
    "uncapped": _uncapped,
    "slack": _slack,
}
TIMED = ("whale", "swap", "crowds", "only-tiers")
"""Mixes that change on their way: their number is that of the blocks."""

WINDOWS = (100, 300, 1_000, 3_000)
FRAGMENTS = (1, 2, 10, 100, 300, 1_000)
FRAGMENTS_OF_DEPLOYERS = (1, 10, 100, 1_000)
LANES = (0, 1, 2, 4)
BASELINES = ("steady", "liquidations", "spam", "whale", "fragments:100")
SMOOTHED = (100, 1_000)


def scenarios() -> dict[str, Scenario]:
    """All of them, by name."""
    found = [
        Scenario(f"{mix}/{rules}", mix, rules)
        for mix in BASELINES
        for rules in ("auction", "fifo", "first-price")
    ]
    found += [Scenario(f"swap/window-{w}", "swap", window=w) for w in WINDOWS]
    found += [
        Scenario(f"fragments:{n}/{rules}", f"fragments:{n}", rules)
        for rules, counts in (
            ("auction", FRAGMENTS),
            ("per-deployer", FRAGMENTS_OF_DEPLOYERS),
        )
        for n in counts
    ]
    found += [Scenario("crowds/auction", "crowds")]
    found += [
        Scenario(f"crowds/smoothed:{n}", "crowds", f"smoothed:{n}") for n in SMOOTHED
    ]
    found += [
        Scenario(f"equals/{tie}", "equals", tie_break=tie) for tie in ("fair", "cip")
    ]
    found += [
        Scenario(f"clamped/{rules}", "clamped", rules)
        for rules in ("auction", "clamped-late")
    ]
    found += [Scenario(f"tiers:{n}/auction", f"tiers:{n}") for n in LANES]
    found += [Scenario("only-tiers/auction", "only-tiers")]
    found += [Scenario("uncapped/auction", "uncapped")]
    found += [
        Scenario(f"{mix}/{rules}", mix, rules)
        for mix in ("slack", "steady")
        for rules in ("auction", "subsidy-lane", "subsidy-all")
    ]
    return {scenario.name: scenario for scenario in found}


def mix_of(scenario: Scenario) -> Mix:
    """Its demand."""
    name, _, number = scenario.mix.partition(":")
    return MIXES[name](scenario.blocks if name in TIMED else int(number or 0))
