"""Traces of what is in a block: executed again, watched, on the worker thread.

That takes as long as the part of the block that comes before what is asked for, and
the state before the block, which is kept for recent ones.
"""

from collections.abc import Callable
from typing import TypeVar

from node import query
from node.chain.block import Block
from node.chain.consensus import require_own_consensus
from node.chain.timers.timer import Decision
from node.chain.transition import State
from node.history import load_consensus, load_timer_decisions
from node.primitives.types import Hash32, Height
from node.query import MissingKind, NotFound
from node.query.trace.records import BlockTrace, Changes, ExecutionTrace
from node.query.trace.tracing import trace_block, trace_executions
from node.rpc.answers import Answers
from node.rpc.service import state_at
from node.runtime.types import Backend
from node.state.retention import load_oldest

__all__ = ["block_trace", "timer_traces", "transaction_trace"]

_Result = TypeVar("_Result")


async def transaction_trace(
    backend: Backend, answers: Answers, transaction_id: Hash32
) -> ExecutionTrace:
    """Of a transaction that is in a block.

    Raises:
        NotFound: It is in none.
        HistoryNotKept: The state before it is not kept.
    """
    height = query.committed_height(backend.state, transaction_id)
    if height is None:
        oldest = load_oldest(backend.state.snapshot).contents
        raise NotFound(MissingKind.EXECUTION, transaction_id, oldest)
    (found,) = await _of_id(backend, answers, height, transaction_id)
    return found


async def timer_traces(
    backend: Backend, answers: Answers, timer_id: bytes, height: int | None
) -> tuple[ExecutionTrace, ...]:
    """Of a timer's fire and of the question to its agent, in one block.

    Raises:
        NotFound: It did not fire there.
        HistoryNotKept: The state before it is not kept.
    """
    if height is None:
        height = _last_fire(backend.state, timer_id)
    return await _of_id(backend, answers, height, timer_id)


def _last_fire(state: State, timer_id: bytes) -> Height:
    decisions = load_timer_decisions(state.snapshot, timer_id)
    for height, decision in reversed(decisions):
        if decision.decision is Decision.FIRED:
            return height
    missing = MissingKind.EXECUTION if decisions else MissingKind.TIMER
    raise NotFound(missing, timer_id)


async def block_trace(backend: Backend, answers: Answers, height: int) -> BlockTrace:
    """Of all executions of a block.

    Raises:
        HistoryNotKept: The state before it is not kept.
        HeightNotReached: It is above the head.
    """
    view = await _block(backend, answers, height)
    block = view.block
    if not view.receipts:
        return BlockTrace(block.header.height, (), Changes())
    return await _again(backend, block, lambda state: trace_block(state, block))


async def _of_id(
    backend: Backend, answers: Answers, height: int, id_: bytes
) -> tuple[ExecutionTrace, ...]:
    view = await _block(backend, answers, height)
    block = view.block
    indexes = frozenset(one.index for one in view.receipts if one.id == id_)
    if not indexes:
        raise NotFound(MissingKind.EXECUTION, id_)
    return await _again(
        backend, block, lambda state: trace_executions(state, block, indexes)
    )


async def _block(backend: Backend, answers: Answers, height: int) -> query.BlockView:
    state = backend.state
    return await answers.run(lambda: query.block_at(state, height))


async def _again(
    backend: Backend, block: Block, function: Callable[[State], _Result]
) -> _Result:
    require_own_consensus("this block", load_consensus(backend.state.snapshot))
    parent = await state_at(backend, block.header.height - 1)
    if parent.head.hash() != block.header.parent_hash:
        raise NotFound(MissingKind.BLOCK, block.header.hash())
    return await backend.run_read(lambda _state: function(parent))
