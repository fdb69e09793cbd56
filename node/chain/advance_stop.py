"""Advance: how far time is to pass, and what happened on the way (D36, D37).

What advances is whoever drives the chain, header by header: it asks `stop_height`
once, makes headers of at most the heights left with `build_next`, and ends when
`is_done` says so. So every driver stops at the same height, at the cost of what
happens in the heights that pass.
"""

from node.chain.advance import (
    AdvanceFault,
    AdvanceRefused,
    BlockCount,
    Duration,
    NextTimer,
    Target,
    ToHeight,
    UntilIdle,
)
from node.chain.mailbox import is_any_pending
from node.chain.transition import State, next_timer_height
from node.primitives.types import Height


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
        case BlockCount(count):
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
