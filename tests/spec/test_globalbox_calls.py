"""The calls of the rules `globalbox` (GBX §5, §6, §12, D50, D56)."""

import pytest
from msgspec.structs import replace

from node.chain.accounts import load_account
from node.chain.globals import load_governed
from node.chain.params import GlobalboxConfig
from node.chain.timers import calendar
from node.chain.timers.timer import Decision, derive_timer_id
from node.chain.transaction import UpdateGlobalboxConfig, UpdateTimerConfig
from node.primitives import codec
from node.primitives.crypto import keccak256
from pvm import costs
from tests.spec.driven_actors import refusal, refused, route, schedule
from tests.spec.globalbox_actors import (
    GLOBALBOX,
    SETTER,
    decided,
    fired,
    put,
    refusal_of,
    set_timeout,
    set_timeouts,
    set_watch,
    told,
)

SOON = 60
UNIT = 2**96
"""A bid of one base unit a cycle."""


@pytest.fixture
def chain(devnet):
    return devnet(**GLOBALBOX)


@pytest.fixture
def actor(chain):
    return chain.deploy(SETTER, value="90 CBY")


@pytest.fixture
def other(chain):
    return chain.deploy(SETTER + "\n", value="90 CBY")


def test_6_1_set_timeout_calls_a_target_at_a_height(chain, actor, other):
    """§6.1.

    "set_timeout(target, due_height, payload, gas_limit, bid_fp?) -> timer_id".
    """
    timer = set_timeout(actor, SOON, route("tell", b"p"), other.address)
    assert len(timer) == 32
    chain.mine_until(SOON)
    assert fired(chain) == [timer]
    ((height, sender, seen, payload),) = told(other)
    assert (height, sender, payload) == (SOON, actor.address, b"p")
    assert (seen["kind"], seen["due_height"]) == ("HEIGHT", SOON)


def test_6_1_a_payer_is_the_owner(chain, actor, other):
    """D54: "payer the record's"; nobody but the owner consented (D13)."""
    set_timeout(actor, SOON, target=other.address)
    chain.mine_until(SOON - 1)
    before = actor.balance, other.balance
    chain.mine()
    (receipt,) = chain.last.receipts
    assert receipt.payer == receipt.sender == actor.address
    assert receipt.actor == other.address
    assert (before[0] - actor.balance, before[1] - other.balance) == (receipt.fee, 0)


def test_6_1_cancel_is_the_owners(chain, actor, other):
    """D50.

    "cancel, extend, get, list as ever, by the owner (the target has no say)".
    """
    timer = set_timeout(actor, SOON, target=other.address)
    receipt = other.call("cancel", timer, expect_failure=True)
    assert refused(receipt) == "Unauthorized"
    assert codec.decode(other.call("list").value) == []
    assert codec.decode(actor.call("list").value) == [timer]
    actor.call("cancel", timer)
    chain.mine_until(SOON)
    assert fired(chain) == []


@pytest.mark.parametrize("rules", ["fifo", "auction", "bidding"])
def test_d50_other_rules_refuse_the_calls_after_the_base_charge(devnet, rules):
    """D50: "under others `UnsupportedTimerType` (after the base charge)"."""
    chain = devnet(activations=[{"height": 0, "rules": rules}])
    actor = chain.deploy(SETTER)
    calls = {
        "timeout": [actor.address, SOON, b"", {}],
        "watch": [b"no address", 7, 7, {}],
        "update": [bytes(32), {}],
    }
    for handler, arguments in calls.items():
        assert refusal_of(actor, handler, *arguments) == "UnsupportedTimerType"
    done = actor.call("act", codec.encode([["update_timer", [bytes(32)], {}]]))
    twice = codec.encode([["update_timer", [bytes(32)], {}]] * 2)
    more = actor.call("act", twice).cycles_used - done.cycles_used
    assert more > costs.UPDATE_TIMER


WRONG = {
    "timeout": [
        ("NotFound", [bytes(20), SOON, b"", {}]),
        ("InvalidInput", [bytes(19), SOON, b"", {}]),
        ("InvalidInput", [None, SOON, b"", {}]),
        ("InvalidInput", ["self", 1, b"", {}]),
        ("InvalidInput", ["self", -1, b"", {}]),
        ("InvalidInput", ["self", True, b"", {}]),
        ("InvalidInput", ["self", 2**64, b"", {}]),
        ("InvalidInput", ["self", SOON, "text", {}]),
        ("InvalidInput", ["self", SOON, b"", {"gas_limit": 999}]),
        ("InvalidInput", ["self", SOON, b"", {"gas_limit": 550_001}]),
        ("InvalidInput", ["self", SOON, b"", {"gas_limit": b"1000"}]),
        ("InvalidInput", ["self", SOON, b"", {"bid_fp": -1}]),
        ("InvalidInput", ["self", SOON, b"", {"bid_fp": 2**128}]),
        ("InvalidInput", ["self", SOON, b"", {"bid_fp": "1"}]),
        ("InvalidInput", ["self", SOON, b"", {"client_nonce": b""}]),
        ("InvalidInput", ["self", SOON, b"", {"client_nonce": bytes(33)}]),
        ("InvalidInput", ["self", SOON, b"", {"client_nonce": 1}]),
        ("InvalidInput", ["self", SOON, b"", {"expires_at": 10**9}]),
        ("InvalidInput", ["self", SOON, b"", {"expires_at": -1}]),
        ("InvalidInput", ["self", SOON, route("h" * 257), {}]),
    ],
    "watch": [
        ("NotFound", [bytes(20), [b"k"], b"", {}]),
        ("InvalidInput", ["self", [], b"", {}]),
        ("InvalidInput", ["self", [b"k"] * 17, b"", {}]),
        ("InvalidInput", ["self", b"k", b"", {}]),
        ("InvalidInput", ["self", None, b"", {}]),
        ("InvalidInput", ["self", {"k": 1}, b"", {}]),
        ("InvalidInput", ["self", [7], b"", {}]),
        ("InvalidInput", ["self", [None], b"", {}]),
        ("InvalidInput", ["self", [bytes(257)], b"", {}]),
        ("InvalidInput", ["self", ["s" * 249], b"", {}]),
        ("InvalidInput", ["self", [[bytes(20)]], b"", {}]),
        ("InvalidInput", ["self", [[bytes(19), b"k"]], b"", {}]),
        ("InvalidInput", ["self", [[bytes(20), b"k", b"k"]], b"", {}]),
        ("InvalidInput", ["self", [[bytes(20), 1]], b"", {}]),
        ("InvalidInput", ["self", [b"k"], None, {}]),
        ("InvalidInput", ["self", [b"k"], b"", {"bid_fp": 2**128}]),
        ("InvalidInput", ["self", [b"k"], b"", {"client_nonce": bytes(33)}]),
    ],
    "update": [
        ("TimerNotFound", [bytes(32), {}]),
        ("InvalidInput", [b"", {}]),
        ("InvalidInput", [7, {}]),
        ("InvalidInput", ["own", {"payload": 7}]),
        ("InvalidInput", ["own", {"payload": route("h" * 257)}]),
        ("InvalidInput", ["own", {"gas_limit": 999}]),
        ("InvalidInput", ["own", {"gas_limit": 550_001}]),
        ("InvalidInput", ["own", {"bid_fp": -1}]),
        ("InvalidInput", ["own", {"bid_fp": 2**128}]),
        ("Unauthorized", ["foreign", {"bid_fp": 1}]),
    ],
}


@pytest.mark.parametrize("handler", WRONG)
def test_d16_a_wrong_argument_is_refused_by_name_and_changes_nothing(
    chain, actor, other, handler
):
    """§6.1 "Error codes"; D16: "charge their base first, then validate"."""
    stand_ins = {
        "self": actor.address,
        "own": set_timeout(actor, SOON),
        "foreign": set_timeout(other, SOON, target=actor.address),
    }
    before = codec.decode(actor.call("list").value)
    for name, arguments in WRONG[handler]:
        filled = [stand_ins.get(a, a) if isinstance(a, str) else a for a in arguments]
        data = codec.encode(filled)
        receipt = actor.call(handler, data, expect_failure=True)
        assert (refused(receipt), arguments) == (name, arguments)
        assert receipt.cycles_used > 5_000 + costs.SCHEDULE_TIMER
        assert receipt.scheduled == ()
        assert chain.last.trace == ()
    assert codec.decode(actor.call("list").value) == before


def test_d50_what_the_calls_cost(actor):
    """D50.

    "200 cycles and payload cells […], a watch key 50 cycles and 20 + its prefix's bytes
    in cells more".
    """

    def cost(call):
        receipt = actor.call("act", codec.encode([call]))
        assert receipt.is_success
        return receipt.cycles_used, receipt.cells_used - len(receipt.value)

    def payload(count):
        return ["set_timeout", [actor.address, SOON, bytes(count)], {}]

    cost(payload(1))  # the first one writes `done`
    short, long = cost(payload(10)), cost(payload(110))
    # The body of the transaction is longer by the payload, too, and by a longer head.
    assert long[1] - short[1] == 2 * 100 + 1

    def watch(*keys):
        return ["set_state_watch", [actor.address, list(keys), b""], {}]

    one, two = cost(watch(b"abc")), cost(watch(b"abc", b"defgh"))
    assert two[1] - one[1] == costs.WATCH_KEY_CELLS + 5 + 6  # 6 more of the body
    assert two[0] - one[0] >= costs.WATCH_KEY

    timer = set_timeout(actor, SOON, bytes(500))

    def update(**options):
        return ["update_timer", [timer], options]

    cost(update(gas_limit=9_000))
    bid = cost(update(bid_fp=1))
    short, long = cost(update(payload=bytes(10))), cost(update(payload=bytes(110)))
    assert long[1] - short[1] == 2 * 100 + 1
    # A name of seven bytes for one of six, ten bytes with their head for a number: of
    # the payload that it had, nothing is paid again.
    assert short[1] - bid[1] == 10 + 1 + 10


def test_d51_bounds_of_watch_keys_are_inclusive(chain, actor):
    """D51: "≤ 256 bytes, `storage:` of a str included"; "1 to `max_watch_keys`"."""
    longest = "s" * (256 - len("storage:"))
    timer = set_watch(actor, [bytes(256), longest, *[b"k"] * 14])
    watched = [prefix for _, prefix in chain.timer(timer).watch_keys]
    assert (len(watched), [len(one) for one in watched[:2]]) == (16, [256, 256])
    chain.execute(UpdateGlobalboxConfig(GlobalboxConfig(max_watch_keys=64)))
    more = set_watch(actor, [b"%d" % n for n in range(64)], gas_limit=50_000)
    put(actor, (b"63", b"1"))
    assert fired(chain) == [more]


def test_d50_bounds_are_inclusive(chain, actor):
    """D50: "within [min_bid_fp, max_bid_fp]"; "omitted: min_bid_fp"."""
    chain.execute(
        UpdateGlobalboxConfig(
            GlobalboxConfig(min_bid_fp=5, max_bid_fp=9, min_gas_limit=7_000)
        )
    )
    timers = set_timeouts(
        actor,
        (None, SOON, b"", {"bid_fp": 5}),
        (None, SOON, b"", {"bid_fp": 9, "gas_limit": 7_000}),
        (None, SOON, b"", {}),
    )
    assert [chain.timer(t).bid_fp for t in timers] == [5, 9, 5]
    for options in ({"bid_fp": 4}, {"bid_fp": 10}, {"gas_limit": 6_999}):
        arguments = [actor.address, SOON, b"", options]
        assert refusal_of(actor, "timeout", *arguments) == "InvalidInput"
    assert refusal(actor, SOON, gas_limit=6_999) == "InvalidInput"


def test_12_max_payload_size(chain, actor):
    """§12: "MAX_PAYLOAD_SIZE (robustness)"."""
    chain.execute(UpdateGlobalboxConfig(GlobalboxConfig(max_payload=10)))
    timer = set_timeout(actor, SOON, bytes(10))
    for handler, arguments in {
        "timeout": [actor.address, SOON, bytes(11), {}],
        "watch": [actor.address, [b"k"], bytes(11), {}],
        "update": [timer, {"payload": bytes(11)}],
    }.items():
        assert refusal_of(actor, handler, *arguments) == "InvalidInput"
    assert refusal(actor, SOON, bytes(11)) == "InvalidInput"


def test_d50_schedule_timer_is_set_timeout_on_oneself(chain, actor):
    """D50.

    "`bid` as `bid_fp`, […] the tier hint as bucket (unknown: `InvalidInput`); other fee
    fields are recorded, unused".
    """
    fees = {"max_fee_per_cycle": 1, "max_priority_fee_per_cycle": 2}
    timer = schedule(actor, SOON, bid=UNIT, priority_tier_hint="fast", **fees)
    live = chain.timer(timer)
    assert (live.target, live.bid_fp, live.bucket) == (actor.address, UNIT, 3)
    assert (live.max_fee_per_cycle, live.max_priority_fee_per_cycle) == (1, 2)
    assert refusal(actor, SOON, priority_tier_hint="soon") == "InvalidInput"
    assert refusal(actor, SOON, bid=2**128) == "InvalidInput"
    chain.mine_until(SOON)
    assert chain.last.receipts[0].price.cycle_tip == 1


def test_d50_schedule_timer_ex_and_a_payer_that_signed(chain, actor):
    """D50: "`schedule_timer[_ex]` is `set_timeout` on oneself", its payer by D13."""
    signer = chain.accounts[0].address
    data = codec.encode([SOON, b"", {"fee_payer": signer, "gas_limit": 100_000}])
    timers = [actor.call(call, data).value for call in ("schedule", "schedule_ex")]
    assert [chain.timer(timer).target for timer in timers] == [actor.address] * 2
    stranger = chain.accounts[1].address
    assert refusal(actor, SOON, fee_payer=stranger) == "InvalidInput"
    chain.mine_until(SOON - 1)
    before = actor.balance, chain.balance(signer)
    chain.mine()
    assert {receipt.payer for receipt in chain.last.receipts} == {signer}
    paid = sum(receipt.fee for receipt in chain.last.receipts)
    assert (actor.balance, chain.balance(signer)) == (before[0], before[1] - paid)


def test_d50_get_tells_of_a_watch_and_of_what_is_queued(devnet):
    """D50: "cancel, extend, get, list as ever, by the owner"."""
    chain = devnet(**GLOBALBOX, globalbox_config={"max_fires_per_block": 1})
    actor = chain.deploy(SETTER, value="90 CBY")
    other = chain.deploy(SETTER + "\n", value="90 CBY")
    terms = {"gas_limit": 100_000}
    watch = set_watch(actor, [b"k"], b"w", **terms)
    timers = set_timeouts(
        actor, *((other.address, 20, b"%d" % n, terms) for n in range(2))
    )
    chain.mine_until(20)
    (queued,) = {*timers} - {*fired(chain)}
    for timer, height in ((queued, 20), (watch, None)):
        seen = codec.decode(actor.call("get", timer).value)
        assert (seen["timer_id"], seen["height"]) == (timer, height)
        assert other.call("get", timer).value == b""  # None


def test_10_a_timer_does_not_fire_in_the_block_that_set_it(chain, actor):
    """§10.

    "Timers created within the current block MUST NOT execute in the same block"; D50:
    "`due_height` > current".
    """
    now = chain.height + 1
    assert refusal_of(actor, "timeout", actor.address, now, b"", {}) == "InvalidInput"
    timer = set_timeout(actor, now + 2)
    assert fired(chain) == []
    chain.mine()
    assert fired(chain) == [timer]


# --- ids -----------------------------------------------------------------------------


def test_d19_ids_follow_from_height_payload_and_counter(actor):
    """D50: "Else D19 (watches with height 0)"."""
    timer = set_timeout(actor, SOON, b"p")
    watch = set_watch(actor, [b"k"], b"p")
    assert timer == derive_timer_id(actor.address, SOON, b"p", 0)
    assert watch == derive_timer_id(actor.address, 0, b"p", 1)


def test_6_2_a_client_nonce_maps_to_a_stable_id(chain, actor, other):
    """§6.2: "(owner, target, client_nonce) to a stable timer_id"."""
    timer = set_timeout(actor, SOON, b"p", other.address, client_nonce=b"n")
    assert timer == keccak256(b"client" + actor.address + other.address + b"n")
    assert load_account(chain.state.snapshot, actor.address).scheduling_counter == 0


def test_6_2_the_same_nonce_again_changes_nothing_and_costs_the_same(chain, actor):
    """D50.

    "the call, if its arguments are valid, returns this id, changes nothing and costs
    the same; checked before the limits".
    """
    call = ["set_timeout", [actor.address, SOON, b"p"], {"client_nonce": b"n"}]
    first = actor.call("act", codec.encode([call]))
    live = chain.timer(codec.decode(first.value)[0])
    config = chain.params.timer_config
    chain.execute(UpdateTimerConfig(replace(config, max_timers_per_actor=1)))
    again = actor.call("act", codec.encode([call]))
    later = actor.call("act", codec.encode([call]))
    assert again.value == later.value == first.value
    assert (again.scheduled, again.cycles_used) == ((), later.cycles_used)
    assert chain.timer(live.timer_id) == live
    other_payload = [actor.address, SOON + 5, b"q", {"client_nonce": b"n"}]
    assert actor.call("timeout", codec.encode(other_payload)).value == live.timer_id
    assert chain.timer(live.timer_id) == live
    bad = [actor.address, 1, b"", {"client_nonce": b"n"}]
    assert refusal_of(actor, "timeout", *bad) == "InvalidInput"
    more = [actor.address, SOON, b"", {"client_nonce": b"m"}]
    assert refusal_of(actor, "timeout", *more) == "TimerLimit"


def test_6_2_nonces_of_other_owners_and_targets_are_others(chain, actor, other):
    """§6.2: the id is of (owner, target, client_nonce)."""
    options = {"client_nonce": b"n", "gas_limit": 100_000}
    ids = {
        set_timeout(actor, SOON, **options),
        set_timeout(actor, SOON, target=other.address, **options),
        set_timeout(other, SOON, **options),
        set_timeout(other, SOON, target=actor.address, **options),
    }
    assert len(ids) == 4
    chain.mine_until(SOON)
    assert set(fired(chain)) == ids


def test_6_2_a_nonce_is_free_once_its_timer_ended(chain, actor):
    """D50: "while such a timer lives"."""
    first = set_timeout(actor, SOON, b"p", client_nonce=b"n")
    chain.mine_until(SOON)
    assert fired(chain) == [first]
    assert set_timeout(actor, 2 * SOON, b"q", client_nonce=b"n") == first
    assert chain.timer(first).payload == b"q"
    chain.mine_until(2 * SOON)
    assert fired(chain) == [first]


def test_6_2_a_nonce_of_a_materialized_timer_is_taken_until_it_begins(chain, actor):
    """D50: "HEIGHT: also materialized and not yet started"."""
    second = ["set_timeout", [actor.address, 2 * SOON, b"new"], {"client_nonce": b"2"}]
    probe = route("act", codec.encode([second]))
    first, waiting = set_timeouts(
        actor,
        (None, SOON, probe, {"client_nonce": b"1", "bid_fp": UNIT}),
        (None, SOON, probe, {"client_nonce": b"2"}),
    )
    chain.mine_until(SOON)
    assert fired(chain) == [first, waiting]
    scheduled = [r.scheduled for r in chain.last.receipts]
    assert scheduled == [(), (waiting,)]  # the one that has begun is no more


RENEWER = """
import pvm_host

def make(payload):
    return pvm_host.set_timeout(
        pvm_host.self_address(), 60, payload, client_nonce=b"n"
    )

def make_and_fail(payload):
    make(payload)
    raise ValueError("what was set is undone")

def renew(payload):
    timer = pvm_host.list_timers()[0]
    pvm_host.cancel_timer(timer)
    try:
        pvm_host.call_actor(pvm_host.self_address(), "make_and_fail", b"")
    except pvm_host.RevertError:
        pass
    assert pvm_host.get_timer(timer) is None
    assert pvm_host.list_timers() == []
    try:
        pvm_host.cancel_timer(timer)
    except pvm_host.HostError as error:
        return error.name
"""


def test_6_2_a_renewal_that_is_undone_leaves_a_cancelled_timer_cancelled(chain):
    """D16, D50: a nonce names a timer again; who undoes that has none, not the old."""
    actor = chain.deploy(RENEWER)
    timer = actor.call("make", b"p").value
    assert actor.call("renew", b"").value == b"TimerNotFound"
    assert chain.timer(timer) is None
    assert actor.call("make", b"q").value == timer
    assert chain.timer(timer).payload == b"q"


# --- update --------------------------------------------------------------------------


def test_6_2_an_update_affects_future_fires(chain, actor):
    """§6.2: "updating payload/gas_limit/bid affects the future fires generated"."""
    timer = set_timeout(actor, SOON, route("tell", b"old"), gas_limit=100_000)
    options = {"payload": route("tell", b"new"), "gas_limit": 200_000, "bid_fp": UNIT}
    actor.call("update", codec.encode([timer, options]))
    (decision,) = decided(chain, Decision.UPDATED)
    assert decision.timer_id == timer
    chain.mine_until(SOON)
    (receipt,) = chain.last.receipts
    assert (receipt.cycles_limit, receipt.price.cycle_tip) == (200_000, 1)
    assert told(actor)[0][3] == b"new"


def test_6_2_an_update_of_nothing_is_one(chain, actor):
    """D50: every argument of `update_timer` is optional."""
    timer = set_timeout(actor, SOON, b"p", gas_limit=9_000, bid_fp=3)
    before = chain.timer(timer)
    actor.call("update", codec.encode([timer, {}]))
    assert chain.timer(timer) == before


# --- quotas --------------------------------------------------------------------------


def test_12_timers_per_owner_count_watches_and_queued_ones(devnet):
    """D56.

    "timers by owner (`max_timers_per_actor`, watches and queued ones included)".
    """
    chain = devnet(
        **GLOBALBOX,
        timer_config={"max_timers_per_actor": 3},
        globalbox_config={"max_fires_per_block": 1},
    )
    actor = chain.deploy(SETTER, value="90 CBY")
    set_watch(actor, [b"k"])
    due = chain.height + 2
    set_timeouts(actor, (None, due, b"", {}), (None, due, b"", {}))
    arguments = [actor.address, 99, b"", {}]
    chain.mine_until(due)  # one of them fires, the other is queued
    set_timeout(actor, 99)
    chain.mine()
    set_timeout(actor, 99)
    assert refusal_of(actor, "timeout", *arguments) == "TimerLimit"
    assert refusal(actor, 99) == "TimerLimit"


def test_12_timers_per_target_count_those_of_others_only(devnet):
    """D56.

    "by target only those of other owners (else strangers could fill it and stop an
    actor's own)".
    """
    chain = devnet(**GLOBALBOX, globalbox_config={"max_timers_per_target": 2})
    actor = chain.deploy(SETTER, value="90 CBY")
    target = chain.deploy(SETTER + "\n", value="90 CBY")
    set_timeout(actor, 99, target=target.address)
    first = set_watch(actor, [b"k"], target=target.address)
    arguments = [target.address, 99, b"", {}]
    assert refusal_of(actor, "timeout", *arguments) == "TimerLimit"
    for _ in range(3):
        set_timeout(target, 99)
    actor.call("cancel", first)
    set_timeout(actor, 99, target=target.address)
    assert calendar.guests_of(chain.state.snapshot, target.address) == 2


def test_12_both_quotas_hold_within_one_execution(devnet):
    """D56: "Counted at set": what the same execution set before is counted."""
    chain = devnet(**GLOBALBOX, globalbox_config={"max_timers_per_target": 2})
    actor = chain.deploy(SETTER, value="90 CBY")
    target = chain.deploy(SETTER + "\n", value="90 CBY")
    calls = [["set_timeout", [target.address, 99, bytes([n])], {}] for n in range(3)]
    done = codec.decode(actor.call("act", codec.encode(calls)).value)
    assert done[2] == "TimerLimit"


# --- governance ----------------------------------------------------------------------


def test_d56_the_defaults():
    """D56: the fields of `GlobalboxConfig` in order."""
    config = GlobalboxConfig()
    assert config == GlobalboxConfig(
        128, 8, 4_096, 2**96, 1, 1_000, 0, 2**128 - 1, 16, 1_000, 1_048_576
    )
    assert config.violations() == []


@pytest.mark.parametrize(
    "change",
    [
        {"max_fires_per_block": 0},
        {"max_fires_per_block": 10_001},
        {"max_fires_per_target": 0},
        {"max_fires_per_target": 10_001},
        {"max_timers_per_target": 0},
        {"w_age": 0},
        {"w_age": 2**96 + 1},
        {"w_bid": 0},
        {"w_bid": 2**64},
        {"min_bid_fp": 2, "max_bid_fp": 1},
        {"max_watch_keys": 0},
        {"max_watch_keys": 65},
        {"max_hits_per_block": 0},
        {"max_hits_per_block": 10_001},
        {"max_payload": 0},
        {"max_payload": 1_048_577},
    ],
)
def test_d56_what_an_update_is_refused_for(chain, change):
    """D56: "refused unless all > 0 but min_gas_limit and min_bid_fp ≥ 0, …"."""
    config = replace(GlobalboxConfig(), **change)
    receipt = chain.execute(UpdateGlobalboxConfig(config), expect_failure=True)
    assert receipt.failure.kind == "InvalidInput"


@pytest.mark.parametrize(
    "config",
    [
        GlobalboxConfig(1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1),
        GlobalboxConfig(
            10_000, 10_000, 2**64 - 1, 2**96, 2**64 - 1, 2**64 - 1, 2**128 - 1,
            2**128 - 1, 64, 10_000, 1_048_576,
        ),
    ],
)  # fmt: skip
def test_d56_a_config_is_accepted_at_each_bound(chain, config):
    """D56: each comparison admits equality."""
    chain.execute(UpdateGlobalboxConfig(config))
    governed = load_governed(chain.state.snapshot, chain.params)
    assert governed.globalbox_config == config


@pytest.mark.parametrize("rules", ["fifo", "auction", "bidding"])
def test_d52_the_clock_goes_on_under_other_rules(devnet, rules):
    """D52: `A(h)` is "rewritten to (A(h), h) by each instruction 237"."""
    chain = devnet(activations=[{"height": 0, "rules": rules}])
    chain.mine_until(9)
    chain.execute(UpdateGlobalboxConfig(GlobalboxConfig(w_age=5)))
    clock = load_governed(chain.state.snapshot, chain.params).globalbox_clock
    assert (clock.base, clock.since) == (10 * 2**96, 10)
    chain.mine_until(19)
    chain.submit(UpdateGlobalboxConfig(GlobalboxConfig(w_age=7)))
    chain.submit(UpdateGlobalboxConfig(GlobalboxConfig(w_age=9)))
    chain.mine()
    clock = load_governed(chain.state.snapshot, chain.params).globalbox_clock
    assert (clock.base, clock.since) == (10 * 2**96 + 10 * 5, 20)
    assert clock.at(22, 9) == clock.base + 2 * 9


def test_d56_an_update_announces_itself_and_holds_from_the_next_block(chain, actor):
    """D56.

    "instruction 237 (one array of all, D3; event `globalbox_config.updated`)".
    """
    config = GlobalboxConfig(max_watch_keys=1, min_gas_limit=0, w_age=1)
    chain.execute(UpdateGlobalboxConfig(config))
    assert [e.topic for e in chain.last.events] == ["globalbox_config.updated"]
    arguments = [actor.address, [b"a", b"b"], b"", {}]
    assert refusal_of(actor, "watch", *arguments) == "InvalidInput"
    receipt = chain.execute(
        UpdateGlobalboxConfig(config), sender=chain.accounts[1], expect_failure=True
    )
    assert receipt.failure.kind == "Unauthorized"
