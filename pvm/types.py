"""Values that cross the border of the virtual machine.

Nothing here knows of blocks: what an actor may read of the chain arrives in a
`Message`, and what came of it leaves in an `Outcome`.
"""

from collections.abc import Callable
from enum import Enum
from typing import NewType

from msgspec import Struct

Address = NewType("Address", bytes)
"""20 bytes: an account, an actor or a system address (D5, D9)."""

Cycles = NewType("Cycles", int)
"""Units of compute (D4)."""

Cells = NewType("Cells", int)
"""Bytes of data (D4)."""

DEPTH_MAX = 256
"""Frames of actors' functions that call anything, inside one another."""


def zeros() -> bytes:
    """32 zero bytes."""
    return bytes(32)


class Entry(Enum):
    """How a message enters an actor; decides which handlers it may reach."""

    DEPLOYMENT = "deployment"
    """`deploy`, else `init`; an actor without either is fine."""
    CALL = "call"
    """A named handler, by transaction, message, fire or another actor."""
    UPGRADE = "upgrade"
    """`upgrade` of code that replaces other code; an actor without one is fine (D58).
    """


class Environment(Struct, frozen=True):
    """What is the same for every message of a block (D37, D39)."""

    chain_id: int
    """Id of the chain, 100 on a devnet."""
    height: int
    """Height of the block."""
    timestamp_ms: int
    """Timestamp of the block, in milliseconds of virtual time (D37)."""
    beacon: Callable[[], bytes]
    """Gives 32 bytes that depend on chain id and height only. It is a function because
    few executions ask for it."""


class FireContext(Struct, frozen=True):
    """What made a timer fire, and the name of this fire (D54)."""

    kind: str
    """`HEIGHT` or `STATE_WATCH`."""
    due_height: int | None
    """Height for which it was set; None of a watch."""
    hit_height: int | None
    """Height of the block that changed what a watch watches; None of a height."""
    matched_keys: tuple[tuple[Address, bytes], ...]
    """Keys that changed, each with its actor: the first four at most."""
    deliver_id: bytes
    """Name of this fire, 32 bytes, no other's."""
    deliver_seq: int
    """Number in the order of all fires of the chain, from 0."""
    fire_seq: int
    """How often the timer had fired before."""


class Message(Struct, frozen=True):
    """One call of one handler (D11, D13)."""

    environment: Environment
    entry: Entry
    actor: Address
    """Address of the actor that executes."""
    deployer: Address
    """Address that deployed this actor."""
    sender: Address
    """Address of the immediate caller: the signer, the calling or sending actor, or the
    actor itself."""
    handlers: tuple[str, ...]
    """The first of these that the actor defines is called."""
    payload: bytes
    """Bytes that the handler gets."""
    value: int = 0
    """Base units that move to the actor with this call; 0 except in transactions."""
    origin: bytes = bytes(32)
    """Id of the transaction that caused it; 32 zero bytes for fires and their messages.
    """
    msg_id: Callable[[], bytes] = zeros
    """Gives the id of the message, 32 bytes; a function because few executions ask."""
    nonce: int = 0
    """The signer's nonce in a transaction, else 0."""
    delivery: FireContext | None = None
    """Of the fire of a timer, where the rules name fires; of all else None."""
    is_structured: bool = False
    """Whether the payload is canonical CBOR of what the handler gets, and the answer is
    encoded likewise: for questions of the chain itself (D34)."""


class Limits(Struct, frozen=True):
    """Limits of one execution besides cycles and cells (sandbox.md §5)."""

    memory_bytes: int = 10 * 1024 * 1024
    """Bytes that may be allocated; they are charged and never given back."""
    depth: int = DEPTH_MAX
    """Most calls of actors' functions inside one another, over a whole chain of
    `call_actor`; at most `DEPTH_MAX`."""


class Frame(Struct, frozen=True):
    """One function of an actor's source through which a failure went."""

    function: str
    """`name` or `Class.name`; `<module>` for the body of the module."""
    line: int
    """Line of the actor's source from 1; 0 if none is to blame."""
    actor: bytes = b""
    """Address of a callee; empty for the actor of this execution."""


class Failure(Struct, frozen=True):
    """Why an execution failed; the same text on every interpreter."""

    kind: str
    """A halt, an exception of the language, `HandlerNotFound` or `ReturnValue` by its
    bare name; `HostError.NAME`; `actor.NAME` for a class of the actor's own."""
    message: str
    """What happened, in words that are the same on every interpreter."""
    handler: str
    """Name of the handler that was called."""
    line: int | None
    """Line of the actor's source from 1, or None if none is to blame."""
    hint: str = ""
    """Advice for frequent first mistakes; may be empty, and is never part of consensus.
    """
    stack: tuple[Frame, ...] = ()
    """The actor's own calls, outermost first; of a deep stack the innermost ones."""


class Outcome(Struct, frozen=True):
    """What an execution returned, or why it failed. What it used is in the meter."""

    value: bytes
    """Bytes that the handler returned; empty after a failure."""
    failure: Failure | None
    """Why the execution failed, or None for a success."""
    hint: str = ""
    """Advice to the author of a success; may be empty, and is never part of consensus.
    """

    @property
    def is_success(self) -> bool:
        """Whether the handler returned, and what it returned could be encoded."""
        return self.failure is None
