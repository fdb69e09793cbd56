"""MemoryStore: a store that lives and dies with the process.

It is the reference model of `LevelStore` and the store of the in-process chain. One
dict holds what is committed now. A snapshot of the present reads that dict directly;
each commit leaves behind what it replaced, and a snapshot of the past lays these
remains over the dict. So taking a snapshot and committing cost nothing that grows
with the state, and nothing is kept for snapshots that nobody holds any more.

Rules: one thread. Snapshots stay right after any number of later commits.
"""

from collections.abc import Iterator, Mapping

from node.state.errors import StoreClosed
from node.state.ordering import SortedKeys, merge
from node.state.store import WriteSet

__all__ = ["MemorySnapshot", "MemoryStore"]

_RANGE_CHUNK_KEYS = 256
"""Keys cut at a time while a range is read: bounds what an early stop wastes."""

_RANGE_FIRST_KEYS = 4
"""The first cut: who asks for the least key of a range stops there."""

_SHELF_BYTES = 2
"""Keys are ordered in shelves by their first two bytes, the families of keys.py."""


class _Data:
    """What is committed now, and its keys in order."""

    __slots__ = ("shelves", "values")

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        # Families that are never ranged over, as the trees' pages, are never sorted.
        self.shelves: dict[bytes, SortedKeys] = {}

    def write(
        self,
        changes: Mapping[bytes, bytes | None],
        replaced: dict[bytes, bytes | None],
    ) -> None:
        """Put or delete each; what was there before is noted in `replaced`."""
        values = self.values
        for key, value in changes.items():
            before = replaced[key] = values.get(key)
            if value is not None:
                values[key] = value
                if before is None:
                    self.shelf(key).add(key)
            elif before is not None:
                del values[key]
                self.shelf(key).remove(key)

    def shelf(self, key: bytes) -> SortedKeys:
        """The shelf on which a key stands."""
        shelf = self.shelves.get(key[:_SHELF_BYTES])
        if shelf is None:
            shelf = self.shelves[key[:_SHELF_BYTES]] = SortedKeys()
        return shelf

    def keys_between(self, start: bytes, stop: bytes, count_max: int) -> list[bytes]:
        """The first `count_max` keys with start ≤ key < stop, ascending."""
        first = start[:_SHELF_BYTES]
        keys: list[bytes] = []
        for prefix in sorted(p for p in self.shelves if first <= p < stop):
            wanted = count_max - len(keys)
            if wanted:
                keys += self.shelves[prefix].between(start, stop, wanted)
        return keys


class _Version:
    """The state after one commit; `next` is None for the present."""

    __slots__ = ("next", "replaced")

    def __init__(self) -> None:
        self.next: _Version | None = None
        self.replaced: dict[bytes, bytes | None] = {}
        """What the commit that made `next` replaced."""


class MemorySnapshot:
    """A frozen view of a `MemoryStore`; dropped when nobody refers to it."""

    __slots__ = ("_data", "_replaced", "_values", "_version")

    def __init__(self, data: _Data, version: _Version) -> None:
        self._data = data
        self._values = data.values
        self._version = version
        self._replaced: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        """The value under `key`, or None."""
        if self._version.next is not None:
            self._catch_up()
        replaced = self._replaced
        if replaced and key in replaced:
            return replaced[key]
        return self._values.get(key)

    def range(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Pairs with start ≤ key < stop, ascending by key."""
        at, count = start, _RANGE_FIRST_KEYS
        while True:
            pairs, following = self._chunk(at, stop, count)
            yield from pairs
            if following is None:
                return
            at, count = following, _RANGE_CHUNK_KEYS

    def _chunk(
        self, start: bytes, stop: bytes, count_max: int
    ) -> tuple[list[tuple[bytes, bytes]], bytes | None]:
        """The next pairs of a range, and where it goes on, or None at its end."""
        if self._version.next is not None:
            self._catch_up()
        values = self._data.values
        keys = self._data.keys_between(start, stop, count_max)
        pairs = [(key, values[key]) for key in keys]
        next_start = None
        if len(keys) == count_max:
            # The least key above the last one: up to it the present is known.
            stop = next_start = keys[-1] + b"\0"
        if self._replaced:
            past = [pair for pair in self._replaced.items() if start <= pair[0] < stop]
            pairs = list(merge(iter(pairs), sorted(past)))
        return pairs, next_start

    def _catch_up(self) -> None:
        """Take over what later commits replaced: the oldest value counts."""
        version = self._version
        while version.next is not None:
            for key, value in version.replaced.items():
                self._replaced.setdefault(key, value)
            version = version.next
        self._version = version


class MemoryStore:
    """A `Store` in a dict."""

    __slots__ = ("_data", "_version")

    def __init__(self) -> None:
        self._data: _Data | None = _Data()
        self._version = _Version()

    def snapshot(self) -> MemorySnapshot:
        """A view of what is committed now, unmoved by later commits."""
        return MemorySnapshot(self._opened(), self._version)

    def commit(self, writes: WriteSet, *, sync: bool = True) -> None:
        """Apply all of `writes`; there is no disk to which `sync` could refer."""
        del sync
        data = self._opened()
        version, self._version = self._version, _Version()
        data.write(writes.changes, version.replaced)
        version.next = self._version

    def close(self) -> None:
        """Forget everything; further calls raise `StoreClosed`."""
        self._data = None

    def _opened(self) -> _Data:
        if self._data is None:
            raise StoreClosed("the store was closed")
        return self._data
