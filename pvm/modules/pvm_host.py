"""`pvm_host`: the chain as actor code reaches it (host-api.md §2).

Every function has the exact signature of the table and one stanza (D16): a halted
meter refuses; a read-only one halts on what would change anything (D15); then the
`Host` charges, validates, charges for size and acts. What needs no chain is done
here in the same order.

The functions are bound methods: nothing can be assigned to them, and the binding
behind them has only private names, which actor code cannot write.
"""

import hashlib
from collections.abc import Mapping
from typing import Final, NoReturn

from pvm import costs
from pvm.cbor import MalformedCbor, UnencodableValue, Value
from pvm.errors import (
    HostError,
    HostErrorCode,
    ReadOnlyViolation,
    Reverted,
    RevertError,
)
from pvm.hashing import keccak256
from pvm.host import Host, ScheduleRequest, TimeoutRequest, WatchRequest
from pvm.output import LEVELS
from pvm.runtime.context import Bound, ModuleContext
from pvm.runtime.owner import RESERVED_KEYS
from pvm.runtime.values import from_cbor, to_cbor, type_name
from pvm.types import FireContext, Message

FUNCTIONS: Final = frozenset(
    {
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
    }
)
"""Every host function, by name."""

EXPORTS: Final = FUNCTIONS | {"HostError", "RevertError"}
"""Every name of the module."""

REVERT_MESSAGE_MAX: Final = 1_024
"""Characters of a message of `revert`: it stays in the receipt."""

_CONTEXT_ENTRIES = 13
_TIMER_ENTRIES = 7
"""Of what `context()` says of the timer that fires."""
_TUPLE_BYTES = 72  # a pair, with its place in the list


def make(context: ModuleContext) -> Mapping[str, object]:
    """The names of `pvm_host`."""
    binding = _Binding(context)
    names: dict[str, object] = {name: getattr(binding, name) for name in FUNCTIONS}
    names["HostError"] = HostError
    names["RevertError"] = RevertError
    return names


def _invalid(message: str) -> HostError:
    return HostError(HostErrorCode.InvalidInput, message)


def _require_bytes(value: object, name: str) -> bytes:
    if type(value) is not bytes:
        raise _invalid(f"{name} must be bytes, not {type_name(value)}")
    return value


class _Binding(Bound):
    """Host functions: charges and checks, then the host."""

    __slots__ = ()

    @property
    def _host(self) -> Host:
        return self._context.host

    @property
    def _message(self) -> Message:
        return self._context.message

    # --- what the message says --------------------------------------------------

    def block_height(self) -> int:
        """Height of the block that is being made."""
        self._read_context()
        return self._message.environment.height

    def block_timestamp(self) -> int:
        """Virtual time of the block, in milliseconds (D37)."""
        self._read_context()
        return self._message.environment.timestamp_ms

    def self_address(self) -> bytes:
        """Address of the executing actor, 20 bytes."""
        self._read_context()
        return self._message.actor

    def get_sender(self) -> bytes:
        """Address of the immediate caller (D13)."""
        self._read_context()
        return self._message.sender

    def context(self) -> dict[str, object]:
        """All that the message says, in a fresh dict (D13)."""
        self._meter.raise_if_halted()
        self._meter.charge_cycles(costs.CONTEXT)
        self._meter.charge_memory(
            costs.MAPPING_BYTES + costs.MAPPING_BYTES_PER_ITEM * _CONTEXT_ENTRIES
        )
        message = self._message
        environment = message.environment
        return {
            "block_height": environment.height,
            "block_hash": environment.beacon(),  # D39: never a hash of the block
            "tx_hash": message.origin,
            "sender": message.sender,
            "origin": message.origin,
            "value": message.value,
            "timestamp_ms": environment.timestamp_ms,
            "actor_addr": message.actor,
            "msg_id": message.msg_id(),
            "nonce": message.nonce,
            "chain_id": environment.chain_id,
            "handler": self._context.handler,
            "timer": self._timer(message.delivery),
        }

    def _timer(self, delivery: FireContext | None) -> dict[str, object] | None:
        """What made the timer fire that this message is of, in a fresh dict (D54)."""
        if delivery is None:
            return None
        matched = list(delivery.matched_keys)
        self._meter.charge_memory(
            costs.MAPPING_BYTES
            + costs.MAPPING_BYTES_PER_ITEM * _TIMER_ENTRIES
            + costs.SEQUENCE_BYTES
            + _TUPLE_BYTES * len(matched)
        )
        for _, key in matched:
            self._charge_bytes(key)
        return {
            "kind": delivery.kind,
            "due_height": delivery.due_height,
            "hit_height": delivery.hit_height,
            "matched_keys": matched if delivery.hit_height is not None else None,
            "deliver_id": delivery.deliver_id,
            "deliver_seq": delivery.deliver_seq,
            "fire_seq": delivery.fire_seq,
        }

    # --- the meter --------------------------------------------------------------

    def charge_gas(self, n: object) -> None:
        """Charge `n` more cycles."""
        self._read_context()
        if type(n) is not int or n < 0:
            raise _invalid("n must be an int of 0 or more")
        # What is left is below 2**30: more would only burden the counter.
        self._meter.charge_cycles(min(n, self._meter.cycles_left + 1))

    def gas_left(self) -> int:
        """Cycles that can still be charged, after this call."""
        self._read_context()
        return self._meter.cycles_left

    # --- balances and state -----------------------------------------------------

    def get_balance(self, address: object) -> int:
        """Balance of any account, in base units."""
        self._meter.raise_if_halted()
        return self._host.get_balance(address)

    def transfer(self, to: object, amount: object) -> None:
        """Move base units from the actor's balance."""
        self._require_writable()
        self._host.transfer(to, amount)

    def get_state(self, key: object) -> bytes | None:
        """A value of the actor's own state, or None."""
        self._meter.raise_if_halted()
        value = self._host.get_state(key)
        if value is not None:
            self._charge_bytes(value)
        return value

    def set_state(self, key: object, value: object) -> None:
        """Write a value of the actor's own state."""
        self._require_writable()
        self._require_own(key, costs.SET_STATE)
        self._host.set_state(key, value)

    def delete_state(self, key: object) -> None:
        """Remove a key of the actor's own state; an absent one is fine."""
        self._require_writable()
        self._require_own(key, costs.DELETE_STATE)
        self._host.delete_state(key)

    def state_scan_prefix(
        self, prefix: object, limit: object
    ) -> list[tuple[bytes, bytes]]:
        """Pairs of the actor's own state under a prefix, ascending."""
        self._meter.raise_if_halted()
        pairs = self._host.state_scan_prefix(prefix, limit)
        self._meter.charge_memory(costs.SEQUENCE_BYTES + _TUPLE_BYTES * len(pairs))
        for key, value in pairs:
            self._charge_bytes(key)
            self._charge_bytes(value)
        return pairs

    # --- timers -----------------------------------------------------------------

    def schedule_timer(  # noqa: PLR0913, PLR0917 - CIP-5 §4.1 and CIP-1 §6 print them
        self,
        height: object,
        payload: object,
        fee_payer: object = None,
        gas_limit: object = None,
        expires_at: object = None,
        max_fee_per_cycle: object = None,
        max_priority_fee_per_cycle: object = None,
        gba: object = None,
        priority_tier_hint: object = None,
        bid: object = None,
    ) -> bytes:
        """Schedule one fire; its id (CIP-5 §4.1, CIP-1 §6)."""
        self._require_loud(costs.SCHEDULE_TIMER)
        request = ScheduleRequest(
            height,
            payload,
            fee_payer,
            gas_limit,
            expires_at,
            max_fee_per_cycle,
            max_priority_fee_per_cycle,
            gba,
            priority_tier_hint,
            bid,
        )
        return self._host.schedule_timer(request)

    def schedule_timer_ex(
        self,
        height: object,
        payload: object,
        fee_payer: object = None,
        gas_limit: object = None,
        expires_at: object = None,
    ) -> bytes:
        """Schedule one fire without the parameters of the auction."""
        self._require_loud(costs.SCHEDULE_TIMER)
        request = ScheduleRequest(height, payload, fee_payer, gas_limit, expires_at)
        return self._host.schedule_timer(request)

    def set_timeout(  # noqa: PLR0913, PLR0917 - as GBX §6.1 prints it, and D50
        self,
        target: object,
        due_height: object,
        payload: object,
        gas_limit: object = None,
        bid_fp: object = None,
        client_nonce: object = None,
        expires_at: object = None,
    ) -> bytes:
        """Call a target's handler at a height; the timer's id (GBX §6.1)."""
        self._require_loud(costs.SCHEDULE_TIMER)
        request = TimeoutRequest(
            target, due_height, payload, gas_limit, bid_fp, client_nonce, expires_at
        )
        return self._host.set_timeout(request)

    def set_state_watch(  # noqa: PLR0913, PLR0917 - as GBX §6.1 prints it, and D50
        self,
        target: object,
        watch_keys: object,
        payload: object,
        gas_limit: object = None,
        bid_fp: object = None,
        client_nonce: object = None,
        expires_at: object = None,
    ) -> bytes:
        """Call a target's handler when state changes; the timer's id (GBX §6.1)."""
        self._require_loud(costs.SCHEDULE_TIMER)
        request = WatchRequest(
            target, watch_keys, payload, gas_limit, bid_fp, client_nonce, expires_at
        )
        return self._host.set_state_watch(request)

    def update_timer(
        self,
        timer_id: object,
        payload: object = None,
        gas_limit: object = None,
        bid_fp: object = None,
    ) -> None:
        """Change what an own timer says, where an argument is not None (D50)."""
        self._require_loud(costs.UPDATE_TIMER)
        self._host.update_timer(timer_id, payload, gas_limit, bid_fp)

    def extend_timer(self, timer_id: object, new_expires_at: object) -> None:
        """Set the expiry of an own timer (D20)."""
        self._require_loud(costs.EXTEND_TIMER)
        self._host.extend_timer(timer_id, new_expires_at)

    def cancel_timer(self, timer_id: object) -> None:
        """Remove an own timer."""
        self._require_loud(costs.CANCEL_TIMER)
        self._host.cancel_timer(timer_id)

    def get_timer(self, timer_id: object) -> dict[str, int | bytes | str | None] | None:
        """Fields of an own timer, or None."""
        self._meter.raise_if_halted()
        fields = self._host.get_timer(timer_id)
        if fields is not None:
            self._meter.charge_memory(
                costs.MAPPING_BYTES + costs.MAPPING_BYTES_PER_ITEM * len(fields)
            )
            for value in fields.values():
                if type(value) is bytes:
                    self._charge_bytes(value)
        return fields

    def list_timers(self) -> list[bytes]:
        """Ids of the actor's live timers, by height and sequence."""
        self._meter.raise_if_halted()
        ids = self._host.list_timers()
        self._meter.charge_memory(costs.SEQUENCE_BYTES + 8 * len(ids))
        return ids

    # --- messages, calls, events ------------------------------------------------

    def send_message(
        self,
        target: object,
        handler: object = None,
        payload: object = None,
        cycles: object = None,
        cells: object = None,
    ) -> None:
        """Queue a message for the next block (D14).

        `(target, payload)` or `(target, handler, payload, …)`.
        """
        self._require_loud(costs.SEND_MESSAGE)
        if handler is None:  # send_message(target, payload=…)
            handler, payload = payload, None
        self._host.send_message(target, handler, payload, cycles=cycles, cells=cells)

    def create_deferred_tx(
        self,
        handler: object,
        payload: object,
        cycles: object = None,
        cells: object = None,
    ) -> None:
        """Queue a call of the actor itself for the next block (D14)."""
        self._require_loud(costs.SEND_MESSAGE)
        self._host.create_deferred_tx(handler, payload, cycles, cells)

    def call_actor(
        self,
        target: object,
        handler: object,
        payload: object,
        cycles_limit: object = 100_000,
    ) -> bytes:
        """Call another actor now; its failure is a `RevertError` (D14)."""
        self._meter.raise_if_halted()
        returned = self._host.call_actor(target, handler, payload, cycles_limit)
        self._charge_bytes(returned)
        return returned

    def upgrade_self(self, code: object) -> None:
        """Give the actor new code once this whole execution stands (D58)."""
        self._require_writable()
        self._host.upgrade_self(code)

    def emit_event(self, topic: object, data: object) -> None:
        """Record an event of the actor (D17)."""
        self._require_writable()
        self._host.emit_event(topic, data)

    def revert(self, message: object = "") -> NoReturn:
        """End this execution with a message; only a caller can catch that."""
        self._read_context()
        if type(message) is not str:
            raise _invalid(f"message must be str, not {type_name(message)}")
        if len(message) > REVERT_MESSAGE_MAX:
            raise _invalid(f"message must be at most {REVERT_MESSAGE_MAX} long")
        self._meter.halt(Reverted(message))

    def log(self, level: object, *values: object) -> None:
        """Write a line for the actor's author; it is in no state (D59)."""
        self._meter.raise_if_halted()
        self._meter.charge_cycles(costs.LOG)
        if type(level) is not str or level not in LEVELS:
            raise _invalid(f"level must be one of {', '.join(sorted(LEVELS))}")
        self._context.write(level, values)

    # --- bytes ------------------------------------------------------------------

    def randomness(self, domain: object) -> bytes:
        """32 reproducible and predictable bytes (D39)."""
        self._meter.raise_if_halted()
        return self._host.randomness(domain)

    def keccak256(self, data: object) -> bytes:
        """The keccak-256 digest, 32 bytes."""
        meter = self._meter
        meter.raise_if_halted()
        meter.charge_cycles(costs.KECCAK256)
        data = _require_bytes(data, "data")
        meter.charge_cycles(costs.KECCAK256_PER_WORD * ((len(data) + 31) // 32))
        return keccak256(data)

    def sha256(self, data: object) -> bytes:
        """The SHA-256 digest, 32 bytes."""
        meter = self._meter
        meter.raise_if_halted()
        meter.charge_cycles(costs.SHA)
        data = _require_bytes(data, "data")
        meter.charge_cycles(costs.SHA_PER_BLOCK * ((len(data) + 63) // 64))
        return hashlib.sha256(data).digest()

    def verify_secp256k1(
        self,
        hash: object,  # noqa: A002 - what actors call it
        signature: object,
        address: object,
    ) -> bool:
        """Whether `address` signed the 32-byte hash."""
        self._meter.raise_if_halted()
        return self._host.verify_secp256k1(hash, signature, address)

    def cbor_encode(self, value: object) -> bytes:
        """Canonical CBOR of a value."""
        self._meter.raise_if_halted()
        try:
            return to_cbor(value, self._meter)
        except UnencodableValue as error:
            raise _invalid(f"value: {error}") from None

    def cbor_decode(self, data: object) -> Value:
        """The value that canonical CBOR encodes."""
        self._meter.raise_if_halted()
        if type(data) is not bytes:
            self._meter.charge_cycles(costs.CODEC)
        data = _require_bytes(data, "data")
        try:
            return from_cbor(data, self._meter)
        except MalformedCbor as error:
            raise _invalid(f"data is not canonical CBOR: {error}") from None

    # --- the stanza's beginning -------------------------------------------------

    def _read_context(self) -> None:
        meter = self._meter
        meter.raise_if_halted()
        meter.charge_cycles(costs.READ_CONTEXT)

    def _require_writable(self) -> None:
        meter = self._meter
        meter.raise_if_halted()
        if meter.read_only:
            meter.halt(ReadOnlyViolation())

    def _require_loud(self, base: int) -> None:
        """What goes on after the execution: not in a method without `@deferred`."""
        self._require_writable()
        if self._meter.is_quiet:
            self._meter.charge_cycles(base)
            raise HostError(
                HostErrorCode.PurityViolation,
                "in a class that uses @deferred, methods without it send and "
                "schedule nothing",
            )

    def _require_own(self, key: object, base: int) -> None:
        """A key of the actor's, not one of the runtime's own."""
        if type(key) is bytes and key in RESERVED_KEYS:
            self._meter.charge_cycles(base)
            raise HostError(
                HostErrorCode.Forbidden,
                f"key: {key.decode()} is cowboy_sdk's own; transfer_ownership()",
            )

    def _charge_bytes(self, value: bytes) -> None:
        if len(value) > costs.TEXT_FREE:
            self._meter.charge_memory(costs.TEXT_BYTES + len(value))
