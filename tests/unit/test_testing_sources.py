"""A failure in a test names the actor's lines, and costs what it shows."""

import pytest

from node.chain.transaction import DeployActor
from node.testing import Devnet, ReadFailed, TransactionFailed
from node.testing.sources import StateSources

FAILING = """
def fail(payload):
    raise ValueError("on this line")
"""


def test_a_failure_copies_no_table_of_sources():
    """A test of ten thousand actors copied as many sources with each failure."""
    with Devnet() as chain:
        actor = chain.deploy(FAILING)
        sources = StateSources(chain.state.snapshot, chain._known, actor.address)
        for walk in (list, len):  # nobody may walk over all actors
            with pytest.raises(TypeError):
                walk(sources)
        with pytest.raises(TransactionFailed, match="on this line") as failed:
            actor.call("fail")
        assert 'raise ValueError("on this line")' in str(failed.value)
        with pytest.raises(ReadFailed, match="on this line"):
            actor.read("fail")
        broken = b"raise ValueError('on this line')"
        with pytest.raises(TransactionFailed, match="on this line"):
            chain.execute(DeployActor(bytes(32), broken, b"", 0))
