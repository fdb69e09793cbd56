"""When the next block is due in mode `interval`, or the next timer by itself.

Wall time paces blocks and nothing else (D37). What was missed, while the machine
slept or a block took long, is not caught up: at most one block is late.
"""

from node.runtime.clock import Clock

__all__ = ["BlockTimer"]

_MILLISECONDS = 1_000


class BlockTimer:
    """A deadline that moves on by the pace."""

    __slots__ = ("_clock", "_deadline", "pace_ms")

    def __init__(self, clock: Clock, pace_ms: int) -> None:
        self._clock = clock
        self.pace_ms = pace_ms
        self._deadline = clock.monotonic()
        self.restart(None)

    def restart(self, pace_ms: int | None) -> None:
        """The next block is due one pace from now; None keeps the pace."""
        if pace_ms is not None:
            self.pace_ms = pace_ms
        self._deadline = self._clock.monotonic() + self._pace()

    def seconds_left(self) -> float:
        """Until the next block is due; 0 when it is."""
        return max(0.0, self._deadline - self._clock.monotonic())

    def begin(self) -> None:
        """A block is begun: set the deadline of the one after it.

        Small delays do not add up; after a whole missed pace counting begins anew.
        """
        now = self._clock.monotonic()
        if now - self._deadline >= self._pace():
            self._deadline = now
        self._deadline += self._pace()

    def _pace(self) -> float:
        return self.pace_ms / _MILLISECONDS
