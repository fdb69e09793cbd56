"""`node.chain.host`: what is not meant for the actor stops the block."""

import pytest
from msgspec.structs import replace

from node.state.errors import StoreError
from node.testing import Devnet

ACTOR = """
import pvm_host

def read(payload):
    try:
        pvm_host.get_state(b"broken")
    except Exception:
        pass
    return b"went on"

def read_in_a_call(payload):
    try:
        pvm_host.call_actor(pvm_host.self_address(), "read", b"")
    except Exception:
        pass
    return b"went on"

def scan(payload):
    try:
        pvm_host.state_scan_prefix(b"", 9)
    except Exception:
        pass

def refused(payload):
    try:
        pvm_host.get_state(b"")
    except pvm_host.HostError:
        return b"went on"
"""


class BrokenSnapshot:
    """A disk that cannot be read in one place."""

    def __init__(self, snapshot):
        self.snapshot = snapshot

    def get(self, key):
        if key.endswith(b"broken"):
            raise StoreError("the disk is gone")
        return self.snapshot.get(key)

    def range(self, start, stop):
        if start.startswith(b"ss"):
            raise StoreError("the disk is gone")
        return self.snapshot.range(start, stop)


@pytest.fixture
def chain():
    with Devnet() as chain:
        yield chain


LIMITS = {"cycles_limit": 500_000, "cells_limit": 50_000}


@pytest.mark.parametrize("handler", ["read", "read_in_a_call", "scan"])
def test_a_store_that_fails_is_no_failure_of_the_actor(chain, handler):
    """Else a block would say what no other node computes, were it caught or not."""
    actor = chain.deploy(ACTOR)
    chain.state = replace(chain.state, snapshot=BrokenSnapshot(chain.state.snapshot))
    with pytest.raises(StoreError, match="the disk is gone"):
        actor.call(handler, **LIMITS)
    with pytest.raises(StoreError, match="the disk is gone"):
        actor.read(handler)


def test_a_refusal_is_the_actors(chain):
    actor = chain.deploy(ACTOR)
    assert actor.call("refused", **LIMITS).value == b"went on"
