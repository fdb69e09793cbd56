"""ChainStore: blocks are added to a store here, and taken back.

A block's batch is put together in one place: the state's writes, the history, and the
record that takes both back. Going back is that record's work; a rewind too large for
one batch, or a crash, names in the store what is not finished, and the next start
finishes it: nobody sees a chain between two heights.

Rules: one thread at a time, the worker's. What is on disk decides; what is held in
memory is read again after a rewind.
"""

from struct import Struct

from node import history
from node.chain.block import Header
from node.chain.transition import BlockResult
from node.primitives.types import Height
from node.state import keys, undo
from node.state.store import Snapshot, Store, WriteSet

__all__ = ["REWIND_BYTES_MAX", "ChainStore", "rewind", "unfinished_target"]

REWIND_BYTES_MAX = 8 << 20
"""Of undo records that one batch of a rewind takes back; most rewinds are one."""

_TARGET = Struct(">Q")


class ChainStore:
    """A store with one chain in it, which grows and goes back by whole blocks."""

    __slots__ = ("_store", "_trail")

    def __init__(self, store: Store) -> None:
        self._store = store
        self._trail: undo.Trail | None = None

    def commit(self, snapshot: Snapshot, head: Header, result: BlockResult) -> Snapshot:
        """Add the block that `result` made above `head`; the new snapshot.

        `snapshot` is the one on which it was built. A block in which anything
        happened is on disk on return.
        """
        trail = self._trail or undo.load_trail(snapshot, head.height, None)
        recorded = history.record(result)
        record, trail = undo.extend(
            snapshot,
            trail,
            result.header.height,
            head.height,
            result.undo | history.undo(recorded, head),
        )
        writes = result.writes | recorded | record
        self._store.commit(writes, sync=not result.is_empty)
        self._trail = trail
        return self._store.snapshot()

    def lowest_reachable(self, head: int) -> Height:
        """The lowest height to which the chain can be taken back from `head`."""
        snapshot = self._store.snapshot()
        trail = self._trail or undo.load_trail(snapshot, head, None)
        return Height(undo.lowest_reachable(snapshot, trail, head))

    def rewind(self, head: int, target: int) -> Snapshot:
        """Take back every block above `target`; the snapshot there, on disk.

        Raises:
            LookupError: The way back is not kept; nothing was written.
        """
        if self.lowest_reachable(head) > target:
            raise LookupError(f"no undo record leads from height {head} to {target}")
        self._trail = None
        rewind(self._store, head, target)
        return self._store.snapshot()


def rewind(
    store: Store, head: int, target: int, bytes_max: int = REWIND_BYTES_MAX
) -> None:
    """Take back blocks batch by batch; each names what is left to do, the last none.

    Raises:
        LookupError: The way back is not kept.
    """
    while head > target:
        step = undo.step_back(store.snapshot(), head, target, bytes_max)
        head = step.height
        left = None if head == target else _TARGET.pack(target)
        store.commit(step.writes | WriteSet({keys.UNFINISHED: left}), sync=True)


def unfinished_target(snapshot: Snapshot) -> Height | None:
    """To which height a rewind was on its way, or None."""
    data = snapshot.get(keys.UNFINISHED)
    return None if data is None else Height(*_TARGET.unpack(data))
