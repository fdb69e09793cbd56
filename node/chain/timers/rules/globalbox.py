"""Rules `globalbox`: the older CIP-5 with state-triggered timers (GBX, D50 to D56).

Timers fire at a height or when state changes that they watch, and call an actor that
need not be their owner. What is due or was hit is queued in the Globalbox, in an order
that is frozen once it is queued: age and bids decide it. Each block consumes the head
of that queue under quotas. A fire pays the basefees and, to the proposer, its bid.
"""

from node.chain.block import Price
from node.chain.context import BlockContext, ExecutionScope
from node.chain.globals import BlockPrices
from node.chain.host_arguments import refuse
from node.chain.params import TIERS, TimerConfig
from node.chain.timers.globalbox import hits
from node.chain.timers.globalbox.calls import expect_bid
from node.chain.timers.globalbox.fires import BID_FRACTION_BITS
from node.chain.timers.globalbox.lane import (
    deliver,
    materialize,
    note_changes,
    run_fires,
)
from node.chain.timers.ruleset import (
    FeeTerms,
    Prospect,
    TimerBounds,
    read_terms,
    related_agent,
)
from node.chain.timers.timer import Timer
from node.primitives import codec
from node.primitives.types import NOTHING, Address, Amount, Height
from pvm import ScheduleRequest


class Globalbox:
    """One queue of fires across blocks, by age and bid."""

    name = "globalbox"
    is_owner_paying = False

    def enter(self, block: BlockContext, *, is_first: bool) -> None:
        """Nothing is to be prepared: who is due is queued by Deliver (D55)."""

    def leave(self, block: BlockContext) -> None:
        """The queue is emptied by the blocks to come (`leaving`, D55)."""

    def first_lane_basefee(self, basefee_cycle: int) -> Amount:
        """There is none."""
        del basefee_cycle
        return NOTHING

    def cycles_cap(self, config: TimerConfig) -> int:
        """`max_cycles_per_fire` (D54)."""
        return config.max_cycles_per_fire

    def bounds(self, block: BlockContext) -> TimerBounds:
        """The config's, and at least the entry charge (GBX §12, D50)."""
        config = block.globalbox_config
        least = max(config.min_gas_limit, block.timer_config.fire_base_cycles)
        return TimerBounds(least, config.max_payload)

    def validate_terms(
        self, execution: ExecutionScope, request: ScheduleRequest
    ) -> FeeTerms:
        """A bid within its bounds, a tier as bucket; other fees are recorded (D50)."""
        terms = read_terms(request)
        config = execution.block.globalbox_config
        bid_fp = (
            config.min_bid_fp
            if request.bid is None
            else expect_bid(execution, request.bid, "bid_fp")
        )
        hint, bucket = terms.priority_tier_hint, 0
        if hint is not None:
            if hint not in TIERS:
                refuse(f"priority_tier_hint: one of {', '.join(TIERS)} is wanted")
            bucket = TIERS.index(hint) + 1
        return FeeTerms(
            terms.max_fee_per_cycle,
            terms.max_priority_fee_per_cycle,
            hint,
            terms.is_bid_stated,
            bid_fp=bid_fp,
            bucket=bucket,
        )

    def validate_agent(
        self, execution: ExecutionScope, actor: Address, request: ScheduleRequest
    ) -> Address | None:
        """None, or one that is related to the actor: it is recorded (D34, D50)."""
        return related_agent(execution, actor, request)

    def announcement(
        self, timer: Timer, terms: FeeTerms
    ) -> tuple[str, dict[str, codec.Value]] | None:
        """There is nothing to say about the terms."""
        del timer, terms
        return None

    def price(self, prices: BlockPrices, timer: Timer | None = None) -> Price:
        """The basefees, burned; above them what the timer bids (D54)."""
        bid_fp = 0 if timer is None else timer.bid_fp
        tip = Amount(bid_fp >> BID_FRACTION_BITS)
        return Price(prices.basefee_cycle, tip, prices.basefee_cell, NOTHING)

    def wake_height(self, prospect: Prospect) -> Height | None:
        """The next height while a hit is noted, else that of the first timer (D55)."""
        if hits.is_any(prospect.reader):
            return Height(prospect.head + 1)
        first = prospect.calendar.first_due()
        return None if first is None else Height(max(first, prospect.head + 1))

    def pass_time(self, block: BlockContext) -> None:
        """Nothing but time passes; everybody in the queue ages alike (D52)."""

    def run_lane(self, block: BlockContext) -> None:
        """Deliver, Materialize, Execute (GBX §4)."""
        run_fires(block, materialize(block, deliver(block)))

    def take_back(self, block: BlockContext, timer: Timer) -> None:
        """Nothing leaves the queue in this way while these rules are in force."""
        del block, timer
        raise AssertionError("the queue is not emptied under globalbox")

    def finish(self, block: BlockContext) -> None:
        """What timers and messages changed is matched (D51)."""
        note_changes(block)

    def next_prices(self, block: BlockContext) -> tuple[Amount, Amount]:
        """Neither exists."""
        return block.prices.basefee_lane, block.prices.p50_priority
