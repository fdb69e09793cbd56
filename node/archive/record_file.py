"""Files of records: the one form of state files and bundles.

::

    file    magic | length4 head | record* | 0000 count8 | blake2b-256 of all before
    magic   name of the kind, a space, its version, a newline
    head    canonical CBOR: [genesis document, encoded header of the height, number]
    record  length2 of key (> 0) | length4 of value | key | value

Records ascend by key, so equal contents give equal bytes. Numbers are big-endian. That
in the head is the consensus number under which the blocks were executed.

Rules: a file is written beside its place and put there whole. It is read in bounded
memory, however long; what is cut, altered, of another kind or of another version is
refused before anybody acts on a record of it.
"""

import hashlib
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, NoReturn, TypeAlias, cast

from msgspec import Struct

from node.chain.block import Header, parse_header
from node.chain.errors import InvalidGenesis
from node.chain.genesis import Genesis, parse_genesis
from node.primitives import codec

__all__ = [
    "BUFFER_BYTES",
    "FileFault",
    "FileKind",
    "Packing",
    "RecordReader",
    "new_file",
]

HEAD_BYTES_MAX = 1 << 20
RECORD_BYTES_MAX = 64 << 20
"""Of one value: far more than any execution may write, or a block may hold."""

PART_BYTES = 256 << 10
"""Of records that are packed before they are handed on."""
BUFFER_BYTES = 1 << 20
"""Of a file that is read or written."""

_Head: TypeAlias = tuple[bytes, bytes, int]
_LENGTH = struct.Struct(">I")
_RECORD = struct.Struct(">HI")
_KEY_LENGTH = struct.Struct(">H")
_COUNT = struct.Struct(">Q")
_END = struct.Struct(">HQ")
_DIGEST_BYTES = 32
_MAGIC_BYTES_MAX = 64


class FileFault(StrEnum):
    """Why a file cannot be written, or read."""

    EXISTS = "FILE_EXISTS"
    UNUSABLE = "FILE_UNUSABLE"
    """The operating system does not let us."""
    FOREIGN = "FOREIGN"
    NEWER = "NEWER"
    OLDER = "OLDER"
    DAMAGED = "DAMAGED"


class FileKind(Struct, frozen=True):
    """What tells one kind of such files from another."""

    name: str
    version: int
    noun: str
    """In sentences, with its article: `a state file`."""
    refusal: Callable[[FileFault, str], Exception]
    """What to raise of a fault and what is wrong; it says what to do, too."""
    is_key: Callable[[bytes], bool]

    @property
    def magic(self) -> bytes:
        """How a file of this kind begins."""
        return f"{self.name} {self.version}\n".encode()


# --- writing -------------------------------------------------------------------------


class Packing:
    """The bytes of a file, part by part."""

    __slots__ = ("_head", "_kind", "_records", "count")

    def __init__(
        self,
        kind: FileKind,
        head: tuple[bytes, Header, int],
        records: Iterable[tuple[bytes, bytes]],
    ) -> None:
        """`head`: genesis document as canonical bytes, header, consensus number."""
        self._kind = kind
        document, header, consensus = head
        self._head = codec.encode([document, header.encode(), consensus])
        self._records = records
        self.count = 0
        """Records so far."""

    def parts(self) -> Iterator[bytes]:
        """All bytes, once."""
        digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        for part in self._parts():
            digest.update(part)
            yield part
        yield digest.digest()

    def _parts(self) -> Iterator[bytes]:
        yield self._kind.magic + _LENGTH.pack(len(self._head)) + self._head
        waiting, size = list[bytes](), 0
        for key, value in self._records:
            waiting += _RECORD.pack(len(key), len(value)), key, value
            self.count += 1
            size += len(value)
            if size >= PART_BYTES:
                yield b"".join(waiting)
                waiting, size = [], 0
        yield b"".join(waiting) + _END.pack(0, self.count)


@contextmanager
def new_file(path: Path, kind: FileKind) -> Iterator[Callable[[bytes], object]]:
    """Write a file that is not there yet; whole and on disk when the context ends.

    One that was begun and not finished lies beside it, under the same name with
    `.partial`, and is replaced by the next; after an error nothing is left.

    Raises:
        Exception: The kind's refusal: there is a file already, or it cannot be written.
    """
    if path.exists() or path.is_symlink():
        raise kind.refusal(FileFault.EXISTS, f"{path} exists already")
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("wb", buffering=BUFFER_BYTES) as file:
            yield file.write
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        _sync_folder(path.parent)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        sentence = f"{path} cannot be written: {error.strerror or error}"
        raise kind.refusal(FileFault.UNUSABLE, sentence) from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- reading -------------------------------------------------------------------------


class RecordReader:
    """Reads a file once, from its beginning to its end."""

    def __init__(self, kind: FileKind, name: str, file: BinaryIO) -> None:
        """`name` is for sentences."""
        self._kind = kind
        self._name = name
        self._file = file
        self._digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        self.count = 0
        """Records so far."""

    def head(self) -> tuple[Genesis, Header, int]:
        """Genesis, header and consensus number, right behind the magic."""
        self._read_magic()
        (length,) = _LENGTH.unpack(self._take(_LENGTH.size))
        if length > HEAD_BYTES_MAX:
            self.refuse()
        data = self._take(length)
        try:
            written, encoded, consensus = cast("_Head", codec.decode(data))
            document = codec.decode(written)
            if not isinstance(document, dict) or not isinstance(consensus, int):
                self.refuse()
            genesis = parse_genesis(document)  # type: ignore[arg-type]
            return genesis, parse_header(encoded), consensus
        except (codec.MalformedCbor, InvalidGenesis, TypeError, ValueError):
            self.refuse()

    def _read_magic(self) -> None:
        kind = self._kind
        magic = self._file.readline(_MAGIC_BYTES_MAX)
        self._digest.update(magic)
        if magic == kind.magic:
            return
        name, _, version = magic.rstrip(b"\n").partition(b" ")
        if name == kind.name.encode() and version.isdigit():
            found = int(version)
            raise kind.refusal(
                FileFault.NEWER if found > kind.version else FileFault.OLDER,
                f"{self._name} is {kind.noun} of version {found}, and this "
                f"cowboy-devnet reads version {kind.version}",
            )
        raise kind.refusal(
            FileFault.FOREIGN, f"{self._name} is no {kind.noun.partition(' ')[2]}"
        )

    def records(self) -> Iterator[tuple[bytes, bytes]]:
        """All records; `end` must be asked whether they are to be believed."""
        before = b""
        while True:
            (length,) = _KEY_LENGTH.unpack(self._take(_KEY_LENGTH.size))
            if not length:
                return
            (size,) = _LENGTH.unpack(self._take(_LENGTH.size))
            if size > RECORD_BYTES_MAX:
                self.refuse()
            data = self._take(length + size)
            key, value = data[:length], data[length:]
            if key <= before or not self._kind.is_key(key):
                self.refuse()
            before = key
            self.count += 1
            yield key, value

    def end(self) -> None:
        """The count and the digest behind the last record."""
        (count,) = _COUNT.unpack(self._take(_COUNT.size))
        # One byte more than there should be, not all that somebody appended.
        is_whole = self._file.read(_DIGEST_BYTES + 1) == self._digest.digest()
        if count != self.count or not is_whole:
            self.refuse()

    def _take(self, length: int) -> bytes:
        data = self._file.read(length)
        if len(data) < length:
            self.refuse()
        self._digest.update(data)
        return data

    def refuse(self) -> NoReturn:
        """Refuse the file: it is not what was written.

        Raises:
            Exception: The kind's refusal.
        """
        raise self._kind.refusal(
            FileFault.DAMAGED, f"{self._name} is cut or was altered"
        )
