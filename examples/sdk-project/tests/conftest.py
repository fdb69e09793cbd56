"""What the tests share: an order on the chain of each test, in process or over gRPC."""

import pytest

from node.client import Chain
from standing_orders import StandingOrder


@pytest.fixture(params=["devnet", "devnet_client"])
def chain(request: pytest.FixtureRequest) -> Chain:
    """The same chain twice: in this process, and a real node in another one."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def order(chain: Chain) -> StandingOrder:
    return StandingOrder.open(chain, chain.accounts[0], "20 CBY")
