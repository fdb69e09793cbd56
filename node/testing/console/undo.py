"""Undo: where a chain stands, and how to return there.

A chain in this process remembers any number of places. A node keeps what it takes for
each of its snapshots: of those only the last are kept, and none when the prompt ends.
"""

from collections import deque
from contextlib import suppress

from msgspec import Struct

from node.client._sync.actor import Chain, Snapshot
from node.client._sync.client import Client
from node.client.exceptions import InvalidArgument, NodeError, NodeUnreachable
from node.testing.devnet import Devnet
from node.testing.exceptions import SnapshotGone

__all__ = ["CannotUndo", "UndoHistory", "UndoPoint"]

UNDO_MAX = 100
"""Changes of a node's chain that can be undone."""


class CannotUndo(Exception):  # noqa: N818 - reads as what happened
    """There is nothing to take back, or no way."""


class UndoPoint(Struct, eq=False):
    """A state of a chain, and the way back to it."""

    place: tuple[object, ...]
    """Tells whether the chain is in this state."""
    snapshot: Snapshot | None = None
    why_not: str = ""
    """Why nobody can return there, if there is no snapshot."""

    def revert(self) -> None:
        """Return to it.

        Raises:
            CannotUndo: that is not possible (any more).
        """
        if self.snapshot is None:
            raise CannotUndo(self.why_not)
        try:
            self.snapshot.revert()
        except (SnapshotGone, NodeError) as error:
            raise CannotUndo(f"{error}") from None


class UndoHistory:
    """The states that a chain goes through, for as long as they can be returned to."""

    __slots__ = ("_chain", "_kept", "_point")

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._point: UndoPoint | None = None
        self._kept: deque[UndoPoint] = deque()

    def here(self) -> UndoPoint:
        """The present state; the same point for as long as nothing changes."""
        place = self._place()
        if self._point is None or self._point.place != place:
            self._point = self._taken(place)
        return self._point

    def is_at(self, point: UndoPoint) -> bool:
        """Whether the chain is in this state."""
        return self._place() == point.place

    def _place(self) -> tuple[object, ...]:
        chain, names = self._chain, tuple(self._chain.labels.items())
        if isinstance(chain, Devnet):
            return chain.head, chain.waiting, names
        assert isinstance(chain, Client), "chains are of these two kinds"
        status = chain.api.status()
        head = status.head.height, status.head.hash
        return *head, status.pool_transactions, names

    def _taken(self, place: tuple[object, ...]) -> UndoPoint:
        try:
            point = UndoPoint(place, self._chain.snapshot())
        except (NodeError, InvalidArgument) as error:
            return UndoPoint(
                place, None, f"the node kept no state to return to: {error}"
            )
        if isinstance(self._chain, Client):
            self._kept.append(point)
            if len(self._kept) > UNDO_MAX:
                self._forget(self._kept.popleft(), f"only {UNDO_MAX} changes are kept")
        return point

    def _forget(self, point: UndoPoint, why_not: str) -> None:
        snapshot, point.snapshot, point.why_not = point.snapshot, None, why_not
        assert isinstance(self._chain, Client), "others forget by themselves"
        with suppress(NodeError, NodeUnreachable):  # it went back to before, or is gone
            self._chain.api.delete_snapshot(getattr(snapshot, "name", ""))

    def close(self) -> None:
        """Let a node forget all that was kept for this prompt."""
        while self._kept:
            self._forget(self._kept.popleft(), "the prompt has ended")
