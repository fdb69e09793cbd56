"""The decisions about timers that hold under all rules, D18 to D25 (docs/decisions.md).

Each test is named after its decision. What only rules `fifo` decide is in
test_decisions_fifo.py.
"""

import pytest
from msgspec.structs import replace

from node.chain.globals import load_timer_config
from node.chain.params import TimerConfig
from node.chain.timers.timer import derive_timer_id
from node.chain.transaction import ExtendTimer, UpdateTimerConfig
from node.primitives import codec
from tests.spec.driven_actors import (
    SCHEDULER,
    STEADY,
    decisions,
    fired_heights,
    fired_payloads,
    fires,
    refusal,
    refused,
    schedule,
    schedule_all,
)

SMALL = {"gas_limit": 50_000}

# --- D18 ---------------------------------------------------------------------------

OWN_EFFECTS = """
import pvm_host

def look():
    first = pvm_host.schedule_timer(99, b"a", None, None, 120)
    seen = [pvm_host.list_timers() == [first]]
    second = pvm_host.schedule_timer(50, b"b")
    seen.append(pvm_host.list_timers() == [second, first])
    pvm_host.extend_timer(first, 140)
    seen.append(pvm_host.get_timer(first)["expires_at"] == 140)
    pvm_host.cancel_timer(second)
    seen.append(pvm_host.list_timers() == [first])
    seen.append(pvm_host.get_timer(second) is None)
    pvm_host.schedule_timer(98, b"c")
    try:
        pvm_host.schedule_timer(97, b"d")
        seen.append(False)
    except pvm_host.HostError as error:
        seen.append(error.name == "TimerLimit")
    return seen

def watch(payload):
    return pvm_host.set_state_watch(pvm_host.self_address(), [b"k"], b"", expires_at=9)

def extend_it(watch):
    pvm_host.extend_timer(watch, 20)
    return b"".join(pvm_host.list_timers())

def through_a_callee(payload):
    pvm_host.schedule_timer(60, b"mine")
    pvm_host.call_actor(pvm_host.self_address(), "inner", b"")
    return len(pvm_host.list_timers())

def inner(payload):
    for timer_id in pvm_host.list_timers():
        pvm_host.cancel_timer(timer_id)

def schedule_and_cancel():
    pvm_host.cancel_timer(pvm_host.schedule_timer(99, b""))

def failing_callee():
    try:
        pvm_host.call_actor(pvm_host.self_address(), "fail", b"")
    except pvm_host.RevertError:
        pass
    return pvm_host.schedule_timer(99, b"kept")

def fail(payload):
    pvm_host.schedule_timer(98, b"undone")
    raise ValueError("no")
"""


def test_d18_an_execution_sees_its_own_effects_at_once(devnet):
    """D18: "see their own timer effects at once (list, cancel, extend, the cap)"."""
    chain = devnet(timer_config={"max_timers_per_actor": 2})
    actor = chain.deploy(OWN_EFFECTS)
    assert codec.decode(actor.call("look").value) == [True] * 6
    assert [t.payload for t in actor.timers] == [b"c", b"a"]


def test_d18_an_extended_watch_is_listed_once(devnet):
    """D18, D51: its place moves with an extend, for the execution that sees it."""
    chain = devnet(activations=[{"height": 0, "rules": "globalbox"}])
    actor = chain.deploy(OWN_EFFECTS)
    watch = actor.call("watch", b"").value
    ids = [watch.hex(), actor.call("extend_it", watch).value.hex()]
    assert ids == [watch.hex()] * 2
    assert [timer.timer_id for timer in actor.timers] == [watch]


def test_d18_callees_see_them_too(chain):
    """D18: "An execution and its callees"."""
    actor = chain.deploy(OWN_EFFECTS)
    assert codec.decode(actor.call("through_a_callee").value) == 0
    assert actor.timers == []


def test_d18_schedule_and_cancel_keeps_the_counters_increments(chain):
    """D18: "Schedule and cancel in one execution keeps the counters' increments"."""
    actor = chain.deploy(OWN_EFFECTS)
    actor.call("schedule_and_cancel")
    assert chain.account(actor).scheduling_counter == 1
    receipt = actor.call("failing_callee")
    assert chain.timer(receipt.value).sequence == 1


def test_d16_d19_a_failed_callee_gives_its_counters_back(chain):
    """D16: "every counter [is] undone": sequence, scheduling counter, events."""
    actor = chain.deploy(OWN_EFFECTS)
    receipt = actor.call("failing_callee")
    assert receipt.value == derive_timer_id(actor.address, 99, b"kept", 0)
    assert receipt.scheduled == (receipt.value,)
    (timer,) = chain.timers()
    assert timer.sequence == 0
    assert chain.account(actor).scheduling_counter == 1
    assert [e.topic for e in chain.last.events] == ["TimerScheduled"]
    assert [d.decision.value for d in chain.last.trace] == ["scheduled"]


# --- D19 ---------------------------------------------------------------------------


def test_d19_the_counter_outlives_the_last_timer(chain, actor):
    # D19: "the actor's own scheduling counter, read before it is incremented by each
    # accepted schedule; it outlives the actor's last timer".
    first = schedule(actor, 99)
    actor.call("cancel", first)
    assert chain.timers() == []
    assert refusal(actor, 1) == "InvalidInput"  # not accepted, not counted
    second = schedule(actor, 99)
    assert second == derive_timer_id(actor.address, 99, b"", 1)
    assert second != first


def test_d19_equal_calls_in_one_transaction_differ(actor):
    """D19: a transaction's nonce could not keep §3.3's promise here."""
    ids = schedule_all(actor, (99, b"", {}), (99, b"", {}))
    assert ids == [derive_timer_id(actor.address, 99, b"", n) for n in (0, 1)]


# --- D20 ---------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "kept"), [(None, 2_592_002), (0, 0), (5, 5)])
def test_d20_any_expiry_up_to_the_ttl_is_accepted(chain, actor, given, kept):
    # D20: "None → current + ttl; any 0 ≤ v ≤ current + ttl is accepted, also before
    # `height`".
    timer_id = schedule(actor, 99, expires_at=given)
    assert chain.timer(timer_id).expires_at == kept
    assert refusal(actor, 99, expires_at=-1) == "InvalidInput"


def test_d20_expiry_acts_only_when_due(chain, actor):
    """D20: "Expiry acts only when the timer is due"."""
    timer_id = schedule(actor, 19, expires_at=3)
    chain.mine_until(18)
    assert decisions(chain, timer_id) == ["scheduled"]
    chain.mine()
    assert decisions(chain, timer_id) == ["scheduled", "expired"]


def test_d20_an_expiry_may_be_lowered(chain, actor):
    """D20: "set, even if lower than before"."""
    timer_id = schedule(actor, 99)
    actor.call("extend", codec.encode([timer_id, 50]))
    assert chain.timer(timer_id).expires_at == 50
    (decision,) = chain.last.trace
    assert (decision.decision.value, decision.numbers["expires_at"]) == ("extended", 50)


def test_d20_the_order_of_the_checks_of_extend(chain, actor):
    """D20: "exists → owner → new > current"."""
    stranger = chain.deploy(SCHEDULER)
    timer_id = schedule(actor, 99)
    for who, which, expected in (
        (stranger, bytes(32), "TimerNotFound"),
        (stranger, timer_id, "Unauthorized"),
        (actor, timer_id, "InvalidInput"),
    ):
        arguments = codec.encode([which, 1])
        receipt = who.call("extend", arguments, expect_failure=True)
        assert refused(receipt) == expected


def test_d20_only_governance_emits_on_extension(chain, actor):
    """D20: "Both extend paths alike; only governance's emits an event"."""
    timer_id = schedule(actor, 99)
    actor.call("extend", codec.encode([timer_id, 50]))
    assert chain.last.events == ()
    chain.execute(ExtendTimer(timer_id, 60))
    assert [e.topic for e in chain.last.events] == ["timer.extended_by_governance"]
    receipt = chain.execute(ExtendTimer(bytes(32), 60), expect_failure=True)
    assert receipt.failure.kind == "TimerNotFound"


# --- D21 ---------------------------------------------------------------------------

SELF_REGARD = """
import pvm_host

def arm():
    timer_id = pvm_host.schedule_timer_ex(9, b"", None, 60_000)
    pvm_host.set_state(b"id", timer_id)

def handle_timer(payload):
    own = pvm_host.get_state(b"id")
    for number in range(2):
        try:
            if number == 0:
                pvm_host.extend_timer(own, 99)
            else:
                pvm_host.cancel_timer(own)
        except pvm_host.HostError as error:
            pvm_host.set_state(str(number).encode(), error.name.encode())
    pvm_host.set_state(b"list", str(len(pvm_host.list_timers())).encode())
"""


def test_d21_the_firing_timer_is_not_found(chain):
    # D21: "on the firing timer `extend_timer` and `cancel_timer` are
    # `TimerNotFound`; recurrence is a new `schedule_timer`".
    actor = chain.deploy(SELF_REGARD, value="5 CBY")
    actor.call("arm")
    before = actor.balance
    chain.mine_until(9)
    (fire,) = fires(chain.last)
    assert fire.is_success
    assert actor.state(b"0") == actor.state(b"1") == b"TimerNotFound"
    assert actor.state(b"list") == b"0"
    assert actor.balance == before - fire.fee


# --- D22 ---------------------------------------------------------------------------


def test_d22_putting_off_changes_no_record(chain, actor):
    """D22: "Putting off changes no record: the timer is simply due again"."""
    ids = schedule_all(actor, *[(9, bytes([i]), {}) for i in range(4)])
    chain.mine_until(8)
    before = chain.timer(ids[3])
    chain.mine()
    assert chain.timer(ids[3]) == before
    assert before.height == 9


def test_d22_due_goes_by_height_then_sequence(chain, actor):
    # D22: "all live timers with height ≤ h in order of (height, sequence)": what was
    # put off goes before what is due later, though it was accepted after it.
    later = schedule(actor, 20, b"later")
    early = schedule_all(actor, *[(19, bytes([i]), {}) for i in range(4)])
    chain.mine_until(19)
    assert [f.id for f in fires(chain.last)] == early[:3]
    chain.mine()
    assert [f.id for f in fires(chain.last)] == [early[3], later]
    assert [chain.decisions(i)[0][1].due_height for i in (later, early[0])] == [20, 19]


def test_d22_the_sequence_is_global(chain, actor):
    """D22: "Each accepted timer gets a global `sequence`"."""
    twin = chain.deploy(SCHEDULER)
    ids = [schedule(a, 99 - n) for n, a in enumerate((actor, twin, actor, twin))]
    assert [chain.timer(i).sequence for i in ids] == [0, 1, 2, 3]


# --- D23 ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stated", "cap", "limit"),
    [
        (None, 400_000, 400_000),  # defaulted: the cap in force at the fire
        (None, 700_000, 700_000),
        (550_000, 400_000, 400_000),  # stated: at most the cap in force
        (550_000, 700_000, 550_000),
        (50_000, 400_000, 50_000),
    ],
)
def test_d23_limits_follow_the_cap_in_force(devnet, stated, cap, limit):
    # D23: "At the fire the limit is `min(gas_limit, cap in force)`"; "a record
    # remembers whether its limit was **defaulted**".
    chain = devnet(**STEADY)
    actor = chain.deploy(SCHEDULER, value="20 CBY")
    schedule(actor, 9, gas_limit=stated)
    config = replace(chain.params.timer_config, max_cycles_per_fire=cap)
    chain.execute(UpdateTimerConfig(config))
    chain.mine_until(9)
    (fire,) = fires(chain.last)
    assert fire.cycles_limit == limit
    (decision,) = chain.last.trace
    assert decision.numbers["max_cost"] == (limit + 550_000) * 1_000


# --- D24: see tests/property/test_calendar.py as well --------------------------------


@pytest.mark.parametrize(
    "sizes", [(256, 3_600, 24), (256, 360, 2), (1, 1, 1), (5, 7, 3)]
)
def test_d24_no_tier_shows_in_any_outcome(devnet, sizes):
    """D24: "no tier shows in any outcome or root"."""
    names = ("ring_size", "epoch_length", "epochs")
    roots = []
    for calendar in ({}, dict(zip(names, sizes, strict=True))):
        chain = devnet(calendar=calendar)
        actor = chain.deploy(SCHEDULER, value="20 CBY")
        heights = (4, 9, 9, 12, 30, 31)
        schedule_all(actor, *[(h, bytes([n]), SMALL) for n, h in enumerate(heights)])
        chain.mine_until(40)
        assert fired_heights(actor) == list(heights)
        roots.append([r.header.state_root for r in chain.results])
    assert roots[0] == roots[1]


# --- D25 ---------------------------------------------------------------------------

REFUSED_CONFIGS = [
    {"max_ttl_blocks": 0},
    {"max_cycles_per_fire": 0},
    {"max_cells_per_fire": 0},
    {"max_timers_per_actor": 0},
    {"gc_cycles_per_block": 0},
    {"lane_timer_cycles": 0},
    {"max_cycles_per_fire_auction": 0},
    {"fairness_window_blocks": 0},
    {"fairness_window_blocks": 10_001},
    {"tier_multipliers_permille": (0, 1, 1, 1)},
    {"max_due_examined": 0},
    {"lane_gba_cycles": 0},
    {"fire_base_cycles": 0},
    {"lane_timer_cycles": 549_999},
    {"max_cycles_per_fire": 2_000_001},
    {"max_cycles_per_fire_auction": 2_000_001},
    {"max_cycles_per_fire": 999},
    {"max_cycles_per_fire_auction": 999},
    {"gc_cycles_per_block": 1_999_999},
    {"max_due_examined": 25_001},
    {"max_cells_per_fire": 1_200_001},
    {"fire_base_cycles": 50_001},
]


@pytest.mark.parametrize("change", REFUSED_CONFIGS, ids=str)
def test_d25_a_config_that_breaks_a_rule_is_refused(chain, change):
    # D25: "Refused unless all > 0, lane ≥ both caps ≥ fire base, gc ≥ 200 *
    # max_due_examined …, max_cells_per_fire ≤ 1,200,000 …, fire base ≤ 50,000".
    before = load_timer_config(chain.state.snapshot, chain.params)
    receipt = chain.execute(
        UpdateTimerConfig(replace(TimerConfig(), **change)), expect_failure=True
    )
    assert receipt.failure.kind == "InvalidInput"
    assert chain.last.events == ()
    assert load_timer_config(chain.state.snapshot, chain.params) == before


@pytest.mark.parametrize(
    "change",
    [
        {"fairness_window_blocks": 10_000},
        {"lane_timer_cycles": 550_000},
        {"max_cycles_per_fire": 2_000_000},
        {"gc_cycles_per_block": 2_000_000},
        {"max_due_examined": 25_000},
        {"max_cells_per_fire": 1_200_000},
        {"fire_base_cycles": 50_000},
    ],
    ids=str,
)
def test_d25_a_config_at_the_bound_is_accepted(chain, change):
    """D25: each bound itself is allowed."""
    config = replace(TimerConfig(), **change)
    chain.execute(UpdateTimerConfig(config))
    assert load_timer_config(chain.state.snapshot, chain.params) == config


def test_d3_the_last_config_of_a_block_wins(chain, actor):
    # D3: "a change is written through at once and seen from the next block; the last
    # one in a block wins".
    for ttl in (10, 20):
        config = replace(TimerConfig(), max_ttl_blocks=ttl)
        chain.submit(UpdateTimerConfig(config))
    chain.mine()
    timer_id = schedule(actor, 99)
    assert chain.timer(timer_id).expires_at == chain.height + 20
    assert fired_payloads(actor) == []
