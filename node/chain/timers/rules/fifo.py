"""Rules `fifo`: CIP-5 §1 to §8, in two passes (D26).

First every due timer is classified in order: expired, then unfunded ones leave under
the GC budget; one whose limit does not fit what the lane has left to reserve is put
off, later and smaller ones may still go; the others are pre-charged and queued. Then
the queue runs in order. A fire pays exactly the basefees (D27).
"""

from collections.abc import Mapping

from node.chain.accounts import Account, load_account
from node.chain.block import Price
from node.chain.context import BlockContext, ExecutionScope, QueuedFire
from node.chain.globals import BlockPrices
from node.chain.params import TimerConfig
from node.chain.timers.lane import (
    due_timers,
    expire,
    fire,
    give_back,
    has_cells_left,
    has_writes_left,
    pre_charge,
    put_off_for_cells,
    put_off_for_writes,
    remove_unfunded,
)
from node.chain.timers.ruleset import (
    FeeTerms,
    Prospect,
    TimerBounds,
    common_bounds,
    read_terms,
    related_agent,
)
from node.chain.timers.timer import Decision, Timer, TimerDecision
from node.primitives import codec
from node.primitives.types import Address, Amount, Height
from pvm import ScheduleRequest


class Fifo:
    """First in, first out within a height."""

    name = "fifo"
    is_owner_paying = False

    def enter(self, block: BlockContext, *, is_first: bool) -> None:
        """Nothing is to be prepared."""

    def leave(self, block: BlockContext) -> None:
        """Nothing is left behind."""

    def first_lane_basefee(self, basefee_cycle: int) -> Amount:
        """There is none (D27)."""
        del basefee_cycle
        return Amount(0)

    def cycles_cap(self, config: TimerConfig) -> int:
        """`max_cycles_per_fire` (CIP-5 §6.2)."""
        return config.max_cycles_per_fire

    def bounds(self, block: BlockContext) -> TimerBounds:
        """Those of CIP-5 §4.2 and D16."""
        return common_bounds(block.timer_config)

    def validate_terms(
        self, execution: ExecutionScope, request: ScheduleRequest
    ) -> FeeTerms:
        """Fee arguments are recorded as they are; nothing is asked of them (D31)."""
        del execution
        return read_terms(request)

    def validate_agent(
        self, execution: ExecutionScope, actor: Address, request: ScheduleRequest
    ) -> Address | None:
        """None, or one that is related to the actor: it is recorded (D34)."""
        return related_agent(execution, actor, request)

    def announcement(
        self, timer: Timer, terms: FeeTerms
    ) -> tuple[str, dict[str, codec.Value]] | None:
        """`bid` is accepted, ignored, and its deprecation said (D35)."""
        if not terms.is_bid_stated:
            return None
        return "TimerArgDeprecated", {"timer_id": timer.timer_id}

    def price(self, prices: BlockPrices, timer: Timer | None = None) -> Price:
        """The basefees in force, all burned; no tip, no lane basefee (D27)."""
        del timer
        none = Amount(0)
        return Price(prices.basefee_cycle, none, prices.basefee_cell, none)

    def wake_height(self, prospect: Prospect) -> Height | None:
        """The due height of the first timer; an overdue one is looked at next (D36)."""
        first = prospect.calendar.first_due()
        return None if first is None else Height(max(first, prospect.head + 1))

    def pass_time(self, block: BlockContext) -> None:
        """Nothing but time passes."""

    def run_lane(self, block: BlockContext) -> None:
        """CIP-5 §5.1 steps 2 to 5."""
        timers = due_timers(block)
        if timers:
            _classify(block, timers, self.price(block.prices))
            _run_queue(block)

    def take_back(self, block: BlockContext, timer: Timer) -> None:
        """Who is due is read from the calendar, and finds it there."""

    def finish(self, block: BlockContext) -> None:
        """Nothing is left to be done."""

    def next_prices(self, block: BlockContext) -> tuple[Amount, Amount]:
        """As they were: neither exists under `fifo` (D27)."""
        return block.prices.basefee_lane, block.prices.p50_priority


def _classify(block: BlockContext, timers: list[Timer], price: Price) -> None:
    """First pass: judge each due timer in order; gates funds, lane (D8, D26)."""
    lane = block.timer_config.lane_timer_cycles
    cells_max = block.timer_config.max_cells_per_fire
    reserved = 0
    payers: dict[Address, Account] = {}  # until a pre-charge changes them
    costs: dict[int, Amount] = {}  # by limit
    waits: dict[int, dict[str, int]] = {}  # by limit, until a pre-charge changes them
    cap = block.rule_set.cycles_cap(block.timer_config)
    height = block.height
    for timer in timers:
        if height > timer.expires_at:  # equal fires (CIP-5 §5.4 path 3, D20)
            expire(block, timer)
            continue
        limit = timer.limit_under(cap)
        required = costs.get(limit)
        if required is None:
            required = costs[limit] = price.cost(limit, cells_max)
        payer = payers.get(timer.fee_payer)
        if payer is None:
            payer = load_account(block.journal, timer.fee_payer)
            payers[timer.fee_payer] = payer
        available = payer.balance
        if available < required:
            remove_unfunded(block, timer, required, available)
        elif reserved + limit > lane:
            numbers = waits.get(limit)
            if numbers is None:
                numbers = {"limit": limit, "reserved": reserved, "lane": lane}
                waits[limit] = numbers
            block.trace.append(_waiting(height, timer, numbers))
        else:
            queued = QueuedFire(timer, limit, price, required, available, reserved)
            pre_charge(block, queued, payer)
            block.queue[timer.timer_id] = queued
            reserved += limit
            del payers[timer.fee_payer]
            waits.clear()


def _waiting(height: int, timer: Timer, numbers: Mapping[str, int]) -> TimerDecision:
    """That a timer finds no room, which a block can say of 10,000."""
    return TimerDecision(
        timer.timer_id,
        timer.actor,
        timer.fee_payer,
        timer.height,
        Decision.PUT_OFF,
        "lane",
        {"current_height": height, "sequence": timer.sequence, **numbers},
    )


def _run_queue(block: BlockContext) -> None:
    """Second pass: run the queue in order and refund; what has no room goes back."""
    while block.queue:
        timer_id = next(iter(block.queue))
        queued = block.queue.pop(timer_id)  # from here on it is not to be found (D21)
        if queued.is_cancelled:
            continue
        if not has_writes_left(block):
            give_back(block, queued)
            put_off_for_writes(block, queued.timer)
        elif not has_cells_left(block):
            give_back(block, queued)
            put_off_for_cells(block, queued.timer)
        else:
            fire(block, queued)
