"""Ranges of heights, and an actor's past, out of protobuf."""

from collections.abc import Sequence

from msgspec.structs import replace

from node.chain.block_totals import BlockTotals, FeeRange
from node.client.decoding import receipt_kind_from_proto
from node.primitives.types import Amount, Hash32, Height
from node.query.height_ranges import (
    DueBucket,
    DueTimers,
    LaneLimits,
    LaneUseBucket,
    LaneUseRange,
)
from node.query.trace.records import HistoryStop, StorageHistory, StoragePast
from node.rpc.v1 import queries_pb2, timers_pb2

__all__ = [
    "due_timers_from_proto",
    "history_item_from_proto",
    "lane_use_from_proto",
    "storage_history_of",
]

_STOPS = {
    queries_pb2.HISTORY_STOP_COMPLETE: HistoryStop.COMPLETE,
    queries_pb2.HISTORY_STOP_BOUND: HistoryStop.BOUND,
    queries_pb2.HISTORY_STOP_NOT_KEPT: HistoryStop.NOT_KEPT,
}


def due_timers_from_proto(message: timers_pb2.CountDueTimersResponse) -> DueTimers:
    """How many timers are due over a range of heights."""
    return DueTimers(
        tuple([_due_bucket_from_proto(one) for one in message.buckets]),
        message.width,
        message.ring_to,
        message.epochs_to,
        message.pending,
        message.queued,
        Height(message.counted_from),
    )


def _due_bucket_from_proto(message: timers_pb2.DueTimersBucket) -> DueBucket:
    return DueBucket(
        Height(message.from_height),
        Height(message.to_height),
        message.pending,
        message.scheduled,
        message.fires,
        message.put_offs,
        message.expired,
        message.removed,
        message.cancelled,
    )


def lane_use_from_proto(message: queries_pb2.GetLaneUseResponse) -> LaneUseRange:
    """How lanes were used over a range of heights."""
    limits = message.limits
    return LaneUseRange(
        tuple([_lane_bucket_from_proto(one) for one in message.buckets]),
        message.width,
        LaneLimits(
            *_lane_amounts(limits.block), limits.target_cycles, limits.target_cells
        ),
        Height(message.counted_from),
    )


def _lane_bucket_from_proto(message: queries_pb2.LaneUseBucket) -> LaneUseBucket:
    bounds = Height(message.from_height), Height(message.to_height)
    if not message.headers:
        return LaneUseBucket(*bounds, None)
    totals = BlockTotals(
        message.headers,
        message.heights,
        message.busy,
        message.transactions,
        message.fires,
        message.messages,
        message.failed,
        message.scheduled,
        message.put_offs,
        message.expired,
        message.removed,
        message.cancelled,
        *_lane_amounts(message.used),
        int(message.burned),
        int(message.tipped),
        *_lane_amounts(message.most),
        *map(
            _fees_from_proto,
            (message.basefee_cycle, message.basefee_cell, message.basefee_lane),
        ),
    )
    return LaneUseBucket(*bounds, totals)


def _lane_amounts(
    message: queries_pb2.LaneAmounts,
) -> tuple[int, int, int, int, int]:
    return (
        message.transaction_cycles,
        message.timer_cycles,
        message.message_cycles,
        message.agent_cycles,
        message.cells,
    )


def _fees_from_proto(message: queries_pb2.FeeRange) -> FeeRange:
    numbers = message.first, message.least, message.greatest, message.last
    return FeeRange(*[Amount(int(number)) for number in numbers])


def history_item_from_proto(
    message: queries_pb2.StreamStorageHistoryResponse,
) -> StoragePast | StorageHistory:
    """One change; of the last message the end, without changes."""
    if message.WhichOneof("item") == "change":
        return _past_from_proto(message.change)
    end = message.end
    return StorageHistory((), _STOPS[end.stop], Height(end.next_to_height))


def storage_history_of(
    items: Sequence[StoragePast | StorageHistory],
) -> StorageHistory:
    """An actor's past, of all items of a stream that came to its end."""
    changes, end = [one for one in items if isinstance(one, StoragePast)], items[-1]
    assert isinstance(end, StorageHistory), "the end is the last message"
    return replace(end, changes=tuple(changes))


def _past_from_proto(message: queries_pb2.StorageHistoryChange) -> StoragePast:
    return StoragePast(
        Height(message.height),
        message.key,
        message.before if message.HasField("before") else None,
        message.after if message.HasField("after") else None,
        receipt_kind_from_proto(message.kind),
        message.receipt_index,
        message.id,
        Hash32(message.origin),
        message.handler,
    )
