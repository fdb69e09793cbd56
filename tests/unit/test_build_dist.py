"""`make dist`: what a release hands out is its tag, whole, and nothing unreleased."""

import importlib.util
import json
import os
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from node import __version__

ROOT = Path(__file__).resolve().parents[2]
TAG = f"v{__version__}"
NAME = f"cowboy_devnet-{__version__}"
CHANGELOG = (
    f"# Changelog\n\n## [Unreleased]\n\n## [{__version__}] - 2026-01-31\n\n- a\n"
)
EPOCH = 1_700_000_000


@pytest.fixture
def script(tmp_path, monkeypatch):
    """The script, for a checkout of its own."""
    path = ROOT / "scripts" / "build_dist.py"
    spec = importlib.util.spec_from_file_location("build_dist", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path / "checkout")
    return module


@pytest.fixture
def checkout(script):
    """All that a release needs, of sources that are next to nothing."""
    folder = script.ROOT
    write(folder, "node/__init__.py", f'__version__ = "{__version__}"\n')
    write(folder, "CHANGELOG.md", CHANGELOG)
    kept = {"version": __version__}
    path = f"tests/fixtures/releases/{__version__}/release.json"
    write(folder, path, json.dumps(kept))
    return folder


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def git(folder, *arguments):
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(
        ["git", *who, *arguments],
        cwd=folder,
        env=os.environ | nobody,
        check=True,
        capture_output=True,
    )


def test_a_release_lacks_nothing(script, checkout):
    assert script.missing_of_release(checkout, TAG) == []


def test_a_tag_names_the_version_of_its_sources(script, checkout):
    (sentence,) = script.missing_of_release(checkout, "v0.0.9")
    assert sentence == f"node/__init__.py has version {__version__}: its tag is {TAG}"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("- 2026-01-31", "", f"no section `## [{__version__}] - YYYY-MM-DD`"),
        ("[Unreleased]\n", "[Unreleased]\n\n- b\n", "changes that are not in"),
        ("[Unreleased]\n", "[Unreleased]\n\n### Fixed\n", "changes that are not in"),
    ],
)
def test_the_changelog_tells_the_release(script, checkout, old, new, sentence):
    write(checkout, "CHANGELOG.md", CHANGELOG.replace(old, new))
    (missing,) = script.missing_of_release(checkout, TAG)
    assert sentence in missing


def test_what_a_release_writes_is_kept_first(script, checkout):
    shutil.rmtree(checkout / "tests")
    (missing,) = script.missing_of_release(checkout, TAG)
    assert missing == f"scripts/keep_release.py {__version__} was not run"


def test_without_a_tag_nothing_is_built(script, checkout, capsys):
    git(checkout, "init", "--quiet")
    assert script.main([]) == 1
    assert f"there is no tag {TAG}" in capsys.readouterr().err
    assert not (checkout / "dist").exists()


def test_the_tag_is_judged_and_not_the_working_tree(script, checkout, capsys):
    git(checkout, "init", "--quiet")
    write(checkout, "CHANGELOG.md", "# Changelog\n")
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "--message", "a")
    git(checkout, "tag", TAG)
    write(checkout, "CHANGELOG.md", CHANGELOG)
    assert script.main([TAG]) == 1
    assert capsys.readouterr().err.startswith(f"{TAG} is no release:\n  CHANGELOG.md")
    assert not (checkout / "dist").exists()


@pytest.mark.slow
def test_both_distributions_come_out_of_the_tag(script, checkout, capfd):
    """The sources whole, with their documents; a wheel of them; both the same twice."""
    for name in ("README.md", "LICENSE", "pyproject.toml"):
        shutil.copy(ROOT / name, checkout)
    for name in ("node", "pvm", "genesis", "docs", "stubs", "examples"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(
            ROOT / name, checkout / name, ignore=ignored, dirs_exist_ok=True
        )
    git(checkout, "init", "--quiet")
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "--message", "a", "--date", f"@{EPOCH}")
    git(checkout, "tag", TAG)
    write(checkout, "docs/later.txt", "# Later\n")
    assert script.main([]) == 0
    first = capfd.readouterr().out
    assert script.main([]) == 0
    assert first.count("PASSED") == 2
    assert capfd.readouterr().out == first
    with tarfile.open(checkout / "dist" / f"{NAME}.tar.gz") as archive:
        packed = {name.removeprefix(f"{NAME}/") for name in archive.getnames()}
    docs = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    assert {"CHANGELOG.md", "LICENSE", "pvm/__init__.py"} | docs <= packed
    assert "docs/later.txt" not in packed
    with zipfile.ZipFile(checkout / "dist" / f"{NAME}-py3-none-any.whl") as wheel:
        folders = {name.split("/")[0] for name in wheel.namelist()}
    stubs = {path.name for path in (ROOT / "stubs").iterdir()}
    assert folders == {"node", "pvm", f"{NAME}.dist-info"} | stubs
