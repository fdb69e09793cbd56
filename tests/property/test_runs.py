"""D36: N empty blocks, and any split of them into runs, lead to the same state."""

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node.chain.transition import (
    apply_block,
    build_block,
    build_next,
    next_state,
    open_state,
)
from node.state.memory import MemoryStore
from node.state.store import WriteSet
from pvm import Worker
from tests.worlds import MixedWorld, UpgradingWorld, World

HEIGHTS = 40
WORLDS = settings(
    max_examples=settings.default.max_examples
    if settings.default.max_examples > 50
    else 12,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


class Fork:
    """A copy of a world's chain that goes its own way."""

    def __init__(self, world):
        self.worker = world.worker
        self.store = MemoryStore()
        content = dict(world.state.snapshot.range(b"", b"\xff"))
        self.store.commit(WriteSet(content))
        self.state = open_state(
            world.state.params, world.state.head, self.store.snapshot()
        )
        self.results = []

    def take(self, make):
        result = self.worker.run(lambda: make(self.state))
        self.store.commit(result.writes)
        self.state = next_state(self.state, result, self.store.snapshot())
        self.results.append(result)
        return result

    def happened(self):
        """What anybody could see, with the heights at which it was."""
        return [
            (r.header.height, r.receipts, r.events, r.trace)
            for r in self.results
            if not r.is_empty
        ]


@WORLDS
@given(
    crowd=st.randoms(use_true_random=False),
    data=st.data(),
    kind=st.sampled_from([World, MixedWorld, UpgradingWorld]),
)
def test_any_split_leads_to_the_same_state(worker, crowd, data, kind):
    world = kind(MemoryStore(), crowd.randrange, worker)
    for _ in range(4 if kind is World else 1 + crowd.randrange(20)):
        world.step()
    single, split, leap, replay = (Fork(world) for _ in range(4))
    last = world.state.head.height + HEIGHTS
    while single.state.head.height < last:
        single.take(lambda state: build_block(state, ()))
    while split.state.head.height < last:
        left = last - split.state.head.height
        heights = data.draw(st.integers(1, left), "heights")
        split.take(lambda state: build_next(state, (), heights))  # noqa: B023
    while leap.state.head.height < last:
        leap.take(lambda state: build_next(state, (), last - state.head.height))
    for result in leap.results:
        replay.take(lambda state: apply_block(state, result.block))  # noqa: B023
    roots = {f.state.head.state_root for f in (single, split, leap, replay)}
    assert len(roots) == 1
    assert single.happened() == split.happened() == leap.happened()
    # Nobody makes two runs where one would do.
    spans = [result.header.span for result in leap.results]
    assert all(1 in pair for pair in pairwise(spans))
