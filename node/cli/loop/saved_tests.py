"""The files of the project's tests: whether one was saved since the last run.

Rules: Python files alone count, and only if they hold something else than before: what
tests write beside themselves begins no other run. As many are looked at as anybody has.
"""

import os
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

from node.cli.loop.saved_file import REST_SECONDS
from node.client.source_files import python_files_below

__all__ = ["SavedTests"]

LOOK_SECONDS = 0.3
"""Between two looks: a folder has many files, and nobody waits for these."""

FILES_MAX = 2_000

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

    def _files(self) -> Iterable[str]:
        if self._path.is_dir():
            return python_files_below(self._path, FILES_MAX)
        return [f"{self._path}"]

    def _stamps(self) -> dict[str, _Stamp]:
        found = {}
        for file in self._files():
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
