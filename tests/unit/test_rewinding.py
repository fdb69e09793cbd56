"""Named snapshots and reset in the running node; and when a crash cuts them short."""

import asyncio
from functools import partial

import pytest

from node import history
from node.archive import chain_store
from node.archive.opening import DamagedChain, open_chain, reset_chain
from node.chain.errors import InvalidTransaction, TransactionFault
from node.chain.transaction import Transfer
from node.mempool import Pool
from node.primitives.types import Amount
from node.runtime.types import (
    BlockNotice,
    Committed,
    DroppedTransaction,
    MiningMode,
    Pending,
    RevertedTransaction,
    RewindNotice,
)
from node.state import keys
from node.state.memory import MemoryStore
from node.state.snapshots import SnapshotRefused, UnknownSnapshot
from node.state.store import WriteSet
from tests.unit.test_engine import ALICE, BOB, GENESIS, raw, running, transfer


def content(store):
    """All of it but undo records, of which the oldest are dropped in time."""
    pairs = store.snapshot().range(b"", b"\xff")
    return {key: value for key, value in pairs if key[:1] != keys.UNDO_PREFIX}


def scene(act):
    async def play() -> None:
        async with running(MiningMode.MANUAL) as (engine, parts):
            await act(engine, parts)

    asyncio.run(play())


def test_reverting_restores_head_clock_fees_history_and_pool():
    async def act(engine, parts):
        await engine.submit(transfer(0))
        await engine.mine(3)
        waiting = await engine.submit(transfer(1))
        created = await engine.create_snapshot("base")
        before, state = content(parts.store), engine.state
        assert (created.height, created.block_hash) == (3, state.head.hash())
        await engine.mine(100)
        later = await engine.submit(transfer(2))
        await engine.mine(1)
        last = await engine.submit(transfer(3))
        told = asyncio.create_task(engine.wait_for(last.id))
        header = await engine.revert_to_snapshot("base")
        assert header == engine.state.head == state.head
        assert content(parts.store) == before
        assert engine.look_up(waiting.id) == Pending(waiting)
        assert await engine.wait_for(later.id) == RevertedTransaction(later.id)
        assert await told == RevertedTransaction(last.id)
        assert engine.next_nonce(ALICE) == 2
        await engine.mine(1)
        committed = await engine.wait_for(waiting.id)
        assert isinstance(committed, Committed)
        assert committed.height == 4

    scene(act)


def test_streams_hear_of_a_revert_and_go_on_from_there():
    async def act(engine, _parts):
        await engine.create_snapshot("genesis")
        with engine.subscribe() as notices:
            await engine.mine(1)
            header = await engine.revert_to_snapshot("genesis")
            await engine.mine(1)
            heard = [await anext(notices) for _ in range(3)]
        assert isinstance(heard[0], BlockNotice)
        assert heard[1] == RewindNotice(header, header.hash())
        assert heard[2].block.header.parent_hash == header.hash()

    scene(act)


def test_snapshots_nest_and_serve_again():
    async def act(engine, _parts):
        for name, blocks in (("outer", 2), ("inner", 2), ("innermost", 2)):
            await engine.create_snapshot(name)
            await engine.mine(blocks)
        for _ in range(2):
            assert (await engine.revert_to_snapshot("inner")).height == 2
            await engine.mine(1)
        names = [one.name for one in await engine.list_snapshots()]
        assert names == ["outer", "inner"], "what spoke of undone blocks is gone"
        assert (await engine.revert_to_snapshot("outer")).height == 0
        with pytest.raises(UnknownSnapshot, match="no snapshot 'inner'"):
            await engine.revert_to_snapshot("inner")

    scene(act)


def test_what_was_dropped_since_waits_again():
    async def act(engine, _parts):
        waiting = await engine.submit(transfer(0))
        await engine.create_snapshot("base")
        await engine.submit(raw(Transfer(BOB, Amount(1)), tip=1, fee=6_000))
        assert isinstance(await engine.wait_for(waiting.id), DroppedTransaction)
        await engine.revert_to_snapshot("base")
        assert engine.look_up(waiting.id) == Pending(waiting)

    scene(act)


def test_what_the_pool_takes_no_more_says_why(monkeypatch):
    """Prices may have been others when it came."""
    reason = InvalidTransaction(TransactionFault.NONCE_GAP, "no longer", {})

    def refuse(*_arguments):
        raise reason

    async def act(engine, _parts):
        waiting = await engine.submit(transfer(0))
        await engine.create_snapshot("base")
        told = asyncio.create_task(engine.wait_for(waiting.id))
        monkeypatch.setattr(Pool, "admit", refuse)
        await engine.revert_to_snapshot("base")
        assert await told == DroppedTransaction(waiting.id, reason)

    scene(act)


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "ü", "a/b"])
def test_a_name_that_cannot_be_is_refused(name):
    async def act(engine, parts):
        before = content(parts.store)
        with pytest.raises(SnapshotRefused, match="1 to 64 letters"):
            await engine.create_snapshot(name)
        with pytest.raises(UnknownSnapshot):
            await engine.delete_snapshot(name)
        assert content(parts.store) == before

    scene(act)


def test_deleting_a_snapshot_leaves_nothing_of_it():
    async def act(engine, parts):
        before = content(parts.store)
        await engine.submit(transfer(0))
        created = await engine.create_snapshot("base")
        assert created.waiting == 1
        assert content(parts.store) != before
        await engine.delete_snapshot("base")
        assert content(parts.store) == before

    scene(act)


def test_a_name_is_given_once_and_again_after_it_was_deleted():
    async def act(engine, _parts):
        await engine.create_snapshot("a")
        with pytest.raises(SnapshotRefused, match="'a' already"):
            await engine.create_snapshot("a")
        await engine.delete_snapshot("a")
        assert await engine.list_snapshots() == ()
        await engine.mine(1)
        assert (await engine.create_snapshot("a")).height == 1

    scene(act)


def test_snapshots_and_what_waits_in_them_are_bounded(monkeypatch):
    async def act(engine, _parts):
        await engine.create_snapshot("only")
        with pytest.raises(SnapshotRefused, match="there are 1 snapshots"):
            await engine.create_snapshot("more")
        await engine.delete_snapshot("only")
        await engine.submit(transfer(0))
        with pytest.raises(SnapshotRefused, match="a snapshot remembers at most"):
            await engine.create_snapshot("more")

    monkeypatch.setattr("node.state.snapshots.SNAPSHOTS_MAX", 1)
    monkeypatch.setattr("node.state.snapshots.WAITING_BYTES_MAX", 10)
    scene(act)


def test_a_snapshot_survives_a_restart_and_keeps_the_way_back(monkeypatch):
    """Whatever number of blocks comes after it, and however often the node starts."""
    monkeypatch.setattr("node.state.undo.BLOCKS_KEPT", 3)

    async def play() -> None:
        store = MemoryStore()
        async with running(MiningMode.MANUAL, store=store) as (engine, _):
            await engine.mine(2)
            waiting = await engine.submit(transfer(0))
            await engine.create_snapshot("base")
            head = engine.state.head
        for _ in range(3):
            async with running(MiningMode.MANUAL, store=store) as (engine, _):
                await engine.mine(5)
        async with running(MiningMode.MANUAL, store=store) as (engine, _):
            assert await engine.revert_to_snapshot("base") == head
            assert engine.look_up(waiting.id) == Pending(waiting)

    asyncio.run(play())


# --- cut short -----------------------------------------------------------------------


class Crash(Exception):  # noqa: N818 - it is none of the program's errors
    """The process dies."""


class CrashingStore:
    """A store whose process dies before one of its commits."""

    def __init__(self, store, commits):
        self.inner, self.left = store, commits

    def snapshot(self):
        return self.inner.snapshot()

    def commit(self, writes, *, sync=True):
        if not self.left:
            raise Crash
        self.left -= 1
        self.inner.commit(writes, sync=sync)


def grown_store(blocks):
    """Some blocks with a transfer each, named snapshots among them."""
    store, held = MemoryStore(), []

    async def play() -> None:
        async with running(MiningMode.MANUAL, store=store) as (engine, _):
            for nonce in range(blocks):
                held.append((engine.state.head, content(store)))
                await engine.submit(transfer(nonce, amount=nonce + 1))
                await engine.mine(1)
            await engine.create_snapshot("late")

    asyncio.run(play())
    return store, held


def test_a_rewind_that_was_cut_short_is_finished_at_the_next_start():
    blocks, target = 8, 2
    for commits in range(20):
        store, held = grown_store(blocks)
        crashing = CrashingStore(store, commits)
        back = partial(chain_store.rewind, crashing, blocks, target, bytes_max=1)
        if not commits:
            with pytest.raises(Crash):
                back()
            assert history.load_head(store.snapshot()).height == blocks
            continue
        try:
            back()
        except Crash:
            assert history.load_head(store.snapshot()).height == blocks - commits
            opened = open_chain(store, lambda _stored: GENESIS)
            assert (opened.state.head, content(store)) == held[target]
        else:
            assert commits == blocks - target
            assert content(store) == held[target][1]
            return
    pytest.fail("the rewind never ended")


def test_a_reset_that_was_cut_short_is_finished_at_the_next_start(monkeypatch):
    monkeypatch.setattr(chain_store.clear, "__defaults__", (10,))
    fresh = MemoryStore()
    open_chain(fresh, lambda _stored: GENESIS)
    wanted = dict(fresh.snapshot().range(b"", b"\xff"))
    cut_short = 0
    for commits in range(1, 40):
        store, _ = grown_store(4)
        try:
            reset_chain(CrashingStore(store, commits), GENESIS)
        except Crash:
            cut_short += 1
            opened = open_chain(store, lambda _stored: GENESIS)
            assert not opened.is_fresh
            assert opened.state.head.height == 0
            assert dict(store.snapshot().range(b"", b"\xff")) == wanted
        else:
            assert dict(store.snapshot().range(b"", b"\xff")) == wanted
            break
    assert cut_short >= 3


def test_a_rewind_that_cannot_be_finished_is_told():
    store, _ = grown_store(6)
    crashing = CrashingStore(store, 1)
    with pytest.raises(Crash):
        chain_store.rewind(crashing, 6, 2, bytes_max=1)
    store.commit(WriteSet({keys.undo(4): None}))
    with pytest.raises(DamagedChain, match="a rewind cannot be finished: no undo"):
        open_chain(store, lambda _stored: GENESIS)


def test_the_way_back_is_refused_beyond_what_is_kept(monkeypatch):
    monkeypatch.setattr("node.state.undo.BLOCKS_KEPT", 2)
    store, _ = grown_store(6)
    before = dict(store.snapshot().range(b"", b"\xff"))
    chain = chain_store.ChainStore(store)
    for target in (3, 7):
        with pytest.raises(LookupError, match="no undo record leads from height 6"):
            chain.rewind(6, target)
    assert dict(store.snapshot().range(b"", b"\xff")) == before
    chain.rewind(6, 4)


def test_balances_are_those_of_the_height():
    async def act(engine, _parts):
        await engine.create_snapshot("base")
        await engine.fund(BOB, Amount(7))
        with_it = engine.state.head.state_root
        await engine.revert_to_snapshot("base")
        assert engine.state.head.state_root != with_it
        await engine.fund(BOB, Amount(7))
        assert engine.state.head.state_root == with_it

    scene(act)
