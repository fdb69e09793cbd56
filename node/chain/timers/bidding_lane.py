"""The lane under `bidding`: who bids what, who goes first, and how far (D45, D46).

A block asks the agents of its due timers, sorts those whose bid reaches the basefee by
effective tip, and lets them fire one after the other in two rounds: in the first no
actor takes more than its slice of the lane, in the second price decides what the slices
have left (CIP-1v1 §3). Nobody is destroyed here but the expired: who cannot pay waits
(§4.1). Each decision leaves the numbers that were compared in the timer trace (D17).
"""

from bisect import bisect_right
from collections.abc import Iterable
from operator import attrgetter

from msgspec import Struct, field
from msgspec.structs import replace

from node.chain.accounts import load_account
from node.chain.block import Price
from node.chain.context import BlockContext, QueuedFire
from node.chain.globals import BlockPrices
from node.chain.timers.bidding_index import BiddingView
from node.chain.timers.due_index import DueTimer
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
    rewrite,
)
from node.chain.timers.timer import Decision, Timer, TimerDecision
from node.chain.timers.weights import EpochWeights, FireSums
from node.primitives.types import NOTHING, Address, Amount, TimerId

INQUIRY = Inquiry(common_context, ("max_fee_per_cycle", "tip_per_cycle"))


class Candidate(Struct, frozen=True, gc=False):
    """A due timer whose bid reaches the basefee."""

    due: DueTimer
    limit: int
    bid: Bid
    price: Price
    required: Amount
    """What a fire sets aside."""
    is_answered: bool | None
    """Whether its Gas Bidding Agent answered; None without one."""


class Bidder(Struct, frozen=True, gc=False):
    """A candidate with what decides its place."""

    place: tuple[int, int]
    """Effective tip, and weight times the blocks since it was due; negated, so
    ascending."""
    candidate: Candidate
    weight: int
    """Of its actor, in parts per million."""
    slice: int
    """Cycles of the lane that are its actor's in the first round."""


def fire_price(prices: BlockPrices, tip: Amount) -> Price:
    """Basefees, burned, and the effective tip: there is no lane basefee (D47)."""
    return Price(prices.basefee_cycle, tip, prices.basefee_cell, NOTHING)


# --- deliver timers -------------------------------------------------------------------


class Delivery:
    """Who may fire in a block: expired → poor → bid → below basefee (D45)."""

    def __init__(self, block: BlockContext, view: BiddingView) -> None:
        self.block = block
        self.view = view
        self._cap = block.rule_set.cycles_cap(block.timer_config)
        cells = block.timer_config.max_cells_per_fire
        self._cells_cost = cells * block.prices.basefee_cell
        self._funds: dict[Address, Amount] = {}  # until an agent is paid for
        # Of timers without an agent, by what they state.
        self._offers: dict[tuple[Amount | None, Amount | None], tuple[Bid, Price]] = {}

    def classify(self, due: DueTimer) -> Candidate | None:
        """A candidate, unless the timer leaves or waits: then why is recorded."""
        block, timer, basefee = self.block, due.timer, self.view.basefee
        if self.view.height > timer.expires_at:
            expire(block, timer)
            return None
        limit = timer.limit_under(self._cap)
        least = limit * basefee + self._cells_cost
        available = self._available(timer)
        if available < least:
            self._put_off_poor(timer, least, available)
            return None
        if timer.poor_note is not None:
            rewrite(block, timer, replace(timer, poor_note=None))
            due = due.as_it_stands(block.journal)
        if timer.gba is None:
            bid, price = self._offer_of(timer)
            is_answered = None
        else:
            due, bid, is_answered = self._ask(due)
            price = fire_price(block.prices, bid.priority(basefee))
        if bid.max_fee < basefee:
            numbers = {"max_fee": int(bid.max_fee), "basefee_cycle": int(basefee)}
            put_off(block, due.timer, "below_basefee", numbers)
            return None
        required = Amount(limit * price.cycle + self._cells_cost)
        return Candidate(due, limit, bid, price, required, is_answered)

    def _available(self, timer: Timer) -> Amount:
        available = self._funds.get(timer.fee_payer)
        if available is None:
            available = available_funds(self.block, timer)
            self._funds[timer.fee_payer] = available
        return available

    def _put_off_poor(self, timer: Timer, least: int, available: int) -> None:
        """No bid could be paid: it is not asked for, and the timer stays (D45)."""
        numbers = {"required": least, "available": available}
        put_off(self.block, timer, "funds", numbers)
        note = self.view.epoch, Amount(least)
        if timer.poor_note != note:
            rewrite(self.block, timer, replace(timer, poor_note=note))

    def _offer_of(self, timer: Timer) -> tuple[Bid, Price]:
        stated = timer.max_fee_per_cycle, timer.max_priority_fee_per_cycle
        offer = self._offers.get(stated)
        if offer is None:
            basefee = self.view.basefee
            bid = default_bid(timer, basefee, 0)
            offer = bid, fire_price(self.block.prices, bid.priority(basefee))
            self._offers[stated] = offer
        return offer

    def _ask(self, due: DueTimer) -> tuple[DueTimer, Bid, bool]:
        """The timer as the answer left its record, its bid, and if it did answer."""
        block, timer = self.block, due.timer
        default = default_bid(timer, self.view.basefee, 0)
        bid, is_own = bid_of(block, timer, INQUIRY, default)
        self._funds.clear()  # it was paid for
        answer = bid.max_fee, bid.max_priority
        if is_own and timer.last_bid != answer:
            rewrite(block, timer, replace(timer, last_bid=answer))
            due = due.as_it_stands(block.journal)
        return due, bid, is_own


# --- build the priority queue ---------------------------------------------------------


def priority_queue(
    block: BlockContext, candidates: Iterable[Candidate], weights: EpochWeights
) -> list[Bidder]:
    """By effective tip, then weight times wait, due height, sequence (D46).

    Each actor with a candidate gets a slice of the lane by its weight.
    """
    height, lane = block.height, block.timer_config.lane_timer_cycles
    found = list(candidates)
    actors = dict.fromkeys(one.due.timer.actor for one in found)
    total = sum(weights.of(actor) for actor in actors)
    contenders = list[Bidder]()
    for one in found:
        timer = one.due.timer
        weight = weights.of(timer.actor)
        place = -one.price.cycle_tip, -weight * (height - timer.height + 1)
        contenders.append(Bidder(place, one, weight, lane * weight // total))
    # They are in order of due height and sequence; sorting keeps it.
    return sorted(contenders, key=attrgetter("place"))


# --- execute prioritized timers -------------------------------------------------------


class Lane(Struct):
    """The lane while it fills: who took which part of it, in order."""

    block: BlockContext
    view: BiddingView
    contenders: int
    used_by: dict[Address, FireSums] = field(default_factory=dict)
    """What the fires of each actor come to."""
    fires: list[tuple[TimerId, Address, int]] = field(default_factory=list)
    """Of each the timer, its actor and its effective tip."""
    _stops: list[int] = field(default_factory=list)
    """Cycles used after each fire."""

    def run(self, queue: list[Bidder]) -> None:
        """Two rounds in one order: within the slices, then without them (D46)."""
        ranked = list(enumerate(queue, 1))
        left = [turn for turn in ranked if self._take(*turn, is_sliced=True)]
        for rank, bidder in left:
            self._take(rank, bidder, is_sliced=False)

    def _take(self, rank: int, bidder: Bidder, *, is_sliced: bool) -> bool:
        """Gates, pre-charge, fire, refund; whether only its slice kept it out.

        The gates come in the order lane, writes, slice, funds, cells (D8, D43, D46).
        """
        block, one = self.block, bidder.candidate
        timer = one.due.present(block.journal)
        if timer is None:
            return False  # one that fired before it cancelled it
        lane, used = block.timer_config.lane_timer_cycles, block.timer_cycles
        sums = self.used_by.get(timer.actor)
        actor_used = 0 if sums is None else sums.cycles
        is_room = used + one.limit <= lane and has_writes_left(block)
        if is_sliced and is_room and actor_used + one.limit > bidder.slice:
            return True
        story = self._story(bidder, rank, actor_used)
        story["round"] = 1 if is_sliced else 2
        if is_room:
            self._fire(timer, one, story)
        elif used + one.limit > lane:
            self._put_off(timer, one.limit, story)
        else:
            put_off_for_writes(block, timer, story)
        return False

    def _fire(self, timer: Timer, one: Candidate, story: dict[str, int]) -> None:
        block, required = self.block, one.required
        account = load_account(block.journal, timer.fee_payer)
        available = account.balance
        if available < required:
            numbers = {"required": required, "available": available, **story}
            put_off(block, timer, "funds", numbers)
            return
        if not has_cells_left(block):
            put_off_for_cells(block, timer, story)
            return
        used = block.timer_cycles
        queued = QueuedFire(timer, one.limit, one.price, required, available, used)
        as_read = one.due.record if timer is one.due.timer else None
        pre_charge(block, queued, account, as_read)
        fire(block, queued, story)
        tip = one.price.cycle_tip
        self._stops.append(block.timer_cycles)
        self.fires.append((timer.timer_id, timer.actor, tip))
        cycles, late = block.timer_cycles - used, block.height - timer.height
        sums = self.used_by.get(timer.actor)
        if sums is None:
            sums = self.used_by[timer.actor] = FireSums()
        sums.count(tip, cycles, late)

    def _put_off(self, timer: Timer, limit: int, story: dict[str, int]) -> None:
        """The lane is too full: note the fire after which its limit fitted no more."""
        block, lane = self.block, self.block.timer_config.lane_timer_cycles
        rival, _, marginal = self.fires[bisect_right(self._stops, lane - limit)]
        numbers = {
            "current_height": block.height,
            "sequence": timer.sequence,
            "limit": limit,
            "used": block.timer_cycles,
            "lane": lane,
            "marginal_tip": marginal,
            **story,
        }
        block.trace.append(
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

    def _story(self, bidder: Bidder, rank: int, actor_used: int) -> dict[str, int]:
        """What decided the place: bid, weighed, ranked, sliced."""
        one = bidder.candidate
        timer = one.due.timer
        story: dict[str, int] = {
            "max_fee": one.bid.max_fee,
            "tip": one.bid.max_priority,
            "basefee_cycle": self.view.basefee,
            "effective_tip": one.price.cycle_tip,
            "weight_ppm": bidder.weight,
            "waited": self.block.height - timer.height,
            "slice": bidder.slice,
            "actor_used": actor_used,
            "rank": rank,
            "contenders": self.contenders,
        }
        if one.is_answered is not None:
            story["agent_answered"] = int(one.is_answered)
        return story


# --- who falls asleep, and who woke ---------------------------------------------------


def note_turn(
    block: BlockContext, view: BiddingView, timer: Timer, decision: Decision
) -> None:
    """That a timer falls asleep, or woke: why, and what was compared (D36, D45)."""
    numbers: dict[str, int]
    if view.height > timer.expires_at:
        reason, numbers = "expired", {"expires_at": timer.expires_at}
    elif timer.poor_note is not None:
        epoch, wanted = timer.poor_note
        available = available_funds(block, timer)
        reason = "funds" if epoch == view.epoch else "epoch"
        numbers = {"epoch": view.epoch, "required": wanted, "available": available}
    else:
        reason = "below_basefee"
        numbers = {
            "max_fee": timer.max_fee_per_cycle or 0,
            "basefee_cycle": view.basefee,
        }
    record(block, timer, decision, reason, numbers)
