"""Bids from outside: a chain in this process, a node's API and its command line.

The same timers on both: whoever asks, the story, the place and the weight are the same.
"""

import json
import re

import pytest
from click.testing import CliRunner

from node.chain.transition import build_block
from node.cli import main
from node.client import NodeError
from node.primitives import codec
from node.query import InvalidQuote
from node.rpc.v1 import queries_pb2, timers_pb2
from node.testing import Devnet
from node.testing.presets import preset
from node.testing.process import NodeProcess
from tests.spec.driven_actors import AGENT, ALL, BIDDING, WORKER, without_names

TIPS = (20, 15, 10, 5, 0)
LANE = 2_000_000


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    genesis = tmp_path_factory.mktemp("genesis") / "bidding.json"
    document = preset("devnet", BIDDING).document()
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
    with Devnet(**BIDDING) as devnet:
        yield devnet, compete(devnet)


def compete(chain):
    """Five timers of one actor, of which four fit; a poor one; one that is to come."""
    actor = chain.deploy(WORKER, value="900 CBY")
    poor = chain.deploy(WORKER, value="1 CBY", salt=b"p" * 32)
    agents = [chain.deploy(AGENT.format(fee=1_000_000, tip=tip)) for tip in TIPS]
    height = chain.height + 5
    entries = [
        [height, ALL, {"gba": agent.address, "gas_limit": 500_000}] for agent in agents
    ]
    late = [height + 8, b"", {"gba": agents[0].address}]
    receipt = actor.call("schedule_all", codec.encode([*entries, late]))
    terms = codec.encode([[height, b"", {"gba": agents[0].address}]])
    lone = poor.call("schedule_all", terms)
    while chain.height < height:
        chain.mine()
    return actor, [*codec.decode(receipt.value), *codec.decode(lone.value)]


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
    """ExplainTimer, `timers why`, `Devnet.explain`: winner, loser, the poor."""
    client, (_, ids) = served
    chain, (_, same) = devnet
    assert ids == same
    for timer_id in (ids[0], ids[4], ids[5], ids[6]):
        told = client.explain(timer_id)
        plain = client.api.explain_timer(timer_id).text  # without names of actors
        assert run("timers", "why", f"0x{timer_id.hex()}") == f"{plain}\n"
        # The client signs other transactions than the chain in this process.
        scheduled = re.compile("in transaction 0x[0-9a-f]{64}")
        assert scheduled.sub("", told) == scheduled.sub(
            "", f"{chain.explain(timer_id)}"
        )
    assert "it came 1st of 5 by an effective tip of 20" in client.explain(ids[0])
    assert "in round 1" in client.explain(ids[0])
    assert "went to timer 0x" in client.explain(ids[4])
    assert "1 CBY too little" not in client.explain(ids[5])
    assert "sleeps through epoch 0, unless its payer gets" in client.explain(ids[6])
    assert "it will be put off" in client.explain(ids[6])
    lost = client.api.explain_timer(ids[4]).history[-1].decision
    assert lost.rival == ids[3]
    assert lost.numbers["marginal_tip"] == "5"


def test_the_block_is_the_same(served, devnet, run):
    """ExplainBlock, `block --timers`, `Devnet.explain_block`: who filled the lane."""
    client, (_, ids) = served
    chain, _ = devnet
    height = chain.height
    told = without_names(chain.explain_block(height), chain)
    assert run("block", str(height), "--timers") == f"{told}\n"
    assert "At a basefee of 1,000 a cycle 4 of 5 contenders fired" in told
    assert "Effective tips went from 20 to 5 at the last place." in told
    request = timers_pb2.ExplainBlockRequest(height=height)
    answer = client.api._timers.ExplainBlock(request)
    contest = answer.contest
    assert (contest.contenders, contest.fires, contest.put_off) == (5, 4, 1)
    assert (contest.basefee_lane, contest.basefee_cycle) == ("0", "1000")
    assert contest.marginal_priority == str(5 * 10**6)
    assert contest.highest_priority == str(20 * 10**6)
    due = [one.timer_id for one in answer.timers if one.is_due]
    assert due == [ids[6], *ids[:5], ids[6]]  # the poor one is put off, then sleeps


def test_rank_and_slice_are_the_same(served, devnet, run):
    """ListTimers, GetTimer, `timers list`, `timers show`, `standing`."""
    client, (actor, ids) = served
    chain, _ = devnet
    waiting = [ids[4], ids[6], ids[5]]
    for timer_id in waiting:
        assert client.standing(timer_id) == chain.standing(timer_id)
    assert chain.standing(ids[0]) is client.standing(ids[0]) is None
    place, poor, late = (chain.standing(timer_id) for timer_id in waiting)
    assert (place.rank, place.contenders, place.slice_cycles) == (1, 1, LANE)
    assert (place.standing.waited, place.standing.basefee_cycle) == (1, 1_000)
    assert (poor.standing.waits_for, poor.rank) == ("funds", None)
    assert (late.standing.priority, late.standing.effective_priority) == (0, 0)
    assert {timer.id for timer in client.api.timers()} == set(waiting)
    table = run("timers", "list", "--actor", f"0x{actor.address.hex()}").splitlines()
    assert table[0].split()[:5] == ["due", "status", "rank", "effective", "priority"]
    fields = run("timers", "show", f"0x{ids[4].hex()}")
    for name in ("basefee", "effective tip", "weight", "slice", "waited", "rank"):
        assert f"\n{name} " in fields
    assert re.search(r"\nwaited +1 block\n", fields)
    assert "waits: funds" in run("timers", "show", f"0x{ids[6].hex()}")


def test_what_is_foretold_happens(devnet):
    """The rank and the slice of a standing are those of the next block's decision."""
    chain, (_, ids) = devnet
    place = chain.standing(ids[4])
    trace = build_block(chain.state, ()).trace
    (decision,) = [one for one in trace if one.timer_id == ids[4]]
    assert decision.numbers["rank"] == place.rank
    assert decision.numbers["slice"] == place.slice_cycles
    assert decision.numbers["weight_ppm"] == place.standing.weight_ppm
    assert decision.numbers["waited"] == place.standing.waited


def test_a_quote_is_the_same(served, devnet, run):
    """QuoteTimer, `timers quote`, `quote`: a bid in place of stated fees."""
    client, (actor, _) = served
    chain, (same, ids) = devnet
    terms = {"gas_limit": 200_000, "max_fee_per_cycle": 1_050}
    terms["max_priority_fee_per_cycle"] = 90
    told = f"{chain.quote(same, **terms)}"
    assert client.quote(actor, **terms) == told
    words = ("--gas-limit", "200000", "--max-fee", "1050", "--priority", "90")
    address = f"0x{actor.address.hex()}"
    assert run("timers", "quote", address, *words) == f"{told}\n"
    request = timers_pb2.QuoteTimerRequest(actor=actor.address, gas_limit=200_000)
    answer = client.api.quote_timer(request)
    assert answer.price.cycle_tip == "0"
    assert (answer.weight_ppm, list(answer.past)) == (1_000_000, [])
    quoted = chain.quote(same, **terms)
    assert quoted.terms.price.cycle_tip == 50
    poor = chain.quote(chain.timer(ids[6]).actor, gas_limit=200_000)
    assert "the timer would be put off when it is due" in f"{poor}"
    payer = chain.accounts[1].address  # whom D44 refuses
    with pytest.raises(InvalidQuote, match="fee_payer is the actor itself"):
        chain.quote(same, fee_payer=payer)
    with pytest.raises(NodeError, match="fee_payer is the actor itself"):
        client.quote(actor, fee_payer=payer)
    run("timers", "quote", address, "--payer", f"0x{payer.hex()}", code=1)


def test_the_parameters_are_told(served, run):
    """GetParams and `govern show`."""
    client, _ = served
    params = client.api.params()
    assert params.rules == "bidding"
    config = params.bidding_config
    assert (config.lambda_permille, config.weight_min) == (200, 250_000)
    assert (config.weight_max, config.starvation_floor) == (2_000_000, 1_500_000)
    assert not params.HasField("weights_reset")
    assert "lambda_permille" in run("govern", "show")
