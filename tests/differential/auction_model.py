"""Rules `auction` of a block, D28 to D36 read literally: integers, lists and dicts.

It shares no code with the chain and knows no virtual machine: what an execution used,
and whether it succeeded, it is told (`Use`); which executions there are, in which order
and at which price, who waits and why, who leaves, what everybody has afterwards, and
when something is to be done next, it says itself. It looks at every timer and every
height, since it need not be fast.
"""

from collections import Counter
from dataclasses import dataclass, field

ASKED_CYCLES = 50_000
PPM = 1_000_000


@dataclass
class Timer:
    """A live timer, as it was accepted."""

    id: bytes
    actor: str
    due: int
    sequence: int
    scheduled_at: int
    expires_at: int
    limit: int | None
    """None: defaulted."""
    fee: int | None
    priority: int | None
    agent: str | None
    does: list
    """What its fire does, if it succeeds."""
    is_noted: bool = False
    last_bid: tuple[int, int] | None = None


@dataclass
class Use:
    """What one execution used."""

    cycles: int
    cells: int
    is_success: bool


@dataclass
class Rules:
    """The numbers of a world."""

    activation: int
    again: int
    """A later height that activates the same rules: it changes nothing, yet is work."""
    is_fair: bool
    lane: int
    cap: int
    cap_before: int
    """Of a limit under `fifo`."""
    cells_max: int
    block_cells: int
    keys_max: int
    window: int
    examined_max: int
    agents_lane: int
    ttl: int
    targets: tuple[int, int]
    basefee_min: int


@dataclass
class Told:
    """What a block's timers came to, in order."""

    asked: list = field(default_factory=list)
    """(timer, cycles of the answer, price a cycle)."""
    fires: list = field(default_factory=list)
    """(timer, limit, price: burned, tip, cell, lane)."""
    put_off: dict = field(default_factory=dict)
    """Reason by timer."""
    events: list = field(default_factory=list)
    """(topic, timer)."""


class Model:
    """A chain of which only the timers, their payers and the fees are known."""

    def __init__(self, rules: Rules, balances: dict[str, int]) -> None:
        self.rules = rules
        self.balances = dict(balances)
        self.timers: list[Timer] = []
        self.height = 0
        self.basefee_cycle = self.basefee_cell = 1_000
        self.basefee_lane = self.p50 = 0
        self.fired: dict[int, Counter] = {}
        self.answers: dict[str, object] = {}
        """Of agents, by actor: what they would answer."""
        self.burned = {"cycle": 0, "cell": 0, "lane": 0}
        self.proposer = 0
        self.sequence = 0
        self.next_rules: Rules | None = None

    # --- before the block's timers ------------------------------------------------

    def begin(self) -> None:
        """D2, D3, D29: a height begins, with what is in force there."""
        self.height += 1
        if self.next_rules is not None:
            self.rules, self.next_rules = self.next_rules, None
        if self.height == self.rules.activation:
            self.basefee_lane, self.p50 = max(1, self.basefee_cycle), 0
        self.is_auction = self.height >= self.rules.activation
        oldest = self.height - self.rules.window  # D32: "pruned by height"
        self.fired = {h: fires for h, fires in self.fired.items() if h >= oldest}
        self.cycles = self.cells = self.keys = 0

    def transact(self, cycles: int, cells: int, keys: int) -> None:
        """A transaction used so much."""
        self.cycles += cycles
        self.cells += cells
        self.keys += keys

    def schedule(self, actor, height, does, terms, id_) -> str:
        """D31, D34, D35: accepted under an id, or refused by the name returned."""
        fee, priority = terms.get("max_fee"), terms.get("max_priority")
        limit, rules = terms.get("limit"), self.rules
        if self.is_auction:
            if "bid" in terms:
                return "TimerArgDeprecated"
            if "hint" in terms:
                permille = {"economy": 800, "standard": 1_000, "fast": 1_500}
                priority = self.p50 * permille.get(terms["hint"], 2_500) // 1_000
            if fee is not None and fee < self.basefee_lane:
                return "TimerRejectedBelowBasefee"
            if None not in (fee, priority):
                priority = min(priority, fee - self.basefee_lane)
        if limit is not None and limit > (
            rules.cap if self.is_auction else rules.cap_before
        ):
            return "InvalidInput"
        expires = self.height + rules.ttl
        if terms.get("expires") is not None:
            expires = terms["expires"]
        self.timers.append(
            Timer(
                id_, actor, height, self.sequence, self.height, expires, limit,
                fee, priority, terms.get("agent"), does,
            )
        )  # fmt: skip
        self.sequence += 1
        return ""

    # --- who is looked at ---------------------------------------------------------

    def _is_over_cap(self, timer: Timer) -> bool:
        """D23: only explicit limits above the cap wait."""
        return timer.limit is not None and timer.limit > self.rules.cap

    def _is_dormant(self, timer: Timer, height: int, basefee_lane: int) -> bool:
        """D36."""
        if height > timer.expires_at:
            return False
        if self._is_over_cap(timer):
            return timer.is_noted
        return (
            timer.agent is None and timer.fee is not None and timer.fee < basefee_lane
        )

    def _stated(self, timer: Timer) -> int:
        """D8: by which the first so many are chosen."""
        if timer.agent is not None:
            if timer.last_bid is None:
                return self.p50
            fee, priority = timer.last_bid
            return max(0, min(priority, fee - self.basefee_lane))
        return self.p50 if timer.priority is None else timer.priority

    def _examined(self) -> list[Timer]:
        awake = [
            timer
            for timer in self.timers
            if timer.due <= self.height
            and not self._is_dormant(timer, self.height, self.basefee_lane)
        ]
        awake.sort(key=lambda t: (-self._stated(t), t.due, t.sequence))
        return sorted(
            awake[: self.rules.examined_max], key=lambda t: (t.due, t.sequence)
        )

    def work_height(self) -> int | None:
        """D36: the first height, one after the other, at which a block has work."""
        lane, last = (
            self.basefee_lane,
            max((max(t.due, t.expires_at) for t in self.timers), default=0),
        )
        rules = self.next_rules or self.rules
        before, self.rules = self.rules, rules
        try:
            for height in range(
                self.height + 1, max(last, rules.again, self.height) + 2
            ):
                if height in (rules.activation, rules.again):
                    return height
                is_auction = height > rules.activation
                for timer in self.timers:
                    if max(timer.due, self.height + 1) <= height and not (
                        is_auction and self._is_dormant(timer, height, lane)
                    ):
                        return height
                lane = next_lane(lane, 0, rules.lane) if is_auction else lane
            return None
        finally:
            self.rules = before

    # --- the timers of a block ----------------------------------------------------

    def run(self, use_of_agent, use_of_fire) -> Told:
        """D28: classified in order, sorted, taken one at a time."""
        self.told = Told()
        self.agents_used = self.lane_used = 0
        tips = []
        fired = Counter()
        contenders = []
        if self.is_auction:
            weights = self._weights()
            for timer in self._examined():
                one = self._classify(timer, use_of_agent)
                if one is not None:
                    contenders.append((*one, weights(timer.actor)))
        for timer, tip, cost, _ in sorted(contenders, key=self._place):
            if timer in self.timers and self._take(timer, tip, cost, use_of_fire):
                tips.append(tip)
                fired[timer.actor] += 1
        if fired:
            self.fired[self.height] = fired
        self._advance(tips)
        return self.told

    def _place(self, contender):
        """D32, D33: effective priority, then ties."""
        timer, tip, _, weight = contender
        if self.rules.is_fair:
            return -tip * weight, -weight, timer.due, timer.sequence
        return -tip * weight, timer.id, timer.scheduled_at

    def _weights(self):
        """D32, of the fires at heights h - window … h - 1."""
        recent = sum(self.fired.values(), Counter())
        counts = sorted(recent.values())
        half = len(counts) // 2
        median = 0
        if counts:
            median = (counts[half] + counts[-half - 1]) // 2
        return lambda actor: min(
            2 * PPM, max(PPM, 2 * PPM - recent[actor] * PPM // max(1, median))
        )

    def _classify(self, timer: Timer, use_of_agent):
        """Expired → over cap → bid → below the lane basefee → unfunded."""
        if self.height > timer.expires_at:
            self._leave(timer, "TimerExpired")
            return None
        if self._is_over_cap(timer):
            self.told.put_off[timer.id] = "cap"
            if not timer.is_noted:
                timer.is_noted = True
                self.told.events.append(("TimerDeferredOverCap", timer.id))
            return None
        lane = self.basefee_lane
        fee = 2 * lane + (timer.priority or 0) if timer.fee is None else timer.fee
        priority = self.p50 if timer.priority is None else timer.priority
        if timer.agent is not None:
            answer = self._ask(timer, use_of_agent)
            if answer is not None:
                fee, priority = timer.last_bid = answer
        if fee < lane:
            self.told.put_off[timer.id] = "lane_basefee"
            return None
        tip = min(priority, fee - lane)
        limit = self.rules.cap if timer.limit is None else timer.limit
        cost = limit * (self.basefee_cycle + lane + tip)
        cost += self.rules.cells_max * self.basefee_cell
        if self.balances[timer.actor] < cost:
            self._leave(timer, "TimerCancelledInsufficientFunds")
            return None
        return timer, tip, cost

    def _ask(self, timer: Timer, use_of_agent):
        """D34: the agent's answer, paid by the timer's payer and burned."""
        if self.agents_used + ASKED_CYCLES > self.rules.agents_lane:
            return None
        price = self.basefee_cycle
        if self.balances[timer.actor] < ASKED_CYCLES * price:
            self.told.events.append(("GbaFailed", timer.id))
            return None
        use = use_of_agent(timer.id)
        self.told.asked.append((timer.id, use.cycles, price))
        self.balances[timer.actor] -= use.cycles * price
        self.burned["cycle"] += use.cycles * price
        self.agents_used += use.cycles
        self.cycles += use.cycles
        answer = self.answers.get(timer.agent)
        if isinstance(answer, dict):
            answer = [
                answer.get("max_fee_per_cycle"),
                answer.get("max_priority_fee_per_cycle"),
            ]
        if (
            use.is_success
            and isinstance(answer, list)
            and len(answer) == 2
            and all(type(one) is int and one >= 0 for one in answer)
        ):
            return tuple(answer)
        self.told.events.append(("GbaFailed", timer.id))
        return None

    def _take(self, timer: Timer, tip: int, cost: int, use_of_fire) -> bool:
        """Gates in the order lane, keys, funds, cells (D8, D43); then it fires."""
        rules = self.rules
        limit = rules.cap if timer.limit is None else timer.limit
        if self.lane_used + limit > rules.lane:
            self.told.put_off[timer.id] = "lane"
        elif self.keys >= rules.keys_max:
            self.told.put_off[timer.id] = "writes"
        elif self.balances[timer.actor] < cost:
            self._leave(timer, "TimerCancelledInsufficientFunds")
        elif self.cells + rules.cells_max > rules.block_cells:
            self.told.put_off[timer.id] = "cells"
        else:
            self._fire(timer, tip, limit, cost, use_of_fire)
            return True
        return False

    def _fire(self, timer: Timer, tip: int, limit: int, cost: int, use_of_fire) -> None:
        """D29: pre-charged, run, settled."""
        price = self.basefee_cycle, tip, self.basefee_cell, self.basefee_lane
        self.told.fires.append((timer.id, limit, price))
        self.timers.remove(timer)
        self.balances[timer.actor] -= cost
        use = use_of_fire(timer.id)
        assert use.cycles <= limit
        if use.is_success:
            self._do(timer)
        paid = use.cycles * (self.basefee_cycle + self.basefee_lane + tip)
        paid += use.cells * self.basefee_cell
        self.balances[timer.actor] += cost - paid
        self.burned["cycle"] += use.cycles * self.basefee_cycle
        self.burned["lane"] += use.cycles * self.basefee_lane
        self.burned["cell"] += use.cells * self.basefee_cell
        self.proposer += use.cycles * tip
        self.lane_used += use.cycles
        self.cycles += use.cycles
        self.cells += use.cells

    def _do(self, timer: Timer) -> None:
        """What a fire does where it succeeds."""
        kind, *rest = timer.does
        if kind in ("keys", "cells"):
            self.keys += rest[0]
        elif kind == "pay":
            assert self.balances[timer.actor] >= rest[0], "nobody pays what he has not"
            self.balances[timer.actor] -= rest[0]
            self.keys += 2
        elif kind in ("cancel", "extend"):
            (other,) = [t for t in self.timers if t.id == rest[0]]
            assert other.actor == timer.actor, "only its owner reaches a timer"
            self.keys += 1
            if kind == "cancel":
                self.timers.remove(other)
            else:
                other.expires_at = min(rest[1], self.height + self.rules.ttl)

    def _leave(self, timer: Timer, topic: str) -> None:
        self.timers.remove(timer)
        self.told.events.append((topic, timer.id))

    # --- after it -----------------------------------------------------------------

    def _advance(self, tips: list[int]) -> None:
        """D7, D30, D32: the prices of the next block."""
        if self.is_auction:
            self.basefee_lane = next_lane(
                self.basefee_lane, self.lane_used, self.rules.lane
            )
            tips, half = sorted(tips), len(tips) // 2
            self.p50 = (tips[half] + tips[-half - 1]) // 2 if tips else 0
        self.basefee_cycle = self._next(self.basefee_cycle, self.cycles, 0)
        self.basefee_cell = self._next(self.basefee_cell, self.cells, 1)

    def _next(self, basefee: int, used: int, which: int) -> int:
        """D7, with alpha and denom 8."""
        target = self.rules.targets[which]
        delta = min(basefee * abs(used - target) // target // 8, basefee // 8)
        if used > target:
            return basefee + max(delta, 1)
        return max(self.rules.basefee_min, basefee - delta)


def next_lane(basefee: int, used: int, lane: int) -> int:
    """D30: rounded toward zero, at least 1 unless half, at most an eighth; floor 1."""
    distance = 2 * used - lane
    step = basefee * abs(distance) // lane
    if distance:
        step = max(1, step)
    step = min(step, max(1, basefee // 8))
    return max(1, basefee + step if distance > 0 else basefee - step)
