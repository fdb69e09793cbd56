"""Charts for a terminal: a row for each bucket or timer, with a bar beside its numbers.

The bars take what the text leaves of the terminal's width; in a file or a pipe, where
nothing has a colour, the chart has a width of its own. What a bar shows stands beside
it as a number. All text goes through `foreign`: names of actors are others' words.
"""

from collections.abc import Sequence

import click
from msgspec import Struct
from rich.console import Console
from rich.text import Text

from node.cli.output import Output
from node.primitives.hex_repr import foreign

__all__ = ["Bar", "Row", "print_chart", "short"]

PLAIN_COLUMNS = 100
"""Of a chart that no terminal shows."""

BAR_COLUMNS_MIN, BAR_COLUMNS_MAX = 8, 60
_GAP = "  "
_EIGHTHS = " ▏▎▍▌▋▊▉"
_WHOLE = "█"
_SHORT_DIGITS = 8


class Bar(Struct, frozen=True):
    """Parts of a bar, one after the other."""

    parts: tuple[tuple[float, str], ...]
    """Of the bar's whole length, from 0 to 1, each with a style of rich; "" is a gap.
    """

    def text(self, columns: int) -> Text:
        """The bar, padded to so many columns."""
        drawn, end, place = Text(), 0.0, 0
        for at, (part, style) in enumerate(self.parts, 1):
            end = min(1.0, end + part)
            # Of the last part alone the end may lie within a column.
            is_last = at == len(self.parts)
            stop = round(8 * columns * end) if is_last else 8 * round(columns * end)
            eighths, place = max(0, stop - place), stop
            if not style:
                drawn.append(" " * (eighths // 8))
                continue
            if part > 0:
                eighths = max(1 if is_last else 8, eighths)  # little is not nothing
            drawn.append(_WHOLE * (eighths // 8) + _EIGHTHS[eighths % 8].strip(), style)
        drawn.truncate(columns, pad=True)
        return drawn


Row = Sequence[str | Bar] | str
"""Cells; or a text, which is a line across the chart."""


def short(data: bytes) -> str:
    """An address or id by its first digits: a chart has no room for all."""
    return f"0x{data.hex()[:_SHORT_DIGITS]}…"


def print_chart(
    output: Output,
    title: str,
    columns: Sequence[str],
    rows: Sequence[Row],
    *,
    names: int = 1,
) -> None:
    """Print rows of equal cells: so many names on the left, then numbers and bars."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PLAIN_COLUMNS
    shown = [_shown(output, row) for row in rows]
    cells = [row for row in shown if not isinstance(row, str)] or [columns]
    bars = {at for row in cells for at, cell in enumerate(row) if isinstance(cell, Bar)}
    widths = [
        max([len(name), *[len(cell) for cell in column if isinstance(cell, str)]])
        for name, column in zip(columns, zip(*cells, strict=True), strict=True)
    ]
    text = sum(width for at, width in enumerate(widths) if at not in bars)
    room = console.width - text - len(_GAP) * (len(columns) - 1)
    for at in bars:
        wide = min(BAR_COLUMNS_MAX, room // len(bars))
        widths[at] = max(BAR_COLUMNS_MIN, widths[at], wide)
    console.width = max(console.width, sum(widths) + len(_GAP) * len(columns))
    with console.capture() as printed:
        console.print(Text(foreign(title, is_multiline=True), style="bold"))
        console.print(_line(columns, widths, {*range(names), *bars}, "bold"))
        for row in shown:
            if isinstance(row, str):
                console.print(Text(f"── {row} ".ljust(sum(widths), "─"), style="dim"))
            else:
                console.print(_line(row, widths, {*range(names), *bars}))
    for line in printed.get().splitlines():
        click.echo(line.rstrip())


def _shown(output: Output, row: Row) -> Row:
    """With the names of addresses, and nothing that a terminal would obey."""
    if isinstance(row, str):
        return foreign(row)
    return [
        cell if isinstance(cell, Bar) else foreign(output.labels.replaced(cell))
        for cell in row
    ]


def _line(
    row: Sequence[str | Bar], widths: Sequence[int], left: set[int], style: str = ""
) -> Text:
    parts = []
    for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
        if isinstance(cell, Bar):
            parts.append(cell.text(width))
        else:
            padded = cell.ljust(width) if at in left else cell.rjust(width)
            parts.append(Text(padded, style))
    return Text(_GAP).join(parts)
