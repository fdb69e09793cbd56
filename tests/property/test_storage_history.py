"""An actor's storage over time is what its states were, one after the other.

The judge keeps a copy of every actor's storage after each block. The walk knows the
last state and the way back alone.
"""

from itertools import pairwise

import pytest

from node.query.trace.records import HistoryStop
from node.query.trace.storage_history import StorageWalk, StoredBlocks, WantedHistory
from node.state import keys, undo
from node.state.memory import MemoryStore
from pvm import Worker
from tests.worlds import KeptWorld, Mixed, fixed_pick


class KeptMixed(Mixed, KeptWorld):
    """A world under rules that change, committed as the node commits it."""


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


def storages(world):
    """Of each actor, its raw keys and values."""
    found = {}
    for actor in world.actors:
        start = keys.storage(actor)
        pairs = world.state.snapshot.range(start, keys.prefix_stop(start))
        found[actor] = {key[len(start) :]: value for key, value in pairs}
    return found


def lived(kind, seed, worker, blocks=40, *, is_kept=True):
    """A world, and what its actors stored after each block, by height."""
    pick = fixed_pick(seed)
    world = kind(MemoryStore(), pick, worker)
    if is_kept:  # the way back, to a named snapshot
        world.chain.create_snapshot("first", world.state.head, ())
    seen = {world.state.head.height: storages(world)}
    for _ in range(blocks):
        match pick(14):
            case 0:
                world.run_empty(1 + pick(20))
            case 1 if len(world.blocks) > 9:
                place = world.blocks[-2 - pick(6)].header
                world.rewind(place)
                seen = {at: stored for at, stored in seen.items() if at <= place.height}
                while world.blocks[-1].header.height > place.height:
                    world.blocks.pop()
            case _:
                world.step()
        seen[world.state.head.height] = storages(world)
    return world, seen


def walked(world, actor, first=0, last=2**64 - 1, prefix=b"", changes=10_000):
    wanted = WantedHistory(actor, prefix, first, last, changes)
    walk = StorageWalk(world.state, StoredBlocks(world.state.snapshot), wanted)
    return world.worker.run(walk.whole)


@pytest.mark.parametrize("kind", [KeptWorld, KeptMixed])
def test_each_change_leads_from_one_state_to_the_next(kind, worker):
    world, seen = lived(kind, 10, worker)
    heights = sorted(seen)
    told = 0
    for actor in world.actors:
        history = walked(world, actor)
        assert history.next_height <= heights[0]
        changes = [one for one in history.changes if one.height > heights[0]]
        assert [one.height for one in changes] == sorted(
            (one.height for one in changes), reverse=True
        )
        for before, after in pairwise(heights):
            own = [one for one in reversed(changes) if one.height == after]
            held = dict(seen[before][actor])
            for one in own:
                assert held.get(one.key) == one.before != one.after
                held[one.key] = one.after
            held = {key: value for key, value in held.items() if value is not None}
            assert held == seen[after][actor]
            told += len(own)
    assert told > 10


def test_a_range_and_a_prefix_are_parts_of_the_whole(worker):
    world, seen = lived(KeptMixed, 2, worker)
    actor = max(world.actors, key=lambda one: len(walked(world, one).changes))
    whole = walked(world, actor)
    heights = sorted(seen)
    first, last = heights[len(heights) // 3], heights[2 * len(heights) // 3]
    part = walked(world, actor, first, last)
    within = [one for one in whole.changes if first <= one.height <= last]
    assert (list(part.changes), part.stop) == (within, HistoryStop.COMPLETE)
    key = whole.changes[0].key
    only = walked(world, actor, prefix=key)
    assert list(only.changes) == [o for o in whole.changes if o.key.startswith(key)]


def test_parts_one_after_the_other_are_the_whole(worker):
    """Where one stream ends another goes on; none is told twice."""
    world, _ = lived(KeptMixed, 8, worker)
    actor = world.actors[0]
    whole = walked(world, actor)
    found, last = [], 2**64 - 1
    for _ in range(500):
        part = walked(world, actor, last=last, changes=2)
        found += part.changes
        last = part.next_height
        if part.stop is not HistoryStop.BOUND:
            break
    assert found == list(whole.changes)
    assert part.stop is whole.stop


def test_what_is_kept_no_more_ends_the_walk(worker):
    """Undo records are kept for 64 heights, and back to a named snapshot."""
    world, _ = lived(KeptWorld, 9, worker, 5, is_kept=False)
    world.chain.create_snapshot("here", world.state.head, ())
    named = world.state.head.height
    for _ in range(undo.BLOCKS_KEPT + 20):
        world.step()
    actor = world.actors[0]
    back = walked(world, actor)
    assert (back.stop, back.next_height) == (HistoryStop.NOT_KEPT, named)
    world.chain.delete_snapshot("here")
    for _ in range(60):
        world.step()
    ended = walked(world, actor)
    assert ended.stop is HistoryStop.NOT_KEPT
    assert ended.next_height == world.state.head.height - undo.BLOCKS_KEPT


def test_a_range_above_the_head_has_nothing(worker):
    world, _ = lived(KeptWorld, 9, worker, blocks=3)
    head = world.state.head.height
    history = walked(world, world.actors[0], head + 1, head + 9)
    assert (history.changes, history.stop) == ((), HistoryStop.COMPLETE)


def test_a_walk_is_made_in_steps_of_one_block(worker):
    """So that blocks of the node wait for one execution at the most."""
    world, _ = lived(KeptMixed, 2, worker)
    wanted = WantedHistory(world.actors[0], b"", 0, 2**64 - 1, 10_000)
    walk = StorageWalk(world.state, StoredBlocks(world.state.snapshot), wanted)
    while walk.stop is None:
        before = walk.blocks_executed
        changes = worker.run(walk.step)
        assert walk.blocks_executed - before <= 1
        assert len({one.height for one in changes}) <= 1
    assert walk.blocks_executed > 3
