"""A stage: a chain, its books, and how actors come onto it.

Every block is built by the transition itself, through a `Devnet`, and entered into the
books. What happens on the stage decides whoever stands on it.
"""

from collections.abc import Iterable, Iterator, Sequence

from node.chain.transaction import DeployActor, ExecuteActor
from node.chain.transition import BlockResult
from node.client.inputs import Sender
from node.primitives.types import Address, Amount
from node.testing import Devnet
from simulating.books import Books

PREPARED = 100
"""Actors deployed, or asked, in one block of the preparation."""

_DEPLOY = (600_000, 600_000)
_CALL = (5_000_000, 1_000_000)


class Stage:
    """What every simulation does with its chain."""

    def __init__(self, chain: Devnet) -> None:
        """Open the books of a chain that has only its genesis."""
        self.chain = chain
        self.books = Books(chain.state.snapshot)

    def step(self) -> None:
        """Make a block.

        Raises:
            SupplyError: the supply equation does not hold after it.
        """
        self.chain.mine()
        self._enter()

    def step_through(self) -> None:
        """Make a block in which all that was submitted succeeds."""
        self.step()
        failed = [r.failure for r in self.chain.last.receipts if r.failure]
        assert not failed, failed[0]
        assert not self.chain.last.rejected, self.chain.last.rejected[0][1]

    def pass_time(self, height: int) -> None:
        """Let time pass up to a height, in runs where nothing happens.

        Raises:
            SupplyError: the supply equation does not hold after one of the blocks.
        """
        first = len(self.chain.results)
        self.chain.advance(height=height)
        self._enter(first)

    def _enter(self, first: int = -1) -> None:
        for result in self.chain.results[first:]:
            self.books.check(result)
            self.witness(result)
        del self.chain.results[:-1]  # Kept, they would fill the memory.

    def witness(self, result: BlockResult) -> None:
        """Take up what happened in a block; by itself the stage does nothing."""

    def deploy(
        self,
        source: bytes,
        payloads: Sequence[bytes],
        owners: Iterator[Sender],
        funds: Amount,
    ) -> list[Address]:
        """An actor for each payload, each by the next owner, with the same funds."""
        found: list[Address] = []
        for first in range(0, len(payloads), PREPARED):
            for number, payload in enumerate(payloads[first : first + PREPARED], first):
                self.chain.submit(
                    DeployActor(number.to_bytes(32, "big"), source, payload, funds),
                    sender=next(owners),
                    cycles_limit=_DEPLOY[0],
                    cells_limit=_DEPLOY[1],
                )
            self.step_through()
            found += [r.actor for r in self.chain.last.receipts]
        return found

    def call_all(self, handler: str, calls: Iterable[tuple[Address, bytes]]) -> None:
        """Call one actor after the other, as many in a block as are prepared."""
        for number, (actor, payload) in enumerate(calls, start=1):
            self.call(actor, handler, payload)
            if number % PREPARED == 0:
                self.step_through()
        self.step_through()

    def call(self, actor: Address, handler: str, payload: bytes) -> None:
        """Submit a call for the next block."""
        self.chain.submit(
            ExecuteActor(actor, handler, payload, Amount(0)),
            cycles_limit=_CALL[0],
            cells_limit=_CALL[1],
        )
