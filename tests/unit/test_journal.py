"""Journal: an overlay that can go back, and says in the end what changed."""

from collections.abc import Iterator

import pytest

from node.state.journal import Checkpoint, Journal


class CountingSnapshot:
    """A dict that counts how often each key is asked for."""

    def __init__(self, **values: bytes) -> None:
        self.values = {name.encode(): value for name, value in values.items()}
        self.asked: list[bytes] = []

    def get(self, key: bytes) -> bytes | None:
        """The value, noted as asked for."""
        self.asked.append(key)
        return self.values.get(key)

    def range(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Pairs of the range."""
        return iter(
            [pair for pair in sorted(self.values.items()) if start <= pair[0] < stop]
        )


@pytest.fixture
def snapshot() -> CountingSnapshot:
    return CountingSnapshot(a=b"1", b=b"2", d=b"4")


@pytest.fixture
def journal(snapshot) -> Journal:
    return Journal(snapshot)


def everything(journal: Journal) -> list[tuple[bytes, bytes]]:
    return list(journal.range(b"", b"\xff"))


def test_writes_are_seen_and_the_snapshot_is_not_touched(journal, snapshot):
    journal.put(b"a", b"new")
    journal.put(b"c", b"3")
    journal.delete(b"b")
    assert (journal.get(b"a"), journal.get(b"b")) == (b"new", None)
    assert everything(journal) == [(b"a", b"new"), (b"c", b"3"), (b"d", b"4")]
    assert list(journal.range(b"b", b"d")) == [(b"c", b"3")]
    assert snapshot.values == {b"a": b"1", b"b": b"2", b"d": b"4"}


class CountingDraft:
    """A value that counts how often it is encoded."""

    def __init__(self, record: bytes) -> None:
        self.record = record
        self.encoded = 0

    def encode(self) -> bytes:
        """The record, noted as wanted."""
        self.encoded += 1
        return self.record


def test_a_draft_is_encoded_once_at_the_end(journal):
    first, last = CountingDraft(b"first"), CountingDraft(b"last")
    journal.put(b"a", first)
    assert journal.peek(b"a") is first
    journal.put(b"a", last)
    assert journal.write_set().changes == {b"a": b"last"}
    assert journal.write_set().changes == {b"a": b"last"}
    assert (first.encoded, last.encoded) == (0, 1)


def test_whoever_reads_a_draft_meets_its_bytes(journal):
    journal.put(b"c", CountingDraft(b"3"))
    assert journal.get(b"c") == b"3"
    assert list(journal.range(b"b", b"d")) == [(b"b", b"2"), (b"c", b"3")]
    assert list(journal.scan(b"b", b"d")) == [(b"b", b"2"), (b"c", b"3")]


def test_a_draft_that_says_what_was_there_is_no_change(journal):
    journal.get(b"a")
    journal.put(b"a", CountingDraft(b"1"))
    checkpoint = journal.checkpoint()
    journal.put(b"b", CountingDraft(b"undone"))
    journal.revert(checkpoint)
    assert journal.write_set().changes == {}
    assert journal.get(b"b") == b"2"


def test_the_snapshot_is_asked_once_for_a_key(journal, snapshot):
    assert [journal.get(b"a"), journal.get(b"a")] == [b"1", b"1"]
    assert [journal.get(b"x"), journal.get(b"x")] == [None, None]
    assert snapshot.asked == [b"a", b"x"]


def test_for_what_is_added_the_snapshot_is_not_asked(journal, snapshot):
    journal.add(b"n", b"new")
    checkpoint = journal.checkpoint()
    journal.add(b"m", b"undone")
    journal.revert(checkpoint)
    writes, undo = journal.write_and_undo()
    assert writes.changes == {b"n": b"new"}
    assert undo.changes == {b"n": None}
    assert journal.get(b"m") is None
    assert snapshot.asked == []


def test_what_was_deleted_in_the_block_can_be_added_again(journal):
    journal.get(b"a")
    journal.delete(b"a")
    journal.delete(b"b")
    journal.add(b"a", b"1")
    journal.add(b"b", b"other")
    writes, undo = journal.write_and_undo()
    assert writes.changes == {b"b": b"other"}
    assert undo.changes == {b"b": b"2"}


def test_what_is_removed_is_known_to_its_remover(journal, snapshot):
    journal.remove(b"a", b"1")
    checkpoint = journal.checkpoint()
    journal.remove(b"b", b"2")
    journal.revert(checkpoint)
    writes, undo = journal.write_and_undo()
    assert writes.changes == {b"a": None}
    assert undo.changes == {b"a": b"1"}
    assert snapshot.asked == []
    assert journal.get(b"b") == b"2"


def test_a_deletion_that_nobody_read_is_looked_up_once(journal, snapshot):
    journal.delete(b"a")
    journal.delete(b"x")
    _, undo = journal.write_and_undo()
    assert undo.changes == {b"a": b"1"}
    assert snapshot.asked == [b"a", b"x"]


def test_reverting_leaves_no_trace(journal):
    journal.put(b"a", b"kept")
    before = everything(journal), set(journal.changed_keys())
    checkpoint = journal.checkpoint()
    journal.get(b"d")
    journal.put(b"a", b"undone")
    journal.put(b"a", b"undone again")
    journal.put(b"n", b"undone")
    journal.delete(b"d")
    assert everything(journal) == [
        (b"a", b"undone again"),
        (b"b", b"2"),
        (b"n", b"undone"),
    ]
    journal.revert(checkpoint)
    assert (everything(journal), set(journal.changed_keys())) == before
    assert journal.get(b"d") == b"4"
    assert journal.get(b"n") is None
    assert journal.write_set().changes == {b"a": b"kept"}


def test_what_an_inner_execution_kept_goes_with_the_outer_one(journal):
    outer = journal.checkpoint()
    inner = journal.checkpoint()
    journal.put(b"a", b"inner")
    journal.commit(inner)
    assert journal.get(b"a") == b"inner"
    journal.revert(outer)
    assert journal.get(b"a") == b"1"


def test_what_an_inner_execution_undid_leaves_the_outer_ones_writes(journal):
    outer = journal.checkpoint()
    journal.put(b"a", b"outer")
    inner = journal.checkpoint()
    journal.put(b"a", b"inner")
    journal.revert(inner)
    journal.commit(outer)
    assert journal.get(b"a") == b"outer"


def test_reverting_the_outer_checkpoint_closes_the_inner_ones(journal):
    outer = journal.checkpoint()
    journal.checkpoint()
    journal.put(b"a", b"x")
    journal.checkpoint()
    journal.revert(outer)
    assert journal.write_set().changes == {}


def test_checkpoints_close_once_and_inside_out(journal):
    outer = journal.checkpoint()
    inner = journal.checkpoint()
    with pytest.raises(AssertionError, match="inside out"):
        journal.commit(outer)
    with pytest.raises(AssertionError, match="between executions"):
        journal.write_set()
    journal.commit(inner)
    with pytest.raises(AssertionError, match="closed already"):
        journal.revert(inner)
    journal.commit(outer)
    with pytest.raises(AssertionError, match="inside out"):
        journal.commit(outer)
    with pytest.raises(AssertionError, match="closed already"):
        journal.revert(Checkpoint(-1))


def test_what_nobody_can_undo_is_not_remembered(journal):
    outer = journal.checkpoint()
    for _ in range(100):
        inner = journal.checkpoint()
        journal.put(b"a", b"x")
        journal.commit(inner)
    assert len(journal._undo) == 100
    journal.commit(outer)
    assert journal._undo == []


def test_a_range_shows_what_stood_at_the_call(journal):
    journal.put(b"c", b"3")
    reading = journal.range(b"a", b"z")
    seen = [next(reading)]
    journal.put(b"c", b"later")
    journal.delete(b"d")
    journal.put(b"e", b"later")
    assert seen + list(reading) == [
        (b"a", b"1"),
        (b"b", b"2"),
        (b"c", b"3"),
        (b"d", b"4"),
    ]


def test_a_range_is_in_order_after_many_writes_and_reverts():
    journal = Journal(CountingSnapshot())
    expected = {}
    for number in range(200):
        checkpoint = journal.checkpoint()
        key = b"%03d" % (number * 77 % 200)
        journal.put(key, b"v")
        if number % 3:
            journal.commit(checkpoint)
            expected[key] = b"v"
        else:
            assert (key, b"v") in everything(journal)
            journal.revert(checkpoint)
    assert everything(journal) == sorted(expected.items())


def test_what_came_and_went_is_no_change(journal):
    """Schedule and cancel within a block then cost the trees nothing."""
    journal.put(b"new", b"v")
    journal.delete(b"new")
    assert journal.get(b"a") == b"1"
    journal.put(b"a", b"9")
    journal.put(b"a", b"1")
    journal.delete(b"absent")
    assert set(journal.changed_keys()) == {b"new", b"a", b"absent"}
    assert journal.write_set().changes == {}


def test_deletions_of_what_is_there_are_changes_read_or_unread(journal):
    journal.get(b"a")
    journal.delete(b"a")
    journal.delete(b"b")
    assert journal.write_set().changes == {b"a": None, b"b": None}


def test_the_write_set_does_not_read_everything_again(journal, snapshot):
    journal.get(b"a")
    journal.put(b"a", b"9")
    journal.put(b"b", b"9")
    journal.put(b"n", b"9")
    snapshot.asked.clear()
    assert journal.write_set().changes == {b"a": b"9", b"b": b"9", b"n": b"9"}
    assert snapshot.asked == []


def test_a_journal_can_lie_over_a_journal(journal):
    journal.put(b"c", b"3")
    upper = Journal(journal)
    upper.delete(b"c")
    upper.put(b"e", b"5")
    assert everything(upper) == [
        (b"a", b"1"),
        (b"b", b"2"),
        (b"d", b"4"),
        (b"e", b"5"),
    ]
    assert upper.write_set().changes == {b"c": None, b"e": b"5"}


@pytest.mark.parametrize("first", [0, 1, 2, 3, 4])
def test_a_longer_scan_goes_on_where_a_shorter_one_ended(journal, first):
    """What the first one read is known; the rest is asked for, and each comes once."""
    journal.put(b"c", b"3")
    shorter = journal.scan(b"a", b"z")
    expected = [(b"a", b"1"), (b"b", b"2"), (b"c", b"3"), (b"d", b"4")]
    assert [next(shorter) for _ in range(first)] == expected[:first]
    assert list(journal.scan(b"a", b"z")) == expected
    assert list(journal.scan(b"a", b"z")) == expected
