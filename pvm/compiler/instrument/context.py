"""What every rewriting shares: the scope being written, and values used twice."""

import ast
from collections.abc import Iterable, Mapping

from msgspec import Struct

from pvm import language
from pvm.compiler.facts import Facts
from pvm.compiler.pricing import Pricing
from pvm.compiler.syntax import tree
from pvm.compiler.syntax.tree import Here, is_atom
from pvm.compiler.syntax.visitor import Handled


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
    cells: frozenset[str] = frozenset()
    """Which of `_cycles`, `_depth`, `_memory` the code assigns."""

    def enter_loop(self) -> tuple[bool, bool]:
        """Write rounds of a loop; returns what was, of `is_hot` and `in_loop`."""
        before = self.is_hot, self.in_loop
        self.is_hot = self.in_loop = True
        return before


INLINE_MAX = 2_000
"""Guards of one module that stand in its code, some ten times what 360 ordinary lines
have: what comes after is left to helpers, which do the same for the same price
(sandbox-internals.md, rule 6) and are a fifth of the nodes to compile."""


TEMPORARIES_MAX = 64
"""Of one statement: each keeps its last value as long as the function's frame lives,
and a generator's may be kept."""


class Writer:
    """Rewrites the expressions of one module; subclasses know the kinds of node."""

    def __init__(self, facts: Facts, own: Handled) -> None:
        self.facts = facts
        self.pricing = Pricing(facts)
        self.scope = Scope()
        self.here = Here(1, 0)
        """Of the statement that is being written."""
        self.is_library = False
        self.guards = 0
        """Of the whole module."""
        self._writes: Mapping[type[ast.AST], tree.Rewriting] = own  # type: ignore[assignment]

    def rewrite(self, node: ast.expr) -> ast.expr:
        """The instrumented form of an expression that is read."""
        return self._writes[node.__class__](self, node)

    def rewrite_optional(self, node: ast.expr | None) -> ast.expr | None:
        """As `rewrite`; None stays None."""
        return None if node is None else self.rewrite(node)

    def rewrite_all(self, nodes: Iterable[ast.expr]) -> list[ast.expr]:
        """As `rewrite`, in order."""
        return [self.rewrite(node) for node in nodes]

    def rewrite_without_walrus(self, node: ast.expr) -> ast.expr:
        """As `rewrite`, where a walrus may not stand."""
        before, self.scope.allows_walrus = self.scope.allows_walrus, False
        result = self.rewrite(node)
        self.scope.allows_walrus = before
        return result

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

    def named(self, value: ast.expr) -> tuple[ast.expr, str]:
        """An expression that leaves its value in a variable, and that variable."""
        if isinstance(value, ast.Name):
            return value, value.id
        name = self.temporary()
        return self.here.bind(name, value), name

    def twice(self, node: ast.expr) -> tuple[ast.expr, ast.expr]:
        """An expression for the first use of a value and one for the next."""
        return self.held(self.rewrite(node))

    def held(self, value: ast.expr) -> tuple[ast.expr, ast.expr]:
        """As `twice`, of what is rewritten already."""
        if is_atom(value):
            return value, value
        name = self.temporary()
        return self.here.bind(name, value), self.here.load(name)

    def operands(
        self, left: ast.expr, right: ast.expr
    ) -> tuple[ast.expr, ast.expr, ast.expr, ast.expr]:
        """Both operands for a first use, and atoms for the next."""
        first, second = self.rewrite(left), self.rewrite(right)
        if is_atom(second) and is_atom(first):
            return first, second, first, second
        if not isinstance(first, ast.Constant):
            first = self.here.bind(self.temporary(), first)
        if not is_atom(second):
            second = self.here.bind(self.temporary(), second)
        return first, second, self._bound(first), self._bound(second)

    def _bound(self, node: ast.expr) -> ast.expr:
        """What reads again what `node`, an atom or a walrus, has left."""
        return (
            self.here.load(node.target.id) if isinstance(node, ast.NamedExpr) else node
        )

    def class_name(self, node: ast.expr) -> ast.Name | None:
        """A name bound to the native class or to a class of the module."""
        if not isinstance(node, ast.Name):
            return None
        if node.id in self.facts.classes:
            return self.here.load(node.id)
        known = language.CLASSES | language.CLASSES_NEVER | language.EXCEPTIONS
        if node.id in known and self.facts.is_universal(node.id):
            return self.here.load(f"_{node.id}")
        return None
