"""Totals of blocks are made where an earlier version wrote none, and verified."""

import re

import pytest

from node import history
from node.archive import made_totals
from node.archive.chain_store import ChainStore
from node.archive.opening import DamagedChain, open_chain, whole_state
from node.archive.state_file import check_state_file, write_state_file
from node.archive.state_import import import_folder
from node.archive.verification import verify
from node.query import count_due, lane_use, past_of
from node.state import keys
from node.state.leveldb import LevelStore
from node.state.memory import MemoryStore
from node.state.retention import load_oldest
from node.state.store import WriteSet
from pvm import Worker
from tests.worlds import KeptWorld, Mixed, fixed_pick


class KeptMixed(Mixed, KeptWorld):
    """A world under rules that change, committed as the node commits it."""


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


def totals_in(store):
    start = keys.BLOCK_TOTALS_PREFIX
    return dict(store.snapshot().range(start, keys.prefix_stop(start)))


def grow(world, blocks):
    for _ in range(blocks):
        if world.pick(4):
            world.step()
        else:
            world.run_empty(1 + world.pick(40))
    return totals_in(world.store)


def begin(worker, keep=None):
    world = KeptMixed(MemoryStore(), fixed_pick(21), worker)
    world.chain.keep_blocks = keep
    return world


def forget(store, wanted):
    """Leave of all totals only those that are wanted."""
    store.commit(WriteSet(dict.fromkeys(totals_in(store).keys() - wanted)))


@pytest.mark.parametrize("kept", [None, 0, 9])
def test_what_lacks_totals_gets_those_that_it_would_have(kept, worker):
    """A folder of an earlier version, or one that had such a node in between."""
    world = begin(worker)
    early = set() if kept is None else set(grow(world, kept))
    whole = grow(world, 25)
    head = world.state.head.height
    forget(world.store, early)
    assert made_totals.is_missing(world.store.snapshot(), head)
    made = made_totals.add_missing(world.store, head)
    assert made == len(world.blocks) + 1 - len({key for key in early if key[2] == 0})
    assert totals_in(world.store) == whole
    assert not made_totals.is_missing(world.store.snapshot(), head)
    world.reopen()
    verify(world.state)


class Failing:
    """A store that takes so many commits."""

    def __init__(self, store, commits):
        self.snapshot = store.snapshot
        self._store = store
        self._left = commits

    def commit(self, writes, *, sync=True):
        if not self._left:
            raise OSError("the power went")
        self._left -= 1
        self._store.commit(writes, sync=sync)


def test_a_start_that_is_cut_short_goes_on_where_it_was(monkeypatch, worker):
    monkeypatch.setattr(made_totals, "BATCH_HEADERS", 3)
    world = begin(worker)
    whole, head = grow(world, 25), world.state.head.height
    forget(world.store, set())
    for commits in (1, 4, 0):
        with pytest.raises(OSError, match="power"):
            made_totals.add_missing(Failing(world.store, commits), head)
        assert made_totals.is_missing(world.store.snapshot(), head)
    assert made_totals.add_missing(world.store, head) == len(world.blocks) + 1 - 15
    assert totals_in(world.store) == whole


def test_opening_makes_them(worker):
    world = begin(worker)
    whole = grow(world, 12)
    world.store.commit(WriteSet({keys.GENESIS: world.genesis.encode()}))
    assert whole_state(world.store.snapshot()) is not None
    forget(world.store, set())
    assert whole_state(world.store.snapshot()) is None
    opened = worker.run(lambda: open_chain(world.store, lambda _: world.genesis))
    assert totals_in(world.store) == whole
    assert lane_use(opened.state, past_of(opened.state), (0, 9), 4).counted_from == 0


def test_totals_stay_when_blocks_are_pruned(worker):
    world, other = begin(worker, keep=5), begin(worker)
    assert grow(world, 30) == grow(other, 30)
    oldest = load_oldest(world.store.snapshot()).contents
    assert oldest > 5
    world.reopen()
    verify(world.state)
    assert lane_use(world.state, past_of(world.state), (0, oldest), 9).counted_from == 0


def test_of_what_was_pruned_without_them_nothing_is_told(worker):
    world = begin(worker, keep=5)
    grow(world, 30)
    forget(world.store, set())
    oldest = load_oldest(world.store.snapshot()).contents
    made_totals.add_missing(world.store, world.state.head.height)
    world.reopen()
    use = lane_use(world.state, past_of(world.state), (0, oldest - 1), 1_024)
    assert use.counted_from >= oldest
    assert {bucket.totals for bucket in use.buckets} == {None}
    world.chain = ChainStore(world.store, 5)
    grow(world, 20)
    world.reopen()
    verify(world.state)


def test_a_chain_made_of_a_state_file_tells_of_what_came_after(worker, tmp_path):
    world = begin(worker)
    grow(world, 12)
    head = world.state.head
    write_state_file(tmp_path / "state", world.genesis, head, world.store.snapshot())
    file = check_state_file(tmp_path / "state")
    worker.run(lambda: import_folder(file, tmp_path / "folder"))
    with LevelStore(tmp_path / "folder") as store:
        assert not made_totals.is_missing(store.snapshot(), head.height)
        world.store, world.blocks, world.chain = store, [], ChainStore(store)
        world.reopen()
        for _ in range(3):
            world.step()
        grow(world, 12)
        world.reopen()
        verify(world.state)
        ask = world.state, past_of(world.state), (0, world.state.head.height), 9
        assert count_due(*ask).counted_from == head.height + 1
        told = [one.totals for one in lane_use(*ask).buckets if one.totals]
        assert sum(one.headers for one in told) == len(world.blocks) + 1


@pytest.fixture(scope="module")
def world(worker):
    world = begin(worker)
    grow(world, 30)
    return world


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("change", ["alter", "remove"])
def test_a_total_that_is_not_that_of_its_blocks_is_named(world, level, change):
    found = [key for key in totals_in(world.store) if key[2] == level]
    key = found[len(found) // 2]
    other = None if change == "remove" else totals_in(world.store)[found[0]]
    message = damage_of(world, {key: other})
    assert f"the index under {key.hex()} is not that of" in message


def test_a_group_too_many_is_named(world):
    key = keys.block_totals(9, 2**40)
    message = damage_of(world, {key: b"anything"})
    assert re.search(r"there are totals of (\d+) groups of heights, and (\d+)", message)


def damage_of(world, changes):
    """The sentence about a store with changes, which are taken back."""
    before = {key: world.store.snapshot().get(key) for key in changes}
    world.store.commit(WriteSet(changes))
    try:
        world.reopen()
        with pytest.raises(DamagedChain) as raised:
            verify(world.state)
        return str(raised.value)
    finally:
        world.store.commit(WriteSet(before))


def test_blocks_that_cannot_be_read_have_no_totals(worker):
    world = begin(worker)
    grow(world, 12)
    height = next(
        header.height
        for header in history.headers_after(world.store.snapshot(), 0)
        if world.store.snapshot().get(keys.receipts(header.height))
    )
    forget(world.store, set())
    damage = {keys.receipts(height): b"\x82", keys.GENESIS: world.genesis.encode()}
    world.store.commit(WriteSet(damage))
    with pytest.raises(DamagedChain, match="what blocks did cannot be read"):
        worker.run(lambda: open_chain(world.store, lambda _: world.genesis))
