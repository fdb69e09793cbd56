"""What releases wrote is read, or refused with the way out, by every later version."""

import importlib.util
import json
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from node import __version__
from node.archive.bundle import KIND, open_bundle, replay_of
from node.archive.folder import open_folder
from node.archive.opening import open_chain
from node.archive.replay import begin, into
from node.archive.state_file import MAGIC, StateFileRefused, check_state_file
from node.archive.state_import import import_folder
from node.archive.verification import verify
from node.chain.bundle_errors import BundleFault, BundleRefused
from node.chain.consensus import CONSENSUS_NUMBER
from node.query import lane_use, past_of
from node.state.errors import StoreForeign
from node.state.leveldb import FORMAT_VERSION, LevelStore
from node.state.memory import MemoryStore
from pvm import Worker

ROOT = Path(__file__).parents[2]
RELEASES = ROOT / "tests" / "fixtures" / "releases"
KEPT = {"README.md", "chain.bundle", "chain.state", "data.tar", "release.json"}


@pytest.fixture(scope="module")
def script():
    path = ROOT / "scripts" / "keep_release.py"
    spec = importlib.util.spec_from_file_location("keep_release", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def releases(script, tmp_path_factory):
    """All that are kept, and what this version would keep."""
    own = tmp_path_factory.mktemp("own") / "own"
    script.keep(own, "own")
    return [own, *sorted(path for path in RELEASES.iterdir() if path.is_dir())]


def facts_of(release):
    return json.loads((release / "release.json").read_text())


def test_each_release_is_kept_whole(releases):
    for release in releases:
        assert {path.name for path in release.iterdir()} <= KEPT
        assert facts_of(release)["version"] == release.name


def test_what_is_kept_is_never_written_again(script, releases, monkeypatch, capsys):
    monkeypatch.setattr(script, "RELEASES", releases[0].parent)
    monkeypatch.setattr(script, "__version__", "own")
    monkeypatch.setattr(sys, "argv", ["keep_release.py", "own"])
    assert script.main() == 1
    assert "is kept already" in capsys.readouterr().err


def test_only_the_own_version_is_kept(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(script, "RELEASES", tmp_path)
    monkeypatch.setattr(sys, "argv", ["keep_release.py", "0.0.9"])
    assert script.main() == 1
    assert capsys.readouterr().err == f"this is {__version__}, not 0.0.9\n"
    assert list(tmp_path.iterdir()) == []


def test_folders_of_releases_are_read_or_refused(releases, tmp_path):
    """One of another consensus number is read as well."""
    for release in releases:
        facts = facts_of(release)
        with tarfile.open(release / "data.tar") as archive:
            archive.extractall(tmp_path, filter="data")
        if facts["folder_format"] == FORMAT_VERSION:
            with open_folder(tmp_path / "data") as folder:
                assert folder.head.height == facts["height"]
                assert folder.head.hash().hex() == facts["hash"]
        else:
            with pytest.raises(StoreForeign, match="use the version that made it"):
                LevelStore(tmp_path / "data")
        shutil.rmtree(tmp_path / "data")


def test_folders_of_releases_get_the_totals_of_their_blocks(releases, tmp_path):
    """At the first start; what an earlier version wrote has none."""
    for release in releases:
        facts = facts_of(release)
        if facts["folder_format"] != FORMAT_VERSION:
            continue
        with tarfile.open(release / "data.tar") as archive:
            archive.extractall(tmp_path, filter="data")
        with LevelStore(tmp_path / "data") as store, Worker() as worker:
            for is_first in (release.name == "0.1.0", False):
                opened = worker.run(
                    lambda store=store: open_chain(store, lambda own: own)
                )
                assert (opened.totals_made > 0) == is_first
            heights = 0, facts["height"]
            use = lane_use(opened.state, past_of(opened.state), heights, 1)
            assert use.buckets[0].totals.heights == facts["height"] + 1
            worker.run(lambda opened=opened: verify(opened.state))
        shutil.rmtree(tmp_path / "data")


def test_bundles_of_releases_are_executed_or_refused_by_name(releases):
    for release in releases:
        path, facts = release / "chain.bundle", facts_of(release)
        if not path.read_bytes().startswith(KIND.magic):
            with pytest.raises(BundleRefused) as refused, open_bundle(path):
                pass
            assert refused.value.fault is BundleFault.OLDER
            continue
        with open_bundle(path) as bundle, Worker() as worker:
            assert bundle.head.hash().hex() == facts["hash"]
            if facts["consensus"] == CONSENSUS_NUMBER:
                worker.run(lambda bundle=bundle: execute(bundle))
                continue
            with pytest.raises(BundleRefused) as refused:
                worker.run(lambda bundle=bundle: execute(bundle))
            assert refused.value.fault is BundleFault.OTHER_CONSENSUS


def execute(bundle):
    store = MemoryStore()
    replay = replay_of(bundle, into(store), begin(bundle.genesis, store))
    while replay.step(100):
        pass
    assert replay.state.head == bundle.head


def test_state_files_of_releases_carry_their_chains_over(releases, tmp_path):
    """Whatever they were executed under."""
    for release in releases:
        path, folder = release / "chain.state", tmp_path / release.name
        if not path.read_bytes().startswith(MAGIC):
            with pytest.raises(StateFileRefused, match="use the version"):
                check_state_file(path)
            continue
        import_folder(check_state_file(path), folder)
        with LevelStore(folder) as store:
            opened = open_chain(store, lambda stored: stored)
            assert opened.state.head.hash().hex() == facts_of(release)["hash"]
            assert opened.consensus == CONSENSUS_NUMBER
            verify(opened.state)
