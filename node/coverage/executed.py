"""What of which sources ran, in which contexts: as data that processes hand over.

A context is a name for a part of a run, as coverage.py has it: a test and its phase.
Sources are known by the hash of their code, since a chain knows no files.
"""

from typing import Annotated

from msgspec import Meta, Struct, ValidationError, field, json

from pvm import Arcs
from pvm.language import SOURCE_BYTES_MAX

__all__ = ["Executed", "ExecutedCode", "UnmatchedActor", "decode_executed"]

# A process that executes what somebody wrote answers in this form and in no other.
_Line = Annotated[int, Meta(ge=-SOURCE_BYTES_MAX, le=SOURCE_BYTES_MAX)]
_Arc = tuple[_Line, _Line]
_Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
_Address = Annotated[str, Meta(pattern="^0x[0-9a-f]{40}$")]


class ExecutedCode(Struct):
    """What of one source ran."""

    body: set[_Arc] = field(default_factory=set)
    """Of the module's body, which may have run before, and counts in every context."""
    contexts: dict[str, set[_Arc]] = field(default_factory=dict)
    """Of functions, by context."""


class UnmatchedActor(Struct, frozen=True):
    """An actor that executed, and whose source is in none of the files."""

    actor: _Address
    """The first of them, as `0x…`."""
    deployer: _Address


class Executed(Struct):
    """What ran; sources are named by the hash of their code, in hexadecimal."""

    codes: dict[_Hash, ExecutedCode] = field(default_factory=dict)
    unmatched: dict[_Hash, UnmatchedActor] = field(default_factory=dict)

    def note(self, code_hash: bytes, context: str, arcs: Arcs) -> None:
        """One more execution."""
        name = code_hash.hex()
        code = self.codes.get(name)
        if code is None:
            code = self.codes[name] = ExecutedCode()
        code.body |= arcs.body
        code.contexts.setdefault(context, set()).update(arcs.functions)

    def add(self, other: "Executed") -> None:
        """Have what another has, too."""
        for name, code in other.codes.items():
            own = self.codes.setdefault(name, ExecutedCode())
            own.body |= code.body
            for context, arcs in code.contexts.items():
                own.contexts.setdefault(context, set()).update(arcs)
        for name, actor in other.unmatched.items():
            self.unmatched.setdefault(name, actor)

    def encode(self) -> bytes:
        """As bytes, for another process."""
        return json.encode(self)


def decode_executed(data: bytes) -> Executed:
    """What `encode` gave.

    Raises:
        ValueError: it is something else.
    """
    try:
        return json.decode(data, type=Executed)
    except ValidationError as error:
        raise ValueError(str(error)) from error
