"""Exceptions as an actor meets them: the same texts on every interpreter.

What an actor raised itself is marked by `said` and keeps its arguments; so is what
our helpers refuse. Everything else comes from the interpreter, whose texts change
between releases: `caught` takes them away at the door, leaving a `KeyError` its key
and a `StopIteration` its value (sandbox-internals.md §6).
"""

import sys
from types import MethodType, TracebackType

from pvm import costs, language
from pvm.errors import (
    HostError,
    HostMemoryExhausted,
    RevertError,
    StackExhausted,
)
from pvm.runtime.classes import class_value
from pvm.runtime.execution import VmExecution

_MARK = "_pvm_mark"
_LINE = "_pvm_line"
_SAID = 1
_STRIPPED = 2


def refused(error: Exception) -> Exception:
    """An exception whose text is ours and may be read."""
    setattr(error, _MARK, _SAID)
    _keep_nameless(error)
    return error


def _keep_nameless(error: Exception) -> None:
    """Have the interpreter leave an `AttributeError` alone that a property raised.

    It would write the property's name and object into one that has neither, but only
    where it has not specialised the access: after some calls, and not on 3.11.
    """
    if isinstance(error, AttributeError):
        _OBJ.__set__(error, None)


_OBJ = vars(AttributeError)["obj"]
"""The slot itself: an actor's class may define something of that name."""


def arguments_of(error: BaseException) -> tuple[object, ...]:
    """What an exception was made with, whatever its class defines as `args`."""
    found: tuple[object, ...] = _ARGUMENTS.__get__(error)
    return found


_ARGUMENTS = vars(BaseException)["args"]


def is_stripped(error: BaseException) -> bool:
    """Whether the interpreter's text was taken away."""
    return getattr(error, _MARK, 0) == _STRIPPED


def is_ours(error: BaseException) -> bool:
    """Whether the text is the actor's or ours."""
    marked = getattr(error, _MARK, 0) == _SAID
    return marked or isinstance(error, HostError | RevertError)


def said(vm: VmExecution, error: object, _cause: object = None) -> Exception:
    """What `raise error` raises: marked as the actor's, without a history."""
    vm.charge(costs.RAISED)
    if isinstance(error, MethodType) or (
        isinstance(error, type) and issubclass(error, Exception)
    ):
        vm.allocate(costs.EXCEPTION_BYTES)
        error = error()
    if not isinstance(error, Exception):
        raise refused(TypeError("exceptions must derive from Exception"))
    _forget(error)
    if not is_stripped(error):
        setattr(error, _MARK, _SAID)
    setattr(error, _LINE, None)
    _keep_nameless(error)
    return error


def made(vm: VmExecution, error: Exception, cause: object = None) -> Exception:
    """What `raise Error(…)` raises, of an exception that is paid when it is raised."""
    vm.allocate(costs.EXCEPTION_BYTES)
    return said(vm, error, cause)


def failed(vm: VmExecution, *message: object) -> Exception:
    """What `assert` raises."""
    return made(vm, AssertionError(*message))


def caught(
    vm: VmExecution, error: Exception, mismatch: int = costs.CAUGHT_MISMATCH
) -> Exception:
    """What a handler gets to see; remembers the line of the failure.

    A call that did not fit its function takes the interpreter `mismatch` cycles.
    """
    vm.charge(costs.CAUGHT)
    line = line_of(error)
    if isinstance(error, UnboundLocalError):
        error = NameError()  # 3.12 raises the subclass in comprehensions
    if not is_ours(error) and not is_stripped(error):
        vm.allocate(costs.EXCEPTION_BYTES)  # nobody has paid for it yet
        if type(error) is TypeError:
            vm.charge(mismatch)
        _strip(error)
    _forget(error)
    setattr(error, _LINE, line)
    return error


def again(vm: VmExecution, error: Exception) -> Exception:
    """What a bare `raise` raises: the same failure, of the same line."""
    vm.charge(costs.RAISED)
    _forget(error)
    return error


def fatal(vm: VmExecution) -> None:
    """The interpreter gave up before our limits did: nothing runs after it.

    How deep it goes and how much memory the machine has must not decide, here or in an
    actor that this one called (sandbox-internals.md §5).
    """
    if isinstance(sys.exception(), RecursionError | StackExhausted):
        vm.halt(StackExhausted())
    vm.halt(HostMemoryExhausted())


def line_of(error: BaseException) -> int | None:
    """Line of the actor's innermost frame that the failure came from."""
    line: int | None = getattr(error, _LINE, None)
    if line is not None:
        return line
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if language.is_of_actor(trace.tb_frame.f_code):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _forget(error: Exception) -> None:
    """Drop traceback, cause and context: they grow, and hold frames alive."""
    error.__traceback__ = None
    error.__cause__ = None
    error.__context__ = None


def _strip(error: Exception) -> None:
    if isinstance(error, KeyError | StopIteration):
        _ARGUMENTS.__set__(error, arguments_of(error)[:1])
    else:
        _ARGUMENTS.__set__(error, ())
    for name in ("name", "obj"):
        if isinstance(error, NameError | AttributeError | ImportError) and hasattr(
            error, name
        ):
            setattr(error, name, None)
    if isinstance(error, UnicodeDecodeError):
        error.reason = ""
    setattr(error, _MARK, _STRIPPED)


def enter_context(_vm: VmExecution, manager: object) -> object:
    """Call `__enter__` of an actor's object."""
    method = getattr(manager, "__enter__", None)
    if method is None or not hasattr(manager, "__exit__"):
        raise refused(TypeError("the object has no __enter__ and __exit__"))
    return method()


def exit_context(vm: VmExecution, manager: object, error: Exception | None) -> object:
    """Call `__exit__`; there is no traceback to see."""
    method = manager.__exit__  # type: ignore[attr-defined] # checked on entering
    if error is None:
        return method(None, None, None)
    return method(class_value(vm, type(error)), error, None)
