"""Hints in the receipts of executions that scheduled timers (host-api.md §2)."""

import pytest

from node.chain.block import ReceiptKind
from node.testing import Devnet
from tests.spec.driven_actors import STEADY

HEART = """
class Heart:
    def start(self, payload):
        pvm_host.schedule_timer(
            pvm_host.block_height() + 2, b"", gas_limit=int(payload.decode())
        )

    def handle_timer(self, payload):
        self.start(b"20000")
        pvm_host.transfer(self.deployer, pvm_host.get_balance(self.address))
"""


@pytest.mark.parametrize(
    ("value", "gas_limit", "is_told"),
    [("0 CBY", b"20000", True), ("5 CBY", b"20000", False), ("1 CBY", b"500000", True)],
)
def test_a_timer_that_its_payer_cannot_pay_for(value, gas_limit, is_told):
    """CIP-5 §5.4 path 2 destroys it when it is due: the author hears it before."""
    with Devnet(**STEADY) as chain:
        actor = chain.deploy(HEART, value=value)
        receipt = actor.call("start", gas_limit)
        assert ("base units and its payer has" in receipt.hint) == is_told
        chain.mine(2)
        assert bool(actor.timers) != is_told


def test_a_heartbeat_hears_that_it_will_end():
    with Devnet(**STEADY) as chain:
        actor = chain.deploy(HEART, value="5 CBY")
        assert actor.call("start", b"20000").hint == ""
        chain.mine(6)
        (fire,) = chain.receipts(ReceiptKind.FIRE)
        assert "its payer has" in fire.hint
        assert actor.timers == []
