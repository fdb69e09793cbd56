"""QueryService and TimerService over a real socket."""

import asyncio

import pytest

import node
from node.chain.transaction import DeployActor, ExecuteActor, Transfer
from node.client import AsyncApi, NodeError, TimerQuery, Wallet
from node.rpc.v1 import (
    queries_pb2,
    queries_pb2_grpc,
    timers_pb2,
    timers_pb2_grpc,
    types_pb2,
)

ALICE, BOB = Wallet.dev(0), Wallet.dev(1)
ABSENT = b"\x99" * 20


async def refused(call):
    with pytest.raises(NodeError) as error:
        await call
    return error.value


async def deploy(client, source):
    instruction = DeployActor(bytes(32), source, b"", 10**12)
    return (await client.execute(ALICE, instruction)).receipt.actor


async def call(client, actor, handler, payload=b""):
    return await client.execute(ALICE, ExecuteActor(actor, handler, payload, 0))


def test_status_says_where_the_chain_stands(run_node):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            await client.mine(3)
            status = await client.status()
            assert (status.chain_name, status.chain_id) == ("devnet", 100)
            assert status.node_version == node.__version__
            assert status.head.height == 3
            assert status.oldest_state_height == status.oldest_block_height == 0
            assert status.mining_mode == queries_pb2.MINING_MODE_INSTANT
            assert (status.dev, status.rules) == (True, "fifo")
            assert int(status.next_basefee_cycle) < int(status.head.basefee_cycle)
            genesis = await client.block(0)
            assert genesis.header.hash == status.genesis_hash
            assert not status.HasField("supply")

    asyncio.run(scenario())


def test_supply_can_be_counted(run_node):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            await client.execute(ALICE, Transfer(BOB.address, 5))
            supply = (await client.status(include_supply=True)).supply
            parts = (supply.balances, supply.burned, supply.held)
            assert int(supply.minted) == sum(map(int, parts)) == 10**16
            assert int(supply.burned) > 0

    asyncio.run(scenario())


def test_params_are_those_of_the_genesis(run_node):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            params = await client.params()
            assert (params.chain_id, params.block_interval_ms) == (100, 1_000)
            assert list(params.system_deployers) == [ALICE.address]
            assert params.timer_config.max_cycles_per_fire == 550_000
            assert params.basefee_config.target_cycles == 10_000_000
            assert [(a.height, a.rules) for a in params.activations] == [(0, "fifo")]
            assert params.transaction_body_bytes_max == 1_200_000

    asyncio.run(scenario())


def test_an_actor_shows_code_handlers_and_storage(run_node, source):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            actor = await deploy(client, source)
            await call(client, actor, "say", b"hello")
            await call(client, actor, "count")
            shown = await client.actor(actor)
            assert (shown.source, shown.deployer) == (source, ALICE.address)
            assert list(shown.handlers)[:3] == [
                "start",
                "start_expired",
                "handle_timer",
            ]
            assert "count" in shown.handlers
            assert (await client.storage(actor, b"said")).value == b"hello"
            entry = await client.storage(actor, "count")
            assert (entry.name, entry.value) == ("count", b"\x07")
            entries = [entry async for entry in client.list_storage(actor)]
            assert [e.key for e in entries] == [b"said", b"storage:count"]
            assert not entries[0].HasField("name")

    asyncio.run(scenario())


def test_reading_runs_a_handler_and_keeps_nothing(run_node, source):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            actor = await deploy(client, source)
            await call(client, actor, "say", b"hello")
            answer = await client.read(actor, "said")
            assert (answer.value, answer.head.height) == (b"hello", 2)
            assert answer.status == types_pb2.EXECUTION_STATUS_SUCCEEDED
            assert answer.cycles_used > 0
            writing = await client.read(actor, "say", b"other")
            assert writing.status == types_pb2.EXECUTION_STATUS_FAILED
            assert writing.error.kind == "ReadOnlyViolation"
            assert (await client.storage(actor, b"said")).value == b"hello"

    asyncio.run(scenario())


def test_blocks_are_found_and_listed(run_node):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            committed = await client.execute(ALICE, Transfer(BOB.address, 5))
            await client.mine()
            await client.mine()
            latest = await client.block()
            assert latest.header.height == 3
            block = await client.block(1, view=types_pb2.BLOCK_VIEW_FULL)
            assert block.receipts[0] == committed.receipt
            same = await client.block(block_hash=committed.block.hash)
            assert same.header == block.header
            up = [b.header.height async for b in client.blocks()]
            assert up == [0, 1, 2, 3]
            down = [b.header.height async for b in client.blocks(2, is_descending=True)]
            assert down == [2, 1, 0]

    asyncio.run(scenario())


def test_lists_have_pages_that_continue_their_own_question(run_node):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            for _ in range(4):
                await client.mine()
            channel = served.channel()
            stub = queries_pb2_grpc.QueryServiceStub(channel)
            first = await stub.ListBlocks(queries_pb2.ListBlocksRequest(page_size=2))
            assert [b.header.height for b in first.blocks] == [0, 1]
            second = await stub.ListBlocks(
                queries_pb2.ListBlocksRequest(
                    page_size=2, page_token=first.next_page_token
                )
            )
            assert [b.header.height for b in second.blocks] == [2, 3]
            for request in (
                queries_pb2.ListBlocksRequest(
                    from_height=1, page_token=first.next_page_token
                ),
                queries_pb2.ListBlocksRequest(page_token="zz"),
                queries_pb2.ListBlocksRequest(page_token="00"),
                queries_pb2.ListBlocksRequest(page_token=first.next_page_token + "00"),
                queries_pb2.ListBlocksRequest(page_token=first.next_page_token.upper()),
            ):
                with pytest.raises(Exception, match="page token"):
                    await stub.ListBlocks(request)
            for request, text in (
                (queries_pb2.ListBlocksRequest(page_size=101), "at most 100"),
                (queries_pb2.ListBlocksRequest(view=types_pb2.BLOCK_VIEW_FULL), "FULL"),
            ):
                with pytest.raises(Exception, match=text):
                    await stub.ListBlocks(request)
            await channel.close()

    asyncio.run(scenario())


def test_unknown_things_are_not_found_and_malformed_ids_refused(run_node, source):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            actor = await deploy(client, source)
            for asked, reason in (
                (client.actor(ABSENT), "ACTOR_NOT_FOUND"),
                (client.read(ABSENT, "main"), "ACTOR_NOT_FOUND"),
                (client.storage(actor, b"nothing"), "STORAGE_KEY_NOT_FOUND"),
                (client.block(block_hash=bytes(32)), "BLOCK_NOT_FOUND"),
                (client.transaction(bytes(32)), "TRANSACTION_NOT_FOUND"),
                (client.timer(bytes(32)), "TIMER_NOT_FOUND"),
            ):
                error = await refused(asked)
                assert (error.code, error.reason) == ("NOT_FOUND", reason)
            for asked, field in (
                (client.account(b"1"), "address"),
                (client.actor(b""), "address"),
                (client.storage(actor, b""), "key"),
                (client.storage(actor, b"k" * 257), "key"),
                (client.block(block_hash=b"1"), "hash"),
                (client.transaction(b"1"), "id"),
                (client.timer(b""), "timer_id"),
                (client.read(actor, "h" * 257), "handler"),
            ):
                error = await refused(asked)
                assert (error.code, error.metadata) == (
                    "INVALID_ARGUMENT",
                    {"field": field},
                )
            error = await refused(client.block(99))
            assert (error.code, error.reason) == ("OUT_OF_RANGE", "HEIGHT_NOT_REACHED")

    asyncio.run(scenario())


def test_recent_heights_answer_with_their_own_state(run_node, source):
    """Interface §1: each method with `at_height`; other heights name the oldest."""

    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            actor = await deploy(client, source)
            first = (await client.status()).head.height
            await call(client, actor, "say", b"hi")
            await call(client, actor, "start", b"\x63")
            await client.mine(3)
            channel = served.channel()
            stub = queries_pb2_grpc.QueryServiceStub(channel)
            timers = timers_pb2_grpc.TimerServiceStub(channel)
            for passed, stored, armed in ((0, 0, 0), (1, 1, 0), (2, 1, 1)):
                where = {"at_height": first + passed}
                entries = queries_pb2.ListStorageRequest(actor=actor, **where)
                assert len((await stub.ListStorage(entries)).entries) == stored
                said = queries_pb2.CallReadOnlyRequest(
                    actor=actor, handler="said", **where
                )
                assert bool((await stub.CallReadOnly(said)).value) is bool(stored)
                who = queries_pb2.GetAccountRequest(address=ALICE.address, **where)
                assert (await stub.GetAccount(who)).nonce == 1 + passed
                what = queries_pb2.GetActorRequest(address=actor, **where)
                assert (await stub.GetActor(what)).live_timers == armed
                live = await timers.ListTimers(timers_pb2.ListTimersRequest(**where))
                assert len(live.timers) == armed
            await client.mine(100)
            request = queries_pb2.GetAccountRequest(address=ALICE.address, at_height=1)
            oldest = (await client.status()).oldest_state_height
            with pytest.raises(Exception, match=f"oldest is {oldest}"):
                await stub.GetAccount(request)
            await channel.close()

    asyncio.run(scenario())


# --- timers ------------------------------------------------------------------------


def test_a_timer_is_pending_then_fired_with_its_receipt(run_node, source):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            actor = await deploy(client, source)
            committed = await call(client, actor, "start", b"\x02")
            timer_id = committed.receipt.scheduled_timer_ids[0]
            pending = (await client.timer(timer_id)).timer
            assert pending.status == timers_pb2.TIMER_STATUS_PENDING
            assert pending.height == committed.block.height + 2
            await client.mine(2)
            response = await client.timer(timer_id)
            assert response.timer.status == timers_pb2.TIMER_STATUS_FIRED
            assert response.timer.end.height == pending.height
            assert response.receipt.id == timer_id
            assert response.receipt.payer == actor

    asyncio.run(scenario())


def test_timers_are_listed_by_filter(run_node, source):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            actor = await deploy(client, source)
            for delay in (b"\x01", b"\x20", b"\x10"):
                await call(client, actor, "start", delay)

            async def listed(**fields):
                return [t.height async for t in client.timers(TimerQuery(**fields))]

            pending = await listed()
            assert pending == sorted(pending)
            assert len(pending) == 2
            assert await listed(actor=actor) == pending
            assert await listed(fee_payer=ABSENT) == []
            assert await listed(from_height=pending[1]) == pending[1:]
            assert await listed(to_height=pending[0]) == pending[:1]
            fired = timers_pb2.TIMER_STATUS_FIRED
            assert await listed(status=fired) == [3]
            assert await listed(status=fired, actor=ABSENT) == []
            assert await listed(status=timers_pb2.TIMER_STATUS_EXPIRED) == []

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "status", [timers_pb2.TIMER_STATUS_PENDING, timers_pb2.TIMER_STATUS_FIRED]
)
def test_timer_pages_continue_their_own_question(run_node, source, status):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            actor = await deploy(client, source)
            delay = b"\x01" if status == timers_pb2.TIMER_STATUS_FIRED else b"\x20"
            for _ in range(2):
                await call(client, actor, "start", delay)
            await client.mine(1)
            channel = served.channel()
            stub = timers_pb2_grpc.TimerServiceStub(channel)
            request = timers_pb2.ListTimersRequest(status=status, page_size=1)
            heights = []
            while True:
                page = await stub.ListTimers(request)
                heights += [timer.height for timer in page.timers]
                if not page.next_page_token:
                    break
                request.page_token = page.next_page_token
            assert len(heights) == 2
            assert heights == sorted(heights)
            request.actor = actor
            with pytest.raises(Exception, match="page token"):
                await stub.ListTimers(request)
            await channel.close()

    asyncio.run(scenario())


def test_a_timer_that_never_fires_is_warned_of_in_its_receipt(run_node, source):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            actor = await deploy(client, source)
            committed = await call(client, actor, "start_expired")
            assert list(committed.receipt.warnings) == [
                types_pb2.WARNING_EXPIRES_BEFORE_DUE
            ]
            block = await client.block(view=types_pb2.BLOCK_VIEW_FULL)
            assert block.receipts[0] == committed.receipt

    asyncio.run(scenario())
