"""What a module's body makes: anew for each message, unless nothing can change it.

D11 gives every message fresh globals and fresh classes. A source of imports, functions,
classes and immutable values that never sets an attribute and never says `global` cannot
change what its body made, so that the next message could not tell it from fresh: it
gets the same again. Making a class takes longer than most handlers run.

Rules: only what is unchanging by its source is kept (`immutable_bodies`); a message
pays for what is kept what its body took, and runs the body where it cannot, to halt
where that halts; what is kept is a `VmExecution`'s own, bounded, and part of no result.
"""

from types import FunctionType
from typing import Final

from pvm.actor_code import ActorCode
from pvm.runtime.execution import ACTOR_MODULE, Namespace, VmExecution

NAMESPACES_MAX: Final = 32
"""Kept by one `VmExecution`: some 10 KB each, of the longest source some 2 MB."""


def enter(vm: VmExecution, code: ActorCode) -> Namespace:
    """The namespace of a module for one message, paid for."""
    kept = vm.namespaces.get(id(code))
    if kept is not None and _is_paid(vm, kept):
        return kept
    return _make(vm, code)


def _is_paid(vm: VmExecution, kept: Namespace) -> bool:
    cycles = vm.cycles.cell_contents - kept.cycles
    memory = vm.memory.cell_contents - kept.memory
    if cycles < 0 or memory < 0:
        return False
    vm.cycles.cell_contents = cycles
    vm.memory.cell_contents = memory
    return True


def _make(vm: VmExecution, code: ActorCode) -> Namespace:
    cycles, memory = vm.cycles.cell_contents, vm.memory.cell_contents
    names: dict[str, object] = {"__builtins__": vm.names, "__name__": ACTOR_MODULE}
    made = Namespace(code, names)
    FunctionType(code.module, names, closure=vm.cells)()
    if code.is_unchanging:
        made.cycles = cycles - vm.cycles.cell_contents
        made.memory = memory - vm.memory.cell_contents
        if len(vm.namespaces) >= NAMESPACES_MAX:
            del vm.namespaces[next(iter(vm.namespaces))]
        vm.namespaces[id(code)] = made  # which holds the code, so the id is its own
    return made
