"""What the running node offers to those who serve it, and the values that cross.

`rpc` knows the node only through `Backend`; the engine implements it. So the services
can be tested against a stand-in, and the engine without a socket.

Rules: everything here is called on the event loop's thread. What is visible in
`Backend.state` is durable already, and is announced only afterwards.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from msgspec import Struct

from node.chain.block import Block, Event, Header, Receipt
from node.chain.errors import InvalidTransaction
from node.chain.timers.timer import TimerDecision
from node.chain.transaction import SetCode, SetStorage, Transaction
from node.chain.transition import BlockResult, State
from node.primitives.types import Address, Amount, Hash32, Height
from node.query import Committed
from node.runtime.settings import MiningMode
from node.state.snapshots import NamedSnapshot

if TYPE_CHECKING:
    from node.archive.bundle import Bundle
    from pvm.output import Printout

__all__ = [
    "READS_WAITING_MAX",
    "Backend",
    "BlockNotice",
    "CannotListen",
    "ChainOnlyRead",
    "Committed",
    "DroppedTransaction",
    "MiningMode",
    "NodeStatus",
    "NodeStopping",
    "Notice",
    "Pending",
    "ReaderTooSlow",
    "RevertedTransaction",
    "RewindNotice",
    "Subscription",
    "TooManyReads",
    "TransactionOutcome",
    "UnknownTransaction",
]

Result = TypeVar("Result")

READS_WAITING_MAX = 32
"""Reads that may wait for the worker thread; one more is refused."""


class DroppedTransaction(Struct, frozen=True):
    """A transaction left the pool without entering a block; nothing was charged."""

    transaction_id: Hash32
    reason: InvalidTransaction


class RevertedTransaction(Struct, frozen=True):
    """A transaction was in a block, or in the pool, of a chain that was rewound."""

    transaction_id: Hash32


TransactionOutcome = Committed | DroppedTransaction | RevertedTransaction


class Pending(Struct, frozen=True):
    """A transaction waits in the pool."""

    transaction: Transaction


class BlockNotice(Struct, frozen=True):
    """A block was committed and is visible."""

    block: Block
    block_hash: Hash32
    receipts: tuple[Receipt, ...]
    events: tuple[Event, ...]
    trace: tuple[TimerDecision, ...]


class RewindNotice(Struct, frozen=True):
    """The chain was rewound: it goes on after this block."""

    header: Header
    block_hash: Hash32


Notice = BlockNotice | RewindNotice


class NodeStatus(Struct, frozen=True):
    """What the node is doing, beside the state of its chain."""

    chain_name: str
    mining_mode: MiningMode
    pace_ms: int
    """Wall time between blocks in mode `interval`."""
    pool_transactions: int
    """Transactions that wait, both kinds together."""
    pool_queued: int
    """Of these, those that wait for a lower nonce of their sender."""
    pool_bytes: int
    """Of the bodies that wait."""
    streams: int
    """Readers that follow the chain."""
    oldest_state: Height
    """The height from which on states can be asked for."""
    is_auto_timers: bool = False
    """Whether it advances to the next timer by itself when nothing is pending."""
    time_holds: int = 0
    """Callers for whom time stands still."""
    walls: tuple[str, ...] = ()
    """Which stand around the process, by the words of `walls.WALLS`."""
    is_only_read: bool = False
    """Whether the chain is looked at in a file or folder, and never goes on."""


class CannotListen(Exception):  # noqa: N818 - a refusal, named like the others
    """The address cannot be bound; the message says what to do."""


class TooManyReads(Exception):  # noqa: N818 - a refusal, named like the others
    """`READS_WAITING_MAX` reads wait already: ask again later."""


class UnknownTransaction(Exception):  # noqa: N818
    """The node has neither committed, nor pending, nor dropped it lately."""


class ReaderTooSlow(Exception):  # noqa: N818
    """A subscriber's buffer is full; its subscription has ended."""

    def __init__(self, resume_height: Height, resume_hash: Hash32) -> None:
        super().__init__(f"resume after height {resume_height}")
        self.resume_height = resume_height
        """Height of the last block that was delivered, or before the first one."""
        self.resume_hash = resume_hash
        """Of the same block."""


class NodeStopping(Exception):  # noqa: N818
    """The node is shutting down."""


class ChainOnlyRead(Exception):  # noqa: N818 - a refusal, named like the others
    """The chain is looked at in a file or folder: nothing is added to it."""


class Subscription(Protocol):
    """Notices from the moment of `subscribe` on, each once, in order.

    Iterating raises `ReaderTooSlow` once the buffer overflowed, and ends
    without error when the node stops. Close it, or leave it to `with`.
    """

    def __aiter__(self) -> AsyncIterator[Notice]:
        """The notices."""
        ...

    def close(self) -> None:
        """End the subscription; idempotent."""
        ...

    def __enter__(self) -> Self:
        """The subscription itself."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        ...


class Backend(Protocol):
    """The running node as its services see it."""

    @property
    def state(self) -> State:
        """The visible state, replaced as a whole after each commit.

        Its snapshot may be read on the event loop's thread while the worker executes
        or commits, and stays right for as long as somebody holds it.
        """
        ...

    @property
    def status(self) -> NodeStatus:
        """The node's own numbers, now."""
        ...

    @property
    def folder(self) -> Path | None:
        """Where the chain is kept, and files can be made; None if it is in memory."""
        ...

    async def submit(self, raw: bytes) -> Transaction:
        """Admit a transaction to the pool.

        Raises:
            InvalidTransaction: It is refused; nothing changed.
            NodeStopping: The node admits nothing more.
        """
        ...

    async def wait_for(self, transaction_id: bytes) -> TransactionOutcome:
        """Wait until a transaction is committed or dropped; cancelling is safe.

        What happened before the call counts too.

        Raises:
            UnknownTransaction: The node does not know it.
            NodeStopping: The node stops before it is decided.
        """
        ...

    def look_up(
        self, transaction_id: bytes
    ) -> Pending | DroppedTransaction | RevertedTransaction | None:
        """What the pool knows: waiting, lately dropped or undone, or nothing.

        Committed ones are not asked of the pool but of the history.
        """
        ...

    def next_nonce(self, sender: Address) -> int:
        """The lowest nonce of `sender` that neither the chain nor the pool has."""
        ...

    async def mine(self, blocks: int) -> Header:
        """Make blocks now, one after another, in any mode; the new head's header.

        Cancelling stops after the headers in hand.
        """
        ...

    async def pass_heights(
        self, heights_max: int, is_done: Callable[[State], bool]
    ) -> tuple[BlockResult, ...]:
        """Make the next headers now, in any mode; of at most so many heights.

        One at least, and as many more as one sync brings to disk; none after `is_done`
        holds of the state, which is asked on the worker thread.
        """
        ...

    async def set_mining(self, mode: MiningMode, pace_ms: int | None) -> None:
        """Change the mode; `pace_ms` None keeps the pace."""
        ...

    def hold_time(self) -> AbstractAsyncContextManager[Header]:
        """Time stands still, at the header that is told, while the context is open.

        No block is made that only lets time pass; orders and transactions go on.
        """
        ...

    async def fund(self, to: Address, amount: Amount) -> Committed:
        """Mint to an account (D41); in a block on return, in any mode.

        In mode `manual` the next block is made for it.
        """
        ...

    async def set_balance(self, address: Address, amount: Amount) -> Committed:
        """Mint or take what is missing to a balance (D41); as `fund`."""
        ...

    async def set_storage(self, wanted: SetStorage) -> Committed:
        """Write an actor's state (D58); as `fund`, but it may fail."""
        ...

    async def set_code(self, wanted: SetCode) -> Committed:
        """Replace an actor's code (D58); as `fund`, but it may fail."""
        ...

    async def reset(self) -> Header:
        """Go back to genesis: state, history and pool; genesis' header."""
        ...

    async def import_bundle(self, bundle: "Bundle") -> Header:
        """Make the blocks of a bundle the chain's; the new head, on disk on return.

        Raises:
            BundleRefused: It is of another genesis, or the chain is not empty: nothing
                happened. Or executing it gives something else: the chain is back at
                genesis.
        """
        ...

    async def create_snapshot(self, name: str) -> NamedSnapshot:
        """Name the head and the pool, to return to them; on disk on return.

        Raises:
            SnapshotRefused: The name is taken or none, or a bound is reached.
        """
        ...

    async def revert_to_snapshot(self, name: str) -> Header:
        """Go back to a named snapshot: state, history, clock and pool; its header.

        The snapshot is kept, and those of lower heights; those above it are deleted.

        Raises:
            UnknownSnapshot: There is none of that name.
        """
        ...

    async def list_snapshots(self) -> tuple[NamedSnapshot, ...]:
        """All named snapshots, the oldest height first."""
        ...

    async def delete_snapshot(self, name: str) -> None:
        """Delete a named snapshot; on disk on return.

        Raises:
            UnknownSnapshot: There is none of that name.
        """
        ...

    async def run_read(
        self, function: Callable[[State], Result], at_height: int | None = None
    ) -> Result:
        """Run `function` on the worker thread with the state that is visible then.

        With a height, with the state after the block at that height. Cancelled while
        it waits, it never runs.

        Raises:
            HistoryNotKept: The state at that height is not kept.
            HeightNotReached: The height is above the head.
            TooManyReads: `READS_WAITING_MAX` wait already.
            NodeStopping: The node stops.
        """
        ...

    def outputs_of(self, block_hash: bytes) -> "Mapping[int, Printout]":
        """What executions of a block printed, by index of their receipts (D59).

        Of recent blocks only, up to 16 MiB of it; empty for others.
        """
        ...

    def subscribe(self) -> Subscription:
        """Notices of all that becomes visible after this call."""
        ...
