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


class Environment(Struct, frozen=True):
    """What is the same for every message of a block (D37, D39)."""

    chain_id: int
    height: int
    timestamp_ms: int
    beacon: Callable[[], bytes]
    """32 bytes, a function of chain id and height: never of a block's hash. Made for
    who asks: few do."""


class Message(Struct, frozen=True):
    """One call of one handler (D11, D13)."""

    environment: Environment
    entry: Entry
    actor: Address
    """The executing actor."""
    deployer: Address
    sender: Address
    """The immediate caller: signer, calling actor, sending actor, or itself."""
    handlers: tuple[str, ...]
    """The first of these that the actor defines is called."""
    payload: bytes
    value: int = 0
    """Base units that moved to the actor with this call; 0 but in transactions."""
    origin: bytes = bytes(32)
    """Id of the causing transaction, 32 zero bytes for fires and their messages."""
    msg_id: Callable[[], bytes] = zeros
    """32 bytes, made for who asks."""
    nonce: int = 0
    """The signer's nonce in a transaction, else 0."""
    is_structured: bool = False
    """Whether the payload is the canonical CBOR of what the handler gets, and the
    answer is encoded so whatever its type: questions of the chain's own (D34)."""


class Limits(Struct, frozen=True):
    """What bounds one execution beside cycles and cells (sandbox.md §5)."""

    memory_bytes: int = 10 * 1024 * 1024
    """The allocation account: charged, never given back."""
    depth: int = DEPTH_MAX
    """Frames of actor functions that call anything, over a whole chain of calls; at
    most `DEPTH_MAX`."""


class Frame(Struct, frozen=True):
    """One function of an actor's source that a failure went through."""

    function: str
    """`name` or `Class.name`; `<module>` for the module's body."""
    line: int
    """1-based line of the actor's source; 0 where none is to blame."""
    actor: bytes = b""
    """The address of a callee; empty for the actor that the execution is of."""


class Failure(Struct, frozen=True):
    """Why an execution failed; the same text on every interpreter."""

    kind: str
    """A halt, an exception of the language, `HandlerNotFound` or `ReturnValue` by its
    bare name; `HostError.NAME`; `actor.NAME` for a class of the actor's own."""
    message: str
    handler: str
    line: int | None
    """1-based line of the actor's source, where one is to blame."""
    hint: str = ""
    """What to try, for frequent first mistakes; never part of consensus."""
    stack: tuple[Frame, ...] = ()
    """The actor's own calls, outermost first, the innermost ones of a deep one."""


class Outcome(Struct, frozen=True):
    """What an execution returned. Use is read from the meter, not from here."""

    value: bytes
    failure: Failure | None
    hint: str = ""
    """What its author may want to know of a success; never part of consensus."""

    @property
    def is_success(self) -> bool:
        """True if the handler returned and what it returned could be encoded."""
        return self.failure is None
