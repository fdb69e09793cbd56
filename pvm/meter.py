"""Meter: what one execution may still use.

The three counters that instrumented code decrements are closure cells, shared by
the actor, the library and the helpers; a `Meter` owns them. Cells (bytes of data)
are counted here only: actor code never charges them by itself.

Rules: nothing is refunded here; once halted, a meter stays halted, its cycle
counter below zero (sandbox-internals.md §7).
"""

from types import CellType
from typing import Final, NoReturn

from pvm.depth import LINKS
from pvm.errors import (
    Halt,
    HostMemoryExhausted,
    OutOfCells,
    OutOfCycles,
    OutOfMemory,
    TooDeepRecursion,
)
from pvm.types import Limits

CYCLES_LIMIT_MAX = 2**30 - 1
"""Keeps the counter a one-digit int; no budget of a block comes near it."""


_LIMITS: Final = Limits()


class Meter:
    """What one execution may use and has used: cycles, cells, memory and depth."""

    __slots__ = (
        "_cycles_used_at_halt",
        "cells_left",
        "cells_limit",
        "cells_reserved",
        "cycles",
        "cycles_limit",
        "cycles_reserved",
        "depth",
        "guards",
        "halted",
        "inside",
        "is_outermost",
        "is_quiet",
        "memory",
        "read_only",
    )

    def __init__(
        self,
        cycles_limit: int,
        cells_limit: int,
        *,
        limits: Limits | None = None,
        caller: "Meter | None" = None,
        read_only: bool = False,
    ) -> None:
        """Make a meter with nothing used.

        Args:
            cycles_limit: cycles that may be charged, at most `CYCLES_LIMIT_MAX`.
            cells_limit: cells that may be charged.
            limits: memory and depth; ignored if there is a caller.
            caller: the meter of the calling actor, whose memory account is shared and
                whose depth goes on (D14).
            read_only: whether host calls that change something halt (D15).
        """
        assert 0 <= cycles_limit <= CYCLES_LIMIT_MAX
        limits = limits or _LIMITS
        self.is_outermost = caller is None
        """No other execution waits for this one."""
        self.cycles_limit = cycles_limit
        self.cells_limit = cells_limit
        self.cycles = CellType(cycles_limit)
        self.cells_left = cells_limit
        self.cycles_reserved = 0
        self.cells_reserved = 0
        if caller is None:
            self.memory = CellType(limits.memory_bytes)
            self.depth = CellType(LINKS[limits.depth])
            self.read_only = read_only
            self.guards: frozenset[tuple[bytes, str]] = frozenset()
        else:
            self.memory = caller.memory
            self.depth = CellType(caller.depth.cell_contents)
            self.read_only = read_only or caller.read_only
            self.guards = caller.guards
        self.inside = 0
        """Methods with a rule that are running."""
        self.is_quiet = False
        """Messages and timers are refused (host-api.md §4)."""
        self.halted: Halt | HostMemoryExhausted | None = None
        self._cycles_used_at_halt = 0

    @property
    def cycles_left(self) -> int:
        """Cycles that can still be charged; 0 after a halt."""
        return max(0, int(self.cycles.cell_contents))

    @property
    def cycles_used(self) -> int:
        """Cycles to pay for; the whole limit if they ran out (D16)."""
        counted = int(self.cycles.cell_contents)
        if counted >= 0:
            return self.cycles_limit - self.cycles_reserved - counted
        if self.halted is None or isinstance(self.halted, OutOfCycles):
            return self.cycles_limit
        return self._cycles_used_at_halt

    @property
    def cells_used(self) -> int:
        """Cells to pay for; the whole limit if they ran out (D16)."""
        if isinstance(self.halted, OutOfCells):
            return self.cells_limit
        return self.cells_limit - self.cells_reserved - self.cells_left

    def charge_cycles(self, cycles: int) -> None:
        """Charge cycles.

        Raises:
            OutOfCycles: more than are left.
        """
        left = self.cycles.cell_contents - cycles
        self.cycles.cell_contents = left
        if left < 0:
            self.halt_by_counters()

    def charge_cells(self, cells: int) -> None:
        """Charge cells.

        Raises:
            OutOfCells: more than are left.
        """
        if cells > self.cells_left:
            self.halt(OutOfCells())
        self.cells_left -= cells

    def charge_memory(self, bytes_: int) -> None:
        """Charge bytes to the allocation account.

        Raises:
            OutOfMemory: more than are left.
        """
        left = self.memory.cell_contents - bytes_
        self.memory.cell_contents = left
        if left < 0:
            self.halt_by_counters()

    def reserve(self, cycles: int, cells: int) -> None:
        """Set aside the budget of a message: no longer left, yet not used (D14).

        Precondition: both are left.
        """
        assert 0 <= cycles <= self.cycles_left
        assert 0 <= cells <= self.cells_left
        self.cycles.cell_contents -= cycles
        self.cells_left -= cells
        self.cycles_reserved += cycles
        self.cells_reserved += cells

    def release_reserved(self) -> None:
        """Give back what was reserved: the sends were undone with their execution.

        Afterwards `cycles_used` and `cells_used` count exactly what was charged.
        """
        if self.halted is None and self.cycles.cell_contents >= 0:
            self.cycles.cell_contents += self.cycles_reserved
        self.cells_left += self.cells_reserved
        self.cycles_reserved = 0
        self.cells_reserved = 0

    def halt(self, halt: Halt | HostMemoryExhausted) -> NoReturn:
        """End the execution for good and raise `halt`, or the earlier halt again."""
        if self.halted is None:
            if self.cycles.cell_contents < 0:
                halt = OutOfCycles()
            self._cycles_used_at_halt = (
                self.cycles_limit - self.cycles_reserved - self.cycles.cell_contents
            )
            self.halted = halt
        self.cycles.cell_contents = -1
        raise self.halted

    def halt_by_counters(self) -> NoReturn:
        """Halt for the counter that fell below zero: what inserted charges call."""
        if self.cycles.cell_contents < 0:
            self.halt(OutOfCycles())
        if self.memory.cell_contents < 0:
            self.halt(OutOfMemory())
        self.halt(TooDeepRecursion())

    def raise_if_halted(self) -> None:
        """Refuse to go on after a halt; the first line of every host call."""
        if self.cycles.cell_contents < 0:
            self.halt_by_counters()
