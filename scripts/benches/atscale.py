"""The calendar with millions of pending timers: schedule, pass time, drain, prove.

Everything is what a node does: blocks are built over LevelDB, and committed with their
history and the records that take them back. How many timers wait can be set, and a
folder that `fill_timers.py` made can be used, since filling one takes minutes.
"""

import bisect
import os
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from benches.atscale_state import proof_rows, snapshot_rows
from benches.filling import (
    GAS_LIMIT,
    Stretch,
    all_tiers,
    fill,
    genesis,
    scheduler,
    settle,
)
from benches.heights import due_rows
from benches.report import Row, Section, median, progress
from benches.starting import memory_mib
from node import query
from node.archive.chain_store import ChainStore
from node.archive.opening import open_chain
from node.chain.block import ReceiptKind
from node.chain.timers import calendar
from node.chain.transaction import ExecuteActor, Transaction, decode_transaction
from node.chain.transition import BlockResult, State, build_next, next_state
from node.client import Wallet, build_body
from node.primitives import codec
from node.primitives.types import Amount
from node.runtime.block_builder import BuildRequest, make_blocks
from node.runtime.clock import SystemClock
from node.state.leveldb import LevelStore
from node.state.store import WriteSet
from pvm import Worker

TIMERS = 100_000
FEW_TIMERS = 10_000
FILLED_TITLE = "The calendar at scale, ten million timers"
BATCHES = 20
BATCH_TIMERS = 1_000
EMPTY_BLOCKS = 100
OPENINGS = 5
JUMPED_HEIGHTS = 1_000_000
JUMPED_TIMERS = 1_000
DRAINED_TIMERS = 100_000
PUT_OFF_TIMERS = 10_150
PUT_OFF_GAS_LIMIT = 550_000
"""Three of these fill the lane of a block."""
PUT_OFF_BLOCKS = 30

SCHEDULE_US_MAX = 200
SCHEDULE_RATIO_MAX = 6
EMPTY_MS_MAX = 1
EMPTY_WORST_MS_MAX = 20
ANONYMOUS_MIB_MAX = 300
OPEN_MS_MAX = 1_000
JUMP_MS_MAX = 50
JUMP_WITH_TIMERS_MS_MAX = 1_000
FIRES_PER_SECOND_MIN = 4_000
PUT_OFF_US_MAX = 5

_FAR = 10**9


class Chain:
    """A chain in a folder, driven as a node drives it."""

    def __init__(
        self, folder: Path, store: LevelStore, state: State, worker: Worker
    ) -> None:
        self.folder = folder
        self.store = store
        self.state = state
        self.worker = worker
        self.blocks = ChainStore(store)
        self.nonce = query.account(state, Wallet.dev(0).address).nonce
        """Of the one who schedules: the number of the next actor without timers."""

    def step(self, *transactions: Transaction, heights: int = 1) -> BlockResult:
        """The next header, committed."""
        return self.worker.run(lambda: self._step(transactions, heights))

    def _step(self, transactions: tuple[Transaction, ...], heights: int) -> BlockResult:
        result = build_next(self.state, transactions, heights)
        assert not result.rejected, result.rejected
        snapshot = self.blocks.commit(self.state.snapshot, self.state.head, result)
        self.state = next_state(self.state, result, snapshot)
        return result

    def pass_heights(self, heights: int) -> list[BlockResult]:
        """Headers on the way through so many heights, as the engine makes them."""
        clock = SystemClock()
        wanted = BuildRequest(heights)
        made = self.worker.run(
            lambda: make_blocks(
                self.state, (), clock, self.blocks, wanted, is_alone=True
            )
        )
        assert isinstance(made, tuple)
        self.state = made[-1].state
        return [one.result for one in made]

    def cpu(self) -> float:
        """Seconds that the executing thread has used."""
        return self.worker.run(time.thread_time)

    def schedule(self, heights: list[int]) -> Transaction:
        """A call that schedules a timer at each height."""
        payload = codec.encode(heights)
        body = build_body(
            ExecuteActor(scheduler(self.nonce), "arm", payload, Amount(0)),
            chain_id=self.state.params.chain_id,
            nonce=self.nonce,
            limits=(9_000_000, 3_000_000),
            max_fees=(10**9, 10**9),
        )
        self.nonce += 1
        return decode_transaction(Wallet.dev(0).sign(body))


@contextmanager
def _chain(
    stretches: tuple[Stretch, ...],
    filled: Path | None = None,
    gas_limit: int = GAS_LIMIT,
) -> Iterator[Chain]:
    """A chain with these timers, at rest; or the one in a folder."""
    with ExitStack() as parts:
        worker = parts.enter_context(Worker())
        if filled is not None:
            store = parts.enter_context(LevelStore(filled))
            state = open_chain(store, lambda _: genesis()).state
            yield Chain(filled, store, state, worker)
            return
        folder = Path(parts.enter_context(tempfile.TemporaryDirectory())) / "data"
        store = parts.enter_context(LevelStore(folder))
        state = fill(
            store, stretches, progress, schedulers=BATCHES + 1, gas_limit=gas_limit
        )
        settle(store, progress)
        yield Chain(folder, store, state, worker)


def measure_scale(filled: Path | None = None) -> Section:
    """All rows; `filled` is a folder that `fill_timers.py --schedulers` made."""
    few = _schedule_few()
    rows: list[Row] = []
    with _chain(all_tiers(TIMERS), filled) as chain:
        count = load_count(chain)
        rows += _schedule_rows(chain, count, few)
        rows.append(_empty_row(chain, count))
        rows.append(_memory_row(count))
        rows += due_rows(chain.state, count)
        rows += proof_rows(chain, count)
        rows += snapshot_rows(chain, count)
        chain.store.close()
        rows.append(_open_row(chain.folder, count))
    rows += [
        _jump_row(0, JUMP_MS_MAX),
        _jump_row(JUMPED_TIMERS, JUMP_WITH_TIMERS_MS_MAX),
    ]
    rows += [_drain_row(), _put_off_row()]
    method = (
        f"{count:,} timers wait, spread over ring, epoch queue and overflow, in "
        "LevelDB that has come to rest; blocks are committed with history and undo "
        "records, each synced in which anything happened, headers of a jump many at "
        "once. CPU is that of the executing thread. Ten million: `make bench-scale`."
    )
    title = "The calendar at scale" if filled is None else FILLED_TITLE
    return Section(title, method, tuple(rows))


def load_count(chain: Chain) -> int:
    """How many timers were accepted: none has left."""
    return query.chain_status(chain.state).globals.timer_sequence


# --- schedule ------------------------------------------------------------------------


class _Scheduled(Struct, frozen=True):
    """What one timer cost in a batch, in microseconds."""

    whole: float
    cpu: float
    reads: float
    writes: float


def _schedule_few() -> _Scheduled:
    with _chain(all_tiers(FEW_TIMERS)) as chain:
        return _schedule(chain)


def _schedule(chain: Chain) -> _Scheduled:
    source = random.Random(6)  # noqa: S311 - a bench
    last = chain.state.head.height + 3 * BATCHES + EMPTY_BLOCKS
    whole, cpu, reads, writes = [], [], [], []
    chain.step(chain.schedule([last + 1]))  # compiles the actor
    for _ in range(BATCHES):
        # A third of the new timers for each of the tiers.
        spans = [(last, last + 200), (last + 300, 80_000), (100_000, 2_000_000)]
        heights = [source.randint(*spans[number % 3]) for number in range(BATCH_TIMERS)]
        transaction = chain.schedule(heights)
        before = chain.state.snapshot
        used, began = chain.cpu(), time.perf_counter()
        result = chain.step(transaction)
        whole.append(time.perf_counter() - began)
        cpu.append(chain.cpu() - used)
        assert len(result.receipts[0].scheduled) == BATCH_TIMERS, result.receipts[0]
        began = time.perf_counter()
        for key in result.undo.changes:
            before.get(key)
        reads.append(time.perf_counter() - began)
        began = time.perf_counter()
        # The same once more: what LevelDB takes for it alone.
        chain.store.commit(result.writes, sync=True)
        writes.append(time.perf_counter() - began)
    scale = 1_000_000 / BATCH_TIMERS
    return _Scheduled(*(median(taken) * scale for taken in (whole, cpu, reads, writes)))


def _schedule_rows(chain: Chain, count: int, few: _Scheduled) -> Iterator[Row]:
    many = _schedule(chain)
    ratio = many.whole / few.whole
    yield Row(
        f"schedule one more with {count:,} pending, batches of {BATCH_TIMERS:,}",
        f"{many.whole:.0f} µs each",
        f"CPU {many.cpu:.0f} µs; raw LevelDB: reads {many.reads:.0f} µs, writes "
        f"{many.writes:.0f}; into a sorted list in memory: {_insort_us(count):.1f} µs",
        f"< {SCHEDULE_US_MAX} µs",
        many.whole < SCHEDULE_US_MAX,
    )
    yield Row(
        f"the same against {FEW_TIMERS:,} pending",
        f"{ratio:.1f} times",
        f"with {FEW_TIMERS:,}: {few.whole:.0f} µs, CPU {few.cpu:.0f}, reads "
        f"{few.reads:.0f}, writes {few.writes:.0f}",
        f"at most {SCHEDULE_RATIO_MAX} times",
        ratio <= SCHEDULE_RATIO_MAX,
    )


def _insort_us(count: int) -> float:
    source = random.Random(7)  # noqa: S311 - a bench
    ordered = list(range(min(count, 1_000_000)))
    began = time.perf_counter()
    for _ in range(BATCH_TIMERS):
        bisect.insort(ordered, source.randrange(count))
    return (time.perf_counter() - began) * 1_000_000 / BATCH_TIMERS


# --- time passes ---------------------------------------------------------------------


def _empty_row(chain: Chain, count: int) -> Row:
    taken = []
    for _ in range(EMPTY_BLOCKS):
        began = time.perf_counter()
        result = chain.step()
        taken.append((time.perf_counter() - began) * 1_000)
        assert result.is_empty
    middle, worst = median(taken), max(taken)
    puts = []
    for _ in range(EMPTY_BLOCKS):
        began = time.perf_counter()
        chain.store.commit(WriteSet({b"hbench": b""}), sync=False)
        puts.append((time.perf_counter() - began) * 1_000)
    return Row(
        f"empty block with {count:,} pending",
        f"{middle:.2f} ms, at most {worst:.1f}",
        f"an unsynced put of LevelDB: {median(puts):.3f} ms",
        f"< {EMPTY_MS_MAX} ms, none over {EMPTY_WORST_MS_MAX}",
        middle < EMPTY_MS_MAX and worst < EMPTY_WORST_MS_MAX,
    )


def _memory_row(count: int) -> Row:
    rss, anonymous = memory_mib(os.getpid())
    return Row(
        f"memory with {count:,} pending, after the rows above",
        f"anonymous {anonymous:.0f} MiB",
        f"RSS {rss:.0f} MiB: mapped tables of LevelDB are the rest",
        f"anonymous < {ANONYMOUS_MIB_MAX} MiB",
        anonymous < ANONYMOUS_MIB_MAX,
    )


def _open_row(folder: Path, count: int) -> Row:
    whole, bare = [], []
    for _ in range(OPENINGS):
        began = time.perf_counter()
        with LevelStore(folder):
            bare.append((time.perf_counter() - began) * 1_000)
        began = time.perf_counter()
        with LevelStore(folder) as store:
            open_chain(store, lambda _: genesis())
            whole.append((time.perf_counter() - began) * 1_000)
    return Row(
        f"opening a folder with {count:,} pending",
        f"{median(whole):.0f} ms, at most {max(whole):.0f}",
        f"LevelDB alone: {median(bare):.0f} ms",
        f"< {OPEN_MS_MAX} ms",
        max(whole) < OPEN_MS_MAX,
    )


def _jump_row(timers: int, limit_ms: int) -> Row:
    stretches = (Stretch(FEW_TIMERS, _FAR, _FAR + FEW_TIMERS),)
    if timers:
        stretches = (Stretch(timers, 100, JUMPED_HEIGHTS - 100), *stretches)
    with _chain(stretches) as chain:
        target = chain.state.head.height + JUMPED_HEIGHTS
        headers = fires = 0
        used, began = chain.cpu(), time.perf_counter()
        while chain.state.head.height < target:
            results = chain.pass_heights(target - chain.state.head.height)
            headers += len(results)
            fires += sum(len(result.receipts) for result in results)
        spent = (time.perf_counter() - began) * 1_000
        cpu = (chain.cpu() - used) * 1_000
        written = _puts_ms(chain, headers)
    assert fires == timers
    return Row(
        f"jump of {JUMPED_HEIGHTS:,} heights with {timers:,} timers due",
        f"{spent:.0f} ms",
        f"{headers:,} headers, {fires:,} fires; CPU of the executing thread {cpu:.0f} "
        f"ms; {headers:,} unsynced puts of LevelDB: {written:.0f} ms",
        f"< {limit_ms} ms",
        spent < limit_ms,
    )


def _puts_ms(chain: Chain, count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        chain.store.commit(WriteSet({b"hbench": bytes(1_000)}), sync=False)
    return (time.perf_counter() - began) * 1_000


# --- drain ---------------------------------------------------------------------------


def _drain_row() -> Row:
    height = 5
    with _chain((Stretch(DRAINED_TIMERS, height, height),)) as chain:
        chain.step(heights=height - 1 - chain.state.head.height)
        timers = calendar.timers_between(chain.state.snapshot, height, height)
        wanted = [timer.timer_id for timer in timers]
        order: list[bytes] = []
        put_off, taken, used, raw = 0, [], chain.cpu(), []
        while len(order) < DRAINED_TIMERS:
            began = time.perf_counter()
            result = chain.step()
            taken.append(time.perf_counter() - began)
            fires = [r for r in result.receipts if r.kind is ReceiptKind.FIRE]
            order += [receipt.id for receipt in fires]
            put_off += len(result.trace) - len(fires)
            began = time.perf_counter()
            chain.store.commit(result.writes, sync=True)  # the same once more
            raw.append((time.perf_counter() - began) * 1_000_000 / len(fires))
        cpu = chain.cpu() - used
    assert order == wanted, "the order is that of the rules"
    rate = DRAINED_TIMERS / sum(taken)
    return Row(
        f"one height with {DRAINED_TIMERS:,} timers of gas_limit 2,000 due",
        f"{rate:,.0f} fires/s",
        f"{len(taken)} blocks, {put_off:,} put off on the way; by CPU of the executing "
        f"thread {DRAINED_TIMERS / cpu:,.0f}/s; what LevelDB writes for it: "
        f"{median(raw):.0f} µs a fire; from a sorted list in memory: "
        f"{_cut_us():.2f} µs",
        f"> {FIRES_PER_SECOND_MIN:,}/s",
        rate > FIRES_PER_SECOND_MIN,
    )


def _cut_us() -> float:
    ordered = list(range(DRAINED_TIMERS))
    began = time.perf_counter()
    while ordered:
        del ordered[:BATCH_TIMERS]
    return (time.perf_counter() - began) * 1_000_000 / DRAINED_TIMERS


def _put_off_row() -> Row:
    """Blocks in which nearly every timer waits, each known from the block before."""
    height, count = 5, PUT_OFF_TIMERS
    waiting, taken = [], []
    stretches = (Stretch(count, height, height),)
    with _chain(stretches, gas_limit=PUT_OFF_GAS_LIMIT) as chain:
        chain.step(heights=height - chain.state.head.height)
        while chain.state.head.height < height:
            chain.step()
        for _ in range(PUT_OFF_BLOCKS):
            began = time.perf_counter()
            result = chain.step()
            spent = time.perf_counter() - began
            waiting.append(len(result.trace) - len(result.receipts))
            taken.append(spent * 1_000_000 / waiting[-1])
    return Row(
        "one timer put off for another block",
        f"{median(taken):.1f} µs, at most {max(taken):.1f}",
        f"{PUT_OFF_BLOCKS} blocks whole, in each {min(waiting):,} and more put off and "
        f"{len(result.receipts)} fired",
        f"< {PUT_OFF_US_MAX} µs",
        median(taken) < PUT_OFF_US_MAX,
    )
