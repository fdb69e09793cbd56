"""Verifier of the proofs of `merkle`: needs the root and nothing else.

One proof form answers inclusion, absence, emptiness and complete listing: "these are
all pairs with low ≤ key < high" (D24). The verifier recomputes the root and refuses
whatever does not follow from it. It is sound for roots of well-formed trees, that is
for roots that the chain computed: the bits that a fork's keys share are not hashed,
but shown by an opened key below it.
"""

from itertools import pairwise

from node.primitives.merkle import (
    BUCKET_LEAVES_MAX,
    EMPTY_PROOF,
    EMPTY_ROOT,
    OPAQUE_TAG,
    position_of,
)
from node.primitives.tree_pages import (
    BUCKET_TAG,
    FAR_FORK_TAG,
    FORK_TAG,
    FORKS,
    LEAF_BYTES,
    NEAR_BITS,
    Leaf,
    hash_bytes,
)
from node.primitives.types import Hash32

__all__ = ["BadProof", "combine_state_root", "verify"]

_HASH_BYTES = 32
_STATE_TAG = b"state"


class BadProof(Exception):  # noqa: N818 - a kind of refusal, not of error
    """The bytes do not prove anything about this root and range."""


def combine_state_root(
    globals_hash: bytes, state: bytes, calendar: bytes, globalbox: bytes = EMPTY_ROOT
) -> Hash32:
    """The state root, of the hash of the globals and the roots of the trees (D38).

    An empty Globalbox is absent: the root then speaks of two trees (D52).
    """
    parts = globals_hash + state + calendar
    if globalbox != EMPTY_ROOT:
        parts += globalbox
    return Hash32(hash_bytes(_STATE_TAG + parts))


def verify(
    root: bytes, proof: bytes, low: bytes, high: bytes, key_bytes: int
) -> list[Leaf]:
    """All pairs with low ≤ key < high of the tree with this root, ascending.

    Raises:
        BadProof: Not a proof of that, for whatever reason.
    """
    if proof == EMPTY_PROOF:
        if root != EMPTY_ROOT:
            raise BadProof("the tree is not empty")
        return []
    reader = _Reader(
        proof, position_of(low, key_bytes), position_of(high, key_bytes), key_bytes
    )
    computed, key = reader.read_subtree(-1)
    if key is None:
        raise BadProof("nothing is opened")
    if not reader.is_at_end():
        raise BadProof("bytes are left over")
    if computed != root:
        raise BadProof("belongs to another root")
    return reader.found


class _Reader:
    """Reads a proof in preorder and gathers the pairs of the range.

    Keys are numbers here. A subtree is told as its hash and some opened key below
    it, or None if it is opaque.
    """

    __slots__ = ("_at", "_high", "_key_bytes", "_low", "_proof", "found")

    def __init__(self, proof: bytes, low: int, high: int, key_bytes: int) -> None:
        self._proof = proof
        self._at = 0
        self._low = low
        self._high = high
        self._key_bytes = key_bytes
        self.found: list[Leaf] = []

    def is_at_end(self) -> bool:
        return self._at == len(self._proof)

    def read_subtree(self, fork_bit: int) -> tuple[bytes, int | None]:
        """The next subtree, which hangs under a fork at `fork_bit` (-1: under none)."""
        tag = self._take(1)[0]
        if tag == OPAQUE_TAG:
            return self._take(_HASH_BYTES), None
        if tag == BUCKET_TAG:
            return self._read_bucket(fork_bit)
        if tag in (FORK_TAG, FAR_FORK_TAG):
            return self._read_fork(fork_bit, tag)
        raise BadProof(f"there is no tag {tag}")

    def _take(self, count: int) -> bytes:
        start = self._at
        self._at = end = start + count
        if end > len(self._proof):
            raise BadProof("cut short")
        return self._proof[start:end]

    def _read_bucket(self, fork_bit: int) -> tuple[bytes, int]:
        count = self._take(1)[0]
        if not 1 <= count <= BUCKET_LEAVES_MAX:
            raise BadProof(f"a bucket of {count} leaves")
        key_bytes, entry_bytes = self._key_bytes, self._key_bytes + LEAF_BYTES
        raw = self._take(count * entry_bytes)
        leaves = [
            (raw[at : at + key_bytes], raw[at + key_bytes : at + entry_bytes])
            for at in range(0, len(raw), entry_bytes)
        ]
        keys = [int.from_bytes(key, "big") for key, _ in leaves]
        if any(one >= next_ for one, next_ in pairwise(keys)):
            raise BadProof("keys of a bucket do not ascend")
        if (keys[0] ^ keys[-1]) >> (8 * key_bytes - 1 - fork_bit):
            raise BadProof("keys of a bucket lie on both sides of a fork above")
        self.found += [
            leaf
            for key, leaf in zip(keys, leaves, strict=True)
            if self._low <= key < self._high
        ]
        return hash_bytes(bytes([BUCKET_TAG]) + raw), keys[0]

    def _read_fork(self, fork_bit: int, tag: int) -> tuple[bytes, int]:
        bit = int.from_bytes(self._take(1 if tag == FORK_TAG else 2), "big")
        if tag == FAR_FORK_TAG and bit < NEAR_BITS:
            raise BadProof("the bit of a fork is written too long")
        if not fork_bit < bit < 8 * self._key_bytes:
            raise BadProof("bits of forks do not increase")
        left_hash, left_key = self.read_subtree(bit)
        right_hash, right_key = self.read_subtree(bit)
        shown = right_key if left_key is None else left_key
        if shown is None:
            raise BadProof("a fork with nothing opened below")
        span = 1 << (8 * self._key_bytes - 1 - bit)
        first = shown & -(2 * span)  # the least key below this fork
        for key, start in ((left_key, first), (right_key, first + span)):
            if key is None:
                if start < self._high and self._low < start + span:
                    raise BadProof("an opaque subtree reaches into the range")
            elif not start <= key < start + span:
                raise BadProof("a key on the wrong side of a fork")
        return hash_bytes(FORKS[bit] + left_hash + right_hash), shown
