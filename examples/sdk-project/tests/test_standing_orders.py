"""The order pays when it is due, as often as it can, until its owner stops it."""

import pytest

from node.client import Chain, TransactionFailed
from node.testing import Devnet, assert_event, assert_fires_at
from standing_orders import StandingOrder

BOB = bytes(19) + b"\x0b"
CBY = 10**9


def test_it_pays_every_ten_blocks(chain: Chain, order: StandingOrder):
    order.start(BOB, CBY, every=10)
    started = chain.height
    for number in (1, 2, 3):
        assert_fires_at(chain, order.actor, started + 10 * number)
        assert chain.balance(BOB) == number * CBY
    assert order.payments == 3
    assert_event(chain, "paid", BOB, emitter=order.actor)


def test_a_year_passes_in_no_time(chain: Chain, order: StandingOrder):
    order.start(BOB, 1, every=2_000_000)
    passage = chain.advance(blocks=31_536_000)
    assert passage.fires == order.payments == chain.balance(BOB) == 15


def test_it_ends_when_the_money_does(chain: Chain, order: StandingOrder):
    order.start(BOB, 6 * CBY, every=5)
    chain.advance(blocks=100, expect_failure=True)
    assert order.payments == 3
    assert order.actor.timers == []


def test_only_its_owner_stops_it(chain: Chain, order: StandingOrder):
    order.start(BOB, CBY, every=10)
    with pytest.raises(TransactionFailed, match="only the owner does this"):
        order.actor.call("stop", sender=chain.accounts[1])
    order.stop()
    assert order.actor.timers == []
    chain.advance(blocks=100)
    assert chain.balance(BOB) == 0


def test_what_a_test_tries_can_be_taken_back(chain: Chain, order: StandingOrder):
    with chain.snapshot():
        order.start(BOB, CBY, every=10)
        chain.advance(blocks=50)
        assert order.payments == 5
    assert order.payments == 0
    assert order.actor.balance == 20 * CBY


@pytest.mark.devnet(block_interval_ms=60_000)
def test_on_a_chain_with_slower_blocks(devnet: Devnet):
    before = devnet.timestamp_ms
    devnet.advance(duration_ms=3_600_000)
    assert devnet.height == 60
    assert devnet.timestamp_ms == before + 3_600_000
