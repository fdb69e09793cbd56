"""DueBook: what a block in which timers bid knows of those that are due (D36).

A due timer that stays stands in the orders of `due_index`, by which later blocks find
it. Most timers fire in the block in which they become due: those are *fresh*, read from
the calendar, and enter the orders only at the end, if they are left. So whoever removes
or changes a due timer has to know whether it stands in the orders; the book does.

A block calls it in this order, which is checked:

1. `resume`, unless the block is the first under its rules: then nothing is indexed yet
2. `forget` and `amend`, whenever a live timer leaves or changes, here and later
3. `gather`, once, when the lane is looked at or a run of empty blocks passes
4. `close`, once, when nothing more is decided about the fresh ones

Rules: between the calls a timer stands in the orders if it was due at `indexed_to` and
is not fresh. Blocks under other rules never resume nor gather: nothing stands there.
"""

from collections.abc import Container
from enum import IntEnum

from msgspec import Struct, field

from node.chain.timers.calendar import stop_after
from node.chain.timers.due_index import (
    AUCTION_INDEX,
    DueIndex,
    DueTimer,
    LaneView,
    is_any,
)
from node.chain.timers.tiers import FILLED_FOR_DUE_MAX, TieredCalendar
from node.chain.timers.timer import Timer
from node.primitives.types import TimerId
from node.state import keys
from node.state.journal import Journal


class _Stage(IntEnum):
    """How far a block is."""

    NEW = 0
    RESUMED = 1
    GATHERED = 2
    CLOSED = 3


class DueBook(Struct):
    """The due timers of one block: which of them stand in the orders."""

    journal: Journal
    calendar: TieredCalendar
    """Of the parent."""
    indexed_to: int = -1
    """Timers that were due at this height stand in the orders, but for the fresh."""
    index: DueIndex = AUCTION_INDEX
    """Of the rules in force: it keeps the orders."""
    looked_at: list[DueTimer] = field(default_factory=list)
    """Those that the block's lane judged, for rules that come back to them."""
    _fresh: dict[TimerId, DueTimer] = field(default_factory=dict)
    _stage: _Stage = _Stage.NEW

    def resume(self, height: int) -> None:
        """The parent block, at this height, was under the same rules."""
        self._enter(_Stage.RESUMED)
        self.indexed_to = height

    def is_indexed(self, timer: Timer) -> bool:
        """Whether a live timer stands in the orders."""
        return timer.height <= self.indexed_to and timer.timer_id not in self._fresh

    def forget(self, timer: Timer) -> None:
        """A live timer left the calendar."""
        if self.is_indexed(timer):
            self.index.forget(self.journal, timer)

    def amend(self, old: Timer, new: Timer) -> None:
        """A live timer's record was written anew."""
        if self.is_indexed(old):
            self.index.amend(self.journal, old, new)

    def gather(self, view: LaneView, *, is_run: bool) -> list[DueTimer]:
        """Those that became due since the latest block and are awake, in due order.

        The others among them sleep, and join the orders; of a run of empty blocks all,
        since nobody can have been awake at its height.
        """
        is_resumed = self._stage is _Stage.RESUMED
        self._enter(_Stage.GATHERED)
        first = keys.timer(self.indexed_to + 1, 0)
        if is_resumed:
            self.calendar.let_go(first)
        for key, record in self._live(first, stop_after(view.height)):
            due = DueTimer.read(key, record, is_asleep=False)
            if is_run or view.is_dormant(due.timer):
                self.index.add(self.journal, due.timer, is_asleep=True)
            else:
                self._fresh[due.timer.timer_id] = due
        self.indexed_to = view.height
        return list(self._fresh.values())

    def is_any_due(self) -> bool:
        """Whether a timer that is due is left, once they are gathered."""
        assert self._stage >= _Stage.GATHERED, "nobody has looked yet"
        return bool(self._fresh) or is_any(self.journal)

    def close(self, gone: Container[TimerId] = ()) -> None:
        """The fresh ones that are left join the orders, as they stand.

        Of those in `gone` it is known that they are not.
        """
        self._enter(_Stage.CLOSED)
        fresh, self._fresh = self._fresh, {}
        for timer_id, due in fresh.items():
            left = None if timer_id in gone else due.present(self.journal)
            if left is not None:
                self.index.add(self.journal, left)

    def _enter(self, stage: _Stage) -> None:
        is_next = stage == self._stage + 1
        is_first_look = stage is _Stage.GATHERED and self._stage is _Stage.NEW
        assert is_next or is_first_look, f"{stage.name} follows {self._stage.name}"
        self._stage = stage

    def _live(self, first: bytes, stop: bytes) -> list[tuple[bytes, bytes]]:
        """Keys and records of the calendar, as this block has left them."""
        changed = self.journal.changed_keys()
        live = list[tuple[bytes, bytes]]()
        for key, held in self.calendar.between(first, stop, FILLED_FOR_DUE_MAX):
            record = None if key in changed else held.record
            if record is None:
                record = self.journal.get(key)
            if record is not None:
                live.append((key, record))
        return live
