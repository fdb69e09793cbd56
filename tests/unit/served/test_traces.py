"""Traces, changes and what actors print, over a real socket."""

import asyncio
from contextlib import aclosing

import pytest

from node.chain.block import ReceiptKind
from node.client import AsyncApi, AsyncClient, Client, NodeError, UnknownId
from node.rpc.v1 import types_pb2
from node.runtime import kept_outputs
from node.runtime.kept_outputs import KeptOutputs
from node.state.undo import BLOCKS_KEPT
from node.testing import Devnet
from pvm.output import Printed, Printout
from pvm.types import Address

TALKING = """
def work(payload):
    print("working", len(payload))
    self = pvm_host.self_address()
    pvm_host.set_state(b"k", b"v")
    pvm_host.schedule_timer(pvm_host.block_height() + 2, b"tick")
    pvm_host.call_actor(self, "inner", b"")
    pvm_host.log("warning", "done")

def inner(payload):
    found = [1, 2]
    print("inner")

def fail(payload):
    print("failing")
    pvm_host.call_actor(pvm_host.self_address(), "broken", b"")

def broken(payload):
    held = payload
    raise ValueError("no")

def ask(payload):
    print("asked")
    return b"answer"

def handle_timer(payload):
    print("fired")
    pvm_host.set_state(b"k", payload)
"""


def work_on(chain):
    """What both chains do, and what they tell of it."""
    actor = chain.deploy(TALKING, value="5 CBY", sender=chain.accounts[2])
    done = actor.call("work", b"xyz")
    failed = actor.call("fail", expect_failure=True)
    fired = chain.height + 1
    chain.advance(next_timer=True)
    (timer_id,) = done.scheduled
    traces = [done.trace, failed.trace, chain.trace(timer_id)]
    traces.append(chain.trace(timer_id, traces[-1].height))
    assert traces[-1].height >= fired
    reads = [chain.trace_read(actor, name) for name in ("ask", "work")]
    changes = [done.changes, chain.changes(), chain.changes(traces[-1].height)]
    return traces, reads, changes


def test_a_client_tells_what_a_devnet_tells(run_node):
    with Devnet() as devnet:
        ours = work_on(devnet)

    def of_node(url):
        with Client(url) as client:
            return work_on(client)

    async def scenario():
        async with run_node() as node:
            return await asyncio.to_thread(of_node, node.url)

    theirs = asyncio.run(scenario())
    for mine, other in zip(ours[0], theirs[0], strict=True):
        assert mine.call == other.call
        assert mine.entry_cycles == other.entry_cycles
        assert mine.changes.storage == other.changes.storage
        assert mine.changes.timers == other.changes.timers
        # Who pays what the node's prices say: ids and fees are its own.
        assert [b.address for b in mine.changes.balances] == [
            b.address for b in other.changes.balances
        ]
    assert ours[1] == theirs[1]
    assert [one.storage for one in ours[2]] == [one.storage for one in theirs[2]]
    assert ours[0][0].printed == theirs[0][0].printed


def test_a_client_with_an_event_loop_awaits_a_trace(run_node):
    async def scenario():
        async with run_node() as node, AsyncClient(node.url) as client:
            actor = await client.deploy(TALKING, value="5 CBY")
            receipt = await actor.call("work")
            trace = await receipt.trace
            assert trace.receipt == receipt
            assert trace.call.cycles + trace.entry_cycles == receipt.cycles_used
            assert (await receipt.changes).storage == trace.changes.storage
            assert (await receipt.printed)[0].text == "working 0\n"
            assert (await client.changes(trace.height)).storage
            with pytest.raises(UnknownId):
                await client.trace(bytes(32))
            with pytest.raises(UnknownId):
                await client.trace(receipt.id, trace.height - 1)
            with pytest.raises(UnknownId):
                await client.changes(10**9)

    asyncio.run(scenario())


def test_a_trace_of_what_is_pruned_says_how_far_back_it_reaches(run_node):
    async def scenario():
        async with run_node() as node, AsyncClient(node.url) as client:
            actor = await client.deploy(TALKING, value="5 CBY")
            receipt = await actor.call("ask")
            height = await client.height
            await client.advance(blocks=BLOCKS_KEPT)
            with pytest.raises(NodeError, match="HISTORY_NOT_KEPT") as error:
                await receipt.trace
            oldest = (await client.api.status()).oldest_state_height
            assert int(error.value.metadata["oldest_height"]) == oldest
            assert f"the state after block {height - 1} is not kept: the oldest is" in (
                error.value.message
            )

    asyncio.run(scenario())


def test_a_trace_of_a_forgotten_transaction_says_how_far_back_blocks_reach(run_node):
    async def scenario():
        async with run_node(keep_blocks=64) as node, AsyncClient(node.url) as client:
            actor = await client.deploy(TALKING)
            receipt = await actor.call("ask")
            with pytest.raises(UnknownId) as error:
                await client.trace(bytes(32))
            assert "forgotten" not in str(error.value)
            for _ in range(3):
                await client.advance(blocks=64)
                await client.transfer(actor, 1)
            oldest = (await client.api.status()).oldest_block_height
            assert oldest > 1
            with pytest.raises(UnknownId, match=f"before {oldest} are forgotten"):
                await receipt.trace

    asyncio.run(scenario())


def test_what_is_printed_stands_in_receipts_and_is_streamed(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as api:
            client = AsyncClient(node.url)
            genesis = types_pb2.BlockRef(
                height=0, hash=(await api.block(0)).header.hash
            )
            actor = await client.deploy(TALKING, value="5 CBY")
            receipt = await actor.call("work", b"xyz")
            failed = await actor.call("fail", expect_failure=True)
            await client.advance(next_timer=True)
            heights = await client.height
            found = await api.transaction(failed.id)
            said = found.committed.receipt.output
            assert [one.text for one in said.printed] == ["failing\n"]
            full = types_pb2.BLOCK_VIEW_FULL
            block = await api.block(heights, view=full)
            assert block.receipts[0].output.printed[0].text == "fired\n"
            timer = await api.timer(receipt.scheduled[0])
            assert timer.receipt.output.printed[0].text == "fired\n"
            answer = await api.read(actor.address, "ask")
            assert answer.output.printed[0].text == "asked\n"
            told = []
            async with aclosing(api.stream_output((), genesis)) as answers:
                async for one in answers:
                    told.append(one.output)
                    if len(told) == 3:
                        break
            texts = ["".join(p.text for p in one.output.printed) for one in told]
            assert texts == ["working 3\ninner\ndone\n", "failing\n", "fired\n"]
            kinds = [one.kind for one in told]
            assert kinds[0] == types_pb2.RECEIPT_KIND_TRANSACTION
            assert kinds[2] == types_pb2.RECEIPT_KIND_FIRE
            assert told[1].status == types_pb2.EXECUTION_STATUS_FAILED
            assert told[0].output.printed[-1].level == "warning"
            await client.close()

    asyncio.run(scenario())


def test_a_simulation_tells_its_calls_and_what_it_prints(run_node):
    async def scenario():
        async with run_node() as node, AsyncClient(node.url) as client:
            actor = await client.deploy(TALKING, value="5 CBY")
            draft = types_pb2.Draft(
                sender=client.accounts[0].address,
                instruction=types_pb2.Instruction(
                    execute_actor=types_pb2.ExecuteActor(
                        actor=actor.address, handler="fail"
                    )
                ),
            )
            answer = await client.api.simulate(draft, trace=True)
            assert answer.receipt.output.printed[0].text == "failing\n"
            (inner,) = [
                step.call for step in answer.trace.call.steps if step.HasField("call")
            ]
            assert inner.handler == "broken"
            assert inner.frames[0].variables[0].name == "payload"

    asyncio.run(scenario())


def test_a_traced_block_has_all_kinds_of_executions(run_node):
    async def scenario():
        async with run_node() as node, AsyncClient(node.url) as client:
            actor = await client.deploy(TALKING, value="5 CBY")
            receipt = await actor.call("work")
            await client.advance(next_timer=True)
            height = await client.height
            answer = await client.api.trace_block(height)
            kinds = [one.receipt.kind for one in answer.executions]
            assert types_pb2.RECEIPT_KIND_FIRE in kinds
            assert answer.text.startswith("fire 0x")
            assert answer.changes.storage[0].key == b"k"
            timer = await client.api.trace_timer(receipt.scheduled[0], height)
            assert len(timer.executions) == 1
            assert (await client.trace(receipt.scheduled[0])).receipt.kind is (
                ReceiptKind.FIRE
            )
            for at in (None, height):
                fire = await client.trace(receipt.scheduled[0], at, ReceiptKind.FIRE)
                assert fire.receipt.kind is ReceiptKind.FIRE
                with pytest.raises(UnknownId):
                    await client.trace(receipt.scheduled[0], at, ReceiptKind.AGENT)
            empty = await client.api.trace_block(0)
            assert not empty.executions

    asyncio.run(scenario())


# --- what a node keeps ---------------------------------------------------------------


def printout(text):
    return {0: Printout((Printed(Address(bytes(20)), "", text),))}


def test_output_is_kept_for_the_blocks_whose_states_are(monkeypatch):
    """Output: "for the blocks whose states it keeps, at most 16 MiB"."""
    kept = KeptOutputs()
    for height in range(1, BLOCKS_KEPT + 2):
        kept.note(height, bytes([height]) * 32, printout("x"))
    assert not kept.of(bytes([1]) * 32)
    assert kept.of(bytes([2]) * 32)
    monkeypatch.setattr(kept_outputs, "OUTPUT_BYTES_MAX", 1_000)
    kept.note(BLOCKS_KEPT + 2, b"a" * 32, printout("x" * 700))
    assert kept.of(b"a" * 32)
    assert not kept.of(bytes([BLOCKS_KEPT + 1]) * 32)
    kept.note(BLOCKS_KEPT + 3, b"b" * 32, printout("x" * 2_000))
    assert not kept.of(b"a" * 32)


def test_output_of_blocks_that_were_taken_back_is_forgotten():
    kept = KeptOutputs()
    kept.note(5, b"a" * 32, printout("x"))
    kept.note(6, b"b" * 32, printout("y"))
    kept.forget_above(5)
    assert kept.of(b"a" * 32)
    assert not kept.of(b"b" * 32)
