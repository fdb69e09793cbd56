"""Fixtures: fresh in-process chains, and the actor most timer tests use."""

import pytest

from node.testing import Devnet
from tests.spec.driven_actors import SCHEDULER


@pytest.fixture
def devnet():
    """Opens chains with genesis overrides and closes them after the test."""
    opened = []

    def open_chain(**overrides):
        opened.append(Devnet(**overrides))
        return opened[-1]

    yield open_chain
    for chain in opened:
        chain.close()


@pytest.fixture
def chain(devnet):
    """A chain with the genesis of every devnet."""
    return devnet()


@pytest.fixture
def actor(chain):
    """A Scheduler on that chain, with 20 CBY of its own."""
    return chain.deploy(SCHEDULER, value="20 CBY")
