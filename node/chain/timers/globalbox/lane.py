"""The lane under `globalbox`: Deliver, Materialize, Execute (GBX §4, D52 to D54).

Deliver gathers what became due and what was hit, scores it once and queues it among
what waits. Materialize takes fires from the head while quotas and the lane have room,
sets their money aside and takes them out. Execute runs them in that order; what finds
no room for its cells or written keys goes back to its place, and all behind it.

Rules: what a block does is bounded by `max_due_examined`, `max_hits_per_block` and the
two quotas of fires, however much is queued. Nothing runs before all are materialized,
so nothing that runs reaches a fire of its block.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from node.chain.accounts import credit, load_account, save_account
from node.chain.block import Price
from node.chain.context import BlockContext, QueuedFire
from node.chain.params import GC_CYCLES_PER_REMOVAL, WRITES_BEFORE_DEFERRED_STOP
from node.chain.reader import load_count
from node.chain.timers import calendar
from node.chain.timers.globalbox import hits, queue, watches
from node.chain.timers.globalbox.fires import (
    BID_FRACTION_BITS,
    RANK_ORIGIN,
    GlobalFire,
    order_of,
    target_of,
)
from node.chain.timers.globalbox.hits import Hit
from node.chain.timers.globalbox.matching import match, written_storage
from node.chain.timers.lane import (
    due_timers,
    expire,
    fire,
    has_cells_left,
    has_gc_budget,
    has_writes_left,
    remove_unfunded,
)
from node.chain.timers.timer import (
    Decision,
    Timer,
    TimerDecision,
    TimerKind,
    WatchKey,
)
from node.primitives.crypto import keccak256
from node.primitives.types import NOTHING, Address, Amount, Height
from node.state import keys
from node.state.commitment import GLOBALBOX, open_tree
from pvm import FireContext


def queue_floor(block: BlockContext) -> bytes | None:
    """The first order of the parent's queue: what lies before it was removed."""
    return open_tree(block.calendar.reader, GLOBALBOX).first(
        bytes(keys.FIRE_ORDER_BYTES)
    )


# --- Deliver -------------------------------------------------------------------------


class PlacedFire(Struct, frozen=True, gc=False):
    """A fire at its place in the order: queued, or about to be (GBX §5.3)."""

    order: bytes
    timer: Timer
    bid_fp: int
    """The bid that bought the place."""
    hit_height: Height | None
    """Of a watch."""
    matched_keys: tuple[WatchKey, ...]
    queued: GlobalFire | None
    """As it lies in the queue; None of one that this block delivers."""

    def as_queued(self) -> GlobalFire:
        """What lies in the queue while it waits there."""
        timer = self.timer
        record = timer.encode() if self.hit_height is None else b""
        return self.queued or GlobalFire(
            self.order, self.bid_fp, timer.sequence, self.matched_keys, record
        )


class FireCandidate(Struct, frozen=True, gc=False):
    """A timer that is due, or was hit, and is to be queued (GBX §7)."""

    timer: Timer
    hit: Hit | None
    origin: int
    """The due height; of a watch the height of the hit."""
    score: int


def deliver(block: BlockContext) -> list[PlacedFire]:
    """What became due and what was hit, in order; the expired leave (GBX §7, D52).

    Those that this block does not materialize are then to be queued.
    """
    due: list[Timer] = []
    for timer in due_timers(block):
        if block.height > timer.expires_at:
            expire(block, timer)
        else:
            due.append(timer)
    found = hits.take(block.journal, block.globalbox_config.max_hits_per_block)
    fresh = match(block, {})
    block.before_timers = {
        key: block.journal.get(key) for key in written_storage(block.journal)
    }
    for hit in fresh:
        note_hit(block, hit)
    candidates = [_candidate(block, timer, None) for timer in due]
    candidates += [_candidate(block, hit.timer, hit) for hit in (*found, *fresh)]
    age = block.governed.globalbox_clock.at(block.height, block.globalbox_config.w_age)
    placed = [
        _place(block, candidate, cursor, age)
        for candidate, cursor in with_cursors(candidates)
    ]
    placed.sort(key=attrgetter("order"))
    return placed


def note_hit(block: BlockContext, hit: Hit) -> None:
    """Tell of a change that a watch saw (D55)."""
    timer = hit.timer
    numbers = {"current_height": block.height, "sequence": timer.sequence}
    block.trace.append(
        TimerDecision(
            timer.timer_id,
            timer.actor,
            timer.fee_payer,
            timer.height,
            Decision.HIT,
            "",
            {**numbers, "hit_height": hit.height},
            matched_keys=hit.matched_keys,
        )
    )


def _candidate(block: BlockContext, timer: Timer, hit: Hit | None) -> FireCandidate:
    origin = timer.height if hit is None else hit.height
    score = score_of(block, timer, block.height - origin)
    return FireCandidate(timer, hit, origin, score)


def score_of(block: BlockContext, timer: Timer, waited: int) -> int:
    """w_age · (h - origin) + w_bid · bid, of a timer that waited so long (D52)."""
    config = block.globalbox_config
    return config.w_age * waited + config.w_bid * timer.bid_fp


def with_cursors(
    candidates: list[FireCandidate],
) -> Iterator[tuple[FireCandidate, int]]:
    """Each with how many of the same target precede it: the round robin (D52)."""
    by_target: dict[Address, list[FireCandidate]] = defaultdict(list)
    for candidate in candidates:
        by_target[candidate.timer.target].append(candidate)
    for rivals in by_target.values():
        if len(rivals) > 1:
            rivals.sort(key=_rank)
        for cursor, candidate in enumerate(rivals):
            yield candidate, cursor


def _rank(candidate: FireCandidate) -> tuple[int, int, int, bytes]:
    timer = candidate.timer
    return -candidate.score, -timer.bucket, candidate.origin, timer.timer_id


def _place(
    block: BlockContext, candidate: FireCandidate, cursor: int, age: int
) -> PlacedFire:
    timer, hit = candidate.timer, candidate.hit
    placed = PlacedFire(
        order_for(candidate, cursor, age),
        timer,
        timer.bid_fp,
        None if hit is None else hit.height,
        () if hit is None else hit.matched_keys,
        None,
    )
    numbers = {
        "score": candidate.score,
        "origin": candidate.origin,
        "cursor": cursor,
        "bucket": timer.bucket,
        "bid_fp": timer.bid_fp,
    }
    tell(block, placed, Decision.ENQUEUED, "", numbers)
    return placed


def order_for(candidate: FireCandidate, cursor: int, age: int) -> bytes:
    """Its place in the order, once all have aged by `age` (D52)."""
    timer = candidate.timer
    return order_of(
        RANK_ORIGIN - (candidate.score - age),
        timer.bucket,
        cursor,
        candidate.origin,
        timer.target,
        timer.timer_id,
    )


def tell(
    block: BlockContext,
    placed: PlacedFire,
    decision: Decision,
    reason: str,
    numbers: Mapping[str, int],
) -> None:
    """One entry of the timer trace about a fire: what was decided, and why (D55)."""
    timer = placed.timer
    told = {"current_height": block.height, "sequence": timer.sequence, **numbers}
    if placed.hit_height is not None:
        told["hit_height"] = placed.hit_height
    block.trace.append(
        TimerDecision(
            timer.timer_id,
            timer.actor,
            timer.fee_payer,
            timer.height,
            decision,
            reason,
            told,
            order=placed.order,
        )
    )


# --- Materialize ---------------------------------------------------------------------


class Materialized(Struct, frozen=True, gc=False):
    """A fire that left its place with its money set aside: it will run (GBX §9)."""

    placed: PlacedFire
    queued: QueuedFire


class _Head:
    """The first of what is queued and of what this block delivers, as one order."""

    __slots__ = ("_arrivals", "_block", "_closed", "_kept", "_walk")

    def __init__(self, block: BlockContext, arrivals: list[PlacedFire]) -> None:
        self._block = block
        self._walk = queue.HeadWalk(
            block.journal,
            queue_floor(block),
            block.globalbox_config.max_fires_per_target,
        )
        self._arrivals = deque(arrivals)
        self._closed: set[Address] = set()
        self._kept: list[PlacedFire] = []

    def peek(self) -> PlacedFire | None:
        """The first fire that is left and whose target is not passed over, or None."""
        arrivals, walk = self._arrivals, self._walk
        if self._closed:
            while arrivals and arrivals[0].timer.target in self._closed:
                self._kept.append(arrivals.popleft())
        first = walk.peek()
        while first is not None and target_of(first) in self._closed:
            walk.pass_over()
            first = walk.peek()
        if arrivals and (first is None or arrivals[0].order < first):
            return arrivals[0]
        if first is None:
            return None
        return placed_fire(self._block, queue.load(self._block.journal, first))

    def advance(self, placed: PlacedFire) -> None:
        """Go on behind the first fire, which left."""
        if placed.queued is None:
            self._arrivals.popleft()
        else:
            self._walk.advance()

    def pass_over(self, target: Address) -> None:
        """Go on without a target: its fires keep their places (D53)."""
        self._closed.add(target)

    def rest(self) -> Iterator[PlacedFire]:
        """What this block delivers and does not materialize."""
        yield from self._kept
        yield from self._arrivals


class _Materializing(Struct):
    """The head of the queue while it is consumed."""

    block: BlockContext
    fires: deque[Materialized]
    reserved: int = 0
    """Cycles of the lane."""

    def run(self, head: _Head) -> None:
        """Take fires until a quota, the lane or the head ends it (GBX §8.3, D53)."""
        block, config = self.block, self.block.globalbox_config
        shares: dict[Address, int] = defaultdict(int)
        while len(self.fires) < config.max_fires_per_block:
            placed = head.peek()
            if placed is None:
                return
            target = placed.timer.target
            if shares[target] >= config.max_fires_per_target:
                tell(block, placed, Decision.PASSED_OVER, "", {})
                head.pass_over(target)
                continue
            before = len(self.fires)
            if not self._take(placed):
                return
            shares[target] += len(self.fires) - before
            head.advance(placed)

    def _take(self, placed: PlacedFire) -> bool:
        """Materialize the first fire, or remove its timer; False where that ends it."""
        block, timer = self.block, placed.timer
        if block.height > timer.expires_at:
            return self._may_remove(placed) and expire(block, timer)
        lane = block.timer_config.lane_timer_cycles
        limit = timer.limit_under(block.rule_set.cycles_cap(block.timer_config))
        numbers = {"limit": limit, "reserved": self.reserved}
        if self.reserved + limit > lane:
            numbers["lane"] = lane
            tell(block, placed, Decision.PUT_BACK, "lane", numbers)
            return False
        price = fire_price(block, placed.bid_fp)
        required = price.cost(limit, block.timer_config.max_cells_per_fire)
        payer = load_account(block.journal, timer.fee_payer)
        available = payer.balance
        if available < required:
            return self._may_remove(placed) and remove_unfunded(
                block, timer, required, available
            )
        left = replace(payer, balance=Amount(available - required))
        save_account(block.journal, timer.fee_payer, left)
        _take_out(block, placed)
        self.fires.append(
            Materialized(
                placed,
                QueuedFire(timer, limit, price, required, available, self.reserved),
            )
        )
        self.reserved += limit
        numbers["required"] = required
        numbers["available"] = available
        tell(block, placed, Decision.MATERIALIZED, "", numbers)
        return True

    def _may_remove(self, placed: PlacedFire) -> bool:
        """Removals, those of Deliver with them, have a bound: the next one ends it."""
        block, timer = self.block, placed.timer
        removed_max = block.timer_config.max_due_examined
        removed = block.gc_cycles // GC_CYCLES_PER_REMOVAL
        if removed < removed_max and has_gc_budget(block):
            if placed.queued is None and timer.is_watch:
                watches.add(block.journal, timer)  # as a watch without a hit it leaves
            return True
        numbers = {"removed": removed, "limit": removed_max}
        tell(block, placed, Decision.PUT_BACK, "gc", numbers)
        return False


def materialize(block: BlockContext, arrivals: list[PlacedFire]) -> deque[Materialized]:
    """The fires of this block, in order, out of the queue and paid for (D53).

    What this block delivers competes for the head at its place, and is queued if it
    gets no further.
    """
    fires, head = deque[Materialized](), _Head(block, arrivals)
    _Materializing(block, fires).run(head)
    for placed in head.rest():
        _enqueue(block, placed)
    return fires


def placed_fire(block: BlockContext, queued: GlobalFire) -> PlacedFire:
    """A queued fire with its timer as it is now."""
    hit_height = queued.origin if queued.is_of_watch else None
    timer = calendar.timer_of(block.journal, queued)
    return PlacedFire(
        queued.order, timer, queued.bid_fp, hit_height, queued.matched_keys, queued
    )


def fire_price(block: BlockContext, bid_fp: int) -> Price:
    """The basefees burned, the whole units of the bid to the proposer (D54)."""
    prices, tip = block.prices, Amount(bid_fp >> BID_FRACTION_BITS)
    return Price(prices.basefee_cycle, tip, prices.basefee_cell, NOTHING)


def _enqueue(block: BlockContext, placed: PlacedFire) -> None:
    if placed.hit_height is None:
        calendar.enqueue(block.journal, placed.timer, placed.as_queued())
    else:
        queue.insert(block.journal, placed.as_queued())


def _take_out(block: BlockContext, placed: PlacedFire) -> None:
    """A fire leaves its place: a HEIGHT timer completes, a watch is idle again."""
    journal, timer, queued = block.journal, placed.timer, placed.queued
    if placed.hit_height is not None:
        if queued is not None:
            queue.remove(journal, queued)
        watches.add(journal, timer)
        return
    if queued is None:
        calendar.remove(journal, timer)
    else:
        calendar.remove_queued(journal, timer, queued)
    block.materialized[timer.timer_id] = timer


# --- Execute -------------------------------------------------------------------------


def run_fires(block: BlockContext, fires: deque[Materialized]) -> None:
    """Run what was materialized, in order; what has no room goes back (D54)."""
    first = sequence = load_count(block.journal, keys.DELIVER_SEQUENCE)
    while fires:
        if not has_writes_left(block):
            limit = WRITES_BEFORE_DEFERRED_STOP
            _put_back(block, fires, "writes", {"used": block.writes, "limit": limit})
        elif not has_cells_left(block):
            limit = block.params.block_cells
            _put_back(block, fires, "cells", {"used": block.cells, "limit": limit})
        else:
            _run(block, fires.popleft(), sequence)
            sequence += 1
    if sequence != first:
        block.journal.put(keys.DELIVER_SEQUENCE, keys.height8(sequence))


def _run(block: BlockContext, materialized: Materialized, sequence: int) -> None:
    placed, queued = materialized.placed, materialized.queued
    timer, hit_height = queued.timer, placed.hit_height
    fire_seq = timer.fire_seq
    block.materialized.pop(timer.timer_id, None)
    story = {"deliver_seq": sequence, "fire_seq": fire_seq, "bid_fp": placed.bid_fp}
    if hit_height is not None:
        _count_fire(block, timer)
        story["hit_height"] = hit_height
    context = FireContext(
        _HEIGHT if hit_height is None else _STATE_WATCH,
        timer.height if hit_height is None else None,
        hit_height,
        placed.matched_keys,
        deliver_id(block, timer.timer_id, fire_seq),
        sequence,
        fire_seq,
    )
    fire(block, queued, story, context)


_HEIGHT, _STATE_WATCH = TimerKind.HEIGHT.value, TimerKind.STATE_WATCH.value


def _count_fire(block: BlockContext, timer: Timer) -> None:
    """A watch that fires has fired once more, if it still is the same one."""
    watch = calendar.load_timer(block.journal, timer.timer_id)
    if watch is not None and watch.sequence == timer.sequence:
        counted = replace(watch, fire_seq=timer.fire_seq + 1)
        calendar.replace(block.journal, counted)


def deliver_id(block: BlockContext, timer_id: bytes, fire_seq: int) -> bytes:
    """keccak256(height BE8 ‖ parent state root ‖ timer_id ‖ fire_seq BE4) (D54)."""
    return keccak256(
        keys.height8(block.height)
        + block.parent_state_root
        + timer_id
        + fire_seq.to_bytes(4, "big")
    )


def _put_back(
    block: BlockContext,
    fires: deque[Materialized],
    reason: str,
    numbers: Mapping[str, int],
) -> None:
    """All that are left go back to their places, refunded whole (D54)."""
    journal = block.journal
    while fires:
        materialized = fires.popleft()
        placed, queued = materialized.placed, materialized.queued
        timer = queued.timer
        credit(journal, timer.fee_payer, queued.max_cost)
        block.materialized.pop(timer.timer_id, None)
        if placed.hit_height is None:
            calendar.insert_queued(journal, timer, placed.as_queued())
        else:
            watch = calendar.load_timer(journal, timer.timer_id)
            if watch is None or watch.sequence != timer.sequence:
                continue  # cancelled meanwhile: its money is all there is to give back
            watches.forget(journal, watch)
            queue.insert(journal, placed.as_queued())
        tell(block, placed, Decision.PUT_BACK, reason, numbers)


def note_changes(block: BlockContext) -> None:
    """Note what timers and messages changed, for the heights to come (D51)."""
    for hit in match(block, block.before_timers):
        hits.note(block.journal, hit)
        note_hit(block, hit)


__all__ = [
    "FireCandidate",
    "deliver",
    "deliver_id",
    "fire_price",
    "materialize",
    "note_changes",
    "order_for",
    "placed_fire",
    "queue_floor",
    "run_fires",
    "score_of",
    "tell",
    "with_cursors",
]
