"""Watermark: how far the chain had got when it was last on disk.

LevelDB takes a log that ends too early for one that a crash cut short, and a damaged
length in its last part looks the same: blocks that were acknowledged would be missing
without a word. So the height that is known to be on disk is written, after it is, to
a small file beside the database; a database that ends below it is damaged.

Rules: the number is never above what is on disk. It is raised after a synced commit,
and lowered before a rewind's. Raised it is not synced: after a power cut it may be too
low, which refuses nothing. Lowered it is, for too high it refuses a chain that is
whole. The file is made and synced in its full length, so later writes only replace.
"""

import os
from pathlib import Path

__all__ = ["WATERMARK_FILE", "Watermark", "read_watermark"]

WATERMARK_FILE = "HEAD"

_DIGITS = 20
"""Of the greatest height: the file never grows, so a full disk does not stop it."""


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
    """The file, open; it fails with `OSError`, or `ValueError` if it is malformed."""

    __slots__ = ("_descriptor", "height")

    def __init__(self, folder: Path) -> None:
        """Open or make the file of a database's folder."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(folder / WATERMARK_FILE, flags, 0o644)
        try:
            text = os.pread(self._descriptor, _DIGITS + 2, 0)
            self.height = _parse(text)
            if not text.strip(b"\0"):
                self._write(0)
                os.fsync(self._descriptor)
        except BaseException:
            self.close()
            raise

    def move_to(self, height: int) -> None:
        """Note the height that is on disk; a lower one is on disk itself on return."""
        if height != self.height:
            self._write(height)
            if height < self.height:
                os.fsync(self._descriptor)
            self.height = height

    def close(self) -> None:
        """Release the file."""
        os.close(self._descriptor)

    def _write(self, height: int) -> None:
        os.pwrite(self._descriptor, b"%0*d\n" % (_DIGITS, height), 0)
