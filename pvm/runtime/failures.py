"""Why an execution failed, in words that help (host-api.md §2).

Rules: the meter goes first, whatever was raised or returned; the same failure reads
the same on every interpreter, so nothing of the interpreter's own texts is shown; a
kind says who defined it, so that no class of an actor's passes for one of ours:

* a bare name is a halt, an exception of the language, or a refusal of the chain;
* `HostError.NAME` is a host call that was refused;
* `actor.NAME` is an exception class of the actor's source, `cowboy_sdk.NAME` one of
  that library's.

Kind is part of consensus. Message, place, call stack and hint are for people.
"""

from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Final

from pvm import language
from pvm.cbor import UnencodableValue
from pvm.errors import (
    CompileError,
    Halt,
    HostError,
    HostMemoryExhausted,
    OutOfCells,
    OutOfCycles,
    OutOfMemory,
    OutOfWrites,
    ReadOnlyViolation,
    StackExhausted,
    TooDeepRecursion,
    frames_of_callee,
)
from pvm.runtime.classes import name_of_class, origin_of
from pvm.runtime.exceptions import caught, line_of
from pvm.runtime.execution import VmExecution
from pvm.runtime.strings import exception_text
from pvm.runtime.wrong_arguments import wrong_arguments
from pvm.types import Failure, Frame

STACK_FRAMES_MAX: Final = 16
"""Frames of a failure's call stack: the innermost ones."""

MESSAGE_BYTES_MAX: Final = 1_000

FUNCTION_LENGTH_MAX: Final = 100
"""Of a frame's function: of a longer `outer.inner` its end."""

HANDLERS_LENGTH_MAX: Final = 300
"""Of the names that a hint lists."""

REFUSAL_LENGTH_MAX: Final = 200
"""Of each refusal of a source."""

FAILURE_BYTES_MAX: Final = 4_000
"""What history keeps of a failed execution, of texts and stack, all told. A transaction
pays 5,000 cycles at least, a fire or a message 1,000, a deployment 50,000: it may leave
as much for its refusals."""

_COMPREHENSIONS = frozenset({"<listcomp>", "<dictcomp>"})

_INSERTED = language.INSERTED_FUNCTIONS | {"<locals>"}
"""Parts of qualified names that no actor wrote."""

_HALT_TEXTS = {
    OutOfCycles: "the cycle limit is used up",
    OutOfCells: "the cell limit is used up",
    OutOfMemory: "more memory than an execution may allocate",
    OutOfWrites: "more state keys changed than an execution may",
    TooDeepRecursion: "functions call each other too deep",
    ReadOnlyViolation: "a read-only execution changes nothing",
}

_HINTS = {
    "OutOfCycles": "give the call more cycles, or do less in one message",
    "OutOfCells": "give the call more cells, or store, send and return less",
    "ReturnValue": "return None, bytes, str, int, bool, list or dict",
    "ReadOnlyViolation": "call it in a transaction: a query changes nothing",
    "KeyError": "x.get(key, default) reads what may be absent",
    "HostError.InsufficientBalance": "send the actor base units, as a call's value",
    "HostError.PermissionDenied": "@public or @callable_by say who may call a method",
    "HostError.PurityViolation": "@deferred lets a method send and schedule",
}


_MISMATCH = "a call with wrong arguments, or an operation on values of wrong types"
"""Of a `TypeError` that the interpreter raised."""


def failure_of(vm: VmExecution, error: BaseException | None) -> Failure | None:
    """Why the execution failed; None if it did not.

    Args:
        vm: the execution, over.
        error: what left the handler, if anything did.

    Raises:
        MemoryError: of this machine's; whatever it is told of has no receipt.
        HostMemoryExhausted: the execution met one before, or its stack ended.
    """
    meter = vm.meter
    if isinstance(error, MemoryError):
        raise error
    if isinstance(error, RecursionError):
        raise StackExhausted from None
    if isinstance(meter.halted, HostMemoryExhausted):
        raise meter.halted
    if error is None and meter.halted is None and meter.cycles.cell_contents >= 0:
        return None
    line = None if error is None else line_of(error)
    own = () if error is None else _stack_of(error.__traceback__)
    stack = (*own, *frames_of_callee(error))[-STACK_FRAMES_MAX:]
    kind, text = "", ""
    if isinstance(error, Exception) and meter.cycles.cell_contents >= 0:
        try:
            kind, text = _describe(vm, error)
        except Halt:
            kind = ""
    if not kind:
        kind, text = _describe_halt(vm)
    text = _encodable(text[:MESSAGE_BYTES_MAX])
    return Failure(kind, text, vm.context.handler, line, _hint(kind, text), stack)


def handler_not_found(names: Sequence[str], handlers: Sequence[str]) -> Failure:
    """The failure of a message that reaches no handler.

    Args:
        names: handlers that were asked for.
        handlers: those that the actor has for calls.
    """
    wanted = " or ".join(names)
    known = ", ".join(handlers)[:HANDLERS_LENGTH_MAX]
    hint = f"this actor has {known}" if known else "this actor has no handlers"
    if any(name.startswith("_") for name in names):
        hint = f"a name that begins with _ is the actor's own; {hint}"
    return Failure("HandlerNotFound", f"no handler {wanted}", wanted, None, hint)


def source_refused(error: CompileError) -> Failure:
    """The failure of a deployment whose source is not in the language."""
    lines = [str(one)[:REFUSAL_LENGTH_MAX] for one in error.refusals]
    return Failure("CompileError", "\n".join(lines), "", error.line)


def _stack_of(trace: TracebackType | None) -> tuple[Frame, ...]:
    """Functions of the actor's that the failure went through, outermost first.

    A comprehension is a frame on one interpreter and none on the other: it counts as
    the function that it stands in.
    """
    return tuple(frame for frame, _ in actor_frames(trace)[-STACK_FRAMES_MAX:])


def actor_frames(trace: TracebackType | None) -> list[tuple[Frame, FrameType]]:
    """Each of them with the interpreter's own, which has the function's variables."""
    frames: list[tuple[Frame, FrameType]] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if language.is_of_actor(code):
            name = _function_name(code.co_qualname)
            frame = trace.tb_frame
            if code.co_name in _COMPREHENSIONS and frames:
                outer, frame = frames.pop()
                name = outer.function
            frames.append((Frame(name, trace.tb_lineno), frame))
        trace = trace.tb_next
    return frames


def _function_name(qualified: str) -> str:
    """`Class.method` or `outer.inner`, as the actor wrote it."""
    nameless = _INSERTED | _COMPREHENSIONS
    own = (part for part in qualified.split(".") if part not in nameless)
    name = ".".join(map(language.public_name, own)) or "<module>"
    return name[-FUNCTION_LENGTH_MAX:]


def _describe(vm: VmExecution, error: Exception) -> tuple[str, str]:
    if isinstance(error, UnencodableValue):
        return "ReturnValue", str(error)
    trace = error.__traceback__
    said = error.args[0] if type(error) is TypeError and error.args else None
    text = _safe_text(vm, error)  # which pays, and takes both away
    if isinstance(error, HostError):
        return f"HostError.{error.name}", text.removeprefix(f"{error.name}: ")
    name = name_of_class(type(error))
    origin = origin_of(type(error))
    kind = f"{origin}.{name}" if origin else name
    if text == name:  # the interpreter's, whose words differ by its version
        text = _mismatch(said, trace) if kind == "TypeError" else ""
    return kind, text


def _mismatch(said: object, trace: TracebackType | None) -> str:
    function, wrong = wrong_arguments(said, trace)
    return f"{_function_name(function)}() {wrong}" if function else _MISMATCH


def _safe_text(vm: VmExecution, error: Exception) -> str:
    """The text of an exception; that of the interpreter is not repeated."""
    try:
        return exception_text(vm, caught(vm, error))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - an actor's `__str__` that fails
        return ""


def _describe_halt(vm: VmExecution) -> tuple[str, str]:
    halt = vm.meter.halted
    if halt is None:
        try:
            vm.meter.halt_by_counters()
        except Halt as error:
            halt = error
    assert isinstance(halt, Halt)
    return type(halt).__name__, _HALT_TEXTS.get(type(halt)) or str(halt)


def _encodable(text: str) -> str:
    """The text as every receipt can hold it: lone surrogates escaped, and cut."""
    encoded = text.encode("utf-8", "backslashreplace")[:MESSAGE_BYTES_MAX]
    return encoded.decode("utf-8", "ignore")


def _hint(kind: str, text: str) -> str:
    """What to try, for frequent first mistakes."""
    if kind.startswith("HostError.") and "bytes" in text and "not str" in text:
        return 'text.encode() makes bytes of a str; b"…" is a literal'
    if kind == "TypeError" and text == _MISMATCH:
        return (
            "check the number and the types of arguments; a payload is bytes, "
            "payload.decode() its text"
        )
    return _HINTS.get(kind, "")
