"""Journal: the state while a block is made, above a snapshot that never moves.

Every read of the chain goes through `get`; every write is remembered here and
leaves, once, as a `WriteSet`. A checkpoint costs O(1); reverting costs what is
undone: each write logs what it replaced, and reverting plays the log backwards. That
is how a failed execution leaves no trace (D16).

Rules: a journal belongs to one block, or one read-only execution, and is thrown away
with it. It caches what it reads, which is right because its snapshot is frozen. What
changes many times in a block may be put as an `Encodable`: it is encoded once, at the
end.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Final, NewType, Protocol

from node.state.ordering import SortedKeys, laid_over, merge
from node.state.store import StoreSnapshot, WriteSet

__all__ = ["Checkpoint", "Encodable", "Journal"]

Checkpoint = NewType("Checkpoint", int)
"""Names a state of a journal to which it can return; good until it is closed."""


class Encodable(Protocol):
    """A value that never changes and is not encoded yet."""

    def encode(self) -> bytes:
        """Its record; the same each time."""
        ...


class _Unread(Enum):
    """Stands where the snapshot's value is not known because nobody asked."""

    UNREAD = 0


_UNREAD: Final = _Unread.UNREAD


class Journal:
    """An overlay over a snapshot, with checkpoints that nest."""

    __slots__ = (
        "_before", "_open", "_order", "_scanned", "_snapshot", "_undo", "_view",
    )  # fmt: skip

    def __init__(self, snapshot: StoreSnapshot) -> None:
        self._snapshot = snapshot
        # What reads see: values read from the snapshot and values written over them.
        self._view: dict[bytes, bytes | Encodable | None] = {}
        # Keys that were written → the snapshot's value, as far as it was read.
        self._before: dict[bytes, bytes | _Unread | None] = {}
        # Of the keys in _before, from the first range on: most blocks have none.
        self._order: SortedKeys | None = None
        # (key, what the view held, whether this was the key's first write)
        self._undo: list[tuple[bytes, bytes | Encodable | _Unread | None, bool]] = []
        self._open: list[int] = []  # length of _undo at each open checkpoint
        # Bounds of a scan → keys that the snapshot has there, as far as it was read.
        self._scanned: dict[tuple[bytes, bytes], list[bytes]] = {}

    def get(self, key: bytes) -> bytes | None:
        """The value under `key` as it stands, or None."""
        value = self._view.get(key, _UNREAD)
        if value is None or isinstance(value, bytes):
            return value
        if value is not _UNREAD:
            return value.encode()
        read = self._view[key] = self._snapshot.get(key)
        return read

    def peek(self, key: bytes) -> bytes | Encodable | None:
        """As `get`, but a draft as it was put."""
        value = self._view.get(key, _UNREAD)
        if value is _UNREAD:
            value = self._view[key] = self._snapshot.get(key)
        return value

    def put(self, key: bytes, value: bytes | Encodable | None) -> None:
        """Set the value under `key`; None removes it."""
        view = self._view
        before = view.get(key, _UNREAD)
        is_first = key not in self._before
        if is_first:  # and so no draft: it stands as the snapshot has it
            self._before[key] = before  # type: ignore[assignment]
            if self._order is not None:
                self._order.add(key)
        self._undo.append((key, before, is_first))
        view[key] = value

    def add(self, key: bytes, value: bytes) -> None:
        """Set the value under a key that is absent: the snapshot is not asked.

        Among millions of keys it costs more to learn that one is absent than to write
        it. Right for keys that are new by construction, or were deleted in this block.
        """
        self._view.setdefault(key, None)
        self.put(key, value)

    def delete(self, key: bytes) -> None:
        """Remove `key`; nothing happens if it is absent."""
        self.put(key, None)

    def remove(self, key: bytes, value: bytes) -> None:
        """Remove a key that holds `value`, as the caller knows: nobody is asked."""
        self._view.setdefault(key, value)
        self.put(key, None)

    def range(
        self, start: bytes, stop: bytes, floor: bytes = b""
    ) -> Iterator[tuple[bytes, bytes]]:
        """Pairs with start ≤ key < stop, ascending, as they stand at the call.

        What is written while the iterator runs does not show in it. The caller knows
        that the snapshot has nothing there below `floor`: a database walks over what
        was removed from it lately.
        """
        written = self._written().between(start, stop)
        base = self._snapshot.range(max(start, floor), stop)
        if not written:
            return base
        return merge(base, [(key, self.get(key)) for key in written])

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes | None]]:
        """As `range`, step by step: with what was removed in this journal, under None.

        So whoever pays for each step pays for those as well. Nothing may be written
        while the iterator runs.
        """
        written = ((key, self.get(key)) for key in self._written().walk(start, stop))
        return laid_over(self._scan_snapshot(start, stop), written)

    def _written(self) -> SortedKeys:
        """Keys that were written and not reverted, to be cut in order."""
        if self._order is None:
            self._order = SortedKeys(self._before)
        return self._order

    def _scan_snapshot(
        self, start: bytes, stop: bytes
    ) -> Iterator[tuple[bytes, bytes]]:
        """As the snapshot's `range`, which is asked once for the way to a key.

        A database steps over what was removed from it lately, which may be very much:
        that is paid by nobody, so that it must not be done again and again.
        """
        known = self._scanned.setdefault((start, stop), [])
        for key in known:
            if key == stop:  # noted at the end: there is nothing more
                return
            value = self._snapshot.get(key)
            assert value is not None, "a snapshot is frozen"
            yield key, value
        rest = known[-1] + b"\0" if known else start
        for key, value in self._snapshot.range(rest, stop):
            known.append(key)
            yield key, value
        known.append(stop)

    # --- checkpoints ---------------------------------------------------------------

    def checkpoint(self) -> Checkpoint:
        """Remember the state as it stands; close with `commit` or `revert`."""
        self._open.append(len(self._undo))
        return Checkpoint(len(self._open) - 1)

    def lay_over(self, writes: WriteSet) -> None:
        """Write what a block left behind, for good, outside of all checkpoints."""
        assert not self._open, "what lies over the snapshot is not gone back on"
        for key, value in writes.changes.items():
            self.put(key, value)
        self._undo.clear()

    def commit(self, checkpoint: Checkpoint) -> None:
        """Close the innermost checkpoint and keep what was written since."""
        assert checkpoint == len(self._open) - 1, "checkpoints close inside out"
        self._open.pop()
        if not self._open:
            self._undo.clear()  # nobody is left who could go back

    def revert(self, checkpoint: Checkpoint) -> None:
        """Return to a checkpoint and close it, and with it those opened since."""
        assert 0 <= checkpoint < len(self._open), "this checkpoint is closed already"
        mark = self._open[checkpoint]
        del self._open[checkpoint:]
        undo, view = self._undo, self._view
        while len(undo) > mark:
            key, before, is_first = undo.pop()
            if before is _UNREAD:
                del view[key]
            else:
                view[key] = before
            if is_first:
                del self._before[key]
                if self._order is not None:
                    self._order.remove(key)

    # --- for whoever watches -------------------------------------------------------

    @property
    def place(self) -> int:
        """How many writes stand that can be taken back: a place to compare with.

        It tells something while a checkpoint is open that was opened before.
        """
        return len(self._undo)

    def changes_since(
        self, place: int
    ) -> dict[bytes, tuple[bytes | None, bytes | None]]:
        """Of each key that was written since a place: its value then, and as it stands.

        What has the value of then is left out.
        """
        before = dict[bytes, bytes | None]()
        for key, value, _ in self._undo[place:]:
            if key in before:
                continue
            if value is _UNREAD:
                before[key] = self._snapshot.get(key)
            else:
                before[key] = _encoded(value)
        after = {key: _encoded(self._view[key]) for key in before}
        return {
            key: (value, after[key])
            for key, value in before.items()
            if value != after[key]
        }

    # --- what came of it -----------------------------------------------------------

    def changed_keys(self) -> AbstractSet[bytes]:
        """Keys written and not reverted, be the value a new one or not."""
        return self._before.keys()

    def original(self, key: bytes) -> bytes | None:
        """What the snapshot holds under a key that was written."""
        before = self._before[key]
        if before is _UNREAD:
            before = self._before[key] = self._snapshot.get(key)
        return before

    def write_set(self) -> WriteSet:
        """The net changes against the snapshot.

        A value that was read and written back as it was is no change, nor is the
        removal of what the snapshot does not hold. Only for removals of keys never
        read is the snapshot asked again; a value put unread counts as a change.
        """
        return WriteSet({key: value for key, _, value in self._net_changes()})

    def write_and_undo(self) -> tuple[WriteSet, WriteSet]:
        """The net changes, and what takes them back.

        The snapshot is asked only for what nobody has read of it yet.
        """
        changes, undo = dict[bytes, bytes | None](), dict[bytes, bytes | None]()
        for key, before, value in self._net_changes():
            changes[key] = value
            undo[key] = self._snapshot.get(key) if before is _UNREAD else before
        return WriteSet(changes), WriteSet(undo)

    def _net_changes(
        self,
    ) -> Iterator[tuple[bytes, bytes | _Unread | None, bytes | None]]:
        """Of each change the key, the snapshot's value and the one it is to have."""
        assert not self._open, "a write set is taken between executions"
        view = self._view
        for key, before in self._before.items():
            value = view[key]
            if value is not None and not isinstance(value, bytes):
                value = view[key] = value.encode()
            if before is _UNREAD and value is None:  # now it is read
                before = self._before[key] = self._snapshot.get(key)  # noqa: PLW2901
            if value != before:
                yield key, before, value


def _encoded(value: bytes | Encodable | None) -> bytes | None:
    return value if value is None or isinstance(value, bytes) else value.encode()
