"""Going back and doing again: snapshots, reverts, replay."""

import tempfile
import time
from pathlib import Path

from benches.report import Row, Section, interleave, median
from node.archive.chain_store import ChainStore
from node.archive.opening import open_chain
from node.archive.replay import Replay, begin_at_genesis, into
from node.archive.verification import verify
from node.chain.genesis import Genesis, parse_genesis
from node.chain.transaction import (
    SIGNATURE_BYTES,
    Fund,
    Instruction,
    Transaction,
    Transfer,
    decode_transaction,
    signing_hash,
)
from node.chain.transition import State, build_block, next_state
from node.client import Wallet, build_body
from node.primitives.crypto import recover
from node.primitives.types import Address, Amount
from node.runtime.rewinding import revert
from node.state.leveldb import LevelStore
from node.state.store import StoreSnapshot, WriteSet
from node.testing import Devnet
from pvm import Worker

ACCOUNTS = 10_000
ACTORS = 10
TIMERS_PER_ACTOR = 1_000
ROUNDS = 30
CHANGED_KEYS = 100
SENDERS = 100
BLOCKS = 200
TRANSFERS_PER_BLOCK = (1, 10, 100)
REPLAY_ROUNDS = 3

TAKE_MS_MAX = 0.5
REVERT_MS_MAX = 2
DEVNET_MS_MAX = 0.5
REPLAY_PER_SECOND_MIN = 2_500

_MILLI = 1_000
_LIMITS = (19_000_000, 3_000_000)

_ACTOR = f"""
import pvm_host

def arm(payload):
    first = int.from_bytes(payload, "big")
    for i in range({TIMERS_PER_ACTOR} // 2):
        pvm_host.schedule_timer(first + i, b"", gas_limit=2_000)

def handle_timer(payload):
    pass
"""


def measure_devnet_snapshots() -> Section:
    """`Devnet.snapshot()` and `revert()`, of a large chain and of an empty one."""
    with Devnet() as large, Devnet() as empty:
        _fill(large)
        takes, reverts, small = interleave(
            ROUNDS,
            lambda: _take(large),
            lambda: _take_and_revert(large),
            lambda: _take_and_revert(empty),
        )
    rows = tuple(
        Row(
            what,
            f"{median(spent) * _MILLI:.4f} ms (greatest {max(spent) * _MILLI:.4f})",
            f"revert of an empty chain: {median(small) * _MILLI:.4f} ms",
            f"< {DEVNET_MS_MAX} ms",
            median(spent) * _MILLI < DEVNET_MS_MAX,
        )
        for what, spent in (
            ("`Devnet.snapshot()`", takes),
            ("`revert()` after a block with one minting", reverts),
        )
    )
    method = (
        f"A chain with {ACCOUNTS:,} accounts and {ACTORS * TIMERS_PER_ACTOR:,} timers "
        f"in memory, {ROUNDS} times each."
    )
    return Section("In-process chain: snapshots", method, rows)


def _fill(chain: Devnet) -> None:
    actors = [chain.deploy(_ACTOR, value="1000 CBY") for _ in range(ACTORS)]
    for number in range(1, ACCOUNTS + 1):
        chain.submit(Fund(Address(number.to_bytes(20, "big")), Amount(1)))
        if number % 1_000 == 0:
            chain.mine()
    cycles, cells = _LIMITS
    for part in range(2):
        for actor in actors:
            first = (chain.height + 1_000 * (part + 1)).to_bytes(8, "big")
            actor.call("arm", first, cycles_limit=cycles, cells_limit=cells)


def _take(chain: Devnet) -> float:
    began = time.perf_counter()
    chain.snapshot()
    return time.perf_counter() - began


def _take_and_revert(chain: Devnet) -> float:
    taken = chain.snapshot()
    chain.fund(Address(b"\x11" * 20), 1)
    began = time.perf_counter()
    taken.revert()
    return time.perf_counter() - began


class _Unsynced:
    """A store whose commits reach the system, not the disk."""

    def __init__(self, store: LevelStore) -> None:
        self._store = store

    def snapshot(self) -> StoreSnapshot:
        return self._store.snapshot()

    def commit(self, writes: WriteSet, *, sync: bool = True) -> None:
        del sync
        self._store.commit(writes, sync=False)

    def close(self) -> None:
        self._store.close()


class _Chain:
    """A chain on disk, built as a node builds it."""

    def __init__(self, folder: Path, worker: Worker) -> None:
        document = {"accounts": {"count": SENDERS, "balance": str(10**18)}}
        self.genesis: Genesis = parse_genesis({"name": "bench", **document})
        self.store = LevelStore(folder)
        self.worker = worker
        self.state: State = worker.run(
            lambda: open_chain(self.store, lambda _stored: self.genesis)
        ).state
        self.chain = ChainStore(self.store)
        self.wallets = [Wallet.dev(index) for index in range(SENDERS)]
        self.nonces = [0] * SENDERS

    def sign(self, sender: int, instruction: Instruction) -> Transaction:
        """A signed transaction; what it may cost is no matter here."""
        nonce, self.nonces[sender] = self.nonces[sender], self.nonces[sender] + 1
        body = build_body(
            instruction,
            chain_id=self.genesis.params.chain_id,
            nonce=nonce,
            limits=(30_000, 5_000),
            max_fees=(10**7, 10**7),
        )
        return decode_transaction(self.wallets[sender].sign(body))

    def mine(self, transactions: list[Transaction]) -> None:
        """One block, committed with its history and its way back."""

        def make() -> None:
            result = build_block(self.state, transactions)
            assert not result.rejected
            snapshot = self.chain.commit(self.state.snapshot, self.state.head, result)
            self.state = next_state(self.state, result, snapshot)

        self.worker.run(make)


def measure_named_snapshots() -> Section:
    """Named snapshots of a chain on disk, and going back to one."""
    with (
        tempfile.TemporaryDirectory(prefix="cowboy-bench-") as folder,
        Worker() as worker,
    ):
        chain = _Chain(Path(folder) / "data", worker)
        chain.chain = ChainStore(_Unsynced(chain.store))
        takes, reverts, puts = interleave(
            ROUNDS,
            lambda: _name(chain),
            lambda: _return(chain),
            lambda: _put(chain),
        )
        chain.store.close()
    put = f"the disk's sync, once each: {median(puts) * _MILLI:.2f} ms"
    rows = (
        Row(
            "named snapshot, but for the disk",
            f"{median(takes) * _MILLI:.2f} ms",
            put,
            f"< {TAKE_MS_MAX} ms",
            median(takes) * _MILLI < TAKE_MS_MAX,
        ),
        Row(
            f"revert after {CHANGED_KEYS} changed accounts, but for the disk",
            f"{median(reverts) * _MILLI:.2f} ms",
            put,
            f"< {REVERT_MS_MAX} ms",
            median(reverts) * _MILLI < REVERT_MS_MAX,
        ),
    )
    method = (
        f"`ChainStore` over LevelDB, {ROUNDS} times each, without the sync to disk "
        "that follows each: that of an empty commit is the baseline."
    )
    return Section("Named snapshots", method, rows)


def _name(chain: _Chain) -> float:
    began = time.perf_counter()
    chain.chain.create_snapshot("taken", chain.state.head, ())
    spent = time.perf_counter() - began
    chain.chain.delete_snapshot("taken")
    return spent


def _return(chain: _Chain) -> float:
    chain.chain.create_snapshot("base", chain.state.head, ())
    nonces = list(chain.nonces)
    transfers = []
    for index in range(CHANGED_KEYS // 2):
        to = Address((index + 1).to_bytes(20, "big"))
        transfers.append(chain.sign(index, Transfer(to, Amount(1))))
    chain.mine(transfers)
    began = time.perf_counter()
    rewound = chain.worker.run(lambda: revert(chain.chain, chain.state, "base"))
    spent = time.perf_counter() - began
    chain.state, chain.nonces = rewound.state, nonces
    chain.chain.delete_snapshot("base")
    return spent


def _put(chain: _Chain) -> float:
    began = time.perf_counter()
    chain.store.commit(WriteSet(), sync=True)
    return time.perf_counter() - began


def measure_replay() -> Section:
    """Blocks of transfers, executed again with their signatures."""
    with Worker() as worker:
        rows = tuple(_replay_row(worker, count) for count in TRANSFERS_PER_BLOCK)
    method = (
        f"{BLOCKS} blocks of transfers between {SENDERS} accounts, on disk, executed "
        "again into an empty LevelDB store: signatures, roots, receipts, events and "
        "indexes compared."
    )
    return Section("Replay", method, rows)


def _replay_row(worker: Worker, count: int) -> Row:
    with tempfile.TemporaryDirectory(prefix="cowboy-bench-") as folder:
        chain = _Chain(Path(folder) / "data", worker)
        raws = _grow(chain, count)
        rates, bare = interleave(
            REPLAY_ROUNDS, lambda: _replay(chain), lambda: _recover(raws)
        )
        began = time.perf_counter()
        worker.run(lambda: verify(chain.state))
        verified = (time.perf_counter() - began) / BLOCKS
        chain.store.close()
    return Row(
        f"replay, {count} transfers a block",
        f"{median(rates):,.0f}/s",
        f"signatures recovered, nothing else: {median(bare):,.0f}/s; "
        f"`--verify`: {verified * _MILLI * _MILLI:.0f} µs a block",
        f"> {REPLAY_PER_SECOND_MIN:,}/s",
        median(rates) > REPLAY_PER_SECOND_MIN,
    )


def _grow(chain: _Chain, count: int) -> list[bytes]:
    raws, number = [], 0
    for _ in range(BLOCKS):
        transfers = []
        for _ in range(count):
            to = chain.wallets[(number * 7 + 1) % SENDERS].address
            transfers.append(chain.sign(number % SENDERS, Transfer(to, Amount(5))))
            number += 1
        chain.mine(transfers)
        raws += [transfer.raw for transfer in transfers]
    return raws


def _replay(chain: _Chain) -> float:
    snapshot = chain.store.snapshot()

    def run(store: LevelStore) -> int:
        state = begin_at_genesis(snapshot, chain.genesis, store)
        replay = Replay(snapshot, into(store), state, chain.state.head.height)
        while replay.step(20):
            pass
        return replay.done.transactions

    with (
        tempfile.TemporaryDirectory(prefix="cowboy-bench-") as folder,
        LevelStore(Path(folder)) as store,
    ):
        began = time.perf_counter()
        done = chain.worker.run(lambda: run(store))
        return done / (time.perf_counter() - began)


def _recover(raws: list[bytes]) -> float:
    began = time.perf_counter()
    for raw in raws:
        body, signature = raw[:-SIGNATURE_BYTES], raw[-SIGNATURE_BYTES:]
        recover(signing_hash(body), signature)
    return len(raws) / (time.perf_counter() - began)
