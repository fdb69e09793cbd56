"""Keys in order, and two ordered views merged: what ranges are made of.

Shared by the journal and the in-memory store, which both keep their values in a
dict and need the order of its keys only now and then. So additions are collected and
sorted in when somebody asks: a block that never ranges pays nothing for order.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator

__all__ = ["SortedKeys", "laid_over", "merge"]

_INSERT_ONE_BY_ONE_MAX = 32
"""Above this many waiting changes, sorting all at once is the cheaper way."""


class SortedKeys:
    """A set of keys that can be cut in order."""

    __slots__ = ("_added", "_ordered", "_removed")

    def __init__(self, keys: Iterable[bytes] = ()) -> None:
        self._ordered = sorted(keys)
        # Waiting changes: the set is (_ordered - _removed) | _added.
        self._added: set[bytes] = set()
        self._removed: set[bytes] = set()

    def add(self, key: bytes) -> None:
        """Add a key that is not in the set."""
        self._added.add(key)

    def remove(self, key: bytes) -> None:
        """Remove a key that is in the set."""
        if key in self._added:
            self._added.remove(key)
        else:
            self._removed.add(key)

    def between(
        self, start: bytes, stop: bytes, count_max: int | None = None
    ) -> list[bytes]:
        """The first `count_max` keys with start ≤ key < stop, ascending."""
        if self._added or self._removed:
            self._settle()
        first = bisect_left(self._ordered, start)
        last = bisect_left(self._ordered, stop, first)
        if count_max is not None:
            last = min(last, first + count_max)
        return self._ordered[first:last]

    def walk(self, start: bytes, stop: bytes) -> Iterator[bytes]:
        """Keys with start ≤ key < stop, ascending, one at a time.

        The set must not be cut or walked anew while the iterator runs.
        """
        if self._added or self._removed:
            self._settle()
        ordered = self._ordered
        for index in range(bisect_left(ordered, start), len(ordered)):
            if ordered[index] >= stop:
                return
            yield ordered[index]

    def _settle(self) -> None:
        """Bring waiting additions and removals into the ordered list."""
        if len(self._added) + len(self._removed) <= _INSERT_ONE_BY_ONE_MAX:
            for key in self._added:
                insort(self._ordered, key)
            for key in self._removed:
                del self._ordered[bisect_left(self._ordered, key)]
        else:
            self._settle_many()
        self._added = set()
        self._removed = set()

    def _settle_many(self) -> None:
        ordered, removed = self._ordered, self._removed
        if removed:
            # Only where they lie: what is removed together often lies together.
            first = bisect_left(ordered, min(removed))
            last = bisect_right(ordered, max(removed), first)
            part = ordered[first:last]
            ordered[first:last] = [key for key in part if key not in removed]
        if self._added:
            # Two ascending runs: the sort merges them in linear time.
            ordered += sorted(self._added)
            ordered.sort()


def merge(
    base: Iterator[tuple[bytes, bytes]],
    overlay: Iterable[tuple[bytes, bytes | None]],
) -> Iterator[tuple[bytes, bytes]]:
    """The pairs of `base` with `overlay` laid over them, ascending by key.

    Both ascend; where they meet, the overlay's value counts, and None hides the key.
    """
    for key, value in laid_over(base, overlay):
        if value is not None:
            yield key, value


def laid_over(
    base: Iterator[tuple[bytes, bytes]],
    overlay: Iterable[tuple[bytes, bytes | None]],
) -> Iterator[tuple[bytes, bytes | None]]:
    """As `merge`, with the keys that the overlay hides, under None."""
    pair = next(base, None)
    for key, value in overlay:
        while pair is not None and pair[0] < key:
            yield pair
            pair = next(base, None)
        if pair is not None and pair[0] == key:
            pair = next(base, None)
        yield key, value
    if pair is not None:
        yield pair
        yield from base
