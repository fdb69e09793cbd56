"""Domain → protobuf: what the chain says, put into messages.

Amounts are decimal strings of base units, hashes, addresses and payloads are bytes.
`requests` goes the other way; no protobuf message passes these two.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from node.chain.advance import AdvanceSummary
from node.chain.block import Event, Header, Price, Receipt, ReceiptKind
from node.chain.errors import InvalidTransaction
from node.chain.timers.tiers import Tier
from node.chain.timers.timer import (
    Decision,
    Timer,
    TimerDecision,
    TimerKind,
    WatchKey,
)
from node.chain.transaction import (
    Transaction,
)
from node.primitives.types import Amount, Height
from node.query import (
    BlockView,
    Committed,
    LiveTimer,
    Proof,
    TimerView,
    Warnings,
    warnings_of,
)
from node.query.forecasts.lane_position import LanePosition
from node.query.queue_place import QueuedTimer, QueuePlace, WatchState, WatchStatus
from node.rpc.instructions import body_to_proto
from node.rpc.v1 import dev_pb2, queries_pb2, timers_pb2, types_pb2
from node.runtime.types import DroppedTransaction, MiningMode
from node.state.snapshots import NamedSnapshot
from pvm import Failure, FireContext
from pvm.output import NO_PRINTOUT, Printed, Printout
from pvm.runtime.storage import STORAGE_PREFIX

MODES: dict[MiningMode, "queries_pb2.MiningMode.ValueType"] = {
    MiningMode.INTERVAL: queries_pb2.MINING_MODE_INTERVAL,
    MiningMode.INSTANT: queries_pb2.MINING_MODE_INSTANT,
    MiningMode.MANUAL: queries_pb2.MINING_MODE_MANUAL,
}


NOTHING_PRINTED: Mapping[int, Printout] = MappingProxyType({})
"""The outputs of a block of which none are kept."""

_EVENT_BYTES = 64
"""Of an event, beside its data."""

PART_ENTRIES = 32
"""Transactions, receipts or events that are encoded at a stretch: each may have 4 KiB,
and a transaction a megabyte."""


def mining_mode_to_proto(mode: MiningMode) -> "queries_pb2.MiningMode.ValueType":
    """A mining mode on the wire."""
    return MODES[mode]


def storage_name(key: bytes) -> str | None:
    """The name in `self.storage` that a raw key stands for, if it stands for one."""
    if not key.startswith(STORAGE_PREFIX):
        return None
    # An actor may write any bytes behind the prefix with set_state.
    name = key.removeprefix(STORAGE_PREFIX).decode(errors="replace")
    return name if STORAGE_PREFIX + name.encode() == key else None


# --- blocks ------------------------------------------------------------------------


def ref_to_proto(height: int, block_hash: bytes) -> types_pb2.BlockRef:
    """A place in the chain."""
    return types_pb2.BlockRef(height=height, hash=block_hash)


def header_to_proto(
    header: Header, block_hash: bytes | None = None
) -> types_pb2.Header:
    """A header; its hash is computed unless it is at hand."""
    return types_pb2.Header(
        height=header.height,
        hash=header.hash() if block_hash is None else block_hash,
        parent_hash=header.parent_hash,
        timestamp_ms=header.timestamp_ms,
        span=header.span,
        proposer=header.proposer,
        basefee_cycle=str(header.basefee_cycle),
        basefee_cell=str(header.basefee_cell),
        basefee_lane=str(header.basefee_lane),
        cycles_used=header.cycles_used,
        cells_used=header.cells_used,
        transactions_root=header.transactions_root,
        receipts_root=header.receipts_root,
        events_root=header.events_root,
        state_root=header.state_root,
    )


def block_to_proto(
    view: BlockView,
    detail: "types_pb2.BlockView.ValueType" = types_pb2.BLOCK_VIEW_SUMMARY,
    outputs: Mapping[int, Printout] = NOTHING_PRINTED,
) -> types_pb2.Block:
    """A block with as much of its content as `detail` wants, and what it printed."""
    message = _beginning_to_proto(view, detail)
    if detail == types_pb2.BLOCK_VIEW_FULL:
        for part in _parts_to_proto(view, _part_of(view), outputs):
            message.MergeFrom(part)
    return message


def encode_block(
    view: BlockView,
    detail: "types_pb2.BlockView.ValueType",
    outputs: Mapping[int, Printout] = NOTHING_PRINTED,
) -> Iterator[bytes]:
    """What `block_to_proto` shows, encoded in parts, none of which takes long to make.

    One after another they are the message: repeated fields go on, whatever is between.
    """
    yield _beginning_to_proto(view, detail).SerializeToString()
    if detail == types_pb2.BLOCK_VIEW_FULL:
        for part in _parts_to_proto(view, PART_ENTRIES, outputs):
            yield part.SerializeToString()


def _part_of(view: BlockView) -> int:
    """All of the content in one part."""
    return max(len(view.block.transactions), len(view.receipts), len(view.events), 1)


def _beginning_to_proto(
    view: BlockView, detail: "types_pb2.BlockView.ValueType"
) -> types_pb2.Block:
    """A block without the content that only the full view has."""
    message = types_pb2.Block(
        header=header_to_proto(view.block.header, view.block_hash)
    )
    if view.run is not None:
        first, last = view.run.first, view.run.last
        message.run.CopyFrom(
            types_pb2.Run(first=first, last=last, hash=view.block_hash)
        )
    if detail == types_pb2.BLOCK_VIEW_HEADER:
        return message
    message.transaction_ids.extend(t.id for t in view.block.transactions)
    message.receipt_count = len(view.receipts)
    message.event_count = len(view.events)
    kinds = [receipt.kind for receipt in view.receipts]
    message.fire_count = kinds.count(ReceiptKind.FIRE)
    message.message_count = kinds.count(ReceiptKind.ENGINE_MESSAGE) + kinds.count(
        ReceiptKind.MAILBOX_MESSAGE
    )
    return message


def _parts_to_proto(
    view: BlockView, entries: int, outputs: Mapping[int, Printout]
) -> Iterator[types_pb2.Block]:
    """Transactions, receipts and events, so many of them in a part."""
    height = view.block.header.height
    transactions, receipts = view.block.transactions, view.receipts
    for first in range(0, len(transactions), entries):
        part = transactions[first : first + entries]
        yield types_pb2.Block(transactions=map(transaction_to_proto, part))
    warnings = warnings_of(view.events)
    for first in range(0, len(receipts), entries):
        yield types_pb2.Block(
            receipts=[
                receipt_to_proto(
                    receipt,
                    height,
                    warnings.get(receipt.index, ()),
                    outputs.get(receipt.index, NO_PRINTOUT),
                )
                for receipt in receipts[first : first + entries]
            ]
        )
    for first in range(0, len(view.events), entries):
        part_events = view.events[first : first + entries]
        yield types_pb2.Block(
            events=[
                event_to_proto(event, height, index)
                for index, event in enumerate(part_events, first)
            ]
        )


def advance_to_proto(
    head: Header, stop: Height, summary: AdvanceSummary, shown: int = 0
) -> dev_pb2.AdvanceResponse:
    """Progress of an `Advance`, with the heights after the `shown` first ones."""
    return dev_pb2.AdvanceResponse(
        head=header_to_proto(head),
        stop_height=stop,
        heights=summary.heights[shown:],
        summary=summary_to_proto(summary),
    )


def summary_to_proto(summary: AdvanceSummary) -> dev_pb2.AdvanceSummary:
    """What happened while time passed."""
    return dev_pb2.AdvanceSummary(
        fires=summary.fires,
        fires_failed=summary.fires_failed,
        put_off=summary.put_off,
        expired=summary.expired,
        removed_insufficient_funds=summary.removed,
        fire_cycles=summary.fire_cycles,
        fire_fees=str(summary.fire_fees),
    )


# --- transactions ------------------------------------------------------------------


def transaction_to_proto(transaction: Transaction) -> types_pb2.Transaction:
    """A transaction with its fields and its bytes."""
    return types_pb2.Transaction(
        id=transaction.id,
        sender=transaction.sender,
        body=body_to_proto(transaction.body),
        is_impersonated=transaction.is_impersonated,
        raw=transaction.raw,
    )


def committed_to_proto(
    committed: Committed,
    outputs: Mapping[int, Printout] = NOTHING_PRINTED,
    *,
    is_brief: bool = False,
) -> types_pb2.CommittedTransaction:
    """A transaction in its block; briefly, without what its sender sent himself.

    `outputs` are those of its block.
    """
    transaction = committed.transaction
    height = committed.height
    warnings = warnings_of(committed.events).get(committed.receipt.index, ())
    return types_pb2.CommittedTransaction(
        transaction=types_pb2.Transaction(id=transaction.id, sender=transaction.sender)
        if is_brief
        else transaction_to_proto(transaction),
        block=ref_to_proto(height, committed.block_hash),
        index=committed.index,
        receipt=receipt_to_proto(
            committed.receipt,
            height,
            warnings,
            outputs.get(committed.receipt.index, NO_PRINTOUT),
        ),
        events=[
            event_to_proto(event, height, index)
            for index, event in zip(
                committed.event_indexes, committed.events, strict=True
            )
        ],
    )


def weigh_committed(committed: Committed) -> int:
    """About how many bytes `committed_to_proto` makes of it, told briefly."""
    events = [len(event.data) + _EVENT_BYTES for event in committed.events]
    return len(committed.receipt.value) + sum(events)


def dropped_to_proto(dropped: DroppedTransaction) -> types_pb2.DroppedTransaction:
    """A transaction that left the pool without a block."""
    return refused_to_proto(dropped.transaction_id, dropped.reason)


def refused_to_proto(
    transaction_id: bytes, reason: InvalidTransaction
) -> types_pb2.DroppedTransaction:
    """Why a transaction is not taken."""
    return types_pb2.DroppedTransaction(
        id=transaction_id,
        reason=reason.fault.value,
        message=str(reason),
        metadata={name: str(number) for name, number in reason.numbers.items()},
    )


# --- results -----------------------------------------------------------------------

_WARNINGS: dict[Warnings, "types_pb2.Warning.ValueType"] = {
    warning: types_pb2.Warning.Value(warning.value) for warning in Warnings
}
_KINDS: dict[ReceiptKind, "types_pb2.ReceiptKind.ValueType"] = {
    ReceiptKind.TRANSACTION: types_pb2.RECEIPT_KIND_TRANSACTION,
    ReceiptKind.FIRE: types_pb2.RECEIPT_KIND_FIRE,
    ReceiptKind.ENGINE_MESSAGE: types_pb2.RECEIPT_KIND_ENGINE_MESSAGE,
    ReceiptKind.MAILBOX_MESSAGE: types_pb2.RECEIPT_KIND_MAILBOX_MESSAGE,
    ReceiptKind.AGENT: types_pb2.RECEIPT_KIND_AGENT,
}


def receipt_kind_to_proto(kind: ReceiptKind) -> "types_pb2.ReceiptKind.ValueType":
    """What was executed."""
    return _KINDS[kind]


def printed_to_proto(printed: Printed) -> types_pb2.Printed:
    """What an actor wrote."""
    return types_pb2.Printed(
        actor=printed.actor, level=printed.level, text=printed.text
    )


def printout_to_proto(printout: Printout) -> types_pb2.Printout | None:
    """What an execution wrote, if it wrote anything."""
    if not printout:
        return None
    return types_pb2.Printout(
        printed=map(printed_to_proto, printout.printed), cut=printout.cut
    )


def receipt_to_proto(
    receipt: Receipt,
    height: int,
    warnings: tuple[Warnings, ...] = (),
    output: Printout = NO_PRINTOUT,
) -> types_pb2.Receipt:
    """What became of an execution, what it cost whom, and what it printed."""
    return types_pb2.Receipt(
        kind=receipt_kind_to_proto(receipt.kind),
        height=height,
        index=receipt.index,
        id=receipt.id,
        origin=receipt.origin,
        sender=receipt.sender,
        actor=receipt.actor,
        handler=receipt.handler,
        payer=receipt.payer,
        status=status_to_proto(receipt.failure),
        error=failure_to_proto(receipt.failure),
        cycles_limit=receipt.cycles_limit,
        cells_limit=receipt.cells_limit,
        cycles_used=receipt.cycles_used,
        cells_used=receipt.cells_used,
        price=price_to_proto(receipt.price),
        cycles_held=receipt.cycles_held,
        cells_held=receipt.cells_held,
        fee=str(receipt.fee),
        burned_cycle=str(receipt.burned_cycle),
        burned_cell=str(receipt.burned_cell),
        burned_lane=str(receipt.burned_lane),
        tip=str(receipt.tip),
        refund=str(receipt.refund),
        value=receipt.value,
        scheduled_timer_ids=receipt.scheduled,
        hint=receipt.hint,
        warnings=map(warning_to_proto, warnings),
        delivery=_delivery_to_proto(receipt.delivery),
        output=printout_to_proto(output),
    )


def _delivery_to_proto(delivery: FireContext | None) -> types_pb2.FireContext | None:
    if delivery is None:
        return None
    return types_pb2.FireContext(
        kind=delivery.kind,
        due_height=delivery.due_height,
        hit_height=delivery.hit_height,
        matched_keys=_watch_keys_to_proto(delivery.matched_keys),
        deliver_id=delivery.deliver_id,
        deliver_seq=delivery.deliver_seq,
        fire_seq=delivery.fire_seq,
    )


def warning_to_proto(warning: Warnings) -> "types_pb2.Warning.ValueType":
    """What a reader should be told beside a success."""
    return _WARNINGS[warning]


def status_to_proto(failure: Failure | None) -> "types_pb2.ExecutionStatus.ValueType":
    """Whether an execution took effect."""
    if failure is None:
        return types_pb2.EXECUTION_STATUS_SUCCEEDED
    return types_pb2.EXECUTION_STATUS_FAILED


def failure_to_proto(failure: Failure | None) -> types_pb2.ExecutionError | None:
    """Why an execution failed, if it did."""
    if failure is None:
        return None
    return types_pb2.ExecutionError(
        kind=failure.kind,
        message=failure.message,
        handler=failure.handler,
        line=failure.line,
        hint=failure.hint,
        stack=[
            types_pb2.StackFrame(
                function=frame.function, line=frame.line, actor=frame.actor
            )
            for frame in failure.stack
        ],
    )


def price_to_proto(price: Price) -> types_pb2.Price:
    """What one unit costs, by destination."""
    cycle_burn, cycle_tip, cell_burn, cell_tip, lane_burn = map(str, price.fields())
    return types_pb2.Price(
        cycle_burn=cycle_burn,
        cycle_tip=cycle_tip,
        cell_burn=cell_burn,
        cell_tip=cell_tip,
        lane_burn=lane_burn,
    )


def event_to_proto(event: Event, height: int, index: int) -> types_pb2.Event:
    """Something that happened, with its place in the block."""
    return types_pb2.Event(
        height=height,
        index=index,
        emitter=event.emitter or b"",
        topic=event.topic,
        data=event.data,
        receipt_index=event.receipt_index,
    )


# --- timers ------------------------------------------------------------------------

_TIERS: dict[Tier, "timers_pb2.TimerTier.ValueType"] = {
    Tier.RING: timers_pb2.TIMER_TIER_RING,
    Tier.EPOCH: timers_pb2.TIMER_TIER_EPOCH,
    Tier.OVERFLOW: timers_pb2.TIMER_TIER_OVERFLOW,
}
KINDS: dict[TimerKind, "timers_pb2.TimerKind.ValueType"] = {
    TimerKind.HEIGHT: timers_pb2.TIMER_KIND_HEIGHT,
    TimerKind.STATE_WATCH: timers_pb2.TIMER_KIND_STATE_WATCH,
}
WATCH_STATES: dict[WatchState, "timers_pb2.WatchState.ValueType"] = {
    WatchState.IDLE: timers_pb2.WATCH_STATE_IDLE,
    WatchState.NOTED: timers_pb2.WATCH_STATE_NOTED,
    WatchState.QUEUED: timers_pb2.WATCH_STATE_QUEUED,
}
ENDS: dict[Decision, "timers_pb2.TimerStatus.ValueType"] = {
    Decision.FIRED: timers_pb2.TIMER_STATUS_FIRED,
    Decision.EXPIRED: timers_pb2.TIMER_STATUS_EXPIRED,
    Decision.CANCELLED: timers_pb2.TIMER_STATUS_CANCELLED,
    Decision.REMOVED_INSUFFICIENT_FUNDS: (
        timers_pb2.TIMER_STATUS_REMOVED_INSUFFICIENT_FUNDS
    ),
}


def timer_to_proto(view: TimerView) -> timers_pb2.Timer:
    """A timer, live or ended."""
    if isinstance(view, LiveTimer):
        return _live_to_proto(view)
    decision = view.decision
    return timers_pb2.Timer(
        id=decision.timer_id,
        actor=decision.actor,
        fee_payer=decision.fee_payer,
        height=decision.due_height,
        status=ENDS[decision.decision],
        end=decision_to_proto(decision, view.height),
    )


def _live_to_proto(view: LiveTimer) -> timers_pb2.Timer:
    shown = record_to_proto(view.timer)
    shown.record.tier = _TIERS[view.tier]
    if view.bucket is not None:
        shown.record.bucket = view.bucket
    if view.queued is not None:
        shown.queued.CopyFrom(_queue_place_to_proto(view.queued))
    if view.watch is not None:
        shown.watch.CopyFrom(_watch_to_proto(view.watch))
    if view.place is not None:
        shown.standing.CopyFrom(_place_to_proto(view.place))
    return shown


def queued_to_proto(view: QueuedTimer) -> timers_pb2.Timer:
    """A timer whose fire is queued, and where it stands."""
    shown = record_to_proto(view.timer)
    shown.queued.CopyFrom(_queue_place_to_proto(view.place))
    return shown


def _queue_place_to_proto(place: QueuePlace) -> timers_pb2.QueuePlace:
    return timers_pb2.QueuePlace(
        order=place.order,
        rank=place.rank,
        score=str(place.score),
        bid_fp=str(place.bid_fp),
        origin=place.origin,
        matched_keys=_watch_keys_to_proto(place.matched_keys),
    )


def _watch_to_proto(status: WatchStatus) -> timers_pb2.WatchStatus:
    return timers_pb2.WatchStatus(
        state=WATCH_STATES[status.state],
        hit_height=status.hit_height,
        matched_keys=_watch_keys_to_proto(status.matched_keys),
    )


def _watch_keys_to_proto(found: Iterable[WatchKey]) -> list[types_pb2.WatchKey]:
    return [types_pb2.WatchKey(actor=actor, key=key) for actor, key in found]


def _place_to_proto(place: LanePosition) -> timers_pb2.TimerStanding:
    standing = place.standing
    return timers_pb2.TimerStanding(
        height=place.height,
        basefee_lane=str(standing.basefee_lane),
        max_fee=str(standing.max_fee),
        max_priority=str(standing.max_priority),
        priority=str(standing.priority),
        weight_ppm=standing.weight_ppm,
        effective_priority=str(standing.effective_priority),
        rank=place.rank,
        contenders=place.contenders,
        waits_for=standing.waits_for,
        basefee_cycle=_stated(standing.basefee_cycle),
        waited=standing.waited,
        slice_cycles=place.slice_cycles,
    )


def _stated(amount: Amount | None) -> str:
    return "" if amount is None else str(amount)


def record_to_proto(timer: Timer) -> timers_pb2.Timer:
    """A pending timer as its record says it, without the tier, which time changes."""
    return timers_pb2.Timer(
        id=timer.timer_id,
        actor=timer.actor,
        fee_payer=timer.fee_payer,
        height=timer.height,
        status=timers_pb2.TIMER_STATUS_PENDING,
        record=timers_pb2.TimerRecord(
            sequence=timer.sequence,
            payload=timer.payload,
            handler=timer.handler,
            gas_limit=timer.gas_limit,
            is_gas_limit_defaulted=timer.is_gas_limit_defaulted,
            expires_at=timer.expires_at,
            scheduled_at=timer.scheduled_at,
            max_fee_per_cycle=_optional_to_proto(timer.max_fee_per_cycle),
            max_priority_fee_per_cycle=_optional_to_proto(
                timer.max_priority_fee_per_cycle
            ),
            gba=timer.gba or b"",
            kind=KINDS[timer.kind],
            target=timer.other_target or b"",
            bid_fp=str(timer.bid_fp) if timer.bid_fp else "",
            fee_tier=timer.bucket,
            watch_keys=_watch_keys_to_proto(timer.watch_keys),
            fire_seq=timer.fire_seq,
        ),
    )


def _optional_to_proto(amount: Amount | None) -> str:
    return "" if amount is None else str(amount)


def proof_to_proto(proof: Proof) -> queries_pb2.GetProofResponse:
    """A proof with what the root of its tree is committed to by."""
    parts = proof.parts or (b"", b"", b"", b"")
    globals_hash, state_root, calendar_root, globalbox_root = parts
    return queries_pb2.GetProofResponse(
        header=proof.header.encode(),
        globals_hash=globals_hash,
        state_tree_root=state_root,
        calendar_root=calendar_root,
        globalbox_root=globalbox_root,
        proof=proof.proof,
        records=[
            queries_pb2.ProvenRecord(key=key, value=record)
            for key, record in proof.records
        ],
    )


def decision_to_proto(decision: TimerDecision, height: int) -> timers_pb2.TimerDecision:
    """One decision about a timer, with the numbers that were compared."""
    return timers_pb2.TimerDecision(
        height=height,
        decision=decision.decision.value,
        reason=decision.reason,
        numbers={name: str(number) for name, number in decision.numbers.items()},
        receipt_index=decision.receipt_index,
        origin=decision.origin,
        rival=decision.rival or b"",
        order=decision.order,
        matched_keys=_watch_keys_to_proto(decision.matched_keys),
    )


def snapshot_to_proto(named: NamedSnapshot) -> dev_pb2.NamedSnapshot:
    """A named snapshot."""
    block = ref_to_proto(named.height, named.block_hash)
    return dev_pb2.NamedSnapshot(name=named.name, block=block, waiting=named.waiting)
