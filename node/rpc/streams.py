"""StreamService: what happens, without gaps or repeats, also across a reconnect.

`block_follower` walks the chain; here a block becomes messages: itself, its
events, or the decisions about timers in it, those that pass the caller's filters, each
with the cursor that resumes after it.

Rules: messages are made block by block, as the caller takes them, and those of the
latest blocks once for all who follow; those of a large block beside the event loop, and
only when there is room for them. A reader too slow for the engine's bounded buffer, or
who finds no room since earlier messages are unread, is refused with the block to resume
after; the node never waits for it.
"""

import threading
from collections.abc import (
    AsyncGenerator,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from functools import partial
from typing import Generic, Protocol, TypeAlias, TypeVar

from google.protobuf.message import Message
from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from node.chain.block import Event
from node.chain.timers.timer import TimerDecision
from node.history import load_header
from node.primitives.types import Hash32, Height
from node.query import BlockView, is_in_chain
from node.rpc import convert, requests
from node.rpc.answers import SMALL_BYTES, Answers, as_answer, delimited
from node.rpc.block_follower import BlockRef, Coming, Start, follow
from node.rpc.requests import InvalidRequest
from node.rpc.room import NoRoom
from node.rpc.service import Context
from node.rpc.v1 import streams_pb2 as pb
from node.rpc.v1 import types_pb2
from node.rpc.v1.streams_pb2_grpc import StreamServiceServicer
from node.runtime.types import Backend, ReaderTooSlow
from node.state.store import StoreSnapshot
from pvm.output import NO_PRINTOUT, Printout

__all__ = ["EARLIER_MAX", "FILTER_ENTRIES_MAX", "Streams"]

FILTER_ENTRIES_MAX = 256
"""Emitters, topics, actors or timers that one subscription may name."""

EARLIER_MAX = 64
"""Earlier blocks that a caller may name."""

SHARED_BLOCKS = 4
"""Latest blocks whose messages are kept for all who follow."""

SHARED_BYTES_MAX = 16 << 20
"""Of large messages that are kept for others; more are made anew for each reader."""

Request = TypeVar("Request")
Response = TypeVar("Response", bound=Message)
Told_co = TypeVar("Told_co", covariant=True)

_Key: TypeAlias = tuple[Hash32, Hashable]
"""A block, and what is wanted of it."""
_Kept: TypeAlias = dict[_Key, Sequence[Told_co]]

_BlockContext = Context[pb.StreamBlocksRequest, pb.StreamBlocksResponse]
_EventContext = Context[pb.StreamEventsRequest, pb.StreamEventsResponse]
_TimerContext = Context[pb.StreamTimersRequest, pb.StreamTimersResponse]
_OutputContext = Context[pb.StreamOutputRequest, pb.StreamOutputResponse]


class Streams(StreamServiceServicer):
    """Serves `StreamService` from a backend."""

    def __init__(self, backend: Backend, answers: Answers | None = None) -> None:
        self._backend = backend
        answers = answers or Answers()
        self._answers = answers
        self._blocks = _Telling(backend, answers, pb.StreamBlocksResponse)
        self._events = _Telling(backend, answers, pb.StreamEventsResponse)
        self._changes = _Telling(backend, answers, pb.StreamTimersResponse)

    @override
    async def StreamBlocks(
        self, request: pb.StreamBlocksRequest, context: _BlockContext
    ) -> AsyncGenerator[pb.StreamBlocksResponse, None]:
        """Blocks after the one that the caller saw last."""
        start = Start(earlier=_earlier_from_proto(request.earlier))
        if request.HasField("resume_after"):
            after = _place_from_proto(request.resume_after, "resume_after")
            start = replace(start, after=after)
        wanted = _WantedBlocks(request.view)
        async with aclosing(follow(self._backend, start)) as steps:
            async for step in steps:
                if isinstance(step, BlockRef):
                    yield pb.StreamBlocksResponse(reverted=_place_to_proto(step))
                    continue
                telling = self._blocks.tell(context, step, wanted)
                async with aclosing(telling) as responses:
                    async for response in responses:
                        yield response

    @override
    async def StreamEvents(
        self, request: pb.StreamEventsRequest, context: _EventContext
    ) -> AsyncGenerator[pb.StreamEventsResponse, None]:
        """Events that pass the filters, after the one that the caller saw last."""
        wanted = _wanted_events_from_proto(request)
        start = Start(earlier=_earlier_from_proto(request.earlier))
        if request.HasField("resume_after"):
            cursor = request.resume_after
            index = cursor.event_index if cursor.HasField("event_index") else None
            start, seen = _resume(self._backend, start, cursor.block, index)
            wanted = replace(wanted, seen=seen)
        async with aclosing(follow(self._backend, start)) as steps:
            async for step in steps:
                if isinstance(step, BlockRef):
                    place = _place_to_proto(step)
                    event_cursor = pb.EventCursor(block=place)
                    yield pb.StreamEventsResponse(reverted=place, cursor=event_cursor)
                else:
                    telling = self._events.tell(context, step, wanted)
                    async with aclosing(telling) as responses:
                        async for response in responses:
                            yield response
                wanted = replace(wanted, seen=-1)

    @override
    async def StreamTimers(
        self, request: pb.StreamTimersRequest, context: _TimerContext
    ) -> AsyncGenerator[pb.StreamTimersResponse, None]:
        """Changes that pass the filters, after the one that the caller saw last."""
        wanted = _wanted_timers_from_proto(request)
        start = Start(earlier=_earlier_from_proto(request.earlier))
        if request.HasField("resume_after"):
            cursor = request.resume_after
            index = cursor.decision_index if cursor.HasField("decision_index") else None
            start, seen = _resume(self._backend, start, cursor.block, index)
            wanted = replace(wanted, seen=seen)
        steps = follow(self._backend, start, is_trace_wanted=True)
        async with aclosing(steps):
            async for step in steps:
                if isinstance(step, BlockRef):
                    place = _place_to_proto(step)
                    timer_cursor = pb.TimerCursor(block=place)
                    yield pb.StreamTimersResponse(reverted=place, cursor=timer_cursor)
                else:
                    telling = self._changes.tell(context, step, wanted)
                    async with aclosing(telling) as responses:
                        async for response in responses:
                            yield response
                wanted = replace(wanted, seen=-1)

    @override
    async def StreamOutput(
        self, request: pb.StreamOutputRequest, context: _OutputContext
    ) -> AsyncGenerator[pb.StreamOutputResponse, None]:
        """What actors print, after the block that the caller saw last."""
        _require_few("actors", request.actors)
        parsed = (requests.parse_address(one, "actors") for one in request.actors)
        actors = frozenset[bytes](parsed)
        start = Start(earlier=_earlier_from_proto(request.earlier))
        if request.HasField("resume_after"):
            after = _place_from_proto(request.resume_after, "resume_after")
            start = replace(start, after=after)
        async with aclosing(follow(self._backend, start)) as steps:
            async for step in steps:
                if isinstance(step, BlockRef):
                    yield pb.StreamOutputResponse(reverted=_place_to_proto(step))
                    continue
                outputs = self._backend.outputs_of(step.place.block_hash)
                if not outputs:
                    continue
                load = partial(step.load, self._backend.state.snapshot)
                view = await self._answers.run(load)
                for response in () if view is None else _outputs(view, outputs, actors):
                    yield response


# --- requests ----------------------------------------------------------------------


def _place_from_proto(message: types_pb2.BlockRef, field: str) -> BlockRef:
    block_hash = requests.parse_hash(message.hash, f"{field}.hash")
    return BlockRef(Height(message.height), block_hash)


def _earlier_from_proto(messages: Sequence[types_pb2.BlockRef]) -> tuple[BlockRef, ...]:
    if len(messages) > EARLIER_MAX:
        raise InvalidRequest("earlier", f"has at most {EARLIER_MAX} entries")
    return tuple(_place_from_proto(message, "earlier") for message in messages)


def _resume(
    backend: Backend, start: Start, block: types_pb2.BlockRef, index: int | None
) -> tuple[Start, int]:
    """Where to go on, and the index of the last item seen of the next block.

    With an item's index the stream begins with that item's own block again: it goes
    on after the parent, and leaves out what was seen.
    """
    place = _place_from_proto(block, "resume_after.block")
    if index is None or place.height == 0:
        return replace(start, after=place), -1
    snapshot = backend.state.snapshot
    is_known = is_in_chain(snapshot, place.height, place.block_hash)
    header = load_header(snapshot, place.height) if is_known else None
    if header is None:
        return replace(start, after=place), -1
    parent = BlockRef(Height(header.height - header.span), Hash32(header.parent_hash))
    return replace(start, after=parent), index


class _WantedBlocks(Struct, frozen=True):
    """How much of a block a caller wants."""

    detail: "types_pb2.BlockView.ValueType"

    def show(self, view: BlockView) -> Iterator[pb.StreamBlocksResponse]:
        """The block in one message."""
        yield pb.StreamBlocksResponse(block=convert.block_to_proto(view, self.detail))

    def encode(self, view: BlockView) -> Iterator[bytes]:
        """The same, encoded in parts, with pauses for other threads."""
        parts = convert.encode_block(view, self.detail)
        yield delimited(pb.StreamBlocksResponse.BLOCK_FIELD_NUMBER, parts)


class _WantedEvents(Struct, frozen=True):
    """Which events a caller wants; empty sets admit all."""

    emitters: frozenset[bytes]
    topics: frozenset[str]
    is_system_wanted: bool
    seen: int = -1
    """Index of the last event that the caller saw of the block."""

    def show(self, view: BlockView) -> Iterator[pb.StreamEventsResponse]:
        """A message for each event that passes."""
        for index, event in enumerate(view.events):
            if index > self.seen and self.admits(event):
                yield _event_response(view, event, index)

    def admits(self, event: Event) -> bool:
        """Whether an event passes all filters."""
        if self.topics and event.topic not in self.topics:
            return False
        if event.emitter is None:
            return self.is_system_wanted or not self.emitters
        return not self.emitters or event.emitter in self.emitters


class _WantedTimers(Struct, frozen=True):
    """Changes of which timers a caller wants; empty sets admit all."""

    actors: frozenset[bytes]
    timer_ids: frozenset[bytes]
    seen: int = -1
    """Index of the last decision that the caller saw of the block."""

    def show(self, view: BlockView) -> Iterator[pb.StreamTimersResponse]:
        """A message for each change that passes."""
        for index, decision in enumerate(view.trace):
            if index > self.seen and self.admits(decision):
                yield _timer_response(view, decision, index)

    def admits(self, decision: TimerDecision) -> bool:
        """Whether a decision passes all filters."""
        if self.actors and decision.actor not in self.actors:
            return False
        return not self.timer_ids or decision.timer_id in self.timer_ids


def _require_few(field: str, entries: Iterable[bytes | str]) -> None:
    if len(list(entries)) > FILTER_ENTRIES_MAX:
        raise InvalidRequest(field, f"has at most {FILTER_ENTRIES_MAX} entries")


def _wanted_events_from_proto(request: pb.StreamEventsRequest) -> _WantedEvents:
    _require_few("emitters", request.emitters)
    _require_few("topics", request.topics)
    emitters = [requests.parse_address(one, "emitters") for one in request.emitters]
    return _WantedEvents(
        frozenset(emitters), frozenset(request.topics), request.include_system
    )


def _wanted_timers_from_proto(request: pb.StreamTimersRequest) -> _WantedTimers:
    _require_few("actors", request.actors)
    _require_few("timer_ids", request.timer_ids)
    actors = [requests.parse_address(one, "actors") for one in request.actors]
    ids = [requests.parse_timer_id(one, "timer_ids") for one in request.timer_ids]
    return _WantedTimers(frozenset(actors), frozenset(ids))


# --- responses ---------------------------------------------------------------------


def _outputs(
    view: BlockView, outputs: Mapping[int, Printout], actors: frozenset[bytes]
) -> Iterator[pb.StreamOutputResponse]:
    """A message for each execution that printed, with what of it is wanted."""
    place = convert.ref_to_proto(view.block.header.height, view.block_hash)
    for receipt in view.receipts:
        output = outputs.get(receipt.index, NO_PRINTOUT)
        if actors:
            own = tuple(one for one in output.printed if one.actor in actors)
            output = replace(output, printed=own)
        if output.printed:
            shown = convert.receipt_to_proto(receipt, place.height)
            yield pb.StreamOutputResponse(
                output=pb.ExecutionOutput(
                    kind=shown.kind,
                    block=place,
                    index=receipt.index,
                    id=receipt.id,
                    actor=receipt.actor,
                    handler=receipt.handler,
                    status=shown.status,
                    output=convert.printout_to_proto(output),
                )
            )


class _Wanted(Hashable, Protocol[Told_co]):
    """What a caller wants of a block; equal wishes have equal messages."""

    def show(self, view: BlockView) -> Iterator[Told_co]:
        """As messages."""
        ...


def _encode(wanted: _Wanted[Message], view: BlockView) -> Iterator[bytes]:
    """As bytes of messages; a whole block in parts, with pauses for other threads."""
    if isinstance(wanted, _WantedBlocks):
        return wanted.encode(view)
    return (response.SerializeToString() for response in wanted.show(view))


class _Telling(Generic[Response]):
    """Makes the messages of blocks, of the latest ones once for all readers."""

    __slots__ = ("_answers", "_backend", "_kind", "_large", "_lock", "_small")

    def __init__(
        self, backend: Backend, answers: Answers, kind: type[Response]
    ) -> None:
        self._backend = backend
        self._answers = answers
        self._kind = kind
        self._small: _Kept[Response] = {}
        self._large: _Kept[bytes] = {}
        self._lock = threading.Lock()
        """Of what is kept, which the thread of answers uses, too."""

    async def tell(
        self,
        context: Context[Request, Response],
        step: Coming,
        wanted: _Wanted[Response],
    ) -> AsyncGenerator[Response, None]:
        """The messages of one block, the caller's own or shared: nobody changes them.

        Raises:
            ReaderTooSlow: There is no room for them.
        """
        if step.weight <= SMALL_BYTES:
            for response in self._show(step, wanted):
                yield response
            return
        try:
            lease = await self._answers.lend(context, step.weight)
        except NoRoom as error:
            raise ReaderTooSlow(step.after.height, step.after.block_hash) from error
        with lease:
            encode = partial(self._encode, step, wanted, self._backend.state.snapshot)
            messages = await self._answers.run(encode)
            lease.resize(sum(map(len, messages)))
            for data in messages:
                lease.send()
                yield as_answer(data, self._kind)

    def _show(self, step: Coming, wanted: _Wanted[Response]) -> Sequence[Response]:
        key = (step.place.block_hash, wanted)
        responses = self._small.get(key)
        if responses is None:
            view = step.load(self._backend.state.snapshot)
            responses = [] if view is None else list(wanted.show(view))
            if self._is_late(step):
                _keep(self._small, key, responses)
        return responses

    def _encode(
        self, step: Coming, wanted: _Wanted[Response], snapshot: StoreSnapshot
    ) -> Sequence[bytes]:
        """On the thread of answers."""
        key = (step.place.block_hash, wanted)
        with self._lock:
            messages = self._large.get(key)
        if messages is None:
            view = step.load(snapshot)
            messages = [] if view is None else list(_encode(wanted, view))
            if self._is_late(step):
                with self._lock:
                    _keep(self._large, key, messages)
                    _forget_over(self._large, SHARED_BYTES_MAX)
        return messages

    def _is_late(self, step: Coming) -> bool:
        """Whether others will want the block, too: few read one far below the head."""
        head = self._backend.state.head
        return step.place.height + SHARED_BLOCKS > head.height


def _keep(kept: "_Kept[Told_co]", key: _Key, messages: Sequence[Told_co]) -> None:
    """Keep messages of a block, and forget those of the oldest if it is one more."""
    kept[key] = messages
    blocks = dict.fromkeys(block_hash for block_hash, _ in kept)
    if len(blocks) > SHARED_BLOCKS:
        oldest = next(iter(blocks))
        for one in [one for one in kept if one[0] == oldest]:
            del kept[one]


def _forget_over(kept: "_Kept[bytes]", bytes_max: int) -> None:
    sizes = {key: sum(map(len, messages)) for key, messages in kept.items()}
    total = sum(sizes.values())
    for key, size in sizes.items():
        if total <= bytes_max:
            return
        del kept[key]
        total -= size


def _place_to_proto(place: BlockRef) -> types_pb2.BlockRef:
    return convert.ref_to_proto(place.height, place.block_hash)


def _block_ref_to_proto(view: BlockView) -> types_pb2.BlockRef:
    return convert.ref_to_proto(view.block.header.height, view.block_hash)


def _event_response(
    view: BlockView, event: Event, index: int
) -> pb.StreamEventsResponse:
    return pb.StreamEventsResponse(
        event=convert.event_to_proto(event, view.block.header.height, index),
        cursor=pb.EventCursor(block=_block_ref_to_proto(view), event_index=index),
    )


def _timer_response(
    view: BlockView, decision: TimerDecision, index: int
) -> pb.StreamTimersResponse:
    return pb.StreamTimersResponse(
        change=pb.TimerChange(
            timer_id=decision.timer_id,
            actor=decision.actor,
            fee_payer=decision.fee_payer,
            due_height=decision.due_height,
            decision=convert.decision_to_proto(decision, view.block.header.height),
        ),
        cursor=pb.TimerCursor(block=_block_ref_to_proto(view), decision_index=index),
    )
