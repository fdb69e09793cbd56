"""CommandQueue: what somebody asked the engine to do and waits for.

Rules: first come, first served; a command keeps its place until it is done, and one
whose caller has gone is dropped.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from node.chain.bundle_errors import BundleRefused
from node.chain.transition import BlockResult, State
from node.primitives.types import Address
from node.runtime.memory_exhaustion import NoMemory
from node.runtime.types import NodeStopping
from node.state.snapshots import SnapshotRefused, UnknownSnapshot

__all__ = ["Command", "CommandQueue", "MineCommand", "StoreCommand"]


_REFUSALS: Final = (
    BundleRefused,
    NoMemory,
    NodeStopping,
    SnapshotRefused,
    UnknownSnapshot,
)
"""What a command between two blocks may end with; anything else is a defect."""


class MineCommand(Struct):
    """Blocks that somebody waits for."""

    blocks_left: int
    done: asyncio.Future[tuple[BlockResult, ...]]
    """The last ones."""
    first: Address | None = None
    """Whose transactions go before all others."""
    is_done: Callable[[State], bool] | None = None
    """What is made at once is enough, be it one header, and no more once it holds."""


class StoreCommand(Struct):
    """Something that is done between two blocks."""

    action: Callable[[], Awaitable[object]]
    done: asyncio.Future[object]

    async def carry_out(self) -> None:
        """Do it, and tell who waits what came of it."""
        try:
            result = await self.action()
        except _REFUSALS as refusal:
            if not self.done.done():
                self.done.set_exception(refusal)
        else:
            if not self.done.done():
                self.done.set_result(result)


Command = MineCommand | StoreCommand


class CommandQueue:
    """A queue of them."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[Command] = deque()

    def add(self, command: Command) -> None:
        """Put a command at the end."""
        self._waiting.append(command)

    def next(self) -> Command | None:
        """The command whose turn it is; it stays in its place."""
        while self._waiting and self._waiting[0].done.done():
            self._waiting.popleft()
        return self._waiting[0] if self._waiting else None

    def end(self, reason: NodeStopping) -> None:
        """Tell all who wait that nothing more is done."""
        for command in self._waiting:
            if not command.done.done():
                command.done.set_exception(reason)
        self._waiting.clear()
