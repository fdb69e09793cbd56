"""CIP-1 version 3 §13: each row of the table, across the activation and without it."""

import pytest
from msgspec.structs import replace

from node.chain.globals import load_globals, load_governed
from node.chain.timers import due_index, fairness
from node.chain.transaction import ScheduleActivation, UpdateTimerConfig
from node.chain.transition import begin_block, head_governed, work_height
from tests.spec.driven_actors import (
    ALL,
    AUCTION,
    WORKER,
    decisions,
    fired_payloads,
    fires,
    lane,
    put_off,
    refusal,
    said,
    schedule,
    schedule_all,
)

ACTIVATION = 12
STEADY = {"basefee_config": AUCTION["basefee_config"]}


@pytest.fixture
def pair(devnet):
    """Two chains that do the same; one activates `auction` at a height."""
    activations = [{"height": ACTIVATION, "rules": "auction"}]
    chains = devnet(**STEADY), devnet(**STEADY, activations=activations)
    actors = [chain.deploy(WORKER, value="900 CBY") for chain in chains]
    return list(zip(chains, actors, strict=True))


def both(pair, act):
    return [act(chain, actor) for chain, actor in pair]


def require_same_until(pair, height):
    """What happened before the activation is the same on both chains."""
    plain, activated = both(
        pair,
        lambda chain, _: [
            (result.header.height, result.receipts, result.events, result.trace)
            for result in chain.results
            if result.header.height < height
        ],
    )
    assert plain
    assert plain == activated


def test_13_2_inclusion_order(pair):
    """§13.2: "FIFO by insertion" → "Sort by effective_priority"."""
    entries = [
        (height, b"%d-%d" % (height, p), {"max_priority_fee_per_cycle": p})
        for height in (ACTIVATION - 1, ACTIVATION)
        for p in (1, 5, 3)
    ]
    both(pair, lambda _, actor: schedule_all(actor, *entries))
    both(pair, lambda chain, _: chain.mine_until(ACTIVATION))
    require_same_until(pair, ACTIVATION)
    plain, activated = both(pair, lambda _, actor: fired_payloads(actor))
    assert plain == [b"11-1", b"11-5", b"11-3", b"12-1", b"12-5", b"12-3"]
    assert activated == [b"11-1", b"11-5", b"11-3", b"12-5", b"12-3", b"12-1"]


def test_13_2_bid_field(pair):
    """§13.2: "Accepted, ignored" → "Rejected: TimerArgDeprecated"."""
    timers = both(pair, lambda _, actor: schedule(actor, 99, bid=7))
    for (chain, _), timer in zip(pair, timers, strict=True):
        (event,) = chain.events("TimerArgDeprecated")
        assert said(event)["timer_id"] == timer
        chain.mine_until(ACTIVATION - 1)
    require_same_until(pair, ACTIVATION)
    (plain, before), (_, after) = pair
    assert plain.timer(schedule(before, 99, bid=7)) is not None
    assert refusal(after, 99, bid=7) == "TimerArgDeprecated"


def test_13_2_timer_lane_basefee(pair):
    """§13.2: "Equal to global cycle basefee" → "EIP-1559 dynamics"."""
    full = [(ACTIVATION, ALL, {"gas_limit": 250_000})] * 24
    both(pair, lambda _, actor: schedule_all(actor, *full))
    both(pair, lambda chain, _: chain.mine_until(ACTIVATION + 3))
    require_same_until(pair, ACTIVATION)
    (plain, _), (activated, _) = pair
    assert {r.header.basefee_lane for r in plain.results} == {0}
    assert all(r.burned_lane == 0 for r in plain.receipts())
    of = {r.header.height: r.header for r in activated.results}
    assert of[ACTIVATION].basefee_lane == of[ACTIVATION].basefee_cycle == 1_000
    assert [of[ACTIVATION + i].basefee_lane for i in (1, 2, 3)] == [1_125, 1_265, 1_423]


def test_ovw_1001_to_1802_in_five_full_blocks_of_a_chain(devnet):
    """OVW: "lane basefee 1,001 → 1,802 in five full blocks"."""
    chain = devnet(
        basefee_cycle=1_001,
        basefee_config={"min_basefee": 1_001},
        activations=[{"height": ACTIVATION, "rules": "auction"}],
    )
    actor = chain.deploy(WORKER, value="900 CBY")
    schedule_all(actor, *[(ACTIVATION, ALL, {"gas_limit": 250_000})] * 40)
    chain.mine_until(ACTIVATION + 4)
    assert chain.result_at(ACTIVATION).header.basefee_lane == 1_001
    assert lane(chain) == 1_802


def test_13_2_default_gba(pair):
    """§13.2: "Underspecified" → "two-line estimator"; "existing callers … work"."""
    both(
        pair,
        lambda _, actor: schedule_all(
            actor,
            (ACTIVATION, b"tip", {"max_priority_fee_per_cycle": 30}),
            (ACTIVATION + 1, b"classic", {}),
        ),
    )
    both(pair, lambda chain, _: chain.mine_until(ACTIVATION + 1))
    require_same_until(pair, ACTIVATION)
    (plain, _), (activated, _) = pair
    assert [f.price.cycle_tip for f in fires(plain.last)] == [0]
    assert [f.price.cycle_tip for f in fires(activated.last)] == [30]


def test_13_2_per_timer_cap(pair):
    """§13.2: "550_000" → "250_000": defaulted limits follow, stated ones wait (D23)."""
    entries = [
        (ACTIVATION, b"default", {}),
        (ACTIVATION, b"over", {"gas_limit": 400_000}),
    ]
    ids = both(pair, lambda _, actor: schedule_all(actor, *entries))
    both(pair, lambda chain, _: chain.mine_until(ACTIVATION))
    require_same_until(pair, ACTIVATION)
    (plain, before), (activated, after) = pair
    assert [f.cycles_limit for f in fires(plain.last)] == [550_000, 400_000]
    assert [f.cycles_limit for f in fires(activated.last)] == [250_000]
    over = ids[1][1]
    assert put_off(activated.last, "cap") == [over]
    assert decisions(activated, over) == ["scheduled", "put_off", "slept"]
    (event,) = activated.events("TimerDeferredOverCap")
    assert said(event) == {"timer_id": over, "limit": 400_000, "cap": 250_000}
    assert activated.mine().is_empty
    assert plain.timer(schedule(before, 99, gas_limit=550_000)) is not None
    assert refusal(after, 99, gas_limit=250_001) == "InvalidInput"
    # A cap that is raised wakes it.
    activated.submit(UpdateTimerConfig(_raised(activated)))
    activated.mine(2)
    assert decisions(activated, over)[3:] == ["woke", "fired"]


def _raised(chain):
    return replace(chain.params.timer_config, max_cycles_per_fire_auction=400_000)


def test_13_2_fairness(pair):
    """§13.2: "None" → "W(actor) ∈ [1, 2], 1,000-block window"."""
    both(
        pair,
        lambda _, actor: schedule_all(
            actor, (ACTIVATION - 1, b"a", {}), (ACTIVATION, b"b", {})
        ),
    )
    both(pair, lambda chain, _: chain.mine_until(ACTIVATION))
    require_same_until(pair, ACTIVATION)
    (plain, actor), (activated, other) = pair
    assert fairness.found_sums(plain.state.snapshot) == {}
    assert "weight_ppm" not in plain.last.trace[0].numbers
    # The window is freshly initialised: everybody has the maximum boost.
    assert activated.last.trace[0].numbers["weight_ppm"] == 2_000_000
    assert fairness.recent_fires(activated.state.snapshot, other.address) == 1
    assert fired_payloads(actor) == fired_payloads(other) == [b"a", b"b"]


def test_13_2_scheduled_timers_stay_and_wait_by_their_old_terms(pair):
    """§13.2: "stay in their buckets"; what `fifo` let pass stays (D31)."""
    ids = both(
        pair,
        lambda _, actor: schedule_all(
            actor,
            (ACTIVATION, b"low", {"max_fee_per_cycle": 400}),
            (ACTIVATION, b"zero", {"max_fee_per_cycle": 0, "expires_at": 90}),
            (ACTIVATION, b"huge", {"max_fee_per_cycle": 2**128 - 1}),
        ),
    )
    both(pair, lambda chain, _: chain.mine_until(ACTIVATION))
    require_same_until(pair, ACTIVATION)
    (plain, _), (activated, actor) = pair
    assert len(fires(plain.last)) == 3
    assert fired_payloads(actor) == [b"huge"]
    low, zero, _ = ids[1]
    activated.advance(until_idle=200)
    low_at = next(h for h, d in activated.decisions(low) if d.decision == "fired")
    assert activated.result_at(low_at).header.basefee_lane <= 400
    assert activated.result_at(low_at - 1).header.basefee_lane > 400
    expired_at, expired = activated.decisions(zero)[-1]
    assert (expired_at, expired.decision) == (91, "expired")


def test_13_1_every_timer_needs_its_reserve(pair):
    """§13.1: callers "will receive TimerCancelledInsufficientFunds on first fire"."""
    poor = both(
        pair, lambda chain, _: chain.deploy(WORKER, value="0.1 CBY", salt=b"2" * 32)
    )
    for actor in poor:
        schedule_all(actor, (ACTIVATION - 1, b"a", {}), (ACTIVATION, b"b", {}))
    both(pair, lambda chain, _: chain.mine_until(ACTIVATION))
    require_same_until(pair, ACTIVATION)
    for (chain, _), actor in zip(pair, poor, strict=True):
        removed = chain.events("TimerCancelledInsufficientFunds")
        assert len(removed) == 2
        assert fired_payloads(actor) == []


def test_13_2_the_activation_is_one_governance_step_and_can_be_undone(devnet):
    """§13.2: "a single governance proposal"; D29: leaving deletes."""
    chain = devnet(**STEADY)
    actor = chain.deploy(WORKER, value="900 CBY")
    first = chain.height + 6
    chain.submit(ScheduleActivation(first, "auction"))
    chain.mine()
    chain.submit(ScheduleActivation(first + 4, "fifo"))
    chain.mine()
    schedule_all(
        actor,
        (first, b"in", {}),
        (first + 1, b"slow", {"max_fee_per_cycle": 0}),
    )
    assert lane(chain) == 0
    chain.mine_until(first + 3)
    assert (
        load_governed(chain.state.snapshot, chain.params).rules_at(chain.height)
        == "auction"
    )
    assert lane(chain) > 0
    assert list(due_index.found(chain.state.snapshot))
    chain.mine()
    globals_ = load_globals(chain.state.snapshot)
    assert (globals_.basefee_lane, globals_.p50_priority) == (0, 0)
    assert chain.head.basefee_lane == 0
    assert list(due_index.found(chain.state.snapshot)) == []
    assert fairness.found_sums(chain.state.snapshot) == {}
    assert fairness.expected_sums(chain.state.snapshot) == {}
    assert fired_payloads(actor) == [b"in", b"slow"]
    with chain.snapshot():
        chain.submit(ScheduleActivation(chain.height + 3, "auction"))
        chain.mine(4)
        assert chain.head.basefee_lane > 0
    assert lane(chain) == 0


def test_d29_what_the_parent_left_is_not_rewritten(devnet):
    """D29: the lane basefee begins "at activation" and ends with the rules."""
    chain = devnet(
        **STEADY,
        activations=[
            {"height": 5, "rules": "auction"},
            {"height": 8, "rules": "fifo"},
        ],
    )
    in_force = {}
    while chain.height < 9:
        block = begin_block(chain.state)
        assert block.before == load_globals(chain.state.snapshot)
        in_force[block.height] = block.prices.basefee_lane, block.before.basefee_lane
        chain.mine()
        assert chain.head.basefee_lane == block.prices.basefee_lane
    assert in_force[5] == (chain.head.basefee_cycle, 0)
    assert in_force[6][0] == in_force[6][1] > 0
    assert in_force[8][0] == 0 < in_force[8][1]


def sleeper(devnet, limit):
    """A timer with a stated limit that sleeps for its fee, and never wakes for it."""
    chain = devnet(**STEADY, activations=[{"height": 9, "rules": "auction"}])
    actor = chain.deploy(WORKER, value="900 CBY")
    stated = {"max_fee_per_cycle": 0, "gas_limit": limit}
    timer = schedule(actor, 5 + 9, **stated)
    chain.mine_until(30)
    assert chain.timer(timer) is not None
    assert work_height(chain.state) == chain.timer(timer).expires_at + 1
    return chain, timer


def set_cap(chain, cap):
    config = head_governed(chain.state).timer_config
    chain.execute(UpdateTimerConfig(replace(config, max_cycles_per_fire_auction=cap)))


@pytest.mark.parametrize("above", [0, 1, 2])
def test_d36_a_lowered_cap_wakes_those_with_a_higher_stated_limit(devnet, above):
    """Over the cap it is dormant once noted.

    D36: "until then it is examined, whatever its fee"; the cap is as D25 sets it.
    """
    chain, timer = sleeper(devnet, 200_000)
    set_cap(chain, 200_000 - above)
    is_awake = above > 0
    assert (work_height(chain.state) == chain.height + 1) is is_awake
    chain.mine()
    assert put_off(chain.last, "cap") == [timer] * is_awake
    assert len(chain.events("TimerDeferredOverCap")) == is_awake
    assert chain.timer(timer).is_over_cap_noted is is_awake
    chain.mine()  # noted, it sleeps again
    assert chain.last.trace == ()


@pytest.mark.parametrize("below", [0, 1])
def test_d36_who_was_over_the_cap_wakes_where_its_limit_is_the_cap(devnet, below):
    """D36: "these wake at the first later height where that reason would not hold"."""
    chain = devnet(**AUCTION)
    actor = chain.deploy(WORKER, value="900 CBY")
    (timer,) = schedule_all(actor, (chain.height + 4, b"late", {"gas_limit": 200_000}))
    set_cap(chain, 199_999)
    chain.mine(5)
    assert chain.timer(timer).is_over_cap_noted
    assert work_height(chain.state) == chain.timer(timer).expires_at + 1
    set_cap(chain, 200_000 - below)
    expected = chain.height + 1 if not below else chain.timer(timer).expires_at + 1
    assert work_height(chain.state) == expected
    chain.mine()
    assert fired_payloads(actor) == ([] if below else [b"late"])


def test_d36_who_fits_the_cap_exactly_sleeps_for_its_fee_alone(devnet):
    """Over the cap is who states more than it: 250,000 is not."""
    chain, timer = sleeper(devnet, 250_000)
    assert [r.trace for r in chain.results if r.header.height > 9 and r.trace] == []
    assert not chain.timer(timer).is_over_cap_noted


def test_d36_who_was_over_the_cap_sleeps_for_its_fee_once_it_fits(devnet):
    """It wakes where the lane basefee has fallen to what it states."""
    activations = [{"height": 9, "rules": "auction"}]
    caps = {"max_cycles_per_fire_auction": 199_999}
    chain = devnet(**STEADY, activations=activations, timer_config=caps)
    actor = chain.deploy(WORKER, value="900 CBY")
    stated = {"max_fee_per_cycle": 500, "gas_limit": 200_000}
    timer = schedule(actor, 9, b"late", **stated)
    chain.mine_until(9)
    assert chain.timer(timer).is_over_cap_noted
    set_cap(chain, 200_000)
    wakes = work_height(chain.state)
    assert chain.height + 1 < wakes < chain.height + 10
    chain.mine_until(wakes - 1)
    assert lane(chain) <= 500 < chain.head.basefee_lane
    chain.mine()
    assert fired_payloads(actor) == [b"late"]
