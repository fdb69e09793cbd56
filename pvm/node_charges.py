"""What compiling has to make, counted and paid node by node before it is made (D6).

A source pays for its nodes when it was read, and lowering for each node that it writes
beside them: the methods of a dataclass, the statements of `x.a += v`. So a source of
few bytes cannot have much written out, and what is paid is the same on every
interpreter and whatever a cache holds.
"""

import ast
from collections.abc import Callable

from pvm import costs, language
from pvm.errors import CompileError, Refusal

Charge = Callable[[int], None]
"""Takes cycles; raises what ends the execution if there are no more."""


def free(_cycles: int) -> None:
    """Nobody pays: of tools, of libraries, and of code that was paid for before."""


class Nodes:
    """The nodes of one module so far."""

    __slots__ = ("_charge", "count")

    def __init__(self, charge: Charge = free) -> None:
        self._charge = charge
        self.count = 0

    def pay(self, more: int, node: ast.AST | None = None) -> None:
        """Pay for nodes that `node` stands for in the source, before they are made.

        Raises:
            CompileError: they are more than a module may have.
        """
        self.count += more
        if self.count > language.NODES_MAX:
            reason = (
                f"more than {language.NODES_MAX} nodes of syntax with what is written "
                "out for dataclasses, decorators and the like"
            )
            line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
            refusal = Refusal(line, column, reason, "several actors")
            raise CompileError((refusal,))
        self._charge(costs.COMPILE_PER_NODE * more)
