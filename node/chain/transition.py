"""The state transition: read this first.

`apply_block` takes a state and a block and returns what came of it; `build_block` is
the same execution with candidates instead of a block. Neither reads a clock, draws a
random number or changes its arguments: same parent state, same block, same result
(D40). What is to be written leaves as data.

The steps of a block, under all rules (D2):

1. begin: activation and configurations in force (D1, D3)
2. transactions
3. timers (CIP-5 §5.1)
4. engine-deferred, 5. mailbox-deferred messages (D14)
6. fee update (D7), supply check (D10), roots, header

While nothing can happen, a run of empty blocks is one header with a span (D36):
`build_next` finds out how far it may reach.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from msgspec import Struct, field
from typing_extensions import override

from node.chain.accounts import decode_account
from node.chain.block import (
    Block,
    Encodings,
    Event,
    Header,
    Receipt,
    ReceiptKind,
    encode_results,
    list_root,
    show_block,
)
from node.chain.context import BlockContext, Execute, LaneUse, execute
from node.chain.deferred import run_part
from node.chain.errors import InvalidBlock, InvalidTransaction, TransactionFault
from node.chain.execution import execute_transaction
from node.chain.fees import idle_basefee, next_basefee
from node.chain.globals import (
    BlockPrices,
    Globals,
    Governed,
    derive_beacon,
    is_governed,
    load_globals,
    load_governed,
    save_globals,
)
from node.chain.mailbox import decode_message, is_any_pending
from node.chain.params import BasefeeConfig, ChainParams
from node.chain.timers.due_book import DueBook
from node.chain.timers.empty_runs import next_work_height
from node.chain.timers.globalbox.leaving import empty_queue
from node.chain.timers.rules import RULE_SETS
from node.chain.timers.rules.globalbox import Globalbox
from node.chain.timers.ruleset import Prospect, RuleSet
from node.chain.timers.tiers import TieredCalendar
from node.chain.timers.timer import TimerDecision
from node.chain.transaction import Transaction
from node.chain.validation import (
    exceeds_lane,
    require_same_header,
    validate_header,
)
from node.primitives.types import NOTHING, Amount, Hash32, Height
from node.state.commitment import TreeCaches, seal
from node.state.journal import Journal
from node.state.store import StoreSnapshot, WriteSet
from pvm import CodeCache, Environment
from pvm.errors import without_memory_errors
from pvm.output import Printout

_KNOWN_RULES = frozenset(RULE_SETS)


class Caches(Struct):
    """Memory that belongs to whoever drives the chain; nothing depends on it (D24)."""

    code: CodeCache = field(default_factory=CodeCache)
    trees: TreeCaches | None = None
    """Pages of the two trees; of use over a store on disk."""
    calendar: TieredCalendar | None = None
    """Of the state it names; made anew for any other."""
    known: "Known | None" = None
    execute: Execute = execute
    """How messages are executed; whatever it watches, it changes nothing."""


class Known(Struct, frozen=True, gc=False):
    """What holds in one state, so that the next block need not look.

    It names the state that it speaks of; in any other it is ignored.
    """

    params: ChainParams
    state_root: Hash32
    globals: Globals
    oldest_message: int
    """A height below which no waiting message was queued."""
    governed: Governed | None
    """None if the block that made the state may have changed it."""


class State(Struct, frozen=True):
    """A chain at a head: all that the next block is a function of."""

    params: ChainParams
    head: Header
    snapshot: StoreSnapshot
    caches: Caches = field(default_factory=Caches)


class BlockResult(Struct, frozen=True, gc=False):
    """What applying a block asks its driver to do, in this order.

    `writes`, and what history adds to them, become durable as one batch BEFORE the
    state after the block becomes visible to anybody; only AFTER that may receipts and
    events be announced. A driver that keeps the order loses nothing acknowledged.
    """

    block: Block
    receipts: tuple[Receipt, ...]
    events: tuple[Event, ...]
    trace: tuple[TimerDecision, ...]
    rejected: tuple[tuple[Transaction, InvalidTransaction], ...]
    """Candidates that were left out; those that `may_wait` stay in the pool."""
    writes: WriteSet
    undo: WriteSet
    """What turns the state after this block into the one before it."""
    use: LaneUse
    known: Known
    """Of the state after this block."""
    encodings: Encodings
    """Of `receipts` and `events`."""
    basefee_config: BasefeeConfig
    """In force in this block."""
    outputs: Mapping[int, Printout] = field(default_factory=dict)
    """What executions printed, by the index of their receipt; in no root (D59)."""

    @override
    def __repr__(self) -> str:
        return show_block(self.header, self.receipts, self.events)

    @property
    def header(self) -> Header:
        """Of the block."""
        return self.block.header

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened but time."""
        return not (self.receipts or self.events or self.trace)


def open_state(
    params: ChainParams,
    head: Header,
    snapshot: StoreSnapshot,
    caches: Caches | None = None,
) -> State:
    """The state at a head that a store holds."""
    return State(params, head, snapshot, caches or Caches())


def next_state(state: State, result: BlockResult, snapshot: StoreSnapshot) -> State:
    """The state after `result` was committed and `snapshot` taken of it."""
    calendar, head = calendar_of(state), result.header
    changes = result.writes.changes
    calendar.advance(snapshot, head.height, changes, head.state_root)
    state.caches.known = result.known
    return State(state.params, head, snapshot, state.caches)


def calendar_of(state: State) -> TieredCalendar:
    """The tiers of a state: those in memory, if they are of this one (D24)."""
    held, head = state.caches.calendar, state.head
    if (
        held is None
        or held.reader is not state.snapshot
        or held.state_root != head.state_root
    ):
        sizes = state.params.calendar
        held = TieredCalendar(state.snapshot, head.height, sizes, head.state_root)
        state.caches.calendar = held
    return held


@without_memory_errors
def build_block(
    state: State,
    candidates: Iterable[Transaction],
    prepare: Callable[[BlockContext], None] | None = None,
) -> BlockResult:
    """The next block from candidates, in their order; what does not fit is left out.

    What `prepare` does to it comes first: a block of a rehearsal, and of no chain.
    """
    return _execute(
        state, candidates, lambda _transaction, _error: None, prepare or _as_it_is
    )


def _as_it_is(_block: BlockContext) -> None:
    """Nothing is prepared."""


@without_memory_errors
def build_run(state: State, span: int) -> BlockResult:
    """`span` empty blocks as one header; of 1, the empty block (D36).

    Only time passes in it, so nothing may be due before its end: see `work_height`.
    """
    block = begin_block(state, span)
    block.rule_set.pass_time(block)
    return _seal(state, block, [], [])


@without_memory_errors
def build_next(
    state: State, candidates: Iterable[Transaction], heights_max: int
) -> BlockResult:
    """The next header on the way through `heights_max` heights, at least 1.

    A run as far as nothing can happen, if there are no candidates; else one block.
    Who passes many heights calls it until they are passed: that costs what happens in
    them, and every way to pass them leads to the same state.
    """
    transactions = tuple(candidates)
    if transactions or heights_max == 1:
        return build_block(state, transactions)
    work = work_height(state)
    last = state.head.height + heights_max
    if work is not None and work <= last:
        last = max(work - 1, state.head.height + 1)
    span = last - state.head.height
    return build_run(state, span) if span > 1 else build_block(state, ())


def work_height(state: State) -> Height | None:
    """The least height above the head whose block may not be empty; None for never.

    Transactions aside, of which the state knows nothing (D36).
    """
    return next_work_height(*prospect(state))


def next_timer_height(state: State) -> Height | None:
    """The least height above the head at which a timer is examined, if there is one."""
    view, rules = prospect(state)
    return rules.wake_height(view)


def prospect(state: State) -> tuple[Prospect, RuleSet]:
    """What is known of the heights above the head, and the rules in force there."""
    known, head = _known_of(state), state.head.height
    governed = head_governed(state)
    names = governed.rules_at(head), governed.rules_at(head + 1)
    view = Prospect(
        state.snapshot,
        head,
        _prices(known.globals, *names),
        governed.timer_config,
        governed.basefee_config,
        state.params.calendar.epoch_length,
        calendar_of(state),
        is_entering=len(set(names)) > 1,
        activation=next((h for h, _ in governed.activations if h > head), None),
    )
    return view, RULE_SETS[names[1]]


def _prices(before: Globals, rules_before: str, rules: str) -> BlockPrices:
    """In force in a block, after another under the same rules or not (D29)."""
    lane, p50 = before.basefee_lane, before.p50_priority
    if rules != rules_before:
        lane, p50 = RULE_SETS[rules].first_lane_basefee(before.basefee_cycle), NOTHING
    return BlockPrices(before.basefee_cycle, before.basefee_cell, lane, p50)


def head_globals(state: State) -> Globals:
    """The globals that the head left: prices of the next block, totals."""
    return _known_of(state).globals


def head_governed(state: State) -> Governed:
    """What governance decided, whenever it comes into force."""
    known = _known_of(state)
    return known.governed or load_governed(state.snapshot, state.params)


def is_fee_at_rest(state: State) -> bool:
    """Whether empty blocks no longer change what a transaction costs (D7)."""
    globals_ = head_globals(state)
    config = head_governed(state).basefee_config
    return all(
        next_basefee(fee, 0, config.target_cycles, config) == fee
        for fee in (globals_.basefee_cycle, globals_.basefee_cell)
    )


@without_memory_errors
def apply_block(state: State, block: Block) -> BlockResult:
    """Apply `block` to `state`.

    Raises:
        InvalidBlock: it is not the next block, contains a transaction that cannot be
            included, reaches over a height at which something is due, or leads
            elsewhere than its header says.
        HostMemoryExhausted: this machine has no memory left; nothing is a result.
    """
    validate_header(state.head, block.header, state.params)
    if block.header.span > 1:
        _validate_run(state, block)
        result = build_run(state, block.header.span)
    else:
        result = _execute(state, block.transactions, on_invalid=_refuse)
    require_same_header(block.header, result.block.header)
    return result


def _validate_run(state: State, block: Block) -> None:
    if block.transactions:
        raise InvalidBlock("a run of empty blocks has no transactions")
    work = work_height(state)
    if work is not None and work <= block.header.height:
        raise InvalidBlock(
            f"a run to height {block.header.height} reaches over height {work}, "
            "at which something is due"
        )


def _refuse(transaction: Transaction, error: InvalidTransaction) -> None:
    raise InvalidBlock(f"transaction {transaction.id.hex()}: {error}") from error


def _execute(
    state: State,
    candidates: Iterable[Transaction],
    on_invalid: Callable[[Transaction, InvalidTransaction], None],
    prepare: Callable[[BlockContext], None] = _as_it_is,
) -> BlockResult:
    block = begin_block(state)
    prepare(block)
    included: list[Transaction] = []
    rejected: list[tuple[Transaction, InvalidTransaction]] = []
    full: InvalidTransaction | None = None
    for transaction in candidates:
        try:
            if full and exceeds_lane(block, transaction):
                raise full  # like one before it, so a crowd costs little
            execute_transaction(block, transaction)
            included.append(transaction)
        except InvalidTransaction as error:
            on_invalid(transaction, error)
            # Tracebacks of ten thousand would be work for the garbage collector.
            rejected.append((transaction, error.with_traceback(None)))
            is_full = error.fault is TransactionFault.BLOCK_FULL
            if is_full and exceeds_lane(block, transaction):
                full = error
    run_scheduled(block)
    return _seal(state, block, included, rejected)


def run_scheduled(block: BlockContext) -> None:
    """Timers and messages of a block, after its transactions (D2)."""
    if block.rule_set.name != Globalbox.name:
        empty_queue(block)
    block.rule_set.run_lane(block)
    if is_any_pending(block.journal):
        run_part(block, ReceiptKind.ENGINE_MESSAGE)
        run_part(block, ReceiptKind.MAILBOX_MESSAGE)
    block.rule_set.finish(block)


def _seal(
    state: State,
    block: BlockContext,
    included: list[Transaction],
    rejected: list[tuple[Transaction, InvalidTransaction]],
) -> BlockResult:
    after = _advance_globals(block)
    save_globals(block.journal, after)
    writes, undo = block.journal.write_and_undo()
    state_root, tree_writes, tree_undo = seal(
        block.journal, state.snapshot, state.caches.trees, writes
    )
    check_supply(state.snapshot, writes, block.before, after)
    encodings = encode_results(block.receipts, block.events)
    header = _header(state, block, included, (state_root, encodings))
    return BlockResult(
        block=Block(header, tuple(included)),
        receipts=tuple(block.receipts),
        events=tuple(block.events),
        trace=tuple(block.trace),
        rejected=tuple(rejected),
        writes=writes | tree_writes,
        undo=undo | tree_undo,
        use=block.use(),
        known=_known_after(block, state_root, after, writes),
        encodings=encodings,
        basefee_config=block.basefee_config,
        outputs=block.outputs,
    )


def begin_block(state: State, span: int = 1) -> BlockContext:
    """What is in force in the next block: rules, configurations, basefees (D1, D3)."""
    journal, params = Journal(state.snapshot), state.params
    known = _known_of(state)
    before = known.globals
    governed = head_governed(state)
    height = Height(before.height + span)
    environment = Environment(
        chain_id=params.chain_id,
        height=height,
        timestamp_ms=params.timestamp_ms(height),
        beacon=partial(derive_beacon, params.chain_id, height),
    )
    rules, rules_before = governed.rules_at(height), governed.rules_at(before.height)
    block = BlockContext(
        params=params,
        journal=journal,
        environment=environment,
        before=before,
        prices=_prices(before, rules_before, rules),
        rule_set=RULE_SETS[rules],
        known_rules=_KNOWN_RULES,
        governed=governed,
        code_cache=state.caches.code,
        calendar=calendar_of(state),
        due_book=DueBook(journal, calendar_of(state)),
        timer_sequence=before.timer_sequence,
        parent_state_root=state.head.state_root,
        oldest_message=known.oldest_message,
        oldest_left=height,
        execute=state.caches.execute,
    )
    if rules != rules_before:
        RULE_SETS[rules_before].leave(block)
    block.rule_set.enter(block, is_first=rules != rules_before)
    return block


def _advance_globals(block: BlockContext) -> Globals:
    """Height, time, next basefees, totals (D7, D10)."""
    before, config = block.before, block.basefee_config
    idle = block.span - 1  # heights of a run, of which nothing was used
    basefee_lane, p50_priority = block.rule_set.next_prices(block)
    cycles = block.cycles
    basefee_cycle, basefee_cell = before.basefee_cycle, before.basefee_cell
    if idle:
        basefee_cycle = idle_basefee(basefee_cycle, config.target_cycles, config, idle)
        basefee_cell = idle_basefee(basefee_cell, config.target_cells, config, idle)
    return Globals(
        height=Height(block.height),
        timestamp_ms=block.environment.timestamp_ms,
        basefee_cycle=next_basefee(basefee_cycle, cycles, config.target_cycles, config),
        basefee_cell=next_basefee(
            basefee_cell, block.cells, config.target_cells, config
        ),
        basefee_lane=basefee_lane,
        last_cycles_used=cycles,
        p50_priority=p50_priority,
        minted=Amount(before.minted + block.minted),
        burned_cycle=Amount(before.burned_cycle + block.burned_cycle),
        burned_cell=Amount(before.burned_cell + block.burned_cell),
        burned_lane=Amount(before.burned_lane + block.burned_lane),
        timer_sequence=block.timer_sequence,
    )


def check_supply(
    snapshot: StoreSnapshot, writes: WriteSet, before: Globals, after: Globals
) -> None:
    """Δminted = Δbalances + Δburned + Δheld, on the block's own writes (D10).

    A difference is a defect of this program: nothing may be committed after it.
    """
    balances = held = 0
    for key, record in writes.changes.items():
        family = key[:2]
        if family == b"sa":
            old = snapshot.get(key)
            balances += decode_account(record).balance if record else 0
            balances -= decode_account(old).balance if old else 0
        elif family in (b"se", b"sm"):
            old = snapshot.get(key)
            held += decode_message(key, record).prepaid if record else 0
            held -= decode_message(key, old).prepaid if old else 0
    minted = after.minted - before.minted
    burned = after.burned - before.burned
    assert minted == balances + burned + held, (
        f"supply: minted {minted} is not balances {balances} + burned {burned} "
        f"+ held {held}"
    )


def _header(
    state: State,
    block: BlockContext,
    included: list[Transaction],
    outcome: tuple[Hash32, Encodings],
) -> Header:
    state_root, encodings = outcome
    return Header(
        height=Height(block.height),
        parent_hash=state.head.hash(),
        timestamp_ms=block.environment.timestamp_ms,
        span=block.span,
        proposer=state.params.proposer,
        basefee_cycle=block.prices.basefee_cycle,
        basefee_cell=block.prices.basefee_cell,
        basefee_lane=block.prices.basefee_lane,
        cycles_used=block.cycles,
        cells_used=block.cells,
        transactions_root=list_root([t.raw for t in included]),
        receipts_root=list_root(encodings.receipts),
        events_root=list_root(encodings.events),
        state_root=state_root,
    )


def _known_of(state: State) -> Known:
    """What the last block left, if it left this state.

    Else from the snapshot, not through the journal: whether something was read before
    it is written shows in a write set, which must not depend on caches.
    """
    known, root = state.caches.known, state.head.state_root
    if known is None or known.state_root != root or known.params is not state.params:
        globals_ = load_globals(state.snapshot)
        return Known(state.params, root, globals_, 0, None)
    return known


def _known_after(
    block: BlockContext, state_root: Hash32, after: Globals, writes: WriteSet
) -> Known:
    is_changed = any(map(is_governed, writes.changes))
    governed = None if is_changed else block.governed
    return Known(block.params, state_root, after, block.oldest_left, governed)
