"""Store, StoreSnapshot, WriteSet: how the chain reads and what it gives back.

The core only ever reads a `StoreSnapshot` and returns a `WriteSet`; a sorted dictionary
satisfies the first, a LevelDB batch carries out the second.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from msgspec import Struct, field


class StoreSnapshot(Protocol):
    """A frozen view of the database."""

    def get(self, key: bytes) -> bytes | None:
        """The value under `key`, or None."""
        ...

    def range(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Pairs with start ≤ key < stop, ascending by key."""
        ...


class WriteSet(Struct, frozen=True, gc=False):
    """Changes to apply as one: a value to put, or None to delete."""

    changes: Mapping[bytes, bytes | None] = field(default_factory=dict)

    def __or__(self, other: "WriteSet") -> "WriteSet":
        """Both, the right one's values where they meet."""
        if not other.changes:
            return self
        return WriteSet({**self.changes, **other.changes})


class Store(Protocol):
    """A database of one chain, with one writer."""

    def snapshot(self) -> StoreSnapshot:
        """A view of what is committed now, unmoved by later commits."""
        ...

    def commit(self, writes: WriteSet, *, sync: bool = True) -> None:
        """Apply all of `writes` or nothing; on disk on return when `sync`."""
        ...

    def close(self) -> None:
        """Release the database; further calls are errors."""
        ...
