"""AsyncClient: a node's chain, for programs with an event loop.

It satisfies `AsyncChain`: what `node.testing.Devnet` does in this process, it does over
gRPC, with the same names, values and exceptions, so that a test of an actor runs on
both. `api` is the connection below it, one method a call of the node's API.

Rules: a sender with a key signs, any other is impersonated, which a development node
admits. Senders may share a client, in tasks and threads: a nonce is taken and used up
under a lock, and taken anew when another program was faster. What is repeated by
itself is safe to repeat; who loses the connection while a transaction is on its way
gets `OutcomeUnknown` with its id.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from node.chain.advance import AdvanceSummary
from node.chain.block import CodeVersion, Event, Header, Receipt, ReceiptKind
from node.chain.params import U64_MAX, ZERO_ADDRESS
from node.chain.timers.timer import Timer
from node.chain.transaction import (
    DeployActor,
    Fund,
    Instruction,
    SetBalance,
    SetCode,
    SetStorage,
    Transfer,
    UpgradeActor,
    impersonate,
)
from node.client._async.actor import AsyncActor
from node.client._async.api import AsyncApi
from node.client._async.block import AsyncClientBlock
from node.client._async.receipt import (
    AsyncSentReceipt,
    complete_receipt,
    pending_receipt,
    sent_receipt,
)
from node.client.checks import (
    CHANGES_DEFAULT,
    check_chain,
    check_heights,
    check_prefix,
    check_range,
)
from node.client.decoding import (
    add_progress,
    block_from_proto,
    failure_from_proto,
    header_from_proto,
    maps_unknown_id,
    place_from_proto,
    queue_place_from_proto,
    queued_from_proto,
    receipt_from_proto,
    refusal_of_node,
    timer_from_proto,
    watch_from_proto,
)
from node.client.exceptions import (
    BlockOpen,
    FireFailed,
    NodeError,
    NodeUnreachable,
    OutcomeUnknown,
    ReadFailed,
    TransactionFailed,
    check_fires,
    failed_fire,
    unknown_execution,
)
from node.client.grpc_errors import require_open
from node.client.heights import (
    due_timers_from_proto,
    history_item_from_proto,
    lane_use_from_proto,
    storage_history_of,
)
from node.client.inputs import (
    DevAccount,
    Mined,
    Sender,
    Source,
    Terms,
    address_of,
    amount_of,
    check_bytes,
    check_count,
    check_id,
    check_kind,
    check_path,
    check_salt,
    check_target,
    check_text,
    dev_account,
    given,
    source_of,
    state_entry,
)
from node.client.labels import Labels
from node.client.messages import (
    CALL_SECONDS,
    EventFilter,
    StreamPosition,
    TimerFilter,
    TimerQuery,
    checked_body,
    committed_of,
    draft,
    is_broken,
    place_of_block,
    quote_request,
)
from node.client.sources import ActorSource, Sources
from node.client.traces import (
    changes_from_proto,
    read_trace_from_proto,
    trace_from_proto,
)
from node.client.wallet import Wallet
from node.primitives import codec
from node.primitives.crypto import derive_actor_address, keccak256
from node.primitives.types import Address, Amount, Hash32, Height
from node.query.forecasts.lane_position import LanePosition
from node.query.height_ranges import BUCKETS_DEFAULT, DueTimers, LaneUseRange
from node.query.queue_place import LiveWatch, QueuedTimer, QueuePlace
from node.query.trace.records import (
    Changes,
    ExecutionTrace,
    ReadTrace,
    StorageHistory,
    with_names,
)
from node.rpc.v1 import queries_pb2, streams_pb2, timers_pb2, traces_pb2, types_pb2
from pvm import STORAGE_PREFIX, Failure, stored_values

if TYPE_CHECKING:
    from node.client._async.profiler import AsyncProfiler
    from node.client.profiles import Profile
    from node.query.costs.ranges import RangeCosts

__all__ = ["AsyncClient"]


_Message = TypeVar("_Message")
_Place = TypeVar(
    "_Place", types_pb2.BlockRef, streams_pb2.EventCursor, streams_pb2.TimerCursor
)


_LOCKS = 64
"""Senders are spread over so many locks: a fixed number, whoever sends."""
_NONCE_ATTEMPTS = 32
_NONCE_TAKEN = ("NONCE_USED", "REPLACEMENT_UNDERPRICED")
_UNHEARD = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED")
_MINED_MAX = 10_000


class AsyncClient:
    """A node's chain; close it, or leave that to `async with`."""

    def __init__(
        self,
        url: str = "127.0.0.1:50051",
        *,
        timeout: float = CALL_SECONDS,
        tls_ca: bytes | None = None,
        token: str | None = None,
        accounts: int = 10,
        strict: bool = False,
    ) -> None:
        """Connect when the first call is made; nothing is sent before.

        Args:
            url: `host:port`, or `https://host:port` for TLS. Giving `tls_ca` means TLS,
                too.
            timeout: seconds that a call may take by default, above 0.
            tls_ca: certificates of the authorities to trust, as PEM; the system's if
                not given.
            token: the token of the node, if it requires one.
            accounts: how many development accounts the chain has.
            strict: whether `advance` raises the failure of a fire by default.

        Raises:
            InvalidArgument: an argument is of a wrong type or out of range.
        """
        api = AsyncApi(url, timeout=timeout, tls_ca=tls_ca, token=token)
        self.api = api
        """One method a call of the node's API, in its own messages."""
        self._account_count = check_count("accounts", accounts, 0)
        self.is_strict = strict
        self._accounts: tuple[DevAccount, ...] | None = None
        self._open: list[_Sent] | None = None
        """What was sent for the block that is open, if one is."""
        self._labels: Labels | None = None
        self._files: dict[bytes, str] = {}
        """Of sources by code hash, as deployments name them."""
        self._locks = tuple(asyncio.Lock() for _ in range(_LOCKS))
        self._profilers: tuple[AsyncProfiler, ...] = ()

    @override
    def __repr__(self) -> str:
        return f"<client of {self.api.url}>"

    async def close(self) -> None:
        """Close the connection; calling it again has no effect."""
        await self.api.close()

    async def __aenter__(self) -> Self:
        """The client itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        await self.close()

    # --- the chain as it stands ----------------------------------------------------

    @property
    async def head(self) -> Header:
        """The header of the latest block."""
        status = await self.api.status()
        return header_from_proto(status.head)

    @property
    async def height(self) -> int:
        """Height of the latest block; genesis has height 0."""
        head = await self.head
        return head.height

    @property
    async def timestamp_ms(self) -> int:
        """Timestamp of the latest block, in milliseconds of virtual time (D37)."""
        head = await self.head
        return head.timestamp_ms

    async def block(self, height: int | None = None) -> AsyncClientBlock:
        """The header, receipts and events of one block.

        Without a height it is the latest block, and `async with await client.block():`
        makes one block of all that this client sends inside: the node makes blocks by
        hand until then. Receipts can be read afterwards. Limits are estimated at the
        head: give `cycles_limit` to a call that another one of the block prepares.
        Within a run of empty blocks it is the run.

        Raises:
            UnknownId: the chain has not reached this height.
            InvalidArgument: the height is no whole number of 0 or more.
        """
        if height is not None:
            check_count("height", height, 0)
        full = types_pb2.BLOCK_VIEW_FULL
        with maps_unknown_id("height", height):
            content = block_from_proto(await self.api.block(height, view=full))
        opener = self._one_block if height is None else None
        return AsyncClientBlock(
            content.header, content.receipts, content.events, opener
        )

    @asynccontextmanager
    async def _one_block(self) -> AsyncIterator[list[Mined]]:
        """Let the node make no block but one, of what is sent inside."""
        self._require_no_block()
        status = await self.api.status()
        await self.api.set_mining(queries_pb2.MINING_MODE_MANUAL)
        sent: list[_Sent] = []
        self._open = sent
        made: list[Mined] = []
        try:
            yield made
            self._open = None
            made.append(await self.mine())
            for one in sent:
                complete_receipt(one.receipt, await self._wait(one.raw, None))
            for one in sent:
                await self._require_outcome(one)
        finally:
            self._open = None
            await self.api.set_mining(status.mining_mode, status.pace_ms)

    def _require_no_block(self) -> None:
        if self._open is not None:
            raise BlockOpen("the `with` of a block is not over: it makes the block")

    async def balance(self, who: Sender) -> Amount:
        """The balance of an account in base units; 1 CBY is 1,000,000,000 of them."""
        account = await self.api.account(address_of(who, "who"))
        return Amount(int(account.balance))

    async def nonce(self, who: Sender) -> int:
        """How many transactions of a sender are in blocks: its next nonce."""
        account = await self.api.account(address_of(who, "who"))
        return account.nonce

    async def timers(self, actor: Sender | None = None) -> list[Timer]:
        """The live timers of one actor, or of all, in the order in which they are due.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        address = b"" if actor is None else address_of(actor, "actor")
        wanted = TimerQuery(actor=address)
        found = [timer_from_proto(timer) async for timer in self.api.timers(wanted)]
        if address and not found:
            with maps_unknown_id("actor", address):
                await self.api.actor(address)
        return found

    async def queue(self, target: Sender | None = None) -> list[QueuedTimer]:
        """The timers whose fires are queued in the Globalbox, in its order.

        Args:
            target: only those that call this actor; all if not given.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        address = b"" if target is None else address_of(target, "target")
        found = [queued_from_proto(one) async for one in self.api.queue(address)]
        if address and not found:
            with maps_unknown_id("target", address):
                await self.api.actor(address)
        return found

    async def queue_place(self, timer_id: bytes | str) -> QueuePlace | None:
        """Where the fire of a live timer stands in the Globalbox, or None.

        Raises:
            UnknownId: no timer ever had this id, or its blocks were pruned.
        """
        with maps_unknown_id("timer_id", timer_id):
            answer = await self.api.timer(check_id("timer_id", timer_id))
        timer = answer.timer
        if not timer.HasField("queued"):
            return None
        return queue_place_from_proto(timer.queued)

    async def watches(
        self, actor: Sender | None = None, *, watched: Sender | None = None
    ) -> list[LiveWatch]:
        """The live watches, in the order in which they are collected.

        Args:
            actor: only those that this actor owns.
            watched: only those that watch state of this actor; it need not exist.

        Raises:
            UnknownId: no actor was deployed at the address of `actor`.
        """
        address = b"" if actor is None else address_of(actor, "actor")
        wanted = TimerQuery(
            actor=address,
            kind=timers_pb2.TIMER_KIND_STATE_WATCH,
            watched=b"" if watched is None else address_of(watched, "watched"),
        )
        found = [watch_from_proto(timer) async for timer in self.api.timers(wanted)]
        if address and not found:
            with maps_unknown_id("actor", address):
                await self.api.actor(address)
        return found

    async def timer(self, timer_id: bytes | str) -> Timer | None:
        """A live timer, or None if it has ended.

        Raises:
            UnknownId: no timer ever had this id, or its blocks were pruned.
        """
        with maps_unknown_id("timer_id", timer_id):
            answer = await self.api.timer(check_id("timer_id", timer_id))
        return (
            timer_from_proto(answer.timer) if answer.timer.HasField("record") else None
        )

    async def explain(self, timer_id: bytes | str) -> str:
        """Why a timer did what it did, and what awaits it, in sentences.

        Raises:
            UnknownId: no timer ever had this id, or its blocks were pruned.
        """
        with maps_unknown_id("timer_id", timer_id):
            answer = await self.api.explain_timer(check_id("timer_id", timer_id))
        return self._own_labels.replaced(answer.text)

    async def trace(
        self,
        execution_id: bytes | str,
        height: int | None = None,
        kind: ReceiptKind | None = None,
    ) -> ExecutionTrace:
        """Which calls an execution made, and what each did; print it to read it.

        The node executes it again in the state before it: what is not traced costs
        nothing.

        Args:
            execution_id: id of a transaction that is in a block, or of a timer that
                fired; with the height, also of a message that was delivered.
            height: height of its block, for a timer that fired several times; the
                latest one if not given.
            kind: what is wanted of a timer whose agent was asked in the block that it
                fired in; the fire if not given.

        Raises:
            UnknownId: nothing was executed under this id, or not at this height.
            NodeError: `HISTORY_NOT_KEPT`, because the state before it is not kept; the
                error says which is the oldest that is.
        """
        trace = await self._trace(execution_id, height, kind)
        return with_names(trace, self._own_labels)

    async def _trace(
        self, execution_id: bytes | str, height: int | None, kind: ReceiptKind | None
    ) -> ExecutionTrace:
        check_kind(kind)
        execution_id = check_id("execution_id", execution_id)
        check_chain.optional(height=height)
        if height is not None:
            with maps_unknown_id("height", height):
                answer = await self.api.trace_block(height)
            return _of_id(answer.executions, execution_id, kind)
        try:
            found = await self.api.trace_transaction(execution_id)
        except NodeError as error:
            if error.reason != "EXECUTION_NOT_FOUND":
                raise
            oldest = error.metadata.get("oldest_height", "")
        else:
            return _of_id([found.trace], execution_id, kind)
        try:
            of_timer = (await self.api.trace_timer(execution_id)).executions
            return _of_id(of_timer, execution_id, kind)
        except NodeError as error:
            if error.reason in {"EXECUTION_NOT_FOUND", "TIMER_NOT_FOUND"}:
                raise unknown_execution("execution_id", execution_id, oldest) from None
            raise

    async def trace_read(
        self,
        actor: Sender,
        handler: str,
        payload: bytes = b"",
        sender: Sender | None = None,
    ) -> ReadTrace:
        """As `read`, whatever comes of it, with the calls that were made.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        check_chain(handler=handler, payload=payload)
        caller = b"" if sender is None else address_of(sender, "sender")
        address = address_of(actor, "actor")
        with maps_unknown_id("actor", address):
            answer = await self.api.read(
                address, handler, payload, sender=caller, trace=True
            )
        return with_names(read_trace_from_proto(answer), self._own_labels)

    async def changes(self, height: int | None = None) -> Changes:
        """What a block changed, by default the latest; print it to read it.

        Keys of actors, balances, timers and code, each with its value before and after;
        what is as before is left out.

        Raises:
            UnknownId: the chain has not reached this height.
            NodeError: `HISTORY_NOT_KEPT`, because the state before it is not kept.
        """
        check_chain.optional(height=height)
        with maps_unknown_id("height", height):
            answer = await self.api.trace_block(height)
        return with_names(changes_from_proto(answer.changes), self._own_labels)

    async def storage_history(
        self,
        actor: Sender,
        prefix: bytes | str = b"",
        from_height: int | None = None,
        to_height: int | None = None,
        changes: int = CHANGES_DEFAULT,
    ) -> StorageHistory:
        """How an actor's storage came to be what it is, the latest change first.

        Each change is net of one execution, and says which: a transaction, a fire, a
        message. `stop` says why there are no more, and `next_height` where to go on.

        Args:
            actor: the actor, or its address.
            prefix: what raw keys begin with; a text begins names in `self.storage`.
            from_height: the first height; genesis if not given.
            to_height: the last height; the head if not given.
            changes: about so many, 1 to 10,000; the last block is told whole.

        Raises:
            UnknownId: no actor was deployed at the address.
            InvalidArgument: an argument is of a wrong type or out of range.
        """
        address, keys = address_of(actor, "actor"), check_prefix(prefix)
        check_range(from_height, to_height, changes=changes)
        with maps_unknown_id("actor", address):
            messages = self.api.stream_storage_history(
                address, keys, from_height, to_height, changes
            )
            told = [history_item_from_proto(one) async for one in messages]
        return storage_history_of(told)

    async def count_due(
        self,
        from_height: int | None = None,
        to_height: int | None = None,
        buckets: int = BUCKETS_DEFAULT,
    ) -> DueTimers:
        """How many timers are due over a range of heights, and what came of others.

        The range is cut into buckets of equal width, a power of 4, each beginning at a
        multiple of it.

        Args:
            from_height: the first height; the head if not given.
            to_height: the last one; the end of the epoch queue if not given.
            buckets: at most so many, 1 to 1,024.

        Raises:
            InvalidArgument: an argument is of a wrong type or out of range.
        """
        check_range(from_height, to_height, buckets=buckets)
        asked = from_height, to_height, buckets
        return due_timers_from_proto(await self.api.count_due_timers(*asked))

    async def lane_use(
        self,
        from_height: int | None = None,
        to_height: int | None = None,
        buckets: int = BUCKETS_DEFAULT,
    ) -> LaneUseRange:
        """How blocks used their lanes over a range of heights, and what was paid.

        The range is cut as by `count_due`.

        Args:
            from_height: the first height; genesis if not given.
            to_height: the last one; the head if not given.
            buckets: at most so many, 1 to 1,024.

        Raises:
            InvalidArgument: an argument is of a wrong type or out of range.
        """
        check_range(from_height, to_height, buckets=buckets)
        asked = from_height, to_height, buckets
        return lane_use_from_proto(await self.api.lane_use(*asked))

    async def explain_block(self, height: int) -> str:
        """What a block decided about timers, in the order in which it looked at them.

        The answer is in sentences.

        Raises:
            UnknownId: the chain has not reached this height.
        """
        check_count("height", height, 0)
        with maps_unknown_id("height", height):
            pages = [page.text async for page in self.api.explain_block_pages(height)]
        return self._own_labels.replaced("\n".join(pages))

    async def simulate(self, blocks: int) -> str:
        """What the next blocks would bring if nobody sent anything, in sentences.

        This is a dry run: nothing of it is kept.

        Raises:
            AdvanceRefused: there are not so many heights.
        """
        try:
            answer = await self.api.simulate_blocks(check_count("blocks", blocks))
        except NodeError as error:
            raise refusal_of_node(error) from None
        return self._own_labels.replaced(answer.outlook.text)

    async def standing(self, timer_id: bytes | str) -> LanePosition | None:
        """Where a live timer stands in the lane under `auction` and `bidding`.

        It has its rank and what decides it: effective priority or tip, and weight. It
        is None under other rules, and for a timer that has ended.

        Raises:
            UnknownId: no timer ever had this id, or its blocks were pruned.
        """
        with maps_unknown_id("timer_id", timer_id):
            answer = await self.api.timer(check_id("timer_id", timer_id))
        timer = answer.timer
        return place_from_proto(timer.standing) if timer.HasField("standing") else None

    async def quote(
        self, actor: Sender, fee_payer: Sender | None = None, **terms: int
    ) -> str:
        """What a timer would cost, in sentences.

        Args:
            actor: the actor that would schedule it.
            fee_payer: who would pay for its fires; the actor if not given.
            terms: `height`, `gas_limit`, `expires_at`, `payload_bytes`,
                `max_fee_per_cycle`, `max_priority_fee_per_cycle`, `bid_fp`; and
                `blocks`, how many of the last blocks to look back over.

        Raises:
            InvalidArgument: there is no such term, or its value is out of range.
            UnknownId: no actor was deployed at the address.
            NodeError: `INVALID_ARGUMENT`, because scheduling such a timer would be
                refused.
        """
        address = address_of(actor, "actor")
        payer = address if fee_payer is None else address_of(fee_payer, "fee_payer")
        with maps_unknown_id("actor", address):
            answer = await self.api.quote_timer(quote_request(address, payer, terms))
        return self._own_labels.replaced(answer.text)

    async def events(self, topic: str | None = None) -> list[Event]:
        """The events of all blocks, in order, or only those of one topic."""
        if topic is not None:
            check_text("topic", topic)
        return [
            event
            async for block in self._blocks(lambda block: block.event_count > 0)
            for event in block.events
            if topic is None or event.topic == topic
        ]

    async def receipts(self, kind: ReceiptKind | None = None) -> list[Receipt]:
        """The receipts of all blocks, in order, or only those of one kind."""
        check_kind(kind)
        return [
            receipt
            async for block in self._blocks(lambda block: block.receipt_count > 0)
            for receipt in block.receipts
            if kind is None or receipt.kind is kind
        ]

    async def _blocks(
        self, is_wanted: Callable[[types_pb2.Block], bool]
    ) -> AsyncIterator[Mined]:
        async for block in self.api.blocks():
            if is_wanted(block):
                yield await self.block(block.header.height)

    async def storage(self, actor: Sender) -> Mapping[str, codec.Value]:
        """A copy of what an actor's `self.storage` holds, with decoded values.

        What `pvm_host.set_state` wrote past it, which is no value, is left out.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        address = address_of(actor, "actor")
        entries = self.api.list_storage(address, STORAGE_PREFIX)
        with maps_unknown_id("actor", address):
            return stored_values([(one.key, one.value) async for one in entries])

    async def storage_entry(self, actor: Sender, key: bytes | str) -> bytes | None:
        """The raw bytes of an entry of an actor's state, or None if it is absent.

        A str as key names an entry of `self.storage`; bytes are a raw key.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        key = (
            check_text("key", key) if isinstance(key, str) else check_bytes("key", key)
        )
        address = address_of(actor, "actor")
        try:
            with maps_unknown_id("actor", address):
                entry = await self.api.storage(address, key)
        except NodeError as error:
            if error.reason != "STORAGE_KEY_NOT_FOUND":
                raise
            return None
        return entry.value

    async def read(
        self,
        actor: Sender,
        handler: str,
        payload: bytes = b"",
        sender: Sender | None = None,
    ) -> bytes:
        """Call a handler on a read view, and return the bytes that it returns (D15).

        No block is made, nothing is charged or kept. A handler that tries to change
        something fails.

        Args:
            actor: the actor, or its address.
            handler: name of the handler.
            payload: bytes that the handler gets.
            sender: who seems to call; 20 zero bytes if not given.

        Raises:
            ReadFailed: the handler failed; shows the actor's traceback.
            UnknownId: no actor was deployed at the address.
        """
        check_chain(handler=handler, payload=payload)
        caller = ZERO_ADDRESS if sender is None else address_of(sender, "sender")
        address = address_of(actor, "actor")
        with maps_unknown_id("actor", address):
            answer = await self.api.read(address, handler, payload, sender=caller)
        if answer.status != types_pb2.EXECUTION_STATUS_SUCCEEDED:
            failure = failure_from_proto(answer.error)
            asked = address, handler, payload, caller
            sources = await self._sources_of(address, failure)
            raise ReadFailed(failure, sources, asked)
        return answer.value

    async def _sources_of(self, actor: Address, failure: Failure) -> Sources:
        """Of the actor that failed and of the callees that its failure went through."""
        callees = {frame.actor for frame in failure.stack} - {b""}
        found: dict[bytes, ActorSource] = {}
        for address in (actor, *sorted(callees)):
            try:
                answer = await self.api.actor(address)
            except (NodeError, NodeUnreachable):
                continue  # the failure itself matters more
            found[b"" if address == actor else address] = self._known(answer.source)
        return Sources(found, self.labels)

    def _known(self, code: bytes) -> ActorSource:
        """A source, with the file that it was deployed from here."""
        file = self._files.get(keccak256(code), "")
        return ActorSource(code.decode("utf-8", "replace"), file)

    # --- streams -------------------------------------------------------------------

    def stream_blocks(
        self, resume_after: types_pb2.BlockRef | None = None
    ) -> AsyncIterator[streams_pb2.StreamBlocksResponse]:
        """Blocks as they are made, without gaps and without end.

        It begins after the block that `resume_after` names, else with the next block.
        After a lost connection it continues where it was; a message says `reverted` if
        the chain was rewound.

        Raises:
            NodeUnreachable: the node does not come back within the timeout.
        """
        require_open(self.api)
        check_chain.optional(resume_after=resume_after)
        return self._follow(
            lambda trail: self.api.stream_blocks(trail.place, earlier=trail.earlier),
            resume_after,
            lambda head: head,
            place_of_block,
        )

    def stream_events(
        self,
        wanted: EventFilter | None = None,
        resume_after: streams_pb2.EventCursor | None = None,
    ) -> AsyncIterator[streams_pb2.StreamEventsResponse]:
        """Events as they happen, without gaps and without end.

        It begins after the cursor `resume_after`, else with the next block. After a
        lost connection it continues where it was; a message says `reverted` if the
        chain was rewound.

        Args:
            wanted: which events; all if not given.
            resume_after: the cursor of the last message that was seen.

        Raises:
            NodeUnreachable: the node does not come back within the timeout.
        """
        require_open(self.api)
        check_chain.optional(wanted=wanted, resume_after=resume_after)
        return self._follow(
            lambda trail: self.api.stream_events(
                wanted, trail.place, earlier=trail.earlier
            ),
            resume_after,
            lambda head: streams_pb2.EventCursor(block=head),
            lambda message: message.cursor,
        )

    def stream_timers(
        self,
        wanted: TimerFilter | None = None,
        resume_after: streams_pb2.TimerCursor | None = None,
    ) -> AsyncIterator[streams_pb2.StreamTimersResponse]:
        """Changes of timers as they are decided, without gaps and without end.

        It begins after the cursor `resume_after`, else with the next block. After a
        lost connection it continues where it was; a message says `reverted` if the
        chain was rewound.

        Args:
            wanted: which timers; all if not given.
            resume_after: the cursor of the last message that was seen.

        Raises:
            NodeUnreachable: the node does not come back within the timeout.
        """
        require_open(self.api)
        check_chain.optional(wanted=wanted, resume_after=resume_after)
        return self._follow(
            lambda trail: self.api.stream_timers(
                wanted, trail.place, earlier=trail.earlier
            ),
            resume_after,
            lambda head: streams_pb2.TimerCursor(block=head),
            lambda message: message.cursor,
        )

    async def _follow(
        self,
        follow: Callable[[StreamPosition[_Place]], AsyncIterator[_Message]],
        place: _Place | None,
        begin_at: Callable[[types_pb2.BlockRef], _Place],
        place_of: Callable[[_Message], _Place],
    ) -> AsyncIterator[_Message]:
        """A stream that goes on where it was when the connection was lost.

        Raises:
            NodeUnreachable: the node does not come back within the timeout.
        """
        if place is None:
            status = await self.api.status()
            head = types_pb2.BlockRef(height=status.head.height, hash=status.head.hash)
            place = begin_at(head)
        trail = StreamPosition(place)
        while True:
            try:
                async for message in follow(trail):
                    trail.go_to(place_of(message))
                    yield message
            except (NodeError, NodeUnreachable) as error:
                if not is_broken(error):
                    raise
            await self.api.ready()

    @property
    def accounts(self) -> Sequence[DevAccount]:
        """The funded accounts of a development chain; their keys are public."""
        if self._accounts is None:
            self._accounts = tuple(map(dev_account, range(self._account_count)))
        return self._accounts

    async def actor(self, address: Sender) -> AsyncActor:
        """An actor that was deployed earlier, as an object.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        with maps_unknown_id("address", address):
            found = await self.api.actor(address_of(address))
        known = self._known(found.source)
        self._own_labels.suggest(address_of(address), known.name)
        return AsyncActor(self, address_of(address), known.text, None, known.file)

    # --- names -----------------------------------------------------------------------

    @property
    def labels(self) -> Mapping[bytes, str]:
        """Names by address: `account 0`, an actor's file or class, or what you gave.

        They are this client's: the node does not know them.
        """
        return self._own_labels

    @property
    def _own_labels(self) -> Labels:
        if self._labels is None:
            names = {account.address: account.label for account in self.accounts}
            self._labels = Labels(names)
        return self._labels

    def label(self, who: Sender, name: str) -> None:
        """Call an address by a name in everything that this client shows.

        Going back to a snapshot returns to the names of then, too.

        Raises:
            InvalidArgument: the name has not 1 to 64 characters, reads as an address or
                a number, or is that of another address.
        """
        require_open(self.api)
        self._own_labels.give(address_of(who, "who"), name)

    # --- profiles ------------------------------------------------------------------

    @asynccontextmanager
    async def profile(self) -> AsyncIterator["Profile"]:
        """Count cycles and cells by line of every execution in the blocks made inside.

        The node executes these blocks again to count. The client asks for them after
        each of its own calls that makes blocks, and at the end, whoever sent the
        transactions.

        Raises:
            NodeError: `HISTORY_NOT_KEPT` if one call passed more heights than the node
                keeps states of (advance in smaller steps); `INVALID_ARGUMENT` if a
                block used too many cycles, or the chain is no development chain. The
                calls themselves are done.
        """
        from node.client._async.profiler import AsyncProfiler  # noqa: PLC0415 - heavy

        profiler = AsyncProfiler(self.api, await self.height, self._own_labels)
        self._profilers += (profiler,)
        try:
            yield profiler.profile
        finally:
            self._profilers = tuple(p for p in self._profilers if p is not profiler)
            await profiler.finish()

    async def costs(
        self,
        from_height: int | None = None,
        to_height: int | None = None,
        actor: Sender | None = None,
    ) -> "RangeCosts":
        """What lines of actors, and call stacks, cost in a range of heights.

        The node executes these blocks again to count. If the work becomes too much, it
        ends before; the answer says so, and what else was left out.

        Args:
            from_height: the first height; by default the oldest that can be executed
                again.
            to_height: the last one; by default the latest.
            actor: only lines of this actor, and stacks in which it stands.

        Raises:
            InvalidArgument: the range has no heights.
            UnknownId: the chain has not reached these heights.
            NodeError: `HISTORY_NOT_KEPT`, because the state before them is not kept;
                `INVALID_ARGUMENT` if the chain is no development chain.
        """
        from node.client.costs import costs_from_proto  # noqa: PLC0415 - heavy

        check_heights(from_height, to_height)
        only = b"" if actor is None else address_of(actor, "actor")
        last = "from_height" if to_height is None else "to_height"
        given = from_height if to_height is None else to_height
        with maps_unknown_id(last, given), maps_unknown_id("actor", only):
            stream = self.api.stream_costs(from_height, to_height, actor=only)
            told = [one async for one in stream if not one.HasField("progress")]
        return with_names(costs_from_proto(told), self._own_labels)

    async def _count(self) -> None:
        """Let open profiles look at what was made."""
        for profiler in self._profilers:
            await profiler.look()

    # --- acting --------------------------------------------------------------------

    async def mine(self, blocks: int = 1) -> Mined:
        """Make blocks now, and return the last of them.

        The first block takes the transactions that wait.

        Args:
            blocks: how many, 1 to 10,000.

        Raises:
            InvalidArgument: the number is out of this range.
        """
        check_count("blocks", blocks, 1, _MINED_MAX)
        self._require_no_block()
        head = await self.api.mine(blocks)
        await self._count()
        return await self.block(head.height)

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
        """Let time pass up to one target, and sum up what happened.

        Exactly one of the first five arguments is given. Empty heights cost almost
        nothing, so that a million of them may pass.

        Args:
            blocks: how many heights pass, 1 or more.
            height: the height to reach, above the present one.
            duration_ms: the milliseconds of virtual time that pass, at least.
            next_timer: True to go to the height at which the next timer is looked at.
            until_idle: go on until nothing waits, for at most so many blocks.
            strict: whether the failure of a fire is raised; by default as the chain's
                `is_strict`.
            expect_failure: whether a fire must fail; it is then not raised.

        Raises:
            InvalidArgument: not exactly one target was given, or one of a wrong type.
            AdvanceRefused: the chain cannot advance to the target; nothing happened.
            FireFailed: a fire failed and the chain is strict; time did pass.
            AssertionError: a failure was expected, and no fire failed.
        """
        check_chain(expect_failure=expect_failure)
        check_chain.optional(strict=strict)
        wanted = given(
            blocks=blocks,
            height=height,
            duration_ms=duration_ms,
            next_timer=next_timer,
            until_idle=until_idle,
        )
        check_target(wanted)
        self._require_no_block()
        # What the wire cannot carry is refused by the node like the next that it can.
        sent = {name: min(max(value, 0), U64_MAX) for name, value in wanted.items()}
        summary = AdvanceSummary()
        try:
            async for message in self.api.advance(**sent):
                add_progress(summary, message)
        except NodeError as error:
            raise refusal_of_node(error) from None
        await self._count()
        is_strict = self.is_strict if strict is None else strict
        if check_fires(
            summary.fires_failed, is_strict=is_strict, expect_failure=expect_failure
        ):
            raise await self._fire_failed(summary)
        return summary

    async def _fire_failed(self, summary: AdvanceSummary) -> FireFailed:
        """The first of the fires that failed while time passed."""
        for height in summary.heights:
            block = await self.block(height)
            receipt = failed_fire(block.receipts)
            if receipt is not None:
                assert receipt.failure is not None
                sources = await self._sources_of(receipt.actor, receipt.failure)
                return FireFailed(receipt, height, summary.fires_failed, sources)
        raise AssertionError("a failed fire has a receipt")

    async def submit(
        self,
        instruction: Instruction,
        *,
        sender: Sender | None = None,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        **fees: int,
    ) -> Hash32:
        """Send a transaction without waiting for it, and return its id for `wait_for`.

        Args:
            instruction: what the transaction does: `Transfer`, `DeployActor`,
                `ExecuteActor` and so on.
            sender: who sends it, the first account by default; without a key it is
                impersonated.
            cycles_limit: most cycles that it may use; estimated if not given.
            cells_limit: most cells that it may use; estimated if not given.
            fees: `max_fee_per_cycle`, `max_priority_fee_per_cycle`, `max_fee_per_cell`
                and `max_priority_fee_per_cell`, in base units.

        Raises:
            TransactionRefused: the node does not admit it.
            OutcomeUnknown: the connection was lost while it was sent.
        """
        check_chain(instruction=instruction)
        terms = Terms(self._sender(sender), cycles_limit, cells_limit, fees)
        _, raw = await self._send(instruction, terms)
        return Hash32(keccak256(raw))

    async def execute(
        self,
        instruction: Instruction,
        *,
        sender: Sender | None = None,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        expect_failure: bool = False,
        timeout: float | None = None,
        **fees: int,
    ) -> AsyncSentReceipt:
        """Send a transaction, wait until it is in a block, and return its receipt.

        Args:
            instruction: what the transaction does: `Transfer`, `DeployActor`,
                `ExecuteActor` and so on.
            sender: who sends it, the first account by default; without a key it is
                impersonated.
            cycles_limit: most cycles that it may use; estimated if not given.
            cells_limit: most cells that it may use; estimated if not given.
            expect_failure: whether it must fail; its receipt is then returned.
            timeout: seconds to wait; by default those of the client.
            fees: `max_fee_per_cycle`, `max_priority_fee_per_cycle`, `max_fee_per_cell`
                and `max_priority_fee_per_cell`, in base units.

        Raises:
            TransactionRefused: the node does not admit it.
            TransactionDropped: it left the pool without a block.
            TransactionFailed: it is in a block and failed, unless `expect_failure`.
            AssertionError: a failure was expected, and it succeeded.
            OutcomeUnknown: the connection was lost, or the time was over.
        """
        check_chain(instruction=instruction, expect_failure=expect_failure)
        check_chain.optional(timeout=timeout)
        terms = Terms(self._sender(sender), cycles_limit, cells_limit, fees)
        instruction, raw = await self._send(instruction, terms)
        if self._open is not None:
            receipt = pending_receipt(self)
            self._open.append(_Sent(receipt, instruction, raw, expect_failure))
            return receipt
        receipt = sent_receipt(await self._wait(raw, timeout), self)
        await self._require_outcome(_Sent(receipt, instruction, raw, expect_failure))
        return receipt

    async def _require_outcome(self, sent: "_Sent") -> None:
        """Raise what became of a transaction, unless that was expected."""
        receipt, instruction = sent.receipt, sent.instruction
        if not receipt.is_success and not sent.is_failure_expected:
            assert receipt.failure is not None
            sources = await self._sources_of(receipt.actor, receipt.failure)
            if isinstance(instruction, DeployActor | UpgradeActor | SetCode):
                known = {**sources.known, b"": self._known(instruction.code)}
                sources = Sources(known, sources.labels)
            raise TransactionFailed(receipt, sources)
        assert receipt.is_success != sent.is_failure_expected, "a failure was expected"

    async def wait_for(
        self, transaction_id: bytes | str, *, timeout: float | None = None
    ) -> Receipt:
        """Wait until a transaction is in a block, and return its receipt.

        Args:
            transaction_id: the id that `submit` returned, or that `OutcomeUnknown`
                carries.
            timeout: seconds to wait; by default those of the client.

        Raises:
            UnknownId: the node does not know the transaction.
            TransactionDropped: it left the pool without a block, or a rewind undid it.
            OutcomeUnknown: the connection was lost, or the time was over.
        """
        transaction_id = check_id("transaction_id", transaction_id)
        check_chain.optional(timeout=timeout)
        try:
            with maps_unknown_id("transaction_id", transaction_id):
                found = await self.api.transaction(transaction_id)
        except NodeUnreachable as error:
            raise OutcomeUnknown(transaction_id, error) from None
        if found.WhichOneof("outcome") == "pending":
            return await self._wait(found.pending.raw, timeout)
        return receipt_from_proto(committed_of(found).receipt)

    async def _wait(self, raw: bytes, timeout: float | None) -> Receipt:
        try:
            answer = await self.api.submit_and_wait(raw, timeout=timeout)
        except NodeUnreachable as error:
            raise OutcomeUnknown(keccak256(raw), error) from None
        except NodeError as error:
            if error.code in _UNHEARD:
                raise OutcomeUnknown(keccak256(raw), error) from None
            raise refusal_of_node(error) from None
        await self._count()
        return receipt_from_proto(committed_of(answer).receipt)

    async def _send(
        self, instruction: Instruction, terms: Terms
    ) -> tuple[Instruction, bytes]:
        """Have a transaction admitted; what was asked, and its bytes."""
        terms.check()
        sender = address_of(terms.sender, "sender")
        async with self._locks[sender[-1] % _LOCKS]:
            for _ in range(_NONCE_ATTEMPTS):
                asked, raw = await self._sign(instruction, terms)
                try:
                    answer = await self.api.submit(raw)
                except NodeUnreachable as error:
                    raise OutcomeUnknown(keccak256(raw), error) from None
                except NodeError as error:
                    if error.reason in _NONCE_TAKEN:
                        continue
                    if error.code in _UNHEARD:
                        raise OutcomeUnknown(keccak256(raw), error) from None
                    raise refusal_of_node(error) from None
                if not answer.is_known:
                    return asked, raw
                # Another program sent the very same with the same key and nonce.
        raise NodeError(
            "NONCE_TAKEN",
            f"{_NONCE_ATTEMPTS} times another program used the nonce first: let one "
            "client send for this key",
            {},
            "ABORTED",
        )

    async def _sign(
        self, instruction: Instruction, terms: Terms
    ) -> tuple[Instruction, bytes]:
        """A transaction with the sender's next nonce."""
        sender = address_of(terms.sender, "sender")
        if isinstance(instruction, DeployActor) and not instruction.salt:
            # The nonce as salt: a sender may deploy equal sources again and again.
            account = await self.api.account(sender)
            salt = account.next_nonce.to_bytes(32, "big")
            instruction = replace(instruction, salt=salt)
        wanted = draft(sender, instruction, terms)
        try:
            prepared = await self.api.prepare(wanted)
        except NodeError as error:
            raise refusal_of_node(error) from None
        body = checked_body(prepared, instruction)
        key = getattr(terms.sender, "private_key", None)
        if isinstance(key, bytes):
            return instruction, Wallet(key).sign_encoded(body)
        return instruction, impersonate(body, sender)

    def _sender(self, sender: Sender | None) -> Sender:
        return self.accounts[0] if sender is None else sender

    async def deploy(
        self,
        source: Source,
        payload: bytes = b"",
        *,
        sender: Sender | None = None,
        value: int | str = 0,
        salt: bytes | None = None,
        expect_failure: bool = False,
        **limits: int,
    ) -> AsyncActor:
        """Deploy an actor, wait until it is in a block, and return it as an object.

        Its constructor (`deploy`, else `init`) has run then.

        Args:
            source: the actor's source, or the path of its file: `Path("heart.py")`,
                which failures then name.
            payload: bytes that the constructor gets.
            sender: who deploys, the first account by default; without a key it is
                impersonated.
            value: base units, or a text such as "5 CBY", that the actor gets.
            salt: 32 bytes that make the address differ; by default the sender's nonce,
                so that a source can be deployed twice.
            expect_failure: whether the deployment must fail.
            limits: `cycles_limit` and `cells_limit`; estimated if not given.

        Raises:
            TransactionRefused: the node does not admit the transaction.
            TransactionFailed: the source was refused or the constructor failed, unless
                `expect_failure`.
            InvalidArgument: an argument is of a wrong type or out of range.
        """
        code, known = source_of(source)
        if known.file:
            self._files[keccak256(code)] = known.file
        instruction = DeployActor(
            b"" if salt is None else check_salt(salt),
            code,
            check_bytes("payload", payload),
            amount_of(value, "value"),
        )
        try:
            receipt = await self.execute(
                instruction, sender=sender, expect_failure=expect_failure, **limits
            )
        except TransactionFailed as failed:  # which reports tell of by its name, too
            self._own_labels.suggest(failed.receipt.actor, known.name)
            raise
        address = self._deployed(receipt, sender)
        self._own_labels.suggest(address, known.name)
        return AsyncActor(self, address, known.text, receipt, known.file)

    def _deployed(self, receipt: AsyncSentReceipt, sender: Sender | None) -> Address:
        """The address of a new actor, also while its block is open."""
        for sent in self._open or ():
            if sent.receipt is receipt and isinstance(sent.instruction, DeployActor):
                deployer = address_of(self._sender(sender), "sender")
                code_hash = keccak256(sent.instruction.code)
                return derive_actor_address(deployer, sent.instruction.salt, code_hash)
        return receipt.actor

    async def upgrade(
        self,
        actor: Sender,
        source: Source,
        payload: bytes = b"",
        *,
        sender: Sender | None = None,
        expect_failure: bool = False,
        **limits: int,
    ) -> AsyncSentReceipt:
        """Give an actor new code, and run the handler `upgrade` of that code (D58).

        Address, storage, balance and timers stay.

        Args:
            actor: the actor, or its address.
            source: its new source; of a path, the file that holds it.
            payload: bytes that `upgrade` gets.
            sender: the actor's owner, or a system deployer; the first account by
                default.
            expect_failure: whether the upgrade must fail; its receipt is then returned.
            limits: `cycles_limit` and `cells_limit`; estimated if not given.

        Raises:
            TransactionFailed: it is not the sender's to upgrade, the source is refused,
                or `upgrade` failed, unless `expect_failure`. The actor is as before.
            TransactionRefused: the node does not admit the transaction.
            InvalidArgument: an argument is of a wrong type, or the file is not there.
        """
        address, (code, known) = address_of(actor, "actor"), source_of(source)
        wanted = UpgradeActor(address, code, check_bytes("payload", payload))
        if known.file:
            self._files[keccak256(code)] = known.file
        return await self.execute(
            wanted, sender=sender, expect_failure=expect_failure, **limits
        )

    async def code_versions(self, actor: Sender) -> list[CodeVersion]:
        """The code that an actor got, by its deployment and by upgrades, in order.

        The latest 1,000, as far as the node's history goes back.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        address = address_of(actor, "actor")
        with maps_unknown_id("actor", address):
            found = await self.api.actor(address)
        return [
            CodeVersion(address, Height(one.height), Hash32(one.code_hash))
            for one in found.versions
        ]

    async def transfer(
        self, to: Sender, amount: int | str, *, sender: Sender | None = None
    ) -> AsyncSentReceipt:
        """Send base units, or an amount such as "5 CBY", from one account to another.

        The sender is the first account if none is given.
        """
        instruction = Transfer(address_of(to, "to"), amount_of(amount))
        return await self.execute(instruction, sender=sender)

    async def fund(self, to: Sender, amount: int | str) -> AsyncSentReceipt:
        """Mint base units, or an amount such as "5 CBY", to an account (D41).

        Only a development chain admits this.
        """
        return await self.execute(Fund(address_of(to, "to"), amount_of(amount)))

    async def set_balance(self, who: Sender, amount: int | str) -> AsyncSentReceipt:
        """Set the balance of an account by minting or taking the difference (D41).

        The amount is in base units, or a text such as "5 CBY". Only a development chain
        admits this.
        """
        return await self.execute(SetBalance(address_of(who, "who"), amount_of(amount)))

    async def set_storage(
        self, actor: Sender, key: bytes | str, value: object
    ) -> AsyncSentReceipt:
        """Write an entry of an actor's state; None as value removes it (D58).

        A str as key names an entry of `self.storage`, whose value is any that canonical
        CBOR can hold; bytes are a raw key, with bytes as value. Only a development
        chain admits this.

        Raises:
            TransactionFailed: no actor is there, or the key is the runtime's own.
            InvalidArgument: key or value are of a wrong type, or too long.
        """
        return await self.execute(
            SetStorage(address_of(actor, "actor"), *state_entry(key, value))
        )

    async def set_code(self, actor: Sender, source: Source) -> AsyncSentReceipt:
        """Replace the code of an actor, whoever owns it; no handler runs (D58).

        The source may be a path, of the file that holds it. Only a development chain
        admits this.

        Raises:
            TransactionFailed: no actor is there, it has this code, or it is refused.
            InvalidArgument: no source is given, or the file is not there.
        """
        code, known = source_of(source)
        if known.file:
            self._files[keccak256(code)] = known.file
        return await self.execute(SetCode(address_of(actor, "actor"), code))

    async def export_bundle(self, file: str | PathLike[str]) -> Path:
        """Write the chain into a new file, for `import_bundle` or `bundle check`.

        Equal chains give equal bytes. Transactions that wait in the pool are not in the
        file.

        Raises:
            BundleRefused: the file exists, or cannot be written.
            NodeError: `HISTORY_NOT_KEPT`, because blocks were pruned.
        """
        from node.archive.bundle import new_bundle  # noqa: PLC0415 - few want one

        path = check_path("file", file)
        require_open(self.api)
        with new_bundle(path) as write:
            async for part in self.api.export_bundle():
                write(part)
        return path

    async def import_bundle(self, file: str | PathLike[str]) -> Header:
        """Execute the blocks of a bundle on an empty chain, and return the new head.

        Each block must give what the bundle says.

        Raises:
            BundleRefused: the file is no complete bundle of the chain's genesis, or the
                chain is not empty: nothing happened. Or a block gave something else:
                the chain is at genesis.
        """
        from node.archive.bundle import open_parts  # noqa: PLC0415

        path = check_path("file", file)
        require_open(self.api)
        try:
            with open_parts(path) as parts:
                head = await self.api.import_bundle(parts)
        except NodeError as error:
            raise refusal_of_node(error) from None
        await self._count()
        return header_from_proto(head)

    async def snapshot(self) -> "_Snapshot":
        """The present state of the chain, to return to.

        Leaving it as a context manager returns.
        """
        name = f"client-{uuid.uuid4().hex}"
        named = await self.api.create_snapshot(name)
        header = await self.api.block(named.block.height)
        rename = self._own_labels.mark()

        async def reverted() -> None:
            rename()
            await self._count()

        head = header_from_proto(header.header)
        return _Snapshot(self.api, name, head, self._count, reverted)


class _Sent(Struct):
    """A transaction that was sent, and what is to become of it."""

    receipt: AsyncSentReceipt
    instruction: Instruction
    raw: bytes
    is_failure_expected: bool


def _of_id(
    executions: Sequence[traces_pb2.ExecutionTrace],
    id_: bytes,
    kind: ReceiptKind | None,
) -> ExecutionTrace:
    """The execution of an id, its agent's answer only where nothing else has it."""
    found = [trace_from_proto(one) for one in executions if one.receipt.id == id_]
    own = [one for one in found if kind is None or one.receipt.kind is kind]
    if not own:
        raise unknown_execution("execution_id", id_)
    return min(own, key=lambda one: one.receipt.kind is ReceiptKind.AGENT)


class _Snapshot:
    """A named snapshot of the node's that is forgotten when its `with` ends."""

    def __init__(
        self,
        api: AsyncApi,
        name: str,
        head: Header,
        count: Callable[[], Awaitable[None]],
        reverted: Callable[[], Awaitable[None]],
    ) -> None:
        self._api = api
        self._count = count
        self._reverted = reverted
        self.name = name
        self.head = head
        """The block to which the chain returns."""

    @override
    def __repr__(self) -> str:
        return f"<snapshot of height {self.head.height}>"

    async def revert(self) -> None:
        """Return to it: height, clock, pool, timers and fees."""
        await self._count()
        await self._api.revert_to_snapshot(self.name)
        await self._reverted()

    async def __aenter__(self) -> Self:
        """The snapshot itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Return to it, and forget it."""
        await self.revert()
        await self._api.delete_snapshot(self.name)
