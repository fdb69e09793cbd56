"""Faults that a running engine lives with: a slow disk, a clock that jumps."""

import asyncio
import threading

import pytest

from node.archive.opening import open_chain
from node.runtime.block_builder import EngineParts
from node.runtime.clock import SystemClock
from node.runtime.engine import Engine, EngineSettings
from node.runtime.shared_store import SharedStore
from node.runtime.types import Committed, MiningMode, NodeStopping
from node.state.errors import StoreUnwritable
from pvm.worker import Worker
from tests.unit.test_engine import (
    DEADLINE_SECONDS,
    GENESIS,
    Log,
    RecordingStore,
    running,
    transfer,
)


def test_a_slow_disk_keeps_nobody_waiting_but_those_whose_block_it_is():
    """State, pool and streams answer while a commit waits for the disk."""

    async def scene():
        disk_is_free, is_committing = threading.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def wait_for_disk():
            loop.call_soon_threadsafe(is_committing.set)
            assert disk_is_free.wait(DEADLINE_SECONDS)

        async with running(MiningMode.MANUAL) as (engine, parts):
            first = await engine.submit(transfer(0))
            parts.store.on_commit = wait_for_disk
            mined = asyncio.create_task(engine.mine(1))
            waiting = asyncio.create_task(engine.wait_for(first.id))
            await is_committing.wait()
            second = await engine.submit(transfer(1))
            assert engine.status.pool_transactions == 2
            assert engine.state.head.height == 0, "not visible before it is durable"
            assert not waiting.done(), "not announced before it is durable"
            disk_is_free.set()
            assert (await mined).height == 1
            assert isinstance(await waiting, Committed)
            assert engine.look_up(second.id) is not None

    asyncio.run(scene())


def test_a_clock_that_jumps_backwards_changes_nothing():
    """Blocks carry virtual time (D37); the wall clock dates lines of the log."""

    class JumpingClock(SystemClock):
        year = 2026

        def utc(self):
            self.year -= 1
            return f"{self.year}-01-01T00:00:00.000Z"

    async def scene():
        with Worker() as worker:
            store = SharedStore()
            opened = worker.run(lambda: open_chain(store, lambda _stored: GENESIS))
            parts = EngineParts(store, worker, JumpingClock(), Log())
            settings = EngineSettings(MiningMode.INTERVAL, pace_ms=1)
            engine = Engine(parts, opened.genesis, opened.state, settings)
            seen = [opened.state.head]
            async with asyncio.timeout(DEADLINE_SECONDS), asyncio.TaskGroup() as tasks:
                tasks.create_task(engine.run())
                with engine.subscribe() as notices:
                    while len(seen) < 5:
                        seen.append((await anext(notices)).block.header)
                engine.stop()
        interval = GENESIS.params.block_interval_ms
        first = seen[0].timestamp_ms
        assert [one.timestamp_ms - first for one in seen] == [
            height * interval for height in range(5)
        ]

    asyncio.run(scene())


def test_a_commit_that_fails_is_acknowledged_to_nobody():
    """The engine ends with the reason, and who waits is told that it ends."""

    class FullStore(RecordingStore):
        def commit(self, writes, *, sync=True):
            if self.synced:
                raise StoreUnwritable("no room")
            super().commit(writes, sync=sync)

    async def scene():
        store = FullStore()
        with Worker() as worker:
            opened = worker.run(lambda: open_chain(store, lambda _stored: GENESIS))
            parts = EngineParts(store, worker, SystemClock(), Log())
            settings = EngineSettings(MiningMode.MANUAL, 1_000)
            engine = Engine(parts, opened.genesis, opened.state, settings)
            sent = await engine.submit(transfer(0))
            async with asyncio.timeout(DEADLINE_SECONDS):
                ended, *told = await asyncio.gather(
                    engine.run(),
                    engine.wait_for(sent.id),
                    engine.mine(1),
                    return_exceptions=True,
                )
            assert isinstance(ended, StoreUnwritable)
            assert [type(one) for one in told] == [NodeStopping, NodeStopping]
            assert engine.state.head.height == 0
            with pytest.raises(NodeStopping):
                await engine.submit(transfer(1))

    asyncio.run(scene())
