"""A dry run of the next blocks tells what they bring, and keeps nothing."""

import pytest

from node.chain import dry_run
from node.chain.advance_stop import AdvanceRefused
from node.chain.block import ReceiptKind
from node.chain.dry_run import advance_dry_run, begin_dry_run
from node.chain.transaction import Transfer
from node.testing import Devnet, InvalidArgument
from tests.spec.driven_actors import BIDDING, SCHEDULER, WORKER, schedule, schedule_all

BEAT = """
class Beat:
    def start(self):
        self.handle_timer(b"")

    def handle_timer(self, payload):
        self.storage["beats"] = self.storage.get("beats", 0) + 1
        pvm_host.schedule_timer(pvm_host.block_height() + 10, b"", None, 100_000)
"""


@pytest.fixture
def chain():
    with Devnet(basefee_config={"min_basefee": 1_000}) as chain:
        yield chain


def test_what_it_says_comes_true_to_the_unit(chain):
    """Root, fires, fees and balances: the function is that which makes blocks."""
    actor = chain.deploy(BEAT, value="2 CBY")
    actor.call("start")
    seen = chain.simulate(1_000)
    passage = chain.advance(blocks=1_000)
    assert seen.state.head == chain.head
    assert seen.summary == passage
    assert passage.fires == 100
    fires = chain.receipts(ReceiptKind.FIRE)
    assert [fire.receipt for fire in seen.fires] == fires
    payer = seen.payers[actor.address]
    assert (payer.fires, payer.fees) == (100, sum(f.fee for f in fires))
    assert seen.balance(actor.address) == actor.balance


def test_under_bidding_it_comes_true_and_who_is_poor_waits():
    """D45: nobody is removed; the dry run says who cannot pay, and from when on."""
    bids = "\ndef get_gas_bid(context):\n    return [10 ** 6, 3]\n"
    with Devnet(**BIDDING) as chain:
        agent = chain.deploy(bids)
        rich = chain.deploy(WORKER, value="5 CBY")
        poor = chain.deploy(WORKER, value="1 CBY", salt=b"p" * 32)
        for actor in (rich, poor):
            schedule(actor, 20, gba=agent.address)
        seen = chain.simulate(300)
        passage = chain.advance(blocks=300)
        assert seen.state.head == chain.head
        assert seen.summary == passage
        assert (passage.fires, passage.removed) == (1, 0)
        assert seen.payers[rich.address].dry_at is None
        assert seen.payers[poor.address].dry_at == 20
        assert "at height 20 it cannot pay and has a timer wait" in repr(seen)


def test_nothing_is_kept(chain):
    actor = chain.deploy(BEAT, value="2 CBY")
    actor.call("start")
    state, known = chain.state, chain.state.caches.known
    root = chain.head.state_root
    pairs = list(state.snapshot.range(b"", b"\xff"))
    chain.simulate(100)
    assert chain.state is state
    assert chain.state.caches.known is known
    assert (chain.head.state_root, actor.storage["beats"]) == (root, 1)
    assert list(state.snapshot.range(b"", b"\xff")) == pairs


def test_who_runs_dry_and_when(chain):
    """D26: one reserve of max_cost for each pending timer."""
    actor = chain.deploy(BEAT, value="0.66 CBY")
    actor.call("start")
    seen = chain.simulate(10_000)
    dry_at = seen.payers[actor.address].dry_at
    assert dry_at is not None
    chain.mine_until(dry_at)
    assert chain.last.trace[0].decision == "removed_insufficient_funds"
    assert seen.removals[-1].decision == chain.last.trace[0]
    assert f"at height {dry_at:,} it cannot pay and loses a timer" in repr(seen)


def test_put_offs_and_expiries_are_counted(chain):
    actor = chain.deploy(SCHEDULER, value="20 CBY")
    schedule_all(actor, *[(20, b"", {}) for _ in range(5)])
    schedule(actor, 21, b"", expires_at=10)
    seen = chain.simulate(30)
    assert (seen.summary.put_off, seen.summary.expired) == (2, 1)
    assert [(r.height, r.decision.decision) for r in seen.removals] == [(21, "expired")]


def test_what_is_queued_is_in_the_first_block(chain):
    bob = chain.accounts[1]
    chain.submit(Transfer(bob.address, 7))
    before = chain.balance(bob)
    seen = chain.simulate(2)
    assert seen.balance(bob.address) == before + 7
    assert chain.balance(bob) == before


def test_empty_heights_cost_nothing(chain):
    seen = chain.simulate(10**9)
    assert (seen.headers, seen.last_height, seen.is_complete) == (1, 10**9, True)
    assert repr(seen).startswith("Heights 1 to 1,000,000,000, if nobody sends anything")


@pytest.mark.parametrize(
    ("bound", "value"), [("HEADERS_MAX", 6), ("CYCLES_MAX", 5_000), ("WRITES_MAX", 40)]
)
def test_its_work_is_bounded_and_it_says_how_far_it_came(
    chain, monkeypatch, bound, value
):
    actor = chain.deploy(BEAT, value="2 CBY")
    actor.call("start")
    monkeypatch.setattr(dry_run, bound, value)
    seen = chain.simulate(1_000)
    assert seen.is_over
    assert not seen.is_complete
    assert chain.height < seen.last_height < 100
    assert "Height 1,002 was not reached" in repr(seen)


def test_entries_are_bounded_and_sums_are_not(chain, monkeypatch):
    monkeypatch.setattr(dry_run, "ENTRIES_MAX", 1)
    poor = chain.deploy(SCHEDULER, value="1.2 CBY")
    rich = chain.deploy(BEAT, value="20 CBY")
    schedule_all(poor, (20, b"", {}), (20, b"", {}), (20, b"", {}))
    rich.call("start")
    seen = chain.simulate(100)
    assert (len(seen.fires), len(seen.removals), len(seen.payers)) == (1, 1, 1)
    assert seen.summary.fires > 5
    assert seen.summary.removed == 2


@pytest.mark.parametrize("blocks", [0, -1, 2**64 - 1])
def test_impossible_numbers_of_blocks_are_refused(chain, blocks):
    with pytest.raises(AdvanceRefused):
        begin_dry_run(chain.state, blocks)
    with pytest.raises((AdvanceRefused, InvalidArgument)):
        chain.simulate(blocks)


def test_the_chain_may_go_on_between_two_headers(chain):
    """A dry run stands on the state that it began with."""
    actor = chain.deploy(BEAT, value="2 CBY")
    actor.call("start")
    seen = begin_dry_run(chain.state, 50)
    wanted = chain.simulate(50)
    while not seen.is_over:
        chain._on_worker(lambda: advance_dry_run(seen))
        chain.transfer(chain.accounts[1].address, 1)
    assert seen.state.head == wanted.state.head
