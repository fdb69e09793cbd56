"""An actor's storage over time: which execution changed which key, the latest first.

The way back that is kept of each block says which keys it changed, in all: what was
changed and changed back within one block is not told. Only blocks that changed a key
that is asked for are executed again, in the state before them, to learn which of their
executions did. Everything is read from the snapshot that the walk began
with, so that what happens to the chain meanwhile changes nothing of it.
"""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from node.chain.block import Block, Header
from node.chain.transition import Caches, State, open_state
from node.history import load_block, load_header
from node.primitives.types import Address, Height
from node.query.trace.records import HistoryStop, StorageHistory, StoragePast
from node.query.trace.tracing import changes_under
from node.state import keys, undo
from node.state.historical_state import ChangedSnapshot
from node.state.retention import load_oldest
from node.state.store import StoreSnapshot

__all__ = [
    "BLOCKS_MAX",
    "CHANGES_MAX",
    "PastBlocks",
    "StorageWalk",
    "StoredBlocks",
    "UndoneBlock",
    "WantedHistory",
]

BLOCKS_MAX = 1_000
"""Blocks that one walk executes again."""

CHANGES_MAX = 10_000
"""Changes that one walk tells."""

STEP_BLOCKS = 64
"""That one step looks at, of which it executes one at the most."""

PAST_BYTES_MAX = 32 << 20
"""Of values that were replaced since, which a walk holds."""


class UndoneBlock(Struct, frozen=True):
    """A header, and what takes its block back."""

    height: int
    previous: int
    """Height of the header before it."""
    undo: Mapping[bytes, bytes | None]


class PastBlocks(Protocol):
    """Where a walk finds the blocks of a chain."""

    def undone(self, height: int) -> UndoneBlock | None:
        """The header at a height; None where the way back is not kept."""
        ...

    def block(self, height: int) -> Block:
        """The block of a header that was found."""
        ...

    def header(self, height: int) -> Header:
        """A header that was found, or the one before it."""
        ...


class StoredBlocks(Struct, frozen=True):
    """The blocks of a chain whose history is in a store."""

    snapshot: StoreSnapshot

    def undone(self, height: int) -> UndoneBlock | None:
        """The header at a height; None where the way back is not kept."""
        data = self.snapshot.get(keys.undo(height))
        if data is None or height < load_oldest(self.snapshot).contents:
            return None
        record = undo.decode_record(data)
        return UndoneBlock(height, record.previous, record.changes)

    def block(self, height: int) -> Block:
        """The block of a header that was found."""
        block = load_block(self.snapshot, Height(height))
        assert block is not None, "it has an undo record"
        return block

    def header(self, height: int) -> Header:
        """A header that was found, or the one before it."""
        header = load_header(self.snapshot, Height(height))
        assert header is not None, "headers are kept for ever"
        return header


class WantedHistory(Struct, frozen=True):
    """Whose storage is asked for, and over which heights."""

    actor: Address
    prefix: bytes
    """Of the raw keys."""
    first_height: int
    last_height: int
    changes_max: int


class StorageWalk:
    """A walk into the past, step by step, so that it can be given up between two."""

    def __init__(self, state: State, blocks: PastBlocks, wanted: WantedHistory) -> None:
        self._state = state
        self._blocks = blocks
        self._wanted = wanted
        self._prefix = keys.storage(wanted.actor, wanted.prefix)
        self._height: int = state.head.height
        """Of the header that is looked at next: the state after it is known."""
        self._undone: dict[bytes, bytes | None] = {}
        """What turns the state of the walk's beginning into that one."""
        self._bytes = 0
        self._told = 0
        self.blocks_executed = 0
        self.stop: HistoryStop | None = None
        """Why it ended; None while it goes on."""

    @property
    def next_height(self) -> Height:
        """All changes above it were told."""
        return Height(min(self._height, self._wanted.last_height))

    def step(self) -> tuple[StoragePast, ...]:
        """Go on through some blocks, and execute one of them at the most."""
        for _ in range(STEP_BLOCKS):
            self.stop = self._ends()
            if self.stop is not None:
                return ()
            found = self._blocks.undone(self._height)
            if found is None or self._bytes > PAST_BYTES_MAX:
                self.stop = HistoryStop.NOT_KEPT
                return ()
            self._take_back(found)
            if found.height <= self._wanted.last_height:
                changed = {key for key in found.undo if key.startswith(self._prefix)}
                if changed:
                    return self._changes_in(found, changed)
        return ()

    def _ends(self) -> HistoryStop | None:
        # Nothing was executed in genesis: what actors it has begin with their storage.
        if self._height < max(1, self._wanted.first_height):
            return HistoryStop.COMPLETE
        is_enough = self._told >= self._wanted.changes_max
        if is_enough or self.blocks_executed >= BLOCKS_MAX:
            return HistoryStop.BOUND
        return None

    def _take_back(self, found: UndoneBlock) -> None:
        self._undone.update(found.undo)
        sizes = (len(value) for value in found.undo.values() if value is not None)
        self._bytes += sum(map(len, found.undo)) + sum(sizes)
        self._height = found.previous

    def _changes_in(
        self, found: UndoneBlock, changed: set[bytes]
    ) -> tuple[StoragePast, ...]:
        """Of a block, executed again in the state that the walk has reached."""
        self.blocks_executed += 1
        block = self._blocks.block(found.height)
        parent = self._parent(found)
        cut = len(keys.storage(self._wanted.actor))
        changes = tuple(
            StoragePast(
                block.header.height,
                key[cut:],
                before,
                after,
                receipt.kind,
                receipt.index,
                receipt.id,
                receipt.origin,
                receipt.handler,
            )
            for receipt, key, before, after in reversed(
                changes_under(parent, block, changed)
            )
        )
        self._told += len(changes)
        return changes

    def _parent(self, found: UndoneBlock) -> State:
        snapshot = ChangedSnapshot(self._state.snapshot, self._undone)
        header = self._blocks.header(found.previous)
        caches = Caches(code=self._state.caches.code)
        return open_state(self._state.params, header, snapshot, caches)

    def whole(self) -> StorageHistory:
        """All of it at once."""
        changes: list[StoragePast] = []
        while self.stop is None:
            changes += self.step()
        return StorageHistory(tuple(changes), self.stop, self.next_height)
