"""Golden proofs of the two trees, for verifiers in other languages.

Trees of 16-byte keys, height and sequence, as the calendar is: empty, one bucket, one
more than a bucket, and heights chosen to fork at every bit. Each proof says which range
it is of and what it shows; altered ones say that they are refused.
"""

from typing import Final

from node.primitives.crypto import blake2b256
from node.primitives.merkle import BUCKET_LEAVES_MAX, EMPTY_ROOT, Tree
from node.primitives.tree_pages import Leaf
from node.state import keys

Json = object
_KEY_BYTES: Final = 16
_FORKED: Final = 1_000_000


def _key(height: int, sequence: int) -> bytes:
    return keys.height8(height) + keys.height8(sequence)


def _leaves(places: list[tuple[int, int]]) -> list[Leaf]:
    """Keys with leaves as of records that are the keys themselves."""
    return [(key, blake2b256(key)) for key in sorted(_key(*place) for place in places)]


_TREES: Final = {
    "no keys": [],
    "one key": [(7, 0)],
    "a full bucket": [(10 + number // 3, number) for number in range(24)],
    "one key more than a bucket": [(10 + number // 3, number) for number in range(25)],
    "heights that fork at every bit": [
        (_FORKED ^ (1 << bit), bit) for bit in range(0, 64, 2)
    ]
    + [(_FORKED, 64 + number) for number in range(30)],
}

_RANGES: Final = (
    (0, 1),
    (7, 8),
    (10, 11),
    (12, 16),
    (18, 19),
    (_FORKED, _FORKED + 1),
    (_FORKED + 2, 2**40),
    (0, 2**64 - 1),
)
"""Heights: from the first, below the last."""


def proof_vectors() -> Json:
    """Trees, and what is proven of them."""
    assert len(_TREES["a full bucket"]) == BUCKET_LEAVES_MAX
    return [_tree_vector(name, places) for name, places in _TREES.items()]


def _tree_vector(name: str, places: list[tuple[int, int]]) -> Json:
    leaves = _leaves(places)
    update = Tree(lambda _path: None, _KEY_BYTES, EMPTY_ROOT).apply(leaves)
    tree = Tree(update.pages.get, _KEY_BYTES, update.root)
    ranges = [(keys.height8(first), keys.height8(stop)) for first, stop in _RANGES]
    ranges += [(key, key + b"\0") for key, _ in leaves[::13]]
    proofs = [(low, high, tree.prove(low, high)) for low, high in ranges]
    return {
        "tree": name,
        "leaves": [[key.hex(), leaf.hex()] for key, leaf in leaves],
        "root": update.root.hex(),
        "proofs": [
            {
                "low": low.hex(),
                "high": high.hex(),
                "proof": proof.hex(),
                "keys": [key.hex() for key, _ in leaves if low <= key < high],
            }
            for low, high, proof in proofs
        ],
        "refused": [
            {"why": why, "low": low.hex(), "high": high.hex(), "proof": proof.hex()}
            for why, low, high, proof in _altered(proofs)
        ],
    }


def _altered(
    proofs: list[tuple[bytes, bytes, bytes]],
) -> list[tuple[str, bytes, bytes, bytes]]:
    """The longest proof, altered, and of another range than is asked."""
    low, high, proof = max(proofs, key=lambda one: len(one[2]))
    flipped = bytes([*proof[:-1], proof[-1] ^ 1])
    altered = [
        ("a bit is flipped", low, high, flipped),
        ("a byte is left over", low, high, proof + b"\0"),
        ("it ends early", low, high, proof[:-1]),
        ("it is empty", low, high, b""),
    ]
    hidden = [one for one in proofs if b"\x02" in one[2] and len(one[2]) > 1]
    if len(proof) > 1 and hidden:
        shorter = min(hidden, key=lambda one: len(one[2]))[2]
        if shorter != proof:
            altered.append(("a subtree in the range is not opened", low, high, shorter))
    return altered
