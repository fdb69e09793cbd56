"""Inner pages of the trees, kept between blocks by whoever drives the chain.

A cache knows the root that its pages belong to and offers them for that root only. So
a block that was built and thrown away, a revert or another chain make it forget, and
never answer wrongly. Without it everything comes out the same, only slower over
LevelDB (D24).

Rules: inner pages only; buckets are many, and each is read seldom. Absence is never
remembered. Bounded. One thread at a time.
"""

from collections.abc import Mapping

from node.primitives.merkle import EMPTY_ROOT
from node.primitives.tree_pages import is_inner_page
from node.primitives.types import Hash32

__all__ = ["PAGES_CACHED_MAX", "PageCache", "TreeCaches"]

PAGES_CACHED_MAX = 40_000
"""Pages of one generation of a tree's cache; two of them take at most about 50 MiB."""


class PageCache:
    """Inner pages of one tree at one root, in two generations.

    A dict fills up, becomes the older one, and the one before it is dropped: pages in
    use are carried over, the rest is forgotten without bookkeeping.
    """

    __slots__ = ("_next_pages", "_next_root", "_old", "_pages_max", "_root", "_young")

    def __init__(self, pages_max: int = PAGES_CACHED_MAX) -> None:
        self._pages_max = pages_max
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._root: Hash32 = EMPTY_ROOT
        self._young: dict[str, bytes] = {}
        self._old: dict[str, bytes] = {}
        self._next_root: Hash32 | None = None
        self._next_pages: Mapping[str, bytes | None] = {}

    def move_to(self, root: Hash32) -> None:
        """From now on hold pages of the tree with this root."""
        if root == self._next_root:
            for path, page in self._next_pages.items():
                if page is not None and is_inner_page(page):
                    self.add(path, page)
                else:
                    self._young.pop(path, None)
                    self._old.pop(path, None)
            self._next_root, self._next_pages = None, {}
        elif root != self._root:
            self.clear()
        self._root = root

    def get(self, path: str) -> bytes | None:
        """The page under `path`, or None if it is not held."""
        page = self._young.get(path)
        if page is None:
            page = self._old.get(path)
            if page is not None:
                self.add(path, page)
        return page

    def add(self, path: str, page: bytes) -> None:
        """Hold an inner page of the present root."""
        if len(self._young) >= self._pages_max:
            self._old, self._young = self._young, {}
        self._young[path] = page

    def announce(self, root: Hash32, pages: Mapping[str, bytes | None]) -> None:
        """What an update made of the present tree; good once `move_to` names it."""
        self._next_root, self._next_pages = root, pages


class TreeCaches:
    """The caches of the trees of a state."""

    __slots__ = ("calendar", "globalbox", "state")

    def __init__(self, pages_max: int = PAGES_CACHED_MAX) -> None:
        self.state = PageCache(pages_max)
        self.calendar = PageCache(pages_max)
        self.globalbox = PageCache(pages_max)

    def in_order(self) -> tuple[PageCache, PageCache, PageCache]:
        """In the order of the trees in the state root."""
        return self.state, self.calendar, self.globalbox

    def clear(self) -> None:
        """Forget everything, to give the memory back."""
        for cache in self.in_order():
            cache.clear()
