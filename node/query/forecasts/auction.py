"""Forecast of the rules `auction`: by effective priority, agents' answers unasked."""

from itertools import islice
from operator import attrgetter

from node.chain.block import Price
from node.chain.context import BlockContext
from node.chain.params import TieBreak
from node.chain.timers import calendar, fairness
from node.chain.timers.auction_lane import fire_price
from node.chain.timers.due_index import AUCTION_INDEX
from node.chain.timers.gba import fill_bid, last_bid
from node.chain.timers.rules.auction import lane_ahead, lane_view
from node.chain.timers.ruleset import Prospect
from node.chain.timers.timer import Timer
from node.primitives.types import Address, Height
from node.query.forecasts.lane_position import Standing
from node.query.forecasts.turn import TimerOffer, Turn


class AuctionForecast:
    """By effective priority, and D33's tie-break."""

    is_reserving = False
    is_patient = False
    quotas = None

    def __init__(self, block: BlockContext, prospect: Prospect) -> None:
        """`block` is the next one, begun and thrown away."""
        self._block = block
        self._view = lane_view(block)
        self._ahead = lane_ahead(prospect)
        self._is_gathered = False
        window = block.timer_config.fairness_window_blocks
        fairness.prune(block.journal, block.height, window)
        self._weights = fairness.Weights(block.journal)

    @staticmethod
    def offered_price(block: BlockContext, offer: TimerOffer) -> Price:
        """With what is stated, the rest the default agent's (CIP-1 §7.1)."""
        lane, p50 = block.prices.basefee_lane, block.prices.p50_priority
        bid = fill_bid(offer.max_fee, offer.max_priority, lane, p50)
        return fire_price(block.prices, bid.priority(lane))

    def weight(self, actor: Address) -> int:
        """What decides beside the priority (D32)."""
        return self._weights.of(actor)

    def turn(self, timer: Timer) -> Turn:
        """How it stands as far as is known without asking its agent."""
        view, prices = self._view, self._block.prices
        bid = last_bid(timer, view.basefee, view.p50)
        price = fire_price(prices, bid.priority(view.basefee))
        weight = self._weights.of(timer.actor)
        waits_for = "lane_basefee" if bid.max_fee < view.basefee else ""
        if view.is_over_cap(timer):
            waits_for = "cap"
        standing = Standing(
            view.basefee,
            bid.max_fee,
            bid.max_priority,
            price.cycle_tip,
            weight,
            waits_for,
        )
        place: tuple[int | bytes, ...]
        effective = standing.effective_priority
        if self._block.params.auction_tie_break is TieBreak.CIP:
            place = -effective, timer.timer_id, timer.scheduled_at
        else:
            place = -effective, -weight, timer.height, timer.sequence
        return Turn(timer, timer.limit_under(view.cap), price, place, standing)

    def line_up(self, height: int) -> list[Turn]:
        """Those that may have a turn: awake, in cap, unexpired, bidding enough."""
        timers = [one for one in self._due_at(height) if one.expires_at >= height]
        turns = map(self.turn, timers)
        can_go = [t for t in turns if t.standing is None or not t.standing.waits_for]
        return sorted(can_go, key=attrgetter("place"))

    def _due_at(self, height: int) -> list[Timer]:
        block, journal = self._block, self._block.journal
        count_max = block.timer_config.max_due_examined
        if height != block.height:
            of_height = calendar.timers_between(journal, height, height)
            return list(islice(of_height, count_max))
        if not self._is_gathered:
            block.due_book.gather(self._view, is_run=False)
            block.due_book.close()
            self._is_gathered = True
        due = AUCTION_INDEX.select(journal, self._view, count_max)
        return [one.timer for one in due]

    def examined_at(self, timer: Timer) -> Height:
        """When it is due and awake, if nothing happens until then."""
        view, decline = self._ahead
        return Height(decline.wakes(timer, view))
