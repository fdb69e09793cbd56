"""`build_block` and `apply_block` are one execution: all they return is equal."""

import pytest
from msgspec.structs import replace

from node.chain.block import Block
from node.chain.errors import InvalidBlock
from node.chain.transaction import decode_transaction
from node.chain.transition import apply_block, build_block
from node.state.memory import MemoryStore
from pvm import Worker
from tests.worlds import MixedWorld, UpgradingWorld, World, fixed_pick


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


@pytest.mark.parametrize("kind", [World, MixedWorld, UpgradingWorld])
@pytest.mark.parametrize("seed", range(20, 26))
def test_a_built_block_applies_to_the_same_result(worker, kind, seed):
    world = kind(MemoryStore(), fixed_pick(seed), worker)
    for _ in range(15 if kind is World else 25):
        parent = world.state
        built = world.step()
        applied = worker.run(lambda: apply_block(parent, built.block))  # noqa: B023
        for field in built.__struct_fields__:
            if field != "rejected":
                assert getattr(applied, field) == getattr(built, field)
        assert applied.rejected == ()


def test_what_building_leaves_out_a_received_block_may_not_hold(worker):
    """Invalid in a received block (D5): each candidate that was rejected."""
    world = World(MemoryStore(), fixed_pick(31), worker)
    refused = 0
    for _ in range(20):
        world._nonces = {}
        candidates = [decode_transaction(world._transaction()) for _ in range(4)]
        parent = world.state
        built = world.mine([candidate.raw for candidate in candidates])
        for transaction, _ in built.rejected:
            alone = worker.run(lambda: build_block(parent, [transaction]))  # noqa: B023
            if alone.block.transactions:
                continue
            refused += 1
            with pytest.raises(InvalidBlock, match=transaction.id.hex()):
                worker.run(
                    lambda: apply_block(parent, Block(built.header, (transaction,)))  # noqa: B023
                )
    assert refused > 5


def test_an_empty_block_builds_and_applies(worker):
    world = World(MemoryStore(), fixed_pick(41), worker)
    parent = world.state
    built = worker.run(lambda: build_block(parent, ()))
    assert built.is_empty
    assert worker.run(lambda: apply_block(parent, built.block)) == built
    lying = replace(built.block.header, cycles_used=1)
    with pytest.raises(InvalidBlock, match="cycles_used is 1, computed 0"):
        worker.run(lambda: apply_block(parent, Block(lying, ())))
