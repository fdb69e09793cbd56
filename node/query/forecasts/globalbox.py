"""Forecast of the rules `globalbox`: one line of what is queued and what will be."""

from collections.abc import Iterator
from heapq import merge
from itertools import islice
from operator import attrgetter

from node.chain.block import Price
from node.chain.context import BlockContext
from node.chain.params import FIRE_QUOTA_MAX
from node.chain.timers import calendar
from node.chain.timers.globalbox import hits, queue
from node.chain.timers.globalbox.fires import GlobalFire
from node.chain.timers.globalbox.lane import (
    FireCandidate,
    fire_price,
    order_for,
    queue_floor,
    score_of,
    with_cursors,
)
from node.chain.timers.ruleset import Prospect
from node.chain.timers.timer import Timer
from node.primitives.types import Address, Height, TimerId
from node.query.forecasts.turn import FireQuotas, TimerOffer, Turn


class GlobalboxForecast:
    """By the order of D52, in which newcomers stand among what is queued."""

    is_reserving = True
    is_patient = False

    def __init__(self, block: BlockContext, prospect: Prospect) -> None:
        """`block` is the next one, begun and thrown away."""
        self._block = block
        self._head = prospect.head
        self._newcomers: dict[int, dict[TimerId, Turn]] = {}

    @staticmethod
    def offered_price(block: BlockContext, offer: TimerOffer) -> Price:
        """The basefees and the bid, which is the least by default (D50, D54)."""
        least = block.globalbox_config.min_bid_fp
        return fire_price(block, least if offer.bid_fp is None else offer.bid_fp)

    @property
    def quotas(self) -> FireQuotas:
        """Of fires that a block takes (D53)."""
        config = self._block.globalbox_config
        return FireQuotas(config.max_fires_per_block, config.max_fires_per_target)

    def weight(self, actor: Address) -> int:
        """There is none."""
        del actor
        return 0

    def turn(self, timer: Timer) -> Turn:
        """At its place in the queue, or at the one that it would get."""
        fire = self._fire_of(timer)
        if fire is not None:
            return self._queued(timer, fire)
        height = self.examined_at(timer)
        turn = self._newcomers_at(height).get(timer.timer_id)
        return turn or self._turn_of(
            self._newcomer(timer, timer.height, height), 0, height
        )

    def _fire_of(self, timer: Timer) -> GlobalFire | None:
        journal = self._block.journal
        if timer.is_watch:
            return queue.fire_of_watch(journal, timer.timer_id)
        return calendar.fire_of(journal, timer)

    def _newcomer(self, timer: Timer, origin: int, height: int) -> FireCandidate:
        score = score_of(self._block, timer, max(0, height - origin))
        return FireCandidate(timer, None, origin, score)

    def _newcomers_at(self, height: int) -> dict[TimerId, Turn]:
        """Turns of those that the block at a height would queue."""
        if height not in self._newcomers:
            self._newcomers[height] = {
                newcomer.timer.timer_id: self._turn_of(newcomer, cursor, height)
                for newcomer, cursor in with_cursors(list(self._found_at(height)))
            }
        return self._newcomers[height]

    def _found_at(self, height: int) -> Iterator[FireCandidate]:
        """Who becomes due at a height; in the next block who is due, or was hit."""
        block, first = self._block, height
        if height == block.height:
            first = 0
            for hit in hits.noted(
                block.journal, block.globalbox_config.max_hits_per_block
            ):
                yield self._newcomer(hit.timer, hit.height, height)
        due = calendar.timers_between(block.journal, first, height)
        for timer in islice(due, block.timer_config.max_due_examined):
            if timer.expires_at >= height:
                yield self._newcomer(timer, timer.height, height)

    def _turn_of(self, newcomer: FireCandidate, cursor: int, height: int) -> Turn:
        timer, block = newcomer.timer, self._block
        clock, config = block.governed.globalbox_clock, block.globalbox_config
        order = order_for(newcomer, cursor, clock.at(height, config.w_age))
        return self._turn(timer, timer.bid_fp, order)

    def _queued(self, timer: Timer, fire: GlobalFire) -> Turn:
        return self._turn(timer, fire.bid_fp, fire.order)

    def _turn(self, timer: Timer, bid_fp: int, order: bytes) -> Turn:
        block = self._block
        limit = timer.limit_under(block.rule_set.cycles_cap(block.timer_config))
        return Turn(timer, limit, fire_price(block, bid_fp), (order,), None)

    def line_up(self, height: int) -> Iterator[Turn]:
        """Who becomes due at a height; in the next block among what is queued."""
        place = attrgetter("place")
        newcomers = sorted(self._newcomers_at(height).values(), key=place)
        if height != self._block.height:
            return iter(newcomers)
        return merge(self._queue(), newcomers, key=place)

    def _queue(self) -> Iterator[Turn]:
        block = self._block
        fires = queue.in_order(block.journal, queue_floor(block))
        for fire in islice(fires, FIRE_QUOTA_MAX):
            yield self._queued(calendar.timer_of(block.journal, fire), fire)

    def examined_at(self, timer: Timer) -> Height:
        """Its due height; overdue, queued or noted, the next block's."""
        following = self._head + 1
        if timer.is_watch:
            journal = self._block.journal
            is_waiting = self._fire_of(timer) or hits.noted_of(journal, timer)
            return Height(following if is_waiting else max(timer.height, following))
        return Height(max(timer.height, following))
