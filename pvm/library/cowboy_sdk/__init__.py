"""The SDK of actors: decorators, calls, and names for what the host does.

The decorators are facts of the source: the compiler reads them and refuses every
other use of these names, so that nothing is ever left unguarded by one.
"""

import cowboy_sdk.codec as codec
import cowboy_sdk.errors as errors
import cowboy_sdk.runtime as runtime
import pvm_host
from cowboy_sdk.errors import (
    ActorCallError,
    ActorNotFoundError,
    AddressError,
    CallDepthExceeded,
    CodecError,
    CowboyError,
    LoopBoundExceeded,
    StateConflictError,
)
from cowboy_sdk.guards import GuardedValue, GuardSet, storage_guard
from cowboy_sdk.loops import BoundedRange
from cowboy_sdk.models import CowboyModel
from cowboy_sdk.native import ActorRef, Address
from cowboy_sdk.types import BlockHeight, PriorityTier, ordered_set


class Actor:
    """What editors know of an actor; the compiler drops it as a base, and its import."""


OWNER = "OWNER"
SELF = "SELF"


def call(target, method, args=None, cycles_limit=100_000):
    """Call a handler of another actor now; arguments and answer as CBOR."""
    payload = b"" if args is None else codec.encode(args)
    try:
        answer = pvm_host.call_actor(Address(target), method, payload, cycles_limit)
    except pvm_host.RevertError as error:
        raise ActorCallError(str(error))
    except pvm_host.HostError as error:
        if error.name == "NotFound":
            raise ActorNotFoundError(str(error))
        if error.name == "TooDeep":
            raise CallDepthExceeded(str(error))
        raise
    if not answer:
        return None
    try:
        return codec.decode(answer)
    except CodecError:
        raise ActorCallError(f"{method} answered something else than CBOR")


def send(target, payload=None, raw=False):
    """Send a message for the next block; the payload as CBOR, or as it is."""
    data = payload if raw else codec.encode(payload)
    pvm_host.send_message(Address(target), data)


def derive_actor_address(deployer, salt, code_hash):
    """Where a deployment goes: a salt below 32 bytes is filled up with zeros."""
    if len(salt) > 32 or len(code_hash) != 32:
        raise AddressError("a salt has at most 32 bytes, a code hash 32")
    filled = salt + bytes(32 - len(salt))
    return pvm_host.keccak256(b"\xff" + Address(deployer) + filled + code_hash)[12:]


def actor(marked):
    """Mark the actor's class; its methods are handlers."""
    return marked


def public(method):
    """Let everybody call the method."""
    return method


def callable_by(*callers):
    """Let those callers alone call the method."""
    return callers


def pure(method):
    """Let the method change nothing."""
    return method


def deferred(method):
    """Let the method send and schedule, in a class where others may not."""
    return method


def reentrancy_guard(method):
    """Let the method run once only in one chain of calls."""
    return method


def bounded_loop(max_iterations):
    """Give every `BoundedRange` of a function its bound."""
    return max_iterations
