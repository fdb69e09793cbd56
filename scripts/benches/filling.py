"""A chain with millions of pending timers: block 1 of it is built, not executed.

The timers come in due order, in batches that pass the real calendar and the real tree
code, so that the tree's pages are each written few times; the globals and the header
of block 1 then say what a chain would say that had accepted them. LevelDB has to come
to rest before anything is measured: a batch that meets a compaction waits for it.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from node.chain.accounts import Account, save_account
from node.chain.block import Header
from node.chain.genesis import Genesis, override
from node.chain.globals import load_globals, save_globals
from node.chain.params import TimerConfig
from node.chain.timers import calendar
from node.chain.timers.timer import Timer, derive_timer_id
from node.chain.transition import State
from node.config import load_genesis
from node.primitives.types import Address, Amount, Height
from node.runtime.startup import open_chain
from node.state import keys
from node.state.commitment import TreeCaches, compare, seal
from node.state.journal import Journal
from node.state.leveldb import LevelStore
from node.state.store import WriteSet
from pvm import keccak256

BATCH = 20_000
"""Timers of one commit: larger ones only take more memory."""
PER_ACTOR = 1_000
"""Timers of one actor; 1,024 are allowed."""
GAS_LIMIT = 2_000
BALANCE = 10**13
"""Of each actor, in base units: every timer of its can pay for its fire."""
SETTLED_SECONDS = 3.0
"""LevelDB is at rest when its levels have not changed for so long."""
SETTLE_SECONDS_MAX = 900.0

SOURCE = b"""
import pvm_host

def arm(payload):
    for height in pvm_host.cbor_decode(payload):
        pvm_host.schedule_timer(height, b"", None, 2000)

def handle_timer(payload):
    pass
"""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Stretch:
    """So many timers, spread evenly over these heights, both inclusive."""

    count: int
    first: int
    last: int

    def heights(self) -> Iterator[int]:
        """The due height of each, ascending."""
        span = self.last - self.first + 1
        return (self.first + index * span // self.count for index in range(self.count))


def all_tiers(count: int) -> tuple[Stretch, ...]:
    """A twentieth in the ring, half of the rest in the epoch queue, half beyond."""
    ring, epoch = count // 20, count * 19 // 40
    return (
        Stretch(ring, 200, 256),
        Stretch(epoch, 257, 86_400),
        Stretch(count - ring - epoch, 100_000, 20_000_000),
    )


def genesis() -> Genesis:
    """The preset `devnet` with money for everything."""
    return override(load_genesis("devnet"), account_balance=Amount(10**20))


def scheduler(index: int) -> Address:
    """An actor without timers, which schedules when it is called."""
    return Address(b"\x5c" * 12 + keys.height8(index))


def _owner(index: int) -> Address:
    return Address(b"\x0a" * 12 + keys.height8(index))


def fill(
    store: LevelStore,
    stretches: tuple[Stretch, ...],
    tell: Tell,
    *,
    schedulers: int = 0,
    batch: int = BATCH,
) -> State:
    """Make an empty store a chain whose block 1 holds these timers; its state."""
    opened = open_chain(store, lambda _stored: genesis())
    filling = _Filling(store, sum(stretch.count for stretch in stretches))
    filling.begin(schedulers)
    heights = (height for stretch in stretches for height in stretch.heights())
    began = time.perf_counter()
    places = enumerate(heights)
    while part := tuple(islice(places, batch)):
        filling.add(part)
        done = part[-1][0] + 1
        rate = done / (time.perf_counter() - began)
        tell(f"{done:,} timers, {rate:,.0f} a second")
    filling.end(opened.state.head, opened.genesis)
    return open_chain(store, lambda _stored: genesis()).state


class _Filling:
    """A state on its way from genesis to block 1."""

    def __init__(self, store: LevelStore, count: int) -> None:
        self._store = store
        self._count = count
        self._actors = -(-count // PER_ACTOR) or 1
        self._caches = TreeCaches()
        self._next = Journal(store.snapshot())

    def begin(self, schedulers: int) -> None:
        """The actors that own timers, and those that will schedule."""
        code_hash = keccak256(SOURCE)
        self._next.put(keys.code(code_hash), SOURCE)
        idle = Account(Amount(BALANCE), code_hash=code_hash, deployer=bytes(20))
        for index in range(schedulers):
            save_account(self._next, scheduler(index), idle)
        for index in range(self._actors):
            own = len(range(index, self._count, self._actors))
            account = replace(idle, scheduling_counter=own)
            save_account(self._next, _owner(index), account)
        self._minted = BALANCE * (schedulers + self._actors)

    def add(self, places: tuple[tuple[int, int], ...]) -> None:
        """Timers by (sequence, height), ascending by height."""
        for sequence, height in places:
            calendar.insert(self._next, self._timer(sequence, height))
        self._commit()

    def _timer(self, sequence: int, height: int) -> Timer:
        number, index = divmod(sequence, self._actors)
        actor, due = _owner(index), Height(height)
        ttl = TimerConfig().max_ttl_blocks
        return Timer(
            height=due,
            sequence=sequence,
            timer_id=derive_timer_id(actor, due, b"", number),
            actor=actor,
            payload=b"",
            handler="",
            fee_payer=actor,
            gas_limit=GAS_LIMIT,
            is_gas_limit_defaulted=False,
            expires_at=Height(height + ttl),
            scheduled_at=Height(1),
        )

    def _commit(self, more: WriteSet | None = None) -> bytes:
        snapshot = self._store.snapshot()
        writes = self._next.write_set()
        root, pages, _ = seal(self._next, snapshot, self._caches, writes)
        self._store.commit(writes | pages | (more or WriteSet({})), sync=False)
        self._next = Journal(self._store.snapshot())
        return root

    def end(self, parent: Header, document: Genesis) -> None:
        """The globals and the header of block 1."""
        before = load_globals(self._next)
        after = replace(
            before,
            height=Height(1),
            timestamp_ms=document.params.timestamp_ms(1),
            minted=Amount(before.minted + self._minted),
            timer_sequence=self._count,
        )
        save_globals(self._next, after)
        root = self._commit()
        header = replace(
            parent,
            height=Height(1),
            parent_hash=parent.hash(),
            timestamp_ms=after.timestamp_ms,
            state_root=root,
        )
        self._store.commit(
            WriteSet(
                {
                    keys.HEAD: keys.height8(1),
                    keys.header(1): header.encode(),
                    keys.block_by_hash(header.hash()): keys.height8(1),
                }
            ),
            sync=True,
        )


def check(state: State) -> None:
    """Compare all records with all pages, and both with the header's root.

    Raises:
        BrokenTree: They differ.
        ValueError: They are not what the header says.
    """
    if compare(state.snapshot) != state.head.state_root:
        raise ValueError("the header has another state root")


def settle(store: LevelStore, tell: Tell) -> float:
    """Wait until LevelDB has come to rest; seconds that it took.

    Raises:
        TimeoutError: It did not.
    """
    began = unchanged = time.perf_counter()
    last = store.levels()
    while (now := time.perf_counter()) - unchanged < SETTLED_SECONDS:
        if now - began > SETTLE_SECONDS_MAX:
            raise TimeoutError("LevelDB did not come to rest")
        time.sleep(SETTLED_SECONDS / 10)
        levels = store.levels()
        if levels != last:
            last, unchanged = levels, time.perf_counter()
    spent = unchanged - began
    tell(f"LevelDB came to rest after {spent:.0f} s")
    return spent


def folder_mib(folder: Path) -> float:
    """The size of a folder's files."""
    return sum(one.stat().st_size for one in folder.iterdir()) / 2**20
