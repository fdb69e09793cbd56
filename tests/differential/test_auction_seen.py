"""The auction from outside: a chain in this process, a node's API and its command line.

The same timers on both: whoever asks, the story, the place and the prices are the same.
"""

import json
import re

import pytest
from click.testing import CliRunner

from node.cli import main
from node.client import Client
from node.primitives import codec
from node.rpc.v1 import queries_pb2, timers_pb2
from node.testing import Devnet
from node.testing.presets import preset
from node.testing.process import NodeProcess
from tests.spec.driven_actors import ALL, AUCTION, WORKER, without_names

PRIORITIES = range(10, 21)
EIGHT_LATER = 8


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    genesis = tmp_path_factory.mktemp("genesis") / "auction.json"
    document = preset("devnet", AUCTION).document()
    genesis.write_text(json.dumps(document))
    with NodeProcess("--genesis", str(genesis)) as node:
        yield node


@pytest.fixture(scope="module")
def served(node):
    """A client of the node, and what was done there."""
    with node.client() as client:
        client.api.set_mining(queries_pb2.MINING_MODE_INSTANT)
        yield client, compete(client)


@pytest.fixture(scope="module")
def devnet():
    with Devnet(**AUCTION) as devnet:
        yield devnet, compete(devnet)


def compete(chain):
    """Eleven timers that use the whole lane between eight of them; and a poor one."""
    actor = chain.deploy(WORKER, value="900 CBY")
    height = chain.height + 4
    terms = [
        {
            "max_fee_per_cycle": 9_000,
            "max_priority_fee_per_cycle": p,
            "gas_limit": 250_000,
        }
        for p in PRIORITIES
    ]
    late = [height + EIGHT_LATER, b"", {"max_priority_fee_per_cycle": 3}]
    entries = [*([height, ALL, one] for one in terms), late]
    receipt = actor.call("schedule_all", codec.encode(entries))
    while chain.height < height:
        chain.mine()
    return actor, codec.decode(receipt.value)


@pytest.fixture
def run(node):
    """Run a command against the node: what it prints."""

    def run_command(*words, code=0):
        runner = CliRunner(env={"COWBOY_DEVNET_URL": node.url, "COLUMNS": "300"})
        result = runner.invoke(main, list(words), prog_name="cowboy-devnet")
        assert result.exit_code == code, (result.output, result.exception)
        return result.stdout

    return run_command


def test_the_story_is_the_same(served, devnet, run):
    """ExplainTimer, `timers why`, `Devnet.explain`: the loser's and the winner's."""
    client, (_, ids) = served
    chain, (_, same) = devnet
    assert ids == same
    for timer_id in (ids[0], ids[3], ids[10], ids[11]):
        told = client.explain(timer_id)
        plain = client.api.explain_timer(timer_id).text  # without names of actors
        assert run("timers", "why", f"0x{timer_id.hex()}") == f"{plain}\n"
        # The client signs other transactions than the chain in this process.
        scheduled = re.compile("in transaction 0x[0-9a-f]{64}")
        assert scheduled.sub("", told) == scheduled.sub(
            "", f"{chain.explain(timer_id)}"
        )
    assert "the last place that would have done went to" in client.explain(ids[0])
    lost = client.api.explain_timer(ids[0]).history[-1].decision
    assert lost.rival == ids[3]
    assert lost.numbers["marginal_priority"] == str(13 * 2_000_000)


def test_the_block_is_the_same(served, devnet, run):
    """ExplainBlock, `block --timers`, `Devnet.explain_block`: who filled the lane."""
    client, _ = served
    chain, _ = devnet
    height = chain.height
    told = without_names(chain.explain_block(height), chain)
    assert run("block", str(height), "--timers") == f"{told}\n"
    request = timers_pb2.ExplainBlockRequest(height=height)
    contest = client.api._timers.ExplainBlock(request).contest
    assert (contest.contenders, contest.fires, contest.put_off) == (11, 8, 3)
    assert contest.marginal_priority == str(13 * 2_000_000)
    assert contest.highest_priority == str(20 * 2_000_000)
    assert contest.cycles_used == contest.lane_cycles == 2_000_000
    assert contest.basefee_lane == str(chain.head.basefee_lane)


def test_rank_and_effective_priority_are_the_same(served, devnet, run):
    """ListTimers, GetTimer, `timers list`, `timers show`, `standing`."""
    client, (actor, ids) = served
    chain, _ = devnet
    waiting = [*ids[:3], ids[11]]
    for timer_id in waiting:
        assert client.standing(timer_id) == chain.standing(timer_id)
    assert chain.standing(ids[10]) is client.standing(ids[10]) is None
    places = [chain.standing(timer_id) for timer_id in waiting]
    assert [(place.rank, place.contenders) for place in places] == [
        (3, 3), (2, 3), (1, 3), (1, 1),
    ]  # fmt: skip
    listed = list(client.api.timers())
    assert [timer.id for timer in listed] == waiting
    shown = [int(timer.standing.effective_priority) for timer in listed]
    assert shown == [place.standing.effective_priority for place in places]
    table = run("timers", "list", "--actor", f"0x{actor.address.hex()}").splitlines()
    assert table[0].split()[:5] == ["due", "status", "rank", "effective", "priority"]
    assert [row.split()[2:6] for row in table[1:4]] == [
        ["3", "of", "3", "10"], ["2", "of", "3", "11"], ["1", "of", "3", "12"],
    ]  # fmt: skip
    fields = run("timers", "show", f"0x{ids[0].hex()}")
    for name in ("lane basefee", "priority", "weight", "effective priority", "rank"):
        assert f"\n{name} " in fields


def test_the_price_of_a_place_is_the_same(served, devnet, run):
    """QuoteTimer, `timers quote`, `quote`: what would have won in the last blocks."""
    client, (actor, _) = served
    chain, (same, _) = devnet
    terms = {"gas_limit": 200_000, "max_priority_fee_per_cycle": 30, "blocks": 3}
    told = f"{chain.quote(same, **terms)}"
    assert client.quote(actor, **terms) == told
    words = ("--gas-limit", "200000", "--priority", "30", "--blocks", "3")
    address = f"0x{actor.address.hex()}"
    assert run("timers", "quote", address, *words) == f"{told}\n"
    request = timers_pb2.QuoteTimerRequest(
        actor=actor.address, gas_limit=200_000, max_fee_per_cycle="5000"
    )
    answer = client.api.quote_timer(request)
    quoted = chain.quote(same, gas_limit=200_000, max_fee_per_cycle=5_000)
    assert [
        (one.height, int(one.priority), int(one.max_fee), one.is_won)
        for one in answer.past
    ] == [(one.height, one.priority, one.max_fee, one.is_won) for one in quoted.past]
    assert answer.weight_ppm == quoted.weight_ppm == 1_000_000
    assert run("timers", "quote", address, "--max-fee", "1", code=1) == ""


def test_the_parts_of_fees_are_told(served, devnet, run):
    """GetParams, receipts, headers: lane and cycle burns apart, and the tip."""
    client, (_, ids) = served
    chain, _ = devnet
    params = client.api.params()
    height = chain.height
    assert params.rules == "auction"
    assert (params.basefee_cycle, params.basefee_cell) == ("1000", "1000")
    assert int(params.basefee_lane) == chain.standing(ids[0]).standing.basefee_lane
    assert int(params.p50_priority) == (16 + 17) // 2
    wanted = [16 * permille // 1_000 for permille in (800, 1_000, 1_500, 2_500)]
    assert list(map(int, params.tier_priorities)) == wanted
    receipt = client.api.explain_timer(ids[10]).history[-1].receipt
    parts = (
        receipt.burned_cycle,
        receipt.burned_lane,
        receipt.tip,
        receipt.burned_cell,
    )
    used = receipt.cycles_used
    lane = chain.head.basefee_lane
    assert tuple(map(int, parts)) == (used * 1_000, used * lane, used * 20, 0)
    assert int(receipt.fee) == sum(map(int, parts))
    shown = run("timers", "show", f"0x{ids[10].hex()}")
    for name in ("burned for cycles", "burned for the timer lane", "tip"):
        assert f"\n{name} " in shown
    assert "basefee of the timer lane" in run("block", str(height))
    prices = run("govern", "show")
    assert "economy 12, standard 16, fast 24, urgent 40" in prices
    assert "basefee of the timer lane" in prices


def test_the_future_is_the_same(served, devnet, run):
    """Simulate over the blocks to come, under the rules that will hold there."""
    client, (actor, ids) = served
    chain, _ = devnet
    seen = chain.simulate(20)
    outlook = client.api.simulate_blocks(20).outlook
    assert outlook.text == without_names(seen, chain)
    assert outlook.text == run("timers", "ahead", "20").rstrip("\n")
    order = [fire.receipt.id for fire in seen.fires]
    assert order == [fire.id for fire in outlook.fires] == [*ids[2::-1], ids[11]]
    assert [int(fire.tip) > 0 for fire in outlook.fires] == [True] * 4
    with chain.snapshot():
        chain.mine(20)
        assert [r.id for r in chain.receipts()[-4:]] == order
    assert isinstance(client, Client)
    assert actor.address in {fire.actor for fire in outlook.fires}
