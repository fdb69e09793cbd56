"""The journal against a model that copies everything at each checkpoint."""

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from node.state.journal import Checkpoint, Journal
from node.state.memory import MemoryStore
from node.state.store import WriteSet

KEYS = st.sampled_from([b"%02d" % number for number in range(25)])
VALUES = st.sampled_from([b"", b"1", b"2"])


class JournalComparison(RuleBasedStateMachine):
    """Same operations on both; the model of a checkpoint is a copy."""

    @initialize(base=st.dictionaries(KEYS, VALUES))
    def begin(self, base: dict[bytes, bytes]) -> None:
        store = MemoryStore()
        store.commit(WriteSet(base))
        self.base = base
        self.journal = Journal(store.snapshot())
        self.model = dict(base)
        self.opened: list[tuple[Checkpoint, dict[bytes, bytes]]] = []
        self.reading: tuple | None = None

    @rule(key=KEYS, value=VALUES)
    def put(self, key, value):
        self.journal.put(key, value)
        self.model[key] = value

    @rule(key=KEYS)
    def delete(self, key):
        self.journal.delete(key)
        self.model.pop(key, None)

    @rule(key=KEYS)
    def get(self, key):
        assert self.journal.get(key) == self.model.get(key)

    def in_range(self, start, stop):
        return sorted(pair for pair in self.model.items() if start <= pair[0] < stop)

    @rule(start=KEYS, stop=KEYS)
    def range(self, start, stop):
        found = list(self.journal.range(start, stop))
        assert found == self.in_range(start, stop)

    @rule(start=KEYS, stop=KEYS)
    def begin_to_read(self, start, stop):
        """A range shows what stood at the call, whatever is written meanwhile."""
        self.reading = self.journal.range(start, stop), self.in_range(start, stop)

    @precondition(lambda self: self.reading)
    @rule()
    def read_to_the_end(self):
        reading, expected = self.reading
        assert list(reading) == expected
        self.reading = None

    @precondition(lambda self: len(self.opened) < 5)
    @rule()
    def checkpoint(self):
        self.opened.append((self.journal.checkpoint(), dict(self.model)))

    @precondition(lambda self: self.opened)
    @rule()
    def commit(self):
        checkpoint, _ = self.opened.pop()
        self.journal.commit(checkpoint)

    @precondition(lambda self: self.opened)
    @rule(data=st.data())
    def revert(self, data):
        """Also to a checkpoint further out than the innermost."""
        at = data.draw(st.integers(0, len(self.opened) - 1))
        checkpoint, self.model = self.opened[at]
        del self.opened[at:]
        self.journal.revert(checkpoint)

    @precondition(lambda self: not self.opened)
    @rule()
    def write_set(self):
        changes = self.journal.write_set().changes
        result = {**self.base, **changes}
        assert {k: v for k, v in result.items() if v is not None} == self.model
        removed = {key for key, value in changes.items() if value is None}
        assert removed <= self.base.keys(), "removed what was not there"

    @invariant()
    def every_difference_is_a_changed_key(self):
        both = self.model.keys() | self.base.keys()
        differing = {k for k in both if self.model.get(k) != self.base.get(k)}
        assert differing <= self.journal.changed_keys()

    def teardown(self):
        """All that is open is undone, and then it must be the state before it."""
        if not self.opened:
            return
        checkpoint, self.model = self.opened[0]
        self.journal.revert(checkpoint)
        self.opened.clear()
        self.write_set()


TestJournal = JournalComparison.TestCase
