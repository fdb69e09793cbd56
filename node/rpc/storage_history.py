"""An actor's past on the wire: a walk whose steps are reads on the worker thread.

So a block waits for one block that is executed again at the most, and a caller who goes
away ends the walk.
"""

from collections.abc import AsyncGenerator

from node import query
from node.chain.consensus import require_own_consensus
from node.history import load_consensus
from node.query.trace.records import HistoryStop, StoragePast
from node.query.trace.storage_history import StorageWalk, StoredBlocks, WantedHistory
from node.rpc import convert
from node.rpc.v1 import queries_pb2 as pb
from node.runtime.types import Backend

__all__ = ["tell_history"]

_STOPS: dict[HistoryStop, "pb.HistoryStop.ValueType"] = {
    HistoryStop.COMPLETE: pb.HISTORY_STOP_COMPLETE,
    HistoryStop.BOUND: pb.HISTORY_STOP_BOUND,
    HistoryStop.NOT_KEPT: pb.HISTORY_STOP_NOT_KEPT,
}


async def tell_history(
    backend: Backend, wanted: WantedHistory
) -> AsyncGenerator[pb.StreamStorageHistoryResponse, None]:
    """Changes, the latest first, and how it ended.

    Raises:
        NotFound: ACTOR.
    """
    state = backend.state
    query.require_actor(state, wanted.actor)
    require_own_consensus("this chain", load_consensus(state.snapshot))
    walk = StorageWalk(state, StoredBlocks(state.snapshot), wanted)
    while walk.stop is None:
        for change in await backend.run_read(lambda _state: walk.step()):
            yield pb.StreamStorageHistoryResponse(change=_change_to_proto(change))
    end = pb.StorageHistoryEnd(
        stop=_STOPS[walk.stop],
        next_to_height=walk.next_height,
        blocks=walk.blocks_executed,
    )
    yield pb.StreamStorageHistoryResponse(end=end)


def _change_to_proto(past: StoragePast) -> pb.StorageHistoryChange:
    return pb.StorageHistoryChange(
        height=past.height,
        key=past.key,
        before=past.before,
        after=past.after,
        name=convert.storage_name(past.key),
        kind=convert.receipt_kind_to_proto(past.kind),
        receipt_index=past.receipt_index,
        id=past.id,
        origin=past.origin,
        handler=past.handler,
    )
