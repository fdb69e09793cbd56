"""Where time is to go, and what happened on the way (D36, D37).

The words of every interface for `Advance`: targets, refusals and the summary. They
import no state, so that a client can speak them too; `advance` says how far it is.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct, field

from node.chain.block import ReceiptKind
from node.chain.timers.timer import Decision
from node.primitives.types import NOTHING, Amount, Height

if TYPE_CHECKING:
    from node.chain.transition import BlockResult


class BlockCount(Struct, frozen=True):
    """So many heights, at least 1."""

    count: int


class ToHeight(Struct, frozen=True):
    """Up to a height above the head."""

    height: int


class Duration(Struct, frozen=True):
    """Until at least so much virtual time has passed, in milliseconds, above 0."""

    milliseconds: int


class NextTimer(Struct, frozen=True):
    """Through the height at which the next timer is looked at."""


class UntilIdle(Struct, frozen=True):
    """Until nothing waits that is due up to a height: the bound."""

    height_max: int


Target = BlockCount | ToHeight | Duration | NextTimer | UntilIdle


def target_of(head: int, wanted: Mapping[str, int | bool]) -> Target:
    """The target that was named, as the programming interfaces name them.

    Raises:
        TypeError: not exactly one, or of another type.
    """
    if len(wanted) == 1:
        ((name, value),) = wanted.items()
        if name == "next_timer" and value is True:
            return NextTimer()
        if name in _BY_NUMBER and type(value) is int:
            return _BY_NUMBER[name](head, value)
    raise TypeError(
        f"exactly one of {', '.join(_BY_NUMBER)} as an int, or next_timer=True, is "
        "wanted"
    )


_BY_NUMBER: Mapping[str, Callable[[int, int], Target]] = MappingProxyType(
    {
        "blocks": lambda _head, count: BlockCount(count),
        "height": lambda _head, height: ToHeight(height),
        "duration_ms": lambda _head, milliseconds: Duration(milliseconds),
        "until_idle": lambda head, blocks: UntilIdle(head + blocks),
    }
)


class AdvanceFault(Enum):
    """Why time does not pass; the value is the stable name for programs."""

    NO_TIME = "NO_TIME_TO_PASS"
    HEIGHT_PASSED = "HEIGHT_PASSED"
    HEIGHT_TOO_FAR = "HEIGHT_TOO_FAR"
    NO_TIMER = "NO_TIMER_PENDING"


class AdvanceRefused(Exception):  # noqa: N818 - a refusal, named like the others
    """The chain cannot advance to the target; nothing happened."""

    def __init__(self, fault: AdvanceFault, message: str, **numbers: int) -> None:
        super().__init__(message)
        self.fault = fault
        self.numbers = numbers


class AdvanceSummary(Struct):
    """What happened while time passed."""

    heights: list[Height] = field(default_factory=list)
    """Heights at which something happened, ascending."""
    fires: int = 0
    """Number of fires, with those that failed."""
    fires_failed: int = 0
    """Number of fires whose handler failed."""
    put_off: int = 0
    """How often a due timer was put off to a later height."""
    expired: int = 0
    """Number of timers that expired."""
    removed: int = 0
    """Number of timers that were removed because their payer lacked money."""
    fire_cycles: int = 0
    """Cycles that all fires used."""
    fire_fees: Amount = NOTHING
    """Base units that all fires paid."""

    def note(self, result: "BlockResult") -> None:
        """Add one header."""
        if not result.is_empty:
            self.heights.append(result.header.height)
        for decision in result.trace:
            match decision.decision:
                case Decision.PUT_OFF:
                    self.put_off += 1
                case Decision.EXPIRED:
                    self.expired += 1
                case Decision.REMOVED_INSUFFICIENT_FUNDS:
                    self.removed += 1
                case _:
                    pass
        for receipt in result.receipts:
            if receipt.kind is ReceiptKind.FIRE:
                self.fires += 1
                self.fires_failed += not receipt.is_success
                self.fire_cycles += receipt.cycles_used
                self.fire_fees = Amount(self.fire_fees + receipt.fee)
