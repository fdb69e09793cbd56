"""Actors that try to gain by `auction`'s own rules: what becomes of each."""

import pytest

from node.chain.globals import load_globals
from node.chain.timers import fairness
from node.primitives import codec
from tests.spec.driven_actors import (
    ALL,
    AUCTION,
    WORKER,
    decisions,
    fired_payloads,
    fires,
    route,
    schedule,
    schedule_all,
)


@pytest.fixture
def chain(devnet):
    return devnet(**AUCTION)


def test_a_payer_that_funds_ten_timers_and_can_pay_for_three(chain):
    """One at a time: what a fire does not use pays the next (D28); then destroyed."""
    actor = chain.deploy(WORKER, value="3.2 CBY")
    height = chain.height + 3
    ids = schedule_all(actor, *[(height, ALL, {"gas_limit": 250_000})] * 10)
    chain.mine_until(height)
    ended = [decisions(chain, timer)[-1] for timer in ids]
    count = len(fires(chain.last))
    assert ended == ["fired"] * count + ["removed_insufficient_funds"] * (10 - count)
    assert 3 <= count < 8
    assert chain.supply().is_balanced
    # Ten that use little all fire, though three reserves are all there is.
    thrifty = chain.deploy(WORKER, value="3.2 CBY", salt=b"2" * 32)
    height = chain.height + 3
    schedule_all(thrifty, *[(height, b"x", {"gas_limit": 250_000})] * 10)
    chain.mine_until(height)
    assert len(fires(chain.last)) == 10


def test_flooding_cancelling_and_rescheduling_gains_no_weight(chain):
    """§8: weight "cannot be amplified by re-scheduling": only fires count."""
    flooder, honest = (
        chain.deploy(WORKER, value="300 CBY", salt=salt)
        for salt in (b"1" * 32, b"2" * 32)
    )
    for actor in (flooder, honest):
        schedule(actor, chain.height + 2, b"fire")
    chain.mine(2)
    before = [
        fairness.Weights(chain.state.snapshot).of(actor.address)
        for actor in (flooder, honest)
    ]
    for _ in range(3):
        ids = schedule_all(flooder, *[(10**6, b"%d" % i, {}) for i in range(20)])
        for timer in ids[:4]:
            flooder.call("cancel", timer)
    weights = fairness.Weights(chain.state.snapshot)
    assert [weights.of(a.address) for a in (flooder, honest)] == before
    assert before[0] == before[1] == 10**6
    height = chain.height + 4
    entry = (height, b"turn", {"max_priority_fee_per_cycle": 5})
    schedule(honest, *entry[:2], **entry[2])
    schedule_all(flooder, *[entry] * 5)
    chain.mine_until(height)
    assert fires(chain.last)[0].actor == honest.address


def test_ids_ground_to_win_ties_win_nothing(chain):
    """D33, `fair`: who was there first; an id says nothing, however small."""
    honest = chain.deploy(WORKER, value="300 CBY", salt=b"1" * 32)
    grinder = chain.deploy(WORKER, value="300 CBY", salt=b"2" * 32)
    height = chain.height + 9
    own = schedule(honest, height, b"honest")
    ids = schedule_all(grinder, *[(height, b"%d" % i, {}) for i in range(40)])
    best = min(ids)
    assert best < own
    chain.mine_until(height)
    assert fires(chain.last)[0].id == own
    order = [fire.id for fire in fires(chain.last)][1:]
    assert order == ids


def test_priorities_nobody_can_pay_and_fees_of_all_there_is(chain):
    """A priority of 2^128 - 1 destroys its timer; such a maximum fee does nothing."""
    actor = chain.deploy(WORKER, value="300 CBY")
    height = chain.height + 3
    greedy, generous = schedule_all(
        actor,
        (height, b"greedy", {"max_priority_fee_per_cycle": 2**128 - 1}),
        (height, b"generous", {"max_fee_per_cycle": 2**128 - 1}),
    )
    chain.mine_until(height)
    assert decisions(chain, greedy)[-1] == "removed_insufficient_funds"
    assert decisions(chain, generous)[-1] == "fired"
    assert fired_payloads(actor) == [b"generous"]
    assert load_globals(chain.state.snapshot).p50_priority == 0


def test_a_fire_cannot_reschedule_into_its_own_block(chain):
    """§4: "avoids reentrancy via timer scheduling"."""
    actor = chain.deploy(WORKER, value="300 CBY")
    height = chain.height + 3
    now = route("schedule", codec.encode([height, b"again", {}]))
    later = route("schedule", codec.encode([height + 1, b"later", {}]))
    schedule_all(actor, (height, now, {}), (height, later, {}))
    chain.mine_until(height)
    assert [fire.is_success for fire in fires(chain.last)] == [False, True]
    chain.mine()
    assert fired_payloads(actor) == [b"later"]
