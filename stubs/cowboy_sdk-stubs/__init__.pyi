"""The SDK of actors: decorators, calls, and names for what the host does.

docs/host-api.md §4 says it at length. A decorator can be used as a decorator only, and
is refused where it would mean nothing.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar, overload

from cowboy_sdk import codec as codec
from cowboy_sdk import errors as errors
from cowboy_sdk import runtime as runtime
from cowboy_sdk.errors import (
    ActorCallError as ActorCallError,
)
from cowboy_sdk.errors import (
    ActorNotFoundError as ActorNotFoundError,
)
from cowboy_sdk.errors import (
    AddressError as AddressError,
)
from cowboy_sdk.errors import (
    CallDepthExceeded as CallDepthExceeded,
)
from cowboy_sdk.errors import (
    CodecError as CodecError,
)
from cowboy_sdk.errors import (
    CowboyError as CowboyError,
)
from cowboy_sdk.errors import (
    LoopBoundExceeded as LoopBoundExceeded,
)
from cowboy_sdk.errors import (
    StateConflictError as StateConflictError,
)
from cowboy_sdk.guards import (
    GuardedValue as GuardedValue,
)
from cowboy_sdk.guards import (
    GuardSet as GuardSet,
)
from cowboy_sdk.guards import (
    storage_guard as storage_guard,
)
from cowboy_sdk.loops import BoundedRange as BoundedRange
from cowboy_sdk.models import CowboyModel as CowboyModel
from cowboy_sdk.native import ActorRef as ActorRef
from cowboy_sdk.native import Address as Address
from cowboy_sdk.types import (
    BlockHeight as BlockHeight,
)
from cowboy_sdk.types import (
    PriorityTier as PriorityTier,
)
from cowboy_sdk.types import (
    ordered_set as ordered_set,
)
from pvm_host import Value

_C = TypeVar("_C")
_M = TypeVar("_M", bound=Callable[..., object])
_T = TypeVar("_T")

OWNER: Final = "OWNER"
"""In `callable_by`: the owner of the actor."""
SELF: Final = "SELF"
"""In `callable_by`: the actor itself."""

class _Storage:
    """The state of an actor under names: str of at most 200 bytes (host-api.md §3).

    A read gives a copy: write a changed value back. An operation costs the reads
    (100 cycles) and writes (200) it is made of, and the encoding.
    """

    def __getitem__(self, key: str) -> Any:
        """A copy of the value under `key`.

        Raises:
            KeyError: there is none.
        """

    def __setitem__(self, key: str, value: Value) -> None:
        """Write a value of at most 65,536 bytes of canonical CBOR.

        Raises:
            HostError: `StorageError`, for a value that cannot be encoded or is too
                large, or a key that is too long.
        """

    def __delitem__(self, key: str) -> None:
        """Remove a value.

        Raises:
            KeyError: there is none.
        """

    def __contains__(self, key: str) -> bool:
        """Whether there is a value under `key`."""

    def get(self, key: str, default: Any = None) -> Any:
        """A copy of the value under `key`, else `default`."""

    @overload
    def pop(self, key: str) -> Any:
        """Remove a value and return it; KeyError if there is none."""

    @overload
    def pop(self, key: str, default: _T) -> Any | _T:
        """Remove a value and return it, else `default`."""

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value under `key`; where there is none, `default` after writing it."""

    def keys(self, prefix: str = "") -> list[str]:
        """Keys that begin with `prefix`, ascending, at most 1,000."""

class Actor:
    """The base of an actor's class: editors learn from it what an actor has.

    The compiler drops it, and its import: an actor costs a message the same without.
    """

    @property
    def storage(self) -> _Storage:
        """What the actor remembers from one message to the next."""

    @property
    def address(self) -> bytes:
        """Address of this actor, 20 bytes."""

    @property
    def deployer(self) -> bytes:
        """Address of the account or actor that deployed this one, 20 bytes."""

def call(
    target: bytes | str, method: str, args: Value = None, cycles_limit: int = 100_000
) -> Any:
    """Call a handler of another actor now; arguments and answer as canonical CBOR.

    Price: that of `pvm_host.call_actor`, and of the encoding.

    Raises:
        ActorCallError: the callee failed, or answered something else.
        ActorNotFoundError: no actor lives at the target.
        CallDepthExceeded: calls are nested more than 32 deep.
    """

def send(target: bytes | str, payload: Value = None, raw: bool = False) -> None:
    """Send a message for the next block; the payload as CBOR, or as it is if `raw`.

    Price: that of `pvm_host.send_message`, and of the encoding.
    """

def derive_actor_address(deployer: bytes | str, salt: bytes, code_hash: bytes) -> bytes:
    """Address of an actor that is deployed so (D9): a salt has at most 32 bytes.

    Raises:
        AddressError: the salt is longer, or the code hash has not 32 bytes.
    """

def actor(marked: type[_C]) -> type[_C]:
    """Mark the actor's class; its methods are handlers."""

def public(method: _M) -> _M:
    """Let everybody call the method; others of the class only the actor itself."""

def callable_by(*callers: bytes | str) -> Callable[[_M], _M]:
    """Let those callers alone call the method: addresses, `OWNER` or `SELF`."""

def pure(method: _M) -> _M:
    """Let the method change nothing: it runs read-only (D15)."""

def deferred(method: _M) -> _M:
    """Let the method send and schedule, in a class where others may not."""

def reentrancy_guard(method: _M) -> _M:
    """Let the method be entered once only in one chain of calls."""

def bounded_loop(max_iterations: int) -> Callable[[_M], _M]:
    """Give every `BoundedRange` of a function its bound, a literal from 1."""
