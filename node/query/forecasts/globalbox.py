"""Forecast of the rules `globalbox`: the order of the queue, then what becomes due."""

from collections.abc import Iterator
from itertools import islice

from node.chain.block import Price
from node.chain.context import BlockContext
from node.chain.params import FIRE_QUOTA_MAX
from node.chain.timers import calendar
from node.chain.timers.globalbox import queue
from node.chain.timers.globalbox.fires import GlobalFire
from node.chain.timers.globalbox.lane import fire_price, queue_floor, timer_of
from node.chain.timers.ruleset import Prospect
from node.chain.timers.timer import Timer
from node.primitives.types import Address, Height
from node.query.forecasts.turn import TimerOffer, Turn


class GlobalboxForecast:
    """What is queued goes first, in its order; who becomes due is scored then (D52)."""

    is_reserving = True
    is_patient = False

    def __init__(self, block: BlockContext, prospect: Prospect) -> None:
        """`block` is the next one, begun and thrown away."""
        self._block = block
        self._head = prospect.head

    @staticmethod
    def offered_price(block: BlockContext, offer: TimerOffer) -> Price:
        """The basefees and the bid, which is the least by default (D50, D54)."""
        least = block.globalbox_config.min_bid_fp
        return fire_price(block, least if offer.bid_fp is None else offer.bid_fp)

    def weight(self, actor: Address) -> int:
        """There is none."""
        del actor
        return 0

    def turn(self, timer: Timer) -> Turn:
        """At its place in the queue; not queued, behind all that are."""
        journal = self._block.journal
        fire = (
            queue.fire_of_watch(journal, timer.timer_id)
            if timer.is_watch
            else calendar.fire_of(journal, timer)
        )
        if fire is not None:
            return self._queued(timer, fire)
        config = self._block.globalbox_config
        age = max(0, self._block.height - timer.height)
        score = config.w_age * age + config.w_bid * timer.bid_fp
        place = 1, -score, -timer.bucket, timer.height, timer.sequence
        return self._turn(timer, timer.bid_fp, place)

    def _queued(self, timer: Timer, fire: GlobalFire) -> Turn:
        return self._turn(timer, fire.bid_fp, (0, fire.order))

    def _turn(self, timer: Timer, bid_fp: int, place: tuple[int | bytes, ...]) -> Turn:
        block = self._block
        limit = timer.limit_under(block.rule_set.cycles_cap(block.timer_config))
        return Turn(timer, limit, fire_price(block, bid_fp), place, None)

    def line_up(self, height: int) -> Iterator[Turn]:
        """In the next block what is queued, and at any height who becomes due."""
        block, first = self._block, height
        if height == block.height:
            first = 0
            fires = queue.in_order(block.journal, queue_floor(block))
            for fire in islice(fires, FIRE_QUOTA_MAX):
                yield self._queued(timer_of(block, fire), fire)
        for timer in calendar.timers_between(block.journal, first, height):
            yield self.turn(timer)

    def examined_at(self, timer: Timer) -> Height:
        """Its due height; overdue or queued, in every block."""
        is_queued = timer.is_watch and queue.fire_of_watch(
            self._block.journal, timer.timer_id
        )
        return Height(
            self._head + 1 if is_queued else max(timer.height, self._head + 1)
        )
