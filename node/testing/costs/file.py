"""The file of costs: one line of text for each statement, so that it is read as a diff.

It is JSON, sorted by test and handler; statements are in the order of their source.
Nothing in it depends on a machine, an interpreter, or on how the tests were run.
"""

import json
from itertools import chain
from pathlib import Path

import msgspec
from msgspec import Struct, field

from node.chain.consensus import CONSENSUS_NUMBER

__all__ = [
    "CostsFile",
    "CostsFileRefused",
    "FiledHandler",
    "Tests",
    "read_costs",
    "row",
    "split_row",
    "write_costs",
]

VERSION = 1
"""Of the form of the file."""


class CostsFileRefused(Exception):  # noqa: N818 - of a file, not of a program
    """A file of costs cannot be read or written; the message is a sentence."""


class FiledHandler(Struct, forbid_unknown_fields=True):
    """What the executions of a handler cost in a test."""

    executions: int
    cycles: int
    cells: int
    statements: dict[str, list[str]] = field(default_factory=dict)
    """By source, in its order: cycles, cells, function and text of each statement."""


Tests = dict[str, dict[str, FiledHandler]]


class CostsFile(Struct, forbid_unknown_fields=True):
    """What tests cost: by test, and by source and handler."""

    version: int = VERSION
    consensus: int = CONSENSUS_NUMBER
    """Number of the rules under which it was counted: prices are part of them."""
    tests: Tests = field(default_factory=dict)


class _Versioned(Struct):
    version: int


def read_costs(path: Path) -> CostsFile:
    """Read a file of costs.

    Raises:
        CostsFileRefused: it cannot be read, is no such file, or has another version.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise CostsFileRefused(f"{path} is not there") from None
    except OSError as error:
        raise CostsFileRefused(f"{path} cannot be read: {error.strerror}") from error
    try:
        version = msgspec.json.decode(data, type=_Versioned).version
        if version != VERSION:
            raise CostsFileRefused(
                f"{path} is a file of costs of version {version}, and this "
                f"cowboy-devnet reads and writes version {VERSION}"
            )
        costs = msgspec.json.decode(data, type=CostsFile)
        for handlers in costs.tests.values():
            for handler in handlers.values():
                for text in chain.from_iterable(handler.statements.values()):
                    split_row(text)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise CostsFileRefused(f"{path} is no file of costs: {error}") from error
    return costs


def write_costs(path: Path, costs: CostsFile) -> None:
    """Write a file of costs in the place of the one that is there, or not at all.

    Raises:
        CostsFileRefused: it cannot be written.
    """
    document = msgspec.to_builtins(costs)
    document["tests"] = {
        test: dict(sorted(handlers.items()))
        for test, handlers in sorted(document["tests"].items())
    }
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise CostsFileRefused(f"{path} cannot be written: {error.strerror}") from error


def row(cycles: int, cells: int, text: str) -> str:
    """A statement as a text."""
    return f"{cycles} {cells} {text}"


def split_row(text: str) -> tuple[int, int, str]:
    """Cycles, cells, and function with text of a statement.

    Raises:
        ValueError: it is no such text.
    """
    cycles, cells, statement = text.split(" ", 2)
    return int(cycles), int(cells), statement
