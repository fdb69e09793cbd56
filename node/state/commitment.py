"""The state root: one hash that speaks of everything the chain remembers (D38).

::

    state root = H("state" | H(globals) | root of state tree | root of calendar tree)

and, unless the Globalbox is empty, the root of its tree behind them.

H is blake2b-256. State records (`s…`) hang in the state tree under H(state key), so
that nobody chooses the tree's depth; timer records (`t…`) hang in the calendar tree
under their own sixteen bytes, height and sequence, so that ranges of it can be proven
(D24), and so do queued fires (`q…`) in the Globalbox's tree under their 97 (D52); the
leaf of each is H(record). Globals change in every block and are therefore hashed beside
the trees: an empty block costs two hashes.

Rules: trees are updated once a block, on net changes, from the pages that the
snapshot holds. Pages and the record of the roots are derived data: they change
nothing that an outcome or a root shows.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from node.primitives.crypto import blake2b256
from node.primitives.merkle import (
    EMPTY_ROOT,
    Change,
    Tree,
    TreeUpdate,
    commit,
)
from node.primitives.proof import combine_state_root
from node.primitives.tree_pages import BrokenTree, Leaf, is_inner_page
from node.primitives.types import Hash32
from node.state import keys
from node.state.journal import Journal
from node.state.pagecache import PageCache, TreeCaches
from node.state.store import StoreSnapshot, WriteSet

__all__ = [
    "CALENDAR",
    "GLOBALBOX",
    "STATE",
    "TreeCaches",
    "TreeFamily",
    "compare",
    "family_of",
    "find_unproven",
    "is_globalbox_empty",
    "open_tree",
    "recompute",
    "root_parts",
    "seal",
    "state_root_of_pages",
    "tree_key",
]

_ROOT_BYTES = 32

_HASHED_KEYS_MAX = 1_024
"""Keys of the state whose place in the tree is remembered: many change every block."""

_PARTS = 256
"""Into which `compare` divides a tree: one of ten million leaves has 40,000."""


class TreeFamily(Struct, frozen=True):
    """Which records a tree commits to, and where its pages lie."""

    record_prefix: bytes
    page_prefix: bytes
    key_bytes: int


STATE = TreeFamily(keys.STATE_PREFIX, keys.STATE_PAGE_PREFIX, 32)
CALENDAR = TreeFamily(
    keys.TIMER_PREFIX,
    keys.CALENDAR_PAGE_PREFIX,
    keys.HEIGHT_BYTES + keys.SEQUENCE_BYTES,
)
GLOBALBOX = TreeFamily(
    keys.FIRE_PREFIX, keys.GLOBALBOX_PAGE_PREFIX, keys.FIRE_ORDER_BYTES
)
_TREES = (STATE, CALENDAR, GLOBALBOX)
"""In the order of their roots in the state root, and in the record of them."""
_BY_RECORD = {family.record_prefix: family for family in _TREES}


def family_of(key: bytes) -> TreeFamily:
    """The tree in which a committed record of the database hangs."""
    return _BY_RECORD[key[:1]]


def tree_key(key: bytes) -> bytes:
    """Under which key a committed record of the database hangs in its tree."""
    family = _BY_RECORD.get(key[:1])
    if family is CALENDAR or family is GLOBALBOX:
        assert len(key) == 1 + family.key_bytes
        return key[1:]
    assert key[:1] == STATE.record_prefix
    return blake2b256(key)


_hashed = lru_cache(maxsize=_HASHED_KEYS_MAX)(blake2b256)


def open_tree(snapshot: StoreSnapshot, family: TreeFamily) -> Tree:
    """One of the trees as a snapshot holds it: its root, `first`, proofs."""
    root = _decode_roots(snapshot.get(keys.TREE_ROOTS))[_TREES.index(family)]
    return Tree(_page_loader(snapshot, family), family.key_bytes, root)


def seal(
    journal: Journal,
    snapshot: StoreSnapshot,
    caches: TreeCaches | None = None,
    changes: WriteSet | None = None,
) -> tuple[Hash32, WriteSet, WriteSet]:
    """State root of what `journal` made of `snapshot`, and the writes of the trees.

    The writes, pages and the record of the roots, belong into the same batch as the
    journal's own, which are `changes` if the caller has them already; what takes them
    back comes third. Called once, at the end of a block, after the globals were put.
    """
    tree_changes = _tree_changes(changes or journal.write_set())
    roots_record = snapshot.get(keys.TREE_ROOTS)
    roots = _decode_roots(roots_record)
    held = (None,) * len(_TREES) if caches is None else caches.in_order()
    writes, undo = dict[bytes, bytes | None](), dict[bytes, bytes | None]()
    after: list[Hash32] = []
    for family, root, rows, cache in zip(
        _TREES, roots, tree_changes, held, strict=True
    ):
        update = _update(family, snapshot, root, rows, cache)
        after.append(update.root)
        for path, page in update.pages.items():
            key = family.page_prefix + path.encode()
            writes[key], undo[key] = page, update.replaced[path]
    if tuple(after) != roots:
        writes[keys.TREE_ROOTS] = _encode_roots(after)
        undo[keys.TREE_ROOTS] = roots_record
    root = _combine(journal.get(keys.GLOBALS), after)
    return root, WriteSet(writes), WriteSet(undo)


def _tree_changes(writes: WriteSet) -> tuple[list[Change], ...]:
    """Ascending changes of each tree, in the order of the trees."""
    state: list[Change] = []
    calendar: list[Change] = []
    globalbox: list[Change] = []
    plain = {keys.TIMER_PREFIX: calendar, keys.FIRE_PREFIX: globalbox}
    for key, record in writes.changes.items():
        family = key[:1]
        if family == keys.STATE_PREFIX:
            leaf = None if record is None else blake2b256(record)
            state.append((_hashed(key), leaf))  # which is its `tree_key`
        elif family in plain:
            leaf = None if record is None else blake2b256(record)
            plain[family].append((key[1:], leaf))
    # Keys are distinct, so that leaves, which may be None, are never compared.
    state.sort()
    calendar.sort()
    globalbox.sort()
    return state, calendar, globalbox


def _update(
    family: TreeFamily,
    snapshot: StoreSnapshot,
    root: Hash32,
    changes: list[Change],
    cache: PageCache | None,
) -> TreeUpdate:
    """One tree after `changes`; without changes nothing is read."""
    if not changes:
        return TreeUpdate(root, {}, {})
    load_page = _page_loader(snapshot, family)
    if cache is None:
        return Tree(load_page, family.key_bytes, root).apply(changes)
    cache.move_to(root)
    update = Tree(_through(cache, load_page), family.key_bytes, root).apply(changes)
    cache.announce(update.root, update.pages)
    return update


def _page_loader(
    snapshot: StoreSnapshot, family: TreeFamily
) -> Callable[[str], bytes | None]:
    get, prefix = snapshot.get, family.page_prefix
    return lambda path: get(prefix + path.encode())


def _through(
    cache: PageCache, load_page: Callable[[str], bytes | None]
) -> Callable[[str], bytes | None]:
    def load(path: str) -> bytes | None:
        page = cache.get(path)
        if page is None:
            page = load_page(path)
            if page is not None and is_inner_page(page):
                cache.add(path, page)
        return page

    return load


def _encode_roots(roots: Sequence[Hash32]) -> bytes:
    """The roots one behind the other; that of an empty Globalbox is left out."""
    state, calendar, globalbox = roots
    return state + calendar + (b"" if globalbox == EMPTY_ROOT else globalbox)


def _decode_roots(record: bytes | None) -> tuple[Hash32, Hash32, Hash32]:
    """Roots of the state tree, of the calendar tree and of the Globalbox's."""
    if record is None:
        return EMPTY_ROOT, EMPTY_ROOT, EMPTY_ROOT
    state, calendar = record[:_ROOT_BYTES], record[_ROOT_BYTES : 2 * _ROOT_BYTES]
    globalbox = record[2 * _ROOT_BYTES :] or EMPTY_ROOT
    return Hash32(state), Hash32(calendar), Hash32(globalbox)


def is_globalbox_empty(snapshot: StoreSnapshot) -> bool:
    """Whether a state has no queued fire: one read, whatever was ever queued."""
    return _decode_roots(snapshot.get(keys.TREE_ROOTS))[2] == EMPTY_ROOT


def _combine(globals_record: bytes | None, roots: Iterable[Hash32]) -> Hash32:
    return combine_state_root(blake2b256(globals_record or b""), *roots)


def root_parts(snapshot: StoreSnapshot) -> tuple[Hash32, Hash32, Hash32, Hash32]:
    """What the state root is made of: hash of the globals, roots of the trees.

    Those of the state, of the calendar and of the Globalbox.
    """
    roots = _decode_roots(snapshot.get(keys.TREE_ROOTS))
    return blake2b256(snapshot.get(keys.GLOBALS) or b""), *roots


# --- for those who doubt the pages ---------------------------------------------------


def recompute(snapshot: StoreSnapshot) -> Hash32:
    """The state root from the records alone, all of them; pages are not looked at.

    Takes microseconds and some hundred bytes of memory a record.
    """
    roots = [_recompute_tree(snapshot, family) for family in _TREES]
    return _combine(snapshot.get(keys.GLOBALS), roots)


def _recompute_tree(snapshot: StoreSnapshot, family: TreeFamily) -> Hash32:
    prefix = family.record_prefix
    records = snapshot.range(prefix, keys.prefix_stop(prefix))
    return commit((tree_key(key), blake2b256(record)) for key, record in records)


def state_root_of_pages(snapshot: StoreSnapshot) -> Hash32:
    """The state root as the root pages of the trees give it: what a start checks."""
    roots = [
        Tree(_page_loader(snapshot, family), family.key_bytes).root()
        for family in _TREES
    ]
    return _combine(snapshot.get(keys.GLOBALS), roots)


def compare(snapshot: StoreSnapshot) -> Hash32:
    """The state root, all pages and all records of the trees found to agree.

    Memory is bounded whatever the number of records: both sides are summed up in 256
    parts by the last byte of the tree's key, and a part is only looked at closely
    when its sums differ.

    Raises:
        BrokenTree: They do not agree; the first difference.
    """
    roots = tuple([_compare_tree(snapshot, family) for family in _TREES])
    if _decode_roots(snapshot.get(keys.TREE_ROOTS)) != roots:
        raise BrokenTree("the record of the roots is not that of the pages")
    return _combine(snapshot.get(keys.GLOBALS), roots)


def _compare_tree(snapshot: StoreSnapshot, family: TreeFamily) -> Hash32:
    tree = Tree(_page_loader(snapshot, family), family.key_bytes)
    shown = _sums(tree.leaves())
    kept = _sums(leaf for _, leaf in _leaves_of_records(snapshot, family))
    for part, (one, other) in enumerate(zip(shown, kept, strict=True)):
        if one != other:
            raise BrokenTree(_describe_difference(snapshot, family, tree, part))
    return tree.root()


def _leaves_of_records(
    snapshot: StoreSnapshot, family: TreeFamily
) -> Iterator[tuple[bytes, Leaf]]:
    """Each record's key in the database, and its leaf in the tree."""
    prefix = family.record_prefix
    for key, record in snapshot.range(prefix, keys.prefix_stop(prefix)):
        yield key, (tree_key(key), blake2b256(record))


def _sums(leaves: Iterable[Leaf]) -> list[int]:
    """For each part, a number that tells its set of leaves."""
    sums = [0] * _PARTS
    for key, leaf in leaves:
        sums[key[-1]] += int.from_bytes(blake2b256(key + leaf), "big")
    return sums


def _describe_difference(
    snapshot: StoreSnapshot, family: TreeFamily, tree: Tree, part: int
) -> str:
    shown = {key: leaf for key, leaf in tree.leaves() if key[-1] == part}
    for key, (hashed, leaf) in _leaves_of_records(snapshot, family):
        if hashed[-1] == part and shown.pop(hashed, None) != leaf:
            return f"record {key.hex()} is not the one in the state's tree"
    missing = min(shown).hex()
    return f"the state's tree shows a record under {missing} that is missing"


def find_unproven(snapshot: StoreSnapshot, probes: Iterable[bytes]) -> list[bytes]:
    """Keys of records that the pages do not show: a sample, empty in a sound store.

    For each probe, a key of the database in a committed family, the record at or
    after it is looked up in its tree, with all pages on the way hashed again.
    """
    unproven = []
    for probe in probes:
        family = family_of(probe)
        records = snapshot.range(probe, keys.prefix_stop(family.record_prefix))
        key, record = next(records, (b"", b""))
        if key and not _is_shown(open_tree(snapshot, family), key, record):
            unproven.append(key)
    return unproven


def _is_shown(tree: Tree, key: bytes, record: bytes) -> bool:
    try:
        return tree.audit(tree_key(key)) == blake2b256(record)
    except BrokenTree:
        return False
