"""Protobuf → domain: what a caller sent, taken as what it says, or refused.

A refusal names the field and what it takes. `convert` goes the other way; no protobuf
message passes these two.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal, Protocol

from msgspec import Struct

from node import query
from node.chain.advance import (
    BlockCount,
    Duration,
    NextTimer,
    Target,
    ToHeight,
    UntilIdle,
)
from node.chain.params import (
    ADDRESS_BYTES,
    HANDLER_BYTES_MAX,
    STATE_KEY_BYTES_MAX,
    STATE_VALUE_BYTES_MAX,
    TIMER_ID_BYTES_MAX,
    U128_MAX,
    BasefeeConfig,
    BiddingConfig,
    GlobalboxConfig,
    TimerConfig,
)
from node.chain.timers.timer import Decision, TimerKind
from node.chain.transaction import (
    SALT_BYTES,
    CancelTimer,
    DeployActor,
    ExecuteActor,
    ExtendTimer,
    Fund,
    Instruction,
    ResetWeights,
    ScheduleActivation,
    SetBalance,
    SetCode,
    SetStorage,
    Transfer,
    UpdateBasefeeConfig,
    UpdateBiddingConfig,
    UpdateGlobalboxConfig,
    UpdateTimerConfig,
    UpgradeActor,
)
from node.chain.transition import State
from node.primitives.types import Address, Amount, Hash32, Height
from node.query import Proof
from node.rpc.convert import ENDS, KINDS, MODES
from node.rpc.v1 import dev_pb2, queries_pb2, timers_pb2, types_pb2
from node.runtime.types import MiningMode, UnknownTransaction
from node.state import keys
from pvm.runtime.storage import STORAGE_PREFIX

_HASH_BYTES = 32
_AMOUNT_DIGITS_MAX = len(str(U128_MAX))


class MalformedRequest(Exception):  # noqa: N818 - a refusal, named like the others
    """The bytes of a request are not the message that its method takes."""


class InvalidRequest(Exception):  # noqa: N818 - a refusal, named like the others
    """A request says something that no request may say."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field} {message}")
        self.field = field


class _Heights(Protocol):
    """A request with optional `from_height` and `to_height`."""

    from_height: int
    to_height: int

    def HasField(self, field_name: Literal["from_height", "to_height"], /) -> bool:
        """Whether an optional field is set."""
        ...


class _StorageKey(Protocol):
    """A message with the oneof `key` of a storage entry."""

    raw: bytes
    name: str

    def WhichOneof(
        self, oneof_group: Literal["key"], /
    ) -> Literal["raw", "name"] | None:
        """Which of them is set."""
        ...


def parse_address(data: bytes, field: str) -> Address:
    """An address of 20 bytes.

    Raises:
        InvalidRequest: It has another length.
    """
    if len(data) != ADDRESS_BYTES:
        raise InvalidRequest(field, f"is an address of 20 bytes, not {len(data)}")
    return Address(data)


def parse_hash(data: bytes, field: str) -> Hash32:
    """A hash or id of 32 bytes.

    Raises:
        InvalidRequest: It has another length.
    """
    if len(data) != _HASH_BYTES:
        raise InvalidRequest(field, f"has 32 bytes, not {len(data)}")
    return Hash32(data)


def target_from_proto(request: dev_pb2.AdvanceRequest, head: Height) -> Target:
    """Where to advance to.

    Raises:
        InvalidRequest: No target, `next_timer` false, or `until_idle` without a bound.
    """
    match request.WhichOneof("target"):
        case "blocks":
            return BlockCount(request.blocks)
        case "height":
            return ToHeight(request.height)
        case "duration_ms":
            return Duration(request.duration_ms)
        case "next_timer" if request.next_timer:
            return NextTimer()
        case "until_idle" if request.until_idle.WhichOneof("bound") is not None:
            bound = request.until_idle
            return UntilIdle(bound.height_max or head + bound.blocks_max)
        case "until_idle":
            raise InvalidRequest("until_idle", "needs height_max or blocks_max")
        case _:
            raise InvalidRequest(
                "target",
                "is one of blocks, height, duration_ms, next_timer: true, until_idle",
            )


def parse_storage_key(request: _StorageKey) -> bytes:
    """The raw key of an entry of an actor's state.

    Raises:
        InvalidRequest: There is none, or it is too long.
    """
    match request.WhichOneof("key"):
        case "raw":
            key = request.raw
        case "name":
            key = STORAGE_PREFIX + request.name.encode()
        case _:
            raise InvalidRequest("key", "is a raw key or a name: set one")
    if not 1 <= len(key) <= STATE_KEY_BYTES_MAX:
        raise InvalidRequest("key", f"has 1 to {STATE_KEY_BYTES_MAX} bytes")
    return key


def proof_from_proto(request: queries_pb2.GetProofRequest) -> Callable[[State], Proof]:
    """What is to be proven of a state.

    Raises:
        InvalidRequest: No subject, or one that is malformed.
    """
    match request.WhichOneof("subject"):
        case "account":
            address = parse_address(request.account, "account")
            return partial(query.prove_account, address=address)
        case "storage":
            actor = parse_address(request.storage.actor, "actor")
            key = parse_storage_key(request.storage)
            return partial(query.prove_storage, actor=actor, key=key)
        case "timer_id":
            timer_id = parse_timer_id(request.timer_id, "timer_id")
            return partial(query.prove_timer, timer_id=timer_id)
        case "due" | "queue":
            return _range_proof_from_proto(request)
        case _:
            return _receipt_proof_from_proto(request)


def _range_proof_from_proto(
    request: queries_pb2.GetProofRequest,
) -> Callable[[State], Proof]:
    if request.HasField("queue"):
        first_order, last_order = _parse_orders(request.queue)
        return partial(query.prove_queue, first=first_order, last=last_order)
    first, last = request.due.first_height, request.due.last_height
    if first > last:
        raise InvalidRequest("due", f"ends at {last}, before its first height, {first}")
    return partial(query.prove_due, first=first, last=last)


def _receipt_proof_from_proto(
    request: queries_pb2.GetProofRequest,
) -> Callable[[State], Proof]:
    match request.WhichOneof("subject"):
        case "receipt":
            place = request.receipt
            return partial(query.prove_receipt, height=place.height, index=place.index)
        case "transaction_id":
            wanted = parse_hash(request.transaction_id, "transaction_id")
            return partial(_prove_transaction, wanted)
        case _:
            raise InvalidRequest(
                "subject",
                "is one of account, storage, timer_id, due, receipt, transaction_id, "
                "queue",
            )


def _parse_orders(message: queries_pb2.QueueRange) -> tuple[bytes, bytes]:
    """Both ends of a range of the Globalbox; what is not said is its end."""
    width = keys.FIRE_ORDER_BYTES
    first = message.first_order or bytes(width)
    last = message.last_order or b"\xff" * width
    if not len(first) == len(last) == width:
        raise InvalidRequest("queue", f"has orders of {width} bytes")
    if first > last:
        raise InvalidRequest("queue", "ends before its first order")
    return first, last


def _prove_transaction(transaction_id: Hash32, state: State) -> Proof:
    found = query.prove_transaction(state, transaction_id)
    if found is None:
        raise UnknownTransaction(
            f"transaction 0x{transaction_id.hex()} is not in a block"
        )
    return found


def parse_timer_id(data: bytes, field: str) -> bytes:
    """A timer's id, as an instruction may carry it.

    Raises:
        InvalidRequest: It is empty or too long.
    """
    if not 1 <= len(data) <= TIMER_ID_BYTES_MAX:
        raise InvalidRequest(field, f"has 1 to {TIMER_ID_BYTES_MAX} bytes")
    return data


class TransactionDraft(Struct, frozen=True):
    """A body that the node is to complete; None is what it fills in."""

    sender: Address
    instruction: Instruction
    nonce: int | None
    cycles_limit: int | None
    cells_limit: int | None
    max_fee_per_cycle: Amount | None
    max_priority_fee_per_cycle: Amount
    max_fee_per_cell: Amount | None
    max_priority_fee_per_cell: Amount


def draft_from_proto(message: types_pb2.Draft) -> TransactionDraft:
    """A body that the node is to complete.

    Raises:
        InvalidRequest: One of its fields is malformed, or sender or instruction lack.
    """

    def optional(name: Literal["nonce", "cycles_limit", "cells_limit"]) -> int | None:
        return int(getattr(message, name)) if message.HasField(name) else None

    def fee(name: str, text: str) -> Amount | None:
        return parse_amount(text, f"draft.{name}") if text else None

    return TransactionDraft(
        parse_address(message.sender, "draft.sender"),
        instruction_from_proto(message.instruction, "draft.instruction"),
        optional("nonce"),
        optional("cycles_limit"),
        optional("cells_limit"),
        fee("max_fee_per_cycle", message.max_fee_per_cycle),
        fee("max_priority_fee_per_cycle", message.max_priority_fee_per_cycle)
        or Amount(0),
        fee("max_fee_per_cell", message.max_fee_per_cell),
        fee("max_priority_fee_per_cell", message.max_priority_fee_per_cell)
        or Amount(0),
    )


def parse_handler(name: str, field: str) -> str:
    """A handler's name.

    Raises:
        InvalidRequest: It is too long.
    """
    if len(name.encode()) > HANDLER_BYTES_MAX:
        raise InvalidRequest(field, f"has at most {HANDLER_BYTES_MAX} bytes")
    return name


def parse_amount(text: str, field: str, default: int | None = None) -> Amount:
    """Base units from a decimal string; an empty one is `default`, where there is one.

    Raises:
        InvalidRequest: It is no decimal number below 2^128.
    """
    if not text and default is not None:
        return Amount(default)
    is_decimal = text.isascii() and text.isdecimal()
    if not is_decimal or len(text) > _AMOUNT_DIGITS_MAX or int(text) > U128_MAX:
        raise InvalidRequest(
            field, "is a decimal string of base units from 0 to 2^128 - 1"
        )
    return Amount(int(text))


def instruction_from_proto(message: types_pb2.Instruction, field: str) -> Instruction:
    """What a transaction is to ask.

    Raises:
        InvalidRequest: It is absent, or one of its fields is malformed.
    """
    match message.WhichOneof("kind"):
        case "transfer":
            return Transfer(
                parse_address(message.transfer.to, f"{field}.transfer.to"),
                parse_amount(message.transfer.amount, f"{field}.transfer.amount"),
            )
        case "deploy_actor" | "upgrade_actor":
            return _code_from_proto(message, field)
        case "execute_actor":
            return _call_from_proto(message.execute_actor, f"{field}.execute_actor")
        case "fund" | "set_balance" | "set_storage" | "set_code":
            return _dev_instruction_from_proto(message, field)
        case _:
            return _system_instruction_from_proto(message, field)


def _dev_instruction_from_proto(
    message: types_pb2.Instruction, field: str
) -> Instruction:
    match message.WhichOneof("kind"):
        case "fund":
            return Fund(
                parse_address(message.fund.to, f"{field}.fund.to"),
                parse_amount(message.fund.amount, f"{field}.fund.amount"),
            )
        case "set_balance":
            wanted = message.set_balance
            return SetBalance(
                parse_address(wanted.address, f"{field}.set_balance.address"),
                parse_amount(wanted.amount, f"{field}.set_balance.amount"),
            )
        case "set_storage":
            return set_storage_from_proto(message.set_storage, f"{field}.set_storage.")
        case _:
            actor = parse_address(message.set_code.actor, f"{field}.set_code.actor")
            return SetCode(actor, message.set_code.code)


def set_storage_from_proto(
    message: types_pb2.SetStorage | dev_pb2.SetStorageRequest, prefix: str = ""
) -> SetStorage:
    """What is to be written into an actor's state.

    Raises:
        InvalidRequest: The address is none, or key or value are too long.
    """
    actor = parse_address(message.actor, f"{prefix}actor")
    if not 1 <= len(message.key) <= STATE_KEY_BYTES_MAX:
        raise InvalidRequest(f"{prefix}key", f"has 1 to {STATE_KEY_BYTES_MAX} bytes")
    if len(message.value) > STATE_VALUE_BYTES_MAX:
        reason = f"has at most {STATE_VALUE_BYTES_MAX} bytes"
        raise InvalidRequest(f"{prefix}value", reason)
    value = message.value if message.HasField("value") else None
    return SetStorage(actor, message.key, value)


def _code_from_proto(
    message: types_pb2.Instruction, field: str
) -> DeployActor | UpgradeActor:
    if message.HasField("upgrade_actor"):
        upgrade = message.upgrade_actor
        actor = parse_address(upgrade.actor, f"{field}.upgrade_actor.actor")
        return UpgradeActor(actor, upgrade.code, upgrade.payload)
    deployment, name = message.deploy_actor, f"{field}.deploy_actor"
    salt = deployment.salt or bytes(SALT_BYTES)
    if len(salt) != SALT_BYTES:
        raise InvalidRequest(f"{name}.salt", "has 32 bytes, or none")
    return DeployActor(
        salt,
        deployment.code,
        deployment.payload,
        parse_amount(deployment.value, f"{name}.value", 0),
    )


def _call_from_proto(message: types_pb2.ExecuteActor, field: str) -> ExecuteActor:
    return ExecuteActor(
        parse_address(message.actor, f"{field}.actor"),
        parse_handler(message.handler, f"{field}.handler"),
        message.payload,
        parse_amount(message.value, f"{field}.value", 0),
    )


def _system_instruction_from_proto(
    message: types_pb2.Instruction, field: str
) -> Instruction:
    match message.WhichOneof("kind"):
        case "cancel_timer":
            timer_id = message.cancel_timer.timer_id
            return CancelTimer(parse_timer_id(timer_id, f"{field}.timer_id"))
        case "extend_timer":
            timer_id = message.extend_timer.timer_id
            return ExtendTimer(
                parse_timer_id(timer_id, f"{field}.timer_id"),
                Height(message.extend_timer.new_expires_at),
            )
        case "reset_weights":
            return ResetWeights()
        case "schedule_activation":
            rules = message.schedule_activation.rules
            return ScheduleActivation(
                Height(message.schedule_activation.height),
                parse_handler(rules, f"{field}.rules"),
            )
        case _:
            return _config_update_from_proto(message, field)


def _config_update_from_proto(
    message: types_pb2.Instruction, field: str
) -> Instruction:
    match message.WhichOneof("kind"):
        case "update_timer_config":
            return UpdateTimerConfig(
                _timer_config_from_proto(message.update_timer_config.config)
            )
        case "update_basefee_config":
            return UpdateBasefeeConfig(
                _basefee_config_from_proto(message.update_basefee_config.config)
            )
        case "update_bidding_config":
            return UpdateBiddingConfig(
                _bidding_config_from_proto(message.update_bidding_config.config)
            )
        case "update_globalbox_config":
            config = message.update_globalbox_config.config
            return UpdateGlobalboxConfig(
                _globalbox_config_from_proto(config, f"{field}.config")
            )
        case _:
            raise InvalidRequest(field, "says what the transaction asks: set a kind")


def _timer_config_from_proto(message: types_pb2.TimerConfig) -> TimerConfig:
    # The chain judges the numbers (D25); their order here is that of the fields.
    return TimerConfig(
        message.max_ttl_blocks,
        message.max_cycles_per_fire,
        message.max_cells_per_fire,
        message.max_timers_per_actor,
        message.gc_cycles_per_block,
        message.lane_timer_cycles,
        message.max_cycles_per_fire_auction,
        message.fairness_window_blocks,
        tuple(message.tier_multipliers_permille),
        message.max_due_examined,
        message.lane_gba_cycles,
        message.fire_base_cycles,
    )


def _basefee_config_from_proto(message: types_pb2.BasefeeConfig) -> BasefeeConfig:
    return BasefeeConfig(
        message.target_cycles,
        message.target_cells,
        message.alpha,
        message.denom,
        message.min_basefee,
    )


def _bidding_config_from_proto(message: types_pb2.BiddingConfig) -> BiddingConfig:
    return BiddingConfig(
        message.lambda_permille,
        message.weight_min,
        message.weight_max,
        message.starvation_floor,
    )


def _globalbox_config_from_proto(
    message: types_pb2.GlobalboxConfig, field: str
) -> GlobalboxConfig:
    return GlobalboxConfig(
        message.max_fires_per_block,
        message.max_fires_per_target,
        message.max_timers_per_target,
        parse_amount(message.w_age, f"{field}.w_age", 0),
        message.w_bid,
        message.min_gas_limit,
        parse_amount(message.min_bid_fp, f"{field}.min_bid_fp", 0),
        parse_amount(message.max_bid_fp, f"{field}.max_bid_fp", 0),
        message.max_watch_keys,
        message.max_hits_per_block,
        message.max_payload,
    )


def mining_mode_from_proto(
    value: "queries_pb2.MiningMode.ValueType", field: str
) -> MiningMode:
    """A mining mode.

    Raises:
        InvalidRequest: Unspecified or unknown.
    """
    for mode, number in MODES.items():
        if number == value:
            return mode
    raise InvalidRequest(field, "is INTERVAL, INSTANT or MANUAL")


def parse_end(
    status: "timers_pb2.TimerStatus.ValueType", field: str
) -> Decision | None:
    """The exit that a filter asks for; None for pending timers.

    Raises:
        InvalidRequest: The status is unknown.
    """
    if status in (
        timers_pb2.TIMER_STATUS_UNSPECIFIED,
        timers_pb2.TIMER_STATUS_PENDING,
    ):
        return None
    for decision, number in ENDS.items():
        if number == status:
            return decision
    raise InvalidRequest(field, "is no status of a timer")


def parse_kind(kind: "timers_pb2.TimerKind.ValueType", field: str) -> TimerKind | None:
    """What a filter says makes a timer fire; None for either.

    Raises:
        InvalidRequest: The kind is unknown.
    """
    if kind == timers_pb2.TIMER_KIND_UNSPECIFIED:
        return None
    for known, number in KINDS.items():
        if number == kind:
            return known
    raise InvalidRequest(field, "is no kind of a timer")


def parse_count(count: int, field: str, default: int, maximum: int) -> int:
    """A number of entries; 0 stands for the default.

    Raises:
        InvalidRequest: It is above the maximum.
    """
    if count > maximum:
        raise InvalidRequest(field, f"is at most {maximum}, not {count}")
    return count or default


def parse_heights(request: _Heights, usual: tuple[int, int]) -> tuple[int, int]:
    """The first and the last height of a range, with what is meant by absent ones.

    Raises:
        InvalidRequest: The last is below the first.
    """
    first, last = query.within(
        request.from_height if request.HasField("from_height") else None,
        request.to_height if request.HasField("to_height") else None,
        usual,
    )
    if last < first:
        raise InvalidRequest("to_height", f"is at least from_height, {first}")
    return first, last


def parse_buckets(count: int) -> int:
    """Into how many buckets a range of heights is cut at the most.

    Raises:
        InvalidRequest: It is above the maximum.
    """
    return parse_count(count, "buckets", query.BUCKETS_DEFAULT, query.BUCKETS_MAX)
