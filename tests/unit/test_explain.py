"""Explanations: what was recorded, told in order, in words, and within bounds (D17)."""

import pytest
from msgspec.structs import replace

from node import history, query
from node.chain.timers.rules import RULE_SETS
from node.chain.timers.timer import Decision
from node.client import UnknownId
from node.primitives.codec import encode as cbor
from node.query import MissingKind, NotFound
from node.query.explain import text, timer
from node.query.forecasts.forecast import FORECASTS
from node.testing import Devnet
from tests.spec.driven_actors import (
    BIDDING,
    SCHEDULER,
    agent_of,
    schedule,
    schedule_all,
)
from tests.spec.globalbox_actors import GLOBALBOX, SETTER, put, set_watch


@pytest.fixture
def chain():
    with Devnet(basefee_config={"min_basefee": 1_000}) as chain:
        yield chain


@pytest.fixture
def actor(chain):
    return chain.deploy(SCHEDULER, value="20 CBY")


def decided(told):
    return [
        (step.height, step.decision.decision, step.decision.reason)
        for step in told.steps
    ]


def recorded(chain, since=0):
    """The state of a chain, as if its node had kept the history above a height."""
    for result in chain.results:
        if result.header.height > since:
            chain._store.commit(history.record(result))
    return chain.state.__class__(
        chain.params, chain.head, chain._store.snapshot(), chain.state.caches
    )


def test_d17_a_life_is_told_in_order_with_the_numbers_compared(chain, actor):
    ids = schedule_all(actor, *[(20, b"", {}) for _ in range(7)])
    actor.call("extend", cbor([ids[6], 900]))
    chain.mine_until(22)
    told = query.explain_timer(recorded(chain), ids[6])
    assert decided(told) == [
        (2, "scheduled", ""),
        (3, "extended", ""),
        (20, "put_off", "lane"),
        (21, "put_off", "lane"),
        (22, "fired", ""),
    ]
    assert told.steps[2].decision.numbers == {
        "current_height": 20,
        "sequence": 6,
        "limit": 550_000,
        "reserved": 1_650_000,
        "lane": 2_000_000,
    }
    fired = told.steps[4]
    assert fired.receipt == chain.last.receipts[0]
    assert fired.decision.numbers == {
        "current_height": 22,
        "sequence": 6,
        "expires_at": 900,
        "max_cost": 1_100_000_000,
        "available": fired.decision.numbers["available"],
        "limit": 550_000,
        "reserved": 0,
        "lane": 2_000_000,
        "cycles_used": fired.receipt.cycles_used,
        "cells_used": fired.receipt.cells_used,
    }
    assert told.end == fired
    assert (told.live, told.forecast, told.put_offs_before) == (None, None, None)


def named(chain, text):
    """With the names that the chain's labels have for addresses."""
    for address, label in chain.labels.items():
        text = text.replace(f"0x{address.hex()}", label)
    return text


def test_the_chain_in_process_tells_what_the_history_tells(chain, actor):
    ids = schedule_all(actor, *[(20, b"", {}) for _ in range(7)])
    actor.call("cancel", ids[0])
    chain.mine_until(21)
    state = recorded(chain)
    for timer_id in ids:
        told = query.explain_timer(state, timer_id)
        assert repr(chain.explain(timer_id)) == named(chain, query.timer_text(told))
        assert chain.explain(timer_id).steps == told.steps
    for height in range(22):
        told = query.explain_block(state, height)
        assert repr(chain.explain_block(height)) == named(chain, query.block_text(told))


def test_who_cancelled_is_told(chain, actor):
    timer_id = schedule(actor, 50)
    receipt = actor.call("cancel", timer_id)
    end = query.explain_timer(recorded(chain), timer_id).end
    assert (end.decision.decision, end.decision.reason) == ("cancelled", "actor")
    assert end.receipt == receipt
    assert f"cancelled by its actor in transaction 0x{receipt.id.hex()}" in repr(
        chain.explain(timer_id)
    )


def test_a_removed_timer_says_what_was_required_and_available(chain, actor):
    timer_id = schedule(actor, 50)
    balance = actor.balance
    actor.call("send_away", cbor([bytes(19) + b"\x99", balance - 100_000_000]))
    chain.mine_until(50)
    told = chain.explain(timer_id)
    assert told.end.decision.decision is Decision.REMOVED_INSUFFICIENT_FUNDS
    assert told.end.decision.numbers["required"] == 1_100_000_000
    assert told.end.decision.numbers["available"] == 100_000_000
    assert repr(told).endswith(
        "Height 50: removed: a fire sets aside 1.1 CBY and its payer "
        f"{chain.labels[actor.address]} had 0.1 CBY, 1 CBY too little; keep one such "
        "reserve for each pending timer."
    )


def test_an_expired_timer_says_when(chain, actor):
    timer_id = schedule(actor, 50, b"", expires_at=40)
    assert "it will be removed, since it expires after 40" in repr(
        chain.explain(timer_id)
    )
    assert "(before it is due: it will not fire unless extended)" in repr(
        chain.explain(timer_id)
    )
    chain.mine_until(50)
    assert "expired: the height 50 is above 40" in repr(chain.explain(timer_id))


def test_a_failed_fire_shows_the_line_of_the_source(chain):
    actor = chain.deploy(
        "class Broken:\n"
        "    def arm(self):\n"
        "        return pvm_host.schedule_timer(9, b'')\n"
        "    def handle_timer(self, payload):\n"
        "        return [][1]\n",
        value="5 CBY",
    )
    chain.mine()
    actor.call("arm")
    (timer,) = actor.timers
    chain.mine_until(9)
    assert "handle_timer failed with IndexError (line 5)" in repr(
        chain.explain(timer.timer_id)
    )


# --- what awaits it ----------------------------------------------------------------


def test_the_forecast_of_a_pending_timer(chain, actor):
    ids = schedule_all(actor, *[(50, b"", {}) for _ in range(5)])
    told = chain.explain(ids[3])
    seen = told.forecast
    assert (seen.height, seen.terms.cycles_limit) == (50, 550_000)
    assert seen.terms.max_cost == 1_100_000_000
    assert seen.available == actor.balance
    assert seen.is_payable
    assert (seen.before.timers, seen.before.at_height) == (3, 3)
    assert (seen.before.reserved, seen.is_room) == (1_650_000, False)
    assert chain.explain(ids[2]).forecast.is_room
    assert (told.live.tier, told.live.bucket) == ("ring", 50)


def test_the_forecast_comes_true(chain, actor):
    """Nothing else happens, so who fits fires, and who does not is put off."""
    limits = (550_000, 550_000, 550_000, 550_000, 300_000, 100_000)
    ids = schedule_all(actor, *[(20, b"", {"gas_limit": n}) for n in limits])
    seen = {timer_id: chain.explain(timer_id).forecast for timer_id in ids}
    chain.mine_until(20)
    for decision in chain.explain_block(20).due:
        room = seen[decision.timer_id].is_room
        wanted = Decision.FIRED if room else Decision.PUT_OFF
        assert decision.decision is wanted, decision.numbers
        if room:
            assert decision.numbers["max_cost"] == (
                seen[decision.timer_id].terms.max_cost
            )


def test_the_reserves_of_those_before_it_count(chain):
    """D26: one reserve of max_cost per pending timer; the second would be destroyed."""
    actor = chain.deploy(SCHEDULER, value="2 CBY")
    first, second = schedule_all(actor, (50, b"", {}), (50, b"", {}))
    assert chain.explain(first).forecast.is_payable
    assert not chain.explain(second).forecast.is_payable
    assert "not enough beside 1.1 CBY for others before it" in repr(
        chain.explain(second)
    )
    chain.mine_until(50)
    assert chain.explain(second).end.decision.decision == "removed_insufficient_funds"


def test_an_overdue_timer_is_looked_at_next_behind_all_that_are_due(chain, actor):
    ids = schedule_all(actor, *[(20, b"", {}) for _ in range(8)])
    late = schedule(actor, 21)
    chain.mine_until(20)
    seen = chain.explain(late).forecast
    assert (seen.height, seen.before.timers, seen.before.at_height) == (21, 5, 0)
    assert chain.explain(ids[7]).forecast.before.timers == 4


def test_one_that_has_expired_before_it_takes_no_room(chain, actor):
    _, late = schedule_all(actor, (50, b"", {"expires_at": 40}), (50, b"", {}))
    before = chain.explain(late).forecast.before
    assert (before.timers, before.reserved, before.payer_cost) == (1, 0, 0)


def test_what_stands_before_is_counted_within_bounds(chain, actor, monkeypatch):
    ids = schedule_all(actor, *[(50, b"", {}) for _ in range(5)])
    monkeypatch.setattr("node.query.forecasts.forecast.BEFORE_MAX", 3)
    assert chain.explain(ids[3]).forecast.before.is_all
    seen = chain.explain(ids[4]).forecast
    assert (seen.before.timers, seen.before.is_all) == (3, False)
    assert "at least 3 timers" in repr(chain.explain(ids[4]))


# --- bounds ------------------------------------------------------------------------


def test_put_offs_are_sought_from_the_latest_back_within_bounds(
    chain, actor, monkeypatch
):
    ids = schedule_all(actor, *[(20, b"", {}) for _ in range(31)])
    chain.mine_until(30)
    state = recorded(chain)
    whole = query.explain_timer(state, ids[30])
    assert [step.height for step in whole.steps] == [2, *range(20, 30), 30]
    monkeypatch.setattr(timer, "PUT_OFF_HEIGHTS_MAX", 4)
    part = query.explain_timer(state, ids[30])
    assert [step.height for step in part.steps] == [2, 27, 28, 29, 30]
    assert part.put_offs_before == 27
    assert "put off below height 27" in query.timer_text(part)
    earlier = query.explain_timer(state, ids[30], part.put_offs_before - 1)
    assert [step.height for step in earlier.steps] == [2, 23, 24, 25, 26, 30]
    last = query.explain_timer(state, ids[30], 22)
    assert [step.height for step in last.steps] == [2, 20, 21, 22, 30]
    assert last.put_offs_before is None
    monkeypatch.setattr(timer, "PUT_OFF_BYTES_MAX", 1)
    assert query.explain_timer(state, ids[30]).put_offs_before == 30


def test_of_a_long_history_the_beginning_and_the_end_are_told(
    chain, actor, monkeypatch
):
    timer_id = schedule(actor, 50)
    for expires_at in range(100, 110):
        actor.call("extend", cbor([timer_id, expires_at]))
    state = recorded(chain)
    assert len(query.explain_timer(state, timer_id).steps) == 11
    monkeypatch.setattr(timer, "STEPS_MAX", 3)
    told = query.explain_timer(state, timer_id)
    assert told.is_cut
    assert [step.height for step in told.steps] == [2, 10, 11, 12]


def test_d46_it_is_said_whose_bid_a_place_supposes():
    """D45: an agent is asked when its timer is looked at, and not by who foretells."""
    with Devnet(**BIDDING) as chain:
        actor, agent = chain.deploy(SCHEDULER, value="20 CBY"), agent_of(chain, fee=999)
        due = chain.height + 4
        one = schedule(actor, due, gba=agent.address)
        before = f"{chain.explain(one)}".splitlines()
        chain.mine_until(due)
        after = f"{chain.explain(one)}".splitlines()
    assert "1st of 1 known to compete" in before[-4]
    assert before[-2] == "No timer stands before it in the lane."
    assert before[-1].endswith("has not bid yet: this supposes the default bid.")
    # Below the basefee it has no place, so there is no word of room for it.
    assert after[-3].startswith("It gets no turn whatever others offer:")
    assert after[-2].startswith("Its payer has ")
    assert after[-1].endswith("its agent last bid; the block will ask it anew.")


def test_d45_of_an_agent_that_nobody_will_ask_no_bid_is_supposed():
    """D45: "the agent is not asked" of who is poor, and of who has expired."""
    with Devnet(**BIDDING) as chain:
        actor, agent = chain.deploy(SCHEDULER, value="1 CBY"), agent_of(chain)
        due = chain.height + 4
        poor = schedule(actor, due, gba=agent.address)
        late = schedule(
            actor, due, gba=agent.address, gas_limit=1_001, expires_at=due - 1
        )
        told = [f"{chain.explain(one)}".splitlines()[-1] for one in (poor, late)]
    assert told[0] == "Its payer has 1 CBY, 0.1 CBY too little: it will be put off."
    assert "it will be removed, since it expires after" in told[1]


def test_d51_a_watch_that_fired_and_expired_is_not_said_to_have_fired_never():
    """D51: "Watches live on after a fire, until cancelled, unfunded or expired"."""
    with Devnet(**GLOBALBOX) as chain:
        actor = chain.deploy(SETTER, value="20 CBY")
        last = chain.height + 4
        watch = set_watch(actor, [b"k"], expires_at=last, gas_limit=50_000)
        put(actor, (b"k", b"1"))
        chain.mine_until(last + 1)
        told = f"{chain.explain(watch)}".splitlines()
    assert told[0].endswith(f"; it expired at height {last + 1}.")
    assert sum(" fired: " in line for line in told) == 1
    assert "of 0 blocks of age" in told[3]


def test_an_unknown_timer_is_not_found(chain):
    with pytest.raises(UnknownId, match="timer_id: the id of a timer of this chain"):
        chain.explain(bytes(32))
    with pytest.raises(NotFound) as error:
        query.explain_timer(recorded(chain), bytes(32))
    assert error.value.missing is MissingKind.TIMER


def test_a_timer_that_came_with_a_state_is_told_from_there_on(chain, actor):
    """A state file has timers, and none of the blocks that scheduled them."""
    ids = schedule_all(actor, *[(20, b"", {}) for _ in range(7)])
    state = recorded(chain, since=chain.height)
    told = query.explain_timer(state, ids[6])
    assert (told.timer_id, told.actor, told.due_height) == (ids[6], actor.address, 20)
    assert (told.steps, told.is_watch) == ((), False)
    lines = text.timer_text(told).splitlines()
    assert lines[0].endswith("it waits (ring 20, sequence 6).")
    assert lines[1] == "It came with a state: no block here tells who scheduled it."
    since = chain.height
    chain.mine_until(21)
    told = query.explain_timer(recorded(chain, since), ids[6])
    assert decided(told) == [(20, "put_off", "lane"), (21, "put_off", "lane")]
    chain.mine_until(40)
    told = query.explain_timer(recorded(chain, since), ids[6])
    assert decided(told)[-1][1] == "fired"
    assert text.timer_text(told).splitlines()[1].startswith("It came with a state:")


# --- blocks ------------------------------------------------------------------------


def test_d17_a_block_tells_every_due_timer_in_the_order_of_looking(chain, actor):
    """(height, sequence) (D22), though removals and put-offs are decided first."""
    late = schedule(actor, 20, b"", expires_at=10)
    ids = schedule_all(actor, *[(20, b"", {}) for _ in range(4)])
    earlier = schedule(actor, 19)
    chain.mine_until(20)
    told = chain.explain_block(20)
    assert [d.timer_id for d in told.due] == [late, *ids]
    assert [d.decision for d in told.due] == [
        "expired",
        "fired",
        "fired",
        "fired",
        "put_off",
    ]
    assert [d.timer_id for d in chain.explain_block(19).due] == [earlier]
    assert repr(told).splitlines()[0] == "Block 20 looked at 5 due timers."
    assert [line[0] for line in repr(told).splitlines()[1:]] == list("12345")


def test_what_executions_changed_is_told_apart(chain, actor):
    timer_id = schedule(actor, 50)
    told = chain.explain_block(chain.height)
    assert (told.due, [d.timer_id for d in told.changes]) == ((), [timer_id])
    assert "Executions scheduled or changed 1 timer:\n- 0x" in repr(told)


def test_nothing_was_decided_within_a_run(chain):
    chain.mine(100)
    assert repr(chain.explain_block(50)) == "Block 50 looked at 0 due timers."


def test_a_block_above_the_head_is_refused(chain):
    with pytest.raises(query.HeightNotReached):
        query.explain_block(chain.state, 5)
    with pytest.raises(ValueError, match="0 to 0 exist"):
        chain.explain_block(5)


def test_every_decision_has_its_sentence():
    assert set(text._TELLERS) == set(Decision)


def test_a_record_of_an_older_node_is_told_as_far_as_it_goes(chain, actor):
    """Its decisions have no sequence: the order is that of the trace."""
    schedule_all(actor, *[(20, b"", {}) for _ in range(2)])
    chain.mine_until(20)
    older = [
        replace(d, numbers={k: n for k, n in d.numbers.items() if k != "sequence"})
        for d in chain.last.trace
    ]
    told = query.explain_trace(20, older)
    assert list(told.due) == older
    assert "1. 0x" in query.block_text(told)


def test_every_rule_set_has_a_forecast():
    assert FORECASTS.keys() == RULE_SETS.keys()


def test_d58_what_a_constructor_schedules_saw_no_upgrade(chain):
    """The code that an actor was deployed with took no handler away."""
    source = """
class Actor:
    def deploy(self):
        pvm_host.schedule_timer(pvm_host.block_height() + 2, b"")
"""
    actor = chain.deploy(source, value="5 CBY")
    (timer_id,) = (timer.timer_id for timer in actor.timers)
    assert chain.explain(timer_id).upgrades == ()
    chain.mine(3)
    told = chain.explain(timer_id)
    assert told.steps[-1].receipt.failure.kind == "HandlerNotFound"
    assert "upgrade" not in query.timer_text(told)
