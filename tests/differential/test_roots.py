"""Incremental root | recomputed root, with and without caches, over both stores."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from node.primitives.types import Address
from node.state import keys
from node.state.commitment import (
    TreeCaches,
    find_unproven,
    recompute,
    seal,
    state_root_of_pages,
)
from node.state.journal import Journal
from node.state.leveldb import LevelStore
from node.state.memory import MemoryStore
from node.state.store import StoreSnapshot, WriteSet

ACCOUNTS = st.builds(
    lambda n: keys.account(Address(n.to_bytes(20, "big"))), st.integers(0, 150)
)
TIMERS = st.builds(keys.timer, st.integers(0, 8), st.integers(0, 20))
CHANGES = st.dictionaries(
    ACCOUNTS | TIMERS | st.just(keys.GLOBALS),
    st.none() | st.sampled_from([b"x", b"y", b"z"]),
    max_size=60,
)
BLOCKS = st.lists(st.tuples(CHANGES, st.sampled_from(["commit", "discard", "undo"])))


def build(
    snapshot: StoreSnapshot,
    changes: dict[bytes, bytes | None],
    caches: TreeCaches | None,
) -> tuple[bytes, WriteSet]:
    journal = Journal(snapshot)
    for key, value in changes.items():
        if value is None:
            journal.delete(key)
        else:
            journal.put(key, value)
    root, pages, _ = seal(journal, snapshot, caches)
    return root, journal.write_set() | pages


@given(BLOCKS, st.sampled_from([1, 3, 1000]))
def test_sealed_roots_are_those_of_the_records(blocks, pages_max):
    """Also after blocks that were thrown away, and after a block was undone."""
    store, caches = MemoryStore(), TreeCaches(pages_max)
    for changes, fate in blocks:
        before = store.snapshot()
        root, writes = build(before, changes, caches)
        assert (root, writes) == build(before, changes, None)
        if fate == "discard":
            continue
        undo = WriteSet({key: before.get(key) for key in writes.changes})
        store.commit(writes)
        after = store.snapshot()
        assert recompute(after) == root
        assert state_root_of_pages(after) == root
        assert find_unproven(after, [key for key in changes if key[:1] in b"st"]) == []
        if fate == "undo":
            store.commit(undo)


@given(BLOCKS)
def test_both_stores_give_the_same_roots_and_bytes(blocks):
    memory, caches = MemoryStore(), TreeCaches()
    with (
        tempfile.TemporaryDirectory() as folder,
        LevelStore(Path(folder)) as level,
    ):
        for changes, _ in blocks:
            in_memory = build(memory.snapshot(), changes, None)
            on_disk = build(level.snapshot(), changes, caches)
            assert in_memory == on_disk
            memory.commit(in_memory[1])
            level.commit(on_disk[1], sync=False)
        everything = memory.snapshot().range(b"", b"\xff")
        assert list(everything) == list(level.snapshot().range(b"", b"\xff"))
