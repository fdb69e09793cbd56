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
    """One place in a source that is not in the language."""

    line: int
    """Line of the source, from 1."""
    column: int
    """Column in this line: bytes of UTF-8 before it."""
    reason: str
    instead: str
    """What to write instead; may be empty."""
    end_line: int = 0
    """Line in which the place ends; 0 where it is not known."""
    end_column: int = 0
    """Column behind its last byte; 0 where it is not known."""

    @property
    def message(self) -> str:
        """Reason and advice."""
        return self.reason + (f"; instead: {self.instead}" if self.instead else "")

    @override
    def __str__(self) -> str:
        """Place, reason and advice in one line."""
        return f"line {self.line}, column {self.column}: {self.message}"

    def in_file(self, file: object) -> str:
        """The same as compilers print it, which terminals and editors follow."""
        return f"{file}:{self.line}:{self.column}: {self.message}"


class CompileError(Exception):
    """A source is refused; it carries every refusal that was found, in source order."""

    def __init__(self, refusals: tuple[Refusal, ...]) -> None:
        assert refusals, "a refusal must say what it refuses"
        super().__init__("\n".join(map(str, refusals)))
        self.refusals = refusals

    @property
    def line(self) -> int:
        """Line of the first refusal, from 1."""
        return self.refusals[0].line


class Halt(BaseException):
    """An execution ends and cannot go on: no code of the actor runs afterwards.

    sandbox.md §7 lists the halts.
    """


class HostMemoryExhausted(BaseException):
    """This machine had no memory left for what an actor's account had paid for.

    Neither a halt nor a refusal: another machine would go on, so whoever executes must
    not make a receipt of it, nor a block (sandbox-internals.md §6). It leaves
    `execute`, `compile_actor` and what calls them; no code of an actor's runs after it.
    """


class StackExhausted(HostMemoryExhausted):
    """The interpreter's stack ended before the limit of depth: a defect of `pvm`.

    Where it ends depends on the interpreter, so there is no outcome.
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
    """The execution has allocated more than its memory account (10 MiB) admits."""


class OutOfWrites(Halt):
    """The execution has changed more state keys than it may: 4,000 (D43)."""


class TooDeepRecursion(Halt):
    """More calls of actors' functions are inside one another than admitted: 256."""


class ReadOnlyViolation(Halt):
    """A read-only execution made a host call that changes something (D15)."""


class Reverted(Halt):
    """The actor called `revert`; only a caller by `call_actor` can catch it."""


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
    GbaRequired = 18
    UnsupportedTimerType = 19


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
    """A refused host call: charged, without effect; actors can catch it."""

    def __init__(self, code: HostErrorCode, message: str) -> None:
        super().__init__(f"{code.name}: {message}")
        self._code = code

    # Without a setter: what a receipt calls the refusal is not the actor's to say.
    @property
    def code(self) -> int:
        """The number of the refusal, one of `HostErrorCode`."""
        return int(self._code)

    @property
    def name(self) -> str:
        """The name of the refusal, such as `InvalidInput`."""
        return self._code.name


class RevertError(RuntimeError, metaclass=Sealed):
    """A callee of `call_actor` failed; its effects are undone; actors can catch it."""

    _frames: tuple[Frame, ...] = ()
    """Of the callee and of its own callees, outermost first, for whoever debugs."""


class JSONDecodeError(ValueError, metaclass=Sealed):
    """`json.loads` refuses a text; actors can catch it."""

    def __init__(self, message: str, doc: str) -> None:
        super().__init__(message)
        self._message = message
        self._doc = doc

    @property
    def msg(self) -> str:
        """Why it is refused, in words that are the same on every interpreter."""
        return self._message

    @property
    def doc(self) -> str:
        """The text that was refused."""
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
