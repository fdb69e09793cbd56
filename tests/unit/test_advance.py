"""Time passes to one target, at the cost of what happens on the way."""

import pytest

from node.chain.advance import AdvanceFault, AdvanceRefused
from node.testing import Devnet
from tests.spec.driven_actors import SCHEDULER, schedule, schedule_all

COUNTER = """
class Counter:
    def again(self, payload):
        left = int(payload.decode())
        if left:
            pvm_host.create_deferred_tx("again", str(left - 1).encode())
"""


@pytest.fixture
def chain():
    with Devnet() as chain:
        yield chain


@pytest.fixture
def actor(chain):
    return chain.deploy(SCHEDULER, value="20 CBY")


def test_blocks_pass_heights(chain):
    passage = chain.advance(blocks=1_000_000)
    assert chain.height == 1_000_000
    assert len(chain.results) == 2, "one header beside genesis"
    assert passage.heights == []


def test_a_height_is_reached(chain):
    chain.advance(height=77)
    assert chain.height == 77


def test_a_duration_ends_at_the_first_height_that_is_late_enough(chain):
    start = chain.timestamp_ms
    chain.advance(duration_ms=2_500)
    assert chain.timestamp_ms - start == 3_000
    chain.advance(duration_ms=1_000)
    assert chain.timestamp_ms - start == 4_000


def test_the_next_timer_fires(chain, actor):
    schedule(actor, 500, b"first")
    schedule(actor, 900, b"second")
    passage = chain.advance(next_timer=True)
    assert chain.height == 500
    assert (passage.heights, passage.fires, passage.fires_failed) == ([500], 1, 0)
    (receipt,) = chain.last.receipts
    assert passage.fire_cycles == receipt.cycles_used
    assert passage.fire_fees == receipt.fee > 0
    chain.advance(next_timer=True)
    assert chain.height == 900


def test_a_timer_that_is_put_off_is_the_next_timer_again(chain, actor):
    """Three default fires fill a block (D8)."""
    schedule_all(actor, *[(50, b"", {}) for _ in range(4)])
    assert chain.advance(next_timer=True).put_off == 1
    assert chain.height == 50
    assert chain.advance(next_timer=True).fires == 1
    assert chain.height == 51


def test_without_a_timer_there_is_no_next_one(chain):
    with pytest.raises(AdvanceRefused, match="no timer is pending") as refused:
        chain.advance(next_timer=True)
    assert refused.value.fault is AdvanceFault.NO_TIMER
    assert chain.height == 0


def test_until_idle_ends_when_nothing_waits(chain, actor):
    schedule(actor, 500)
    schedule(actor, 800)
    passage = chain.advance(until_idle=10_000)
    assert chain.height == 800
    assert passage.heights == [500, 800]


def test_until_idle_leaves_alone_what_is_due_beyond_its_bound(chain, actor):
    schedule(actor, 500)
    schedule(actor, 80_000)
    chain.advance(until_idle=10_000)
    assert chain.height == 500
    assert len(chain.timers()) == 1


def test_until_idle_waits_for_messages_and_transactions(chain):
    actor = chain.deploy(COUNTER)
    actor.call("again", b"3")
    before = chain.height
    chain.advance(until_idle=100)
    assert chain.height == before + 3


def test_an_idle_chain_stays_where_it_is(chain):
    chain.advance(until_idle=100)
    assert chain.height == 0


def test_a_heart_that_beats_for_ever_ends_at_the_bound(chain):
    source = """
class Heart:
    def start(self):
        self._again()
    def handle_timer(self, payload):
        self._again()
    def _again(self):
        pvm_host.schedule_timer(pvm_host.block_height() + 10, b"", None, 50_000)
"""
    heart = chain.deploy(source, value="20 CBY")
    heart.call("start")
    passage = chain.advance(until_idle=1_000)
    assert chain.height == 1_002
    assert passage.fires == 100


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ({"blocks": 0}, AdvanceFault.NO_TIME),
        ({"blocks": -1}, AdvanceFault.NO_TIME),
        ({"duration_ms": 0}, AdvanceFault.NO_TIME),
        ({"height": 0}, AdvanceFault.HEIGHT_PASSED),
        ({"height": 5}, AdvanceFault.HEIGHT_PASSED),
        ({"until_idle": 0}, AdvanceFault.HEIGHT_PASSED),
        ({"height": 2**63}, AdvanceFault.HEIGHT_TOO_FAR),
        ({"blocks": 2**64}, AdvanceFault.HEIGHT_TOO_FAR),
        ({"duration_ms": 2**70}, AdvanceFault.HEIGHT_TOO_FAR),
    ],
)
def test_an_impossible_target_is_refused_and_nothing_happens(chain, target, fault):
    chain.advance(blocks=5)
    with pytest.raises(AdvanceRefused) as refused:
        chain.advance(**target)
    assert refused.value.fault is fault
    assert chain.height == 5


def test_the_last_height_can_be_reached(chain):
    """Timestamps fit 63 bits for as many heights again."""
    last = chain.params.height_max
    chain.advance(height=last)
    assert chain.mine().header.height == last + 1
    assert chain.timestamp_ms < 2**63


@pytest.mark.parametrize("targets", [{}, {"blocks": 1, "height": 9}])
def test_exactly_one_target_is_wanted(chain, targets):
    with pytest.raises(TypeError, match="exactly one of"):
        chain.advance(**targets)


def test_a_timer_at_the_last_height_does_not_wrap(chain, actor):
    schedule(actor, 2**64 - 1)
    chain.advance(blocks=10**9)
    assert chain.timers()[0].height == 2**64 - 1
    assert actor.storage.get("fires") is None
