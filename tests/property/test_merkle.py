"""Whatever the history: root, pages, order and proofs are those of the set."""

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.primitives.merkle import Tree, commit
from node.primitives.proof import BadProof, verify

BITS = 128


def h(data: bytes) -> bytes:
    return blake2b(data, digest_size=32).digest()


@st.composite
def batches(draw) -> dict[bytes, bytes | None]:
    """A row of keys at any distance from one another, put or removed.

    Few bases and steps of powers of two, so that rows meet, crowd a bucket, leave it
    again, and fork at any bit.
    """
    base = draw(st.sampled_from([0, 1 << 64, 3 << 64, 0x77 << 96, (1 << BITS) - 1]))
    step = 1 << draw(st.sampled_from([0, 1, 3, 4, 10, 63, 64, 65, 70, 100, 122]))
    count = draw(st.integers(1, 60))
    leaf = draw(st.sampled_from([None, h(b"one"), h(b"two")]))
    keys = ((base ^ (number * step)) % (1 << BITS) for number in range(count))
    return {key.to_bytes(16, "big"): leaf for key in keys}


@st.composite
def worlds(draw) -> tuple[dict[str, bytes], dict[bytes, bytes]]:
    """Pages and pairs after some batches, compared with a fresh build after each."""
    pages: dict[str, bytes] = {}
    pairs: dict[bytes, bytes] = {}
    for changes in draw(st.lists(batches(), max_size=8)):
        root = Tree(pages.get, 16).root()
        known = draw(st.sampled_from([None, root]))
        update = Tree(pages.get, 16, known).apply(sorted(changes.items()))
        pages = {k: v for k, v in (pages | update.pages).items() if v is not None}
        pairs = {k: v for k, v in (pairs | changes).items() if v is not None}
        fresh = Tree({}.get, 16).apply(sorted(pairs.items()))
        assert update.root == fresh.root == commit(pairs.items())
        assert pages == fresh.pages
    return pages, pairs


def bounds(pairs: dict[bytes, bytes]) -> st.SearchStrategy[bytes]:
    near = [key + tail for key in pairs for tail in (b"", b"\0")]
    return st.sampled_from([b"", b"\xff" * 17, *near]) | st.binary(max_size=17)


@given(worlds(), st.data())
def test_history_leaves_no_trace_and_order_is_kept(world, data):
    pages, pairs = world
    low = data.draw(bounds(pairs))
    expected = min((key for key in pairs if key >= low), default=None)
    assert Tree(pages.get, 16).first(low) == expected


@given(worlds(), st.data())
def test_proofs_agree_with_the_set_and_altered_ones_are_refused(world, data):
    pages, pairs = world
    tree = Tree(pages.get, 16)
    low, high = sorted([data.draw(bounds(pairs)), data.draw(bounds(pairs))])
    proof = tree.prove(low, high)
    proven = verify(tree.root(), proof, low, high, 16)
    assert proven == sorted(p for p in pairs.items() if low <= p[0] < high)
    for _ in range(10):
        bit = data.draw(st.integers(0, 8 * len(proof) - 1))
        flipped = bytearray(proof)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(BadProof):
            verify(tree.root(), bytes(flipped), low, high, 16)


@given(st.binary(max_size=300), st.binary(max_size=17), st.binary(max_size=17))
def test_arbitrary_bytes_prove_nothing(proof, low, high):
    with pytest.raises(BadProof):
        verify(h(b"a root"), proof, low, high, 16)


@given(st.binary(min_size=1, max_size=300))
def test_nothing_but_bad_proof_comes_of_bytes_that_look_like_a_proof(data):
    """Every byte is brought into the range of tags, so that parsing goes deep."""
    with pytest.raises(BadProof):
        verify(h(b"a root"), bytes(byte % 3 for byte in data), b"", b"\xff", 1)


@given(worlds(), st.integers(0, 129), st.integers(1, 20), st.data())
def test_keys_are_counted_by_intervals_of_equal_width(world, shift, count, data):
    pages, pairs = world
    numbers = [int.from_bytes(key, "big") >> shift for key in pairs]
    near = data.draw(st.sampled_from([0, *numbers]))
    first = max(0, near - data.draw(st.integers(0, 20)))
    tree = Tree(pages.get, 16)
    wanted = [numbers.count(first + place) for place in range(count)]
    assert tree.counts(shift, first, count) == wanted
    assert tree.count() == len(pairs)
