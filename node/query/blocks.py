"""Blocks and transactions: what happened, at every height."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from node.chain.block import Block, Event, Header, Receipt
from node.chain.fees import idle_basefee, idle_lane_basefee
from node.chain.timers.timer import TimerDecision
from node.chain.transaction import Transaction
from node.chain.transition import State
from node.history import (
    headers_after,
    load_block,
    load_header_over,
    load_height_by_hash,
    load_put_off_count,
    load_results,
    load_run_config,
    load_trace,
    load_transaction_location,
)
from node.primitives import codec
from node.primitives.types import Hash32, Height
from node.query.errors import HeightNotReached, HistoryNotKept, MissingKind, NotFound
from node.query.pagination import Budget
from node.state import keys
from node.state.retention import load_oldest
from node.state.store import StoreSnapshot

_PUT_OFF_COST = 60
"""Bytes of a block that a put-off counts as: a trace has next to none of one."""

_RESULT_COST = 1 << 10
"""Bytes of a page that a receipt or event counts as: decoding is what it costs."""


class Run(Struct, frozen=True):
    """A run of empty blocks: one header for the heights `first` to `last` (D36)."""

    first: Height
    last: Height


class BlockView(Struct, frozen=True):
    """A block with its hash and what came of it.

    Of a height inside a run it is the empty block that would stand there: its own
    height, timestamp and basefees, the hash of the run's header, and no state root,
    which only the end of the run has.
    """

    block: Block
    block_hash: Hash32
    receipts: tuple[Receipt, ...] = ()
    events: tuple[Event, ...] = ()
    run: Run | None = None
    trace: tuple[TimerDecision, ...] = ()
    """Decisions about timers, where they were asked for."""


def block_at(state: State, height: int) -> BlockView:
    """The block at a height.

    Raises:
        HeightNotReached: It is above the head.
        HistoryNotKept: It is not kept any more.
    """
    if height <= state.head.height:
        require_contents(state.snapshot, height)
        header = load_header_over(state.snapshot, height)
        if header is not None and header.span > 1:
            return _within_run(state, header, Height(height))
        view = find_block(state.snapshot, Height(height))
        if view is not None:
            return view
    raise HeightNotReached(height, state.head.height)


def _within_run(state: State, header: Header, height: Height) -> BlockView:
    config = load_run_config(state.snapshot, header.height)
    first = Height(header.height - header.span + 1)
    passed = height - first
    shown = replace(
        header,
        height=height,
        timestamp_ms=state.params.timestamp_ms(height),
        basefee_cycle=idle_basefee(
            header.basefee_cycle, config.target_cycles, config, passed
        ),
        basefee_cell=idle_basefee(
            header.basefee_cell, config.target_cells, config, passed
        ),
        basefee_lane=idle_lane_basefee(header.basefee_lane, passed),
        state_root=header.state_root if height == header.height else Hash32(b""),
    )
    return BlockView(
        Block(shown, ()), header.hash(), run=Run(first, Height(header.height))
    )


def block_by_hash(state: State, block_hash: bytes) -> BlockView:
    """The block with a hash.

    Raises:
        NotFound: BLOCK.
    """
    return block_at(state, height_of(state, block_hash))


def height_of(state: State, block_hash: bytes) -> Height:
    """The height of the block with a hash.

    Raises:
        NotFound: BLOCK.
    """
    height = load_height_by_hash(state.snapshot, block_hash)
    if height is None:
        raise NotFound(MissingKind.BLOCK, block_hash)
    return height


def find_block(
    snapshot: StoreSnapshot, height: Height, *, is_trace_wanted: bool = False
) -> BlockView | None:
    """The block at a height, or None."""
    block = load_block(snapshot, height)
    if block is None:
        return None
    require_contents(snapshot, height)
    receipts, events = load_results(snapshot, height)
    trace = load_trace(snapshot, height) if is_trace_wanted else ()
    return BlockView(block, block.header.hash(), receipts, events, trace=trace)


def content_bytes(snapshot: StoreSnapshot, height: int) -> int:
    """What the records of a block's content have, to tell a large one from a small."""
    key_of_each = (keys.body, keys.receipts, keys.timer_trace)
    records = (snapshot.get(key_of(Height(height))) for key_of in key_of_each)
    size = sum(len(record) for record in records if record is not None)
    return size + load_put_off_count(snapshot, Height(height)) * _PUT_OFF_COST


def require_contents(snapshot: StoreSnapshot, height: int) -> None:
    """Refuse a block whose transactions, receipts and decisions are not kept.

    Genesis has none that could be missing.

    Raises:
        HistoryNotKept: It lies below those that are kept.
    """
    oldest = load_oldest(snapshot).contents
    if 0 < height < oldest:
        raise HistoryNotKept(height, oldest, "what happened in")


def receipt_at(snapshot: StoreSnapshot, height: Height, index: int) -> Receipt | None:
    """One receipt of a block; None where they are not kept."""
    receipts, _ = load_results(snapshot, height)
    return receipts[index] if height >= load_oldest(snapshot).contents else None


def is_in_chain(snapshot: StoreSnapshot, height: int, block_hash: bytes) -> bool:
    """Whether the block at a height, or the run that it lies in, has this hash."""
    header = load_header_over(snapshot, height)
    return header is not None and header.hash() == block_hash


def next_height(snapshot: StoreSnapshot, height: int) -> Height | None:
    """The height of the first header above one, or None at the head."""
    header = next(iter(headers_after(snapshot, height)), None)
    return None if header is None else header.height


def blocks_page(
    state: State,
    start: int,
    count: int,
    *,
    is_descending: bool,
    is_header_wanted_only: bool = False,
) -> tuple[tuple[BlockView, ...], Height | None]:
    """Blocks from a height on, and the height of the next page, None at the end.

    A run is one entry, at its last height.

    Raises:
        HistoryNotKept: The first of them is not kept.
    """
    views: list[BlockView] = []
    budget = Budget(count)
    height = min(start, state.head.height) if is_descending else start
    while 0 <= height <= state.head.height:
        if budget.is_spent:
            return tuple(views), Height(height)
        try:
            view = _listed(state, height, is_header_wanted_only=is_header_wanted_only)
        except HistoryNotKept:
            if views:  # whoever asks for the next page is told
                return tuple(views), Height(height)
            raise
        header = view.block.header
        budget.examine(_RESULT_COST * (len(view.receipts) + len(view.events)))
        budget.take()
        views.append(view)
        height = header.height - header.span if is_descending else header.height + 1
    return tuple(views), None


def _listed(state: State, height: int, *, is_header_wanted_only: bool) -> BlockView:
    """The block of the header that stands for a height."""
    oldest = load_oldest(state.snapshot).header
    if 0 < height < oldest:
        raise HistoryNotKept(height, oldest, "the header of")
    header = load_header_over(state.snapshot, height)
    assert header is not None, "every height up to the head has a header"
    if is_header_wanted_only:
        return BlockView(Block(header, ()), header.hash())
    return block_at(state, header.height)


class Committed(Struct, frozen=True):
    """A transaction is in a block, which is durable and visible."""

    transaction: Transaction
    height: Height
    index: int
    """Among the transactions of the block."""
    receipt: Receipt
    events: tuple[Event, ...]
    """Those of its execution."""
    event_indexes: tuple[int, ...]
    """Where each of them stands among the events of the block."""
    block_hash: Hash32


def committed_height(state: State, transaction_id: bytes) -> Height | None:
    """The height of the block that a transaction is in, or None."""
    location = load_transaction_location(state.snapshot, transaction_id)
    return None if location is None else location[0]


def find_transaction(state: State, transaction_id: bytes) -> Committed | None:
    """A committed transaction with its receipt, or None."""
    location = load_transaction_location(state.snapshot, transaction_id)
    if location is None:
        return None
    height, index = location
    block = load_block(state.snapshot, height)
    assert block is not None, "the index names a block that is not there"
    receipts, events = load_results(state.snapshot, height)
    return next(iter(committed_in(block, receipts, events, (index,))))


class BlockLookup(Struct, frozen=True):
    """What takes a while to find out about a block with many events."""

    block_hash: Hash32
    event_places: Mapping[int | None, Sequence[int]]
    """By receipt: where its events stand among those of the block."""


def look_up_block(block: Block, events: Iterable[Event]) -> BlockLookup:
    """Its hash, and which events belong to which receipt."""
    places: dict[int | None, list[int]] = {}
    for place, event in enumerate(events):
        places.setdefault(event.receipt_index, []).append(place)
    return BlockLookup(block.header.hash(), places)


def committed_in(
    block: Block,
    receipts: tuple[Receipt, ...],
    events: tuple[Event, ...],
    indexes: Iterable[int],
    lookup: BlockLookup | None = None,
) -> Iterator[Committed]:
    """Some of a block's transactions, by index, as committed.

    Transactions run first (D2): receipt i is transaction i's. Who looked
    the block up already gives what was found.
    """
    lookup = lookup or look_up_block(block, events)
    for index in indexes:
        receipt = receipts[index]
        assert receipt.id == block.transactions[index].id
        own = tuple(lookup.event_places.get(index, ()))
        yield Committed(
            block.transactions[index],
            block.header.height,
            index,
            receipt,
            tuple([events[place] for place in own]),
            own,
            lookup.block_hash,
        )


# --- warnings ----------------------------------------------------------------------


class Warnings(Enum):
    """What a reader should be told beside a success: of a receipt, or of a quote."""

    EXPIRES_BEFORE_DUE = "WARNING_EXPIRES_BEFORE_DUE"
    FEW_FIRES_FILL_A_BLOCK = "WARNING_FEW_FIRES_FILL_A_BLOCK"
    PAYER_CANNOT_PAY = "WARNING_PAYER_CANNOT_PAY"
    TIMER_LIMIT_REACHED = "WARNING_TIMER_LIMIT_REACHED"


def warnings_of(events: Iterable[Event]) -> dict[int, tuple[Warnings, ...]]:
    """Warnings by the index of the receipt that they belong to (D20)."""
    return {
        event.receipt_index: (Warnings.EXPIRES_BEFORE_DUE,)
        for event in events
        if event.topic == "TimerScheduled"
        and event.emitter is None
        and event.receipt_index is not None
        and _expires_before_due(event.data)
    }


def _expires_before_due(data: bytes) -> bool:
    numbers = cast("dict[str, object]", codec.decode(data))
    return numbers["expires_before_due"] is True
