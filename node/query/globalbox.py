"""The Globalbox as it is asked about: its queue, a fire's place, and the watches.

Rules: what was removed from the queue is never walked over; the Merkle tree says where
it begins. Ranks are counted once for a page, and no further than `RANKED_MAX`.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice

from node.chain.globals import load_governed
from node.chain.timers import calendar
from node.chain.timers.globalbox import hits, queue
from node.chain.timers.globalbox.fires import RANK_ORIGIN, GlobalFire, decode_fire
from node.chain.timers.timer import Timer
from node.chain.transition import State
from node.primitives.types import Address
from node.query.pagination import Budget, Page
from node.query.queue_place import QueuedTimer, QueuePlace, WatchState, WatchStatus
from node.state import keys
from node.state.commitment import GLOBALBOX, is_globalbox_empty, open_tree
from node.state.store import StoreSnapshot

RANKED_MAX = 20_000
"""Fires that are counted to say a rank: some 20 ms."""

_RANK_BYTES = 32


class QueueView:
    """The Globalbox after a block, to be asked about many timers."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._is_empty = is_globalbox_empty(state.snapshot)
        self._age: int | None = None
        self._orders: list[bytes] | None = None

    def place_of(self, timer: Timer) -> QueuePlace | None:
        """Where the fire of a live timer stands; None unless it is queued."""
        fire = self.fire_of(timer)
        return None if fire is None else self.place(fire)

    def fire_of(self, timer: Timer) -> GlobalFire | None:
        """The queued fire of a live timer."""
        if self._is_empty:
            return None
        if timer.is_watch:
            return queue.fire_of_watch(self._state.snapshot, timer.timer_id)
        return calendar.fire_of(self._state.snapshot, timer)

    def place(self, fire: GlobalFire) -> QueuePlace:
        """Where a queued fire stands."""
        rank = int.from_bytes(fire.order[:_RANK_BYTES], "big")
        return QueuePlace(
            fire.order,
            self._rank(fire.order),
            RANK_ORIGIN - rank + self._age_ahead(),
            fire.bid_fp,
            fire.origin,
            fire.matched_keys,
        )

    def status_of(self, watch: Timer) -> WatchStatus:
        """How a live watch is doing."""
        fire = self.fire_of(watch)
        if fire is not None:
            return WatchStatus(WatchState.QUEUED, fire.origin, fire.matched_keys)
        hit = hits.noted_of(self._state.snapshot, watch)
        if hit is not None:
            return WatchStatus(WatchState.NOTED, hit.height, hit.matched_keys)
        return WatchStatus(WatchState.IDLE)

    def _age_ahead(self) -> int:
        """How old everybody has become in the next block (D52)."""
        if self._age is None:
            governed = load_governed(self._state.snapshot, self._state.params)
            self._age = governed.globalbox_clock.at(
                self._state.head.height + 1, governed.globalbox_config.w_age
            )
        return self._age

    def _rank(self, order: bytes) -> int | None:
        if self._orders is None:
            rows = fires_from(self._state.snapshot)
            self._orders = [key for key, _ in islice(rows, RANKED_MAX)]
        at = bisect_left(self._orders, order)
        return at + 1 if at < len(self._orders) else None


def fires_from(
    snapshot: StoreSnapshot, start: bytes = b""
) -> Iterator[tuple[bytes, bytes]]:
    """Orders and records of the queued fires, from an order on."""
    first = open_tree(snapshot, GLOBALBOX).first(bytes(keys.FIRE_ORDER_BYTES))
    if first is None:
        return
    low, high = keys.fire(max(first, start)), keys.prefix_stop(keys.FIRE_PREFIX)
    for key, record in snapshot.range(low, high):
        yield key[len(keys.FIRE_PREFIX) :], record


def queue_page(
    state: State, target: Address | None, start: bytes, count: int
) -> Page[QueuedTimer]:
    """Queued fires in their order, from an order on: of one target, or all."""
    budget, view = Budget(count), QueueView(state)
    found: list[QueuedTimer] = []
    for order, record in _fires(state.snapshot, target, start):
        if budget.is_spent:
            return Page(tuple(found), order)
        fire = decode_fire(order, record)
        timer = calendar.timer_of(state.snapshot, fire)
        budget.examine(len(record) + len(timer.payload))
        budget.take()
        found.append(QueuedTimer(timer, view.place(fire)))
    return Page(tuple(found), None)


def _fires(
    snapshot: StoreSnapshot, target: Address | None, start: bytes
) -> Iterator[tuple[bytes, bytes]]:
    if target is None:
        yield from fires_from(snapshot, start)
        return
    prefix = keys.fire_by_target(target)
    for key, _ in snapshot.range(prefix + start, keys.prefix_stop(prefix)):
        order = key[len(prefix) :]
        record = snapshot.get(keys.fire(order))
        assert record is not None, "the index names a fire that is not queued"
        yield order, record


__all__ = ["RANKED_MAX", "QueueView", "fires_from", "queue_page"]
