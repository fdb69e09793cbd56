"""Rules `bidding` of a block, D44 to D49 read literally; see `timer_model`.

The weights are functions of numbers alone, so that the decision's own can be tried.
"""

from collections import Counter
from dataclasses import dataclass, replace

from tests.differential.timer_model import (
    PPM,
    U128,
    Numbers,
    RulesModel,
    Timer,
)

NEUTRAL = PPM
IDLE_EPOCHS_MAX = 40
FEE_NAMES = "max_fee_per_cycle", "tip_per_cycle"


@dataclass(frozen=True)
class Record:
    """What is kept of an actor (D48): sums over its fires of the epoch."""

    written: int
    weight: int
    fires: int = 0
    tips: int = 0
    cycles: int = 0
    lateness: int = 0


@dataclass(frozen=True)
class Everybody:
    """What is kept of everybody in one epoch."""

    written: int
    fires: int
    tips: int


@dataclass(frozen=True)
class Starved:
    """Overdue candidates of an actor in the first block of an epoch: the d."""

    count: int = 0
    lateness: int = 0


def weight_in(
    epoch: int,
    record: Record | None,
    tips_of: dict[int, int],
    starved: Starved,
    numbers: tuple[Numbers, int],
) -> int:
    """Weight in an epoch, of a record of that one or an earlier one (D48).

    `tips_of` has everybody's mean tip by epoch, where it is known; `numbers` are those
    in force, and the length of an epoch.
    """
    length = numbers[1]
    weight = NEUTRAL
    folded = epoch - 1  # the last epoch that is folded by rule
    first = epoch - 1 if record is None else record.written // length
    if first == epoch:
        return record.weight
    if record is not None:
        weight = record.weight
        d = starved if first == folded else Starved()
        weight = fold(weight, record, tips_of.get(first), d, numbers)
        if first == folded:
            return weight
        first += 1
    idle = epoch - first - (starved.count > 0)
    if record is not None:
        if idle > IDLE_EPOCHS_MAX:
            weight = NEUTRAL
        else:
            for _ in range(idle):
                weight = fold(weight, None, None, Starved(), numbers)
    if starved.count:
        weight = fold(weight, None, tips_of.get(folded), starved, numbers)
    return weight


def fold(
    weight: int,
    sums: Record | None,
    everybodys: int | None,
    starved: Starved,
    numbers: tuple[Numbers, int],
) -> int:
    """One epoch: the weight moves by λ towards S."""
    config, length = numbers
    sums = sums or Record(0, 0)
    fires, d = sums.fires, starved.count
    s = NEUTRAL
    if fires + d:
        tip = sums.tips // fires if fires else 0
        price = PPM // 2
        if everybodys is not None and tip + everybodys:
            price = PPM * tip // (tip + everybodys)
        deferred = PPM * d // (fires + d)
        lateness = (sums.lateness + starved.lateness) // (fires + d)
        late = PPM * lateness // (lateness + 16)
        thrift = max(0, PPM - PPM * sums.cycles // (config.lane * length))
        s = (price + deferred + late + thrift) // 2
    moved = (
        (1_000 - config.lambda_permille) * weight + config.lambda_permille * s
    ) // (1_000)
    moved = min(config.weight_max, max(config.weight_min, moved))
    if d and not fires:
        moved = max(moved, config.starvation_floor)
    return moved


class BiddingModel(RulesModel):
    """The highest effective tip first, by the bids of agents."""

    name = "bidding"

    # --- coming and going, scheduling ---------------------------------------------

    def enter(self) -> None:
        """D49: what was written at earlier heights counts as none."""
        self.model.reset_height = max(self.model.reset_height, self.model.height - 1)

    def begin(self) -> None:
        """D49: a reset holds from the next block; all is read as it stands now."""
        model = self.model
        self.resets_at = model.reset_height
        self.records = {
            actor: record
            for actor, record in model.records.items()
            if record.written > self.resets_at
        }
        length = model.fixed.epoch_length
        self.tips_of = {
            one.written // length: one.tips // one.fires
            for one in model.everybody
            if one.written > self.resets_at
        }

    def refuses_agent(self, terms: dict, actor: str) -> str:
        """D44."""
        del actor
        if terms.get("agent") is None:
            return "GbaRequired"
        if any(name in terms for name in ("max_fee", "max_priority", "hint", "bid")):
            return "InvalidInput"
        if terms["agent"] not in self.model.fixed.deployers:
            return "NotFound"
        return ""

    # --- who is looked at ---------------------------------------------------------

    def is_dormant(self, timer: Timer, height: int, basefee: int) -> bool:
        """D44, D45: declined by what was stated, or poor in this epoch."""
        model = self.model
        if height > timer.expires_at:
            return False
        if timer.poor is not None:
            epoch, enough = timer.poor
            if (
                epoch == height // model.fixed.epoch_length
                and model.balances[timer.payer] < enough
            ):
                return True
        return timer.agent is None and timer.fee is not None and timer.fee < basefee

    def _rank(self, timer: Timer) -> tuple:
        """D8, D45: who is poor comes last."""
        if timer.agent is None:
            offered = timer.priority or 0
        elif timer.last_bid is None:
            offered = 0
        else:
            fee, tip = timer.last_bid
            offered = max(0, min(tip, fee - self.model.basefee_cycle))
        return timer.poor is not None, -offered, timer.due, timer.sequence

    def _examined(self) -> list[Timer]:
        model = self.model
        awake = [
            timer
            for timer in model.due()
            if not self.is_dormant(timer, model.height, model.basefee_cycle)
        ]
        awake.sort(key=self._rank)
        first = awake[: model.numbers.examined_max]
        return sorted(first, key=lambda t: (t.due, t.sequence))

    # --- the timers of a block ----------------------------------------------------

    def run(self) -> None:
        """D45, D46: classified in order, sorted, taken one at a time in two rounds."""
        model = self.model
        self.cycles_of: Counter = Counter()
        self.tips_paid: Counter = Counter()
        self.fires_of: Counter = Counter()
        self.lateness_of: Counter = Counter()
        candidates = []
        for timer in self._examined():
            tip = self._classify(timer)
            if tip is not None:
                candidates.append((timer, tip))
        starved = self._starved(timer for timer, _ in candidates)
        weights = {
            timer.owner: self.weight(timer.owner, starved.get(timer.owner, Starved()))
            for timer, _ in candidates
        }
        model.told.weights = weights
        candidates.sort(key=lambda one: self._place(*one, weights))
        total = sum(weights.values())
        slices = {a: model.numbers.lane * w // total for a, w in weights.items()}
        second = []
        for timer, tip in candidates:
            if self._take(timer, tip, slices[timer.owner]) == "slice":
                second.append((timer, tip))
        for timer, tip in second:
            self._take(timer, tip, None)
        self._write(starved, weights)

    def weight(self, actor: str, starved: Starved) -> int:
        """D48: in the epoch of this block."""
        length = self.model.fixed.epoch_length
        return weight_in(
            self.model.height // length,
            self.records.get(actor),
            self.tips_of,
            starved,
            (self.model.numbers, length),
        )

    def _classify(self, timer: Timer) -> int | None:
        """Expired → poor → bid → below basefee → candidate, with its effective tip."""
        model, basefee = self.model, self.model.basefee_cycle
        if model.height > timer.expires_at:
            model.leave(timer, "TimerExpired")
            return None
        limit = model.limit_of(timer, model.numbers.cap)
        enough = model.cost(limit, 0)
        if model.balances[timer.payer] < enough:
            model.put_off(timer, "funds")
            timer.poor = model.height // model.fixed.epoch_length, enough
            return None
        timer.poor = None
        if timer.agent is None:
            tip = timer.priority or 0
            fee = 2 * basefee + tip if timer.fee is None else timer.fee
        else:
            fee, tip = 2 * basefee, 0
            answer = model.ask(timer, FEE_NAMES)
            if answer is not None:
                fee, tip = timer.last_bid = answer
                assert max(answer) < U128
        if fee < basefee:
            model.put_off(timer, "below_basefee")
            return None
        return min(tip, fee - basefee)

    def _starved(self, candidates) -> dict[str, Starved]:
        """D48: by actor, in the first block of an epoch; the first 1,000 actors."""
        starved: dict[str, Starved] = {}
        height = self.model.height
        if height % self.model.fixed.epoch_length:
            return starved
        for timer in candidates:
            if timer.due < height:
                one = starved.get(timer.owner)
                if one is None:
                    if len(starved) == self.model.fixed.starved_max:
                        continue
                    one = Starved()
                late = one.lateness + height - timer.due
                starved[timer.owner] = Starved(one.count + 1, late)
        return starved

    def _place(self, timer: Timer, tip: int, weights: dict[str, int]) -> tuple:
        """D46."""
        waited = self.model.height - timer.due + 1
        return -tip, -weights[timer.owner] * waited, timer.due, timer.sequence

    def _take(self, timer: Timer, tip: int, share: int | None) -> str:
        """Lane, keys, in round 1 the slice, funds, cells; then it fires (D46)."""
        model = self.model
        if timer not in model.timers:
            return "gone"
        limit = model.limit_of(timer, model.numbers.cap)
        cost = model.cost(limit, tip)
        reason = ""
        if model.lane_used + limit > model.numbers.lane:
            reason = "lane"
        elif not model.has_keys():
            reason = "writes"
        elif share is not None and self.cycles_of[timer.owner] + limit > share:
            return "slice"
        elif model.balances[timer.payer] < cost:
            reason = "funds"
        elif not model.has_cells():
            reason = "cells"
        if reason:
            model.put_off(timer, reason)
            return reason
        model.balances[timer.payer] -= cost
        model.timers.remove(timer)
        self.cycles_of[timer.owner] += model.fire(timer, limit, tip, cost)
        self.tips_paid[timer.owner] += tip
        self.fires_of[timer.owner] += 1
        self.lateness_of[timer.owner] += model.height - timer.due
        return ""

    def _write(self, starved: dict[str, Starved], weights: dict[str, int]) -> None:
        """D48: at the block's end, of who fired and, in an epoch's first, starved."""
        model, height = self.model, self.model.height
        epoch, length = height // model.fixed.epoch_length, model.fixed.epoch_length
        for actor in {*starved, *self.fires_of}:
            now = Record(height, weights[actor])
            old = self.records.get(actor)
            if old is not None and old.written // length == epoch:
                now = replace(old, written=height)
            model.records[actor] = Record(
                height,
                now.weight,
                now.fires + self.fires_of[actor],
                now.tips + self.tips_paid[actor],
                now.cycles + self.cycles_of[actor],
                now.lateness + self.lateness_of[actor],
            )
        if not self.fires_of:
            return
        fires, tips = self.fires_of.total(), self.tips_paid.total()
        kept = [one for one in model.everybody if one.written > self.resets_at]
        if kept and kept[-1].written // length == epoch:
            fires, tips = fires + kept[-1].fires, tips + kept[-1].tips
            kept.pop()
        model.everybody = [*kept, Everybody(height, fires, tips)][-2:]
