"""Trial: a database is opened first where that can do no harm.

Opening a database alters it, and more so a damaged one. So its folder is looked at
before: every file that LevelDB would open must be a file, every table that the
manifest names must be there in its length, and so must the log that it names. Then
LevelDB opens a copy of small things beside links to the tables, in a folder of its
own, and whoever opens the store judges what it reads there. Only what passed is opened
in its place.

Rules: LevelDB never writes to a table that a link leads to: it removes the link, and
new tables get numbers that are above those of all that the manifest names
(`manifest.py` refuses any other manifest). What a killed trial left is removed by the
next one.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from node.state.errors import StoreForeign, damaged
from node.state.manifest import Manifest, parse_manifest

__all__ = ["TRIAL_FOLDER", "is_new", "open_trial", "require_files"]

TRIAL_FOLDER = ".trial"

_OURS: Final = re.compile(
    r"FORMAT|HEAD|CURRENT|LOCK|LOG|LOG\.old|MANIFEST-\d+|\d+\.(log|ldb|sst|dbtmp)",
    re.ASCII,
)
_CURRENT: Final = re.compile(rb"(MANIFEST-\d+)\n")
_TABLES: Final = (".ldb", ".sst")


def require_files(folder: Path) -> None:
    """Refuse a folder in which something else has the name of a file of ours.

    A pipe or a device would be read for ever, and a link leads out of the folder.

    Raises:
        StoreForeign: With the name.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False) or not _OURS.fullmatch(entry.name):
                continue
            raise StoreForeign(
                f"{folder / entry.name} is {_kind_of(entry)} and no file: restore a "
                "copy of the folder, or give an empty one"
            )


def _kind_of(entry: os.DirEntry[str]) -> str:
    mode = entry.stat(follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        return "a link"
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"


def is_new(folder: Path) -> bool:
    """Whether there is no database in `folder`, not even a damaged one."""
    names = os.listdir(folder)  # noqa: PTH208 - only names are wanted
    # CURRENT is the first file of a database; without it LevelDB would begin anew and
    # remove the tables and logs that it does not know.
    return "CURRENT" not in names and not any(
        name.endswith((*_TABLES, ".log")) for name in names
    )


@contextmanager
def open_trial(folder: Path) -> Iterator[Path]:
    """A folder in which LevelDB may open what is in `folder`, and alter nothing there.

    Raises:
        StoreCorrupt: A file is missing, cut, or no manifest.
        OSError: The operating system does not let us.
    """
    trial = folder / TRIAL_FOLDER
    _remove(trial)
    parts = _find_parts(folder)
    trial.mkdir()
    try:
        for part in parts:
            if part.suffix in _TABLES:
                _link(trial / part.name, part)
            else:
                shutil.copyfile(part, trial / part.name)
        yield trial
    finally:
        _remove(trial)


def _find_parts(folder: Path) -> list[Path]:
    """The files that LevelDB would read."""
    current = folder / "CURRENT"
    if not current.exists():
        raise damaged("CURRENT is missing", folder)
    found = _CURRENT.fullmatch(current.read_bytes())
    if found is None:
        raise damaged("CURRENT does not name a manifest", folder)
    name = found[1].decode()
    if not (folder / name).exists():
        raise damaged(f"{name}, which CURRENT names, is missing", folder)
    try:
        manifest = parse_manifest((folder / name).read_bytes())
    except ValueError as error:
        raise damaged(f"{name} cannot be read: {error}", folder) from error
    parts = [current, folder / name, *_find_tables(folder, manifest)]
    logs = {_number_of(path): path for path in folder.glob("*.log")}
    if manifest.log_number and manifest.log_number not in logs:
        raise damaged(f"log {manifest.log_number} is missing", folder)
    return parts + [logs[one] for one in sorted(logs) if one >= manifest.log_number]


def _find_tables(folder: Path, manifest: Manifest) -> Iterator[Path]:
    names = set(os.listdir(folder))  # noqa: PTH208 - only names are wanted
    for number, size in manifest.tables.items():
        name = next((n for s in _TABLES if (n := f"{number:06}{s}") in names), None)
        if name is None:
            raise damaged(f"table {number} is missing", folder)
        if (folder / name).stat().st_size != size:
            raise damaged(f"{name} has not the length that it was given", folder)
        yield folder / name


def _number_of(log: Path) -> int:
    return int(log.stem) if re.fullmatch("[0-9]+", log.stem) else -1


def _link(link: Path, table: Path) -> None:
    try:
        link.symlink_to(table.absolute())
    except OSError:  # the file system has none
        shutil.copyfile(table, link)


def _remove(trial: Path) -> None:
    if trial.is_symlink() or not trial.exists():
        trial.unlink(missing_ok=True)
        return
    shutil.rmtree(trial)
