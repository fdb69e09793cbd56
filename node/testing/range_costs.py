"""Costs of a `Devnet` by line: its blocks executed again, since any height."""

from bisect import bisect_left

from node.chain.transition import BlockResult, State
from node.primitives.types import Address
from node.query.costs.range_costing import RangeCosting
from node.query.costs.ranges import RangeCosts
from node.testing.traces import state_before

__all__ = ["range_costs"]


def range_costs(
    state: State,
    results: list[BlockResult],
    first: int,
    last: int,
    only: Address | None,
) -> RangeCosts:
    """What the blocks of some heights, of which there are results, cost."""
    number = bisect_left(results, first, key=lambda one: one.header.height)
    before = state_before(state, results, number)
    costing = RangeCosting(before, first, last, only)
    for result in results[number:]:
        if costing.is_over:
            break
        for _ in costing.take(result.block, result.receipts):
            pass  # nobody waits for the executing thread
    return costing.costs()
