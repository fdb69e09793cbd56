"""MemoryStore keeps every snapshot as it was, at no cost to the present."""

import gc

import pytest

from node.state.errors import StoreClosed
from node.state.memory import MemorySnapshot, MemoryStore
from node.state.store import WriteSet


class Remembered(bytes):
    """Bytes that the collector can find."""


def store_of(**values: bytes) -> MemoryStore:
    store = MemoryStore()
    store.commit(WriteSet({name.encode(): value for name, value in values.items()}))
    return store


def pairs(snapshot: MemorySnapshot) -> list[tuple[bytes, bytes]]:
    return list(snapshot.range(b"", b"\xff"))


def test_what_is_committed_is_read_by_key_and_in_order():
    store = store_of(b=b"2", a=b"1", abc=b"3")
    snapshot = store.snapshot()
    assert snapshot.get(b"abc") == b"3"
    assert snapshot.get(b"ab") is None
    assert pairs(snapshot) == [(b"a", b"1"), (b"abc", b"3"), (b"b", b"2")]
    assert list(snapshot.range(b"abc", b"b")) == [(b"abc", b"3")]


def test_deleting_removes_and_deleting_the_absent_does_nothing():
    store = store_of(a=b"1", b=b"2")
    store.commit(WriteSet({b"a": None, b"x": None}))
    assert pairs(store.snapshot()) == [(b"b", b"2")]


def test_a_snapshot_is_unmoved_by_any_number_of_later_commits():
    store = store_of(a=b"1", b=b"2")
    old = store.snapshot()
    for number in range(50):
        store.commit(WriteSet({b"a": None, b"b": b"%d" % number, b"c": b"3"}))
        store.commit(WriteSet({b"a": b"new"}))
    assert (old.get(b"a"), old.get(b"b"), old.get(b"c")) == (b"1", b"2", None)
    assert pairs(old) == [(b"a", b"1"), (b"b", b"2")]
    assert pairs(store.snapshot()) == [(b"a", b"new"), (b"b", b"49"), (b"c", b"3")]


def test_long_ranges_are_whole_also_across_commits_while_they_are_read():
    """Ranges are cut in pieces; commits between two pieces must not show."""
    store = MemoryStore()
    before = {b"k%04d" % number: b"old" for number in range(1500)}
    store.commit(WriteSet(before))
    snapshot = store.snapshot()
    reading = snapshot.range(b"k", b"l")
    seen = [next(reading) for _ in range(300)]
    store.commit(WriteSet(dict.fromkeys(list(before)[::2])))
    store.commit(WriteSet({key + b"+": b"new" for key in before}))
    seen += list(reading)
    assert seen == sorted(before.items())
    assert list(snapshot.range(b"k", b"l")) == sorted(before.items())


def test_nothing_is_kept_for_snapshots_that_nobody_holds():
    """What a commit replaced hangs on the snapshots before it, not on the store."""

    def remembered() -> int:
        return sum(isinstance(found, Remembered) for found in gc.get_objects())

    store = store_of(a=b"1")
    old = store.snapshot()
    store.commit(WriteSet({b"a": Remembered(b"2")}))
    store.commit(WriteSet({b"a": b"3"}))
    assert remembered() == 1  # for `old`, which may still ask
    assert old.get(b"a") == b"1"
    assert remembered() == 0  # `old` has what it needs
    store.commit(WriteSet({b"a": Remembered(b"4")}))
    store.commit(WriteSet({b"a": b"5"}))
    del old
    assert remembered() == 0


def test_a_closed_store_refuses():
    store = store_of(a=b"1")
    store.close()
    store.close()
    with pytest.raises(StoreClosed, match="was closed"):
        store.snapshot()
    with pytest.raises(StoreClosed, match="was closed"):
        store.commit(WriteSet())
