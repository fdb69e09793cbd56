"""Costs by line over a range of heights, over a real socket and in the process."""

import asyncio
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from node.chain.block import ReceiptKind
from node.chain.transition import apply_block
from node.client import (
    AsyncApi,
    AsyncClient,
    Client,
    InvalidArgument,
    NodeError,
    UnknownId,
)
from node.query.costs import range_costing
from node.query.costs.ranges import CostSum
from node.rpc import costing as rpc_costing
from node.state.undo import BLOCKS_KEPT
from node.testing import Devnet

OLD = """import pvm_host


def begin(payload):
    pvm_host.schedule_timer(pvm_host.block_height() + 2, b"")


def handle_timer(payload):
    pvm_host.set_state(b"n", b"1")
    pvm_host.schedule_timer(pvm_host.block_height() + 10, b"")


def loop(payload):
    total = 0
    for i in range(int.from_bytes(payload, "big")):
        total += i
    return total
"""
NEW = "# one line more\n" + OLD
CALLER = """import pvm_host


def go(payload):
    return pvm_host.call_actor(payload, "loop", b"\\x05")
"""


def work_on(chain):
    """What both kinds of chain do."""
    owner = chain.accounts[2]
    actor = chain.deploy(OLD, value="5 CBY", sender=owner)
    caller = chain.deploy(CALLER, sender=owner)
    first = chain.height + 1
    actor.call("begin", sender=owner)
    caller.call("go", actor.address, sender=owner)
    chain.advance(blocks=9)
    actor.upgrade(NEW, sender=owner)
    chain.advance(blocks=9)
    actor.call("loop", b"\3", sender=owner)
    actor.call("loop", b"\3", sender=owner)
    return actor, caller, first


def looked_at(chain):
    """What both kinds of chain tell, some of it for a part of the heights."""
    actor, caller, first = work_on(chain)
    last = chain.height
    whole = chain.costs(), chain.costs(first, last), chain.costs(first, first)
    one = chain.costs(first, last, actor)
    return (
        *map(within_actors, (*whole, one)),
        f"{one}".partition("\n")[2],
        chain.costs(first, actor=caller).folded(),
    )


def within_actors(costs):
    """All but what is paid before: a signed transaction has other bytes."""
    stacks = [(where, cost) for where, cost in costs.stacks if where.stack]
    total = costs.total.executions
    return replace(costs, stacks=stacks, total=CostSum(0, 0, total))


def test_a_client_tells_what_a_devnet_tells(run_node, monkeypatch):
    monkeypatch.setattr(range_costing, "PART_CYCLES_MAX", 6_000)
    with Devnet() as devnet:
        ours = looked_at(devnet)

    def of_node(url):
        with Client(url) as client:
            return looked_at(client)

    async def scenario():
        async with run_node() as node:
            return await asyncio.to_thread(of_node, node.url)

    for mine, other in zip(ours, asyncio.run(scenario()), strict=True):
        assert mine == other


@pytest.fixture
def chain():
    with Devnet() as chain:
        yield chain


def of_code(costs, actor):
    """Lines by the code that the actor had."""
    return [one for one in costs.actors if one.actor == actor.address]


def test_lines_stacks_and_what_is_paid_before_add_up_to_the_receipts(chain):
    """And lines of an upgraded actor are those of the code that it had (D58)."""
    actor, _, first = work_on(chain)
    costs = chain.costs(first)
    known = [
        receipt
        for block in chain.results
        if block.header.height >= first
        for receipt in block.receipts
    ]
    used = [(one.cycles_used, one.cells_used) for one in known]
    total = tuple(map(sum, zip(*used, strict=True)))
    assert (costs.total.cycles, costs.total.cells) == total
    assert costs.total.executions == len(known)
    assert (costs.first_height, costs.last_height) == (first, chain.height)
    assert costs.is_complete
    stacks = [(cost.cycles, cost.cells) for _, cost in costs.stacks]
    assert tuple(map(sum, zip(*stacks, strict=True))) == total
    entry = sum(cost.cycles for where, cost in costs.stacks if not where.stack)
    assert entry + sum(one.cycles for one in costs.actors) == costs.total.cycles
    old, new = sorted(of_code(costs, actor), key=lambda one: len(one.source))
    assert (old.source, new.source) == (OLD, NEW)
    assert set(old.lines) >= {5, 9, 10, 14, 15, 16, 17}
    assert set(new.lines) >= {10, 11, 15, 16, 17, 18}
    assert new.lines[18].executions == 2
    assert new.lines[18].cycles % 2 == 0
    fires = [one for one in known if one.kind is ReceiptKind.FIRE]
    assert old.lines[9].executions + new.lines[10].executions == len(fires) == 3


def test_an_actor_that_is_called_stands_on_the_line_that_calls_it(chain):
    actor, caller, first = work_on(chain)
    costs = chain.costs(first, actor=actor)
    assert {one.actor for one in costs.actors} == {actor.address}
    (called,) = {
        tuple(place.name for place in where.stack)
        for where, _ in costs.stacks
        if where.actor == caller.address and where.stack[-1].line == 16
    }
    assert called == ("go", "call_actor", "loop")
    line = chain.costs(first, actor=caller).actors[0].lines[5]
    assert line.executions == 1
    assert line.cycles < costs.total.cycles


def test_the_text_shows_each_line_with_its_source(chain):
    actor, _, first = work_on(chain)
    chain.label(actor, "the actor")
    text = f"{chain.costs(first)}"
    assert text.startswith(f"heights {first} to {chain.height}: 8 executions: ")
    code = chain.account(actor).code_hash
    assert f"\nthe actor, code 0x{code.hex()}: " in text
    assert any(
        line.endswith("        total += i") and line.split()[0] == "16"
        for line in text.splitlines()
    )
    assert text.count("(payload and answer)") == 3
    folded = chain.costs(first).folded().splitlines()
    assert all(int(line.rpartition(" ")[2]) > 0 for line in folded)
    assert any(
        line.startswith(
            "fire handle_timer of the actor;the actor handle_timer:9;host: "
        )
        for line in folded
    ), folded


def test_what_a_stranger_called_a_handler_is_shown_and_not_obeyed(chain):
    actor = chain.deploy("def run(payload):\n    return 'é\u202e'\n")
    actor.call("a;b\x1b[2J", cycles_limit=9_000, cells_limit=900, expect_failure=True)
    actor.call("run", b"")
    folded = chain.costs(chain.height - 1).folded()
    assert "transaction a,b\\x1b[2J of" in folded
    assert "\u202e" not in f"{chain.costs()}"


# --- bounds --------------------------------------------------------------------------


def test_work_that_becomes_too_much_ends_and_says_where(chain, monkeypatch):
    _, _, first = work_on(chain)
    whole = chain.costs(first)
    for name in ("HEADERS_MAX", "CYCLES_MAX", "COUNTED_CYCLES_MAX", "WRITES_MAX"):
        with monkeypatch.context() as patch:
            patch.setattr(range_costing, name, 1)
            part = chain.costs(first)
            assert not part.is_complete
            assert part.last_height == first
            assert f"ask again from height {first + 1}" in f"{part}"
            patch.undo()
            rest = chain.costs(part.last_height + 1)
            assert rest.total.cycles + part.total.cycles == whole.total.cycles


def test_what_there_is_no_room_for_is_counted(chain, monkeypatch):
    _, _, first = work_on(chain)
    whole = chain.costs(first)
    with monkeypatch.context() as patch:
        patch.setattr(range_costing, "LINES_MAX", 3)
        patch.setattr(range_costing, "FRAMES_MAX", 3)
        patch.setattr(range_costing, "SOURCES_BYTES_MAX", len(OLD))
        cut = chain.costs(first)
    assert cut.total == whole.total
    told = sum(cost.cycles for _, cost in cut.stacks)
    assert told + cut.cut.cycles == whole.total.cycles
    lines = sum(one.cycles for one in whole.actors)
    assert sum(one.cycles for one in cut.actors) + cut.cut_lines.cycles == lines
    assert "beyond those that are told" in f"{cut}"
    with monkeypatch.context() as patch:
        patch.setattr(range_costing, "SOURCES_BYTES_MAX", 0)
        assert [one.source for one in chain.costs(first).actors] == ["", "", ""]
    with monkeypatch.context() as patch:
        patch.setattr(range_costing, "EXECUTION_CYCLES_MAX", 9_000)
        some = chain.costs(first)
    assert 0 < some.uncounted.executions < some.total.executions
    counted = sum(cost.cycles for _, cost in some.stacks)
    assert counted + some.uncounted.cycles == whole.total.cycles
    assert "too large to be counted by line: " in f"{some}"


def test_a_block_that_is_counted_in_parts_tells_the_same(chain, monkeypatch):
    actor, _, first = work_on(chain)
    with chain.block():
        for payload in (b"\1", b"\2", b"\3"):
            actor.call("loop", payload, cycles_limit=90_000, cells_limit=900)
    executed = []

    def count(state, block):
        executed.append(block.header.height)
        return apply_block(state, block)

    monkeypatch.setattr(range_costing, "apply_block", count)
    whole = chain.costs(first)
    assert executed.count(chain.height) == 1
    executed.clear()
    used = chain.last.receipts[0].cycles_used
    monkeypatch.setattr(range_costing, "PART_CYCLES_MAX", 2 * used + 100)
    assert chain.costs(first) == whole
    assert executed.count(chain.height) == 2, "three executions, two at a time"


def test_a_range_within_a_run_of_empty_heights_costs_nothing():
    with Devnet() as quiet:
        quiet.advance(blocks=50)
        quiet.transfer(quiet.accounts[1], 5)
        costs = quiet.costs(10, 20)
        assert (costs.total.executions, costs.last_height) == (0, 20)
        assert costs.is_complete
        assert quiet.costs(10).total.executions == 1
        assert quiet.costs(0, 0).total.executions == 0


# --- over the wire -------------------------------------------------------------------


def test_a_range_is_told_while_blocks_are_made_and_can_be_left(run_node):
    async def scenario():
        async with run_node() as node, AsyncClient(node.url) as client:
            actor = await client.deploy(OLD, value="5 CBY")
            for _ in range(4):
                await actor.call("loop", b"\3")
            async with AsyncApi(node.url) as api:
                kinds = []
                async for message in api.stream_costs(2, 5):
                    kinds.append(message.WhichOneof("told"))
                    await client.mine()
                assert kinds == [*["progress"] * 4, "actor", "stacks", "summary"]
                for _ in range(rpc_costing.STREAMS_MAX + 1):
                    async with aclosing(api.stream_costs(2, 5)) as left:
                        first = await anext(left)
                    assert first.progress.height == 2
                    assert first.progress.to_height == 5
                told = [message async for message in api.stream_costs()]
                assert told[-1].summary.is_complete
            await client.advance(blocks=50)
            height = await client.height
            quiet = await client.costs(height - 20, height - 10)
            assert (quiet.total.executions, quiet.last_height) == (0, height - 10)

    asyncio.run(scenario())


def test_only_so_many_are_answered_at_a_time(run_node, monkeypatch):
    monkeypatch.setattr(rpc_costing, "STREAMS_MAX", 0)

    async def scenario():
        async with run_node() as node, AsyncClient(node.url) as client:
            await client.mine()
            with pytest.raises(NodeError, match="TOO_MANY_READS"):
                await client.costs()

    asyncio.run(scenario())


def test_what_cannot_be_executed_again_is_refused(run_node):
    async def scenario():
        async with run_node() as node, AsyncClient(node.url) as client:
            await client.advance(blocks=2)
            for given, error in {
                (9, None): UnknownId,
                (1, 9): UnknownId,
                (2, 1): InvalidArgument,
            }.items():
                with pytest.raises(error):
                    await client.costs(*given)
            with pytest.raises(NodeError, match="to_height"):
                async for _ in client.api.stream_costs(2, 1):
                    pass
            with pytest.raises(NodeError, match="actor is an address of 20 bytes"):
                async for _ in client.api.stream_costs(actor=b"short"):
                    pass
            for _ in range(BLOCKS_KEPT + 2):
                await client.fund(client.accounts[0], 1)
            with pytest.raises(NodeError, match="HISTORY_NOT_KEPT"):
                await client.costs(1)
            with pytest.raises(NodeError, match="HISTORY_NOT_KEPT"):
                await client.costs(to_height=1)
            kept = await client.costs()
            assert kept.total.executions == BLOCKS_KEPT

    asyncio.run(scenario())


def test_a_node_that_is_for_no_development_does_not_answer(run_node):
    async def scenario():
        async with (
            run_node(is_dev_genesis=False) as node,
            AsyncApi(node.url) as api,
        ):
            with pytest.raises(NodeError, match="told on a development chain alone"):
                async for _ in api.stream_costs():
                    pass

    asyncio.run(scenario())
