"""What became dearer, for people: in a terminal, and on GitHub's pages.

GitHub reads commands in the output of a step and shows each at its line; a table goes
into the file that it names for the step.
"""

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from operator import attrgetter
from pathlib import Path, PurePath

from msgspec import Struct

from node.primitives.github_commands import Annotation, annotation
from node.query.explain.numbers import counted
from node.testing.costs.comparison import Comparison, Dearer, DearerStatement
from node.testing.costs.file import FiledHandler
from node.testing.costs.recording import RecordedCode
from pvm import NO_LINE, Cost

__all__ = ["DearerLine", "annotations", "dearer_lines", "summary_table", "told"]

LINES_SHOWN = 20
"""Lines, and handlers, that a terminal shows."""

ANNOTATIONS_MAX = 10
"""GitHub shows no more warnings of one step."""

ROWS_MAX = 200
"""Of the table: a step's summary has at most 1 MiB."""


class DearerLine(Struct):
    """A line that costs more than before, in however many tests."""

    file: str
    """Path of its source, or its name if it is in no file."""
    line: int
    text: str
    rises: list[tuple[Dearer, DearerStatement]]
    """Where; the dearest rise first."""

    @property
    def worst(self) -> DearerStatement:
        """Where its cost rose most."""
        return self.rises[0][1]

    @property
    def place(self) -> str:
        """As terminals and editors make a link of it."""
        return self.file if self.line == NO_LINE else f"{self.file}:{self.line}"


def dearer_lines(
    dearer: Iterable[Dearer], codes: Mapping[str, RecordedCode], folder: Path
) -> list[DearerLine]:
    """The lines of all handlers, each once, the dearest rise first."""
    lines: dict[tuple[str, int, str], DearerLine] = {}
    for handler in dearer:
        for statement in handler.statements:
            code = codes[statement.code]
            file = _relative(code.file, folder) if code.file else code.name
            key = file, statement.line, statement.text
            line = lines.setdefault(key, DearerLine(*key, []))
            line.rises.append((handler, statement))
    for line in lines.values():
        line.rises.sort(key=lambda item: item[1].rise, reverse=True)
    return sorted(lines.values(), key=attrgetter("worst.rise"), reverse=True)


def _relative(file: str, folder: Path) -> str:
    path = Path(file)
    inside = path.is_relative_to(folder)
    return path.relative_to(folder).as_posix() if inside else str(path)


def _change(before: Cost, now: Cost) -> str:
    """Cycles, and cells where they changed."""
    parts = []
    if now.cycles != before.cycles:
        parts.append(f"{before.cycles:,} → {now.cycles:,} cycles")
    if now.cells != before.cells:
        parts.append(f"{before.cells:,} → {now.cells:,} cells")
    return ", ".join(parts)


def _where(line: DearerLine) -> str:
    tests = list(dict.fromkeys(handler.test for handler, _ in line.rises))
    more = f" and {counted(len(tests) - 1, 'more test')}" if len(tests) > 1 else ""
    return f"{tests[0]}{more}"


# --- for a terminal ------------------------------------------------------------------


def told(
    lines: list[DearerLine], comparison: Comparison, tolerance: str
) -> Iterator[str]:
    """Lines that became dearer, then the handlers that they are of."""
    dearer = comparison.dearer
    yield f"dearer by more than {tolerance} %: {counted(len(dearer), 'handler')}"
    for line in lines[:LINES_SHOWN]:
        yield f"{line.place}: {_change(line.worst.before, line.worst.now)}"
        yield f"    {line.text}"
        yield f"    in {_where(line)}"
    if len(lines) > LINES_SHOWN:
        yield f"and {counted(len(lines) - LINES_SHOWN, 'more line')}"
    for handler in dearer[:LINES_SHOWN]:
        change = _change(_cost(handler.before), _cost(handler.now))
        yield f"{handler.test}: {handler.handler}: {change}{_executions(handler)}"
    if len(dearer) > LINES_SHOWN:
        yield f"and {counted(len(dearer) - LINES_SHOWN, 'more handler')}"


def _cost(handler: FiledHandler) -> Cost:
    return Cost(handler.cycles, handler.cells)


def _executions(handler: Dearer) -> str:
    before, now = handler.before.executions, handler.now.executions
    return "" if before == now else f", in {before:,} → {now:,} executions"


# --- for GitHub ----------------------------------------------------------------------


def annotations(lines: list[DearerLine]) -> Iterator[str]:
    """Commands that GitHub shows as warnings at their lines."""
    for line in lines[:ANNOTATIONS_MAX]:
        place = Annotation(
            PurePath(line.file), line.line or None, title="An actor became dearer"
        )
        change = _change(line.worst.before, line.worst.now)
        yield annotation("warning", place, f"{line.text}\n{change} in {_where(line)}")


_COLUMNS = (
    "test", "handler", "cycles before", "cycles now", "cells before", "cells now",
)  # fmt: skip


def summary_table(dearer: list[Dearer]) -> str:
    """A heading and a table in HTML, as GitHub's toolkit writes them."""
    rows: list[tuple[str, ...]] = [_COLUMNS]
    for handler in dearer[:ROWS_MAX]:
        before, now = handler.before, handler.now
        numbers = before.cycles, now.cycles, before.cells, now.cells
        texts = (f"{number:,}" for number in numbers)
        rows.append((handler.test, handler.handler, *texts))
    cells = [
        "".join(f"<{kind}>{escape(text)}</{kind}>" for text in row)
        for kind, row in zip(["th"] + ["td"] * len(rows), rows, strict=False)
    ]
    table = "".join(f"<tr>{row_cells}</tr>" for row_cells in cells)
    more = len(dearer) - ROWS_MAX
    rest = f"<p>and {counted(more, 'more handler')}</p>\n" if more > 0 else ""
    return f"<h2>Dearer actors</h2>\n<table>{table}</table>\n{rest}"
