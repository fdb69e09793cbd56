"""Traces of a `Devnet`: the state before a block, which its results give back."""

from bisect import bisect_left

from node.chain.block import ReceiptKind
from node.chain.transition import BlockResult, Caches, State, open_state
from node.client.exceptions import unknown_execution, unknown_height
from node.query.trace.records import Changes, ExecutionTrace
from node.query.trace.tracing import trace_block, trace_executions
from node.state.historical_state import ChangedSnapshot

__all__ = ["changes_at", "execution_trace", "state_before"]


def execution_trace(
    state: State,
    results: list[BlockResult],
    id_: bytes,
    height: int | None,
    kind: ReceiptKind | None,
) -> ExecutionTrace:
    """Of a transaction, fire or message, the latest of this id, or of this kind.

    Raises:
        UnknownId: no execution has this id, or none at this height.
    """
    for number in range(len(results) - 1, 0, -1):
        result = results[number]
        if height is not None and result.header.height != height:
            continue
        found = [
            one
            for one in result.receipts
            if one.id == id_ and (kind is None or one.kind is kind)
        ]
        for receipt in sorted(found, key=lambda one: one.kind is ReceiptKind.AGENT):
            before = state_before(state, results, number)
            (trace,) = trace_executions(
                before, result.block, frozenset({receipt.index})
            )
            return trace
    raise unknown_execution("execution_id", id_)


def changes_at(state: State, results: list[BlockResult], height: int) -> Changes:
    """What the block at a height changed; in a run nothing does.

    Raises:
        UnknownId: the chain has not reached this height.
    """
    if height > state.head.height:
        raise unknown_height("height", height, state.head.height)
    number = bisect_left(results, height, key=lambda one: one.header.height)
    result = results[number]
    if number == 0 or result.is_empty:
        return Changes()
    return trace_block(state_before(state, results, number), result.block).changes


def state_before(state: State, results: list[BlockResult], number: int) -> State:
    """What the store holds, with all blocks from one on taken back."""
    changes: dict[bytes, bytes | None] = {}
    for result in reversed(results[number:]):
        changes.update(result.undo.changes)
    snapshot = ChangedSnapshot(state.snapshot, changes)
    caches = Caches(code=state.caches.code)
    return open_state(state.params, results[number - 1].header, snapshot, caches)
