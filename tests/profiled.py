"""A plugin of pytest: every block of every `Devnet` is built twice, once profiled.

Profiling changes nothing, and what it counts adds up to each receipt, to the unit.
"""

from node.chain.transition import build_next
from node.query.profiles import profile_next
from node.testing.devnet import Devnet

__all__ = ["build_both", "pytest_configure"]


def build_both(state, candidates, heights_max):
    """The next block as it is without a profile, compared with that of a profile."""
    candidates = tuple(candidates)
    plain = build_next(state, candidates, heights_max)
    result, profile = profile_next(state, candidates, heights_max)
    assert result.header == plain.header
    assert result.receipts == plain.receipts
    assert result.events == plain.events
    assert result.trace == plain.trace
    assert result.writes == plain.writes
    assert tuple(each.receipt for each in profile.executions) == plain.receipts
    for each in profile.executions:
        cycles = sum(cost.cycles for cost in each.costs.values())
        cells = sum(cost.cells for cost in each.costs.values())
        assert (cycles, cells) == (each.receipt.cycles_used, each.receipt.cells_used)
        assert all(min(cost) >= 0 for cost in each.costs.values())
    return plain


def pytest_configure():
    """From now on."""
    made = Devnet.__init__

    def make(self, *arguments, **named):
        made(self, *arguments, **named)
        self._build = build_both

    Devnet.__init__ = make
