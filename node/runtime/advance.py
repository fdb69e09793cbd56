"""Advance: let time pass on a running node, header by header.

Rules: the target is understood once, at the beginning; blocks that others cause on
the way count towards it; whoever stops listening stops it after the headers in hand.
"""

from collections.abc import AsyncIterator

from node.chain.advance import Target
from node.chain.advance_stop import is_done
from node.chain.transition import BlockResult, State
from node.primitives.types import Height
from node.runtime.types import Backend

__all__ = ["advance"]


async def advance(
    backend: Backend, target: Target, stop: Height
) -> AsyncIterator[BlockResult]:
    """The headers made on the way to a target, each when it is visible.

    `stop` is `stop_height` of the target, asked of the state that the caller saw.
    """

    def is_reached(state: State) -> bool:
        return is_done(state, target, stop, is_anything_waiting=False)

    while not is_done(
        backend.state,
        target,
        stop,
        is_anything_waiting=backend.status.pool_transactions > 0,
    ):
        heights_left = stop - backend.state.head.height
        for result in await backend.pass_heights(heights_left, is_reached):
            yield result
