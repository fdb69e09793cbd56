"""Profiles of a node's blocks: executed again, told to both kinds of client."""

import asyncio

import pytest

from node.client import AsyncClient, Client, NodeError
from node.rpc import profiling
from node.state.undo import BLOCKS_KEPT

BUSY = """import pvm_host


def begin(payload):
    pvm_host.schedule_timer(pvm_host.block_height() + 2, b"")


def handle_timer(payload):
    pvm_host.schedule_timer(pvm_host.block_height() + 10, b"")
"""


def use_client(url):
    """Totals, and what happened while a block was not told, are those of the node."""
    with Client(url) as client:
        actor = client.deploy(BUSY, value="5 CBY")
        with client.profile() as whole:
            receipt = actor.call("begin")
            client.advance(blocks=BLOCKS_KEPT)
        assert whole.cycles == sum(
            each.cycles_used for each in client.receipts()[1:] if each.cycles_used
        )
        assert whole.executions[0].receipt == receipt
        with client.profile() as idle:
            pass
        assert idle.executions == []
        with pytest.raises(NodeError, match="HISTORY_NOT_KEPT"):
            go_too_far(client)
        assert client.height > 4 * BLOCKS_KEPT, "it is done"


def go_too_far(client):
    with client.profile():
        client.advance(blocks=4 * BLOCKS_KEPT)


def test_a_client_without_an_event_loop_profiles_what_it_does(run_node):
    async def scenario():
        async with run_node() as served:
            await asyncio.to_thread(use_client, served.url)

    asyncio.run(scenario())


def test_a_client_with_an_event_loop_counts_each_block_once(run_node):
    """Tasks share it."""

    async def scenario():
        async with run_node() as served, AsyncClient(served.url) as client:
            actor = await client.deploy(BUSY, value="5 CBY")
            async with client.profile() as profile, client.profile() as inner:
                senders = client.accounts[:4]
                calls = [actor.call("begin", sender=sender) for sender in senders]
                receipts = await asyncio.gather(*calls)
            counted = [each.receipt for each in profile.executions]
            sent = [receipt for receipt in counted if receipt.handler == "begin"]
            assert sorted(r.id for r in sent) == sorted(r.id for r in receipts)
            assert inner.cycles == profile.cycles

    asyncio.run(scenario())


def test_what_would_hold_up_a_node_is_refused(run_node, monkeypatch):
    async def scenario(*, is_dev=True):
        served = run_node(is_dev_genesis=is_dev)
        async with served as node, AsyncClient(node.url) as client:
            if is_dev:
                await client.deploy(BUSY)
            return await client.api.block_profile(int(is_dev))

    told = asyncio.run(scenario())
    assert len(told.executions) == 1
    assert not told.report, "that of one block is of little use"
    with pytest.raises(NodeError, match="told on a development chain alone"):
        asyncio.run(scenario(is_dev=False))
    monkeypatch.setattr(profiling, "PROFILED_CYCLES_MAX", 10)
    with pytest.raises(NodeError, match="profile reaches to 10 cycles, and this takes"):
        asyncio.run(scenario())
