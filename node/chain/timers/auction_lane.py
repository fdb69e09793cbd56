"""The auction for the lane: who takes part, in which order, and how far the lane goes.

Each due timer that is awake is judged once, then those that may fire take their turns,
the highest effective priority first (CIP-1 §3 steps 4 to 9, D28). Each decision leaves
the numbers that were compared in the timer trace, and a full lane leaves the fire that
would have had to be outbid (D17): nobody has to compute anything anew to say why.

Rules: what many timers of a block have in common (price, weight, funds of their payer)
is looked up once; a block with 10,000 due timers is judged in a tenth of a second.
"""

from bisect import bisect_right
from operator import attrgetter

from msgspec import Struct, field
from msgspec.structs import replace

from node.chain.accounts import load_account
from node.chain.block import Price
from node.chain.context import BlockContext, QueuedFire
from node.chain.globals import BlockPrices
from node.chain.params import TieBreak
from node.chain.timers import fairness
from node.chain.timers.due_index import DueTimer, LaneView
from node.chain.timers.gba import Bid, Inquiry, bid_of, common_context, default_bid
from node.chain.timers.lane import (
    available_funds,
    expire,
    fire,
    has_cells_left,
    has_writes_left,
    pre_charge,
    put_off,
    put_off_for_cells,
    put_off_for_writes,
    record,
    remove_unfunded,
    rewrite,
)
from node.chain.timers.timer import Decision, Timer, TimerDecision
from node.primitives import codec
from node.primitives.types import NOTHING, Address, Amount, TimerId


def _agent_context(
    block: BlockContext, timer: Timer
) -> dict[bytes | int | str, codec.Value]:
    """CIP-1 §7.2, name by name (D34)."""
    return common_context(block, timer) | {
        "basefee_lane_timer": block.prices.basefee_lane,
        "previous_block_p50_priority_tip_per_cycle": block.prices.p50_priority,
    }


INQUIRY = Inquiry(_agent_context, ("max_fee_per_cycle", "max_priority_fee_per_cycle"))


class Offer(Struct, frozen=True, gc=False):
    """What timers with the same bid pay and compete with in one block."""

    bid: Bid
    price: Price
    cycle: int
    """Base units a cycle, all parts together."""


class Contender(Struct, frozen=True, gc=False):
    """A due timer that may fire, with what decides its place."""

    place: tuple[int, int]
    """Of D33's tie-break `fair`: effective priority, weight; negated, so ascending."""
    due: DueTimer
    limit: int
    required: Amount
    """What a fire sets aside."""
    offer: Offer
    weight: int
    """W of its actor, in parts per million."""
    is_answered: bool | None
    """Whether its Gas Bidding Agent answered; None without one."""

    @property
    def effective(self) -> int:
        """Priority times weight, in parts per million of a base unit a cycle."""
        return -self.place[0]


def fire_price(prices: BlockPrices, tip: Amount) -> Price:
    """All that a fire pays per unit; the lane basefee is burned, too (D29)."""
    return Price(
        prices.basefee_cycle,
        tip,
        prices.basefee_cell,
        NOTHING,
        prices.basefee_lane,
    )


def run_auction(
    block: BlockContext, view: LaneView, due: list[DueTimer]
) -> dict[TimerId, Address]:
    """Judge the timers that a block looks at, then let them take their turns.

    Returned are those that fired, with their actors.
    """
    judge = Judge(block, view)
    judged = [judge.classify(one) for one in due]
    contenders = ranked(block, [one for one in judged if one is not None])
    lane = _Lane(block, view, len(contenders))
    for rank, contender in enumerate(contenders, 1):
        lane.take(contender, rank)
    return {timer_id: actor for timer_id, actor, _ in lane.fires}


def ranked(block: BlockContext, contenders: list[Contender]) -> list[Contender]:
    """By effective priority; ties as the genesis chose (CIP-1 §3 step 7, D33)."""
    if block.params.auction_tie_break is TieBreak.CIP:
        return sorted(
            contenders,
            key=lambda c: (
                -c.effective,
                c.due.timer.timer_id,
                c.due.timer.scheduled_at,
            ),
        )
    # Those given are in order of due height and sequence; sorting keeps it.
    return sorted(contenders, key=attrgetter("place"))


class Judge:
    """Who may fire in a block: expired → over cap → bid → basefee → unfunded (D28)."""

    def __init__(self, block: BlockContext, view: LaneView) -> None:
        self.block = block
        self.view = view
        self._weights = fairness.Weights(block.journal)
        # Of timers without an agent, by what they state.
        self._offers: dict[tuple[Amount | None, Amount | None], Offer] = {}
        self._funds: dict[Address, Amount] = {}  # until an agent is paid for
        cells = block.timer_config.max_cells_per_fire
        self._cells_cost = cells * block.prices.basefee_cell

    def classify(self, due: DueTimer) -> Contender | None:
        """A contender, unless the timer leaves or waits: then why is recorded."""
        timer, view = due.timer, self.view
        if view.height > timer.expires_at:
            expire(self.block, timer)
            return None
        if timer.gas_limit > view.cap and view.is_over_cap(timer):
            _hold_over_cap(self.block, view, timer)
            return None
        is_answered = None
        if timer.gba is None:
            stated = timer.max_fee_per_cycle, timer.max_priority_fee_per_cycle
            offer = self._offers.get(stated) or self._offer_of(timer)
        else:
            due, offer, is_answered = self._ask(due)
            timer = due.timer
        bid, price = offer.bid, offer.price
        if bid.max_fee < view.basefee:
            numbers = {"max_fee": int(bid.max_fee), "basefee_lane": int(view.basefee)}
            put_off(self.block, timer, "lane_basefee", numbers)
            return None
        limit = timer.limit_under(view.cap)
        required = limit * offer.cycle + self._cells_cost
        available = self._funds.get(timer.fee_payer)
        if available is None:
            available = available_funds(self.block, timer)
            self._funds[timer.fee_payer] = available
        if available < required:
            story = {
                "priority": int(price.cycle_tip),
                "basefee_lane": int(view.basefee),
                "limit": limit,
            }
            remove_unfunded(self.block, timer, required, available, story)
            return None
        weight = self._weights.of(timer.actor)
        place = (-price.cycle_tip * weight, -weight)
        return Contender(
            place, due, limit, Amount(required), offer, weight, is_answered
        )

    def _offer_of(self, timer: Timer) -> Offer:
        stated = timer.max_fee_per_cycle, timer.max_priority_fee_per_cycle
        bid = default_bid(timer, self.view.basefee, self.block.prices.p50_priority)
        offer = self._offers[stated] = self._price(bid)
        return offer

    def _price(self, bid: Bid) -> Offer:
        price = fire_price(self.block.prices, bid.priority(self.view.basefee))
        return Offer(bid, price, price.cycle)

    def _ask(self, due: DueTimer) -> tuple[DueTimer, Offer, bool]:
        """The timer as the answer left its record, what it offers, and if it did."""
        block, timer = self.block, due.timer
        default = default_bid(timer, self.view.basefee, block.prices.p50_priority)
        bid, is_own = bid_of(block, timer, INQUIRY, default)
        self._funds.clear()  # it was paid for
        answer = bid.max_fee, bid.max_priority
        if is_own and timer.last_bid != answer:
            rewrite(block, timer, replace(timer, last_bid=answer))
            due = due.as_it_stands(block.journal)
        return due, self._price(bid), is_own


def _hold_over_cap(block: BlockContext, view: LaneView, timer: Timer) -> None:
    """It waits without an attempt (CIP-1 §3 step 7), and is told of it once (D17)."""
    numbers = {"limit": timer.gas_limit, "cap": view.cap}
    put_off(block, timer, "cap", numbers)
    if not timer.is_over_cap_noted:
        rewrite(block, timer, replace(timer, is_over_cap_noted=True))
        block.emit("TimerDeferredOverCap", timer_id=timer.timer_id, **numbers)


class _Lane(Struct):
    """The lane while it fills: who took which part of it, in order."""

    block: BlockContext
    view: LaneView
    contenders: int
    _stops: list[int] = field(default_factory=list)
    """Cycles used after each fire."""
    fires: list[tuple[TimerId, Address, int]] = field(default_factory=list)
    """Of each the timer, its actor and its effective priority."""

    def take(self, contender: Contender, rank: int) -> None:
        """Gates, pre-charge, fire, refund, for one after the other (D28).

        The gates come in the order lane, writes, funds, cells (D8, D43): so nobody is
        destroyed for want of funds who could not have fired with them.
        """
        block, limit, offer = self.block, contender.limit, contender.offer
        timer = contender.due.present(block.journal)
        if timer is None:
            return  # one that fired before it cancelled it
        lane, used = block.timer_config.lane_timer_cycles, block.timer_cycles
        if used + limit > lane:
            self._put_off(timer, contender, rank)
            return
        story = self._story(contender, rank)
        if not has_writes_left(block):
            put_off_for_writes(block, timer, story)
            return
        required = contender.required
        account = load_account(block.journal, timer.fee_payer)
        available = account.balance
        if available < required:
            remove_unfunded(block, timer, required, available, story)
        elif not has_cells_left(block):
            put_off_for_cells(block, timer, story)
        else:
            queued = QueuedFire(timer, limit, offer.price, required, available, used)
            as_read = contender.due.record if timer is contender.due.timer else None
            pre_charge(block, queued, account, as_read)
            fire(block, queued, story)
            self._stops.append(block.timer_cycles)
            self.fires.append((timer.timer_id, timer.actor, -contender.place[0]))

    def _put_off(self, timer: Timer, contender: Contender, rank: int) -> None:
        """The lane is too full: note the fire after which its limit fitted no more.

        Whoever comes before that fire finds the lane as it did: its effective priority
        is the price of the place.
        """
        lane, limit = self.block.timer_config.lane_timer_cycles, contender.limit
        first = bisect_right(self._stops, lane - limit)
        rival, _, marginal = self.fires[first]
        numbers = {
            "current_height": self.block.height,
            "sequence": timer.sequence,
            "limit": limit,
            "used": self.block.timer_cycles,
            "lane": lane,
            "marginal_priority": marginal,
            **self._story(contender, rank),
        }
        self.block.trace.append(
            TimerDecision(
                timer.timer_id,
                timer.actor,
                timer.fee_payer,
                timer.height,
                Decision.PUT_OFF,
                "lane",
                numbers,
                rival=rival,
            )
        )

    def _story(self, contender: Contender, rank: int) -> dict[str, int]:
        """What decided the place: offered, weighed, ranked."""
        offer = contender.offer
        bid = offer.bid
        story: dict[str, int] = {
            "max_fee": bid.max_fee,
            "max_priority": bid.max_priority,
            "basefee_lane": self.view.basefee,
            "priority": offer.price.cycle_tip,
            "weight_ppm": contender.weight,
            "effective_priority": -contender.place[0],
            "rank": rank,
            "contenders": self.contenders,
        }
        if contender.is_answered is not None:
            story["agent_answered"] = int(contender.is_answered)
        return story


def note_turn(
    block: BlockContext, view: LaneView, timer: Timer, decision: Decision
) -> None:
    """That a timer falls asleep, or woke: why, and what was compared (D36)."""
    if view.height > timer.expires_at:
        reason, numbers = "expired", {"expires_at": int(timer.expires_at)}
    elif timer.is_over_cap_noted:
        reason, numbers = "cap", {"limit": timer.gas_limit, "cap": view.cap}
    else:
        reason = "lane_basefee"
        numbers = {
            "max_fee": timer.max_fee_per_cycle or 0,
            "basefee_lane": view.basefee,
        }
    record(block, timer, decision, reason, numbers)


__all__ = [
    "Contender",
    "Judge",
    "Offer",
    "fire_price",
    "note_turn",
    "ranked",
    "run_auction",
]
