"""Advance: how far time is to pass, and what happened on the way (D36, D37).

What advances is whoever drives the chain, header by header: it asks `stop_height`
once, makes headers of at most the heights left with `build_next`, and ends when
`is_done` says so. So every driver stops at the same height, at the cost of what
happens in the heights that pass.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from node.chain.block import ReceiptKind
from node.chain.mailbox import is_any_pending
from node.chain.timers.timer import Decision
from node.chain.transition import BlockResult, State, next_timer_height
from node.primitives.types import NOTHING, Amount, Height


@dataclass(frozen=True, slots=True)
class Blocks:
    """So many heights, at least 1."""

    count: int


@dataclass(frozen=True, slots=True)
class ToHeight:
    """Up to a height above the head."""

    height: int


@dataclass(frozen=True, slots=True)
class Duration:
    """Until at least so much virtual time has passed, in milliseconds, above 0."""

    milliseconds: int


@dataclass(frozen=True, slots=True)
class NextTimer:
    """Through the height at which the next timer is looked at."""


@dataclass(frozen=True, slots=True)
class UntilIdle:
    """Until nothing waits that is due up to a height: the bound."""

    height_max: int


Target = Blocks | ToHeight | Duration | NextTimer | UntilIdle


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
        f"advance: exactly one of {', '.join(_BY_NUMBER)} as an int, or "
        f"next_timer=True, not {dict(wanted)}"
    )


_BY_NUMBER: Mapping[str, Callable[[int, int], Target]] = MappingProxyType(
    {
        "blocks": lambda _head, count: Blocks(count),
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
    """A target that the chain cannot advance to; nothing happened."""

    def __init__(self, fault: AdvanceFault, message: str, **numbers: int) -> None:
        super().__init__(message)
        self.fault = fault
        self.numbers = numbers


def stop_height(state: State, target: Target) -> Height:
    """The height at which to stop, at the latest.

    Raises:
        AdvanceRefused: with its fault.
    """
    head, stop = state.head.height, _wanted_height(state, target)
    if stop <= head:
        raise AdvanceRefused(
            AdvanceFault.HEIGHT_PASSED,
            f"height {stop} is not above the head, which is at {head}",
            height=stop,
            head=head,
        )
    if stop > state.params.height_max:
        raise AdvanceRefused(
            AdvanceFault.HEIGHT_TOO_FAR,
            f"height {stop} is too far: timestamps end at {state.params.height_max}",
            height=stop,
            height_max=state.params.height_max,
        )
    return Height(stop)


def _wanted_height(state: State, target: Target) -> int:
    head = state.head.height
    match target:
        case Blocks(count):
            return head + _positive(count, "blocks")
        case Duration(milliseconds):
            interval = state.params.block_interval_ms
            return head - -_positive(milliseconds, "milliseconds") // interval
        case ToHeight(height) | UntilIdle(height):
            return height
        case NextTimer():
            return _next_timer(state)


def _positive(value: int, what: str) -> int:
    if value < 1:
        raise AdvanceRefused(AdvanceFault.NO_TIME, f"{what}: at least 1, not {value}")
    return value


def _next_timer(state: State) -> int:
    height = next_timer_height(state)
    if height is None:
        raise AdvanceRefused(
            AdvanceFault.NO_TIMER, "no timer is pending: nothing would ever fire"
        )
    return height


def is_done(
    state: State, target: Target, stop: Height, *, is_anything_waiting: bool
) -> bool:
    """Whether the target is reached; `is_anything_waiting` in the pool."""
    if state.head.height >= stop:
        return True
    if not isinstance(target, UntilIdle):
        return False
    if is_anything_waiting or is_any_pending(state.snapshot):
        return False
    timer = next_timer_height(state)
    return timer is None or timer > stop


@dataclass(slots=True)
class Passage:
    """What happened while time passed, summed up header by header."""

    heights: list[Height] = field(default_factory=list)
    """At which anything happened, ascending."""
    fires: int = 0
    fires_failed: int = 0
    put_off: int = 0
    """Decisions to let a due timer wait, not timers."""
    expired: int = 0
    removed: int = 0
    """For want of funds."""
    fire_cycles: int = 0
    fire_fees: Amount = NOTHING

    def note(self, result: BlockResult) -> None:
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
