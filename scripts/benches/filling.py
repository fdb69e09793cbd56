"""A chain with millions of pending timers: block 1 of it is built, not executed.

The keys come in order, one family after another, through the real tree code, so that
each page of the tree is written once and LevelDB's tables never overlap; the globals
and the header of block 1 then say what a chain would say that had accepted them.
LevelDB has to come to rest before anything is measured: a batch that meets a
compaction waits for it.
"""

import mmap
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Self

from msgspec import Struct
from msgspec.structs import replace

from node.archive.opening import open_chain
from node.chain.accounts import Account, save_account
from node.chain.block import Header
from node.chain.genesis import Genesis, override
from node.chain.globals import load_globals, save_globals
from node.chain.params import TimerConfig
from node.chain.timers.timer import Timer, derive_timer_id
from node.chain.transition import State
from node.config import load_genesis
from node.primitives.crypto import blake2b256
from node.primitives.merkle import EMPTY_ROOT, Tree
from node.primitives.types import Address, Amount, Hash32, Height, TimerId
from node.state import keys
from node.state.commitment import CALENDAR, TreeCaches, compare, seal, tree_key
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

_TOLD = 500_000
"""Keys after which progress is told."""
_PARTS = 256
_ID_BYTES = 32
_PLACE_BYTES = keys.HEIGHT_BYTES + keys.SEQUENCE_BYTES
_SPOOLED = struct.Struct(">HI")
"""Lengths of a page's name and of the page, before both."""

Tell = Callable[[str], None]
Pair = tuple[bytes, bytes]


class Stretch(Struct, frozen=True):
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
    gas_limit: int = GAS_LIMIT,
) -> State:
    """Make an empty store a chain whose block 1 holds these timers; its state."""
    opened = open_chain(store, lambda _stored: genesis())
    with _Filling(store, stretches, gas_limit, tell) as filling:
        filling.put_actors(schedulers)
        filling.put_by_actor()
        filling.put_by_id()
        filling.put_records()
        filling.put_pages()
    filling.end(opened.state.head, opened.genesis)
    return open_chain(store, lambda _stored: genesis()).state


class _Filling:
    """A state on its way from genesis to block 1, one family of keys after another.

    Each family goes in whole and ascending, so LevelDB never merges one table with
    another. What one pass learns and a later one needs waits in files meanwhile.
    """

    def __init__(
        self,
        store: LevelStore,
        stretches: tuple[Stretch, ...],
        gas_limit: int,
        tell: Tell,
    ) -> None:
        self._store = store
        self._stretches = stretches
        self._gas_limit = gas_limit
        self._tell = tell
        self._count = sum(stretch.count for stretch in stretches)
        self._actors = -(-self._count // PER_ACTOR) or 1
        self._minted = 0
        self._calendar_root = EMPTY_ROOT
        self._files = ExitStack()
        self._ids = self._file()  # by sequence
        self._places = [self._file() for _ in range(_PARTS)]  # by the id's first byte
        self._pages = self._file()

    def _file(self) -> BinaryIO:
        return self._files.enter_context(tempfile.TemporaryFile())

    def __enter__(self) -> Self:
        """The filling itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Drop the files."""
        self._files.close()

    def put_actors(self, schedulers: int) -> None:
        """The actors that own timers, those that will schedule, and their tree."""
        snapshot = self._store.snapshot()
        journal = Journal(snapshot)
        code_hash = keccak256(SOURCE)
        journal.put(keys.code(code_hash), SOURCE)
        idle = Account(Amount(BALANCE), code_hash=code_hash, deployer=bytes(20))
        for index in range(schedulers):
            save_account(journal, scheduler(index), idle)
        for index in range(min(self._actors, self._count)):
            own = len(range(index, self._count, self._actors))
            account = replace(idle, scheduling_counter=own)
            save_account(journal, _owner(index), account)
            journal.put(keys.timer_count(_owner(index)), keys.height8(own))
        self._minted = BALANCE * (schedulers + self._actors)
        writes = journal.write_set()
        _, pages, _ = seal(journal, snapshot, TreeCaches(), writes)
        self._store.commit(writes | pages, sync=False)

    def put_by_actor(self) -> None:
        """The index by actor; it is here that ids are computed."""
        self._ids.truncate(self._count * _ID_BYTES)
        if self._count:
            with mmap.mmap(self._ids.fileno(), 0) as ids:
                self._put(self._by_actor(ids), "by actor", self._count)

    def _by_actor(self, ids: mmap.mmap) -> Iterator[Pair]:
        heights = list(chain.from_iterable(one.heights() for one in self._stretches))
        for index in range(self._actors):
            actor = _owner(index)
            for number, sequence in enumerate(range(index, self._count, self._actors)):
                height = Height(heights[sequence])
                timer_id = derive_timer_id(actor, height, b"", number)
                at = sequence * _ID_BYTES
                ids[at : at + _ID_BYTES] = timer_id
                place = keys.timer_place(height, sequence)
                self._places[timer_id[0]].write(timer_id + place)
                yield keys.timer_by_actor(actor, place), timer_id

    def put_by_id(self) -> None:
        """The index by id, which is in no order but that of chance."""
        self._put(self._by_id(), "by id", self._count)

    def _by_id(self) -> Iterator[Pair]:
        for file in self._places:
            file.seek(0)
            data = file.read()
            starts = range(0, len(data), _ID_BYTES + _PLACE_BYTES)
            for entry in sorted(data[at : at + starts.step] for at in starts):
                yield keys.timer_by_id(entry[:_ID_BYTES]), entry[_ID_BYTES:]

    def put_records(self) -> None:
        """The records, and the tree over them; its pages wait in a file."""
        self._put(self._records(), "records", self._count)

    def _records(self) -> Iterator[Pair]:
        last: dict[str, bytes | None] = {}
        self._ids.seek(0)
        timers = self._timers()
        while part := tuple(islice(timers, BATCH)):
            pairs = [
                (keys.timer(one.height, one.sequence), one.encode()) for one in part
            ]
            changes = [(tree_key(key), blake2b256(record)) for key, record in pairs]
            # Keys ascend: every page that they meet is one that the batch before made.
            tree = Tree(last.get, CALENDAR.key_bytes, self._calendar_root)
            update = tree.apply(changes)
            self._spool({p: last[p] for p in last if p not in update.pages})
            last, self._calendar_root = update.pages, update.root
            yield from pairs
        self._spool(last)

    def _timers(self) -> Iterator[Timer]:
        heights = chain.from_iterable(one.heights() for one in self._stretches)
        ttl = TimerConfig().max_ttl_blocks
        for sequence, height in enumerate(heights):
            actor = _owner(sequence % self._actors)
            yield Timer(
                height=Height(height),
                sequence=sequence,
                timer_id=TimerId(Hash32(self._ids.read(_ID_BYTES))),
                actor=actor,
                payload=b"",
                handler="",
                fee_payer=actor,
                gas_limit=self._gas_limit,
                is_gas_limit_defaulted=False,
                expires_at=Height(height + ttl),
                scheduled_at=Height(1),
            )

    def _spool(self, pages: dict[str, bytes | None]) -> None:
        for path, page in sorted(pages.items()):
            assert page is not None, "nothing was removed"
            name = CALENDAR.page_prefix + path.encode()
            self._pages.write(_SPOOLED.pack(len(name), len(page)) + name + page)

    def put_pages(self) -> None:
        """The calendar's tree, and its root beside the state's."""
        self._put(self._spooled(), "pages", 0)
        roots = self._store.snapshot().get(keys.TREE_ROOTS) or EMPTY_ROOT
        record = roots[: len(EMPTY_ROOT)] + self._calendar_root
        self._store.commit(WriteSet({keys.TREE_ROOTS: record}), sync=False)

    def _spooled(self) -> Iterator[Pair]:
        self._pages.seek(0)
        while head := self._pages.read(_SPOOLED.size):
            name_bytes, page_bytes = _SPOOLED.unpack(head)
            yield self._pages.read(name_bytes), self._pages.read(page_bytes)

    def _put(self, pairs: Iterator[Pair], what: str, count: int) -> None:
        """Commit ascending pairs in batches."""
        began, done = time.perf_counter(), 0
        while part := dict(islice(pairs, BATCH)):
            self._store.commit(WriteSet(part), sync=False)
            done += len(part)
            if done % _TOLD < len(part) or done == count:
                rate = done / (time.perf_counter() - began)
                self._tell(f"{what}: {done:,}, {rate:,.0f} a second")

    def end(self, parent: Header, document: Genesis) -> None:
        """The globals and the header of block 1."""
        snapshot = self._store.snapshot()
        journal = Journal(snapshot)
        before = load_globals(journal)
        after = replace(
            before,
            height=Height(1),
            timestamp_ms=document.params.timestamp_ms(1),
            minted=Amount(before.minted + self._minted),
            timer_sequence=self._count,
        )
        save_globals(journal, after)
        root, _, _ = seal(journal, snapshot)
        header = replace(
            parent,
            height=Height(1),
            parent_hash=parent.hash(),
            timestamp_ms=after.timestamp_ms,
            state_root=root,
        )
        told = {
            keys.HEAD: keys.height8(1),
            keys.header(1): header.encode(),
            keys.block_by_hash(header.hash()): keys.height8(1),
        }
        self._store.commit(journal.write_set() | WriteSet(told), sync=True)


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
