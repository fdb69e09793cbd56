"""Protobuf → the chain's own values: what a client answers in.

So a receipt of a node is the same kind of thing as one of a chain in this process, and
the two compare equal when the same happened. The opposite of `node.rpc.convert`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from node.chain.advance import AdvanceFault, AdvanceRefused, AdvanceSummary
from node.chain.block import Event, Header, Price, Receipt, ReceiptKind
from node.chain.errors import InvalidTransaction, TransactionFault
from node.chain.timers.timer import Timer, WatchKey
from node.client.exceptions import (
    BundleFault,
    BundleRefused,
    NodeError,
    TransactionRefused,
    UnknownId,
    unknown_actor,
    unknown_execution,
    unknown_height,
    unknown_timer,
    unknown_transaction,
)
from node.client.inputs import Mined
from node.primitives.types import Address, Amount, Hash32, Height, TimerId
from node.query.forecasts.lane_position import LanePosition, Standing
from node.query.queue_place import (
    LiveWatch,
    QueuedTimer,
    QueuePlace,
    WatchState,
    WatchStatus,
)
from node.rpc.v1 import dev_pb2, timers_pb2, types_pb2
from pvm import Failure, FireContext
from pvm.types import Frame

__all__ = [
    "add_progress",
    "block_from_proto",
    "event_from_proto",
    "failure_from_proto",
    "header_from_proto",
    "maps_unknown_id",
    "place_from_proto",
    "queue_place_from_proto",
    "queued_from_proto",
    "receipt_from_proto",
    "refusal_of_node",
    "timer_from_proto",
    "watch_from_proto",
]

_KINDS = {
    types_pb2.RECEIPT_KIND_TRANSACTION: ReceiptKind.TRANSACTION,
    types_pb2.RECEIPT_KIND_FIRE: ReceiptKind.FIRE,
    types_pb2.RECEIPT_KIND_ENGINE_MESSAGE: ReceiptKind.ENGINE_MESSAGE,
    types_pb2.RECEIPT_KIND_MAILBOX_MESSAGE: ReceiptKind.MAILBOX_MESSAGE,
    types_pb2.RECEIPT_KIND_AGENT: ReceiptKind.AGENT,
}


def receipt_kind_from_proto(kind: "types_pb2.ReceiptKind.ValueType") -> ReceiptKind:
    """What was executed."""
    return _KINDS[kind]


_WATCH_STATES = {
    timers_pb2.WATCH_STATE_IDLE: WatchState.IDLE,
    timers_pb2.WATCH_STATE_NOTED: WatchState.NOTED,
    timers_pb2.WATCH_STATE_QUEUED: WatchState.QUEUED,
}


def _amount(text: str) -> Amount:
    return Amount(int(text or "0"))


def header_from_proto(message: types_pb2.Header) -> Header:
    """A header."""
    return Header(
        Height(message.height),
        Hash32(message.parent_hash),
        message.timestamp_ms,
        message.span,
        Address(message.proposer),
        _amount(message.basefee_cycle),
        _amount(message.basefee_cell),
        _amount(message.basefee_lane),
        message.cycles_used,
        message.cells_used,
        Hash32(message.transactions_root),
        Hash32(message.receipts_root),
        Hash32(message.events_root),
        Hash32(message.state_root),
    )


def event_from_proto(message: types_pb2.Event) -> Event:
    """Something that happened."""
    return Event(
        Address(message.emitter) if message.emitter else None,
        message.topic,
        message.data,
        message.receipt_index if message.HasField("receipt_index") else None,
    )


def receipt_from_proto(message: types_pb2.Receipt) -> Receipt:
    """What became of an execution."""
    price = message.price
    return Receipt(
        receipt_kind_from_proto(message.kind),
        message.index,
        message.id,
        Hash32(message.origin),
        Address(message.sender),
        Address(message.actor),
        message.handler,
        Address(message.payer),
        message.cycles_limit,
        message.cells_limit,
        message.cycles_used,
        message.cells_used,
        Price(
            _amount(price.cycle_burn),
            _amount(price.cycle_tip),
            _amount(price.cell_burn),
            _amount(price.cell_tip),
            _amount(price.lane_burn),
        ),
        message.cycles_held,
        message.cells_held,
        message.value,
        _failure(message),
        tuple(message.scheduled_timer_ids),
        message.hint,
        _delivery(message.delivery) if message.HasField("delivery") else None,
    )


def _delivery(message: types_pb2.FireContext) -> FireContext:
    return FireContext(
        message.kind,
        message.due_height if message.HasField("due_height") else None,
        message.hit_height if message.HasField("hit_height") else None,
        _watch_keys(message.matched_keys),
        message.deliver_id,
        message.deliver_seq,
        message.fire_seq,
    )


def _failure(message: types_pb2.Receipt) -> Failure | None:
    if message.status == types_pb2.EXECUTION_STATUS_SUCCEEDED:
        return None
    return failure_from_proto(message.error)


def failure_from_proto(error: types_pb2.ExecutionError) -> Failure:
    """Why an execution failed."""
    return Failure(
        error.kind,
        error.message,
        error.handler,
        error.line if error.HasField("line") else None,
        error.hint,
        tuple(Frame(one.function, one.line, one.actor) for one in error.stack),
    )


def timer_from_proto(message: timers_pb2.Timer) -> Timer:
    """A pending timer."""
    record = message.record
    fee, priority = record.max_fee_per_cycle, record.max_priority_fee_per_cycle
    return Timer(
        Height(message.height),
        record.sequence,
        TimerId(message.id),
        Address(message.actor),
        record.payload,
        record.handler,
        Address(message.fee_payer),
        record.gas_limit,
        record.is_gas_limit_defaulted,
        Height(record.expires_at),
        Height(record.scheduled_at),
        _amount(fee) if fee else None,
        _amount(priority) if priority else None,
        Address(record.gba) if record.gba else None,
        other_target=Address(record.target) if record.target else None,
        bid_fp=_amount(record.bid_fp) if record.bid_fp else 0,
        bucket=record.fee_tier,
        watch_keys=_watch_keys(record.watch_keys),
        fire_seq=record.fire_seq,
    )


def _watch_keys(found: Iterable[types_pb2.WatchKey]) -> tuple[WatchKey, ...]:
    return tuple([(Address(one.actor), one.key) for one in found])


def queue_place_from_proto(message: timers_pb2.QueuePlace) -> QueuePlace:
    """Where a fire stands in the Globalbox."""
    return QueuePlace(
        message.order,
        message.rank if message.HasField("rank") else None,
        int(message.score),
        int(message.bid_fp),
        Height(message.origin),
        _watch_keys(message.matched_keys),
    )


def queued_from_proto(message: timers_pb2.Timer) -> QueuedTimer:
    """A timer whose fire is queued."""
    return QueuedTimer(
        timer_from_proto(message), queue_place_from_proto(message.queued)
    )


def watch_from_proto(message: timers_pb2.Timer) -> LiveWatch:
    """A live watch, and how it is doing."""
    status = message.watch
    hit_height = Height(status.hit_height) if status.HasField("hit_height") else None
    return LiveWatch(
        timer_from_proto(message),
        WatchStatus(
            _WATCH_STATES[status.state], hit_height, _watch_keys(status.matched_keys)
        ),
    )


def place_from_proto(message: timers_pb2.TimerStanding) -> LanePosition:
    """Where a live timer stands under `auction` or `bidding`."""
    standing = Standing(
        _amount(message.basefee_lane),
        _amount(message.max_fee),
        _amount(message.max_priority),
        _amount(message.priority),
        message.weight_ppm,
        message.waits_for,
        _amount(message.basefee_cycle) if message.basefee_cycle else None,
        message.waited if message.HasField("waited") else None,
    )
    return LanePosition(
        Height(message.height),
        standing,
        message.rank if message.HasField("rank") else None,
        message.contenders if message.HasField("contenders") else None,
        message.slice_cycles if message.HasField("slice_cycles") else None,
    )


def block_from_proto(message: types_pb2.Block) -> Mined:
    """A block with all that happened in it."""
    return Mined(
        header_from_proto(message.header),
        tuple(map(receipt_from_proto, message.receipts)),
        tuple(map(event_from_proto, message.events)),
    )


def add_progress(summary: AdvanceSummary, message: dev_pb2.AdvanceResponse) -> None:
    """Take a message of an `Advance` into the summary of it."""
    summary.heights.extend(map(Height, message.heights))
    told = message.summary
    summary.fires, summary.fires_failed = told.fires, told.fires_failed
    summary.put_off, summary.expired = told.put_off, told.expired
    summary.removed = told.removed_insufficient_funds
    summary.fire_cycles = told.fire_cycles
    summary.fire_fees = _amount(told.fire_fees)


def _numbers(error: NodeError) -> dict[str, int | str]:
    return {
        name: int(text) if text.isdecimal() else text
        for name, text in error.metadata.items()
    }


@contextmanager
def maps_unknown_id(argument: str, given: object) -> Iterator[None]:
    """Turn a node's refusal of an id into what a chain in the process would raise.

    Raises:
        UnknownId: the node has no actor, timer, transaction or block there.
    """
    try:
        yield
    except NodeError as error:
        if error.reason == "HEIGHT_NOT_REACHED" and isinstance(given, int):
            head = int(error.metadata["head_height"])
            raise unknown_height(argument, given, head) from None
        if error.reason in _UNKNOWN:
            raise _UNKNOWN[error.reason](argument, given) from None
        raise


_UNKNOWN: Mapping[str, Callable[[str, object], UnknownId]] = MappingProxyType(
    {
        "ACTOR_NOT_FOUND": unknown_actor,
        "TIMER_NOT_FOUND": unknown_timer,
        "TRANSACTION_NOT_FOUND": unknown_transaction,
        "EXECUTION_NOT_FOUND": unknown_execution,
    }
)


def refusal_of_node(
    error: NodeError,
) -> TransactionRefused | AdvanceRefused | BundleRefused | NodeError:
    """A node's refusal as a chain in the process would raise it."""
    if error.reason in {fault.value for fault in TransactionFault}:
        fault = TransactionFault(error.reason)
        return TransactionRefused(
            InvalidTransaction(fault, error.message, _numbers(error))
        )
    if error.reason in {fault.value for fault in AdvanceFault}:
        numbers = {k: v for k, v in _numbers(error).items() if isinstance(v, int)}
        return AdvanceRefused(AdvanceFault(error.reason), error.message, **numbers)
    if error.reason in {fault.value for fault in BundleFault}:
        counts = {k: v for k, v in _numbers(error).items() if isinstance(v, int)}
        return BundleRefused(BundleFault(error.reason), error.message, counts)
    return error
