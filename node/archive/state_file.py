"""State files: everything a chain remembers at one height, in one file.

Records are those that the state root speaks of, ascending by key, never pages or
indexes: so equal states at equal heads give equal bytes, and whoever imports one
builds the trees, whose root must be the header's. `record_file.py` has the form.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from node import history
from node.archive.record_file import (
    BUFFER_BYTES,
    FileFault,
    FileKind,
    Packing,
    RecordReader,
    new_file,
)
from node.chain.block import Header
from node.chain.genesis import Genesis
from node.state import keys
from node.state.store import StoreSnapshot

__all__ = [
    "MAGIC",
    "StateFile",
    "StateFileRefused",
    "check_state_file",
    "read_records",
    "write_state_file",
]

_FAMILIES: Final = (
    keys.GLOBALS, keys.FIRE_PREFIX, keys.STATE_PREFIX, keys.TIMER_PREFIX,
)  # fmt: skip


class StateFileRefused(Exception):  # noqa: N818 - a refusal, not a defect
    """A file that cannot be written, or is none that can be trusted."""


_ADVICE: Final = {
    FileFault.EXISTS: "give another name",
    FileFault.UNUSABLE: "look at its path and its permissions",
    FileFault.FOREIGN: "give one that `snapshot export` wrote",
    FileFault.NEWER: "use the version of cowboy-devnet that wrote it, or a later one",
    FileFault.OLDER: "use the version of cowboy-devnet that wrote it",
    FileFault.DAMAGED: "export it again, or restore a copy",
}

_KIND: Final = FileKind(
    name="cowboy-devnet-state",
    version=2,
    noun="a state file",
    refusal=lambda fault, what: StateFileRefused(f"{what}: {_ADVICE[fault]}"),
    is_key=lambda key: key[:1] in _FAMILIES,
)
MAGIC: Final = _KIND.magic


class StateFile(Struct, frozen=True):
    """A file that was read to its end, and found whole."""

    path: Path
    genesis: Genesis
    head: Header
    consensus: int
    """Under which the chain was executed up to here. Whoever goes on from the state
    need not know: it is what the header's root says that it is."""
    records: int


def write_state_file(
    path: Path, genesis: Genesis, head: Header, snapshot: StoreSnapshot
) -> int:
    """Write the state of `snapshot`, whose header is `head`; how many records.

    Raises:
        StateFileRefused: There is a file already, or it cannot be written.
    """
    consensus = history.load_consensus(snapshot)
    packing = Packing(_KIND, (genesis.encode(), head, consensus), _records(snapshot))
    with new_file(path, _KIND) as write:
        for part in packing.parts():
            write(part)
    return packing.count


def _records(snapshot: StoreSnapshot) -> Iterator[tuple[bytes, bytes]]:
    for family in _FAMILIES:
        yield from snapshot.range(family, keys.prefix_stop(family))


def check_state_file(path: Path) -> StateFile:
    """Read a whole file, and say what is in it; nothing is believed unread.

    Raises:
        StateFileRefused: It is cut, altered, of another format, or cannot be read.
    """
    try:
        with path.open("rb", buffering=BUFFER_BYTES) as file:
            reader = RecordReader(_KIND, str(path), file)
            genesis, head, consensus = reader.head()
            for _ in reader.records():
                pass
            reader.end()
            return StateFile(path, genesis, head, consensus, reader.count)
    except OSError as error:
        raise StateFileRefused(
            f"{path} cannot be read: {error.strerror or error}"
        ) from error


def read_records(file: StateFile) -> Iterator[tuple[bytes, bytes]]:
    """The records of a file that was checked, ascending by key.

    Raises:
        StateFileRefused: It was altered since.
    """
    with file.path.open("rb", buffering=BUFFER_BYTES) as opened:
        reader = RecordReader(_KIND, str(file.path), opened)
        reader.head()
        yield from reader.records()
        reader.end()
