"""A chain in this process, and a node of the same genesis, behind one interface."""

import pytest

from node.testing import Devnet
from node.testing.process import NodeProcess


@pytest.fixture(scope="session")
def node_process():
    with NodeProcess() as node:
        yield node


@pytest.fixture
def client(node_process):
    """A client of a node that stands at genesis."""
    with node_process.client() as client:
        client.api.reset()
        yield client


@pytest.fixture(params=["devnet", "client"])
def chain(request):
    """What satisfies `node.client.Chain`, at genesis `devnet`."""
    if request.param == "client":
        yield request.getfixturevalue("client")
        return
    with Devnet() as devnet:
        yield devnet
