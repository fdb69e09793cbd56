"""A random world, written into a bundle and executed again: nothing is another."""

import io

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node import history
from node.archive.bundle import check_bundle, pack_chain, replay_of
from node.archive.chain_store import ChainStore
from node.chain.genesis import build_genesis
from node.chain.timers.timer import Decision
from node.chain.transition import open_state
from node.state import keys
from node.state.memory import MemoryStore
from node.state.store import WriteSet
from pvm import Worker
from tests.worlds import Bidders, KeptWorld, WeighedBidders

BLOCKS = 6


class BiddersKept(Bidders, KeptWorld):
    """The same under the rules `auction`."""


class WeighedKept(WeighedBidders, KeptWorld):
    """The same under the rules `bidding`."""


def content(store):
    pairs = store.snapshot().range(b"", b"\xff")
    return {key: value for key, value in pairs if key[:1] != keys.UNDO_PREFIX}


def fires(store, height):
    """Ids of timers in the order in which they fired."""
    decisions = history.decisions_between(store.snapshot(), 0, height)
    return [
        (at, decision.timer_id)
        for at, _, decision in decisions
        if decision.decision is Decision.FIRED
    ]


def executed(data, worker):
    """A store that holds what a bundle tells, by execution alone."""
    bundle, store = check_bundle(io.BytesIO(data), "it"), MemoryStore()
    chain = ChainStore(store)

    def keep(parent, result):
        return chain.commit(parent.snapshot, parent.head, result)

    def run():
        first = build_genesis(bundle.genesis)
        document = WriteSet({keys.GENESIS: bundle.genesis.encode()})
        store.commit(first.writes | history.record(first) | document)
        state = open_state(bundle.genesis.params, first.header, store.snapshot())
        replay = replay_of(
            bundle,
            lambda parent, r: chain.commit(parent.snapshot, parent.head, r),
            state,
        )
        while replay.step(2):
            continue
        return replay.state.head

    return store, worker.run(run)


@settings(
    max_examples=max(4, settings.default.max_examples // 10),
    suppress_health_check=list(HealthCheck),
)
@given(st.data(), st.sampled_from([KeptWorld, BiddersKept, WeighedKept]))
def test_a_world_and_its_bundle_are_the_same(data, kind):
    def pick(count):
        return data.draw(st.integers(0, count - 1))

    with Worker() as worker:
        world = kind(MemoryStore(), pick, worker)
        world.store.commit(WriteSet({keys.GENESIS: world.genesis.encode()}))
        for _ in range(BLOCKS):
            world.step()
            world.run_empty(3)
        head = world.state.head
        packed = b"".join(pack_chain(world.store.snapshot(), head).parts())
        store, reached = executed(packed, worker)
        assert reached == head
        assert fires(store, head.height) == fires(world.store, head.height)
        assert content(store) == content(world.store)
        again = b"".join(pack_chain(store.snapshot(), reached).parts())
        assert again == packed
