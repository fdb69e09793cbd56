"""Watermark: how far the chain had got when it was last on disk.

LevelDB takes a log that ends too early for one that a crash cut short, and a damaged
length in its last part looks the same: blocks that were acknowledged would be missing
without a word. So the height that is known to be on disk is written, after it is, to
a small file beside the database; a database that ends below it is damaged.

Commits that were not synced are all in one log. A power cut takes from each file what
it takes: with some in the log before, those in the next could be there without them.

Rules: the number is never above what is on disk. It is raised after a synced commit,
and lowered before a rewind's. Raised it is not synced: after a power cut it may be too
low, which refuses nothing. Lowered it is, for too high it refuses a chain that is
whole. The file is made and synced in its full length, so later writes only replace.
`Commits` is that order, whatever lies below it.
"""

import os
from pathlib import Path
from typing import Protocol

from node.state import keys
from node.state.store import WriteSet

__all__ = [
    "WATERMARK_FILE",
    "Commits",
    "HeightFile",
    "Medium",
    "Watermark",
    "height_of",
    "open_height_file",
    "read_watermark",
]

WATERMARK_FILE = "HEAD"

_DIGITS = 20
"""Of the greatest height: the file never grows, so a full disk does not stop it."""


class HeightFile(Protocol):
    """A file of some bytes, of which the power takes what was not synced."""

    def read(self) -> bytes:
        """All that is in it."""
        ...

    def write(self, data: bytes) -> None:
        """Replace what is in it."""
        ...

    def sync(self) -> None:
        """Bring it to disk."""
        ...


class Medium(Protocol):
    """What a store's commits go to: logs, of which each is synced by itself."""

    def write(self, writes: WriteSet, *, sync: bool) -> None:
        """Add a batch to the newest log, all or nothing; with `sync`, sync that log."""
        ...

    def may_begin_log(self, writes: WriteSet) -> bool:
        """Whether a batch may go to a log that is not there yet."""
        ...

    def sync_logs(self) -> None:
        """Sync all of them."""
        ...


class _FileOnDisk:
    """A `HeightFile` of the file system."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self) -> bytes:
        return os.pread(self._descriptor, _DIGITS + 2, 0)

    def write(self, data: bytes) -> None:
        os.pwrite(self._descriptor, data, 0)

    def sync(self) -> None:
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def open_height_file(folder: Path) -> _FileOnDisk:
    """Open or make the file of a database's folder; close it when it has served."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    return _FileOnDisk(os.open(folder / WATERMARK_FILE, flags, 0o644))


def read_watermark(folder: Path) -> int:
    """The height that is noted in a folder; 0 where nothing is.

    Raises:
        ValueError: The file is malformed.
        OSError: It cannot be read.
    """
    try:
        text = (folder / WATERMARK_FILE).read_bytes()
    except FileNotFoundError:
        return 0
    return _parse(text)


def _parse(text: bytes) -> int:
    if not text.strip(b"\0"):
        return 0  # of a start that was cut short before this was on disk
    if len(text) != _DIGITS + 1 or not text[:-1].isdigit():
        raise ValueError("no height")
    return int(text)


class Watermark:
    """The height in a file."""

    __slots__ = ("_file", "height")

    def __init__(self, file: HeightFile) -> None:
        """Read the file.

        Raises:
            ValueError: It is malformed.
            OSError: It cannot be used.
        """
        self._file = file
        text = file.read()
        self.height = _parse(text)
        if not text.strip(b"\0"):
            self._write(0)
            file.sync()

    def move_to(self, height: int) -> None:
        """Note the height that is on disk; a lower one is on disk itself on return."""
        if height != self.height:
            self._write(height)
            if height < self.height:
                self._file.sync()
            self.height = height

    def _write(self, height: int) -> None:
        self._file.write(b"%0*d\n" % (_DIGITS, height))


class Commits:
    """The order in which a commit and the height that it leads to reach the disk."""

    __slots__ = ("_head", "_is_unsynced", "_medium", "_watermark")

    def __init__(self, medium: Medium, watermark: Watermark, head: int) -> None:
        """`head` is the height of the chain in the medium."""
        self._medium = medium
        self._watermark = watermark
        self._head = head
        self._is_unsynced = False

    def commit(self, writes: WriteSet, *, sync: bool) -> None:
        """Apply all of `writes` or nothing; with `sync`, on disk with all before it."""
        head = self._head
        if keys.HEAD in writes.changes:
            head = height_of(writes.changes[keys.HEAD])
        if head < self._watermark.height:
            self._watermark.move_to(head)
        if self._is_unsynced and self._medium.may_begin_log(writes):
            # Each file loses what it loses: a log must not outlive the one before.
            self._medium.sync_logs()
        self._medium.write(writes, sync=sync)
        self._head = head
        if sync:
            self._watermark.move_to(head)
        self._is_unsynced = not sync


def height_of(record: bytes | None) -> int:
    """The height in what is kept under `keys.HEAD`; 0 where nothing is."""
    return int.from_bytes(record or b"", "big")
