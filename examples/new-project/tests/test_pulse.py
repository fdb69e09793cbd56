"""It beats when it is due, until its deployer stops it."""

from pathlib import Path

import pytest

from node.client import Actor, TransactionFailed
from node.testing import Devnet, assert_event, assert_fires_at

PULSE = Path(__file__).parents[1] / "actors" / "pulse.py"


@pytest.fixture
def pulse(devnet: Devnet) -> Actor:
    """Deployed with money, from which it pays for its beats."""
    return devnet.deploy(PULSE, value="5 CBY")


def test_it_beats_every_ten_blocks(devnet: Devnet, pulse: Actor) -> None:
    deployed = devnet.height
    for number in (1, 2, 3):
        assert_fires_at(devnet, pulse, deployed + 10 * number)
        assert_event(devnet, "beat", str(number).encode(), emitter=pulse)
    assert pulse.read.beats() == 3


def test_the_deployment_says_how_often(devnet: Devnet) -> None:
    slow = devnet.deploy(PULSE, payload=b'{"every": 1000}', value="5 CBY")
    devnet.advance(blocks=3_500)
    assert slow.storage["beats"] == 3


@pytest.mark.parametrize("every", [b"0", b'"10"', b"true"])
def test_no_other_number_will_do(devnet: Devnet, every: bytes) -> None:
    with pytest.raises(TransactionFailed, match="a number of blocks, 1 or more"):
        devnet.deploy(PULSE, payload=b'{"every": %b}' % every, value="5 CBY")


def test_nobody_but_a_timer_makes_it_beat(devnet: Devnet, pulse: Actor) -> None:
    with pytest.raises(TransactionFailed, match="only a timer calls this"):
        pulse.call("handle_timer", sender=devnet.accounts[1])


def test_only_its_deployer_stops_it(devnet: Devnet, pulse: Actor) -> None:
    with pytest.raises(TransactionFailed, match="only the deployer stops it"):
        pulse.call("stop", sender=devnet.accounts[1])
    pulse.call("stop")
    assert pulse.timers == []
    devnet.advance(blocks=100)
    assert pulse.read.beats() == 0
