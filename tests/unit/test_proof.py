"""Proofs say all about a range, and nothing else passes for one (D24)."""

import random
from hashlib import blake2b

import pytest

from node.primitives.merkle import EMPTY_PROOF, EMPTY_ROOT, Tree
from node.primitives.proof import BadProof, verify
from node.primitives.tree_pages import BrokenTree, decode_inner

ABOVE_ALL = b"\xff" * 17


def h(data: bytes) -> bytes:
    return blake2b(data, digest_size=32).digest()


def timer_key(height: int, sequence: int) -> bytes:
    return height.to_bytes(8, "big") + sequence.to_bytes(8, "big")


@pytest.fixture(scope="module")
def pairs() -> dict[bytes, bytes]:
    source = random.Random(5)
    keys = {
        timer_key(height, source.randrange(10_000))
        for height in [*range(0, 400, 2), 2**40, 2**63, 2**64 - 1]
    }
    return {key: h(key) for key in sorted(keys)}


@pytest.fixture(scope="module")
def tree(pairs) -> Tree:
    update = Tree({}.get, 16).apply(list(pairs.items()))
    return Tree(update.pages.get, 16)


def listed(tree: Tree, low: bytes, high: bytes) -> dict[bytes, bytes]:
    return dict(verify(tree.root(), tree.prove(low, high), low, high, 16))


def test_inclusion(tree, pairs):
    for key in pairs:
        assert listed(tree, key, key + b"\0") == {key: pairs[key]}


def test_absence(tree, pairs):
    for key in pairs:
        absent = (int.from_bytes(key, "big") ^ 1).to_bytes(16, "big")
        assert listed(tree, absent, absent + b"\0") == {}


def test_nothing_is_due_between_two_heights(tree):
    """D24: "nothing is due between A and B" is provable for near heights too."""
    assert listed(tree, timer_key(7, 0), timer_key(8, 0)) == {}
    assert listed(tree, timer_key(400, 0), timer_key(2**40, 0)) == {}
    (found,) = listed(tree, timer_key(6, 0), timer_key(8, 0))
    assert found[:8] == timer_key(6, 0)[:8]


def test_a_complete_listing(tree, pairs):
    assert listed(tree, b"", ABOVE_ALL) == pairs
    low, high = timer_key(100, 0), timer_key(2**41, 0)
    assert listed(tree, low, high) == {
        key: leaf for key, leaf in pairs.items() if low <= key < high
    }
    assert listed(tree, high, low) == {}


def test_the_empty_tree_proves_emptiness():
    empty = Tree({}.get, 16)
    assert empty.prove(b"", ABOVE_ALL) == EMPTY_PROOF
    assert verify(EMPTY_ROOT, EMPTY_PROOF, b"", ABOVE_ALL, 16) == []
    with pytest.raises(BadProof, match="not empty"):
        verify(h(b"some root"), EMPTY_PROOF, b"", ABOVE_ALL, 16)


def test_a_range_that_the_tree_does_not_reach():
    update = Tree({}.get, 16).apply([(timer_key(9, n), h(b"")) for n in range(100)])
    tree = Tree(update.pages.get, 16)
    assert listed(tree, timer_key(0, 0), timer_key(9, 0)) == {}
    assert listed(tree, timer_key(10, 0), ABOVE_ALL) == {}


def test_every_flipped_bit_is_refused(tree):
    low, high = timer_key(7, 0), timer_key(8, 0)
    proof, root = tree.prove(low, high), tree.root()
    for bit in range(8 * len(proof)):
        flipped = bytearray(proof)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(BadProof):
            verify(root, bytes(flipped), low, high, 16)


def test_every_cut_and_every_addition_is_refused(tree):
    low, high = timer_key(7, 0), timer_key(8, 0)
    proof, root = tree.prove(low, high), tree.root()
    for length in range(len(proof)):
        with pytest.raises(BadProof):
            verify(root, proof[:length], low, high, 16)
    with pytest.raises(BadProof, match="left over"):
        verify(root, proof + b"\0", low, high, 16)


def test_a_proof_of_another_range_root_or_key_length_is_refused(tree, pairs):
    key, other = list(pairs)[3], list(pairs)[150]
    proof = tree.prove(key, key + b"\0")
    with pytest.raises(BadProof, match="reaches into the range"):
        verify(tree.root(), proof, other, other + b"\0", 16)
    with pytest.raises(BadProof, match="another root"):
        verify(h(b"other"), proof, key, key + b"\0", 16)
    with pytest.raises(BadProof):
        verify(tree.root(), proof, key, key + b"\0", 32)


def fork(bit: int, left: bytes, right: bytes) -> bytes:
    return bytes([1, bit]) + left + right


def opaque(data: bytes) -> bytes:
    return b"\x02" + h(data)


def bucket(*keys: int) -> bytes:
    entries = [key.to_bytes(1, "big") + bytes(32) for key in keys]
    return bytes([0, len(keys)]) + b"".join(entries)


@pytest.mark.parametrize(
    ("proof", "reason"),
    [
        (b"", "cut short"),
        (b"\x04\x00\xff", "the bit of a fork is written too long"),
        (b"\x05", "no tag 5"),
        (b"\x03\x00", "no tag 3"),
        (opaque(b"x"), "nothing is opened"),
        (fork(0, opaque(b"l"), opaque(b"r")), "nothing opened below"),
        (fork(2, fork(2, bucket(1), bucket(2)), opaque(b"r")), "do not increase"),
        (fork(8, bucket(1), bucket(2)), "do not increase"),
        (bucket(), "a bucket of 0"),
        (bucket(*range(25)), "a bucket of 25"),
        (bucket(2, 1), "do not ascend"),
        (bucket(2, 2), "do not ascend"),
        (fork(0, bucket(1, 0x81), opaque(b"r")), "both sides of a fork"),
        (fork(0, bucket(0x81), opaque(b"r")), "wrong side"),
        (fork(0, bucket(1), bucket(2)), "wrong side"),
        (fork(0, bucket(0x81), bucket(0x91)), "wrong side"),
        (fork(1, bucket(1), bucket(0xC1)), "wrong side"),
        (fork(0, bucket(1), opaque(b"r")), "reaches into the range"),
        (fork(0, opaque(b"l"), bucket(0x90)), "reaches into the range"),
    ],
)
def test_what_does_not_follow_is_refused_for_its_reason(proof, reason):
    """Keys of one byte, and a range that reaches to both sides of the first bit."""
    with pytest.raises(BadProof, match=reason):
        verify(h(b"any"), proof, b"\x10", b"\x90", 1)


def test_proofs_stay_small():
    """Inclusion in a million keys takes about 1.3 KB; ten thousand must not take 4."""
    pairs = {h(b"%d" % number): h(b"leaf") for number in range(10_000)}
    update = Tree({}.get, 32).apply(sorted(pairs.items()))
    tree = Tree(update.pages.get, 32)
    sizes = [len(tree.prove(key, key + b"\0")) for key in list(pairs)[:200]]
    assert max(sizes) < 3000


def test_damaged_pages_do_not_lead_in_a_circle(pairs):
    update = Tree({}.get, 16).apply(list(pairs.items()))
    pages = dict(update.pages)
    path = next(path for path, page in pages.items() if path and page[0] == 1)
    inner = decode_inner(pages[path])
    inner.prefix, inner.depth = inner.prefix[: len(path) - 1], len(path) - 1
    pages[path] = inner.encode()
    with pytest.raises(BrokenTree, match="malformed"):
        Tree(pages.get, 16).prove(b"", ABOVE_ALL)
