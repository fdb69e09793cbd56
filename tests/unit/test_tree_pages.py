"""Pages have the layout that is written down, and damage is told."""

import pytest

from node.primitives.tree_pages import (
    BrokenTree,
    InnerPage,
    decode_bucket,
    decode_inner,
    encode_bucket,
    hash_page,
    is_inner_page,
    replace_leaves,
)

A, B, C = (bytes([letter]) * 32 for letter in b"abc")


def inner(depth: int, prefix: str) -> InnerPage:
    slots = [b""] * 16
    slots[0], slots[9], slots[15] = A, B, C
    return InnerPage(depth, prefix, 70_000, slots)


@pytest.mark.parametrize(
    ("depth", "prefix", "packed"),
    [(0, "", ""), (1, "7", "70"), (2, "7f", "7f"), (5, "00f1a", "00f1a0")],
)
def test_an_inner_page_is_written_as_described(depth, prefix, packed):
    """01 | depth | count4 | bitmap2 | packed prefix | hash32 per live slot."""
    page = inner(depth, prefix).encode()
    header = bytes([1, depth]) + (70_000).to_bytes(4, "big")
    bitmap = (1 << 0 | 1 << 9 | 1 << 15).to_bytes(2, "big")
    assert page == header + bitmap + bytes.fromhex(packed) + A + B + C
    assert is_inner_page(page)
    again = decode_inner(page)
    assert (again.depth, again.prefix, again.count) == (depth, prefix, 70_000)
    assert again.slots == inner(depth, prefix).slots
    assert hash_page(page) == again.hash()
    assert list(again.children()) == [
        (prefix + "0", A),
        (prefix + "9", B),
        (prefix + "f", C),
    ]


def test_a_bucket_is_written_as_described():
    """00 | (key | leaf)*."""
    page = encode_bucket([(b"k1", A), (b"k2", B)])
    assert page == b"\x00k1" + A + b"k2" + B
    assert not is_inner_page(page)
    assert decode_bucket(page, 2) == [(b"k1", A), (b"k2", B)]


def test_leaves_are_replaced_where_every_key_is_there():
    page = encode_bucket([(b"k1", A), (b"k2", B)])
    assert replace_leaves(page, [(b"k2", C)], 2) == encode_bucket(
        [(b"k1", A), (b"k2", C)]
    )
    assert replace_leaves(page, [(b"k1", C), (b"k2", C)], 2) == encode_bucket(
        [(b"k1", C), (b"k2", C)]
    )
    assert replace_leaves(page, [], 2) == page
    for change in ((b"k3", C), (b"k1", None)):
        assert replace_leaves(page, [(b"k1", B), change], 2) is None


def test_a_key_that_a_leaf_shows_first_is_not_taken_for_one():
    hiding = b"..k2" + bytes(28)
    page = encode_bucket([(b"k1", hiding), (b"k2", B)])
    assert replace_leaves(page, [(b"k2", C)], 2) is None
    across = encode_bucket([(b"k1", bytes(31) + b"k"), (b"2x", B)])
    assert replace_leaves(across, [(b"k2", C)], 2) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda page: page[:-1],
        lambda page: page + b"\0",
        lambda page: page[:5],
        lambda page: b"\x07" + page[1:],
        lambda page: page[:7] + bytes([page[7] ^ 2]) + page[8:],
        lambda page: page[:1] + b"\x09" + page[2:],
    ],
    ids=["cut", "longer", "header only", "tag", "bitmap", "depth"],
)
def test_a_damaged_inner_page_is_told(damage):
    with pytest.raises(BrokenTree, match="malformed"):
        decode_inner(damage(inner(2, "7f").encode()))
