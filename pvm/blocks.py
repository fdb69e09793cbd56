"""Blocks: each begins by paying for itself in full (sandbox.md, rule 1)."""

import ast
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from pvm import syntax
from pvm.expressions import Expressions
from pvm.facts import Facts
from pvm.ledger import PAID, Ledger
from pvm.pricing import FREE, bytes_of, cycles_of
from pvm.syntax import assign, call, constant, load, store
from pvm.walking import Handled

ENTRY_DEPTH = "_e"
"""Local of a function that counts depth: the depth it found."""


_NOWHERE: Final[AbstractContextManager[None]] = nullcontext()


class Blocks(Expressions):
    """Writes blocks; subclasses know the kinds of statement."""

    def __init__(self, facts: Facts, own: Handled) -> None:
        super().__init__(facts, own)
        self._write_statements: dict[type[ast.AST], syntax.StatementRewriting] = {
            kind: getattr(self, name) for kind, name in own
        }
        self.used: set[str] = set()
        """Cells that the function being written assigns."""
        self.caught: list[str] = []
        """Variables of the handlers around, innermost last; "" without one."""
        self.unique = 0
        self.ledger: Ledger | None = None
        """Where blocks are written down, if a tool asks."""

    def charge(self, price: int, body: Sequence[ast.stmt] = ()) -> list[ast.stmt]:
        """Pay for a block, of which `body` are the statements."""
        tests: list[ast.expr] = []
        cycles, bytes_ = cycles_of(price), bytes_of(price)
        if cycles:
            self.used.add("_cycles")
            tests.append(_below_zero("_cycles", cycles))
        if bytes_:
            self.used.add("_memory")
            tests.append(_below_zero("_memory", bytes_))
        if not tests:
            return []
        test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)
        paid: ast.stmt = ast.If(test, [ast.Expr(call("_halt"))], [])
        if self.ledger is None:
            return [paid]
        number = self.ledger.add(self.pricing, body, price)
        return [paid, ast.Expr(call(PAID, constant(number)))]

    def block(self, body: Sequence[ast.stmt], more: int = FREE) -> list[ast.stmt]:
        """A block with its charge; never empty."""
        price = self.pricing.block(body) + more
        return self.charge(price, body) + self.statements(body) or [ast.Pass()]

    def statements(self, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        """Statements that their block has paid for."""
        return [new for statement in body for new in self.statement(statement)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """One statement; what comes of it has its position."""
        self.scope.temporaries = 0
        write = self._write_statements[node.__class__]
        with self.place(node):
            written = write(node)
        for statement in written:
            if not hasattr(statement, "lineno"):
                statement.lineno, statement.col_offset = node.lineno, node.col_offset
        return written

    def place(self, node: ast.stmt) -> AbstractContextManager[None]:
        """What is written inside stands in `node`."""
        return _NOWHERE if self.ledger is None else self.ledger.at(node)

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
            return [assign("_depth", load(ENTRY_DEPTH)), *body]
        return [ast.Assign([one_deeper()], load(ENTRY_DEPTH)), *body]

    def enter(self, price: int, body: Sequence[ast.stmt] = ()) -> list[ast.stmt]:
        """Pay for a block that counts depth, and take one of it (`pvm.depth`)."""
        self.used.add("_depth")
        taken = ast.Assign([store(ENTRY_DEPTH), one_deeper()], load("_depth"))
        return [*self.charge(price, body), taken]


def one_deeper() -> ast.List:
    """The target that takes the next link of the chain."""
    return ast.List([store("_depth")], ast.Store())


def _below_zero(cell: str, amount: int) -> ast.Compare:
    paid = ast.BinOp(load(cell), ast.Sub(), constant(amount))
    return syntax.compare(syntax.bind(cell, paid), ast.Lt(), constant(0))
