"""Blocks: each begins by paying for itself in full (sandbox-internals.md, rule 1)."""

import ast
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from pvm.compiler.block_costs import PAID, BlockCosts
from pvm.compiler.facts import Facts
from pvm.compiler.instrument.expressions import Expressions
from pvm.compiler.pricing import FREE, bytes_of, cycles_of
from pvm.compiler.syntax import tree
from pvm.compiler.syntax.locations import flatten
from pvm.compiler.syntax.tree import Here
from pvm.compiler.syntax.visitor import Handled

ENTRY_DEPTH = "_e"
"""Local of a function that counts depth: the depth it found."""


_NOWHERE: Final[AbstractContextManager[None]] = nullcontext()


class Blocks(Expressions):
    """Writes blocks; subclasses know the kinds of statement."""

    def __init__(self, facts: Facts, own: Handled) -> None:
        super().__init__(facts, own)
        self._write_statements: Mapping[type[ast.AST], tree.StatementRewriting] = own  # type: ignore[assignment]
        self.used: set[str] = set()
        """Cells that the function being written assigns."""
        self.caught: list[str] = []
        """Variables of the handlers around, innermost last; "" without one."""
        self.unique = 0
        self.block_costs: BlockCosts | None = None
        """Where blocks are written down, if a tool asks."""

    def charge(self, price: int, body: Sequence[ast.stmt] = ()) -> list[ast.stmt]:
        """Pay for a block, of which `body` are the statements."""
        if price == FREE:
            return []
        if self.scope.is_hot:
            paid = self._charge_in_place(cycles_of(price), bytes_of(price))
        else:
            paid = self.here.do(self.here.call("_pay", *self.amounts(price)))
        return [paid, *self._written_down(price, body)]

    def _charge_in_place(self, cycles: int, bytes_: int) -> ast.stmt:
        tests: list[ast.expr] = []
        if cycles:
            self.used.add("_cycles")
            tests.append(self._below_zero("_cycles", cycles))
        if bytes_:
            self.used.add("_memory")
            tests.append(self._below_zero("_memory", bytes_))
        halt = self.here.do(self.here.call("_halt"))
        return self.here.when(self.here.disjunction(*tests), halt)

    def _below_zero(self, cell: str, amount: int) -> ast.Compare:
        here = self.here
        left = here.binary(here.load(cell), tree.SUBTRACT, here.constant(amount))
        return here.compare(here.bind(cell, left), tree.LESS, here.constant(0))

    def _written_down(self, price: int, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """What says that a block is paid, if a tool asks."""
        if self.block_costs is None:
            return []
        number = self.block_costs.add(self.pricing, body, price)
        return [self.here.do(self.here.call(PAID, self.here.constant(number)))]

    def block(self, body: Sequence[ast.stmt], more: int = FREE) -> list[ast.stmt]:
        """A block with its charge; never empty."""
        price = self.pricing.block(body) + more
        return self.charge(price, body) + self.statements(body) or [self.nothing()]

    def round(self, body: Sequence[ast.stmt], more: int) -> list[ast.stmt]:
        """The block that each round of a loop enters."""
        before = self.scope.enter_loop()
        result = self.block(body, more)
        self.scope.is_hot, self.scope.in_loop = before
        return result

    def statements(self, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        """Statements that their block has paid for."""
        found: list[ast.stmt] = []
        for statement in body:
            found += self.statement(statement)
        return found

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """One statement; what comes of it has its position."""
        self.scope.temporaries = 0
        write = self._write_statements[node.__class__]
        if node.end_lineno != node.lineno:
            flatten(node)
        before, self.here = self.here, Here(node.lineno, node.col_offset)
        if self.block_costs is None:
            written = write(self, node)
        else:
            with self.block_costs.at(node):
                written = write(self, node)
        self.here = before
        return written

    def place(self, node: ast.stmt) -> AbstractContextManager[None]:
        """Blocks that are written inside stand in `node`."""
        return _NOWHERE if self.block_costs is None else self.block_costs.at(node)

    def nothing(self) -> ast.Pass:
        """For a block without statements."""
        return self.here.put(ast.Pass())

    def fresh(self, prefix: str) -> str:
        """A name that lives longer than a statement."""
        self.unique += 1
        return f"{prefix}{self.unique}"

    def restored(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """After an exception, the depth of this function again.

        A lambda that raised has not given back what it took.
        """
        if not self.scope.has_depth:
            return body
        self.used.add("_depth")
        if self.scope.is_module:
            return [self.here.assign("_depth", self.here.load(ENTRY_DEPTH)), *body]
        taken = ast.Assign([self._one_deeper()], self.here.load(ENTRY_DEPTH))
        return [self.here.put(taken), *body]

    def enter(self, price: int, body: Sequence[ast.stmt] = ()) -> list[ast.stmt]:
        """Pay for a block that counts depth, and take one of it (`pvm.depth`)."""
        self.used.add("_depth")
        if not self.scope.is_hot:
            entered = self.here.assign(
                ENTRY_DEPTH, self.here.call("_enter", *self.amounts(price))
            )
            return [entered, *self._written_down(price, body)]
        targets = [self.here.store(ENTRY_DEPTH), self._one_deeper()]
        taken = self.here.put(ast.Assign(targets, self.here.load("_depth")))
        return [*self.charge(price, body), taken]

    def amounts(self, price: int) -> tuple[ast.Constant, ast.Constant]:
        """What a helper is told to charge."""
        constant = self.here.constant
        return constant(cycles_of(price)), constant(bytes_of(price))

    def _one_deeper(self) -> ast.List:
        """The target that takes the next link of the chain."""
        return self.here.put(ast.List([self.here.store("_depth")], tree.STORE))
