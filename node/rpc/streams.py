"""StreamService: what happens, without gaps or repeats, also across a reconnect.

`following` walks the chain; here a block becomes messages: itself, its events, or the
decisions about timers in it, those that pass the caller's filters, each with the cursor
that resumes after it.

Rules: messages are made one at a time, as the caller takes them, and those of the
latest blocks once for all who follow; a reader too slow for the engine's bounded buffer
is refused with the block to resume after; the node never waits for it.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from node.chain.block import Event
from node.chain.timers.timer import TimerDecision
from node.primitives.types import Hash32, Height
from node.query import BlockView, find_block, is_in_chain
from node.rpc import convert, requests
from node.rpc.following import Place, Start, Step, follow
from node.rpc.requests import InvalidRequest
from node.rpc.service import Context, streams
from node.rpc.v1 import streams_pb2 as pb
from node.rpc.v1 import types_pb2
from node.rpc.v1.streams_pb2_grpc import StreamServiceServicer
from node.runtime.types import Backend

__all__ = ["EARLIER_MAX", "FILTER_ENTRIES_MAX", "Streams"]

FILTER_ENTRIES_MAX = 256
"""Emitters, topics, actors or timers that one subscription may name."""

EARLIER_MAX = 64
"""Earlier blocks that a caller may name."""

SHARED_BLOCKS = 4
"""Latest blocks whose messages are kept for all who follow."""

Response = TypeVar("Response")

_BlockContext = Context[pb.StreamBlocksRequest, pb.StreamBlocksResponse]
_EventContext = Context[pb.StreamEventsRequest, pb.StreamEventsResponse]
_TimerContext = Context[pb.StreamTimersRequest, pb.StreamTimersResponse]


class Streams(StreamServiceServicer):
    """Serves `StreamService` from a backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._blocks: _Shared[pb.StreamBlocksResponse] = _Shared(backend)
        self._events: _Shared[pb.StreamEventsResponse] = _Shared(backend)
        self._changes: _Shared[pb.StreamTimersResponse] = _Shared(backend)

    @override
    @streams
    async def StreamBlocks(
        self, request: pb.StreamBlocksRequest, context: _BlockContext
    ) -> AsyncGenerator[pb.StreamBlocksResponse, None]:
        """Blocks after the one that the caller saw last."""
        start = Start(earlier=_read_earlier(request.earlier))
        if request.HasField("resume_after"):
            after = _read_place(request.resume_after, "resume_after")
            start = replace(start, after=after)
        async with aclosing(follow(self._backend, start)) as steps:
            async for step in steps:
                if isinstance(step, Place):
                    yield pb.StreamBlocksResponse(reverted=_show_place(step))
                else:
                    detail = request.view
                    yield self._blocks.get(
                        step, detail, partial(_block_response, step, detail)
                    )

    @override
    @streams
    async def StreamEvents(
        self, request: pb.StreamEventsRequest, context: _EventContext
    ) -> AsyncGenerator[pb.StreamEventsResponse, None]:
        """Events that pass the filters, after the one that the caller saw last."""
        wanted = _read_wanted_events(request)
        start, seen = Start(earlier=_read_earlier(request.earlier)), -1
        if request.HasField("resume_after"):
            cursor = request.resume_after
            index = cursor.event_index if cursor.HasField("event_index") else None
            start, seen = _resume(self._backend, start, cursor.block, index)
        async with aclosing(follow(self._backend, start)) as steps:
            async for step in steps:
                for response in _event_responses(step, wanted, seen, self._events):
                    yield response
                seen = -1

    @override
    @streams
    async def StreamTimers(
        self, request: pb.StreamTimersRequest, context: _TimerContext
    ) -> AsyncGenerator[pb.StreamTimersResponse, None]:
        """Changes that pass the filters, after the one that the caller saw last."""
        wanted = _read_wanted_timers(request)
        start, seen = Start(earlier=_read_earlier(request.earlier)), -1
        if request.HasField("resume_after"):
            cursor = request.resume_after
            index = cursor.decision_index if cursor.HasField("decision_index") else None
            start, seen = _resume(self._backend, start, cursor.block, index)
        steps = follow(self._backend, start, is_trace_wanted=True)
        async with aclosing(steps):
            async for step in steps:
                for response in _timer_responses(step, wanted, seen, self._changes):
                    yield response
                seen = -1


# --- requests ----------------------------------------------------------------------


def _read_place(message: types_pb2.BlockRef, field: str) -> Place:
    block_hash = requests.read_hash(message.hash, f"{field}.hash")
    return Place(Height(message.height), block_hash)


def _read_earlier(messages: Sequence[types_pb2.BlockRef]) -> tuple[Place, ...]:
    if len(messages) > EARLIER_MAX:
        raise InvalidRequest("earlier", f"has at most {EARLIER_MAX} entries")
    return tuple(_read_place(message, "earlier") for message in messages)


def _resume(
    backend: Backend, start: Start, block: types_pb2.BlockRef, index: int | None
) -> tuple[Start, int]:
    """Where to go on, and the index of the last item seen of the next block.

    With an item's index the stream begins with that item's own block again: it goes
    on after the parent, and leaves out what was seen.
    """
    place = _read_place(block, "resume_after.block")
    if index is None or place.height == 0:
        return replace(start, after=place), -1
    snapshot = backend.state.snapshot
    is_known = is_in_chain(snapshot, place.height, place.block_hash)
    view = find_block(snapshot, place.height) if is_known else None
    if view is None:
        return replace(start, after=place), -1
    header = view.block.header
    parent = Place(Height(header.height - header.span), Hash32(header.parent_hash))
    return replace(start, after=parent), index


class _WantedEvents(Struct, frozen=True):
    """Which events a caller wants; empty sets admit all."""

    emitters: frozenset[bytes]
    topics: frozenset[str]
    is_system_wanted: bool

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

    def admits(self, decision: TimerDecision) -> bool:
        """Whether a decision passes all filters."""
        if self.actors and decision.actor not in self.actors:
            return False
        return not self.timer_ids or decision.timer_id in self.timer_ids


def _require_few(field: str, entries: Iterable[bytes | str]) -> None:
    if len(list(entries)) > FILTER_ENTRIES_MAX:
        raise InvalidRequest(field, f"has at most {FILTER_ENTRIES_MAX} entries")


def _read_wanted_events(request: pb.StreamEventsRequest) -> _WantedEvents:
    _require_few("emitters", request.emitters)
    _require_few("topics", request.topics)
    emitters = [requests.read_address(one, "emitters") for one in request.emitters]
    return _WantedEvents(
        frozenset(emitters), frozenset(request.topics), request.include_system
    )


def _read_wanted_timers(request: pb.StreamTimersRequest) -> _WantedTimers:
    _require_few("actors", request.actors)
    _require_few("timer_ids", request.timer_ids)
    actors = [requests.read_address(one, "actors") for one in request.actors]
    ids = [requests.read_timer_id(one, "timer_ids") for one in request.timer_ids]
    return _WantedTimers(frozenset(actors), frozenset(ids))


# --- responses ---------------------------------------------------------------------


class _Shared(Generic[Response]):
    """Messages of the latest blocks, by a number that names one of its block."""

    __slots__ = ("_backend", "_made")

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._made: dict[Hash32, dict[int, Response]] = {}

    def get(self, view: BlockView, key: int, make: Callable[[], Response]) -> Response:
        """The message that `make` makes, or made for another reader.

        Nobody may change it. A block far below the head, which few read, is not kept.
        """
        if view.block.header.height + SHARED_BLOCKS <= self._backend.state.head.height:
            return make()
        made = self._made.setdefault(view.block_hash, {})
        if len(self._made) > SHARED_BLOCKS:
            del self._made[next(iter(self._made))]
        response = made.get(key)
        if response is None:
            response = made[key] = make()
        return response


def _show_place(place: Place) -> types_pb2.BlockRef:
    return convert.show_ref(place.height, place.block_hash)


def _show_block_ref(view: BlockView) -> types_pb2.BlockRef:
    return convert.show_ref(view.block.header.height, view.block_hash)


def _block_response(
    view: BlockView, detail: "types_pb2.BlockView.ValueType"
) -> pb.StreamBlocksResponse:
    return pb.StreamBlocksResponse(block=convert.show_block(view, detail))


def _event_responses(
    step: Step,
    wanted: _WantedEvents,
    seen: int,
    shared: "_Shared[pb.StreamEventsResponse]",
) -> Iterator[pb.StreamEventsResponse]:
    if isinstance(step, Place):
        place = _show_place(step)
        cursor = pb.EventCursor(block=place)
        yield pb.StreamEventsResponse(reverted=place, cursor=cursor)
        return
    for index, event in enumerate(step.events):
        if index > seen and wanted.admits(event):
            yield shared.get(step, index, partial(_event_response, step, event, index))


def _event_response(
    view: BlockView, event: Event, index: int
) -> pb.StreamEventsResponse:
    return pb.StreamEventsResponse(
        event=convert.show_event(event, view.block.header.height, index),
        cursor=pb.EventCursor(block=_show_block_ref(view), event_index=index),
    )


def _timer_responses(
    step: Step,
    wanted: _WantedTimers,
    seen: int,
    shared: "_Shared[pb.StreamTimersResponse]",
) -> Iterator[pb.StreamTimersResponse]:
    if isinstance(step, Place):
        place = _show_place(step)
        cursor = pb.TimerCursor(block=place)
        yield pb.StreamTimersResponse(reverted=place, cursor=cursor)
        return
    for index, decision in enumerate(step.trace):
        if index > seen and wanted.admits(decision):
            yield shared.get(
                step, index, partial(_timer_response, step, decision, index)
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
            decision=convert.show_decision(decision, view.block.header.height),
        ),
        cursor=pb.TimerCursor(block=_show_block_ref(view), decision_index=index),
    )
