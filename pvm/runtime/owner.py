"""The owner of an actor: its deployer until that is transferred (host-api.md §4).

The owner lies in the actor's own state under a reserved key, which `pvm_host` lets no
actor write, so that only these functions change it. Renouncing stores the zero
address, which nobody has: it cannot be undone.
"""

from typing import Final

from pvm.errors import HostError, HostErrorCode
from pvm.runtime.context import ModuleContext

OWNER: Final = "OWNER"
"""In `callable_by`: whoever owns the actor when the method is called."""

SELF: Final = "SELF"
"""In `callable_by`: the actor itself, so its timers and what it sends itself."""

OWNER_KEY: Final = b"__OWNER__"

RESERVED_KEYS: Final = frozenset({OWNER_KEY, b"__INITIALIZED__"})
"""State keys that an actor cannot write: public names of the runtime's own."""


def owner_of(context: ModuleContext) -> bytes:
    """The owner's address; the zero address once renounced. Charged as `get_state`."""
    stored = context.host.get_state(OWNER_KEY)
    return context.message.deployer if stored is None else stored


def store_owner(context: ModuleContext, owner: bytes) -> None:
    """Make `owner` the owner; for the owner and the actor itself only.

    Raises:
        HostError: PermissionDenied.
    """
    message = context.message
    if message.sender not in (owner_of(context), message.actor):
        raise HostError(
            HostErrorCode.PermissionDenied,
            "only the owner or the actor itself can transfer the ownership",
        )
    context.host.set_state(OWNER_KEY, owner)
