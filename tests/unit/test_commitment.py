"""The state root speaks of every record, and of nothing derived (D38)."""

from collections.abc import Iterator
from hashlib import blake2b

import pytest

from node.primitives.merkle import commit
from node.primitives.proof import verify
from node.primitives.tree_pages import is_inner_page
from node.primitives.types import Address
from node.state import keys
from node.state.commitment import (
    CALENDAR,
    STATE,
    TreeCaches,
    find_unproven,
    open_tree,
    recompute,
    seal,
    state_root_of_pages,
    tree_key,
)
from node.state.journal import Journal
from node.state.memory import MemorySnapshot, MemoryStore
from node.state.store import WriteSet


def h(data: bytes) -> bytes:
    return blake2b(data, digest_size=32).digest()


def address(number: int) -> Address:
    return Address(number.to_bytes(20, "big"))


def commit_block(store: MemoryStore, changes: dict, caches=None) -> bytes:
    """Seal and commit a block of `changes`; its state root."""
    snapshot = store.snapshot()
    journal = Journal(snapshot)
    for key, value in changes.items():
        if value is None:
            journal.delete(key)
        else:
            journal.put(key, value)
    root, pages, _ = seal(journal, snapshot, caches)
    store.commit(journal.write_set() | pages)
    return root


@pytest.fixture
def store() -> MemoryStore:
    """A thousand accounts, five hundred timers, the globals."""
    store = MemoryStore()
    records = {keys.account(address(n)): b"account %d" % n for n in range(1000)}
    records |= {keys.timer(n // 3, n): b"timer %d" % n for n in range(500)}
    records |= {keys.GLOBALS: b"globals", keys.timer_by_id(bytes(32)): b"index"}
    commit_block(store, records)
    return store


class CountingSnapshot:
    """A snapshot that counts what is asked of it."""

    def __init__(self, snapshot: MemorySnapshot) -> None:
        self.snapshot = snapshot
        self.asked: list[bytes] = []

    def get(self, key: bytes) -> bytes | None:
        """The value, noted as asked for."""
        self.asked.append(key)
        return self.snapshot.get(key)

    def range(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Pairs of the range."""
        return self.snapshot.range(start, stop)


def test_the_root_is_the_one_that_is_written_down():
    """H("state" | H(globals) | root of state tree | root of calendar)."""
    store = MemoryStore()
    account, timer = keys.account(address(1)), keys.timer(7, 9)
    root = commit_block(
        store, {account: b"rich", timer: b"tick", keys.GLOBALS: b"height 1"}
    )
    state = h(b"\x00" + h(account) + h(b"rich"))
    calendar = h(b"\x00" + (7).to_bytes(8, "big") + (9).to_bytes(8, "big") + h(b"tick"))
    assert root == h(b"state" + h(b"height 1") + state + calendar)


def test_an_empty_state_has_a_root():
    store = MemoryStore()
    expected = h(b"state" + h(b"") + bytes(64))
    assert commit_block(store, {}) == expected
    assert recompute(store.snapshot()) == expected
    assert state_root_of_pages(store.snapshot()) == expected


def test_sealed_recomputed_and_read_from_pages_are_one(store):
    root = commit_block(store, {keys.GLOBALS: b"next"})
    assert recompute(store.snapshot()) == root
    assert state_root_of_pages(store.snapshot()) == root


def test_an_empty_block_reads_no_page_and_writes_none(store):
    snapshot = CountingSnapshot(store.snapshot())
    journal = Journal(snapshot)
    journal.put(keys.GLOBALS, b"one block later")
    root, pages, _ = seal(journal, snapshot)
    assert snapshot.asked == [keys.TREE_ROOTS]
    assert pages == WriteSet()
    assert root != recompute(store.snapshot())


def test_what_came_and_went_within_the_block_reads_no_page(store):
    snapshot = CountingSnapshot(store.snapshot())
    journal = Journal(snapshot)
    journal.put(keys.timer(9, 9), b"scheduled")
    journal.delete(keys.timer(9, 9))
    _, pages, _ = seal(journal, snapshot)
    assert pages == WriteSet()
    assert not [key for key in snapshot.asked if key[:1] in (b"m", b"n")]


@pytest.mark.parametrize(
    "key", [keys.account(address(5)), keys.timer(1, 3), keys.GLOBALS]
)
def test_every_committed_record_counts(store, key):
    before = recompute(store.snapshot())
    old = store.snapshot().get(key)
    assert commit_block(store, {key: b"changed"}) != before
    assert commit_block(store, {key: old}) == before


def test_indexes_and_history_do_not_count(store):
    before = recompute(store.snapshot())
    changes = {keys.timer_by_id(b"x" * 32): b"1", keys.header(4): b"2", keys.HEAD: b"3"}
    assert commit_block(store, changes) == before


def test_what_is_removed_leaves_no_trace(store):
    before = store.snapshot()
    root = recompute(before)
    added = {keys.account(address(n)): b"new" for n in range(2000, 2300)}
    added |= {keys.timer(n, n): b"new" for n in range(900, 950)}
    commit_block(store, added)
    assert commit_block(store, dict.fromkeys(added)) == root
    everything = list(store.snapshot().range(b"", b"\xff"))
    assert everything == list(before.range(b"", b"\xff"))


def test_ranges_of_the_calendar_are_proven_under_its_own_keys(store):
    """D24: "nothing is due between A and B" is provable for near heights too."""
    tree = open_tree(store.snapshot(), CALENDAR)
    low, high = keys.timer(3, 0)[1:], keys.timer(5, 0)[1:]
    proven = verify(tree.root(), tree.prove(low, high), low, high, CALENDAR.key_bytes)
    records = store.snapshot().range(keys.timer(3, 0), keys.timer(5, 0))
    assert proven == [(key[1:], h(record)) for key, record in records]
    assert len(proven) == 6


def test_state_keys_hang_in_the_tree_under_their_hash(store):
    """D38: state keys are hashed first, so that nobody chooses the tree's depth."""
    tree = open_tree(store.snapshot(), STATE)
    leaves = [(h(key), h(record)) for key, record in store.snapshot().range(b"s", b"t")]
    assert tree.root() == commit(leaves)
    assert len(leaves) == 1000


def test_sealing_changes_neither_journal_nor_snapshot(store):
    snapshot = store.snapshot()
    journal = Journal(snapshot)
    journal.put(keys.account(address(5)), b"new")
    first = seal(journal, snapshot)
    assert seal(journal, snapshot) == first
    assert journal.write_set().changes == {keys.account(address(5)): b"new"}


def test_caches_change_nothing_but_the_reads(store):
    caches = TreeCaches()
    change = {keys.account(address(7)): b"one", keys.timer(8, 8): b"two"}
    for number in range(3):
        snapshot = CountingSnapshot(store.snapshot())
        journal = Journal(snapshot)
        for key, value in change.items():
            journal.put(key, value + b"%d" % number)
        sealed = seal(journal, snapshot, caches)
        pages_asked = sum(key[:1] in (b"m", b"n") for key in snapshot.asked)
        assert pages_asked == (2 if number else 6)  # of buckets none is kept
        assert seal(journal, snapshot) == sealed
        store.commit(journal.write_set() | sealed[1])


def test_a_sound_store_has_nothing_unproven(store):
    probes = [keys.account(address(n)) for n in range(0, 1000, 50)]
    probes += [keys.timer(n, 0) for n in range(0, 170, 10)]
    probes += [b"s", b"t", keys.account(address(5000)), keys.timer(2**63, 0)]
    assert find_unproven(store.snapshot(), probes) == []


@pytest.mark.parametrize("key", [keys.account(address(5)), keys.timer(1, 3)])
def test_a_record_that_the_pages_do_not_prove_is_found(store, key):
    store.commit(WriteSet({key: b"altered behind the chain's back"}))
    assert find_unproven(store.snapshot(), [key]) == [key]


@pytest.mark.parametrize("family", [STATE, CALENDAR])
def test_damage_in_any_page_of_a_path_is_found(store, family):
    """All bytes are hashed, or lead elsewhere, but for counts and padding."""
    snapshot = store.snapshot()
    start = keys.timer(20, 0) if family is CALENDAR else keys.account(address(20))
    key, _ = next(snapshot.range(start, b"z"))
    path = tree_key(key).hex()
    pages = snapshot.range(family.page_prefix, keys.prefix_stop(family.page_prefix))
    on_path = {k: v for k, v in pages if path.startswith(k[1:].decode())}
    assert len(on_path) >= 3
    for page_key, page in on_path.items():
        unhashed = set()
        if is_inner_page(page):
            unhashed = {2, 3, 4, 5} | ({8 + page[1] // 2} if page[1] % 2 else set())
        for at in set(range(0, len(page), 5)) - unhashed:
            damaged = page[:at] + bytes([page[at] ^ 1]) + page[at + 1 :]
            store.commit(WriteSet({page_key: damaged}))
            assert find_unproven(store.snapshot(), [key]) == [key], (page_key, at)
        store.commit(WriteSet({page_key: None}))
        assert find_unproven(store.snapshot(), [key]) == [key]
        store.commit(WriteSet({page_key: page}))
    assert find_unproven(store.snapshot(), [key]) == []
