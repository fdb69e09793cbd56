"""The host's functions under the names that the SDK has for them."""

from typing import Any

from cowboy_sdk.native import (
    assume_ownership_if_unowned as assume_ownership_if_unowned,
)
from cowboy_sdk.native import (
    get_owner as get_owner,
)
from cowboy_sdk.native import (
    is_initialized as is_initialized,
)
from cowboy_sdk.native import (
    renounce_ownership as renounce_ownership,
)
from cowboy_sdk.native import (
    transfer_ownership as transfer_ownership,
)
from pvm_host import (
    block_height as get_block_height,
)
from pvm_host import (
    block_timestamp as get_timestamp_ms,
)
from pvm_host import (
    call_actor as call_actor,
)
from pvm_host import (
    cancel_timer as cancel_timer,
)
from pvm_host import (
    charge_gas as charge_gas,
)
from pvm_host import (
    context as context,
)
from pvm_host import (
    create_deferred_tx as create_deferred_tx,
)
from pvm_host import (
    delete_state as delete_state,
)
from pvm_host import (
    extend_timer as extend_timer,
)
from pvm_host import (
    get_sender as get_sender,
)
from pvm_host import (
    get_state as get_state,
)
from pvm_host import (
    keccak256 as keccak256,
)
from pvm_host import (
    randomness as randomness,
)
from pvm_host import (
    schedule_timer as schedule_timer,
)
from pvm_host import (
    schedule_timer_ex as schedule_timer_ex,
)
from pvm_host import (
    self_address as get_actor_address,
)
from pvm_host import (
    send_message as send_message,
)
from pvm_host import (
    set_state as set_state,
)
from pvm_host import (
    set_state_watch as set_state_watch,
)
from pvm_host import (
    set_timeout as set_timeout,
)
from pvm_host import (
    update_timer as update_timer,
)
from pvm_host import (
    upgrade_self as upgrade_self,
)

__all__ = [
    "assume_ownership_if_unowned",
    "call_actor",
    "cancel_timer",
    "charge_gas",
    "context",
    "create_deferred_tx",
    "delete_state",
    "emit_event",
    "extend_timer",
    "get_actor_address",
    "get_block_height",
    "get_chain_id",
    "get_owner",
    "get_sender",
    "get_state",
    "get_timestamp_ms",
    "get_tx_hash",
    "is_initialized",
    "keccak256",
    "randomness",
    "renounce_ownership",
    "scan_state_prefix",
    "schedule_timer",
    "schedule_timer_ex",
    "send_message",
    "set_state",
    "set_state_watch",
    "set_timeout",
    "transfer_ownership",
    "update_timer",
    "upgrade_self",
]

def get_tx_hash() -> bytes:
    """The id of the causing transaction, 32 bytes; zeros where there is none."""

def get_chain_id() -> int:
    """The id of the chain."""

def emit_event(
    name: str, payload: dict[Any, Any] | list[Any] | str | bytes = b""
) -> None:
    """An event: a dict or list as JSON, a str as UTF-8, bytes as they are.

    Price: that of `pvm_host.emit_event`, and of making the bytes.
    """

def scan_state_prefix(prefix: bytes, limit: int = 100) -> list[tuple[bytes, bytes]]:
    """Pairs of the actor's own state under a prefix, ascending, at most 1,000."""
