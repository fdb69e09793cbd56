"""Workflow commands of GitHub Actions: lines of output that become annotations.

Rules: a command is one line, whatever its message and its properties hold. The escapes
are those that GitHub's own toolkit writes and its runner reads back.
"""

from pathlib import PurePath

from msgspec import Struct

__all__ = ["Annotation", "annotation"]

_IN_MESSAGES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTIES = _IN_MESSAGES | str.maketrans({":": "%3A", ",": "%2C"})


class Annotation(Struct, frozen=True):
    """Where an annotation stands, and its title. What is None or empty is left out."""

    file: PurePath
    """Path as the job's checkout knows it: relative to its root."""
    line: int | None = None
    """Line, from 1."""
    end_line: int | None = None
    """Last line."""
    column: int | None = None
    """Column, from 1; GitHub reads it where an annotation is of one line."""
    end_column: int | None = None
    """Column of the last character."""
    title: str = ""


def annotation(level: str, place: Annotation, message: str) -> str:
    """The line `::error file=…,line=…,title=…::message`, without its end.

    Args:
        level: `error`, `warning` or `notice`.
        place: what is annotated.
        message: any text; its lines are kept.
    """
    properties = {
        "file": place.file.as_posix(),
        "line": place.line,
        "endLine": place.end_line,
        "col": place.column,
        "endColumn": place.end_column,
        "title": place.title or None,
    }
    said = ",".join(
        f"{name}={str(value).translate(_IN_PROPERTIES)}"
        for name, value in properties.items()
        if value is not None
    )
    return f"::{level} {said}::{message.translate(_IN_MESSAGES)}"
