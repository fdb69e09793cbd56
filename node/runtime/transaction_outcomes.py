"""What became of transactions, for those who ask and those who wait.

Committed ones are found in the history. Of those that never entered a block, or that
a rewind undid, the latest are remembered here, a bounded number.
"""

import asyncio
from itertools import islice

from node.chain.transition import BlockResult
from node.history import load_transaction_location
from node.primitives.types import Hash32
from node.query import BlockLookup, committed_in
from node.runtime.types import (
    DroppedTransaction,
    NodeStopping,
    RevertedTransaction,
    TransactionOutcome,
)
from node.state import keys
from node.state.store import StoreSnapshot

__all__ = ["OUTCOMES_MAX", "TransactionOutcomes", "list_committed"]

OUTCOMES_MAX = 10_000
"""Remembered drops and undone transactions: as many as a pool holds."""

_TOLD_AT_ONCE = 8
"""Of those who wait for a transaction of one block; each takes 300 µs to answer."""


class TransactionOutcomes:
    """Outcomes outside of the chain, and the futures of those who wait for any."""

    __slots__ = ("_displaced", "_outcomes", "_waiters")

    def __init__(self) -> None:
        self._outcomes: dict[
            Hash32, DroppedTransaction | RevertedTransaction
        ] = {}  # oldest first
        self._waiters: dict[Hash32, list[asyncio.Future[TransactionOutcome]]] = {}
        # Left the pool while a block with them is built: decided with that block.
        self._displaced: dict[Hash32, DroppedTransaction] = {}

    def find(
        self, transaction_id: Hash32
    ) -> DroppedTransaction | RevertedTransaction | None:
        """What is remembered of a transaction."""
        return self._outcomes.get(transaction_id)

    def forget(self, transaction_id: Hash32) -> None:
        """The transaction was admitted again."""
        self._outcomes.pop(transaction_id, None)

    def forget_committed(self, snapshot: StoreSnapshot) -> None:
        """Forget what was said of transactions that are in the chain after all."""
        for transaction_id in tuple(self._outcomes):
            if load_transaction_location(snapshot, transaction_id) is not None:
                del self._outcomes[transaction_id]

    def displace(self, outcome: DroppedTransaction) -> None:
        """A transaction left the pool, but the block in hand may yet hold it."""
        self._displaced[outcome.transaction_id] = outcome

    def settle_displaced(self) -> None:
        """The block in hand is decided: what it did not take was dropped."""
        displaced, self._displaced = self._displaced, {}
        for outcome in displaced.values():
            self.note(outcome)

    def note(self, outcome: DroppedTransaction | RevertedTransaction) -> None:
        """Remember an outcome, and tell those who wait for it."""
        transaction_id = outcome.transaction_id
        self._outcomes.pop(transaction_id, None)
        self._outcomes[transaction_id] = outcome
        while len(self._outcomes) > OUTCOMES_MAX:
            del self._outcomes[next(iter(self._outcomes))]
        self._tell(transaction_id, outcome)

    async def settle(self, result: BlockResult, lookup: BlockLookup) -> None:
        """A block is visible: its transactions are decided; tell those who wait.

        All is decided before this waits for anything; it does, to let others go on
        between those who wait for one of thousands.
        """
        waited: list[int] = []
        for index, transaction in enumerate(result.block.transactions):
            self._displaced.pop(transaction.id, None)
            self._outcomes.pop(transaction.id, None)
            if transaction.id in self._waiters:
                waited.append(index)
        self.settle_displaced()
        told = committed_in(
            result.block, result.receipts, result.events, waited, lookup
        )
        for count, committed in enumerate(told, 1):
            self._tell(committed.transaction.id, committed)
            if not count % _TOLD_AT_ONCE:
                await asyncio.sleep(0)

    async def wait(self, transaction_id: Hash32) -> TransactionOutcome:
        """Wait for an outcome; cancelling is safe.

        Raises:
            NodeStopping: The node stops before it is decided.
        """
        future: asyncio.Future[TransactionOutcome] = (
            asyncio.get_running_loop().create_future()
        )
        waiters = self._waiters.setdefault(transaction_id, [])
        waiters.append(future)
        try:
            return await future
        finally:
            if future.cancelled():
                waiters.remove(future)
                if not waiters and self._waiters.get(transaction_id) is waiters:
                    del self._waiters[transaction_id]

    def fail_all(self, reason: NodeStopping) -> None:
        """Nobody will be told anything more."""
        for waiters in self._waiters.values():
            for future in waiters:
                if not future.done():
                    future.set_exception(reason)
        self._waiters.clear()

    def _tell(self, transaction_id: Hash32, outcome: TransactionOutcome) -> None:
        for future in self._waiters.pop(transaction_id, ()):
            if not future.done():
                future.set_result(outcome)


def list_committed(snapshot: StoreSnapshot) -> list[Hash32]:
    """Ids of committed transactions, as many as are remembered."""
    prefix = keys.transaction_location(b"")
    pairs = snapshot.range(prefix, keys.prefix_stop(prefix))
    return [Hash32(key.removeprefix(prefix)) for key, _ in islice(pairs, OUTCOMES_MAX)]
