"""RuleSet: what one set of timer rules decides, and nothing else (D1).

`lane` holds what every rule set shares. A rule set supplies its four choices:
what a timer must state when it is scheduled, which limit applies, in which order the
due ones go and who is admitted (`run_lane`), and at which price they settle.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from node.chain.block import Price
from node.chain.globals import Globals
from node.chain.params import TimerConfig
from node.chain.reading import Reader
from node.primitives.types import Amount, Height

if TYPE_CHECKING:
    from node.chain.context import BlockContext, Execution
    from node.chain.timers.timer import Timer


@dataclass(frozen=True, slots=True)
class FeeTerms:
    """What a schedule call states about its price, types and ranges checked."""

    max_fee_per_cycle: Amount | None
    max_priority_fee_per_cycle: Amount | None
    priority_tier_hint: str | None
    is_bid_stated: bool


class RuleSet(Protocol):
    """One set of rules for the timer lane."""

    @property
    def name(self) -> str:
        """As activations call it."""
        ...

    def cycles_cap(self, config: TimerConfig) -> int:
        """The most cycles a fire may have, and what a defaulted limit means (D23)."""
        ...

    def validate_terms(self, execution: "Execution", terms: FeeTerms) -> FeeTerms:
        """The terms as they are recorded, or `HostError` (D31, D35)."""
        ...

    def announce_terms(
        self, execution: "Execution", timer: "Timer", terms: FeeTerms
    ) -> None:
        """Events about the terms, once the timer is accepted."""
        ...

    def price(self, globals_: Globals) -> Price:
        """What a fire without stated terms pays per unit."""
        ...

    def wake_height(self, reader: Reader, head: int, floor: bytes) -> Height | None:
        """The least height above `head` at which a timer has to be examined (D36).

        None when there is no timer. `floor` is a key below which none lives.
        """
        ...

    def examined_at(self, timer: "Timer", head: int) -> Height:
        """The least height above `head` whose block looks at a live timer."""
        ...

    def run_lane(self, block: "BlockContext") -> None:
        """Decide about every due timer of the block and fire those admitted."""
        ...
