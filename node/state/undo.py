"""Undo records: how the latest blocks are taken back, byte for byte.

The batch of each block carries under `b | height8` what takes the block back: every
key that the batch writes, with its old value or none. Reverting to a height is then
reading records newest first and writing back; it costs what happened since, whatever
the size of the state. Records are kept for the last `BLOCKS_KEPT` heights and back to
the oldest named snapshot. Each batch drops those that nobody can ask for any more, a
bounded number, so that no block pays for a snapshot that was deleted::

    record  previous8 | oldest8 | count4 | key bytes2 * count | value bytes4 * count
            | keys | values

`previous` is the height of the block before, `oldest` that of the oldest record that
is kept: a range that began lower would walk over all that were dropped. A value's
length is counted from 1; 0 stands for a key that was absent. Numbers are big-endian.

Rules: undo records say nothing of themselves nor of named snapshots. After a step
back the store holds what it held at that height, but for records that were dropped
meanwhile. Pure: what is to be written leaves as a `WriteSet`.
"""

import struct
from collections.abc import Mapping
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from node.state import keys
from node.state.store import StoreSnapshot, WriteSet

__all__ = [
    "BLOCKS_KEPT",
    "RECORDS_DROPPED_MAX",
    "StepBack",
    "UndoRange",
    "UndoRecord",
    "decode_record",
    "encode_record",
    "extend",
    "load_trail",
    "lowest_reachable",
    "step_back",
]

BLOCKS_KEPT = 64
"""Heights that can be taken back without a named snapshot: as many as recent heights
are told of, and small beside the state: a full block's record has some 2 MiB."""

RECORDS_DROPPED_MAX = 4
"""Records that one block drops. More than one, so that what a deleted snapshot held
is dropped in a third of the blocks in which it came together."""

_HEAD = struct.Struct(">QQI")


class UndoRecord(Struct, frozen=True):
    """What takes one block back."""

    previous: int
    """Height of the block before."""
    oldest: int
    """No record lies below this height."""
    changes: Mapping[bytes, bytes | None]


class UndoRange(Struct, frozen=True):
    """Which records a store keeps."""

    oldest: int
    """No record lies below this height."""
    pinned: int | None = None
    """Height of the oldest named snapshot: what came after it is kept."""


class StepBack(Struct, frozen=True):
    """A batch that takes blocks back, and where it leads."""

    height: int
    writes: WriteSet


def encode_record(record: UndoRecord) -> bytes:
    """The bytes of a record."""
    names, values = record.changes.keys(), record.changes.values()
    count = len(names)
    sizes = [0 if value is None else len(value) + 1 for value in values]
    return b"".join(
        [
            _HEAD.pack(record.previous, record.oldest, count),
            struct.pack(f">{count}H", *map(len, names)),
            struct.pack(f">{count}I", *sizes),
            *names,
            *filter(None, values),
        ]
    )


def decode_record(data: bytes) -> UndoRecord:
    """The record that `encode_record` wrote; trusts its bytes."""
    previous, oldest, count = _HEAD.unpack_from(data)
    name_lengths = struct.unpack_from(f">{count}H", data, _HEAD.size)
    value_lengths = struct.unpack_from(f">{count}I", data, _HEAD.size + 2 * count)
    at = _HEAD.size + 6 * count
    names = []
    for length in name_lengths:
        names.append(data[at : at + length])
        at += length
    changes: dict[bytes, bytes | None] = {}
    for name, length in zip(names, value_lengths, strict=True):
        changes[name] = data[at : at + length - 1] if length else None
        at += max(0, length - 1)
    assert at == len(data), "an undo record is as long as it says"
    return UndoRecord(previous, oldest, changes)


def load_trail(snapshot: StoreSnapshot, head: int, pinned: int | None) -> UndoRange:
    """The trail of a store whose latest block is at height `head`."""
    data = snapshot.get(keys.undo(head))
    oldest = head + 1 if data is None else _HEAD.unpack_from(data)[1]
    return UndoRange(oldest, pinned)


def extend(
    snapshot: StoreSnapshot,
    trail: UndoRange,
    height: int,
    previous: int,
    undo: WriteSet,
) -> tuple[WriteSet, UndoRange]:
    """Keep what takes back the block at `height`, and drop what is kept no more.

    The writes belong into the block's batch; `snapshot` is of the state before it.
    """
    kept_after = height - BLOCKS_KEPT
    if trail.pinned is not None:
        kept_after = min(kept_after, trail.pinned)
    changes: dict[bytes, bytes | None] = {}
    if kept_after == trail.oldest:  # as nearly always: nothing has to be looked up
        changes[keys.undo(kept_after)] = None
        trail = replace(trail, oldest=kept_after + 1)
    elif kept_after > trail.oldest:
        dropped = snapshot.range(keys.undo(trail.oldest), keys.undo(kept_after + 1))
        changes = dict.fromkeys(key for key, _ in islice(dropped, RECORDS_DROPPED_MAX))
        oldest = kept_after + 1
        if len(changes) == RECORDS_DROPPED_MAX:
            oldest = int.from_bytes(max(changes)[1:], "big") + 1
        trail = replace(trail, oldest=oldest)
    record = UndoRecord(previous, trail.oldest, undo.changes)
    changes[keys.undo(height)] = encode_record(record)
    return WriteSet(changes), trail


def lowest_reachable(snapshot: StoreSnapshot, trail: UndoRange, head: int) -> int:
    """The lowest height to which the store can be taken back; `head` if none."""
    records = snapshot.range(keys.undo(trail.oldest), keys.undo(head + 1))
    oldest = next(records, None)
    return head if oldest is None else int(_HEAD.unpack_from(oldest[1])[0])


def step_back(
    snapshot: StoreSnapshot, head: int, target: int, bytes_max: int | None = None
) -> StepBack:
    """One batch from `head` towards `target`, newest block first.

    It ends between two blocks: at `target`, or earlier once what is written exceeds
    `bytes_max`, so that memory is bounded by that and one block. Each batch leaves
    the store as it was at the height to which it leads.

    Raises:
        LookupError: The way back is not kept, or leads past `target`.
    """
    changes: dict[bytes, bytes | None] = {}
    size = 0
    while head > target and (bytes_max is None or size <= bytes_max):
        data = snapshot.get(keys.undo(head))
        record = None if data is None else decode_record(data)
        if data is None or record is None or record.previous < target:
            raise LookupError(f"no undo record leads from height {head} to {target}")
        changes.update(record.changes)
        changes[keys.undo(head)] = None
        size += len(data)
        head = record.previous
    return StepBack(head, WriteSet(changes))
