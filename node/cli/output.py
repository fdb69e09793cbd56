"""What a command prints: tables for people, JSON for programs.

Nothing is cut to the terminal's width: what does not fit is folded, and what goes into
a file is not. Addresses and ids are folded by no one: the terminal itself wraps a line
that they make too long, and what is copied from there is whole. All that is printed for
people goes through `foreign`: much of it is what actors said.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum

import click
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from node.client.labels import Labels
from node.primitives import codec
from node.primitives.amounts import format_amount
from node.primitives.hex_repr import foreign

__all__ = [
    "JsonForm",
    "Output",
    "amount",
    "bytes_text",
    "cbor_text",
    "hexadecimal",
    "returned_text",
]

_STDOUT, _STDERR = 1, 2

_FILE_WIDTH = 10_000
"""Columns of a table that goes into a file or a pipe."""

_WHOLE = re.compile(r"0x[0-9a-f]{40,64}")
"""Addresses and ids: whoever copies one out of a terminal wants it in one piece."""

_FOLDED_MIN = 12
"""Columns that are left at least to what may be folded, beside those."""

_SHOWN_MAX = 500
"""Characters of a value: of a longer one the beginning; --json has it whole."""


class JsonForm(Enum):
    """Which JSON is printed of the node's messages."""

    HUMAN = "human"
    """As people's programs want it (`human_json`)."""
    PROTO = "proto"
    """Protobuf's own form."""


class Output:
    """Prints for a person or for a program."""

    __slots__ = ("form", "labels")

    def __init__(
        self, form: JsonForm | None = None, labels: Labels | None = None
    ) -> None:
        self.form = form
        """None for tables."""
        self.labels = Labels() if labels is None else labels
        """What people are shown instead of addresses."""

    @property
    def is_json(self) -> bool:
        """Whether a program reads."""
        return self.form is not None

    def message(self, message: Message) -> None:
        """One line of JSON."""
        if self.form is JsonForm.PROTO:
            text = MessageToJson(
                message, indent=None, always_print_fields_with_no_presence=True
            )
        else:
            from node.cli.human_json import human_json  # noqa: PLC0415 - if wanted

            text = human_json(message)
        click.echo(text)

    def _named(self, text: str, *, is_multiline: bool = False) -> str:
        """Somebody else's text with the names of addresses."""
        return foreign(self.labels.replaced(text), is_multiline=is_multiline)

    def fields(self, title: str, fields: Mapping[str, str]) -> None:
        """Names and values, one a line."""
        self.table(title, (), list(fields.items()))

    def table(
        self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]
    ) -> None:
        """A table; without columns, its first is a heading of the line."""
        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = _FILE_WIDTH
        table = Table(box=None, show_header=bool(columns), pad_edge=False)
        # A row's cell is one line; a field's may be several, beside its name.
        shown = [
            [self._named(cell, is_multiline=not columns) for cell in row]
            for row in rows
        ]
        titles = columns or ("", "")
        needed = 0
        for name, cells in zip(titles, zip(*shown, strict=True), strict=False):
            whole = max((_whole_columns(cell) for cell in cells), default=0)
            longest = max(map(len, (name, *cells)))
            table.add_column(name, overflow="fold", min_width=whole or None)
            needed += 2 + (whole or min(longest, _FOLDED_MIN))
        if not shown:
            for name in titles:
                table.add_column(name)
        console.width = max(console.width, needed)
        for row in shown:
            table.add_row(*map(Text, row))
        with console.capture() as printed:
            if title:
                heading = self._named(title, is_multiline=True)
                console.print(Text(heading, style="bold"))
            console.print(table)
        for line in printed.get().splitlines():
            click.echo(line.rstrip())

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        """A bar on standard error, if that is a terminal; call it with what is done."""
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=self._is_quiet) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done: bar.update(task, completed=done)

    @property
    def _is_quiet(self) -> bool:
        return self.is_json or not os.isatty(_STDERR)

    def line(self, text: str) -> None:
        """A line, or a text of several, at once."""
        click.echo(self._named(text, is_multiline=True))

    def row(self, cells: Sequence[str]) -> None:
        """One line of a table that has no end, at once."""
        click.echo("  ".join(map(self._named, cells)))

    def source(self, text: str) -> None:
        """A source as it is, unless it goes to a terminal."""
        if os.isatty(_STDOUT):
            click.echo(foreign(text, is_multiline=True))
        else:
            click.echo(text.encode())  # of a text click would take escapes out

    def aside(self, text: str) -> None:
        """Lines on standard error, beside an answer that others may read."""
        click.echo(foreign(text, is_multiline=True), err=True)

    def error(self, text: str) -> None:
        """One sentence on standard error."""
        click.echo(f"cowboy-devnet: {self._named(text, is_multiline=True)}", err=True)


def _whole_columns(cell: str) -> int:
    """Columns of the longest part of a cell that is not folded."""
    return max(map(len, _WHOLE.findall(cell)), default=0)


def amount(text: str) -> str:
    """Base units of a message, as CBY and base units."""
    return format_amount(int(text or "0"))


def hexadecimal(data: bytes) -> str:
    """`0x…`."""
    return f"0x{data.hex()}"


def bytes_text(data: bytes) -> str:
    """Bytes as text if they are printable, else as hex."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if not data:
        return "(empty)"
    shown = text if text.isprintable() and text else hexadecimal(data)
    return _shortened(shown, len(data))


def cbor_text(data: bytes) -> str:
    """Canonical CBOR in words: what `self.storage` and events of the system hold."""
    try:
        value = codec.decode(data)
    except codec.MalformedCbor:
        return bytes_text(data)
    return _shortened(_words(value), len(data))


def returned_text(data: bytes) -> str:
    """What a handler returned: text as it is, other values from canonical CBOR.

    A text and some other value may have the same bytes; then it is shown as text.
    """
    try:
        is_text = data.decode().isprintable()
    except UnicodeDecodeError:
        is_text = False
    return bytes_text(data) if is_text else cbor_text(data)


def _words(value: object) -> str:
    match value:
        case bytes():
            return hexadecimal(value) if value else "(empty)"
        case dict():
            parts = [f"{_words(name)}: {_words(item)}" for name, item in value.items()]
            return f"{{{', '.join(parts)}}}"
        case list():
            return f"[{', '.join(_words(item) for item in value)}]"
        case str():
            return value
        case _:
            return json.dumps(value)


def _shortened(text: str, byte_count: int) -> str:
    if len(text) <= _SHOWN_MAX:
        return text
    return f"{text[:_SHOWN_MAX]}… ({byte_count} bytes)"
