"""How time passes by itself: at a pace, to the next timer, and not while it is held.

In mode `interval` a block is made every pace. With `--auto-timers` the node also
advances, in every mode, to the next height at which a timer is looked at, once nothing
is pending: one such height a pace, so that an actor that beats for ever does not race.
While somebody holds time it stands still: no block is made that only lets time pass;
what is submitted goes on as the mode says.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from node.chain.mailbox import is_any_pending
from node.chain.transition import State, next_timer_height
from node.mempool import Pool
from node.primitives.types import Height
from node.runtime.block_timer import BlockTimer
from node.runtime.settings import MiningMode

__all__ = ["TimeControl"]


class TimeControl:
    """What the pace brings, and who holds it."""

    __slots__ = ("_block_timer", "_end", "holds", "is_auto")

    def __init__(self, block_timer: BlockTimer, *, is_auto: bool) -> None:
        self._block_timer = block_timer
        self._end = Height(0)  # of an advance to a timer, which takes several headers
        self.is_auto = is_auto
        """Whether it also advances to the next timer."""
        self.holds = 0
        """How many hold time."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Time stands still; several may hold it."""
        self.holds += 1
        self.forget()
        try:
            yield
        finally:
            self.holds -= 1

    def forget(self) -> None:
        """Go no further towards a timer: it is not wanted, or the timer is gone."""
        self._end = Height(0)

    def heights(self, state: State, mode: MiningMode, pool: Pool) -> int:
        """How many heights pass now; 0 if none is due."""
        head = state.head.height
        if self._end <= head:
            if self._block_timer.seconds_left() > 0:
                return 0
            self._block_timer.begin()
            end = self._next_end(state, mode, pool)
            if end <= head + 1:
                return end - head
            self._end = end
        return self._end - head

    def _next_end(self, state: State, mode: MiningMode, pool: Pool) -> Height:
        """The height to which this pace goes: the head's, the next, or a timer's."""
        head = state.head.height
        paced = Height(head + (mode is MiningMode.INTERVAL))
        if is_any_pending(state.snapshot) or _is_any_waiting(state, mode, pool):
            return paced
        if self.holds:
            return head
        timer = next_timer_height(state) if self.is_auto else None
        if timer is None or timer > state.params.height_max:
            return paced
        return timer

    async def sleep(self, wake: asyncio.Event, mode: MiningMode) -> None:
        """Until something may have to be done: by the pace, or for what wakes."""
        timer = None
        if mode is MiningMode.INTERVAL or self.is_auto:
            timer = asyncio.get_running_loop().call_later(
                self._block_timer.seconds_left(), wake.set
            )
        await wake.wait()
        wake.clear()
        if timer is not None:
            timer.cancel()


def _is_any_waiting(state: State, mode: MiningMode, pool: Pool) -> bool:
    """Whether a transaction is pending; in `manual` any that was submitted is."""
    if mode is MiningMode.MANUAL:
        return len(pool) > 0
    return pool.select_one(state) is not None
