"""Random worlds: what holds after every block, whatever happened in it."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node.chain.errors import InvalidTransaction
from node.chain.genesis import build_genesis
from node.chain.transaction import Transaction
from node.chain.transition import apply_block, build_block, next_state, open_state
from node.state.leveldb import LevelStore
from node.state.memory import MemoryStore
from pvm import Worker
from tests.replaying_chain import require_budgets, require_sound_state
from tests.worlds import World, decodes

BLOCKS = 8
LOOSE = settings(suppress_health_check=list(HealthCheck))
WORLDS = settings(LOOSE, max_examples=max(12, settings.default.max_examples // 5))
"""A world is many blocks: fewer of them."""


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


def crowds():
    return st.randoms(use_true_random=False)


class Follower:
    """Another node, on disk, that applies the blocks it is given."""

    def __init__(self, world, folder):
        self.worker = world.worker
        self.store = LevelStore(folder)
        first = self.worker.run(lambda: build_genesis(world.genesis))
        self.store.commit(first.writes, sync=False)
        self.state = open_state(
            world.genesis.params, first.header, self.store.snapshot()
        )

    def restart(self):
        """Forget all that is not in the store."""
        self.state = open_state(
            self.state.params, self.state.head, self.store.snapshot()
        )

    def follow(self, block):
        result = self.worker.run(lambda: apply_block(self.state, block))
        self.store.commit(result.writes, sync=False)
        self.state = next_state(self.state, result, self.store.snapshot())
        return result


@WORLDS
@given(crowd=crowds())
def test_after_every_block(worker, crowd):
    """Supply, root, build = apply; LevelDB and a fresh state follow."""
    world = World(MemoryStore(), crowd.randrange, worker)
    with tempfile.TemporaryDirectory() as folder:
        follower = Follower(world, Path(folder))
        follower.follow(world.blocks[0])
        for _ in range(BLOCKS):
            built = world.step()
            require_sound_state(world.state)
            require_budgets(world.genesis.params, built)
            # The same block on another store gives the same result, all of it.
            if crowd.randrange(8) == 0:
                follower.restart()
            applied = follower.follow(built.block)
            assert applied.header == built.header
            assert applied.receipts == built.receipts
            assert applied.events == built.events
            assert applied.trace == built.trace
            assert applied.writes == built.writes
            assert applied.use == built.use
        follower.store.close()


@WORLDS
@given(crowd=crowds())
def test_replay_from_genesis_gives_the_same_roots(worker, crowd):
    """The blocks alone, applied from genesis on, lead to the same state."""
    world = World(MemoryStore(), crowd.randrange, worker)
    for _ in range(BLOCKS):
        world.step()
    first = worker.run(lambda: build_genesis(world.genesis))
    store = MemoryStore()
    store.commit(first.writes)
    state = open_state(world.genesis.params, first.header, store.snapshot())
    for block in world.blocks:
        result = worker.run(lambda: apply_block(state, block))  # noqa: B023 - run at once
        store.commit(result.writes)
        state = next_state(state, result, store.snapshot())
    assert state.head == world.state.head
    assert list(store.snapshot().range(b"", b"\xff")) == list(
        world.state.snapshot.range(b"", b"\xff")
    )


# --- mutated bytes -------------------------------------------------------------------


@pytest.fixture(scope="module")
def grown(worker):
    """A world some blocks old, and valid transactions of every kind for its head."""
    numbers = iter(range(10**9))
    world = World(MemoryStore(), lambda n: next(numbers) * 7919 % n, worker)
    for _ in range(3):
        world.step()
    world._nonces = {}
    raws = []
    while len(raws) < 40:
        raw = world._transaction()
        if isinstance(decodes(raw), Transaction):
            raws.append(raw)
        world._nonces = {}
    return world, raws


@st.composite
def mutations(draw):
    """A function of bytes that damages them in one to three places."""
    steps = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["flip", "set", "cut", "insert", "drop", "swap"]),
                st.integers(0, 2**20),
                st.integers(0, 255),
            ),
            min_size=1,
            max_size=3,
        )
    )

    def mutate(raw):
        data = bytearray(raw)
        for kind, where, value in steps:
            at = where % max(1, len(data))
            if kind == "flip":
                data[at : at + 1] = bytes(
                    b ^ (1 << value % 8) for b in data[at : at + 1]
                )
            elif kind == "set":
                data[at : at + 1] = bytes([value])
            elif kind == "cut":
                del data[at:]
            elif kind == "insert":
                data[at:at] = bytes([value])
            elif kind == "drop":
                del data[at : at + 1 + value % 4]
            else:
                data[at:] = data[at:][::-1]
        return bytes(data)

    return mutate


@LOOSE
@given(which=st.integers(0, 39), mutate=mutations())
def test_mutated_transactions_are_refused_or_executed(grown, which, mutate):
    """Typed refusal, nothing charged; decoding raises nothing but that."""
    world, raws = grown
    raw = mutate(raws[which])
    found = decodes(raw)
    if isinstance(found, InvalidTransaction):
        assert found.fault.value
        assert str(found)
        return
    assert found.raw == raw
    assert found.body.encode() == raw[:-65]
    before = list(world.state.snapshot.range(b"", b"\xff"))
    result = world.worker.run(lambda: build_block(world.state, [found]))
    nothing = world.worker.run(lambda: build_block(world.state, []))
    assert list(world.state.snapshot.range(b"", b"\xff")) == before
    if result.rejected:
        assert result.header == nothing.header
        assert result.writes == nothing.writes
    else:
        assert len(result.block.transactions) == 1


@LOOSE
@given(raw=st.binary(max_size=300))
def test_any_bytes_are_refused_or_decoded(raw):
    assert isinstance(decodes(raw), Transaction | InvalidTransaction)
