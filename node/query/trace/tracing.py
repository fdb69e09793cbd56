"""Executing again what was executed, watched: transactions, fires, messages, blocks.

Blocks are functions of the state before them, so the state before and the block are
all that is needed. Of a block no more is executed than what comes before the execution
that is wanted; nothing is kept, no root is computed.
"""

from collections.abc import Callable, Container, Mapping
from typing import SupportsIndex

from msgspec.structs import replace
from typing_extensions import override

from node.chain.block import Block, Receipt, ReceiptKind
from node.chain.context import BlockContext
from node.chain.execution import execute_transaction
from node.chain.host import ActorHost
from node.chain.params import ZERO_ADDRESS
from node.chain.simulation import Simulated, call_read_only, simulate_transaction
from node.chain.timers import calendar
from node.chain.transaction import Transaction
from node.chain.transition import State, begin_block, run_scheduled
from node.primitives.types import Address, Height
from node.query.trace.changes import changes_of
from node.query.trace.records import (
    BlockTrace,
    Changes,
    ExecutionTrace,
    ReadTrace,
    TimerReplaced,
)
from node.query.trace.watcher import CallWatcher, TraceRoom
from node.state import keys
from pvm.errors import without_memory_errors

__all__ = [
    "changes_under",
    "trace_block",
    "trace_executions",
    "trace_read",
    "trace_simulation",
]

_Pairs = Mapping[bytes, tuple[bytes | None, bytes | None]]
"""What an execution changed: keys of the database, values before and after."""


@without_memory_errors
def trace_executions(
    state: State, block: Block, indexes: frozenset[int]
) -> tuple[ExecutionTrace, ...]:
    """Executions of a block, by the indexes of their receipts, of which there are some.

    `state` is that of the block's parent.
    """
    executed = _ExecutedAgain(state, TraceRoom(), indexes)
    executed.run(block, upto=max(indexes))
    return executed.traces()


@without_memory_errors
def trace_block(state: State, block: Block) -> BlockTrace:
    """All executions of a block, and what it changed; `state` is that of its parent."""
    executed = _ExecutedAgain(state, TraceRoom(), None)
    executed.run(block, upto=None)
    return BlockTrace(block.header.height, executed.traces(), executed.changes())


@without_memory_errors
def changes_under(
    state: State, block: Block, wanted: Container[bytes]
) -> tuple[tuple[Receipt, bytes, bytes | None, bytes | None], ...]:
    """What each execution of a block changed under keys of the database, in order.

    Of each change the execution, the key, the value before and after. `state` is that
    of the block's parent; no call is noted.
    """
    found: list[tuple[Receipt, bytes, bytes | None, bytes | None]] = []

    def note(receipt: Receipt, pairs: _Pairs) -> None:
        names = sorted(key for key in pairs if key in wanted)
        found.extend((receipt, key, *pairs[key]) for key in names)

    executed = _ExecutedAgain(state, TraceRoom(0), (), note)
    executed.run(block, upto=None)
    return tuple(found)


@without_memory_errors
def trace_simulation(
    state: State, transaction: Transaction
) -> tuple[Simulated, ExecutionTrace | None]:
    """As `simulate_transaction`; with it its trace, if it could be included.

    What it would change is not told: it changes nothing.
    """
    watcher = CallWatcher(TraceRoom())
    simulated = simulate_transaction(_watched(state, watcher), transaction)
    if simulated.receipt is None:
        return simulated, None
    height = Height(state.head.height + 1)
    call = watcher.calls.get(simulated.receipt.index)
    return simulated, ExecutionTrace(height, simulated.receipt, call)


@without_memory_errors
def trace_read(
    state: State,
    actor: Address,
    handler: str,
    payload: bytes,
    sender: Address = ZERO_ADDRESS,
) -> ReadTrace:
    """As `call_read_only`; with it the tree of its calls. The actor must exist."""
    watcher = CallWatcher(TraceRoom())
    result = call_read_only(_watched(state, watcher), actor, handler, payload, sender)
    return ReadTrace(result, watcher.calls[0])


def _watched(state: State, watcher: CallWatcher) -> State:
    caches = replace(state.caches, execute=watcher.execute)
    return replace(state, caches=caches)


class _ReceiptsToldOf(list[Receipt]):
    """Receipts of a block that is made, of which somebody is told: each is an end."""

    def __init__(self, told: Callable[[Receipt], None]) -> None:
        super().__init__()
        self._told = told

    @override
    def append(self, receipt: Receipt, /) -> None:
        self._told(receipt)
        super().append(receipt)

    @override
    def insert(self, index: SupportsIndex, receipt: Receipt, /) -> None:
        raise AssertionError("receipts are in the order of execution")


class _ExecutedAgain:
    """A block that is executed again, and what its executions did and changed."""

    def __init__(
        self,
        state: State,
        room: TraceRoom,
        wanted: Container[int] | None,
        told: Callable[[Receipt, _Pairs], None] | None = None,
    ) -> None:
        self._room = room
        self._told = told
        self._wanted = wanted
        self._state = state
        self._watcher = CallWatcher(room, wanted, self._begin)
        self._block = begin_block(_watched(state, self._watcher))
        self._block.receipts = _ReceiptsToldOf(self._end)
        # Open until the end, so that the journal forgets no write meanwhile.
        self._checkpoint = self._block.journal.checkpoint()
        self._place = self._block.journal.place
        self._found: list[tuple[Receipt, Changes]] = []

    def run(self, block: Block, upto: int | None) -> None:
        """Execute all of it, or as far as to a receipt."""
        context, journal = self._block, self._block.journal
        for transaction in block.transactions:
            self._place = journal.place
            execute_transaction(context, transaction)
            if upto is not None and len(context.receipts) > upto:
                return
        if block.header.span == 1:
            run_scheduled(context)

    def traces(self) -> tuple[ExecutionTrace, ...]:
        """Of the executions that were wanted, in order."""
        height = Height(self._block.height)
        return tuple(
            ExecutionTrace(
                height, receipt, self._watcher.calls.get(receipt.index), changes
            )
            for receipt, changes in self._found
        )

    def changes(self) -> Changes:
        """Of all that was executed together."""
        self._block.journal.commit(self._checkpoint)
        writes, undo = self._block.journal.write_and_undo()
        pairs = {
            key: (undo.changes.get(key), value) for key, value in writes.changes.items()
        }
        return changes_of(pairs, self._room)

    def _begin(self, host: ActorHost) -> None:
        """What another than a transaction changes begins here, its advance paid."""
        if host.execution.kind is not ReceiptKind.TRANSACTION:
            self._place = self._block.journal.place

    def _end(self, receipt: Receipt) -> None:
        journal, place = self._block.journal, self._place
        self._place = journal.place
        if self._told is not None:
            self._told(receipt, journal.changes_since(place))
        if self._wanted is not None and receipt.index not in self._wanted:
            return
        pairs = journal.changes_since(place)
        advanced: dict[Address, int] = {}
        if receipt.kind is ReceiptKind.FIRE:
            limits = receipt.cycles_limit, receipt.cells_limit
            advanced[receipt.payer] = receipt.price.cost(*limits)
            payer = keys.account(receipt.payer)
            if payer not in pairs:
                record = journal.get(payer)
                pairs[payer] = record, record
        changes = changes_of(pairs, self._room, advanced)
        if receipt.kind is ReceiptKind.FIRE:
            changes = _with_fired(changes, self._state, self._block, receipt.id)
        self._found.append((receipt, changes))


def _with_fired(
    changes: Changes, state: State, block: BlockContext, timer_id: bytes
) -> Changes:
    """With the timer itself, which left its place before its fire began."""
    before = calendar.load_timer(state.snapshot, timer_id)
    after = calendar.load_timer(block.journal, timer_id)
    if before == after or any(one.timer_id == timer_id for one in changes.timers):
        return changes
    fired = TimerReplaced(timer_id, before, after)
    timers = sorted((*changes.timers, fired), key=lambda one: one.timer_id)
    return replace(changes, timers=tuple(timers))
