"""What lines and call stacks cost in a range of heights: the values alone.

Rule: what was counted, what was left out and what was cut add up to the receipts, to
the unit. Clients use these values, too; `range_costing` finds them out.
"""

from collections.abc import Mapping

from msgspec import Struct, field
from typing_extensions import override

from node.chain.block import ReceiptKind
from node.primitives.types import Address, Hash32, Height
from node.query.trace.records import names_of
from pvm import NO_COST, Cost, Stack

__all__ = ["ActorCosts", "CostSum", "ExecutionStack", "RangeCosts"]


class CostSum(Struct):
    """Cycles and cells, and how many executions they are of."""

    cycles: int = 0
    cells: int = 0
    executions: int = 0

    def add(self, cycles: int, cells: int) -> None:
        """One execution more that paid for it."""
        self.cycles += cycles
        self.cells += cells
        self.executions += 1


class ActorCosts(Struct, frozen=True):
    """What the lines of an actor cost, as long as it had one code."""

    actor: Address
    code_hash: Hash32
    source: str
    """Empty if there was no room for it."""
    lines: Mapping[int, CostSum]
    """By line of the source, ascending; `pvm.NO_LINE` is what belongs to none."""

    @property
    def cycles(self) -> int:
        """Of all lines."""
        return sum(cost.cycles for cost in self.lines.values())

    @property
    def cells(self) -> int:
        """Of all lines."""
        return sum(cost.cells for cost in self.lines.values())


class ExecutionStack(Struct, frozen=True):
    """A call stack, and what kind of execution it stands in."""

    kind: ReceiptKind
    actor: Address
    """The actor that the execution began with."""
    handler: str
    """Its handler."""
    stack: Stack
    """What was running, outermost first; empty before an actor runs."""


class RangeCosts(Struct, frozen=True, dict=True):
    """What the blocks of a range of heights cost; print it to read it."""

    first_height: Height
    last_height: Height
    """The last height that was executed again."""
    is_complete: bool
    """Whether this is the one that was asked for, and the work was not too much."""
    headers: int
    """Blocks and runs of empty heights that were executed."""
    total: CostSum
    """Of all receipts."""
    actors: tuple[ActorCosts, ...]
    """The dearest first."""
    stacks: tuple[tuple[ExecutionStack, CostSum], ...]
    """Each with what it cost by itself; the dearest first."""
    uncounted: CostSum = field(default_factory=CostSum)
    """Of executions that were too large for their lines to be counted."""
    cut: Cost = NO_COST
    """Of stacks that there was no room for; their lines were counted."""
    cut_lines: Cost = NO_COST
    """Of lines that there was no room for."""

    @override
    def __str__(self) -> str:
        from node.query.costs.range_text import costs_text  # noqa: PLC0415 - its reader's

        return costs_text(self, names_of(self))

    def folded(self) -> str:
        """The stacks in the form that programs for flame graphs read: cycles by stack.

        One stack a line: frames with `;` between them, a space, a number.
        """
        from node.query.costs.range_text import folded_text  # noqa: PLC0415 - its reader's

        return folded_text(self, names_of(self))
