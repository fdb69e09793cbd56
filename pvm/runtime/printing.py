"""`print`, `pvm_host.log` and `breakpoint`: what an actor says to its author (D59).

Rules: each value is written as `str` writes it, by our own walk and at its price, and
each character costs a cycle, kept or not. The execution cannot read what it wrote.
"""

from collections.abc import Sequence

from pvm import costs
from pvm.runtime.constructors import str_
from pvm.runtime.exceptions import refused
from pvm.runtime.execution import VmExecution

_STR = costs.CALL_OF_BUILTIN["str"]


def print_(
    vm: VmExecution, /, *values: object, sep: object = " ", end: object = "\n"
) -> None:
    """Write values, what stands between them, and an end of line; or as given."""
    between, last = _joint(sep, " "), _joint(end, "\n")
    _write(vm, "", values, between, last)


def breakpoint_(_vm: VmExecution, /) -> None:
    """`breakpoint()`: nothing, where no debugger watches."""


def log(vm: VmExecution, level: str, values: Sequence[object]) -> None:
    """Write values as `print` does, at a level; the call itself is paid."""
    _write(vm, level, values, " ", "\n")


def _write(
    vm: VmExecution, level: str, values: Sequence[object], between: str, last: str
) -> None:
    vm.charge(_STR * len(values))
    vm.allocate(costs.PLACE_BYTES * len(values))
    parts: list[str] = []
    for value in values:
        if parts and between:
            parts.append(between)
        parts.append(str_(vm, value))
    parts.append(last)
    vm.charge(sum(map(len, parts)))
    vm.context.host.log(level, parts)


def _joint(given: object, default: str) -> str:
    if given is None:
        return default
    if type(given) is not str:
        raise refused(TypeError("sep and end are str or None"))
    return given
