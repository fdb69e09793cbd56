"""A place in a `Devnet`'s past to go back to, as `Devnet.snapshot()` gives it.

Taking one copies what waits in the pool and remembers where the list of results ends:
it costs the same whatever the chain holds. Going back writes the undo of each block
since, newest first: it costs what happened since. Height, clock, timers, fees and
balances are of the state; the pool, the results and the sources of actors come back
beside it.
"""

from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from msgspec import Struct
from typing_extensions import override

from node.chain.block import Header
from node.chain.transition import BlockResult, Known, State, open_state
from node.state.store import StoreSnapshot, WriteSet
from node.testing.exceptions import DevnetClosed, SnapshotGone

__all__ = ["ChainSnapshot", "ResultsMark", "undo_since"]


class ResultsMark(Struct, frozen=True):
    """Where a list of results ended, and what its driver knew then."""

    last: BlockResult
    blocks: int
    known: Known | None

    def state(self, present: State, snapshot: StoreSnapshot) -> State:
        """The state of then, read from what the store holds after the way back."""
        present.caches.known = self.known
        return open_state(present.params, self.last.header, snapshot, present.caches)


def undo_since(results: list[BlockResult], mark: ResultsMark) -> WriteSet:
    """Drop the results since a mark; what takes their blocks back.

    Raises:
        SnapshotGone: the marked result is no longer among them; nothing was dropped.
    """
    if len(results) < mark.blocks or results[mark.blocks - 1] is not mark.last:
        raise SnapshotGone(
            f"the chain went back to before height {mark.last.header.height} since "
            "this snapshot was taken: take a new one"
        )
    changes: dict[bytes, bytes | None] = {}
    while len(results) > mark.blocks:
        changes.update(results.pop().undo.changes)
    return WriteSet(changes)


class ChainSnapshot:
    """A state of the chain to return to, as often as wanted.

    Leaving it as a context manager returns, too.
    """

    __slots__ = ("_return", "head")

    def __init__(self, head: Header, return_to_it: Callable[[], None]) -> None:
        self.head = head
        """The block to which the chain returns."""
        self._return = return_to_it

    @override
    def __repr__(self) -> str:
        return f"<snapshot of height {self.head.height}>"

    @property
    def height(self) -> int:
        """Height of the block to which the chain returns."""
        return self.head.height

    def revert(self) -> None:
        """Return: height, clock, pool, timers, fees and results are as they were.

        Raises:
            SnapshotGone: the chain has returned to an earlier height meanwhile.
            DevnetClosed: the chain was closed.
        """
        self._return()

    def __enter__(self) -> Self:
        """The snapshot itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Go back; nothing is left to do if the chain was closed meanwhile."""
        with suppress(DevnetClosed):
            self._return()
