"""Rules `auction` of a block, D28 to D36 read literally; see `timer_model`."""

from collections import Counter

from tests.differential.timer_model import (
    PPM,
    RulesModel,
    Timer,
    next_lane,
)

FEE_NAMES = "max_fee_per_cycle", "max_priority_fee_per_cycle"
TIERS = {"economy": 800, "standard": 1_000, "fast": 1_500, "urgent": 2_500}


class AuctionModel(RulesModel):
    """The highest effective priority first; a basefee of the lane's own."""

    name = "auction"

    def enter(self) -> None:
        """D29."""
        self.model.basefee_lane = max(1, self.model.basefee_cycle)
        self.model.p50 = 0
        self.fired: dict[int, Counter] = {}

    def leave(self) -> None:
        """D29."""
        self.model.basefee_lane = self.model.p50 = 0

    # --- scheduling ---------------------------------------------------------------

    def limits(self) -> tuple[int, int]:
        """D23."""
        return self.model.numbers.fire_base, self._cap()

    def _cap(self) -> int:
        return min(self.model.numbers.cap, self.model.numbers.cap_auction)

    def refuses(self, terms: dict) -> str:
        """D31, D34, D35."""
        if "bid" in terms:
            return "TimerArgDeprecated"
        if "hint" in terms and ("max_priority" in terms or terms["hint"] not in TIERS):
            return "InvalidInput"
        if terms.get("max_fee", self.model.basefee_lane) < self.model.basefee_lane:
            return "TimerRejectedBelowBasefee"
        return ""

    def fees(self, terms: dict) -> dict:
        """D31, D34: expanded and clamped."""
        fee, priority = terms.get("max_fee"), terms.get("max_priority")
        if "hint" in terms:
            priority = self.model.p50 * TIERS[terms["hint"]] // 1_000
        if None not in (fee, priority):
            priority = min(priority, fee - self.model.basefee_lane)
        return {"fee": fee, "priority": priority}

    # --- who is looked at ---------------------------------------------------------

    def _is_over_cap(self, timer: Timer) -> bool:
        """D23: only explicit limits above the cap wait."""
        return timer.limit is not None and timer.limit > self._cap()

    def is_dormant(self, timer: Timer, height: int, basefee: int) -> bool:
        """D36."""
        if height > timer.expires_at:
            return False
        if self._is_over_cap(timer):
            return timer.is_noted
        return timer.agent is None and timer.fee is not None and timer.fee < basefee

    def _stated(self, timer: Timer) -> int:
        """D8: by which the first so many are chosen."""
        if timer.agent is not None and timer.last_bid is not None:
            fee, priority = timer.last_bid
            return max(0, min(priority, fee - self.model.basefee_lane))
        return self.model.p50 if timer.priority is None else timer.priority

    def _examined(self) -> list[Timer]:
        model = self.model
        awake = [
            timer
            for timer in model.due()
            if not self.is_dormant(timer, model.height, model.basefee_lane)
        ]
        awake.sort(key=lambda t: (-self._stated(t), t.due, t.sequence))
        first = awake[: model.numbers.examined_max]
        return sorted(first, key=lambda t: (t.due, t.sequence))

    # --- the timers of a block ----------------------------------------------------

    def run(self) -> None:
        """D28: classified in order, sorted, taken one at a time."""
        model = self.model
        oldest = model.height - model.numbers.window
        self.fired = {h: fires for h, fires in self.fired.items() if h >= oldest}
        weights = self._weights()
        self.tips: list[int] = []
        fired: Counter = Counter()
        contenders = []
        for timer in self._examined():
            tip = self._classify(timer)
            if tip is not None:
                contenders.append((timer, tip, weights(timer.owner)))
        for timer, tip, _ in sorted(contenders, key=self._place):
            if timer in model.timers and self._take(timer, tip):
                self.tips.append(tip)
                fired[timer.owner] += 1
        if fired:
            self.fired[model.height] = fired

    def _place(self, contender: tuple) -> tuple:
        """D32, D33: effective priority, then ties."""
        timer, tip, weight = contender
        if self.model.fixed.is_fair:
            return -tip * weight, -weight, timer.due, timer.sequence
        return -tip * weight, timer.id, timer.scheduled_at

    def _weights(self):
        """D32, of the fires at heights h - window … h - 1."""
        recent = sum(self.fired.values(), Counter())
        counts = sorted(recent.values())
        half = len(counts) // 2
        median = (counts[half] + counts[-half - 1]) // 2 if counts else 0
        return lambda actor: min(
            2 * PPM, max(PPM, 2 * PPM - recent[actor] * PPM // max(1, median))
        )

    def _classify(self, timer: Timer) -> int | None:
        """Expired → over cap → bid → below the lane basefee → unfunded."""
        model, lane = self.model, self.model.basefee_lane
        if model.height > timer.expires_at:
            model.leave(timer, "TimerExpired")
            return None
        if self._is_over_cap(timer):
            model.put_off(timer, "cap")
            if not timer.is_noted:
                timer.is_noted = True
                model.told.events.append(("TimerDeferredOverCap", timer.id))
            return None
        fee = 2 * lane + (timer.priority or 0) if timer.fee is None else timer.fee
        priority = model.p50 if timer.priority is None else timer.priority
        if timer.agent is not None:
            answer = model.ask(timer, FEE_NAMES)
            if answer is not None:
                fee, priority = timer.last_bid = answer
        if fee < lane:
            model.put_off(timer, "lane_basefee")
            return None
        tip = min(priority, fee - lane)
        cost = model.cost(model.limit_of(timer, self._cap()), tip)
        if model.balances[timer.payer] < cost:
            model.leave(timer, "TimerCancelledInsufficientFunds")
            return None
        return tip

    def _take(self, timer: Timer, tip: int) -> bool:
        """Gates in the order lane, keys, funds, cells (D8, D43); then it fires."""
        model = self.model
        limit = model.limit_of(timer, self._cap())
        cost = model.cost(limit, tip)
        if model.lane_used + limit > model.numbers.lane:
            model.put_off(timer, "lane")
        elif not model.has_keys():
            model.put_off(timer, "writes")
        elif model.balances[timer.payer] < cost:
            model.leave(timer, "TimerCancelledInsufficientFunds")
        elif not model.has_cells():
            model.put_off(timer, "cells")
        else:
            model.balances[timer.payer] -= cost
            model.timers.remove(timer)
            model.fire(timer, limit, tip, cost)
            return True
        return False

    def next_prices(self) -> tuple[int, int]:
        """D30, D32."""
        model = self.model
        lane = next_lane(model.basefee_lane, model.lane_used, model.numbers.lane)
        tips, half = sorted(self.tips), len(self.tips) // 2
        return lane, (tips[half] + tips[-half - 1]) // 2 if tips else 0
