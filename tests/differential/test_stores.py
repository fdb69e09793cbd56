"""MemoryStore | LevelStore: one is the model of the other, restarts included."""

import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
)

from node.state.leveldb import LevelStore
from node.state.memory import MemoryStore
from node.state.store import WriteSet

# Families with shared beginnings, a key that is another's prefix, extremes.
KEYS = st.sampled_from(
    [b"", b"a", b"aa", b"aaa", b"ab", b"ab\x00", b"ab\xff", b"b", b"ba", b"\xff\xff"]
) | st.binary(min_size=1, max_size=3)
BOUNDS = KEYS | st.just(b"\xff" * 4)
CHANGES = st.dictionaries(KEYS, st.none() | st.binary(max_size=40), max_size=12)


class StoreComparison(RuleBasedStateMachine):
    """Same operations on both stores, every answer compared."""

    @initialize()
    def open(self):
        self.folder = tempfile.TemporaryDirectory()
        self.memory = MemoryStore()
        self.level = LevelStore(Path(self.folder.name))
        self.snapshots = [(self.memory.snapshot(), self.level.snapshot())]

    def teardown(self):
        self.level.close()
        self.folder.cleanup()

    @rule(changes=CHANGES, sync=st.sampled_from([False, False, False, True]))
    def commit(self, changes, sync):
        self.memory.commit(WriteSet(changes), sync=sync)
        self.level.commit(WriteSet(changes), sync=sync)

    @rule()
    def snapshot(self):
        self.snapshots.append((self.memory.snapshot(), self.level.snapshot()))

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data())
    def drop(self, data):
        at = data.draw(st.integers(0, len(self.snapshots) - 1))
        self.snapshots.pop(at)[1].close()

    @precondition(lambda self: self.snapshots)
    @rule(key=KEYS)
    def get(self, key):
        for memory, level in self.snapshots:
            assert memory.get(key) == level.get(key)

    @precondition(lambda self: self.snapshots)
    @rule(start=BOUNDS, stop=BOUNDS)
    def range(self, start, stop):
        for memory, level in self.snapshots:
            assert list(memory.range(start, stop)) == list(level.range(start, stop))

    @rule()
    def restart(self):
        """Snapshots end with the process."""
        self.snapshots.clear()
        self.level.close()
        self.level = LevelStore(Path(self.folder.name))
        self.everything()

    @rule()
    def everything(self):
        memory = self.memory.snapshot().range(b"", b"\xff" * 4)
        level = self.level.snapshot().range(b"", b"\xff" * 4)
        assert list(memory) == list(level)


TestStores = StoreComparison.TestCase
