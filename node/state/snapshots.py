"""Named snapshots: heights to which the chain shall be able to return.

Taking one is two puts, whatever the size of the state: `y | name` → the head, and
`w | name` → the transactions that wait in the pool, if any do. From then on the undo
records of later blocks are kept (`undo.py`), until it is deleted. Snapshots nest, by
height; reverting to one keeps it, and those below it, for the next time, and deletes
those above, which speak of blocks that are no more. They survive a restart.

Rules: pure; a refusal is typed and changes nothing.
"""

# ruff: noqa: N818 - these name a refusal, not an error of the program

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import cast

from msgspec import Struct

from node.primitives import codec
from node.primitives.types import Hash32, Height
from node.state import keys
from node.state.store import StoreSnapshot, WriteSet

__all__ = [
    "SNAPSHOTS_MAX",
    "WAITING_BYTES_MAX",
    "NamedSnapshot",
    "SnapshotFault",
    "SnapshotRefused",
    "UnknownSnapshot",
    "create",
    "delete",
    "delete_above",
    "find",
    "list_all",
    "load_waiting",
]

SNAPSHOTS_MAX = 1_000
"""Named snapshots of a store: more than nested tests take, few enough to list."""

WAITING_BYTES_MAX = 16 << 20
"""Of transactions that wait when a snapshot is taken: it remembers them all."""

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


class SnapshotFault(Enum):
    """Why a snapshot cannot be taken; the value is the stable name."""

    NAME = "SNAPSHOT_NAME_REFUSED"
    EXISTS = "SNAPSHOT_EXISTS"
    TOO_MANY = "TOO_MANY_SNAPSHOTS"
    POOL_TOO_LARGE = "POOL_TOO_LARGE"


class SnapshotRefused(Exception):
    """A snapshot that cannot be taken; nothing was written."""

    def __init__(
        self, fault: SnapshotFault, message: str, numbers: Mapping[str, int]
    ) -> None:
        super().__init__(message)
        self.fault = fault
        self.numbers = numbers


class UnknownSnapshot(Exception):
    """There is no snapshot of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no snapshot {name[:80]!r}")
        self.name = name


class NamedSnapshot(Struct, frozen=True):
    """A height to return to."""

    name: str
    height: Height
    block_hash: Hash32
    waiting: int = 0
    """Transactions that waited in the pool."""

    def encode(self) -> bytes:
        """What is kept under its name."""
        return codec.encode([self.height, self.block_hash, self.waiting])


def create(
    snapshot: StoreSnapshot,
    name: str,
    head: tuple[Height, Hash32],
    waiting: Sequence[bytes],
) -> tuple[NamedSnapshot, WriteSet]:
    """Take a snapshot of the head, at a height and with a hash.

    `waiting` are the pool's transactions in order of arrival, as they came over the
    wire.

    Raises:
        SnapshotRefused: The name is taken or none, or a bound is reached.
    """
    size = sum(map(len, waiting))
    _require_room(snapshot, name, size)
    named = NamedSnapshot(name, *head, len(waiting))
    changes = {keys.named_snapshot(name): named.encode()}
    if waiting:
        changes[keys.snapshot_pool(name)] = codec.encode(list(waiting))
    return named, WriteSet(changes)


def _require_room(snapshot: StoreSnapshot, name: str, waiting_bytes: int) -> None:
    if not _NAME.fullmatch(name):
        raise SnapshotRefused(
            SnapshotFault.NAME,
            "a snapshot's name has 1 to 64 letters, digits, dots, dashes or "
            f"underscores, not {name[:80]!r}",
            {"length": len(name)},
        )
    if snapshot.get(keys.named_snapshot(name)) is not None:
        raise SnapshotRefused(
            SnapshotFault.EXISTS, f"there is a snapshot {name!r} already", {}
        )
    count = len(list_all(snapshot))
    if count >= SNAPSHOTS_MAX:
        raise SnapshotRefused(
            SnapshotFault.TOO_MANY, f"there are {count} snapshots", {"count": count}
        )
    if waiting_bytes > WAITING_BYTES_MAX:
        raise SnapshotRefused(
            SnapshotFault.POOL_TOO_LARGE,
            f"{waiting_bytes} bytes of transactions wait, and a snapshot remembers at "
            f"most {WAITING_BYTES_MAX}",
            {"bytes": waiting_bytes, "bytes_max": WAITING_BYTES_MAX},
        )


def find(snapshot: StoreSnapshot, name: str) -> NamedSnapshot:
    """The snapshot of a name.

    Raises:
        UnknownSnapshot: There is none.
    """
    data = snapshot.get(keys.named_snapshot(name)) if _NAME.fullmatch(name) else None
    if data is None:
        raise UnknownSnapshot(name)
    return _decode(name, data)


def list_all(snapshot: StoreSnapshot) -> tuple[NamedSnapshot, ...]:
    """All snapshots, the oldest height first, then by name."""
    prefix = keys.named_snapshot()
    pairs = snapshot.range(prefix, keys.prefix_stop(prefix))
    found = [_decode(key.removeprefix(prefix).decode(), data) for key, data in pairs]
    return tuple(sorted(found, key=lambda one: (one.height, one.name)))


def delete(snapshot: StoreSnapshot, name: str) -> WriteSet:
    """Delete the snapshot of a name; what was kept for it is dropped bit by bit.

    Raises:
        UnknownSnapshot: There is none.
    """
    find(snapshot, name)
    return WriteSet(_deleted(name))


def delete_above(snapshot: StoreSnapshot, height: int) -> WriteSet:
    """Delete snapshots of heights above `height`, to which the chain goes back."""
    changes: dict[bytes, bytes | None] = {}
    for one in list_all(snapshot):
        if one.height > height:
            changes |= _deleted(one.name)
    return WriteSet(changes)


def load_waiting(snapshot: StoreSnapshot, name: str) -> list[bytes]:
    """What waited in the pool when a snapshot was taken, in order of arrival."""
    data = snapshot.get(keys.snapshot_pool(name))
    return [] if data is None else cast("list[bytes]", codec.decode(data))


def _deleted(name: str) -> dict[bytes, bytes | None]:
    return {keys.named_snapshot(name): None, keys.snapshot_pool(name): None}


def _decode(name: str, data: bytes) -> NamedSnapshot:
    height, block_hash, waiting = cast("tuple[Height, Hash32, int]", codec.decode(data))
    return NamedSnapshot(name, height, block_hash, waiting)
