"""What is noted of a world while it passes, whatever rules are in force.

Turns are followed by what every rule set says alike: the entry of the timer trace that
a timer was scheduled, the receipt of its fire, and the entry that it ended without one.
A `Record` is whole numbers, lists and dicts: it becomes JSON and comes back as it was,
and two runs of a world have the same one on every machine.
"""

from collections import Counter
from collections.abc import Mapping
from typing import cast

import msgspec
from msgspec import Struct, field

from node.chain.block import Receipt, ReceiptKind
from node.chain.timers.timer import Decision
from node.chain.transition import BlockResult
from node.primitives.types import Address
from node.state import keys
from node.state.keys import HEIGHT_LAST

BUCKET = 20
"""Blocks that one point of a course stands for."""
_RECORDS = (keys.STATE_PREFIX, keys.TIMER_PREFIX, keys.FIRE_PREFIX)
"""Of the state, as its root has it: no index, and no page of a tree."""


class Course(Struct):
    """A group over time: sums for every so many blocks."""

    fires: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)


class Record(Struct):
    """What came of a world under one set of rules."""

    world: str
    rules: str
    blocks: int = 0
    head: str = ""
    """Hash of the last header: of everything that happened."""
    fires: dict[str, list[int]] = field(default_factory=dict)
    """Of each group's actors, in order."""
    turns: dict[str, list[int]] = field(default_factory=dict)
    """How often each was due, in the same order."""
    late: dict[str, dict[int, int]] = field(default_factory=dict)
    """Of each group: blocks from due height to fire → fires."""
    waiting: dict[str, dict[int, int]] = field(default_factory=dict)
    """The same of those that are overdue at the end."""
    removed: dict[str, int] = field(default_factory=dict)
    """Timers that ended without a fire: their payer could not pay, or they expired."""
    burned: dict[str, int] = field(default_factory=dict)
    """By the fires of each group: basefees of cycles and cells, and the lane's."""
    tipped: dict[str, int] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    """Paid, and burned, for asking agents."""
    used: int = 0
    """Cycles of the lane that fires used."""
    lane: int = 0
    """Cycles that the lane had in all blocks."""
    unused_while_late: int = 0
    """Cycles that blocks left unused at whose end somebody was overdue."""
    written: int = 0
    """Records of the state that blocks wrote."""
    one_deployer: list[str] = field(default_factory=list)
    """Groups whose actors one account deployed."""
    occasional: list[str] = field(default_factory=list)
    """Groups that have single turns only, no standing orders."""
    courses: dict[str, Course] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """World and rules."""
        return f"{self.world}/{self.rules}"


def write_record(record: Record) -> str:
    """As JSON."""
    return msgspec.json.encode(record).decode()


def read_record(text: str) -> Record:
    """The record that `write_record` wrote."""
    return msgspec.json.decode(text, type=Record)


class Notes:
    """A record in the making."""

    def __init__(self, record: Record, groups: Mapping[Address, str]) -> None:
        """Of actors' addresses the groups; nothing has happened yet."""
        self._record = record
        self._groups = groups
        names = list(dict.fromkeys(groups.values()))
        self._fires: Counter[Address] = Counter()
        self._late: dict[str, Counter[int]] = {name: Counter() for name in names}
        self._due: dict[bytes, tuple[int, Address]] = {}
        self._of_height: Counter[int] = Counter()
        """Live timers that are due later than now."""
        self._overdue = 0
        self._beginning = HEIGHT_LAST
        for sums in (record.removed, record.burned, record.tipped, record.asked):
            sums.update(dict.fromkeys(names, 0))
        record.courses = {name: Course() for name in names}

    def begin(self, height: int) -> None:
        """From the next block on, what happens counts."""
        self._beginning = height

    def note(self, result: BlockResult, lane: int) -> None:
        """Take up what happened in a block, or a run, whose lane had so many cycles."""
        height, span = result.header.height, result.header.span
        for passed in range(height - span + 1, height + 1):
            self._overdue += self._of_height.pop(passed, 0)
        is_counted = height > self._beginning
        if is_counted:
            self._note_block(result, lane, span)
        for receipt in result.receipts:
            self._note_receipt(receipt, height)
        for decision in result.trace:
            kind = decision.decision
            if kind is Decision.SCHEDULED:
                self._due[decision.timer_id] = decision.due_height, decision.actor
                self._of_height[decision.due_height] += 1
            elif kind in (Decision.EXPIRED, Decision.REMOVED_INSUFFICIENT_FUNDS):
                self._record.removed[self._groups[decision.actor]] += 1
                self._end(decision.timer_id, height)
        if is_counted and self._overdue:
            unused = lane * span - result.use.timer_cycles
            self._record.unused_while_late += unused

    def _note_block(self, result: BlockResult, lane: int, span: int) -> None:
        record = self._record
        record.blocks += span
        for course in record.courses.values():
            missing = -(-record.blocks // BUCKET) - len(course.fires)
            course.fires += [0] * missing
            course.late += [0] * missing
        record.lane += lane * span
        record.used += result.use.timer_cycles
        record.written += sum(key.startswith(_RECORDS) for key in result.writes.changes)

    def _note_receipt(self, receipt: Receipt, height: int) -> None:
        if receipt.kind is ReceiptKind.TRANSACTION:
            return
        assert receipt.is_success, receipt.failure
        if receipt.kind is ReceiptKind.FIRE:
            self._note_fire(receipt, height - self._end(receipt.id, height))
        elif receipt.kind is ReceiptKind.AGENT:
            self._record.asked[self._groups[receipt.actor]] += receipt.fee

    def _end(self, timer_id: bytes, height: int) -> int:
        """A timer is gone; its due height."""
        due, _ = self._due.pop(timer_id)
        if due <= height:
            self._overdue -= 1
        else:
            self._of_height[due] -= 1
        return due

    def _note_fire(self, receipt: Receipt, late: int) -> None:
        group = self._groups[receipt.actor]
        record, course = self._record, self._record.courses[group]
        self._fires[receipt.actor] += 1
        self._late[group][late] += 1
        course.fires[-1] += 1
        course.late[-1] += late
        record.tipped[group] += receipt.tip
        record.burned[group] += receipt.fee - receipt.tip

    def finish(self, head: str, height: int) -> Record:
        """The record, with who is overdue at the end."""
        record = self._record
        record.head = head
        for actor, group in self._groups.items():
            record.fires.setdefault(group, []).append(self._fires[actor])
        waiting: dict[str, Counter[int]] = {group: Counter() for group in self._late}
        for due, actor in self._due.values():
            if due <= height:
                waiting[self._groups[actor]][height - due] += 1
        record.late = {group: _in_order(found) for group, found in self._late.items()}
        record.waiting = {group: _in_order(found) for group, found in waiting.items()}
        return record


def _in_order(counts: Counter[int]) -> dict[int, int]:
    return cast("dict[int, int]", dict(sorted(counts.items())))
