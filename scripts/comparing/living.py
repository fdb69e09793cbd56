"""One world under one set of rules, on the real chain.

Actors are deployed and armed, then blocks are made: nobody submits anything but the
money that some get. All that happens in the lane is the rules' doing.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import repeat
from typing import TYPE_CHECKING

from simulating.agents import Dice
from simulating.books import SupplyError
from simulating.stage import PREPARED, Stage
from typing_extensions import override

from comparing.actors import SOURCE
from comparing.measures import spent
from comparing.noting import Notes, Record
from comparing.worlds import Group, World
from node.chain.transaction import Fund
from node.chain.transition import BlockResult
from node.primitives import codec
from node.primitives.types import Address, Amount
from node.testing import Devnet

if TYPE_CHECKING:
    from node.client.inputs import Sender

BASEFEE = 1_000
"""Of a cycle and of a cell, all the time: rules are compared, not the fee market."""
EPOCH = 100
"""Blocks, instead of 3,600: weights that follow epochs are to show in a short world."""
REST = 60
"""Empty blocks in which a lane's own basefee falls to its floor."""
HEADSTART = 3
"""Blocks between the last of the preparation and the first due height."""
_PLENTY = 2**40


def live(world: World, rules: str, seed: int) -> Record:
    """Live through a world.

    Raises:
        SupplyError: the supply equation did not hold after a block, or actors paid
            anything but what fires and agents cost.
    """
    owners = sum(1 if g.is_one_deployer else g.actors for g in world.groups)
    with Devnet(
        accounts={"count": owners + 1, "balance": str(Amount(2**60))},
        activations=[{"height": 0, "rules": rules}],
        lane_user_cycles=2**29,
        block_cells=_PLENTY,
        calendar={"epoch_length": EPOCH},
        basefee_config={
            "min_basefee": BASEFEE,
            "target_cycles": _PLENTY,
            "target_cells": _PLENTY,
        },
    ) as chain:
        return _Life(chain, world, rules, seed).live()


class _Life(Stage):
    def __init__(self, chain: Devnet, world: World, rules: str, seed: int) -> None:
        super().__init__(chain)
        self.world = world
        self.dice = Dice(seed)
        self.record = Record(world.name, rules)
        self.record.one_deployer = [g.name for g in world.groups if g.is_one_deployer]
        self.record.occasional = [g.name for g in world.groups if not g.period]
        self.actors: dict[str, list[Address]] = {}
        """Of each group, in order."""
        self._notes: Notes | None = None
        self._top_ups: Counter[str] = Counter()

    def live(self) -> Record:
        """Prepare, then let the blocks of the world pass."""
        self._deploy()
        for _ in range(REST):
            self.step()
        names = {a: name for name, found in self.actors.items() for a in found}
        self._notes = Notes(self.record, names)
        first = self._arm()
        last = first + self.world.blocks
        self._notes.begin(first)
        if self.world.is_idle:
            self.pass_time(last)
        while self.chain.height < last:
            self._top_up(self.chain.height - first)
            self.step()
        self.books.recount(self.chain.state.snapshot)
        self._check_spent()
        return self._notes.finish(self.chain.head.hash().hex(), last)

    @override
    def witness(self, result: BlockResult) -> None:
        if self._notes is not None:
            self._notes.note(result, self.chain.params.timer_config.lane_timer_cycles)

    def _deploy(self) -> None:
        accounts = iter(self.chain.accounts[1:])
        for group in self.world.groups:
            needs = [group.need(self.dice).encode() for _ in range(group.actors)]
            owners: Iterator[Sender] = accounts
            if group.is_one_deployer:
                owners = repeat(next(accounts))
            funds = Amount(group.funds)
            self.actors[group.name] = self.deploy(SOURCE, needs, owners, funds)

    def _arm(self) -> int:
        """Schedule the first timers, and stop before they are due; that height."""
        population = sum(group.actors for group in self.world.groups)
        first = self.chain.height - (-population // PREPARED) + HEADSTART
        self.call_all(
            "arm",
            (
                (actor, codec.encode(entries))
                for group in self.world.groups
                for actor, entries in self._first_turns(group, first)
            ),
        )
        while self.chain.height < first:
            self.step()
        return first

    def _first_turns(
        self, group: Group, first: int
    ) -> Iterator[tuple[Address, list[codec.Value]]]:
        """For each actor [height, period] of its first timers; counts all its turns."""
        last = first + self.world.blocks
        for actor in self.actors[group.name]:
            moments = group.moments or [
                self.dice.below(group.period) for _ in range(group.timers)
            ]
            heights = [first + 1 + moment for moment in moments]
            every = group.period or self.world.blocks
            turns = sum(len(range(height, last + 1, every)) for height in heights)
            self.record.turns.setdefault(group.name, []).append(turns)
            yield actor, [[height, group.period] for height in heights]

    def _check_spent(self) -> None:
        """What actors have less is what the record says that they spent."""
        for group in self.world.groups:
            actors = self.actors[group.name]
            had = len(actors) * group.funds * (1 + self._top_ups[group.name])
            left = sum(self.chain.balance(actor) for actor in actors)
            told = spent(self.record, group.name).total
            if had - left != told:
                raise SupplyError(f"{group.name}: {had - left} are gone, not {told}")

    def _top_up(self, passed: int) -> None:
        for group in self.world.groups:
            if group.topped_up_every and passed and passed % group.topped_up_every == 0:
                self._top_ups[group.name] += 1
                for actor in self.actors[group.name]:
                    self.chain.submit(Fund(actor, Amount(group.funds)))
