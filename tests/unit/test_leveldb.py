"""LevelStore keeps what it committed and refuses what it cannot use, with advice."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import plyvel
import pytest

from node.state import keys, leveldb
from node.state.errors import (
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreLocked,
    StoreUnwritable,
)
from node.state.leveldb import LevelStore
from node.state.store import WriteSet

CHECKOUT = Path(__file__).parents[2]
NOBODY = 65534


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "data" / "chain"


def fill(folder: Path, **values: bytes) -> None:
    with LevelStore(folder) as store:
        store.commit(WriteSet({name.encode(): data for name, data in values.items()}))


def names_and_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def run_python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run `code` in another process that can import this checkout."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_was_committed_is_there_after_a_restart(folder):
    fill(folder, a=b"1", b=b"2", c=b"3")
    with LevelStore(folder) as store:
        store.commit(WriteSet({b"a": None, b"b": b"new", b"absent": None}))
    with LevelStore(folder) as store:
        snapshot = store.snapshot()
        assert (snapshot.get(b"a"), snapshot.get(b"b")) == (None, b"new")
        assert list(snapshot.range(b"", b"\xff")) == [(b"b", b"new"), (b"c", b"3")]
        assert list(snapshot.range(b"b", b"c")) == [(b"b", b"new")]


def test_a_snapshot_is_unmoved_by_later_commits_also_while_it_is_read(folder):
    with LevelStore(folder) as store:
        store.commit(WriteSet({b"k%d" % n: b"old" for n in range(9)}))
        snapshot = store.snapshot()
        reading = snapshot.range(b"k", b"l")
        seen = [next(reading)]
        store.commit(WriteSet({b"k%d" % n: None for n in range(9)}))
        assert seen + list(reading) == [(b"k%d" % n, b"old") for n in range(9)]
        assert snapshot.get(b"k1") == b"old"
        assert store.snapshot().get(b"k1") is None


def test_a_commit_survives_the_process_even_unsynced(folder):
    code = """
import os, sys
from pathlib import Path
from node.state.leveldb import LevelStore
from node.state.store import WriteSet
store = LevelStore(Path(sys.argv[1]))
store.commit(WriteSet({b"synced": b"1"}), sync=True)
store.commit(WriteSet({b"unsynced": b"2"}), sync=False)
os._exit(9)
"""
    assert run_python(code, folder).returncode == 9
    with LevelStore(folder) as store:
        assert store.snapshot().get(b"synced") == b"1"
        assert store.snapshot().get(b"unsynced") == b"2"


def test_a_long_log_is_made_a_table_when_the_store_is_closed(folder):
    """The next start reads no log again, and finds everything."""
    values = {f"s{number}": os.urandom(1_000) for number in range(3_000)}
    fill(folder, **values)
    assert sum(log.stat().st_size for log in folder.glob("*.log")) == 0
    with LevelStore(folder) as store:
        pairs = dict(store.snapshot().range(b"", b"\xff"))
        assert pairs == {name.encode(): data for name, data in values.items()}


def test_a_torn_log_loses_whole_commits_only(folder):
    """A batch that the power cut short was never there."""
    with LevelStore(folder) as store:
        for number in range(20):
            changes = {b"%d-%d" % (number, part): b"x" * 50 for part in range(5)}
            store.commit(WriteSet(changes), sync=False)
    (log,) = folder.glob("*.log")
    log.write_bytes(log.read_bytes()[:-123])
    with LevelStore(folder) as store:
        keys = [key for key, _ in store.snapshot().range(b"", b"\xff")]
    commits = {int(key.split(b"-")[0]) for key in keys}
    assert commits == set(range(19))
    assert len(keys) == 5 * 19


@pytest.mark.parametrize(
    ("entries", "value_bytes"), [(200, 30), (8, 300), (3, 60_000), (1, 3_000_000)]
)
def test_a_log_is_on_disk_when_the_next_one_begins(
    folder, monkeypatch, entries, value_bytes
):
    """LevelDB syncs the newest log alone: no other may hold what was not synced."""
    synced, begun, fsync = {}, 0, os.fsync

    def note(descriptor):
        fsync(descriptor)
        synced[os.fstat(descriptor).st_ino] = os.fstat(descriptor).st_size

    with LevelStore(folder) as store:
        monkeypatch.setattr(os, "fsync", note)
        names = iter(range(2**32))
        while begun < 2:
            (log,) = folder.glob("*.log")
            held = os.open(log, os.O_RDONLY)
            changes = {
                b"%020d" % next(names): bytes(value_bytes) for _ in range(entries)
            }
            store.commit(WriteSet(changes), sync=False)
            if len(list(folder.glob("*.log"))) > 1 or not log.exists():
                begun += 1
                found = os.fstat(held)
                assert synced.get(found.st_ino) == found.st_size
                while len(list(folder.glob("*.log"))) > 1:
                    os.sched_yield()  # a table is made of it
            os.close(held)
        assert len(synced) < 10, "a log that is far from full is not synced for it"


def prune_through(store, blocks, *, kept=5):
    """Blocks of 20 kB, of which the latest are kept; synced now and then."""
    for height in range(blocks):
        changes = {key(height): os.urandom(5_000) for key in (keys.undo, keys.body)}
        changes[keys.receipts(height)] = os.urandom(10_000)
        if height >= kept:
            families = (keys.undo, keys.body, keys.receipts)
            changes |= {key(height - kept): None for key in families}
        store.commit(WriteSet(changes), sync=height % 7 == 0)


def test_what_pruning_emptied_gives_its_disk_back(folder, monkeypatch):
    """LevelDB alone leaves it where it lies, below the size of a level."""
    monkeypatch.setattr(leveldb, "_COMPACTED_BYTES", 1 << 20)
    with LevelStore(folder) as store:
        prune_through(store, 1_000)
        store._medium.finish()
        assert sum(path.stat().st_size for path in folder.iterdir()) < 6_000_000
    with LevelStore(folder) as store:
        assert len(list(store.snapshot().range(b"", b"\xff"))) == 3 * 5


def test_a_store_that_prunes_nothing_compacts_nothing(folder, monkeypatch):
    """Undo records alone are dropped by every node."""
    monkeypatch.setattr(leveldb, "_COMPACTED_BYTES", 1)
    with LevelStore(folder) as store:
        store.commit(WriteSet({keys.undo(1): b"1"}))
        store.commit(WriteSet({keys.undo(1): None}))
        assert store._medium._compacting is None
        store.commit(WriteSet({keys.body(1): None}))
        assert store._medium._compacting is not None


def test_logs_are_synced_while_a_compaction_may_begin_another(folder, monkeypatch):
    """Until the first commit after its end: the one before may be in an older log."""
    monkeypatch.setattr(leveldb, "_COMPACTED_BYTES", 1)
    synced = []
    with LevelStore(folder) as store:
        store.commit(WriteSet({keys.body(1): None}), sync=False)
        store._medium.finish()
        monkeypatch.setattr(
            type(store._medium), "sync_logs", lambda _: synced.append(1)
        )
        for height in range(3):
            store.commit(WriteSet({keys.header(height): b"1"}), sync=False)
            assert len(synced) == 1


# --- folders that are not ours -----------------------------------------------------


def test_format_names_program_and_version(folder):
    fill(folder)
    assert (folder / "FORMAT").read_bytes() == b"cowboy-devnet-store 4\n"


@pytest.mark.parametrize("name", ["lost+found", ".DS_Store"])
def test_an_empty_folder_is_taken_whatever_the_system_left_in_it(folder, name):
    folder.mkdir(parents=True)
    (folder / name).mkdir()
    fill(folder, a=b"1")
    fill(folder, a=b"2")


def test_a_start_that_was_killed_before_it_wrote_the_line_does_no_harm(folder):
    folder.mkdir(parents=True)
    (folder / "FORMAT").touch()
    fill(folder, a=b"1")
    assert (folder / "FORMAT").read_bytes() == b"cowboy-devnet-store 4\n"


def test_a_folder_of_other_things_is_refused_untouched(folder):
    folder.mkdir(parents=True)
    (folder / "thesis.txt").write_text("years of work")
    before = names_and_bytes(folder)
    with pytest.raises(StoreForeign, match=r"not empty .* give an empty folder"):
        LevelStore(folder)
    assert names_and_bytes(folder) == before


def test_another_programs_database_is_refused_untouched(folder):
    folder.mkdir(parents=True)
    other = plyvel.DB(str(folder), create_if_missing=True)
    other.put(b"theirs", b"1")
    other.close()
    before = names_and_bytes(folder)
    with pytest.raises(StoreForeign, match="no database of cowboy-devnet"):
        LevelStore(folder)
    assert names_and_bytes(folder) == before


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"cowboy-devnet-store 5\n", "has format 5, and .* only 4: use the version"),
        (b"cowboy-devnet-store 3\n", "has format 3, and .* only 4: use the version"),
        (b"cowboy-devnet-store 0\n", "has format 0"),
        (b"cowboy-devnet-store\n", "does not name a database of cowboy-devnet"),
        (b"cowboy-devnet-store one\n", "does not name"),
        (b"\xff\xfe\x00", "does not name"),
        (b"", "does not name"),
    ],
)
def test_another_format_is_refused_untouched(folder, line, reason):
    fill(folder, a=b"1")
    (folder / "FORMAT").write_bytes(line)
    before = names_and_bytes(folder)
    with pytest.raises(StoreForeign, match=reason):
        LevelStore(folder)
    assert names_and_bytes(folder) == before


def test_a_file_is_no_folder(tmp_path):
    file = tmp_path / "file"
    file.write_text("text")
    with pytest.raises(StoreForeign, match="is a file: give a folder"):
        LevelStore(file)
    with pytest.raises(StoreForeign, match="is a file: give a folder"):
        LevelStore(file / "below")
    assert file.read_text() == "text"


# --- one node a folder ---------------------------------------------------------------


def test_a_second_node_on_the_folder_is_refused(folder):
    code = """
import sys
from pathlib import Path
from node.state.errors import StoreLocked
from node.state.leveldb import LevelStore
try:
    LevelStore(Path(sys.argv[1]))
except StoreLocked as error:
    print(error)
"""
    with LevelStore(folder) as store:
        store.commit(WriteSet({b"a": b"1"}))
        # LevelDB's own lock would be gone after this attempt.
        with pytest.raises(StoreLocked):
            LevelStore(folder)
        answer = run_python(code, folder).stdout
        assert answer == (
            f"another node has {folder} open: stop it, or give this one a folder of "
            "its own\n"
        )
    assert run_python(code, folder).stdout == ""


def test_a_lock_that_leveldb_reports_is_told_alike(folder):
    fill(folder)
    other = plyvel.DB(str(folder))
    with pytest.raises(StoreLocked, match="another node has"):
        LevelStore(folder)
    other.close()
    fill(folder)


# --- damage ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "CURRENT").write_bytes(b""),
        lambda folder: (folder / "CURRENT").write_bytes(b"MANI"),
        lambda folder: (folder / "CURRENT").write_bytes(b"MANIFEST-999999\n"),
        lambda folder: (folder / "CURRENT").unlink(),
        lambda folder: next(folder.glob("MANIFEST-*")).write_bytes(b"\xff" * 60),
        lambda folder: next(folder.glob("MANIFEST-*")).write_bytes(b""),
        lambda folder: next(folder.glob("MANIFEST-*")).unlink(),
        lambda folder: next(folder.glob("*.ldb")).unlink(),
    ],
    ids=[
        "empty CURRENT",
        "cut CURRENT",
        "CURRENT of no manifest",
        "no CURRENT",
        "garbage in the manifest",
        "empty manifest",
        "no manifest",
        "no table",
    ],
)
def test_a_damaged_database_is_refused_with_advice(folder, damage):
    fill(folder, a=b"1")
    fill(folder, b=b"2")  # reopening turns the log into a table
    damage(folder)
    with pytest.raises(
        StoreCorrupt, match=r"is damaged .* restore a copy of the folder"
    ):
        LevelStore(folder)
    with pytest.raises(StoreCorrupt):  # nothing was repaired, and no lock is left
        LevelStore(folder)


def test_a_flipped_byte_in_the_log_is_refused_rather_than_skipped(folder):
    with LevelStore(folder) as store:
        for number in range(20):
            store.commit(WriteSet({b"%d" % number: b"x" * 50}), sync=False)
    (log,) = folder.glob("*.log")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    with pytest.raises(StoreCorrupt):
        LevelStore(folder)


def test_damage_met_while_reading_is_told(folder):
    with LevelStore(folder) as store:
        store.commit(
            WriteSet({b"%04d" % n: os.urandom(500) for n in range(500)}), sync=False
        )
    fill(folder)
    for table in folder.glob("*.ldb"):
        data = bytearray(table.read_bytes())
        # Damage the data blocks; index and footer stay, so that it can be opened.
        for at in range(0, len(data) * 9 // 10, 50):
            data[at] ^= 0xFF
        table.write_bytes(data)
    with LevelStore(folder) as store:
        snapshot = store.snapshot()
        with pytest.raises(StoreCorrupt, match="is damaged"):
            [snapshot.get(b"%04d" % n) for n in range(500)]
        with pytest.raises(StoreCorrupt, match="is damaged"):
            list(snapshot.range(b"0", b"9"))


# --- what the system does not allow ------------------------------------------------


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without root's privilege to write everywhere, if we have it."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that anybody may enter, but only its owner alter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def read_only(folder: Path) -> None:
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)


def test_a_folder_that_may_not_be_made_is_told(open_to_all):
    read_only(open_to_all)
    with as_nobody(), pytest.raises(StoreUnwritable, match="Permission denied"):
        LevelStore(open_to_all / "chain")


def test_a_read_only_folder_is_told_empty_or_full(open_to_all):
    empty, full = open_to_all / "empty", open_to_all / "full"
    empty.mkdir()
    read_only(empty)
    fill(full, a=b"1")
    read_only(full)
    for folder in (empty, full):
        with (
            as_nobody(),
            pytest.raises(StoreUnwritable, match="make it writable, make room"),
        ):
            LevelStore(folder)


def test_a_format_line_that_cannot_be_written_is_told(open_to_all):
    (open_to_all / "FORMAT").touch()
    read_only(open_to_all)
    with as_nobody(), pytest.raises(StoreUnwritable, match="Permission denied"):
        LevelStore(open_to_all)


def test_a_full_disk_is_told_and_nothing_of_the_commit_is_there(folder):
    """A limit on the size of files stands in for the end of the disk."""
    code = """
import resource, signal, sys
from pathlib import Path
from node.state.errors import StoreUnwritable
from node.state.leveldb import LevelStore
from node.state.store import WriteSet
store = LevelStore(Path(sys.argv[1]))
store.commit(WriteSet({b"before": b"1"}))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 10**9))
try:
    store.commit(WriteSet({b"big": bytes(200_000), b"small": b"1"}))
except StoreUnwritable as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (10**9, 10**9))
try:
    store.commit(WriteSet({b"after": b"1"}))
except StoreUnwritable as error:
    print(error)
"""
    first, second = run_python(code, folder).stdout.splitlines()
    assert "make room on its disk" in first
    assert "an earlier commit failed" in second  # its half would lie before this one
    with LevelStore(folder) as store:
        assert [key for key, _ in store.snapshot().range(b"", b"\xff")] == [b"before"]


def test_nothing_is_committed_after_a_commit_that_failed(folder):
    class FullDisk:
        def write_batch(self, **_options):
            raise plyvel.IOError(b"IO error: No space left on device")

    with LevelStore(folder) as store:
        medium = store._commits._medium
        medium._database = FullDisk()
        with pytest.raises(StoreUnwritable, match="No space left on device"):
            store.commit(WriteSet({b"a": b"1"}))
        medium._database = store._database
        with pytest.raises(StoreUnwritable, match="an earlier commit failed"):
            store.commit(WriteSet({b"b": b"2"}))
    fill(folder, c=b"3")


# --- the end -------------------------------------------------------------------------


def test_a_closed_store_and_its_snapshots_refuse(folder):
    store = LevelStore(folder)
    snapshot = store.snapshot()
    released = store.snapshot()
    released.close()
    released.close()
    with pytest.raises(StoreClosed):
        released.get(b"a")
    store.close()
    store.close()
    for call in (
        lambda: snapshot.get(b"a"),
        lambda: list(snapshot.range(b"a", b"b")),
        store.snapshot,
        lambda: store.commit(WriteSet({b"a": b"1"})),
    ):
        with pytest.raises(StoreClosed, match="was closed"):
            call()
    snapshot.close()
    fill(folder)


def test_a_recursion_that_ends_in_a_read_is_not_taken_for_a_closed_store(folder):
    with LevelStore(folder) as store:
        snapshot = store.snapshot()

        class Exhausted:
            def get(self, key: bytes, **_options) -> bytes:
                raise RecursionError(key)

        with pytest.raises(RecursionError):
            leveldb.LevelSnapshot(Exhausted(), folder, {}).get(b"a")
        assert snapshot.get(b"a") is None


def test_what_the_latest_commit_wrote_is_answered_from_memory():
    class Unasked:
        def get(self, key: bytes, **_options) -> bytes:
            raise AssertionError(key)

    written = {b"a": b"1", b"gone": None}
    snapshot = leveldb.LevelSnapshot(Unasked(), Path(), written)
    assert (snapshot.get(b"a"), snapshot.get(b"gone")) == (b"1", None)
    with pytest.raises(AssertionError):
        snapshot.get(b"b")


def test_snapshots_of_one_commit_stay_as_they_are_through_the_next_ones(folder):
    with LevelStore(folder) as store:
        store.commit(WriteSet({b"a": b"1", b"b": b"1"}))
        first = store.snapshot()
        store.commit(WriteSet({b"a": b"2", b"b": None}))
        second, again = store.snapshot(), store.snapshot()
        store.commit(WriteSet({b"a": None, b"b": b"3"}), sync=False)
        third = store.snapshot()
        seen = [(one.get(b"a"), one.get(b"b")) for one in (first, second, again, third)]
    assert seen == [(b"1", b"1"), (b"2", None), (b"2", None), (None, b"3")]


def test_a_snapshot_taken_during_a_commit_is_of_before_or_of_after_it(folder):
    """Another thread may take one while the batch is written."""
    taken = []

    class Batch:
        def __init__(self, inner):
            self.inner, self.put = inner, inner.put
            self.approximate_size = inner.approximate_size

        def write(self):
            taken.append(store.snapshot())
            self.inner.write()
            taken.append(store.snapshot())

    class Database:
        def __init__(self, inner):
            self.inner, self.snapshot = inner, inner.snapshot

        def write_batch(self, **options):
            return Batch(self.inner.write_batch(**options))

    with LevelStore(folder) as store:
        store.commit(WriteSet({b"a": b"1"}))
        store._commits._medium._database = Database(store._database)
        store.commit(WriteSet({b"a": b"2"}))
        assert [one.get(b"a") for one in taken] == [b"1", b"2"]


@pytest.mark.parametrize("closed", ["snapshot", "store"])
def test_what_was_written_last_is_not_answered_after_the_end(folder, closed):
    store = LevelStore(folder)
    store.commit(WriteSet({b"a": b"1"}))
    snapshot = store.snapshot()
    assert snapshot.get(b"a") == b"1"
    (store if closed == "store" else snapshot).close()
    with pytest.raises(StoreClosed):
        snapshot.get(b"a")
    store.close()


def test_all_refusals_are_one_family():
    family = (StoreClosed, StoreCorrupt, StoreForeign, StoreLocked, StoreUnwritable)
    assert all(issubclass(kind, StoreError) for kind in family)
