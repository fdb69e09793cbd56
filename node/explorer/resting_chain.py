"""RestingChain: a chain that is looked at where it lies, and never goes on.

Services see it as they see a running node: its blocks, its states as far back as they
are kept, executions that are tried and left. What would add to it is refused, and
whoever follows it hears nothing, for nothing happens.

Rules: nothing here writes. Reads execute on the worker, one at a time.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

from typing_extensions import override

from node.chain.accounts import load_account
from node.chain.block import Header
from node.chain.genesis import Genesis
from node.chain.transaction import SetCode, SetStorage, Transaction
from node.chain.transition import BlockResult, State
from node.primitives.types import Address, Amount
from node.query import Committed
from node.runtime.feed import Feed, FeedSubscription
from node.runtime.memory_exhaustion import for_a_read
from node.runtime.reads import Reads
from node.runtime.recent_states import RecentStates
from node.runtime.settings import MiningMode
from node.runtime.types import (
    Backend,
    ChainOnlyRead,
    NodeStatus,
    NodeStopping,
    TransactionOutcome,
)
from node.state.snapshots import NamedSnapshot
from pvm.worker import Worker

if TYPE_CHECKING:
    from node.archive.bundle import Bundle
    from pvm.output import Printout

__all__ = ["RestingChain"]

Result = TypeVar("Result")


class RestingChain(Backend):
    """A chain's latest state, and what can be asked of it."""

    def __init__(
        self,
        worker: Worker,
        genesis: Genesis,
        state: State,
        walls: tuple[str, ...] = (),
    ) -> None:
        self._state = state
        self._genesis = genesis
        self._walls = walls
        self._reads = Reads(worker)
        self._past = RecentStates(lambda: state.snapshot, state)
        self._feed = Feed()

    @property
    @override
    def state(self) -> State:
        """The latest state, which stays."""
        return self._state

    @property
    @override
    def status(self) -> NodeStatus:
        """Of a node that does nothing."""
        return NodeStatus(
            chain_name=self._genesis.name,
            mining_mode=MiningMode.MANUAL,
            pace_ms=self._genesis.params.block_interval_ms,
            pool_transactions=0,
            pool_queued=0,
            pool_bytes=0,
            streams=len(self._feed),
            oldest_state=self._past.oldest(self._state),
            walls=self._walls,
            is_only_read=True,
        )

    @property
    @override
    def folder(self) -> Path | None:
        """No folder is there to make files in."""
        return None

    def stop(self) -> None:
        """End what follows the chain, and refuse what comes."""
        self._reads.stop(NodeStopping("the chain is being closed"))
        self._feed.stop()

    # --- what is asked ---------------------------------------------------------------

    @override
    async def run_read(
        self, function: Callable[[State], Result], at_height: int | None = None
    ) -> Result:
        """Run `function` on the worker thread with a state: see `Backend`."""
        return await self._reads.run(
            lambda: for_a_read(lambda: function(self._past.at(self._state, at_height)))
        )

    @override
    def subscribe(self) -> FeedSubscription:
        """What never has anything to tell."""
        head = self._state.head
        return self._feed.subscribe(head.height, head.hash())

    @override
    def outputs_of(self, block_hash: bytes) -> "Mapping[int, Printout]":
        """Nothing: what was printed is in no file; traces have it again."""
        return {}

    @override
    def look_up(self, transaction_id: bytes) -> None:
        """Nothing: there is no pool."""

    @override
    def next_nonce(self, sender: Address) -> int:
        """The sender's next nonce."""
        return load_account(self._state.snapshot, sender).nonce

    # --- what is refused -------------------------------------------------------------

    def _refuse(self) -> NoReturn:
        raise ChainOnlyRead("this chain is looked at where it lies, and does not go on")

    @override
    async def submit(self, raw: bytes) -> Transaction:
        """Refused, as all below."""
        self._refuse()

    @override
    async def wait_for(self, transaction_id: bytes) -> TransactionOutcome:
        self._refuse()

    @override
    async def mine(self, blocks: int) -> Header:
        self._refuse()

    @override
    async def pass_heights(
        self, heights_max: int, is_done: Callable[[State], bool]
    ) -> tuple[BlockResult, ...]:
        self._refuse()

    @override
    async def set_mining(self, mode: MiningMode, pace_ms: int | None) -> None:
        self._refuse()

    @override
    def hold_time(self) -> AbstractAsyncContextManager[Header]:
        self._refuse()

    @override
    async def fund(self, to: Address, amount: Amount) -> Committed:
        self._refuse()

    @override
    async def set_balance(self, address: Address, amount: Amount) -> Committed:
        self._refuse()

    @override
    async def set_storage(self, wanted: SetStorage) -> Committed:
        self._refuse()

    @override
    async def set_code(self, wanted: SetCode) -> Committed:
        self._refuse()

    @override
    async def reset(self) -> Header:
        self._refuse()

    @override
    async def import_bundle(self, bundle: "Bundle") -> Header:
        self._refuse()

    @override
    async def list_snapshots(self) -> tuple[NamedSnapshot, ...]:
        self._refuse()

    @override
    async def create_snapshot(self, name: str) -> NamedSnapshot:
        self._refuse()

    @override
    async def revert_to_snapshot(self, name: str) -> Header:
        self._refuse()

    @override
    async def delete_snapshot(self, name: str) -> None:
        self._refuse()
