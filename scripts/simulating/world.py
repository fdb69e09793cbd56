"""One simulation: a chain, its actors, what they do, and what is noted of it.

Every block is built by the transition itself, through a `Devnet`; this module deploys,
submits what agents outside of the chain would submit, and reads results. It decides
nothing about timers.
"""

from collections.abc import Iterator
from itertools import repeat

from msgspec.structs import replace

from node.chain.transition import head_globals
from node.primitives import codec
from node.primitives.types import Address, Amount
from node.testing import Devnet
from simulating import variants
from simulating.agents import Dice, Group, Terms
from simulating.gathering import Notes, Record
from simulating.scenarios import Burst, Buyers, Scenario, mix_of
from simulating.stage import PREPARED, Stage

LANE_IN_FIRES = 8
"""Fires at the cap that the lane holds (CIP-1 §10)."""
BASEFEE = 1_000
"""Of a cycle and of a cell, all the time: the lane's price is what is looked at."""
FUNDS = Amount(100_000 * 10**9)
"""Of each actor."""
FIRE_CELLS = 2_000
REST = 60
"""Empty blocks in which the lane basefee falls to its floor: everybody may begin."""
HEADSTART = 2
"""Blocks between the last of the preparation and the first due height."""

_CODE = 2**29
_PLENTY = 2**40


def simulate(scenario: Scenario) -> Record:
    """Live through a scenario.

    Raises:
        SupplyError: the supply equation did not hold after a block.
    """
    with variants.in_force(scenario.rules), _chain(scenario) as chain:
        return _World(chain, scenario).live()


def _chain(scenario: Scenario) -> Devnet:
    limit = mix_of(scenario).kind.limit
    rules = "fifo" if scenario.rules == "fifo" else "auction"
    groups = {group.name: group for group in mix_of(scenario).groups}
    owners = sum(1 if g.owner is not None else g.actors for g in groups.values())
    return Devnet(
        accounts={"count": owners + 1, "balance": str(FUNDS * 1_200)},
        activations=[{"height": 0, "rules": rules}],
        auction_tie_break=scenario.tie_break,
        lane_user_cycles=_CODE,
        block_cells=_PLENTY,
        basefee_config={
            "min_basefee": BASEFEE,
            "target_cycles": _PLENTY,
            "target_cells": _PLENTY,
        },
        timer_config={
            "lane_timer_cycles": LANE_IN_FIRES * limit,
            "max_cycles_per_fire": limit,
            "max_cycles_per_fire_auction": limit,
            "max_cells_per_fire": FIRE_CELLS,
            "fairness_window_blocks": scenario.window,
        },
    )


class _World(Stage):
    def __init__(self, chain: Devnet, scenario: Scenario) -> None:
        super().__init__(chain)
        self.scenario = scenario
        self.mix = mix_of(scenario)
        self.dice = Dice(scenario.seed)
        self.actors: dict[str, list[Address]] = {}
        """Of each group, in order."""
        self.values: dict[str, list[int]] = {}
        """Of each group's actors, the maximum fee of their latest first timer."""
        self.worths: dict[str, list[int]] = {}
        """Of buyers: what a cycle is worth to each."""

    def live(self) -> Record:
        """Prepare, then make the blocks of the scenario."""
        chain, scenario = self.chain, self.scenario
        self._prepare()
        notes = Notes(scenario.name, self.groups(), self.values)
        for _ in range(scenario.blocks):
            self._act()
            self.step()
            notes.note(chain.last, chain.state)
        self.books.recount(chain.state.snapshot)
        return notes.finish(chain.state)

    def groups(self) -> dict[Address, str]:
        """Of each address, its group."""
        return {a: name for name, found in self.actors.items() for a in found}

    # --- before it begins ----------------------------------------------------------

    def _prepare(self) -> None:
        """Deploy everybody, schedule their first timers, stop before they are due."""
        self._deploy()
        self._join_rings()
        for _ in range(REST):
            self.step()
        arms = sum(g.actors for g in self.mix.groups if g.timers)
        blocks = -(-arms // PREPARED)
        first = self.chain.height + blocks + HEADSTART
        self.call_all(
            "arm",
            (
                (actor, codec.encode(entries))
                for group in self.mix.groups
                for actor, entries in self._first_timers(group, first)
            ),
        )
        while self.chain.height < first:
            self.step()

    def _deploy(self) -> None:
        source = self.mix.kind.source.encode()
        accounts = iter(self.chain.accounts[1:])
        named: dict[str, Group] = {}
        for group in self.mix.groups:
            named.setdefault(group.name, group)
        for group in named.values():
            owners = accounts if group.owner is None else repeat(next(accounts))
            found = self.deploy(source, [b""] * group.actors, owners, FUNDS)
            self.actors[group.name] = found
            self.values[group.name] = [0] * len(found)
        for buyers in self.mix.buyers:
            self.worths[buyers.group] = [
                buyers.low + self.dice.below(buyers.high - buyers.low)
                for _ in self.actors[buyers.group]
            ]

    def _join_rings(self) -> None:
        if "call_actor" not in self.mix.kind.body:
            return
        for group in self.mix.groups:
            actors = self.actors[group.name]
            followers = [*actors[1:], actors[0]] if group.is_ring else actors
            self.call_all("follow", zip(actors, followers, strict=True))

    def _first_timers(
        self, group: Group, first: int
    ) -> Iterator[tuple[Address, list[codec.Value]]]:
        """For each actor its entries; due heights are anywhere within a period."""
        actors = self.actors[group.name]
        entries: dict[int, list[codec.Value]] = {}
        total = group.timers if group.is_ring else group.timers * group.actors
        for number in range(total):
            at = number % group.actors
            terms = group.terms(self.dice, at, self.scenario.blocks)
            self.values[group.name][at] = terms.fee or 0
            terms = replace(terms, until=first + terms.until)
            offset = self.dice.below(max(1, terms.period))
            height = first + 1 + group.start + offset
            entries.setdefault(at, []).append([height, terms.encode()])
        for at, timers in entries.items():
            yield actors[at], timers

    # --- while it lasts ------------------------------------------------------------

    def _act(self) -> None:
        """What agents outside of the chain submit for the next block."""
        for burst in self.mix.bursts:
            if self.dice.below(burst.every) == 0:
                self._burst(burst)
        for buyers in self.mix.buyers:
            self._buy(buyers)

    def _burst(self, burst: Burst) -> None:
        due = self.chain.height + 2
        for actor in self.actors[burst.group]:
            terms = [burst.terms(self.dice) for _ in range(burst.timers)]
            entries: list[codec.Value] = [[due, each.encode()] for each in terms]
            self.call(actor, "arm", codec.encode(entries))

    def _buy(self, buyers: Buyers) -> None:
        """Those whose turn it is compare the price of a cycle with its worth."""
        turn = self.chain.height % buyers.every
        actors = self.actors[buyers.group]
        price = self._price()
        for number in range(turn, len(actors), buyers.every):
            worth = self.worths[buyers.group][number]
            if price <= worth:
                terms = Terms(0, 0, None)
                entry: list[codec.Value] = [self.chain.height + 2, terms.encode()]
                self.call(actors[number], "arm", codec.encode([entry]))

    def _price(self) -> int:
        """What a fire of the next block pays for a cycle, without a tip."""
        globals_ = head_globals(self.chain.state)
        return variants.cycle_price(self.scenario.rules, globals_)
