"""What a node does that has no memory left.

Consensus must not know how much memory a machine has, so of an execution that found
none there is no receipt. In a block the node ends, with a line that says what it
executed, and begins again at the last height: a transaction is gone with the pool. A
fire or a message is in the state and comes again. So its node leaves a note in the
chain's folder; when the same happened at the same height before, the next start makes
no block by itself, and says what to do.

Rules: what is written here is for people and for the next start, and no part of the
chain. A read that finds no memory ends alone, with `NoMemory`.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from node.chain.block import ReceiptKind
from node.chain.messages import MemoryExhausted, forget_frames
from pvm import HostMemoryExhausted

__all__ = [
    "EXIT_MEMORY",
    "NO_MEMORY",
    "Exhausted",
    "NoMemory",
    "fail",
    "find_note",
    "for_a_block",
    "for_a_read",
    "leave_note",
]

EXIT_MEMORY: Final = 75
"""A temporary failure, by <sysexits.h>: it may go better next time."""

NO_MEMORY: Final = "this machine has no memory left for it"

NOTE_FILE: Final = "MEMORY"

_TIMES_MAX = 2
"""At one height: then a start makes no block by itself."""

_KINDS: Final = {
    ReceiptKind.TRANSACTION: "transaction",
    ReceiptKind.FIRE: "fire",
    ReceiptKind.ENGINE_MESSAGE: "message",
    ReceiptKind.MAILBOX_MESSAGE: "message",
    ReceiptKind.AGENT: "agent",
}

Result = TypeVar("Result")


class NoMemory(Exception):  # noqa: N818 - a refusal, named like the others
    """This machine has no memory left for a read."""


class Exhausted(Struct, frozen=True):
    """What a block had no memory for."""

    height: int
    """Of the block that was not made; 0 if it is not known."""
    kind: str
    """`transaction`, `fire`, `message`, `agent`, or `block`: it was no execution."""
    actor: str
    """Its address, as hex."""
    id: str
    """Of the transaction or timer, or the message's, as hex."""
    memory_max: int | None = None
    """Bytes that the process was given, if it was limited."""
    times: int = 1
    """At this height, one start after another."""

    @property
    def is_in_state(self) -> bool:
        """Whether a restart executes it again."""
        return self.kind != _KINDS[ReceiptKind.TRANSACTION]

    def told(self) -> str:
        """As a part of a sentence."""
        if not self.actor:
            return f"the block at height {self.height}"
        return f"{self.kind} {self.id} of actor {self.actor} at height {self.height}"

    def advice(self) -> str:
        """What whoever runs the node can do, when it came to it twice."""
        return (
            f"there was no memory for {self.told()}, {self.times} times: this node "
            "makes no block by itself. Start it with a larger --memory-max; or return "
            "to a snapshot (`cowboy-devnet snapshot revert`); or, at an earlier height,"
            " cancel the timer by governance"
        )


def _found(error: BaseException, height: int) -> Exhausted:
    if isinstance(error, MemoryExhausted):
        kind = _KINDS[error.kind]
        actor, id_ = f"0x{error.actor.hex()}", f"0x{error.id.hex()}"
        return Exhausted(error.height, kind, actor, id_)
    return Exhausted(height, "block", "", "")


def fail(found: Exhausted) -> NoReturn:
    """What an engine does that nobody told what to do: it ends with its task."""
    raise HostMemoryExhausted(found.told())


def for_a_block(
    build: Callable[[], Result],
    height: int,
    on_exhausted: Callable[[Exhausted], NoReturn],
) -> Result:
    """What `build` returns; `on_exhausted` is called once what it held is free.

    `height` is that of the block, for what is no execution.
    """
    try:
        return build()
    except (HostMemoryExhausted, MemoryError) as error:
        forget_frames(error)
        found = _found(error, height)
    return on_exhausted(found)


def for_a_read(read: Callable[[], Result]) -> Result:
    """What `read` returns.

    Raises:
        NoMemory: There was none left for it; what it held is free.
    """
    try:
        return read()
    except (HostMemoryExhausted, MemoryError) as error:
        forget_frames(error)
    raise NoMemory(NO_MEMORY)


# --- the note ------------------------------------------------------------------------


def leave_note(folder: Path, found: Exhausted) -> Exhausted:
    """Write down what happened, for the next start; with how often it did."""
    before = _read_note(folder)
    if before is not None and before.height == found.height:
        found = replace(found, times=before.times + 1)
    draft = folder / f"{NOTE_FILE}.draft"
    with suppress(OSError):  # a full disk: it only happens once more
        draft.write_bytes(msgspec.json.encode(found))
        draft.replace(folder / NOTE_FILE)
    return found


def find_note(folder: Path, head: int, memory_max: int | None) -> Exhausted | None:
    """Why the node must make no block by itself; None if it may.

    A note of a height that was passed is forgotten. A larger limit than the one that
    was too small is tried.
    """
    note = _read_note(folder)
    if note is not None and note.height <= head:
        with suppress(OSError):
            (folder / NOTE_FILE).unlink()
    if note is None or note.height != head + 1 or note.times < _TIMES_MAX:
        return None
    most = note.memory_max
    is_larger = most is not None and (memory_max is None or memory_max > most)
    return None if is_larger else note


def _read_note(folder: Path) -> Exhausted | None:
    """The note; None if there is none, or none of ours."""
    try:
        data = (folder / NOTE_FILE).read_bytes()
        return msgspec.json.decode(data, type=Exhausted)
    except (OSError, msgspec.MsgspecError):
        return None


def end_process() -> NoReturn:
    """End at once: nothing that is on disk is lost, and nothing else is to be kept."""
    os._exit(EXIT_MEMORY)
