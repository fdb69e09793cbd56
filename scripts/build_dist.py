"""Builds what a release hands out, from its tag: `make dist`.

    python scripts/build_dist.py [TAG]

The sources are those of the tag, whatever the working tree holds. The wheel is built
from the source distribution, which is thereby known to be whole, and `twine check`
reads both. Two builds of one tag are the same bytes: every file in them has the time
of the commit.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


def version_of(sources: Path) -> str:
    """The version that a checkout says it has."""
    text = (sources / "node" / "__init__.py").read_text(encoding="utf-8")
    found = _VERSION.search(text)
    assert found, "node/__init__.py names no version"
    return found[1]


def missing_of_release(sources: Path, tag: str) -> list[str]:
    """What the sources of a tag lack to be a release, a sentence each."""
    version = version_of(sources)
    changelog = (sources / "CHANGELOG.md").read_text(encoding="utf-8")
    kept = sources / "tests" / "fixtures" / "releases" / version / "release.json"
    missing = []
    if tag != f"v{version}":
        missing.append(f"node/__init__.py has version {version}: its tag is v{version}")
    if not re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE
    ):
        missing.append(f"CHANGELOG.md has no section `## [{version}] - YYYY-MM-DD`")
    if re.search(r"^## \[Unreleased\]\s+(?!##? )\S", changelog, re.MULTILINE):
        missing.append(f"CHANGELOG.md has changes that are not in {version}")
    if not kept.is_file() or json.loads(kept.read_text())["version"] != version:
        missing.append(f"scripts/keep_release.py {version} was not run")
    return missing


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar archive into a folder."""
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")


def build(sources: Path, target: Path, epoch: str) -> list[Path]:
    """Build both distributions; return their paths."""
    name = f"cowboy_devnet-{version_of(sources)}"
    sdist, wheel = target / f"{name}.tar.gz", target / f"{name}-py3-none-any.whl"
    _hatchling("sdist", sources, target, epoch)
    with tempfile.TemporaryDirectory() as scratch:
        unpack(sdist, Path(scratch))
        _hatchling("wheel", Path(scratch) / name, target, epoch)
    check = [sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel)]
    subprocess.run(check, check=True)
    return [sdist, wheel]


def _hatchling(kind: str, sources: Path, target: Path, epoch: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)],
        cwd=sources,
        env=os.environ | {"SOURCE_DATE_EPOCH": epoch},
        check=True,
        capture_output=True,
    )


def git(*arguments: str) -> str:
    """The output of a git command in this repository."""
    program = shutil.which("git") or sys.exit("git is not on PATH")
    return subprocess.run(
        [program, *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def main(arguments: list[str]) -> int:
    """Exit code: 0 built, 1 the tag is missing or is no release yet."""
    tag = arguments[0] if arguments else f"v{version_of(ROOT)}"
    if not git("tag", "--list", tag):
        print(f"there is no tag {tag}: CONTRIBUTING.md, Releases", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        archive, sources = Path(scratch) / "tag.tar", Path(scratch) / "tag"
        git("archive", f"--output={archive}", tag)
        unpack(archive, sources)
        if missing := missing_of_release(sources, tag):
            print(f"{tag} is no release:", *missing, sep="\n  ", file=sys.stderr)
            return 1
        epoch = git("log", "-1", "--format=%ct", tag)
        for path in build(sources, ROOT / "dist", epoch):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            print(f"{digest}  {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
