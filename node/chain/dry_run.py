"""Dry run of the blocks that would follow a state; nothing of it is kept.

It builds them as `Advance` does, over an overlay that is thrown away: what fires, what
it costs, who runs dry and when, if nobody sends anything more. Whoever drives it takes
one header at a time, so that other work can go between.

Rules: work is bounded by headers, cycles and keys written, whichever ends first; then
it says how far it came. The state it starts from does not change.
"""

from collections.abc import Sequence

from msgspec import Struct, field

from node.chain.accounts import load_account
from node.chain.advance import AdvanceSummary, BlockCount
from node.chain.advance_stop import stop_height
from node.chain.block import Header, Receipt, ReceiptKind
from node.chain.timers.timer import Decision, TimerDecision
from node.chain.transaction import Transaction
from node.chain.transition import BlockResult, Caches, State, build_next, next_state
from node.primitives.types import NOTHING, Address, Amount, Height
from node.state.journal import Journal

HEADERS_MAX = 5_000
"""Blocks and runs of a dry run: of small fires, some five seconds."""

CYCLES_MAX = 100_000_000
"""Of all its executions: some seconds."""

WRITES_MAX = 200_000
"""Keys that it holds in memory, at most."""

ENTRIES_MAX = 1_000
"""Fires, removals and payers that are told one by one; the others are counted."""


class DryRunPayer(Struct):
    """What an account pays for fires, and when it can no longer."""

    fires: int = 0
    fees: Amount = NOTHING
    dry_at: Height | None = None
    """The first height at which it cannot pay for a timer that is due."""
    is_waiting: bool = False
    """Whether the timer waits then, as under `bidding` (D45), and is not removed."""


class FutureFire(Struct, frozen=True):
    """A fire, and what would come of it."""

    height: Height
    receipt: Receipt


class FutureRemoval(Struct, frozen=True):
    """A timer that would expire, or be removed for want of funds."""

    height: Height
    decision: TimerDecision


class DryRun(Struct):
    """What the next blocks would bring, as far as it was looked at."""

    start: Header
    """The head that they follow."""
    stop: Height
    """Where it ends unless the work is too much."""
    state: State
    """After the blocks looked at; of the dry run alone."""
    summary: AdvanceSummary = field(default_factory=AdvanceSummary)
    fires: list[FutureFire] = field(default_factory=list)
    removals: list[FutureRemoval] = field(default_factory=list)
    payers: dict[Address, DryRunPayer] = field(default_factory=dict)
    headers: int = 0
    cycles: int = 0
    writes: int = 0

    @property
    def last_height(self) -> Height:
        """How far it came."""
        return self.state.head.height

    @property
    def is_complete(self) -> bool:
        """Whether it came to where it was to go."""
        return self.last_height >= self.stop

    @property
    def is_over(self) -> bool:
        """Whether no more is looked at."""
        return (
            self.is_complete
            or self.headers >= HEADERS_MAX
            or self.cycles >= CYCLES_MAX
            or self.writes >= WRITES_MAX
        )

    def balance(self, payer: Address) -> Amount:
        """What an account has left at the end."""
        return load_account(self.state.snapshot, payer).balance


def begin_dry_run(state: State, blocks: int) -> DryRun:
    """A dry run of the next blocks, none of them looked at yet.

    Raises:
        AdvanceRefused: no blocks, or more than there are heights.
    """
    stop = stop_height(state, BlockCount(blocks))
    caches = Caches(code=state.caches.code)
    overlay = Journal(state.snapshot)
    dry = State(state.params, state.head, overlay, caches)
    return DryRun(state.head, stop, dry)


def advance_dry_run(dry_run: DryRun, candidates: Sequence[Transaction] = ()) -> None:
    """Look at the next header: a block, or a run in which nothing happens."""
    state = dry_run.state
    result = build_next(state, candidates, dry_run.stop - state.head.height)
    overlay = state.snapshot
    assert isinstance(overlay, Journal), "a dry run stands on an overlay of its own"
    overlay.lay_over(result.writes)
    dry_run.state = next_state(state, result, overlay)
    _note(dry_run, result)


def _note(dry_run: DryRun, result: BlockResult) -> None:
    dry_run.headers += 1
    dry_run.cycles += result.header.cycles_used
    dry_run.writes += len(result.writes.changes)
    dry_run.summary.note(result)
    height = result.header.height
    for receipt in result.receipts:
        if receipt.kind is ReceiptKind.FIRE:
            _note_fire(dry_run, height, receipt)
    for decision in result.trace:
        if decision.decision in _REMOVALS:
            _note_removal(dry_run, height, decision)
        elif decision.decision is Decision.PUT_OFF and decision.reason == "funds":
            _note_dry(dry_run, height, decision)


_REMOVALS = (Decision.EXPIRED, Decision.REMOVED_INSUFFICIENT_FUNDS)


def _note_fire(dry_run: DryRun, height: Height, receipt: Receipt) -> None:
    payer = _payer(dry_run, receipt.payer)
    payer.fires += 1
    payer.fees = Amount(payer.fees + receipt.fee)
    if len(dry_run.fires) < ENTRIES_MAX:
        dry_run.fires.append(FutureFire(height, receipt))


def _note_removal(dry_run: DryRun, height: Height, decision: TimerDecision) -> None:
    if decision.decision is not Decision.EXPIRED:
        _note_dry(dry_run, height, decision)
    if len(dry_run.removals) < ENTRIES_MAX:
        dry_run.removals.append(FutureRemoval(height, decision))


def _note_dry(dry_run: DryRun, height: Height, decision: TimerDecision) -> None:
    payer = _payer(dry_run, decision.fee_payer)
    if payer.dry_at is None:
        payer.dry_at = height
        payer.is_waiting = decision.decision is Decision.PUT_OFF


def _payer(dry_run: DryRun, address: Address) -> DryRunPayer:
    """The account's entry; those beyond the bound are counted in the sums alone."""
    if address not in dry_run.payers and len(dry_run.payers) >= ENTRIES_MAX:
        return DryRunPayer()
    return dry_run.payers.setdefault(address, DryRunPayer())
