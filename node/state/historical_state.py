"""Past states, read from the present one and the undo records since.

What the blocks since then changed is laid over the snapshot of the present: a read of
anything else costs what it costs there. So a past state takes no room on disk beside
the undo records, which are kept anyway, and as much memory as was changed since.

Rules: pure; the view is as frozen as the snapshot below it.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping

from node.state import undo
from node.state.ordering import merge
from node.state.store import StoreSnapshot

__all__ = ["ChangedSnapshot", "past_snapshot"]


class ChangedSnapshot:
    """A snapshot with changes laid over it."""

    __slots__ = ("_base", "_changes", "_order")

    def __init__(
        self, base: StoreSnapshot, changes: Mapping[bytes, bytes | None]
    ) -> None:
        self._base = base
        self._changes = changes
        self._order = sorted(changes)

    def get(self, key: bytes) -> bytes | None:
        """The value under `key`, or None."""
        if key in self._changes:
            return self._changes[key]
        return self._base.get(key)

    def range(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Pairs with start ≤ key < stop, ascending by key."""
        first, last = bisect_left(self._order, start), bisect_left(self._order, stop)
        changed = [(key, self._changes[key]) for key in self._order[first:last]]
        return merge(self._base.range(start, stop), changed)


def past_snapshot(
    snapshot: StoreSnapshot, head: int, target: int, bytes_max: int
) -> StoreSnapshot:
    """The state after the block at `target`, seen from that at `head`.

    Raises:
        LookupError: Undo records do not lead there, or have more than `bytes_max`
            bytes together.
    """
    if target == head:
        return snapshot
    step = undo.step_back(snapshot, head, target, bytes_max)
    if step.height > target:
        raise LookupError(
            f"more than {bytes_max} bytes were replaced between heights {target} and "
            f"{head}"
        )
    return ChangedSnapshot(snapshot, step.writes.changes)
