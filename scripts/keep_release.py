"""Keeps what a release writes: `python scripts/keep_release.py VERSION`.

A chain's folder, its bundle and its state file go to tests/fixtures/releases/VERSION,
once, before the release is tagged; tests read them with every later version. Nothing
that is there is ever written anew.
"""

import json
import sys
import tarfile
import tempfile
from pathlib import Path

from node import __version__
from node.archive.bundle import new_bundle, pack_chain
from node.archive.chain_store import ChainStore
from node.archive.opening import open_chain
from node.archive.state_file import write_state_file
from node.chain.consensus import CONSENSUS_NUMBER
from node.chain.genesis import dev_account, parse_genesis
from node.chain.transaction import (
    Body,
    DeployActor,
    ExecuteActor,
    Instruction,
    Transaction,
    Transfer,
    decode_transaction,
    impersonate,
)
from node.chain.transition import State, build_block, build_run, next_state
from node.primitives.crypto import derive_actor_address, keccak256
from node.primitives.types import Amount
from node.state.leveldb import FORMAT_VERSION, LevelStore
from pvm import Worker

RELEASES = Path(__file__).parents[1] / "tests" / "fixtures" / "releases"

SOURCE = b"""
from pvm_host import block_height, emit_event, schedule_timer, set_state

def start(payload):
    schedule_timer(block_height() + 3, b"tick", None, 100_000)

def handle_timer(payload):
    set_state(b"fired", payload)
    emit_event("fired", payload)
"""
GENESIS = parse_genesis(
    {"name": "kept", "accounts": {"count": 3, "balance": "1000000000000000000"}}
)


def keep(target: Path, version: str) -> None:
    """Write all of it into a folder that is made."""
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch, Worker() as worker:
        folder = Path(scratch) / "data"
        with LevelStore(folder) as store:
            state = worker.run(lambda: _grow(store))
            with new_bundle(target / "chain.bundle") as write:
                for part in pack_chain(state.snapshot, state.head).parts():
                    write(part)
            write_state_file(
                target / "chain.state", GENESIS, state.head, state.snapshot
            )
        with tarfile.open(target / "data.tar", "w") as archive:
            for path in sorted(folder.iterdir()):
                archive.add(path, f"data/{path.name}")
    facts = {
        "version": version,
        "consensus": CONSENSUS_NUMBER,
        "folder_format": FORMAT_VERSION,
        "height": state.head.height,
        "hash": state.head.hash().hex(),
    }
    (target / "release.json").write_text(f"{json.dumps(facts, indent=2)}\n")


def _grow(store: LevelStore) -> State:
    """Deployment, transfers, a timer that fires, and a run of empty blocks."""
    state = open_chain(store, lambda _stored: GENESIS).state
    chain = ChainStore(store)
    deployer = dev_account(0)
    actor = derive_actor_address(deployer, bytes(32), keccak256(SOURCE))
    wanted: tuple[Instruction, ...] = (
        DeployActor(bytes(32), SOURCE, b"", 0),
        Transfer(actor, Amount(10**15)),
        ExecuteActor(actor, "start", b"", 0),
        Transfer(dev_account(1), Amount(7)),
    )
    for nonce, instruction in enumerate(wanted):
        result = build_block(state, [_sent(nonce, instruction)])
        assert [one.failure for one in result.receipts] == [None], result.receipts
        snapshot = chain.commit(state.snapshot, state.head, result)
        state = next_state(state, result, snapshot)
    for _ in range(3):
        result = build_block(state, [])
        snapshot = chain.commit(state.snapshot, state.head, result)
        state = next_state(state, result, snapshot)
    result = build_run(state, 50)
    return next_state(state, result, chain.commit(state.snapshot, state.head, result))


def _sent(nonce: int, instruction: Instruction) -> Transaction:
    fee, free = Amount(5_000), Amount(0)
    body = Body(100, nonce, 1_000_000, 500_000, fee, free, fee, free, instruction)
    return decode_transaction(impersonate(body.encode(), dev_account(0)))


def main() -> int:
    """Exit code: 0 written, 1 it is there already or is another version."""
    (version,) = sys.argv[1:]
    if version != __version__:
        print(f"this is {__version__}, not {version}", file=sys.stderr)
        return 1
    target = RELEASES / version
    if target.exists():
        print(f"{version} is kept already", file=sys.stderr)
        return 1
    keep(target, version)
    print(f"wrote {target.relative_to(RELEASES.parents[2])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
