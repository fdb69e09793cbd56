"""Rules `bidding`: CIP-1 version 1, as D44 to D49 decide it.

Every timer names a Gas Bidding Agent, which is asked for a bid in each block in which
the timer is due. The timer lane goes to the highest effective tips; ties, and the
slices of the lane that are each actor's own, follow weights that every epoch moves by
what it brought. There is no price of the lane: a fire pays the basefees, burned, and
its tip. Who cannot pay waits until it can, or until it expires.
"""

from functools import partial

from node.chain.accounts import load_account
from node.chain.block import Price
from node.chain.context import BlockContext, ExecutionScope
from node.chain.fees import next_basefee
from node.chain.globals import BlockPrices
from node.chain.host_arguments import expect_address, refuse
from node.chain.params import U64_MAX, BasefeeConfig, TimerConfig
from node.chain.reader import Reader
from node.chain.timers import due_index
from node.chain.timers.bidding_index import BIDDING_INDEX, BiddingView
from node.chain.timers.bidding_lane import (
    Delivery,
    Lane,
    fire_price,
    note_turn,
    priority_queue,
)
from node.chain.timers.due_index import Decline, DueTimer
from node.chain.timers.gba import last_bid
from node.chain.timers.ruleset import (
    FeeTerms,
    Prospect,
    TimerBounds,
    common_bounds,
    read_terms,
)
from node.chain.timers.timer import Decision, Timer
from node.chain.timers.weights import begin_weights
from node.primitives import codec
from node.primitives.types import NOTHING, Address, Amount, Height
from pvm import HostError, HostErrorCode, ScheduleRequest


class Bidding:
    """The lane goes to the highest bids, within slices by weight."""

    name = "bidding"
    is_owner_paying = True

    # --- coming and going ------------------------------------------------------------

    def enter(self, block: BlockContext, *, is_first: bool) -> None:
        """In the first block nobody who is due is known yet."""
        block.due_book.index = BIDDING_INDEX
        if not is_first:
            block.due_book.resume(block.before.height)

    def leave(self, block: BlockContext) -> None:
        """Weights stay, and count as none when the rules come back (D49)."""
        due_index.clear(block.journal)

    def first_lane_basefee(self, basefee_cycle: int) -> Amount:
        """There is none (D47)."""
        del basefee_cycle
        return NOTHING

    # --- scheduling ------------------------------------------------------------------

    def cycles_cap(self, config: TimerConfig) -> int:
        """`max_cycles_per_fire`, as under `fifo` (D44)."""
        return config.max_cycles_per_fire

    def bounds(self, block: BlockContext) -> TimerBounds:
        """Those of CIP-5 §4.2 and D16."""
        return common_bounds(block.timer_config)

    def validate_terms(
        self, execution: ExecutionScope, request: ScheduleRequest
    ) -> FeeTerms:
        """Types and ranges; whatever is stated, `validate_agent` refuses."""
        del execution
        return read_terms(request)

    def validate_agent(
        self, execution: ExecutionScope, actor: Address, request: ScheduleRequest
    ) -> Address:
        """Every timer has one, which may be any actor's (CIP-1v1 §3, §4.2; D44)."""
        del actor
        if request.gba is None:
            raise HostError(
                HostErrorCode.GbaRequired,
                "gba: the address of a Gas Bidding Agent, which schedule_timer takes",
            )
        gba = expect_address(request.gba, "gba")
        stated = (
            request.max_fee_per_cycle,
            request.max_priority_fee_per_cycle,
            request.priority_tier_hint,
            request.bid,
        )
        if any(value is not None for value in stated):
            refuse("gba: an agent states the fees; none may stand beside it")
        if not load_account(execution.block.journal, gba).is_actor:
            raise HostError(HostErrorCode.NotFound, "gba: no actor lives there")
        return gba

    def announcement(
        self, timer: Timer, terms: FeeTerms
    ) -> tuple[str, dict[str, codec.Value]] | None:
        """Nothing is to be said of terms."""
        del timer, terms
        return None

    def price(self, prices: BlockPrices, timer: Timer | None = None) -> Price:
        """With what its agent last bid; the default bid has no tip (D45)."""
        if timer is None:
            return fire_price(prices, NOTHING)
        basefee = prices.basefee_cycle
        return fire_price(prices, last_bid(timer, basefee, 0).priority(basefee))

    # --- who is looked at, and when --------------------------------------------------

    def wake_height(self, prospect: Prospect) -> Height | None:
        """The first height at which somebody is due and awake (D36, D49)."""
        return BIDDING_INDEX.wake_in(prospect, *lane_ahead(prospect))

    def pass_time(self, block: BlockContext) -> None:
        """Those that became due within the run all sleep (D36)."""
        fresh = block.due_book.gather(lane_view(block), is_run=block.span > 1)
        assert not fresh, "a run reaches over a height at which somebody is awake"
        block.due_book.close()

    # --- the lane --------------------------------------------------------------------

    def run_lane(self, block: BlockContext) -> None:
        """CIP-1v1 §3: deliver, execute, and weigh for the next epoch."""
        view, book = lane_view(block), block.due_book
        fresh = book.gather(view, is_run=block.span > 1)
        if not book.is_any_due():
            book.close()
            return
        # Deliver timers & build the priority queue
        book.looked_at = due = self._look(block, view, fresh)
        delivery = Delivery(block, view)
        classified = [delivery.classify(one) for one in due]
        candidates = [one for one in classified if one is not None]
        weights = begin_weights(block)
        weights.note_overdue(one.due.timer for one in candidates)
        queue = priority_queue(block, candidates, weights)
        # Execute prioritized timers
        lane = Lane(block, view, len(queue))
        lane.run(queue)
        book.close(gone={timer_id for timer_id, _, _ in lane.fires})
        # Priority weight for the next epoch
        weights.save(block.journal, lane.used_by)

    def _look(
        self, block: BlockContext, view: BiddingView, fresh: list[DueTimer]
    ) -> list[DueTimer]:
        """The due timers that are awake, at most `max_due_examined` of them (D8)."""
        journal = block.journal
        BIDDING_INDEX.refresh(journal)
        count_max = block.timer_config.max_due_examined
        due = BIDDING_INDEX.select(journal, view, count_max, fresh)
        for one in due:
            if one.was_asleep:
                note_turn(block, view, one.timer, Decision.WOKE)
                BIDDING_INDEX.add(journal, one.timer, is_asleep=False)
        return due

    def take_back(self, block: BlockContext, timer: Timer) -> None:
        """It waits among those that were due before."""
        BIDDING_INDEX.add(block.journal, timer)

    def finish(self, block: BlockContext) -> None:
        """Who was looked at, and will not be from the next height on, falls asleep."""
        BIDDING_INDEX.refresh(block.journal)
        view = _next_view(block)
        for one in block.due_book.looked_at:
            left = one.present(block.journal)
            if left is not None and view.is_dormant(left):
                note_turn(block, view, left, Decision.SLEPT)
                BIDDING_INDEX.add(block.journal, left, is_asleep=True)

    def next_prices(self, block: BlockContext) -> tuple[Amount, Amount]:
        """As they were: neither exists under `bidding` (D47)."""
        return block.prices.basefee_lane, block.prices.p50_priority


def bidding_view(
    height: int, basefee: Amount, epoch_length: int, reader: Reader
) -> BiddingView:
    """The lane at a height, at a basefee of cycles: no cap holds anybody, no p50."""
    return BiddingView(
        height,
        basefee,
        U64_MAX,
        NOTHING,
        epoch=height // epoch_length,
        epoch_length=epoch_length,
        reader=reader,
    )


def lane_view(block: BlockContext) -> BiddingView:
    """The lane at the block's height, with balances as they stand."""
    length = block.params.calendar.epoch_length
    basefee = block.prices.basefee_cycle
    return bidding_view(block.height, basefee, length, block.journal)


def _next_view(block: BlockContext) -> BiddingView:
    """The lane at the next height, once all that uses cycles was executed."""
    config, length = block.basefee_config, block.params.calendar.epoch_length
    basefee = next_basefee(
        block.prices.basefee_cycle, block.cycles, config.target_cycles, config
    )
    return bidding_view(block.height + 1, basefee, length, block.journal)


def lane_ahead(prospect: Prospect) -> tuple[BiddingView, Decline]:
    """The lane at the next height, and its basefee after that if nothing happens."""
    basefee, first = prospect.prices.basefee_cycle, prospect.head + 1
    view = bidding_view(first, basefee, prospect.epoch_length, prospect.reader)
    return view, Decline(first, basefee, partial(_idle_step, prospect.basefee_config))


def _idle_step(config: BasefeeConfig, basefee: int) -> int:
    """The cycle basefee after an empty block (D7)."""
    return next_basefee(basefee, 0, config.target_cycles, config)
