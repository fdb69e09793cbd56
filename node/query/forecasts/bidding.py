"""Forecast of the rules `bidding`: by effective tip, agents' answers unasked."""

from itertools import islice
from operator import attrgetter

from node.chain.accounts import load_account
from node.chain.block import Price
from node.chain.context import BlockContext
from node.chain.timers import calendar
from node.chain.timers.bidding_index import BIDDING_INDEX
from node.chain.timers.bidding_lane import fire_price
from node.chain.timers.gba import fill_bid, last_bid
from node.chain.timers.rules.bidding import lane_ahead, lane_view
from node.chain.timers.ruleset import Prospect
from node.chain.timers.timer import Timer
from node.chain.timers.weights import begin_weights
from node.primitives.types import NOTHING, Address, Height
from node.query.forecasts.lane_position import Standing
from node.query.forecasts.turn import TimerOffer, Turn


class BiddingForecast:
    """By effective tip, then weight times wait (D46)."""

    is_reserving = False
    is_patient = True
    quotas = None

    def __init__(self, block: BlockContext, prospect: Prospect) -> None:
        """`block` is the next one, begun and thrown away."""
        self._block = block
        self._view = lane_view(block)
        self._ahead = lane_ahead(prospect)
        self._due: list[Timer] | None = None
        self._weights = begin_weights(block)
        if block.height % self._view.epoch_length == 0:
            due = [timer for timer in self._due_next() if not self._waits_for(timer)]
            self._weights.note_overdue(due)

    @staticmethod
    def offered_price(block: BlockContext, offer: TimerOffer) -> Price:
        """With a bid of an agent's, or the default one (D45)."""
        basefee = block.prices.basefee_cycle
        bid = fill_bid(offer.max_fee, offer.max_priority, basefee, 0)
        return fire_price(block.prices, bid.priority(basefee))

    def weight(self, actor: Address) -> int:
        """What decides among equal tips, and the slice of the lane (D48)."""
        return self._weights.of(actor)

    def turn(self, timer: Timer) -> Turn:
        """How it stands as far as is known without asking its agent."""
        block, view = self._block, self._view
        bid = last_bid(timer, view.basefee, 0)
        price = fire_price(block.prices, bid.priority(view.basefee))
        weight = self._weights.of(timer.actor)
        waited = max(0, block.height - timer.height)
        standing = Standing(
            NOTHING,
            bid.max_fee,
            bid.max_priority,
            price.cycle_tip,
            weight,
            self._waits_for(timer),
            basefee_cycle=view.basefee,
            waited=waited,
        )
        place = -price.cycle_tip, -weight * (waited + 1), timer.height, timer.sequence
        return Turn(timer, self._limit(timer), price, place, standing)

    def _limit(self, timer: Timer) -> int:
        block = self._block
        return timer.limit_under(block.rule_set.cycles_cap(block.timer_config))

    def _waits_for(self, timer: Timer) -> str:
        """Why it has no turn whatever others offer, or nothing."""
        block, view = self._block, self._view
        if view.is_held_by_note(timer):
            return "funds"
        cells = block.timer_config.max_cells_per_fire
        least = fire_price(block.prices, NOTHING).cost(self._limit(timer), cells)
        if load_account(block.journal, timer.fee_payer).balance < least:
            return "funds"
        bid = last_bid(timer, view.basefee, 0)
        return "below_basefee" if bid.max_fee < view.basefee else ""

    def line_up(self, height: int) -> list[Turn]:
        """Those that may have a turn: awake, paid for, unexpired, bidding enough."""
        timers = [one for one in self._due_at(height) if one.expires_at >= height]
        turns = map(self.turn, timers)
        can_go = [t for t in turns if t.standing is None or not t.standing.waits_for]
        return sorted(can_go, key=attrgetter("place"))

    def _due_at(self, height: int) -> list[Timer]:
        if height == self._block.height:
            return self._due_next()
        count_max = self._block.timer_config.max_due_examined
        of_height = calendar.timers_between(self._block.journal, height, height)
        return list(islice(of_height, count_max))

    def _due_next(self) -> list[Timer]:
        """Those whom the next block looks at, by (height, sequence)."""
        if self._due is None:
            block = self._block
            block.due_book.gather(self._view, is_run=False)
            block.due_book.close()
            count_max = block.timer_config.max_due_examined
            due = BIDDING_INDEX.select(block.journal, self._view, count_max)
            self._due = [one.timer for one in due]
        return self._due

    def examined_at(self, timer: Timer) -> Height:
        """When it is due and awake, if nothing happens until then."""
        view, decline = self._ahead
        return Height(decline.wakes(timer, view))
