"""What awaits a live timer, and what a timer would cost: at present prices.

No part of consensus. It asks the rules in force in the next block what they would ask
there; what other transactions and fires change until then nobody knows, so each number
is said to be of now.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import takewhile
from types import MappingProxyType

from msgspec import Struct, field

from node.chain.accounts import load_account
from node.chain.block import Price
from node.chain.context import BlockContext
from node.chain.params import TimerConfig
from node.chain.timers import calendar
from node.chain.timers.ruleset import TimerBounds
from node.chain.timers.timer import Timer
from node.chain.transition import State, begin_block, prospect
from node.primitives.types import Address, Amount, Height
from node.query.forecasts.auction import AuctionForecast
from node.query.forecasts.bidding import BiddingForecast
from node.query.forecasts.fifo import FifoForecast
from node.query.forecasts.globalbox import GlobalboxForecast
from node.query.forecasts.lane_position import LanePosition
from node.query.forecasts.turn import FireQuotas, RuleForecast, TimerOffer, Turn
from node.query.globalbox import QueueView

BEFORE_MAX = 1_000
"""Timers in front of one that are counted: some 20 ms."""
COUNTED_MAX = 20_000
"""Timers that are lined up to say the ranks of a page: some 200 ms."""


FORECASTS: Mapping[
    str,
    type[AuctionForecast]
    | type[BiddingForecast]
    | type[FifoForecast]
    | type[GlobalboxForecast],
] = MappingProxyType(
    {
        "fifo": FifoForecast,
        "auction": AuctionForecast,
        "bidding": BiddingForecast,
        "globalbox": GlobalboxForecast,
    }
)
"""By the name that activations use: one a rule set."""


class FireTerms(Struct, frozen=True):
    """What one fire may use and cost in the next block (CIP-5 §6.3)."""

    cycles_limit: int
    cells_limit: int
    price: Price
    config: TimerConfig
    bounds: TimerBounds
    """What its sizes may be."""
    is_patient: bool = False
    """Whether a timer waits whose payer cannot pay, instead of being removed (D45)."""
    is_owner_paying: bool = False
    """Whether nobody but the actor itself may pay for its timers (D44)."""

    @property
    def max_cost(self) -> Amount:
        """What is set aside before it runs; what it does not use is returned."""
        return self.price.cost(self.cycles_limit, self.cells_limit)

    @property
    def fires_a_block(self) -> int:
        """How many such fires fill the timer lane."""
        return self.config.lane_timer_cycles // self.cycles_limit


class Before(Struct, frozen=True):
    """Timers that come to the lane first, as far as is known now."""

    timers: int
    reserved: int
    """Cycles of the lane that they take at the most: under `fifo` the limits of those
    that fit, in turn, else, where real use fills the lane, all limits."""
    payer_cost: Amount
    """What those of them that fit and have the same payer set aside."""
    at_height: int
    """Of them, those that were due at the same height."""
    is_all: bool
    """Whether these are all: `BEFORE_MAX` are counted at the most."""


class QueueRoom(Struct, frozen=True):
    """What the quotas of a block leave to a fire behind others (D53)."""

    quotas: FireQuotas
    fires: int
    """That the block takes before it, if their payers can pay and the lane has room."""
    target_fires: int
    """Of these, those of its target."""

    @property
    def is_passed_over(self) -> bool:
        """Whether its target will have had its share, and the block will have more."""
        is_full = self.fires >= self.quotas.fires
        return not is_full and self.target_fires >= self.quotas.target_fires

    @property
    def is_left(self) -> bool:
        """Whether a fire is left to it."""
        return not self.is_passed_over and self.fires < self.quotas.fires


class Forecast(Struct, frozen=True):
    """When a pending timer is looked at, and how it stands (D26, D28)."""

    height: Height
    terms: FireTerms
    available: Amount
    """What its payer has now."""
    before: Before
    expires_at: Height
    place: LanePosition | None = None
    """Under `auction` and `bidding`."""
    room: QueueRoom | None = None
    """Under `globalbox`."""

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
        """Whether its limit fits the lane behind those before it, whatever they use."""
        if self.room is not None and not self.room.is_left:
            return False
        lane = self.terms.config.lane_timer_cycles
        return self.before.reserved + self.terms.cycles_limit <= lane


def fire_terms(
    state: State, gas_limit: int | None, offer: TimerOffer | None = None
) -> FireTerms:
    """The terms of a fire in the next block; without a limit, of a defaulted one.

    What is not offered is as by default.
    """
    block = begin_block(state)
    rules, config = block.rule_set, block.timer_config
    cap = rules.cycles_cap(config)
    price = FORECASTS[rules.name].offered_price(block, offer or TimerOffer())
    return FireTerms(
        cap if gas_limit is None else min(gas_limit, cap),
        config.max_cells_per_fire,
        price,
        config,
        rules.bounds(block),
        FORECASTS[rules.name].is_patient,
        rules.is_owner_paying,
    )


def weight_of(state: State, actor: Address) -> int:
    """Weight of an actor in the next block, in ppm; 0 under `fifo`."""
    return _begin(state)[1].weight(actor)


def _begin(state: State) -> tuple[BlockContext, RuleForecast]:
    """The next block, to be thrown away, and what its rules foretell on it."""
    view, rules = prospect(state)
    block = begin_block(state)
    return block, FORECASTS[rules.name](block, view)


class Lineups:
    """Who comes to the lane in the next blocks, looked up once a height."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._block, self._rules = _begin(state)
        self._left = COUNTED_MAX
        self._lines: dict[int, Line | None] = {}

    @cached_property
    def globalbox(self) -> QueueView:
        """What is queued, whatever rules are in force."""
        return QueueView(self.state)

    @property
    def config(self) -> TimerConfig:
        """In force in the next block."""
        return self._block.timer_config

    @property
    def is_reserving(self) -> bool:
        """Whether limits fill the lane, and not what is used."""
        return self._rules.is_reserving

    @property
    def is_patient(self) -> bool:
        """Whether who cannot pay waits."""
        return self._rules.is_patient

    @property
    def bounds(self) -> TimerBounds:
        """What the sizes of a timer may be."""
        return self._block.rule_set.bounds(self._block)

    @property
    def quotas(self) -> FireQuotas | None:
        """Of fires in a block."""
        return self._rules.quotas

    def examined_at(self, timer: Timer) -> Height:
        """The least height above the head whose block looks at a live timer."""
        return self._rules.examined_at(timer)

    def turn(self, timer: Timer) -> Turn:
        """How a live timer comes to the lane."""
        return self._rules.turn(timer)

    def before(self, turn: Turn, height: int) -> Iterator[Turn]:
        """Those that come to the lane first at the height at which it does."""
        line = self._rules.line_up(height)
        return takewhile(lambda other: other.place < turn.place, line)

    def place(self, timer: Timer) -> LanePosition | None:
        """Where a live timer stands; None under rules that know no price."""
        turn = self.turn(timer)
        if turn.standing is None:
            return None
        height = self.examined_at(timer)
        waits = bool(turn.standing.waits_for) or height > timer.expires_at
        line = None if waits else self._line_at(height)
        if line is None:
            return LanePosition(height, turn.standing, None, None)
        rank = bisect_left(line.places, turn.place) + 1
        # One that wakes at a later height is not in the line of its due height.
        count = max(rank, len(line.places))
        slice_cycles = None
        if turn.standing.basefee_cycle is not None:
            weight = turn.standing.weight_ppm
            total = line.weights | {timer.actor: weight}
            lane = self.config.lane_timer_cycles
            slice_cycles = lane * weight // sum(total.values())
        return LanePosition(height, turn.standing, rank, count, slice_cycles)

    def _line_at(self, height: int) -> "Line | None":
        if height not in self._lines:
            line = None
            if self._left > 0:
                turns = list(self._rules.line_up(height))
                actors = dict.fromkeys(turn.timer.actor for turn in turns)
                weights = {actor: self._rules.weight(actor) for actor in actors}
                line = Line([turn.place for turn in turns], weights)
                self._left -= len(turns)
            self._lines[height] = line
        return self._lines[height]


class Line(Struct, frozen=True):
    """Who comes to the lane of one block, as far as is known."""

    places: list[tuple[int | bytes, ...]]
    """Ascending."""
    weights: dict[Address, int]
    """Of their actors, in parts per million."""


def forecast(state: State, timer: Timer) -> Forecast:
    """What awaits a live timer, as things stand."""
    lineups = Lineups(state)
    height = lineups.examined_at(timer)
    turn, config = lineups.turn(timer), lineups.config
    cells, is_patient = config.max_cells_per_fire, lineups.is_patient
    terms = FireTerms(turn.limit, cells, turn.price, config, lineups.bounds, is_patient)
    before, room = _before(lineups, turn, height)
    return Forecast(
        height,
        terms,
        load_account(state.snapshot, timer.fee_payer).balance,
        before,
        timer.expires_at,
        lineups.place(timer),
        room,
    )


class _Reserving(Struct):
    """What those before a timer take of a block, one after the other."""

    config: TimerConfig
    is_reserving: bool
    quotas: FireQuotas | None
    reserved: int = 0
    cost: int = 0
    fires: int = 0
    by_target: Counter[Address] = field(default_factory=Counter)

    def take(self, other: Turn, height: int, payer: Address) -> None:
        """One that comes next, unless it has no room."""
        timer, lane = other.timer, self.config.lane_timer_cycles
        if timer.expires_at < height:
            return
        if self.quotas is None:
            if self.is_reserving and self.reserved + other.limit > lane:
                return
        elif (
            self.fires >= self.quotas.fires
            or self.by_target[timer.target] >= self.quotas.target_fires
        ):
            return
        self.fires += 1
        self.by_target[timer.target] += 1
        self.reserved += other.limit
        if timer.fee_payer == payer:
            self.cost += other.price.cost(other.limit, self.config.max_cells_per_fire)


def _before(
    lineups: Lineups, turn: Turn, height: int
) -> tuple[Before, QueueRoom | None]:
    """Those that come to the lane before a timer, when it does, and its quotas.

    If that is later than the next block only those that become due there: the others
    will have been looked at before.
    """
    timer, quotas = turn.timer, lineups.quotas
    taken = _Reserving(lineups.config, lineups.is_reserving, quotas)
    count = same = 0
    is_all = True
    for other in lineups.before(turn, height):
        if count == BEFORE_MAX:
            is_all = False
            break
        count += 1
        same += other.timer.height == timer.height
        taken.take(other, height, timer.fee_payer)
    before = Before(count, taken.reserved, Amount(taken.cost), same, is_all)
    if quotas is None:
        return before, None
    return before, QueueRoom(quotas, taken.fires, taken.by_target[timer.target])


def pending_cost(state: State, actor: Address, payer: Address) -> tuple[int, Amount]:
    """How many of an actor's live timers a payer pays, and their reserves (D26)."""
    lineups = Lineups(state)
    cells = lineups.config.max_cells_per_fire
    own = [t for t in calendar.timers_of(state.snapshot, actor) if t.fee_payer == payer]
    turns = [lineups.turn(timer) for timer in own]
    return len(own), Amount(sum(t.price.cost(t.limit, cells) for t in turns))
