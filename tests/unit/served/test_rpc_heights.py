"""Ranges of heights in few numbers, and an actor's past, over a real socket."""

import asyncio
import threading

import pytest

from node.chain.transaction import DeployActor, ExecuteActor
from node.client import AsyncApi, NodeError, Wallet
from node.primitives.types import Address
from node.query.trace.storage_history import StorageWalk
from node.rpc.v1 import queries_pb2, types_pb2

ALICE = Wallet.dev(0)

COUNTER = b"""
import pvm_host

def add(payload):
    n = len(pvm_host.get_state(b"n") or b"") + 1
    pvm_host.set_state(b"n", bytes(n))
    if payload == b"later":
        pvm_host.schedule_timer(pvm_host.block_height() + 3, b"")
    if payload == b"gone":
        pvm_host.delete_state(b"n")

def handle_timer(payload):
    pvm_host.set_state(b"m", b"fired")
    add(b"")
"""


async def refused(call):
    with pytest.raises(NodeError) as error:
        await call
    return error.value


async def start(client, *payloads):
    deployment = DeployActor(bytes(32), COUNTER, b"", 10**12)
    actor = Address((await client.execute(ALICE, deployment)).receipt.actor)
    calls = [
        (await client.execute(ALICE, ExecuteActor(actor, "add", payload, 0))).receipt
        for payload in payloads
    ]
    return actor, calls


def test_due_timers_and_lanes_are_told_in_buckets(run_node):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            _, (call, *_) = await start(client, b"later", b"later")
            head = (await client.status()).head.height
            due = await client.count_due_timers(0, 9, 10)
            assert (due.width, len(due.buckets), due.head.height) == (1, 10, head)
            live = {one.from_height: one.pending for one in due.buckets if one.pending}
            assert live == {call.height + 3: 1, call.height + 4: 1}
            assert (due.pending, due.queued, due.counted_from) == (2, 0, 0)
            assert due.ring_to == head + 255
            await client.mine(10)
            due = await client.count_due_timers(0, 15, 1)
            (bucket,) = due.buckets
            assert (bucket.from_height, bucket.to_height, due.width) == (0, 15, 16)
            assert (bucket.pending, bucket.scheduled, bucket.fires) == (0, 2, 2)
            use = await client.lane_use(0, 15, 1)
            (bucket,) = use.buckets
            assert bucket.transactions == 3
            assert bucket.used.transaction_cycles >= bucket.most.transaction_cycles > 0
            assert use.limits.block.transaction_cycles == 20_000_000
            assert bucket.basefee_cycle.first == "1000"
            status = await client.status(include_supply=True)
            assert bucket.burned == status.supply.burned

    asyncio.run(scenario())


def test_ranges_by_default(run_node):
    """The past until the head; what is due, as far as the epoch queue reaches."""

    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            await client.mine(5)
            use = await client.lane_use()
            assert [one.from_height for one in use.buckets] == [0, 1, 2, 3, 4, 5]
            due = await client.count_due_timers()
            assert due.buckets[0].from_height <= 5
            assert due.buckets[-1].to_height >= due.epochs_to
            assert len(due.buckets) <= 256
            assert len((await client.lane_use(9)).buckets) == 1
            assert len((await client.lane_use(0, 2**64 - 1, 1_024)).buckets) == 1_024
            for ask in (client.lane_use, client.count_due_timers):
                widest = await ask(0, 2**64 - 1, 1)
                assert (widest.width, len(widest.buckets)) == (2**62, 4)
                assert widest.buckets[-1].to_height == 2**64 - 1

    asyncio.run(scenario())


def test_ranges_that_are_none_are_refused(run_node):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            for ask in (client.lane_use, client.count_due_timers):
                error = await refused(ask(5, 4))
                assert error.reason == "INVALID_ARGUMENT"
                assert "to_height is at least from_height, 5" in error.message
                error = await refused(ask(0, 4, 1_025))
                assert "buckets is at most 1024" in error.message

    asyncio.run(scenario())


async def told(stream):
    *changes, end = [response async for response in stream]
    assert all(one.WhichOneof("item") == "change" for one in changes)
    return [one.change for one in changes], end.end


def test_an_actors_storage_is_told_back_to_its_beginning(run_node):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            actor, calls = await start(client, b"later", b"", b"gone")
            await client.mine(10)
            changes, end = await told(client.stream_storage_history(actor))
            assert end.stop == queries_pb2.HISTORY_STOP_COMPLETE
            rows = [
                (one.height, one.key, one.before, one.after, one.HasField("after"))
                for one in changes
                if not one.key.startswith(b"__")
            ]
            first = calls[0].height
            fire = first + 3
            assert rows == [
                (fire, b"n", b"", bytes(1), True),
                (fire, b"m", b"", b"fired", True),
                (first + 2, b"n", bytes(2), b"", False),
                (first + 1, b"n", bytes(1), bytes(2), True),
                (first, b"n", b"", bytes(1), True),
            ]
            assert [one.id for one in changes if one.key == b"n"][1:] == [
                calls[2].id, calls[1].id, calls[0].id,
            ]  # fmt: skip
            assert changes[0].kind == types_pb2.RECEIPT_KIND_FIRE
            only, _ = await told(client.stream_storage_history(actor, b"m"))
            assert [one.height for one in only] == [fire]

    asyncio.run(scenario())


def test_whose_storage_is_not_there_has_no_past(run_node):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            for actor, reason in (
                (b"\x77" * 20, "ACTOR_NOT_FOUND"),
                (ALICE.address, "ACTOR_NOT_FOUND"),
                (b"short", "INVALID_ARGUMENT"),
            ):
                error = await refused(told(client.stream_storage_history(actor)))
                assert error.reason == reason
            actor, _ = await start(client)
            for asked in (
                {"prefix": bytes(257)}, {"changes": 10_001},
                {"from_height": 3, "to_height": 2},
            ):  # fmt: skip
                stream = client.stream_storage_history(actor, **asked)
                error = await refused(told(stream))
                assert error.reason == "INVALID_ARGUMENT"

    asyncio.run(scenario())


def test_a_past_that_was_begun_is_not_disturbed_by_a_rewind(run_node):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            actor, _ = await start(client)
            await client.create_snapshot("before")
            for _ in range(4):
                await client.execute(ALICE, ExecuteActor(actor, "add", b"", 0))
            whole, _ = await told(client.stream_storage_history(actor, b"n"))
            stream = client.stream_storage_history(actor, b"n")
            seen = [(await anext(stream)).change]
            await client.revert_to_snapshot("before")
            rest, end = await told(stream)
            assert [*seen, *rest] == whole
            assert end.stop == queries_pb2.HISTORY_STOP_COMPLETE
            assert (await told(client.stream_storage_history(actor, b"n")))[0] == []

    asyncio.run(scenario())


def test_a_caller_who_goes_away_ends_the_walk(run_node, monkeypatch):
    steps, gate, step = [], threading.Event(), StorageWalk.step

    def held(walk):
        steps.append(walk)
        if len(steps) >= 3:
            gate.wait(30)
        return step(walk)

    monkeypatch.setattr(StorageWalk, "step", held)

    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            actor, _ = await start(client, *[b""] * 12)
            stream = client.stream_storage_history(actor, b"n")
            await anext(stream)
            await stream.aclose()
            gate.set()
            await client.mine(1)  # the worker has done what it was given
            await client.status()
            assert len(steps) <= 4

    asyncio.run(scenario())
