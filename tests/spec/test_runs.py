"""D36: a run of empty blocks is one header, and passing it changes only time."""

import pytest
from msgspec.structs import replace

from node.chain.block import Block
from node.chain.errors import InvalidBlock
from node.chain.globals import load_globals
from node.chain.transition import apply_block, build_block, build_run, work_height
from tests.spec.driven_actors import SCHEDULER, schedule, schedule_all

COUNTER = """
class Counter:
    def send(self):
        pvm_host.create_deferred_tx("count", b"")

    def count(self):
        self.storage["n"] = self.storage.get("n", 0) + 1
"""


def spans(chain):
    return [(header.height, header.span) for header in chain.blocks()]


def test_d36_empty_heights_are_one_header(chain):
    """Its height is parent.height + N, and it has no transactions."""
    chain.mine()
    run = chain.mine(1_000_000)
    assert spans(chain) == [(0, 1), (1, 1), (1_000_001, 1_000_000)]
    assert (run.block.transactions, run.receipts, run.events) == ((), (), ())
    assert run.header.parent_hash == chain.result_at(1).header.hash()


def test_d36_height_and_timestamp_advance_and_each_basefee_gets_n_updates(devnet):
    """Last use and p50 become 0; nothing else changes."""
    single, leap = devnet(), devnet()
    for chain in (single, leap):
        chain.deploy(SCHEDULER)
    for _ in range(30):
        single.mine()
    leap.mine(30)
    assert leap.last.header.span == 30
    assert leap.head.state_root == single.head.state_root
    assert leap.timestamp_ms == single.timestamp_ms
    after = load_globals(leap.state.snapshot)
    assert after == load_globals(single.state.snapshot)
    assert after.last_cycles_used == 0


def test_d36_a_run_ends_before_a_timer_is_due(chain):
    actor = chain.deploy(SCHEDULER, value="20 CBY")
    schedule(actor, 50)
    assert work_height(chain.state) == 50
    chain.mine(100)
    assert spans(chain)[3:] == [(49, 47), (50, 1), (102, 52)]
    assert actor.storage["fires"] == [[50, "handle_timer", b""]]


def test_d36_an_overdue_timer_wakes_the_next_height(devnet):
    """Wake height = due height, parent.height + 1 if overdue."""
    chain = devnet(
        timer_config={"lane_timer_cycles": 550_000, "gc_cycles_per_block": 2_000_000}
    )
    actor = chain.deploy(SCHEDULER, value="20 CBY")
    schedule_all(actor, *[(50, b"", {}) for _ in range(3)])
    chain.mine(100)
    fired = [entry[0] for entry in actor.storage["fires"]]
    assert fired == [50, 51, 52]
    assert spans(chain)[-1] == (102, 50)


def test_d36_a_pending_message_wakes_the_next_height(chain):
    actor = chain.deploy(COUNTER)
    actor.call("send")
    assert work_height(chain.state) == chain.height + 1
    chain.mine(10)
    assert spans(chain)[-2:] == [(3, 1), (12, 9)]
    assert actor.storage["n"] == 1


def test_d36_an_activation_is_a_height_of_its_own(devnet):
    chain = devnet(activations=[{"height": 40, "rules": "fifo"}])
    assert work_height(chain.state) == 40
    chain.mine(60)
    assert spans(chain) == [(0, 1), (39, 39), (40, 1), (60, 20)]


def test_d36_with_nothing_to_come_a_run_has_no_end(chain):
    chain.mine()
    assert work_height(chain.state) is None


def test_d36_a_run_over_work_is_invalid(chain):
    """Valid iff next_work_height(parent state) > parent.height + N."""
    actor = chain.deploy(SCHEDULER, value="20 CBY")
    schedule(actor, 50)
    apply_block(chain.state, build_run(chain.state, 49 - chain.height).block)
    over = build_run(chain.state, 50 - chain.height).block
    with pytest.raises(InvalidBlock, match="reaches over height 50"):
        apply_block(chain.state, over)


def test_d36_a_run_has_no_transactions(chain):
    chain.mine()
    parent = chain.state
    chain.fund(chain.accounts[1], 1)
    transaction = chain.last.block.transactions[0]
    run = build_run(parent, 5).block
    with pytest.raises(InvalidBlock, match="has no transactions"):
        apply_block(parent, Block(run.header, (transaction,)))


@pytest.mark.parametrize("span", [0, 2, 4, 2**40])
def test_d36_a_header_has_the_span_between_it_and_its_parent(chain, span):
    chain.mine()
    run = build_run(chain.state, 3).block
    header = replace(run.header, span=span)
    with pytest.raises(InvalidBlock, match=r"^(span|height) is"):
        apply_block(chain.state, Block(header, ()))


def test_d36_a_run_of_one_is_the_empty_block(chain):
    chain.mine()
    assert build_run(chain.state, 1) == build_block(chain.state, ())


def test_d36_transactions_end_a_run(chain):
    """Whoever drives the chain leaps only while nothing waits."""
    chain.mine(5)
    chain.fund(chain.accounts[1], 1)
    chain.mine(5)
    assert spans(chain) == [(0, 1), (5, 5), (6, 1), (11, 5)]


@pytest.mark.parametrize("height", [20, 40, 60])
def test_d36_work_is_the_least_of_activation_and_wake_height(devnet, height):
    """The work height is "the least of" these (and a pending message)."""
    chain = devnet(activations=[{"height": 40, "rules": "auction"}])
    actor = chain.deploy(SCHEDULER, value="20 CBY")
    schedule(actor, height)
    assert work_height(chain.state) == min(height, 40)
    chain.mine(70 - chain.height)
    assert actor.storage["fires"] == [[height, "handle_timer", b""]]
