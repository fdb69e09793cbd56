"""Why a block did what it did about timers: every decision, with the numbers compared.

All of it is read from the block's trace (D17); nothing is computed anew.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from node.chain.timers.timer import Decision, TimerDecision
from node.chain.transition import State
from node.history import load_trace
from node.primitives.types import PPM, Height
from node.query.blocks import require_contents
from node.query.errors import HeightNotReached


class BlockExplanation(Struct, frozen=True):
    """What a block decided about timers."""

    height: Height
    due: tuple[TimerDecision, ...]
    """About the timers it looked at, in the order of looking: (height, sequence), under
    `auction` and `bidding` then those that came to their turns, by rank; under
    `globalbox` as it was decided."""
    changes: tuple[TimerDecision, ...]
    """What executions scheduled, extended, updated and cancelled, in their order."""

    @property
    def looked_at(self) -> int:
        """How many timers these are."""
        return len({decision.timer_id for decision in self.due})

    @property
    def contest(self) -> "Contest | None":
        """How the lane was filled, if timers competed for it."""
        return _contest(self.due)

    @property
    def turns(self) -> "QueueTurns | None":
        """What it did with the Globalbox, if anything."""
        return _turns(self.due)

    @property
    def decisions(self) -> tuple[TimerDecision, ...]:
        """Both, one after the other."""
        return self.due + self.changes


def explain_block(state: State, height: int) -> BlockExplanation:
    """What the block at a height decided about timers.

    Inside a run nothing is due, so nothing was decided.

    Raises:
        HeightNotReached: It is above the head.
        HistoryNotKept: It is not kept any more.
    """
    if height > state.head.height:
        raise HeightNotReached(height, state.head.height)
    require_contents(state.snapshot, height)
    return explain_trace(Height(height), load_trace(state.snapshot, Height(height)))


def explain_trace(height: Height, trace: Iterable[TimerDecision]) -> BlockExplanation:
    """The same of a trace that is at hand."""
    due, changes = list[TimerDecision](), list[TimerDecision]()
    for decision in trace:
        (due if is_of_lane(decision) else changes).append(decision)
    if not any(decision.decision in _IN_GLOBALBOX for decision in due):
        due.sort(key=_considered)
    return BlockExplanation(height, tuple(due), tuple(changes))


def _considered(decision: TimerDecision) -> tuple[int, int, int]:
    """Judged in order of (height, sequence); then by rank; then who falls asleep.

    Under `bidding` by rank in each of its two rounds.
    """
    numbers = decision.numbers
    place = decision.due_height, numbers.get("sequence", 0)
    if decision.decision is Decision.SLEPT:
        return 2, *place
    if "rank" not in numbers:
        return 0, *place
    return 1, numbers.get("round", 1), numbers["rank"]


_IN_GLOBALBOX = frozenset(
    {
        Decision.HIT,
        Decision.ENQUEUED,
        Decision.PASSED_OVER,
        Decision.MATERIALIZED,
        Decision.PUT_BACK,
        Decision.RETURNED,
    }
)


class QueueTurns(Struct, frozen=True):
    """What a block did with the Globalbox (D52 to D55)."""

    hits: int
    """Watches that saw a change."""
    enqueued: int
    passed_over: int
    """Targets that had their share of fires and more that was queued."""
    materialized: int
    put_back: int
    """Fires that keep their places, since nothing has room for them."""
    returned: int
    """Fires that were taken out, since other rules are in force."""


def _turns(due: Iterable[TimerDecision]) -> QueueTurns | None:
    found = Counter(decision.decision for decision in due)
    if not _IN_GLOBALBOX.intersection(found):
        return None
    return QueueTurns(
        found[Decision.HIT],
        found[Decision.ENQUEUED],
        found[Decision.PASSED_OVER],
        found[Decision.MATERIALIZED],
        found[Decision.PUT_BACK],
        found[Decision.RETURNED],
    )


class Contest(Struct, frozen=True):
    """How a block's timer lane was filled under `auction` or `bidding`."""

    basefee_lane: int
    """Under `auction`, else 0."""
    contenders: int
    fires: int
    put_off: int
    """For want of room in the lane."""
    highest: int | None
    """Effective priority of the first fire, under `bidding` its effective tip, in parts
    per million; None without one."""
    marginal: int | None
    """Of the last fire, if somebody was put off: the price of the last place."""
    cycles_used: int
    lane: int
    basefee_cycle: int | None = None
    """Under `bidding`."""


def _contest(due: Iterable[TimerDecision]) -> Contest | None:
    turns = [one for one in due if "rank" in one.numbers]
    if not turns:
        return None
    fires = [one.numbers for one in turns if one.decision is Decision.FIRED]
    put_off = sum(one.rival is not None for one in turns)
    effective = [_effective(numbers) for numbers in fires]
    first = turns[0].numbers
    return Contest(
        first.get("basefee_lane", 0),
        first["contenders"],
        len(fires),
        put_off,
        effective[0] if fires else None,
        effective[-1] if fires and put_off else None,
        sum(numbers["cycles_used"] for numbers in fires),
        fires[0]["lane"] if fires else 0,
        first.get("basefee_cycle"),
    )


def _effective(numbers: Mapping[str, int]) -> int:
    """What decided the turn of a fire, in parts per million of a base unit a cycle."""
    if "effective_tip" in numbers:
        return PPM * numbers["effective_tip"]
    return numbers["effective_priority"]


def is_of_lane(decision: TimerDecision) -> bool:
    """Whether a block decided it on looking at a due timer, or in its queue (D21)."""
    match decision.decision:
        case Decision.SCHEDULED | Decision.EXTENDED | Decision.UPDATED:
            return False
        case Decision.CANCELLED:
            return "refunded" in decision.numbers
        case _:
            return True
