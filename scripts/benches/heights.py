"""Ranges of heights in few numbers: a million timers, a hundred thousand blocks.

Blocks are told by totals that history keeps of them; here these are written as blocks
would leave them, without the blocks.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

from benches.filling import all_tiers, fill, genesis, settle
from benches.report import Row, Section, median, progress
from node import query
from node.archive.opening import open_chain
from node.chain.block_totals import BlockTotals, FeeRange
from node.chain.transition import State
from node.primitives.types import Amount, Height
from node.rpc import heights
from node.state import keys
from node.state.leveldb import LevelStore
from node.state.store import Store, WriteSet
from node.totals import RunningTotals, load_totals
from pvm import Worker

TIMERS = 1_000_000
BLOCKS = 100_000
ROUNDS = 5
WALKED = 20_000
"""Timers and headers that are read one by one, to compare with."""

RANGES = (
    (0, 255),
    (200, 1_200),
    (0, 86_400),
    (12_345, 40_000),
    (5_000_000, 5_100_000),
    (0, 20_000_000),
)
"""The ring, the epoch queue and the overflow set, from near and from afar."""

ANSWER_MS_MAX = 20
_BATCH_BLOCKS = 5_000
_MILLI = 1_000


def measure_heights() -> Section:
    """All rows."""
    with tempfile.TemporaryDirectory() as folder, Worker() as worker:
        with LevelStore(Path(folder) / "timers") as store:
            fill(store, all_tiers(TIMERS), progress)
            settle(store, progress)
            state = worker.run(lambda: open_chain(store, lambda _: genesis()).state)
            rows = list(due_rows(state, TIMERS))
        with LevelStore(Path(folder) / "blocks") as store:
            state = worker.run(lambda: open_chain(store, lambda _: genesis()).state)
            state = _with_blocks(store, state)
            settle(store, progress)
            rows += _lane_rows(replace(state, snapshot=store.snapshot()))
    method = (
        "Answers of `CountDueTimers` and `GetLaneUse` as they are made, encoding "
        "included, without the way over the wire: CPU of the thread. Of each range the "
        f"median of {ROUNDS}; the slowest range counts. What lies on disk and was not "
        "read yet takes longer once."
    )
    return Section("Many heights in few numbers", method, tuple(rows))


def due_rows(state: State, count: int) -> Iterator[Row]:
    """What is due over ranges of heights, among so many timers."""
    began = time.perf_counter()
    walked = 0
    first = keys.timer(0, 0)
    for _ in state.snapshot.range(first, keys.TIMERS_STOP):
        walked += 1
        if walked == WALKED:
            break
    each_us = (time.perf_counter() - began) * 1_000_000 / walked
    for buckets in (query.BUCKETS_DEFAULT, query.BUCKETS_MAX):
        taken = [_due_ms(state, range_, buckets) for range_ in RANGES]
        yield Row(
            f"what is due of {count:,} timers, up to {buckets:,} numbers",
            f"{min(taken):.1f} to {max(taken):.1f} ms",
            f"reading the timers alone: {each_us:.2f} µs each, "
            f"{each_us * count / _MILLI:,.0f} ms for all",
            f"< {ANSWER_MS_MAX} ms",
            max(taken) < ANSWER_MS_MAX,
        )


def _due_ms(state: State, range_: tuple[int, int], buckets: int) -> float:
    def answer() -> object:
        due = query.count_due(state, query.past_of(state), range_, buckets)
        return heights.due_timers_to_proto(due, state.head).SerializeToString()

    return _median_ms(answer)


def _lane_rows(state: State) -> Iterator[Row]:
    head = state.head.height
    began = time.perf_counter()
    each = load_totals(state.snapshot, 0, head - min(head, WALKED), head)
    read = sum(1 for _ in each)
    each_us = (time.perf_counter() - began) * 1_000_000 / read
    afar = (0, head), (head - min(head, 3_000), head), (head // 3, head // 2)
    for buckets in (query.BUCKETS_DEFAULT, query.BUCKETS_MAX):
        taken = [_lane_ms(state, range_, buckets) for range_ in afar]
        yield Row(
            f"how {BLOCKS:,} blocks used their lanes, up to {buckets:,} numbers",
            f"{min(taken):.1f} to {max(taken):.1f} ms",
            f"reading what each block has: {each_us:.1f} µs, "
            f"{each_us * BLOCKS / _MILLI:,.0f} ms for all",
            f"< {ANSWER_MS_MAX} ms",
            max(taken) < ANSWER_MS_MAX,
        )


def _lane_ms(state: State, range_: tuple[int, int], buckets: int) -> float:
    def answer() -> object:
        use = query.lane_use(state, query.past_of(state), range_, buckets)
        return heights.lane_use_to_proto(use, state.head).SerializeToString()

    return _median_ms(answer)


def _median_ms(answer: Callable[[], object]) -> float:
    taken = []
    answer()
    for _ in range(ROUNDS):
        began = time.thread_time()
        answer()
        taken.append((time.thread_time() - began) * _MILLI)
    return median(taken)


def _with_blocks(store: Store, state: State) -> State:
    """A chain with the totals of so many blocks above its head."""
    running = RunningTotals.load(store.snapshot(), state.head.height)
    head = state.head.height + BLOCKS
    changes: dict[bytes, bytes | None] = {}
    for height in range(state.head.height + 1, head + 1):
        totals = _totals(height)
        changes |= running.add(height, totals)
        changes[keys.block_totals(0, height)] = totals.encode()
        if len(changes) > _BATCH_BLOCKS or height == head:
            store.commit(WriteSet(changes), sync=False)
            changes = {}
    return replace(state, head=replace(state.head, height=Height(head)))


def _totals(height: int) -> BlockTotals:
    """Of a block with some of everything."""
    used = 3_000_000 + height % 977, 1_500_000 + height % 631, 40_000, 0, 400_000
    first = Amount(1_000 + height % 499)
    fees = FeeRange(first, first, first, first)
    burned = sum(used) * first
    counts = 1, 1, 1, 40, 60, 2, height % 3, 12, 500, 1, 0, 2
    return BlockTotals(*counts, *used, burned, burned // 7, *used, fees, fees, fees)
