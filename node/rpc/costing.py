"""What lines cost in a range of heights: its blocks executed again, one at a time.

Rules: each part of a block is one read of the worker's queue, so that the chain's
blocks and other reads take their turns between; a caller who goes away ends it after
the part in hand. What is executed is the chain that stood there when the call came,
whatever is rewound meanwhile. Only so many callers are served at a time.
"""

from collections.abc import AsyncGenerator

from node import query
from node.chain.consensus import require_own_consensus
from node.chain.transition import State
from node.history import headers_after, load_consensus, load_header_over
from node.primitives.types import Height
from node.query import HeightNotReached, MissingKind, NotFound
from node.query.costs.range_costing import RangeCosting
from node.rpc.answers import Answers
from node.rpc.costs import costs_to_proto
from node.rpc.requests import InvalidRequest, parse_address
from node.rpc.service import state_at
from node.rpc.v1 import costs_pb2 as pb
from node.runtime.types import Backend, TooManyReads
from node.state.retention import load_oldest

__all__ = ["CostStreams"]

STREAMS_MAX = 2
"""Ranges that are executed at a time."""


class CostStreams:
    """Answers what ranges of heights cost."""

    __slots__ = ("_answers", "_backend", "_executing")

    def __init__(self, backend: Backend, answers: Answers) -> None:
        self._backend = backend
        self._answers = answers
        self._executing = 0

    async def stream(
        self, request: pb.StreamCostsRequest
    ) -> AsyncGenerator[pb.StreamCostsResponse, None]:
        """Progress block by block, then what was found.

        Raises:
            InvalidRequest: There are no such heights, or the actor is no address.
            HeightNotReached: They end above the head.
            HistoryNotKept: The state before them is not kept, or a block of them.
            OtherConsensus: They were executed under other rules.
            NotFound: They were taken back meanwhile, or there is no such actor.
            TooManyReads: Others are answered already.
        """
        state = self._backend.state
        only = parse_address(request.actor, "actor") if request.actor else None
        if only is not None:
            query.require_actor(state, only)
        first, last = self._range(state, request)
        require_own_consensus("these blocks", load_consensus(state.snapshot))
        query.require_contents(state.snapshot, first)
        if self._executing >= STREAMS_MAX:
            raise TooManyReads(f"{STREAMS_MAX} ranges are executed again: ask later")
        self._executing += 1
        try:
            before = await self._state_before(state, first)
            costing = RangeCosting(before, first, last, only)
            for header in headers_after(state.snapshot, before.head.height):
                if costing.is_over:
                    break
                await self._take(costing, state, header.height)
                yield _progress_to_proto(costing, last)
        finally:
            self._executing -= 1
        for message in costs_to_proto(await self._answers.run(costing.costs)):
            yield message

    def _range(
        self, state: State, request: pb.StreamCostsRequest
    ) -> tuple[Height, Height]:
        """The first height that has a parent, and the last one."""
        head = state.head.height
        last = request.to_height if request.HasField("to_height") else head
        if request.HasField("from_height"):
            first = request.from_height
            if request.HasField("to_height") and first > last:
                raise InvalidRequest("from_height", f"is at most to_height, {last}")
        else:
            oldest = self._backend.status.oldest_state + 1
            first = max(oldest, load_oldest(state.snapshot).contents)
            first = min(first, last)  # what is not kept is refused as such
        if max(first, last) > head:
            raise HeightNotReached(max(first, last), head)
        return Height(max(1, first)), Height(last)

    async def _state_before(self, state: State, first: Height) -> State:
        """The state that the first block follows; nothing is executed within a run."""
        height = first - 1
        header = load_header_over(state.snapshot, first)
        if header is not None and header.span > 1:
            height = header.height
        before = await state_at(self._backend, height)
        if not query.is_in_chain(state.snapshot, height, before.head.hash()):
            raise NotFound(MissingKind.BLOCK, before.head.hash())
        return before

    async def _take(self, costing: RangeCosting, state: State, height: Height) -> None:
        view = await self._answers.run(lambda: query.find_block(state.snapshot, height))
        assert view is not None, "it has a header"
        parts = costing.take(view.block, view.receipts)
        while await self._backend.run_read(lambda _: next(parts, self)) is not self:
            pass


def _progress_to_proto(costing: RangeCosting, last: int) -> pb.StreamCostsResponse:
    return pb.StreamCostsResponse(
        progress=pb.CostsProgress(
            height=costing.height,
            to_height=last,
            executions=costing.total.executions,
            cycles=costing.total.cycles,
        )
    )
