"""CIP-1 version 3: the lane of §3, its price of §5, fairness of §8, caps of §10."""

import pytest

from node.chain.block import ReceiptKind
from node.chain.fees import idle_lane_basefee, next_lane_basefee
from node.chain.globals import load_globals
from node.chain.params import TimerConfig
from node.chain.timers import due_index, fairness
from node.primitives import codec
from tests.spec.driven_actors import (
    ALL,
    AUCTION,
    WORKER,
    fired_payloads,
    fires,
    lane,
    put_off,
    route,
    schedule,
    schedule_all,
)

LANE = 2_000_000


@pytest.fixture
def chain(devnet):
    return devnet(**AUCTION)


@pytest.fixture
def actor(chain):
    return chain.deploy(WORKER, value="500 CBY")


def stated(fee, priority, **options):
    return {
        "max_fee_per_cycle": fee,
        "max_priority_fee_per_cycle": priority,
        "gas_limit": 250_000,
        **options,
    }


# --- §3 -------------------------------------------------------------------------------


def test_3_3_fees_may_be_supplied_or_left_out(chain, actor):
    """§3 step 3: "if omitted, the runtime supplies the default-GBA values"."""
    own, default = schedule_all(
        actor,
        (chain.height + 5, b"own", stated(5_000, 7)),
        (chain.height + 5, b"default", {}),
    )
    assert chain.timer(own).max_fee_per_cycle == 5_000
    assert chain.timer(default).max_fee_per_cycle is None
    chain.mine(4)
    by_id = {fire.id: fire.price for fire in fires(chain.last)}
    assert by_id[own].cycle_tip == 7
    assert by_id[default].cycle_tip == 0  # p50 of a block without fires


def test_3_6_the_priority_is_clamped_by_the_maximum_fee(chain, actor):
    """§3 step 6: "min(max_priority_fee_per_cycle, max_fee_per_cycle - basefee)"."""
    fee = 1_100
    height = chain.height + 9
    timer = schedule(actor, height, b"", **stated(fee, 90))
    clamped = chain.timer(timer).max_priority_fee_per_cycle
    chain.mine_until(height)
    (fire,) = fires(chain.last)
    assert fire.price.cycle_tip == min(clamped, fee - chain.head.basefee_lane)


def test_3_7_the_highest_effective_priority_goes_first(chain, actor):
    """§3 step 7: "Order due timers by effective_priority descending"."""
    height = chain.height + 3
    entries = [(height, b"%d" % p, stated(9_000, p)) for p in (10, 30, 20, 40)]
    schedule_all(actor, *entries)
    chain.mine_until(height)
    assert fired_payloads(actor) == [b"40", b"30", b"20", b"10"]


def test_3_7_the_lane_is_filled_by_what_is_really_used(chain, actor):
    """§3 step 7, D28: the gate is `used + limit ≤ lane`, used the cycles consumed."""
    height = chain.height + 3
    small = [(height, b"s%d" % i, {"gas_limit": 250_000}) for i in range(20)]
    schedule_all(actor, *small)
    chain.mine_until(height)
    assert len(fires(chain.last)) == 20  # reserved, eight would have filled the lane
    assert chain.last.use.timer_cycles < LANE


def test_3_7_3_9_losers_are_put_off_and_due_again(chain, actor):
    """§3 step 9: "on the next block they fall through the same flow"."""
    height = chain.height + 3
    ids = schedule_all(actor, *[(height, ALL, stated(9_000, p)) for p in range(1, 12)])
    chain.mine_until(height)
    assert [fire.id for fire in fires(chain.last)] == ids[:2:-1]
    assert put_off(chain.last, "lane") == ids[2::-1]
    decision = next(d for d in chain.last.trace if d.timer_id == ids[0])
    assert decision.numbers["used"] == decision.numbers["lane"] == LANE
    assert decision.numbers["rank"] == 11
    chain.mine()
    assert [fire.id for fire in fires(chain.last)] == ids[2::-1]


@pytest.mark.parametrize("tie_break", ["fair", "cip"])
def test_3_7_d33_ties(devnet, tie_break):
    """D33: `fair` by W, due height, sequence; `cip` by timer id."""
    chain = devnet(**AUCTION, auction_tie_break=tie_break)
    actor = chain.deploy(WORKER, value="500 CBY")
    height = chain.height + 3
    ids = schedule_all(actor, *[(height, b"%d" % i, {}) for i in range(12)])
    chain.mine_until(height)
    order = [fire.id for fire in fires(chain.last)]
    assert order == (ids if tie_break == "fair" else sorted(ids))
    assert ids != sorted(ids)


def test_3_8_settlement_to_the_unit(chain, actor):
    """§3 step 8, D29: cycle basefee, lane basefee and tip each go where they belong."""
    height = chain.height + 3
    schedule(actor, height, b"x", **stated(9_000, 13))
    chain.mine_until(height - 1)
    before, payer = load_globals(chain.state.snapshot), chain.balance(actor)
    proposer = chain.balance(chain.params.proposer)
    chain.mine()
    (fire,) = fires(chain.last)
    after = load_globals(chain.state.snapshot)
    used = fire.cycles_used
    assert fire.price.lane_burn == chain.head.basefee_lane == before.basefee_lane > 0
    assert after.burned_lane - before.burned_lane == used * before.basefee_lane
    assert after.burned_cycle - before.burned_cycle == used * before.basefee_cycle
    assert chain.balance(chain.params.proposer) - proposer == used * 13
    paid = used * (before.basefee_cycle + before.basefee_lane + 13)
    assert payer - chain.balance(actor) == paid + fire.cells_used * before.basefee_cell
    decision = chain.last.trace[0]
    config = TimerConfig()
    assert decision.numbers["max_cost"] == 250_000 * (
        before.basefee_cycle + before.basefee_lane + 13
    ) + (config.max_cells_per_fire * before.basefee_cell)


def test_3_8_who_runs_out_before_its_turn_is_destroyed(chain):
    """§3 step 8: "On insufficient funds at any step → path 2"."""
    actor = chain.deploy(WORKER, value="1.3 CBY")
    height = chain.height + 3
    first, second = schedule_all(
        actor,
        (height, ALL, {"gas_limit": 250_000}),
        (height, ALL, {"gas_limit": 250_000}),
    )
    chain.mine_until(height)
    assert [d.decision.value for d in chain.last.trace] == [
        "fired",
        "removed_insufficient_funds",
    ]
    assert chain.timer(first) is chain.timer(second) is None


def test_3_10_fires_are_counted_reverting_ones_too(chain, actor):
    """§3 step 10: "+= 1 for every timer fired"."""
    height = chain.height + 3
    schedule_all(actor, (height, b"x", {}), (height, ALL, {"gas_limit": 50_000}))
    chain.mine_until(height)
    assert sorted(f.is_success for f in fires(chain.last)) == [False, True]
    assert fairness.recent_fires(chain.state.snapshot, actor.address) == 2


# --- §5 -------------------------------------------------------------------------------


def test_5_the_basefee_over_five_full_blocks():
    """OVW: "lane basefee 1,001 → 1,802 in five full blocks"."""
    basefee = 1_001
    for _ in range(5):
        basefee = next_lane_basefee(basefee, LANE, LANE)
    assert basefee == 1_802


def test_5_the_adjustment_saturates_at_12_5_percent():
    """§5: the ratio is clipped at ±0.125: at 56.25 % and 43.75 % use (D30)."""
    basefee = 80_000
    full, empty = (next_lane_basefee(basefee, used, LANE) for used in (LANE, 0))
    assert (full, empty) == (90_000, 70_000)
    assert next_lane_basefee(basefee, 1_125_000, LANE) == full
    assert next_lane_basefee(basefee, 1_124_000, LANE) < full
    assert next_lane_basefee(basefee, 875_000, LANE) == empty
    assert next_lane_basefee(basefee, 876_000, LANE) > empty
    assert next_lane_basefee(basefee, 1_000_000, LANE) == basefee


@pytest.mark.parametrize(
    ("basefee", "used", "following"),
    [(1, 0, 1), (1, LANE, 2), (7, LANE, 8), (7, 0, 6), (5, 1_000_001, 6), (1, 1, 1)],
)
def test_5_d30_small_basefees_move_by_one(basefee, used, following):
    """D30: "magnitude at least 1 when 2*used ≠ lane, at most max(1, …); floor 1"."""
    assert next_lane_basefee(basefee, used, LANE) == following


def test_5_a_chain_pays_the_basefee_of_the_block_before(devnet):
    """§5: "over the prior block's timer-lane utilisation"."""
    chain = devnet(**AUCTION)
    actor = chain.deploy(WORKER, value="500 CBY")
    height = chain.height + 20
    schedule_all(actor, *[(height, ALL, {"gas_limit": 250_000})] * 24)
    chain.mine_until(height - 1)
    expected = lane(chain)
    for _ in range(3):
        result = chain.mine()
        assert result.header.basefee_lane == expected
        expected = next_lane_basefee(expected, result.use.timer_cycles, LANE)
        assert result.use.timer_cycles == LANE
    before = lane(chain)
    chain.advance(blocks=50)
    assert lane(chain) == idle_lane_basefee(before, 50) < before


def test_5_without_a_tip_it_fires_while_there_is_room(chain, actor):
    """§5: "still fires when the lane is uncongested, paying only the lane basefee"."""
    height = chain.height + 3
    schedule(actor, height, b"", **stated(5_000, 0))
    chain.mine_until(height)
    (fire,) = fires(chain.last)
    assert fire.tip == 0 < fire.burned_lane


# --- §8 -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recent", "weight"), [(0, 2_000_000), (1, 1_500_000), (2, 10**6), (4, 10**6)]
)
def test_8_weights_around_a_median_of_two(recent, weight):
    """OVW: "W = 2, 1.5, 1, 1 for 0, 1, 2, 4 fires around a median of 2"."""
    assert fairness.weigh(recent, 2) == weight


def test_8_who_has_fired_less_goes_first(chain):
    """§8: "an actor with no recent fires gets W = 2"."""
    busy, quiet = (
        chain.deploy(WORKER, value="300 CBY", salt=s) for s in (bytes(32), b"2" * 32)
    )
    schedule(busy, chain.height + 2, b"before")
    chain.mine()
    height = chain.height + 4
    schedule(busy, height, b"busy", **stated(9_000, 15))
    schedule(quiet, height, b"quiet", **stated(9_000, 10))
    chain.mine_until(height)
    assert [fire.actor for fire in fires(chain.last)] == [quiet.address, busy.address]
    weights = [d.numbers["weight_ppm"] for d in chain.last.trace]
    assert weights == [2_000_000, 1_000_000]


def test_8_idle_actors_are_pruned(devnet):
    """§8: "actors with zero fires in the entire window are pruned"."""
    chain = devnet(**AUCTION, timer_config={"fairness_window_blocks": 10})
    actor = chain.deploy(WORKER, value="50 CBY")
    schedule(actor, chain.height + 2, b"")
    chain.mine()
    chain.advance(blocks=10)
    assert fairness.recent_fires(chain.state.snapshot, actor.address) == 1
    chain.mine()
    assert fairness.found_sums(chain.state.snapshot) == {}
    assert fairness.expected_sums(chain.state.snapshot) == {}


def test_8_the_window_defaults_to_1000_blocks():
    """§8: "FAIRNESS_WINDOW_BLOCKS = 1_000"."""
    assert TimerConfig().fairness_window_blocks == 1_000


# --- §9, §10, §11 ---------------------------------------------------------------------


def test_9_removals_take_nothing_from_the_lane(chain, actor):
    """§9: "The auction operates only on LANE_TIMER_CYCLES"; §11: "GC isolation"."""
    height = chain.height + 3
    dead = [(height, b"d", {"expires_at": height - 1}) for _ in range(4)]
    schedule_all(actor, *dead, (height, b"alive", {}))
    chain.mine_until(height)
    assert [d.decision.value for d in chain.last.trace] == ["expired"] * 4 + ["fired"]
    assert chain.last.use.gc_cycles == 800
    assert fired_payloads(actor) == [b"alive"]


def test_10_the_cap_is_an_eighth_of_the_lane(chain, actor):
    """§10: "= 12.5% of LANE_TIMER_CYCLES"; a defaulted limit is it (D23)."""
    config = TimerConfig()
    assert config.max_cycles_per_fire_auction == LANE // 8 == 250_000
    height = chain.height + 3
    schedule(actor, height, b"")
    chain.mine_until(height)
    assert fires(chain.last)[0].cycles_limit == 250_000


def test_11_the_lane_bounds_what_timers_use(chain, actor):
    """§11: "LANE_TIMER_CYCLES caps timer-driven work per block"."""
    height = chain.height + 3
    schedule_all(actor, *[(height, ALL, {"gas_limit": 250_000})] * 9)
    chain.mine_until(height)
    assert chain.last.use.timer_cycles == LANE
    assert len(fires(chain.last)) == 8


def test_d28_a_fire_may_cancel_one_that_waits_for_its_turn(chain, actor):
    """D28: one at a time: what the first did is seen by the second."""
    height = chain.height + 4
    victim = schedule(actor, height, b"victim", **stated(9_000, 1))
    killer = route("meddle", codec.encode([victim, 0]))
    schedule(actor, height, killer, **stated(9_000, 9))
    chain.mine_until(height)
    assert len(fires(chain.last)) == 1
    assert chain.timer(victim) is None
    assert not list(due_index.found(chain.state.snapshot))


def test_d32_p50_is_the_median_of_the_clamped_priorities(chain, actor):
    """D32: "even count: floored mean", 0 without fires."""
    height = chain.height + 3
    schedule_all(actor, *[(height, b"", stated(9_000, p)) for p in (1, 4, 7, 20)])
    chain.mine_until(height)
    assert load_globals(chain.state.snapshot).p50_priority == 5
    chain.mine()
    assert load_globals(chain.state.snapshot).p50_priority == 0


def test_d8_the_first_so_many_by_stated_priority_are_looked_at(devnet):
    """D8: "the first by stated priority"; what is behind waits untouched."""
    chain = devnet(**AUCTION, timer_config={"max_due_examined": 2})
    actor = chain.deploy(WORKER, value="500 CBY")
    height = chain.height + 3
    entries = [(height, b"%d" % p, stated(9_000, p)) for p in (1, 9, 5)]
    schedule_all(actor, *entries, (height, b"none", {}))
    chain.mine_until(height)
    assert fired_payloads(actor) == [b"9", b"5"]
    assert len(chain.last.trace) == 2
    chain.mine()
    # The median of 9 and 5 is the priority of whom nobody stated one.
    assert fired_payloads(actor)[2:] == [b"none", b"1"]
    assert chain.receipts(ReceiptKind.FIRE)[-2].price.cycle_tip == 7
