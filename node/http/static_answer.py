"""An answer of the operators' port that is made of files, as values.

The port does not know whose files they are: who makes them is told a path, and says.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

__all__ = ["StaticAnswer", "StaticFiles"]


class StaticAnswer(Struct, frozen=True):
    """Status, headers and bytes; a HEAD gets no bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


StaticFiles: TypeAlias = Callable[[str, Mapping[str, str]], StaticAnswer | None]
"""The answer for a path and the request's headers; None: there is no such file."""
