# Written by scripts/gensync.py from _async/reader.py: change that one.
"""Reader: what a node tells of its chain, for programs without an event loop.

The half of `Client` that changes nothing. All of it is safe to repeat, and gRPC
repeats it by itself when the connection is lost; streams go on where they were.
"""

from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Self, TypeVar

from typing_extensions import override

from node.chain.block import Event, Header, Receipt, ReceiptKind
from node.chain.timers.timer import Timer
from node.client._sync.api import Api
from node.client.checks import check_chain
from node.client.decoding import (
    block_from_proto,
    failure_from_proto,
    header_from_proto,
    maps_unknown_id,
    place_from_proto,
    refusal_of_node,
    timer_from_proto,
)
from node.client.exceptions import NodeError, NodeUnreachable, ReadFailed, Sources
from node.client.grpc_errors import require_open
from node.client.inputs import (
    Mined,
    Sender,
    address_of,
    check_bytes,
    check_count,
    check_id,
    check_kind,
    check_text,
)
from node.client.messages import (
    EventFilter,
    StreamPosition,
    TimerFilter,
    TimerQuery,
    is_broken,
    place_of_block,
    quote_request,
)
from node.primitives import codec
from node.primitives.types import Address, Amount
from node.query.forecasts.lane_position import LanePosition
from node.rpc.v1 import streams_pb2, types_pb2
from pvm import STORAGE_PREFIX, Failure

__all__ = ["Reader"]

_Message = TypeVar("_Message")
_Place = TypeVar(
    "_Place", types_pb2.BlockRef, streams_pb2.EventCursor, streams_pb2.TimerCursor
)


class Reader:
    """What a client can ask a node; close it, or leave that to `with`."""

    def __init__(self, api: Api) -> None:
        self.api = api
        """One method a call of the node's API, in its own messages."""

    @override
    def __repr__(self) -> str:
        return f"<client of {self.api.url}>"

    def close(self) -> None:
        """Close the connection; calling it again has no effect."""
        self.api.close()

    def __enter__(self) -> Self:
        """The client itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    # --- the chain as it stands ----------------------------------------------------

    @property
    def head(self) -> Header:
        """The header of the latest block."""
        status = self.api.status()
        return header_from_proto(status.head)

    @property
    def height(self) -> int:
        """Height of the latest block; genesis has height 0."""
        head = self.head
        return head.height

    @property
    def timestamp_ms(self) -> int:
        """Timestamp of the latest block, in milliseconds of virtual time (D37)."""
        head = self.head
        return head.timestamp_ms

    def block(self, height: int | None = None) -> Mined:
        """The header, receipts and events of one block.

        Without a height it is the latest block. Within a run of empty blocks it is the
        run.

        Raises:
            UnknownId: the chain has not reached this height.
            InvalidArgument: the height is no whole number of 0 or more.
        """
        if height is not None:
            check_count("height", height, 0)
        full = types_pb2.BLOCK_VIEW_FULL
        with maps_unknown_id("height", height):
            return block_from_proto(self.api.block(height, view=full))

    def balance(self, who: Sender) -> Amount:
        """The balance of an account in base units; 1 CBY is 1,000,000,000 of them."""
        account = self.api.account(address_of(who, "who"))
        return Amount(int(account.balance))

    def nonce(self, who: Sender) -> int:
        """How many transactions of a sender are in blocks: its next nonce."""
        account = self.api.account(address_of(who, "who"))
        return account.nonce

    def timers(self, actor: Sender | None = None) -> list[Timer]:
        """The live timers of one actor, or of all, in the order in which they are due.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        address = b"" if actor is None else address_of(actor, "actor")
        wanted = TimerQuery(actor=address)
        found = [timer_from_proto(timer) for timer in self.api.timers(wanted)]
        if address and not found:
            with maps_unknown_id("actor", address):
                self.api.actor(address)
        return found

    def timer(self, timer_id: bytes) -> Timer | None:
        """A live timer, or None if it has ended.

        Raises:
            UnknownId: no timer ever had this id, or its blocks were pruned.
        """
        with maps_unknown_id("timer_id", timer_id):
            answer = self.api.timer(check_id("timer_id", timer_id))
        return (
            timer_from_proto(answer.timer) if answer.timer.HasField("record") else None
        )

    def explain(self, timer_id: bytes) -> str:
        """Why a timer did what it did, and what awaits it, in sentences.

        Raises:
            UnknownId: no timer ever had this id, or its blocks were pruned.
        """
        with maps_unknown_id("timer_id", timer_id):
            answer = self.api.explain_timer(check_id("timer_id", timer_id))
        return answer.text

    def explain_block(self, height: int) -> str:
        """What a block decided about timers, in the order in which it looked at them.

        The answer is in sentences.

        Raises:
            UnknownId: the chain has not reached this height.
        """
        check_count("height", height, 0)
        with maps_unknown_id("height", height):
            pages = [page.text for page in self.api.explain_block_pages(height)]
        return "\n".join(pages)

    def simulate(self, blocks: int) -> str:
        """What the next blocks would bring if nobody sent anything, in sentences.

        This is a dry run: nothing of it is kept.

        Raises:
            AdvanceRefused: there are not so many heights.
        """
        try:
            answer = self.api.simulate_blocks(check_count("blocks", blocks))
        except NodeError as error:
            raise refusal_of_node(error) from None
        return answer.outlook.text

    def standing(self, timer_id: bytes) -> LanePosition | None:
        """The effective priority and rank of a live timer under the rules `auction`.

        It is None under other rules, and for a timer that has ended.

        Raises:
            UnknownId: no timer ever had this id, or its blocks were pruned.
        """
        with maps_unknown_id("timer_id", timer_id):
            answer = self.api.timer(check_id("timer_id", timer_id))
        timer = answer.timer
        return place_from_proto(timer.standing) if timer.HasField("standing") else None

    def quote(
        self, actor: Sender, fee_payer: Sender | None = None, **terms: int
    ) -> str:
        """What a timer would cost, in sentences.

        Args:
            actor: the actor that would schedule it.
            fee_payer: who would pay for its fires; the actor if not given.
            terms: `height`, `gas_limit`, `expires_at`, `payload_bytes`,
                `max_fee_per_cycle`, `max_priority_fee_per_cycle`; and `blocks`, how
                many of the last blocks to look back over.

        Raises:
            InvalidArgument: there is no such term, or its value is out of range.
            UnknownId: no actor was deployed at the address.
            NodeError: `INVALID_ARGUMENT`, because scheduling such a timer would be
                refused.
        """
        address = address_of(actor, "actor")
        payer = address if fee_payer is None else address_of(fee_payer, "fee_payer")
        with maps_unknown_id("actor", address):
            answer = self.api.quote_timer(quote_request(address, payer, terms))
        return answer.text

    def events(self, topic: str | None = None) -> list[Event]:
        """The events of all blocks, in order, or only those of one topic."""
        if topic is not None:
            check_text("topic", topic)
        return [
            event
            for block in self._blocks(lambda block: block.event_count > 0)
            for event in block.events
            if topic is None or event.topic == topic
        ]

    def receipts(self, kind: ReceiptKind | None = None) -> list[Receipt]:
        """The receipts of all blocks, in order, or only those of one kind."""
        check_kind(kind)
        return [
            receipt
            for block in self._blocks(lambda block: block.receipt_count > 0)
            for receipt in block.receipts
            if kind is None or receipt.kind is kind
        ]

    def _blocks(self, is_wanted: Callable[[types_pb2.Block], bool]) -> Iterator[Mined]:
        for block in self.api.blocks():
            if is_wanted(block):
                yield self.block(block.header.height)

    def storage(self, actor: Sender) -> Mapping[str, codec.Value]:
        """A copy of what an actor's `self.storage` holds, with decoded values.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        address = address_of(actor, "actor")
        entries = self.api.list_storage(address, STORAGE_PREFIX)
        with maps_unknown_id("actor", address):
            return {entry.name: codec.decode(entry.value) for entry in entries}

    def storage_entry(self, actor: Sender, key: bytes | str) -> bytes | None:
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
                entry = self.api.storage(address, key)
        except NodeError as error:
            if error.reason != "STORAGE_KEY_NOT_FOUND":
                raise
            return None
        return entry.value

    def read(
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
        address = address_of(actor, "actor")
        with maps_unknown_id("actor", address):
            answer = self.api.read(
                address,
                check_text("handler", handler),
                check_bytes("payload", payload),
                sender=b"" if sender is None else address_of(sender, "sender"),
            )
        if answer.status != types_pb2.EXECUTION_STATUS_SUCCEEDED:
            failure = failure_from_proto(answer.error)
            raise ReadFailed(failure, self._sources_of(address, failure))
        return answer.value

    def _sources_of(self, actor: Address, failure: Failure) -> Sources:
        """Of the actor that failed and of the callees that its failure went through."""
        callees = {frame.actor for frame in failure.stack} - {b""}
        found: dict[bytes, str] = {}
        for address in (actor, *sorted(callees)):
            try:
                answer = self.api.actor(address)
            except (NodeError, NodeUnreachable):
                continue  # the failure itself matters more
            source = answer.source.decode("utf-8", "replace")
            found[b"" if address == actor else address] = source
        return found

    # --- streams -------------------------------------------------------------------

    def stream_blocks(
        self, resume_after: types_pb2.BlockRef | None = None
    ) -> Iterator[streams_pb2.StreamBlocksResponse]:
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
    ) -> Iterator[streams_pb2.StreamEventsResponse]:
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
    ) -> Iterator[streams_pb2.StreamTimersResponse]:
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

    def _follow(
        self,
        follow: Callable[[StreamPosition[_Place]], Iterator[_Message]],
        place: _Place | None,
        begin_at: Callable[[types_pb2.BlockRef], _Place],
        place_of: Callable[[_Message], _Place],
    ) -> Iterator[_Message]:
        """A stream that goes on where it was when the connection was lost.

        Raises:
            NodeUnreachable: the node does not come back within the timeout.
        """
        if place is None:
            status = self.api.status()
            head = types_pb2.BlockRef(height=status.head.height, hash=status.head.hash)
            place = begin_at(head)
        trail = StreamPosition(place)
        while True:
            try:
                for message in follow(trail):
                    trail.go_to(place_of(message))
                    yield message
            except (NodeError, NodeUnreachable) as error:
                if not is_broken(error):
                    raise
            self.api.ready()
