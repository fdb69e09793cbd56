"""The tree is a function of its set alone: roots, pages, order (D24, D38)."""

import random
from hashlib import blake2b

import pytest

from node.primitives.merkle import (
    BUCKET_LEAVES_MAX,
    EMPTY_ROOT,
    Tree,
    commit,
    position_of,
)
from node.primitives.tree_pages import BrokenTree, decode_bucket, decode_inner

KEY_BYTES = 16


def h(data: bytes) -> bytes:
    return blake2b(data, digest_size=32).digest()


def pairs_of(count: int, seed: int = 1, key_bytes: int = KEY_BYTES) -> dict:
    source = random.Random(seed)
    return {source.randbytes(key_bytes): source.randbytes(32) for _ in range(count)}


def by_the_book(pairs: dict[bytes, bytes]) -> bytes:
    """The commitment, word by word as `merkle` defines it, bit by bit."""
    if not pairs:
        return bytes(32)
    if len(pairs) <= 24:
        return h(b"\x00" + b"".join(key + pairs[key] for key in sorted(pairs)))
    nibbles = {key.hex() for key in pairs}
    depth = next(i for i in range(64) if len({text[i] for text in nibbles}) > 1)
    slots = [
        {key: leaf for key, leaf in pairs.items() if key.hex()[depth] == digit}
        for digit in "0123456789abcdef"
    ]

    def fold(level: int, slots: list[dict]) -> bytes | None:
        if len(slots) == 1:
            return by_the_book(slots[0]) if slots[0] else None
        half = len(slots) // 2
        left, right = fold(level + 1, slots[:half]), fold(level + 1, slots[half:])
        if left is None or right is None:
            return left or right
        return h(bytes([1, 4 * depth + level]) + left + right)

    root = fold(0, slots)
    assert root is not None
    return root


class World:
    """A tree, its pages, and the dict that it commits to."""

    def __init__(self, key_bytes: int = KEY_BYTES) -> None:
        self.key_bytes = key_bytes
        self.pages: dict[str, bytes] = {}
        self.pairs: dict[bytes, bytes] = {}
        self.writes: dict[str, bytes | None] = {}

    @property
    def tree(self) -> Tree:
        """The tree as its pages show it."""
        return Tree(self.pages.get, self.key_bytes)

    def apply(self, changes: dict[bytes, bytes | None]) -> None:
        """Change tree and dict, and compare the tree with one built afresh."""
        update = self.tree.apply(sorted(changes.items()))
        self.writes = update.pages
        for path, page in update.pages.items():
            if page is None:
                self.pages.pop(path, None)
            else:
                self.pages[path] = page
        for key, leaf in changes.items():
            if leaf is None:
                self.pairs.pop(key, None)
            else:
                self.pairs[key] = leaf
        assert update.root == self.tree.root() == commit(self.pairs.items())
        fresh = Tree({}.get, self.key_bytes).apply(sorted(self.pairs.items()))
        assert fresh.pages == self.pages, "pages depend on history"


@pytest.mark.parametrize("count", [0, 1, 2, 23, 24, 25, 26, 100, 700])
@pytest.mark.parametrize("key_bytes", [16, 32])
def test_the_commitment_is_the_one_that_is_written_down(count, key_bytes):
    pairs = pairs_of(count, key_bytes=key_bytes)
    assert commit(pairs.items()) == by_the_book(pairs)
    tree = Tree({}.get, key_bytes)
    assert tree.apply(sorted(pairs.items())).root == by_the_book(pairs)


def test_neighbours_and_extremes_commit_by_the_book():
    numbers = [*range(40), *(2**bit for bit in range(128)), 2**128 - 1, 2**128 - 2]
    pairs = {number.to_bytes(16, "big"): h(b"%d" % number) for number in numbers}
    assert commit(pairs.items()) == by_the_book(pairs)


def test_the_empty_tree_is_32_zero_bytes():
    assert commit([]) == EMPTY_ROOT == bytes(32)
    assert Tree({}.get, 16).root() == EMPTY_ROOT
    assert Tree({}.get, 16).first(b"") is None


def test_a_bucket_holds_24_leaves_and_the_25th_splits_it():
    world = World()
    keys = sorted(pairs_of(25))
    world.apply(dict.fromkeys(keys[:24], bytes(32)))
    assert list(world.pages) == [""]
    assert decode_bucket(world.pages[""], 16) == [(key, bytes(32)) for key in keys[:24]]
    assert BUCKET_LEAVES_MAX == 24
    world.apply({keys[24]: bytes(32)})
    assert decode_inner(world.pages[""]).count == 25
    world.apply({keys[3]: None})
    assert list(world.pages) == [""]
    world.apply(dict.fromkeys(keys))
    assert world.pages == {}
    assert world.tree.root() == EMPTY_ROOT


def test_forking_a_compressed_edge_moves_one_page():
    """A page carries its own prefix, so that the pages below it stay where they are."""
    world = World()
    world.apply({b"\x11" * 15 + bytes([low]): bytes(32) for low in range(256)})
    below = {path: page for path, page in world.pages.items() if path}
    world.apply({b"\x11" * 3 + b"\x12" + bytes(12): bytes(32)})
    assert below.items() <= world.pages.items()
    assert len(world.pages) == len(below) + 3  # the new root, the new leaf, the moved


def test_a_fork_that_is_not_needed_any_more_vanishes():
    world = World()
    world.apply({b"\x11" * 15 + bytes([low]): bytes(32) for low in range(256)})
    before = dict(world.pages)
    lonely = b"\x77" * 16
    world.apply({lonely: bytes(32)})
    world.apply({lonely: None})
    assert world.pages == before


def test_changes_that_change_nothing_write_nothing():
    world = World()
    pairs = pairs_of(200)
    world.apply(pairs)
    again = dict(list(pairs.items())[::3])
    world.apply(again | dict.fromkeys(pairs_of(50, seed=2)))
    assert world.writes == {}
    world.apply({})
    assert world.writes == {}
    # Far from every prefix, above and below.
    deep = World()
    deep.apply({b"\x77" * 15 + bytes([low]): bytes(32) for low in range(99)})
    deep.apply({bytes(16): None, b"\xff" * 16: None, b"\x77" * 16: bytes(32)})
    deep.apply({bytes(16): None, b"\xff" * 16: None, b"\x77" * 15 + b"\xff": None})
    assert deep.writes == {}


def test_a_known_root_saves_the_reading_of_the_root_page():
    pairs = pairs_of(100)
    update = Tree({}.get, 16).apply(sorted(pairs.items()))
    asked = []

    def load(path: str) -> bytes | None:
        asked.append(path)
        return update.pages.get(path)

    tree = Tree(load, 16, update.root)
    assert tree.root() == update.root
    assert tree.apply([]).root == update.root
    assert asked == []
    assert tree.apply([(bytes(16), None)]).root == update.root
    empty = Tree(load, 16, EMPTY_ROOT)
    asked.clear()
    assert empty.apply(sorted(pairs.items())) == update
    assert asked == []


def test_one_key_touches_only_its_path():
    world = World()
    pairs = pairs_of(5000)
    world.apply(pairs)
    world.apply({next(iter(pairs)): bytes(32)})
    assert 3 <= len(world.writes) <= 4


def test_first_is_the_least_key_not_below():
    world = World()
    world.apply(
        {
            (height * 1000).to_bytes(8, "big") + sequence.to_bytes(8, "big"): bytes(32)
            for height in range(30)
            for sequence in range(0, 50, 7)
        }
    )
    keys = sorted(world.pairs)
    bounds = [b"", b"\xff" * 16, b"\xff" * 17, bytes(3)]
    bounds += keys + [key + b"\0" for key in keys] + [key[:8] for key in keys]
    bounds += [(int.from_bytes(key, "big") + 1).to_bytes(16, "big") for key in keys]
    for bound in bounds:
        expected = next((key for key in keys if key >= bound), None)
        assert world.tree.first(bound) == expected


def test_a_bound_counts_the_keys_below_it():
    assert position_of(b"", 2) == 0
    assert position_of(b"\x01", 2) == 256
    assert position_of(b"\x01\x02", 2) == 258
    assert position_of(b"\x01\x02\x00", 2) == 259
    assert position_of(b"\xff\xff\x00", 2) == 65536


@pytest.mark.parametrize("path", ["", "deep"])
def test_a_missing_page_is_told(path):
    world = World()
    world.apply(pairs_of(300))
    victim = max(world.pages, key=len) if path else path
    page = world.pages.pop(victim)
    key = decode_bucket(page, 16)[0][0] if path else b"\1" * 16
    tree = Tree(world.pages.get, 16, commit(world.pairs.items()))
    with pytest.raises(BrokenTree, match="is missing"):
        tree.apply([(key, bytes(32))])
    if path:
        with pytest.raises(BrokenTree, match="is missing"):
            tree.prove(key, key + b"\0")
        with pytest.raises(BrokenTree, match="is missing"):
            tree.first(key)


def test_an_audit_shows_the_leaf_and_what_is_not_there():
    world = World()
    pairs = pairs_of(2000)
    world.apply(pairs)
    world.apply({b"\x11" * 15 + bytes([low]): h(b"low") for low in range(256)})
    for key, leaf in list(pairs.items())[:200]:
        assert world.tree.audit(key) == leaf
        assert world.tree.audit(key[:-1] + bytes([key[-1] ^ 1])) is None
        assert world.tree.audit(b"\x11" * 8 + key[:8]) is None
    assert Tree({}.get, 16).audit(bytes(16)) is None


def test_an_audit_notices_a_page_that_is_not_the_one_committed():
    world, other = World(), World()
    pairs = pairs_of(2000)
    world.apply(pairs)
    other.apply(pairs | {next(iter(pairs)): bytes(32)})
    pages = world.pages | {"": other.pages[""]}
    tree = Tree(pages.get, 16, world.tree.root())
    with pytest.raises(BrokenTree, match="not the one committed"):
        tree.audit(bytes(16))


@pytest.mark.parametrize("shift", [0, 1, 2, 3, 4, 5, 8, 11, 12, 32])
def test_a_dense_tree_is_counted_by_intervals(shift):
    """Among them such as end where a page begins, and where nothing is."""
    numbers = [*range(100, 4_200), *range(2**20, 2**20 + 30)]
    world = World(4)
    world.apply({number.to_bytes(4, "big"): h(b"leaf") for number in numbers})
    for first, count in ((0, 1), (0, 40), (6, 10), (15, 17), (250, 9), (2**16, 3)):
        placed = [(number >> shift) - first for number in numbers]
        wanted = [placed.count(place) for place in range(count)]
        assert world.tree.counts(shift, first, count) == wanted
    assert world.tree.count() == len(numbers)


def test_a_page_that_is_missing_is_not_counted_as_none():
    world = World(4)
    world.apply({n.to_bytes(4, "big"): h(b"leaf") for n in range(600)})
    del world.pages[max(world.pages)]
    with pytest.raises(BrokenTree):
        world.tree.counts(0, 590, 10)
