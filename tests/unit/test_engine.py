"""Engine: one writer; durable, then visible, then announced; and every mode."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from node import history
from node.archive.opening import (
    DamagedChain,
    ForeignGenesis,
    open_chain,
    reset_chain,
)
from node.chain.advance import UntilIdle
from node.chain.errors import InvalidTransaction, TransactionFault
from node.chain.genesis import dev_account, parse_genesis
from node.chain.transaction import (
    Body,
    DeployActor,
    ExecuteActor,
    Fund,
    Transfer,
    decode_transaction,
    impersonate,
)
from node.primitives.types import Amount, Height
from node.runtime import block_builder
from node.runtime.advance import advance
from node.runtime.block_builder import EngineParts
from node.runtime.block_timer import BlockTimer
from node.runtime.clock import SystemClock
from node.runtime.engine import Engine, EngineSettings
from node.runtime.shared_store import SharedStore
from node.runtime.types import (
    BlockNotice,
    Committed,
    DroppedTransaction,
    MiningMode,
    NodeStopping,
    Pending,
    RevertedTransaction,
    RewindNotice,
    TooManyReads,
    UnknownTransaction,
)
from node.state import keys
from node.state.memory import MemoryStore
from node.state.store import WriteSet
from pvm.worker import Worker

GENESIS = parse_genesis(
    {"name": "tests", "accounts": {"count": 3, "balance": "1000000000000000"}}
)
ALICE, BOB, CAROL = (dev_account(index) for index in range(3))
DEADLINE_SECONDS = 10


class RecordingStore:
    """A store in memory that notes how each commit was asked for."""

    def __init__(self) -> None:
        self.inner = SharedStore()
        self.synced: list[bool] = []
        self.on_commit = lambda: None

    def snapshot(self):
        return self.inner.snapshot()

    def commit(self, writes: WriteSet, *, sync: bool = True) -> None:
        self.on_commit()
        self.inner.commit(writes, sync=sync)
        self.synced.append(sync)

    def close(self) -> None:
        self.inner.close()


@dataclass
class Log:
    """Lines of a log."""

    lines: list[tuple[str, dict[str, object]]] = field(default_factory=list)

    def info(self, event: str, /, **fields: object) -> None:
        self.lines.append((event, fields))


@asynccontextmanager
async def running(mode: MiningMode, pace_ms: int = 3_600_000, store=None):
    """An engine that runs, and its parts."""
    with Worker() as worker:
        store = store or RecordingStore()
        parts = EngineParts(store, worker, SystemClock(), Log())
        opened = worker.run(lambda: open_chain(store, lambda _stored: GENESIS))
        settings = EngineSettings(mode, pace_ms)
        engine = Engine(parts, opened.genesis, opened.state, settings)
        async with asyncio.timeout(DEADLINE_SECONDS), asyncio.TaskGroup() as tasks:
            tasks.create_task(engine.run())
            yield engine, parts
            engine.stop()


def raw(instruction, nonce: int = 0, sender=ALICE, tip: int = 0, fee: int = 5_000):
    body = Body(
        100,
        nonce,
        1_000_000,
        1_000_000,
        Amount(fee),
        Amount(tip),
        Amount(fee),
        Amount(tip),
        instruction,
    )
    return impersonate(body.encode(), sender)


def transfer(nonce: int = 0, sender=ALICE, amount: int = 1, tip: int = 0) -> bytes:
    return raw(Transfer(BOB, Amount(amount)), nonce, sender, tip)


async def send(engine: Engine, transaction: bytes):
    """Submit and wait: what became of it."""
    admitted = await engine.submit(transaction)
    return await engine.wait_for(admitted.id)


# --- durable, visible, announced ------------------------------------------------------


def test_what_is_announced_is_visible_and_what_is_visible_is_durable() -> None:
    """The order of the last three lines of a block."""

    async def scene() -> None:
        async with running(MiningMode.INSTANT) as (engine, parts):
            seen_at_commit: list[int] = []
            parts.store.on_commit = lambda: seen_at_commit.append(
                engine.state.head.height
            )
            with engine.subscribe() as notices:
                committed = await send(engine, transfer())
                assert isinstance(committed, Committed)
                assert seen_at_commit == [0], "not visible before it was durable"
                notice = await anext(notices)
            assert isinstance(notice, BlockNotice)
            assert notice.block.header.height == 1
            assert notice.block_hash == engine.state.head.hash()
            head = history.load_head(parts.store.snapshot())
            assert head == engine.state.head

    asyncio.run(scene())


def test_blocks_with_content_are_synced_and_empty_ones_are_not() -> None:
    """A power cut must not undo content; empty heights are just built again."""

    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, parts):
            parts.store.synced.clear()
            await engine.mine(1)
            await engine.mine(2)
            await engine.submit(transfer())
            await engine.mine(1)
            assert parts.store.synced == [False, False, True]
            parts.store.synced.clear()
        assert parts.store.synced == [True], "the end carries empty blocks to disk"

    asyncio.run(scene())


CLOCKWORK = b"""
def init(payload):
    for height in range(10, 30, 2):
        pvm_host.schedule_timer(height, b"")

def handle_timer(payload):
    pass
"""


async def wind_up(engine: Engine) -> None:
    """Ten timers at 10, 12 … 28, and the head at 1."""
    await engine.submit(raw(DeployActor(bytes(32), CLOCKWORK, b"", Amount(10**12))))
    await engine.mine(1)


@pytest.mark.parametrize(("at_once", "syncs"), [(64, 1), (7, 3)])
def test_headers_in_which_time_passes_are_synced_together_before_any_is_seen(
    monkeypatch, at_once: int, syncs: int
) -> None:
    """One sync a call, or a part of it: durable, then visible, then announced."""
    monkeypatch.setattr(block_builder, "HEADERS_AT_ONCE", at_once)
    monkeypatch.setattr(block_builder, "SECONDS_AT_ONCE", 3_600)

    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, parts):
            await wind_up(engine)
            visible: list[int] = []
            parts.store.on_commit = lambda: visible.append(engine.state.head.height)
            parts.store.synced.clear()
            with engine.subscribe() as notices:
                await engine.mine(27)
                shown = [await anext(notices) for _ in range(20)]
            heights = [notice.block.header.height for notice in shown]
            assert heights == list(range(9, 29)), "runs and fires in turn"
            synced = parts.store.synced
            assert (synced.count(True), synced[-1]) == (syncs, True)
            assert len(synced) == 20 + syncs
            for index, height in enumerate(visible):
                parts_before = synced[:index].count(True)
                assert height == (1, *heights)[parts_before * at_once]
            assert engine.state.head.height == 28

    asyncio.run(scene())


def test_what_was_not_synced_is_never_seen(monkeypatch) -> None:
    monkeypatch.setattr(block_builder, "SECONDS_AT_ONCE", 3_600)

    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, parts):
            await wind_up(engine)
            commit = parts.store.commit

            def fail_to_sync(writes: WriteSet, *, sync: bool = True) -> None:
                if sync:
                    raise OSError("the disk is full")
                commit(writes, sync=sync)

            parts.store.commit = fail_to_sync
            with engine.subscribe() as notices, pytest.raises(NodeStopping):
                await engine.mine(27)
            assert engine.state.head.height == 1
            with pytest.raises(StopAsyncIteration):
                await anext(notices)

    with pytest.raises(BaseExceptionGroup) as group:
        asyncio.run(scene())
    assert group.group_contains(OSError, match="full")


def test_headers_end_where_the_target_is_reached(monkeypatch) -> None:
    monkeypatch.setattr(block_builder, "SECONDS_AT_ONCE", 3_600)

    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, _parts):
            await wind_up(engine)
            results = await engine.pass_heights(
                1_000, lambda state: state.head.height >= 14
            )
            assert [one.header.height for one in results] == list(range(9, 15))
            target = UntilIdle(Height(1_000))
            async for _ in advance(engine, target, Height(1_000)):
                pass
            assert engine.state.head.height == 28, "and no height more"

    asyncio.run(scene())


def test_an_exception_while_building_ends_the_task(monkeypatch) -> None:
    """It is a bug, and nothing may be committed after it."""

    def fail(_state, _candidates, _heights_max):
        raise AssertionError("supply")

    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, parts):
            parts.store.synced.clear()
            monkeypatch.setattr(block_builder, "build_next", fail)
            with pytest.raises(NodeStopping):
                await engine.mine(1)
            assert parts.store.synced == []

    with pytest.raises(BaseExceptionGroup) as group:
        asyncio.run(scene())
    assert group.group_contains(AssertionError, match="supply")


def test_each_block_is_logged_with_its_numbers() -> None:
    async def scene() -> None:
        async with running(MiningMode.INSTANT) as (engine, parts):
            await send(engine, transfer())
            await engine.mine(1)
        lines = [f for event, f in parts.log.lines if event == "block_committed"]
        assert [(f["height"], f["transactions"]) for f in lines] == [(1, 1), (2, 0)]
        assert lines[0]["cycles"] == 5_000

    asyncio.run(scene())


# --- modes ----------------------------------------------------------------------------


def test_instant_makes_one_block_for_each_transaction_in_order_of_admission() -> None:
    async def scene() -> None:
        async with running(MiningMode.INSTANT) as (engine, _):
            outcomes = await asyncio.gather(
                send(engine, transfer(0)),
                send(engine, transfer(0, CAROL, tip=900)),
                send(engine, transfer(1)),
            )
            assert [outcome.height for outcome in outcomes] == [1, 2, 3]
            assert engine.state.head.height == 3

    asyncio.run(scene())


CHAT = b"""
def start(payload):
    pvm_host.send_message(pvm_host.self_address(), "hop", payload)

def hop(payload):
    if len(payload) > 1:
        pvm_host.send_message(pvm_host.self_address(), "hop", payload[1:])
"""


def test_instant_goes_on_until_no_message_is_pending() -> None:
    async def scene() -> None:
        async with running(MiningMode.INSTANT) as (engine, _):
            deployed = await send(
                engine, raw(DeployActor(bytes(32), CHAT, b"", Amount(10**12)))
            )
            assert deployed.receipt.is_success, deployed.receipt.failure
            actor = deployed.receipt.actor
            with engine.subscribe() as notices:
                call = raw(ExecuteActor(actor, "start", b"ab", Amount(0)), 1)
                called = await send(engine, call)
                assert called.receipt.is_success, called.receipt.failure
                made = [await anext(notices) for _ in range(3)]
            assert [len(notice.receipts) for notice in made] == [1, 1, 1]
            await engine.run_read(lambda _state: None)
            assert engine.state.head.height == 4

    asyncio.run(scene())


def test_manual_makes_blocks_on_request_alone() -> None:
    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, _):
            transaction = await engine.submit(transfer())
            assert engine.look_up(transaction.id) == Pending(transaction)
            assert engine.state.head.height == 0
            assert engine.status.pool_transactions == 1
            header = await engine.mine(3)
            assert header == engine.state.head
            assert header.height == 3
            outcome = await engine.wait_for(transaction.id)
            assert (outcome.height, outcome.index) == (1, 0)

    asyncio.run(scene())


def test_interval_makes_a_block_every_pace_with_all_that_waits() -> None:
    async def scene() -> None:
        async with running(MiningMode.INTERVAL, pace_ms=20) as (engine, _):
            sent = [send(engine, transfer(nonce)) for nonce in range(5)]
            heights = {outcome.height for outcome in await asyncio.gather(*sent)}
            assert len(heights) == 1
            with engine.subscribe() as notices:
                made = [await anext(notices) for _ in range(3)]
            first = made[0].block.header.height
            assert [n.block.header.height - first for n in made] == [0, 1, 2]

    asyncio.run(scene())


def test_the_mode_and_the_pace_can_be_changed() -> None:
    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, _):
            transaction = await engine.submit(transfer())
            await engine.set_mining(MiningMode.INSTANT, None)
            assert (await engine.wait_for(transaction.id)).height == 1
            await engine.set_mining(MiningMode.INTERVAL, 15)
            status = engine.status
            assert (status.mining_mode, status.pace_ms) == (MiningMode.INTERVAL, 15)
            with engine.subscribe() as notices:
                await anext(notices)

    asyncio.run(scene())


def test_cancelling_mine_stops_after_the_block_in_hand() -> None:
    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, _):
            with engine.subscribe() as notices:
                # It waits for a lower fee: no run may leap over its height.
                await engine.submit(raw(Transfer(BOB, Amount(1)), fee=8))
                mining = asyncio.create_task(engine.mine(10_000))
                await anext(notices)
                mining.cancel()
            await engine.mine(1)
            assert engine.state.head.height < 100

    asyncio.run(scene())


class ManualClock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def utc(self) -> str:
        return ""


def test_wall_time_paces_and_what_was_slept_through_is_not_caught_up() -> None:
    """D37: after sleep or downtime nothing is caught up."""
    clock = ManualClock()
    block_timer = BlockTimer(clock, 1_000)
    assert block_timer.seconds_left() == 1.0
    clock.now += 1.25
    assert block_timer.seconds_left() == 0.0
    block_timer.begin()
    assert block_timer.seconds_left() == 0.75, "small delays do not add up"
    clock.now += 3_600
    block_timer.begin()
    assert block_timer.seconds_left() == 1.0, "one block after an hour, not 3,600"


# --- transactions ---------------------------------------------------------------------


def test_what_the_pool_refuses_reaches_the_sender() -> None:
    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, _):
            with pytest.raises(InvalidTransaction) as refused:
                await engine.submit(transfer(nonce=65))
            assert refused.value.fault is TransactionFault.NONCE_TOO_FAR
            with pytest.raises(InvalidTransaction):
                await engine.submit(b"\0" * 70)

    asyncio.run(scene())


def test_a_replaced_transaction_is_told_to_those_who_wait() -> None:
    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, _):
            old = await engine.submit(transfer())
            waiting = asyncio.create_task(engine.wait_for(old.id))
            await asyncio.sleep(0)
            better = raw(Transfer(BOB, Amount(1)), tip=10, fee=5_500)
            new = await engine.submit(better)
            outcome = await waiting
            assert isinstance(outcome, DroppedTransaction)
            assert outcome.reason.fault is TransactionFault.REPLACED
            assert engine.look_up(old.id) == outcome
            assert await engine.wait_for(old.id) == outcome
            assert engine.next_nonce(ALICE) == 1
            await engine.mine(1)
            assert (await engine.wait_for(new.id)).height == 1

    asyncio.run(scene())


def test_a_replacement_that_comes_while_the_block_is_made_is_dropped() -> None:
    """What was chosen may be committed yet: until then nobody is told otherwise."""

    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, parts):
            loop = asyncio.get_running_loop()
            old = await engine.submit(transfer())
            better = raw(Transfer(BOB, Amount(1)), tip=10, fee=5_500)
            replaced: asyncio.Future[bytes] = loop.create_future()

            async def replace() -> None:
                replaced.set_result((await engine.submit(better)).id)

            def replace_meanwhile() -> None:
                parts.store.on_commit = lambda: None
                asyncio.run_coroutine_threadsafe(replace(), loop).result(5)

            parts.store.on_commit = replace_meanwhile
            first = asyncio.create_task(engine.wait_for(old.id))
            await engine.mine(1)
            assert isinstance(await first, Committed)
            outcome = await engine.wait_for(await replaced)
            assert isinstance(outcome, DroppedTransaction)
            assert outcome.reason.fault is TransactionFault.NONCE_USED

    asyncio.run(scene())


def test_an_unknown_transaction_is_not_waited_for() -> None:
    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, _):
            with pytest.raises(UnknownTransaction):
                await engine.wait_for(bytes(32))
            assert engine.look_up(bytes(32)) is None

    asyncio.run(scene())


def test_waiting_can_be_cancelled() -> None:
    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, _):
            transaction = await engine.submit(transfer())
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(engine.wait_for(transaction.id), 0.001)
            await engine.mine(1)
            assert isinstance(await engine.wait_for(transaction.id), Committed)

    asyncio.run(scene())


def test_who_waits_when_the_node_stops_is_told() -> None:
    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, _):
            transaction = await engine.submit(transfer())
            waiting = asyncio.create_task(engine.wait_for(transaction.id))
            await asyncio.sleep(0)
            engine.stop()
            with pytest.raises(NodeStopping):
                await waiting
            with pytest.raises(NodeStopping):
                await engine.submit(transfer(1))
            with pytest.raises(NodeStopping):
                await engine.mine(1)

    asyncio.run(scene())


# --- development ----------------------------------------------------------------------


@pytest.mark.parametrize("mode", [MiningMode.MANUAL, MiningMode.INSTANT])
def test_funding_is_in_a_block_on_return(mode: MiningMode) -> None:
    """D41: minted, ordinary content of a block, no fee; nobody's nonce moves."""

    async def scene() -> None:
        async with running(mode) as (engine, _):
            first = await engine.fund(CAROL, Amount(7))
            second = await engine.set_balance(CAROL, Amount(5))
            assert (first.height, second.height) == (1, 2)
            assert first.receipt.fee == 0
            assert isinstance(first.transaction.instruction, Fund)
            assert first.transaction.sender == GENESIS.params.proposer
            assert engine.next_nonce(ALICE) == 0

    asyncio.run(scene())


def test_funding_goes_before_all_that_waits() -> None:
    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, _):
            await engine.submit(transfer(tip=900))
            funded = await engine.fund(CAROL, Amount(7))
            assert (funded.height, funded.index) == (1, 0)

    asyncio.run(scene())


def test_reset_goes_back_to_genesis() -> None:
    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, parts):
            genesis_hash = engine.state.head.hash()
            done = await engine.submit(transfer())
            await engine.mine(2)
            waiting = await engine.submit(transfer(1))
            told = asyncio.create_task(engine.wait_for(waiting.id))
            with engine.subscribe() as notices:
                header = await engine.reset()
                notice = await anext(notices)
            assert isinstance(notice, RewindNotice)
            assert header.hash() == notice.block_hash == genesis_hash
            assert await told == RevertedTransaction(waiting.id)
            assert await engine.wait_for(done.id) == RevertedTransaction(done.id)
            assert history.load_header(parts.store.snapshot(), 1) is None
            assert engine.next_nonce(ALICE) == 0
            outcome = await engine.submit(transfer())
            await engine.mine(1)
            assert isinstance(await engine.wait_for(outcome.id), Committed)

    asyncio.run(scene())


# --- reads ----------------------------------------------------------------------------


def test_reads_run_with_the_visible_state_and_tell_what_they_raise() -> None:
    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, _):
            assert await engine.run_read(lambda state: state.head.height) == 0
            await engine.mine(1)
            assert await engine.run_read(lambda state: state.head.height) == 1
            with pytest.raises(ZeroDivisionError):
                await engine.run_read(lambda _state: 1 // 0)

    asyncio.run(scene())


def test_at_most_32_reads_wait_and_cancelled_ones_never_run() -> None:
    async def scene() -> None:
        async with running(MiningMode.MANUAL) as (engine, parts):
            ran: list[int] = []
            release = asyncio.Event()
            loop = asyncio.get_running_loop()

            def hold(_state) -> None:
                asyncio.run_coroutine_threadsafe(release.wait(), loop).result(5)

            held = asyncio.create_task(engine.run_read(hold))
            waiting = [
                asyncio.create_task(
                    engine.run_read(lambda _state, index=index: ran.append(index))
                )
                for index in range(32)
            ]
            await asyncio.sleep(0)
            with pytest.raises(TooManyReads):
                await engine.run_read(lambda _state: ran.append(99))
            waiting[3].cancel()
            release.set()
            await held
            await asyncio.gather(*waiting, return_exceptions=True)
            assert ran == [index for index in range(32) if index != 3]
            del parts

    asyncio.run(scene())


# --- from a store to a chain ----------------------------------------------------------


def test_a_chain_goes_on_where_it_was() -> None:
    async def scene(store: RecordingStore) -> int:
        async with running(MiningMode.INSTANT, store=store) as (engine, _):
            before = engine.state.head.height
            await send(engine, transfer(nonce=before))
            return before

    store = RecordingStore()
    assert [asyncio.run(scene(store)) for _ in range(3)] == [0, 1, 2]


def test_another_genesis_than_the_folders_is_foreign() -> None:
    store = MemoryStore()
    opened = open_chain(store, lambda stored: stored or GENESIS)
    assert opened.is_fresh
    assert not open_chain(store, lambda stored: stored or GENESIS).is_fresh
    other = parse_genesis({"name": "other", "chain_id": 5})
    with pytest.raises(ForeignGenesis, match="chain_id") as refused:
        open_chain(store, lambda _stored: other)
    assert "--data-dir" in str(refused.value), "the sentence says what to do"


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        (keys.GLOBALS, "state is not the one"),
        (keys.account(ALICE), "is not in the state's tree"),
        (keys.HEAD, "no block"),
        (keys.GENESIS, "no genesis"),
        (keys.header(1), "does not follow"),
    ],
)
def test_a_store_that_contradicts_itself_is_refused(key: bytes, sentence: str) -> None:
    """Refuse to run on a mismatch."""

    async def scene(store: RecordingStore) -> None:
        async with running(MiningMode.MANUAL, store=store) as (engine, _):
            await engine.mine(1)
            await engine.mine(1)

    store = RecordingStore()
    asyncio.run(scene(store))
    snapshot = store.snapshot()
    damaged: bytes | None = None
    if key == keys.GLOBALS:
        damaged = (snapshot.get(key) or b"") + b"\0"
    elif key == keys.account(ALICE):
        damaged = snapshot.get(keys.account(dev_account(3))) or b"\x80"
    elif key == keys.header(1):
        damaged = snapshot.get(keys.header(0))
    store.commit(WriteSet({key: damaged}))
    with pytest.raises(DamagedChain, match=sentence):
        open_chain(store, lambda _stored: GENESIS)


def test_reset_chain_leaves_what_a_fresh_folder_has() -> None:
    fresh, used = MemoryStore(), MemoryStore()
    open_chain(fresh, lambda _stored: GENESIS)
    open_chain(used, lambda _stored: GENESIS)
    used.commit(WriteSet({b"hx" + bytes(32): b"?", b"sa" + bytes(20): b"?"}))
    reset_chain(used, GENESIS)
    everything = (b"", b"\xff")
    assert dict(used.snapshot().range(*everything)) == dict(
        fresh.snapshot().range(*everything)
    )


def test_impersonation_is_what_the_tests_send() -> None:
    """D41: 45 zero bytes ‖ sender20 in place of a signature."""
    assert decode_transaction(transfer()).sender == ALICE
