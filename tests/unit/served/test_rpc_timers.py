"""Explanations and quotes of timers over a real socket, by both clients."""

import asyncio

import pytest

from node.chain.transaction import DeployActor, ExecuteActor
from node.client import Api, AsyncApi, NodeError, Wallet
from node.client.messages import draft
from node.primitives.types import Address
from node.rpc.v1 import queries_pb2, timers_pb2, types_pb2
from node.runtime.types import MiningMode

ALICE = Wallet.dev(0)


async def refused(call):
    with pytest.raises(NodeError) as error:
        await call
    return error.value


async def start(client, source, waits=(5,)):
    """An actor with timers so many heights ahead; their ids."""
    deployment = DeployActor(bytes(32), source, b"", 10**12)
    actor = (await client.execute(ALICE, deployment)).receipt.actor
    ids = []
    for wait in waits:
        call = ExecuteActor(Address(actor), "start", bytes([wait]), 0)
        receipt = (await client.execute(ALICE, call)).receipt
        ids.extend(receipt.scheduled_timer_ids)
    return actor, ids


def test_a_timer_is_explained_before_and_after(run_node, source):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            actor, (timer_id,) = await start(client, source)
            before = await client.explain_timer(timer_id)
            assert before.timer == (await client.timer(timer_id)).timer
            assert (before.position, before.forecast.height) == (0, before.timer.height)
            assert before.forecast.cycles_limit == 100_000
            assert before.forecast.available == str(10**12)
            assert before.forecast.is_payable
            assert before.forecast.is_room
            assert [step.decision.decision for step in before.history] == ["scheduled"]
            assert before.head.height == (await client.status()).head.height
            await client.mine(10)
            after = await client.explain_timer(timer_id)
            assert after.timer.status == timers_pb2.TIMER_STATUS_FIRED
            assert not after.HasField("forecast")
            assert not after.HasField("position")
            fired = after.history[-1]
            assert fired.receipt.id == timer_id
            assert fired.decision.numbers["limit"] == "100000"
            assert fired.decision.height == before.forecast.height
            assert "handle_timer succeeded" in after.text
            with Api(served.url) as blocking:
                told = await asyncio.to_thread(blocking.explain_timer, timer_id)
                assert told == after
                listed = await asyncio.to_thread(
                    lambda: list(blocking.explain_block(fired.decision.height))
                )
            (considered,) = listed
            assert (considered.timer_id, considered.actor) == (timer_id, actor)
            assert considered.is_due
            assert considered.decision == fired.decision
            error = await refused(client.explain_timer(bytes(32)))
            assert error.reason == "TIMER_NOT_FOUND"
            error = await refused(client.explain_timer(b""))
            assert error.reason == "INVALID_ARGUMENT"

    asyncio.run(scenario())


def test_a_block_is_explained_by_pages(run_node, source):
    async def scenario():
        async with (
            run_node(mode=MiningMode.MANUAL) as served,
            AsyncApi(served.url) as client,
        ):
            await client.set_mining(queries_pb2.MINING_MODE_INSTANT)
            _, ids = await start(client, source, (9, 8, 7))
            await client.mine(20)
            height = (await client.explain_timer(ids[0])).timer.height
            service = client._timers
            request = timers_pb2.ExplainBlockRequest(height=height, page_size=2)
            first = await service.ExplainBlock(request)
            assert (first.due_count, len(first.timers)) == (3, 2)
            assert first.text.startswith(f"Block {height} looked at 3 due timers.\n1. ")
            request.page_token = first.next_page_token
            second = await service.ExplainBlock(request)
            assert second.next_page_token == ""
            assert second.text.startswith("3. ")
            shown = [one.timer_id for one in [*first.timers, *second.timers]]
            assert shown == ids
            listed = [one async for one in client.explain_block(height)]
            assert listed == [*first.timers, *second.timers]
            error = await refused(anext(client.explain_block(10**6)))
            assert error.reason == "HEIGHT_NOT_REACHED"

    asyncio.run(scenario())


def test_a_timer_is_quoted(run_node, source):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            actor, _ = await start(client, source)
            wanted = timers_pb2.QuoteTimerRequest(actor=actor, payload_bytes=3)
            quoted = await client.quote_timer(wanted)
            assert quoted.schedule_cells == 3
            assert quoted.cycles_limit == 550_000
            assert (quoted.balance, quoted.pending_timers) == (str(10**12), 1)
            cost, reserved = int(quoted.max_cost), int(quoted.pending_cost)
            assert reserved > 0
            assert quoted.fires_covered == 10**12 // cost
            assert quoted.fires_free == (10**12 - reserved) // cost
            assert quoted.warnings == [types_pb2.WARNING_FEW_FIRES_FILL_A_BLOCK]
            assert "Warning: 3 such fires" in quoted.text
            with Api(served.url) as blocking:
                again = await asyncio.to_thread(blocking.quote_timer, wanted)
            assert again == quoted
            wanted.gas_limit = 5
            error = await refused(client.quote_timer(wanted))
            assert (error.reason, error.metadata["field"]) == (
                "INVALID_ARGUMENT",
                "gas_limit",
            )

    asyncio.run(scenario())


def test_the_next_blocks_are_simulated_and_nothing_is_kept(run_node, source):
    async def scenario():
        node = run_node(mode=MiningMode.INSTANT)
        async with node as served, AsyncApi(served.url) as client:
            actor, (timer_id,) = await start(client, source, (200,))
            head = (await client.status()).head
            seen = await client.simulate_blocks(500)
            outlook = seen.outlook
            assert seen.head.height == head.height
            assert seen.WhichOneof("outcome") is None
            assert outlook.first_height == head.height + 1
            assert (outlook.last_height, outlook.is_complete) == (
                head.height + 500,
                True,
            )
            (fire,) = outlook.fires
            assert (fire.id, fire.payer) == (timer_id, actor)
            (payer,) = outlook.payers
            assert (payer.fires, payer.fees) == (1, fire.fee)
            assert not payer.HasField("dry_height")
            assert (await client.status()).head == head, "nothing is kept"
            await client.mine(500)
            ended = (await client.timer(timer_id)).receipt
            assert ended == fire
            assert (await client.account(actor)).balance == payer.balance
            with Api(served.url) as blocking:
                again = await asyncio.to_thread(blocking.simulate_blocks, 10)
            assert again.outlook.summary.fires == 0

    asyncio.run(scenario())


def test_a_draft_goes_before_the_simulated_blocks(run_node, source):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            actor, _ = await start(client, source, ())
            call = ExecuteActor(Address(actor), "start", bytes([50]), 0)
            seen = await client.simulate_blocks(100, draft(ALICE.address, call))
            (timer_id,) = seen.receipt.scheduled_timer_ids
            (fire,) = seen.outlook.fires
            assert (fire.id, fire.height) == (timer_id, seen.head.height + 51)
            error = await refused(client.simulate_blocks(2**64 - 1))
            assert error.reason == "HEIGHT_TOO_FAR"
            error = await refused(client.simulate_blocks(0))
            assert error.reason == "INVALID_ARGUMENT"

    asyncio.run(scenario())


def test_blocks_are_made_between_the_headers_of_a_simulation(run_node, source):
    """It takes its turn with what else there is to do."""

    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            await start(client, source, range(30, 230, 10))
            height = served.engine.state.head.height
            simulated = asyncio.create_task(client.simulate_blocks(400))
            while not simulated.done():
                await client.mine(1)
            assert served.engine.state.head.height > height + 1
            assert (await simulated).outlook.summary.fires == 20

    asyncio.run(scenario())
