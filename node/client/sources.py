"""Sources of actors as their authors know them: a text, the file it is in, and a name.

A chain knows the bytes alone. Who deploys a file is shown its name and lines in every
failure, in the form that terminals and editors make a link of.
"""

import re
from collections.abc import Mapping
from pathlib import PurePath

from msgspec import Struct

__all__ = ["ActorSource", "Sources"]

_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)


class ActorSource(Struct, frozen=True, gc=False):
    """A source, and the file that it was deployed from."""

    text: str
    file: str = ""
    """Absolute path; empty for a source that was given as a text."""

    @property
    def name(self) -> str:
        """What its author calls it: the file's stem, else a class; may be empty."""
        if self.file:
            return PurePath(self.file).stem
        classes: list[str] = _CLASS.findall(self.text)
        return classes[-1] if classes else ""


class Sources(Struct, frozen=True):
    """What is known of the actors that a failure went through."""

    known: Mapping[bytes, ActorSource]
    """By address; of the actor that failed by the empty one."""
    labels: Mapping[bytes, str]
    """By address."""

    def place(self, actor: bytes) -> str:
        """How a traceback names an actor's source; the empty address is the failed."""
        source = self.known.get(actor)
        if source is not None and source.file:
            return source.file
        if not actor:
            return "<actor>"
        return f"actor {self.labels.get(actor) or f'0x{actor.hex()}'}"

    def line(self, actor: bytes, number: int) -> str:
        """A line of an actor's source from 1, stripped; empty if it is not known."""
        source = self.known.get(actor)
        rows = [] if source is None else source.text.splitlines()
        return rows[number - 1].strip() if 1 <= number <= len(rows) else ""
