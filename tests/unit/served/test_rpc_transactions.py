"""TransactionService over a real socket."""

import asyncio
import json

import pytest

from node.chain.transaction import (
    DeployActor,
    ExecuteActor,
    Fund,
    Transfer,
    decode_body,
)
from node.client import (
    AsyncApi,
    NodeError,
    TransactionDropped,
    Wallet,
    build_body,
    draft,
)
from node.primitives.crypto import keccak256
from node.rpc.v1 import transactions_pb2, types_pb2
from node.rpc.v1.transactions_pb2_grpc import TransactionServiceStub
from node.runtime.types import MiningMode

ALICE, BOB = Wallet.dev(0), Wallet.dev(1)
TO_BOB = Transfer(BOB.address, 5)


def transfer(nonce=0, **changes):
    parts = {
        "chain_id": 100,
        "nonce": nonce,
        "limits": (10_000, 1_000),
        "max_fees": (2_000, 2_000),
    }
    return ALICE.sign(build_body(TO_BOB, **(parts | changes)))


LOW_LIMIT = transfer(limits=(4_999, 1_000))
HIGH_LIMIT = transfer(limits=(10**8, 1_000))
UNPAYABLE = transfer(max_fees=(10**15, 1))


async def refused(call):
    with pytest.raises(NodeError) as error:
        await call
    return error.value


def test_prepare_makes_a_body_that_only_needs_a_signature(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            prepared = await client.prepare(draft(ALICE.address, TO_BOB))
            body = decode_body(prepared.body)
            assert prepared.signing_hash == keccak256(prepared.body)
            assert (body.chain_id, body.nonce, body.instruction) == (100, 0, TO_BOB)
            assert body.max_fee_per_cycle == 2 * 1_000
            cost = body.cycles_limit * 2_000 + body.cells_limit * 2_000 + 5
            assert prepared.max_cost == str(cost)
            assert prepared.fields.cycles_limit == body.cycles_limit
            raw = ALICE.sign_encoded(prepared.body)
            response = await client.submit_and_wait(raw)
            receipt = response.committed.receipt
            assert receipt.status == types_pb2.EXECUTION_STATUS_SUCCEEDED
            # The estimate sufficed, and its margin is an eighth.
            assert (
                receipt.cycles_used < body.cycles_limit <= receipt.cycles_used * 9 / 8
            )

    asyncio.run(scenario())


def test_prepare_counts_what_waits_in_the_pool(run_node):
    async def scenario():
        run = run_node(mode=MiningMode.MANUAL)
        async with run as node, AsyncApi(node.url) as client:
            await client.submit(transfer())
            prepared = await client.prepare(draft(ALICE.address, TO_BOB))
            assert prepared.fields.nonce == 1
            await client.submit(ALICE.sign_encoded(prepared.body))
            assert (await client.status()).pool_transactions == 2

    asyncio.run(scenario())


def test_prepare_keeps_what_the_draft_states(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            wanted = draft(ALICE.address, TO_BOB)
            wanted.nonce, wanted.cycles_limit, wanted.cells_limit = 7, 8_000, 900
            wanted.max_fee_per_cycle, wanted.max_priority_fee_per_cell = "5000", "3"
            fields = (await client.prepare(wanted)).fields
            assert (fields.nonce, fields.cycles_limit, fields.cells_limit) == (
                7,
                8_000,
                900,
            )
            assert fields.max_fee_per_cycle == "5000"
            assert fields.max_priority_fee_per_cell == "3"
            assert fields.max_fee_per_cell == str(2 * 1_000 + 3)

    asyncio.run(scenario())


def test_limits_are_found_whatever_nonce_is_stated(run_node):
    """What waits in the pool has not been executed yet: the chain's nonce serves."""

    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            wanted = draft(ALICE.address, TO_BOB)
            wanted.nonce = 7
            fields = (await client.prepare(wanted)).fields
            assert fields.nonce == 7
            assert fields.cycles_limit >= 5_000

    asyncio.run(scenario())


def test_a_development_instruction_is_prepared_free_of_fees(run_node):
    """D41: their limits and fees are 0."""

    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            committed = await client.execute(BOB, Fund(BOB.address, 9))
            assert committed.receipt.fee == "0"
            assert (await client.account(BOB.address)).balance == str(10**15 + 9)

    asyncio.run(scenario())


def test_submit_answers_before_the_block(run_node):
    async def scenario():
        run = run_node(mode=MiningMode.MANUAL)
        async with run as node, AsyncApi(node.url) as client:
            response = await client.submit(transfer())
            assert response.sender == ALICE.address
            known = await client.transaction(response.id)
            assert known.pending.id == response.id
            await client.mine()
            known = await client.transaction(response.id)
            assert known.committed.block.height == 1
            assert known.committed.transaction.raw == transfer()

    asyncio.run(scenario())


def test_submit_and_wait_waits_for_the_block(run_node):
    async def scenario():
        run = run_node(mode=MiningMode.MANUAL)
        async with run as node, AsyncApi(node.url) as client:
            waiting = asyncio.create_task(client.submit_and_wait(transfer()))
            await node.until_pooled(1)
            assert not waiting.done()
            head = await client.mine()
            committed = (await waiting).committed
            assert committed.block.height == head.height == 1
            assert committed.block.hash == head.hash

    asyncio.run(scenario())


def test_submit_and_wait_ends_with_the_deadline(run_node):
    async def scenario():
        run = run_node(mode=MiningMode.MANUAL)
        async with run as node, AsyncApi(node.url) as client:
            error = await refused(client.submit_and_wait(transfer(), timeout=0.2))
            assert error.code == "DEADLINE_EXCEEDED"
            # It was admitted, and its deadline took nothing back.
            await client.mine()
            known = await client.transaction(keccak256(transfer()))
            assert known.committed.block.height == 1

    asyncio.run(scenario())


def test_submit_and_wait_tells_why_a_transaction_was_dropped(run_node):
    async def scenario():
        run = run_node(mode=MiningMode.MANUAL)
        async with run as node, AsyncApi(node.url) as client:
            waiting = asyncio.create_task(client.submit_and_wait(transfer()))
            await node.until_pooled(1)
            better = transfer(max_fees=(4_000, 4_000), priority_fees=(9, 9))
            await client.submit(better)
            dropped = (await waiting).dropped
            assert (dropped.id, dropped.reason) == (keccak256(transfer()), "REPLACED")
            known = await client.transaction(dropped.id)
            assert known.dropped.reason == "REPLACED"

    asyncio.run(scenario())


def test_a_reset_reverts_what_waits(run_node):
    async def scenario():
        run = run_node(mode=MiningMode.MANUAL)
        async with run as node, AsyncApi(node.url) as client:
            waiting = asyncio.create_task(client.submit_and_wait(transfer()))
            await node.until_pooled(1)
            await client.reset()
            assert (await waiting).reverted == keccak256(transfer())
            known = await client.transaction(keccak256(transfer()))
            assert known.reverted == keccak256(transfer())

    asyncio.run(scenario())


def test_a_failed_execution_is_a_receipt_with_the_line(run_node, source):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            deployed = await client.execute(
                ALICE, DeployActor(bytes(32), source, b"", 0)
            )
            actor = deployed.receipt.actor
            committed = await client.execute(ALICE, ExecuteActor(actor, "fail", b"", 0))
            receipt = committed.receipt
            assert receipt.status == types_pb2.EXECUTION_STATUS_FAILED
            assert (receipt.error.kind, receipt.error.handler) == ("IndexError", "fail")
            line = source.split(b"\n")[receipt.error.line - 1]
            assert line.strip() == b"return [][1]"

    asyncio.run(scenario())


def test_impersonation_sends_as_anybody_on_a_development_chain(run_node):
    """D41: no signature of the sender is needed, the nonce is checked as usual."""
    body = build_body(
        TO_BOB, chain_id=100, nonce=0, limits=(10_000, 1_000), max_fees=(2_000, 2_000)
    ).encode()

    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            response = await client.submit_and_wait(body, as_sender=ALICE.address)
            committed = response.committed
            assert committed.transaction.sender == ALICE.address
            assert committed.receipt.status == types_pb2.EXECUTION_STATUS_SUCCEEDED
            again = await client.submit(body, as_sender=ALICE.address)
            assert again.id == committed.transaction.id, "the same bytes change nothing"
            assert (
                await client.submit_and_wait(body, as_sender=ALICE.address) == response
            )
            other = build_body(
                Transfer(BOB.address, 6),
                chain_id=100,
                nonce=0,
                limits=(10_000, 1_000),
                max_fees=(2_000, 2_000),
            ).encode()
            error = await refused(client.submit(other, as_sender=ALICE.address))
            assert error.reason == "NONCE_USED"
            error = await refused(client.submit(body, as_sender=b"short"))
            assert error.metadata == {"field": "as_sender"}
        async with run_node(is_dev=False) as node, AsyncApi(node.url) as client:
            error = await refused(client.submit(body, as_sender=ALICE.address))
            assert error.reason == "DEV_INSTRUCTION_REFUSED"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("raw", "code", "reason"),
    [
        (b"", "INVALID_ARGUMENT", "MALFORMED_TRANSACTION"),
        (transfer()[:-1], "INVALID_ARGUMENT", "MALFORMED_TRANSACTION"),
        (bytes(1_200_066), "INVALID_ARGUMENT", "TRANSACTION_TOO_LARGE"),
        (transfer()[:-1] + b"\x1b", "INVALID_ARGUMENT", "BAD_SIGNATURE"),
        (transfer(chain_id=101), "INVALID_ARGUMENT", "WRONG_CHAIN"),
        (transfer(65), "FAILED_PRECONDITION", "NONCE_TOO_FAR"),
        (LOW_LIMIT, "INVALID_ARGUMENT", "LIMIT_BELOW_INTRINSIC_COST"),
        (HIGH_LIMIT, "INVALID_ARGUMENT", "LIMIT_ABOVE_BLOCK_LIMIT"),
        (UNPAYABLE, "FAILED_PRECONDITION", "INSUFFICIENT_BALANCE"),
    ],
)
def test_bad_transactions_are_refused_and_the_node_goes_on(run_node, raw, code, reason):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            error = await refused(client.submit(raw))
            assert (error.code, error.reason) == (code, reason)
            assert (await client.status()).pool_transactions == 0
            response = await client.submit_and_wait(transfer())
            assert response.committed.block.height == 1

    asyncio.run(scenario())


def test_simulation_shows_the_receipt_and_keeps_nothing(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            signed = await client.simulate(transfer())
            drafted = await client.simulate(draft(ALICE.address, TO_BOB))
            for response in (signed, drafted):
                assert response.receipt.cycles_used == 5_000
                assert response.receipt.height == response.head.height + 1 == 1
            real = (await client.submit_and_wait(transfer())).committed.receipt
            assert signed.receipt == real
            assert (await client.account(ALICE.address)).nonce == 1

    asyncio.run(scenario())


def test_simulation_says_why_a_transaction_would_be_refused(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            response = await client.simulate(transfer(1))
            assert response.refused.reason == "NONCE_GAP"
            assert response.refused.message
            stub = node.channel()
            call = stub.unary_unary("/cowboy.devnet.v1.TransactionService/Simulate")
            with pytest.raises(Exception, match="set one"):
                await call(b"")
            await stub.close()

    asyncio.run(scenario())


def test_a_simulation_tells_where_the_cycles_went(run_node, monkeypatch):
    """On a development chain, up to a bound: the report says what the receipt does."""

    async def scenario(**options):
        async with run_node(**options) as node:
            channel = node.channel()
            stub = TransactionServiceStub(channel)
            request = transactions_pb2.SimulateRequest(
                transaction=transfer(), profile=True
            )
            try:
                answer = await stub.Simulate(request)
            finally:
                await channel.close()
        used = f"{answer.receipt.cycles_used:,} cycles"
        assert answer.profile.report.startswith(f"1 execution: {used}")
        file = json.loads(answer.profile.speedscope)
        assert file["profiles"][0]["endValue"] == answer.receipt.cycles_used

    asyncio.run(scenario())
    with pytest.raises(Exception, match="profile is told on a development chain alone"):
        asyncio.run(scenario(is_dev=False))
    monkeypatch.setattr("node.rpc.profiling.PROFILED_CYCLES_MAX", 4_999)
    with pytest.raises(
        Exception, match="profile reaches to 4999 cycles, and this takes 5000"
    ):
        asyncio.run(scenario())


def test_estimates_suffice_for_any_handler(run_node, source):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            deploy = DeployActor(bytes(32), source, b"", 0)
            actor = (await client.execute(ALICE, deploy)).receipt.actor
            call = ExecuteActor(actor, "say", b"x" * 1_000, 0)
            estimate = await client.estimate_limits(draft(ALICE.address, call))
            assert estimate.margin_permille == 125
            assert estimate.head.height == 1
            receipt = (await client.execute(ALICE, call)).receipt
            assert receipt.status == types_pb2.EXECUTION_STATUS_SUCCEEDED
            assert receipt.cycles_used < estimate.cycles_limit
            assert receipt.cells_used < estimate.cells_limit

    asyncio.run(scenario())


def test_an_estimate_above_the_head_is_refused(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            await client.mine()
            channel = node.channel()
            method = channel.unary_unary(
                "/cowboy.devnet.v1.TransactionService/EstimateLimits",
                request_serializer=transactions_pb2.EstimateLimitsRequest.SerializeToString,
            )
            request = transactions_pb2.EstimateLimitsRequest(
                draft=draft(ALICE.address, TO_BOB), at_height=9
            )
            with pytest.raises(Exception, match="is not reached"):
                await method(request)
            await channel.close()

    asyncio.run(scenario())


def test_execute_raises_when_the_transaction_is_dropped(run_node):
    async def scenario():
        run = run_node(mode=MiningMode.MANUAL)
        async with run as node, AsyncApi(node.url) as client:
            waiting = asyncio.create_task(client.execute(ALICE, TO_BOB))
            await node.until_pooled(1)
            await client.reset()
            with pytest.raises(TransactionDropped) as error:
                await waiting
            assert error.value.reason == "REVERTED"

    asyncio.run(scenario())
