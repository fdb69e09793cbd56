"""--auto-timers and HoldTime over real sockets (interface: time stands still)."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from node.chain.transaction import DeployActor, ExecuteActor, Transfer
from node.client import Api, AsyncApi, Wallet
from node.primitives.types import Address
from node.rpc.v1 import timers_pb2
from node.runtime.types import MiningMode

ALICE, BOB = Wallet.dev(0), Wallet.dev(1)
DEADLINE_SECONDS = 30


def scenario(test):
    async def bounded(*args):
        async with asyncio.timeout(DEADLINE_SECONDS):
            await test(*args)

    return bounded


async def start(client, source, wait):
    """An actor with a timer so many heights ahead: its id and due height."""
    deployment = DeployActor(bytes(32), source, b"", 10**12)
    actor = (await client.execute(ALICE, deployment)).receipt.actor
    call = ExecuteActor(Address(actor), "start", bytes([wait]), 0)
    receipt = (await client.execute(ALICE, call)).receipt
    (timer_id,) = receipt.scheduled_timer_ids
    return timer_id, receipt.height + wait


async def until(condition):
    while not condition():  # noqa: ASYNC110 - nothing tells it
        await asyncio.sleep(0)


@pytest.mark.parametrize("mode", [MiningMode.INSTANT, MiningMode.INTERVAL])
def test_a_timer_fires_by_itself_and_time_stands_still_while_held(
    run_node, source, mode
):
    @scenario
    async def run():
        node = run_node(mode=mode, pace_ms=1, is_auto_timers=True)
        async with node as served, AsyncApi(served.url) as client:
            async with client.hold_time() as head:
                timer_id, due = await start(client, source, 200)
                status = await client.status()
                assert (status.auto_timers, status.time_holds) == (True, 1)
                still = status.head.height
                assert head.height < still < due, "what is submitted goes on"
                for _ in range(3):
                    await client.execute(ALICE, Transfer(BOB.address, 1))
                assert (await client.status()).head.height == still + 3
                pending = (await client.timer(timer_id)).timer
                assert pending.status == timers_pb2.TIMER_STATUS_PENDING
            await until(lambda: served.engine.state.head.height >= due)
            ended = (await client.timer(timer_id)).timer
            assert ended.status == timers_pb2.TIMER_STATUS_FIRED
            assert ended.end.height == due
            assert (await client.status()).time_holds == 0

    asyncio.run(run())


def test_time_is_held_until_the_last_one_lets_go(run_node, source):
    @scenario
    async def run():
        node = run_node(pace_ms=1, is_auto_timers=True)
        async with node as served, AsyncApi(served.url) as client:
            first, second = client.hold_time(), client.hold_time()
            await first.__aenter__()
            await second.__aenter__()
            _, due = await start(client, source, 100)
            head = served.engine.state.head.height
            await first.__aexit__(None, None, None)
            await until(lambda: served.engine.status.time_holds == 1)
            await client.mine(1)
            assert served.engine.state.head.height == head + 1, "an order goes on"
            await second.__aexit__(None, None, None)
            await until(lambda: served.engine.state.head.height >= due)

    asyncio.run(run())


def test_the_blocking_client_holds_time_too(run_node):
    @scenario
    async def run():
        async with run_node() as served:

            def hold():
                with Api(served.url) as client, client.hold_time() as head:
                    assert client.status().time_holds == 1
                    return head.height

            assert await asyncio.to_thread(hold) == 0
            await until(lambda: served.engine.status.time_holds == 0)

    asyncio.run(run())


HOLDER = """
import sys
from node.client import Api
with Api(sys.argv[1]) as client, client.hold_time():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_client_that_dies_lets_go(run_node, source):
    @scenario
    async def run():
        node = run_node(pace_ms=1, is_auto_timers=True)
        async with node as served, AsyncApi(served.url) as client:
            holder = await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                HOLDER,
                served.url,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=Path.cwd(),
            )
            assert await holder.stdout.readline() == b"held\n"
            _, due = await start(client, source, 100)
            assert served.engine.state.head.height < due
            holder.send_signal(signal.SIGKILL)
            await holder.wait()
            await until(lambda: served.engine.state.head.height >= due)

    asyncio.run(run())


def test_a_node_that_stops_ends_the_holds(run_node):
    @scenario
    async def run():
        async with run_node() as served, AsyncApi(served.url) as client:
            hold = client.hold_time()
            await hold.__aenter__()
            served.engine.stop()
            await until(lambda: served.engine.status.time_holds == 0)
            await hold.__aexit__(None, None, None)

    asyncio.run(run())


def test_a_reset_ends_an_advance_that_is_under_way(run_node, source):
    """The timer it went to is gone."""

    @scenario
    async def run():
        node = run_node(mode=MiningMode.MANUAL, pace_ms=1, is_auto_timers=True)
        async with node as served, AsyncApi(served.url) as client:
            async with client.hold_time():
                await client.set_mining(2)
                await start(client, source, 250)
                await client.set_mining(3)
            await client.reset()
            async with client.hold_time() as head:
                assert head.height == 0

    asyncio.run(run())
