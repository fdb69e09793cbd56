"""What actors print, kept within bounds (D59).

An execution and all the calls that it makes write into one `OutputLog`, each in its
turn. Output is no state, no event and in no root: it survives a failure, and who does
not read it pays nothing for it.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from pvm.types import Address

__all__ = ["LEVELS", "NO_PRINTOUT", "OutputLog", "Printed", "Printout"]

LINE_LENGTH_MAX: Final = 1_024
"""Characters that are kept of a line."""

OUTPUT_LENGTH_MAX: Final = 65_536
"""Characters that are kept of an execution with all the calls that it makes."""

LEVELS: Final = frozenset({"debug", "info", "warning", "error"})
"""What `pvm_host.log` takes; what `print` writes has none."""


class Printed(Struct, frozen=True, gc=False):
    """What one actor wrote at a time, before another did."""

    actor: Address
    """Address of the actor that wrote it."""
    level: str
    """One of `LEVELS`, or "" for what `print` wrote."""
    text: str
    """As it was written, with its ends of lines; of a longer one what is kept."""


class Printout(Struct, frozen=True):
    """All that one execution wrote, with the calls that it made (D59)."""

    printed: tuple[Printed, ...] = ()
    """In the order in which it was written."""
    cut: int = 0
    """Characters that were written and are not kept."""

    def __bool__(self) -> bool:
        """Whether anything was written."""
        return bool(self.printed or self.cut)

    @property
    def text(self) -> str:
        """What all of them wrote, as one text."""
        return "".join(one.text for one in self.printed)


NO_PRINTOUT: Final = Printout()


class OutputLog:
    """Keeps what an execution writes, up to the bounds of D59."""

    __slots__ = ("_column", "_cut", "_left", "_parts", "_written")

    def __init__(self) -> None:
        self._written: list[tuple[Address, str, list[str]]] = []
        """By actor and level, what each wrote before another did."""
        self._parts: list[str] = []
        """Of the last of them."""
        self._column = 0
        """Characters that the line has on which it goes on."""
        self._left = OUTPUT_LENGTH_MAX
        self._cut = 0

    def write(self, actor: Address, level: str, parts: Sequence[str]) -> str:
        """Keep a text, given in parts; returns as much of it as there was room for."""
        last = self._written[-1] if self._written else None
        going_on = self._parts, self._column
        if last is None or last[0] != actor or last[1] != level or level:
            self._parts, self._column = [], 0
            self._written.append((actor, level, self._parts))
        known = len(self._parts)
        if sum(map(len, parts)) <= OUTPUT_LENGTH_MAX:  # so joining takes little
            self._keep("".join(parts))
        else:
            for part in parts:
                self._keep(part)
        if not self._parts:
            self._written.pop()
            self._parts, self._column = going_on
            return ""
        return _encodable("".join(self._parts[known:]))

    def _keep(self, part: str) -> None:
        for start in range(0, len(part), OUTPUT_LENGTH_MAX):
            if not self._left:
                self._cut += len(part) - start
                return
            self._keep_piece(part[start : start + OUTPUT_LENGTH_MAX])

    def _keep_piece(self, piece: str) -> None:
        lines = piece.split("\n")
        room = max(0, LINE_LENGTH_MAX - self._column)
        self._column = len(lines[-1]) + (self._column if len(lines) == 1 else 0)
        lines[0] = lines[0][:room]
        kept = "\n".join([line[:LINE_LENGTH_MAX] for line in lines])[: self._left]
        self._left -= len(kept)
        self._cut += len(piece) - len(kept)
        if kept:
            self._parts.append(kept)

    def output(self) -> Printout:
        """What was kept until now; a lone surrogate is written as its escape."""
        if not (self._written or self._cut):
            return NO_PRINTOUT
        return Printout(
            tuple(
                Printed(actor, level, _encodable("".join(parts)))
                for actor, level, parts in self._written
            ),
            self._cut,
        )


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
