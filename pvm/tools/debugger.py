"""Actors as the code of their authors' files, so that any debugger stops in them.

A debugger knows code by the name of its file and its line. Lines are the source's
already, so only the name is exchanged: what executes is the same code, and no receipt
and no root tells the difference. Rule: a debugger looks; an expression that a person
evaluates in an actor's frame, and that asks the host, is paid by that execution.
"""

import os
import sys
from bdb import BdbQuit
from collections.abc import Callable
from importlib import import_module
from types import BuiltinFunctionType, CodeType
from typing import Final

from msgspec.structs import replace

from pvm.actor_code import ActorCode
from pvm.driver.execution_pool import new
from pvm.driver.interpreter import execute
from pvm.host import Host
from pvm.language import AuthorsFile
from pvm.meter import Meter
from pvm.runtime.classes import name_of_class
from pvm.runtime.execution import VmExecution
from pvm.types import Message, Outcome

__all__ = ["Debugger"]


_FOREIGN: Final = name_of_class(BdbQuit)
"""Kind of a failure by an exception that is nobody's: a debugger raised it."""


class Debugger:
    """Executes actors under names of files."""

    __slots__ = ("_codes", "_idle")

    def __init__(self) -> None:
        self._codes: dict[tuple[int, str], tuple[ActorCode, ActorCode]] = {}
        """By identity and file: the code, which is kept for that, and its twin."""
        self._idle: list[VmExecution] = []

    def execute(
        self, code: ActorCode, message: Message, host: Host, meter: Meter, file: str
    ) -> Outcome:
        """As `pvm.execute`, with code that says it is of `file`.

        Raises:
            BdbQuit: somebody ended the debugger while it stood in the actor.
        """
        vm = self._idle.pop() if self._idle else _stopping()
        outcome = execute(self._twin(code, file), message, host, meter, vm)
        self._idle.append(vm)
        if outcome.failure is not None and outcome.failure.kind == _FOREIGN:
            raise BdbQuit
        return outcome

    def _twin(self, code: ActorCode, file: str) -> ActorCode:
        key = id(code), file
        if key not in self._codes:
            self._codes[key] = code, replace(code, module=_renamed(code.module, file))
        return self._codes[key][1]


def _stopping() -> VmExecution:
    """An execution in which `breakpoint()` stops."""
    vm = new()
    vm.names["_call_breakpoint"] = _Breakpoint()
    return vm


class _Breakpoint:
    """What stops in the frame that calls it, so that no frame of ours lies between.

    A debugger stops in its caller. The interpreter asks for `__call__` first, in a
    frame that is over when it calls what it was given.
    """

    __slots__ = ()

    @property
    def __call__(self) -> Callable[[], object]:
        return _debugger()


def _debugger() -> Callable[[], object]:
    """What Python's own `breakpoint()` calls.

    That one imports it with the builtins of the frame, and an actor has no such
    `__import__`.
    """
    hook: Callable[[], object] = sys.breakpointhook
    if not isinstance(hook, BuiltinFunctionType):  # as a debugger has set it
        return hook
    named = os.environ.get("PYTHONBREAKPOINT") or "pdb.set_trace"
    module, _, function = named.rpartition(".")
    if named == "0":
        return lambda: None
    found: Callable[[], object] = getattr(import_module(module), function)
    return found


def _renamed(code: CodeType, file: str) -> CodeType:
    """Code and all code in it, said to be of a file.

    The constant that nothing reads says that it is an actor's (`language.is_of_actor`),
    and keeps it apart from what it is made of: CPython finds code of two files equal,
    and debuggers remember by the code where not to stop.
    """
    constants = (
        _renamed(one, file) if isinstance(one, CodeType) else one
        for one in code.co_consts
    )
    return code.replace(co_filename=file, co_consts=(*constants, AuthorsFile(file)))
