"""State-triggered timers of the rules `globalbox` (GBX §7, §14, D51)."""

import pytest

from node.archive.globalbox_verification import verify_globalbox
from node.chain.params import GlobalboxConfig
from node.chain.timers.globalbox import hits, matching, watches
from node.chain.timers.globalbox.matching import matched_keys
from node.chain.timers.timer import Decision
from node.chain.transaction import (
    CancelTimer,
    ExecuteActor,
    ExtendTimer,
    UpdateGlobalboxConfig,
)
from node.primitives import codec
from node.primitives.crypto import derive_actor_address, keccak256
from node.primitives.types import Amount
from node.state import keys
from pvm import STORAGE_PREFIX
from tests.spec.driven_actors import route, said
from tests.spec.globalbox_actors import (
    GLOBALBOX,
    SETTER,
    decided,
    fired,
    put,
    set_timeout,
    set_watch,
    told,
)

CHEAP = {"gas_limit": 60_000}


@pytest.fixture
def chain(devnet):
    return devnet(**GLOBALBOX)


@pytest.fixture
def actor(chain):
    return chain.deploy(SETTER, value="90 CBY")


@pytest.fixture
def oracle(chain):
    return chain.deploy(SETTER + "\n", value="90 CBY")


def watch(actor, *keys_, **options):
    return set_watch(actor, list(keys_), route("tell", b"w"), **(CHEAP | options))


def states(chain):
    """What each live watch is doing."""
    return {one.timer.timer_id: one.status.state.value for one in chain.watches()}


def test_1_it_fires_in_the_block_that_modified_a_watched_key(chain, actor, oracle):
    """§1: "fires when a watched key is modified within the current block"."""
    timer = watch(actor, (oracle.address, b"price"))
    put(oracle, (b"price", b"7"))
    assert fired(chain) == [timer]
    ((height, _, seen, _),) = told(actor)
    assert (seen["kind"], seen["hit_height"]) == ("STATE_WATCH", height)
    assert seen["matched_keys"] == [[oracle.address, b"price"]]
    assert seen["due_height"] is None


def test_7_1_what_it_does_not_watch_does_not_concern_it(actor, oracle):
    """§7.1: "watch_keys ∩ ModifiedKeySet(h) ≠ ∅"."""
    watch(actor, (oracle.address, b"price"))
    put(oracle, (b"pric", b"7"), (b"other", b"7"))
    put(actor, (b"price", b"7"))
    assert told(actor) == []
    put(oracle, (b"price:eth", b"7"))
    assert len(told(actor)) == 1


def test_d51_an_empty_prefix_is_for_all_keys(chain, actor, oracle):
    """D51: "empty for all"."""
    timer = watch(actor, (oracle.address, b""))
    for key in (b"\x00", b"k" * 256):
        put(oracle, (key, b"7"))
        assert fired(chain) == [timer]


def test_d51_a_prefix_alone_is_of_the_owners_state(chain, actor, oracle):
    """D51: "or a prefix alone for the owner's state"."""
    timer = watch(actor, b"own")
    put(oracle, (b"own", b"7"))
    assert fired(chain) == []
    put(actor, (b"own", b"7"))
    assert fired(chain) == [timer]


def test_d51_a_str_is_as_the_storage_names_it(chain, actor, oracle):
    """D51: "or str as `self.storage` names them"."""
    timer = watch(actor, (oracle.address, "fires"), (actor.address, ""))
    put(oracle, (b"fires", b"7"))
    assert fired(chain) == []
    put(oracle, (STORAGE_PREFIX + b"fires", codec.encode([])))
    assert fired(chain) == [timer]
    # Its own handler writes `told`, which it watches: so it goes on.
    chain.mine()
    assert fired(chain) == [timer]


def test_d51_the_address_need_not_exist(chain, actor):
    """D51: "the address need not exist"."""
    assert len(watch(actor, (b"\x77" * 20, b"k"))) == 32
    chain.mine(50)
    assert told(actor) == []


def test_d51_written_back_is_not_modified(actor, oracle):
    """D51: "ModifiedKeySet is net"."""
    put(oracle, (b"k", b"1"), (b"gone", b"1"))
    watch(actor, (oracle.address, b""))
    put(oracle, (b"k", b"1"))
    put(oracle, (b"k", b"2"), (b"k", b"1"))
    put(oracle, (b"new", b"2"), (b"new", None))
    put(oracle, (b"never", None))
    assert told(actor) == []
    put(oracle, (b"gone", None))
    assert told(actor)[0][2]["matched_keys"] == [[oracle.address, b"gone"]]


def test_d51_net_is_over_all_transactions_of_a_block(chain, actor, oracle):
    """D51: "the changes by this block's transactions", net."""
    put(oracle, (b"k", b"1"))
    watch(actor, (oracle.address, b"k"))
    for value in (b"2", b"1"):
        data = codec.encode([[b"k", value]])
        chain.submit(ExecuteActor(oracle.address, "put", data, Amount(0)))
    chain.mine()
    assert told(actor) == []


def test_d51_what_fails_modifies_nothing(actor, oracle):
    """D16: effects of a failed execution are undone."""
    watch(actor, (oracle.address, b""))
    oracle.call("put", codec.encode([[b"k", b"1"], [b"", b"1"]]), expect_failure=True)
    assert told(actor) == []


def test_d51_balances_and_timers_are_not_storage(chain, actor, oracle):
    """D51: "balances, code, timers are not storage"."""
    watch(actor, (oracle.address, b""))
    chain.fund(oracle, "5 CBY")
    set_timeout(oracle, 500)
    assert told(actor) == []


def test_d51_what_a_deployment_writes_is(chain, actor):
    """D51: "what a deployment writes is"."""
    source = 'import pvm_host\ndef deploy():\n    pvm_host.set_state(b"k", b"v")\n'
    deployer, salt = chain.accounts[0].address, b"s" * 32
    address = derive_actor_address(deployer, salt, keccak256(source.encode()))
    watch(actor, (address, b"k"))
    assert chain.deploy(source, salt=salt).address == address
    assert told(actor)[0][2]["matched_keys"] == [[address, b"k"]]


def test_d51_it_sees_nothing_of_the_block_that_registered_it(chain, actor):
    """D51: "A watch sees nothing of the block that registered it"."""
    call = ["set_state_watch", [actor.address, [b""], route("tell")], CHEAP]
    actor.call("act", codec.encode([call, ["set_state", [b"k", b"v"], {}]]))
    assert fired(chain) == []
    chain.mine()
    assert fired(chain) == []  # neither what that transaction wrote
    put(actor, (b"k", b"w"))
    assert len(fired(chain)) == 1


# --- idle, or waiting ----------------------------------------------------------------


def test_7_2_a_further_hit_changes_nothing(devnet):
    """§7.2: "filter out those that already have a fire in Globalbox"."""
    chain = devnet(**GLOBALBOX, timer_config={"lane_timer_cycles": 550_000})
    actor = chain.deploy(SETTER, value="90 CBY")
    first = watch(actor, b"k")
    second = watch(actor, b"k", gas_limit=550_000)
    put(actor, (b"k", b"1"))
    assert fired(chain) == [first]
    put(actor, (b"k", b"2"))  # the second is queued and is not hit again
    hit = decided(chain, Decision.HIT)
    assert [d.timer_id for d in hit] == [first]
    assert fired(chain) == [second]
    assert told(actor)[-1][2]["hit_height"] == chain.height - 1


def test_d51_a_watch_lives_on_after_a_fire(chain, actor):
    """D51: "Watches live on after a fire, until cancelled, unfunded or expired"."""
    timer = watch(actor, b"k")
    for value in (b"1", b"2", b"3"):
        put(actor, (b"k", value))
        assert fired(chain) == [timer]
    assert [seen["fire_seq"] for _, _, seen, _ in told(actor)] == [0, 1, 2]
    actor.call("cancel", timer)
    put(actor, (b"k", b"4"))
    assert fired(chain) == []


def test_d51_a_watch_that_cannot_pay_is_removed(chain, oracle):
    """D53: "unfunded → removed with its event, a watch too"."""
    poor = chain.deploy(SETTER + "\n\n", value="0.1 CBY")
    timer = watch(poor, (oracle.address, b"k"))
    put(oracle, (b"k", b"1"))
    (event,) = chain.events("TimerCancelledInsufficientFunds")
    assert said(event)["timer_id"] == timer
    assert chain.timer(timer) is None
    put(oracle, (b"k", b"2"))
    assert decided(chain, Decision.HIT) == []


def test_d51_an_expired_watch_is_not_matched_and_collected(chain, actor):
    """D51: "only idle, unexpired ones are matched"; its place is expires_at + 1."""
    last = chain.height + 4
    timer = watch(actor, b"k", expires_at=last)
    chain.mine_until(last - 1)
    put(actor, (b"k", b"1"))
    assert (chain.height, fired(chain)) == (last, [timer])
    put(actor, (b"k", b"2"))
    assert fired(chain) == []
    (event,) = chain.events("TimerExpired")
    assert said(event)["expires_at"] == last
    assert chain.timer(timer) is None


@pytest.mark.parametrize("state", ["noted", "queued"])
def test_d51_with_an_expired_watch_goes_what_waits_of_it(devnet, state):
    """D51: collected by every rule set, "a queued fire with them"."""
    chain = devnet(**GLOBALBOX, globalbox_config={"max_fires_per_block": 1})
    actor = chain.deploy(SETTER, value="90 CBY")
    last = chain.height + 9
    timer = watch(actor, b"k", expires_at=last)
    for _ in range(3):
        set_timeout(actor, last - 1, bid_fp=2**100, **CHEAP)
    chain.mine_until(last - 2)
    handler = "put" if state == "queued" else "put_later"
    actor.call(handler, codec.encode([[b"k", b"1"]]))
    chain.mine()  # which delivers the message, after the timers
    assert (chain.height, states(chain)) == (last, {timer: state})
    chain.mine()
    (event,) = chain.events("TimerExpired")
    assert said(event)["timer_id"] == timer
    assert chain.timer(timer) is None
    assert not hits.is_any(chain.state.snapshot)
    chain.mine(5)
    assert told(actor) == []
    verify_globalbox(chain.state.snapshot)


def test_d54_a_watch_whose_handler_fails_lives_on(chain, actor):
    """D54: "Failures are charged and complete like successes"."""
    timer = set_watch(actor, [b"k"], route("nowhere"), **CHEAP)
    for number in (1, 2):
        put(actor, (b"k", b"%d" % number))
        (receipt,) = [r for r in chain.last.receipts if r.id == timer]
        assert receipt.failure.kind == "HandlerNotFound"
        assert receipt.fee > 0
        assert chain.timer(timer).fire_seq == number


def test_d51_a_watch_registered_as_expired_is_collected_in_the_next_block(chain, actor):
    """D51: "their place in the calendar is `max(expires_at, registered) + 1`"."""
    timer = watch(actor, b"k", expires_at=0)
    (event,) = chain.events("TimerScheduled")
    assert said(event)["expires_before_due"]
    put(actor, (b"k", b"1"))
    assert (fired(chain), chain.timer(timer)) == ([], None)


def test_d51_an_extension_moves_its_place(chain, actor):
    """D51: "moves with an extend (the one exception to D22)"."""
    timer = watch(actor, b"k", expires_at=chain.height + 5)
    before = chain.timer(timer)
    actor.call("extend", codec.encode([timer, 900]))
    after = chain.timer(timer)
    assert (after.expires_at, after.height) == (900, 901)
    assert after.sequence == before.sequence
    snapshot = chain.state.snapshot
    assert snapshot.get(keys.timer(before.height, before.sequence)) is None
    assert codec.decode(actor.call("list").value) == [timer]
    chain.execute(ExtendTimer(timer, 700))
    assert chain.timer(timer).height == 701
    chain.mine_until(699)
    put(actor, (b"k", b"1"))
    assert fired(chain) == [timer]
    chain.mine()
    assert chain.timer(timer) is None


def test_d51_an_extension_in_the_block_that_would_collect_it_saves_it(chain, actor):
    """D20: extended once its expiry passed, a timer that is still there lives on."""
    last = chain.height + 3
    timer = watch(actor, b"k", expires_at=last)
    chain.mine_until(last)
    actor.call("extend", codec.encode([timer, 99]))
    put(actor, (b"k", b"1"))
    assert fired(chain) == [timer]


# --- what is done to one that waits --------------------------------------------------


def note(chain, actor, key=b"k"):
    """Let a message change a key: whoever watches it is noted when the block ends."""
    actor.call("put_later", codec.encode([[key, b"%d" % chain.height]]))
    chain.mine()


def test_6_2_an_update_of_a_noted_watch_is_of_its_fire_to_come(chain, actor):
    """§6.2: "for timers that have not yet produced a fire in Globalbox"."""
    timer = watch(actor, b"k")
    note(chain, actor)
    assert states(chain) == {timer: "noted"}
    data = {"bid_fp": 3 * 2**96, "payload": route("tell", b"new")}
    actor.call("update", codec.encode([timer, data]))
    (queued,) = decided(chain, Decision.ENQUEUED)
    assert queued.numbers["bid_fp"] == 3 * 2**96
    assert queued.numbers["score"] == 2**96 + 3 * 2**96  # one block, three units
    assert told(actor)[0][3] == b"new"


@pytest.mark.parametrize("by", ["its owner", "governance"])
@pytest.mark.parametrize("state", ["noted", "queued"])
def test_6_2_a_watch_that_waits_can_be_cancelled_and_extended(devnet, state, by):
    """§6.2: a cancel "takes effect before materialization"; D51: an extend moves it."""
    chain = devnet(**GLOBALBOX, globalbox_config={"max_fires_per_block": 1})
    actor = chain.deploy(SETTER, value="90 CBY")
    first, gone, kept = (watch(actor, b"k") for _ in range(3))
    note(chain, actor)
    if state == "queued":
        chain.mine()
        assert fired(chain) == [first]
    assert {states(chain)[gone], states(chain)[kept]} == {state}
    if by == "governance":
        chain.submit(CancelTimer(gone))
        chain.submit(ExtendTimer(kept, 900))
        chain.mine()
    else:
        calls = [["cancel_timer", [gone], {}], ["extend_timer", [kept, 900], {}]]
        actor.call("act", codec.encode(calls))
    assert chain.timer(gone) is None
    assert (chain.timer(kept).expires_at, chain.timer(kept).height) == (900, 901)
    chain.mine(3)
    fires = [r.id for result in chain.results for r in result.receipts]
    assert (fires.count(gone), fires.count(kept)) == (0, 1)
    assert states(chain)[kept] == "idle"
    verify_globalbox(chain.state.snapshot)


@pytest.mark.parametrize("kind", ["watch", "timeout"])
def test_6_2_a_nonce_names_a_watch_whatever_is_asked_for(chain, actor, kind):
    """D50: "while such a timer lives … returns this id, changes nothing"."""
    timer = watch(actor, b"k", client_nonce=b"n")
    live = chain.timer(timer)
    trigger = [b"other"] if kind == "watch" else 99
    data = [actor.address, trigger, b"", {"client_nonce": b"n"}]
    assert actor.call(kind, codec.encode(data)).value == timer
    assert chain.timer(timer) == live
    actor.call("cancel", timer)
    assert actor.call(kind, codec.encode(data)).value == timer
    assert chain.timer(timer).sequence > live.sequence
    assert chain.timer(timer).is_watch == (kind == "watch")


# --- two matchings -------------------------------------------------------------------


def test_d51_what_timers_change_is_noted_and_enqueued_next(chain, actor, oracle):
    """D51.

    "whose hits are *noted* in the state and enqueued from the next height on".
    """
    timer = watch(actor, (oracle.address, b"k"))
    data = route("put", codec.encode([[b"k", b"1"]]))
    feeding = set_timeout(oracle, chain.height + 2, data, **CHEAP)
    chain.mine()
    assert fired(chain) == [feeding]
    assert hits.is_any(chain.state.snapshot)
    height = chain.height
    chain.mine(5)
    assert fired(chain, height + 1) == [timer]
    ((at, _, seen, _),) = told(actor)
    assert (at, seen["hit_height"]) == (height + 1, height)


def test_d51_what_messages_change_is_noted(chain, actor, oracle):
    """D51: "those by its timers and messages"."""
    timer = watch(actor, (oracle.address, b"k"))
    oracle.call("put_later", codec.encode([[b"k", b"1"]]))
    chain.mine()
    assert fired(chain) == []
    chain.mine()
    assert fired(chain) == [timer]


def test_d51_the_second_matching_is_net_against_the_first(chain, actor, oracle):
    """D51: what a timer writes back to what it was before the block is a change."""
    put(oracle, (b"k", b"1"))
    timer = watch(actor, (oracle.address, b"k"))
    back = route("put", codec.encode([[b"k", b"1"]]))
    set_timeout(oracle, chain.height + 2, back, bid_fp=1, **CHEAP)
    put(oracle, (b"k", b"2"))
    # The transaction's change fires it; the timer's, before it, is the next hit.
    assert fired(chain)[1:] == [timer]
    chain.mine()
    assert fired(chain) == [timer]
    assert [seen["fire_seq"] for _, _, seen, _ in told(actor)] == [0, 1]


def test_d51_a_watch_of_its_own_writes_fires_in_every_block_and_pays(chain, actor):
    """D51: "a watch whose own fire changes what it watches fires in every block"."""
    timer = watch(actor, "told")
    put(actor, (STORAGE_PREFIX + b"told", codec.encode([])))
    balance = actor.balance
    for _ in range(4):
        chain.mine()
        assert fired(chain) == [timer]
    assert actor.balance < balance


def test_d51_watches_in_a_circle_wake_each_other(chain, actor, oracle):
    """D51: watches of each other go on, one block after the other."""
    one = watch(actor, (oracle.address, "told"))
    other = watch(oracle, (actor.address, "told"))
    put(oracle, (STORAGE_PREFIX + b"told", codec.encode([])))
    seen = [fired(chain)]
    for _ in range(3):
        chain.mine()
        seen.append(fired(chain))
    assert seen == [[one], [other], [one], [other]]


# --- order, limits -------------------------------------------------------------------


def test_d51_a_hit_keeps_its_first_four_keys(actor, oracle):
    """D51: "A hit keeps its height and its first 4 matching keys"."""
    watch(actor, (oracle.address, b"b"), (oracle.address, b"a"), b"a")
    put(oracle, *((key, b"1") for key in (b"b2", b"a9", b"b1", b"a1", b"a5", b"c")))
    matched = told(actor)[0][2]["matched_keys"]
    assert matched == [[oracle.address, key] for key in (b"a1", b"a5", b"a9", b"b1")]


def test_d51_matched_keys_are_of_all_that_it_watches(chain, actor, oracle):
    """D51: keys of several actors ascend by (address, key)."""
    timer = chain.timer(watch(actor, (oracle.address, b"a"), b"z", b"a"))
    changed = sorted(
        keys.storage(one.address, key)
        for one in (actor, oracle)
        for key in (b"a", b"ab", b"z")
    )
    found = matched_keys(timer, changed)
    wanted = [k for k in changed if k != keys.storage(oracle.address, b"z")][:4]
    assert [keys.storage(*one) for one in found] == wanted


def test_14_hits_are_pruned_by_first_key_and_sequence(devnet):
    """§14: "prune the fan-out"; D51: "(first matching (address, key), sequence)"."""
    chain = devnet(**GLOBALBOX, globalbox_config={"max_hits_per_block": 2})
    actor = chain.deploy(SETTER, value="90 CBY")
    late = watch(actor, b"b")
    rest = watch(actor, b"b", b"c")
    first = watch(actor, b"b", b"a")
    put(actor, (b"a", b"1"), (b"b", b"1"), (b"c", b"1"))
    assert [d.timer_id for d in decided(chain, Decision.HIT)] == [first, late]
    (event,) = chain.events("WatchHitsPruned")
    assert said(event) == {"address": actor.address, "key": b"b"}
    put(actor, (b"c", b"2"))  # what was lost is lost; it is idle and can be hit
    assert fired(chain) == [rest]


def test_d52_of_many_noted_hits_a_block_enqueues_the_first(chain, actor):
    """D52: "the first `max_hits_per_block` noted hits by (hit height, sequence)"."""
    timers = [watch(actor, b"k") for _ in range(5)]
    later = [codec.encode([[b"k", value]]) for value in (b"1", b"2")]
    actor.call("put_later", later[0])
    chain.submit(UpdateGlobalboxConfig(GlobalboxConfig(max_hits_per_block=2)))
    chain.submit(ExecuteActor(actor.address, "put_later", later[1], Amount(0)))
    chain.mine()  # the quota in force notes all five
    assert set(states(chain).values()) == {"noted"}
    enqueued = []
    for _ in range(4):
        chain.mine()
        found = {d.timer_id for d in decided(chain, Decision.ENQUEUED)}
        enqueued.append([timers.index(timer) for timer in timers if timer in found])
    # The first two fired, and were hit again by the second message, a block later.
    assert enqueued == [[0, 1], [2, 3], [0, 4], [1]]


def test_14_the_second_matching_of_a_block_is_bounded_too(devnet):
    """D51: "A matching takes … at most `max_hits_per_block`", of two in a block."""
    chain = devnet(**GLOBALBOX, globalbox_config={"max_hits_per_block": 2})
    actor = chain.deploy(SETTER, value="90 CBY")
    timers = [watch(actor, b"k") for _ in range(3)]
    note(chain, actor)
    assert [states(chain)[timer] for timer in timers] == ["noted", "noted", "idle"]
    (event,) = chain.events("WatchHitsPruned")
    assert said(event) == {"address": actor.address, "key": b"k"}


def test_14_nothing_is_pruned_that_just_fits(devnet):
    """D51.

    the event names "the first key not matched to its end"; else there is none.
    """
    chain = devnet(**GLOBALBOX, globalbox_config={"max_hits_per_block": 2})
    actor = chain.deploy(SETTER, value="90 CBY")
    watch(actor, b"a")
    watch(actor, b"b")
    put(actor, (b"a", b"1"), (b"b", b"1"), (b"c", b"1"))
    assert len(fired(chain)) == 2
    assert chain.events("WatchHitsPruned") == []


def test_d51_thousands_on_one_key_are_served_by_sequence(devnet):
    """D51.

    a matching takes at most `max_hits_per_block`, the next one the next ones.
    """
    chain = devnet(
        **GLOBALBOX,
        globalbox_config={"max_hits_per_block": 30, "max_fires_per_block": 1},
    )
    actor = chain.deploy(SETTER, value="900 CBY")
    one = ["set_state_watch", [actor.address, [b"k"], b""], CHEAP]
    ids = [codec.decode(actor.call("act", codec.encode([one] * 50)).value)]
    ids.append(codec.decode(actor.call("act", codec.encode([one] * 50)).value))
    put(actor, (b"k", b"1"))
    assert [d.timer_id for d in decided(chain, Decision.HIT)] == ids[0][:30]
    put(actor, (b"k", b"2"))
    # The one that fired is idle again, and the first by its sequence.
    again = [*fired(chain, chain.height - 1), *ids[0][30:], *ids[1]]
    assert [d.timer_id for d in decided(chain, Decision.HIT)] == again[:30]


def test_d51_the_search_is_bounded(chain, actor, monkeypatch):
    """D51: "a matching seeks at most 65,536 different (actor, prefix)"."""
    for length in range(1, 7):
        watch(actor, b"n" * length, gas_limit=2_000)
    found = watch(actor, b"z")
    monkeypatch.setattr(matching, "WATCH_LOOKUPS_MAX", 12)
    put(actor, (b"abcdefgh", b"1"), (b"bbcdefgh", b"1"), (b"z", b"1"))
    assert fired(chain) == []
    (event,) = chain.events("WatchHitsPruned")
    assert said(event)["key"] == b"z"
    put(actor, (b"abcdefgh", b"2"), (b"z", b"2"))
    assert fired(chain) == [found]


def test_d51_those_that_wait_cost_a_matching_nothing(devnet, monkeypatch):
    """D51: "only idle, unexpired ones are matched, so those that wait cost nothing"."""
    chain = devnet(**GLOBALBOX, globalbox_config={"max_fires_per_block": 1})
    actor = chain.deploy(SETTER, value="90 CBY")
    one = [actor.address, [b"k"], b"", CHEAP]
    timers = codec.decode(actor.call("watch_all", codec.encode([one] * 20)).value)
    put(actor, (b"k", b"1"))
    chain.mine(2)
    idle = [timer for timer in timers if states(chain)[timer] == "idle"]
    assert len(idle) == 3
    monkeypatch.setattr(matching, "WATCH_LOOKUPS_MAX", 1 + 3)  # of the prefix, of each
    put(actor, (b"k", b"2"))
    assert [d.timer_id for d in decided(chain, Decision.HIT)] == idle
    assert chain.events("WatchHitsPruned") == []


@pytest.mark.slow
def test_d51_thousands_on_one_key_all_fire_in_their_turn(devnet):
    """GBX §14: "prune the fan-out"; what was taken waits, and nobody fires twice."""
    chain = devnet(
        **GLOBALBOX,
        timer_config={"max_timers_per_actor": 5_000},
        globalbox_config={"max_hits_per_block": 3_000, "max_fires_per_target": 128},
    )
    actor = chain.deploy(SETTER, value="9000 CBY")
    one = [actor.address, [b"k"], b"", {"gas_limit": 10_000}]
    timers = []
    for _ in range(20):
        data = codec.encode([one] * 200)
        timers += codec.decode(actor.call("watch_all", data).value)
    put(actor, (b"k", b"1"))
    (event,) = chain.events("WatchHitsPruned")
    assert said(event)["key"] == b"k"
    hit = [d.timer_id for d in decided(chain, Decision.HIT)]
    assert hit == timers[:3_000]
    seen = fired(chain)
    while (left := len(hit) - len(seen)) > 0:
        chain.mine()
        assert len(fired(chain)) == min(128, left)
        seen += fired(chain)
    assert sorted(seen) == sorted(hit)
    assert set(states(chain).values()) == {"idle"}
    verify_globalbox(chain.state.snapshot)


def test_d51_the_same_beginning_is_sought_once(chain, actor, monkeypatch):
    """D51: "different (actor, prefix)": many keys under one prefix are one."""
    found = watch(actor, b"zz")
    watch(actor, b"nn")
    monkeypatch.setattr(matching, "WATCH_LOOKUPS_MAX", 3)
    pairs = [(b"aa%d" % n, b"1") for n in range(40)]
    put(actor, *pairs, (b"zz", b"1"))
    assert fired(chain) == [found]


def test_14_the_number_of_keys_is_limited_when_it_is_set(chain, actor):
    """§14: "limit the number of watch_keys"; lowered, older watches stay."""
    timer = watch(actor, b"a", b"b", b"c")
    chain.execute(UpdateGlobalboxConfig(GlobalboxConfig(max_watch_keys=1)))
    put(actor, (b"c", b"1"))
    assert fired(chain) == [timer]


def test_d51_the_same_key_twice_counts_once(chain, actor):
    """D51: an idle watch stands once under each thing that it watches."""
    timer = watch(actor, b"k", b"k", (actor.address, b"k"))
    put(actor, (b"k", b"1"))
    assert fired(chain) == [timer]
    actor.call("cancel", timer)
    assert not watches.is_watched(chain.state.snapshot, actor.address)
