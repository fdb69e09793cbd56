"""Coming to the rules `bidding` and leaving them; what a block under them may cost."""

import pytest

from node.chain.block import ReceiptKind
from node.chain.timers import due_index, lane
from node.chain.timers.bidding_index import BIDDING_INDEX
from node.chain.timers.due_index import AUCTION_INDEX
from node.chain.transaction import ExecuteActor, ScheduleActivation, SetBalance
from node.chain.transition import work_height
from node.primitives import codec
from node.primitives.types import Amount
from tests.spec.driven_actors import (
    ALL,
    BIDDING,
    EPOCH,
    WORKER,
    agent_of,
    decisions,
    fires,
    put_off,
    route,
    schedule,
    schedule_all,
)
from tests.spec.test_cip1_agents import agents, bidder

BOTH_NAMES = (
    "fee = 3 * context.get('basefee_lane_timer', context['basefee_cycle'])\n"
    "return {'max_fee_per_cycle': fee, 'max_priority_fee_per_cycle': 4,\n"
    "        'tip_per_cycle': 5}"
)
ALL_RULES = ["fifo", "auction", "bidding"]


def chain_of(devnet, *rules, **overrides):
    """A chain whose rules change at heights: (height, rules)."""
    activations = [{"height": height, "rules": name} for height, name in rules]
    return devnet(**BIDDING | {"activations": activations} | overrides)


def worker(chain, value="900 CBY"):
    return chain.deploy(WORKER, value=value, salt=b"%032d" % chain.height)


def waiting(chain):
    """What the orders of due timers hold."""
    return dict(due_index.found(chain.state.snapshot))


# --- coming ---------------------------------------------------------------------------


def test_who_is_over_the_cap_of_auction_waits_no_longer(devnet):
    """D44: "nothing waits over the cap"."""
    chain = chain_of(devnet, (0, "fifo"), (6, "auction"), (12, "bidding"))
    actor = worker(chain)
    timer = schedule(actor, 8, b"x", gas_limit=400_000)
    chain.mine_until(11)
    assert chain.timer(timer).is_over_cap_noted
    chain.mine()
    (fire,) = fires(chain.last)
    assert fire.cycles_limit == 400_000


def test_an_agent_that_answers_to_both_serves_both(devnet):
    """D45: "others ignored, so one agent can serve both rules" (D57)."""
    chain = chain_of(devnet, (0, "auction"), (12, "bidding"))
    actor = chain.deploy(bidder(BOTH_NAMES), value="900 CBY")
    for height in (10, 20):
        schedule(actor, height, gba=actor.address, gas_limit=50_000)
    chain.mine_until(10)
    assert fires(chain.last)[0].price.cycle_tip == 4
    chain.mine_until(20)
    assert fires(chain.last)[0].price.cycle_tip == 5
    assert chain.events("GbaFailed") == []


@pytest.mark.parametrize("rules", ALL_RULES)
def test_d57_the_same_world_runs_under_all_rules(devnet, rules):
    """D57: "`schedule_timer` with an agent of the actor's own …, no fees"."""
    chain = chain_of(devnet, (0, rules))
    actor = chain.deploy(bidder(BOTH_NAMES), value="900 CBY")
    terms = {"gba": actor.address, "gas_limit": 200_000}
    ids = schedule_all(actor, *[(20, b"%d" % i, terms) for i in range(6)])
    chain.mine_until(22)
    assert [decisions(chain, timer)[-1] for timer in ids] == ["fired"] * 6
    asked = [r.kind for result in chain.results for r in result.receipts]
    assert (ReceiptKind.AGENT in asked) == (rules != "fifo")


def test_a_strangers_agent_stays_when_the_rules_change(devnet):
    """D44: "keep terms, agent and payer": `auction` asks whom `bidding` admitted."""
    chain = chain_of(devnet, (0, "bidding"), (10, "auction"))
    stranger = chain.deploy(
        bidder("return [10 ** 6, 3]"), sender=chain.accounts[1], value="5 CBY"
    )
    timer = schedule(worker(chain), 12, gba=stranger.address, gas_limit=50_000)
    chain.mine_until(12)
    assert [fire.id for fire in fires(chain.last)] == [timer]
    assert fires(chain.last)[0].price.cycle_tip == 3


# --- leaving --------------------------------------------------------------------------


def test_leaving_forgets_the_orders_and_keeps_the_notes(devnet):
    """D36, D45: what is derived goes with the rules; a record keeps its note."""
    chain = chain_of(devnet, (0, "bidding"), (12, "auction"), (16, "bidding"))
    actor, agent = worker(chain, value="1 CBY"), agent_of(chain)
    timer = schedule(actor, 8, gba=agent.address)
    chain.mine_until(11)
    note = chain.timer(timer).poor_note
    assert note is not None
    assert waiting(chain) == dict(BIDDING_INDEX.expected(chain.state.snapshot, 11))
    low = SetBalance(actor.address, Amount(0))
    chain.execute(low)  # in block 12, where `auction` removes who cannot pay
    assert decisions(chain, timer)[-1] == "removed_insufficient_funds"
    assert waiting(chain) == {}


def test_a_note_of_this_epoch_holds_again_when_the_rules_are_back(devnet):
    """D45: "during this epoch the timer is dormant", whatever rules were between."""
    chain = chain_of(devnet, (0, "bidding"), (12, "auction"), (16, "bidding"))
    actor, agent = worker(chain, value="1 CBY"), agent_of(chain, fee=1)
    timer = schedule(actor, 8, gba=agent.address)
    chain.mine_until(11)
    chain.execute(SetBalance(actor.address, Amount(10**10)))
    # Its bid of 1 keeps it waiting under `auction`, which asks it all the same.
    assert put_off(chain.last, "lane_basefee") == [timer]
    assert waiting(chain) == dict(AUCTION_INDEX.expected(chain.state.snapshot, 12))
    chain.mine_until(15)
    chain.execute(SetBalance(actor.address, Amount(10**9)))  # in block 16
    assert chain.last.trace == ()
    assert chain.advance(blocks=EPOCH - 17).heights == []
    chain.mine()
    assert put_off(chain.last, "funds") == [timer]


def test_weights_and_notes_cost_nothing_while_other_rules_hold(devnet):
    """D49: "leaving writes nothing": an empty block after it is empty."""
    chain = chain_of(devnet, (0, "bidding"))
    actor, agent = worker(chain), agent_of(chain)
    schedule(actor, 8, gba=agent.address)
    chain.mine_until(8)
    chain.execute(ScheduleActivation(12, "fifo"))
    before = dict(chain.state.snapshot.range(b"sw", b"sx"))
    assert before
    chain.mine_until(14)
    assert dict(chain.state.snapshot.range(b"sw", b"sx")) == before


# --- runs -----------------------------------------------------------------------------


def test_d49_a_run_passes_epochs_freely(devnet):
    """D49: "otherwise a run passes epochs freely"."""
    chain = chain_of(devnet, (0, "bidding"))
    schedule(worker(chain), 10 * EPOCH, gba=agent_of(chain).address)
    headers = len(chain.results)
    chain.advance(height=10 * EPOCH - 1)
    assert len(chain.results) == headers + 1


def test_d49_a_run_ends_before_the_poor_wake(devnet):
    """D49: "the poor wake at the first height of the next epoch at the latest"."""
    chain = chain_of(devnet, (0, "bidding"))
    schedule(worker(chain, value="1 CBY"), 8, gba=agent_of(chain).address)
    chain.mine_until(9)
    assert work_height(chain.state) == EPOCH
    chain.advance(height=EPOCH - 1)
    assert chain.last.header.span == EPOCH - 1 - 9


# --- what a block may cost ------------------------------------------------------------


def test_a_block_looks_at_so_many_due_timers(devnet):
    """D8: `max_due_examined`, whatever waits and whoever is asked."""
    chain = chain_of(devnet, (0, "bidding"), timer_config={"max_due_examined": 5})
    actor, agent = worker(chain), agent_of(chain, fee=1)
    terms = {"gba": agent.address}
    schedule_all(actor, *[(12, b"%d" % i, terms) for i in range(30)])
    chain.mine_until(12)
    assert len(chain.last.trace) == len(agents(chain)) == 5
    chain.mine()
    assert len(chain.last.trace) == 5


def test_the_poor_take_no_place_from_those_who_can_pay(devnet):
    """D45: "Else the penniless would hold D8's places for a TTL, free of charge"."""
    chain = chain_of(devnet, (0, "bidding"), timer_config={"max_due_examined": 5})
    poor, rich = worker(chain, value="1 CBY"), worker(chain)
    greedy, agent = agent_of(chain, tip=10**6), agent_of(chain)
    terms = {"gba": greedy.address}
    schedule_all(poor, *[(12, b"%d" % i, terms) for i in range(20)])
    terms = {"gba": agent.address, "gas_limit": 20_000}
    ids = schedule_all(rich, *[(12, b"%d" % i, terms) for i in range(5)])
    chain.mine_until(20)
    # Four blocks look at all the poor; from then on the others are not behind them.
    assert [decisions(chain, timer)[-1] for timer in ids] == ["fired"] * 5
    assert max(chain.decisions(timer)[-1][0] for timer in ids) <= 16
    # With an epoch all the poor are awake again, and rank behind.
    late = schedule(rich, EPOCH, **terms)
    chain.advance(height=EPOCH)
    assert decisions(chain, late)[-1] == "fired"


def test_the_gate_of_keys_stands_before_the_slice(devnet, monkeypatch):
    """D43, D46: once too many keys are written no fire starts, and money is unasked."""
    monkeypatch.setattr(lane, "WRITES_BEFORE_DEFERRED_STOP", 2)
    chain = chain_of(devnet, (0, "bidding"))
    actor, first, agent = worker(chain), agent_of(chain, tip=9), agent_of(chain)
    away = route("send_away", codec.encode([b"\x77" * 20, 5]))
    schedule(actor, 12, away, gba=first.address, gas_limit=50_000)
    late = schedule(actor, 12, ALL, gba=agent.address, gas_limit=50_000)
    chain.mine_until(12)
    assert chain.last.use.writes == 2
    assert put_off(chain.last, "writes") == [late]


def test_the_gate_of_cells_is_the_last(devnet):
    """D8: who finds no room for its cells waits, and keeps its place and money."""
    config = {"max_cells_per_fire": 1_200_000}
    chain = chain_of(devnet, (0, "bidding"), timer_config=config, block_cells=1_600_000)
    actor, agent = worker(chain), agent_of(chain)
    big = route("other", bytes(6_000))
    terms = {"gba": agent.address, "gas_limit": 100_000}
    ids = [schedule(actor, 20, big, **terms) for _ in range(2)]
    chain.mine_until(19)
    # 1,200,000 of the block's cells are kept from transactions; this leaves few more.
    filler = ExecuteActor(actor.address, "list", bytes(398_000), Amount(0))
    chain.submit(filler, cells_limit=399_500)
    chain.mine()
    assert [fire.id for fire in fires(chain.last)] == ids[:1]
    assert put_off(chain.last, "cells") == ids[1:]
    chain.mine()
    assert [fire.id for fire in fires(chain.last)] == ids[1:]
