"""How timers come to the lane, as far as is known now: what rules foretell.

Each rule set has a `RuleForecast` beside it, which asks the same questions as its
`run_lane` and decides nothing. It stands on the next block, begun and thrown away.
"""

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from node.chain.block import Price
from node.chain.context import BlockContext
from node.chain.timers.timer import Timer
from node.primitives.types import Address, Amount, Height
from node.query.forecasts.lane_position import Standing


class Turn(Struct, frozen=True):
    """How a live timer comes to the lane, at the prices of the next block."""

    timer: Timer
    limit: int
    price: Price
    place: tuple[int | bytes, ...]
    """Ascending: who has the lesser place comes first."""
    standing: Standing | None
    """Where there is more to it than the order of time."""


class TimerOffer(Struct, frozen=True):
    """What a timer states that is to be paid for its fires; None is the default's."""

    max_fee: Amount | None = None
    """Base units a cycle, under `auction` and `bidding`."""
    max_priority: Amount | None = None
    """Likewise."""
    bid_fp: int | None = None
    """Under `globalbox`: base units a cycle times 2⁹⁶ (D50)."""


class FireQuotas(Struct, frozen=True):
    """Of fires that a block takes, whatever room its lane has (D53)."""

    fires: int
    target_fires: int
    """Of one target; what it has more is passed over."""


class RuleForecast(Protocol):
    """What one set of rules would do, at the prices of the next block."""

    @property
    def is_reserving(self) -> bool:
        """Whether limits fill the lane, and not what is used."""
        ...

    @property
    def is_patient(self) -> bool:
        """Whether a timer waits whose payer cannot pay, instead of being removed."""
        ...

    @property
    def quotas(self) -> FireQuotas | None:
        """Of fires in a block; None where only the lane bounds them.

        Where there are any, the first fire without room in the lane ends a block's.
        """
        ...

    @staticmethod
    def offered_price(block: BlockContext, offer: TimerOffer) -> Price:
        """What a fire pays per unit that offers this."""
        ...

    def weight(self, actor: Address) -> int:
        """W of an actor in parts per million; 0 where all are alike."""
        ...

    def turn(self, timer: Timer) -> Turn:
        """How a live timer would come to the lane."""
        ...

    def line_up(self, height: int) -> Iterable[Turn]:
        """Who comes to the lane at a height.

        At a later height than the next block's only those that become due there.
        """
        ...

    def examined_at(self, timer: Timer) -> Height:
        """The least height above the head whose block looks at a live timer."""
        ...
