"""Executing what a block executes, with the counts of `pvm.Recorder`.

A `CountingWatcher` runs each message and changes nothing: the block is the same. Rule:
what is left of a receipt beside the costs of its actors is that of the empty stack.
"""

from collections.abc import Container, Iterable, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from node.chain.accounts import load_account, load_code
from node.chain.block import Block, Receipt, ReceiptKind
from node.chain.host import ActorHost
from node.chain.simulation import Simulated, simulate_transaction
from node.chain.transaction import Transaction
from node.chain.transition import BlockResult, State, apply_block, build_next
from node.primitives.types import Address, Height
from node.query.costs.profiles import ENTRY, ExecutionProfile, Profiled
from pvm import (
    ActorCode,
    Cost,
    Host,
    Message,
    Meter,
    Outcome,
    ProfiledCode,
    Recorder,
    Stack,
    execute,
)

__all__ = ["CountingWatcher", "profile_block", "profile_next", "profile_transaction"]

CODES_KEPT = 64
"""Codes that a watcher need not compile again for the next block."""


def profile_next(
    state: State,
    candidates: Iterable[Transaction],
    heights_max: int,
    watcher: "CountingWatcher | None" = None,
) -> tuple[BlockResult, ExecutionProfile]:
    """As `build_next`; with it what each of its receipts adds up from.

    A watcher that watched before need not compile again what ran then.
    """
    watcher = watcher or CountingWatcher()
    watcher.begin_block(None)
    result = build_next(watcher.watching(state), candidates, heights_max)
    return result, watcher.profile(result.header.height, result.receipts)


def profile_block(state: State, block: Block) -> ExecutionProfile:
    """What each receipt of a block adds up from; `state` is that of its parent.

    Raises:
        InvalidBlock: it is not the next block.
    """
    watcher = CountingWatcher()
    result = apply_block(watcher.watching(state), block)
    return watcher.profile(block.header.height, result.receipts)


def profile_transaction(
    state: State, transaction: Transaction
) -> tuple[Simulated, ExecutionProfile]:
    """As `simulate_transaction`; with it what its receipt adds up from."""
    watcher = CountingWatcher()
    simulated = simulate_transaction(watcher.watching(state), transaction)
    receipts = () if simulated.receipt is None else (simulated.receipt,)
    height = Height(state.head.height + 1)
    return simulated, watcher.profile(height, receipts)


class CountingWatcher:
    """Executes the messages of a block and counts them, execution by execution."""

    __slots__ = ("_chosen", "_codes", "_ran", "_recorders", "_sources")

    def __init__(self) -> None:
        self._chosen: Container[int] | None = None
        self._codes: dict[bytes, ProfiledCode] = {}
        self._recorders: dict[int, Recorder] = {}
        """By index of the receipt."""
        self._sources: dict[Address, str] = {}
        self._ran: dict[bytes, str] = {}
        """Sources by code hash."""

    def begin_block(self, chosen: Container[int] | None) -> None:
        """Count another block: the receipts of these indexes, or all."""
        self._chosen = chosen
        self._recorders, self._sources, self._ran = {}, {}, {}
        if len(self._codes) > CODES_KEPT:
            self._codes = {}

    def watching(self, state: State) -> State:
        """The state, from which a block is executed here."""
        return replace(state, caches=replace(state.caches, execute=self.execute))

    def execute(
        self, code: ActorCode, message: Message, host: Host, meter: Meter
    ) -> Outcome:
        """As `pvm.execute`."""
        assert isinstance(host, ActorHost), "messages of a block have the chain's host"
        index = host.execution.receipt_index
        if self._chosen is not None and index not in self._chosen:
            return execute(code, message, host, meter)
        if host.depth == 0:
            self._recorders[index] = Recorder()
        profiled = self._code_of(host, message.actor)
        return self._recorders[index].execute(profiled, message, host, meter)

    def _code_of(self, host: ActorHost, actor: Address) -> ProfiledCode:
        journal = host.execution.block.journal
        code_hash = load_account(journal, actor).code_hash
        if code_hash not in self._codes:
            self._codes[code_hash] = ProfiledCode(load_code(journal, code_hash))
        profiled = self._codes[code_hash]
        source = self._ran.get(code_hash)
        if source is None:
            source = self._ran[code_hash] = profiled.source.decode()
        self._sources[actor] = source
        return profiled

    def profile(self, height: Height, receipts: Iterable[Receipt]) -> ExecutionProfile:
        """Of the executions that have receipts."""
        executions = [
            Profiled(height, receipt, self._costs_of(receipt)) for receipt in receipts
        ]
        return ExecutionProfile(executions, self._sources, self._ran)

    def _costs_of(self, receipt: Receipt) -> Mapping[Stack, Cost]:
        recorder = self._recorders.get(receipt.index)
        costs = {} if recorder is None else dict(recorder.costs)
        if receipt.kind is ReceiptKind.AGENT:  # its cells are free (D34)
            costs = {s: Cost(cost.cycles, 0) for s, cost in costs.items()}
        entry = Cost(
            receipt.cycles_used - sum(cost.cycles for cost in costs.values()),
            receipt.cells_used - sum(cost.cells for cost in costs.values()),
        )
        assert entry.cycles >= 0, "a part is not more than the whole"
        assert entry.cells >= 0, "a part is not more than the whole"
        return MappingProxyType({ENTRY: entry, **costs})
