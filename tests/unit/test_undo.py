"""Undo records: their bytes, which are kept, and how far back a step goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.state import keys, undo
from node.state.memory import MemoryStore
from node.state.store import WriteSet
from node.state.undo import (
    BLOCKS_KEPT,
    RECORDS_DROPPED_MAX,
    UndoRange,
    UndoRecord,
    decode_record,
    encode_record,
)

CHANGES = st.dictionaries(
    st.binary(min_size=1, max_size=300), st.none() | st.binary(max_size=2_000)
)


@given(changes=CHANGES, previous=st.integers(0, 2**64 - 1))
def test_a_record_is_read_as_it_was_written(changes, previous):
    record = UndoRecord(previous, 7, changes)
    assert decode_record(encode_record(record)) == record


def test_the_bytes_of_a_record():
    """The form that the module's docstring gives."""
    record = UndoRecord(1, 2, {b"ab": b"xyz", b"c": None, b"d": b""})
    assert encode_record(record) == (
        (1).to_bytes(8, "big")
        + (2).to_bytes(8, "big")
        + (3).to_bytes(4, "big")
        + b"\0\2\0\1\0\1"
        + b"\0\0\0\4\0\0\0\0\0\0\0\1"
        + b"abcd"
        + b"xyz"
    )


class Counter:
    """A store whose blocks count up under one key."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.store.commit(WriteSet({b"count": b"0"}))
        self.trail = UndoRange(1)
        self.height = 0

    def add(self, blocks: int = 1, span: int = 1) -> None:
        for _ in range(blocks):
            before, snapshot = self.height, self.store.snapshot()
            self.height += span
            taken_back = WriteSet({b"count": snapshot.get(b"count")})
            record, self.trail = undo.extend(
                snapshot, self.trail, self.height, before, taken_back
            )
            dropped = [key for key, value in record.changes.items() if value is None]
            assert len(dropped) <= RECORDS_DROPPED_MAX
            self.store.commit(record | WriteSet({b"count": b"%d" % self.height}))

    def back(self, target: int, bytes_max: int | None = None) -> None:
        snapshot = self.store.snapshot()
        step = undo.step_back(snapshot, self.height, target, bytes_max)
        self.store.commit(step.writes)
        self.height = step.height

    def heights(self) -> list[int]:
        pairs = self.store.snapshot().range(b"b", b"c")
        return [int.from_bytes(key[1:], "big") for key, _ in pairs]

    def lowest(self) -> int:
        return undo.lowest_reachable(self.store.snapshot(), self.trail, self.height)


def test_dropped_records_stand_in_nobodys_way():
    """LevelDB's iterators walk over deleted keys: none begins below these."""
    others = (
        *(keys.GLOBALS, keys.STATE_PREFIX, keys.TIMER_PREFIX, keys.TIMERS_STOP),
        *(keys.STATE_PAGE_PREFIX, keys.CALENDAR_PAGE_PREFIX, keys.HEAD),
        *(keys.TREE_ROOTS, keys.UNFINISHED),
    )
    assert keys.undo(2**64 - 1) < min(others)


def test_records_of_the_last_heights_are_kept():
    chain = Counter()
    chain.add(BLOCKS_KEPT)
    assert chain.lowest() == 0
    chain.add(20)
    assert chain.heights() == list(range(21, BLOCKS_KEPT + 21))
    assert chain.lowest() == 20
    chain.back(20)
    assert chain.store.snapshot().get(b"count") == b"20"
    assert chain.heights() == []


def test_what_came_after_a_named_snapshot_is_kept_and_later_dropped_bit_by_bit():
    chain = Counter()
    chain.add(30)
    chain.trail = UndoRange(chain.trail.oldest, pinned=10)
    chain.add(200)
    assert chain.lowest() == 10
    chain.trail = UndoRange(chain.trail.oldest)
    held = len(chain.heights())
    chain.add()
    assert len(chain.heights()) == held + 1 - RECORDS_DROPPED_MAX
    chain.add(100)
    assert len(chain.heights()) == BLOCKS_KEPT


def test_a_run_of_empty_heights_is_one_record():
    chain = Counter()
    chain.add(3)
    chain.add(span=1_000_000)
    assert chain.lowest() == 3
    chain.add(2)
    chain.back(3)
    assert chain.height == 3
    assert chain.store.snapshot().get(b"count") == b"3"


def test_after_a_restart_the_trail_is_the_one_that_was():
    chain = Counter()
    for blocks in (0, 5, BLOCKS_KEPT + 30):
        chain.add(blocks)
        snapshot = chain.store.snapshot()
        assert undo.load_trail(snapshot, chain.height, None) == chain.trail


def test_a_step_is_bounded_and_ends_between_two_blocks():
    """Each batch leaves the store as it was at the height it leads to."""
    chain = Counter()
    chain.add(50)
    seen = []
    while chain.height > 10:
        chain.back(10, bytes_max=100)
        seen.append(chain.height)
        assert chain.store.snapshot().get(b"count") == b"%d" % chain.height
        assert chain.heights()[-1] == chain.height
    assert len(seen) > 5
    assert seen[-1] == 10


@pytest.mark.parametrize("target", [0, 4, 7])
def test_there_is_no_way_back_past_what_is_kept_nor_into_a_run(target):
    chain = Counter()
    chain.add(5)
    chain.add(span=5)
    chain.store.commit(WriteSet({keys.undo(5): None}))
    with pytest.raises(LookupError, match=r"from height \d+ to"):
        chain.back(target)
