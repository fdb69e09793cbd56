"""A bundle becomes a running node's chain: all of it or nothing, whatever happens."""

import asyncio
import io

import pytest

from node.archive.bundle import KIND, check_bundle, pack_chain
from node.archive.opening import open_chain
from node.archive.record_file import Packing
from node.archive.verification import verify
from node.chain.bundle_errors import BundleFault, BundleRefused
from node.chain.consensus import CONSENSUS_NUMBER
from node.chain.genesis import parse_genesis
from node.chain.transaction import Fund, decode_transaction
from node.primitives import codec
from node.runtime import bundle_import
from node.runtime.types import (
    BlockNotice,
    Committed,
    MiningMode,
    NodeStopping,
    RevertedTransaction,
    RewindNotice,
)
from node.state import keys
from node.state.memory import MemoryStore
from node.state.retention import Oldest
from node.state.store import WriteSet
from pvm import Worker
from tests.unit.test_engine import ALICE, BOB, GENESIS, raw, running, transfer
from tests.unit.test_rewinding import Crash, CrashingStore, content

OTHER = parse_genesis({"name": "others", "chain_id": 7})


def scene(act, store=None):
    async def play():
        async with running(MiningMode.MANUAL, store=store) as (engine, parts):
            return await act(engine, parts)

    return asyncio.run(play())


def bundle_of(store, head):
    return b"".join(pack_chain(store.snapshot(), head).parts())


def opened(data):
    return check_bundle(io.BytesIO(data), "it")


@pytest.fixture(scope="module")
def lived():
    """Bytes of a bundle, the store and the head that it is of."""
    store = MemoryStore()

    async def act(engine, _parts):
        for nonce in range(6):
            await engine.submit(transfer(nonce))
            await engine.mine(1 + nonce)
        await engine.fund(BOB, 7)
        await engine.mine(1_000)
        return engine.state.head

    head = scene(act, store)
    return bundle_of(store, head), store, head


def test_an_empty_chain_takes_all_of_it(lived):
    data, source, head = lived
    store = MemoryStore()

    async def act(engine, _parts):
        await engine.mine(57)
        assert await engine.import_bundle(opened(data)) == head
        assert engine.state.head == head
        found = await engine.wait_for(transfer_id(0))
        assert isinstance(found, Committed)
        assert bundle_of(store, head) == data
        assert content(store) == content(source)
        verify(engine.state)
        await engine.submit(transfer(6))
        await engine.mine(1)
        return engine.state.head.height

    assert scene(act, store) == head.height + 1


def transfer_id(nonce):
    return decode_transaction(transfer(nonce)).id


def test_readers_hear_where_it_goes_on(lived):
    data, _, _ = lived

    async def act(engine, _parts):
        await engine.mine(2)
        with engine.subscribe() as notices:
            await engine.import_bundle(opened(data))
            await engine.mine(1)
            first, second = [await anext(notices) for _ in range(2)]
        assert isinstance(first, RewindNotice)
        assert first.header.height == 0
        assert isinstance(second, BlockNotice)
        assert second.block.header.height == engine.state.head.height

    scene(act)


def test_what_came_meanwhile_is_reverted_and_what_was_is_committed_again(lived):
    data, _, _ = lived

    async def act(engine, parts):
        sent = await engine.submit(transfer(0))
        await engine.mine(1)
        await engine.reset()
        assert await engine.wait_for(sent.id) == RevertedTransaction(sent.id)
        importing = asyncio.create_task(engine.import_bundle(opened(data)))
        while parts.store.snapshot().get(keys.UNFINISHED) is None:  # noqa: ASYNC110
            await asyncio.sleep(0)
        late = await engine.submit(raw(Fund(ALICE, 1), sender=BOB, fee=0))
        await importing
        assert isinstance(await engine.wait_for(sent.id), Committed)
        assert await engine.wait_for(late.id) == RevertedTransaction(late.id)

    scene(act)


@pytest.mark.parametrize("what", ["content", "waiting", "snapshot", "pruned"])
def test_a_chain_that_is_not_empty_refuses_it(lived, what):
    data, _, _ = lived
    store = MemoryStore()

    async def act(engine, _parts):
        if what == "snapshot":
            await engine.create_snapshot("one")
        elif what == "pruned":
            store.commit(WriteSet({keys.OLDEST: Oldest(0, 5).encode()}))
        else:
            await engine.submit(transfer(0))
        if what == "content":
            await engine.mine(2)
        before, head = content(store), engine.state.head
        with pytest.raises(
            BundleRefused, match=r"is not empty.*: take an empty one"
        ) as told:
            await engine.import_bundle(opened(data))
        assert told.value.fault is BundleFault.NOT_EMPTY
        assert told.value.numbers["waiting"] == (what == "waiting")
        assert told.value.numbers["snapshots"] == (what == "snapshot")
        assert (content(store), engine.state.head) == (before, head)

    scene(act, store)


def test_one_of_another_genesis_is_refused():
    store, other = MemoryStore(), MemoryStore()
    with Worker() as worker:
        state = worker.run(lambda: open_chain(other, lambda _stored: OTHER)).state

    async def act(engine, _parts):
        before = content(store)
        with pytest.raises(BundleRefused, match="they differ in: ") as told:
            await engine.import_bundle(opened(bundle_of(other, state.head)))
        assert told.value.fault is BundleFault.FOREIGN
        assert content(store) == before

    scene(act, store)


def forged(lived):
    """Whole by its digest; the last block with receipts has none."""
    _, source, head = lived
    records = dict(pack_chain(source.snapshot(), head)._records)
    key = max(key for key, value in records.items() if len(value) > 500)
    parts = codec.decode(records[key])
    records[key] = codec.encode([*parts[:2], b"", b""])
    packing = Packing(KIND, (GENESIS.encode(), head, CONSENSUS_NUMBER), records.items())
    return int.from_bytes(key, "big"), b"".join(packing.parts())


def test_one_that_differs_leaves_the_chain_at_genesis(lived):
    height, data = forged(lived)
    store = MemoryStore()

    async def act(engine, _parts):
        before = content(store)
        await engine.mine(3)
        with pytest.raises(BundleRefused) as told:
            await engine.import_bundle(opened(data))
        assert (told.value.fault, told.value.numbers["height"]) == (
            BundleFault.DIFFERS,
            height,
        )
        assert engine.state.head.height == 0
        assert content(store) == before
        assert await engine.import_bundle(opened(lived[0])) == lived[2]

    scene(act, store)


def test_a_file_that_is_altered_under_it_leaves_the_chain_at_genesis(lived):
    data = lived[0]
    bundle = opened(data)
    bundle.file.seek(len(data) * 9 // 10)
    bundle.file.write(b"\0\0\0")

    async def act(engine, _parts):
        with pytest.raises(BundleRefused) as told:
            await engine.import_bundle(bundle)
        assert told.value.fault in (BundleFault.DAMAGED, BundleFault.DIFFERS)
        assert engine.state.head.height == 0
        await engine.mine(1)

    scene(act)


# --- cut short -----------------------------------------------------------------------


def test_a_crash_leaves_all_of_it_or_genesis(lived):
    """Whichever commit does not come; and the next start goes on from there."""
    data, source, head = lived

    async def act(engine, _parts):
        await engine.mine(1)
        await engine.import_bundle(opened(data))

    outcomes, commits = [], 2
    while not outcomes or outcomes[-1] is not None:
        store = MemoryStore()
        try:
            scene(act, CrashingStore(store, commits))
            outcomes.append(None)
        except* (Crash, NodeStopping):
            outcomes.append(height_after(store))
            if outcomes[-1] == head.height:
                assert content(store) == content(source)
        commits += 1
    assert set(outcomes) - {None, head.height} == {0, 1}
    assert len(outcomes) > 10


def height_after(store):
    """Where the chain stands that the next start finds, or makes, of a store."""
    with Worker() as worker:
        state = worker.run(lambda: open_chain(store, lambda one: one)).state
        worker.run(lambda: verify(state))
    return state.head.height


def test_a_node_that_stops_meanwhile_begins_again_at_genesis(lived, monkeypatch):
    monkeypatch.setattr(bundle_import, "_STEP_HEADERS", 1)
    store = MemoryStore()

    async def act(engine, _parts):
        importing = asyncio.create_task(engine.import_bundle(opened(lived[0])))
        while store.snapshot().get(keys.UNFINISHED) is None:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert engine.state.head.height == 0, "nobody sees it before it is whole"
        engine.stop()
        with pytest.raises(NodeStopping):
            await importing

    scene(act, store)
    assert store.snapshot().get(keys.UNFINISHED) is not None

    async def again(engine, _parts):
        assert engine.state.head.height == 0
        assert await engine.import_bundle(opened(lived[0])) == lived[2]

    scene(again, store)
