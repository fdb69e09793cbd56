"""Past states: recent heights and named snapshots answer as they did then (§1)."""

import pytest

from node.chain.globals import load_globals
from node.query import HeightNotReached, HistoryNotKept
from node.runtime import recent_states
from node.runtime.recent_states import RecentStates
from node.state.commitment import recompute
from node.state.leveldb import LevelStore
from node.state.memory import MemoryStore
from pvm import Worker
from tests.worlds import KeptWorld, fixed_pick

KEPT = 12
BLOCKS = 24


@pytest.fixture(params=["memory", "disk"])
def world(request, tmp_path, monkeypatch):
    """A world that remembers what its state was at each header."""
    monkeypatch.setattr(recent_states, "HEIGHTS_KEPT", KEPT)
    store = MemoryStore() if request.param == "memory" else LevelStore(tmp_path / "d")
    with Worker() as worker:
        world = KeptWorld(store, fixed_pick(5), worker)
        world.past = RecentStates(store.snapshot, world.state)
        world.then = {world.state.head.height: committed(world.state)}
        go_on(world, BLOCKS)
        yield world
    store.close()


def go_on(world, blocks):
    for index in range(blocks):
        if index % 3 == 2:
            world.run_empty(4)
        else:
            world.step()
        world.past.note(world.state)
        world.then[world.state.head.height] = committed(world.state)


def committed(state):
    """All but what says how far it can be taken back."""
    pairs = state.snapshot.range(b"", b"\xff")
    return {key: value for key, value in pairs if key[:1] not in b"bywz"}


def at(world, height, remembered=None):
    remembered = remembered or world.past
    return world.worker.run(lambda: remembered.at(world.state, height))


def test_recent_heights_answer_as_they_did(world):
    head = world.state.head.height
    assert at(world, None) is at(world, head) is world.state
    for remembered in (world.past, RecentStates(world.store.snapshot, world.state)):
        looked = 0
        for height in range(head - KEPT, head):
            state = at(world, height, remembered)
            assert state.head.height == height
            if height in world.then:
                assert committed(state) == world.then[height]
                looked += 1
        assert looked >= 3


def test_a_height_inside_a_run_answers_as_if_its_block_stood_there(world):
    """D36: only time passes in it."""
    while world.run_empty(5).header.span < 3:
        world.past.note(world.state)
    world.past.note(world.state)
    head = world.state.head
    inside = at(world, head.height - 1)
    assert inside.head.span == head.span - 1
    assert load_globals(inside.snapshot).height == head.height - 1
    assert recompute(inside.snapshot) == inside.head.state_root


def test_other_heights_are_refused_with_the_oldest_that_is_kept(world):
    head = world.state.head.height
    with pytest.raises(HeightNotReached):
        at(world, head + 1)
    for height in (0, head - KEPT - 1):
        with pytest.raises(HistoryNotKept) as refused:
            at(world, height)
        assert refused.value.oldest_height == head - KEPT


def test_what_a_named_snapshot_holds_answers_however_old_it_is(world):
    height, head = world.state.head.height, world.state.head
    world.chain.create_snapshot("base", head, ())
    go_on(world, BLOCKS)
    for remembered in (world.past, RecentStates(world.store.snapshot, world.state)):
        assert committed(at(world, height, remembered)) == world.then[height]
        for other in (height - 1, height + 1):
            with pytest.raises(HistoryNotKept):
                at(world, other, remembered)


def test_memory_is_bounded(world, monkeypatch):
    world.chain.create_snapshot("base", world.state.head, ())
    height = world.state.head.height
    go_on(world, BLOCKS)
    assert len(world.past._recent) <= KEPT + 2
    monkeypatch.setattr(recent_states, "UNWOUND_BYTES_MAX", 100)
    with pytest.raises(HistoryNotKept):
        at(world, height)
    monkeypatch.undo()
    for header in [block.header for block in world.blocks[-6:-1]]:
        at(
            world,
            header.height,
            fresh := RecentStates(world.store.snapshot, world.state),
        )
        assert len(fresh._unwound) <= recent_states.UNWOUND_MAX


def test_after_a_rewind_the_new_blocks_answer(world):
    headers = [block.header for block in world.blocks[-6:-1]]
    for header in headers:
        at(world, header.height)
    world.rewind(headers[0])
    world.past.note(world.state)
    world.then = {h: c for h, c in world.then.items() if h <= headers[0].height}
    go_on(world, 6)
    for height in range(headers[0].height, world.state.head.height):
        if height in world.then:
            assert committed(at(world, height)) == world.then[height]
