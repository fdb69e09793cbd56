"""The Globalbox from outside: a chain in this process, a node's API and its commands.

The same timers and watches on both: whoever asks, the story, the places in the queue
and the states of watches are the same.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from node.chain.block import ReceiptKind
from node.cli import main
from node.client import BadProof, InvalidArgument, QueueProof, TimerProof, UnknownId
from node.primitives import codec
from node.query.queue_place import WatchState
from node.rpc.v1 import queries_pb2, streams_pb2, timers_pb2
from node.testing import Devnet
from node.testing.presets import preset
from node.testing.process import NodeProcess
from tests.console_blocks import blocks, is_what_came, sessions
from tests.spec.driven_actors import route
from tests.spec.globalbox_actors import GLOBALBOX, SETTER, put, set_timeout, set_watch

ROOT = Path(__file__).parents[2]
TIMERS = 40
UNIT = 2**96
"""A bid of one base unit a cycle."""


@pytest.fixture(scope="module")
def genesis(tmp_path_factory):
    genesis = tmp_path_factory.mktemp("genesis") / "globalbox.json"
    genesis.write_text(json.dumps(preset("devnet", GLOBALBOX).document()))
    return str(genesis)


@pytest.fixture(scope="module")
def node(genesis):
    with NodeProcess("--genesis", genesis) as node:
        yield node


@pytest.fixture(scope="module")
def served(node):
    """A client of the node, and what was done there."""
    with node.client() as client:
        client.api.set_mining(queries_pb2.MINING_MODE_INSTANT)
        yield client, crowd(client)


@pytest.fixture(scope="module")
def devnet():
    with Devnet(**GLOBALBOX) as devnet:
        yield devnet, crowd(devnet)


def crowd(chain):
    """More fires than quotas admit, and a watch in each of its states."""
    actor = chain.deploy(SETTER, value="900 CBY")
    other = chain.deploy(SETTER + "\n", value="90 CBY")
    due = chain.height + 8
    terms = {"gas_limit": 100_000}
    entries = [
        [other.address, due, route("tell", b"p"), {**terms, "bid_fp": bid * UNIT}]
        for bid in range(TIMERS)
    ]
    receipt = actor.call("timeout_all", codec.encode(entries))
    ids = codec.decode(receipt.value)
    told = route("tell", b"w")
    write = route("put", codec.encode([[b"n1", b"1"]]))
    set_timeout(actor, due + 2, write, **terms)
    queued = set_watch(actor, [[other.address, b"k"]], told, other.address, **terms)
    noted = set_watch(actor, [b"n"], told, **terms)
    idle = set_watch(actor, ["z", b"y"], told, **terms)
    while chain.height < due:
        chain.mine()
    put(other, (b"key", b"1"))
    chain.mine()  # in which a timer writes what the second watch watches
    return actor, other, ids, {"queued": queued, "noted": noted, "idle": idle}


@pytest.fixture
def run(node):
    """Run a command against the node: what it prints."""

    def run_command(*words, code=0):
        runner = CliRunner(env={"COWBOY_DEVNET_URL": node.url, "COLUMNS": "900"})
        result = runner.invoke(main, list(words), prog_name="cowboy-devnet")
        assert result.exit_code == code, (result.output, result.exception)
        return result.stdout

    return run_command


def plain(chain, told):
    """A story with addresses in place of the names that a devnet gives them."""
    text = f"{told}"
    for address, name in sorted(chain.labels.items(), key=lambda one: -len(one[1])):
        text = re.sub(rf"\b{name}\b", f"0x{address.hex()}", text)
    return text


def test_the_queue_is_the_same(served, devnet, run):
    """ListQueue, `queue`, `queue_place`, `timers queue`: in the order of D52."""
    client, (actor, other, ids, watches) = served
    chain, (_, _, same, _) = devnet
    assert ids == same
    assert client.height == chain.height
    queue = chain.queue()
    assert client.queue() == queue
    left = [*ids[len(queue) - 2 :: -1], watches["queued"]]
    assert [one.timer.timer_id for one in queue] == left
    assert [one.place.rank for one in queue] == list(range(1, len(queue) + 1))
    assert [one.place.order for one in queue] == sorted(
        one.place.order for one in queue
    )
    assert queue[0].place.tip == len(queue) - 2
    assert chain.queue(other) == queue == client.queue(other)
    assert chain.queue(actor) == client.queue(actor) == []
    for one in (queue[0], queue[-1]):
        place = client.queue_place(one.timer.timer_id)
        assert place == chain.queue_place(one.timer.timer_id) == one.place
    assert client.queue_place(ids[-1]) is chain.queue_place(ids[-1]) is None
    for asked in (chain, client):
        with pytest.raises(UnknownId, match="timer_id"):
            asked.queue_place(bytes(32))
        with pytest.raises(UnknownId, match="target"):
            asked.queue(bytes(20))
    rows = run("timers", "queue").splitlines()[1:]
    assert [row.split()[-1] for row in rows] == [f"0x{one.hex()}" for one in left]
    none = run("timers", "queue", "--target", f"0x{actor.address.hex()}")
    assert len(none.splitlines()) == 1
    page = client.api._timers.ListQueue(timers_pb2.ListQueueRequest(page_size=5))
    second = timers_pb2.ListQueueRequest(page_size=5, page_token=page.next_page_token)
    page = client.api._timers.ListQueue(second)
    assert [timer.id for timer in page.timers] == left[5:10]


def test_queued_timers_are_among_the_live_ones(served, devnet, run):
    """ListTimers, `timers`, `timer`: who left the calendar is still alive (D52)."""
    client, (actor, _, ids, watches) = served
    chain, _ = devnet
    live = chain.timers()
    assert client.timers() == live
    queued = [one.timer for one in chain.queue()]
    assert live[: len(queued) - 1] == queued[:-1]
    assert {timer.timer_id for timer in live[len(queued) - 1 :]} == set(
        watches.values()
    )
    own = chain.timers(actor)
    assert client.timers(actor) == own
    assert [timer.sequence for timer in own] == sorted(one.sequence for one in live)
    for timer in (queued[0], queued[-1]):
        assert client.timer(timer.timer_id) == chain.timer(timer.timer_id) == timer
    tokens, found = None, []
    while tokens != "":
        request = timers_pb2.ListTimersRequest(page_size=7, page_token=tokens or "")
        page = client.api._timers.ListTimers(request)
        found += [timer.id for timer in page.timers]
        tokens = page.next_page_token
    assert found == [timer.timer_id for timer in live]
    shown = run("timers", "show", f"0x{ids[0].hex()}")
    for name in ("rank in the queue", "score", "queue key", "calls"):
        assert f"\n{name} " in shown


def test_watches_tell_what_they_are_doing(served, devnet, run):
    """`watches`, `timers watches`: idle, noted, queued (D51)."""
    client, (actor, other, _, ids) = served
    chain, _ = devnet
    watches = chain.watches()
    assert client.watches() == watches == chain.watches(actor)
    assert client.watches(other) == chain.watches(other) == []
    states = {one.timer.timer_id: one.status.state.value for one in watches}
    assert states == {timer_id: state for state, timer_id in ids.items()}
    by_state = {one.status.state: one.status for one in watches}
    key = (other.address, b"key")
    assert by_state[WatchState.QUEUED].matched_keys == (key,)
    assert by_state[WatchState.NOTED].matched_keys == ((actor.address, b"n1"),)
    assert by_state[WatchState.NOTED].hit_height == chain.height
    assert by_state[WatchState.IDLE].hit_height is None
    (on,) = chain.watches(watched=other)
    assert client.watches(watched=other) == [on]
    assert on.timer.timer_id == ids["queued"]
    table = run("timers", "watches").splitlines()
    assert table[0].split()[:3] == ["state", "fires", "watches"]
    assert len(table) == 4
    one = run("timers", "watches", "--on", f"0x{other.address.hex()}")
    assert f"queued, hit at {chain.height - 1}" in one
    shown = run("timers", "show", f"0x{ids['idle'].hex()}")
    assert "\nwatches " in shown
    assert "\ndue " not in shown
    for asked in (chain, client):
        with pytest.raises(UnknownId, match="actor"):
            asked.watches(bytes(20))
        with pytest.raises(InvalidArgument):
            asked.watches(watched=b"short")


def test_the_stories_are_the_same(served, devnet, run):
    """ExplainTimer, `timers why`, `explain`: queue and watches in sentences."""
    client, (_, _, timers, watches) = served
    chain, _ = devnet
    for timer_id in (timers[0], timers[-1], *watches.values()):
        told = plain(client, client.explain(timer_id))
        assert run("timers", "why", f"0x{timer_id.hex()}") == f"{told}\n"
        scheduled = re.compile("in transaction 0x[0-9a-f]{64}")
        assert scheduled.sub("", told) == scheduled.sub(
            "", plain(chain, chain.explain(timer_id))
        )
    waiting = client.explain(timers[0])
    assert "; it is queued (sequence 0)." in waiting
    assert "queued in the Globalbox with a score of 0, of 0 blocks of age" in waiting
    rank = chain.queue_place(timers[0]).rank
    assert f"In the Globalbox it is {rank}th, by a score of" in waiting
    fired = client.explain(timers[-1])
    for word in ("queued in the Globalbox", "materialized:", "fired:"):
        assert word in fired
    noted = client.explain(watches["noted"])
    assert noted.startswith(f"Watch 0x{watches['noted'].hex()} of actor")
    assert "hit: what it watches changed, 'n1' of actor" in noted
    assert f"It is noted: height {chain.height} changed 'n1' of" in noted
    assert "It is idle: under `globalbox` it fires when" in client.explain(
        watches["idle"]
    )
    assert "due at height" not in client.explain(watches["idle"])


def test_the_globalbox_that_the_documentation_prints_comes_out(served, run):
    """docs/api.md, Under `globalbox`: what is typed, and what comes."""
    _, (_, _, _, watches) = served
    page = (ROOT / "docs" / "api.md").read_text()
    text = page.split("<!-- globalbox begin -->")[1].split("<!-- globalbox end -->")[0]
    ((_, block),) = blocks(text.lstrip())
    typed = list(sessions(block))
    assert len(typed) == 3
    for command, answer in typed:
        words = command.replace("WATCH", f"0x{watches['queued'].hex()}").split()[1:]
        assert is_what_came(answer, run(*words)), command


def test_the_block_is_the_same(served, devnet, run):
    """ExplainBlock, `block --timers`, `explain_block`: the three parts of a lane."""
    client, (_, _, ids, _) = served
    chain, _ = devnet
    due = chain.timer(ids[0]).height
    told = plain(chain, chain.explain_block(due))
    assert run("block", str(due), "--timers") == f"{told}\n"
    assert (
        "In the Globalbox: 0 hits, 40 queued, 1 target passed over, 8 materialized, "
        "0 kept their places, 0 taken out for other rules."
    ) in told
    request = timers_pb2.ExplainBlockRequest(height=due, page_size=1_000)
    answer = client.api._timers.ExplainBlock(request)
    turns = answer.turns
    assert (turns.enqueued, turns.passed_over, turns.materialized) == (40, 1, 8)
    decided = [one.decision.decision for one in answer.timers]
    assert decided == [
        *["enqueued"] * 40, *["materialized"] * 8, "passed_over", *["fired"] * 8,
    ]  # fmt: skip
    orders = [one.decision.order for one in answer.timers[40:48]]
    assert orders == sorted(orders)


def test_the_stream_tells_of_hits_and_turns(served, devnet):
    """StreamTimers: hit, enqueued, materialized, passed over, fired, in order."""
    client, (_, _, _, watches) = served
    chain, _ = devnet
    start = client.block(chain.timer(watches["queued"]).scheduled_at).header
    begin = streams_pb2.TimerCursor()
    begin.block.height, begin.block.hash = start.height, start.hash()
    seen, blocks = [], set()
    for message in client.api.stream_timers(None, begin):
        change = message.change
        seen.append((change.decision.height, change.decision.decision))
        blocks.add(change.decision.height)
        if change.decision.decision == "hit" and change.timer_id == watches["noted"]:
            assert change.decision.matched_keys[0].key == b"n1"
            break
    assert seen == [
        (result.header.height, decision.decision.value)
        for result in chain.results
        if result.header.height > start.height
        for decision in result.trace
    ]
    assert {decision for _, decision in seen} >= {
        "hit", "enqueued", "passed_over", "materialized", "fired",
    }  # fmt: skip


def test_receipts_name_the_fire(served, devnet):
    """D54: deliver_id, deliver_seq and fire_seq are in the receipt, here and there."""
    client, _ = served
    chain, _ = devnet
    fires = chain.receipts(ReceiptKind.FIRE)
    told = client.receipts(ReceiptKind.FIRE)
    # A node builds on other transactions, signed by others: only the names differ.
    assert [(one.id, one.delivery.deliver_seq) for one in fires] == [
        (one.id, one.delivery.deliver_seq) for one in told
    ]
    assert [one.delivery.deliver_seq for one in told] == list(range(len(told)))
    assert {len(one.delivery.deliver_id) for one in told} == {32}
    assert {one.delivery.kind for one in told} == {"HEIGHT"}


def test_places_in_the_queue_and_its_ends_are_proven(served, run):
    """GetProof: a place, who stands before it, and that nobody else is queued."""
    client, (_, _, ids, _) = served
    queue = client.queue()
    orders = [one.place.order for one in queue]
    whole = client.api.prove(QueueProof())
    assert [key for key, _ in whole.records] == orders
    assert whole.is_globalbox_empty is False
    before = client.api.prove(QueueProof(b"", orders[3]))
    assert [key for key, _ in before.records] == orders[:4]
    assert client.api.prove(QueueProof(orders[-1] + b"", orders[-1])).records
    assert client.api.prove(TimerProof(ids[0])).records[0][0] in orders
    with pytest.raises(BadProof):
        client.api.prove(TimerProof(ids[0]), block_hash=bytes(32))
    assert f"{len(queue)} fires are queued in the Globalbox, and no others" in run(
        "timers", "queue", "--prove"
    )
    assert "this timer is pending" in run(
        "timers", "show", f"0x{ids[0].hex()}", "--prove"
    )
    listed = run("timers", "list", "--prove")
    for timer_id in ids[:3]:
        assert timer_id.hex() in listed


def test_the_future_is_the_same(served, devnet, run):
    """Simulate: the queue drains in its order, and watches fire by the way."""
    client, (_, _, ids, watches) = served
    chain, _ = devnet
    seen = chain.simulate(6)
    outlook = client.api.simulate_blocks(6).outlook
    assert (
        outlook.text == plain(chain, seen) == run("timers", "ahead", "6").rstrip("\n")
    )
    fires = [fire.receipt.id for fire in seen.fires]
    assert fires == [fire.id for fire in outlook.fires]
    assert set(fires) >= {*ids[:10], watches["queued"], watches["noted"]}


def offline(*words):
    """A command that executes a chain, in a process of its own."""
    command = [sys.executable, "-m", "node", *words]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.slow
def test_a_bundle_and_a_folder_carry_queue_and_watches(served, genesis, run, tmp_path):
    """Bundles, `replay`, `start --verify`, state files: nothing of it is lost."""
    client, _ = served
    queue, watches = client.queue(), client.watches()
    bundle, folder = tmp_path / "chain.bundle", str(tmp_path / "data")
    run("bundle", "export", str(bundle))
    offline("bundle", "check", str(bundle))
    flags = ("--genesis", genesis, "--data-dir", folder)
    with NodeProcess(*flags) as second, second.client() as other:
        other.import_bundle(bundle)
        assert (other.queue(), other.watches()) == (queue, watches)
    offline("replay", "--data-dir", folder)
    state = str(tmp_path / "chain.state")
    offline("snapshot", "export", state, "--data-dir", folder)
    copied = str(tmp_path / "copied")
    offline("snapshot", "import", state, "--data-dir", copied)
    for data in (folder, copied):
        verified = NodeProcess("--data-dir", data, "--verify")
        with verified, verified.client() as other:
            assert (other.queue(), other.watches()) == (queue, watches)
            assert other.api.prove(QueueProof()).records
    with Devnet(**GLOBALBOX) as chain:
        chain.import_bundle(bundle)
        assert (chain.queue(), chain.watches()) == (queue, watches)
