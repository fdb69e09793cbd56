"""ChainStore: blocks are added to a store here, and taken back.

A block's batch is put together in one place: the state's writes, the history, and the
record that takes both back. Going back is that record's work. What takes more than
one batch, a long rewind or a reset, first says in the store what it is about; each
batch ends between two blocks, and the next start finishes what a crash cut short. So
nobody is ever shown a chain on its way.

Rules: one thread at a time, the worker's. What is on disk decides; what is held in
memory is read again after a rewind.
"""

from itertools import islice
from struct import Struct
from typing import Final

from node import history
from node.archive.pruning import prune
from node.chain.block import Header
from node.chain.transition import BlockResult
from node.primitives.types import Hash32, Height
from node.state import keys, snapshots, undo
from node.state.snapshots import NamedSnapshot
from node.state.store import Store, StoreSnapshot, WriteSet
from node.totals import RunningTotals, totals_of

__all__ = [
    "CLEARED_KEYS_MAX",
    "REWIND_BYTES_MAX",
    "UNDONE_MAX",
    "ChainStore",
    "clear",
    "finish_rewind",
    "is_clearing",
    "rewind",
]

REWIND_BYTES_MAX = 8 << 20
"""Of undo records that one batch of a rewind takes back; most rewinds are one."""

CLEARED_KEYS_MAX = 10_000
"""Keys that one batch of a reset deletes: some megabytes at most."""

UNDONE_MAX = 10_000
"""Ids of undone transactions that a rewind tells, the latest ones."""

_ALL_KEYS: Final = (b"", b"\xff")
"""Every key of the database begins with a letter (keys.py)."""

_TARGET = Struct(">Q")
_CLEARING = b""
"""Under `keys.UNFINISHED`, in place of a rewind's target: everything is deleted."""


class ChainStore:
    """A store with one chain in it, which grows and goes back by whole blocks."""

    __slots__ = ("_store", "_totals", "_trail", "keep_blocks")

    def __init__(self, store: Store, keep_blocks: int | None = None) -> None:
        self._store = store
        self.keep_blocks = keep_blocks
        """Of how many heights below the head all is kept; None: of all."""
        self._trail: undo.UndoRange | None = None
        self._totals: RunningTotals | None = None

    # --- blocks ----------------------------------------------------------------------

    def commit(
        self,
        snapshot: StoreSnapshot,
        head: Header,
        result: BlockResult,
        *,
        sync: bool = True,
    ) -> StoreSnapshot:
        """Add the block that `result` made above `head`; the new snapshot.

        `snapshot` is the one on which it was built. A block in which anything
        happened is on disk on return, unless not even that is wanted.
        """
        trail = self._load_trail(head.height)
        running, self._totals = self._totals, None  # loaded again, should this fail
        if running is None:
            running = RunningTotals.load(snapshot, head.height)
        recorded = _recorded(result, running)
        record, trail = undo.extend(
            snapshot,
            trail,
            result.header.height,
            head.height,
            result.undo | history.undo(recorded, head),
        )
        writes = result.writes | recorded | record
        if self.keep_blocks is not None:
            height = result.header.height
            writes |= prune(snapshot, height, self.keep_blocks, trail.pinned)
        self._store.commit(writes, sync=sync and not result.is_empty)
        self._trail, self._totals = trail, running
        return self._store.snapshot()

    def sync(self) -> None:
        """Bring to disk what was added without a sync."""
        self._store.commit(WriteSet(), sync=True)

    def lowest_reachable(self, head: int) -> Height:
        """The lowest height to which the chain can be taken back from `head`."""
        snapshot, trail = self._store.snapshot(), self._load_trail(head)
        return Height(undo.lowest_reachable(snapshot, trail, head))

    def rewind(
        self, head: int, target: int
    ) -> tuple[StoreSnapshot, tuple[Hash32, ...]]:
        """Take back every block above `target`, and the snapshots that name one.

        The snapshot there, on disk, and the ids of the transactions that were undone.

        Raises:
            LookupError: The way back is not kept; nothing was written.
        """
        if not self.lowest_reachable(head) <= target <= head:
            raise LookupError(f"no undo record leads from height {head} to {target}")
        self._trail = self._totals = None
        undone = rewind(self._store, head, target)
        return self._store.snapshot(), undone

    # --- named snapshots -------------------------------------------------------------

    def create_snapshot(
        self, name: str, head: Header, waiting: tuple[bytes, ...]
    ) -> NamedSnapshot:
        """Name the head; on disk on return. Two puts at most.

        Raises:
            SnapshotRefused: See `snapshots.create`.
        """
        place = (head.height, head.hash())
        named, writes = snapshots.create(self._store.snapshot(), name, place, waiting)
        self._store.commit(writes, sync=True)
        self._trail = None
        return named

    def delete_snapshot(self, name: str) -> None:
        """Delete a snapshot; on disk on return.

        Raises:
            UnknownSnapshot: There is none of that name.
        """
        writes = snapshots.delete(self._store.snapshot(), name)
        self._store.commit(writes, sync=True)
        self._trail = None

    def find_snapshot(self, name: str) -> tuple[NamedSnapshot, list[bytes]]:
        """The snapshot of a name, and what waited then.

        Raises:
            UnknownSnapshot: There is none.
        """
        snapshot = self._store.snapshot()
        return snapshots.find(snapshot, name), snapshots.load_waiting(snapshot, name)

    def list_snapshots(self) -> tuple[NamedSnapshot, ...]:
        """All snapshots, the oldest height first."""
        return snapshots.list_all(self._store.snapshot())

    def _load_trail(self, head: int) -> undo.UndoRange:
        if self._trail is None:
            # Not the snapshot of the head's state: named ones were put since.
            snapshot = self._store.snapshot()
            heights = [one.height for one in snapshots.list_all(snapshot)]
            pinned = min(heights, default=None)
            self._trail = undo.load_trail(snapshot, head, pinned)
        return self._trail


def _recorded(result: BlockResult, running: RunningTotals) -> WriteSet:
    """What history keeps of a block, and of groups of heights that it leaves."""
    totals = totals_of(result)
    left = running.add(result.header.height, totals)
    return history.record(result, totals) | WriteSet(left)


# --- what takes more than one batch --------------------------------------------------


def rewind(
    store: Store, head: int, target: int, bytes_max: int = REWIND_BYTES_MAX
) -> tuple[Hash32, ...]:
    """Take back blocks; ids of their transactions, the latest block's first.

    Raises:
        LookupError: The way back is not kept.
    """
    undone: list[Hash32] = []
    location = keys.transaction_location(b"")
    is_left = True
    while is_left:
        snapshot = store.snapshot()
        step = undo.step_back(snapshot, head, target, bytes_max)
        head, is_left = step.height, step.height > target
        last = {keys.UNFINISHED: _TARGET.pack(target) if is_left else None}
        writes = step.writes | WriteSet(last)
        if not is_left:
            writes |= snapshots.delete_above(snapshot, target)
        store.commit(writes, sync=True)
        found = (key for key in step.writes.changes if key.startswith(location))
        room = UNDONE_MAX - len(undone)
        undone += [Hash32(key[len(location) :]) for key in islice(found, room)]
    return tuple(undone)


def finish_rewind(store: Store) -> bool:
    """Finish a rewind that was cut short; whether there was one."""
    snapshot = store.snapshot()
    target, head = snapshot.get(keys.UNFINISHED), snapshot.get(keys.HEAD)
    if not target or head is None:
        return False
    rewind(store, int.from_bytes(head, "big"), *_TARGET.unpack(target))
    return True


def is_clearing(snapshot: StoreSnapshot) -> bool:
    """Whether a reset was cut short."""
    return snapshot.get(keys.UNFINISHED) == _CLEARING


def clear(store: Store, document: bytes, keys_max: int = CLEARED_KEYS_MAX) -> None:
    """Delete all but the genesis document and the word that it is being done.

    Whoever calls it deletes that word, `keys.UNFINISHED`, with what comes after.
    """
    kept = {keys.UNFINISHED: _CLEARING, keys.GENESIS: document}
    store.commit(WriteSet(kept), sync=True)
    doomed = (key for key, _ in store.snapshot().range(*_ALL_KEYS) if key not in kept)
    while part := list(islice(doomed, keys_max)):
        store.commit(WriteSet(dict.fromkeys(part)), sync=True)
