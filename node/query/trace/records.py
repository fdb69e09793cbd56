"""What a trace tells: a tree of calls, what each did, and what they changed together.

Rule: cycles and cells add up. What a receipt says is `entry` and its call; what a call
says is its own, those of the calls below it, and those that were cut.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from typing_extensions import override

from node.chain.block import ReadOnlyResult, Receipt, ReceiptKind
from node.chain.timers.timer import Timer
from node.primitives.hex_repr import show_struct
from node.primitives.types import Address, Hash32, Height
from pvm import Failure
from pvm.output import Printed

if TYPE_CHECKING:
    from pvm.tools.frames import LocalVariable

__all__ = [
    "NO_CHANGES",
    "BalanceChange",
    "BlockTrace",
    "CallRefused",
    "Changes",
    "CodeChange",
    "EventMade",
    "ExecutionTrace",
    "HistoryStop",
    "MessageQueued",
    "ReadTrace",
    "Step",
    "StorageChange",
    "StorageHistory",
    "StoragePast",
    "StorageWrite",
    "TimerReplaced",
    "TimerTouched",
    "TracedCall",
    "TracedFrame",
    "TransferMade",
    "UpgradeMade",
    "names_of",
    "with_names",
]


class StorageWrite(Struct, frozen=True, gc=False):
    """The actor set or removed a value of its state."""

    __repr__ = show_struct

    key: bytes
    """Raw key of the actor's state."""
    before: bytes | None
    """The raw value that it replaced, or None if there was none."""
    after: bytes | None
    """The raw value that was written, or None if the key was removed."""


class TransferMade(Struct, frozen=True, gc=False):
    """The actor moved base units out of its balance."""

    __repr__ = show_struct

    to: Address
    amount: int


class EventMade(Struct, frozen=True, gc=False):
    """The actor emitted an event (D17)."""

    topic: str
    data: bytes


class TimerTouched(Struct, frozen=True, gc=False):
    """The actor scheduled, extended, updated or cancelled a timer."""

    __repr__ = show_struct

    what: str
    """`scheduled`, `extended`, `updated` or `cancelled`."""
    timer_id: bytes
    height: int
    """The first height at which the timer is due."""
    expires_at: int
    """The last height at which it may fire, as this left it."""
    payload: bytes


class MessageQueued(Struct, frozen=True, gc=False):
    """The actor sent a message for the next block (D14)."""

    __repr__ = show_struct

    target: Address
    handler: str
    """Name of the handler, or "" for the default ones."""
    payload: bytes
    cycles: int
    """Budget of the message in cycles, taken from what the sender had left."""
    cells: int
    """Its budget in cells."""
    is_deferred: bool
    """Whether `create_deferred_tx` sent it: a call of the actor itself."""


class UpgradeMade(Struct, frozen=True, gc=False):
    """The actor gave itself new code, which it has once the execution stands (D58)."""

    __repr__ = show_struct

    code_hash: bytes


class CallRefused(Struct, frozen=True, gc=False):
    """A host call was refused; the actor may have caught that."""

    name: str
    """Name of the host call, such as `transfer`."""
    reason: str
    """`NAME: what was wrong`."""


class TracedFrame(Struct, frozen=True):
    """A function of an actor's through which a failure went."""

    actor: Address
    function: str
    """`name` or `Class.name`; `<module>` for the body of the module."""
    line: int
    """Line of the actor's source, from 1."""
    source: str
    """Text of that line, without the space around it."""
    variables: "tuple[LocalVariable, ...]"
    """What the function's variables held when the failure went through."""


class TracedCall(Struct, frozen=True):
    """One call of one handler, and all that it did, in order."""

    __repr__ = show_struct

    actor: Address
    """Address of the actor that was called."""
    handler: str
    """Name of the handler that ran; of a deployment the one that was asked for."""
    sender: Address
    """Address of the immediate caller (D13)."""
    value: int
    """Base units that moved to the actor with the call."""
    payload: bytes
    """Bytes that the handler got."""
    returned: bytes
    """Bytes that it returned; empty after a failure."""
    failure: Failure | None
    """Why it failed, or None for a success: a failure undid all its steps."""
    cycles: int
    """Cycles of the call with all calls below it."""
    cells: int
    """Cells of the call with all calls below it; none where an execution has no
    cells to pay (D34)."""
    own_cycles: int
    """Cycles of the call alone."""
    own_cells: int
    """Cells of the call alone."""
    steps: "tuple[Step, ...]" = ()
    """What it did, in order, the calls that it made among them."""
    frames: tuple[TracedFrame, ...] = ()
    """The actor's functions that a failure went through, outermost first."""
    cut: int = 0
    """Steps that were too many to keep, each call with all below it as one."""
    cut_cycles: int = 0
    """Cycles of the calls among them."""
    cut_cells: int = 0
    """Cells of the calls among them."""

    @property
    def calls(self) -> "tuple[TracedCall, ...]":
        """The calls that it made and that were kept, in order."""
        return tuple(step for step in self.steps if isinstance(step, TracedCall))

    def walk(self) -> "Iterator[tuple[int, TracedCall]]":
        """The call and all below it, each with its depth, a caller before its calls."""
        waiting = [(0, self)]
        while waiting:
            depth, call = waiting.pop()
            yield depth, call
            waiting += [(depth + 1, one) for one in reversed(call.calls)]


Step = (
    StorageWrite
    | TransferMade
    | EventMade
    | TimerTouched
    | MessageQueued
    | UpgradeMade
    | CallRefused
    | Printed
    | TracedCall
)
"""One thing that a call did."""


class StorageChange(Struct, frozen=True, gc=False):
    """A key of an actor's state with another value than before, or with none."""

    __repr__ = show_struct

    actor: Address
    key: bytes
    before: bytes | None
    after: bytes | None


class BalanceChange(Struct, frozen=True, gc=False):
    """A balance that changed, in base units, fees included."""

    __repr__ = show_struct

    address: Address
    before: int
    after: int


class TimerReplaced(Struct, frozen=True):
    """A timer that came, went, or has another record than before."""

    timer_id: bytes
    before: Timer | None
    after: Timer | None


class CodeChange(Struct, frozen=True, gc=False):
    """An actor's code hash; empty where there was no actor."""

    __repr__ = show_struct

    actor: Address
    before: bytes
    after: bytes


class Changes(Struct, frozen=True, dict=True):
    """What an execution or a block changed, net: what is as before is left out.

    Print it to read it.
    """

    storage: tuple[StorageChange, ...] = ()
    """By actor and key."""
    balances: tuple[BalanceChange, ...] = ()
    """By address. A fire's payer is shown from before the advance of its cost on."""
    timers: tuple[TimerReplaced, ...] = ()
    """In the order of their ids."""
    codes: tuple[CodeChange, ...] = ()
    """By actor."""
    cut: int = 0
    """Changes that were too many to keep."""

    @override
    def __str__(self) -> str:
        from node.query.trace.text import changes_text  # noqa: PLC0415 - its reader's

        return changes_text(self, names=names_of(self))


NO_CHANGES = Changes()


class ExecutionTrace(Struct, frozen=True, dict=True):
    """An execution that was executed again, watched; print it to read it."""

    height: Height
    """Height of its block; for a simulated transaction of the one it would be in."""
    receipt: Receipt
    """What the execution left, cycle by cycle as its block has it."""
    call: TracedCall | None
    """The call that it began with; None if no handler was reached."""
    changes: Changes = NO_CHANGES

    @property
    def entry_cycles(self) -> int:
        """Cycles outside of any call: the intrinsic cost, the entry of a fire."""
        return self.receipt.cycles_used - (self.call.cycles if self.call else 0)

    @property
    def entry_cells(self) -> int:
        """Cells outside of any call."""
        return self.receipt.cells_used - (self.call.cells if self.call else 0)

    @property
    def printed(self) -> tuple[Printed, ...]:
        """What it wrote, in the order in which it was written."""
        return () if self.call is None else tuple(_printed(self.call))

    @override
    def __str__(self) -> str:
        from node.query.trace.text import trace_text  # noqa: PLC0415 - its reader's

        return trace_text(self, names=names_of(self))


def _printed(call: TracedCall) -> Iterator[Printed]:
    for step in call.steps:
        if isinstance(step, Printed):
            yield step
        elif isinstance(step, TracedCall):
            yield from _printed(step)


class StoragePast(Struct, frozen=True):
    """A value of an actor's state that one execution changed, net."""

    __repr__ = show_struct

    height: Height
    key: bytes
    """Raw key of the actor's state."""
    before: bytes | None
    """The raw value that it had before, or None if there was none."""
    after: bytes | None
    kind: ReceiptKind
    """What was executed."""
    receipt_index: int
    """Of its receipt in the block."""
    id: bytes
    """Of the transaction or timer, or the message's msg_id."""
    origin: Hash32
    """Id of the transaction that caused it; 32 zero bytes for fires and their messages.
    """
    handler: str
    """What was called first; not always a handler of the actor."""


class HistoryStop(Enum):
    """Why a walk ended."""

    COMPLETE = "complete"
    """All of the range was told."""
    BOUND = "bound"
    """It told as many changes as were asked for, or executed 1,000 blocks."""
    NOT_KEPT = "not kept"
    """The states below are not kept."""


class StorageHistory(Struct, frozen=True):
    """Changes of an actor's storage, the latest first."""

    changes: tuple[StoragePast, ...]
    stop: HistoryStop
    """Why there are no more."""
    next_height: Height
    """All changes above it were told: the next question ends there."""


class BlockTrace(Struct, frozen=True):
    """All executions of a block, traced, and what the block changed in all."""

    height: Height
    executions: tuple[ExecutionTrace, ...]
    """By the index of their receipts."""
    changes: Changes


class ReadTrace(Struct, frozen=True, dict=True):
    """A read-only call that was watched; print it to read it."""

    result: ReadOnlyResult
    call: TracedCall

    @override
    def __str__(self) -> str:
        from node.query.trace.text import call_text  # noqa: PLC0415 - its reader's

        return call_text(self.call, names=names_of(self))


_NAMES = "names"
_Told = TypeVar("_Told", bound=Struct)


def with_names(told: _Told, names: Mapping[bytes, str]) -> _Told:
    """The same, which prints names instead of addresses.

    They stand beside the fields: what was done is equal whatever its actors are called.
    """
    vars(told)[_NAMES] = names
    changes = getattr(told, "changes", NO_CHANGES)
    if changes is not NO_CHANGES:
        vars(changes)[_NAMES] = names
    return told


def names_of(told: Struct) -> Mapping[bytes, str]:
    """What addresses are called where it is printed."""
    names: Mapping[bytes, str] = vars(told).get(_NAMES, {})
    return names
