"""Who may call a method, and what it may do: what `cowboy_sdk`'s decorators check.

`decorators` writes `enter` and `leave` around the body of a method that has a rule
(host-api.md §1, §4). What they set belongs to the meter, so it ends with the execution;
a callee of `call_actor` goes on with its caller's guards and read-only mode.
"""

from typing import Final

from pvm.errors import HostError, HostErrorCode
from pvm.language import Rule
from pvm.runtime.execution import VmExecution
from pvm.runtime.owner import OWNER, SELF, owner_of
from pvm.types import Entry

State = tuple[int, bool, bool, frozenset[tuple[bytes, str]]]
"""What a method found when it was entered: to be put back when it is left."""

_ADDRESS_BYTES: Final = 20


def enter(vm: VmExecution, name: str, rule: int, callers: object) -> State:
    """A method with a rule is entered; returns what `leave` puts back.

    Raises:
        HostError: PermissionDenied, Reentrancy.
    """
    meter = vm.meter
    state = (meter.inside, meter.read_only, meter.is_quiet, meter.guards)
    if rule & Rule.LISTED:
        _require_listed(vm, name, callers)
    elif rule & Rule.ITSELF and not meter.inside:
        _require_itself(vm, name)
    if rule & Rule.GUARDED:
        entry = (bytes(vm.context.message.actor), name)
        if entry in meter.guards:
            reason = f"{name} is running already in this chain of calls"
            raise HostError(HostErrorCode.Reentrancy, reason)
        meter.guards |= {entry}
    meter.inside += 1
    if rule & Rule.PURE:
        meter.read_only = True
    if rule & (Rule.QUIET | Rule.DEFERRED):
        meter.is_quiet = bool(rule & Rule.QUIET)
    return state


def leave(vm: VmExecution, state: State) -> None:
    """The method is left, by whatever way an actor can take."""
    meter = vm.meter
    meter.inside, meter.read_only, meter.is_quiet, meter.guards = state


def _require_itself(vm: VmExecution, name: str) -> None:
    """Neither `@public` nor `@callable_by`: the actor, deployment and upgrade."""
    message = vm.context.message
    is_own = message.sender == message.actor or message.entry is not Entry.CALL
    if not is_own:
        raise _denied(f"{name} can be called by the actor itself only")


def _require_listed(vm: VmExecution, name: str, callers: object) -> None:
    assert isinstance(callers, tuple), "decorators writes a display"
    sender = vm.context.message.sender
    vm.charge(len(callers))
    for caller in callers:
        if _resolve(vm, caller) == sender:
            return
    raise _denied(f"{name} can be called by those only that callable_by lists")


def _resolve(vm: VmExecution, caller: object) -> bytes:
    """The address that an argument of `callable_by` means now."""
    if type(caller) is bytes and len(caller) == _ADDRESS_BYTES:
        return caller
    if type(caller) is str:
        if caller == OWNER:
            return owner_of(vm.context)
        if caller == SELF:
            return vm.context.message.actor
        if caller.isascii() and len(caller) <= len("0x") + 2 * _ADDRESS_BYTES:
            try:
                address = bytes.fromhex(caller.removeprefix("0x"))
            except ValueError:
                address = b""
            if len(address) == _ADDRESS_BYTES:
                return address
    raise HostError(
        HostErrorCode.InvalidInput,
        "callable_by: 20 bytes, their hexadecimal form, OWNER or SELF are wanted",
    )


def _denied(reason: str) -> HostError:
    return HostError(HostErrorCode.PermissionDenied, reason)
