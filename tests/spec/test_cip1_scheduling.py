"""CIP-1 version 3: what is stated at scheduling (§4, §6, §7.3) and who sleeps (D36)."""

import pytest

from node.chain.globals import load_globals
from node.chain.params import TimerConfig
from node.chain.timers import due_index
from node.chain.timers.due_index import AUCTION_INDEX
from node.chain.transaction import UpdateTimerConfig
from node.chain.transition import work_height
from node.primitives import codec
from tests.spec.driven_actors import (
    ALL,
    AUCTION,
    WORKER,
    decisions,
    fired_payloads,
    fires,
    lane,
    refusal,
    said,
    schedule,
    schedule_all,
)


@pytest.fixture
def chain(devnet):
    return devnet(**AUCTION)


@pytest.fixture
def actor(chain):
    return chain.deploy(WORKER, value="900 CBY")


def test_4_no_timer_fires_in_the_block_that_made_it(chain, actor):
    """§4: "MUST NOT execute in the same block": not even at the next height's price."""
    assert refusal(actor, chain.height + 1) == "InvalidInput"
    schedule(actor, chain.height + 2, b"next")
    assert fires(chain.last) == []
    chain.mine()
    assert fired_payloads(actor) == [b"next"]


def test_6_a_fee_below_the_lane_basefee_is_refused(chain, actor):
    """§6: "else TimerRejectedBelowBasefee (immediate failure; nothing escrowed)"."""
    fee = lane(chain)
    refused = refusal(actor, chain.height + 9, max_fee_per_cycle=fee - 1)
    assert refused == "TimerRejectedBelowBasefee"
    assert refusal(actor, 10**6, max_fee_per_cycle=0) == "TimerRejectedBelowBasefee"
    timer = schedule(actor, chain.height + 9, max_fee_per_cycle=lane(chain))
    assert chain.timer(timer) is not None


def test_6_a_priority_above_the_rest_is_clamped_and_told(chain, actor):
    """§6: "clamp at schedule time and emit TimerPriorityClampedAtSchedule"."""
    basefee = lane(chain)
    timer = schedule(
        actor,
        chain.height + 9,
        max_fee_per_cycle=basefee + 5,
        max_priority_fee_per_cycle=2**128 - 1,
    )
    assert chain.timer(timer).max_priority_fee_per_cycle == 5
    (event,) = chain.events("TimerPriorityClampedAtSchedule")
    assert said(event) == {"timer_id": timer, "stated": 2**128 - 1, "clamped": 5}
    schedule(actor, 10**6, max_fee_per_cycle=9_000, max_priority_fee_per_cycle=5)
    schedule(actor, 10**6, max_priority_fee_per_cycle=2**128 - 1)  # no maximum
    assert len(chain.events("TimerPriorityClampedAtSchedule")) == 1


def test_6_nothing_is_escrowed(chain, actor):
    """§6: "No escrow at scheduling"; the cost "remains a small fixed cycle charge"."""
    before = chain.balance(actor)
    schedule(actor, 10**6, max_fee_per_cycle=10**9)
    assert chain.balance(actor) == before


@pytest.mark.parametrize("bid", [0, 7, "text", True])
def test_6_d35_bid_is_refused_before_all_else(chain, actor, bid):
    """§6: "thereafter the call is rejected with TimerArgDeprecated"."""
    assert refusal(actor, 99, bid=bid) == "TimerArgDeprecated"
    assert refusal(actor, -1, max_fee_per_cycle="x", bid=bid) == "TimerArgDeprecated"
    assert chain.timer(schedule(actor, 99, bid=None)) is not None


@pytest.mark.parametrize("amount", [-1, 2**128, True, "1", b"1"])
def test_6_fees_are_amounts(actor, amount):
    """Fees of 2^128 and of other types: "InvalidInput", as of every argument."""
    assert refusal(actor, 99, max_fee_per_cycle=amount) == "InvalidInput"
    assert refusal(actor, 99, max_priority_fee_per_cycle=amount) == "InvalidInput"


def test_7_1_the_default_bid(chain, actor):
    """§7.1: "max_fee = 2 x basefee, max_priority_fee = previous_block_p50_tip"."""
    height = chain.height + 3
    schedule_all(
        actor,
        (height, b"tip", {"max_priority_fee_per_cycle": 40}),
        (height + 1, b"default", {}),
        (height + 1, b"fee", {"max_fee_per_cycle": 2_000}),
    )
    chain.mine_until(height + 1)
    assert [fire.price.cycle_tip for fire in fires(chain.last)] == [40, 40]


def test_7_1_the_default_maximum_bounds_a_wild_median(chain, actor):
    """§7.1: a tip above the other half of `2 x basefee` is clamped to it."""
    height = chain.height + 3
    schedule_all(
        actor,
        (height, b"wild", {"max_priority_fee_per_cycle": 10**5, "gas_limit": 20_000}),
        (height + 1, b"default", {}),
    )
    chain.mine_until(height + 1)
    (fire,) = fires(chain.last)
    assert fire.price.cycle_tip == chain.head.basefee_lane


@pytest.mark.parametrize(
    ("hint", "expected"),
    [("economy", 80), ("standard", 100), ("fast", 150), ("urgent", 250)],
)
def test_7_3_tiers_multiply_the_median(chain, actor, hint, expected):
    """OVW: "multipliers 80/100/150/250 of a p50 of 100"."""
    schedule(actor, chain.height + 2, max_priority_fee_per_cycle=100)
    chain.mine()
    assert load_globals(chain.state.snapshot).p50_priority == 100
    timer = chain.timer(schedule(actor, 99, priority_tier_hint=hint))
    assert timer.max_priority_fee_per_cycle == expected


def test_7_3_what_a_hint_cannot_be(chain, actor):
    """D34: InvalidInput "beside a stated priority or when unknown"."""
    assert refusal(actor, 99, priority_tier_hint="fastest") == "InvalidInput"
    stated = {"priority_tier_hint": "fast", "max_priority_fee_per_cycle": 1}
    assert refusal(actor, 99, **stated) == "InvalidInput"
    beside = {"priority_tier_hint": "fast", "gba": actor.address}
    assert refusal(actor, 99, **beside) == "InvalidInput"
    timer = schedule(actor, 99, priority_tier_hint="fast", max_fee_per_cycle=5_000)
    assert chain.timer(timer).max_fee_per_cycle == 5_000


def test_7_3_the_multipliers_are_governed(chain, actor):
    """§7.3: "governance-tunable"."""
    config = TimerConfig(tier_multipliers_permille=(1, 2, 3_000, 4))
    chain.submit(UpdateTimerConfig(config))
    chain.mine()
    schedule(actor, chain.height + 2, max_priority_fee_per_cycle=100)
    chain.mine()
    timer = chain.timer(schedule(actor, 99, priority_tier_hint="fast"))
    assert timer.max_priority_fee_per_cycle == 300


def test_7_3_what_a_hint_stands_for_is_an_amount(devnet):
    """D34: what does not fit 128 bits is none, and no order of due timers takes it.

    Under a wild median it was recorded; once such a timer was due and not looked at,
    no block could be made.
    """
    wild = {"max_due_examined": 1, "tier_multipliers_permille": [2**64 - 1] * 4}
    chain = devnet(**AUCTION, timer_config=wild)
    actor = chain.deploy(WORKER)
    chain.fund(actor, 2**128 - 1)
    schedule(actor, chain.height + 2, gas_limit=2_000, max_priority_fee_per_cycle=2**80)
    chain.mine()
    assert load_globals(chain.state.snapshot).p50_priority == 2**80
    timer = (chain.height + 2, b"", {"gas_limit": 2_000, "priority_tier_hint": "fast"})
    ids = schedule_all(actor, timer, timer)
    stated = [chain.timer(one).max_priority_fee_per_cycle for one in ids]
    assert stated == [2**128 - 1] * 2
    chain.mine(2)
    assert chain.timers() == []


# --- dormancy -------------------------------------------------------------------------


def load_lane(chain, actor, blocks):
    """Fill the lane for so many blocks from the next height but one on."""
    full = [(chain.height + 2, ALL, {"gas_limit": 250_000, "max_fee_per_cycle": 10**6})]
    schedule_all(actor, *(full * (8 * blocks)))


def test_d36_a_stated_fee_below_the_lane_basefee_sleeps(chain, actor):
    """D36: "not examined, cost nothing and do not make a block non-empty"."""
    load_lane(chain, actor, 6)
    fee = lane(chain)
    height = chain.height + 4
    timer = schedule(actor, height, b"poor", max_fee_per_cycle=fee)
    chain.mine_until(height + 3)
    assert lane(chain) > fee
    assert decisions(chain, timer) == ["scheduled"]
    while fires(chain.mine()):
        pass
    assert chain.last.is_empty
    wake = work_height(chain.state)
    assert wake > chain.height + 1
    passage = chain.advance(next_timer=True)
    assert (chain.height, passage.fires) == (wake, 1)
    assert chain.head.basefee_lane <= fee
    assert decisions(chain, timer) == ["scheduled", "woke", "fired"]
    assert [r.header.span for r in chain.results[-2:]][-1] == 1


def test_d36_it_is_told_when_one_falls_asleep(chain, actor):
    """`slept` and `woke`, "with the reason and the numbers compared"."""
    fee = lane(chain) + 60
    height = chain.height + 3
    load_lane(chain, actor, 3)
    last = schedule(
        actor,
        height,
        ALL,
        max_fee_per_cycle=fee,
        max_priority_fee_per_cycle=0,
        gas_limit=250_000,
    )
    assert decisions(chain, last) == ["scheduled"]
    chain.mine()
    assert decisions(chain, last)[:3] == ["scheduled", "put_off", "slept"]
    slept = chain.decisions(last)[2][1]
    assert slept.reason == "lane_basefee"
    assert slept.numbers["max_fee"] == fee < slept.numbers["basefee_lane"]
    chain.advance(until_idle=500)
    assert decisions(chain, last)[-2:] == ["woke", "fired"]


def test_d36_a_sleeper_wakes_to_expire(chain, actor):
    """D36: "at most max(due, expires_at + 1)"."""
    load_lane(chain, actor, 14)
    height = chain.height + 9
    timer = schedule(
        actor, height, b"", max_fee_per_cycle=lane(chain), expires_at=height + 2
    )
    chain.mine_until(height + 3)
    assert decisions(chain, timer) == ["scheduled", "woke", "expired"]
    assert timer not in [t.timer_id for t in chain.timers()]


@pytest.mark.parametrize("rules", ["auction", "bidding"])
def test_d36_nobody_wakes_above_the_last_height(devnet, rules):
    """One that never expires, with a fee that no basefee reaches: `fifo` took it."""
    chain = devnet(
        activations=[{"height": 4, "rules": rules}],
        timer_config={"max_ttl_blocks": 2**64 - 1},
    )
    actor = chain.deploy(WORKER, value="9 CBY")
    timer = schedule(actor, 4, max_fee_per_cycle=0)
    chain.mine_until(6)
    assert chain.timer(timer).expires_at == 2**64 - 1
    assert work_height(chain.state) == 2**64 - 1
    assert chain.explain(timer).forecast.height == 2**64 - 1


def test_d36_a_sleeper_can_be_cancelled_and_extended(chain, actor):
    """What waits unseen stays its owner's."""
    load_lane(chain, actor, 14)
    height = chain.height + 3
    fee = lane(chain)
    timer = schedule(actor, height, max_fee_per_cycle=fee, expires_at=height + 90)
    chain.mine_until(height + 6)
    actor.call("extend", codec.encode([timer, chain.height + 3]))
    found = dict(due_index.found(chain.state.snapshot))
    assert found == dict(AUCTION_INDEX.expected(chain.state.snapshot, chain.height))
    actor.call("cancel", timer)
    found = dict(due_index.found(chain.state.snapshot))
    assert found == dict(AUCTION_INDEX.expected(chain.state.snapshot, chain.height))
    assert chain.timer(timer) is None


def test_d31_without_a_price_cap_lasting_load_ends_unfunded(chain):
    """D31: "such timers end unfunded, stated ones wait"."""
    whale = chain.deploy(WORKER, value="90000 CBY")
    poor = chain.deploy(WORKER, value="1.5 CBY", salt=b"2" * 32)
    load_lane(chain, whale, 20)
    height = chain.height + 16
    bare, capped = schedule_all(
        poor, (height, b"bare", {}), (height, b"capped", {"max_fee_per_cycle": 1_500})
    )
    chain.mine_until(height)
    assert lane(chain) > 3_500
    assert decisions(chain, bare)[-1] == "removed_insufficient_funds"
    assert decisions(chain, capped) == ["scheduled"]
    chain.advance(until_idle=500)
    assert decisions(chain, capped)[-1] == "fired"
