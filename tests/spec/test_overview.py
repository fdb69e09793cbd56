"""The worked examples of the overview, and those of docs/decisions.md that come out."""

import pytest

from node.chain.fees import next_basefee
from node.chain.params import BasefeeConfig, CalendarSizes
from node.chain.timers.tiers import Tier, TieredCalendar, bucket_of, tier_of
from tests.spec.driven_actors import SCHEDULER, STEADY, fires, schedule, schedule_all

OVW = CalendarSizes(ring_size=256, epoch_length=360, epochs=24)
CALENDAR = {"ring_size": 256, "epoch_length": 360, "epochs": 24}


def test_layer_1_the_bucket_of_block_1050():
    # OVW: "Current block: 1000, Timer scheduled for block 1050. Bucket: 1050 % 256 =
    # 26".
    assert tier_of(1050, 1000, OVW) is Tier.RING
    assert bucket_of(1050, 1000, OVW) == 26


def test_layer_2_epochs_two_and_four():
    # OVW: "Current block: 1000 (epoch 2), Timer scheduled for block 1500 (epoch 4).
    # Action: Add to epoch_queue[4]".
    assert 1000 // OVW.epoch_length == 2
    assert tier_of(1500, 1000, OVW) is Tier.EPOCH
    assert bucket_of(1500, 1000, OVW) == 4


@pytest.mark.parametrize("height", [1440, 1441, 1500, 1543])
def test_layer_2_what_is_within_reach_is_in_the_ring(height):
    # OVW, epoch 4 at block 1440: "360 heights do not fit 256 slots; those within reach
    # are in the ring, the rest follow a height a block" (D24).
    reach = height + 255
    for due in range(1440, 1800):
        expected = Tier.RING if due <= reach else Tier.EPOCH
        assert tier_of(due, height, OVW) is expected
    assert tier_of(1500, 1440, OVW) is Tier.RING
    assert (tier_of(1799, 1543, OVW), tier_of(1799, 1544, OVW)) == (
        Tier.EPOCH,
        Tier.RING,
    )


@pytest.mark.parametrize(("epochs", "tier"), [(12, Tier.OVERFLOW), (13, Tier.EPOCH)])
def test_layer_3_when_a_distant_timer_migrates(epochs, tier):
    # OVW: "Timer scheduled for block 50,000 … when block 45,000 arrives: Migrate":
    # "true iff the queue reaches 13 epochs of 360 ahead".
    sizes = CalendarSizes(256, 360, epochs)
    assert tier_of(50_000, 1_000, sizes) is Tier.OVERFLOW
    assert tier_of(50_000, 45_000, sizes) is tier
    assert 50_000 // 360 - 45_000 // 360 == 13


def test_the_buckets_hold_what_a_chain_scheduled(devnet):
    """OVW, layer 1: "At block 1050: Retrieve all timers from ring_buffer[26]"."""
    chain = devnet(calendar=CALENDAR)
    actor = chain.deploy(SCHEDULER, value="20 CBY")
    near, far, distant = schedule_all(
        actor,
        (1050, b"ring", {"gas_limit": 50_000}),
        (1500, b"epoch", {}),
        (50_000, b"overflow", {}),
    )

    def seen():
        return TieredCalendar(chain.state.snapshot, chain.height, chain.params.calendar)

    chain.mine_until(1000)
    assert [t.timer_id for t in seen().ring_bucket(26)] == [near]
    assert [t.timer_id for t in seen().epoch_bucket(4)] == [far]
    assert [t.timer_id for t in seen().overflow()] == [distant]
    chain.mine_until(1050)
    assert [f.id for f in fires(chain.last)] == [near]
    assert list(seen().ring_bucket(26)) == []


def test_six_of_ten_timers_fit_the_budget(devnet):
    # OVW, priority queue: "10 timers, budget for 6 … Budget exhausted (10M cycles)";
    # "with a lane of 10M, caps raised and 1.6M a fire". Under `fifo` the first six go.
    overrides = {
        "lane_timer_cycles": 10_000_000,
        "max_cycles_per_fire": 1_600_000,
        "max_cycles_per_fire_auction": 1_600_000,
    }
    chain = devnet(timer_config=overrides, **STEADY)
    actor = chain.deploy(SCHEDULER, value="100 CBY")
    ids = schedule_all(actor, *[(1000, bytes([i]), {}) for i in range(10)])
    assert chain.timer(ids[0]).gas_limit == 1_600_000
    chain.mine_until(1000)
    assert [f.id for f in fires(chain.last)] == ids[:6]
    chain.mine()
    assert [f.id for f in fires(chain.last)] == ids[6:]


def test_best_effort_delivery_rolls_over_by_itself(chain):
    # OVW: "Unexecuted timers automatically move to next block", "No data loss"; but
    # nothing moves: they are due again (D22).
    actor = chain.deploy(SCHEDULER, value="30 CBY")
    ids = schedule_all(actor, *[(9, bytes([i]), {}) for i in range(7)])
    chain.mine_until(9)
    fired = [[f.id for f in fires(chain.last)]]
    for _ in range(2):
        assert {t.height for t in actor.timers} == {9}
        chain.mine()
        fired.append([f.id for f in fires(chain.last)])
    assert fired == [ids[:3], ids[3:6], ids[6:]]


def test_three_default_fires_fit_a_block_and_reserve_1_1_cby_each(devnet):
    # docs: "with the default 550,000 limit three fires fit a fifo block"; "a default
    # fire reserves 1.1 CBY at the genesis basefee".
    chain = devnet(basefee_config={"min_basefee": 1_000})
    actor = chain.deploy(SCHEDULER, value="5 CBY")
    ids = [schedule(actor, 9) for _ in range(4)]
    chain.mine_until(9)
    decided = {one.timer_id: one for one in chain.last.trace}
    assert [decided[one].decision for one in ids] == ["fired"] * 3 + ["put_off"]
    costs = [decided[one].numbers["max_cost"] for one in ids[:3]]
    assert costs == [1_100_000_000] * 3  # base units of 9 decimals


def test_scheduling_beyond_the_ttl_is_accepted_and_never_fires(devnet):
    """docs: "scheduling beyond the TTL is accepted and never fires"."""
    chain = devnet(timer_config={"max_ttl_blocks": 10})
    actor = chain.deploy(SCHEDULER, value="5 CBY")
    timer_id = schedule(actor, 30)
    chain.mine_until(30)
    assert [d.decision.value for _, d in chain.decisions(timer_id)] == [
        "scheduled",
        "expired",
    ]


def test_the_basefee_comes_to_rest_at_seven():
    # D7: "Its resting value from above is `max(min_basefee, max(alpha, denom) - 1)`: 7
    # on devnet".
    basefee, config = 1_000, BasefeeConfig()
    for _ in range(200):
        basefee = next_basefee(basefee, 0, config.target_cycles, config)
    assert basefee == 7
