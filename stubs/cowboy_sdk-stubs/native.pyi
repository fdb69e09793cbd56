"""What of the SDK the host gives: ownership, addresses, references to actors."""

from collections.abc import Callable
from typing import Any

class _Address:
    """`Address(value)`: the 20 bytes, checked. In annotations an address is `bytes`."""

    @property
    def ZERO(self) -> bytes:
        """20 zero bytes: nobody's address."""

    def __call__(self, value: bytes | str) -> bytes:
        """The 20 bytes, of bytes or of 40 hexadecimal digits, with or without `0x`.

        Price: 7 cycles.

        Raises:
            HostError: `InvalidInput`, for what is no address.
        """

    def from_hex(self, text: str) -> bytes:
        """The address that a text names; HostError if it names none."""

    def to_hex(self, address: bytes | str) -> str:
        """`0x` and 40 small digits."""

Address: _Address

class _ActorRef:
    """Another actor: `ref.name(1, 2)` calls its handler `name` with a list."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A handler: arguments by position are a list, by name a dict, never both.

        Raises:
            RevertError: the callee failed; what it did is undone.
            HostError: as of `pvm_host.call_actor`.
        """

def ActorRef(target: bytes | str, cycles_limit: int = 100_000) -> _ActorRef:
    """An object whose every method is a call of the actor.

    Price: 7 cycles, and those of `pvm_host.call_actor` for each call.
    """

def get_owner() -> bytes:
    """Address of the owner: the deployer until transferred; zeros once renounced."""

def assume_ownership_if_unowned() -> bytes:
    """The owner: every actor has one from its deployment on."""

def transfer_ownership(new_owner: bytes | str) -> None:
    """Make somebody else the owner. A read-only execution halts.

    Raises:
        HostError: `PermissionDenied`, unless the owner or the actor itself asks.
    """

def renounce_ownership() -> None:
    """Leave the actor without an owner for good. A read-only execution halts.

    Raises:
        HostError: `PermissionDenied`, unless the owner or the actor itself asks.
    """

def is_initialized() -> bool:
    """False while the deployment runs, then True."""
