"""SIGKILL in the middle of an export, an import, and of blocks that prune others."""

import signal
import subprocess
import sys
import time
from random import Random

import pytest

from node.archive.opening import open_chain
from node.archive.state_file import check_state_file
from node.archive.verification import verify
from node.cli import main
from node.client import Api
from node.state import keys
from node.state.leveldb import LevelStore
from node.state.retention import load_oldest
from node.state.store import WriteSet
from pvm import Worker
from tests.crash.processes import DEADLINE_SECONDS, ROOT, Process
from tests.worlds import KeptWorld, fixed_pick

KILLED = """
import os, signal, sys
from pathlib import Path
from node.archive import record_file, state_file, state_import
from node.archive.folder import open_folder

what, source, target, left = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), [9]

def die():
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)

if what == "import":
    state_import.BATCH_RECORDS, left[0] = 3, 3
    file = state_file.check_state_file(source)
    state_import.import_folder(file, target, lambda done: die())
else:
    record_file.PART_BYTES = 1
    with open_folder(source) as folder:
        class Dying:
            get = folder.snapshot.get
            def range(self, start, stop):
                for pair in folder.snapshot.range(start, stop):
                    die()
                    yield pair
        state_file.write_state_file(target, folder.genesis, folder.head, Dying())
"""
"""Does what the command does, and kills itself in the middle."""

ROUNDS = 2


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "data"
    with Worker() as worker, LevelStore(path) as store:
        world = KeptWorld(store, fixed_pick(3), worker)
        for _ in range(6):
            world.step()
        store.commit(WriteSet({keys.GENESIS: world.genesis.encode()}))
    return path


def killed(*words):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *map(str, words)],
        cwd=ROOT,
        check=False,
        timeout=60,
    )
    assert done.returncode == -signal.SIGKILL


def command(*words):
    main([*map(str, words)], standalone_mode=False)


def test_what_a_kill_leaves_of_an_export_or_import_is_never_taken_for_one(
    tmp_path, folder
):
    """And it does not pile up: the next one removes it."""
    file, copy = tmp_path / "state", tmp_path / "copy"
    killed("export", folder, file)
    assert not file.exists()
    command("snapshot", "export", file, "--data-dir", folder)
    for _ in range(2):
        killed("import", file, copy)
        assert not copy.exists()
    assert len(list(tmp_path.iterdir())) == 3
    command("snapshot", "import", file, "--data-dir", copy)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["copy", "data", "state"]
    head = check_state_file(file).head
    for path in (folder, copy):
        with LevelStore(path) as store:
            state = open_chain(store, lambda stored: stored).state
            assert state.head == head
            verify(state)


def test_a_node_killed_while_it_prunes_opens_at_a_whole_chain(tmp_path):
    random, heights = Random(5), [0]
    flags = ("--keep-blocks", "64", "--pace", "1ms")
    for _ in range(ROUNDS):
        process = Process(tmp_path, *flags)
        address = process.wait_ready()
        deadline = time.monotonic() + DEADLINE_SECONDS
        target = heights[-1] + 80 + random.randrange(60)
        with Api(address) as api:
            while api.status().head.height < target:
                assert time.monotonic() < deadline
        process.kill()
        with LevelStore(tmp_path / "data") as store:
            state = open_chain(store, lambda stored: stored).state
            verify(state)
            heights.append(state.head.height)
            oldest = load_oldest(state.snapshot).contents
            assert 0 < oldest <= state.head.height - 63
    assert heights == sorted(set(heights))
