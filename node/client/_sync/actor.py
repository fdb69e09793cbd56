# Written by scripts/gensync.py from _async/actor.py: change that one.
"""Actor: a deployed actor as an object; Chain: what it asks of its chain.

`Chain` is what `Client` offers, for programs without an event loop.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from typing_extensions import override

from node.chain.advance import AdvanceSummary
from node.chain.block import CodeVersion, Event, Header, Receipt, ReceiptKind
from node.chain.timers.timer import Timer
from node.chain.transaction import ExecuteActor, Instruction
from node.client._sync.receipt import SentReceipt, call_receipt
from node.client.checks import CHANGES_DEFAULT
from node.client.handlers import HandlerTypes, find_handler, handlers_of, payload_of
from node.client.inputs import (
    BlockContent,
    DevAccount,
    Sender,
    Source,
    amount_of,
    check_bytes,
    check_text,
    source_of,
)
from node.primitives import codec
from node.primitives.returned import decode_returned
from node.primitives.types import Address, Amount, Hash32
from node.query.forecasts.lane_position import LanePosition
from node.query.height_ranges import BUCKETS_DEFAULT, DueTimers, LaneUseRange
from node.query.queue_place import LiveWatch, QueuedTimer, QueuePlace
from node.query.trace.records import (
    Changes,
    ExecutionTrace,
    ReadTrace,
    StorageHistory,
)

if TYPE_CHECKING:
    from node.client.profiles import Profile
    from node.query.costs.ranges import RangeCosts

__all__ = [
    "Actor",
    "Chain",
    "HandlerCall",
    "ReadView",
    "Snapshot",
]


class Snapshot(Protocol):
    """A state of the chain to return to, as often as wanted.

    Leaving it as a context manager returns, too.
    """

    @property
    def head(self) -> Header:
        """The header of the block to which the chain returns."""
        ...

    def revert(self) -> None:
        """Return to this state."""
        ...

    def __enter__(self) -> Self:
        """The snapshot itself."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Return to it."""
        ...


class OneBlock(BlockContent, Protocol):
    """The content of a block; of the latest one a context that makes the next.

    All that is sent inside is in that one block, in this order. Receipts can be read
    when it has ended, and the context has the content of the new block then. If it ends
    by an exception, no block is made, and what was sent waits as after `submit`.
    """

    def __enter__(self) -> Self:
        """Keep what is sent for one block."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Make the block.

        Raises:
            TransactionFailed: a transaction of it failed, without `expect_failure`.
            TransactionRefused: one cannot be included.
        """
        ...


class Chain(Protocol):
    """What every chain can do, the one of a node and the one in this process.

    A refusal is a typed exception. Naming an actor, a timer, a transaction or a height
    that the chain does not have raises `UnknownId`; an argument of a wrong type or
    range raises `InvalidArgument`; a closed chain raises `ChainClosed`. Amounts are
    base units; an address or an id is bytes, or a text `0x…` as everything prints it.
    """

    @property
    def accounts(self) -> Sequence[DevAccount]:
        """The funded accounts of a development chain; their keys are public."""
        ...

    @property
    def labels(self) -> Mapping[bytes, str]:
        """Names by address: `account 0`, an actor's file or class, or what you gave."""
        ...

    def label(self, who: Sender, name: str) -> None:
        """Call an address by a name in everything that this chain shows."""
        ...

    @property
    def head(self) -> Header:
        """The header of the latest block."""
        ...

    @property
    def height(self) -> int:
        """Height of the latest block; genesis has height 0."""
        ...

    @property
    def timestamp_ms(self) -> int:
        """Timestamp of the latest block, in milliseconds of virtual time (D37)."""
        ...

    def block(self, height: int | None = None) -> OneBlock:
        """The header, receipts and events of a block, by default the latest.

        `with chain.block():` makes one block of what is sent inside.
        """
        ...

    def balance(self, who: Sender) -> Amount:
        """The balance of an account in base units; 1 CBY is 1,000,000,000 of them."""
        ...

    def nonce(self, who: Sender) -> int:
        """How many transactions of a sender are in blocks: its next nonce."""
        ...

    def timers(self, actor: Sender | None = None) -> list[Timer]:
        """The live timers of one actor, or of all, in the order of being due."""
        ...

    def queue(self, target: Sender | None = None) -> list[QueuedTimer]:
        """The timers whose fires are queued in the Globalbox, in its order."""
        ...

    def queue_place(self, timer_id: bytes | str) -> QueuePlace | None:
        """Where the fire of a live timer stands in the Globalbox, or None."""
        ...

    def watches(
        self, actor: Sender | None = None, *, watched: Sender | None = None
    ) -> list[LiveWatch]:
        """The live watches: of an actor, on an actor's state, or all."""
        ...

    def timer(self, timer_id: bytes | str) -> Timer | None:
        """A live timer, or None if it has ended."""
        ...

    def trace(
        self,
        execution_id: bytes | str,
        height: int | None = None,
        kind: ReceiptKind | None = None,
    ) -> ExecutionTrace:
        """Which calls an execution made, and what each did; print it to read it.

        It is the transaction, fire or message of this id, a timer's latest fire if no
        height is given; with `ReceiptKind.AGENT` as kind the answer of its agent.
        """
        ...

    def trace_read(
        self,
        actor: Sender,
        handler: str,
        payload: bytes = b"",
        sender: Sender | None = None,
    ) -> ReadTrace:
        """As `read`, whatever comes of it, with the calls that were made."""
        ...

    def changes(self, height: int | None = None) -> Changes:
        """What a block changed, by default the latest; print it to read it."""
        ...

    def storage_history(
        self,
        actor: Sender,
        prefix: bytes | str = b"",
        from_height: int | None = None,
        to_height: int | None = None,
        changes: int = CHANGES_DEFAULT,
    ) -> StorageHistory:
        """How an actor's storage came to be what it is, the latest change first."""
        ...

    def count_due(
        self,
        from_height: int | None = None,
        to_height: int | None = None,
        buckets: int = BUCKETS_DEFAULT,
    ) -> DueTimers:
        """How many timers are due over a range of heights, and what came of others."""
        ...

    def lane_use(
        self,
        from_height: int | None = None,
        to_height: int | None = None,
        buckets: int = BUCKETS_DEFAULT,
    ) -> LaneUseRange:
        """How blocks used their lanes over a range of heights, and what was paid."""
        ...

    def explain(self, timer_id: bytes | str) -> object:
        """Why a timer did what it did, and what awaits it; print it to read it."""
        ...

    def explain_block(self, height: int) -> object:
        """What a block decided about timers; print it to read sentences."""
        ...

    def simulate(self, blocks: int) -> object:
        """What the next blocks would bring, without keeping anything; print it."""
        ...

    def standing(self, timer_id: bytes | str) -> LanePosition | None:
        """Where a live timer stands under `auction` and `bidding`, or None."""
        ...

    def quote(
        self, actor: Sender, fee_payer: Sender | None = None, **terms: int
    ) -> object:
        """What a timer with these terms would cost; print it to read sentences."""
        ...

    def events(self, topic: str | None = None) -> list[Event]:
        """The events of all blocks, in order, or only those of one topic."""
        ...

    def receipts(self, kind: ReceiptKind | None = None) -> list[Receipt]:
        """The receipts of all blocks, in order, or only those of one kind."""
        ...

    def storage(self, actor: Sender) -> Mapping[str, codec.Value]:
        """A copy of what an actor's `self.storage` holds, with decoded values."""
        ...

    def storage_entry(self, actor: Sender, key: bytes | str) -> bytes | None:
        """The raw bytes of an entry of an actor's state, or None if it is absent.

        A str as key names an entry of `self.storage`; bytes are a raw key.
        """
        ...

    def read(
        self,
        actor: Sender,
        handler: str,
        payload: bytes = b"",
        sender: Sender | None = None,
    ) -> bytes:
        """Call a handler on a read view and return its bytes; nothing is kept (D15)."""
        ...

    def mine(self, blocks: int = 1) -> BlockContent:
        """Make blocks now, and return the last; the first takes what waits."""
        ...

    def advance(  # noqa: PLR0913 - a keyword for each target
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
        """Let time pass up to one target, and sum up what happened.

        Exactly one of the first five arguments is given: a number of blocks, a height,
        milliseconds of virtual time, `next_timer=True`, or the most blocks until
        nothing waits.
        """
        ...

    def submit(
        self,
        instruction: Instruction,
        *,
        sender: Sender | None = None,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        **fees: int,
    ) -> Hash32:
        """Send a transaction without waiting for it, and return its id."""
        ...

    def execute(
        self,
        instruction: Instruction,
        *,
        sender: Sender | None = None,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        expect_failure: bool = False,
        **fees: int,
    ) -> SentReceipt:
        """Send a transaction, have it in a block, and return its receipt."""
        ...

    def deploy(
        self,
        source: Source,
        *,
        sender: Sender | None = None,
        value: int | str = 0,
        payload: bytes = b"",
        salt: bytes | None = None,
        expect_failure: bool = False,
        **limits: int,
    ) -> "Actor":
        """Deploy an actor, have it in a block, and return it as an object."""
        ...

    def actor(self, address: Sender) -> "Actor":
        """An actor that was deployed earlier, as an object."""
        ...

    def snapshot(self) -> Snapshot:
        """The present state of the chain, to return to."""
        ...

    def costs(
        self,
        from_height: int | None = None,
        to_height: int | None = None,
        actor: Sender | None = None,
    ) -> "RangeCosts":
        """What lines of actors, and call stacks, cost in a range of heights."""
        ...

    def profile(self) -> AbstractContextManager["Profile"]:
        """Count cycles and cells, by line, of every execution made inside."""
        ...

    def export_bundle(self, file: str | PathLike[str]) -> Path:
        """Write the whole chain into a new file, and return its path."""
        ...

    def import_bundle(self, file: str | PathLike[str]) -> Header:
        """Execute the blocks of such a file on an empty chain, and return the head."""
        ...

    def transfer(
        self, to: Sender, amount: int | str, *, sender: Sender | None = None
    ) -> SentReceipt:
        """Send base units, or an amount such as "5 CBY"; returns the receipt."""
        ...

    def fund(self, to: Sender, amount: int | str) -> SentReceipt:
        """Mint base units, or an amount such as "5 CBY", to an account (D41)."""
        ...

    def set_balance(self, who: Sender, amount: int | str) -> SentReceipt:
        """Set a balance, by minting or taking the difference (D41)."""
        ...

    def upgrade(
        self,
        actor: Sender,
        source: Source,
        payload: bytes = b"",
        *,
        sender: Sender | None = None,
        expect_failure: bool = False,
        **limits: int,
    ) -> SentReceipt:
        """Give an actor new code, and run the handler `upgrade` of that code (D58)."""
        ...

    def code_versions(self, actor: Sender) -> list[CodeVersion]:
        """The code that an actor got, by its deployment and by upgrades, in order."""
        ...

    def set_storage(
        self, actor: Sender, key: bytes | str, value: object
    ) -> SentReceipt:
        """Write an entry of an actor's state; None as value removes it (D58)."""
        ...

    def set_code(self, actor: Sender, source: Source) -> SentReceipt:
        """Replace the code of an actor, whoever owns it; no handler runs (D58)."""
        ...


class Actor:
    """A deployed actor as an object: its address, source, state and handlers.

    A handler is a method of it, too: `actor.subscribe("gold")` is a call of `subscribe`
    with these bytes, and `actor.read.price("gold")` asks without a transaction. A
    handler that is called as one of the names below is reached by `call` and `read`.
    """

    __slots__ = ("_chain", "address", "file", "receipt", "source")

    def __init__(
        self,
        chain: Chain,
        address: Address,
        source: str,
        receipt: SentReceipt | None = None,
        file: str = "",
    ) -> None:
        self._chain = chain
        self.address = address
        self.source = source
        self.file = file
        """Path of the file that it was deployed from here; empty if that is unknown."""
        self.receipt = receipt
        """Of the deployment, for whoever deployed it."""

    @override
    def __repr__(self) -> str:
        label = self._chain.labels.get(self.address)
        return f"<actor {f'{label} ' if label else ''}0x{self.address.hex()}>"

    def __getattr__(self, name: str) -> "HandlerCall":
        """One of its handlers, to be called.

        Raises:
            AttributeError: the actor has no such handler; lists those that it has.
        """
        return HandlerCall(self, name, find_handler(self.source, name))

    @override
    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *handlers_of(self.source)]

    def call(  # noqa: PLR0913 - each is a field of the transaction
        self,
        handler: str,
        payload: bytes = b"",
        *,
        sender: Sender | None = None,
        value: int | str = 0,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        expect_failure: bool = False,
    ) -> SentReceipt:
        """Call a handler in a transaction, have it in a block, and return its receipt.

        Args:
            handler: name of the handler.
            payload: bytes that the handler gets.
            sender: who calls, the first account by default; without a key it is
                impersonated.
            value: base units, or a text such as "5 CBY", that the call moves to the
                actor.
            cycles_limit: most cycles that the call may use; estimated if not given.
            cells_limit: most cells that the call may use; estimated if not given.
            expect_failure: whether the call must fail; its receipt is then returned.

        Raises:
            TransactionFailed: the handler failed, unless `expect_failure`.
            TransactionRefused: the transaction cannot be included.
            InvalidArgument: an argument is of a wrong type or out of range.
        """
        instruction = ExecuteActor(
            self.address,
            check_text("handler", handler),
            check_bytes("payload", payload),
            amount_of(value, "value"),
        )
        receipt = self._chain.execute(
            instruction,
            sender=sender,
            cycles_limit=cycles_limit,
            cells_limit=cells_limit,
            expect_failure=expect_failure,
        )
        return call_receipt(receipt, self.source)

    @property
    def read(self) -> "ReadView":
        """Asks a handler on a read view, of which nothing is kept (D15).

        `read("price", b"gold")` returns the handler's bytes, `read.price("gold")` the
        value that they are.
        """
        return ReadView(self._chain, self)

    @property
    def balance(self) -> Amount:
        """The actor's balance in base units."""
        return self._chain.balance(self)

    @property
    def storage(self) -> Mapping[str, codec.Value]:
        """A copy of what the actor's `self.storage` holds, with decoded values."""
        return self._chain.storage(self)

    def state(self, key: bytes | str) -> bytes | None:
        """The raw bytes of an entry of the actor's state, or None if it is absent.

        A str as key names an entry of `self.storage`; bytes are a raw key.
        """
        return self._chain.storage_entry(self, key)

    @property
    def timers(self) -> list[Timer]:
        """The actor's live timers, in the order in which they are due."""
        return self._chain.timers(self)

    def upgrade(
        self,
        source: Source,
        payload: bytes = b"",
        *,
        sender: Sender | None = None,
        expect_failure: bool = False,
        **limits: int,
    ) -> SentReceipt:
        """Give the actor new code, and run the handler `upgrade` of that code (D58).

        Address, storage, balance and timers stay; `source` of this object is the new
        one then.

        Args:
            source: its new source; of a path, the file that holds it.
            payload: bytes that `upgrade` gets.
            sender: the actor's owner, or a system deployer; the first account by
                default.
            expect_failure: whether the upgrade must fail; its receipt is then returned.
            limits: `cycles_limit` and `cells_limit`; estimated if not given.

        Raises:
            TransactionFailed: it is not the sender's to upgrade, the source is refused,
                or `upgrade` failed, unless `expect_failure`. The actor is as before.
            TransactionRefused: the transaction cannot be included.
            InvalidArgument: an argument is of a wrong type, or the file is not there.
        """
        _, known = source_of(source)
        receipt = self._chain.upgrade(
            self,
            source,
            payload,
            sender=sender,
            expect_failure=expect_failure,
            **limits,
        )
        if not expect_failure:
            self.source, self.file = known.text, known.file
        return receipt

    @property
    def code_versions(self) -> list[CodeVersion]:
        """The code that the actor got, by its deployment and by upgrades, in order."""
        return self._chain.code_versions(self)

    def set_storage(self, key: bytes | str, value: object) -> SentReceipt:
        """Write an entry of the actor's state; None as value removes it (D58).

        A str as key names an entry of `self.storage`, whose value is any that canonical
        CBOR can hold; bytes are a raw key, with bytes as value. Only a development
        chain admits this.

        Raises:
            TransactionFailed: the key is the runtime's own.
            InvalidArgument: key or value are of a wrong type, or too long.
        """
        return self._chain.set_storage(self, key, value)

    def set_code(self, source: Source) -> SentReceipt:
        """Replace the actor's code, whoever owns it; no handler runs (D58).

        The source may be a path, of the file that holds it. Only a development chain
        admits this.

        Raises:
            TransactionFailed: it has this code already, or the source is refused.
            InvalidArgument: no source is given, or the file is not there.
        """
        _, known = source_of(source)
        receipt = self._chain.set_code(self, source)
        self.source, self.file = known.text, known.file
        return receipt


class ReadView:
    """The handlers of an actor on a read view: nothing of it is kept (D15)."""

    __slots__ = ("_actor", "_chain")

    def __init__(self, chain: Chain, actor: Actor) -> None:
        self._chain = chain
        self._actor = actor

    def __call__(
        self, handler: str, payload: bytes = b"", sender: Sender | None = None
    ) -> bytes:
        """Call a handler by its name, and return its bytes.

        Raises:
            ReadFailed: the handler failed; shows where in the actor's source.
        """
        return self._chain.read(self._actor, handler, payload, sender)

    def __getattr__(self, name: str) -> "HandlerRead":
        """One of the actor's handlers, to be asked.

        Raises:
            AttributeError: the actor has no such handler; lists those that it has.
        """
        return HandlerRead(self, name, find_handler(self._actor.source, name))

    @override
    def __dir__(self) -> list[str]:
        return list(handlers_of(self._actor.source))


class HandlerCall:
    """A handler of an actor; calling it sends a transaction."""

    __slots__ = ("_actor", "_name", "_types")

    def __init__(self, actor: Actor, name: str, types: HandlerTypes) -> None:
        self._actor = actor
        self._name = name
        self._types = types

    @override
    def __repr__(self) -> str:
        return f"<handler {self._name} of {self._actor!r}>"

    def __call__(
        self,
        argument: codec.Value = None,
        *,
        sender: Sender | None = None,
        value: int | str = 0,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        expect_failure: bool = False,
    ) -> SentReceipt:
        """Call the handler as `actor.call` does; `result` of the receipt is decoded.

        Args:
            argument: bytes as they are, a text as UTF-8, anything else as canonical
                CBOR.
            sender: who calls, the first account by default.
            value: base units, or a text such as "5 CBY", that the call moves.
            cycles_limit: most cycles that the call may use; estimated if not given.
            cells_limit: most cells that the call may use; estimated if not given.
            expect_failure: whether the call must fail; its receipt is then returned.

        Raises:
            TransactionFailed: the handler failed, unless `expect_failure`.
            TransactionRefused: the transaction cannot be included.
            InvalidArgument: an argument is of a wrong type or out of range, or the
                handler takes none.
        """
        return self._actor.call(
            self._name,
            payload_of(self._name, self._types, argument),
            sender=sender,
            value=value,
            cycles_limit=cycles_limit,
            cells_limit=cells_limit,
            expect_failure=expect_failure,
        )


class HandlerRead:
    """A handler of an actor; calling it asks on a read view."""

    __slots__ = ("_name", "_reader", "_types")

    def __init__(self, reader: ReadView, name: str, types: HandlerTypes) -> None:
        self._reader = reader
        self._name = name
        self._types = types

    def __call__(
        self, argument: codec.Value = None, *, sender: Sender | None = None
    ) -> codec.Value:
        """Ask the handler; its answer is decoded by its annotation.

        Raises:
            ReadFailed: the handler failed; shows where in the actor's source.
            InvalidArgument: an argument is of a wrong type, or the handler takes none.
        """
        payload = payload_of(self._name, self._types, argument)
        answer = self._reader(self._name, payload, sender)
        return decode_returned(answer, self._types.returns)
