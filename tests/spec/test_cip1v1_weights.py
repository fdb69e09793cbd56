"""CIP-1 version 1 §3, the weights: what an epoch earns for the next (D48, D49)."""

import pytest

from node.chain.globals import load_governed
from node.chain.params import BiddingConfig, TimerConfig
from node.chain.timers.weights import (
    NOT_OVERDUE,
    ActorWeight,
    EpochFires,
    EpochWeights,
    FireSums,
    Overdue,
    Scale,
    begin_weights,
    load_actor_weight,
    load_epoch_fires,
)
from node.chain.transaction import (
    ResetWeights,
    ScheduleActivation,
    UpdateBiddingConfig,
    UpdateTimerConfig,
)
from node.chain.transition import begin_block
from node.state import keys
from node.state.journal import Journal
from node.state.memory import MemoryStore
from node.testing import TransactionFailed
from tests.spec.driven_actors import (
    ALL,
    BIDDING,
    EPOCH,
    WORKER,
    agent_of,
    fires,
    said,
    schedule,
)

NEUTRAL = 1_000_000
LANE = 2_000_000
SCALE = Scale(BiddingConfig(), 10, LANE)
ACTOR, OTHER = b"a" * 20, b"o" * 20


@pytest.fixture
def chain(devnet):
    return devnet(**BIDDING)


def worker(chain, value="900 CBY"):
    return chain.deploy(WORKER, value=value, salt=b"%032d" % chain.height)


def weights_at(height, *records, epochs=(), overdue=None, reset=-1):
    """Weights in a block with an epoch of 10, as records and sums have them."""
    journal = Journal(MemoryStore().snapshot())
    for actor, record in records:
        journal.put(keys.weight(actor), record.encode())
    weights = EpochWeights(journal, height, SCALE, reset, tuple(epochs))
    weights.overdue.update(overdue or {})
    return weights


def record_of(chain, actor):
    return load_actor_weight(chain.state.snapshot, actor.address, -1)


# --- a. the score ---------------------------------------------------------------------


def test_3_a_the_score_has_four_parts():
    """§3 a: effective tip, outcome, lateness, share of the budget: D48's integers."""
    sums = FireSums(fires=3, tips=10, cycles=5_000_000, lateness=30)
    record, overdue = ActorWeight(5, NEUTRAL, sums), Overdue(timers=1, lateness=18)
    price = 10**6 * 3 // (3 + 6)  # means, floored: 10 // 3 beside 6
    deferred = 10**6 * 1 // 4
    late = 10**6 * 12 // (12 + 16)  # (30 + 18) // 4
    thrift = 10**6 - 10**6 * 5_000_000 // (LANE * 10)
    score = (price + deferred + late + thrift) // 2
    wanted = (800 * NEUTRAL + 200 * score) // 1_000
    assert SCALE.fold(record, 6, overdue) == wanted


@pytest.mark.parametrize(
    ("tips", "everybody", "price"),
    [
        (0, 0, 500_000),
        (0, None, 500_000),
        (30, None, 500_000),
        (30, 0, 1_000_000),
        (0, 7, 0),
        (30, 15, 400_000),
    ],
)
def test_d48_the_price_is_beside_everybodys(tips, everybody, price):
    """D48: "500,000 if both are 0 or the epoch is no longer in everybody's two"."""
    record = ActorWeight(5, NEUTRAL, FireSums(3, tips, LANE * 10, 0))
    wanted = (800 * NEUTRAL + 200 * (price // 2)) // 1_000
    assert SCALE.fold(record, everybody, NOT_OVERDUE) == wanted


def test_d48_thrift_is_at_least_nothing():
    """D48: "thrift … at least 0, lane as now in force"."""
    spent = ActorWeight(5, NEUTRAL, FireSums(1, 0, LANE * 10, 0))
    more = ActorWeight(5, NEUTRAL, FireSums(1, 0, LANE * 30, 0))
    assert SCALE.fold(spent, 0, NOT_OVERDUE) == SCALE.fold(more, 0, NOT_OVERDUE)
    idle = ActorWeight(5, NEUTRAL, FireSums(1, 0, 0, 0))
    assert SCALE.fold(idle, 0, NOT_OVERDUE) > SCALE.fold(spent, 0, NOT_OVERDUE)


# --- b. and c. decay, bounds, floor ---------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "weight"), [(0, 400_000), (200, 520_000), (1_000, NEUTRAL)]
)
def test_3_b_exponential_decay(rate, weight):
    """§3 b: "weight' = (1 - λ) · weight + λ · S"."""
    scale = Scale(BiddingConfig(lambda_permille=rate), 10, LANE)
    assert scale.move(400_000, NEUTRAL) == weight


def test_3_c_weights_are_clamped():
    """§3 c: "clamp to [weight_min, weight_max]"."""
    scale = Scale(BiddingConfig(1_000, 900_000, 1_100_000, 1_000_001), 10, LANE)
    assert scale.move(NEUTRAL, 2_000_000) == 1_100_000
    assert scale.move(NEUTRAL, 0) == 900_000


def test_3_c_a_starvation_floor_for_whom_an_epoch_only_put_off():
    """§3 c: "a starvation floor for actors whose timers were repeatedly deferred"."""
    starved = ActorWeight(5, 250_000)
    waited = Overdue(1, 0)
    assert SCALE.fold(starved, 100, waited) == 1_500_000
    # Whoever fired has no claim to the floor.
    fired = ActorWeight(5, 250_000, FireSums(1, 0, 1_000, 0))
    assert SCALE.fold(fired, 100, waited) < 1_000_000


def test_3_c_weights_decay_on_inactivity():
    """§3 c: "decay weights on inactivity": D48's `S = neutral`."""
    assert SCALE.fold(ActorWeight(5, 2_000_000), None, NOT_OVERDUE) == 1_800_000
    assert SCALE.rest(2_000_000, 2) == 1_640_000
    assert SCALE.rest(2_000_000, 40) > NEUTRAL
    # "after more than 40 of them it is neutral"
    assert SCALE.rest(2_000_000, 41) == NEUTRAL
    assert SCALE.rest(2_000_000, 10**18) == NEUTRAL


# --- when a record counts -------------------------------------------------------------


SUMS = FireSums(2, 8, 1_000_000, 6)


def test_d48_within_its_epoch_a_weight_stands():
    """D48: "r = e: as it stands"."""
    weights = weights_at(19, (ACTOR, ActorWeight(12, 777_777, SUMS)))
    assert weights.of(ACTOR) == 777_777
    assert weights.of(OTHER) == NEUTRAL


def test_d48_then_its_sums_are_folded_and_epochs_between_rest():
    """D48: "else fold r's sums, then each epoch between without fires"."""
    record, epochs = ActorWeight(12, 777_777, SUMS), [EpochFires(12, 2, 8)]
    once = SCALE.fold(record, 4, NOT_OVERDUE)
    assert weights_at(25, (ACTOR, record), epochs=epochs).of(ACTOR) == once
    later = weights_at(55, (ACTOR, record), epochs=epochs).of(ACTOR)
    assert later == SCALE.rest(once, 3)


def test_d48_overdue_belongs_to_the_epoch_before():
    """D48: "`d` belongs to epoch e - 1 and is 0 for all others"."""
    record, epochs = ActorWeight(12, 777_777, SUMS), [EpochFires(12, 2, 8)]
    waited = Overdue(2, 9)
    fresh = weights_at(20, (ACTOR, record), epochs=epochs, overdue={ACTOR: waited})
    assert fresh.of(ACTOR) == SCALE.fold(record, 4, waited)
    later = weights_at(50, (ACTOR, record), epochs=epochs, overdue={ACTOR: waited})
    rested = SCALE.rest(SCALE.fold(record, 4, NOT_OVERDUE), 2)
    assert later.of(ACTOR) == SCALE.fold(ActorWeight(50, rested), None, waited)
    # Who has no record was neutral until then, and is folded all the same.
    unknown = weights_at(50, overdue={ACTOR: waited})
    neutral = ActorWeight(50, NEUTRAL)
    assert unknown.of(ACTOR) == SCALE.fold(neutral, None, waited)


@pytest.mark.parametrize(
    ("reset", "weight"), [(11, 777_777), (12, NEUTRAL), (99, NEUTRAL)]
)
def test_d49_at_or_below_a_reset_records_count_as_none(reset, weight):
    """D49: "records and sums last written at or below this height count as none"."""
    weights = weights_at(19, (ACTOR, ActorWeight(12, 777_777, SUMS)), reset=reset)
    assert weights.of(ACTOR) == weight


# --- in a chain -----------------------------------------------------------------------


def test_3_e_weights_are_state(chain):
    """§3 e: "persist weights" in the state: the records of actors that fired (D48)."""
    actor, agent = worker(chain), agent_of(chain, tip=7)
    for due in (20, 20, 25):
        schedule(actor, due, gba=agent.address, gas_limit=20_000)
    chain.mine_until(30)
    used = sum(fire.cycles_used for result in chain.results for fire in fires(result))
    record = record_of(chain, actor)
    assert record == ActorWeight(25, NEUTRAL, FireSums(3, 21, used, 0))
    assert load_epoch_fires(chain.state.snapshot, -1) == (EpochFires(25, 3, 21),)


def test_d48_everybodys_sums_are_of_the_last_two_epochs_with_fires(chain):
    """D48: "two, of the last two epochs with fires"."""
    actor, agent = worker(chain), agent_of(chain, tip=7)
    for due in (150, 350, 360, 650):
        schedule(actor, due, gba=agent.address, gas_limit=20_000)
    chain.advance(blocks=700)
    epochs = load_epoch_fires(chain.state.snapshot, -1)
    assert epochs == (EpochFires(650, 1, 7), EpochFires(360, 2, 14))
    assert record_of(chain, actor).sums.fires == 1  # of its epoch alone


def test_d48_lateness_is_from_the_due_height(chain):
    """D48: "lateness: fire height - due"."""
    actor, agent = worker(chain), agent_of(chain)
    for _ in range(6):
        schedule(actor, 50, ALL, gba=agent.address, gas_limit=LANE // 4)
    chain.mine_until(60)
    assert record_of(chain, actor).sums.lateness == 2


def test_3_d_equal_tips_and_slices_follow_the_weights(chain):
    """§3 d: "(i) break ties among equal effective tips; (ii) apportion … slices"."""
    heavy, light, agent = worker(chain), worker(chain), agent_of(chain, tip=5)
    cheap = agent_of(chain)
    # In epoch 0 one pays and is thrifty, the other pays nothing and takes the lane.
    schedule(heavy, 50, gba=agent.address, gas_limit=20_000)
    for due in range(51, 55):
        schedule(light, due, ALL, gba=cheap.address)
    for actor in (light, heavy):
        for _ in range(3):
            schedule(actor, 150, ALL, gba=cheap.address, gas_limit=LANE // 4)
    chain.mine_until(150)
    weights = begin_weights(begin_block(chain.state))
    more, less = weights.of(heavy.address), weights.of(light.address)
    assert more > less
    numbers = {}
    for decision in chain.last.trace:
        numbers.setdefault(decision.actor, decision.numbers)
    assert numbers[heavy.address]["slice"] == LANE * more // (more + less)
    assert numbers[light.address]["slice"] == LANE * less // (more + less)
    assert numbers[heavy.address]["rank"] < numbers[light.address]["rank"]
    assert next(fire.payer for fire in fires(chain.last)) == heavy.address


def test_3_e_weights_are_recomputed_on_epoch_rollover(chain):
    """§3 e: "recompute on epoch rollover": within an epoch a weight stands (D48)."""
    actor, agent = worker(chain), agent_of(chain, tip=5)
    for due in (50, 150, 160, 250):
        schedule(actor, due, gba=agent.address, gas_limit=20_000)
    seen = []
    for due in (50, 150, 160, 250):
        chain.mine_until(due)
        seen.append(record_of(chain, actor).weight)
    assert seen[0] == NEUTRAL > seen[1] == seen[2] > seen[3]


def test_d48_who_is_overdue_at_the_first_block_is_folded_with_it(chain):
    """D48: "in the first block of an epoch … with an *overdue candidate*"."""
    actor, agent = worker(chain), agent_of(chain)
    due = EPOCH - 2
    for _ in range(17):
        schedule(actor, due, ALL, gba=agent.address, gas_limit=LANE // 4)
    chain.mine_until(EPOCH - 1)
    before = record_of(chain, actor)
    assert (before.sums.fires, before.weight) == (8, NEUTRAL)
    chain.mine()
    overdue = Overdue(timers=9, lateness=18)
    scale = Scale(BiddingConfig(), EPOCH, LANE)
    wanted = scale.fold(before, 0, overdue)
    (first, *_) = [d for d in chain.last.trace if d.decision.value == "fired"]
    assert first.numbers["weight_ppm"] == wanted
    after = record_of(chain, actor)
    assert (after.height, after.weight, after.sums.fires) == (EPOCH, wanted, 4)


def test_d48_being_poor_or_bidding_below_the_basefee_earns_nothing(chain):
    """D48: "being poor or bidding below the basefee earns nothing"."""
    poor, mean = worker(chain, value="1 CBY"), worker(chain)
    low, agent = agent_of(chain, fee=999), agent_of(chain)
    schedule(poor, 50, gba=agent.address)
    schedule(mean, 50, gba=low.address)
    chain.mine_until(EPOCH + 1)
    assert record_of(chain, poor) is None
    assert record_of(chain, mean) is None


def test_d48_a_new_epoch_writes_at_most_a_thousand_records(devnet, monkeypatch):
    """D48: "of the first 1,000 actors, by (height, sequence)"; a bound of the work."""
    monkeypatch.setattr("node.chain.timers.weights.OVERDUE_ACTORS_MAX", 3)
    chain = devnet(**BIDDING)
    agent = agent_of(chain)
    actors = [worker(chain) for _ in range(6)]
    for actor in actors * 2:
        schedule(actor, EPOCH - 1, ALL, gba=agent.address, gas_limit=550_000)
    chain.mine_until(EPOCH - 1)
    fired = {fire.payer for fire in fires(chain.last)}
    chain.mine()
    again = {fire.payer for fire in fires(chain.last)}
    written = {
        actor.address
        for actor in actors
        if (record := record_of(chain, actor)) and record.height == EPOCH
    }
    overdue = {d.actor for d in chain.last.trace}
    assert len(overdue) == 6
    assert len(written - again) <= 3
    assert written >= again
    assert fired  # the lane was full


# --- D49: governance ------------------------------------------------------------------


def test_d49_a_config_is_replaced_as_a_whole(chain):
    """D49: instruction 238, "event `bidding_config.updated`", from the next block."""
    config = BiddingConfig(500, 1, 3_000_000, 2_000_000)
    chain.execute(UpdateBiddingConfig(config))
    assert [e.topic for e in chain.last.events] == ["bidding_config.updated"]
    governed = load_governed(chain.state.snapshot, chain.params)
    assert governed.bidding_config == config
    assert begin_block(chain.state).bidding_config == config


@pytest.mark.parametrize(
    "config",
    [
        BiddingConfig(lambda_permille=1_001),
        BiddingConfig(weight_min=0),
        BiddingConfig(weight_min=1_000_001),
        BiddingConfig(weight_max=1_499_999),
        BiddingConfig(weight_max=2**64 - 1, starvation_floor=999_999),
        BiddingConfig(starvation_floor=2_000_001),
    ],
)
def test_d49_a_config_is_refused_unless(chain, config):
    """D49: "refused unless λ <= 1,000 and 0 < min <= neutral <= floor <= max"."""
    with pytest.raises(TransactionFailed, match="InvalidInput"):
        chain.execute(UpdateBiddingConfig(config))
    governed = load_governed(chain.state.snapshot, chain.params)
    assert governed.bidding_config == BiddingConfig()


@pytest.mark.parametrize(
    "config",
    [
        BiddingConfig(0, 1, 2**64 - 1, 1_000_000),
        BiddingConfig(1_000, 1_000_000, 1_000_000, 1_000_000),
    ],
)
def test_d49_a_config_is_accepted_at_each_bound(chain, config):
    """D49: each comparison admits equality."""
    chain.execute(UpdateBiddingConfig(config))
    assert config.violations() == []


@pytest.mark.parametrize(
    "instruction", [UpdateBiddingConfig(BiddingConfig()), ResetWeights()]
)
def test_d25_only_system_deployers_may(chain, instruction):
    """D25: "sender in `system_deployers`"."""
    with pytest.raises(TransactionFailed, match="Unauthorized"):
        chain.execute(instruction, sender=chain.accounts[1])
    assert chain.last.events == ()


def test_3_e_governance_may_reset_weights(chain):
    """§3 e: "governance MAY reset … weights": from the next block on (D49)."""
    actor, agent = worker(chain), agent_of(chain, tip=5)
    for due in (50, 150, 160):
        schedule(actor, due, gba=agent.address, gas_limit=20_000)
    chain.mine_until(150)
    assert record_of(chain, actor).weight != NEUTRAL
    chain.execute(ResetWeights())
    (event,) = chain.last.events
    assert (event.topic, said(event)) == ("weights.reset", {"height": 151})
    weights = begin_weights(begin_block(chain.state))
    assert (weights.of(actor.address), weights.epochs) == (NEUTRAL, ())
    chain.mine_until(160)
    sums = record_of(chain, actor).sums
    assert (record_of(chain, actor).weight, sums.fires) == (NEUTRAL, 1)
    assert load_epoch_fires(chain.state.snapshot, -1) == (EpochFires(160, 1, 5),)


def test_d49_the_block_of_the_reset_still_has_its_weights(chain):
    """D49: "from the next block": what that block itself writes counts as none, too."""
    actor, agent = worker(chain), agent_of(chain, tip=5)
    for due in (50, 150):
        schedule(actor, due, gba=agent.address, gas_limit=20_000)
    chain.mine_until(149)
    chain.execute(ResetWeights())  # in block 150
    record = record_of(chain, actor)
    assert record.height == 150
    assert record.weight != NEUTRAL
    weights = begin_weights(begin_block(chain.state))
    assert (weights.of(actor.address), weights.epochs) == (NEUTRAL, ())


def test_d49_entering_counts_all_before_as_none(devnet):
    """D49: "entering `bidding` does the same for all earlier heights"."""
    chain = devnet(**BIDDING)
    actor, agent = worker(chain), agent_of(chain, tip=5)
    for due in (50, 150):
        schedule(actor, due, gba=agent.address, gas_limit=20_000)
    chain.mine_until(150)
    record = record_of(chain, actor)
    assert record.weight != NEUTRAL
    chain.execute(ScheduleActivation(155, "fifo"))
    chain.execute(ScheduleActivation(160, "bidding"))
    chain.mine_until(160)
    assert record_of(chain, actor) == record
    weights = begin_weights(begin_block(chain.state))
    assert (weights.of(actor.address), weights.epochs) == (NEUTRAL, ())
    assert weights.reset == 159


def test_governance_that_lowers_every_number_while_the_queue_is_full(chain):
    """D3, D25, D49: all caps and bounds at their least, and every timer ends well."""
    actor, agent = worker(chain), agent_of(chain, tip=5)
    ids = [
        schedule(actor, 60, ALL, gba=agent.address, gas_limit=550_000)
        for _ in range(12)
    ]
    chain.mine_until(60)
    least = TimerConfig(
        max_ttl_blocks=1,
        max_cycles_per_fire=1_000,
        max_cells_per_fire=1,
        max_timers_per_actor=1,
        gc_cycles_per_block=200,
        lane_timer_cycles=1_000,
        max_cycles_per_fire_auction=1_000,
        fairness_window_blocks=1,
        tier_multipliers_permille=(1, 1, 1, 1),
        max_due_examined=1,
        lane_gba_cycles=1,
        fire_base_cycles=1_000,
    )
    chain.execute(UpdateTimerConfig(least))
    chain.execute(UpdateBiddingConfig(BiddingConfig(1_000, 1, 1_000_000, 1_000_000)))
    chain.mine(20)
    ended = [chain.timer(timer) for timer in ids]
    assert ended == [None] * 12
    assert chain.supply().is_balanced
