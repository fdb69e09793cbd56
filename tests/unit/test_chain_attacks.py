"""Attacks on the chain through host calls: work that was not paid for."""

import pytest

from node.chain.arguments import expect_text
from node.testing import Devnet
from pvm import HostError
from pvm.storage import storage_key


class Unencodable(str):
    """A text that must not be encoded."""

    __slots__ = ()

    def encode(self, *_):
        """Fail: the length was enough to refuse."""
        raise AssertionError


def test_a_long_text_is_refused_before_it_is_encoded():
    """A topic of two million characters cost 500 cycles and milliseconds (D16)."""
    with pytest.raises(HostError, match="at most 64 bytes"):
        expect_text("\u20ac" * 65, "topic", 64)
    with pytest.raises(HostError, match="at most 200 bytes"):
        storage_key(Unencodable("a" * 201))


def test_a_payload_is_paid_for_before_it_is_parsed():
    """A refused timer parsed 64 KB of JSON for 200 cycles (CIP-5 §6.1)."""
    source = """
def run():
    payload = b'{"a":[' + b"[]," * 20000 + b"[]]}"
    height = pvm_host.block_height() + 5
    before = pvm_host.gas_left()
    try:
        pvm_host.schedule_timer(height, payload, None, 1)
    except pvm_host.HostError:
        pass

def routed():
    name = "a" * 300
    payload = f'{{"_handler":"{name}","_payload":""}}'.encode()
    pvm_host.schedule_timer(pvm_host.block_height() + 5, payload)
"""
    with Devnet() as chain:
        actor = chain.deploy(source)
        actor.call("run")
        receipt = actor.call("routed", expect_failure=True)
        assert receipt.failure.kind == "HostError.InvalidInput"
        assert "_handler has at most" in receipt.failure.message
        assert not chain.timers(actor)
