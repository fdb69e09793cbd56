"""Executing one message: a fresh namespace, one handler, a typed outcome.

Rules: every message runs in fresh globals and a fresh instance (D11); the meter
decides whether the execution halted, not what was raised or returned (sandbox.md §7);
nothing but a bug of ours leaves `execute` as an exception.
"""

import inspect
from types import FunctionType, MethodType

from pvm.builtins import PRICED
from pvm.cbor import UnencodableValue
from pvm.classes import name_of_class
from pvm.compiler import ActorCode
from pvm.errors import (
    Halt,
    OutOfCells,
    OutOfCycles,
    OutOfMemory,
    OutOfWrites,
    ReadOnlyViolation,
    TooDeepRecursion,
)
from pvm.exceptions import caught, line_of
from pvm.execution import ACTOR_MODULE, Execution
from pvm.guards import open_module
from pvm.host import Host
from pvm.meter import Meter
from pvm.storage import StorageView
from pvm.text import exception_text
from pvm.types import Entry, Failure, Message, Outcome
from pvm.values import encode_return

_CONSTRUCTORS = frozenset({"deploy", "init"})
_MESSAGE_LENGTH_MAX = 1_000
_PAYLOAD_ONLY = 1

_HALT_TEXTS = {
    OutOfCycles: "the cycle limit is used up",
    OutOfCells: "the cell limit is used up",
    OutOfMemory: "more memory than an execution may allocate",
    OutOfWrites: "more state keys changed than an execution may",
    TooDeepRecursion: "functions call each other too deep",
    ReadOnlyViolation: "a read-only execution changes nothing",
}


def execute(code: ActorCode, message: Message, host: Host, meter: Meter) -> Outcome:
    """Run the handler that `message` names, in a namespace of its own.

    In a deployment the module's body runs even if there is no handler, so that an
    actor whose body fails is not deployed. What was used is read from `meter`;
    undoing the effects of a failure is the caller's part.
    """
    handler = find_handler(code, message)
    if handler is None and message.entry is Entry.CALL:
        names = " or ".join(message.handlers)
        failure = Failure("HandlerNotFound", f"no handler {names}", names, None)
        return Outcome(b"", failure)
    vm = Execution(meter, host, message, PRICED)
    vm.handler = handler or ""
    failed: BaseException | None = None
    value = b""
    try:
        value = encode_return(_run(code, vm, handler), meter)
    except Halt as error:
        failed = error
    except Exception as error:  # noqa: BLE001 - whatever the actor raised
        failed = error
    failure_found = _failure(vm, failed)
    return Outcome(b"" if failure_found else value, failure_found)


def find_handler(code: ActorCode, message: Message) -> str | None:
    """The first of the message's handlers that the actor defines, else None.

    A function of the module goes before a method; `init` and `deploy` of a class are
    reached by the deployment only (host.md §1).
    """
    for name in message.handlers:
        if name in code.functions:
            return name
        if name in code.methods:
            is_call = message.entry is Entry.CALL
            if not (is_call and name in _CONSTRUCTORS):
                return name
    return None


def _run(code: ActorCode, vm: Execution, handler: str | None) -> object:
    names = vm.names
    names.update(code.natives)
    for name, helper in code.helpers:
        names[name] = MethodType(helper, vm)
    for name in code.implicit_modules:
        names[name] = open_module(vm, name)
    namespace: dict[str, object] = {"__builtins__": names, "__name__": ACTOR_MODULE}
    meter = vm.meter
    cells = (meter.cycles, meter.depth, meter.memory)
    FunctionType(code.module, namespace, closure=cells)()
    if handler is None:
        return None
    if handler in code.functions:
        return _call(vm, namespace[handler])
    assert code.actor_class is not None, "methods are of a class"
    return _call(vm, getattr(_instance(vm, namespace[code.actor_class]), handler))


def _instance(vm: Execution, class_: object) -> object:
    """A fresh instance, which has its state before `__init__` runs."""
    assert isinstance(class_, type)
    instance: object = object.__new__(class_)
    for name, value in (
        ("storage", StorageView(vm.host, vm.meter)),
        ("address", vm.message.actor),
        ("deployer", vm.message.deployer),
    ):
        object.__setattr__(instance, name, value)
    instance.__init__()  # type: ignore[misc] # the class's own, with no arguments
    return instance


def _call(vm: Execution, function: object) -> object:
    """Call a handler with what it takes: nothing, the payload, or context and payload.

    A parameter that has a default is not asked for, unless it is the first.
    """
    assert callable(function)
    bound = getattr(function, "__func__", function)
    own = 0 if bound is function else 1
    if not isinstance(bound, FunctionType):
        return function(vm.message.payload)
    positional = bound.__code__.co_argcount - own
    required = positional - len(bound.__defaults__ or ())
    if required > _PAYLOAD_ONLY:
        host_module = vm.modules.get("pvm_host") or open_module(vm, "pvm_host")
        context: object = host_module.context()  # type: ignore[attr-defined]
        return function(context, vm.message.payload)
    if positional > 0 or bound.__code__.co_flags & inspect.CO_VARARGS:
        return function(vm.message.payload)
    return function()


def _failure(vm: Execution, error: BaseException | None) -> Failure | None:
    """Why the execution failed; None if it did not. The meter goes first."""
    meter = vm.meter
    if isinstance(error, RecursionError | MemoryError):
        is_deep = isinstance(error, RecursionError)
        error = _halted(vm, TooDeepRecursion() if is_deep else OutOfMemory(), error)
    line = None if error is None else line_of(error)
    if error is None and meter.halted is None and meter.cycles.cell_contents >= 0:
        return None
    kind, text = "", ""
    if isinstance(error, Exception) and meter.cycles.cell_contents >= 0:
        try:
            kind, text = _describe(vm, error)
        except Halt:
            kind = ""
    if not kind:
        kind, text = _describe_halt(vm)
    text = _encodable(text[:_MESSAGE_LENGTH_MAX])
    return Failure(kind, text, vm.handler, line, _hint(kind, text))


def _encodable(text: str) -> str:
    """The text as every receipt can hold it: lone surrogates escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def _halted(vm: Execution, halt: Halt, cause: BaseException) -> Halt:
    """A halt in place of the interpreter's own limit (sandbox.md §5)."""
    halt.__traceback__ = cause.__traceback__
    try:
        vm.meter.halt(halt)
    except Halt as error:
        return error


def _describe(vm: Execution, error: Exception) -> tuple[str, str]:
    if isinstance(error, UnencodableValue):
        return "ReturnValue", str(error)
    kind = name_of_class(type(error))
    text = _safe_text(vm, error)
    return kind, "" if text == kind else text


def _safe_text(vm: Execution, error: Exception) -> str:
    """The text of an exception; that of the interpreter is not repeated."""
    try:
        return exception_text(vm, caught(vm, error))
    except Exception:  # noqa: BLE001 - an actor's `__str__` that fails
        return ""


def _describe_halt(vm: Execution) -> tuple[str, str]:
    halt = vm.meter.halted
    if halt is None:
        try:
            vm.meter.halt_by_counters()
        except Halt as error:
            halt = error
    assert halt is not None
    return type(halt).__name__, _HALT_TEXTS.get(type(halt)) or str(halt)


def _hint(kind: str, text: str) -> str:
    """What to try, for frequent first mistakes."""
    if kind == "OutOfCycles":
        return "give the call more cycles, or do less in one message"
    if kind == "ReturnValue":
        return "return None, bytes, str, int, bool, list or dict"
    if kind == "TypeError" and not text:
        return "check the number and the types of arguments"
    return ""
