"""What the engine has made on the worker thread, and how a block is logged.

Building a block, committing it with its history and taking the new snapshot are one
job, so that a transaction costs one way to the worker and one back. Headers in which
only time passes and timers fire are made many at once, and brought to disk by one sync.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, Protocol

from msgspec import Struct, field

from node.archive.chain_store import ChainStore
from node.chain.errors import InvalidTransaction, TransactionFault
from node.chain.timers.timer import Decision
from node.chain.transaction import Body, DevInstruction, Transaction, impersonate
from node.chain.transition import BlockResult, State, build_next, next_state
from node.mempool import PoolLimits
from node.primitives.types import Amount
from node.query import BlockLookup, look_up_block
from node.runtime.clock import Clock
from node.runtime.feed import weigh
from node.runtime.memory_exhaustion import Exhausted, fail
from node.runtime.settings import FeedLimits
from node.runtime.stats import NodeStats, PhaseSeconds
from node.runtime.types import BlockNotice, MiningMode
from node.state.store import Store
from pvm.worker import Worker

__all__ = [
    "BuildRequest",
    "BuiltBlock",
    "EngineLog",
    "EngineParts",
    "EngineSettings",
    "dev_transaction",
    "left_out",
    "make_blocks",
    "note_block",
    "refuse_dev",
]


HEADERS_AT_ONCE = 64
"""Headers that one sync brings to disk: it costs as much as ten of them."""

SECONDS_AT_ONCE = 0.025
"""After which no further one is begun: so long readers wait, and who would stop it."""


class EngineLog(Protocol):
    """Where the engine says what became durable."""

    def info(self, event: str, /, **fields: object) -> object:
        """One line with keys."""
        ...


class EngineParts(Struct, frozen=True):
    """What an engine works with, and does not own."""

    store: Store
    worker: Worker
    clock: Clock
    log: EngineLog
    stats: NodeStats = field(default_factory=NodeStats)
    on_exhausted: Callable[[Exhausted], NoReturn] = fail
    """Is told, on the worker, that a block found no memory."""


class EngineSettings(Struct, frozen=True):
    """How an engine begins."""

    mode: MiningMode
    pace_ms: int
    is_dev_admitted: bool = True
    """Whether development instructions and impersonation are (D41), if the genesis
    says so."""
    pool: PoolLimits = field(default_factory=PoolLimits)
    feed: FeedLimits = field(default_factory=FeedLimits)
    keep_blocks: int | None = None
    """Of how many heights below the head all is kept; None: of all."""
    is_auto_timers: bool = False
    """Whether it advances to the next timer by itself when nothing is pending."""
    walls: tuple[str, ...] = ()
    """Which stand around this process, by the words of `walls.WALLS`."""
    folder: Path | None = None
    """Where the chain is kept; None keeps nothing."""


class BuildRequest(Struct, frozen=True):
    """What the next block, or the next headers, should be."""

    heights_max: int = 1
    is_empty_wanted: bool = True
    """Whether a block without any of its candidates is one."""
    is_done: Callable[[State], bool] | None = None
    """Of a state: whether no further header is wanted; None for never."""


class BuiltBlock(Struct, frozen=True):
    """A block that is durable, and not yet visible."""

    result: BlockResult
    state: State
    lookup: BlockLookup
    notice: BlockNotice
    """What readers are told."""
    weight_bytes: int
    """Of the notice."""
    seconds: PhaseSeconds


def make_blocks(
    state: State,
    candidates: tuple[Transaction, ...],
    clock: Clock,
    chain: ChainStore,
    request: BuildRequest,
    *,
    is_alone: bool,
) -> tuple[BuiltBlock, ...] | BlockResult:
    """Build what is wanted and commit it, all of it on disk on return; on the worker.

    One block, or headers in which only time passes, if `is_alone` says that nothing
    waits that could go into the next one (D36). If an empty block is not wanted, one
    that took no candidate is not committed: then its result says why.
    """
    if request.heights_max > 1 and is_alone:
        return _make_headers(state, clock, chain, request)
    began = clock.monotonic()
    result = build_next(state, candidates, request.heights_max)
    if not result.block.transactions and not request.is_empty_wanted:
        return result
    return (_commit(state, result, clock, chain, began=began, sync=True),)


def _make_headers(
    state: State, clock: Clock, chain: ChainStore, request: BuildRequest
) -> tuple[BuiltBlock, ...]:
    """One header at least, and more until others should have their turn."""
    began = now = clock.monotonic()
    made: list[BuiltBlock] = []
    last = state.head.height + request.heights_max
    while not made or (
        state.head.height < last
        and len(made) < HEADERS_AT_ONCE
        and now - began < SECONDS_AT_ONCE
        and not (request.is_done and request.is_done(state))
    ):
        result = build_next(state, (), last - state.head.height)
        made.append(_commit(state, result, clock, chain, began=now, sync=False))
        state, now = made[-1].state, clock.monotonic()
    if not all(built.result.is_empty for built in made):
        chain.sync()
    return tuple(made)


def _commit(
    state: State,
    result: BlockResult,
    clock: Clock,
    chain: ChainStore,
    *,
    began: float,
    sync: bool,
) -> BuiltBlock:
    built = clock.monotonic()
    snapshot = chain.commit(state.snapshot, state.head, result, sync=sync)
    following = next_state(state, result, snapshot)
    seconds = PhaseSeconds(built - began, clock.monotonic() - built)
    # Of thousands of events all this takes a while: not on the event loop.
    lookup = look_up_block(result.block, result.events)
    notice = BlockNotice(
        result.block,
        lookup.block_hash,
        result.receipts,
        result.events,
        result.trace,
    )
    return BuiltBlock(result, following, lookup, notice, weigh(notice), seconds)


def dev_transaction(state: State, nonce: int, instruction: DevInstruction) -> bytes:
    """A development instruction as if the proposer had signed it (D41)."""
    params = state.params
    free = Amount(0)
    body = Body(params.chain_id, nonce, 0, 0, free, free, free, free, instruction)
    return impersonate(body.encode(), params.proposer)


def left_out(transaction: Transaction) -> InvalidTransaction:
    """Why the block that was made for a development instruction did not take it."""
    return InvalidTransaction(
        TransactionFault.NONCE_GAP,
        "earlier transactions of the proposer, by whom it was sent, cannot go into "
        "a block: replace them",
        {"nonce": transaction.body.nonce},
    )


def note_block(
    parts: EngineParts, made: BuiltBlock, pool_transactions: int, seconds: float
) -> None:
    """Count a block and log it, in one line; `seconds`: until it was announced."""
    parts.stats.note_block(made.result, made.seconds)
    parts.stats.phases["publish"].observe(seconds)
    header, use = made.result.block.header, made.result.use
    decisions = Counter([decided.decision for decided in made.result.trace])
    parts.log.info(
        "block_committed",
        height=header.height,
        span=header.span,
        hash=made.lookup.block_hash.hex(),
        transactions=len(made.result.block.transactions),
        receipts=len(made.result.receipts),
        failed=len([r for r in made.result.receipts if r.failure is not None]),
        events=len(made.result.events),
        fires=decisions[Decision.FIRED],
        put_off=decisions[Decision.PUT_OFF],
        cycles=header.cycles_used,
        cells=header.cells_used,
        timer_cycles=use.timer_cycles,
        deferred_cycles=use.deferred_cycles,
        basefee_cycle=header.basefee_cycle,
        basefee_cell=header.basefee_cell,
        pool=pool_transactions,
        keys=len(made.result.writes.changes),
        build_ms=round(made.seconds.build * 1_000, 3),
        commit_ms=round(made.seconds.commit * 1_000, 3),
    )


def refuse_dev(transaction: Transaction) -> None:
    """Refuse what a node without development takes from nobody (D41)."""
    if transaction.is_dev or transaction.is_impersonated:
        raise InvalidTransaction(
            TransactionFault.NOT_DEV,
            "this node was started with --no-dev: it takes no development instructions "
            "and impersonates nobody",
        )
