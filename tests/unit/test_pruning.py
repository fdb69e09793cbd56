"""Pruning: old contents go with each block; roots, queries and replay stay right."""

import pytest

from node import history
from node.archive import pruning
from node.archive.replay import NotReplayable, Replay, into, require_replayable
from node.archive.verification import verify
from node.query import HistoryNotKept, NotFound, block_at, find_transaction, timer
from node.state import keys, leveldb
from node.state.memory import MemoryStore
from node.state.retention import load_oldest
from node.state.store import WriteSet
from pvm import Worker
from tests.worlds import KeptWorld, fixed_pick

KEEP = 10
BLOCKS = 30
GONE = {b"hb", b"hr", b"hd", b"hl", b"hp", b"ht"}
"""Families of which something is forgotten."""
BY_ID = {b"hl", b"ht"}


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


def grown(worker, keep, blocks=BLOCKS):
    world = KeptWorld(MemoryStore(), fixed_pick(7), worker)
    world.chain.keep_blocks = keep
    for _ in range(blocks):
        world.step()
        world.run_empty(3)
    return world


@pytest.fixture(scope="module")
def twins(worker):
    """The same chain, with everything kept, and pruned."""
    return grown(worker, None), grown(worker, KEEP)


def content(world):
    return dict(world.store.snapshot().range(b"", b"\xff"))


def test_what_is_old_is_gone_and_nothing_else(twins):
    whole, pruned = twins
    assert pruned.state.head == whole.state.head, "no root speaks of what is kept"
    oldest = load_oldest(pruned.state.snapshot).contents
    assert pruned.state.head.height - KEEP - 4 < oldest
    assert oldest <= pruned.state.head.height - KEEP + 1
    there, left = content(whole), content(pruned)
    assert left.pop(keys.OLDEST)
    assert left.items() <= there.items()
    missing = there.keys() - left.keys()
    assert {key[:2] for key in missing} == GONE
    for prefix in (keys.body, keys.receipts, keys.timer_trace):
        for height in range(1, whole.state.head.height + 1):
            key = prefix(height)
            assert (key in left) is (key in there and height >= oldest)


def test_every_check_of_a_folder_still_holds(twins):
    whole, pruned = twins
    pruned.reopen()
    found = verify(pruned.state)
    assert found.blocks == len(pruned.blocks) + 1
    assert found.timers == verify(whole.state).timers
    assert found.transactions < verify(whole.state).transactions


def test_old_blocks_and_transactions_are_refused_and_recent_ones_answer(twins):
    whole, pruned = twins
    oldest = load_oldest(pruned.state.snapshot).contents
    for height in range(oldest, pruned.state.head.height + 1):
        assert block_at(pruned.state, height) == block_at(whole.state, height)
    assert block_at(pruned.state, 0) == block_at(whole.state, 0)
    for height in (1, oldest - 1):
        with pytest.raises(HistoryNotKept) as refused:
            block_at(pruned.state, height)
        assert refused.value.oldest_height == oldest
    for block in whole.blocks:
        for transaction in block.transactions:
            found = find_transaction(pruned.state, transaction.id)
            assert (found is not None) is (block.header.height >= oldest)


def test_a_timer_keeps_its_whole_history_until_the_block_it_ended_in_goes(twins):
    whole, pruned = twins
    oldest = load_oldest(pruned.state.snapshot).contents
    ids = {
        d.timer_id
        for _, _, d in history.decisions_between(whole.state.snapshot, 0, 2**63)
    }
    kept = 0
    for timer_id in ids:
        life = history.load_timer_decisions(whole.state.snapshot, timer_id)
        left = history.load_timer_decisions(pruned.state.snapshot, timer_id)
        ended = [height for height, decision in life if decision.is_final]
        if ended and ended[-1] < oldest:
            assert left == []
            with pytest.raises(NotFound):
                timer(pruned.state, timer_id)
        else:
            kept += 1
            assert left == life
            timer(pruned.state, timer_id)
    assert 0 < kept < len(ids)


def test_the_disk_of_every_family_that_loses_its_lower_end_is_given_back(twins):
    """Those by an id lose keys all over their range, where nothing is dense."""
    whole, pruned = twins
    missing = content(whole).keys() - content(pruned).keys()
    by_height = {key for key in missing if key[:2] not in BY_ID}
    assert {key[:2] for key in by_height} == GONE - BY_ID
    families = {leveldb.emptied_family(key) for key in by_height}
    assert families == GONE - BY_ID
    assert leveldb.emptied_family(keys.undo(7)) == keys.UNDO_PREFIX
    for key in (missing - by_height) | {keys.HEAD, keys.header(7)}:
        assert leveldb.emptied_family(key) is None


def test_a_named_snapshot_holds_what_came_after_it(worker):
    world = grown(worker, KEEP, 8)
    world.chain.create_snapshot("base", world.state.head, ())
    base, before = world.state.head, content(world)
    for _ in range(20):
        world.step()
    oldest = load_oldest(world.state.snapshot).contents
    assert oldest == base.height + 1
    require_replayable(world.state.snapshot, base.height)
    with pytest.raises(NotReplayable, match=f"from height {oldest} on"):
        require_replayable(world.state.snapshot, 0)
    world.rewind(base)
    after = content(world)
    assert all(before[k] == v for k, v in after.items() if k != keys.OLDEST)
    world.chain.delete_snapshot("base")
    for _ in range(20):
        world.step()
    assert load_oldest(world.state.snapshot).contents > base.height + 1
    verify(world.state)


def test_it_is_replayed_from_a_state_that_is_kept(worker):
    world = grown(worker, KEEP, 8)
    state = world.state
    store = MemoryStore()
    held = {k: v for k, v in content(world).items() if k[:1] in b"gstimn"}
    store.commit(WriteSet(held))
    for _ in range(4):
        world.step()
    start = type(state)(state.params, state.head, store.snapshot())

    def run():
        replay = Replay(world.store.snapshot(), into(store), start, 2**63)
        while replay.step(5):
            pass
        replay.require_same_state()
        return replay.done.height

    assert worker.run(run) == world.state.head.height


def test_each_block_forgets_a_bounded_number_of_others(worker, monkeypatch):
    """Also where it is asked for late, and where a timer has a long history."""
    world = grown(worker, None)
    world.chain.keep_blocks = KEEP
    behind = []
    for _ in range(40):
        before = load_oldest(world.state.snapshot).contents
        headers = [b.header.height for b in world.blocks]
        world.step()
        after = load_oldest(world.state.snapshot).contents
        passed = [h for h in headers if max(1, before) <= h < after]
        assert len(passed) <= pruning.HEADERS_MAX
        behind.append(world.state.head.height - after)
    assert behind[-1] <= KEEP + 3 < behind[0], "it catches up"
    monkeypatch.setattr(pruning, "KEYS_MAX", 1)
    for _ in range(60):
        before = content(world)
        world.step()
        verify(world.state)  # nothing half forgotten looks damaged
        gone = [k for k in before.keys() - content(world).keys() if k[:2] == b"hl"]
        assert len(gone) <= 3
