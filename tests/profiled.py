"""A plugin of pytest: every block of every `Devnet` is built twice, once profiled.

Profiling changes nothing, and what it counts adds up to each receipt, to the unit.
"""

from contextlib import suppress

from node.chain.block import ReceiptKind
from node.chain.transaction import DeployActor, UpgradeActor, intrinsic_cost
from node.chain.transition import begin_block, build_next
from node.query.costs.profiles import ENTRY
from node.query.costs.profiling import profile_next
from node.testing.devnet import Devnet
from pvm import CompileError, Cost, compile_actor

__all__ = ["build_both", "pytest_configure", "require_exact"]


_BEFORE_COMPILING = {"AlreadyDeployed", "NotFound", "SameCode", "Unauthorized"}
"""Why nothing was compiled."""


def require_exact(executions, transactions, entry_cycles):
    """Every row adds up, and what is left for the entry is what the rules say it is.

    Otherwise something was counted twice, or not at all.
    """
    sent = {each.id: each for each in transactions}
    for each in executions:
        receipt, entry = each.receipt, each.costs[ENTRY]
        cycles = sum(cost.cycles for cost in each.costs.values())
        cells = sum(cost.cells for cost in each.costs.values())
        assert (cycles, cells) == (receipt.cycles_used, receipt.cells_used)
        assert all(min(cost) >= 0 for cost in each.costs.values())
        if receipt.kind is not ReceiptKind.TRANSACTION:
            assert entry == (min(entry_cycles, receipt.cycles_limit), 0)
            continue
        transaction = sent[receipt.id]
        cycles, cells = intrinsic_cost(transaction.body, transaction.body_bytes)
        if receipt.failure is None or receipt.failure.kind not in _BEFORE_COMPILING:
            cycles += compiling(transaction.instruction)
        before = min(cycles, receipt.cycles_limit), cells
        assert entry == (Cost(0, 0) if transaction.is_dev else before)


def compiling(instruction):
    """What a deployment or an upgrade pays for the nodes of its source (D6, D58)."""
    charged = []
    if isinstance(instruction, DeployActor | UpgradeActor):
        with suppress(CompileError):
            compile_actor(instruction.code, charge=charged.append)
    return sum(charged)


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
    entry_cycles = begin_block(state).timer_config.fire_base_cycles
    require_exact(profile.executions, plain.block.transactions, entry_cycles)
    return plain


def pytest_configure():
    """From now on."""
    made = Devnet.__init__

    def make(self, *arguments, **named):
        made(self, *arguments, **named)
        self._build = build_both

    Devnet.__init__ = make
