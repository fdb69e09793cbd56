"""Forecast of the rules `fifo`: first in, first out."""

from collections.abc import Iterator

from node.chain.block import Price
from node.chain.context import BlockContext
from node.chain.timers import calendar
from node.chain.timers.ruleset import Prospect
from node.chain.timers.timer import Timer
from node.primitives.types import Address, Height
from node.query.forecasts.turn import TimerOffer, Turn


class FifoForecast:
    """By due height and sequence (D22)."""

    is_reserving = True
    is_patient = False
    quotas = None

    def __init__(self, block: BlockContext, prospect: Prospect) -> None:
        """`block` is the next one, begun and thrown away."""
        self._block = block
        self._head = prospect.head

    @staticmethod
    def offered_price(block: BlockContext, offer: TimerOffer) -> Price:
        """The basefees, whatever is offered (D27)."""
        del offer
        return block.rule_set.price(block.prices)

    def weight(self, actor: Address) -> int:
        """There is none."""
        del actor
        return 0

    def turn(self, timer: Timer) -> Turn:
        """In the order of time, at the basefees (D27)."""
        block, rules = self._block, self._block.rule_set
        limit = timer.limit_under(rules.cycles_cap(block.timer_config))
        place = timer.height, timer.sequence
        return Turn(timer, limit, rules.price(block.prices), place, None)

    def line_up(self, height: int) -> Iterator[Turn]:
        """All that are due, in order; those that go unseen are not among them."""
        first = 0 if height == self._block.height else height
        for timer in calendar.timers_between(self._block.journal, first, height):
            yield self.turn(timer)

    def examined_at(self, timer: Timer) -> Height:
        """Its due height; overdue, in every block."""
        return Height(max(timer.height, self._head + 1))
