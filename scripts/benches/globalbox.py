"""Rules `globalbox`: fires beside `fifo`, and blocks beside a million queued fires.

The queue and the watches are put into a store through the chain's own functions, not
executed: a state that a chain could have. Each block is then built and committed.
"""

import gc
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from benches.inprocess import fires_per_second
from benches.report import Row, Section, interleave, median, median_ratio
from node import history
from node.chain.accounts import Account, save_account
from node.chain.block import Header
from node.chain.genesis import build_genesis, override, parse_genesis
from node.chain.globals import load_globals, save_globals
from node.chain.params import ChainParams
from node.chain.timers import calendar
from node.chain.timers.globalbox.fires import RANK_ORIGIN, GlobalFire, order_of
from node.chain.timers.timer import Timer, derive_timer_id, watch_height
from node.chain.transaction import Body, ExecuteActor, Transaction, impersonated
from node.chain.transition import Caches, State, build_block, next_state
from node.config import load_genesis
from node.primitives.types import Address, Amount, Height
from node.state import keys
from node.state.commitment import TreeCaches, seal
from node.state.journal import Journal
from node.state.leveldb import LevelStore
from pvm import keccak256

QUEUED = 1_000_000
FEW = 1_000
CANDIDATES = 1_000
CROWD = 10_000
WATCHES = 1_000_000
WRITTEN = 100
BLOCKS = 5
WRITING_BLOCKS = 50
BATCH = 20_000
PER_ACTOR = 1_000
FIRES_ROUNDS = 9
FIRES_RATIO_MIN = 0.7
QUEUED_RATIO_MAX = 2.0
BLOCK_MS_MAX = 500
UNWATCHED_RATIO_MAX = 1.1
WATCHED_MORE_MS_MAX = 2.0

_GLOBALBOX = [{"height": 0, "rules": "globalbox"}]
_OPEN = {"max_fires_per_block": 10_000, "max_fires_per_target": 10_000}
_FIRST = 10
_LEAVING = _FIRST + 2 * BLOCKS
_TTL = 1_000_000
_BALANCE = Amount(10**15)
_SOURCE = b"""
import pvm_host

def put(payload):
    value = payload
    for n in range(100):
        pvm_host.set_state(bytes([n]), value)

def handle_timer(payload):
    pass
"""
_WRITER = Address(b"\x5c" * 20)


def measure_globalbox_fires() -> Section:
    """The fires of the section on fires, under both rules in turn."""
    overrides = {"activations": _GLOBALBOX, "globalbox_config": _OPEN}
    globalbox, fifo = interleave(
        FIRES_ROUNDS, lambda: fires_per_second(**overrides), fires_per_second
    )
    ratio = median_ratio(globalbox, fifo)
    row = Row(
        "fires of a trivial handler under `globalbox`",
        f"{median(globalbox):,.0f}/s",
        f"under `fifo`: {median(fifo):,.0f}/s; ratio {ratio:.2f}",
        f"≥ {FIRES_RATIO_MIN}x",
        ratio >= FIRES_RATIO_MIN,
    )
    method = "The blocks of the section on fires, under both rules in turn."
    return Section("Globalbox: fires", method, (row,))


def measure_queue() -> Section:
    """Blocks that queue, beside few and many queued fires; then the queue is left."""
    with _filled(FEW) as few, _filled(QUEUED) as many:
        fewer, more = interleave(BLOCKS, few.block, many.block)
        many.pass_to(_FIRST + BLOCKS)
        crowd = many.block()
        many.pass_to(_LEAVING - 1)
        leaving = [many.block() for _ in range(BLOCKS)]
    ratio, slowest = median_ratio(more, fewer), max(leaving)
    each = (crowd - median(more)) * 1_000_000 / (CROWD - CANDIDATES)
    rows = (
        Row(
            f"block with {CANDIDATES:,} new candidates, {QUEUED:,} queued",
            f"{median(more) * 1_000:.0f} ms",
            f"{FEW:,} queued: {median(fewer) * 1_000:.0f} ms; ratio {ratio:.2f}",
            f"≤ {QUEUED_RATIO_MAX}x",
            ratio <= QUEUED_RATIO_MAX,
        ),
        Row(
            f"block with {CROWD:,} candidates",
            f"{crowd * 1_000:.0f} ms",
            f"a candidate more costs {each:.0f} µs",
            f"< {BLOCK_MS_MAX} ms",
            crowd * 1_000 < BLOCK_MS_MAX,
        ),
        Row(
            f"block that leaves `globalbox` with {QUEUED:,} queued",
            f"{slowest * 1_000:.0f} ms",
            f"the slowest of {BLOCKS}, each takes 1,000 out of the queue",
            f"< {BLOCK_MS_MAX} ms",
            slowest * 1_000 < BLOCK_MS_MAX,
        ),
    )
    method = (
        "CPU of the thread that builds blocks over LevelDB and commits them with "
        "their history; one fire each, all others of a block's candidates are queued. "
        "A block that leaves fires as many of those that it takes out as the lane "
        "holds. What LevelDB compacts meanwhile in a thread of its own is left out: "
        "after the filling it keeps that thread busy whatever a block does."
    )
    return Section("Globalbox: a long queue", method, rows)


def measure_watches() -> Section:
    """A transaction that writes 100 keys, beside a million watches of others' keys."""
    alone, own = _filled(0), _filled(0, watched=WRITTEN)
    others, both = _filled(0, watches=WATCHES), _filled(0, WATCHES, WRITTEN)
    with alone as a, others as b, own as c, both as d:
        none, beside = interleave(WRITING_BLOCKS, a.writing_block, b.writing_block)
        few, many = interleave(WRITING_BLOCKS, c.writing_block, d.writing_block)
    ratio = median_ratio(beside, none)
    more = (median(many) - median(few)) * 1_000
    rows = (
        Row(
            f"block that writes {WRITTEN} keys nobody watches, of {WATCHES:,} watches",
            f"{median(beside) * 1_000:.1f} ms",
            f"no watches: {median(none) * 1_000:.1f} ms; ratio {ratio:.2f}",
            f"≤ {UNWATCHED_RATIO_MAX}x",
            ratio <= UNWATCHED_RATIO_MAX,
        ),
        Row(
            f"block that writes {WRITTEN} watched keys, {WATCHES:,} watches on others",
            f"{median(many) * 1_000:.1f} ms",
            f"no other watches: {median(few) * 1_000:.1f} ms; {more:.1f} ms more",
            f"< {WATCHED_MORE_MS_MAX} ms more",
            more < WATCHED_MORE_MS_MAX,
        ),
    )
    method = (
        "One transaction writes 100 keys of an actor; each of them is watched by one "
        "watch or by none, beside as many accounts as the watches have owners. CPU of "
        "the thread that builds blocks and commits them."
    )
    return Section("Globalbox: watches", method, rows)


class _FilledChain:
    """A chain over a store of its own, block by block."""

    def __init__(self, store: LevelStore, state: State) -> None:
        self._store = store
        self.state = state
        self._nonce = 0

    def block(self, transactions: Iterable[Transaction] = ()) -> float:
        """Build and commit the next block; seconds of the CPU of this thread.

        In another thread LevelDB still compacts what the filling left: none of a block.
        """
        gc.collect()
        began = time.thread_time()
        result = build_block(self.state, transactions)
        self._store.commit(result.writes | history.record(result), sync=False)
        spent = time.thread_time() - began
        self.state = next_state(self.state, result, self._store.snapshot())
        return spent

    def pass_to(self, height: int) -> None:
        """Blocks up to a height."""
        while self.state.head.height < height:
            self.block()

    def writing_block(self) -> float:
        """A block in which 100 keys get values that they did not have."""
        sender = Address(b"\x51" * 20)
        instruction = ExecuteActor(_WRITER, "put", b"%d" % self._nonce, Amount(0))
        fees = Amount(10**9), Amount(0), Amount(10**9), Amount(0)
        limits = 1_000_000, 1_000_000
        chain_id = self.state.params.chain_id
        body = Body(chain_id, self._nonce, *limits, *fees, instruction)
        self._nonce += 1
        return self.block([impersonated(body, sender)])


@contextmanager
def _filled(queued: int, watches: int = 0, watched: int = 0) -> Iterator[_FilledChain]:
    """A chain at height 1 with so many queued fires, and watches of others and of 100.

    Where fires are queued, candidates fall due from height 2 on, and other rules
    follow at `_LEAVING`.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = LevelStore(Path(folder))
        document = override(load_genesis("devnet"), account_balance=Amount(10**20))
        leaving = [{"height": _LEAVING, "rules": "fifo"}] if queued else []
        genesis = parse_genesis(
            document.document()
            | {
                "activations": _GLOBALBOX + leaving,
                "globalbox_config": {"max_fires_per_block": 1 if queued else 128},
            }
        )
        first = build_genesis(genesis)
        store.commit(first.writes, sync=False)
        filling = _QueueFilling(store)
        filling.put_actors(max(QUEUED, WATCHES, CROWD) // PER_ACTOR + 1)
        if queued:
            filling.put_fires(queued)
            filling.put_due()
        filling.put_watches(watches, watched)
        state = filling.end(first.block.header, genesis.params)
        try:
            yield _FilledChain(store, state)
        finally:
            store.close()


class _QueueFilling:
    """A state on its way from genesis to block 1."""

    def __init__(self, store: LevelStore) -> None:
        self._store = store
        self._trees = TreeCaches()
        self._sequence = self._minted = 0

    def _commit(self, journal: Journal) -> None:
        writes = journal.write_set()
        _, pages, _ = seal(journal, self._store.snapshot(), self._trees, writes)
        self._store.commit(writes | pages, sync=False)

    def put_actors(self, count: int) -> None:
        """Owners, and the one that writes."""
        journal = Journal(self._store.snapshot())
        code_hash = keccak256(_SOURCE)
        journal.put(keys.code(code_hash), _SOURCE)
        actor = Account(_BALANCE, code_hash=code_hash, deployer=bytes(20))
        for index in range(count):
            save_account(journal, _owner(index), actor)
        save_account(journal, _WRITER, actor)
        save_account(journal, Address(b"\x51" * 20), Account(Amount(_BALANCE * 1_000)))
        self._minted = _BALANCE * (count + 1_001)
        self._commit(journal)

    def _timer(self, height: int, **terms: object) -> Timer:
        owner, sequence = _owner(self._sequence // PER_ACTOR), self._sequence
        self._sequence += 1
        timer_id = derive_timer_id(owner, Height(height), b"", sequence)
        plain = Timer(
            Height(height),
            sequence,
            timer_id,
            owner,
            b"",
            "",
            owner,
            2_000,
            is_gas_limit_defaulted=False,
            expires_at=Height(_TTL),
            scheduled_at=Height(0),
        )
        return replace(plain, **terms)

    def put_fires(self, count: int) -> None:
        """Fires that became due at height 1, with bids that order them."""
        for start in range(0, count, BATCH):
            journal = Journal(self._store.snapshot())
            for index in range(start, min(count, start + BATCH)):
                timer = self._timer(1)
                rank = RANK_ORIGIN - index * 7919 % count
                order = order_of(rank, 0, 0, 1, timer.actor, timer.timer_id)
                fire = GlobalFire(order, 0, timer.sequence, record=timer.encode())
                calendar.insert_queued(journal, timer, fire)
            self._commit(journal)

    def put_due(self) -> None:
        """Candidates: some at each of the first heights, and once a crowd."""
        journal = Journal(self._store.snapshot())
        counts = {2 + n: CANDIDATES for n in range(BLOCKS)}
        counts[_FIRST + BLOCKS + 1] = CROWD
        for height, count in counts.items():
            for index in range(count):
                owner = _owner(index // PER_ACTOR)
                due = self._timer(height, actor=owner, fee_payer=owner)
                calendar.insert(journal, due)
        self._commit(journal)

    def put_watches(self, others: int, own: int) -> None:
        """Watches of the owners' keys, and some of the writer's."""
        place = watch_height(_TTL, 0)
        for start in range(0, others, BATCH):
            journal = Journal(self._store.snapshot())
            for index in range(start, min(others, start + BATCH)):
                key = _owner(index // PER_ACTOR), b"key %d" % index
                calendar.insert(journal, self._timer(place, watch_keys=(key,)))
            self._commit(journal)
        journal = Journal(self._store.snapshot())
        owner = _owner(0)
        for index in range(own):
            keys_ = ((_WRITER, bytes([index])),)
            terms = {"actor": owner, "fee_payer": owner, "watch_keys": keys_}
            calendar.insert(journal, self._timer(place, **terms))
        self._commit(journal)

    def end(self, parent: Header, params: ChainParams) -> State:
        """The globals and the header of block 1."""
        snapshot = self._store.snapshot()
        journal = Journal(snapshot)
        before = load_globals(journal)
        after = replace(
            before,
            height=Height(1),
            timestamp_ms=params.timestamp_ms(1),
            minted=Amount(before.minted + self._minted),
            timer_sequence=self._sequence,
        )
        save_globals(journal, after)
        root, pages, _ = seal(journal, snapshot, self._trees)
        self._store.commit(journal.write_set() | pages, sync=True)
        header = replace(
            parent, height=Height(1), timestamp_ms=after.timestamp_ms, state_root=root
        )
        caches = Caches(trees=self._trees)
        return State(params, header, self._store.snapshot(), caches)


def _owner(index: int) -> Address:
    return Address(b"\x0a" * 12 + keys.height8(index))
