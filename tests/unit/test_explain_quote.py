"""Quotes: what a timer would cost is what it costs, and who could pay is who can."""

from itertools import pairwise

import pytest

from node import history, query
from node.chain.fees import idle_lane_basefee
from node.chain.transition import open_state
from node.query import InvalidQuote, QuoteRequest, Warnings
from node.rpc import explanations
from node.testing import Devnet
from tests.spec.driven_actors import (
    ALL,
    AUCTION,
    SCHEDULER,
    WORKER,
    schedule,
    schedule_all,
)


@pytest.fixture
def chain():
    with Devnet(basefee_config={"min_basefee": 1_000}) as chain:
        yield chain


@pytest.fixture
def actor(chain):
    return chain.deploy(SCHEDULER, value="5 CBY")


def quote(chain, actor, **wanted):
    payer = wanted.pop("fee_payer", actor.address)
    return query.quote_timer(chain.state, QuoteRequest(actor.address, payer, **wanted))


def test_a_fire_sets_aside_what_was_quoted(chain, actor):
    quoted = quote(chain, actor, gas_limit=200_000, height=50)
    schedule(actor, 50, b"", gas_limit=200_000)
    chain.mine_until(50)
    (decision,) = chain.last.trace
    assert decision.numbers["max_cost"] == quoted.terms.max_cost == 750_000_000
    assert decision.numbers["limit"] == quoted.terms.cycles_limit
    assert decision.numbers["expires_at"] >= quoted.expires_at


def test_scheduling_costs_200_cycles_and_a_cell_a_byte(chain, actor):
    """CIP-5 §6.1: nothing else."""
    quoted = quote(chain, actor, payload_bytes=70)
    assert (quoted.schedule_cycles, quoted.schedule_cells) == (200, 70)
    assert quoted.schedule_cost == 270 * 1_000


def test_d26_a_reserve_for_each_pending_timer(chain, actor):
    assert quote(chain, actor).fires_covered == 4
    schedule_all(actor, (50, b"", {}), (60, b"", {"gas_limit": 100_000}))
    quoted = quote(chain, actor)
    assert (quoted.pending, quoted.pending_cost) == (2, 1_750_000_000)
    assert (quoted.fires_covered, quoted.fires_free) == (4, 2)
    assert quote(chain, actor, gas_limit=100_000).fires_covered == 7


def test_a_balance_for_more_fires_than_64_bits_count_is_quoted(chain, actor):
    """The API counts fires in 64 bits: the call had failed with an untyped error."""
    chain.set_balance(actor, 2**128 - 1)
    quoted = quote(chain, actor)
    assert quoted.fires_covered == quoted.fires_free == 2**64 - 1
    message = explanations.quote_to_proto(chain.state, quoted)
    assert message.fires_covered == message.fires_free == 2**64 - 1
    assert message.balance == str(2**128 - 1)


def test_another_payer_is_quoted_with_its_own_balance(chain, actor):
    bob = chain.accounts[1]
    schedule(actor, 50)
    quoted = quote(chain, actor, fee_payer=bob.address)
    assert (quoted.balance, quoted.pending) == (chain.balance(bob), 0)


def test_three_default_fires_fill_a_block(chain, actor):
    quoted = quote(chain, actor)
    assert quoted.terms.fires_a_block == 3
    assert quoted.warnings == (Warnings.FEW_FIRES_FILL_A_BLOCK,)
    assert "3 such fires fill the timer lane" in query.quote_text(quoted)
    assert quote(chain, actor, gas_limit=400_000).warnings == ()


def test_a_timer_that_expires_before_it_is_due_is_warned_of(chain, actor):
    quoted = quote(chain, actor, gas_limit=1_000, height=50, expires_at=49)
    assert quoted.warnings == (Warnings.EXPIRES_BEFORE_DUE,)
    assert "expires after height 49" in query.quote_text(quoted)
    assert quote(chain, actor, gas_limit=1_000, height=50, expires_at=50).warnings == ()


def test_a_payer_who_cannot_pay_one_more_is_warned_of(chain):
    actor = chain.deploy(SCHEDULER, value="2 CBY")
    assert Warnings.PAYER_CANNOT_PAY not in quote(chain, actor).warnings
    schedule(actor, 50)
    quoted = quote(chain, actor)
    assert quoted.fires_covered == 1
    assert Warnings.PAYER_CANNOT_PAY in quoted.warnings


def test_a_full_actor_is_warned_of():
    with Devnet(timer_config={"max_timers_per_actor": 1}) as chain:
        actor = chain.deploy(SCHEDULER, value="5 CBY")
        assert Warnings.TIMER_LIMIT_REACHED not in quote(chain, actor).warnings
        schedule(actor, 50)
        assert Warnings.TIMER_LIMIT_REACHED in quote(chain, actor).warnings


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gas_limit", 999),
        ("gas_limit", 550_001),
        ("height", 2),
        ("expires_at", 10**9),
        ("payload_bytes", 2**20 + 1),
    ],
)
def test_what_scheduling_would_refuse_is_refused(chain, actor, field, value):
    with pytest.raises(InvalidQuote) as error:
        quote(chain, actor, **{field: value})
    assert error.value.field == field


# --- under the rules `auction` --------------------------------------------------------


def compete(chain, terms, extra=()):
    """Nine timers of one actor that use all they may, and `extra` ones of another."""
    crowd, other = (
        chain.deploy(WORKER, value="900 CBY", salt=salt)
        for salt in (b"1" * 32, b"2" * 32)
    )
    height = chain.height + 4
    schedule_all(crowd, *[(height, ALL, one) for one in terms])
    ids = schedule_all(other, *[(height, ALL, one) for one in extra])
    chain.mine_until(height)
    return other, ids


def offers(*priorities, limit=250_000):
    return [
        {
            "max_fee_per_cycle": 9_000,
            "max_priority_fee_per_cycle": priority,
            "gas_limit": limit,
        }
        for priority in priorities
    ]


@pytest.mark.parametrize("limit", [250_000, 40_000])
def test_the_price_that_would_have_won_wins_and_one_less_does_not(limit):
    """Of each of the last blocks: what a turn there would really have cost."""
    with Devnet(**AUCTION) as chain:
        other, _ = compete(chain, offers(*range(10, 19)))
        quoted = chain.quote(other, gas_limit=limit, blocks=2)
        latest, quiet = quoted.past
        assert (latest.height, latest.fires) == (chain.height, 8)
        assert latest.basefee_lane == chain.head.basefee_lane
        assert latest.max_fee == latest.basefee_lane + latest.priority
        assert (quiet.priority, quiet.fires, quiet.cycles_used) == (0, 0, 0)
        assert quoted.weight_ppm == 2_000_000
    for priority, expected in ((latest.priority, "fired"), (latest.priority - 1, None)):
        with Devnet(**AUCTION) as chain:
            extra = offers(priority, limit=limit)
            _, (mine,) = compete(chain, offers(*range(10, 19)), extra)
            (decision,) = [d for d in chain.last.trace if d.timer_id == mine]
            assert (decision.decision == "fired") == (expected == "fired")


def test_whether_an_offer_would_have_won_is_told():
    with Devnet(**AUCTION) as chain:
        other, _ = compete(chain, offers(*range(10, 19)))
        terms = {"gas_limit": 250_000, "blocks": 1}
        (place,) = chain.quote(other, **terms).past
        won = chain.quote(other, max_priority_fee_per_cycle=place.priority, **terms)
        lost = chain.quote(
            other, max_priority_fee_per_cycle=place.priority - 1, **terms
        )
        assert [one.past[0].is_won for one in (won, lost)] == [True, False]
        assert won.terms.price.cycle_tip == place.priority
        assert "and a priority of" in f"{won}"
        assert "it would have had a turn in 1." in f"{won}"
        with pytest.raises(InvalidQuote, match="at least the lane basefee"):
            chain.quote(other, max_fee_per_cycle=1)
        with pytest.raises(InvalidQuote, match="from 0 to 100"):
            chain.quote(other, blocks=101)
        assert chain.quote(other, blocks=0).past == ()


def test_a_quote_looks_back_over_runs_and_no_further_than_the_rules():
    """Inside a run the lane's basefee falls height by height (D36)."""
    rules = [{"height": 0, "rules": "fifo"}, {"height": 3, "rules": "auction"}]
    with Devnet(**{**AUCTION, "activations": rules}) as chain:
        actor = chain.deploy(SCHEDULER, value="5 CBY")
        chain.advance(blocks=9)
        places = chain.quote(actor, blocks=100).past
        assert [place.height for place in places] == list(range(chain.height, 2, -1))
        fees = [place.basefee_lane for place in reversed(places)]
        for before, after in pairwise(fees):
            assert after == idle_lane_basefee(before, 1)
        assert fees[0] == 1_000


def test_the_history_of_a_node_tells_the_same():
    with Devnet(**AUCTION) as chain:
        other, _ = compete(chain, offers(*range(10, 19)))
        chain.advance(blocks=5)
        for result in chain.results:
            chain._store.commit(history.record(result))
        state = open_state(chain.params, chain.head, chain._store.snapshot())
        wanted = QuoteRequest(
            other.address, other.address, gas_limit=200_000, blocks=50
        )
        told = query.quote_timer(state, wanted)
        told_in_process = chain.quote(other, gas_limit=200_000, blocks=50)
        assert query.quote_text(told) == f"{told_in_process}"
        assert told.past == told_in_process.past
        assert len(told.past) == chain.height


def test_pending_timers_are_reserved_for_at_their_own_price():
    """Under `auction` each reserve holds its priority (D29)."""
    with Devnet(**AUCTION) as chain:
        actor = chain.deploy(WORKER, value="900 CBY")
        schedule_all(actor, *[(90, b"", one) for one in offers(5, 70)])
        quoted = chain.quote(actor)
        basefee = chain.quote(actor).terms.price.lane_burn
        cells = quoted.terms.cells_limit * 1_000
        wanted = sum(250_000 * (1_000 + basefee + tip) + cells for tip in (5, 70))
        assert quoted.pending_cost == wanted
        assert quoted.schedule_cost == 200 * 1_000
