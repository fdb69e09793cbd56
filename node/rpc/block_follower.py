"""Following the chain: its blocks after a place, from the history and as they come.

A reader first gets the history after its place, unbuffered, at its own pace. Only when
it stands at the head does it subscribe, in the same step of the event loop: so nothing
lies between, and no buffer grows while a long history is read. Rules:

* what is told follows the chain: before each block that is read from the history, the
  one told last is looked up; if it is no longer in the chain, a `BlockRef` says from
  where it goes on: the latest of the blocks that the reader saw and that is in the
  chain, and genesis if none is known;
* after a rewind that the engine announces, it goes on after the block that is named,
  with the history again if there are blocks above it;
* nothing that the store must keep for a reader is held while the reader is waited for,
  and no block of the history: it is told that there is one, and loads it when it wants
  it; it may be gone by then, and is taken as one that was not told.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec import Struct

from node.history import load_header
from node.primitives.types import Hash32, Height
from node.query import (
    BlockView,
    content_bytes,
    find_block,
    is_in_chain,
    next_height,
)
from node.runtime.types import Backend, NodeStopping, RewindNotice
from node.state.store import StoreSnapshot

__all__ = ["BlockRef", "Coming", "Start", "Step", "follow"]


class BlockRef(Struct, frozen=True):
    """A block after which a stream goes on."""

    height: Height
    block_hash: Hash32


class Coming(Struct):
    """The next block of the chain, which is loaded when its content is wanted."""

    place: BlockRef
    after: BlockRef
    """The one before it."""
    weight: int
    """Bytes of the records of its content."""
    is_trace_wanted: bool = False
    announced: BlockView | None = None
    """Itself, if the engine has just told it."""
    is_gone: bool = False
    """Whether it was taken back before it was loaded."""

    def load(self, snapshot: StoreSnapshot) -> BlockView | None:
        """Its content, as this snapshot has it; on any thread. None if it is gone."""
        if self.announced is not None:
            return self.announced
        view = find_block(
            snapshot, self.place.height, is_trace_wanted=self.is_trace_wanted
        )
        if view is None or view.block_hash != self.place.block_hash:
            self.is_gone = True
            return None
        return view


Step = Coming | BlockRef
"""The next block, or the place to which the chain was rewound."""


class Start(Struct, frozen=True):
    """Where a reader begins."""

    after: BlockRef | None = None
    """The last block that it saw; None: the head."""
    earlier: tuple[BlockRef, ...] = ()
    """Blocks that it saw before, the latest first."""


async def follow(
    backend: Backend, start: Start, *, is_trace_wanted: bool = False
) -> AsyncGenerator[Step, None]:
    """Blocks after a place, without end.

    Raises:
        ReaderTooSlow: The consumer did not keep up with the chain.
        NodeStopping: There will be no more.
    """
    head = backend.state.head
    last = start.after or BlockRef(head.height, head.hash())
    while True:
        step = _next_step(backend, last, start, is_trace_wanted=is_trace_wanted)
        if step is not None:
            yield step
            last = _last_of(step)
            await asyncio.sleep(0)  # others are served between two blocks of a history
            continue
        # Nothing was awaited since the head was seen: the subscription begins after it.
        async with aclosing(_live(backend, last)) as steps:
            async for step in steps:
                yield step
                last = _last_of(step)


def _next_step(
    backend: Backend, last: BlockRef, start: Start, *, is_trace_wanted: bool
) -> Step | None:
    """What comes after a place in the history; None at the head."""
    snapshot = backend.state.snapshot
    if not is_in_chain(snapshot, last.height, last.block_hash):
        for place in start.earlier:
            if is_in_chain(snapshot, place.height, place.block_hash):
                return place
        return _genesis(backend)
    following = next_height(snapshot, last.height)
    if following is None:
        return None
    header = load_header(snapshot, following)
    assert header is not None, "a height of a header that is not there"
    place = BlockRef(following, header.hash())
    weight = content_bytes(snapshot, following)
    return Coming(place, last, weight, is_trace_wanted)


def _last_of(step: Step) -> BlockRef:
    """What the reader has seen once it has taken a step."""
    if isinstance(step, BlockRef):
        return step
    return step.after if step.is_gone else step.place


async def _live(backend: Backend, last: BlockRef) -> AsyncGenerator[Step, None]:
    """Steps as they are announced, until there is history above a place again."""
    with backend.subscribe() as notices:
        async for notice in notices:
            if isinstance(notice, RewindNotice):
                last = BlockRef(notice.header.height, notice.block_hash)
                yield last
                snapshot = backend.state.snapshot
                if is_in_chain(snapshot, last.height, last.block_hash):
                    return  # an import brings blocks that are announced to nobody
            else:
                header = notice.block.header
                assert header.height > last.height, "announced before visible"
                place = BlockRef(header.height, notice.block_hash)
                weight = content_bytes(backend.state.snapshot, header.height)
                view = BlockView(
                    notice.block,
                    notice.block_hash,
                    notice.receipts,
                    notice.events,
                    trace=notice.trace,
                )
                yield Coming(place, last, weight, announced=view)
                last = place
    raise NodeStopping("the node is stopping")


def _genesis(backend: Backend) -> BlockRef:
    view = find_block(backend.state.snapshot, Height(0))
    assert view is not None, "a chain without block 0 was never started"
    return BlockRef(Height(0), view.block_hash)
