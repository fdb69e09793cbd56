"""Where cycles and cells went: by stack of the actors' sources, for whole executions.

Rule: the costs of an execution add up to its receipt, to the unit; what is paid before
an actor runs is that of the empty stack. The values alone, for clients too; `profiling`
finds them out.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from node.chain.block import Receipt
from node.primitives.types import Address, Height
from pvm import NO_COST, Cost, Stack, by_line

__all__ = ["ENTRY", "ENTRY_NAME", "NO_LINE_NAME", "ExecutionProfile", "Profiled"]

ENTRY: Stack = ()
"""What is paid before an actor runs: intrinsic cost and, of a deployment, compiling; or
a fire's or message's entry."""
ENTRY_NAME = "(before an actor runs)"

NO_LINE_NAME = "(payload and answer)"
"""What is called so has `pvm.NO_LINE`: reading the payload, writing the answer."""


class Profiled(Struct, frozen=True):
    """One execution, and what its receipt adds up from."""

    height: Height
    receipt: Receipt
    costs: Mapping[Stack, Cost]


class ExecutionProfile(Struct):
    """What executions cost, in the order in which they ran."""

    executions: list[Profiled] = field(default_factory=list)
    sources: dict[Address, str] = field(default_factory=dict)
    """Of the actors that ran."""
    codes: dict[bytes, str] = field(default_factory=dict)
    """The same by hash of the code, which an actor changes; a node does not tell it."""

    @property
    def cycles(self) -> int:
        """Of all receipts."""
        return sum(each.receipt.cycles_used for each in self.executions)

    @property
    def cells(self) -> int:
        """Of all receipts."""
        return sum(each.receipt.cells_used for each in self.executions)

    def costs(self) -> dict[Stack, Cost]:
        """By stack, of all executions."""
        found: dict[Stack, Cost] = {}
        for each in self.executions:
            for stack, cost in each.costs.items():
                found[stack] = found.get(stack, NO_COST).plus(*cost)
        return found

    def lines(self, actor: Address) -> dict[int, Cost]:
        """Line of an actor's source → what it cost by itself, host calls included.

        `pvm.NO_LINE` is what no line costs: reading the payload, writing the answer.
        Of an actor that got other code meanwhile (D58), lines of one number add up.
        """
        return by_line(self.costs(), actor)

    def add(self, other: "ExecutionProfile") -> None:
        """Have what another has, too."""
        self.executions += other.executions
        self.sources |= other.sources
        self.codes |= other.codes
