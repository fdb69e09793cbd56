"""Vectors of whole blocks: both genesis presets, and one transition a rule.

Those of D58 alone execute actors: no others hold a price of the actor language.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from node.chain.accounts import load_account
from node.chain.block import Receipt
from node.chain.genesis import Genesis, build_genesis, dev_account, parse_genesis
from node.chain.globals import load_globals
from node.chain.params import (
    BasefeeConfig,
    BiddingConfig,
    GlobalboxConfig,
    TimerConfig,
)
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
    signing_hash,
)
from node.chain.transition import BlockResult, build_block, open_state
from node.primitives.crypto import (
    derive_actor_address,
    dev_private_key,
    keccak256,
    sign,
)
from node.primitives.types import Address, Amount, Height
from node.state.memory import MemoryStore

THERE = Address(b"\x77" * 20)
ZERO = Address(bytes(20))
SALT = bytes(range(32))

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | bool | None"


def body_of(instruction: Instruction, nonce: int = 0, **fields: int) -> Body:
    """A body with ordinary limits and fees."""
    numbers = {
        "chain_id": 100,
        "cycles_limit": 100_000,
        "cells_limit": 50_000,
        "max_fee_per_cycle": 2_000,
        "max_priority_fee_per_cycle": 3,
        "max_fee_per_cell": 3_000,
        "max_priority_fee_per_cell": 2,
    }
    return Body(nonce=nonce, **{**numbers, **fields}, instruction=instruction)  # type: ignore[arg-type]


def signed(body: Body, account: int = 0) -> bytes:
    """The raw transaction of a development account."""
    data = body.encode()
    return data + sign(signing_hash(data), dev_private_key(account))


def preset(name: str) -> dict[str, object]:
    """The document of a genesis preset."""
    path = Path(__file__).parents[1] / "genesis" / f"{name}.json"
    document: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    return document


def genesis_vectors() -> Json:
    """Block 0 of both presets."""
    vectors: list[Json] = []
    for name in ("devnet", "mesa"):
        genesis = parse_genesis(preset(name))
        header = build_genesis(genesis).header
        vectors.append(
            {
                "name": name,
                "document": json.loads(json.dumps(genesis.document())),
                "document_encoding_blake2b256": header.parent_hash.hex(),
                "state_root": header.state_root.hex(),
                "header": header.encode().hex(),
                "block_hash": header.hash().hex(),
            }
        )
    return vectors


PAY = Transfer(THERE, Amount(5))
NOT_THERE = bytes(32)
ALONE: tuple[tuple[str, str, Instruction], ...] = (
    ("D5 D6", "a transfer with a tip", PAY),
    ("D5", "a transfer to oneself", Transfer(dev_account(0), Amount(5))),
    ("D9", "the zero address keeps what it gets", Transfer(ZERO, Amount(5))),
    (
        "D6",
        "code that is refused pays the intrinsic cost",
        DeployActor(SALT, b"import os\n", b"", Amount(7)),
    ),
    (
        "D6",
        "a call of what is no actor fails",
        ExecuteActor(THERE, "run", b"", Amount(7)),
    ),
    ("D25", "cancelling what is not there does nothing", CancelTimer(NOT_THERE)),
    ("D25", "extending what is not there fails", ExtendTimer(NOT_THERE, Height(9))),
    (
        "D3 D25",
        "a timer configuration",
        UpdateTimerConfig(TimerConfig(max_timers_per_actor=7)),
    ),
    (
        "D25",
        "a timer configuration that breaks a rule fails",
        UpdateTimerConfig(TimerConfig(lane_timer_cycles=5)),
    ),
    ("D1", "an activation", ScheduleActivation(Height(9), "fifo")),
    ("D1", "of unknown rules it fails", ScheduleActivation(Height(9), "lifo")),
    (
        "D3 D49",
        "a configuration of bidding",
        UpdateBiddingConfig(BiddingConfig(lambda_permille=7)),
    ),
    (
        "D49",
        "a configuration of bidding that breaks a rule fails",
        UpdateBiddingConfig(BiddingConfig(weight_min=0)),
    ),
    ("D49", "a reset of weights", ResetWeights()),
    (
        "D3 D52 D56",
        "a configuration of the Globalbox, which stops its clock",
        UpdateGlobalboxConfig(GlobalboxConfig(w_age=1)),
    ),
    (
        "D56",
        "a configuration of the Globalbox that breaks a rule fails",
        UpdateGlobalboxConfig(GlobalboxConfig(max_watch_keys=65)),
    ),
)


def _ordinary() -> Iterator[tuple[str, str, list[bytes]]]:
    """(rule, what it shows, transactions of the one block)."""
    yield "D7", "an empty block lowers both basefees", []
    for rule, what, instruction in ALONE:
        yield rule, what, [signed(body_of(instruction))]
    both = [signed(body_of(PAY)), signed(body_of(PAY, nonce=1))]
    yield "D5", "two transfers of one sender", both
    update = UpdateTimerConfig(TimerConfig())
    yield "D25", "a stranger's instruction fails", [signed(body_of(update), account=1)]
    last_wins = [
        signed(body_of(UpdateBasefeeConfig(BasefeeConfig(alpha=2 + i)), nonce=i))
        for i in range(2)
    ]
    yield "D3", "the last configuration wins, from the next block on", last_wins
    free = dict.fromkeys(list(Body.__struct_fields__)[2:8], 0)
    mint = signed(body_of(Fund(THERE, Amount(9)), **free))
    take = signed(body_of(SetBalance(dev_account(3), Amount(9)), **free))
    yield "D41", "money is minted", [mint]
    yield "D41", "money is taken", [take]
    impersonated = impersonate(body_of(PAY).encode(), dev_account(7))
    yield "D41", "an impersonated sender", [impersonated]
    yield from _upgrades(free)


OLD_CODE = b"""import pvm_host
def swap(payload): pvm_host.upgrade_self(payload)
"""
NEW_CODE = b"""import pvm_host
def swap(payload): return payload
def upgrade(payload): pvm_host.set_state(b"upgraded", payload)
"""


def _upgrades(free: dict[str, int]) -> Iterator[tuple[str, str, list[bytes]]]:
    """One block: a deployment, and new code for what it deployed."""
    actor = derive_actor_address(dev_account(0), SALT, keccak256(OLD_CODE))
    deploy = DeployActor(SALT, OLD_CODE, b"", Amount(0))
    swap = ExecuteActor(actor, "swap", NEW_CODE, Amount(0))

    def after_deployment(instruction: Instruction, account: int = 0) -> list[bytes]:
        fees = {} if isinstance(instruction, UpgradeActor | ExecuteActor) else free
        body = body_of(instruction, nonce=1 - account, **fees)
        return [signed(body_of(deploy)), signed(body, account=account)]

    upgrade = UpgradeActor(actor, NEW_CODE, b"from")
    yield "D58", "new code runs its upgrade", after_deployment(upgrade)
    yield "D58", "not for a stranger", after_deployment(upgrade, account=1)
    same = UpgradeActor(actor, OLD_CODE, b"")
    yield "D58", "the same code is refused", after_deployment(same)
    bad = UpgradeActor(actor, b"import os\n", b"")
    yield "D58", "code that is refused pays for it", after_deployment(bad)
    yield "D58", "an actor's own upgrade runs nothing", after_deployment(swap)
    yield "D58", "code is set", after_deployment(SetCode(actor, NEW_CODE))
    written = SetStorage(actor, b"key", b"value")
    yield "D58", "a state key is set", after_deployment(written)
    own = SetStorage(actor, b"__OWNER__", None)
    yield "D58", "the runtime's own key is refused", after_deployment(own)


def _refused() -> Iterator[tuple[str, bytes]]:
    yield "another chain", signed(body_of(PAY, chain_id=101))
    yield "a nonce ahead", signed(body_of(PAY, nonce=1))
    yield "too few cycles", signed(body_of(PAY, cycles_limit=4_999))
    yield "too few cells", signed(body_of(PAY, cells_limit=500))
    yield "more cycles than a block", signed(body_of(PAY, cycles_limit=20_000_001))
    yield "more cells than a block", signed(body_of(PAY, cells_limit=14_800_001))
    yield "a cycle fee below the basefee", signed(body_of(PAY, max_fee_per_cycle=999))
    yield "a cell fee below the basefee", signed(body_of(PAY, max_fee_per_cell=999))
    yield "not affordable", signed(body_of(Transfer(THERE, Amount(10**15))))


def transition_vectors() -> Json:
    """One block on genesis `devnet`: what comes of it, or why it cannot be."""
    genesis = parse_genesis(preset("devnet"))
    pre: dict[str, Json] = {
        address.hex(): {"balance": str(balance), "nonce": 0}
        for address, balance in genesis.balances.items()
    }
    vectors: list[Json] = [
        {
            "rule": rule,
            "what": what,
            "pre": pre if not index else "as in the first",
            "params": "devnet",
            "block": [raw.hex() for raw in raws],
            "result": {"post": _post(genesis, raws)},
        }
        for index, (rule, what, raws) in enumerate(_ordinary())
    ]
    for what, raw in _refused():
        ((_, error),) = _build(genesis, [raw])[0].rejected
        vectors.append(
            {
                "rule": "D5",
                "what": what,
                "pre": "as in the first",
                "params": "devnet",
                "block": [raw.hex()],
                "result": {"error": error.fault.value, "may_wait": error.may_wait},
            }
        )
    return vectors


def _build(genesis: Genesis, raws: list[bytes]) -> tuple[BlockResult, MemoryStore]:
    store = MemoryStore()
    first = build_genesis(genesis)
    store.commit(first.writes)
    state = open_state(genesis.params, first.header, store.snapshot())
    result = build_block(state, [decode_transaction(raw) for raw in raws])
    store.commit(result.writes)
    return result, store


def _post(genesis: Genesis, raws: list[bytes]) -> Json:
    result, store = _build(genesis, raws)
    assert not result.rejected
    snapshot = store.snapshot()
    touched = {THERE, ZERO, genesis.params.proposer, *genesis.balances}
    accounts = {address: load_account(snapshot, address) for address in sorted(touched)}
    after = load_globals(snapshot)
    return {
        "block_hash": result.header.hash().hex(),
        "header": result.header.encode().hex(),
        "state_root": result.header.state_root.hex(),
        "globals": {
            name: str(getattr(after, name)) for name in type(after).__struct_fields__
        },
        "accounts": {
            address.hex(): {"balance": str(account.balance), "nonce": account.nonce}
            for address, account in accounts.items()
        },
        "receipts": [_receipt(receipt) for receipt in result.receipts],
        "events": [
            {"topic": event.topic, "data": event.data.hex()} for event in result.events
        ],
    }


def _receipt(receipt: Receipt) -> Json:
    return {
        "id": receipt.id.hex(),
        "error": None if receipt.failure is None else receipt.failure.kind,
        "cycles_used": receipt.cycles_used,
        "cells_used": receipt.cells_used,
        "fee": str(receipt.fee),
        "tip": str(receipt.tip),
        "encoding": receipt.encode().hex(),
    }
