"""State files: everything a chain remembers at one height, in one file.

::

    file    magic | length4 head | record* | 0000 count8 | blake2b-256 of all before
    head    canonical CBOR: [genesis document, encoded header of the height]
    record  length2 of key (> 0) | length4 of value | key | value

Records are those that the state root speaks of, ascending by key, never pages or
indexes: so equal states at equal heads give equal bytes, and whoever imports one
builds the trees, whose root must be the header's. Numbers are big-endian.

Rules: a file is written beside its place and put there whole. It is read in bounded
memory, however long; what is cut, altered, or of another format is refused before
anybody acts on a record of it.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import BinaryIO, Final, NoReturn, cast

from node.chain.block import Header, decode_header
from node.chain.errors import InvalidGenesis
from node.chain.genesis import Genesis, parse_genesis
from node.primitives import codec
from node.state import keys
from node.state.store import Snapshot

__all__ = [
    "MAGIC",
    "StateFile",
    "StateFileRefused",
    "check_state_file",
    "read_records",
    "write_state_file",
]

MAGIC: Final = b"cowboy-devnet-state 1\n"

HEAD_BYTES_MAX = 1 << 20
RECORD_BYTES_MAX = 64 << 20
"""Of one value: far more than any execution may write."""

_RECORDS_A_WRITE = 1_000
_BUFFER_BYTES = 1 << 20
_LENGTH = Struct(">I")
_RECORD = Struct(">HI")
_KEY_LENGTH = Struct(">H")
_COUNT = Struct(">Q")
_END = Struct(">HQ")
_DIGEST_BYTES = 32
_FAMILIES: Final = (keys.GLOBALS, keys.STATE_PREFIX, keys.TIMER_PREFIX)


class StateFileRefused(Exception):  # noqa: N818 - a refusal, not a defect
    """A file that cannot be written, or is none that can be trusted."""


@dataclass(frozen=True, slots=True)
class StateFile:
    """A file that was read to its end, and found whole."""

    path: Path
    genesis: Genesis
    head: Header
    records: int


# --- writing -------------------------------------------------------------------------


def write_state_file(
    path: Path, genesis: Genesis, head: Header, snapshot: Snapshot
) -> int:
    """Write the state of `snapshot`, whose header is `head`; how many records.

    Whole and on disk on return. One that was begun and not finished lies beside it,
    under the same name with `.partial`, and is replaced by the next.

    Raises:
        StateFileRefused: There is a file already, or it cannot be written.
    """
    if path.exists():
        raise StateFileRefused(f"{path} exists already: give another name")
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("wb", buffering=_BUFFER_BYTES) as file:
            count = _write(file, genesis, head, snapshot)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise StateFileRefused(
            f"{path} cannot be written: {error.strerror or error}"
        ) from error
    return count


def _write(file: BinaryIO, genesis: Genesis, head: Header, snapshot: Snapshot) -> int:
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)

    def put(data: bytes) -> None:
        digest.update(data)
        file.write(data)

    described = codec.encode([genesis.encode(), head.encode()])
    put(MAGIC + _LENGTH.pack(len(described)) + described)
    count, parts = 0, list[bytes]()
    for family in _FAMILIES:
        for key, value in snapshot.range(family, keys.prefix_stop(family)):
            parts += _RECORD.pack(len(key), len(value)), key, value
            count += 1
            if count % _RECORDS_A_WRITE == 0:
                put(b"".join(parts))
                parts.clear()
    put(b"".join(parts) + _END.pack(0, count))
    file.write(digest.digest())
    return count


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- reading -------------------------------------------------------------------------


def check_state_file(path: Path) -> StateFile:
    """Read a whole file, and say what is in it; nothing is believed unread.

    Raises:
        StateFileRefused: It is cut, altered, of another format, or cannot be read.
    """
    try:
        with path.open("rb", buffering=_BUFFER_BYTES) as file:
            reader = _Reader(path, file)
            genesis, head = reader.head()
            for _ in reader.records():
                pass
            reader.end()
            return StateFile(path, genesis, head, reader.count)
    except OSError as error:
        raise StateFileRefused(
            f"{path} cannot be read: {error.strerror or error}"
        ) from error


def read_records(file: StateFile) -> Iterator[tuple[bytes, bytes]]:
    """The records of a file that was checked, ascending by key.

    Raises:
        StateFileRefused: It was altered since.
    """
    with file.path.open("rb", buffering=_BUFFER_BYTES) as opened:
        reader = _Reader(file.path, opened)
        reader.head()
        yield from reader.records()
        reader.end()


class _Reader:
    """Reads a file once, from its beginning to its end."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        self.count = 0

    def head(self) -> tuple[Genesis, Header]:
        """Genesis and header, right behind the magic."""
        magic = self._file.read(len(MAGIC))
        self._digest.update(magic)
        if magic != MAGIC:
            raise StateFileRefused(
                f"{self._path} is no state file of this version of cowboy-devnet"
            )
        (length,) = _LENGTH.unpack(self._take(_LENGTH.size))
        if length > HEAD_BYTES_MAX:
            self._refuse()
        data = self._take(length)
        try:
            document, encoded = cast("list[bytes]", codec.decode(data))
            genesis = parse_genesis(codec.decode(document))  # type: ignore[arg-type]
            return genesis, decode_header(encoded)
        except (codec.MalformedCbor, InvalidGenesis, TypeError, ValueError):
            self._refuse()

    def records(self) -> Iterator[tuple[bytes, bytes]]:
        """All records; `end` must be asked whether they are to be believed."""
        before = b""
        while True:
            (length,) = _KEY_LENGTH.unpack(self._take(_KEY_LENGTH.size))
            if not length:
                return
            (size,) = _LENGTH.unpack(self._take(_LENGTH.size))
            if size > RECORD_BYTES_MAX:
                self._refuse()
            data = self._take(length + size)
            key, value = data[:length], data[length:]
            if key <= before or key[:1] not in _FAMILIES:
                self._refuse()
            before = key
            self.count += 1
            yield key, value

    def end(self) -> None:
        """The count and the digest behind the last record."""
        (count,) = _COUNT.unpack(self._take(_COUNT.size))
        is_whole = self._file.read() == self._digest.digest()
        if count != self.count or not is_whole:
            self._refuse()

    def _take(self, length: int) -> bytes:
        data = self._file.read(length)
        if len(data) < length:
            self._refuse()
        self._digest.update(data)
        return data

    def _refuse(self) -> NoReturn:
        raise StateFileRefused(
            f"{self._path} is cut or was altered: export it again, or restore a copy"
        )
