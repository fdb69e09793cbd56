"""Write sets join to the right."""

from node.state.store import WriteSet


def test_the_right_one_counts_where_two_write_sets_meet():
    both = WriteSet({b"a": b"1", b"b": b"1"}) | WriteSet({b"b": None, b"c": b"2"})
    assert both.changes == {b"a": b"1", b"b": None, b"c": b"2"}
    assert WriteSet().changes == {}
