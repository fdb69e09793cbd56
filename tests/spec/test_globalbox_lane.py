"""Deliver, Materialize, Execute under the rules `globalbox` (GBX §8 to §11)."""

from msgspec.structs import replace

from node.archive.globalbox_verification import verify_globalbox
from node.chain.block import ReceiptKind
from node.chain.globals import load_globals
from node.chain.params import GlobalboxConfig
from node.chain.timers import lane
from node.chain.timers.globalbox.fires import RANK_ORIGIN, decode_fire, order_of
from node.chain.timers.timer import Decision
from node.chain.transaction import (
    CancelTimer,
    SetBalance,
    UpdateGlobalboxConfig,
    UpdateTimerConfig,
)
from node.primitives import codec
from node.primitives.crypto import keccak256
from node.primitives.proof import verify
from node.primitives.types import Amount
from node.state import keys
from node.state.commitment import GLOBALBOX as TREE
from node.state.commitment import is_globalbox_empty, open_tree, root_parts
from tests.spec.driven_actors import route, said, schedule
from tests.spec.globalbox_actors import (
    GLOBALBOX,
    SETTER,
    decided,
    fired,
    put,
    set_timeout,
    set_timeouts,
    set_watch,
    told,
)

UNIT = 2**96
SMALL = {"gas_limit": 100_000}
SOON = 40
AGE = 2**96


def open_chain(devnet, *, lane=2_000_000, **config):
    """A chain on which `config` is of the Globalbox, and two actors."""
    caps = {"max_cycles_per_fire": min(lane, 550_000), "lane_timer_cycles": lane}
    caps["max_cycles_per_fire_auction"] = min(lane, 250_000)
    chain = devnet(**GLOBALBOX, timer_config=caps, globalbox_config=config)
    return chain, [chain.deploy(SETTER + "\n" * n, value="900 CBY") for n in range(3)]


def due(actor, *bids, height=SOON, target=None, **options):
    """One timer for each bid, due at a height."""
    return set_timeouts(
        actor,
        *((target, height, b"", {"bid_fp": bid, **SMALL, **options}) for bid in bids),
    )


def queued(chain):
    """Ids of queued fires from the head."""
    rows = chain.state.snapshot.range(keys.FIRE_PREFIX, keys.prefix_stop(b"q"))
    return [decode_fire(key[1:], record).timer_id for key, record in rows]


# --- order ---------------------------------------------------------------------------


def test_8_1_a_higher_bid_goes_first(devnet):
    """§8.1: "score = W_age * age_blocks + W_bid * bid_fp"."""
    chain, (actor, *_) = open_chain(devnet)
    timers = due(actor, 1, 3, 0, 2)
    chain.mine_until(SOON)
    assert fired(chain) == [timers[n] for n in (1, 3, 0, 2)]
    scores = {d.timer_id: d.numbers["score"] for d in decided(chain, Decision.ENQUEUED)}
    assert [scores[t] for t in timers] == [1, 3, 0, 2]


def test_8_1_age_counts_from_the_due_height(devnet):
    """§8.1.

    "age_blocks = max(0, h - due_height)"; D56: one block of age weighs as much as a bid
    of one unit a cycle.
    """
    chain, (actor, *_) = open_chain(devnet, max_fires_per_block=1)
    (old,) = due(actor, 0, height=SOON)
    blocker, waiting = due(actor, 9 * UNIT, 8 * UNIT, height=SOON)
    (young,) = due(actor, UNIT - 1, height=SOON + 1)
    (rich,) = due(actor, UNIT + 1, height=SOON + 1)
    chain.mine_until(SOON)
    assert fired(chain) == [blocker]
    assert queued(chain) == [waiting, old]
    chain.mine()
    assert fired(chain) == [waiting]
    assert queued(chain) == [rich, old, young]


def test_8_1_of_a_watch_the_age_is_of_the_hit(devnet):
    """§8.1: "age_blocks = max(0, h - hit_height)"."""
    chain, (actor, *_) = open_chain(devnet)
    watch = set_watch(actor, [b"k"], **SMALL)
    chain.mine(20)
    put(actor, (b"k", b"1"))
    (decision,) = decided(chain, Decision.ENQUEUED)
    assert (decision.timer_id, decision.numbers["score"]) == (watch, 0)
    assert decision.numbers["origin"] == decision.numbers["hit_height"] == chain.height


def test_8_2_the_bucket_breaks_ties(devnet):
    """§8.2: "priority_bucket (optional: tier derived from bid or policy)"."""
    chain, (actor, *_) = open_chain(devnet)
    tiers = (None, "economy", "urgent", "standard", "fast")
    timers = [
        schedule(actor, SOON, b"", priority_tier_hint=tier, **SMALL) for tier in tiers
    ]
    chain.mine_until(SOON)
    assert fired(chain) == [timers[n] for n in (2, 4, 3, 1, 0)]


def test_8_2_equals_take_turns_by_target(devnet):
    """§8.2.

    "per_target_round_robin_cursor (pure or chain-derived) to ensure fairness".
    """
    chain, actors = open_chain(devnet)
    for actor in actors:
        due(actor, 0, 0, 0)
    chain.mine_until(SOON)
    targets = [r.actor for r in chain.last.receipts]
    rounds = [targets[n : n + 3] for n in (0, 3, 6)]
    assert [sorted(one) for one in rounds] == [sorted(a.address for a in actors)] * 3
    cursors = [d.numbers["cursor"] for d in decided(chain, Decision.ENQUEUED)]
    assert sorted(cursors) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_8_2_then_due_height_target_and_id_decide(devnet):
    """§8.2: "due_height (earlier is better) target_id (lexicographic) timer_id"."""
    chain, actors = open_chain(devnet)
    ids = {}
    for actor in actors:
        ids.update(dict.fromkeys(due(actor, 0), actor.address))
    chain.mine_until(SOON)
    assert fired(chain) == sorted(ids, key=lambda t: (ids[t], t))


def test_d52_the_key_says_it_all():
    """D52: rank BE32 ‖ 255 - bucket ‖ cursor BE4 ‖ origin BE8 ‖ target20 ‖ timer_id."""
    order = order_of(RANK_ORIGIN - 7, 4, 2, 9, b"t" * 20, b"i" * 32)
    assert order == b"".join(
        [
            (2**255 - 7).to_bytes(32, "big"),
            bytes([251]),
            (2).to_bytes(4, "big"),
            (9).to_bytes(8, "big"),
            b"t" * 20,
            b"i" * 32,
        ]
    )
    assert len(order) == keys.FIRE_ORDER_BYTES == 97


def test_5_3_the_order_is_frozen_after_enqueue(devnet):
    """§5.3.

    "Subsequent updates to the corresponding Timer do not change the position".
    """
    chain, (actor, *_) = open_chain(devnet, max_fires_per_block=1)
    first, second, third = due(actor, 3, 2, 1)
    chain.mine_until(SOON)
    assert (fired(chain), queued(chain)) == ([first], [second, third])
    update = {"bid_fp": 2**100, "payload": route("tell", b"new"), "gas_limit": 90_000}
    actor.call("update", codec.encode([third, update]))
    assert fired(chain) == [second]
    chain.mine()
    assert fired(chain) == [third]
    (receipt,) = chain.last.receipts
    assert told(actor)[0][3] == b"new"  # what is snapshot is as it is now …
    assert receipt.cycles_limit == 90_000
    assert receipt.price.cycle_tip == 0  # … and the bid the one that bought the place


def test_5_3_a_lowered_bid_is_paid_as_it_was(devnet):
    """D53: "else a bid could be withdrawn once it has bought the place"."""
    chain, (actor, *_) = open_chain(devnet, max_fires_per_block=1)
    first, second = due(actor, 9 * UNIT, 7 * UNIT)
    chain.mine_until(SOON)
    actor.call("update", codec.encode([second, {"bid_fp": 0}]))
    assert fired(chain) == [second]
    (receipt,) = [r for r in chain.last.receipts if r.kind is ReceiptKind.FIRE]
    assert receipt.price.cycle_tip == 7
    assert first


def test_d52_a_change_of_weights_moves_nobody(devnet):
    """D52: "a change of weights moves nobody"; the clock is rewritten by it."""
    chain, (actor, *_) = open_chain(devnet, max_fires_per_block=1)
    timers = due(actor, 5 * UNIT, 4 * UNIT, 3 * UNIT)
    chain.mine_until(SOON)
    assert queued(chain) == timers[1:]
    chain.execute(
        UpdateGlobalboxConfig(GlobalboxConfig(max_fires_per_block=1, w_age=1))
    )
    record = chain.state.snapshot.get(keys.GLOBALBOX_CLOCK)
    assert codec.decode(record) == [AGE * chain.height, chain.height]
    assert queued(chain) == timers[2:]  # in the order that it had
    rich = due(actor, 9 * UNIT, height=chain.height + 2)
    chain.mine()
    assert fired(chain) == rich


def test_d52_the_lowered_weight_of_age_puts_no_newcomer_before_all(devnet):
    """D52: who waits has aged by the weights that held, and not by the present one."""
    chain, (actor, *_) = open_chain(devnet, max_fires_per_block=1)
    old = due(actor, 0, 0, 0)
    chain.mine_until(SOON)
    chain.execute(
        UpdateGlobalboxConfig(GlobalboxConfig(max_fires_per_block=1, w_age=1))
    )
    (young,) = due(actor, 0, height=chain.height + 2)
    chain.mine(3)
    everything = [t for r in chain.results for t in [x.id for x in r.receipts]]
    order = [t for t in everything if t in {*old, young}]
    assert order[-1] == young


# --- quotas --------------------------------------------------------------------------


def test_8_3_fires_a_block(devnet):
    """§8.3: "Global: MAX_FIRES_PER_BLOCK"."""
    chain, (actor, *_) = open_chain(devnet, max_fires_per_block=2)
    timers = due(actor, 5, 4, 3, 2, 1)
    chain.mine_until(SOON)
    seen = [fired(chain)]
    for _ in range(2):
        chain.mine()
        seen.append(fired(chain))
    assert seen == [timers[:2], timers[2:4], timers[4:]]
    assert is_globalbox_empty(chain.state.snapshot)


def test_8_3_a_full_target_is_passed_over_and_keeps_its_places(devnet):
    """D53: "its fires keep their places", and who stands behind is not shut out."""
    chain, (actor, other, _) = open_chain(
        devnet, max_fires_per_target=2, max_fires_per_block=3
    )
    mine = due(actor, 9, 8, 7, 6)
    theirs = due(other, 5, 4)
    chain.mine_until(SOON)
    assert fired(chain) == [*mine[:2], theirs[0]]
    (passed,) = decided(chain, Decision.PASSED_OVER)
    assert (passed.timer_id, passed.order[45:65]) == (mine[2], actor.address)
    assert queued(chain) == [*mine[2:], theirs[1]]
    chain.mine()
    assert fired(chain) == [*mine[2:], theirs[1]]


def test_8_3_the_share_is_the_targets_not_the_owners(devnet):
    """§8.3: "Per-target: MAX_FIRES_PER_TARGET"."""
    chain, (actor, other, third) = open_chain(devnet, max_fires_per_target=1)
    one = due(actor, 5, target=third.address)
    two = due(other, 4, target=third.address)
    chain.mine_until(SOON)
    assert (fired(chain), queued(chain)) == (one, two)


def test_d53_the_first_that_does_not_fit_the_lane_ends_it(devnet):
    """D53: "the first that does not fit `reserved + limit ≤ lane` ends it"."""
    chain, (actor, *_) = open_chain(devnet, lane=300_000)
    first = due(actor, 9)
    large = due(actor, 8, gas_limit=250_000)
    small = due(actor, 7)
    chain.mine_until(SOON)
    assert fired(chain) == first
    (held,) = decided(chain, Decision.PUT_BACK)
    assert (held.timer_id, held.reason) == (large[0], "lane")
    assert (held.numbers["reserved"], held.numbers["lane"]) == (100_000, 300_000)
    assert queued(chain) == [*large, *small]
    chain.mine()
    assert fired(chain) == large


def test_d53_an_expired_one_is_removed_at_the_head(devnet):
    """D53: "expired → removed"."""
    chain, (actor, *_) = open_chain(devnet, max_fires_per_block=1)
    first, second, third = set_timeouts(
        actor,
        (None, SOON, b"", {"bid_fp": 3, **SMALL}),
        (None, SOON, b"", {"bid_fp": 2, "expires_at": SOON, **SMALL}),
        (None, SOON, b"", {"bid_fp": 1, **SMALL}),
    )
    chain.mine_until(SOON)
    assert fired(chain) == [first]
    chain.mine()
    assert fired(chain) == [third]
    (event,) = chain.events("TimerExpired")
    assert said(event)["timer_id"] == second


def test_d53_an_unfunded_one_is_removed(devnet):
    """D53: "unfunded (max_cost at the fire's price) → removed with its event"."""
    chain, (actor, *_) = open_chain(devnet)
    poor = chain.deploy(SETTER + "\n" * 9, value="0.2 CBY")
    (lost,) = due(poor, 9)
    (other,) = due(actor, 8)
    chain.mine_until(SOON)
    assert fired(chain) == [other]
    (event,) = chain.events("TimerCancelledInsufficientFunds")
    assert said(event)["timer_id"] == lost
    assert said(event)["required"] == 1_000 * (100_000 + 550_000)


def test_d53_a_queued_watch_that_is_unfunded_is_removed(devnet):
    """D53: "removed with its event, a watch too"; nothing of it stays behind."""
    chain, (actor, *_) = open_chain(devnet, max_fires_per_block=1)
    poor = chain.deploy(SETTER + "\n" * 9, value="2 CBY")
    watch = set_watch(poor, [(actor.address, b"k")], **SMALL)
    due(actor, 2**100)
    chain.mine_until(SOON - 1)
    put(actor, (b"k", b"1"))
    assert queued(chain) == [watch]
    chain.execute(SetBalance(poor.address, Amount(0)))
    (event,) = chain.events("TimerCancelledInsufficientFunds")
    assert said(event)["timer_id"] == watch
    assert (queued(chain), chain.timer(watch)) == ([], None)
    verify_globalbox(chain.state.snapshot)


def test_d53_removals_have_a_bound_together_with_delivers(devnet):
    """D53.

    "removals here and in Deliver together ≤ `max_due_examined`, the next one ends it".
    """
    chain, (actor, *_) = open_chain(devnet)
    poor = chain.deploy(SETTER + "\n" * 9, value="0.2 CBY")
    last = due(actor, 0)
    unfunded = due(poor, 9, 8, 7)
    set_timeouts(poor, (None, SOON, b"", {"expires_at": SOON - 1}))
    chain.mine_until(SOON - 2)
    config = replace(chain.params.timer_config, max_due_examined=5)
    chain.execute(UpdateTimerConfig(config))
    chain.mine()
    # Deliver examines five and removes the expired one; four removals are left.
    gone = [d.timer_id for d in chain.last.trace if d.is_final]
    assert (len(gone), fired(chain)) == (5, last)
    assert set(unfunded) < set(gone)


def test_d53_deliver_examines_so_many(devnet):
    """D52.

    "Candidates = due(h), the first `max_due_examined` in (height, sequence)".
    """
    chain, (actor, *_) = open_chain(devnet, max_fires_per_block=1)
    timers = due(actor, 1, 2, 3, 4)
    config = replace(chain.params.timer_config, max_due_examined=2)
    chain.execute(UpdateTimerConfig(config))
    chain.mine_until(SOON)
    assert {d.timer_id for d in decided(chain, Decision.ENQUEUED)} == set(timers[:2])
    assert fired(chain) == [timers[1]]
    chain.mine()
    assert fired(chain) == [timers[3]]


def test_d56_governance_lowers_every_number_while_the_queue_is_full(devnet):
    """D56: quotas hold from the next block; nothing that is queued is lost."""
    chain, (actor, *_) = open_chain(devnet, max_fires_per_block=3)
    timers = due(actor, *range(20, 0, -1))
    set_watch(actor, [b"a", b"b"], **SMALL)
    chain.mine_until(SOON)
    least = GlobalboxConfig(1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1)
    chain.execute(UpdateGlobalboxConfig(least))
    seen = [*fired(chain, SOON), *fired(chain)]
    while not is_globalbox_empty(chain.state.snapshot):
        chain.mine()
        assert len(fired(chain)) == 1
        seen += fired(chain)
    assert seen == timers


# --- cancel, extend, update in each phase --------------------------------------------


def test_6_2_a_cancel_takes_effect_before_materialization(devnet):
    """§6.2: "takes effect before materialization within the same EOB"."""
    chain, (actor, *_) = open_chain(devnet, max_fires_per_block=1)
    first, second, third = due(actor, 3, 2, 1)
    chain.mine_until(SOON)
    assert queued(chain) == [second, third]
    actor.call("cancel", second)
    assert fired(chain) == [third]
    assert first


def test_6_2_governance_cancels_what_is_queued(devnet):
    """CIP-5 §5.4 path 4, of a timer that lies in the queue."""
    chain, (actor, *_) = open_chain(devnet, max_fires_per_block=1)
    _, second = due(actor, 3, 2)
    chain.mine_until(SOON)
    chain.execute(CancelTimer(second))
    assert (fired(chain), queued(chain), chain.timer(second)) == ([], [], None)


def test_6_2_what_is_materialized_is_unaffected(devnet):
    """D53.

    "from then on cancel, update and extend do not reach the fires (HEIGHT:
    `TimerNotFound`)".
    """
    chain, (actor, *_) = open_chain(devnet)
    (victim,) = due(actor, 1)
    calls = [
        ["cancel_timer", [victim], {}],
        ["update_timer", [victim], {"bid_fp": 1}],
        ["extend_timer", [victim, 999], {}],
        ["list_timers", [], {}],
    ]
    meddler = set_timeout(
        actor, SOON, route("act", codec.encode(calls)), bid_fp=5, **SMALL
    )
    chain.mine_until(SOON)
    assert fired(chain) == [meddler, victim]
    assert actor.storage["done"] == ["TimerNotFound"] * 3 + [[]]


def test_6_2_a_watch_changes_its_materialized_fire_does_not(devnet):
    """D53: "a watch's record changes, its materialized fire does not"."""
    chain, (actor, *_) = open_chain(devnet)
    watch = set_watch(actor, [b"k"], route("tell", b"old"), **SMALL)
    calls = [["update_timer", [watch, route("tell", b"new")], {}]]
    data = route("act", codec.encode(calls))
    meddler = set_timeout(actor, SOON, data, bid_fp=5, **SMALL)
    chain.mine_until(SOON - 2)
    put(actor, (b"z", b"1"))
    put(actor, (b"k", b"1"))
    assert (chain.height, fired(chain)) == (SOON, [meddler, watch])
    assert [payload for *_, payload in told(actor)] == [b"old"]
    put(actor, (b"k", b"2"))
    assert [payload for *_, payload in told(actor)] == [b"old", b"new"]


def test_6_2_a_watch_cancelled_while_materialized_still_fires(devnet):
    """§6.2: "already materialized entries are unaffected"."""
    chain, (actor, *_) = open_chain(devnet)
    watch = set_watch(actor, [b"k"], route("tell"), **SMALL)
    data = route("act", codec.encode([["cancel_timer", [watch], {}]]))
    set_timeout(actor, SOON, data, bid_fp=5, **SMALL)
    chain.mine_until(SOON - 1)
    put(actor, (b"k", b"1"))
    assert (len(told(actor)), chain.timer(watch)) == (1, None)


# --- going back ----------------------------------------------------------------------


WRITER = (
    SETTER.partition("def call(")[0]
    + """
    def fill(self, payload):
        for n in range(5):
            pvm_host.set_state(bytes([n]), bytes(60_000))

def call("""
    + SETTER.partition("def call(")[2]
)
"""An actor that can use 300,000 cells."""


def full_of_cells(devnet, **caps):
    """A chain whose blocks have room for the cells of six such fires; ten are due."""
    chain = devnet(
        **GLOBALBOX,
        block_cells=3_000_000,
        timer_config={
            "max_cells_per_fire": 1_200_000,
            "lane_timer_cycles": 6_000_000,
            **caps,
        },
        globalbox_config={"max_fires_per_target": 20},
    )
    actor = chain.deploy(WRITER, value="900 CBY")
    terms = [{"bid_fp": 9 - n, "gas_limit": 400_000} for n in range(10)]
    fires = [(None, SOON, route("fill"), one) for one in terms]
    return chain, actor, set_timeouts(actor, *fires)


def test_d54_what_finds_no_room_for_cells_goes_back_with_all_behind(devnet):
    """D54.

    "it and all behind (a prefix again) go back to their places, refunded whole and
    without trace in the state".
    """
    chain, actor, timers = full_of_cells(devnet)
    chain.mine_until(SOON - 1)
    balance = actor.balance
    chain.mine()
    done = fired(chain)
    assert done == timers[:6]
    back = decided(chain, Decision.PUT_BACK)
    assert [(d.timer_id, d.reason) for d in back] == [(t, "cells") for t in timers[6:]]
    assert queued(chain) == timers[6:]
    assert balance - actor.balance == sum(r.fee for r in chain.last.receipts)
    assert [chain.timer(t).timer_id for t in timers[6:]] == timers[6:]
    chain.mine()
    assert (fired(chain), queued(chain)) == (timers[6:], [])


def test_d54_who_goes_back_does_so_even_above_a_cap(devnet):
    """D54: "even above a cap": who set new timers meanwhile took no place from it."""
    chain, actor, timers = full_of_cells(devnet, max_timers_per_actor=11)
    due = chain.height + 50
    calls = [["set_timeout", [actor.address, due, bytes([n])], {}] for n in range(12)]
    told = route("act", codec.encode(calls))
    set_timeout(actor, SOON, told, bid_fp=99, gas_limit=400_000)
    chain.mine_until(SOON)
    *new, refused = actor.storage["done"]
    assert (len(new), refused) == (11, "TimerLimit")
    back = queued(chain)
    assert back == timers[-len(back) :] != []
    assert {timer.timer_id for timer in actor.timers} == {*new, *back}


def test_d54_the_gate_of_written_keys_sends_back_likewise(devnet, monkeypatch):
    """D54: "When the cells or the keys gate (D8, D43) refuses one"."""
    chain, actor, timers = full_of_cells(devnet)
    chain.mine_until(SOON - 1)
    monkeypatch.setattr(lane, "WRITES_BEFORE_DEFERRED_STOP", 10)
    chain.mine()
    assert fired(chain) == timers[:2]
    back = decided(chain, Decision.PUT_BACK)
    assert [(d.timer_id, d.reason) for d in back] == [(t, "writes") for t in timers[2:]]
    assert actor.balance > 0


def test_d54_deliver_seq_is_taken_as_a_fire_starts(devnet):
    """D54: "as it starts, the next `deliver_seq` (a global counter from 0)"."""
    chain, *_ = full_of_cells(devnet)
    chain.mine_until(SOON + 1)
    receipts = [r for result in chain.results for r in result.receipts]
    numbers = [r.delivery.deliver_seq for r in receipts if r.delivery is not None]
    assert numbers == list(range(10))


def test_d54_of_a_watch_cancelled_meanwhile_only_the_money_goes_back(devnet):
    """D54: "of a watch cancelled meanwhile only the money"; one set anew is another."""
    chain, actor, timers = full_of_cells(devnet)
    watch = set_watch(actor, [b"z"], client_nonce=b"n", **SMALL)
    again = ["set_state_watch", [actor.address, [b"z"], b""], {"client_nonce": b"n"}]
    calls = codec.encode([["cancel_timer", [watch], {}], again])
    set_timeout(actor, SOON, route("act", calls), bid_fp=99, **SMALL)
    chain.mine_until(SOON - 1)
    put(actor, (b"z", b"1"))
    assert watch in [d.timer_id for d in decided(chain, Decision.MATERIALIZED)]
    assert watch not in fired(chain)
    assert watch not in queued(chain)
    assert chain.timer(watch).sequence > chain.timer(timers[-1]).sequence
    put(actor, (b"z", b"2"))
    assert watch in fired(chain)


# --- execution -----------------------------------------------------------------------


def test_9_1_the_deliver_id(devnet):
    """§9.1: "deliver_id = H(h, parent_state_root, timer_id, fire_seq)"."""
    chain, (actor, *_) = open_chain(devnet)
    timer = set_timeout(actor, SOON, route("tell"), **SMALL)
    chain.mine_until(SOON - 1)
    parent = chain.state.head.state_root
    chain.mine()
    wanted = keccak256(keys.height8(SOON) + parent + timer + bytes(4))
    (receipt,) = chain.last.receipts
    assert receipt.delivery.deliver_id == told(actor)[0][2]["deliver_id"] == wanted


def test_9_2_the_receipt_carries_the_key_fields(devnet):
    """§9.2: "encode the key fields of each fire into a TimerFireReceipt"."""
    chain, (actor, *_) = open_chain(devnet)
    watch = set_watch(actor, [b"k"], route("tell"), **SMALL)
    put(actor, (b"k", b"1"))
    (receipt,) = [r for r in chain.last.receipts if r.kind is ReceiptKind.FIRE]
    seen = receipt.delivery
    assert (seen.kind, seen.hit_height, seen.due_height) == (
        "STATE_WATCH",
        chain.height,
        None,
    )
    assert seen.matched_keys == ((actor.address, b"k"),)
    assert receipt.id == watch
    assert codec.decode(receipt.encode())[-1][0] == "STATE_WATCH"
    (transaction,) = [r for r in chain.last.receipts if r.kind is not ReceiptKind.FIRE]
    assert transaction.delivery is None
    assert codec.decode(transaction.encode())[-1] == []


def test_9_2_fire_seq_counts_per_timer(devnet):
    """§9.2: "fire_seq is incremented by +1 after each materialization"."""
    chain, (actor, *_) = open_chain(devnet)
    watch = set_watch(actor, [b"k"], route("tell"), **SMALL)
    for value in (b"1", b"2", b"3"):
        put(actor, (b"k", value))
        assert chain.timer(watch).fire_seq == int(value)
    ids = {seen["deliver_id"] for _, _, seen, _ in told(actor)}
    assert len(ids) == 3


def test_10_failures_complete_like_successes_and_pay(devnet):
    """§10.

    "Failures (e.g., out of gas) still generate receipts and consume metered resources".
    """
    chain, (actor, *_) = open_chain(devnet)
    short = set_timeout(actor, SOON, route("tell"), gas_limit=1_001, bid_fp=9)
    absent = set_timeout(actor, SOON, route("nowhere"), bid_fp=8, **SMALL)
    chain.mine_until(SOON)
    assert fired(chain) == [short, absent]
    kinds = [r.failure.kind for r in chain.last.receipts]
    assert kinds == ["OutOfCycles", "HandlerNotFound"]
    assert chain.last.receipts[0].cycles_used == 1_001
    assert chain.timer(short) is chain.timer(absent) is None


def test_11_basefee_is_burned_and_the_bid_goes_to_the_proposer(devnet):
    """§11: "basefee is burned, and tips go to the proposer"; D54: `bid_fp >> 96`."""
    chain, (actor, *_) = open_chain(devnet)
    set_timeout(actor, SOON, bid_fp=7 * UNIT + UNIT // 2, **SMALL)
    chain.mine_until(SOON - 1)
    before = chain.balance(chain.params.proposer)
    burned = load_globals(chain.state.snapshot).burned
    chain.mine()
    (receipt,) = chain.last.receipts
    price = receipt.price
    assert (price.cycle_burn, price.cycle_tip, price.cell_tip) == (1_000, 7, 0)
    assert chain.balance(chain.params.proposer) - before == 7 * receipt.cycles_used
    after = load_globals(chain.state.snapshot).burned
    assert after - burned == 1_000 * (receipt.cycles_used + receipt.cells_used)


def test_d54_the_context_says_nothing_of_a_timer_elsewhere(devnet):
    """D54: "under other rules it is None"; and in what is no fire."""
    _, (actor, *_) = open_chain(devnet)
    actor.call("tell", b"x")
    assert told(actor)[0][2] is None
    chain = devnet()
    other = chain.deploy(SETTER, value="9 CBY")
    schedule(other, SOON, route("tell"), **SMALL)
    chain.mine_until(SOON)
    assert told(other)[0][2] is None


# --- proofs --------------------------------------------------------------------------


def test_5_3_the_globalbox_is_in_the_state_root(devnet):
    """§5.3: "Globalbox must be included in state_root"; D52: places can be proven."""
    chain, (actor, *_) = open_chain(devnet, max_fires_per_block=1)
    assert len(root_parts(chain.state.snapshot)) == 4
    timers = due(actor, *range(40, 0, -1))
    chain.mine_until(SOON)
    snapshot = chain.state.snapshot
    tree, root = open_tree(snapshot, TREE), root_parts(snapshot)[3]
    head = tree.first(bytes(97))
    proof = tree.prove(bytes(97), head + b"\0")
    ((order, _),) = verify(root, proof, bytes(97), head + b"\0", 97)
    assert order[65:] == timers[1]
    chain.mine(50)
    assert is_globalbox_empty(chain.state.snapshot)
    assert root_parts(chain.state.snapshot)[3] == bytes(32)
