"""SharedStore: a store in memory that two threads may use.

LevelDB's snapshots may be read from any thread; a `MemoryStore` is for one. In a node
that keeps nothing (`:memory:`) the event loop reads while the worker executes and
commits, so every access goes through one lock. Ranges are read in chunks, so that
nobody holds the lock for long.
"""

import threading
from collections.abc import Iterator
from itertools import islice

from node.state.memory import MemorySnapshot, MemoryStore
from node.state.store import StoreSnapshot, WriteSet

__all__ = ["SharedStore"]

_CHUNK_PAIRS = 256


class _SharedSnapshot:
    """A frozen view, read under the store's lock."""

    __slots__ = ("_lock", "_snapshot")

    def __init__(self, snapshot: MemorySnapshot, lock: threading.Lock) -> None:
        self._snapshot = snapshot
        self._lock = lock

    def get(self, key: bytes) -> bytes | None:
        """The value under `key`, or None."""
        with self._lock:
            return self._snapshot.get(key)

    def range(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Pairs with start ≤ key < stop, ascending by key."""
        while True:
            with self._lock:
                pairs = list(islice(self._snapshot.range(start, stop), _CHUNK_PAIRS))
            yield from pairs
            if len(pairs) < _CHUNK_PAIRS:
                return
            start = pairs[-1][0] + b"\0"  # the least key above the last one


class SharedStore:
    """A `MemoryStore` behind a lock."""

    __slots__ = ("_lock", "_store")

    def __init__(self) -> None:
        self._store = MemoryStore()
        self._lock = threading.Lock()

    def snapshot(self) -> StoreSnapshot:
        """A view of what is committed now, unmoved by later commits."""
        with self._lock:
            return _SharedSnapshot(self._store.snapshot(), self._lock)

    def commit(self, writes: WriteSet, *, sync: bool = True) -> None:
        """Apply all of `writes`."""
        with self._lock:
            self._store.commit(writes, sync=sync)

    def close(self) -> None:
        """Forget everything; further calls raise `StoreClosed`."""
        with self._lock:
            self._store.close()
