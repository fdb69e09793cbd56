"""Manifest: which files LevelDB's folder must hold, read before LevelDB may write.

Opening a database alters it, damaged or not: LevelDB replays its logs into tables,
whose numbers it takes from the manifest, and removes what the manifest does not name.
Where the end of the manifest is missing, those are the numbers of tables that are
there. So whoever wants to look first must know what LevelDB will read.

The file is a log of edits: blocks of 32 KiB hold records, each with a checksum, a
length and whether it is whole or a part. Checksums are left to LevelDB, which reads
the same file before it writes anything; here it must only not be understood otherwise.
"""

from collections.abc import Iterator

from msgspec import Struct

__all__ = ["Manifest", "parse_manifest"]

_BLOCK_BYTES = 32_768
_HEADER_BYTES = 7
_WHOLE, _FIRST, _LAST = 1, 2, 4
_KINDS = range(1, 5)
"""Whole, first, middle and last parts."""
_VARINT_BYTES_MAX = 10
_MORE = 0x80
"""In a byte of a varint: another one follows."""

_LOG_NUMBER, _NEXT_FILE, _LAST_SEQUENCE = 2, 3, 4
"""Fields of an edit that are numbers, and must be there."""


class Manifest(Struct, frozen=True):
    """What a database consists of."""

    log_number: int
    """Of the oldest log that is in no table yet; 0 where there is none."""
    next_file: int
    """Numbers of new files begin here."""
    tables: dict[int, int]
    """Number → bytes."""


def parse_manifest(data: bytes) -> Manifest:
    """What the edits of a manifest come to; one that a crash cut short is left out.

    Raises:
        ValueError: It is malformed, or names a table that LevelDB might overwrite.
    """
    numbers: dict[int, int] = {}
    tables: dict[tuple[int, int], int] = {}
    for record in _records(data):
        _apply(_Edit(record), numbers, tables)
    if not {_LOG_NUMBER, _NEXT_FILE, _LAST_SEQUENCE} <= numbers.keys():
        raise ValueError("its beginning is missing")
    live = {number: size for (_, number), size in tables.items()}
    next_file = numbers[_NEXT_FILE]
    if max(live, default=0) >= next_file:
        raise ValueError("it names files that are to come")
    return Manifest(numbers[_LOG_NUMBER], next_file, live)


def _records(data: bytes) -> Iterator[bytes]:
    """The edits, put together of their parts."""
    parts: list[bytes] = []
    for kind, part in _parts(data):
        if (kind in (_WHOLE, _FIRST)) == bool(parts) or kind not in _KINDS:
            raise ValueError("a record is no part of an edit")
        parts.append(part)
        if kind in (_WHOLE, _LAST):
            yield b"".join(parts)
            parts = []


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    for start in range(0, len(data), _BLOCK_BYTES):
        block, at = data[start : start + _BLOCK_BYTES], 0
        while at + _HEADER_BYTES <= len(block):
            length = int.from_bytes(block[at + 4 : at + 6], "little")
            kind, at = block[at + 6], at + _HEADER_BYTES
            part = block[at : at + length]
            at += length
            if len(part) == length:
                yield kind, part
            elif len(block) == _BLOCK_BYTES:
                raise ValueError("a record is longer than its block")
            else:
                return  # a crash cut it short


class _Edit:
    """Reads the fields of one edit, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_left(self) -> bool:
        return self._at < len(self._data)

    def number(self) -> int:
        """The next varint: seven bits a byte, the lowest first."""
        value = 0
        for index in range(_VARINT_BYTES_MAX):
            if not self.is_left:
                break
            byte = self._data[self._at]
            self._at += 1
            value |= (byte % _MORE) << 7 * index
            if byte < _MORE:
                return value
        raise ValueError("a number has no end")

    def skip_text(self) -> None:
        """The next text, behind its length."""
        length = self.number()
        self._at += length
        if self._at > len(self._data):
            raise ValueError("a text has no end")


def _apply(
    edit: _Edit, numbers: dict[int, int], tables: dict[tuple[int, int], int]
) -> None:
    new: dict[tuple[int, int], int] = {}
    while edit.is_left:
        match edit.number():
            case 1:  # the comparator's name
                edit.skip_text()
            case (2 | 3 | 4 | 9) as field:
                numbers[field] = edit.number()
            case 5:  # where a level's next compaction begins
                edit.number()
                edit.skip_text()
            case 6:  # a file that is no more
                tables.pop((edit.number(), edit.number()), None)
            case 7:
                place = edit.number(), edit.number()
                new[place] = edit.number()
                edit.skip_text()
                edit.skip_text()
            case field:
                raise ValueError(f"{field} is no field of an edit")
    tables |= new
