"""Devnet.snapshot(): leaving it returns height, clock, pool, timers and fees.

Interface §3; the metamorphic law is that snapshot, act, revert leaves no trace.
"""

import pytest

from node.chain.transaction import Transfer
from node.primitives.types import Address, Amount
from node.testing import Devnet, DevnetClosed, SnapshotGone

BEATING = """
import pvm_host

class Actor:
    def start(self):
        self.storage["beats"] = 0
        pvm_host.schedule_timer(pvm_host.block_height() + 5, b"")

    def handle_timer(self):
        self.storage["beats"] = self.storage["beats"] + 1
        pvm_host.schedule_timer(pvm_host.block_height() + 5, b"")
"""
NOBODY = Address(b"\x0b" * 20)


@pytest.fixture
def chain():
    with Devnet() as chain:
        yield chain


def trace_of(chain):
    """All that a test can see of a chain."""
    return (
        chain.head,
        chain.timestamp_ms,
        list(chain.results),
        [timer.timer_id for timer in chain.timers()],
        [(account.address, chain.account(account)) for account in chain.accounts],
        chain.supply(),
        chain.state.caches.known,
        dict(chain.state.snapshot.range(b"", b"\xff")),
    )


def act(chain):
    """Transactions, an actor with a timer, and much time."""
    actor = chain.deploy(BEATING, value="100 CBY")
    actor.call("start")
    chain.advance(blocks=1_000)
    chain.fund(NOBODY, 5)
    chain.submit(Transfer(NOBODY, Amount(1)))


def test_leaving_a_snapshot_leaves_no_trace(chain):
    act(chain)
    before = trace_of(chain)
    with chain.snapshot() as taken:
        assert taken.height == chain.height
        act(chain)
        assert trace_of(chain) != before
    assert trace_of(chain) == before
    chain.mine()
    assert len(chain.last.receipts) == 1, "what waited in the pool waits again"


def test_the_same_again_leads_to_the_same_state(chain):
    roots = []
    for _ in range(2):
        with chain.snapshot():
            act(chain)
            chain.mine()
            roots.append(chain.head.hash())
    assert roots[0] == roots[1]


def test_snapshots_nest(chain):
    with chain.snapshot():
        chain.mine(2)
        with chain.snapshot():
            chain.mine(3)
            assert chain.height == 5
        assert chain.height == 2
    assert chain.height == 0


def test_an_exception_reverts_too(chain):
    def fail():
        chain.mine()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), chain.snapshot():
        fail()
    assert chain.height == 0


def test_a_snapshot_serves_again(chain):
    taken = chain.snapshot()
    for _ in range(3):
        act(chain)
        taken.revert()
        assert chain.height == 0
    taken.revert()
    assert repr(taken) == "<snapshot of height 0>"


def test_one_of_blocks_that_are_no_more_is_refused(chain):
    early = chain.snapshot()
    chain.mine()
    late = chain.snapshot()
    early.revert()
    with pytest.raises(SnapshotGone, match="before height 1"):
        late.revert()
    chain.fund(NOBODY, 5)  # another block at that height
    with pytest.raises(SnapshotGone, match="take a new one"):
        late.revert()
    assert chain.balance(NOBODY) == 5


def test_a_closed_chain_has_nothing_to_return_to():
    with Devnet() as chain:
        taken = chain.snapshot()
        with chain.snapshot():
            chain.close()
        for refused in (taken.revert, chain.snapshot):
            with pytest.raises(DevnetClosed):
                refused()


def test_the_cost_of_taking_one_does_not_grow_with_the_chain(chain, monkeypatch):
    """O(1): neither taking nor returning reads or writes the state."""
    act(chain)

    def refuse(*_arguments, **_named):
        raise AssertionError

    monkeypatch.setattr(type(chain.state.snapshot), "range", refuse)
    monkeypatch.setattr(type(chain.state.snapshot), "get", refuse)
    monkeypatch.setattr("node.state.memory.MemoryStore.commit", refuse)
    chain.snapshot().revert()
