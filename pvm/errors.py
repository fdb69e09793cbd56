"""Kinds of failure that never mix.

* `CompileError`: a source that is not in the actor language. Refused input.
* `Halt`: an execution that ends whatever the actor does about it. Derives from
  `BaseException` so that no handler of the actor's catches it.
* `HostError`, `RevertError`: what a host call raises into the actor, catchable.
* `HostMemoryExhausted`: this machine gave up, so there is no result at all.
"""

from collections.abc import Callable
from enum import IntEnum
from functools import wraps
from typing import ParamSpec, TypeVar

from msgspec import Struct
from typing_extensions import override

from pvm.types import Failure, Frame

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Refusal(Struct, frozen=True):
    """One place in a source that the language does not admit."""

    line: int
    column: int
    reason: str
    instead: str
    """What to write instead; may be empty."""

    @override
    def __str__(self) -> str:
        """Place, reason and advice in one line."""
        advice = f"; instead: {self.instead}" if self.instead else ""
        return f"line {self.line}, column {self.column}: {self.reason}{advice}"


class CompileError(Exception):
    """A source is refused; carries every refusal found, in source order."""

    def __init__(self, refusals: tuple[Refusal, ...]) -> None:
        assert refusals, "a refusal must say what it refuses"
        super().__init__("\n".join(map(str, refusals)))
        self.refusals = refusals

    @property
    def line(self) -> int:
        """Line of the first refusal, from 1."""
        return self.refusals[0].line


class Halt(BaseException):
    """An execution is over; nothing of the actor's runs after it (sandbox.md §7)."""


class HostMemoryExhausted(BaseException):
    """This machine had no memory left for what an actor's account had paid for.

    Neither a halt nor a refusal: another machine would go on, so whoever executes must
    not make a receipt of it, nor a block (sandbox-internals.md §6). It leaves
    `execute`, `compile_actor` and what calls them; no code of an actor's runs after it.
    """


class StackExhausted(HostMemoryExhausted):
    """The interpreter's stack ended before our limit of depth: a defect of ours.

    Where it ends depends on the interpreter, so there is no outcome, either.
    """


def without_memory_errors(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """`function`, which raises `HostMemoryExhausted` in place of a `MemoryError`."""

    @wraps(function)
    def call(*arguments: _P.args, **named: _P.kwargs) -> _R:
        try:
            return function(*arguments, **named)
        except MemoryError:
            raise HostMemoryExhausted from None

    return call


class OutOfCycles(Halt):
    """The cycle limit is used up; all of it is charged (D16)."""


class OutOfCells(Halt):
    """The cell limit is used up; all of it is charged (D16)."""


class OutOfMemory(Halt):
    """The allocation account is empty."""


class OutOfWrites(Halt):
    """More state keys changed than one execution may (D43)."""


class TooDeepRecursion(Halt):
    """More actor frames than the depth limit."""


class ReadOnlyViolation(Halt):
    """A mutating host call in a read-only execution (D15)."""


class Reverted(Halt):
    """`revert(message)`: the actor gave up, catchable only through `call_actor`."""


class HostErrorCode(IntEnum):
    """Stable numbers of refused host calls (host-api.md §2)."""

    InvalidInput = 1
    NotFound = 2
    Forbidden = 3
    Unauthorized = 4
    TimerNotFound = 5
    TimerLimit = 6
    TimerRejectedBelowBasefee = 7
    TimerArgDeprecated = 8
    InsufficientBalance = 9
    MailboxFull = 10
    DeferredLaneFull = 11
    HandlerNotFound = 12
    TooDeep = 13
    PermissionDenied = 14
    PurityViolation = 15
    Reentrancy = 16
    StorageError = 17


class Sealed(type):
    """Metaclass of classes that actors reach: nothing can be assigned to them."""

    @override
    def __setattr__(cls, name: str, value: object) -> None:
        """Refuse: what is shared between executions is immutable."""
        raise AttributeError(name)

    @override
    def __delattr__(cls, name: str) -> None:
        """Refuse, likewise."""
        raise AttributeError(name)


class HostError(RuntimeError, metaclass=Sealed):
    """A host call was refused: charged, without effect, catchable by the actor."""

    def __init__(self, code: HostErrorCode, message: str) -> None:
        super().__init__(f"{code.name}: {message}")
        self._code = code

    # Without a setter: what a receipt calls the refusal is not the actor's to say.
    @property
    def code(self) -> int:
        """The number of the refusal."""
        return int(self._code)

    @property
    def name(self) -> str:
        """Its name."""
        return self._code.name


class RevertError(RuntimeError, metaclass=Sealed):
    """A callee of `call_actor` failed; its effects are undone, catchable."""

    _frames: tuple[Frame, ...] = ()
    """Of the callee and of its own callees, outermost first, for whoever debugs."""


class JSONDecodeError(ValueError, metaclass=Sealed):
    """A text that `json.loads` refuses, catchable by the actor."""

    def __init__(self, message: str, doc: str) -> None:
        super().__init__(message)
        self._message = message
        self._doc = doc

    @property
    def msg(self) -> str:
        """Why it is refused, in our words: CPython's differ between versions."""
        return self._message

    @property
    def doc(self) -> str:
        """The text."""
        return self._doc


def reverted(callee: bytes, failure: Failure) -> RevertError:
    """What a failed callee raises in its caller.

    Args:
        callee: its address, 20 bytes.
        failure: why it failed.
    """
    error = RevertError(f"{failure.kind}: {failure.message}")
    stack = failure.stack or (Frame(failure.handler, failure.line or 0),)
    error._frames = tuple(  # noqa: SLF001 - a name that no actor can say
        Frame(frame.function, frame.line, frame.actor or callee) for frame in stack
    )
    return error


def frames_of_callee(error: BaseException | None) -> tuple[Frame, ...]:
    """The calls inside of a failed callee that an exception tells of."""
    return error._frames if isinstance(error, RevertError) else ()  # noqa: SLF001
