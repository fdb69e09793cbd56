"""StreamService: what happens, without gaps or repeats, also across a reconnect.

A stream first replays the history after the caller's block, unbuffered, at the
caller's pace. Only when it stands at the head does it subscribe, in the same step of
the event loop: so nothing lies between, and no buffer grows while a long history is
read. Rules:

* what is sent follows the chain: before each block that is read from the history, the
  one sent last is looked up; if it is no longer in the chain, `reverted` says from
  where the stream goes on, which is genesis, as nothing else is known to be common;
* after a rewind that the engine announces, the stream goes on after the block it
  names;
* a reader too slow for the engine's bounded buffer is refused with the height to
  resume after; the node never waits for it.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from typing_extensions import override

from node.chain.block import Event
from node.primitives.types import Address, Hash32, Height
from node.query import BlockView, find_block, is_in_chain, next_height
from node.rpc import convert, requests
from node.rpc.requests import InvalidRequest
from node.rpc.service import Context, streams
from node.rpc.v1 import streams_pb2 as pb
from node.rpc.v1 import types_pb2
from node.rpc.v1.streams_pb2_grpc import StreamServiceServicer
from node.runtime.types import (
    Backend,
    BlockNotice,
    NodeStopping,
    RewindNotice,
)

__all__ = ["FILTER_ENTRIES_MAX", "Streams"]

FILTER_ENTRIES_MAX = 256
"""Emitters, or topics, that one subscription may name."""

_BlockContext = Context[pb.StreamBlocksRequest, pb.StreamBlocksResponse]
_EventContext = Context[pb.StreamEventsRequest, pb.StreamEventsResponse]


@dataclass(frozen=True, slots=True)
class _Place:
    """A block after which a stream goes on."""

    height: Height
    block_hash: Hash32


_Step = BlockView | _Place
"""The next block, or the place to which the chain was rewound."""


class Streams(StreamServiceServicer):
    """Serves `StreamService` from a backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @override
    @streams
    async def StreamBlocks(
        self, request: pb.StreamBlocksRequest, context: _BlockContext
    ) -> AsyncGenerator[pb.StreamBlocksResponse, None]:
        """Blocks after the one that the caller saw last."""
        place = None
        if request.HasField("resume_after"):
            place = _read_place(request.resume_after, "resume_after")
        async with aclosing(_follow(self._backend, place)) as steps:
            async for step in steps:
                if isinstance(step, _Place):
                    reverted = convert.show_ref(step.height, step.block_hash)
                    yield pb.StreamBlocksResponse(reverted=reverted)
                else:
                    block = convert.show_block(step, request.view)
                    yield pb.StreamBlocksResponse(block=block)

    @override
    @streams
    async def StreamEvents(
        self, request: pb.StreamEventsRequest, context: _EventContext
    ) -> AsyncGenerator[pb.StreamEventsResponse, None]:
        """Events that pass the filters, after the one that the caller saw last."""
        wanted = _read_wanted(request)
        place, seen = _read_cursor(self._backend, request)
        async with aclosing(_follow(self._backend, place)) as steps:
            async for step in steps:
                if isinstance(step, _Place):
                    seen = -1
                    yield _show_reverted(step)
                else:
                    for response in _show_events(step, wanted, seen):
                        yield response
                    seen = -1


# --- following the chain -----------------------------------------------------------


async def _follow(
    backend: Backend, place: _Place | None
) -> AsyncGenerator[_Step, None]:
    """Blocks after a place, from the history and then as they come; None: the head.

    Raises:
        ReaderTooSlow: The consumer did not keep up with the chain.
        NodeStopping: There will be no more.
    """
    head = backend.state.head
    last = place or _Place(head.height, head.hash())
    while True:
        snapshot = backend.state.snapshot
        if not is_in_chain(snapshot, last.height, last.block_hash):
            last = _genesis(backend)
            yield last
            continue
        following = next_height(snapshot, last.height)
        if following is None:
            break
        view = find_block(snapshot, following)
        assert view is not None, "a header without its block"
        last = _Place(following, view.block_hash)
        yield view
        await asyncio.sleep(0)  # others are served between two blocks of a history
    # Nothing was awaited since the head was seen: the subscription begins after it.
    async with aclosing(_live(backend, last)) as steps:
        async for step in steps:
            yield step


async def _live(backend: Backend, last: _Place) -> AsyncGenerator[_Step, None]:
    with backend.subscribe() as notices:
        async for notice in notices:
            if isinstance(notice, RewindNotice):
                last = _Place(notice.header.height, notice.block_hash)
                yield last
            else:
                header = notice.block.header
                assert header.height > last.height, "announced before visible"
                last = _Place(header.height, notice.block_hash)
                yield _view(notice)
    raise NodeStopping("the node is stopping")


def _view(notice: BlockNotice) -> BlockView:
    return BlockView(notice.block, notice.block_hash, notice.receipts, notice.events)


def _genesis(backend: Backend) -> _Place:
    view = find_block(backend.state.snapshot, Height(0))
    assert view is not None, "a chain without block 0 was never started"
    return _Place(Height(0), view.block_hash)


# --- requests ----------------------------------------------------------------------


def _read_place(message: types_pb2.BlockRef, field: str) -> _Place:
    block_hash = requests.read_hash(message.hash, f"{field}.hash")
    return _Place(Height(message.height), block_hash)


def _read_cursor(
    backend: Backend, request: pb.StreamEventsRequest
) -> tuple[_Place | None, int]:
    """Where to go on, and the index of the last event seen of the next block.

    With an event's index the stream begins with that event's own block again: it goes
    on after the parent, and leaves out what was seen.
    """
    if not request.HasField("resume_after"):
        return None, -1
    cursor = request.resume_after
    place = _read_place(cursor.block, "resume_after.block")
    if not cursor.HasField("event_index"):
        return place, -1
    snapshot = backend.state.snapshot
    is_known = is_in_chain(snapshot, place.height, place.block_hash)
    view = find_block(snapshot, place.height) if is_known else None
    if view is None or view.block.header.height == 0:
        return place, -1
    header = view.block.header
    parent = _Place(Height(header.height - header.span), header.parent_hash)
    return parent, cursor.event_index


@dataclass(frozen=True, slots=True)
class _Wanted:
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


def _read_wanted(request: pb.StreamEventsRequest) -> _Wanted:
    for field, entries in (
        ("emitters", len(request.emitters)),
        ("topics", len(request.topics)),
    ):
        if entries > FILTER_ENTRIES_MAX:
            raise InvalidRequest(field, f"has at most {FILTER_ENTRIES_MAX} entries")
    emitters: list[Address] = [
        requests.read_address(emitter, "emitters") for emitter in request.emitters
    ]
    return _Wanted(
        frozenset(emitters), frozenset(request.topics), request.include_system
    )


# --- responses ---------------------------------------------------------------------


def _show_events(
    view: BlockView, wanted: _Wanted, seen: int
) -> list[pb.StreamEventsResponse]:
    height = view.block.header.height
    place = convert.show_ref(height, view.block_hash)
    return [
        pb.StreamEventsResponse(
            event=convert.show_event(event, height, index),
            cursor=pb.EventCursor(block=place, event_index=index),
        )
        for index, event in enumerate(view.events)
        if index > seen and wanted.admits(event)
    ]


def _show_reverted(place: _Place) -> pb.StreamEventsResponse:
    reverted = convert.show_ref(place.height, place.block_hash)
    return pb.StreamEventsResponse(
        reverted=reverted, cursor=pb.EventCursor(block=reverted)
    )
