"""Probes: which statements of a source run, and one after which: for tools alone.

A source that is compiled with probes has the same prices and gives the same as without.
Before each statement stands a call that says its line, so that a tool knows the arcs
that a function took, as coverage.py calls a pair of lines that ran one after the other.
The calls are written by the lines of the source before anything is lowered: so what we
insert has no part in them, and they are the same on every interpreter.

In the tree a probe is a bare literal, which every later step passes over and which
costs nothing; `instrument` writes the call where others are dropped.
"""

import ast
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from pvm.compiler.syntax.tree import Here
from pvm.compiler.syntax.visitor import blocks_of

BEGIN = "_begin"
"""What a source compiled so calls when a function is entered, with its number: it gets
what takes the lines of this one call."""

MODULE = 0
"""Number of the module's body."""

_AT = "_at"
"""Local of a function: what takes its lines."""

_SILENT = (ast.Global, ast.Nonlocal)
"""Statements that do not run."""

_LOOPS = (ast.For, ast.While)


class SourceProbes(Struct):
    """The functions of a source that say where they are."""

    starts: list[int] = field(default_factory=list)
    """Line in which each begins, its decorators counted; by number."""


class _Entered(Struct, frozen=True):
    """A function begins."""

    number: int


class _Reached(Struct, frozen=True):
    """The statement of a line is next."""

    line: int


class _Tested(Struct, frozen=True):
    """An exception is held against the class of a handler."""

    line: int


def insert(tree: ast.Module, probes: SourceProbes) -> None:
    """Put probes into a tree that is the source's still, in place."""
    _probe_function(tree.body, 1, probes)


def write(here: Here, value: object) -> list[ast.stmt]:
    """The statement for a literal that stands alone, if it is a probe."""
    match value:
        case _Entered(number):
            return [here.assign(_AT, here.call(BEGIN, here.constant(number)))]
        case _Reached(line):
            return [here.do(here.call(_AT, here.constant(line)))]
        case _:
            return []


def write_tested(here: Here, node: ast.ExceptHandler, caught: ast.expr) -> ast.expr:
    """The classes that a handler catches, and that they are asked for now."""
    match node.body[0]:
        case ast.Expr(ast.Constant(value=found)):
            probe: object = found
        case _:
            return caught
    if not isinstance(probe, _Tested):
        return caught
    told = here.call(_AT, here.constant(probe.line))  # which is None
    return here.disjunction(told, caught)


def _probe_function(body: list[ast.stmt], start: int, probes: SourceProbes) -> None:
    entered = _literal(_Entered(len(probes.starts)), body[:1])
    probes.starts.append(start)
    body[:] = [*entered, *_probed(body, probes)]


def _probed(body: list[ast.stmt], probes: SourceProbes) -> Iterator[ast.stmt]:
    for node in body:
        if not isinstance(node, _SILENT):
            for line in _lines_of(node):
                yield from _literal(_Reached(line), [node])
        _probe_inside(node, probes)
        yield node


def _lines_of(node: ast.stmt) -> list[int]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [*(one.lineno for one in node.decorator_list), node.lineno]
    return [node.lineno]


def _probe_inside(node: ast.stmt, probes: SourceProbes) -> None:
    if isinstance(node, ast.FunctionDef):
        _probe_function(node.body, _lines_of(node)[0], probes)
        return
    for block in blocks_of(node):
        block[:] = _probed(block, probes)
    if isinstance(node, _LOOPS):  # it is where it began after each round
        for block in (node.body, node.orelse):
            block[:0] = _literal(_Reached(node.lineno), [node])
    for handler in getattr(node, "handlers", ()):
        handler.body[:0] = _literal(_Tested(handler.lineno), [handler])


def _literal(
    value: Struct, at: Sequence[ast.stmt | ast.ExceptHandler]
) -> list[ast.stmt]:
    """A statement with a place, if there is one to take."""
    return [
        ast.copy_location(
            ast.Expr(ast.copy_location(ast.Constant(value), node)),  # type: ignore[arg-type] # no literal of a source
            node,
        )
        for node in at
    ]
