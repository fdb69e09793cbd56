"""RuleSet: what one set of timer rules decides, and nothing else (D1).

`lane` holds what every rule set shares. A rule set decides what a timer must state when
it is scheduled, which limit applies, at which price a fire settles, in which order the
due ones go and who is admitted (`run_lane`), when the next block may have something to
decide (`wake_height`), and what of its own a block leaves to the next one. What rules
only foretell for those who ask is in `node.query.forecasts`.
"""

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from node.chain.accounts import load_account
from node.chain.block import Price
from node.chain.globals import BlockPrices
from node.chain.host_arguments import (
    expect_address,
    expect_optional_amount,
    expect_text,
    refuse,
)
from node.chain.params import PAYLOAD_BYTES_MAX, BasefeeConfig, TimerConfig
from node.chain.reader import Reader
from node.primitives import codec
from node.primitives.types import Address, Amount, Height
from pvm import ScheduleRequest

if TYPE_CHECKING:
    from node.chain.context import BlockContext, ExecutionScope
    from node.chain.timers.tiers import TieredCalendar
    from node.chain.timers.timer import Timer


TIER_HINT_BYTES_MAX = 16


class FeeTerms(Struct, frozen=True):
    """What a schedule call states about its price, types and ranges checked."""

    max_fee_per_cycle: Amount | None
    max_priority_fee_per_cycle: Amount | None
    priority_tier_hint: str | None
    is_bid_stated: bool
    clamped_from: Amount | None = None
    """The priority that was stated, where a lower one is recorded."""
    bid_fp: int = 0
    """Of the timer's fires under `globalbox` (D50)."""
    bucket: int = 0
    """Its tier under `globalbox`, 0 for none (D52)."""


class TimerBounds(Struct, frozen=True, gc=False):
    """What the sizes of a timer may be."""

    gas_limit_min: int
    payload_bytes_max: int


def read_terms(request: ScheduleRequest) -> FeeTerms:
    """The fee arguments of a call, or `HostError`: types and ranges, no rule yet."""
    hint = request.priority_tier_hint
    return FeeTerms(
        expect_optional_amount(request.max_fee_per_cycle, "max_fee_per_cycle"),
        expect_optional_amount(
            request.max_priority_fee_per_cycle, "max_priority_fee_per_cycle"
        ),
        None
        if hint is None
        else expect_text(hint, "priority_tier_hint", TIER_HINT_BYTES_MAX),
        request.bid is not None,
    )


def related_agent(
    execution: "ExecutionScope", actor: Address, request: ScheduleRequest
) -> Address | None:
    """A Gas Bidding Agent: the actor or one of the same deployer, alone (D34)."""
    if request.gba is None:
        return None
    gba = expect_address(request.gba, "gba")
    stated = (
        request.max_fee_per_cycle,
        request.max_priority_fee_per_cycle,
        request.priority_tier_hint,
    )
    if any(value is not None for value in stated):
        refuse("gba: an agent states the fees; none may stand beside it")
    journal = execution.block.journal
    agent = load_account(journal, gba)
    if not agent.is_actor:
        refuse("gba: no actor lives there")
    if gba != actor and agent.deployer != load_account(journal, actor).deployer:
        refuse("gba: the actor itself or one of the same deployer is wanted")
    return gba


def common_bounds(config: TimerConfig) -> TimerBounds:
    """What all rules but `globalbox` bound a timer by (CIP-5 §4.2, D16)."""
    return TimerBounds(config.fire_base_cycles, PAYLOAD_BYTES_MAX)


class Prospect(Struct, frozen=True):
    """What is known of the next heights while nothing happens in them (D36)."""

    reader: Reader
    head: int
    prices: BlockPrices
    """In force in the next block."""
    config: TimerConfig
    basefee_config: BasefeeConfig
    epoch_length: int
    """Heights of an epoch (D24)."""
    calendar: "TieredCalendar"
    is_entering: bool
    """Whether the next block is the first under its rules."""
    activation: Height | None
    """The next height at which rules come into force."""


class RuleSet(Protocol):
    """One set of rules for the timer lane."""

    @property
    def name(self) -> str:
        """As activations call it."""
        ...

    @property
    def is_owner_paying(self) -> bool:
        """Whether nobody but the actor itself may pay for its timers (D13, D44)."""
        ...

    def enter(self, block: "BlockContext", *, is_first: bool) -> None:
        """Begin a block under these rules, or a run; the first after others did."""
        ...

    def leave(self, block: "BlockContext") -> None:
        """Begin the first block under other rules: nothing of these stays (D29)."""
        ...

    def first_lane_basefee(self, basefee_cycle: int) -> Amount:
        """Of the first block under these rules: 0 where there is none (D29)."""
        ...

    def cycles_cap(self, config: TimerConfig) -> int:
        """The most cycles a fire may have, and what a defaulted limit means (D23)."""
        ...

    def bounds(self, block: "BlockContext") -> TimerBounds:
        """Of what a timer says when it is set (CIP-5 §4.2, D56)."""
        ...

    def validate_terms(
        self, execution: "ExecutionScope", request: ScheduleRequest
    ) -> FeeTerms:
        """The terms as they are recorded, or `HostError` (D31, D34, D35)."""
        ...

    def validate_agent(
        self, execution: "ExecutionScope", actor: Address, request: ScheduleRequest
    ) -> Address | None:
        """The Gas Bidding Agent of an actor's timer, or `HostError` (D34, D44)."""
        ...

    def announcement(
        self, timer: "Timer", terms: FeeTerms
    ) -> tuple[str, dict[str, codec.Value]] | None:
        """The event about the terms of an accepted timer: topic and data, or None."""
        ...

    def price(self, prices: BlockPrices, timer: "Timer | None" = None) -> Price:
        """What a timer's fire pays per unit; without one, on no stated terms."""
        ...

    def wake_height(self, prospect: Prospect) -> Height | None:
        """The least height above the head at which a timer has to be examined (D36).

        None when there is no such height.
        """
        ...

    def pass_time(self, block: "BlockContext") -> None:
        """What a run of empty blocks does to these rules' own state (D36)."""
        ...

    def run_lane(self, block: "BlockContext") -> None:
        """Decide about every due timer of the block and fire those admitted."""
        ...

    def take_back(self, block: "BlockContext", timer: "Timer") -> None:
        """A timer that `globalbox` had queued is due in the calendar again (D55)."""
        ...

    def finish(self, block: "BlockContext") -> None:
        """End a block, once its messages were delivered; a run has none."""
        ...

    def next_prices(self, block: "BlockContext") -> tuple[Amount, Amount]:
        """The next block's lane basefee and p50 priority (D30, D32)."""
        ...
