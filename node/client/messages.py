"""Requests, built for both clients alike, and what both read out of answers."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from node.chain.advance import BlockCount, Duration, NextTimer, ToHeight, UntilIdle
from node.chain.errors import InvalidTransaction
from node.chain.transaction import Instruction, decode_body
from node.client.exceptions import NodeError, NodeUnreachable, TransactionDropped
from node.client.inputs import Terms, check_target, check_terms
from node.client.wallet import Wallet
from node.rpc.instructions import instruction_to_proto
from node.rpc.v1 import (
    dev_pb2,
    queries_pb2,
    streams_pb2,
    timers_pb2,
    transactions_pb2,
    types_pb2,
)

__all__ = ["CALL_SECONDS", "EventFilter", "TimerFilter", "TimerQuery"]

CALL_SECONDS = 30.0
"""Deadline of a call unless the caller gives another."""

BUNDLE_SECONDS = 3_600.0
"""Of an import, which executes a whole chain."""

EARLIER_BLOCKS_MAX = 64
"""That a resumed stream may name."""

_Place = TypeVar(
    "_Place", types_pb2.BlockRef, streams_pb2.EventCursor, streams_pb2.TimerCursor
)


def quote_request(
    actor: bytes, fee_payer: bytes, terms: Mapping[str, int]
) -> timers_pb2.QuoteTimerRequest:
    """A quote of a timer with these terms.

    Raises:
        InvalidArgument: one is not known, of another type, or out of bounds.
    """
    request = timers_pb2.QuoteTimerRequest(actor=actor, fee_payer=fee_payer)
    for name, number in check_terms(terms).items():
        is_fee = name in ("max_fee_per_cycle", "max_priority_fee_per_cycle", "bid_fp")
        setattr(request, name, str(number) if is_fee else number)
    return request


class TimerQuery(Struct, frozen=True):
    """Which timers a list contains; an empty field admits all."""

    actor: bytes = b""
    fee_payer: bytes = b""
    from_height: int | None = None
    to_height: int | None = None
    status: "timers_pb2.TimerStatus.ValueType" = timers_pb2.TIMER_STATUS_PENDING
    kind: "timers_pb2.TimerKind.ValueType" = timers_pb2.TIMER_KIND_UNSPECIFIED
    watched: bytes = b""
    """Only watches that watch this actor's state."""

    def request(self, page_size: int, page_token: str) -> timers_pb2.ListTimersRequest:
        """One page of it."""
        return timers_pb2.ListTimersRequest(
            actor=self.actor,
            fee_payer=self.fee_payer,
            from_height=self.from_height,
            to_height=self.to_height,
            status=self.status,
            kind=self.kind,
            watched=self.watched,
            page_size=page_size,
            page_token=page_token,
        )


class EventFilter(Struct, frozen=True):
    """Which events a stream contains; an empty field admits all."""

    emitters: tuple[bytes, ...] = ()
    topics: tuple[str, ...] = ()
    include_system: bool = False

    def request(
        self,
        resume_after: streams_pb2.EventCursor | None,
        earlier: Sequence[types_pb2.BlockRef],
    ) -> streams_pb2.StreamEventsRequest:
        """A stream of them."""
        return streams_pb2.StreamEventsRequest(
            resume_after=resume_after,
            earlier=earlier,
            emitters=self.emitters,
            topics=self.topics,
            include_system=self.include_system,
        )


class TimerFilter(Struct, frozen=True):
    """Of which timers a stream tells the changes; an empty field admits all."""

    actors: tuple[bytes, ...] = ()
    timer_ids: tuple[bytes, ...] = ()

    def request(
        self,
        resume_after: streams_pb2.TimerCursor | None,
        earlier: Sequence[types_pb2.BlockRef],
    ) -> streams_pb2.StreamTimersRequest:
        """A stream of them."""
        return streams_pb2.StreamTimersRequest(
            resume_after=resume_after,
            earlier=earlier,
            actors=self.actors,
            timer_ids=self.timer_ids,
        )


def draft(
    sender: bytes, instruction: Instruction, terms: Terms | None = None
) -> types_pb2.Draft:
    """A transaction that the node is to complete; set its fields to state more."""
    wanted = types_pb2.Draft(
        sender=sender, instruction=instruction_to_proto(instruction)
    )
    if terms is not None:
        for name, price in terms.fees.items():
            setattr(wanted, name, str(price))
        for name in ("cycles_limit", "cells_limit"):
            limit: int | None = getattr(terms, name)
            if limit is not None:
                setattr(wanted, name, limit)
    return wanted


def block_of(
    place: types_pb2.BlockRef | streams_pb2.EventCursor | streams_pb2.TimerCursor,
) -> types_pb2.BlockRef:
    """The block of a place in the chain."""
    return place if isinstance(place, types_pb2.BlockRef) else place.block


class StreamPosition(Generic[_Place]):
    """Where a stream is, and the blocks behind it: from there it is resumed."""

    def __init__(self, place: _Place) -> None:
        self.place: _Place = place
        self._blocks: deque[types_pb2.BlockRef] = deque(maxlen=EARLIER_BLOCKS_MAX)

    @property
    def earlier(self) -> Sequence[types_pb2.BlockRef]:
        """Blocks seen before that of the place, the latest first."""
        return tuple(self._blocks)

    def go_to(self, place: _Place) -> None:
        """The stream has come to a place: ahead, or back when the chain was rewound."""
        before, now = block_of(self.place), block_of(place)
        if before != now and before.height < now.height:
            self._blocks.appendleft(before)
        while self._blocks and self._blocks[0].height >= now.height:
            self._blocks.popleft()
        self.place = place


def place_of_block(message: streams_pb2.StreamBlocksResponse) -> types_pb2.BlockRef:
    """The place after a message of `StreamBlocks`."""
    if message.WhichOneof("message") == "reverted":
        return message.reverted
    header = message.block.header
    return types_pb2.BlockRef(height=header.height, hash=header.hash)


_BROKEN = ("UNAVAILABLE", "CANCELLED")
"""CANCELLED by the node's side: who cancels a call of his own is told otherwise."""


def is_broken(error: Exception) -> bool:
    """Whether a stream that failed so can be resumed."""
    if isinstance(error, NodeUnreachable):
        return True
    return isinstance(error, NodeError) and (
        error.code in _BROKEN or error.reason == "READER_TOO_SLOW"
    )


def advance_request(target: Mapping[str, int | bool]) -> dev_pb2.AdvanceRequest:
    """What `Advance` is asked.

    Raises:
        InvalidArgument: not exactly one of its targets.
    """
    match check_target(target):
        case BlockCount(count):
            return dev_pb2.AdvanceRequest(blocks=count)
        case ToHeight(height):
            return dev_pb2.AdvanceRequest(height=height)
        case Duration(milliseconds):
            return dev_pb2.AdvanceRequest(duration_ms=milliseconds)
        case NextTimer():
            return dev_pb2.AdvanceRequest(next_timer=True)
        case UntilIdle(blocks_max):
            bound = dev_pb2.UntilIdle(blocks_max=blocks_max)
            return dev_pb2.AdvanceRequest(until_idle=bound)


def block_request(
    height: int | None,
    block_hash: bytes | None,
    view: "types_pb2.BlockView.ValueType",
) -> queries_pb2.GetBlockRequest:
    """A block by height or hash, or the latest."""
    if height is not None:
        return queries_pb2.GetBlockRequest(height=height, view=view)
    if block_hash is not None:
        return queries_pb2.GetBlockRequest(hash=block_hash, view=view)
    return queries_pb2.GetBlockRequest(latest=True, view=view)


def storage_request(actor: bytes, key: str | bytes) -> queries_pb2.GetStorageRequest:
    """An entry by its name in `self.storage`, or by its raw key."""
    if isinstance(key, str):
        return queries_pb2.GetStorageRequest(actor=actor, name=key)
    return queries_pb2.GetStorageRequest(actor=actor, raw=key)


def simulate_request(
    subject: bytes | types_pb2.Draft | None, blocks: int = 0
) -> transactions_pb2.SimulateRequest:
    """A simulation of a signed transaction or a draft, and of the next blocks."""
    if isinstance(subject, bytes):
        return transactions_pb2.SimulateRequest(transaction=subject, blocks=blocks)
    return transactions_pb2.SimulateRequest(draft=subject, blocks=blocks)


def checked_body(
    prepared: transactions_pb2.PrepareResponse, instruction: Instruction
) -> bytes:
    """A body that the node completed, if it asks what was wanted.

    Raises:
        NodeError: It asks something else: the node is not to be trusted.
    """
    try:
        is_same = decode_body(prepared.body).instruction == instruction
    except InvalidTransaction:
        is_same = False
    if not is_same:
        raise NodeError(
            "BODY_MISMATCH", "the node prepared another transaction", {}, "INTERNAL"
        )
    return prepared.body


def sign_prepared(
    prepared: transactions_pb2.PrepareResponse, wallet: Wallet, instruction: Instruction
) -> bytes:
    """Sign a body that the node completed, if it asks what was wanted."""
    return wallet.sign_encoded(checked_body(prepared, instruction))


def committed_of(
    response: transactions_pb2.SubmitAndWaitResponse
    | queries_pb2.GetTransactionResponse,
) -> types_pb2.CommittedTransaction:
    """The committed transaction of an answer.

    Raises:
        TransactionDropped: It was dropped, or undone by a rewind.
    """
    match response.WhichOneof("outcome"):
        case "committed":
            return response.committed
        case "dropped":
            dropped = response.dropped
            raise TransactionDropped(
                dropped.id, dropped.reason, dropped.message, dict(dropped.metadata)
            )
        case _:
            raise TransactionDropped(
                response.reverted, "REVERTED", "the chain was rewound", {}
            )
