"""The folder of a chain, opened by a command while no node runs on it.

Rules: a folder that holds no chain is refused before anything is made in it, and so
is one whose last node was killed in the middle of a rewind, which only a start
finishes. Opening takes the lock that a node takes, and alters nothing.
"""

# ruff: noqa: N818 - it names a condition of the folder

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from node import history
from node.archive.opening import DamagedChain, load_genesis
from node.chain.block import Header
from node.chain.genesis import Genesis
from node.primitives.types import Height
from node.state import keys
from node.state.historical_state import past_snapshot
from node.state.leveldb import FORMAT_FILE, look_into
from node.state.store import StoreSnapshot

__all__ = ["Folder", "NoChain", "open_folder", "state_at"]

PAST_BYTES_MAX = 256 << 20
"""Of undo records that are read to see a past state, and held while it is read."""


class NoChain(Exception):
    """There is nothing in the folder that a command could work on."""


class Folder(Struct, frozen=True):
    """A chain at rest."""

    snapshot: StoreSnapshot
    genesis: Genesis
    head: Header


@contextmanager
def open_folder(path: Path) -> Iterator[Folder]:
    """Open a chain's folder to read it; closed at the end of the `with`.

    Raises:
        NoChain: There is no chain, or one on its way back.
        DamagedChain: What is there cannot be read.
        StoreError: As `LevelStore`.
    """
    if not (path / FORMAT_FILE).exists():
        raise NoChain(
            f"{path} holds no chain: give the --data-dir that a node was started with"
        )
    with look_into(path) as snapshot:
        genesis = load_genesis(snapshot)
        if genesis is None:
            raise NoChain(f"{path} holds no chain yet: start a node on it first")
        if snapshot.get(keys.UNFINISHED) is not None:
            raise NoChain(
                f"the chain in {path} was being taken back when its node was killed: "
                "start a node on it once, which finishes that"
            )
        if snapshot.get(keys.HEAD) is None:
            raise DamagedChain(f"{path} holds a genesis but no block")
        head = history.load_head(snapshot)
        assert head is not None, "its height was just read"
        yield Folder(snapshot, genesis, head)


def state_at(folder: Folder, height: int | None) -> tuple[Header, StoreSnapshot]:
    """The header at a height and the state after it; None is the head.

    Raises:
        LookupError: No block ends at this height, or its state is not kept.
    """
    if height is None:
        return folder.head, folder.snapshot
    header = history.load_header(folder.snapshot, Height(height))
    if header is None:
        raise LookupError(f"no block ends at height {height}")
    head = folder.head.height
    return header, past_snapshot(folder.snapshot, head, height, PAST_BYTES_MAX)
