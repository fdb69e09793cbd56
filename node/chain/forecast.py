"""What awaits a live timer, and what a timer would cost: at present prices.

No part of consensus. It asks the rules in force in the next block what they would ask
there; what other transactions and fires change until then nobody knows, so each number
is said to be of now.
"""

from dataclasses import dataclass
from itertools import takewhile

from node.chain.accounts import load_account
from node.chain.block import Price
from node.chain.params import TimerConfig
from node.chain.timers import calendar
from node.chain.timers.timer import Timer
from node.chain.transition import State, begin_block, examined_at
from node.primitives.types import Address, Amount, Height

BEFORE_MAX = 1_000
"""Timers in front of one that are counted: some 20 ms."""


@dataclass(frozen=True, slots=True)
class FireTerms:
    """What one fire may use and cost in the next block (CIP-5 §6.3)."""

    cycles_limit: int
    cells_limit: int
    price: Price
    config: TimerConfig

    @property
    def max_cost(self) -> Amount:
        """What is set aside before it runs; what it does not use is returned."""
        return self.price.cost(self.cycles_limit, self.cells_limit)

    @property
    def fires_a_block(self) -> int:
        """How many such fires fill the timer lane."""
        return self.config.lane_timer_cycles // self.cycles_limit


@dataclass(frozen=True, slots=True)
class Before:
    """Timers that the same block looks at first."""

    timers: int
    reserved: int
    """Cycles of the lane that they reserve: the limits of those that fit, in turn."""
    payer_cost: Amount
    """What those of them that fit and have the same payer set aside."""
    at_height: int
    """Of them, those that were due at the same height."""
    is_all: bool
    """Whether these are all: `BEFORE_MAX` are counted at the most."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """When a pending timer is looked at, and how it stands (D26)."""

    height: Height
    terms: FireTerms
    available: Amount
    """What its payer has now."""
    before: Before
    expires_at: Height

    @property
    def is_expiring(self) -> bool:
        """Whether it will have expired by then."""
        return self.height > self.expires_at

    @property
    def is_payable(self) -> bool:
        """Whether its payer can set aside its cost beside that of those before it."""
        return self.available >= self.before.payer_cost + self.terms.max_cost

    @property
    def is_room(self) -> bool:
        """Whether its limit fits the lane behind those before it."""
        lane = self.terms.config.lane_timer_cycles
        return self.before.reserved + self.terms.cycles_limit <= lane


def fire_terms(state: State, gas_limit: int | None) -> FireTerms:
    """The terms of a fire in the next block; without a limit, of a defaulted one."""
    block = begin_block(state)
    config, cap = block.timer_config, block.rule_set.cycles_cap(block.timer_config)
    return FireTerms(
        cap if gas_limit is None else min(gas_limit, cap),
        config.max_cells_per_fire,
        block.rule_set.price(block.before),
        config,
    )


def forecast(state: State, timer: Timer) -> Forecast:
    """What awaits a live timer, as things stand."""
    height = examined_at(state, timer)
    terms = terms_of(state, timer)
    return Forecast(
        height,
        terms,
        load_account(state.snapshot, timer.fee_payer).balance,
        _before(state, timer, terms),
        timer.expires_at,
    )


def terms_of(state: State, timer: Timer) -> FireTerms:
    """The terms of a live timer's fire in the next block."""
    stated = None if timer.is_gas_limit_defaulted else timer.gas_limit
    return fire_terms(state, stated)


def _before(state: State, timer: Timer, terms: FireTerms) -> Before:
    """Those in front of a timer, in order of (height, sequence) (D22).

    Of a timer that is due later only those of its height: the others will have been
    looked at before.
    """
    looked_at = max(timer.height, state.head.height + 1)
    first = 0 if looked_at == state.head.height + 1 else timer.height
    place = (timer.height, timer.sequence)
    cap = fire_terms(state, None).cycles_limit
    lane = terms.config.lane_timer_cycles
    count = reserved = cost = same = 0
    for other in takewhile(
        lambda other: (other.height, other.sequence) < place,
        calendar.timers_between(state.snapshot, first, timer.height),
    ):
        if count == BEFORE_MAX:
            return Before(count, reserved, Amount(cost), same, is_all=False)
        limit = other.limit_under(cap)
        count += 1
        same += other.height == timer.height
        if other.expires_at < looked_at or reserved + limit > lane:
            continue
        reserved += limit
        if other.fee_payer == timer.fee_payer:
            cost += terms.price.cost(limit, terms.cells_limit)
    return Before(count, reserved, Amount(cost), same, is_all=True)


def pending_cost(state: State, actor: Address, payer: Address) -> tuple[int, Amount]:
    """How many of an actor's live timers a payer pays, and their reserves (D26)."""
    terms = fire_terms(state, None)
    own = [t for t in calendar.timers_of(state.snapshot, actor) if t.fee_payer == payer]
    limits = (t.limit_under(terms.cycles_limit) for t in own)
    cost = sum(terms.price.cost(limit, terms.cells_limit) for limit in limits)
    return len(own), Amount(cost)
