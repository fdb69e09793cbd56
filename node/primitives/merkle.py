"""One ordered, history-independent Merkle tree: the commitment to a set of keys.

It is used for the state, over the calendar's keys, the Globalbox's and hashed state
keys (D24, D38, D52), and, without storing pages, for roots of receipts. All keys of a
tree are equally long; each carries a leaf of 32 bytes, the hash of what stands under
the key::

    H = blake2b-256
    commit(S): |S| = 0     32 zero bytes
               |S| <= 24   H(00 | key | leaf | key | leaf | ...)    a bucket, sorted
               else        split at the first nibble where the keys differ, fold the
                           16 slots pairwise over the nibble's 4 bits: if one side is
                           empty, the other side; else H(01 | bit | left | right),
                           the bit counted from the key's first; from bit 256
                           on H(04 | bit, two bytes | left | right)

So what is committed is a binary radix tree with buckets for leaves: a function of
the set alone, whatever the order of insertions and removals. What is stored are
pages of 16 slots (`tree_pages.py`), a function of the set too.

Rules: a tree is updated once a block, on the net changes, so that each page is
touched once, and what came and went within the block costs nothing.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from node.primitives.tree_pages import (
    BITS_PER_NIBBLE,
    BUCKET_TAG,
    FORKS,
    LEAF_BYTES,
    NIBBLES,
    SLOTS,
    BrokenTree,
    InnerPage,
    Leaf,
    decode_bucket,
    decode_inner,
    encode_bucket,
    hash_page,
    read_count,
    read_outline,
    replace_leaves,
)
from node.primitives.types import Hash32

__all__ = [
    "BUCKET_LEAVES_MAX",
    "EMPTY_PROOF",
    "EMPTY_ROOT",
    "OPAQUE_TAG",
    "BrokenTree",
    "Change",
    "ProofTooLarge",
    "Tree",
    "TreeUpdate",
    "commit",
    "commit_ascending",
    "position_of",
]

BUCKET_LEAVES_MAX = 24
"""Leaves of a bucket: 32 is a little faster and lets proofs of a gap reach 3.9 KiB."""

EMPTY_ROOT = Hash32(bytes(32))
"""Root of the tree without keys."""

OPAQUE_TAG = 2
"""Begins a subtree of a proof that is told by its hash alone."""

EMPTY_PROOF = b"\x03"
"""Proof of anything about the tree without keys."""

Change = tuple[bytes, bytes | None]
"""A key and its new leaf, or None to remove it."""


class ProofTooLarge(Exception):  # noqa: N818 - a refusal, not a defect
    """A proof of a range would be larger than its asker takes."""

    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"the proof of this range has more than {bytes_max} bytes")
        self.bytes_max = bytes_max


_Row = TypeVar("_Row", bound=Change)

_OPAQUE = bytes([OPAQUE_TAG])


class TreeUpdate(Struct, frozen=True):
    """What a batch of changes made of a tree."""

    root: Hash32
    pages: dict[str, bytes | None]
    """Pages to write under their paths, None to delete: only what differs."""
    replaced: dict[str, bytes | None]
    """What lies under the paths of `pages` before they are written."""


class Tree:
    """A tree as its stored pages show it; never altered, `apply` returns the next."""

    __slots__ = ("_entry_bytes", "_key_bytes", "_known_root", "_load_page")

    def __init__(
        self,
        load_page: Callable[[str], bytes | None],
        key_bytes: int,
        known_root: bytes | None = None,
    ) -> None:
        """`known_root`, if the caller has it, saves reading the root page for it."""
        self._load_page = load_page
        self._key_bytes = key_bytes
        self._entry_bytes = key_bytes + LEAF_BYTES
        self._known_root = known_root

    def root(self) -> Hash32:
        """The commitment to the whole set."""
        if self._known_root is not None:
            return Hash32(self._known_root)
        page = self._load_page("")
        return EMPTY_ROOT if page is None else Hash32(hash_page(page))

    def apply(self, changes: Sequence[Change]) -> TreeUpdate:
        """The tree after `changes`, which ascend by key and name each key once."""
        if not changes:
            return TreeUpdate(self.root(), {}, {})
        known = b"" if self._known_root == EMPTY_ROOT else self._known_root
        update = _Update(self._load_page, self._key_bytes)
        root, _ = update.subtree("", known, changes)
        # A page that was not read is a new one: nothing lay in its place.
        replaced = {path: update.loaded.get(path) for path in update.pages}
        return TreeUpdate(Hash32(root) if root else EMPTY_ROOT, update.pages, replaced)

    def first(self, low: bytes) -> bytes | None:
        """The least key that is not below `low`, or None.

        Walks pages, so it never meets a removed key, however many there were.
        """
        page = self._load_page("")
        wanted = low.hex().ljust(2 * self._key_bytes, "0")
        return None if page is None else self._first_in(page, low, wanted)

    def _first_in(self, page: bytes, low: bytes, wanted: str) -> bytes | None:
        if page[0] == BUCKET_TAG:
            starts = range(1, len(page), self._entry_bytes)
            keys = (page[at : at + self._key_bytes] for at in starts)
            return next((key for key in keys if key >= low), None)
        inner = decode_inner(page)
        above = wanted[: inner.depth]
        if above > inner.prefix:
            return None
        start = int(wanted[inner.depth], 16) if above == inner.prefix else 0
        for nibble in range(start, SLOTS):
            if inner.slots[nibble]:
                child = self._page(inner.prefix + NIBBLES[nibble])
                key = self._first_in(child, low, wanted)
                if key is not None:
                    return key
        return None

    def counts(self, shift: int, first: int, count: int) -> list[int]:
        """How many keys lie in each of `count` intervals of equal width.

        Interval i has the keys whose number, shifted right by `shift` bits, is
        `first` + i. An inner page says how many leaves are below it, so no more pages
        are read than meet the borders of intervals.

        Raises:
            BrokenTree: A page is missing.
        """
        found = [0] * count
        if self._load_page("") is not None:
            self._count_in("", shift, first, found)
        return found

    def count(self) -> int:
        """How many keys there are: one page is read."""
        page = self._load_page("")
        return 0 if page is None else self._leaves_below(page)

    def _leaves_below(self, page: bytes) -> int:
        if page[0] == BUCKET_TAG:
            return (len(page) - 1) // self._entry_bytes
        return read_count(page)

    def _count_in(self, path: str, shift: int, first: int, found: list[int]) -> None:
        """Count what hangs under a path that may belong to several intervals."""
        page = self._page(path)
        if page[0] == BUCKET_TAG:
            for at in range(1, len(page), self._entry_bytes):
                place = int.from_bytes(page[at : at + self._key_bytes], "big") >> shift
                if 0 <= place - first < len(found):
                    found[place - first] += 1
            return
        outline = read_outline(page)
        bits = 8 * self._key_bytes - BITS_PER_NIBBLE * (outline.depth + 1)
        start, stop = first << shift, (first + len(found)) << shift
        for child, low in outline.children_between(start, stop, bits):
            place = low >> shift
            if (low + (1 << bits) - 1) >> shift != place:
                self._count_in(child, shift, first, found)
            else:  # as nearly always: a page more, and nothing below it
                found[place - first] += self._leaves_below(self._page(child))

    def audit(self, key: bytes) -> bytes | None:
        """The leaf under `key`, or None, with each page on the way hashed again.

        Raises:
            BrokenTree: A page is missing, or not the one its place in the tree names.
        """
        path, expected, digits = "", bytes(self.root()), key.hex()
        while expected and expected != EMPTY_ROOT:
            page = self._page(path)
            if hash_page(page) != expected:
                raise BrokenTree(f"the page under {path!r} is not the one committed")
            if page[0] == BUCKET_TAG:
                return dict(decode_bucket(page, self._key_bytes)).get(key)
            inner = self._decode(path, page)
            if not digits.startswith(inner.prefix):
                return None
            digit = digits[inner.depth]
            path, expected = inner.prefix + digit, inner.slots[int(digit, 16)]
        return None

    def leaves(self) -> Iterator[Leaf]:
        """Every key with its leaf, ascending, each page hashed again on the way.

        Raises:
            BrokenTree: A page is missing, or not the one its place in the tree names.
        """
        root = bytes(self.root())
        if root != EMPTY_ROOT:
            yield from self._leaves_under("", root)

    def _leaves_under(self, path: str, expected: bytes) -> Generator[Leaf, None, int]:
        """Leaves of a subtree; returns how many there are."""
        page = self._page(path)
        if hash_page(page) != expected:
            raise BrokenTree(f"the page under {path!r} is not the one committed")
        if page[0] == BUCKET_TAG:
            leaves = decode_bucket(page, self._key_bytes)
            yield from leaves
            return len(leaves)
        inner, count = self._decode(path, page), 0
        for child, slot in inner.children():
            count += yield from self._leaves_under(child, slot)
        if count != inner.count:
            raise BrokenTree(f"the page under {path!r} counts {inner.count} leaves")
        return count

    # --- proofs --------------------------------------------------------------------

    def prove(self, low: bytes, high: bytes, bytes_max: int | None = None) -> bytes:
        """Proof of all pairs with low ≤ key < high, and that there are no others.

        One form serves inclusion, absence, emptiness and complete listing: the tree
        in preorder, opened where it meets the range::

            00 n (key leaf)*n   a bucket        02 hash32   a subtree outside the range
            01 bit left right   a fork          03          the empty tree
            04 bit2 left right  a fork at bit 256 or behind

        Under every fork shown a bucket is open, even if the range meets neither
        side: some key must show which keys the fork parts. `proof.verify` checks it.

        Raises:
            ProofTooLarge: It would have more than `bytes_max` bytes; little more than
                those were read.
        """
        if self._load_page("") is None:
            return EMPTY_PROOF
        start, end = (position_of(bound, self._key_bytes) for bound in (low, high))
        proof = bytearray()
        for part in self._open_page("", start, end):
            proof += part
            if bytes_max is not None and len(proof) > bytes_max:
                raise ProofTooLarge(bytes_max)
        return bytes(proof)

    def _open_page(self, path: str, low: int, high: int) -> Iterator[bytes]:
        page = self._page(path)
        if page[0] == BUCKET_TAG:
            count = (len(page) - 1) // self._entry_bytes
            yield bytes([BUCKET_TAG, count]) + page[1:]
        else:
            inner = self._decode(path, page)
            yield from self._open_slots(inner, range(SLOTS), low, high)

    def _open_slots(
        self, inner: InnerPage, slots: range, low: int, high: int
    ) -> Iterator[bytes]:
        """Proof of 1, 2, 4, 8 or 16 slots of a page, at least one of them live."""
        if len(slots) == 1:
            yield from self._open_page(inner.prefix + NIBBLES[slots[0]], low, high)
            return
        half = len(slots) // 2
        left, right = slots[:half], slots[half:]
        left_hash, right_hash = inner.fold(left), inner.fold(right)
        if not (left_hash and right_hash):
            yield from self._open_slots(inner, left if left_hash else right, low, high)
            return
        shift = 8 * self._key_bytes - BITS_PER_NIBBLE * (inner.depth + 1)
        first = int(inner.prefix or "0", 16) << (shift + BITS_PER_NIBBLE)
        start, middle, end = (
            first + (slot << shift) for slot in (slots[0], right[0], slots[-1] + 1)
        )
        is_right_met = middle < high and low < end
        is_left_met = start < high and low < middle
        level = (SLOTS // len(slots)).bit_length() - 1
        yield FORKS[BITS_PER_NIBBLE * inner.depth + level]
        if is_left_met or not is_right_met:
            yield from self._open_slots(inner, left, low, high)
        else:
            yield _OPAQUE + left_hash
        if is_right_met:
            yield from self._open_slots(inner, right, low, high)
        else:
            yield _OPAQUE + right_hash

    def _decode(self, path: str, page: bytes) -> InnerPage:
        inner = decode_inner(page)
        # Damaged pages must not lead in a circle, or nowhere.
        if not inner.prefix.startswith(path) or inner.depth >= 2 * self._key_bytes:
            raise BrokenTree(f"the page under {path!r} is malformed")
        return inner

    def _page(self, path: str) -> bytes:
        page = self._load_page(path)
        if page is None:
            raise BrokenTree(f"the page under {path!r} is missing")
        return page


def commit(pairs: Iterable[Leaf]) -> Hash32:
    """Root of the tree of `pairs`: distinct keys of one length, in any order."""
    return commit_ascending(sorted(pairs))


def commit_ascending(leaves: Sequence[Leaf]) -> Hash32:
    """As `commit`, of pairs that are in the order of their keys."""
    if not leaves:
        return EMPTY_ROOT
    if len(leaves) <= BUCKET_LEAVES_MAX:  # no page is kept: there is nothing to build
        return Hash32(hash_page(encode_bucket(leaves)))
    return Hash32(_build("", leaves, {}))


def position_of(bound: bytes, key_bytes: int) -> int:
    r"""The number of keys of that length that are below `bound` in byte order.

    A bound may be shorter or longer than a key: `key + b"\0"` is the one just above.
    """
    cut = bound[:key_bytes]
    position = int.from_bytes(cut, "big") << (8 * (key_bytes - len(cut)))
    return position + 1 if len(bound) > key_bytes else position


# --- building and updating -----------------------------------------------------------


def _build(path: str, leaves: Sequence[Leaf], pages: dict[str, bytes | None]) -> bytes:
    """Hash of a subtree of ascending leaves; its pages go into `pages`."""
    if len(leaves) <= BUCKET_LEAVES_MAX:
        page = pages[path] = encode_bucket(leaves)
        return hash_page(page)
    low, high = leaves[0][0], leaves[-1][0]
    differing = int.from_bytes(low, "big") ^ int.from_bytes(high, "big")
    assert differing, "keys are distinct"
    # Leading zero nibbles of the difference: what all keys share.
    depth = (8 * len(low) - differing.bit_length()) // BITS_PER_NIBBLE
    inner = InnerPage(depth, low.hex()[:depth], len(leaves), [b""] * SLOTS)
    for nibble, group in _groups(leaves, depth):
        inner.slots[nibble] = _build(inner.prefix + NIBBLES[nibble], group, pages)
    pages[path] = inner.encode()
    return inner.hash()


def _groups(rows: Sequence[_Row], depth: int) -> Iterator[tuple[int, Sequence[_Row]]]:
    """Ascending rows in runs of equal nibble at `depth`."""
    at, is_low = depth >> 1, depth & 1
    start, count = 0, len(rows)
    while start < count:
        byte = rows[start][0][at]
        nibble = byte & 15 if is_low else byte >> 4
        end = start + 1
        while end < count:
            byte = rows[end][0][at]
            if (byte & 15 if is_low else byte >> 4) != nibble:
                break
            end += 1
        yield nibble, rows[start:end]
        start = end


class _Update:
    """One batch of changes on its way through a tree.

    Its methods return the hash of the subtree as it then is, empty bytes if nothing
    is left of it, and by how many leaves it grew. `known` is the hash it had: None
    where nobody knows it, so that a subtree without changes need not be hashed.
    """

    __slots__ = ("_key_bytes", "_load_page", "loaded", "pages")

    def __init__(
        self, load_page: Callable[[str], bytes | None], key_bytes: int
    ) -> None:
        self._load_page = load_page
        self._key_bytes = key_bytes
        self.pages: dict[str, bytes | None] = {}
        self.loaded: dict[str, bytes | None] = {}

    def subtree(
        self, path: str, known: bytes | None, changes: Sequence[Change]
    ) -> tuple[bytes, int]:
        """Apply ascending `changes` to whatever hangs under `path`."""
        # Only of the root it may be unknown whether anything hangs there.
        page = self._load(path) if known is None else known and self._existing(path)
        if not page:
            leaves = [(key, leaf) for key, leaf in changes if leaf is not None]
            grown = len(leaves)
            return (_build(path, leaves, self.pages) if leaves else b""), grown
        if page[0] == BUCKET_TAG:
            return self._bucket(path, page, known, changes)
        return self._inner(path, decode_inner(page), known, changes)

    def _load(self, path: str) -> bytes | None:
        if path in self.pages:
            return self.pages[path]
        page = self.loaded[path] = self._load_page(path)
        return page

    def _bucket(
        self, path: str, page: bytes, known: bytes | None, changes: Sequence[Change]
    ) -> tuple[bytes, int]:
        replaced = replace_leaves(page, changes, self._key_bytes)
        if replaced is not None and replaced != page:  # as most blocks have it
            self.pages[path] = replaced
            return hash_page(replaced), 0
        leaves = dict(decode_bucket(page, self._key_bytes))
        before = len(leaves)
        is_changed = False
        for key, leaf in changes:
            if leaves.get(key) != leaf:
                is_changed = True
                if leaf is None:
                    del leaves[key]
                else:
                    leaves[key] = leaf
        if not is_changed:
            return known or hash_page(page), 0
        if not leaves:
            self.pages[path] = None
            return b"", -before
        return _build(path, sorted(leaves.items()), self.pages), len(leaves) - before

    def _inner(
        self,
        path: str,
        inner: InnerPage,
        known: bytes | None,
        changes: Sequence[Change],
    ) -> tuple[bytes, int]:
        prefix, slots, before = inner.prefix, inner.slots, inner.count
        low, high = changes[0][0].hex(), changes[-1][0].hex()
        if not (low.startswith(prefix) and high.startswith(prefix)):
            if any(
                leaf is not None and not key.hex().startswith(prefix)
                for key, leaf in changes
            ):
                return self._widen(path, inner, known, changes)
            # The rest would remove what is not there.
            changes = [row for row in changes if row[0].hex().startswith(prefix)]
        is_changed = False
        for nibble, group in _groups(changes, inner.depth):
            slot, grown = self.subtree(prefix + NIBBLES[nibble], slots[nibble], group)
            if slot != slots[nibble]:
                slots[nibble] = slot
                inner.count += grown
                is_changed = True
        if not is_changed:
            return known or inner.hash(), 0
        return self._settle(path, inner), inner.count - before

    def _settle(self, path: str, inner: InnerPage) -> bytes:
        """Write a changed inner page in the one form that its set has."""
        if inner.count <= BUCKET_LEAVES_MAX:
            leaves = [
                leaf for child, _ in inner.children() for leaf in self._take(child)
            ]
            if leaves:
                return _build(path, leaves, self.pages)
            self.pages[path] = None
            return b""
        if inner.slots.count(b"") == SLOTS - 1:
            # Nothing forks here any more: the only child moves up into this place.
            child, slot = next(inner.children())
            self.pages[path] = self._existing(child)
            self.pages[child] = None
            return slot
        self.pages[path] = inner.encode()
        return inner.hash()

    def _widen(
        self,
        path: str,
        inner: InnerPage,
        known: bytes | None,
        changes: Sequence[Change],
    ) -> tuple[bytes, int]:
        """New keys leave the prefix of an inner page: fork above it."""
        prefix = inner.prefix
        added = [key.hex() for key, leaf in changes if leaf is not None]
        depth = min(_shared_nibbles(prefix, key) for key in (added[0], added[-1]))
        self.pages[prefix[: depth + 1]] = inner.encode()
        top = InnerPage(depth, prefix[:depth], inner.count, [b""] * SLOTS)
        top.slots[int(prefix[depth], 16)] = known or inner.hash()
        return self._inner(path, top, None, changes)

    def _take(self, path: str) -> list[Leaf]:
        """All leaves below `path`, which are few enough for a bucket; it is deleted."""
        page = self._existing(path)
        assert page[0] == BUCKET_TAG, "so few leaves hang in buckets"
        self.pages[path] = None
        return decode_bucket(page, self._key_bytes)

    def _existing(self, path: str) -> bytes:
        page = self._load(path)
        if page is None:
            raise BrokenTree(f"the page under {path!r} is missing")
        return page


def _shared_nibbles(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), len(one))
