"""Rules under which timers bid, in random worlds: what holds whatever is changed."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from node.chain.block import ReceiptKind
from node.chain.fees import next_lane_basefee
from node.chain.genesis import build_genesis
from node.chain.globals import load_globals, load_governed
from node.chain.timers import calendar, due_index, fairness
from node.chain.timers.due_index import Decline, LaneView
from node.chain.timers.rules import INDEXES
from node.chain.timers.rules.auction import idle_step
from node.chain.timers.timer import Decision
from node.chain.transition import (
    apply_block,
    build_block,
    build_next,
    next_state,
    open_state,
    prospect,
    work_height,
)
from node.primitives.types import Amount
from node.query.forecasts.forecast import Lineups, forecast
from node.state.journal import Journal
from node.state.memory import MemoryStore
from pvm import Worker
from tests.property.test_runs import Fork
from tests.replaying_chain import require_budgets, require_sound_state
from tests.worlds import AuctionWorld, BiddingWorld

WORLDS = settings(
    max_examples=max(5, settings.default.max_examples // 10),
    suppress_health_check=list(HealthCheck),
)
BLOCKS = 8
BOTH = pytest.mark.parametrize("kind", [AuctionWorld, BiddingWorld])


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


def rules_at_head(state):
    return load_governed(state.snapshot, state.params).rules_at(state.head.height)


def require_derived(state):
    """The orders and the sums are those of the committed records, or absent."""
    snapshot, height = state.snapshot, state.head.height
    wanted = {}
    index = INDEXES.get(rules_at_head(state))
    if index is not None:
        wanted = dict(index.expected(snapshot, height))
    assert dict(due_index.found(snapshot)) == wanted
    assert fairness.found_sums(snapshot) == fairness.expected_sums(snapshot)


@BOTH
@WORLDS
@given(crowd=st.randoms(use_true_random=False))
def test_after_every_block(worker, kind, crowd):
    """Supply, root, budgets, derived orders; a state opened anew builds the same."""
    world = kind(MemoryStore(), crowd.randrange, worker)
    for _ in range(BLOCKS):
        parent = world.state
        built = world.step()
        require_sound_state(world.state)
        require_budgets(world.genesis.params, built)
        require_derived(world.state)
        fresh = open_state(parent.params, parent.head, parent.snapshot)
        applied = worker.run(lambda: apply_block(fresh, built.block))  # noqa: B023
        assert applied.writes == built.writes
        assert applied.trace == built.trace


@BOTH
@WORLDS
@given(crowd=st.randoms(use_true_random=False), data=st.data())
def test_any_split_of_a_run(worker, kind, crowd, data):
    """D36: the same state as N empty blocks, derived orders included."""
    world = kind(MemoryStore(), crowd.randrange, worker)
    for _ in range(4):
        world.step()
    single, split, leap, replay = (Fork(world) for _ in range(4))
    last = world.state.head.height + 40
    while single.state.head.height < last:
        single.take(lambda state: build_block(state, ()))
    while split.state.head.height < last:
        left = last - split.state.head.height
        heights = data.draw(st.integers(1, left), "heights")
        split.take(lambda state: build_next(state, (), heights))  # noqa: B023
    while leap.state.head.height < last:
        leap.take(lambda state: build_next(state, (), last - state.head.height))
    for result in leap.results:
        replay.take(lambda state: apply_block(state, result.block))  # noqa: B023
    forks = (single, split, leap, replay)
    assert len({fork.state.head.state_root for fork in forks}) == 1
    assert single.happened() == split.happened() == leap.happened()
    derived = [dict(f.state.snapshot.range(b"i", b"j")) for f in forks]
    assert all(one == derived[0] for one in derived)
    require_derived(single.state)


@BOTH
@WORLDS
@given(crowd=st.randoms(use_true_random=False))
def test_the_wake_height_is_where_something_happens(worker, kind, crowd):
    """D36: no block before it does anything, and that one does."""
    world = kind(MemoryStore(), crowd.randrange, worker)
    for _ in range(5):
        world.step()
    fork = Fork(world)
    for _ in range(40):
        work = work_height(fork.state)
        height = fork.state.head.height + 1
        view, _ = prospect(fork.state)
        is_activation = rules_at_head(fork.state) != load_governed(
            view.reader, fork.state.params
        ).rules_at(height)
        result = fork.take(lambda state: build_block(state, ()))
        if work != height:
            assert result.is_empty
        elif not is_activation:
            scheduled = load_governed(view.reader, fork.state.params).activations
            assert not result.is_empty or height in dict(scheduled)


@BOTH
@WORLDS
@given(crowd=st.randoms(use_true_random=False))
def test_replay_from_genesis(worker, kind, crowd):
    """The blocks alone lead to the same pairs, derived ones included."""
    world = kind(MemoryStore(), crowd.randrange, worker)
    for _ in range(BLOCKS):
        world.step()
    first = worker.run(lambda: build_genesis(world.genesis))
    store = MemoryStore()
    store.commit(first.writes)
    state = open_state(world.genesis.params, first.header, store.snapshot())
    for block in world.blocks:
        result = worker.run(lambda: apply_block(state, block))  # noqa: B023
        store.commit(result.writes)
        state = next_state(state, result, store.snapshot())
    assert dict(store.snapshot().range(b"", b"\xff")) == dict(
        world.state.snapshot.range(b"", b"\xff")
    )


# --- against naive models ------------------------------------------------------------


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) // 2


@given(
    fires=st.lists(
        st.dictionaries(st.integers(0, 6), st.integers(1, 5), max_size=5), max_size=30
    ),
    windows=st.lists(st.integers(1, 12), min_size=30, max_size=30),
)
def test_median_and_weights_agree_with_a_naive_model(fires, windows):
    """D32: the window h-W … h-1, whatever W does on the way."""
    journal = Journal(MemoryStore().snapshot())
    kept = {}
    for height, (counts, window) in enumerate(zip(fires, windows, strict=False), 1):
        fairness.prune(journal, height, window)
        kept = {h: c for h, c in kept.items() if h >= height - window}
        recent = Counter()
        for past in kept.values():
            recent.update(past)
        middle = median(recent.values()) if recent else 0
        assert fairness.network_median(journal) == middle
        weights = fairness.Weights(journal)
        for actor in range(7):
            ratio_ppm = recent[actor] * 10**6 // max(1, middle)
            wanted = min(2 * 10**6, max(10**6, 2 * 10**6 - ratio_ppm))
            assert weights.of(bytes([actor]) * 20) == wanted
        named = {bytes([actor]) * 20: count for actor, count in counts.items()}
        fairness.note(journal, height, named)
        kept[height] = counts
        assert fairness.found_sums(journal) == fairness.expected_sums(journal)
    fairness.clear(journal)
    assert fairness.found_sums(journal) == {}


@WORLDS
@given(crowd=st.randoms(use_true_random=False))
def test_what_a_block_does_agrees_with_a_naive_model(worker, crowd):
    """Who is looked at, in which order they fire, and p50."""
    world = AuctionWorld(MemoryStore(), crowd.randrange, worker)
    recent = {}
    for _ in range(BLOCKS):
        parent = world.state
        result = world.step()
        governed = load_governed(parent.snapshot, parent.params)
        height, config = result.header.height, governed.timer_config
        fires = [r for r in result.receipts if r.kind is ReceiptKind.FIRE]
        if governed.rules_at(height) != "auction":
            recent = {}
            continue
        if governed.rules_at(height - 1) != "auction":
            recent = {}
        window = config.fairness_window_blocks
        recent = {h: c for h, c in recent.items() if h >= height - window}
        _require_order(result, recent)
        _require_examined(parent, result, config)
        tips = [r.price.cycle_tip for r in fires]
        p50 = median(tips) if tips else 0
        assert load_globals(world.state.snapshot).p50_priority == p50
        recent[height] = Counter(r.actor for r in fires)


@WORLDS
@given(crowd=st.randoms(use_true_random=False))
def test_a_place_that_is_foretold_is_the_place_that_is_taken(worker, crowd):
    """Rank, price and room, if nobody sends anything and no agent answers anew."""
    world = AuctionWorld(MemoryStore(), crowd.randrange, worker)
    for _ in range(BLOCKS):
        world.step()
        state = world.state
        result = worker.run(lambda: build_block(state, ()))  # noqa: B023
        timers = list(calendar.timers_between(state.snapshot, 0, result.header.height))
        if any(timer.gba is not None for timer in timers):
            continue
        lineups = Lineups(state)
        turns = {d.timer_id: d for d in result.trace if "rank" in d.numbers}
        removed = {d.timer_id for d in result.trace} - set(turns)
        for timer in timers:
            seen, place = forecast(state, timer), lineups.place(timer)
            assert seen.place == place
            if timer.timer_id not in turns or removed:
                continue
            numbers = turns[timer.timer_id].numbers
            assert place.rank == numbers["rank"]
            assert place.contenders == numbers["contenders"]
            standing = place.standing
            assert standing.effective_priority == numbers["effective_priority"]
            assert seen.before.timers == numbers["rank"] - 1
            if seen.is_room:
                assert turns[timer.timer_id].reason != "lane"


def _require_order(result, recent):
    """Those that came to their turn stand by effective priority, then W (D33)."""
    sums = Counter()
    for counts in recent.values():
        sums.update(counts)
    middle = median(sums.values()) if sums else 0
    turns = [d for d in result.trace if "rank" in d.numbers]
    for decision in turns:
        weight = fairness.weigh(sums[decision.actor], middle)
        numbers = decision.numbers
        assert numbers["weight_ppm"] == weight
        assert numbers["effective_priority"] == weight * numbers["priority"]
    order = [
        (
            -d.numbers["effective_priority"],
            -d.numbers["weight_ppm"],
            d.due_height,
            d.numbers["sequence"],
        )
        for d in turns
    ]
    assert order == sorted(order)


def _require_examined(parent, result, config):
    """D8: due, awake, the first by stated priority; a block that cancelled is left."""
    globals_ = load_globals(parent.snapshot)
    height = result.header.height
    cap = min(config.max_cycles_per_fire, config.max_cycles_per_fire_auction)
    view = LaneView(height, result.header.basefee_lane, cap, globals_.p50_priority)
    if result.header.basefee_lane != globals_.basefee_lane:
        view = replace(view, p50=0)
    by_transactions = {
        d.timer_id
        for d in result.trace
        if d.decision in (Decision.CANCELLED, Decision.EXTENDED)
    }
    due = [
        timer
        for timer in calendar.timers_between(parent.snapshot, 0, height)
        if not view.is_dormant(timer)
    ]
    due.sort(key=lambda t: (-view.stated_priority(t), t.height, t.sequence))
    wanted = {t.timer_id for t in due[: config.max_due_examined]}
    seen = {
        d.timer_id
        for d in result.trace
        if d.decision
        in (
            Decision.PUT_OFF,
            Decision.FIRED,
            Decision.EXPIRED,
            Decision.REMOVED_INSUFFICIENT_FUNDS,
        )
    }
    if not by_transactions:
        assert seen == wanted


@given(
    first=st.integers(1, 10**6),
    fee=st.integers(0, 10**6),
    head=st.integers(0, 10**9),
)
def test_decline_is_the_basefee_of_empty_blocks(first, fee, head):
    """The first height at which the falling basefee is at most a fee."""
    since = Decline(head, first, idle_step).reaches(fee)
    basefee, height = first, head
    while basefee > fee and basefee > 1:
        basefee, height = next_lane_basefee(basefee, 0, 2_000_000), height + 1
    assert since == (height if basefee <= fee else None)


@pytest.mark.parametrize("basefee", [1, 2, 9, 1_000, 10**12])
def test_d36_a_sleeper_wakes_at_the_first_height_whose_basefee_it_reaches(basefee):
    """D30 by hand: without fires the fee falls by an eighth, at least 1, to 1."""
    falling = [basefee]
    while falling[-1] > 1:
        falling.append(falling[-1] - max(1, falling[-1] // 8))
    decline = Decline(70, Amount(basefee), idle_step)
    for fee in {each + more for each in falling for more in (-1, 0, 1)}:
        reached = [70 + step for step, least in enumerate(falling) if least <= fee]
        assert decline.reaches(fee) == (reached[0] if reached else None), fee
