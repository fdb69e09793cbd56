"""What is noted of a simulation while it runs, and what is left of it at the end.

A `Record` is whole numbers, lists and dicts: it becomes JSON and comes back as it was,
and two runs of a scenario have the same one on every machine.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct, field, to_builtins

from node.chain.timers import calendar, fairness
from node.chain.timers.timer import Decision, TimerDecision
from node.chain.transition import BlockResult, State
from node.primitives.types import Address

BUCKET = 25
"""Blocks that one point of a course stands for."""


class Course(Struct):
    """A group over time: sums for every so many blocks."""

    fires: list[int] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    """Sums of W in parts per million."""


class Record(Struct):
    """What came of a scenario."""

    name: str
    blocks: int = 0
    head: str = ""
    """Hash of the last header: of everything that happened."""
    fires: dict[str, list[int]] = field(default_factory=dict)
    """Of each group's actors, in order."""
    waits: dict[str, dict[int, int]] = field(default_factory=dict)
    """Of each group: blocks from due height to fire → fires."""
    waiting: dict[str, dict[int, int]] = field(default_factory=dict)
    """The same of those that are overdue at the end."""
    removed: dict[str, int] = field(default_factory=dict)
    """Timers whose payer could not pay."""
    put_off: int = 0
    """Times that a full lane was why a timer waited."""
    full_blocks: int = 0
    """Blocks in which it was why for somebody."""
    values: dict[str, list[int]] = field(default_factory=dict)
    """What each group's actors stated as maximum fee, 0 for none, in order."""
    used: list[int] = field(default_factory=list)
    """Cycles of the lane, of each block."""
    basefees: list[int] = field(default_factory=list)
    """Of the lane, in force in each block."""
    tips: list[int] = field(default_factory=list)
    """The p50 tip that the next block knows."""
    burned: list[int] = field(default_factory=list)
    """Of the lane's fires, beyond the cycle basefee, of each block."""
    tipped: list[int] = field(default_factory=list)
    cycle_burned: int = 0
    """Cycle basefees of the fires."""
    medians: list[int] = field(default_factory=list)
    """The network median, once a bucket."""
    courses: dict[str, Course] = field(default_factory=dict)


def write_record(record: Record) -> str:
    """As JSON."""
    return json.dumps(to_builtins(record), separators=(",", ":"))


def read_record(text: str) -> Record:
    """The record that `write_record` wrote."""
    fields = json.loads(text)
    for name in ("waits", "waiting"):
        for group, waits in fields[name].items():
            fields[name][group] = {int(wait): n for wait, n in waits.items()}
    courses = fields["courses"].items()
    fields["courses"] = {group: Course(**course) for group, course in courses}
    return Record(**fields)


class Notes:
    """A record in the making."""

    def __init__(
        self, name: str, groups: Mapping[Address, str], values: dict[str, list[int]]
    ) -> None:
        """Of actors' addresses the groups, and of groups the values."""
        self._record = Record(name, values=values)
        self._groups = groups
        self._fires: Counter[Address] = Counter()
        names = list(dict.fromkeys(groups.values()))
        self._waits: dict[str, Counter[int]] = {name: Counter() for name in names}
        self._removed: Counter[str] = Counter()
        self._record.courses = {name: Course() for name in names}

    def note(self, result: BlockResult, state: State) -> None:
        """Take up what happened in a block, and the state after it."""
        record = self._record
        if record.blocks % BUCKET == 0:
            record.medians.append(fairness.network_median(state.snapshot))
            for course in record.courses.values():
                course.fires.append(0)
                course.waits.append(0)
                course.weights.append(0)
        record.blocks += 1
        burned = tipped = held_up = 0
        for decision in result.trace:
            kind = decision.decision
            if kind is Decision.FIRED:
                assert decision.receipt_index is not None
                receipt = result.receipts[decision.receipt_index]
                assert receipt.is_success, receipt.failure
                burned += receipt.burned_lane
                tipped += receipt.tip
                record.cycle_burned += receipt.burned_cycle
                self._note_fire(decision)
            elif kind is Decision.PUT_OFF and decision.reason == "lane":
                held_up += 1
            elif kind is Decision.REMOVED_INSUFFICIENT_FUNDS:
                self._removed[self._groups[decision.actor]] += 1
        record.put_off += held_up
        record.full_blocks += held_up > 0
        record.burned.append(burned)
        record.tipped.append(tipped)
        record.used.append(result.use.timer_cycles)
        record.basefees.append(result.header.basefee_lane)
        record.tips.append(result.known.globals.p50_priority)

    def _note_fire(self, decision: TimerDecision) -> None:
        group = self._groups[decision.actor]
        waited = decision.numbers["current_height"] - decision.due_height
        self._fires[decision.actor] += 1
        self._waits[group][waited] += 1
        course = self._record.courses[group]
        course.fires[-1] += 1
        course.waits[-1] += waited
        course.weights[-1] += decision.numbers.get("weight_ppm", 0)

    def finish(self, state: State) -> Record:
        """The record, with what the end of the chain shows."""
        record = self._record
        record.head = state.head.hash().hex()
        record.removed = dict(sorted(self._removed.items()))
        for actor, group in self._groups.items():
            record.fires.setdefault(group, []).append(self._fires[actor])
        record.waits = {g: _in_order(c.items()) for g, c in self._waits.items()}
        waiting: dict[str, Counter[int]] = {group: Counter() for group in self._waits}
        height = state.head.height
        for timer in calendar.timers_between(state.snapshot, 0, height):
            waiting[self._groups[timer.actor]][height - timer.height] += 1
        record.waiting = {g: _in_order(c.items()) for g, c in waiting.items()}
        return record


def _in_order(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    return dict(sorted(pairs))
