"""What each block of a source costs, line by line: for tools, never for executions.

A source that is compiled with block costs has the same prices as without. Beside each
charge stands a call that says which block was paid, so that `profile` can give a
block's price to the lines it is the price of; executions of a chain have no such call.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct, field

from pvm.compiler.pricing import Pricing, bytes_of, cycles_of
from pvm.language import public_name

PAID = "_paid"
"""What a source compiled so calls when a block is paid, with its number."""


class Block(Struct, frozen=True):
    """Straight-line source that is paid in full when it is entered (sandbox.md §4)."""

    function: str
    """Function in which it stands, `Class.method` for a method; "" for the module's
    body."""
    line: int
    """Line of its first statement."""
    opening: int
    """Line that opens it: of the function, loop or handler."""
    cycles: int
    """Cycles that entering it costs."""
    bytes: int
    """Bytes that entering it charges to the allocation account."""
    lines: tuple[tuple[int, int], ...]
    """(Line, cycles); what belongs to no statement is at the line that opens the block.
    """


class BlockCosts(Struct):
    """The blocks of a source, in the order in which they were written."""

    blocks: list[Block] = field(default_factory=list)
    functions: tuple[str, ...] = ()
    """Functions and classes around what is being written, outermost first."""
    line: int = 1
    """Of the statement that is being written."""

    @contextmanager
    def at(self, node: ast.stmt) -> Iterator[None]:
        """Blocks that are written inside stand in `node`."""
        outer, self.line = self.line, getattr(node, "lineno", self.line)
        functions = self.functions
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            self.functions = (*functions, public_name(node.name))
        yield
        self.line, self.functions = outer, functions

    def add(self, pricing: Pricing, body: Sequence[ast.stmt], price: int) -> int:
        """Write a block down; returns its number."""
        lines: dict[int, int] = {}
        for line, cycles in _shares(pricing, body, self.line):
            lines[line] = lines.get(line, 0) + cycles
        opening = cycles_of(price) - sum(lines.values())
        lines[self.line] = lines.get(self.line, 0) + opening
        first = getattr(body[0], "lineno", self.line) if body else self.line
        rows = tuple(sorted((line, cycles) for line, cycles in lines.items() if cycles))
        name = ".".join(self.functions)
        self.blocks.append(
            Block(name, first, self.line, cycles_of(price), bytes_of(price), rows)
        )
        return len(self.blocks) - 1


def _shares(
    pricing: Pricing, body: Iterable[ast.stmt], line: int
) -> Iterator[tuple[int, int]]:
    """The share of each line in the price of a block.

    An `if` whose arms its block pays for is one sum, at its first line: the dearer arm
    is paid, whichever is taken.
    """
    for node in body:
        line = getattr(node, "lineno", line)
        inner: list[ast.stmt] = []
        if isinstance(node, ast.Try | ast.With):
            inner = node.body
            yield from _shares(pricing, inner, line)
        yield line, cycles_of(pricing.statement(node)) - cycles_of(pricing.block(inner))
