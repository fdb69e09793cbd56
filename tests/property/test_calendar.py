"""The calendar against its definition: due sets, order, tiers, roots (D22, D24).

The first half drives the calendar alone; the second whole chains, whose actor does
what Hypothesis says.
"""

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from node.chain.params import CalendarSizes, TimerConfig
from node.chain.timers import calendar, tiers
from node.chain.timers.tiers import Tier, TieredCalendar, bucket_of, tier_of
from node.chain.timers.timer import Timer
from node.chain.transaction import UpdateTimerConfig
from node.chain.transition import Caches, calendar_of, open_state
from node.primitives import codec
from node.primitives.types import Address, Height, TimerId
from node.state import keys
from node.state.journal import Journal
from node.state.memory import MemoryStore
from node.testing import Devnet

U64_MAX = 2**64 - 1
SMALL_SIZES = st.builds(
    CalendarSizes, st.integers(1, 20), st.integers(1, 20), st.integers(1, 4)
)
ODD_SIZES = st.sampled_from(
    [
        CalendarSizes(),
        CalendarSizes(256, 360, 2),
        CalendarSizes(1, 1, 1),
        CalendarSizes(U64_MAX, 1, 1),
        CalendarSizes(1, U64_MAX, U64_MAX),
        CalendarSizes(1, 1, U64_MAX),
    ]
)
SIZES = SMALL_SIZES | ODD_SIZES
DUE = st.integers(0, 120) | st.sampled_from([5_000, U64_MAX - 1, U64_MAX])


def timer_at(height, sequence, actor=0):
    """A timer of which only its place matters."""
    return Timer(
        Height(height),
        sequence,
        TimerId(sequence.to_bytes(32, "big")),
        Address(bytes([actor]) * 20),
        b"",
        "",
        Address(bytes(20)),
        gas_limit=1_000,
        is_gas_limit_defaulted=False,
        expires_at=Height(U64_MAX),
        scheduled_at=Height(0),
    )


def journal_of(dues):
    """A journal over an empty store with one timer for each due height."""
    journal = Journal(MemoryStore().snapshot())
    for sequence, due in enumerate(dues):
        calendar.insert(journal, timer_at(due, sequence, sequence % 3))
    return journal


def places(timers):
    return [(t.height, t.sequence) for t in timers]


@given(st.lists(DUE, max_size=40), st.integers(0, 130))
def test_due_is_the_head_of_the_sorted_list(dues, height):
    """D22: due(h) = all live timers with height ≤ h in order of (height, sequence)."""
    journal = journal_of(dues)
    model = sorted((due, sequence) for sequence, due in enumerate(dues))
    expected = [place for place in model if place[0] <= height]
    tiered = TieredCalendar(journal, 0, CalendarSizes())
    due = [held.timer(key, journal) for key, held in tiered.due(height)]
    assert places(due) == expected
    assert places(calendar.timers_between(journal, 0, U64_MAX)) == model


@given(st.lists(st.tuples(DUE, st.booleans()), max_size=40), st.integers(0, 130))
def test_removed_timers_are_gone_and_indexes_agree(entries, height):
    """The record, the index by id, the index by actor and the count say the same."""
    journal = journal_of([due for due, _ in entries])
    for sequence, (due, is_removed) in enumerate(entries):
        if is_removed:
            calendar.remove(journal, timer_at(due, sequence, sequence % 3))
    left = sorted((due, n) for n, (due, gone) in enumerate(entries) if not gone)
    assert places(calendar.timers_between(journal, 0, U64_MAX)) == left
    for number in range(3):
        actor = Address(bytes([number]) * 20)
        own = [place for place in left if place[1] % 3 == number]
        assert places(calendar.timers_of(journal, actor)) == own
        assert calendar.count_of(journal, actor) == len(own)
        ids = [timer_id for _, timer_id in calendar.places_of(journal, actor)]
        assert [places([calendar.load_timer(journal, i)])[0] for i in ids] == own
    gone = {n for n, (_, is_removed) in enumerate(entries) if is_removed}
    assert all(
        calendar.load_timer(journal, n.to_bytes(32, "big")) is None for n in gone
    )
    due = places(calendar.timers_between(journal, 0, height))
    assert due == [place for place in left if place[0] <= height]


@given(SIZES, DUE, st.integers(0, 130))
def test_the_tier_is_what_the_decision_says(sizes, due, height):
    # D24: "ring if `due - h < ring_size`, else epoch queue if `due // L - h // L ≤
    # epochs`, else overflow".
    length = sizes.epoch_length
    if due - height < sizes.ring_size:
        expected = Tier.RING, max(due, height) % sizes.ring_size
    elif due // length - height // length <= sizes.epochs:
        expected = Tier.EPOCH, due // length
    else:
        expected = Tier.OVERFLOW, None
    assert (tier_of(due, height, sizes), bucket_of(due, height, sizes)) == expected


@given(st.lists(DUE, max_size=40), SMALL_SIZES, st.integers(0, 130))
def test_the_tiers_partition_the_set(dues, sizes, height):
    """D24: ring buckets, epoch buckets and overflow hold each live timer once."""
    tiered = TieredCalendar(journal_of(dues), height, sizes)
    found = []
    for slot in range(sizes.ring_size):
        bucket = list(tiered.ring_bucket(slot))
        assert {tier_of(t.height, height, sizes) for t in bucket} <= {Tier.RING}
        assert {bucket_of(t.height, height, sizes) for t in bucket} <= {slot}
        found += bucket
    assert sorted(places(found)) == places(tiered.ring())
    first = height // sizes.epoch_length
    for epoch in range(first, first + sizes.epochs + 2):
        bucket = list(tiered.epoch_bucket(epoch))
        assert {tier_of(t.height, height, sizes) for t in bucket} <= {Tier.EPOCH}
        assert {bucket_of(t.height, height, sizes) for t in bucket} <= {epoch}
        found += bucket
    overflow = list(tiered.overflow())
    assert {tier_of(t.height, height, sizes) for t in overflow} <= {Tier.OVERFLOW}
    found += overflow
    assert sorted(places(found)) == sorted((d, n) for n, d in enumerate(dues))


@given(st.lists(DUE, max_size=20), ODD_SIZES, st.integers(0, 130))
def test_huge_sizes_leave_nobody_out(dues, sizes, height):
    """D24: "any positive sizes"."""
    tiered = TieredCalendar(journal_of(dues), height, sizes)
    ring, overflow = list(tiered.ring()), list(tiered.overflow())
    middle = {due // sizes.epoch_length for due in dues}
    epochs = [t for e in sorted(middle) for t in tiered.epoch_bucket(e)]
    everything = places(ring + epochs + overflow)
    assert everything == sorted((d, n) for n, d in enumerate(dues))
    slots = {max(due, height) % sizes.ring_size for due in dues}
    in_slots = [t for slot in slots for t in tiered.ring_bucket(slot)]
    assert sorted(places(in_slots)) == places(ring)


@given(st.lists(DUE, max_size=30), SIZES, st.integers(0, 130))
def test_the_current_slot_is_what_is_due(dues, sizes, height):
    """D24: "reading what is due is O(1)": one slot of the ring, the overdue in it."""
    journal = journal_of(dues)
    tiered = TieredCalendar(journal, height, sizes)
    slot = tiered.ring_bucket(height % sizes.ring_size)
    assert places(slot) == places(calendar.timers_between(journal, 0, height))


@given(SIZES, DUE, st.integers(0, 130), st.integers(0, 300))
def test_time_only_promotes(sizes, due, height, later):
    """A timer moves from overflow to epoch queue to ring and never back (CIP-1 §2)."""
    order = [Tier.OVERFLOW, Tier.EPOCH, Tier.RING]
    before = order.index(tier_of(due, height, sizes))
    assert order.index(tier_of(due, height + later, sizes)) >= before


# --- the buckets as time passes ------------------------------------------------------

MOVE = st.tuples(
    st.lists(st.tuples(DUE, st.integers(0, 9)), max_size=6),
    st.lists(st.integers(0, 60), max_size=4),
    st.sampled_from([1, 1, 1, 2, 7, 90]),
    st.sampled_from(["read", "let go", "first", "nothing"]),
)


def require_buckets(tiered, journal):
    """The live timers between two keys are held, each in the bucket of its tier."""
    live = {keys.timer(t.height, t.sequence): t for t in every(journal)}
    held = list(tiered.held())
    tally = tiered.tally
    assert len(held) <= tiers.HELD_MAX
    for tier, number, key in held:
        due = live[key].height
        assert (tier, number) == (
            tier_of(due, tiered.height, tiered.sizes),
            bucket_of(due, tiered.height, tiered.sizes),
        )
    within = {key for key in live if tally.start <= key < tally.cursor}
    assert {key for _, _, key in held} == within
    assert tally.ring + tally.epoch == len(held)


def every(journal):
    return list(calendar.timers_between(journal, 0, U64_MAX))


@given(st.lists(MOVE, max_size=10), SIZES, st.sampled_from([4, 12, 1_000]))
def test_the_buckets_hold_what_the_ordered_set_says(moves, sizes, held_max):
    """D24: "thin access structures over that set"; "memory is bounded"."""
    bounds = patch.multiple(tiers, HELD_MAX=held_max, FILLED_A_BLOCK_MAX=3)
    journal, height, sequence = Journal(MemoryStore().snapshot()), 0, 0
    tiered = TieredCalendar(journal, height, sizes)
    with bounds:
        for added, removed, span, then in moves:
            changes = {}
            for due, _ in added:
                timer = timer_at(max(due, height + 1), sequence)
                calendar.insert(journal, timer)
                changes[keys.timer(timer.height, timer.sequence)] = timer.encode()
                sequence += 1
            for timer in [t for t in every(journal) if t.sequence in removed]:
                calendar.remove(journal, timer)
                changes[keys.timer(timer.height, timer.sequence)] = None
            height += span
            tiered.advance(journal, height, changes)
            require_buckets(tiered, journal)
            expected = every(journal)
            if then == "read":
                due = [held.timer(key, journal) for key, held in tiered.due(height + 1)]
                assert due == [t for t in expected if t.height <= height + 1]
            elif then == "let go":
                tiered.let_go(keys.timer(height + 1, 0))
                later = list(tiered.timers(height + 1, U64_MAX))
                assert later == [t for t in expected if t.height > height]
            elif then == "first":
                first = expected[0].height if expected else None
                assert tiered.first_due() == first
        fresh = TieredCalendar(journal, height, sizes)
        for view in (tiered, fresh):
            assert list(view.timers(0, U64_MAX)) == every(journal)


# --- whole chains --------------------------------------------------------------------

ACTOR = """
import pvm_host

def act(payload):
    for name, number, extra in pvm_host.cbor_decode(payload):
        timers = pvm_host.list_timers()
        if name == "schedule":
            height = pvm_host.block_height() + 1 + number
            limit = 1_000 + extra * 9_000
            latest = height + extra
            last = pvm_host.schedule_timer(height, bytes([extra]), None, limit, latest)
            pvm_host.set_state(b"last", last)
        elif timers:
            timer_id = timers[number % len(timers)]
            if name == "cancel":
                pvm_host.cancel_timer(timer_id)
            else:
                pvm_host.extend_timer(timer_id, pvm_host.block_height() + 1 + extra)

def handle_timer(payload):
    if payload[0] % 3 == 0:
        try:  # it may wait in this very block's queue
            pvm_host.cancel_timer(pvm_host.get_state(b"last"))
        except pvm_host.HostError:
            pvm_host.set_state(b"gone", payload)
"""
WORLDS = settings(max_examples=max(12, settings.default.max_examples // 4))
"""Whole chains are dearer than journals."""
STEP = st.tuples(
    st.sampled_from(["schedule", "schedule", "schedule", "cancel", "extend"]),
    st.integers(0, 9),
    st.integers(0, 9),
)
BLOCK = st.tuples(
    st.lists(STEP, max_size=6), st.none() | st.integers(1, 4), st.booleans()
)


def config_of(examined):
    """A lane that holds two or three fires, and how many are looked at."""
    return replace(
        TimerConfig(),
        lane_timer_cycles=100_000,
        max_cycles_per_fire=100_000,
        max_cycles_per_fire_auction=100_000,
        max_due_examined=examined,
    )


def play(blocks, sizes, *, with_restarts):
    """Results of a world: steps, changes of the configuration, restarts."""
    document = {
        "ring_size": sizes.ring_size,
        "epoch_length": sizes.epoch_length,
        "epochs": sizes.epochs,
    }
    basefees = {"basefee_cycle": 1, "basefee_cell": 1}
    with Devnet(calendar=document, **basefees) as chain:
        actor = chain.deploy(ACTOR, value="1 CBY")
        chain.execute(UpdateTimerConfig(config_of(3)))
        for steps, examined, is_restarted in blocks:
            if is_restarted and with_restarts:
                state = chain.state
                chain.state = open_state(
                    state.params, state.head, state.snapshot, Caches()
                )
            if examined is not None:
                chain.submit(UpdateTimerConfig(config_of(examined)))
            payload = codec.encode([list(step) for step in steps])
            actor.call("act", payload, cycles_limit=500_000, cells_limit=50_000)
            check_order(chain)
            check_buckets(chain)
        with chain.snapshot():
            chain.mine(3)
            check_buckets(chain)
        check_buckets(chain)
        chain.mine(25)
        check_buckets(chain)
        return chain.results


def check_buckets(chain):
    """D24: what is in memory is right, however the chain came to its head."""
    state, sizes = chain.state, chain.state.params.calendar
    held = calendar_of(state)
    fresh = TieredCalendar(state.snapshot, state.head.height, sizes)
    live = list(calendar.timers_between(state.snapshot, 0, U64_MAX))
    assert list(held.timers(0, U64_MAX)) == list(fresh.timers(0, U64_MAX)) == live
    for tier, number, key in held.held():
        due = keys.timer_height(key)
        assert tier_of(due, held.height, sizes) == tier
        assert bucket_of(due, held.height, sizes) == number


def check_order(chain):
    """What was examined is the head of the sorted list of what was due."""
    height = chain.height
    judged = ("fired", "put_off", "expired", "removed_insufficient_funds")
    seen = [d for d in chain.last.trace if d.decision.value in judged]
    assert all(d.due_height <= height for d in seen)
    fired = [d.due_height for d in seen if d.decision.value == "fired"]
    assert fired == sorted(fired)
    left = [t.timer_id for t in chain.timers() if t.height <= height]
    put_off = [d.timer_id for d in seen if d.decision.value == "put_off"]
    assert left[: len(put_off)] == [i for i in put_off if i in left]


@WORLDS
@given(st.lists(BLOCK, min_size=1, max_size=8), SMALL_SIZES)
def test_neither_sizes_nor_restarts_show(blocks, sizes):
    # D24: "no tier shows in any outcome or root"; "the core is right without" what is
    # held in memory.
    plain = play(blocks, CalendarSizes(), with_restarts=False)
    other = play(blocks, sizes, with_restarts=True)
    assert [r.trace for r in plain] == [r.trace for r in other]
    roots = [[r.header.state_root for r in results] for results in (plain, other)]
    assert roots[0] == roots[1]


@WORLDS
@given(st.lists(BLOCK, min_size=1, max_size=8))
def test_every_timer_leaves_once(blocks):
    """CIP-5 §5.4: "exactly one of the following paths"; nobody is forgotten."""
    results = play(blocks, CalendarSizes(), with_restarts=False)
    scheduled, final = [], []
    for result in results:
        scheduled += [d for d in result.trace if d.decision.value == "scheduled"]
        final += [d for d in result.trace if d.is_final]
    ids = [d.timer_id for d in scheduled]
    assert len(set(ids)) == len(ids)
    assert sorted(d.timer_id for d in final) == sorted(ids)
