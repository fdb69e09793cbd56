"""LevelStore: the database of a node on disk; the only module that touches LevelDB.

A folder holds LevelDB's files and one more, FORMAT: a line that names this program
and the version of its layout. What has no such line, or one of another version, is
refused before LevelDB is let near it, for opening a database alters it; the rest is
opened in a trial first (`trial.py`). FORMAT also carries the lock: LevelDB's own is
lost as soon as the same process tries to open the folder a second time. HEAD tells how
far the chain was on disk (`watermark.py`).

Rules: one writer; a commit is one batch, all or nothing. Every failure is a
`StoreError` that says what to do.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from enum import Enum
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Final, Protocol, Self, TypeAlias

try:
    import plyvel
except ImportError:  # on CPython 3.13 it is installed by an extra
    plyvel = None

from node.state import keys
from node.state.errors import (
    StoreClosed,
    StoreError,
    StoreForeign,
    StoreUnavailable,
    damaged,
    locked,
    unwritable,
)
from node.state.store import WriteSet
from node.state.trial import TRIAL_FOLDER, is_new, open_trial, require_files
from node.state.watermark import (
    WATERMARK_FILE,
    Commits,
    Watermark,
    height_of,
    open_height_file,
    read_watermark,
)

__all__ = ["MAX_OPEN_FILES", "LevelSnapshot", "LevelStore", "look_into"]

FORMAT_FILE = "FORMAT"
FORMAT_NAME = "cowboy-devnet-store"
FORMAT_VERSION = 4
FORMAT_BYTES_MAX = 100
"""More than any FORMAT line has."""

MAX_OPEN_FILES = 1_000
"""LevelDB maps as many tables and no more. The kernel counts every page touched as
resident, though it takes it back when it needs it; of the process's own memory an open
table takes some 20 KiB. Ten million timers lie in 800 tables: with 74 open, nearly
every read of theirs opens one, and a scheduled timer costs three times as much."""

_MEBIBYTE = 1 << 20
_WRITE_BUFFER_BYTES = 16 * _MEBIBYTE
_LOG_LEFT_BYTES_MAX = _MEBIBYTE
"""Of commits that a start reads again: 25 ms. The whole write buffer takes 350."""
_NEARLY_FULL_BYTES = 13 * _MEBIBYTE
"""Of the write buffer; from here on each commit may begin a new log."""
_ENTRY_BYTES = 30
"""In that buffer, beside key and value."""
_COMPACTED_BYTES = 32 * _MEBIBYTE
"""Written between two compactions of what pruning emptied; dead records take as much
disk at most, and each compaction rewrites about as many bytes."""
_BY_HEIGHT: Final = (keys.body(0), keys.timer_trace(0), keys.receipts(0), keys.undo(0))
_EMPTIED: Final = frozenset(
    {*(key[: -keys.HEIGHT_BYTES] for key in _BY_HEIGHT), keys.ENDED_PREFIX}
)
"""Families by height whose lower end is deleted as the chain grows."""
_NO_KEYS: Final = b"\xff"
"""All keys begin with a letter: compacting here moves no table, and empties the log."""
_TABLE_BYTES_MAX = 2 * _MEBIBYTE
"""Larger tables make single compactions, which commits wait for, take seconds."""
_BLOCK_BYTES = 4096
_BLOOM_BITS_PER_KEY = 10
_BLOCK_CACHE_BYTES = 32 * _MEBIBYTE

_SIGNS_OF_DAMAGE: Final = ("No such file", "Invalid argument")
"""Of the system's errors: a file is missing, or ends before what is read of it."""

_INNOCENT_NAMES: Final = frozenset({"lost+found", ".DS_Store"})
"""What an operating system puts into a folder that is empty to its user."""


class _Unknown(Enum):
    """Stands for what only the database knows."""

    UNKNOWN = 0


_UNKNOWN: Final = _Unknown.UNKNOWN
_Values: TypeAlias = dict[bytes, bytes | None]


class _View(Protocol):
    """What is used of a plyvel snapshot."""

    def get(self, key: bytes, *, verify_checksums: bool) -> bytes | None: ...

    def iterator(
        self, *, start: bytes, stop: bytes, verify_checksums: bool
    ) -> Iterator[tuple[bytes, bytes]]: ...

    def close(self) -> None: ...


class LevelSnapshot:
    """A frozen view of a `LevelStore`.

    It keeps the tables it needs from being removed: close it, or drop it, when it has
    served. It ends with its store. Checksums are verified; without, LevelDB hands out
    what a damaged table holds, and they cost nothing that can be measured. What the
    commit before it wrote is answered from memory: the next block reads most of it.
    """

    __slots__ = ("_folder", "_fresh", "_view")

    def __init__(self, view: _View, folder: Path, fresh: _Values) -> None:
        self._view = view
        self._folder = folder
        self._fresh = fresh

    def get(self, key: bytes) -> bytes | None:
        """The value under `key`, or None."""
        value = self._fresh.get(key, _UNKNOWN)
        if value is not _UNKNOWN:
            return value
        try:
            return self._view.get(key, verify_checksums=True)
        except (plyvel.Error, RuntimeError) as error:
            raise _explained(error, self._folder) from error

    def range(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Pairs with start ≤ key < stop, ascending by key."""
        try:
            yield from self._view.iterator(
                start=start, stop=stop, verify_checksums=True
            )
        except (plyvel.Error, RuntimeError) as error:
            raise _explained(error, self._folder) from error

    def close(self) -> None:
        """Release the view; further calls raise `StoreClosed`."""
        self._fresh = {}
        self._view.close()


def emptied_family(key: bytes) -> bytes | None:
    """The family of a key, if its lower end is deleted as the chain grows."""
    return next((one for one in (key[:1], key[:2]) if one in _EMPTIED), None)


class _Database:
    """LevelDB as that to which commits go.

    It begins a new log when what the log holds has filled the write buffer, and syncs
    only the newest. How full the buffer is it does not tell; it is estimated.
    """

    __slots__ = (
        "_compacting",
        "_database",
        "_emptied",
        "_filled",
        "_folder",
        "_log",
        "_written",
    )

    def __init__(self, database: "plyvel.DB", folder: Path) -> None:
        self._database = database
        self._folder = folder
        self._filled = 0
        """Bytes of the buffer, of what lies in the newest log."""
        self._log = _logs_in(folder)[-1]
        self._emptied: dict[bytes, bytes] = {}
        """Family → the greatest key of it that was deleted."""
        self._written = 0
        """Bytes since what was emptied was compacted."""
        self._compacting: Thread | None = None

    def write(self, writes: WriteSet, *, sync: bool) -> None:
        """One batch; LevelDB syncs the log that it writes to."""
        batch = self._database.write_batch(sync=sync)
        for key, value in writes.changes.items():
            if value is None:
                batch.delete(key)
                self._note_deleted(key)
            else:
                batch.put(key, value)
        batch.write()
        size = batch.approximate_size() + _ENTRY_BYTES * len(writes.changes)
        self._written += size
        self._filled += size
        if self._filled > _NEARLY_FULL_BYTES:
            newest = _logs_in(self._folder)[-1]
            if newest != self._log:
                self._log, self._filled = newest, size

    def may_begin_log(self, writes: WriteSet) -> bool:
        """Whether it may find no room in the buffer, or a compaction begins one."""
        if self._compacting is not None:
            if not self._compacting.is_alive():
                self._compacting = None  # the latest commit was before its end
            return True
        sizes = (len(value) for value in writes.changes.values() if value)
        size = sum(sizes) + 2 * _ENTRY_BYTES * len(writes.changes)
        return self._filled + size > _NEARLY_FULL_BYTES

    def _note_deleted(self, key: bytes) -> None:
        family = emptied_family(key)
        if family is not None:
            self._emptied[family] = max(key, self._emptied.get(family, b""))

    def compact_emptied(self) -> None:
        """Give back the disk of what pruning deleted, once much was written.

        LevelDB does it by itself where a level grows past its bound, and what is
        deleted there stays below for a hundred megabytes. In the background: commits
        go on, and each syncs the logs before it that they left unsynced.
        """
        is_busy = self._compacting is not None and self._compacting.is_alive()
        is_pruned = bool(self._emptied.keys() - {keys.UNDO_PREFIX})
        if is_busy or not is_pruned or self._written < _COMPACTED_BYTES:
            return
        ranges = list(self._emptied.items())  # a family's prefix is below all its keys
        self._emptied, self._written = {}, 0
        self._compacting = Thread(target=self._compact, args=(ranges,), daemon=True)
        self._compacting.start()

    def _compact(self, ranges: list[tuple[bytes, bytes]]) -> None:
        for start, stop in ranges:
            self._database.compact_range(start=start, stop=stop)

    def finish(self) -> None:
        """Wait for what is being compacted."""
        if self._compacting is not None:
            self._compacting.join()

    def sync_logs(self) -> None:
        """All of them, one after the other."""
        for name in _logs_in(self._folder):
            try:
                flags = os.O_RDONLY | os.O_CLOEXEC
                descriptor = os.open(self._folder / name, flags)
            except FileNotFoundError:
                continue  # a table holds it by now
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _require_leveldb() -> None:
    if plyvel is None:
        raise StoreUnavailable(
            "a folder needs LevelDB, which this environment does not have: on CPython "
            "3.13 install a C++ compiler and LevelDB's headers (Debian: apt-get "
            "install g++ libleveldb-dev), then pip install 'cowboy-devnet[leveldb]'; "
            "or keep the chain in memory: --data-dir :memory:"
        )


class LevelStore:
    """A `Store` in a folder of the file system."""

    __slots__ = (
        "_commits",
        "_database",
        "_folder",
        "_fresh",
        "_height_file",
        "_is_failed",
        "_lock",
        "_medium",
    )

    def __init__(
        self,
        folder: Path,
        *,
        max_open_files: int = MAX_OPEN_FILES,
        inspect: Callable[[LevelSnapshot], object] | None = None,
    ) -> None:
        """Open the database in `folder`, or make one if the folder is empty or absent.

        One that is there is opened in a trial first. `inspect` reads what it holds
        then; what it raises, and any refusal, leaves the folder as it was.

        Raises:
            StoreForeign: Something else lies there, or another format.
            StoreLocked: Another node has it open.
            StoreCorrupt: It is damaged.
            StoreUnwritable: The operating system does not let us.
            StoreUnavailable: There is no LevelDB for this interpreter.
        """
        self._folder = folder
        # What the latest commit wrote. It is emptied before the next one, so that the
        # snapshots which share it ask their own view from then on.
        self._fresh: _Values = {}
        self._is_failed = False
        with ExitStack() as parts:
            self._lock = _take_folder(folder)
            parts.callback(os.close, self._lock)
            if not is_new(folder):
                with _tried(folder, max_open_files) as snapshot:
                    if inspect is not None:
                        inspect(snapshot)
            elif _read_watermark(folder):
                raise damaged("all of its files are missing", folder)
            self._database = _open_database(folder, folder, max_open_files)
            parts.callback(self._database.close)
            with _watermark_explained(folder):
                self._height_file = open_height_file(folder)
                parts.callback(self._height_file.close)
                watermark = Watermark(self._height_file)
            head = height_of(self.snapshot().get(keys.HEAD))
            self._medium = _Database(self._database, folder)
            self._commits = Commits(self._medium, watermark, head)
            parts.pop_all()  # they are ours to close

    def snapshot(self) -> LevelSnapshot:
        """A view of what is committed now, unmoved by later commits."""
        fresh = self._fresh  # before the view: it is never newer than that
        try:
            view = self._database.snapshot()
        except (plyvel.Error, RuntimeError) as error:
            raise _explained(error, self._folder) from error
        return LevelSnapshot(view, self._folder, fresh)

    def commit(self, writes: WriteSet, *, sync: bool = True) -> None:
        """Apply all of `writes` or nothing; on disk on return when `sync`.

        Without `sync` a commit survives the process, not a power cut. A synced one
        carries all earlier ones to disk with it, even if it is empty. After a commit
        that failed there is none but by a restart.
        """
        if self._is_failed:
            raise unwritable("an earlier commit failed", self._folder)
        self._fresh.clear()
        self._fresh = {}
        try:
            self._commits.commit(writes, sync=sync)
        except (plyvel.Error, RuntimeError) as error:
            # Half of it may lie in the log, and more after it would look like damage.
            self._is_failed = True
            raise _explained(error, self._folder) from error
        except OSError as error:
            self._is_failed = True
            raise unwritable(error.strerror or str(error), self._folder) from error
        self._fresh = dict(writes.changes)
        self._medium.compact_emptied()

    def levels(self) -> str:
        """LevelDB's own table of its levels: at rest it does not change."""
        with _errors_explained(self._folder):
            return bytes(self._database.get_property(b"leveldb.stats")).decode()

    def close(self) -> None:
        """Release the database; further calls raise `StoreClosed`.

        A long log is made a table first, as the next start would have to.
        """
        if not self._database.closed:
            self._fresh.clear()
            self._medium.finish()
            if not self._is_failed and _log_bytes(self._folder) > _LOG_LEFT_BYTES_MAX:
                self._database.compact_range(start=_NO_KEYS, stop=_NO_KEYS)
            self._database.close()
            self._height_file.close()
            os.close(self._lock)

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the store."""
        self.close()


def _log_bytes(folder: Path) -> int:
    """Of the commits that are in no table yet."""
    total = 0
    for log in folder.glob("*.log"):
        with suppress(FileNotFoundError):  # a table holds it by now
            total += log.stat().st_size
    return total


# --- the folder ----------------------------------------------------------------------


def _take_folder(folder: Path) -> int:
    """Make sure that `folder` is ours, and lock it; the descriptor holds the lock."""
    _require_leveldb()
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise unwritable("its path is not UTF-8", folder) from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = set(os.listdir(folder)) - _INNOCENT_NAMES  # noqa: PTH208 - names only
        if names and FORMAT_FILE not in names:
            raise StoreForeign(
                f"{folder} is not empty and no database of cowboy-devnet: give an "
                "empty folder, or one that does not exist yet"
            )
        require_files(folder)
        flags = os.O_RDONLY if names else os.O_RDWR | os.O_CREAT
        lock = os.open(folder / FORMAT_FILE, flags | os.O_CLOEXEC, 0o644)
    except (FileExistsError, NotADirectoryError) as error:
        raise StoreForeign(f"{folder} is a file: give a folder") from error
    except OSError as error:
        raise unwritable(error.strerror or str(error), folder) from error
    try:
        _lock(lock, folder)
        _check_format(lock, folder)
    except BaseException:
        os.close(lock)
        raise
    return lock


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise locked(folder) from error


def _check_format(descriptor: int, folder: Path) -> None:
    """Read FORMAT, or write it if the folder is new; the lock is held."""
    line = os.read(descriptor, FORMAT_BYTES_MAX)
    if not line and is_new(folder):
        # Just made, or left by a start that was killed before it wrote the line.
        _write_format(folder)
        return
    name, _, version = line.removesuffix(b"\n").partition(b" ")
    if name != FORMAT_NAME.encode() or not version.isdigit():  # of bytes: 0 to 9
        raise StoreForeign(
            f"{folder / FORMAT_FILE} does not name a database of cowboy-devnet: give "
            "an empty folder, or one that does not exist yet"
        )
    if version != b"%d" % FORMAT_VERSION:
        raise StoreForeign(
            f"{folder} has format {version.decode()}, and this cowboy-devnet knows "
            f"only {FORMAT_VERSION}: use the version that made it, or give an empty "
            "folder"
        )


def _write_format(folder: Path) -> None:
    try:
        with (folder / FORMAT_FILE).open("wb") as file:
            file.write(f"{FORMAT_NAME} {FORMAT_VERSION}\n".encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise unwritable(error.strerror or str(error), folder) from error


def _open_database(place: Path, folder: Path, max_open_files: int) -> "plyvel.DB":
    """LevelDB in `place`: `folder` itself, or its trial."""
    with _errors_explained(folder):
        return plyvel.DB(
            str(place),
            create_if_missing=place == folder and is_new(folder),
            # Otherwise LevelDB drops damaged commits and keeps later ones.
            paranoid_checks=True,
            write_buffer_size=_WRITE_BUFFER_BYTES,
            max_open_files=max_open_files,
            lru_cache_size=_BLOCK_CACHE_BYTES,
            block_size=_BLOCK_BYTES,
            max_file_size=_TABLE_BYTES_MAX,
            bloom_filter_bits=_BLOOM_BITS_PER_KEY,
            compression="snappy",
        )


@contextmanager
def _tried(folder: Path, max_open_files: int) -> Iterator[LevelSnapshot]:
    """What LevelDB reads in a folder that is locked, without a change of its files."""
    try:
        with open_trial(folder) as trial, ExitStack() as parts:
            database = _open_database(trial, folder, max_open_files)
            parts.callback(database.close)
            snapshot = LevelSnapshot(database.snapshot(), folder, {})
            _require_whole(snapshot, _read_watermark(folder), folder)
            yield snapshot
    except OSError as error:
        raise unwritable(error.strerror or str(error), folder) from error


@contextmanager
def look_into(folder: Path) -> Iterator[LevelSnapshot]:
    """What is in the folder of a store, of which nothing is altered; it is locked.

    Raises:
        StoreError: As `LevelStore`; also where there is no database yet.
    """
    lock = _take_folder(folder)
    try:
        if is_new(folder):
            raise damaged("there are no files of it", folder)
        with _tried(folder, MAX_OPEN_FILES) as snapshot:
            yield snapshot
    finally:
        os.close(lock)


def _require_whole(snapshot: LevelSnapshot, height: int, folder: Path) -> None:
    """Refuse a database that ends before what was on disk already."""
    head = height_of(snapshot.get(keys.HEAD))
    if head < height:
        raise damaged(
            f"it ends at height {head}, and blocks up to height {height} were on disk: "
            "a log was cut, or a file is missing",
            folder,
        )


def _logs_in(folder: Path) -> list[str]:
    """Names of LevelDB's logs, the newest last."""
    names = os.listdir(folder)  # noqa: PTH208 - only names are wanted
    return sorted((name for name in names if name.endswith(".log")), key=_number_of)


def _number_of(name: str) -> int:
    number = name.partition(".")[0]
    return int(number) if number.isascii() and number.isdecimal() else -1


@contextmanager
def _watermark_explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise damaged(f"{WATERMARK_FILE} holds no height", folder) from error
    except OSError as error:
        raise unwritable(error.strerror or str(error), folder) from error


def _read_watermark(folder: Path) -> int:
    with _watermark_explained(folder):
        return read_watermark(folder)


# --- failures ------------------------------------------------------------------------


@contextmanager
def _errors_explained(folder: Path) -> Iterator[None]:
    """Tell LevelDB's failures as `StoreError`s."""
    try:
        yield
    except (plyvel.Error, RuntimeError) as error:
        raise _explained(error, folder) from error


def _explained(error: Exception, folder: Path) -> StoreError:
    """A failure of plyvel in words that say what to do."""
    if isinstance(error, RuntimeError):
        if type(error) is not RuntimeError:
            raise error  # a RecursionError, say: nothing of LevelDB's
        return StoreClosed(f"the store in {folder} was closed")
    detail = str(error.args[0].decode(errors="replace") if error.args else error)
    detail = detail.replace(f"/{TRIAL_FOLDER}/", "/")
    is_input_or_output = isinstance(error, plyvel.IOError)
    if is_input_or_output and detail.startswith("IO error: lock"):
        return locked(folder)
    if is_input_or_output and not any(one in detail for one in _SIGNS_OF_DAMAGE):
        return unwritable(detail, folder)
    return damaged(detail, folder)
