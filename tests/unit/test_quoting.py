"""Quotes: what a timer would cost is what it costs, and who could pay is who can."""

import pytest

from node import query
from node.query import InvalidQuote, Wanted, Warnings
from node.testing import Devnet
from tests.spec.puppets import SCHEDULER, schedule, schedule_all


@pytest.fixture
def chain():
    with Devnet(basefee_config={"min_basefee": 1_000}) as chain:
        yield chain


@pytest.fixture
def actor(chain):
    return chain.deploy(SCHEDULER, value="5 CBY")


def quote(chain, actor, **wanted):
    payer = wanted.pop("fee_payer", actor.address)
    return query.quote_timer(chain.state, Wanted(actor.address, payer, **wanted))


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


def test_another_payer_is_quoted_with_its_own_balance(chain, actor):
    bob = chain.accounts[1]
    schedule(actor, 50)
    quoted = quote(chain, actor, fee_payer=bob.address)
    assert (quoted.balance, quoted.pending) == (chain.balance(bob), 0)


def test_three_default_fires_fill_a_block(chain, actor):
    quoted = quote(chain, actor)
    assert quoted.terms.fires_a_block == 3
    assert quoted.warnings == (Warnings.FEW_FIRES_FILL_A_BLOCK,)
    assert "3 such fires fill the timer lane" in query.tell_quote(quoted)
    assert quote(chain, actor, gas_limit=400_000).warnings == ()


def test_a_timer_that_expires_before_it_is_due_is_warned_of(chain, actor):
    quoted = quote(chain, actor, gas_limit=1_000, height=50, expires_at=49)
    assert quoted.warnings == (Warnings.EXPIRES_BEFORE_DUE,)
    assert "expires after height 49" in query.tell_quote(quoted)
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
