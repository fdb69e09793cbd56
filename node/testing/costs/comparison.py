"""What became dearer since a file of costs was written, and in which statement.

Statements are matched by their function and text, in their order, so that those that
only moved are the same; of a statement that was rewritten the new one is compared with
what stood in its place.

Rule: a handler of a test is dearer if its cycles or its cells rose by more than the
tolerance; its statements are looked at only then.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from fractions import Fraction
from itertools import chain, zip_longest
from operator import attrgetter

from msgspec import Struct, field

from node.query.costs.profiles import ENTRY_NAME
from node.testing.costs.file import FiledHandler, Tests, split_row
from node.testing.costs.naming import NamedHandler
from node.testing.costs.recording import RecordedStatement
from pvm import NO_COST, NO_LINE, Cost

__all__ = ["Comparison", "Dearer", "DearerStatement", "compare"]


class DearerStatement(Struct, frozen=True):
    """A statement that costs more than before in one handler of one test."""

    code: str
    """Hash of the code that it is in, in hexadecimal."""
    line: int
    """Its first line now; `NO_LINE` for what belongs to none."""
    text: str
    """Its function and its text."""
    before: Cost
    now: Cost

    @property
    def rise(self) -> Cost:
        """By how much; the greater, the dearer it became."""
        return Cost(
            self.now.cycles - self.before.cycles, self.now.cells - self.before.cells
        )


class Dearer(Struct, frozen=True):
    """A handler of a test that costs more than the tolerance lets pass."""

    test: str
    handler: str
    """Its source and its name."""
    before: FiledHandler
    now: FiledHandler
    statements: tuple[DearerStatement, ...]
    """The dearest rise first."""


class Comparison(Struct):
    """A run beside a file of costs, each list by test and handler."""

    dearer: list[Dearer] = field(default_factory=list)
    cheaper: list[tuple[str, str]] = field(default_factory=list)
    """Tests with handlers that cost less of something, and more of nothing."""
    new: list[tuple[str, str]] = field(default_factory=list)
    """Those that the file does not have."""
    gone: list[tuple[str, str]] = field(default_factory=list)
    """Those that the file has and the run does not."""


def compare(
    before: Tests, now: Mapping[str, Mapping[str, NamedHandler]], tolerance: Fraction
) -> Comparison:
    """Compare tests that ran with what a file says; `tolerance` is a percent."""
    comparison = Comparison()
    for test, handlers in sorted(now.items()):
        known = before.get(test, {})
        gone = sorted(known.keys() - handlers.keys())
        comparison.gone += [(test, handler) for handler in gone]
        for name, handler in sorted(handlers.items()):
            old, new = known.get(name), handler.filed()
            if old is None:
                comparison.new.append((test, name))
            elif _rose(old, new, tolerance):
                rises = tuple(_dearer_statements(old, handler))
                comparison.dearer.append(Dearer(test, name, old, new, rises))
            elif _fell(old, new):
                comparison.cheaper.append((test, name))
    return comparison


def _rose(old: FiledHandler, new: FiledHandler, tolerance: Fraction) -> bool:
    pairs = (old.cycles, new.cycles), (old.cells, new.cells)
    return any(100 * now > (100 + tolerance) * before for before, now in pairs)


def _fell(old: FiledHandler, new: FiledHandler) -> bool:
    """Whether it costs less of something, and more of nothing."""
    before, now = (old.cycles, old.cells), (new.cycles, new.cells)
    return now != before and all(n <= b for b, n in zip(before, now, strict=True))


def _dearer_statements(
    old: FiledHandler, handler: NamedHandler
) -> Iterator[DearerStatement]:
    """Statements that cost more, the dearest first, then what is paid before."""
    dearer: list[DearerStatement] = []
    for source, (code, statements) in handler.statements.items():
        rows = [split_row(text) for text in old.statements.get(source, [])]
        for before, now in _pairs(rows, statements):
            if now.cycles > before.cycles or now.cells > before.cells:
                cost = Cost(now.cycles, now.cells)
                dearer.append(DearerStatement(code, now.line, now.text, before, cost))
    yield from sorted(dearer, key=attrgetter("rise"), reverse=True)
    entry = _before(old), _before(handler.filed())
    if entry[1].cycles > entry[0].cycles or entry[1].cells > entry[0].cells:
        yield DearerStatement(handler.recorded.code, NO_LINE, ENTRY_NAME, *entry)


def _pairs(
    old: Sequence[tuple[int, int, str]], new: Sequence[RecordedStatement]
) -> Iterator[tuple[Cost, RecordedStatement]]:
    """Each statement with what it cost before, or what stood in its place."""
    texts = [text for _, _, text in old], [statement.text for statement in new]
    matcher = SequenceMatcher(None, *texts, autojunk=False)
    opcodes = matcher.get_opcodes()
    moved = {
        text: Cost(cycles, cells)
        for kind, start, end, _, _ in opcodes
        for cycles, cells, text in old[start:end]
        if kind != "equal"
    }
    for kind, old_start, old_end, new_start, new_end in opcodes:
        gone = [Cost(cycles, cells) for cycles, cells, _ in old[old_start:old_end]]
        for place, now in zip_longest(gone, new[new_start:new_end]):
            if now is not None:
                known = None if kind == "equal" else moved.get(now.text)
                yield known or place or NO_COST, now


def _before(handler: FiledHandler) -> Cost:
    """What was paid before an actor ran: the rest."""
    texts = chain.from_iterable(handler.statements.values())
    rows = [split_row(text) for text in texts]
    return Cost(
        handler.cycles - sum(cycles for cycles, _, _ in rows),
        handler.cells - sum(cells for _, cells, _ in rows),
    )
