"""Small worlds with crashes: nothing promised is lost, whatever ends when.

`make simulate SEED=…` runs as many as one likes, `make test-long` 1,200.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from node.archive.opening import DamagedChain
from node.state.errors import StoreCorrupt
from node.state.store import WriteSet
from pvm import CodeCache, Worker
from tests.simulation.machine import Disk, HeightFile, Medium
from tests.simulation.world import World

ROOT = Path(__file__).parents[2]
WORLDS = 40
SEED = 1


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


@pytest.fixture(scope="module")
def code():
    """Compiled actors, which all worlds share."""
    return CodeCache()


def live(worker, world):
    """What became of it; a failure says how to repeat it."""
    try:
        return worker.run(world.run)
    except BaseException as error:
        error.add_note(f"make simulate SEED={world.seed} WORLDS=1")
        raise


def test_small_worlds_lose_nothing(worker, code):
    """A crash between execute, commit, prune and publish loses nothing promised."""
    worlds = [World(seed, code=code) for seed in range(SEED, SEED + WORLDS)]
    for world in worlds:
        live(worker, world)
    assert sum(world.deaths for world in worlds) > WORLDS // 2
    assert sum(world.power_cuts for world in worlds) > WORLDS // 4
    assert sum(world.blocks for world in worlds) > WORLDS * 5
    assert sum(world.upgrades for world in worlds) > 0


@pytest.mark.slow
@pytest.mark.parametrize("is_power_cut", [False, True])
@pytest.mark.parametrize("seed", [1, 9, 12, 16])
def test_a_world_may_end_at_any_of_its_points(worker, code, seed, is_power_cut):
    """Small worlds are enumerated: one death at each point of one life."""
    index = deaths = 0
    while deaths == index:
        world = World(seed, die_at=index, is_power_cut=is_power_cut, code=code)
        live(worker, world)
        deaths += world.deaths
        index += 1
    assert deaths > 25


def digests(hash_seed):
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation", "--seed", "7", "--worlds", "3"],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_seed_gives_the_same_world_everywhere():
    """The same seed, the same trace, whatever PYTHONHASHSEED is."""
    found = digests("1")
    assert found.splitlines()[-1].endswith("nothing lost")
    assert digests("2") == found


# --- the simulation finds what it is for ---------------------------------------------


def first_failure(worker, code):
    """The failure of the first world that fails, of forty."""
    for seed in range(SEED, SEED + WORLDS):
        try:
            worker.run(World(seed, code=code).run)
        except (AssertionError, DamagedChain, StoreCorrupt) as error:
            return error
    return None


def test_it_finds_a_node_that_does_not_sync(worker, code, monkeypatch):
    commit = Disk.commit

    def commit_only(disk, writes, *, sync=True):
        del sync
        commit(disk, writes, sync=False)

    monkeypatch.setattr(Disk, "commit", commit_only)
    assert first_failure(worker, code)


def test_it_finds_a_block_that_is_committed_in_two_parts(worker, code, monkeypatch):
    commit = Disk.commit

    def commit_twice(disk, writes, *, sync=True):
        pairs = list(writes.changes.items())
        half = len(pairs) // 2
        commit(disk, WriteSet(dict(pairs[:half])), sync=sync)
        commit(disk, WriteSet(dict(pairs[half:])), sync=sync)

    monkeypatch.setattr(Disk, "commit", commit_twice)
    assert first_failure(worker, code)


def test_it_finds_a_height_that_is_lowered_without_a_sync(worker, code, monkeypatch):
    """A whole chain would be refused after a revert or a reset and a power cut."""
    monkeypatch.setattr(HeightFile, "sync", lambda _file: None)
    assert "ends at" in str(first_failure(worker, code))


def test_it_finds_a_log_that_is_left_without_a_sync(worker, code, monkeypatch):
    monkeypatch.setattr(Medium, "sync_logs", lambda _medium: None)
    assert first_failure(worker, code)
