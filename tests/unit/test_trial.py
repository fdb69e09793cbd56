"""A database is opened in a trial first, and what LevelDB would read is known."""

import os
import shutil
from pathlib import Path

import plyvel
import pytest

from node.state import trial
from node.state.errors import StoreCorrupt, StoreForeign
from node.state.leveldb import LevelStore, look_into
from node.state.manifest import parse_manifest
from node.state.store import WriteSet
from node.state.trial import TRIAL_FOLDER, require_files


@pytest.fixture
def folder(tmp_path) -> Path:
    """Two tables and a log."""
    folder = tmp_path / "data"
    for number in range(3):
        with LevelStore(folder) as store:
            store.commit(WriteSet({b"k%d" % number: os.urandom(100)}))
    return folder


def manifest_of(folder):
    (manifest,) = folder.glob("MANIFEST-*")
    return manifest.read_bytes()


def tables_of(folder):
    return {int(path.stem): path.stat().st_size for path in folder.glob("*.ldb")}


def test_a_manifest_names_the_tables_with_their_lengths_and_the_log(folder):
    found = parse_manifest(manifest_of(folder))
    assert found.tables == tables_of(folder)
    (log,) = folder.glob("*.log")
    assert found.log_number == int(log.stem)
    assert found.next_file > max(found.tables)


def test_a_manifest_of_many_blocks_is_read(tmp_path):
    """Edits go over the ends of its blocks, and files come and go."""
    database = plyvel.DB(str(tmp_path), create_if_missing=True, write_buffer_size=4096)
    for number in range(4_000):
        database.put(b"%03d" % (number % 500) * 300, os.urandom(500))
    database.compact_range()
    database.close()
    data = manifest_of(tmp_path)
    assert len(data) > 32_768
    found = parse_manifest(data)
    listed = tables_of(tmp_path)
    assert found.tables == {number: listed[number] for number in found.tables}
    assert max(found.tables) > 100


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "its beginning is missing"),
        (bytes(6) + b"\x01\x02\x03", "its beginning is missing"),
        (bytes(4) + b"\x02\x00\x01\x02\x03", "its beginning is missing"),
        (bytes(4) + b"\x02\x00\x01\x02\x83", "a number has no end"),
        (bytes(4) + b"\x02\x00\x01\x01\x03", "a text has no end"),
        (bytes(4) + b"\x01\x00\x01\x08", "8 is no field"),
        (bytes(4) + b"\x01\x00\x04\x08", "no part of an edit"),
        (bytes(4) + b"\xff\xff\x01" + bytes(40_000), "longer than its block"),
        (
            bytes(4) + b"\x0d\x00\x01\x02\x01\x03\x05\x04\x01\x07\x00\x05\x09\x00\x00",
            "its beginning is missing",
        ),
        (
            bytes(4) + b"\x0c\x00\x01\x02\x01\x03\x05\x04\x01\x07\x00\x05\x09\x00\x00",
            "files that are to come",
        ),
    ],
)
def test_another_manifest_is_refused(data, reason):
    with pytest.raises(ValueError, match=reason):
        parse_manifest(data)


def test_to_look_into_a_folder_changes_nothing_and_takes_its_lock(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with look_into(folder) as snapshot:
        assert len(list(snapshot.range(b"k", b"l"))) == 3
        with pytest.raises(Exception, match="another node has"):
            LevelStore(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_what_is_not_there_cannot_be_looked_into(tmp_path):
    with pytest.raises(StoreCorrupt), look_into(tmp_path / "data"):
        pass


def test_what_a_killed_trial_left_is_removed(folder):
    shutil.copytree(folder, folder / TRIAL_FOLDER)
    with LevelStore(folder) as store:
        assert len(list(store.snapshot().range(b"k", b"l"))) == 3
        assert not (folder / TRIAL_FOLDER).exists()


def test_a_link_in_the_place_of_the_trial_is_not_followed(folder, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "thesis.txt").write_text("years of work")
    (folder / TRIAL_FOLDER).symlink_to(theirs)
    LevelStore(folder).close()
    assert (theirs / "thesis.txt").read_text() == "years of work"


def test_a_file_system_without_links_does(folder, monkeypatch):
    def refuse(_link, _target):
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    with LevelStore(folder) as store:
        assert len(list(store.snapshot().range(b"k", b"l"))) == 3


def test_names_that_are_not_ours_are_left_alone(folder):
    os.mkfifo(folder / "notes.log")
    (folder / "old").mkdir()
    LevelStore(folder).close()
    assert (folder / "notes.log").exists()


def test_a_device_is_no_file(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "000001.log")
    monkeypatch.setattr(trial, "_kind_of", lambda _entry: "a device")
    with pytest.raises(StoreForeign, match=r"000001\.log is a device and no file"):
        require_files(tmp_path)
