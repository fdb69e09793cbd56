"""What the functions that rewrite a module share: tables, scope, place, counters.

A function of the tables takes the context and a node of its kind. It changes that node
or makes another, and has the nodes below it written by the context, which looks them up
in the tables again: so no module of this package knows all others.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from msgspec import Struct

from pvm.compiler.block_costs import BlockCosts
from pvm.compiler.facts import Facts
from pvm.compiler.pricing import Pricing
from pvm.compiler.syntax import tree
from pvm.compiler.syntax.locations import flatten
from pvm.compiler.syntax.tree import Here, is_atom

Expressions = Mapping[type[ast.AST], Callable[..., ast.expr]]  # type: ignore[explicit-any] # of the kind
"""Kind of an expression → what writes it where it is read."""

Statements = Mapping[type[ast.AST], Callable[..., list[ast.stmt]]]  # type: ignore[explicit-any]
"""Kind of a statement → what writes it after its block has paid for it."""

INLINE_MAX = 2_000
"""Guards of one module that stand in its code, some ten times what 360 ordinary lines
have: what comes after is left to helpers, which do the same for the same price
(sandbox-internals.md, rule 6) and are a fifth of the nodes to compile."""


TEMPORARIES_MAX = 64
"""Of one statement: each keeps its last value as long as the function's frame lives,
and a generator's may be kept."""


_NOWHERE: Final[AbstractContextManager[None]] = nullcontext()


class Scope(Struct):
    """The function, lambda, class or module whose code is being written."""

    allows_walrus: bool = True
    """False in class bodies, defaults and the sources of comprehensions."""
    is_hot: bool = True
    """False where code runs at most once for each call from outside of the module."""
    in_loop: bool = False
    """In the rounds of a loop or of a comprehension."""
    has_depth: bool = False
    is_module: bool = False
    prefix: str = tree.TEMPORARY
    temporaries: int = 0
    subject: str | None = None
    """First parameter of the function."""
    counters: frozenset[str] = frozenset()
    """Its variables that are ints of less than 256 bits whatever it does."""

    def enter_loop(self) -> tuple[bool, bool]:
        """Write rounds of a loop; returns what was, of `is_hot` and `in_loop`."""
        before = self.is_hot, self.in_loop
        self.is_hot = self.in_loop = True
        return before


class InstrumentContext:
    """One module being rewritten."""

    def __init__(
        self,
        facts: Facts,
        expressions: Expressions,
        statements: Statements,
        block_costs: BlockCosts | None,
        *,
        is_library: bool,
    ) -> None:
        self.facts = facts
        self.pricing = Pricing(facts)
        self.block_costs = block_costs
        """Where blocks are written down, if a tool asks."""
        self.is_library = is_library
        self.scope = Scope()
        self.here = Here(1, 0)
        """Of the statement that is being written."""
        self.guards = 0
        """Of the whole module."""
        self.used: set[str] = set()
        """Cells that the function being written assigns."""
        self.caught: list[str] = []
        """Variables of the handlers around, innermost last; "" without one."""
        self._expressions = expressions
        self._statements = statements
        self._unique = 0

    def write(self, node: ast.expr) -> ast.expr:
        """The instrumented form of an expression that is read."""
        return self._expressions[node.__class__](self, node)

    def write_optional(self, node: ast.expr | None) -> ast.expr | None:
        """As `write`; None stays None."""
        return None if node is None else self.write(node)

    def write_all(self, nodes: Iterable[ast.expr]) -> list[ast.expr]:
        """As `write`, in order."""
        return [self.write(node) for node in nodes]

    def write_without_walrus(self, node: ast.expr) -> ast.expr:
        """As `write`, where a walrus may not stand."""
        before, self.scope.allows_walrus = self.scope.allows_walrus, False
        result = self.write(node)
        self.scope.allows_walrus = before
        return result

    def write_statements(self, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        """Statements that their block has paid for."""
        found: list[ast.stmt] = []
        for statement in body:
            found += self.write_statement(statement)
        return found

    def write_statement(self, node: ast.stmt) -> list[ast.stmt]:
        """One statement; what comes of it has its position."""
        self.scope.temporaries = 0
        write = self._statements[node.__class__]
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

    def inlines(self, value: ast.expr | None = None) -> bool:
        """Whether one more guard is written where its operands stand.

        Of a single value that is an atom also where a walrus may not stand. What runs
        once takes longer to compile than a helper to call.
        """
        if not self.scope.is_hot:
            return False
        self.guards += 1
        if self.guards > INLINE_MAX or self.scope.temporaries > TEMPORARIES_MAX:
            return False
        return self.scope.allows_walrus or (value is not None and is_atom(value))

    def is_called(self, name: str) -> bool:
        """Whether a function may run more often than the module is called."""
        return self.is_library or name.startswith("__") or name in self.facts.read

    def temporary(self) -> str:
        """A fresh name, free again in the next statement."""
        self.scope.temporaries += 1
        return f"{self.scope.prefix}{self.scope.temporaries}"

    def fresh(self, prefix: str) -> str:
        """A name that lives longer than a statement."""
        self._unique += 1
        return f"{prefix}{self._unique}"
