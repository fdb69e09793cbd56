"""MemoryStore and LevelStore, and restarts: the same chain on all of them (D40)."""

import pytest

from node.state.leveldb import LevelStore
from node.state.memory import MemoryStore
from pvm import Worker
from tests.worlds import World, fixed_pick

BLOCKS = 25


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


def run(store, worker, seed, *, is_restarted=lambda _height: False):
    world = World(store, fixed_pick(seed), worker)
    hashes = []
    for height in range(BLOCKS):
        if is_restarted(height):
            world.reopen()
        hashes.append(world.step().header.hash())
    return hashes, world


@pytest.fixture(scope="module", params=[11, 12, 13])
def plain(request, worker):
    """A chain in memory that never stops: (seed, hashes, records at the end)."""
    hashes, world = run(MemoryStore(), worker, request.param)
    return request.param, hashes, list(world.state.snapshot.range(b"", b"\xff"))


def test_on_disk_it_is_the_same_chain(plain, worker, tmp_path):
    seed, hashes, records = plain
    store = LevelStore(tmp_path / "store")
    found, _ = run(store, worker, seed)
    assert found == hashes
    assert list(store.snapshot().range(b"", b"\xff")) == records
    store.close()


def test_a_restart_between_any_two_blocks_changes_nothing(plain, worker):
    """What a driver holds in memory decides nothing (D24)."""
    seed, hashes, _ = plain
    always, _ = run(MemoryStore(), worker, seed, is_restarted=lambda _: True)
    assert always == hashes
    for at in range(0, BLOCKS, 6):
        once, _ = run(
            MemoryStore(), worker, seed, is_restarted=lambda height, at=at: height == at
        )
        assert once == hashes


def test_closing_and_opening_the_folder_changes_nothing(plain, worker, tmp_path):
    seed, hashes, records = plain
    folder = tmp_path / "store"
    world = World(LevelStore(folder), fixed_pick(seed), worker)
    found = []
    for height in range(BLOCKS):
        if height % 5 == 0:
            world.store.close()
            world.store = LevelStore(folder)
            world.reopen()
        found.append(world.step().header.hash())
    assert found == hashes
    assert list(world.store.snapshot().range(b"", b"\xff")) == records
    world.store.close()
