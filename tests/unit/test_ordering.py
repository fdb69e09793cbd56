"""SortedKeys against a set, merge against a dict."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.state.ordering import SortedKeys, merge

NAMES = [bytes([number]) for number in range(60)]


def test_a_cut_is_ascending_and_half_open():
    keys = SortedKeys()
    for name in (b"c", b"a", b"d", b"b"):
        keys.add(name)
    assert keys.between(b"a", b"d") == [b"a", b"b", b"c"]
    assert keys.between(b"", b"z", 2) == [b"a", b"b"]
    assert keys.between(b"d", b"a") == []
    assert keys.between(b"", b"z", 0) == []


@pytest.mark.parametrize("gone", [slice(0, 40), slice(80, 200), slice(460, 500)])
def test_many_neighbours_leave_together(gone):
    names = [number.to_bytes(2, "big") for number in range(500)]
    keys = SortedKeys()
    for name in names:
        keys.add(name)
    assert keys.between(b"", b"\xff") == names
    for name in names[gone]:
        keys.remove(name)
    del names[gone]
    assert keys.between(b"", b"\xff") == names


@pytest.mark.parametrize("count", [1, 32, 33, 500])
def test_few_and_many_waiting_changes_come_out_the_same(count):
    keys, model = SortedKeys(), set()
    for number in range(count):
        name = (number * 7919 % 1009).to_bytes(2, "big")
        keys.add(name)
        model.add(name)
    assert keys.between(b"", b"\xff") == sorted(model)
    for name in sorted(model)[::2]:
        keys.remove(name)
        model.remove(name)
    keys.add(b"\x10")
    assert keys.between(b"", b"\xff") == sorted(model | {b"\x10"})


@given(st.lists(st.tuples(st.sampled_from(["flip", "cut"]), st.sampled_from(NAMES))))
def test_it_is_a_set_in_order(steps):
    keys, model = SortedKeys(), set()
    for step, name in steps:
        if step == "cut":
            assert keys.between(name, b"\x30") == sorted(
                other for other in model if name <= other < b"\x30"
            )
        elif name in model:
            keys.remove(name)
            model.remove(name)
        else:
            keys.add(name)
            model.add(name)
    assert keys.between(b"", b"\xff") == sorted(model)


@given(
    st.dictionaries(st.sampled_from(NAMES), st.binary(max_size=1)),
    st.dictionaries(st.sampled_from(NAMES), st.none() | st.binary(max_size=1)),
)
def test_merged_views_are_one_dict_laid_over_the_other(base, overlay):
    expected = {k: v for k, v in (base | overlay).items() if v is not None}
    merged = merge(iter(sorted(base.items())), sorted(overlay.items()))
    assert list(merged) == sorted(expected.items())
