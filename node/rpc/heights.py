"""Ranges of heights in few numbers, as protobuf."""

from node.chain.block import Header
from node.chain.block_totals import BlockTotals, FeeRange
from node.query import DueBucket, DueTimers, LaneLimits, LaneUseBucket, LaneUseRange
from node.rpc import convert
from node.rpc.v1 import queries_pb2, timers_pb2

__all__ = ["due_timers_to_proto", "lane_use_to_proto"]


def due_timers_to_proto(
    due: DueTimers, head: Header
) -> timers_pb2.CountDueTimersResponse:
    """How many timers are due over a range of heights."""
    return timers_pb2.CountDueTimersResponse(
        buckets=map(_due_bucket_to_proto, due.buckets),
        width=due.width,
        head=convert.ref_to_proto(head.height, head.hash()),
        ring_to=due.ring_last,
        epochs_to=due.epoch_last,
        pending=due.pending,
        queued=due.queued,
        counted_from=due.counted_from,
    )


def _due_bucket_to_proto(bucket: DueBucket) -> timers_pb2.DueTimersBucket:
    return timers_pb2.DueTimersBucket(
        from_height=bucket.first_height,
        to_height=bucket.last_height,
        pending=bucket.pending,
        scheduled=bucket.scheduled,
        fires=bucket.fires,
        put_offs=bucket.put_offs,
        expired=bucket.expired,
        removed=bucket.removed,
        cancelled=bucket.cancelled,
    )


def lane_use_to_proto(
    use: LaneUseRange, head: Header
) -> queries_pb2.GetLaneUseResponse:
    """How lanes were used over a range of heights."""
    return queries_pb2.GetLaneUseResponse(
        buckets=map(_lane_bucket_to_proto, use.buckets),
        width=use.width,
        head=convert.ref_to_proto(head.height, head.hash()),
        limits=_limits_to_proto(use.limits),
        counted_from=use.counted_from,
    )


def _limits_to_proto(limits: LaneLimits) -> queries_pb2.LaneLimits:
    return queries_pb2.LaneLimits(
        block=queries_pb2.LaneAmounts(
            transaction_cycles=limits.transaction_cycles,
            timer_cycles=limits.timer_cycles,
            message_cycles=limits.message_cycles,
            agent_cycles=limits.agent_cycles,
            cells=limits.cells,
        ),
        target_cycles=limits.target_cycles,
        target_cells=limits.target_cells,
    )


def _lane_bucket_to_proto(bucket: LaneUseBucket) -> queries_pb2.LaneUseBucket:
    first, last, totals = bucket.first_height, bucket.last_height, bucket.totals
    if totals is None:
        return queries_pb2.LaneUseBucket(from_height=first, to_height=last)
    return queries_pb2.LaneUseBucket(
        from_height=first,
        to_height=last,
        headers=totals.headers,
        heights=totals.heights,
        busy=totals.busy,
        transactions=totals.transactions,
        fires=totals.fires,
        messages=totals.messages,
        failed=totals.failed,
        used=_used_to_proto(totals),
        most=_most_to_proto(totals),
        basefee_cycle=_fees_to_proto(totals.basefee_cycle),
        basefee_cell=_fees_to_proto(totals.basefee_cell),
        basefee_lane=_fees_to_proto(totals.basefee_lane),
        burned=str(totals.burned),
        tipped=str(totals.tipped),
        scheduled=totals.scheduled,
        put_offs=totals.put_offs,
        expired=totals.expired,
        removed=totals.removed,
        cancelled=totals.cancelled,
    )


def _used_to_proto(totals: BlockTotals) -> queries_pb2.LaneAmounts:
    return queries_pb2.LaneAmounts(
        transaction_cycles=totals.transaction_cycles,
        timer_cycles=totals.timer_cycles,
        message_cycles=totals.message_cycles,
        agent_cycles=totals.agent_cycles,
        cells=totals.cells,
    )


def _most_to_proto(totals: BlockTotals) -> queries_pb2.LaneAmounts:
    return queries_pb2.LaneAmounts(
        transaction_cycles=totals.transaction_cycles_max,
        timer_cycles=totals.timer_cycles_max,
        message_cycles=totals.message_cycles_max,
        agent_cycles=totals.agent_cycles_max,
        cells=totals.cells_max,
    )


def _fees_to_proto(fees: FeeRange) -> queries_pb2.FeeRange:
    return queries_pb2.FeeRange(
        first=str(fees.first),
        least=str(fees.least),
        greatest=str(fees.greatest),
        last=str(fees.last),
    )
