"""Named snapshots: heights to which the chain shall be able to return.

Taking one is one put, whatever the size of the state: `y | name` → the head and the
transactions that wait in the pool. From then on the undo records of later blocks are
kept (`undo.py`), until it is deleted. Snapshots nest, by height; reverting to one
keeps it, and those below it, for the next time, and deletes those above, which speak
of blocks that are no more. They survive a restart.

Rules: pure; a refusal is typed and changes nothing.
"""

# ruff: noqa: N818 - these name a refusal, not an error of the program

import re
from dataclasses import dataclass
from typing import cast

from node.primitives import codec
from node.primitives.types import Hash32, Height
from node.state import keys
from node.state.store import Snapshot, WriteSet

__all__ = [
    "SNAPSHOTS_MAX",
    "WAITING_BYTES_MAX",
    "NamedSnapshot",
    "SnapshotRefused",
    "UnknownSnapshot",
    "create",
    "delete",
    "delete_above",
    "find",
    "list_all",
]

SNAPSHOTS_MAX = 1_000
"""Named snapshots of a store: more than nested tests take, few enough to list."""

WAITING_BYTES_MAX = 16 << 20
"""Of transactions that wait when a snapshot is taken: it remembers them all."""

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


class SnapshotRefused(Exception):
    """A snapshot that cannot be taken; nothing was written."""


class UnknownSnapshot(Exception):
    """There is no snapshot of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no snapshot {name!r}: list them, or create one")
        self.name = name


@dataclass(frozen=True, slots=True)
class NamedSnapshot:
    """A height to return to."""

    name: str
    height: Height
    block_hash: Hash32
    waiting: tuple[bytes, ...] = ()
    """Transactions of the pool in order of arrival, as they came over the wire."""

    def encode(self) -> bytes:
        """What is kept under its name."""
        return codec.encode([self.height, self.block_hash, list(self.waiting)])


def create(snapshot: Snapshot, wanted: NamedSnapshot) -> WriteSet:
    """Take a snapshot of the head.

    Raises:
        SnapshotRefused: The name is taken or none, or a bound is reached.
    """
    if not _NAME.fullmatch(wanted.name):
        raise SnapshotRefused(
            "a snapshot's name has 1 to 64 letters, digits, dots, dashes or "
            f"underscores, not {wanted.name[:80]!r}"
        )
    key = keys.named_snapshot(wanted.name)
    if snapshot.get(key) is not None:
        raise SnapshotRefused(
            f"there is a snapshot {wanted.name!r} already: delete it, or take another "
            "name"
        )
    if len(list_all(snapshot)) >= SNAPSHOTS_MAX:
        raise SnapshotRefused(f"there are {SNAPSHOTS_MAX} snapshots: delete some")
    size = sum(map(len, wanted.waiting))
    if size > WAITING_BYTES_MAX:
        raise SnapshotRefused(
            f"{size} bytes of transactions wait, and a snapshot remembers at most "
            f"{WAITING_BYTES_MAX}: let blocks take them first"
        )
    return WriteSet({key: wanted.encode()})


def find(snapshot: Snapshot, name: str) -> NamedSnapshot:
    """The snapshot of a name.

    Raises:
        UnknownSnapshot: There is none.
    """
    data = snapshot.get(keys.named_snapshot(name)) if _NAME.fullmatch(name) else None
    if data is None:
        raise UnknownSnapshot(name)
    return _decode(name, data)


def list_all(snapshot: Snapshot) -> tuple[NamedSnapshot, ...]:
    """All snapshots, the oldest height first, then by name."""
    prefix = keys.named_snapshot()
    pairs = snapshot.range(prefix, keys.prefix_stop(prefix))
    found = [_decode(key.removeprefix(prefix).decode(), data) for key, data in pairs]
    return tuple(sorted(found, key=lambda one: (one.height, one.name)))


def delete(snapshot: Snapshot, name: str) -> WriteSet:
    """Delete the snapshot of a name; what was kept for it is dropped bit by bit.

    Raises:
        UnknownSnapshot: There is none.
    """
    return WriteSet({keys.named_snapshot(find(snapshot, name).name): None})


def delete_above(snapshot: Snapshot, height: int) -> WriteSet:
    """Delete snapshots of heights above `height`, to which the chain goes back."""
    return WriteSet(
        {
            keys.named_snapshot(one.name): None
            for one in list_all(snapshot)
            if one.height > height
        }
    )


def _decode(name: str, data: bytes) -> NamedSnapshot:
    height, block_hash, waiting = cast(
        "tuple[Height, Hash32, list[bytes]]", codec.decode(data)
    )
    return NamedSnapshot(name, height, block_hash, tuple(waiting))
