"""Executing one message: a namespace, a fresh instance, one handler, a typed outcome.

Rules: every message runs in globals that no other has touched (`namespaces`) and in a
fresh instance (D11); the meter decides whether the execution halted, not what was
raised or returned (sandbox-internals.md §7); nothing but a bug of ours, and the
machine's memory running out, leaves `execute` as an exception.
"""

import inspect
from _thread import get_ident
from collections.abc import Callable
from types import FunctionType, TracebackType

from pvm.actor_code import ActorCode
from pvm.alarm import NOW
from pvm.cbor import decode
from pvm.driver.execution_pool import give_back, sweep, take
from pvm.driver.library_loader import module
from pvm.errors import Halt, HostMemoryExhausted
from pvm.host import Host
from pvm.meter import Meter
from pvm.runtime import namespaces
from pvm.runtime.exceptions import refused
from pvm.runtime.execution import Namespace, VmExecution
from pvm.runtime.failures import failure_of, handler_not_found
from pvm.runtime.values import encode_return, to_cbor
from pvm.types import Entry, Message, Outcome

_CONSTRUCTORS = frozenset({"deploy", "init", "upgrade"})
_PAYLOAD_ONLY = 1

OnFailure = Callable[[TracebackType | None], None]
"""Gets the way that a failure took, while its frames are there; None if it has none."""


def execute(
    code: ActorCode,
    message: Message,
    host: Host,
    meter: Meter,
    own: VmExecution | None = None,
    on_failure: OnFailure | None = None,
) -> Outcome:
    """Run the handler that `message` names, in a namespace of its own.

    In a deployment or an upgrade the module's body runs even if there is no handler, so
    that code whose body fails never becomes an actor's. What was used is read from
    `meter`; undoing the effects of a failure is the caller's part. A tool may give a
    `VmExecution` of its own, which stays its own, and may look at the frames of a
    failure before they are forgotten.

    Raises:
        HostMemoryExhausted: this machine has no memory left; there is no outcome.
    """
    handler = find_handler(code, message.handlers, message.entry)
    if handler is None and message.entry is Entry.CALL:
        known = [name for name in code.handlers if is_reached_by_call(code, name)]
        return Outcome(b"", handler_not_found(message.handlers, known))
    try:
        vm = own or take()
        memory = meter.memory.cell_contents
        vm.begin(meter, host, message, handler or "")
        before = NOW.thread, NOW.message
        NOW.thread, NOW.message = 0 if own else get_ident(), message
        try:
            outcome = _outcome(code, vm, handler, on_failure)
        finally:
            NOW.thread, NOW.message = before
            vm.end()
        if own is None:
            give_back(vm)  # not after an exception: nobody knows what is whole
        if meter.is_outermost:
            sweep(memory - meter.memory.cell_contents)
    except MemoryError:
        raise HostMemoryExhausted from None
    return outcome


def find_handler(
    code: ActorCode, handlers: tuple[str, ...], entry: Entry = Entry.CALL
) -> str | None:
    """The first of a message's handlers that the actor defines, else None.

    A function of the module goes before a method; what a deployment or an upgrade calls
    is not reached by everybody (host-api.md §1).
    """
    for name in handlers:
        if (name in code.functions or name in code.methods) and (
            entry is not Entry.CALL or is_reached_by_call(code, name)
        ):
            return name
    return None


def is_reached_by_call(code: ActorCode, handler: str) -> bool:
    """Whether one of an actor's handlers serves others than deployment and upgrade.

    `deploy` and `init` do as functions of the module, and all three as public methods.
    """
    if handler in code.functions:
        return handler != "upgrade"
    return handler not in _CONSTRUCTORS or handler in code.constructors


def _outcome(
    code: ActorCode,
    vm: VmExecution,
    handler: str | None,
    on_failure: OnFailure | None,
) -> Outcome:
    failed: BaseException | None = None
    value = b""
    encode = to_cbor if vm.context.message.is_structured else encode_return
    try:
        value = encode(_run(code, vm, handler), vm.meter)
    except Halt as error:
        failed = error
    except Exception as error:  # noqa: BLE001 - whatever the actor raised
        failed = error
    trace = None if on_failure is None or failed is None else failed.__traceback__
    failure = failure_of(vm, failed)
    if failure is not None:
        if on_failure is not None:
            on_failure(trace)
            trace = None  # or it would hold this frame, and this frame it
        _forget(vm.meter.halted)
        _forget(failed)
        return Outcome(b"", failure)
    is_new = vm.context.message.entry is not Entry.CALL
    return Outcome(value, None, code.hint if is_new else "")


def _forget(error: BaseException | None) -> None:
    """Let go of the frames that an exception went through, and all that they hold."""
    if error is not None:
        error.__traceback__ = None
        error.__context__ = None


def _run(code: ActorCode, vm: VmExecution, handler: str | None) -> object:
    namespace = namespaces.enter(vm, code)
    names = namespace.names
    if code.actor_class is None:
        return None if handler is None else _call(vm, names[handler])
    class_ = names[code.actor_class]
    assert isinstance(class_, type)
    _give_state(vm, namespace, class_)
    if handler is None:
        return None
    if handler in code.functions:
        return _call(vm, names[handler])
    return _call(vm, getattr(class_(), handler))


def _give_state(vm: VmExecution, namespace: Namespace, class_: type) -> None:
    """Let every instance have its state before `__init__` runs, whoever makes it.

    The view is that of all executions of `vm`, so a class that is kept has it already.
    """
    message = vm.context.message
    owner = message.actor, message.deployer
    if namespace.owner == owner:
        return
    state = {"storage": vm.view, "address": owner[0], "deployer": owner[1]}
    if namespace.owner is None:
        namespace.given = [name for name in state if name not in vars(class_)]
    for name in namespace.given:
        type.__setattr__(class_, name, state[name])
    namespace.owner = owner


def _call(vm: VmExecution, function: object) -> object:
    """Call a handler with what it takes: nothing, the payload, or context and payload.

    A parameter that has a default is not asked for, unless it is the first.
    """
    if not callable(function):  # a later statement gave its name to something else
        raise refused(TypeError("the handler is no function any more"))
    message = vm.context.message
    payload = decode(message.payload) if message.is_structured else message.payload
    bound = getattr(function, "__func__", function)
    own = 0 if bound is function else 1
    if not isinstance(bound, FunctionType):
        return function(payload)
    positional = bound.__code__.co_argcount - own
    required = positional - len(bound.__defaults__ or ())
    if required > _PAYLOAD_ONLY:
        host_module = module(vm, "pvm_host")
        context: object = host_module.context()  # type: ignore[attr-defined]
        return function(context, payload)
    if positional > 0 or bound.__code__.co_flags & inspect.CO_VARARGS:
        return function(payload)
    return function()
