"""How a chain comes to the rules `globalbox` and leaves them (D55, D36, D38)."""

import pytest

from node.archive.globalbox_verification import verify_globalbox
from node.archive.opening import DamagedChain
from node.chain.timers import due_index, fairness
from node.chain.timers.globalbox import hits, leaving
from node.chain.timers.globalbox.fires import decode_fire
from node.chain.timers.timer import Decision
from node.chain.timers.weights import load_actor_weight
from node.chain.transition import work_height
from node.primitives import codec
from node.state import keys
from node.state.commitment import compare, is_globalbox_empty, recompute
from node.state.memory import MemoryStore
from node.state.store import WriteSet
from tests.spec.driven_actors import agent_of, fires, route, schedule_all
from tests.spec.globalbox_actors import (
    SETTER,
    decided,
    fired,
    put,
    set_timeouts,
    set_watch,
    told,
)

STEADY = {"basefee_config": {"min_basefee": 1_000}}
SMALL = {"gas_limit": 100_000}
BEFORE = 30
OTHERS = ["fifo", "auction", "bidding"]


def moving(devnet, *rules, **overrides):
    """A chain whose rules follow one another from height 0, 30, 60 … on, and actors."""
    activations = [
        {"height": BEFORE * n, "rules": name} for n, name in enumerate(rules)
    ]
    chain = devnet(**STEADY, activations=activations, **overrides)
    return chain, chain.deploy(SETTER, value="900 CBY")


@pytest.mark.parametrize("rules", OTHERS)
def test_d55_entering_live_timers_are_height_timers_with_bid_0(devnet, rules):
    """D55: "live timers are HEIGHT timers on their actor with bid 0"."""
    chain, actor = moving(devnet, rules, "globalbox")
    agent = {"gba": agent_of(chain, tip=9).address} if rules == "bidding" else {}
    timers = schedule_all(
        actor, *((BEFORE + 2, route("tell"), SMALL | agent) for _ in range(3))
    )
    chain.mine_until(BEFORE + 2)
    assert sorted(fired(chain)) == sorted(timers)
    for seen in (context for _, _, context, _ in told(actor)):
        assert (seen["kind"], seen["due_height"]) == ("HEIGHT", BEFORE + 2)
    assert {r.price.cycle_tip for r in fires(chain.last)} == {0}


def test_d55_who_waited_under_auction_is_found(devnet):
    """D55: of the orders of `auction` nothing stays; who is due is a candidate."""
    chain, actor = moving(
        devnet, "auction", "globalbox", timer_config={"max_cycles_per_fire": 600_000}
    )
    waiting = schedule_all(
        actor,
        (9, b"", {"max_fee_per_cycle": 2_000, **SMALL}),
        (9, b"", {**SMALL}),
    )
    chain.mine_until(BEFORE)
    assert not due_index.is_any(chain.state.snapshot)
    assert waiting


def full_queue(devnet, after, count=6):
    """A chain that enters other rules with fires queued, of heights and a watch."""
    chain, actor = moving(
        devnet,
        "globalbox",
        after,
        "globalbox",
        globalbox_config={"max_fires_per_block": 1},
    )
    watch = set_watch(actor, [b"k"], route("tell"), **SMALL)
    terms = {"bid_fp": 2**100, **SMALL}
    timers = set_timeouts(
        actor, *((None, BEFORE - 2, b"%d" % n, terms) for n in range(count))
    )
    chain.mine_until(BEFORE - 3)
    put(actor, (b"k", b"1"))
    chain.mine_until(BEFORE - 1)
    assert len(queued(chain)) == count - 1  # two fired; the watch is among the rest
    return chain, actor, timers, watch


def queued(chain):
    """Ids of queued fires from the head."""
    rows = chain.state.snapshot.range(keys.FIRE_PREFIX, keys.prefix_stop(b"q"))
    return [decode_fire(key[1:], record).timer_id for key, record in rows]


@pytest.mark.parametrize("rules", OTHERS)
def test_d55_leaving_nothing_is_lost(devnet, rules):
    """D55.

    "HEIGHT timers to the calendar (they are simply due), watches to the noted hits;
    watches and noted hits sleep until `globalbox` comes back".
    """
    chain, actor, timers, watch = full_queue(devnet, rules)
    left = queued(chain)
    chain.mine()
    assert is_globalbox_empty(chain.state.snapshot)
    assert {d.timer_id for d in decided(chain, Decision.RETURNED)} == set(left)
    assert set(fired(chain)) == set(left) & set(timers)
    assert hits.is_any(chain.state.snapshot) == (watch in left)
    put(actor, (b"k", b"2"))  # nobody looks, and nothing is noted
    chain.mine_until(2 * BEFORE - 1)
    assert chain.timer(watch) is not None
    seen = len(told(actor))
    chain.mine(2)
    assert len(told(actor)) == seen + 1
    assert told(actor)[-1][2]["hit_height"] < BEFORE


@pytest.mark.parametrize("rules", OTHERS)
def test_d55_a_block_moves_so_many_from_the_head(devnet, rules, monkeypatch):
    """D55: "each block, before its timers, moves up to 1,000 from the head back"."""
    monkeypatch.setattr(leaving, "LEAVING_FIRES_MAX", 2)
    chain, actor, timers, _ = full_queue(devnet, rules)
    order = queued(chain)
    moved = []
    while not is_globalbox_empty(chain.state.snapshot):
        assert work_height(chain.state) == chain.height + 1  # work under all rules
        chain.mine()
        returned = [d.timer_id for d in decided(chain, Decision.RETURNED)]
        assert len(returned) <= 2
        moved += returned
        verify_globalbox(chain.state.snapshot)
        assert compare(chain.state.snapshot) == chain.state.head.state_root
    assert moved == order
    assert actor.storage.get("told", []) is not None
    done = {r.id for result in chain.results for r in fires(result)}
    assert set(timers) <= done


def test_d55_who_is_still_queued_can_be_cancelled_under_other_rules(
    devnet, monkeypatch
):
    """D50: cancel and extend "as ever", wherever a live timer lies."""
    monkeypatch.setattr(leaving, "LEAVING_FIRES_MAX", 1)
    for rules in OTHERS:
        chain, actor, timers, _ = full_queue(devnet, rules)
        *_, first, last = [t for t in queued(chain) if t in timers]
        calls = [["extend_timer", [first, 500], {}], ["cancel_timer", [last], {}]]
        actor.call("act", codec.encode(calls))
        assert last not in queued(chain)
        assert chain.timer(last) is None
        assert chain.timer(first).expires_at == 500
        chain.mine(8)
        assert last not in [r.id for result in chain.results for r in fires(result)]
        verify_globalbox(chain.state.snapshot)


def test_d55_watches_are_collected_under_every_rule_set(devnet):
    """D51: "is where every rule set collects them, a queued fire with them"."""
    for rules in OTHERS:
        chain, actor = moving(devnet, "globalbox", rules)
        last = BEFORE + 4
        watch = set_watch(actor, [b"k"], expires_at=last, **SMALL)
        chain.mine_until(last)
        assert chain.timer(watch) is not None
        chain.mine()
        assert chain.timer(watch) is None
        assert len(chain.events("TimerExpired")) == 1


@pytest.mark.parametrize("rules", OTHERS)
def test_d55_a_noted_hit_sleeps_until_the_ttl_of_its_watch(devnet, rules):
    """D55: "watches and noted hits sleep until `globalbox` comes back or their TTL"."""
    chain, actor = moving(devnet, "globalbox", rules, "globalbox")
    last = 2 * BEFORE - 3
    watch = set_watch(actor, [b"k"], route("tell"), expires_at=last, **SMALL)
    chain.mine_until(BEFORE - 3)
    actor.call("put_later", codec.encode([[b"k", b"1"]]))
    chain.mine_until(last)
    assert hits.is_any(chain.state.snapshot)
    assert chain.timer(watch) is not None
    chain.mine()
    assert not hits.is_any(chain.state.snapshot)
    assert chain.timer(watch) is None
    chain.mine(5)
    assert told(actor) == []
    verify_globalbox(chain.state.snapshot)


def test_d55_a_record_keeps_target_sender_and_payer_under_all_rules(devnet):
    """D55: "A record keeps target, owner as sender, payer under all rules"."""
    for rules in OTHERS:
        chain, actor = moving(devnet, "globalbox", rules)
        other = chain.deploy(SETTER + "\n", value="9 CBY")
        set_timeouts(actor, (other.address, BEFORE + 1, route("tell"), SMALL))
        chain.mine_until(BEFORE + 1)
        ((_, sender, _, _),) = told(other)
        assert sender == actor.address
        (receipt,) = fires(chain.last)
        assert (receipt.payer, receipt.actor) == (actor.address, other.address)


@pytest.mark.parametrize("rules", ["auction", "bidding"])
def test_d55_fairness_and_weights_count_the_owner(devnet, rules):
    """D55: "caps, weights and fairness count the owner"."""
    chain, actor = moving(devnet, "globalbox", rules)
    other = chain.deploy(SETTER + "\n", value="9 CBY")
    set_timeouts(actor, *((other.address, BEFORE + 1, b"", SMALL) for _ in range(2)))
    chain.mine_until(BEFORE + 1)
    assert {r.actor for r in fires(chain.last)} == {other.address}
    snapshot, counts = chain.state.snapshot, []
    for one in (actor, other):
        record = load_actor_weight(snapshot, one.address, -1)
        weighed = 0 if record is None else record.sums.fires
        counts.append((fairness.recent_fires(snapshot, one.address), weighed))
    assert counts == [(2, 0) if rules == "auction" else (0, 2), (0, 0)]


# --- runs ----------------------------------------------------------------------------


def test_d36_a_queued_fire_is_work_and_a_noted_hit(devnet):
    """D55.

    "A queued fire (under all rules) or a noted hit (under `globalbox`) makes the next
    height work".
    """
    chain, actor = moving(
        devnet, "globalbox", globalbox_config={"max_fires_per_block": 1}
    )
    set_timeouts(actor, *((None, 20, b"", SMALL) for _ in range(3)))
    chain.mine_until(20)
    assert work_height(chain.state) == 21
    chain.mine(20)
    spans = [r.header.span for r in chain.results if r.header.height > 20]
    assert spans == [1, 1, 18]
    chain.mine(5)
    set_watch(actor, [b"k"], b"", **SMALL)
    actor.call("put_later", codec.encode([[b"k", b"1"]]))
    chain.mine()
    assert hits.is_any(chain.state.snapshot)
    assert work_height(chain.state) == chain.height + 1


def test_d36_runs_and_single_blocks_lead_to_the_same_state(devnet):
    """D36: "state after a run of N = after N empty blocks", names of fires included."""
    roots = []
    for step in (1, 7, 60):
        chain, actor = moving(
            devnet, "globalbox", globalbox_config={"max_fires_per_block": 1}
        )
        set_watch(actor, ["told"], route("tell"), **SMALL)
        set_timeouts(actor, *((None, h, route("tell"), SMALL) for h in (25, 25, 40)))
        while chain.height < 60:
            chain.mine(min(step, 60 - chain.height))
        roots.append(chain.state.head.state_root)
    assert len(set(roots)) == 1


# --- for those who doubt -------------------------------------------------------------


def test_what_is_derived_is_checked_entry_by_entry(devnet):
    """`--verify`: each entry that is removed or altered is found."""
    chain, actor = moving(
        devnet, "globalbox", globalbox_config={"max_fires_per_block": 1}
    )
    other = chain.deploy(SETTER + "\n", value="9 CBY")
    set_watch(actor, [b"idle", (other.address, b"")], **SMALL)
    set_watch(actor, [b"k"], target=other.address, **SMALL)
    set_timeouts(actor, *((other.address, 20, b"", SMALL) for _ in range(3)))
    chain.mine_until(18)
    actor.call("put_later", codec.encode([[b"k", b"1"]]))
    chain.mine_until(20)
    put(actor, (b"idle", b"1"))
    snapshot = chain.state.snapshot
    verify_globalbox(snapshot)
    assert recompute(snapshot) == chain.state.head.state_root
    families = (b"ie", b"ij", b"ik", b"il", b"io", b"ix", b"iy", b"iz")
    seen = set()
    for family in families:
        for key, value in list(snapshot.range(family, keys.prefix_stop(family))):
            seen.add(family)
            for wrong in (None, b"\xff" * max(1, len(value))):
                store = MemoryStore()
                everything = dict(snapshot.range(b"\x00", b"\xff"))
                store.commit(WriteSet(everything | {key: wrong}), sync=False)
                if wrong is not None and family in {b"io", b"iz"}:
                    continue  # these have no values to speak of
                with pytest.raises(DamagedChain):
                    verify_globalbox(store.snapshot())
    assert seen == set(families)


def test_a_chain_without_the_rules_has_nothing_of_them(devnet):
    """D38: "What is empty is absent"."""
    chain = devnet()
    actor = chain.deploy(SETTER, value="9 CBY")
    schedule_all(actor, *((9, b"", SMALL) for _ in range(3)))
    chain.mine_until(20)
    snapshot = chain.state.snapshot
    for family in (b"q", b"o", b"sn", b"sgg", b"sgd", b"ix", b"ik", b"iz"):
        assert list(snapshot.range(family, keys.prefix_stop(family))) == []
    assert len(snapshot.get(keys.TREE_ROOTS)) == 64
