"""A file that somebody edits: what it holds each time that it was saved.

It is asked several times a second, which takes a system call: no library has to be told
of folders that are mounted from elsewhere, nor of editors that write a new file beside
the old one and rename it, or empty it and fill it. A save counts once the file has
rested, and only if it holds something, and something else than before.
"""

from pathlib import Path

from msgspec import Struct

from pvm.language import SOURCE_BYTES_MAX

__all__ = ["FileTrouble", "SavedFile"]

REST_SECONDS = 0.03
"""Longer than an editor takes between two parts that it writes."""

GONE_SECONDS = 0.5
"""Longer than an editor takes to rename a file, or to fill one that it emptied."""

_Stamp = tuple[int, int, int, int]


class FileTrouble(Struct, frozen=True):
    """Why a file holds nothing that could be deployed."""

    reason: str


class SavedFile:
    """Tells when a file holds something new."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: _Stamp | None = None
        """Of the file when it was read last; None if it was not there."""
        self._newest: _Stamp | None = None
        self._since: float | None = None
        """When the newest stamp was first seen, until the file is read."""
        self._content: bytes | None = None
        self._is_trouble_told = False

    @property
    def is_resting(self) -> bool:
        """Whether a save was seen that is not counted yet: ask soon again."""
        return self._since is not None and self._newest is not None

    def forget(self) -> None:
        """Let what the file holds be new once more."""
        self._stamp = self._newest = self._content = None
        self._since = None

    def look(self, now: float) -> bytes | FileTrouble | None:
        """What the file holds, if that is new; or what is wrong with it, once.

        At most one byte more is read than a source may have.

        Args:
            now: seconds of a clock that never goes back.
        """
        try:
            found = self.path.stat()
        except OSError as error:
            return self._missing(now, error.strerror or f"{error}")
        if not found.st_size:  # an editor will fill it
            return self._missing(now, "it is empty")
        stamp = found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
        if stamp != self._newest:
            self._newest, self._since = stamp, now
        if self._since is None or now - self._since < REST_SECONDS:
            return None
        self._since = None
        if stamp == self._stamp:
            return None
        return self._read(stamp)

    def _read(self, stamp: _Stamp) -> bytes | FileTrouble | None:
        try:
            with self.path.open("rb") as file:
                content = file.read(SOURCE_BYTES_MAX + 1)
        except OSError as error:
            return self._trouble(error.strerror or f"{error}")
        self._stamp, self._is_trouble_told = stamp, False
        if content == self._content:
            return None
        self._content = content
        return content

    def _missing(self, now: float, reason: str) -> FileTrouble | None:
        if self._newest is not None or self._since is None:
            self._newest, self._since = None, now
        if now - self._since < GONE_SECONDS:
            return None
        self._stamp = None
        return self._trouble(reason)

    def _trouble(self, reason: str) -> FileTrouble | None:
        if self._is_trouble_told:
            return None
        self._is_trouble_told = True
        return FileTrouble(reason)
