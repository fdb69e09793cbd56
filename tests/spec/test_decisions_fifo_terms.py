"""D31, D34, D35 under rules `fifo`: fees that are stated and ignored."""

import pytest

from tests.spec.driven_actors import (
    SCHEDULER,
    fires,
    refusal,
    said,
    schedule,
)

SMALL = {"gas_limit": 50_000}

# --- D31, D34, D35 under fifo --------------------------------------------------------


def test_d31_fee_arguments_are_stored_unvalidated(chain, actor):
    """D31: "Fee arguments under `fifo` are stored unvalidated"; omitted: none."""
    timer_id = schedule(actor, 9, max_fee_per_cycle=0, max_priority_fee_per_cycle=10**9)
    timer = chain.timer(timer_id)
    assert timer.max_fee_per_cycle == 0
    assert timer.max_priority_fee_per_cycle == 10**9
    plain = chain.timer(schedule(actor, 9))
    assert plain.max_fee_per_cycle is plain.max_priority_fee_per_cycle is None
    chain.mine_until(9)
    assert len(fires(chain.last)) == 2


@pytest.mark.parametrize("hint", ["fast", "unknown", ""])
def test_d34_a_tier_hint_is_ignored(chain, actor, hint):
    """D34: "`priority_tier_hint` … is ignored under `fifo`"."""
    timer = chain.timer(schedule(actor, 99, priority_tier_hint=hint))
    assert timer.max_priority_fee_per_cycle is None


def test_d34_who_may_be_an_agent(chain, actor):
    # D34: "the scheduling actor or one with the same deployer"; "checked under all
    # rules".
    sibling = chain.deploy(SCHEDULER)
    foreign = chain.deploy(SCHEDULER, sender=chain.accounts[1])
    for agent in (actor.address, sibling.address):
        assert chain.timer(schedule(actor, 99, gba=agent)).gba == agent
    for agent in (foreign.address, chain.accounts[0].address, bytes(20)):
        assert refusal(actor, 99, gba=agent) == "InvalidInput"


@pytest.mark.parametrize(
    "stated",
    [
        {"max_fee_per_cycle": 5},
        {"max_priority_fee_per_cycle": 5},
        {"priority_tier_hint": "fast"},
    ],
    ids=str,
)
def test_d34_an_agent_stands_alone(actor, stated):
    # D34: "together with stated fees it is refused"; the hint "beside an agent … is
    # `InvalidInput`".
    assert refusal(actor, 99, gba=actor.address, **stated) == "InvalidInput"


def test_d34_agents_are_not_asked(chain, actor):
    """D34: under `fifo` the agent is recorded and the basefees are paid."""
    schedule(actor, 9, gba=actor.address)  # a Scheduler has no get_gas_bid
    chain.mine_until(9)
    assert [e.topic for e in chain.last.events] == []
    assert len(fires(chain.last)) == 1


@pytest.mark.parametrize("bid", [0, 7, "text", b"bytes", True])
def test_d35_bid_is_ignored_and_said_to_be_deprecated(chain, actor, bid):
    """D35: "`bid` is accepted and ignored under `fifo` with `TimerArgDeprecated`"."""
    timer_id = schedule(actor, 99, bid=bid)
    topics = [e.topic for e in chain.last.events]
    assert topics == ["TimerScheduled", "TimerArgDeprecated"]
    assert said(chain.last.events[1])["timer_id"] == timer_id
    schedule(actor, 99, bid=None)
    assert [e.topic for e in chain.last.events] == ["TimerScheduled"]
