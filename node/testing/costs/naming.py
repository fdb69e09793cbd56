"""Which file each code is in, and how it is called in a file of costs.

A code is known by the path of its file below the folder of the run: that which it was
deployed from, else one with the same bytes. One that is in no file has the name of its
class; where a test executed several of one name, they are numbered as they ran.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from node.client.source_files import sources_below
from node.primitives.crypto import keccak256
from node.testing.costs.file import FiledHandler, row
from node.testing.costs.recording import (
    Recorded,
    RecordedCode,
    RecordedHandler,
    RecordedStatement,
    RecordedTest,
)
from pvm import NO_LINE

__all__ = ["NamedHandler", "named", "source_names", "with_files"]


class NamedHandler(Struct, frozen=True):
    """A handler of a test, with the names of its sources."""

    recorded: RecordedHandler
    statements: dict[str, tuple[str, list[RecordedStatement]]]
    """By source: the hash of its code, and its statements in their order."""

    def filed(self) -> FiledHandler:
        """As the file has it."""
        recorded = self.recorded
        rows = {
            source: [row(one.cycles, one.cells, one.text) for one in statements]
            for source, (_, statements) in self.statements.items()
        }
        return FiledHandler(recorded.executions, recorded.cycles, recorded.cells, rows)


def with_files(recorded: Recorded, root: Path) -> None:
    """Look below a folder for the files of codes that were deployed as texts."""
    codes = recorded.codes.items()
    wanted = {code_hash for code_hash, code in codes if not code.file}
    if not wanted:
        return
    for path, source in sources_below(root):
        code_hash = keccak256(source).hex()
        if code_hash in wanted:
            wanted.remove(code_hash)
            recorded.codes[code_hash].file = str(path)


def source_names(
    test: RecordedTest, codes: Mapping[str, RecordedCode], root: Path
) -> dict[str, str]:
    """What each code of a test is called, by its hash."""
    names: dict[str, str] = {}
    for code_hash in test.codes:
        base = _name(codes[code_hash], root)
        name, number = base, 1
        while name in names.values():
            number += 1
            name = f"{base} {number}"
        names[code_hash] = name
    return names


def _name(code: RecordedCode, root: Path) -> str:
    if not code.file:
        return code.name
    path = Path(code.file)
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    return path.name


def named(
    handlers: Iterable[RecordedHandler], names: Mapping[str, str]
) -> dict[str, NamedHandler]:
    """A test's handlers, by source and handler."""
    return {
        f"{names[handler.code]} {handler.handler}": NamedHandler(
            handler,
            {
                names[code]: (
                    code,
                    [by_line[line] for line in sorted(by_line, key=_last)],
                )
                for code, by_line in sorted(
                    handler.statements.items(), key=lambda item: names[item[0]]
                )
            },
        )
        for handler in handlers
    }


def _last(line: int) -> tuple[bool, int]:
    return line == NO_LINE, line
