"""A dry run on a running node: one header at a time, between the chain's own blocks.

Rules: each header is one read of the worker's queue, so blocks and other reads take
their turns between; a caller who goes away ends it after the header in hand.
"""

from collections.abc import Sequence
from functools import partial

from node.chain.dry_run import DryRun, advance_dry_run, begin_dry_run
from node.chain.transaction import Transaction
from node.chain.transition import State
from node.runtime.types import Backend

__all__ = ["look_ahead"]


async def look_ahead(
    backend: Backend, state: State, blocks: int, candidates: Sequence[Transaction] = ()
) -> DryRun:
    """What the next blocks after a state would bring; `candidates` go first.

    Raises:
        AdvanceRefused: no blocks, or more than there are heights.
        TooManyReads: others wait already; nothing of it is kept.
        NodeStopping: the node stops.
    """
    outlook = begin_dry_run(state, blocks)
    while not outlook.is_over:
        await backend.run_read(partial(_look, outlook, candidates))
        candidates = ()
    return outlook


def _look(outlook: DryRun, candidates: Sequence[Transaction], _head: State) -> None:
    """One header further, whatever has become of the chain meanwhile."""
    advance_dry_run(outlook, candidates)
