"""Why a timer did what it did, and what awaits it.

Rules: the past is told from what was recorded when it was decided, with the numbers
that were compared then (D17); nothing of it is computed anew. Only the forecast of a
live timer is computed, from the present state, and says so. Both are bounded: put-offs
lie in the traces of blocks alone, and are looked for from the latest on back.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import count

from msgspec import Struct

from node.chain.block import CodeVersion, Receipt
from node.chain.timers.calendar import load_timer
from node.chain.timers.timer import Decision, TimerDecision
from node.chain.transition import State
from node.history import (
    PlacedDecision,
    load_code_versions,
    load_put_offs,
    load_timer_life,
)
from node.primitives.types import Address, Height, TimerId
from node.query.blocks import receipt_at
from node.query.errors import MissingKind, NotFound
from node.query.forecasts.forecast import Forecast, Lineups, forecast
from node.query.timers import LiveTimer, is_handler_there, placed

STEPS_MAX = 1_000
"""Decisions about one timer that are told, the first and the latest ones."""

PUT_OFF_HEIGHTS_MAX = 1_000
"""Heights that are searched for put-offs: some milliseconds of short traces."""

PUT_OFF_BYTES_MAX = 8 << 20
"""Of traces read for that: of the longest, some four blocks'."""


class Step(Struct, frozen=True):
    """One decision about a timer, where, and the execution that belongs to it."""

    height: Height
    decision: TimerDecision
    receipt: Receipt | None = None
    """Of the fire, or of the execution that scheduled or cancelled it."""


class TimerExplanation(Struct, frozen=True):
    """A timer's life so far, and what awaits it."""

    timer_id: TimerId
    actor: Address
    fee_payer: Address
    due_height: Height
    live: LiveTimer | None
    """Its record and place while it waits."""
    steps: tuple[Step, ...]
    """Every decision in order, but for what is said to be left out."""
    put_offs_before: Height | None
    """Put-offs below this height were not looked for; None when all are there."""
    is_cut: bool
    """Whether there were more decisions than `STEPS_MAX` beside the put-offs."""
    forecast: Forecast | None
    """Of a live timer."""
    upgrades: tuple[Height, ...] = ()
    """Heights at which its target got other code since it was scheduled (D58)."""
    is_handler_lost: bool = False
    """Whether the code that its target has now lacks the handler of a live timer."""

    @property
    def is_watch(self) -> bool:
        """Whether changes of state make it fire, and not a height (D51)."""
        if self.live is not None:
            return self.live.timer.is_watch
        return bool(self.steps) and "watch_keys" in self.steps[0].decision.numbers

    @property
    def is_taken_over(self) -> bool:
        """Whether it was scheduled in no block of this history, which began later."""
        first = self.steps[0].decision.decision if self.steps else None
        return first is not Decision.SCHEDULED

    @property
    def end(self) -> Step | None:
        """How it ended, if it did."""
        last = self.steps[-1] if self.steps else None
        return last if last is not None and last.decision.is_final else None


def explain_timer(
    state: State, timer_id: bytes, put_offs_to: int | None = None
) -> TimerExplanation:
    """A timer's life from the history, and what awaits it.

    Args:
        state: whose head it is.
        timer_id: of a timer, live or ended.
        put_offs_to: the highest height at which put-offs are sought.

    Raises:
        NotFound: TIMER.
    """
    life = load_timer_life(state.snapshot, timer_id, STEPS_MAX)
    known = life[0].decision if life else _taken_over(state, timer_id)
    last = state.head.height
    if life and life[-1].decision.is_final:
        last = life[-1].height
    if put_offs_to is not None:
        last = min(last, Height(put_offs_to))
    put_offs, before = _put_offs(state, known, last)
    life = sorted([*life, *put_offs], key=lambda one: (one.height, one.index))
    return explain(
        state,
        (_with_receipt(state, one.height, one.decision) for one in life),
        lambda target: load_code_versions(state.snapshot, target),
        known,
        put_offs_before=before,
        is_cut=len(life) - len(put_offs) > STEPS_MAX,
    )


def _taken_over(state: State, timer_id: bytes) -> TimerDecision:
    """What names a live timer of which this history tells nothing.

    Raises:
        NotFound: TIMER.
    """
    timer = load_timer(state.snapshot, timer_id)
    if timer is None:
        raise NotFound(MissingKind.TIMER, timer_id)
    identity = timer.timer_id, timer.actor, timer.fee_payer, timer.height
    numbers = {"sequence": timer.sequence}
    return TimerDecision(*identity, Decision.SCHEDULED, "", numbers)


def explain(
    state: State,
    steps: Iterable[Step],
    versions_of: Callable[[Address], Iterable[CodeVersion]],
    known: TimerDecision,
    *,
    put_offs_before: Height | None = None,
    is_cut: bool = False,
) -> TimerExplanation:
    """The same of steps that are at hand, in order; of an ended timer at least one.

    `versions_of` gives all code that is known of an actor, in order. Nothing is said of
    its deployment, nor of code that the timer's target got after the timer's end.
    `known` is any decision about the timer.
    """
    told = tuple(steps)
    timer = load_timer(state.snapshot, known.timer_id)
    if timer is not None:
        target, begin, last = timer.target, timer.scheduled_at, state.head.height
    else:
        receipt, begin, last = told[-1].receipt, told[0].height, told[-1].height
        target = known.actor if receipt is None else receipt.actor
    upgrades = tuple(_upgrades(versions_of(target), begin, last))
    return TimerExplanation(
        known.timer_id,
        known.actor,
        known.fee_payer,
        known.due_height,
        None if timer is None else placed(state, timer, Lineups(state)),
        told,
        put_offs_before,
        is_cut,
        None if timer is None else forecast(state, timer),
        upgrades,
        timer is not None and bool(upgrades) and not is_handler_there(state, timer),
    )


def _upgrades(
    versions: Iterable[CodeVersion], scheduled: int, last: int
) -> Iterator[Height]:
    """Where an actor got other code while a timer was there.

    A constructor may schedule: then the first code that is known is the deployment's.
    """
    for index, version in enumerate(versions):
        is_deployment = index == 0 and version.height == scheduled
        if scheduled <= version.height <= last and not is_deployment:
            yield version.height


def _put_offs(
    state: State, known: TimerDecision, last: int
) -> tuple[list[PlacedDecision], Height | None]:
    """Put-offs of a timer up to `last`, and below which height none was sought."""
    found: list[PlacedDecision] = []
    size, looked, due = 0, count(1), known.due_height
    for height, read, put_off in load_put_offs(state.snapshot, known, due, last):
        if put_off is not None:
            found.append(put_off)
        size += read
        if size >= PUT_OFF_BYTES_MAX or next(looked) >= PUT_OFF_HEIGHTS_MAX:
            return found, height if height > due else None
    return found, None


def _with_receipt(state: State, height: Height, decision: TimerDecision) -> Step:
    """A step with its receipt; an extension changed nothing but the expiry."""
    if decision.receipt_index is None or decision.decision is Decision.EXTENDED:
        return Step(height, decision)
    receipt = receipt_at(state.snapshot, height, decision.receipt_index)
    return Step(height, decision, receipt)
