"""Pages: how the tree of `merkle` lies in the store, 16 slots to a page.

A page lies under the path of the slot it hangs in, in hex nibbles; "" is the root::

    bucket  00 | (key | leaf)*
    inner   01 | depth | count4 | bitmap2 | packed prefix | hash32 per live slot

`depth` is the nibble at which the keys below an inner page part, `count4` the number
of leaves below, bit i of the bitmap says that slot i is live, and the prefix is the
first `depth` nibbles, which all keys below share, padded with a zero nibble if odd. A
page hangs under its parent's prefix and one nibble and carries its own longer prefix,
so that forking a compressed edge moves one page only. Numbers are big-endian.

Rules: what is hashed of a bucket is its page; of an inner page only the slots, folded
pairwise as `merkle` defines it. The rest of it serves to find the way.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b

from msgspec import Struct

__all__ = [
    "BITS_PER_NIBBLE",
    "BUCKET_TAG",
    "FAR_FORK_TAG",
    "FORKS",
    "FORK_TAG",
    "LEAF_BYTES",
    "NEAR_BITS",
    "NIBBLES",
    "SLOTS",
    "BrokenTree",
    "InnerPage",
    "Leaf",
    "PageOutline",
    "decode_bucket",
    "decode_inner",
    "encode_bucket",
    "hash_bytes",
    "hash_page",
    "is_inner_page",
    "read_count",
    "read_outline",
    "replace_leaves",
]

Leaf = tuple[bytes, bytes]
"""A key and its 32-byte leaf."""

LEAF_BYTES = 32
SLOTS = 16
BITS_PER_NIBBLE = 4
NIBBLES = "0123456789abcdef"

BUCKET_TAG = 0
FORK_TAG = 1
FAR_FORK_TAG = 4
NEAR_BITS = 256
"""Bits of a key that one byte can name: all of one of 32 bytes."""
FAR_BITS = 1_024
"""Bits of the longest keys there may be."""

FORKS = (
    *(bytes([FORK_TAG, bit]) for bit in range(NEAR_BITS)),
    *(
        bytes([FAR_FORK_TAG]) + bit.to_bytes(2, "big")
        for bit in range(NEAR_BITS, FAR_BITS)
    ),
)
"""What the hash of a fork at each bit begins with."""

_BUCKET = bytes([BUCKET_TAG])
_INNER_TAG = 1
_HEADER_BYTES = 8  # of an inner page, before its prefix

_new_hash = blake2b(digest_size=LEAF_BYTES).copy
"""A hash of nothing yet: takes half of naming its parameters again."""


class BrokenTree(Exception):  # noqa: N818 - a condition of the store, not of the code
    """A page is missing or malformed: the store lost part of what it committed."""


class InnerPage:
    """An inner page, decoded; an update works on it in place."""

    __slots__ = ("count", "depth", "prefix", "slots")

    def __init__(self, depth: int, prefix: str, count: int, slots: list[bytes]) -> None:
        self.depth = depth
        self.prefix = prefix
        self.count = count
        self.slots = slots  # hashes; empty bytes where nothing hangs

    def hash(self) -> bytes:
        """Hash of the subtree that begins here."""
        return _fold(self.slots, self.depth)

    def fold(self, slots: range) -> bytes:
        """Hash of 1, 2, 4 or 8 neighbouring slots; empty if none of them is live."""
        return _fold(self.slots[slots.start : slots.stop], self.depth)

    def children(self) -> Iterator[tuple[str, bytes]]:
        """Path and hash of each live slot."""
        for digit, slot in zip(NIBBLES, self.slots, strict=True):
            if slot:
                yield self.prefix + digit, slot

    def encode(self) -> bytes:
        """The page as it is stored."""
        live = 0
        for nibble, slot in enumerate(self.slots):
            if slot:
                live |= 1 << nibble
        prefix = self.prefix + "0" if self.depth & 1 else self.prefix
        header = bytes((_INNER_TAG, self.depth)) + self.count.to_bytes(4, "big")
        return b"".join(
            (header, live.to_bytes(2, "big"), bytes.fromhex(prefix), *self.slots)
        )


def is_inner_page(page: bytes) -> bool:
    """Whether a page holds slots rather than leaves."""
    return page[0] == _INNER_TAG


def decode_inner(page: bytes) -> InnerPage:
    """An inner page from its bytes.

    Raises:
        BrokenTree: The bytes are no inner page.
    """
    _require_inner(page)
    depth = page[1]
    live = page[6] << 8 | page[7]
    at = _HEADER_BYTES + (depth + 1 >> 1)
    prefix = page[_HEADER_BYTES:at].hex()[:depth]
    slots = [b""] * SLOTS
    for nibble in range(SLOTS):
        if live >> nibble & 1:
            slots[nibble] = page[at : at + LEAF_BYTES]
            at += LEAF_BYTES
    if at != len(page):
        raise BrokenTree("a page of the tree is malformed")
    return InnerPage(depth, prefix, int.from_bytes(page[2:6], "big"), slots)


class PageOutline(Struct, frozen=True, gc=False):
    """Where an inner page stands and what hangs there, without its hashes."""

    depth: int
    prefix: str
    live: int
    """A bit for each slot: whether anything hangs there."""

    def children_between(
        self, start: int, stop: int, bits: int
    ) -> Iterator[tuple[str, int]]:
        """Slots that have numbers from `start` to below `stop`.

        Each slot has those that begin with its path and end with any `bits` bits; it
        is told by its path and the least of its numbers.
        """
        first = int(self.prefix or "0", 16) << BITS_PER_NIBBLE
        low = max(0, (start >> bits) - first)
        high = min(SLOTS - 1, (stop - 1 >> bits) - first)
        for nibble in range(low, high + 1):
            if self.live >> nibble & 1:
                yield self.prefix + NIBBLES[nibble], (first | nibble) << bits


def read_outline(page: bytes) -> PageOutline:
    """The outline of an inner page: a tenth of the effort of decoding it.

    Raises:
        BrokenTree: The bytes are no inner page.
    """
    _require_inner(page)
    depth = page[1]
    prefix = page[_HEADER_BYTES : _HEADER_BYTES + (depth + 1 >> 1)].hex()[:depth]
    return PageOutline(depth, prefix, page[6] << 8 | page[7])


def read_count(page: bytes) -> int:
    """How many leaves are below an inner page.

    Raises:
        BrokenTree: The bytes are no inner page.
    """
    _require_inner(page)
    return int.from_bytes(page[2:6], "big")


def _require_inner(page: bytes) -> None:
    if len(page) < _HEADER_BYTES or page[0] != _INNER_TAG:
        raise BrokenTree("a page of the tree is malformed")


def encode_bucket(leaves: Sequence[Leaf]) -> bytes:
    """A bucket of ascending leaves, as it is stored and hashed."""
    return _BUCKET + b"".join([key + leaf for key, leaf in leaves])


def decode_bucket(page: bytes, key_bytes: int) -> list[Leaf]:
    """The leaves of a bucket, ascending."""
    entry_bytes = key_bytes + LEAF_BYTES
    return [
        (page[at : at + key_bytes], page[at + key_bytes : at + entry_bytes])
        for at in range(1, len(page), entry_bytes)
    ]


def replace_leaves(
    page: bytes, changes: Iterable[tuple[bytes, bytes | None]], key_bytes: int
) -> bytes | None:
    """A bucket whose keys have other leaves; None where a key comes, goes or is hidden.

    The changes ascend by key, each of which they name once.
    A key may be hidden behind bytes that happen to be its own, across two entries: who
    gets None decodes the bucket.
    """
    entry_bytes = key_bytes + LEAF_BYTES
    replaced, at = bytearray(page), 1
    for key, leaf in changes:
        at = page.find(key, at)
        if leaf is None or at < 0 or (at - 1) % entry_bytes:
            return None
        replaced[at + key_bytes : at + entry_bytes] = leaf
    return bytes(replaced)


def hash_page(page: bytes) -> bytes:
    """Hash of the subtree that begins with a page."""
    if page[0] == BUCKET_TAG:
        return hash_bytes(page)
    return decode_inner(page).hash()


def hash_bytes(data: bytes) -> bytes:
    """The tree's hash: `crypto.blake2b256`, without what signatures need."""
    hasher = _new_hash()
    hasher.update(data)
    return hasher.digest()


def _fold(slots: list[bytes], depth: int) -> bytes:
    """Hash of 2ⁿ neighbouring slots whose keys part at nibble `depth`."""
    bit = BITS_PER_NIBBLE * depth + BITS_PER_NIBBLE - 1
    while len(slots) > 1:
        fork, each = FORKS[bit], iter(slots)
        slots = [
            hash_bytes(fork + one + two) if one and two else one or two
            for one, two in zip(each, each, strict=False)
        ]
        bit -= 1
    return slots[0]
