"""Transaction and the Instruction union: what a signer asks of the chain (D5).

On the wire a transaction is `body ‖ signature`: the body is deterministic CBOR, one
array; the signature is over keccak256 of the body as transmitted. Decoding is strict:
what does not re-encode to itself is malformed.
"""

from collections.abc import Callable, Sequence
from operator import call

from msgspec import Struct
from msgspec.structs import astuple

from node.chain.errors import InvalidTransaction, TransactionFault
from node.chain.params import (
    ADDRESS_BYTES,
    BODY_BYTES_MAX,
    DEPLOY_CELLS,
    DEPLOY_CELLS_PER_CODE_BYTE,
    DEPLOY_CYCLES,
    DEPLOY_CYCLES_PER_CODE_BYTE,
    HANDLER_BYTES_MAX,
    INTRINSIC_CELLS,
    INTRINSIC_CYCLES,
    STATE_KEY_BYTES_MAX,
    STATE_VALUE_BYTES_MAX,
    TIMER_ID_BYTES_MAX,
    U64_MAX,
    U128_MAX,
    BasefeeConfig,
    BiddingConfig,
    GlobalboxConfig,
    TimerConfig,
)
from node.primitives import codec
from node.primitives.crypto import BadSignature, keccak256, recover
from node.primitives.hex_repr import show_struct
from node.primitives.types import NOTHING, Address, Amount, Hash32, Height

SIGNATURE_BYTES = 65
SALT_BYTES = 32
IMPERSONATION_PREFIX = bytes(45)
"""45 zero bytes ‖ sender20 in place of a signature (D41); no ECDSA r is zero."""


class Transfer(Struct, frozen=True, gc=False):
    """Instruction 1: move base units from the sender to an account."""

    __repr__ = show_struct

    to: Address
    """Address that gets the amount, 20 bytes."""
    amount: int
    """Base units."""


class DeployActor(Struct, frozen=True):
    """Instruction 51: create an actor and run its constructor, `deploy` or `init`."""

    __repr__ = show_struct

    salt: bytes
    """32 bytes that make the address differ (D9)."""
    code: bytes
    """Source of the actor in UTF-8, at most 65,536 bytes."""
    payload: bytes
    """Bytes that the constructor gets."""
    value: int
    """Base units that move to the actor."""


class ExecuteActor(Struct, frozen=True, gc=False):
    """Instruction 230: call a handler of an actor."""

    __repr__ = show_struct

    actor: Address
    """Address of the actor, 20 bytes."""
    handler: str
    """Name of the handler."""
    payload: bytes
    """Bytes that the handler gets."""
    value: int
    """Base units that move to the actor."""


class UpgradeActor(Struct, frozen=True):
    """Instruction 43: give an actor new code, as its owner (CIP-5 §5.4, D58)."""

    __repr__ = show_struct

    actor: Address
    """Address of the actor, 20 bytes."""
    code: bytes
    """Its new source in UTF-8, at most 65,536 bytes."""
    payload: bytes
    """Bytes that the handler `upgrade` of the new code gets."""


class CancelTimer(Struct, frozen=True):
    """Instruction 48: cancel a timer, as a system deployer only (CIP-5 §5.4)."""

    __repr__ = show_struct

    timer_id: bytes


class ExtendTimer(Struct, frozen=True):
    """Instruction 50: extend a timer, as a system deployer only (CIP-5 §5.4)."""

    __repr__ = show_struct

    timer_id: bytes
    new_expires_at: Height


class UpdateTimerConfig(Struct, frozen=True):
    """Instruction 49: replace the whole `TimerConfig` (CIP-5 §6.4, D25)."""

    config: TimerConfig


class UpdateBasefeeConfig(Struct, frozen=True):
    """Instruction 44: replace the whole `BasefeeConfig` (D25)."""

    config: BasefeeConfig


class UpdateGlobalboxConfig(Struct, frozen=True):
    """Instruction 237: replace the whole `GlobalboxConfig` (D56)."""

    config: GlobalboxConfig


class UpdateBiddingConfig(Struct, frozen=True):
    """Instruction 238: replace the whole `BiddingConfig` (D49)."""

    config: BiddingConfig


class ResetWeights(Struct, frozen=True):
    """Instruction 239: all weights of `bidding` are neutral again (D49)."""


class ScheduleActivation(Struct, frozen=True):
    """Instruction 240: put other timer rules in force from a height on (D1)."""

    height: Height
    rules: str
    """A name of the table `RULE_SETS`."""


class Fund(Struct, frozen=True):
    """Instruction 241, on a development chain: mint base units to an account (D41)."""

    __repr__ = show_struct

    to: Address
    amount: int


class SetBalance(Struct, frozen=True):
    """Instruction 242, on a development chain: set a balance (D41)."""

    __repr__ = show_struct

    address: Address
    amount: int


class SetStorage(Struct, frozen=True):
    """Instruction 243, on a development chain: write an actor's state (D58)."""

    __repr__ = show_struct

    actor: Address
    key: bytes
    """As `pvm_host.set_state` takes it, 1 to 256 bytes."""
    value: bytes | None
    """At most 65,536 bytes; None removes the key."""


class SetCode(Struct, frozen=True):
    """Instruction 244, on a development chain: replace an actor's code (D58).

    No handler runs.
    """

    __repr__ = show_struct

    actor: Address
    code: bytes
    """Its new source in UTF-8, at most 65,536 bytes."""


SystemInstruction = (
    CancelTimer
    | ExtendTimer
    | UpdateTimerConfig
    | UpdateBasefeeConfig
    | UpdateBiddingConfig
    | UpdateGlobalboxConfig
    | ResetWeights
    | ScheduleActivation
)
ConfigUpdate = (
    UpdateTimerConfig
    | UpdateBasefeeConfig
    | UpdateBiddingConfig
    | UpdateGlobalboxConfig
)
"""Instructions that replace a configuration as a whole (D25, D49, D56)."""
DevInstruction = Fund | SetBalance | SetStorage | SetCode
_CONFIGS = (
    UpdateTimerConfig, UpdateBasefeeConfig, UpdateBiddingConfig, UpdateGlobalboxConfig,
)  # fmt: skip
DEV_INSTRUCTIONS = (Fund, SetBalance, SetStorage, SetCode)
"""As `isinstance` takes them: a union would be made anew each time."""
Instruction = (
    Transfer
    | DeployActor
    | ExecuteActor
    | UpgradeActor
    | SystemInstruction
    | DevInstruction
)


class Body(Struct, frozen=True, gc=False):
    """What a sender signs; fees are base units for one cycle or cell."""

    chain_id: int
    nonce: int
    cycles_limit: int
    cells_limit: int
    max_fee_per_cycle: int
    max_priority_fee_per_cycle: int
    max_fee_per_cell: int
    max_priority_fee_per_cell: int
    instruction: Instruction

    def encode(self) -> bytes:
        """The body as it is transmitted and signed."""
        return codec.encode(
            [
                self.chain_id,
                self.nonce,
                self.cycles_limit,
                self.cells_limit,
                self.max_fee_per_cycle,
                self.max_priority_fee_per_cycle,
                self.max_fee_per_cell,
                self.max_priority_fee_per_cell,
                instruction_fields(self.instruction),
            ]
        )


def intrinsic_cost(body: Body, body_bytes: int) -> tuple[int, int]:
    """Cycles and cells that a transaction costs before anything executes (D6, D58)."""
    cycles = INTRINSIC_CYCLES
    cells = INTRINSIC_CELLS + body_bytes
    if isinstance(body.instruction, DeployActor | UpgradeActor):
        code_bytes = len(body.instruction.code)
        cycles += DEPLOY_CYCLES + DEPLOY_CYCLES_PER_CODE_BYTE * code_bytes
        cells += DEPLOY_CELLS + DEPLOY_CELLS_PER_CODE_BYTE * code_bytes
    return cycles, cells


class Transaction(Struct, frozen=True, gc=False):
    """A decoded transaction with its sender recovered."""

    body: Body
    sender: Address
    id: Hash32
    raw: bytes
    """body ‖ signature, as transmitted."""
    is_impersonated: bool
    intrinsic_cycles: int
    """What it costs before anything executes (D6)."""
    intrinsic_cells: int

    @property
    def instruction(self) -> Instruction:
        """What is asked."""
        return self.body.instruction

    @property
    def body_bytes(self) -> int:
        """Length of the body: one cell each (D6)."""
        return len(self.raw) - SIGNATURE_BYTES

    @property
    def amount(self) -> Amount:
        """Base units that leave the sender beside fees."""
        match self.body.instruction:
            case Transfer(amount=amount):
                return Amount(amount)
            case DeployActor(value=value) | ExecuteActor(value=value):
                return Amount(value)
            case _:
                return NOTHING

    @property
    def is_dev(self) -> bool:
        """Whether it is a development instruction: no fee, no lane (D41)."""
        return isinstance(self.body.instruction, DEV_INSTRUCTIONS)


def make_transaction(
    body: Body, sender: Address, raw: bytes, *, is_impersonated: bool
) -> Transaction:
    """The transaction of bytes that were read; what follows from them is found once."""
    cycles, cells = intrinsic_cost(body, len(raw) - SIGNATURE_BYTES)
    id_ = Hash32(keccak256(raw))
    return Transaction(body, sender, id_, raw, is_impersonated, cycles, cells)


NUMBERS: dict[type, int] = {
    Transfer: 1,
    UpgradeActor: 43,
    UpdateBasefeeConfig: 44,
    CancelTimer: 48,
    UpdateTimerConfig: 49,
    ExtendTimer: 50,
    DeployActor: 51,
    ExecuteActor: 230,
    UpdateGlobalboxConfig: 237,
    UpdateBiddingConfig: 238,
    ResetWeights: 239,
    ScheduleActivation: 240,
    Fund: 241,
    SetBalance: 242,
    SetStorage: 243,
    SetCode: 244,
}
"""Instruction numbers on the wire (D5); from 230 on they are ours."""


def instruction_fields(instruction: Instruction) -> list[codec.Value]:
    """`[number, fields…]`; a config is one array of all its fields (D5)."""
    number = NUMBERS[type(instruction)]
    if isinstance(instruction, _CONFIGS):
        config = [
            list(v) if isinstance(v, tuple) else v for v in astuple(instruction.config)
        ]
        return [number, config]
    return [number, *astuple(instruction)]


def signing_hash(body: bytes) -> Hash32:
    """What a signer signs."""
    return Hash32(keccak256(body))


def impersonate(body: bytes, sender: Address) -> bytes:
    """The raw transaction that a devnet accepts as sent by `sender` (D41)."""
    return body + IMPERSONATION_PREFIX + sender


def impersonated(body: Body, sender: Address) -> Transaction:
    """The transaction of a body that a devnet takes as sent by `sender` (D41).

    What `decode_transaction` makes of its bytes, without reading them.

    Raises:
        InvalidTransaction: MALFORMED or TOO_LARGE, as of the bytes.
    """
    *values, instruction = astuple(body)
    fields = instruction_fields(instruction)
    raw = impersonate(codec.encode([*values, fields]), sender)
    _refuse_long(raw)
    numbers = _require_numbers(values)
    read = Body(*numbers, instruction=_decode_instruction(fields))  # type: ignore[arg-type, misc]
    return make_transaction(read, sender, raw, is_impersonated=True)


def _refuse_long(raw: bytes) -> None:
    if len(raw) > BODY_BYTES_MAX + SIGNATURE_BYTES:
        raise InvalidTransaction(
            TransactionFault.TOO_LARGE,
            f"a transaction's body has at most {BODY_BYTES_MAX} bytes",
            {"bytes": len(raw), "bytes_max": BODY_BYTES_MAX + SIGNATURE_BYTES},
        )


def decode_transaction(raw: bytes) -> Transaction:
    """Decode and recover the sender.

    Raises:
        InvalidTransaction: MALFORMED, TOO_LARGE or BAD_SIGNATURE.
    """
    _refuse_long(raw)
    if len(raw) <= SIGNATURE_BYTES:
        raise _malformed("a transaction is its body followed by 65 signature bytes")
    body_bytes, signature = raw[:-SIGNATURE_BYTES], raw[-SIGNATURE_BYTES:]
    body = decode_body(body_bytes)
    is_impersonated = signature.startswith(IMPERSONATION_PREFIX)
    if is_impersonated:
        sender = Address(signature[len(IMPERSONATION_PREFIX) :])
    else:
        try:
            sender = recover(signing_hash(body_bytes), signature)
        except BadSignature as error:
            raise InvalidTransaction(
                TransactionFault.BAD_SIGNATURE, f"the signature is refused: {error}"
            ) from None
    return make_transaction(body, sender, raw, is_impersonated=is_impersonated)


def decode_body(data: bytes) -> Body:
    """Decode a body.

    Raises:
        InvalidTransaction: MALFORMED, with the place.
    """
    try:
        items = codec.decode(data)
    except codec.MalformedCbor as error:
        raise _malformed(f"the body is not canonical CBOR: {error}") from None
    if not isinstance(items, list) or len(items) != 9:  # noqa: PLR2004 - D5
        raise _malformed("the body is an array of nine fields")
    numbers = _require_numbers(items[:8])
    return Body(*numbers, instruction=_decode_instruction(items[8]))  # type: ignore[arg-type, misc]


def _require_numbers(values: Sequence[object]) -> list[int]:
    """The numbers of a body, in order, each within its bounds."""
    numbers = [value for value in values if type(value) is int]
    is_whole = len(numbers) == len(_NAMES) and min(numbers) >= 0
    if is_whole and max(numbers) <= U64_MAX:  # which is within every bound
        return numbers
    return [
        _uint(value, maximum, name)
        for value, maximum, name in zip(values, _MAXIMA, _NAMES, strict=True)
    ]


_NAMES = (
    "chain_id",
    "nonce",
    "cycles_limit",
    "cells_limit",
    "max_fee_per_cycle",
    "max_priority_fee_per_cycle",
    "max_fee_per_cell",
    "max_priority_fee_per_cell",
)
_MAXIMA = (U64_MAX,) * 4 + (U128_MAX,) * 4


def _malformed(message: str) -> InvalidTransaction:
    return InvalidTransaction(TransactionFault.MALFORMED, message)


def _uint(value: object, maximum: int, name: str) -> int:
    if type(value) is not int or not 0 <= value <= maximum:
        raise _no_uint(maximum, name)
    return value


def _no_uint(maximum: int, name: str) -> InvalidTransaction:
    return _malformed(f"{name} is an integer from 0 to {maximum}")


def _u64(value: object, name: str) -> int:
    return _uint(value, U64_MAX, name)


def _amount(value: object, name: str) -> Amount:
    if type(value) is not int or not 0 <= value <= U128_MAX:
        raise _no_uint(U128_MAX, name)
    return Amount(value)


def _bytes(value: object, name: str) -> bytes:
    if type(value) is not bytes:
        raise _malformed(f"{name} is a byte string")
    return value


def _address(value: object, name: str) -> Address:
    if type(value) is not bytes or len(value) != ADDRESS_BYTES:
        raise _malformed(f"{name} is an address of 20 bytes")
    return Address(value)


def _salt(value: object, name: str) -> bytes:
    data = _bytes(value, name)
    if len(data) != SALT_BYTES:
        raise _malformed(f"{name} has 32 bytes")
    return data


def _timer_id(value: object, name: str) -> bytes:
    data = _bytes(value, name)
    if not 1 <= len(data) <= TIMER_ID_BYTES_MAX:
        raise _malformed(f"{name} has 1 to {TIMER_ID_BYTES_MAX} bytes")
    return data


def _state_key(value: object, name: str) -> bytes:
    data = _bytes(value, name)
    if not 1 <= len(data) <= STATE_KEY_BYTES_MAX:
        raise _malformed(f"{name} has 1 to {STATE_KEY_BYTES_MAX} bytes")
    return data


def _state_value(value: object, name: str) -> bytes | None:
    data = None if value is None else _bytes(value, name)
    if data is not None and len(data) > STATE_VALUE_BYTES_MAX:
        raise _malformed(f"{name} has at most {STATE_VALUE_BYTES_MAX} bytes")
    return data


def _text(value: object, name: str) -> str:
    if type(value) is not str or len(value.encode()) > HANDLER_BYTES_MAX:
        raise _malformed(f"{name} is a text of at most {HANDLER_BYTES_MAX} bytes")
    return value


def _timer_config(value: object, name: str) -> TimerConfig:
    width = len(TimerConfig.__struct_fields__)
    if type(value) is not list or len(value) != width:
        raise _malformed(f"{name} is an array of {width} fields")
    multipliers = value[8]
    if type(multipliers) is not list or len(multipliers) != 4:  # noqa: PLR2004
        raise _malformed(f"{name}: tier_multipliers_permille is an array of four")
    numbers = [_u64(v, name) for v in (*value[:8], *value[9:])]
    tiers = tuple(_u64(v, name) for v in multipliers)
    return TimerConfig(*numbers[:8], tiers, *numbers[8:])  # type: ignore[arg-type, call-arg]


_Reader = Callable[[object, str], object]


_Numbers = BasefeeConfig | BiddingConfig | GlobalboxConfig


def _numbers(
    kind: type[_Numbers], number: Callable[[object, str], int] = _u64
) -> _Reader:
    """What reads a config of numbers alone: one array of all its fields."""

    def read(value: object, name: str) -> _Numbers:
        width = len(kind.__struct_fields__)
        if type(value) is not list or len(value) != width:
            raise _malformed(f"{name} is an array of {width} fields")
        return kind(*[number(v, name) for v in value])

    return read


_INSTRUCTIONS: dict[int, tuple[type[Instruction], dict[str, _Reader]]] = {
    1: (Transfer, {"to": _address, "amount": _amount}),
    43: (UpgradeActor, {"actor": _address, "code": _bytes, "payload": _bytes}),
    44: (UpdateBasefeeConfig, {"config": _numbers(BasefeeConfig)}),
    48: (CancelTimer, {"timer_id": _timer_id}),
    49: (UpdateTimerConfig, {"config": _timer_config}),
    50: (ExtendTimer, {"timer_id": _timer_id, "new_expires_at": _u64}),
    51: (
        DeployActor,
        {"salt": _salt, "code": _bytes, "payload": _bytes, "value": _amount},
    ),
    230: (
        ExecuteActor,
        {"actor": _address, "handler": _text, "payload": _bytes, "value": _amount},
    ),
    237: (UpdateGlobalboxConfig, {"config": _numbers(GlobalboxConfig, _amount)}),
    238: (UpdateBiddingConfig, {"config": _numbers(BiddingConfig)}),
    239: (ResetWeights, {}),
    240: (ScheduleActivation, {"height": _u64, "rules": _text}),
    241: (Fund, {"to": _address, "amount": _amount}),
    242: (SetBalance, {"address": _address, "amount": _amount}),
    243: (SetStorage, {"actor": _address, "key": _state_key, "value": _state_value}),
    244: (SetCode, {"actor": _address, "code": _bytes}),
}


def _decode_instruction(items: object) -> Instruction:
    if type(items) is not list or not items:
        raise _malformed("instruction is an array that begins with its number")
    number, *values = items
    if type(number) is not int or number not in _INSTRUCTIONS:
        number = _u64(number, "instruction number")
        raise _malformed(f"instruction {number} is unknown")
    kind, readers = _INSTRUCTIONS[number]
    if len(values) != len(readers):
        raise _malformed(f"instruction {number} has {len(readers)} fields")
    return kind(*map(call, readers.values(), values, readers))  # type: ignore[arg-type]
