"""What is stored of put-offs is told as it was decided, whatever the chain became."""

import pytest

from node import history, query
from node.archive.verification import verify
from node.chain.timers.timer import Decision
from node.primitives import codec
from node.query.explain.block import explain_trace
from node.state import keys
from node.state.memory import MemoryStore
from node.state.retention import load_oldest
from node.testing import Devnet
from pvm import Worker
from tests.spec.driven_actors import SCHEDULER, schedule_all
from tests.worlds import Bidders, KeptWorld, fixed_pick

BLOCKS = 40
KEEP = 12


class Waiting(KeptWorld):
    """A world that schedules more than the lane has room for."""

    def _commands(self, depth):
        told = codec.encode([["set", "a", 1]])
        return [self._timer(told) for _ in range(3)] + [super()._command(depth)]


class Bidding(Bidders, KeptWorld):
    """The same under the rules `auction`."""


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


class Told:
    """A world, and every decision that its blocks made, as they made it."""

    def __init__(self, kind, seed, worker, keep=None):
        self.world = kind(MemoryStore(), fixed_pick(seed), worker)
        self.world.chain.keep_blocks = keep
        self.traces = {}

    def grow(self, blocks):
        for _ in range(blocks):
            result = self.world.step()
            self.traces[result.header.height] = result.trace
        return self

    def rewind(self, height):
        self.world.rewind(self.world.blocks[height - 1].header)
        del self.world.blocks[height:]
        self.traces = {at: t for at, t in self.traces.items() if at <= height}

    def content(self):
        pairs = self.world.store.snapshot().range(b"", b"\xff")
        return {key: value for key, value in pairs if key[:1] != keys.UNDO_PREFIX}

    @property
    def last(self):
        """The trace of the latest block."""
        return self.traces[self.world.state.head.height]

    def put_offs(self, timer_id, first):
        return [
            (height, decision)
            for height, trace in self.traces.items()
            for decision in trace
            if height >= first
            and decision.decision is Decision.PUT_OFF
            and decision.timer_id == timer_id
        ]

    def require_told(self):
        """Each block and each timer is explained as if all were stored as it was."""
        state = self.world.state
        oldest = load_oldest(state.snapshot).contents
        waited = 0
        for height, trace in self.traces.items():
            if height >= oldest:
                assert history.load_trace(state.snapshot, height) == trace
                told = query.explain_block(state, height)
                assert told == explain_trace(height, trace)
        for timer_id in {d.timer_id for t in self.traces.values() for d in t}:
            try:
                told = query.explain_timer(state, timer_id)
            except query.NotFound:
                assert oldest > 1, "its whole life was pruned"
                continue
            steps = [
                (step.height, step.decision)
                for step in told.steps
                if step.decision.decision is Decision.PUT_OFF
            ]
            assert steps == self.put_offs(timer_id, oldest)
            waited += len(steps)
        verify(state)
        return waited


@pytest.mark.parametrize("kind", [Waiting, Bidding])
@pytest.mark.parametrize("seed", range(3))
def test_d17_put_offs_are_told_as_they_were_decided(kind, seed, worker):
    """D17: "with the numbers compared", also of those that ended long ago."""
    assert Told(kind, seed, worker).grow(BLOCKS).require_told() > BLOCKS // 4


@pytest.mark.parametrize("kind", [Waiting, Bidding])
def test_a_revert_in_the_middle_of_a_backlog_leaves_nothing(kind, worker):
    """A place that an undone timer had is another's afterwards."""
    told = Told(kind, 4, worker).grow(BLOCKS // 2)
    while not any(d.decision is Decision.PUT_OFF for d in told.last):
        assert told.grow(1).world.state.head.height < 5 * BLOCKS, "nobody waits"
    height, before = told.world.state.head.height, told.content()
    told.grow(BLOCKS // 2)
    told.rewind(height)
    assert told.content() == before
    assert told.grow(BLOCKS // 2).require_told() > BLOCKS // 4


@pytest.mark.parametrize("kind", [Waiting, Bidding])
def test_pruning_in_the_middle_of_a_backlog_leaves_the_rest_to_be_told(kind, worker):
    """No trace that is kept leans on one that is not."""
    told = Told(kind, 5, worker, keep=KEEP)
    assert sum(told.grow(4).require_told() for _ in range(BLOCKS // 4))
    assert load_oldest(told.world.state.snapshot).contents > BLOCKS - KEEP - 2


def test_a_backlog_costs_its_blocks_next_to_nothing():
    """Three fire a block; that the others wait as before is told in some 200 bytes."""
    with Devnet() as chain:
        actor = chain.deploy(SCHEDULER, value="20 CBY")
        schedule_all(actor, *[(20, b"", {}) for _ in range(200)])
        chain.mine_until(22)
        waiting = [d for d in chain.last.trace if d.decision is Decision.PUT_OFF]
        written = history.record(chain.last).changes
    assert len(waiting) > 180
    fires = sum(len(v) for k, v in written.items() if k[:2] == b"hl")
    assert len(written[keys.timer_trace(22)]) < fires + 400
