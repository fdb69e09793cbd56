"""Rules `auction`: CIP-1 version 3, as D28 to D35 decide it.

The timer lane has a basefee of its own, burned, that follows the lane's use, and a
priority tip above it. Each block looks at the due timers that are awake, asks what
they offer, sorts them by priority times the fairness weight of their actors, and takes
one after the other: gates, pre-charge, fire, refund. So the lane is filled by what is
really used. Who does not fit waits, and so does who offers less than the lane basefee.
"""

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from node.chain.block import Price, ReceiptKind
from node.chain.context import BlockContext, ExecutionScope
from node.chain.fees import LANE_BASEFEE_MIN, idle_lane_basefee, next_lane_basefee
from node.chain.globals import BlockPrices
from node.chain.params import PERMILLE, TIERS, U128_MAX, TimerConfig
from node.chain.timers import due_index, fairness
from node.chain.timers.auction_lane import fire_price, note_turn, run_auction
from node.chain.timers.due_index import AUCTION_INDEX, Decline, DueTimer, LaneView
from node.chain.timers.gba import HEADROOM, last_bid
from node.chain.timers.ruleset import (
    FeeTerms,
    Prospect,
    TimerBounds,
    common_bounds,
    read_terms,
    related_agent,
)
from node.chain.timers.timer import Decision, Timer
from node.primitives import codec
from node.primitives.types import NOTHING, Address, Amount, Height
from pvm import HostError, HostErrorCode, ScheduleRequest


class Auction:
    """The lane goes to the highest effective priority."""

    name = "auction"
    is_owner_paying = False

    # --- coming and going ------------------------------------------------------------

    def enter(self, block: BlockContext, *, is_first: bool) -> None:
        """In the first block nobody who is due is known yet."""
        if not is_first:
            block.due_book.resume(block.before.height)

    def leave(self, block: BlockContext) -> None:
        """Fairness ends with the rules, as lane basefee and p50 do (D29)."""
        fairness.clear(block.journal)
        due_index.clear(block.journal)

    def first_lane_basefee(self, basefee_cycle: int) -> Amount:
        """The cycle basefee, of the same block (D29)."""
        return Amount(max(LANE_BASEFEE_MIN, basefee_cycle))

    # --- scheduling ------------------------------------------------------------------

    def cycles_cap(self, config: TimerConfig) -> int:
        """The lesser of both caps (CIP-1 §10, D23)."""
        return _cycles_cap(config)

    def bounds(self, block: BlockContext) -> TimerBounds:
        """Those of CIP-5 §4.2 and D16."""
        return common_bounds(block.timer_config)

    def validate_terms(
        self, execution: ExecutionScope, request: ScheduleRequest
    ) -> FeeTerms:
        """Refuse `bid` and a fee below the lane basefee; expand the hint; clamp.

        (CIP-1 §6, D31, D34, D35.)
        """
        if request.bid is not None:
            raise HostError(
                HostErrorCode.TimerArgDeprecated,
                "bid: withdrawn; max_fee_per_cycle and max_priority_fee_per_cycle are "
                "what can be stated",
            )
        terms = read_terms(request)
        block = execution.block
        lane, fee = block.prices.basefee_lane, terms.max_fee_per_cycle
        priority = terms.max_priority_fee_per_cycle
        if terms.priority_tier_hint is not None:
            priority = _expand(block, terms)
        if fee is not None and fee < lane:
            raise HostError(
                HostErrorCode.TimerRejectedBelowBasefee,
                f"max_fee_per_cycle: {fee} is below the lane basefee of {lane}",
            )
        stated = replace(terms, max_priority_fee_per_cycle=priority)
        if fee is None or priority is None or priority <= fee - lane:
            return stated
        clamped = Amount(fee - lane)
        return replace(
            stated, max_priority_fee_per_cycle=clamped, clamped_from=priority
        )

    def validate_agent(
        self, execution: ExecutionScope, actor: Address, request: ScheduleRequest
    ) -> Address | None:
        """None, or one that is related to the actor (D34)."""
        return related_agent(execution, actor, request)

    def announcement(
        self, timer: Timer, terms: FeeTerms
    ) -> tuple[str, dict[str, codec.Value]] | None:
        """Say that a priority was lowered (CIP-1 §6)."""
        if terms.clamped_from is None:
            return None
        return "TimerPriorityClampedAtSchedule", {
            "timer_id": timer.timer_id,
            "stated": terms.clamped_from,
            "clamped": timer.max_priority_fee_per_cycle,
        }

    def price(self, prices: BlockPrices, timer: Timer | None = None) -> Price:
        """With what it last bid, or the default agent's bid (CIP-1 §7.1)."""
        lane, p50 = prices.basefee_lane, prices.p50_priority
        if timer is None:
            return fire_price(prices, Amount(min(p50, (HEADROOM - 1) * lane)))
        return fire_price(prices, last_bid(timer, lane, p50).priority(lane))

    # --- who is looked at, and when --------------------------------------------------

    def wake_height(self, prospect: Prospect) -> Height | None:
        """The first height at which somebody is due and awake (D36)."""
        return AUCTION_INDEX.wake_in(prospect, *lane_ahead(prospect))

    # --- the lane --------------------------------------------------------------------

    def run_lane(self, block: BlockContext) -> None:
        """CIP-1 §3 steps 4 to 10."""
        self._forget_old_fires(block)
        fresh = self._gather(block)
        if not block.due_book.is_any_due():
            block.due_book.close()
            return
        view, count_max = lane_view(block), block.timer_config.max_due_examined
        due = AUCTION_INDEX.select(block.journal, view, count_max, fresh)
        for one in due:
            if one.was_asleep:
                _note_turn(block, view, one.timer, Decision.WOKE)
        fires = run_auction(block, view, due)
        block.due_book.close(gone=fires)
        fairness.note(block.journal, block.height, Counter(fires.values()))
        self._note_sleepers(block, due)

    def pass_time(self, block: BlockContext) -> None:
        """Prune fairness; those that became due within the run all sleep (D36)."""
        self._forget_old_fires(block)
        fresh = self._gather(block)
        assert not fresh, "a run reaches over a height at which somebody is awake"
        block.due_book.close()

    def take_back(self, block: BlockContext, timer: Timer) -> None:
        """It waits among those that were due before."""
        AUCTION_INDEX.add(block.journal, timer)

    def finish(self, block: BlockContext) -> None:
        """Nothing is left to be done."""

    def next_prices(self, block: BlockContext) -> tuple[Amount, Amount]:
        """Both follow from the fires; without any, the median tip is 0 (D30, D32)."""
        tips = [r.price.cycle_tip for r in block.receipts if r.kind is ReceiptKind.FIRE]
        return self._next_basefee(block), median_priority(tips)

    def _next_basefee(self, block: BlockContext) -> Amount:
        idle = idle_lane_basefee(block.prices.basefee_lane, block.span - 1)
        lane = block.timer_config.lane_timer_cycles
        return next_lane_basefee(idle, block.timer_cycles, lane)

    def _forget_old_fires(self, block: BlockContext) -> None:
        window = block.timer_config.fairness_window_blocks
        fairness.prune(block.journal, block.height, window)

    def _gather(self, block: BlockContext) -> list[DueTimer]:
        return block.due_book.gather(lane_view(block), is_run=block.span > 1)

    def _note_sleepers(self, block: BlockContext, due: list[DueTimer]) -> None:
        """Who was looked at, and will not be from the next height on."""
        basefee = self._next_basefee(block)
        view = replace(lane_view(block), height=block.height + 1, basefee=basefee)
        for one in due:
            timer = one.timer
            if timer.max_fee_per_cycle is None and timer.gas_limit <= view.cap:
                continue  # nothing could make it sleep
            left = one.present(block.journal)
            if left is not None and view.is_dormant(left):
                _note_turn(block, view, left, Decision.SLEPT)


def lane_view(block: BlockContext) -> LaneView:
    """The lane at the block's height."""
    prices, cap = block.prices, _cycles_cap(block.timer_config)
    return LaneView(block.height, prices.basefee_lane, cap, prices.p50_priority)


def lane_ahead(prospect: Prospect) -> tuple[LaneView, Decline]:
    """The lane at the next height, and its basefee after that if nothing happens."""
    prices, first = prospect.prices, prospect.head + 1
    cap = _cycles_cap(prospect.config)
    view = LaneView(first, prices.basefee_lane, cap, prices.p50_priority)
    return view, Decline(first, prices.basefee_lane, idle_step)


def idle_step(basefee: int) -> int:
    """The lane basefee after one block without fires (D30)."""
    return idle_lane_basefee(basefee, 1)


def _cycles_cap(config: TimerConfig) -> int:
    return min(config.max_cycles_per_fire, config.max_cycles_per_fire_auction)


def _note_turn(
    block: BlockContext, view: LaneView, timer: Timer, decision: Decision
) -> None:
    note_turn(block, view, timer, decision)
    is_asleep = decision is Decision.SLEPT
    AUCTION_INDEX.add(block.journal, timer, is_asleep=is_asleep)


def _expand(block: BlockContext, terms: FeeTerms) -> Amount:
    """The priority that a hint stands for, at the price of now (CIP-1 §7.3, D34)."""
    if terms.max_priority_fee_per_cycle is not None:
        raise HostError(
            HostErrorCode.InvalidInput,
            "priority_tier_hint: it states a priority; no other may stand beside it",
        )
    if terms.priority_tier_hint not in TIERS:
        raise HostError(
            HostErrorCode.InvalidInput,
            f"priority_tier_hint: one of {', '.join(TIERS)} is wanted",
        )
    tiers = tier_priorities(block.timer_config, block.prices.p50_priority)
    return tiers[TIERS.index(terms.priority_tier_hint)]


def median_priority(tips: Iterable[int]) -> Amount:
    """Of a block's fires; of an even number the floored mean; 0 without any (D32)."""
    ordered = sorted(tips)
    if not ordered:
        return NOTHING
    middle = len(ordered) // 2
    return Amount((ordered[(len(ordered) - 1) // 2] + ordered[middle]) // 2)


def tier_priorities(config: TimerConfig, p50: int) -> tuple[Amount, ...]:
    """The priorities that the hints stand for, in the order of `TIERS`.

    None exceeds what an amount can be, however large p50 and the multipliers are.
    """
    multipliers = config.tier_multipliers_permille
    return tuple(
        Amount(min(p50 * permille // PERMILLE, U128_MAX)) for permille in multipliers
    )
