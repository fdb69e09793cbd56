"""A flooded node: bounded memory, refusals with their codes, and answers afterwards.

Real processes and sockets. How fast it answers meanwhile is the bench's business.
"""

import asyncio
import socket
from contextlib import AsyncExitStack, suppress
from itertools import count

import grpc
import psutil
import pytest

from node.chain.genesis import dev_account
from node.chain.transaction import Body, ExecuteActor, Transfer, impersonate
from node.client import AsyncApi, NodeError
from node.primitives.types import Amount
from node.rpc.v1.streams_pb2 import StreamBlocksRequest
from node.rpc.v1.streams_pb2_grpc import StreamServiceStub
from node.rpc.v1.transactions_pb2 import SubmitAndWaitRequest
from node.rpc.v1.transactions_pb2_grpc import TransactionServiceStub
from node.rpc.v1.types_pb2 import BLOCK_VIEW_FULL
from tests.crash.processes import running

pytestmark = pytest.mark.slow

DEADLINE_SECONDS = 120
MEBIBYTE = 1 << 20
GROWTH_MIB_MAX = 200
"""What any of these floods may add to a node's memory (docs/operations.md)."""
REQUEST_BYTES_MAX = 2 * MEBIBYTE
BIG_BLOCKS = 120
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
EMPTY_SETTINGS = b"\0\0\0\4\0\0\0\0\0"
HALF_HEADERS = b"\0\1\0\1\4\0\0\0\1" + bytes(20)
"""Of 256 bytes that it announces."""
OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1),)


def resident_mib(process):
    return psutil.Process(process.pid).memory_info().rss / MEBIBYTE


def open_files(process):
    return psutil.Process(process.pid).num_fds()


def transfer(sender, nonce):
    free, fee = Amount(0), Amount(10**6)
    body = Body(
        100, nonce, 10_000, 2_000, fee, free, fee, free, Transfer(sender, Amount(1))
    )
    return impersonate(body.encode(), sender)


def big(sender, nonce):
    """A call with a payload of 50,000 bytes, to nobody."""
    free, fee = Amount(0), Amount(10**6)
    call = ExecuteActor(bytes([7]) * 20, "nothing", bytes(50_000), Amount(0))
    body = Body(100, nonce, 100_000, 60_000, fee, free, fee, free, call)
    return impersonate(body.encode(), sender)


async def require_well(client):
    """The node takes a transaction and makes a block."""
    sender = dev_account(1)
    before = await client.account(sender)
    with suppress(NodeError):  # a full pool refuses it, and is emptied by the block
        await client.submit(transfer(sender, before.next_nonce))
    height = (await client.status()).head.height
    assert (await client.mine()).height > height
    assert (await client.account(sender)).nonce > before.nonce


def run_against(tmp_path, scene, *flags):
    """Run a scene against a node; it must not have grown or kept files for good."""
    with running(tmp_path, "--mining", "manual", *flags) as (process, address):

        async def whole():
            async with asyncio.timeout(DEADLINE_SECONDS), AsyncApi(address) as own:
                await require_well(own)
                memory, files = resident_mib(process), open_files(process)
                await scene(own, address)
                await require_well(own)
                assert resident_mib(process) < memory + GROWTH_MIB_MAX
                while open_files(process) > files + 10:
                    await own.status()  # closing takes a while

        asyncio.run(whole())
        assert process.stop() == 0


def test_a_pool_at_its_limit_refuses_and_goes_on(tmp_path):
    """POOL_FULL is RESOURCE_EXHAUSTED; a block makes room."""

    async def scene(client, _address):
        refused = []

        async def send(index):
            for nonce in count(int(index == 1)):
                try:
                    await client.submit(transfer(dev_account(index), nonce))
                except NodeError as error:
                    refused.append((error.code, error.reason))
                    return

        await asyncio.gather(*(send(index) for index in range(170)))
        assert (await client.status()).pool_transactions == 10_000
        assert ("RESOURCE_EXHAUSTED", "POOL_FULL") in refused

    run_against(tmp_path, scene, "--accounts", "170")


def test_readers_that_fell_behind_are_told_where_to_resume(tmp_path):
    """500 streams, some never read; a slow one gets RESOURCE_EXHAUSTED."""

    async def scene(client, address):
        async with AsyncExitStack() as stack:
            channels = [
                await stack.enter_async_context(
                    grpc.aio.insecure_channel(address, options=OWN_CONNECTION)
                )
                for _ in range(10)
            ]
            stubs = [StreamServiceStub(channels[index % 10]) for index in range(500)]
            whole = StreamBlocksRequest(view=BLOCK_VIEW_FULL)
            silent = [stub.StreamBlocks(whole) for stub in stubs[:20]]
            seen = [0] * 480
            readers = [
                asyncio.create_task(follow(stub, seen, index))
                for index, stub in enumerate(stubs[20:])
            ]
            while not all(seen):
                await client.mine()
            sender = dev_account(2)
            for nonce in range(0, 8 * BIG_BLOCKS, 8):
                for index in range(8):
                    await client.submit(big(sender, nonce + index))
                await client.mine()
            heights, ended = await read_to_the_end(silent[0])
            assert ended.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert f"resume after height {heights[-1]}" in ended.details()
            assert heights == list(range(heights[0], heights[-1] + 1))
            assert not any(reader.done() for reader in readers), "they kept up"
            for call in (*readers, *silent):
                call.cancel()

    run_against(tmp_path, scene)


async def read_to_the_end(call):
    """Heights of all blocks, and how it ended."""
    heights = []
    try:
        async for message in call:
            heights.append(message.block.header.height)  # noqa: PERF401 - it ends
    except grpc.aio.AioRpcError as error:
        return heights, error
    raise AssertionError("a reader that fell behind was not told")


async def follow(stub, seen, index):
    async for message in stub.StreamBlocks(StreamBlocksRequest()):
        seen[index] = message.block.header.height


def test_a_hundred_clients_that_hang_in_a_call_cost_nothing(tmp_path):
    """Half a greeting, half a request, an answer that nobody takes."""

    async def scene(client, address):
        host, _, port = address.rpartition(":")
        beginnings = (
            b"",
            GREETING[:10],
            GREETING,
            GREETING + EMPTY_SETTINGS[:5],
            GREETING + EMPTY_SETTINGS + HALF_HEADERS,
        )
        hanging = []
        for index in range(100):
            raw = socket.create_connection((host, int(port)))
            raw.sendall(beginnings[index % len(beginnings)])
            hanging.append(raw)
        channel = grpc.aio.insecure_channel(address, options=OWN_CONNECTION)
        waiting = [
            TransactionServiceStub(channel).SubmitAndWait(
                SubmitAndWaitRequest(transaction=transfer(dev_account(3), nonce))
            )
            for nonce in range(60)
        ]
        while (await client.status()).pool_transactions < len(waiting):
            assert not any(call.done() for call in waiting)
        await require_well(client)
        for raw in hanging:
            raw.close()
        await channel.close(grace=0)

    run_against(tmp_path, scene)


def test_bodies_at_and_above_the_limit_are_refused(tmp_path):
    """Too large: refused before it is decoded. Large: refused by what it says."""

    async def scene(client, _address):
        async def codes(size):
            found = set()

            async def send():
                with pytest.raises(NodeError) as refused:
                    await client.submit(b"\xff" * size)
                found.add(refused.value.code)

            for _ in range(5):
                await asyncio.gather(*(send() for _ in range(20)))
            return found

        assert await codes(REQUEST_BYTES_MAX) == {"RESOURCE_EXHAUSTED"}
        assert await codes(REQUEST_BYTES_MAX - 100) == {"INVALID_ARGUMENT"}

    run_against(tmp_path, scene)


def test_a_flood_of_invalid_signatures_fills_no_pool(tmp_path):
    async def scene(client, _address):
        body = transfer(dev_account(4), 0)[:-65]
        before = (await client.status()).pool_transactions

        async def send(index):
            for number in range(50):
                forged = bytes([255]) * 62 + bytes([index, number, 2])
                with pytest.raises(NodeError) as refused:
                    await client.submit(body + forged)
                assert refused.value.code == "INVALID_ARGUMENT"
                assert refused.value.reason == "BAD_SIGNATURE"

        await asyncio.gather(*(send(index) for index in range(60)))
        assert (await client.status()).pool_transactions == before

    run_against(tmp_path, scene)
