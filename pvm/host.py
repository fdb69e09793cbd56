"""Host: the protocol through which an actor reaches the chain.

The binding in `pvm.modules.pvm_host` gives actors these as functions. Before it
calls a method it refuses a halted meter and, for methods named in `MUTATING`, a
read-only one; the method itself charges its base, validates, charges for size and
acts (D16), raising `HostError` for what it refuses. Arguments arrive exactly as the
actor gave them: their types are the method's to check, which is why they are
`object` here.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from pvm.types import Address

MUTATING = frozenset(
    {
        "transfer",
        "set_state",
        "delete_state",
        "schedule_timer",
        "schedule_timer_ex",
        "set_timeout",
        "set_state_watch",
        "update_timer",
        "extend_timer",
        "cancel_timer",
        "send_message",
        "create_deferred_tx",
        "emit_event",
        "upgrade_self",
    }
)
"""Host calls that a read-only execution halts on (D15)."""


class ScheduleRequest(Struct, frozen=True):
    """What an actor asks of `schedule_timer`, exactly as it gave it (CIP-5 §4.1).

    `schedule_timer_ex` states the first five; None is what was left out (CIP-1 §6).
    """

    height: object
    payload: object
    fee_payer: object = None
    gas_limit: object = None
    expires_at: object = None
    max_fee_per_cycle: object = None
    max_priority_fee_per_cycle: object = None
    gba: object = None
    priority_tier_hint: object = None
    bid: object = None


class TimeoutRequest(Struct, frozen=True):
    """What an actor asks of `set_timeout`, exactly as it gave it (GBX §6.1, D50)."""

    target: object
    due_height: object
    payload: object
    gas_limit: object = None
    bid_fp: object = None
    client_nonce: object = None
    expires_at: object = None


class WatchRequest(Struct, frozen=True):
    """What an actor asks of `set_state_watch`, just as it gave it (GBX §6.1, D50)."""

    target: object
    watch_keys: object
    payload: object
    gas_limit: object = None
    bid_fp: object = None
    client_nonce: object = None
    expires_at: object = None


class Host(Protocol):
    """What the chain offers to one executing actor (host-api.md §2).

    Arguments come from the actor unchecked: each method checks their exact types and
    ranges, and raises `HostError` for a wrong one.
    """

    def get_balance(self, address: object) -> int:
        """Balance of any account, in base units."""
        ...

    def transfer(self, to: object, amount: object) -> None:
        """Move base units out of the actor's balance.

        Raises:
            HostError: `InsufficientBalance`, `InvalidInput`.
        """
        ...

    def get_state(self, key: object) -> bytes | None:
        """The value under a key of the actor's own state, or None if it is absent."""
        ...

    def set_state(self, key: object, value: object) -> None:
        """Write a value of at most 65,536 bytes under a key of 1 to 256 bytes."""
        ...

    def delete_state(self, key: object) -> None:
        """Remove a key of the actor's own state; an absent one has no effect."""
        ...

    def state_scan_prefix(
        self, prefix: object, limit: object
    ) -> list[tuple[bytes, bytes]]:
        """(Key, value) under a prefix, ascending by key, up to `limit` ≤ 1,000."""
        ...

    def schedule_timer(self, request: ScheduleRequest) -> bytes:
        """Schedule one fire, and return the timer's id, 32 bytes (CIP-5 §4)."""
        ...

    def set_timeout(self, request: TimeoutRequest) -> bytes:
        """Have a target's handler called at a height, and return the timer's id (D50).

        Raises:
            HostError: `UnsupportedTimerType` under other rules than `globalbox`,
                `NotFound`, `TimerLimit`, `InvalidInput`.
        """
        ...

    def set_state_watch(self, request: WatchRequest) -> bytes:
        """Have a target's handler called when state changes; the timer's id (D50, D51).

        Raises:
            HostError: as of `set_timeout`.
        """
        ...

    def update_timer(
        self, timer_id: object, payload: object, gas_limit: object, bid_fp: object
    ) -> None:
        """Change what an own timer says, where an argument is not None (D50).

        Raises:
            HostError: `UnsupportedTimerType`, `TimerNotFound`, `Unauthorized`,
                `InvalidInput`.
        """
        ...

    def extend_timer(self, timer_id: object, new_expires_at: object) -> None:
        """Set a later expiry of an own timer (D20).

        Raises:
            HostError: `TimerNotFound`, `Unauthorized`, `InvalidInput`.
        """
        ...

    def cancel_timer(self, timer_id: object) -> None:
        """Remove an own timer.

        Raises:
            HostError: `TimerNotFound`, `Unauthorized`.
        """
        ...

    def get_timer(self, timer_id: object) -> dict[str, int | bytes | str | None] | None:
        """The fields of an own live timer by name, or None if there is none."""
        ...

    def list_timers(self) -> list[bytes]:
        """The ids of the actor's live timers, by height and sequence."""
        ...

    def send_message(
        self,
        target: object,
        handler_or_payload: object,
        payload: object = None,
        *,
        cycles: object = None,
        cells: object = None,
    ) -> None:
        """Send a message for the mailbox part of the next block (D14)."""
        ...

    def create_deferred_tx(
        self,
        handler: object,
        payload: object,
        cycles: object = None,
        cells: object = None,
    ) -> None:
        """Call a handler of the actor itself in the engine part of the next block."""
        ...

    def call_actor(
        self,
        target: object,
        handler: object,
        payload: object,
        cycles_limit: object = 100_000,
    ) -> bytes:
        """Call another actor now, and return the bytes that it returns.

        Raises:
            RevertError: the callee failed; the actor can catch it.
            HostError: `NotFound`, `HandlerNotFound`, `TooDeep`, `InvalidInput`.
        """
        ...

    def upgrade_self(self, code: object) -> None:
        """Give the actor new code once the whole execution stands (D58).

        Raises:
            HostError: `InvalidInput`: the code is refused, or the one it has.
        """
        ...

    def emit_event(self, topic: object, data: object) -> None:
        """Emit an event of the actor (D17)."""
        ...

    def log(self, level: str, parts: Sequence[str]) -> str:
        """Keep what the actor wrote, as far as there is room; returns that (D59).

        It is paid where it is written, and no state: a failure does not undo it, and a
        read-only execution may. The actor gets nothing of what is returned.
        """
        ...

    def randomness(self, domain: object) -> bytes:
        """32 bytes that everybody can compute: reproducible, and predictable (D39)."""
        ...

    def verify_secp256k1(
        self, hash_: object, signature: object, address: object
    ) -> bool:
        """Whether `address` signed the 32-byte hash (65 bytes r‖s‖v, low s)."""
        ...


def address_of(value: object) -> Address | None:
    """`value` as an address if it is exactly 20 bytes, else None."""
    if type(value) is bytes and len(value) == 20:  # noqa: PLR2004
        return Address(value)
    return None
