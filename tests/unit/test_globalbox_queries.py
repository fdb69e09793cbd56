"""What is asked about the Globalbox: places, pages, proofs and counts (D51, D52)."""

import asyncio

import pytest

from node import history, query
from node.chain.params import GlobalboxConfig
from node.chain.timers.timer import Decision
from node.chain.transaction import UpdateGlobalboxConfig
from node.client import BadProof, QueueProof, TimerProof, check_proof
from node.http.metrics import _count_globalbox
from node.primitives import codec
from node.query import InvalidQuote, TimerCriteria
from node.query.forecasts.forecast import Lineups
from node.query.globalbox import RANKED_MAX, QueueView
from node.query.queue_place import WatchState
from node.rpc import convert, requests
from node.rpc.requests import InvalidRequest
from node.rpc.v1 import queries_pb2 as pb
from node.testing import Devnet
from tests.spec.driven_actors import route
from tests.spec.globalbox_actors import (
    GLOBALBOX,
    SETTER,
    decided,
    put,
    set_timeouts,
    set_watch,
)

QUOTAS = {**GLOBALBOX, "globalbox_config": {"max_fires_per_block": 3}}
DUE = 10
UNIT = 2**96


@pytest.fixture
def chain():
    with Devnet(**QUOTAS) as chain:
        yield chain


@pytest.fixture
def actor(chain):
    return chain.deploy(SETTER, value="90 CBY")


@pytest.fixture
def crowd(chain, actor):
    """Ten timers and a watch, of which the first block runs three."""
    terms = {"gas_limit": 50_000}
    watch = set_watch(actor, [b"k"], route("tell"), **terms)
    told = route("tell")
    bids = [terms | {"bid_fp": bid * UNIT} for bid in range(1, 11)]
    ids = set_timeouts(actor, *[(None, DUE, told, options) for options in bids])
    chain.mine_until(DUE - 1)
    put(actor, (b"key", b"1"))
    return [*ids[6::-1], watch]


def ask(chain, subject):
    """What a node would answer at the head."""
    prove = requests.proof_from_proto(subject.request())
    return convert.proof_to_proto(prove(chain.state))


def prove(chain, subject):
    return check_proof(subject, ask(chain, subject))


def test_d52_pages_of_the_queue_are_in_its_order_and_name_where_they_go_on(
    chain, actor, crowd
):
    state, found, start = chain.state, [], b""
    while start is not None:
        page = query.queue_page(state, None, start, 3)
        assert len(page.items) <= 3
        found += page.items
        start = page.next_key
    assert [one.timer.timer_id for one in found] == crowd
    assert [one.place.rank for one in found] == [1, 2, 3, 4, 5, 6, 7, 8]
    of_target = query.queue_page(state, actor.address, found[6].place.order, 9)
    assert [one.timer.timer_id for one in of_target.items] == crowd[6:]


@pytest.mark.usefixtures("crowd")
def test_d52_the_score_is_what_newcomers_of_the_next_block_are_compared_with(chain):
    """Score = w_age · (h - origin) + w_bid · bid."""
    best, *_, watch = chain.queue()
    assert best.place.score == UNIT * (chain.height + 1 - DUE) + 7 * UNIT
    assert watch.place.score == UNIT * (chain.height + 1 - watch.place.origin)
    assert (best.place.tip, watch.place.tip) == (7, 0)


def test_ranks_are_counted_so_far(chain, crowd, monkeypatch):
    assert RANKED_MAX > 10
    monkeypatch.setattr("node.query.globalbox.RANKED_MAX", 2)
    view = QueueView(chain.state)
    ranks = [view.place_of(chain.timer(timer_id)).rank for timer_id in crowd[:4]]
    assert ranks == [1, 2, None, None]


def test_d24_queued_timers_keep_their_place_among_an_actors(chain, actor, crowd):
    """They are live: every list has them, whatever pages it is read by."""
    live = [one.timer_id for one in chain.timers()]
    assert live == crowd
    for wanted in (TimerCriteria(), TimerCriteria(actor=actor.address)):
        found, start = [], b""
        while start is not None:
            page = query.live_timers_page(chain.state, wanted, start, 2)
            found += [one.timer.timer_id for one in page.items]
            start = page.next_key
        assert sorted(found) == sorted(crowd)


def lined_up(chain):
    """Who comes to the lane of the next block, as it is foretold."""
    lineups = Lineups(chain.state)
    turns = lineups._rules.line_up(chain.height + 1)
    return [turn.timer.timer_id for turn in turns]


def came(chain):
    """In which order the last block found what is and what was queued."""
    ran = decided(chain, Decision.MATERIALIZED)
    left = chain.queue()
    return [one.timer_id for one in ran] + [one.timer.timer_id for one in left]


@pytest.mark.usefixtures("crowd")
def test_d52_newcomers_are_foretold_among_what_is_queued(chain, actor):
    """Due timers by bid and age, of one target in turn; and hits that were noted."""
    told, terms = route("tell"), {"gas_limit": 50_000}
    write = route("put", codec.encode([[b"n", b"1"]]))
    soon = chain.height + 5
    bids = [0, 3 * UNIT, 3 * UNIT, 8 * UNIT + 1]
    other = chain.deploy(SETTER + "\n", value="9 CBY")
    entries = [
        (target, soon, told, terms | {"bid_fp": bid})
        for bid in bids
        for target in (None, other.address)
    ]
    first = (None, soon - 1, write, terms | {"bid_fp": 99 * UNIT})
    set_watch(actor, [b"n"], told, **terms, bid_fp=2 * UNIT)
    set_timeouts(actor, first, *entries)
    for _ in range(4):
        foretold = lined_up(chain)
        chain.mine()
        assert came(chain) == foretold
    assert chain.height > soon


@pytest.mark.usefixtures("crowd")
def test_d53_what_quotas_leave_is_foretold(chain):
    """3 fires a block, then 2 of one target."""
    third, fourth = (one.timer.timer_id for one in chain.queue()[2:4])
    seen = [chain.explain(timer_id).forecast for timer_id in (third, fourth)]
    assert [(one.room.fires, one.is_room) for one in seen] == [(2, True), (3, False)]
    assert "so its turn comes later." in f"{chain.explain(fourth)}"
    config = GlobalboxConfig(max_fires_per_target=2)
    with chain.snapshot():
        chain.execute(UpdateGlobalboxConfig(config))
        third = chain.queue()[2].timer.timer_id
        assert "so it will be passed over." in f"{chain.explain(third)}"
        chain.mine()
        (passed,) = decided(chain, Decision.PASSED_OVER)
        assert passed.timer_id == third


def test_d53_behind_a_full_block_nobody_is_said_to_be_passed_over(chain, actor):
    """D53: "while fires < `max_fires_per_block`": what is behind is not looked at."""
    chain.execute(UpdateGlobalboxConfig(GlobalboxConfig(2, 2)))
    other = chain.deploy(SETTER + "\n", value="90 CBY")
    due = chain.height + 4
    high, low = {"bid_fp": 9 * UNIT, "gas_limit": 50_000}, {"gas_limit": 50_000}
    front = set_timeouts(other, *[(None, due, b"", high)] * 3)
    behind = set_timeouts(actor, *[(None, due, b"", low)] * 3)
    chain.mine_until(due - 1)
    rooms = [chain.explain(timer_id).forecast.room for timer_id in front]
    assert sorted((one.fires, one.target_fires) for one in rooms) == [
        (0, 0),
        (1, 1),
        (2, 2),
    ]
    assert not any(one.is_passed_over for one in rooms)
    for timer_id in behind:
        seen = chain.explain(timer_id)
        assert (seen.forecast.room.fires, seen.forecast.room.target_fires) == (2, 0)
        assert f"{seen}".endswith(
            "before it 2 come in that block, 0 of them of its target, so its turn "
            "comes later."
        )
        assert seen.forecast.before.payer_cost == 0
    chain.mine()
    assert decided(chain, Decision.PASSED_OVER) == []


def test_d51_a_noted_watch_is_looked_at_in_the_next_block(chain, actor):
    watch = set_watch(actor, [b"n"], route("tell"), gas_limit=50_000)
    actor.call("put_later", codec.encode([[b"n", b"1"]]))
    assert chain.explain(watch).forecast.is_expiring
    chain.mine()
    (live,) = chain.watches()
    assert live.status.state is WatchState.NOTED
    assert chain.explain(watch).forecast.height == chain.height + 1
    chain.mine()
    assert [one.timer_id for one in decided(chain, Decision.FIRED)] == [watch]


def test_a_place_and_who_stands_before_it_is_proven(chain, crowd):
    orders = [one.place.order for one in chain.queue()]
    proven = prove(chain, QueueProof(b"", orders[2]))
    assert [key for key, _ in proven.records] == orders[:3]
    assert not prove(chain, QueueProof(b"", bytes(97))).records
    assert prove(chain, TimerProof(crowd[0])).records[0][0] == orders[0]
    # A watch lies in the calendar, also while its fire is queued.
    assert len(prove(chain, TimerProof(crowd[-1])).records[0][0]) == 16


def test_what_a_node_hides_or_invents_is_no_proof(chain, crowd):
    whole = QueueProof()
    honest = ask(chain, whole)
    for spoil in (
        lambda answer: answer.records.pop(0),
        lambda answer: answer.records.add(key=bytes(97), value=b"x"),
        lambda answer: setattr(answer, "globalbox_root", bytes(32)),
        lambda answer: setattr(answer, "globalbox_root", b""),
        lambda answer: setattr(answer, "proof", b"\x03"),
        lambda answer: setattr(answer.records[0], "value", b"other"),
    ):
        answer = pb.GetProofResponse.FromString(honest.SerializeToString())
        spoil(answer)
        with pytest.raises(BadProof):
            check_proof(whole, answer)
    other = ask(chain, TimerProof(crowd[1]))
    with pytest.raises(BadProof, match="of another timer"):
        check_proof(TimerProof(crowd[0]), other)


def test_d38_an_empty_globalbox_is_proven_under_any_rules(chain):
    proven = prove(chain, QueueProof())
    assert (proven.records, proven.is_globalbox_empty) == ((), True)
    answer = ask(chain, QueueProof())
    answer.globalbox_root = b"\x01" * 32
    with pytest.raises(BadProof):
        check_proof(QueueProof(), answer)
    with Devnet() as fifo:
        fifo.mine()
        assert prove(fifo, QueueProof()).records == ()


def test_orders_of_another_length_or_direction_are_refused(chain):
    for first, last in (
        (b"short", b""),
        (b"", b"long" * 97),
        (b"\xff" * 97, bytes(97)),
    ):
        with pytest.raises(InvalidRequest, match="queue"):
            ask(chain, QueueProof(first, last))


def test_metrics_count_what_is_queued_and_what_watches_do(chain, actor, crowd):
    set_watch(actor, [b"idle", b"also"], b"")
    counted = asyncio.run(_count_globalbox(chain.state))
    is_queued = chain.queue_place(crowd[-1]) is not None
    assert dict(counted) == {
        "fires": len(chain.queue()),
        "queued": int(is_queued),
        "idle": 2 - is_queued,
    }


def test_d17_put_offs_before_a_timer_was_queued_are_still_told():
    """A backlog of `fifo` that `globalbox` takes over: traces name places (D22)."""
    rules = [{"height": 0, "rules": "fifo"}, {"height": DUE + 2, "rules": "globalbox"}]
    overrides = {"activations": rules, "basefee_config": {"min_basefee": 1_000}}
    overrides["globalbox_config"] = {"max_fires_per_block": 1}
    with Devnet(**overrides) as chain:
        actor = chain.deploy(SETTER, value="90 CBY")
        entries = codec.encode([[DUE, route("tell"), {}] for _ in range(11)])
        ids = codec.decode(actor.call("schedule_all", entries).value)
        chain.mine_until(DUE + 2)
        for result in chain.results:
            chain._store.commit(history.record(result))
        assert any(chain.queue_place(timer_id) for timer_id in ids)
        snapshot = chain._store.snapshot()
        told = history.load_trace(snapshot, DUE)
        assert told == tuple(chain.result_at(DUE).trace)
        assert Decision.PUT_OFF in {decision.decision for decision in told}


def test_d54_a_quote_pays_the_bid_of_whole_base_units_to_the_proposer(chain, actor):
    """`bid_fp >> 96` a cycle, in bounds (D56)."""
    plain, bid = chain.quote(actor), chain.quote(actor, bid_fp=7 * UNIT + 5)
    assert (plain.terms.price.cycle_tip, bid.terms.price.cycle_tip) == (0, 7)
    limit = bid.terms.cycles_limit
    assert bid.terms.max_cost == plain.terms.max_cost + 7 * limit
    config = UpdateGlobalboxConfig(GlobalboxConfig(max_bid_fp=UNIT))
    chain.execute(config)
    with pytest.raises(InvalidQuote, match="bid_fp is from 0 to"):
        chain.quote(actor, bid_fp=UNIT + 1)


def test_d56_a_quote_refuses_what_the_call_would(chain, actor):
    """`min_gas_limit` and `max_payload` are the bounds that hold under `globalbox`."""
    config = GlobalboxConfig(min_gas_limit=5_000, max_payload=9)
    chain.execute(UpdateGlobalboxConfig(config))
    chain.quote(actor, gas_limit=5_000, payload_bytes=9)
    with pytest.raises(InvalidQuote, match="gas_limit is from 5000 to"):
        chain.quote(actor, gas_limit=4_999)
    with pytest.raises(InvalidQuote, match="payload_bytes is at most 9"):
        chain.quote(actor, payload_bytes=10)


def test_d52_the_round_robin_of_targets_is_foretold(chain, actor):
    """Of equals the first of each target comes before the second of any."""
    other = chain.deploy(SETTER + "\n", value="9 CBY")
    soon, terms = chain.height + 4, {"gas_limit": 50_000, "bid_fp": 3 * UNIT}
    pair = [(target, soon, b"", terms) for target in (None, other.address)]
    set_timeouts(actor, *pair, *pair)
    chain.mine_until(soon - 1)
    foretold = lined_up(chain)
    chain.mine()
    assert came(chain) == foretold
