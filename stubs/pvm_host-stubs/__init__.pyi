"""The chain as an actor reaches it; docs/host-api.md §2 says it at length.

An argument of a wrong type or range raises `HostError` (`InvalidInput`). Such a call
has cost its price and has no effect. Prices are in cycles, and in cells a byte.
`Value`, `Context`, `FireContext` and `Timer` exist in annotations only.
"""

from typing import Any, Literal, NoReturn, TypeAlias, TypedDict, overload

__all__ = [
    "HostError",
    "RevertError",
    "block_height",
    "block_timestamp",
    "call_actor",
    "cancel_timer",
    "cbor_decode",
    "cbor_encode",
    "charge_gas",
    "context",
    "create_deferred_tx",
    "delete_state",
    "emit_event",
    "extend_timer",
    "gas_left",
    "get_balance",
    "get_sender",
    "get_state",
    "get_timer",
    "keccak256",
    "list_timers",
    "log",
    "randomness",
    "revert",
    "schedule_timer",
    "schedule_timer_ex",
    "self_address",
    "send_message",
    "set_state",
    "set_state_watch",
    "set_timeout",
    "sha256",
    "state_scan_prefix",
    "transfer",
    "update_timer",
    "upgrade_self",
    "verify_secp256k1",
]

Value: TypeAlias = (
    int
    | str
    | bytes
    | bool
    | list[Any]
    | tuple[Any, ...]
    | dict[str, Any]
    | dict[int, Any]
    | None
)
"""What canonical CBOR holds: a tuple is read back as a list. For annotations only."""

class FireContext(TypedDict):
    """What made a timer fire, under `globalbox` (D54). For annotations only."""

    kind: str
    """`HEIGHT` or `STATE_WATCH`."""
    due_height: int | None
    """Height for which it was set; None of a watch."""
    hit_height: int | None
    """Height of the block that changed what a watch watches; None of a height."""
    matched_keys: list[tuple[bytes, bytes]] | None
    """Keys that changed, each with its actor: the first four at most."""
    deliver_id: bytes
    """Name of this fire, 32 bytes."""
    deliver_seq: int
    """Number in the order of all fires of the chain, from 0."""
    fire_seq: int
    """How often the timer had fired before."""

class Context(TypedDict):
    """What `context()` returns. For annotations only."""

    block_height: int
    """Height of the block that is being made."""
    block_hash: bytes
    """32 bytes that depend on chain and height alone: no hash of the block (D39)."""
    tx_hash: bytes
    """Id of the transaction that caused this; 32 zero bytes for fires."""
    sender: bytes
    """Address of the immediate caller, 20 bytes (D13)."""
    origin: bytes
    """The same as `tx_hash`."""
    value: int
    """Base units that came with this call; 0 except in transactions."""
    timestamp_ms: int
    """Virtual time of the block, in milliseconds (D37)."""
    actor_addr: bytes
    """Address of the executing actor."""
    msg_id: bytes
    """Id of the message, 32 bytes."""
    nonce: int
    """The signer's nonce in a transaction, else 0."""
    chain_id: int
    """Id of the chain, 100 on a devnet."""
    handler: str
    """Name of the handler that was called."""
    timer: FireContext | None
    """What made the timer fire, under the rules `globalbox`; None in all else."""

class Timer(TypedDict):
    """What `get_timer` returns. For annotations only."""

    timer_id: bytes
    """32 bytes."""
    height: int | None
    """Height for which it is due; None of a watch."""
    payload: bytes
    """What its handler gets."""
    handler: str | None
    """Handler that the payload names; None for `handle_timer`."""
    fee_payer: bytes
    """Who pays for the fire."""
    gas_limit: int
    """Most cycles of the fire."""
    expires_at: int
    """Height from which on it fires no more."""
    scheduled_at: int
    """Height of the block that scheduled it."""

class HostError(RuntimeError):
    """A refused host call. It was charged and has no effect; an actor may catch it.

    It cannot be raised: use `revert`. docs/host-api.md §2 lists the codes and names.
    """

    @property
    def code(self) -> int:
        """Number of the refusal, from 1."""

    @property
    def name(self) -> str:
        """Name of the refusal, such as `InvalidInput` or `TimerNotFound`."""

class RevertError(RuntimeError):
    """The callee of `call_actor` failed and its effects are undone; it may be caught.

    It cannot be raised: use `revert`.
    """

def block_height() -> int:
    """Height of the block that is being made.

    Price: 7 cycles.
    """

def block_timestamp() -> int:
    """Virtual time of the block, in milliseconds since 1970 (D37).

    Price: 7 cycles.
    """

def self_address() -> bytes:
    """Address of the executing actor, 20 bytes.

    Price: 7 cycles.
    """

def get_sender() -> bytes:
    """Address of the immediate caller, 20 bytes: in a fire, the actor itself (D13).

    Price: 7 cycles.
    """

def context() -> Context:
    """All that the message says, in a new dict (D13).

    Price: 300 cycles.
    """

def charge_gas(n: int) -> None:
    """Use up `n` more cycles, 0 or more.

    Price: 7 cycles, and `n`.
    """

def gas_left() -> int:
    """Cycles that are left after this call.

    Price: 7 cycles.
    """

def get_balance(address: bytes) -> int:
    """Balance of any account, in base units: 1 CBY is 1,000,000,000.

    Price: 100 cycles.
    """

def transfer(to: bytes, amount: int) -> None:
    """Move base units out of the actor's balance to an address of 20 bytes.

    Price: 1,000 cycles. A read-only execution halts.

    Raises:
        HostError: `InsufficientBalance`, if the actor has less.
    """

def get_state(key: bytes) -> bytes | None:
    """A value of the actor's own state, or None; a key has 1 to 256 bytes.

    Price: 100 cycles, and 1 cell a byte of the value.
    """

def set_state(key: bytes, value: bytes) -> None:
    """Write a value of at most 65,536 bytes under a key of 1 to 256 bytes.

    Price: 200 cycles, and 1 cell a byte of both. A read-only execution halts.

    Raises:
        HostError: `Forbidden`, for a key of the runtime's own.
    """

def delete_state(key: bytes) -> None:
    """Remove a key of the actor's own state; an absent one has no effect.

    Price: 200 cycles, and 1 cell a byte of the key. A read-only execution halts.

    Raises:
        HostError: `Forbidden`, for a key of the runtime's own.
    """

def state_scan_prefix(prefix: bytes, limit: int) -> list[tuple[bytes, bytes]]:
    """Pairs of key and value under a prefix, ascending; `limit` is at most 1,000.

    Price: 100 cycles, 100 for each pair, 20 for each key that this block has removed,
    and 1 cell a byte of keys and values.
    """

def schedule_timer(
    height: int,
    payload: bytes,
    fee_payer: bytes | None = None,
    gas_limit: int | None = None,
    expires_at: int | None = None,
    max_fee_per_cycle: int | None = None,
    max_priority_fee_per_cycle: int | None = None,
    gba: bytes | None = None,
    priority_tier_hint: str | None = None,
    bid: int | None = None,
) -> bytes:
    """Schedule one fire, and return the timer's id, 32 bytes (CIP-5 §4, CIP-1 §6).

    Price: 200 cycles, and 1 cell a byte of the payload. A read-only execution halts.
    The fire itself sets aside `gas_limit` and 550,000 cells at the basefees of its
    block; a payer who has less loses the timer (under `bidding` it waits).

    Args:
        height: when it is due: a height above that of this block.
        payload: what `handle_timer` gets, at most 1 MiB; a JSON object of exactly
            `_handler` and `_payload` (base64) names another handler (D12).
        fee_payer: who pays: the actor, if None, or the signer of this transaction.
        gas_limit: most cycles of the fire; 550,000 if None. The fires of a block share
            2,000,000: state it.
        expires_at: height from which on it fires no more; at most 2,592,000 blocks from
            now, which is the default.
        max_fee_per_cycle: base units; without it there is no cap under `auction`.
        max_priority_fee_per_cycle: base units, of them the tip.
        gba: Gas Bidding Agent, an actor that states the fees; `bidding` wants one.
        priority_tier_hint: one of `cowboy_sdk.PriorityTier`.
        bid: under `globalbox` only: base units a cycle times 2**96.

    Raises:
        HostError: `TimerLimit` (1,024 live timers), `TimerRejectedBelowBasefee`,
            `TimerArgDeprecated`, `GbaRequired`, `NotFound`, `PurityViolation`.
    """

def schedule_timer_ex(
    height: int,
    payload: bytes,
    fee_payer: bytes | None = None,
    gas_limit: int | None = None,
    expires_at: int | None = None,
) -> bytes:
    """`schedule_timer` without the fees; refused under `bidding` (`GbaRequired`).

    Price: 200 cycles, and 1 cell a byte of the payload. A read-only execution halts.
    """

def set_timeout(
    target: bytes,
    due_height: int,
    payload: bytes,
    gas_limit: int | None = None,
    bid_fp: int | None = None,
    client_nonce: bytes | None = None,
    expires_at: int | None = None,
) -> bytes:
    """Have any deployed actor called at a height, and return the timer's id (D50).

    Only under the rules `globalbox`. This actor is the sender, and pays.

    Price: 200 cycles, and 1 cell a byte of the payload. A read-only execution halts.

    Args:
        target: the actor that is called.
        due_height: a height above that of this block.
        payload: what its handler gets.
        gas_limit: most cycles of the fire.
        bid_fp: Q32.96: base units a cycle times 2**96.
        client_nonce: 1 to 32 bytes, from which the id follows; while such a timer
            lives, the call returns its id and changes nothing.
        expires_at: height from which on it fires no more.

    Raises:
        HostError: `UnsupportedTimerType` under other rules, `NotFound`, `TimerLimit`.
    """

def set_state_watch(
    target: bytes,
    watch_keys: list[Any] | tuple[Any, ...],
    payload: bytes,
    gas_limit: int | None = None,
    bid_fp: int | None = None,
    client_nonce: bytes | None = None,
    expires_at: int | None = None,
) -> bytes:
    """Have any deployed actor called when state changes; the timer's id (D50, D51).

    Only under the rules `globalbox`. It fires again and again, until it is cancelled,
    expires or cannot pay.

    Price: 200 cycles, 50 for each key that is watched, 1 cell a byte of the payload,
    and 20 cells and 1 a byte for each key. A read-only execution halts.

    Args:
        target: the actor that is called.
        watch_keys: 1 to 16 of them, each `(address, prefix)` or a prefix of the own
            state; a prefix is bytes, or a str for keys of `self.storage`.
        payload: what its handler gets.
        gas_limit: most cycles of a fire.
        bid_fp: Q32.96: base units a cycle times 2**96.
        client_nonce: as of `set_timeout`.
        expires_at: height from which on it fires no more.

    Raises:
        HostError: `UnsupportedTimerType` under other rules, `NotFound`, `TimerLimit`.
    """

def update_timer(
    timer_id: bytes,
    payload: bytes | None = None,
    gas_limit: int | None = None,
    bid_fp: int | None = None,
) -> None:
    """Change what an own timer says, where an argument is not None (D53).

    Only under the rules `globalbox`.

    Price: 200 cycles, and 1 cell a byte of a new payload. A read-only execution halts.

    Raises:
        HostError: `UnsupportedTimerType`, `TimerNotFound`, `Unauthorized`.
    """

def extend_timer(timer_id: bytes, new_expires_at: int) -> None:
    """Set a later expiry of an own timer (D20).

    Price: 200 cycles. A read-only execution halts.

    Raises:
        HostError: `TimerNotFound`, `Unauthorized`.
    """

def cancel_timer(timer_id: bytes) -> None:
    """Remove an own timer.

    Price: 200 cycles. A read-only execution halts.

    Raises:
        HostError: `TimerNotFound`, `Unauthorized`.
    """

def get_timer(timer_id: bytes) -> Timer | None:
    """An own timer, or None. The public API has no such call.

    Price: 200 cycles.
    """

def list_timers() -> list[bytes]:
    """Ids of the actor's timers, in due order. The public API has no such call.

    Price: 100 cycles, and 100 for each timer.
    """

@overload
def send_message(target: bytes, handler: bytes) -> None:
    """Send a payload to `main`, else `handle_message`, in the next block."""

@overload
def send_message(
    target: bytes,
    handler: str,
    payload: bytes,
    cycles: int | None = None,
    cells: int | None = None,
) -> None:
    """Have a handler of another actor called in the next block (D14).

    The form with two arguments takes a payload in place of the handler.

    Price: 80 cycles, 1 cell a byte of the payload, and the budgets, which are set
    aside. A read-only execution halts.

    Args:
        target: address of an actor.
        handler: name of its handler.
        payload: what it gets.
        cycles: budget of the message; half of what is left, if None.
        cells: likewise, at most 150,000.

    Raises:
        HostError: `NotFound`, `MailboxFull`, `DeferredLaneFull`, `PurityViolation`.
    """

def create_deferred_tx(
    handler: str, payload: bytes, cycles: int | None = None, cells: int | None = None
) -> None:
    """Have a handler of this actor called in the next block, before messages (D14).

    Price: 80 cycles, 1 cell a byte of the payload, and the budgets, which are set
    aside. A read-only execution halts.

    Raises:
        HostError: `MailboxFull`, `DeferredLaneFull`, `PurityViolation`.
    """

def call_actor(
    target: bytes, handler: str, payload: bytes, cycles_limit: int = 100_000
) -> bytes:
    """Call a handler of another actor now, and return what it answers (D14).

    Price: 500 cycles, 1 for each node of the callee's syntax, what the callee uses, and
    1 cell a byte of the payload.

    Raises:
        RevertError: the callee failed; what it did is undone.
        HostError: `NotFound`, `HandlerNotFound`, `TooDeep` (32 calls).
    """

def upgrade_self(code: bytes) -> None:
    """Give the actor other code once this whole execution stands (D58).

    Price: 50,000 cycles, 100 a byte and 200 a node of syntax, and 10,000 cells and 200
    a byte. A read-only execution halts.

    Raises:
        HostError: `InvalidInput`, for code that is refused, too large or the same.
    """

def emit_event(topic: str, data: bytes) -> None:
    """Record an event: a topic of at most 64 bytes, data of at most 4,096 (D17).

    Price: 500 cycles, 5 a byte of the data, and 1 cell for 2 bytes. A read-only
    execution halts.
    """

def revert(message: str = "") -> NoReturn:
    """Fail this call, with a message of at most 1,024 characters.

    Only a caller through `call_actor` can catch it.

    Price: 7 cycles.
    """

def log(level: Literal["debug", "info", "warning", "error"], *values: object) -> None:
    """Write a line for the actor's author, as `print` does; it is in no state (D59).

    Price: 100 cycles, what `str` costs of each value, and 1 a character.

    Args:
        level: how much it matters.
        values: what is written, with spaces between.
    """

def randomness(domain: bytes) -> bytes:
    """32 reproducible bytes, which everybody can predict (D39).

    Price: 400 cycles, and 6 for each started 32 bytes of the domain.
    """

def keccak256(data: bytes) -> bytes:
    """The keccak-256 digest, 32 bytes.

    Price: 100 cycles, and 6 for each started 32 bytes.
    """

def sha256(data: bytes) -> bytes:
    """The SHA-256 digest, 32 bytes.

    Price: 500 cycles, and 8 for each started 64 bytes.
    """

def verify_secp256k1(hash: bytes, signature: bytes, address: bytes) -> bool:
    """Whether an address signed a hash of 32 bytes.

    Price: 10,000 cycles.
    """

def cbor_encode(value: Value) -> bytes:
    """Canonical CBOR of a value.

    Price: a walk through the value, and 1 cycle a byte.

    Raises:
        HostError: `InvalidInput`, for a value that has no form.
    """

def cbor_decode(data: bytes) -> Any:
    """The value that canonical CBOR encodes; decoding is strict.

    Price: a walk through the value, and 1 cycle a byte.

    Raises:
        HostError: `InvalidInput`, for bytes that are not canonical.
    """
