"""Writes tests/vectors: golden values for SDK authors in other languages.

What these files say is consensus: a changed vector is a changed protocol. They hold no
price of the actor language, so no transition in them executes an actor.

Byte strings are hexadecimal; integers that may exceed 2^53 are decimal strings.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from auction_vectors import auction_vectors
from bidding_vectors import bidding_vectors
from chain_vectors import (
    SALT,
    THERE,
    Json,
    body_of,
    genesis_vectors,
    signed,
    transition_vectors,
)
from coincurve import PrivateKey
from consensus_number import MODULE, write_number
from globalbox_vectors import globalbox_vectors
from proof_vectors import proof_vectors

from node.chain.block import ReceiptKind
from node.chain.errors import InvalidTransaction
from node.chain.fees import next_basefee
from node.chain.genesis import dev_account
from node.chain.globals import derive_beacon
from node.chain.params import (
    BasefeeConfig,
    BiddingConfig,
    GlobalboxConfig,
    TimerConfig,
)
from node.chain.timers.timer import derive_timer_id
from node.chain.transaction import (
    Body,
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
    decode_transaction,
    impersonate,
    instruction_fields,
    signing_hash,
)
from node.primitives import codec
from node.primitives.crypto import (
    blake2b256,
    derive_actor_address,
    dev_private_key,
    keccak256,
)
from node.primitives.types import Amount, Height
from pvm import Worker

FOLDER = Path(__file__).parents[1] / "tests" / "vectors"


# --- encodings -----------------------------------------------------------------------


def describe(value: object) -> Json:
    """A value of the codec as JSON: each type under its name."""
    if isinstance(value, list):
        return [describe(item) for item in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return {"map": [[describe(k), describe(v)] for k, v in value.items()]}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    return {"text": value} if isinstance(value, str) else {"int": str(value)}


def codec_vectors() -> Json:
    """Values and their only form; bytes that are no value's."""
    integers = [0, 1, 23, 24, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32]
    values: list[object] = [
        *integers,
        *(2**64 - 1, 2**64, 2**128 - 1, -1, -24, -25, -(2**64), -(2**64) - 1),
        *(b"", b"\x00", bytes(24), "", "a", "é", "\U0001f404", True, False, None),
        *([], [1, [2, [b"3"]]], {}, {"b": 1, "a": 2, "aa": 3, 10: 4, -1: 5, b"k": 6}),
    ]
    refused = {
        "a head longer than it need be": "1801",
        "an indefinite array": "9fff",
        "a float": "f90000",
        "undefined": "f7",
        "a tag other than 2 and 3": "c100",
        "a bignum that fits 64 bits": "c248ffffffffffffffff",
        "a bignum with a leading zero": "c24900ffffffffffffffff",
        "keys out of order": "a2616201616101",
        "a key twice": "a2616101616102",
        "text that is not UTF-8": "61ff",
        "bytes left over": "0000",
        "nothing": "",
        "an early end": "8201",
    }
    return {
        "values": [
            {"value": describe(value), "encoding": codec.encode(value).hex()}
            for value in values
        ],
        "refused": [{"encoding": h, "why": why} for why, h in refused.items()],
    }


def hash_vectors() -> Json:
    """keccak256 and blake2b-256 of a few inputs."""
    inputs = [b"", b"abc", bytes(32), bytes(range(136)), bytes(1_000)]
    return [
        {
            "input": data.hex(),
            "keccak256": keccak256(data).hex(),
            "blake2b256": blake2b256(data).hex(),
        }
        for data in inputs
    ]


def address_vectors() -> Json:
    """D42's keys with the addresses of D5, and D9's of actors."""
    keys = [dev_private_key(i) for i in range(11)]
    codes = [b"", b"x = 1\n"]
    return {
        "accounts": [
            {
                "index": i,
                "private_key": key.hex(),
                "public_key": PrivateKey(key).public_key.format(compressed=False).hex(),
                "address": dev_account(i).hex(),
            }
            for i, key in enumerate(keys)
        ],
        "actors": [
            {
                "deployer": dev_account(i).hex(),
                "salt": salt.hex(),
                "code": code.hex(),
                "address": derive_actor_address(
                    dev_account(i), salt, keccak256(code)
                ).hex(),
            }
            for i, salt in enumerate([bytes(32), SALT])
            for code in codes
        ],
    }


def id_vectors() -> Json:
    """Timer ids (D19), message ids (D13), beacons (D39)."""
    timers = [(0, 1, b"", 0), (0, 1, b"", 1), (1, 2**64 - 1, b"payload", 2**32)]
    executions = [
        (kind, height, 3) for kind in list(ReceiptKind) for height in (1, 2**40)
    ]
    return {
        "timers": [
            {
                "actor": dev_account(i).hex(),
                "height": str(height),
                "payload": payload.hex(),
                "nonce": str(nonce),
                "timer_id": derive_timer_id(
                    dev_account(i), Height(height), payload, nonce
                ).hex(),
            }
            for i, height, payload, nonce in timers
        ],
        "messages": [
            {
                "kind": kind.name,
                "kind_byte": int(kind),
                "height": str(height),
                "index": index,
                "msg_id": keccak256(
                    bytes([kind]) + height.to_bytes(8, "big") + index.to_bytes(8, "big")
                ).hex(),
            }
            for kind, height, index in executions
        ],
        "beacons": [
            {
                "chain_id": chain_id,
                "height": str(height),
                "beacon": derive_beacon(chain_id, height).hex(),
            }
            for chain_id in (100, 101)
            for height in (0, 1, 2**40)
        ],
    }


# --- transactions --------


INSTRUCTIONS: tuple[Instruction, ...] = (
    Transfer(THERE, Amount(2**100)),
    DeployActor(SALT, b"x = 1\n", b"payload", Amount(5)),
    ExecuteActor(THERE, "handler", b"payload", Amount(0)),
    CancelTimer(bytes(32)),
    ExtendTimer(bytes(32), Height(2**40)),
    UpdateTimerConfig(TimerConfig()),
    UpdateBasefeeConfig(BasefeeConfig()),
    ScheduleActivation(Height(1_000), "fifo"),
    Fund(THERE, Amount(10**9)),
    SetBalance(THERE, Amount(0)),
    UpdateBiddingConfig(BiddingConfig()),
    ResetWeights(),
    UpgradeActor(THERE, b"x = 2\n", b"payload"),
    SetStorage(THERE, b"storage:n", b"\x01"),
    SetStorage(THERE, b"raw", None),
    SetCode(THERE, b"x = 2\n"),
    UpdateGlobalboxConfig(GlobalboxConfig()),
)


def transaction_vectors() -> Json:
    """Signed transactions of every kind, and raw bytes that are refused."""
    return {
        "signed": [_signed_vector(i, inst) for i, inst in enumerate(INSTRUCTIONS)],
        "impersonated": [
            _raw_vector(impersonate(body_of(INSTRUCTIONS[0]).encode(), THERE))
        ],
        "refused": [
            {"why": why, "raw": raw.hex(), "error": _fault(raw)}
            for why, raw in _refused_bytes()
        ],
    }


def _signed_vector(index: int, instruction: Instruction) -> Json:
    account = index % 3
    body = body_of(instruction, nonce=index)
    data = body.encode()
    return {
        "instruction": type(instruction).__name__,
        "private_key": dev_private_key(account).hex(),
        "fields": describe([*_numbers(body), instruction_fields(instruction)]),
        "body": data.hex(),
        "signing_hash": signing_hash(data).hex(),
        **_raw_vector(signed(body, account)),
    }


def _numbers(body: Body) -> list[int]:
    return [
        getattr(body, name) for name in Body.__struct_fields__ if name != "instruction"
    ]


def _raw_vector(raw: bytes) -> dict[str, Json]:
    transaction = decode_transaction(raw)
    return {
        "raw": raw.hex(),
        "id": transaction.id.hex(),
        "sender": transaction.sender.hex(),
    }


def _refused_bytes() -> Iterator[tuple[str, bytes]]:
    raw = signed(body_of(INSTRUCTIONS[0]))
    order = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
    high = (order - int.from_bytes(raw[-33:-1], "big")).to_bytes(32, "big")
    yield "nothing", b""
    yield "a signature without a body", raw[-65:]
    yield "a body cut short", raw[1:]
    yield "v of 27", raw[:-1] + b"\x1b"
    yield "the high s", raw[:-33] + high + bytes([1 - raw[-1]])
    yield "an array of eight", codec.encode([0] * 8) + raw[-65:]
    yield "an unknown instruction", codec.encode([0] * 8 + [[2]]) + raw[-65:]
    yield (
        "a bool for a number",
        codec.encode([True] + [0] * 7 + [[1, THERE, 1]]) + raw[-65:],
    )
    yield "a longer head", b"\x98\x09" + raw[1:]


def _fault(raw: bytes) -> str:
    try:
        decode_transaction(raw)
    except InvalidTransaction as error:
        return error.fault.value
    raise AssertionError("a refused vector is accepted")


# --- fees ----------------------------------------------------------------------------


def basefee_vectors() -> Json:
    """D7's update for the configurations of both presets and two odd ones."""
    configs = {
        "devnet": BasefeeConfig(),
        "mesa": BasefeeConfig(20_000_000, 4_000_000, 96, 96, 10_000),
        "steep": BasefeeConfig(100, 100, 1, 1, 1),
        "bounded": BasefeeConfig(1_000, 1_000, 2, 50, 3),
    }
    return [
        {
            "name": name,
            "target": config.target_cycles,
            "alpha": config.alpha,
            "denom": config.denom,
            "min_basefee": config.min_basefee,
            "rows": [
                {
                    "basefee": str(basefee),
                    "used": used,
                    "next": str(
                        next_basefee(basefee, used, config.target_cycles, config)
                    ),
                }
                for basefee in (1, 7, 8, 1_000, 100_000, 2**64, 2**127)
                for used in _uses(config.target_cycles)
            ],
        }
        for name, config in configs.items()
    ]


def _uses(target: int) -> list[int]:
    return [0, target // 2, target - 1, target, target + 1, target * 3 // 2, target * 2]


FILES: dict[str, Callable[[], Json]] = {
    "codec": codec_vectors,
    "hashes": hash_vectors,
    "addresses": address_vectors,
    "ids": id_vectors,
    "transactions": transaction_vectors,
    "basefees": basefee_vectors,
    "auction": auction_vectors,
    "bidding": bidding_vectors,
    "globalbox": globalbox_vectors,
    "genesis": genesis_vectors,
    "proofs": proof_vectors,
    "transitions": transition_vectors,
}


def render() -> dict[str, str]:
    """The text of every file, by its name."""
    with Worker() as worker:
        return worker.run(
            lambda: {
                f"{name}.json": json.dumps(make(), indent=1, ensure_ascii=True) + "\n"
                for name, make in FILES.items()
            }
        )


def main() -> int:
    """Write what differs, and say so."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in render().items():
        path = FOLDER / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(FOLDER.parents[1])}")
    if write_number():
        print(f"wrote {MODULE.relative_to(FOLDER.parents[1])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
