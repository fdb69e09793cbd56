"""Time passes by itself at a pace, to the next timer, and not while it is held."""

import pytest

from node.chain.transaction import ExecuteActor, Transfer, decode_transaction
from node.mempool import Pool
from node.runtime.block_timer import BlockTimer
from node.runtime.time_control import TimeControl
from node.runtime.types import MiningMode
from node.testing import Devnet
from tests.spec.driven_actors import SCHEDULER, schedule, schedule_all

INTERVAL, INSTANT, MANUAL = MiningMode

SENDER = """
class Sender:
    def send(self):
        pvm_host.create_deferred_tx("received", b"")

    def received(self):
        pass
"""


class Clock:
    """Time that passes when a test says so."""

    now = 0.0

    def monotonic(self):
        return self.now

    def utc(self):
        return ""


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def chain():
    with Devnet() as chain:
        yield chain


@pytest.fixture
def heights(clock, chain):
    """How many heights pass in the chain's present state, a pace after the last."""
    controls = {
        auto: TimeControl(BlockTimer(clock, 1_000), is_auto=auto) for auto in (0, 1)
    }

    def ask(mode, *, auto=True, pool=None):
        clock.now += 1
        return controls[auto].heights(chain.state, mode, pool or Pool())

    ask.passing = controls[True]
    return ask


def pool_with(chain, instruction):
    pool = Pool()
    chain.submit(instruction, cycles_limit=100_000, cells_limit=10_000)
    pool.admit(chain.state, decode_transaction(chain._queue.pop().raw))
    return pool


def test_without_timers_only_the_interval_makes_blocks(heights):
    for auto in (False, True):
        asked = [heights(mode, auto=auto) for mode in (INTERVAL, INSTANT, MANUAL)]
        assert asked == [1, 0, 0]


@pytest.mark.parametrize("mode", MiningMode)
def test_time_advances_to_the_next_timer_when_nothing_is_pending(chain, heights, mode):
    actor = chain.deploy(SCHEDULER, value="5 CBY")
    schedule_all(actor, (500, b"", {}), (90, b"", {}))
    assert heights(mode) == 90 - chain.height
    assert heights(mode, auto=False) == (1 if mode is INTERVAL else 0)


def test_one_timers_height_a_pace(chain, clock, heights):
    actor = chain.deploy(SCHEDULER, value="5 CBY")
    schedule_all(actor, (50, b"", {}), (90, b"", {}))
    assert heights(MANUAL) == 48
    chain.mine_until(49)
    passing = heights.passing
    assert passing.heights(chain.state, MANUAL, Pool()) == 1, "the same pace goes on"
    chain.mine_until(50)
    assert passing.heights(chain.state, MANUAL, Pool()) == 0, "it is not yet due"
    clock.now += 1
    assert passing.heights(chain.state, MANUAL, Pool()) == 40


def test_what_is_pending_comes_first(chain, heights):
    actor = chain.deploy(SCHEDULER, value="5 CBY")
    schedule(actor, 500)
    pool = pool_with(chain, Transfer(chain.accounts[1].address, 1))
    assert heights(INTERVAL, pool=pool) == 1
    assert heights(MANUAL, pool=pool) == 0
    sender = chain.deploy(SENDER)
    chain.submit(ExecuteActor(sender.address, "send", b"", 0))
    chain.mine()
    assert heights(INTERVAL) == 1, "a message is pending"
    assert heights(MANUAL) == 0


def test_time_stands_still_while_anybody_holds_it(chain, heights):
    actor = chain.deploy(SCHEDULER, value="5 CBY")
    schedule(actor, 500)
    pool = pool_with(chain, Transfer(chain.accounts[1].address, 1))
    with heights.passing.held():
        with heights.passing.held():
            assert heights.passing.holds == 2
            assert [heights(mode) for mode in MiningMode] == [0, 0, 0]
        assert heights(INTERVAL) == 0
        assert heights(INTERVAL, pool=pool) == 1, "what is submitted goes on"
    assert heights(MANUAL) == 500 - chain.height


def test_a_hold_ends_an_advance_that_is_under_way(chain, heights):
    actor = chain.deploy(SCHEDULER, value="5 CBY")
    schedule(actor, 500)
    assert heights(MANUAL) > 400
    with heights.passing.held():
        assert heights.passing.heights(chain.state, MANUAL, Pool()) == 0


def test_a_timer_beyond_the_end_of_time_is_not_sought(chain, heights):
    actor = chain.deploy(SCHEDULER, value="5 CBY")
    schedule(actor, 2**64 - 1)
    assert heights(MANUAL) == 0
    assert heights(INTERVAL) == 1
