"""Where executions come from: made when all others are busy, then used again.

What an execution needs besides its meter and its message is the same for all: the
bound helpers, and the modules of the universe with all that is in them. Making it
takes longer than a message, so it is kept.
"""

import gc
from types import MethodType
from typing import Final

from pvm import language
from pvm.driver.library_loader import IMPORTS, module
from pvm.runtime.builtins import AS_VALUES, CLASSES, NATIVE, PRICED
from pvm.runtime.execution import VmExecution
from pvm.runtime.helpers import HELPERS, NATIVES
from pvm.runtime.printing import log

# State of the process, with `worker`'s the only one of the virtual machine. An object
# is taken by one execution at a time, whatever thread it runs on, and has nothing of
# the execution before: no result depends on which one is taken.
_IDLE: Final[list[VmExecution]] = []

SWEEP_BYTES: Final = 4 * 2**20
"""Charged to accounts between two looks for what only holds itself."""

_YOUNGEST: Final = 0


def take() -> VmExecution:
    """A `VmExecution` that nobody else has."""
    try:
        return _IDLE.pop()
    except IndexError:
        return new()


def give_back(vm: VmExecution) -> None:
    """Leave it to the next, after `end`."""
    _IDLE.append(vm)


class _Account:
    """What executions allocated since the last sweep, by their accounts."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes = 0


_UNSWEPT: Final = _Account()


def sweep(bytes_: int) -> None:
    """After an execution that allocated so much, and that no other waits for.

    While blocks are made CPython collects nothing, and `l.append(l)` is not freed by
    itself. What executions made is young, since the last sweep found nothing of theirs
    alive, so only that is looked at: no more than was allocated meanwhile.
    """
    _UNSWEPT.bytes += bytes_
    if _UNSWEPT.bytes >= SWEEP_BYTES:
        _UNSWEPT.bytes = 0
        gc.collect(_YOUNGEST)


def new() -> VmExecution:
    """A fresh `VmExecution` that shares nothing that could change with any other."""
    vm = VmExecution({**PRICED, **AS_VALUES}, CLASSES)
    vm.context.write = MethodType(log, vm)
    vm.names.update({**NATIVES, **NATIVE})
    called = {f"_call_{name}": PRICED[name] for name in AS_VALUES}
    helpers = {**HELPERS, **IMPORTS, **PRICED, **AS_VALUES, **called}
    for name, helper in helpers.items():
        vm.names[name] = MethodType(helper, vm)
    for name in language.IMPLICIT_MODULES:
        vm.names[name] = module(vm, name)
    return vm
