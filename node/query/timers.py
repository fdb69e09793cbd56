"""Timers: live ones from the calendar, ended ones from the history."""

from collections.abc import Iterator
from operator import attrgetter

from msgspec import Struct

import pvm
from node.chain.accounts import load_account, load_code
from node.chain.block import Receipt
from node.chain.params import ADDRESS_BYTES
from node.chain.timers.calendar import load_timer, timers_between
from node.chain.timers.globalbox.fires import decode_fire
from node.chain.timers.lane import DEFAULT_HANDLERS
from node.chain.timers.tiers import Tier, bucket_of, tier_of
from node.chain.timers.timer import (
    Decision,
    Timer,
    TimerDecision,
    TimerKind,
    decode_timer,
    route_payload,
)
from node.chain.transition import State
from node.history import entries_between, load_timer_decisions
from node.primitives.types import Address, Height
from node.query.blocks import receipt_at
from node.query.errors import MissingKind, NotFound
from node.query.forecasts.forecast import Lineups
from node.query.forecasts.lane_position import LanePosition
from node.query.globalbox import fires_from
from node.query.pagination import Budget, Page
from node.query.queue_place import QueuePlace, WatchStatus
from node.state import keys
from node.state.store import StoreSnapshot


class LiveTimer(Struct, frozen=True):
    """A timer that waits, and where the calendar shows it (D24)."""

    timer: Timer
    tier: Tier
    bucket: int | None
    """Slot of the ring, number of the epoch, none in the overflow set."""
    queued: QueuePlace | None = None
    """Of a fire that is queued in the Globalbox."""
    watch: WatchStatus | None = None
    """Of a watch."""
    place: LanePosition | None = None
    """Under `auction`: its effective priority and rank, as things stand."""


class EndedTimer(Struct, frozen=True):
    """A timer that is gone (CIP-5 §5.4)."""

    height: Height
    """At which it ended."""
    decision: TimerDecision
    receipt: Receipt | None
    """Of the fire, or of the execution that cancelled it, where it was asked for."""


TimerView = LiveTimer | EndedTimer


def is_handler_there(state: State, timer: Timer) -> bool:
    """Whether the code of a timer's target knows what its fire calls (D12)."""
    routed, _ = route_payload(timer.payload)
    code_hash = load_account(state.snapshot, timer.target).code_hash
    source = load_code(state.snapshot, code_hash)
    code = state.caches.code.get(code_hash, source)
    return pvm.find_handler(code, (routed,) if routed else DEFAULT_HANDLERS) is not None


def all_waiting(snapshot: StoreSnapshot) -> list[Timer]:
    """All live timers in due order, those queued in the Globalbox with them (D52)."""
    fires = [decode_fire(*row) for row in fires_from(snapshot)]
    queued = [fire.height_timer() for fire in fires if not fire.is_of_watch]
    found = [*timers_between(snapshot, 0, keys.HEIGHT_LAST), *queued]
    return sorted(found, key=attrgetter("height", "sequence"))


def timer(state: State, timer_id: bytes) -> TimerView:
    """A timer, live or ended.

    Raises:
        NotFound: TIMER.
    """
    live = load_timer(state.snapshot, timer_id)
    if live is not None:
        return placed(state, live, Lineups(state))
    decisions = load_timer_decisions(state.snapshot, timer_id)
    for height, decision in reversed(decisions):
        if decision.is_final:
            return EndedTimer(height, decision, _receipt_of(state, height, decision))
    raise NotFound(MissingKind.TIMER, timer_id)


def placed(state: State, live: Timer, lineups: Lineups) -> LiveTimer:
    """A live timer with its place at the head."""
    height, sizes = state.head.height, state.params.calendar
    box = lineups.globalbox
    return LiveTimer(
        live,
        tier_of(live.height, height, sizes),
        bucket_of(live.height, height, sizes),
        box.place_of(live),
        box.status_of(live) if live.is_watch else None,
        lineups.place(live),
    )


def _receipt_of(
    state: State, height: Height, decision: TimerDecision
) -> Receipt | None:
    if decision.receipt_index is None:
        return None
    return receipt_at(state.snapshot, height, decision.receipt_index)


class TimerCriteria(Struct, frozen=True):
    """Which timers a list wants; None admits all."""

    actor: Address | None = None
    fee_payer: Address | None = None
    first_height: int = 0
    last_height: int = 2**64 - 1
    """Both inclusive: of live timers the due height, else where they ended."""
    kind: TimerKind | None = None
    """Of live timers."""
    watched: Address | None = None
    """Whose state a watch watches."""

    def admits(self, actor: Address, fee_payer: Address) -> bool:
        """Whether owner and payer are wanted."""
        return self.actor in (None, actor) and self.fee_payer in (None, fee_payer)

    def admits_live(self, timer: Timer) -> bool:
        """Whether a live timer is wanted."""
        if not self.first_height <= timer.height <= self.last_height:
            return False
        if self.kind not in (None, timer.kind):
            return False
        if self.watched is not None:
            watched = (address for address, _ in timer.watch_keys)
            if self.watched not in watched:
                return False
        return self.admits(timer.actor, timer.fee_payer)


def live_timers_page(
    state: State, wanted: TimerCriteria, start: bytes, count: int
) -> Page[LiveTimer]:
    """Live timers from a place on: those queued in the Globalbox, then in due order.

    A place is height8 ‖ sequence8, or the order of a queued fire. Those of one actor
    come in due order, queued or not.
    """
    budget, lineups = Budget(count), Lineups(state)
    found: list[LiveTimer] = []
    for place, size, live in _live(state.snapshot, wanted, start):
        if budget.is_spent:
            return Page(tuple(found), place)
        budget.examine(size)
        if live is not None and wanted.admits_live(live):
            budget.take()
            found.append(placed(state, live, lineups))
    return Page(tuple(found), None)


def live_timers(snapshot: StoreSnapshot, wanted: TimerCriteria) -> Iterator[Timer]:
    """The timers of all pages, one after the other."""
    for _, _, live in _live(snapshot, wanted, b""):
        if live is not None and wanted.admits_live(live):
            yield live


def _live(
    snapshot: StoreSnapshot, wanted: TimerCriteria, start: bytes
) -> Iterator[tuple[bytes, int, Timer | None]]:
    """Places, sizes of the records and timers that a list is made of."""
    if wanted.actor is None and len(start) in (0, keys.FIRE_ORDER_BYTES):
        if wanted.kind is not TimerKind.STATE_WATCH and wanted.watched is None:
            yield from _queued(snapshot, start)
        start = b""
    first = max(start, _place(wanted.first_height))
    stop = _place_after(wanted.last_height)
    for place, timer_id in _places(snapshot, wanted.actor, first, stop):
        record = snapshot.get(keys.TIMER_PREFIX + place)
        if record is not None:
            live = decode_timer(keys.TIMER_PREFIX + place, record)
            yield place, len(record), live
            continue
        queued = load_timer(snapshot, timer_id)
        assert queued is not None, "the index names a timer that is not there"
        yield place, len(queued.payload), queued


def _queued(
    snapshot: StoreSnapshot, start: bytes
) -> Iterator[tuple[bytes, int, Timer | None]]:
    """Those in the Globalbox, in its order; None for a watch, in the calendar too."""
    for order, record in fires_from(snapshot, start):
        fire = decode_fire(order, record)
        timer = None if fire.is_of_watch else fire.height_timer()
        yield order, len(record), timer


def _place(height: int) -> bytes:
    return keys.height8(height) + bytes(keys.SEQUENCE_BYTES)


def _place_after(height: int) -> bytes:
    """Above every place of a height, also of the last one."""
    return keys.height8(height) + b"\xff" * (keys.SEQUENCE_BYTES + 1)


def _places(
    snapshot: StoreSnapshot, owner: Address | None, first: bytes, stop: bytes
) -> Iterator[tuple[bytes, bytes]]:
    """Places of live timers in due order: of all, or of one actor with their ids."""
    prefix = keys.TIMER_PREFIX if owner is None else keys.timer_by_actor(owner)
    if first >= stop:
        return
    for key, value in snapshot.range(prefix + first, prefix + stop):
        yield key[len(prefix) :], value


def ended_timers_page(
    state: State, wanted: TimerCriteria, decision: Decision, start: bytes, count: int
) -> Page[EndedTimer]:
    """Timers that ended by one of the exits, in the order in which they did.

    `start` is height8 ‖ index4 in that block's trace.
    """
    budget = Budget(count)
    found: list[EndedTimer] = []
    first, skipped = wanted.first_height, 0
    if start >= keys.height8(first):
        first = int.from_bytes(start[: keys.HEIGHT_BYTES], "big")
        skipped = int.from_bytes(start[keys.HEIGHT_BYTES :], "big")
    last = min(wanted.last_height, state.head.height)
    if first > last:
        return Page((), None)
    for height, index, entry in entries_between(state.snapshot, first, last, skipped):
        if budget.is_spent:
            return Page(tuple(found), _trace_place(height, index))
        budget.examine(ADDRESS_BYTES)
        if entry.decision is decision and wanted.admits(entry.actor, entry.fee_payer):
            budget.take()
            found.append(EndedTimer(height, entry, None))
    return Page(tuple(found), None)


def _trace_place(height: int, index: int) -> bytes:
    return keys.height8(height) + index.to_bytes(4, "big")
