"""What happened: blocks, receipts, events and the lives of timers, as key-value pairs.

No root of the state speaks of any of it; `keys.py` has the layout. `record` says what
a block adds, the readers answer from a snapshot. Both are pure.

Rules: an empty block costs four small keys. What a decision about a timer adds of
its own is bounded too: a put-off, of which one block can have 10,000, is only in the
block's trace (`timers/trace.py`), which names its place in the calendar; of a timer
that ended after it was due, history keeps whose its place was. Every other decision is
also found under its timer.
A failure's text, line, hint and call stack are kept here, and only here.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeAlias, cast

from msgspec import Struct

from node.chain.block import (
    Block,
    CodeVersion,
    Encodings,
    Event,
    Header,
    Price,
    Receipt,
    ReceiptKind,
    decode_delivery,
    decode_header,
)
from node.chain.block_totals import BlockTotals
from node.chain.consensus import CONSENSUS_NUMBER
from node.chain.globals import decode_basefee_config, encode_config
from node.chain.params import BasefeeConfig
from node.chain.timers.timer import Decision, TimerDecision, decode_timer
from node.chain.timers.trace import (
    Identity,
    count_put_offs,
    decode_decision,
    decode_entries,
    decode_trace,
    encode_trace,
    find_put_offs,
)
from node.chain.transaction import (
    IMPERSONATION_PREFIX,
    SIGNATURE_BYTES,
    DeployActor,
    Transaction,
    decode_body,
    make_transaction,
)
from node.chain.transition import BlockResult
from node.chain.upgrades import UPGRADED
from node.primitives import codec
from node.primitives.crypto import keccak256
from node.primitives.types import Address, Amount, Hash32, Height
from node.state import keys
from node.state.store import StoreSnapshot, WriteSet
from node.totals import totals_of
from pvm import Failure, Frame

__all__ = [
    "PlacedDecision",
    "code_version_heights",
    "code_versions",
    "code_versions_in",
    "consensus_record",
    "decision_heights",
    "decisions_between",
    "ended_timers",
    "entries_between",
    "headers_after",
    "load_block",
    "load_code_versions",
    "load_consensus",
    "load_encoded_receipts",
    "load_entries",
    "load_head",
    "load_header",
    "load_header_over",
    "load_height_by_hash",
    "load_put_off_count",
    "load_put_offs",
    "load_raw_transactions",
    "load_results",
    "load_run_config",
    "load_timer_decisions",
    "load_timer_life",
    "load_trace",
    "load_transaction_location",
    "record",
    "timer_life_keys",
    "undo",
]

_HEIGHT_MAX = 2**64 - 1
_INDEX_BYTES = 4
_CONSENSUS_BYTES = 4

# What `record` encoded, as the readers find it: arrays, which Python decodes as lists.
_StoredTransaction: TypeAlias = tuple[Address, bytes]
_StoredFrame: TypeAlias = tuple[str, int] | tuple[str, int, bytes]
_StoredFailure: TypeAlias = tuple[str, str, str, int | None, str, list[_StoredFrame]]
_StoredReceipt: TypeAlias = tuple[bytes, _StoredFailure | None, str]
_StoredResults: TypeAlias = tuple[list[_StoredReceipt], list[bytes]]
_StoredEvent: TypeAlias = tuple[Address, str, bytes, int | None]
_RECEIPT_FIELDS = 17
"""Of a receipt's encoding, before what names a fire under `globalbox`."""
_ReceiptFields: TypeAlias = tuple[
    int,
    bytes,
    Hash32,
    Address,
    Address,
    str,
    Address,
    int,
    int,
    int,
    int,
    list[Amount],
    int,
    int,
    bytes,
    str,
    list[bytes],
]


# --- writing -----------------------------------------------------------------------


def record(result: BlockResult, totals: BlockTotals | None = None) -> WriteSet:
    """What a block adds to the history; committed in one batch with its state.

    Its totals are added up unless they are given.
    """
    header = result.block.header
    totals = totals_of(result) if totals is None else totals
    changes: dict[bytes, bytes | None] = {
        keys.HEAD: keys.height8(header.height),
        keys.header(header.height): header.encode(),
        keys.block_by_hash(header.hash()): keys.height8(header.height),
        keys.block_totals(0, header.height): totals.encode(),
    }
    if header.span > 1:
        changes[keys.run_config(header.height)] = encode_config(result.basefee_config)
    if result.block.transactions:
        _record_transactions(changes, header.height, result.block.transactions)
    if result.receipts or result.events:
        changes[keys.receipts(header.height)] = _encode_results(
            result.receipts, result.encodings
        )
    if result.trace:
        _record_trace(changes, header.height, result.trace)
    for index, version in enumerate(code_versions(result)):
        key = keys.code_version(version.actor, header.height, index)
        changes[key] = version.code_hash
    return WriteSet(changes)


def undo(recorded: WriteSet, parent: Header) -> WriteSet:
    """What takes back what `record` wrote of a block above `parent`.

    All of its keys are new, by the block's height, its hash or an id, but the head's.
    """
    head = {keys.HEAD: keys.height8(parent.height)}
    return WriteSet(dict.fromkeys(recorded.changes)) | WriteSet(head)


def _record_transactions(
    changes: dict[bytes, bytes | None],
    height: Height,
    transactions: tuple[Transaction, ...],
) -> None:
    # The sender is kept beside the bytes: recovering it again costs fifty times more.
    changes[keys.body(height)] = codec.encode([[t.sender, t.raw] for t in transactions])
    for index, transaction in enumerate(transactions):
        changes[keys.transaction_location(transaction.id)] = keys.height8(
            height
        ) + index.to_bytes(_INDEX_BYTES, "big")


def _encode_results(receipts: tuple[Receipt, ...], encodings: Encodings) -> bytes:
    return codec.encode(
        [
            [
                [encoded, _encode_failure(receipt.failure), receipt.hint]
                for encoded, receipt in zip(encodings.receipts, receipts, strict=True)
            ],
            encodings.events,
        ]
    )


def _encode_failure(failure: Failure | None) -> list[codec.Value] | None:
    if failure is None:
        return None
    return [
        failure.kind,
        failure.message,
        failure.handler,
        failure.line,
        failure.hint,
        [_encode_frame(frame) for frame in failure.stack],
    ]


def _encode_frame(frame: Frame) -> list[codec.Value]:
    """Of a callee with its address."""
    return [frame.function, frame.line, *([frame.actor] if frame.actor else [])]


def _decode_failure(failure: _StoredFailure) -> Failure:
    kind, message, handler, line, hint, stack = failure
    frames = tuple(Frame(*frame) for frame in stack)
    return Failure(kind, message, handler, line, hint, frames)


def _record_trace(
    changes: dict[bytes, bytes | None],
    height: Height,
    trace: tuple[TimerDecision, ...],
) -> None:
    data, entries = encode_trace(trace)
    changes[keys.timer_trace(height)] = data
    for index, decision, entry in entries:
        changes[keys.timer_history(decision.timer_id, height, index)] = entry
    changes |= ended_timers(height, [decision for _, decision, _ in entries])


def ended_timers(
    height: Height, decisions: Iterable[TimerDecision]
) -> dict[bytes, bytes | None]:
    """What is kept of the places of those that may have been put off and left them.

    That is all that ended once they were due, but those that fired at once, and all
    that moved into the Globalbox later than they were due.
    """
    return {
        _ended_key(height, decision): codec.encode(
            [decision.timer_id, decision.actor, decision.fee_payer]
        )
        for decision in decisions
        if _may_have_waited(height, decision)
    }


def _may_have_waited(height: Height, decision: TimerDecision) -> bool:
    """Whether a timer left its place, and may have been put off there before."""
    if decision.decision is Decision.ENQUEUED:
        return decision.due_height < height
    if not decision.is_final or decision.due_height > height:
        return False
    return decision.due_height < height or decision.decision is not Decision.FIRED


def _ended_key(height: Height, decision: TimerDecision) -> bytes:
    """A key of the block's own: a timer ends once, but may be queued again (D55)."""
    key = keys.ended_timer(decision.due_height, decision.numbers["sequence"])
    is_queued = decision.decision is Decision.ENQUEUED
    return key + keys.height8(height) if is_queued else key


# --- blocks ------------------------------------------------------------------------


def load_head(snapshot: StoreSnapshot) -> Header | None:
    """The header of the latest block; None in a store without a chain."""
    height = snapshot.get(keys.HEAD)
    if height is None:
        return None
    header = load_header(snapshot, Height(int.from_bytes(height, "big")))
    assert header is not None, "the head names a block that is not there"
    return header


def consensus_record(number: int = CONSENSUS_NUMBER) -> WriteSet:
    """That the blocks of a store were executed under a consensus number."""
    return WriteSet({keys.CONSENSUS: number.to_bytes(_CONSENSUS_BYTES, "big")})


def load_consensus(snapshot: StoreSnapshot) -> int:
    """Under which number a store's blocks were executed.

    A store that says nothing of it lives no longer than its process.
    """
    data = snapshot.get(keys.CONSENSUS)
    return CONSENSUS_NUMBER if data is None else int.from_bytes(data, "big")


def load_header(snapshot: StoreSnapshot, height: Height) -> Header | None:
    """The header at a height, or None."""
    data = snapshot.get(keys.header(height))
    return None if data is None else decode_header(data)


def load_header_over(snapshot: StoreSnapshot, height: int) -> Header | None:
    """The header that stands for a height, itself or in a run; None above the head."""
    return next(headers_after(snapshot, height - 1), None)


def load_run_config(snapshot: StoreSnapshot, height: Height) -> BasefeeConfig:
    """The fee configuration in force in the run whose header is at a height."""
    record = snapshot.get(keys.run_config(height))
    assert record is not None, "a run has its fee configuration beside it"
    return decode_basefee_config(record)


def load_height_by_hash(snapshot: StoreSnapshot, block_hash: bytes) -> Height | None:
    """Where the block with a hash stands, or None."""
    data = snapshot.get(keys.block_by_hash(block_hash))
    return None if data is None else Height(int.from_bytes(data, "big"))


def headers_after(snapshot: StoreSnapshot, height: int) -> Iterator[Header]:
    """Headers above a height, ascending; -1 begins with genesis."""
    stop = keys.prefix_stop(keys.header(0)[: -keys.HEIGHT_BYTES])
    for _, data in snapshot.range(keys.header(height + 1), stop):
        yield decode_header(data)


def load_block(snapshot: StoreSnapshot, height: Height) -> Block | None:
    """The block at a height with its transactions, or None."""
    header = load_header(snapshot, height)
    if header is None:
        return None
    stored = load_raw_transactions(snapshot, height)
    return Block(header, tuple(_decode_stored(*pair) for pair in stored))


def load_raw_transactions(
    snapshot: StoreSnapshot, height: Height
) -> list[tuple[Address, bytes]]:
    """Sender and bytes of each transaction of the block at a height."""
    data = snapshot.get(keys.body(height))
    if data is None:
        return []
    return cast("list[_StoredTransaction]", codec.decode(data))


def load_transaction_location(
    snapshot: StoreSnapshot, transaction_id: bytes
) -> tuple[Height, int] | None:
    """Height and index in the block of a committed transaction, or None."""
    data = snapshot.get(keys.transaction_location(transaction_id))
    if data is None:
        return None
    height, index = data[: keys.HEIGHT_BYTES], data[keys.HEIGHT_BYTES :]
    return Height(int.from_bytes(height, "big")), int.from_bytes(index, "big")


def _decode_stored(sender: Address, raw: bytes) -> Transaction:
    body, signature = raw[:-SIGNATURE_BYTES], raw[-SIGNATURE_BYTES:]
    is_impersonated = signature.startswith(IMPERSONATION_PREFIX)
    return make_transaction(
        decode_body(body), sender, raw, is_impersonated=is_impersonated
    )


# --- results -----------------------------------------------------------------------


def load_results(
    snapshot: StoreSnapshot, height: Height
) -> tuple[tuple[Receipt, ...], tuple[Event, ...]]:
    """Receipts and events of the block at a height; empty where there are none."""
    data = snapshot.get(keys.receipts(height))
    if data is None:
        return (), ()
    receipts, events = cast("_StoredResults", codec.decode(data))
    return (
        tuple(_decode_receipt(index, *pair) for index, pair in enumerate(receipts)),
        tuple(_decode_event(event) for event in events),
    )


def load_encoded_receipts(snapshot: StoreSnapshot, height: Height) -> tuple[bytes, ...]:
    """What the receipts root of the block at a height speaks of, in order."""
    data = snapshot.get(keys.receipts(height))
    if data is None:
        return ()
    receipts, _ = cast("_StoredResults", codec.decode(data))
    return tuple(encoded for encoded, _, _ in receipts)


def _decode_receipt(
    index: int, encoded: bytes, failure: _StoredFailure | None, hint: str
) -> Receipt:
    fields = cast("list[codec.Value]", codec.decode(encoded))
    (
        kind,
        id_,
        origin,
        sender,
        actor,
        handler,
        payer,
        cycles_limit,
        cells_limit,
        cycles_used,
        cells_used,
        price,
        cycles_held,
        cells_held,
        value,
        _,
        scheduled,
    ) = cast("_ReceiptFields", tuple(fields[:_RECEIPT_FIELDS]))
    delivered = cast("list[list[codec.Value]]", fields[_RECEIPT_FIELDS:])
    return Receipt(
        ReceiptKind(kind),
        index,
        id_,
        origin,
        sender,
        actor,
        handler,
        payer,
        cycles_limit,
        cells_limit,
        cycles_used,
        cells_used,
        Price(*price),
        cycles_held,
        cells_held,
        value,
        None if failure is None else _decode_failure(failure),
        tuple(scheduled),
        hint,
        decode_delivery(delivered[0]) if delivered else None,
    )


def _decode_event(encoded: bytes) -> Event:
    emitter, topic, data, receipt_index = cast("_StoredEvent", codec.decode(encoded))
    return Event(emitter or None, topic, data, receipt_index)


# --- code of actors -------------------------------------------------------------------


def code_versions(result: BlockResult) -> Iterator[CodeVersion]:
    """The code that actors got in a block, in the order of their executions."""
    return code_versions_in(result.block, result.receipts, result.events)


def code_versions_in(
    block: Block, receipts: Iterable[Receipt], events: Iterable[Event]
) -> Iterator[CodeVersion]:
    """The same of a block and what came of it."""
    height = block.header.height
    upgrades: dict[int | None, list[CodeVersion]] = {}
    for event in events:
        if event.emitter is None and event.topic == UPGRADED:
            told = cast("dict[str, bytes]", codec.decode(event.data))
            actor, code_hash = Address(told["actor"]), Hash32(told["code_hash"])
            version = CodeVersion(actor, height, code_hash)
            upgrades.setdefault(event.receipt_index, []).append(version)
    instructions = [one.body.instruction for one in block.transactions]
    for index, receipt in enumerate(receipts):
        asked = instructions[index] if index < len(instructions) else None
        if isinstance(asked, DeployActor) and receipt.failure is None:
            code_hash = Hash32(keccak256(asked.code))
            yield CodeVersion(receipt.actor, height, code_hash)
        yield from upgrades.get(index, ())


def code_version_heights(snapshot: StoreSnapshot) -> Iterator[int]:
    """The height of each record of code that an actor got."""
    prefix = keys.code_version(Address(b""))[: -keys.HEIGHT_BYTES - _INDEX_BYTES]
    for key, _ in snapshot.range(prefix, keys.prefix_stop(prefix)):
        yield decision_height(key)


def load_code_versions(
    snapshot: StoreSnapshot, actor: Address, above: int = 0
) -> list[CodeVersion]:
    """The code that an actor got above a height, in order.

    What happened before a chain was taken from a state file is not known.
    """
    first = keys.code_version(actor, above + 1)
    stop = keys.prefix_stop(
        keys.code_version(actor)[: -keys.HEIGHT_BYTES - _INDEX_BYTES]
    )
    at = -keys.HEIGHT_BYTES - _INDEX_BYTES
    return [
        CodeVersion(
            actor,
            Height(int.from_bytes(key[at:-_INDEX_BYTES], "big")),
            Hash32(code_hash),
        )
        for key, code_hash in snapshot.range(first, stop)
    ]


# --- timers ------------------------------------------------------------------------


class PlacedDecision(Struct, frozen=True):
    """A decision about a timer, and its place among all that were taken."""

    height: Height
    index: int
    """In the block's trace."""
    decision: TimerDecision


def load_timer_decisions(
    snapshot: StoreSnapshot, timer_id: bytes
) -> list[tuple[Height, TimerDecision]]:
    """All decisions about a timer but its put-offs, with their heights, in order.

    The first is how it was scheduled, the last, if `is_final`, how it ended.
    """
    return [
        (placed.height, placed.decision)
        for placed in load_timer_life(snapshot, timer_id)
    ]


def load_timer_life(
    snapshot: StoreSnapshot, timer_id: bytes, latest: int | None = None
) -> list[PlacedDecision]:
    """The same with their places; the first and the so many `latest` ones."""
    at = -keys.HEIGHT_BYTES - _INDEX_BYTES
    pairs = ((key[at:], entry) for key, entry in _life(snapshot, timer_id))
    kept = [*islice(pairs, 1), *deque(pairs, latest)]
    return [
        PlacedDecision(
            Height(int.from_bytes(place[: keys.HEIGHT_BYTES], "big")),
            int.from_bytes(place[keys.HEIGHT_BYTES :], "big"),
            decode_decision(entry),
        )
        for place, entry in kept
    ]


def timer_life_keys(snapshot: StoreSnapshot, timer_id: bytes) -> Iterator[bytes]:
    """The keys under which that life is kept."""
    return (key for key, _ in _life(snapshot, timer_id))


def decision_heights(snapshot: StoreSnapshot) -> Iterator[int]:
    """The height of each decision that is kept under its timer."""
    prefix = keys.timer_history(b"")[: -keys.HEIGHT_BYTES - _INDEX_BYTES]
    for key, _ in snapshot.range(prefix, keys.prefix_stop(prefix)):
        yield decision_height(key)


def decision_height(key: bytes) -> int:
    """The height in the key of a decision that is kept under its timer."""
    return int.from_bytes(key[-keys.HEIGHT_BYTES - _INDEX_BYTES : -_INDEX_BYTES], "big")


def _life(snapshot: StoreSnapshot, timer_id: bytes) -> Iterator[tuple[bytes, bytes]]:
    whole = keys.timer_history(timer_id)
    prefix = whole[: -keys.HEIGHT_BYTES - _INDEX_BYTES]
    # An id can be the beginning of a longer one: keys of another length are not its.
    for key, entry in snapshot.range(prefix, keys.prefix_stop(prefix)):
        if len(key) == len(whole):
            yield key, entry


def load_put_offs(
    snapshot: StoreSnapshot, known: TimerDecision, first: int, last: int
) -> Iterator[tuple[Height, int, PlacedDecision | None]]:
    """Put-offs of a timer at heights `first` to `last`, the latest first.

    `known` is any decision about it. They are in their blocks' traces alone, so each
    height is looked at: it comes with the bytes that were read for it, and with None
    where the timer was not put off. Stop when it costs too much.
    """
    place = known.due_height, known.numbers["sequence"]
    identity = known.timer_id, known.actor, known.fee_payer
    for height in range(last, first - 1, -1):
        data = snapshot.get(keys.timer_trace(height)) or b""
        put_off = None
        for index, decision in find_put_offs(data, place, identity) if data else ():
            put_off = PlacedDecision(Height(height), index, decision)
        yield Height(height), len(data), put_off


def load_put_off_count(snapshot: StoreSnapshot, height: Height) -> int:
    """How many timers the block at a height put off."""
    data = snapshot.get(keys.timer_trace(height))
    return count_put_offs(data) if data else 0


def load_trace(snapshot: StoreSnapshot, height: Height) -> tuple[TimerDecision, ...]:
    """Every decision about timers in the block at a height, in order."""
    return tuple(d for _, _, d in decisions_between(snapshot, height, height))


def load_entries(snapshot: StoreSnapshot, height: Height) -> tuple[TimerDecision, ...]:
    """The same of the block at a height without the timers that were put off."""
    data = snapshot.get(keys.timer_trace(height))
    return tuple(decision for _, decision in decode_entries(data)) if data else ()


def decisions_between(
    snapshot: StoreSnapshot, first: int, last: int, skipped: int = 0
) -> Iterator[tuple[Height, int, TimerDecision]]:
    """Decisions at heights `first` to `last`, each with its height and its index.

    The first `skipped` of height `first` are left out. What is not asked for is not
    decoded.
    """

    def identify(due_height: int, sequence: int) -> Identity:
        return _identify(snapshot, due_height, sequence)

    for height, data in _traces_between(snapshot, first, last):
        begin = skipped if height == first else 0
        for index, decision in decode_trace(data, identify, begin):
            yield height, index, decision


def entries_between(
    snapshot: StoreSnapshot, first: int, last: int, skipped: int = 0
) -> Iterator[tuple[Height, int, TimerDecision]]:
    """The same without put-offs."""
    for height, data in _traces_between(snapshot, first, last):
        begin = skipped if height == first else 0
        for index, decision in decode_entries(data, begin):
            yield height, index, decision


def _traces_between(
    snapshot: StoreSnapshot, first: int, last: int
) -> Iterator[tuple[Height, bytes]]:
    stop = keys.timer_trace(min(last, _HEIGHT_MAX)) + b"\0"
    for key, data in snapshot.range(keys.timer_trace(first), stop):
        yield Height(int.from_bytes(key[-keys.HEIGHT_BYTES :], "big")), data


def _identify(snapshot: StoreSnapshot, due_height: int, sequence: int) -> Identity:
    """Whose a place in the calendar is, or was.

    Raises:
        LookupError: Nobody's.
    """
    key = keys.timer(due_height, sequence)
    record = snapshot.get(key)
    if record is not None:
        timer = decode_timer(key, record)
        return timer.timer_id, timer.actor, timer.fee_payer
    start = keys.ended_timer(due_height, sequence)
    ended = next((v for _, v in snapshot.range(start, keys.prefix_stop(start))), None)
    if ended is None:
        raise LookupError(f"no timer was due at {due_height} with number {sequence}")
    return cast("Identity", tuple(codec.decode(ended)))  # type: ignore[arg-type]
