"""ActorHost: what one executing actor can reach of the chain (host-api.md §2).

Every call has one stanza: CHARGE the base, VALIDATE, CHARGE for size, EFFECT (D16).
The binding in `pvm` has already refused halted meters and, for mutating calls,
read-only ones. A refused call raises `HostError`: charged, without effect. The four
timer calls are in `timers.host_calls`, what messages need is in `mailbox`.

A store that cannot be read, or a broken invariant, is no refusal: whatever the actor
makes of it, the block must not be made (`guarded`).
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from node.chain.accounts import InsufficientBalance, load_account, transfer
from node.chain.block import Event, ReceiptKind
from node.chain.context import ExecutionScope
from node.chain.effects import (
    CodeReplaced,
    Effect,
    EventEmitted,
    MessageSent,
    RandomnessDrawn,
    StorageWritten,
    Transferred,
)
from node.chain.host_arguments import (
    expect_address,
    expect_amount,
    expect_bytes,
    expect_handler,
    expect_int,
    expect_text,
    refuse,
)
from node.chain.mailbox import PendingMessage, validate_send
from node.chain.params import (
    CALL_DEPTH_MAX,
    CODE_BYTES_MAX,
    EVENT_DATA_BYTES_MAX,
    EVENT_TOPIC_BYTES_MAX,
    EVENTS_PER_EXECUTION_MAX,
    MESSAGE_CELLS_MAX,
    PAYLOAD_BYTES_MAX,
    SCAN_ENTRIES_MAX,
    STATE_KEY_BYTES_MAX,
    STATE_VALUE_BYTES_MAX,
    U64_MAX,
    WRITES_PER_EXECUTION_MAX,
)
from node.chain.timers import host_calls
from node.chain.timers.globalbox import calls as globalbox_calls
from node.primitives.crypto import BadSignature, keccak256, recover
from node.primitives.types import Address, Hash32
from node.state import keys
from node.state.errors import StoreError
from pvm import (
    CompileError,
    HostError,
    HostErrorCode,
    Meter,
    OutOfWrites,
    ScheduleRequest,
    TimeoutRequest,
    WatchRequest,
    costs,
)
from pvm.output import OutputLog


class CallActor(Protocol):
    """How a host executes another actor; `messages.call` is it."""

    def __call__(
        self,
        caller: "ActorHost",
        target: Address,
        handler: str,
        payload: bytes,
        cycles_limit: int,
    ) -> bytes:
        """Execute and return the answer, or raise RevertError or HostError."""
        ...


_P = ParamSpec("_P")
_R = TypeVar("_R")


def guarded(
    method: Callable[Concatenate["ActorHost", _P], _R],
) -> Callable[Concatenate["ActorHost", _P], _R]:
    """Remember what is not meant for the actor, which could catch it."""

    @wraps(method)
    def call(host: "ActorHost", /, *arguments: _P.args, **named: _P.kwargs) -> _R:
        try:
            if named:
                return method(host, *arguments, **named)
            return method(host, *arguments)  # type: ignore[call-arg] # a third less
        except (StoreError, AssertionError) as error:
            host.execution.block.defect = error
            raise

    return call


class ActorHost:
    """The chain as one actor sees it during one message."""

    __slots__ = ("actor", "call", "depth", "execution", "meter")

    def __init__(
        self,
        execution: ExecutionScope,
        actor: Address,
        meter: Meter,
        call: CallActor,
        depth: int = 0,
    ) -> None:
        """A host for `actor`; `depth` counts the `call_actor`s above it."""
        self.execution = execution
        self.actor = actor
        self.meter = meter
        self.call = call
        self.depth = depth

    def note(self, effect: Effect) -> None:
        """Note a side effect; halt `OutOfWrites` beyond the bound (D43)."""
        effects = self.execution.effects
        effects.note(effect)
        if len(effects.written) > WRITES_PER_EXECUTION_MAX:
            self.meter.halt(OutOfWrites())

    # --- money -------------------------------------------------------------------

    @guarded
    def get_balance(self, address: object) -> int:
        """Balance of any account, in base units."""
        # CHARGE
        self.meter.charge_cycles(costs.GET_BALANCE)
        # VALIDATE
        account = expect_address(address, "address")
        # EFFECT
        return load_account(self.execution.block.journal, account).balance

    @guarded
    def transfer(self, to: object, amount: object) -> None:
        """Move base units from the actor's balance; `InsufficientBalance`."""
        # CHARGE
        self.meter.charge_cycles(costs.TRANSFER)
        # VALIDATE
        recipient = expect_address(to, "to")
        base_units = expect_amount(amount, "amount")
        # EFFECT
        try:
            transfer(self.execution.block.journal, self.actor, recipient, base_units)
        except InsufficientBalance as error:
            raise HostError(
                HostErrorCode.InsufficientBalance,
                f"{error.required} base units are wanted, {error.available} are there",
            ) from None
        self.note(Transferred(self.actor, recipient, base_units))

    # --- state -------------------------------------------------------------------

    @guarded
    def get_state(self, key: object) -> bytes | None:
        """A value of the actor's own state, or None."""
        # CHARGE
        self.meter.charge_cycles(costs.GET_STATE)
        # VALIDATE
        name = expect_bytes(key, "key", 1, STATE_KEY_BYTES_MAX)
        value = self.execution.block.journal.get(keys.storage(self.actor, name))
        # CHARGE for size
        if value is not None:
            self.meter.charge_cells(len(value))
        return value

    @guarded
    def set_state(self, key: object, value: object) -> None:
        """Write a value of the actor's own state."""
        # CHARGE
        self.meter.charge_cycles(costs.SET_STATE)
        # VALIDATE
        name = expect_bytes(key, "key", 1, STATE_KEY_BYTES_MAX)
        data = expect_bytes(value, "value", 0, STATE_VALUE_BYTES_MAX)
        # CHARGE for size
        self.meter.charge_cells(len(name) + len(data))
        # EFFECT
        entry = keys.storage(self.actor, name)
        self.execution.block.journal.put(entry, data)
        self.note(StorageWritten(entry))

    @guarded
    def delete_state(self, key: object) -> None:
        """Remove a key of the actor's own state; an absent one is fine."""
        # CHARGE
        self.meter.charge_cycles(costs.DELETE_STATE)
        # VALIDATE
        name = expect_bytes(key, "key", 1, STATE_KEY_BYTES_MAX)
        # CHARGE for size
        self.meter.charge_cells(len(name))
        # EFFECT
        entry = keys.storage(self.actor, name)
        self.execution.block.journal.delete(entry)
        self.note(StorageWritten(entry))

    @guarded
    def state_scan_prefix(
        self, prefix: object, limit: object
    ) -> list[tuple[bytes, bytes]]:
        """Pairs under a prefix, ascending by key."""
        # CHARGE
        self.meter.charge_cycles(costs.SCAN_STATE)
        # VALIDATE
        name = expect_bytes(prefix, "prefix", 0, STATE_KEY_BYTES_MAX)
        count_max = expect_int(limit, "limit", 0, SCAN_ENTRIES_MAX)
        # EFFECT, charged entry by entry before the next is read
        start = keys.storage(self.actor, name)
        own = len(start) - len(name)
        found: list[tuple[bytes, bytes]] = []
        if count_max == 0:
            return found
        stop = keys.prefix_stop(start)
        for key, value in self.execution.block.journal.scan(start, stop):
            if value is None:
                self.meter.charge_cycles(costs.SCAN_STATE_PER_REMOVED)
                continue
            self.meter.charge_cycles(costs.SCAN_STATE_PER_ENTRY)
            self.meter.charge_cells(len(key) - own + len(value))
            found.append((key[own:], value))
            if len(found) == count_max:  # nothing is read beyond it
                break
        return found

    # --- timers ------------------------------------------------------------------

    @guarded
    def schedule_timer(self, request: ScheduleRequest) -> bytes:
        """Schedule one fire; returns the timer's id (CIP-5 §4.1)."""
        return host_calls.schedule_timer(self, request)

    @guarded
    def set_timeout(self, request: TimeoutRequest) -> bytes:
        """Have a target called at a height (GBX §6.1, D50)."""
        return globalbox_calls.set_timeout(self, request)

    @guarded
    def set_state_watch(self, request: WatchRequest) -> bytes:
        """Have a target called when state changes (GBX §6.1, D50)."""
        return globalbox_calls.set_state_watch(self, request)

    @guarded
    def update_timer(
        self, timer_id: object, payload: object, gas_limit: object, bid_fp: object
    ) -> None:
        """Change what an own timer says (GBX §6.2, D50)."""
        globalbox_calls.update_timer(self, timer_id, payload, gas_limit, bid_fp)

    @guarded
    def extend_timer(self, timer_id: object, new_expires_at: object) -> None:
        """Set a later expiry of an own timer (CIP-5 §5.4, D20)."""
        host_calls.extend_timer(self, timer_id, new_expires_at)

    @guarded
    def cancel_timer(self, timer_id: object) -> None:
        """Remove an own timer (CIP-5 §4.2)."""
        host_calls.cancel_timer(self, timer_id)

    @guarded
    def get_timer(self, timer_id: object) -> dict[str, int | bytes | str | None] | None:
        """Fields of an own timer, or None."""
        return host_calls.get_timer(self, timer_id)

    @guarded
    def list_timers(self) -> list[bytes]:
        """Ids of the actor's live timers, in due order."""
        return host_calls.list_timers(self)

    # --- messages ----------------------------------------------------------------

    @guarded
    def send_message(
        self,
        target: object,
        handler_or_payload: object,
        payload: object = None,
        *,
        cycles: object = None,
        cells: object = None,
    ) -> None:
        """Queue a message for the mailbox part of the next block (D14)."""
        # CHARGE
        self.meter.charge_cycles(costs.SEND_MESSAGE)
        # VALIDATE
        recipient = expect_address(target, "target")
        if payload is None:
            handler, data = "", handler_or_payload
        else:
            handler, data = expect_handler(handler_or_payload), payload
        if not load_account(self.execution.block.journal, recipient).is_actor:
            raise HostError(HostErrorCode.NotFound, "target: no actor lives there")
        self._send(ReceiptKind.MAILBOX_MESSAGE, recipient, handler, data, cycles, cells)

    @guarded
    def create_deferred_tx(
        self,
        handler: object,
        payload: object,
        cycles: object = None,
        cells: object = None,
    ) -> None:
        """Queue a call of the actor itself for the engine part (D14)."""
        # CHARGE
        self.meter.charge_cycles(costs.SEND_MESSAGE)
        # VALIDATE
        name = expect_handler(handler)
        self._send(ReceiptKind.ENGINE_MESSAGE, self.actor, name, payload, cycles, cells)

    def _send(
        self,
        kind: ReceiptKind,
        target: Address,
        handler: str,
        payload: object,
        cycles: object,
        cells: object,
    ) -> None:
        data = expect_bytes(payload, "payload", 0, PAYLOAD_BYTES_MAX)
        cycle_budget, cell_budget = self._budget(len(data), cycles, cells)
        validate_send(self.execution, target, self.actor, cycle_budget)
        # CHARGE for size
        self.meter.charge_cells(len(data))
        # EFFECT
        self.meter.reserve(cycle_budget, cell_budget)
        block = self.execution.block
        message = PendingMessage(
            kind,
            block.height,
            block.messages_queued + self.execution.effects.messages_sent,
            target,
            self.actor,
            handler,
            data,
            cycle_budget,
            cell_budget,
            self.execution.price,
            self.execution.payer,
            self.execution.origin,
        )
        self.note(MessageSent(message))

    def _budget(
        self, payload_bytes: int, cycles: object, cells: object
    ) -> tuple[int, int]:
        """A message's budget: as given, else half of what is left (D14).

        "Left" is after the base and the payload are paid for. A payload beyond the
        cells that are left is not refused here: charging for it halts.
        """
        params = self.execution.block.params
        cycles_left = self.meter.cycles_left
        cells_left = max(0, self.meter.cells_left - payload_bytes)
        cycle_budget = (
            min(cycles_left // 2, params.message_cycles_max)
            if cycles is None
            else expect_int(cycles, "cycles", 0, params.message_cycles_max)
        )
        cell_budget = (
            min(cells_left // 2, MESSAGE_CELLS_MAX)
            if cells is None
            else expect_int(cells, "cells", 0, MESSAGE_CELLS_MAX)
        )
        entry = self.execution.block.timer_config.fire_base_cycles
        if cycle_budget < entry:
            refuse(f"cycles: a message needs {entry} at least, not {cycle_budget}")
        if cycle_budget > cycles_left:
            refuse(f"cycles: {cycles_left} are left, not {cycle_budget}")
        if cell_budget > cells_left and payload_bytes <= self.meter.cells_left:
            refuse(f"cells: {cells_left} are left, not {cell_budget}")
        return cycle_budget, cell_budget

    @guarded
    def call_actor(
        self,
        target: object,
        handler: object,
        payload: object,
        cycles_limit: object = 100_000,
    ) -> bytes:
        """Call another actor now; its failure is a `RevertError` (D14)."""
        # CHARGE
        self.meter.charge_cycles(costs.CALL_ACTOR)
        # VALIDATE
        callee = expect_address(target, "target")
        name = expect_handler(handler)
        data = expect_bytes(payload, "payload", 0, PAYLOAD_BYTES_MAX)
        limit = expect_int(cycles_limit, "cycles_limit", 0, U64_MAX)
        if self.depth >= CALL_DEPTH_MAX:
            raise HostError(
                HostErrorCode.TooDeep, f"call_actor goes {CALL_DEPTH_MAX} deep at most"
            )
        if not load_account(self.execution.block.journal, callee).is_actor:
            raise HostError(HostErrorCode.NotFound, "target: no actor lives there")
        # CHARGE for size
        self.meter.charge_cells(len(data))
        # EFFECT
        return self.call(self, callee, name, data, limit)

    # --- code --------------------------------------------------------------------

    @guarded
    def upgrade_self(self, code: object) -> None:
        """Give the actor new code once the outermost execution stands (D58).

        What D6 says of a deployment's code is what this costs.
        """
        # CHARGE
        self.meter.charge_cycles(costs.UPGRADE_SELF)
        self.meter.charge_cells(costs.UPGRADE_SELF_CELLS)
        # VALIDATE
        source = expect_bytes(code, "code", 0, CODE_BYTES_MAX)
        # CHARGE for size
        self.meter.charge_cycles(costs.UPGRADE_SELF_PER_BYTE * len(source))
        self.meter.charge_cells(costs.UPGRADE_SELF_CELLS_PER_BYTE * len(source))
        block, code_hash = self.execution.block, Hash32(keccak256(source))
        if load_account(block.journal, self.actor).code_hash == code_hash:
            refuse("code: the actor has this code already")
        try:
            block.code_cache.get(code_hash, source, self.meter.charge_cycles)
        except CompileError:
            # Not its reasons: actors can keep what they catch, in consensus.
            refuse("code: it is not in the actor language; `check` says where")
        # EFFECT
        self.note(CodeReplaced(self.actor, code_hash, source))

    # --- output, events, randomness, signatures ------------------------------------

    def log(self, level: str, parts: Sequence[str]) -> str:
        """Keep what the actor wrote, paid for where it was written (D59)."""
        if self.execution.output is None:
            self.execution.output = OutputLog()
        return self.execution.output.write(self.actor, level, parts)

    @guarded
    def emit_event(self, topic: object, data: object) -> None:
        """Record an event of the actor (D17)."""
        # CHARGE
        self.meter.charge_cycles(costs.EMIT_EVENT)
        # VALIDATE
        name = expect_text(topic, "topic", EVENT_TOPIC_BYTES_MAX)
        content = expect_bytes(data, "data", 0, EVENT_DATA_BYTES_MAX)
        execution = self.execution
        if execution.effects.actor_events >= EVENTS_PER_EXECUTION_MAX:
            refuse(f"an execution emits at most {EVENTS_PER_EXECUTION_MAX} events")
        # CHARGE for size
        self.meter.charge_cycles(costs.EMIT_EVENT_PER_BYTE * len(content))
        self.meter.charge_cells((len(content) + 1) // 2)
        # EFFECT
        event = Event(self.actor, name, content, execution.receipt_index)
        self.note(EventEmitted(event))

    @guarded
    def randomness(self, domain: object) -> bytes:
        """32 reproducible and predictable bytes (D39)."""
        # CHARGE
        self.meter.charge_cycles(costs.RANDOMNESS)
        # VALIDATE
        name = expect_bytes(domain, "domain", 0, PAYLOAD_BYTES_MAX)
        # CHARGE for size
        self.meter.charge_cycles(costs.KECCAK256_PER_WORD * ((len(name) + 31) // 32))
        # EFFECT
        execution = self.execution
        counter = keys.height8(execution.effects.draws)
        self.note(RandomnessDrawn())
        beacon = execution.block.environment.beacon()
        return keccak256(beacon + execution.msg_id() + self.actor + name + counter)

    @guarded
    def verify_secp256k1(
        self, hash_: object, signature: object, address: object
    ) -> bool:
        """Whether `address` signed the hash."""
        # CHARGE
        self.meter.charge_cycles(costs.VERIFY_SECP256K1)
        # VALIDATE
        digest = expect_bytes(hash_, "hash", 32, 32)
        signed = expect_bytes(signature, "signature", 65, 65)
        signer = expect_address(address, "address")
        # EFFECT
        try:
            return recover(digest, signed) == signer
        except BadSignature:
            return False
