"""The files of the project's tests: whether one was saved since the last run.

Rules: Python files alone count, and only if they hold something else than before: what
tests write beside themselves begins no other run. As many are looked at as anybody has.
"""

import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from node.cli.loop.saved_file import REST_SECONDS

__all__ = ["SavedTests"]

LOOK_SECONDS = 0.3
"""Between two looks: a folder has many files, and nobody waits for these."""

FILES_MAX = 2_000

_LEFT_OUT = frozenset({"node_modules", "site-packages", "__pycache__"})

_Stamp = tuple[int, int, int]


class SavedTests:
    """Tells when the files below a path hold something new."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._looked = self._since = float("-inf")
        self._newest = self._stamps()
        self._is_resting = False
        self._contents: dict[str, tuple[_Stamp, bytes]] = {}
        self._contents = self._read()

    def look(self, now: float) -> bool:
        """Whether one was saved, made or removed; once, and when all have rested.

        Args:
            now: seconds of a clock that never goes back.
        """
        if now - self._looked < LOOK_SECONDS:
            return False
        self._looked = now
        stamps = self._stamps()
        if stamps != self._newest:
            self._newest, self._since, self._is_resting = stamps, now, True
        if not self._is_resting or now - self._since < REST_SECONDS:
            return False
        self._is_resting = False
        before = _digests(self._contents)
        self._contents = self._read()
        return _digests(self._contents) != before

    def _stamps(self) -> dict[str, _Stamp]:
        found = {}
        for file in _python_files(self._path):
            try:
                status = os.stat(file)  # noqa: PTH116 - of many files
            except OSError:  # it is gone meanwhile
                continue
            found[file] = status.st_ino, status.st_size, status.st_mtime_ns
        return found

    def _read(self) -> dict[str, tuple[_Stamp, bytes]]:
        """What files hold, in short; those that are as they were are not read again."""
        contents = {}
        for file, stamp in self._newest.items():
            known = self._contents.get(file)
            if known is not None and known[0] == stamp:
                contents[file] = known
                continue
            try:
                content = Path(file).read_bytes()
            except OSError:
                continue
            contents[file] = stamp, blake2b(content).digest()
        return contents


def _digests(contents: dict[str, tuple[_Stamp, bytes]]) -> dict[str, bytes]:
    return {file: digest for file, (_, digest) in contents.items()}


def _python_files(path: Path) -> Iterator[str]:
    """A file itself, or those below a folder but for hidden ones."""
    if not path.is_dir():
        yield f"{path}"
        return
    count = 0
    for place, folders, names in os.walk(path):
        folders[:] = sorted(
            one for one in folders if one[0] != "." and one not in _LEFT_OUT
        )
        for name in sorted(one for one in names if one.endswith(".py")):
            count += 1
            if count > FILES_MAX:
                return
            yield os.path.join(place, name)  # noqa: PTH118 - as os.walk has it
