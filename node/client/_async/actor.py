"""AsyncActor: a deployed actor as an object; AsyncChain: what it asks of its chain.

`AsyncChain` is what `AsyncClient` offers, for programs with an event loop.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from typing_extensions import override

from node.chain.advance import AdvanceSummary
from node.chain.block import Event, Header, Receipt, ReceiptKind
from node.chain.timers.lane_position import LanePosition
from node.chain.timers.timer import Timer
from node.chain.transaction import ExecuteActor, Instruction
from node.client.inputs import (
    BlockContent,
    DevAccount,
    Sender,
    amount_of,
    check_bytes,
    check_text,
)
from node.primitives import codec
from node.primitives.types import Address, Amount, Hash32

if TYPE_CHECKING:
    from node.client.profiles import Profile

__all__ = ["AsyncActor", "AsyncChain", "AsyncSnapshot"]


class AsyncSnapshot(Protocol):
    """A height to return to, as often as wanted; leaving a `with` returns, too."""

    @property
    def head(self) -> Header:
        """The block to which the chain returns."""
        ...

    async def revert(self) -> None:
        """Return to it."""
        ...

    async def __aenter__(self) -> Self:
        """The snapshot itself."""
        ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Return to it."""
        ...


class AsyncChain(Protocol):
    """A chain that can be acted upon. Whatever it refuses is typed.

    What names an actor, a timer, a transaction or a height that the chain does not have
    is `UnknownId`.
    """

    @property
    def accounts(self) -> Sequence[DevAccount]:
        """Accounts with funds, whose keys everybody knows."""
        ...

    @property
    async def head(self) -> Header:
        """The latest header."""
        ...

    @property
    async def height(self) -> int:
        """Of the latest block."""
        ...

    @property
    async def timestamp_ms(self) -> int:
        """Virtual time of the latest block (D37)."""
        ...

    async def block(self, height: int | None = None) -> BlockContent:
        """What happened at a height; the latest without one."""
        ...

    async def balance(self, who: Sender) -> Amount:
        """Base units."""
        ...

    async def nonce(self, who: Sender) -> int:
        """Transactions of a sender that were included."""
        ...

    async def timers(self, actor: Sender | None = None) -> list[Timer]:
        """Live timers in due order, of one actor or of all."""
        ...

    async def timer(self, timer_id: bytes) -> Timer | None:
        """A live timer; None when it ended."""
        ...

    async def explain(self, timer_id: bytes) -> object:
        """Why a timer did what it did, and what awaits it; printing it tells it."""
        ...

    async def explain_block(self, height: int) -> object:
        """What a block decided about timers; printing it tells it."""
        ...

    async def simulate(self, blocks: int) -> object:
        """What the next blocks would bring, nothing is kept; printing it tells it."""
        ...

    async def standing(self, timer_id: bytes) -> LanePosition | None:
        """Where a live timer stands under `auction`: effective priority, rank."""
        ...

    async def quote(
        self, actor: Sender, fee_payer: Sender | None = None, **terms: int
    ) -> object:
        """What a timer would cost; printing it tells it."""
        ...

    async def events(self, topic: str | None = None) -> list[Event]:
        """Events of all blocks in order, or those of one topic."""
        ...

    async def receipts(self, kind: ReceiptKind | None = None) -> list[Receipt]:
        """Receipts of all blocks in order, or those of one kind."""
        ...

    async def storage(self, actor: Sender) -> Mapping[str, codec.Value]:
        """What an actor's `self.storage` holds, decoded; a copy."""
        ...

    async def storage_entry(self, actor: Sender, key: bytes | str) -> bytes | None:
        """A raw entry of an actor's state; a str names one of `self.storage`."""
        ...

    async def read(
        self,
        actor: Sender,
        handler: str,
        payload: bytes = b"",
        sender: Sender | None = None,
    ) -> bytes:
        """A handler's answer on a read view; nothing is mined (D15)."""
        ...

    async def mine(self, blocks: int = 1) -> BlockContent:
        """Make blocks; the first takes what was submitted. The last."""
        ...

    async def advance(  # noqa: PLR0913 - a keyword for each target
        self,
        *,
        blocks: int | None = None,
        height: int | None = None,
        duration_ms: int | None = None,
        next_timer: bool | None = None,
        until_idle: int | None = None,
        strict: bool | None = None,
        expect_failure: bool = False,
    ) -> AdvanceSummary:
        """Let time pass to `blocks|height|duration_ms|next_timer|until_idle`."""
        ...

    async def submit(
        self,
        instruction: Instruction,
        *,
        sender: Sender | None = None,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        **fees: int,
    ) -> Hash32:
        """Send a transaction without waiting for it; its id."""
        ...

    async def execute(
        self,
        instruction: Instruction,
        *,
        sender: Sender | None = None,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        expect_failure: bool = False,
        **fees: int,
    ) -> Receipt:
        """Send a transaction and have it in a block."""
        ...

    async def deploy(
        self,
        source: str | bytes,
        *,
        sender: Sender | None = None,
        value: int | str = 0,
        payload: bytes = b"",
        salt: bytes | None = None,
        expect_failure: bool = False,
        **limits: int,
    ) -> "AsyncActor":
        """Deploy an actor and have it in a block; its constructor ran."""
        ...

    async def actor(self, address: Sender) -> "AsyncActor":
        """An actor that is there already."""
        ...

    async def snapshot(self) -> AsyncSnapshot:
        """The present, to return to."""
        ...

    def profile(self) -> AbstractAsyncContextManager["Profile"]:
        """Count cycles and cells by line of every execution in blocks made inside."""
        ...

    async def export_bundle(self, file: str | PathLike[str]) -> Path:
        """Write the whole chain into a new file."""
        ...

    async def import_bundle(self, file: str | PathLike[str]) -> Header:
        """Make the blocks of such a file those of an empty chain; the head."""
        ...

    async def transfer(
        self, to: Sender, amount: int | str, *, sender: Sender | None = None
    ) -> Receipt:
        """Move base units, or an amount such as "5 CBY"."""
        ...

    async def fund(self, to: Sender, amount: int | str) -> Receipt:
        """Mint to an account (D41)."""
        ...

    async def set_balance(self, who: Sender, amount: int | str) -> Receipt:
        """Mint, or take, what is missing to a balance (D41)."""
        ...


class AsyncActor:
    """A deployed actor, as an object."""

    __slots__ = ("_chain", "address", "receipt", "source")

    def __init__(
        self,
        chain: AsyncChain,
        address: Address,
        source: str,
        receipt: Receipt | None = None,
    ) -> None:
        self._chain = chain
        self.address = address
        self.source = source
        self.receipt = receipt
        """Of the deployment, for whoever deployed it."""

    @override
    def __repr__(self) -> str:
        return f"<actor 0x{self.address.hex()}>"

    async def call(  # noqa: PLR0913 - each is a field of the transaction
        self,
        handler: str,
        payload: bytes = b"",
        *,
        sender: Sender | None = None,
        value: int | str = 0,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        expect_failure: bool = False,
    ) -> Receipt:
        """Call a handler in a transaction, and have it in a block.

        Raises:
            TransactionFailed: unless `expect_failure`.
            TransactionRefused: it could not be included.
            InvalidArgument: one that no call can take.
        """
        instruction = ExecuteActor(
            self.address,
            check_text("handler", handler),
            check_bytes("payload", payload),
            amount_of(value, "value"),
        )
        return await self._chain.execute(
            instruction,
            sender=sender,
            cycles_limit=cycles_limit,
            cells_limit=cells_limit,
            expect_failure=expect_failure,
        )

    async def read(
        self, handler: str, payload: bytes = b"", sender: Sender | None = None
    ) -> bytes:
        """A handler's answer on a read view; nothing is mined (D15).

        Raises:
            ReadFailed: the handler failed.
        """
        return await self._chain.read(self, handler, payload, sender)

    @property
    async def balance(self) -> Amount:
        """Base units."""
        return await self._chain.balance(self)

    @property
    async def storage(self) -> Mapping[str, codec.Value]:
        """What `self.storage` holds, decoded; a copy."""
        return await self._chain.storage(self)

    async def state(self, key: bytes | str) -> bytes | None:
        """A raw entry of the actor's state; a str names an entry of `storage`."""
        return await self._chain.storage_entry(self, key)

    @property
    async def timers(self) -> list[Timer]:
        """Live timers in due order."""
        return await self._chain.timers(self)
