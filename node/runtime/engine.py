"""The engine: the single writer of the chain, one task on the event loop.

A trigger (pace, an admitted transaction, `Mine`) makes it choose candidates; the
worker thread builds the block, commits it and takes the new snapshot in one go; then,
without giving the loop a chance in between, the pool is pruned and the state replaced,
and the block is told to readers and to those who wait for its transactions.

The order is the argument for safety: *durable, visible, announced*. A block with
content is on disk before anybody can see it, so no answer that the node gave is lost
to a crash; it is visible before it is announced, so whoever hears of a block can read
it. A crash between the first two forgets nothing but the pool, which promised
nothing. Headers in which only time passes and timers fire are brought to disk many at
once, and then shown one after another. Empty blocks are not synced: the next block with
content, or the end of the node, carries them to disk, and after a power cut before that
their heights are built again.

Rules: nothing but this task writes to the store. Everything here runs on the loop's
thread; what is handed to the worker touches no state of the engine but the visible
chain state. An exception from building a block is a bug: the task ends with it, and
with the task the process.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from node import history
from node.archive.bundle import Bundle
from node.archive.chain_store import ChainStore
from node.chain.block import Header
from node.chain.consensus import CONSENSUS_NUMBER, require_own_consensus
from node.chain.errors import InvalidTransaction
from node.chain.genesis import Genesis
from node.chain.mailbox import is_any_pending
from node.chain.transaction import (
    DevInstruction,
    Fund,
    SetBalance,
    SetCode,
    SetStorage,
    Transaction,
    decode_transaction,
)
from node.chain.transition import BlockResult, State
from node.mempool import Evicted, Pool
from node.primitives.types import Address, Amount, Hash32
from node.query import find_transaction
from node.runtime.block_builder import (
    BuildRequest,
    BuiltBlock,
    EngineLog,
    EngineParts,
    EngineSettings,
    dev_transaction,
    left_out,
    make_blocks,
    note_block,
    refuse_dev,
)
from node.runtime.block_timer import BlockTimer
from node.runtime.bundle_import import ImportProgress
from node.runtime.commands import Command, CommandQueue, MineCommand, StoreCommand
from node.runtime.feed import Feed, FeedSubscription
from node.runtime.kept_outputs import KeptOutputs
from node.runtime.memory_exhaustion import for_a_block, for_a_read
from node.runtime.reads import Reads, on_worker
from node.runtime.recent_states import RecentStates
from node.runtime.rewinding import Rewound, reset, revert
from node.runtime.time_control import TimeControl
from node.runtime.transaction_outcomes import TransactionOutcomes
from node.runtime.types import (
    Committed,
    DroppedTransaction,
    MiningMode,
    NodeStatus,
    NodeStopping,
    Pending,
    RevertedTransaction,
    RewindNotice,
    TransactionOutcome,
    UnknownTransaction,
)
from node.state.snapshots import NamedSnapshot
from node.state.store import WriteSet
from pvm.output import Printout

__all__ = ["Engine", "EngineLog", "EngineParts", "EngineSettings"]

Result = TypeVar("Result")


_DEV_INSTRUCTIONS_MAX = 32
"""Of the node's own in the pool at a time: half of the nonces that a sender may be
ahead. Their nonces are nobody's business, so whoever asks for one more waits."""


class Engine:
    """The running chain; `Backend` of the services. Make it, then `run` it."""

    def __init__(
        self,
        parts: EngineParts,
        genesis: Genesis,
        state: State,
        settings: EngineSettings,
    ) -> None:
        self._parts = parts
        self._chain = ChainStore(parts.store, settings.keep_blocks)
        self._genesis = genesis
        self._consensus = history.load_consensus(state.snapshot)
        self._state = state
        self._recent_states = RecentStates(parts.store.snapshot, state)
        self._outputs = KeptOutputs()
        self._mode = settings.mode
        self._is_dev_admitted = settings.is_dev_admitted
        self._walls = settings.walls
        self._folder = settings.folder
        self._block_timer = BlockTimer(parts.clock, settings.pace_ms)
        self._time_control = TimeControl(
            self._block_timer, is_auto=settings.is_auto_timers
        )
        self._pool = Pool(settings.pool)
        self._feed = Feed(settings.feed)
        self._outcomes = TransactionOutcomes()
        self._reads = Reads(parts.worker)
        self._commands = CommandQueue()
        self._dev_turns = asyncio.Semaphore(_DEV_INSTRUCTIONS_MAX)
        self._in_block: frozenset[Hash32] = frozenset()
        """Ids of the candidates of the block that is being built."""
        self._wake = asyncio.Event()
        self.is_stopping = False
        """Whether it ends, or has ended."""

    # --- what can be seen ------------------------------------------------------------

    @property
    def state(self) -> State:
        """The visible state, replaced as a whole after each commit."""
        return self._state

    @property
    def status(self) -> NodeStatus:
        """The node's own numbers, now."""
        return NodeStatus(
            chain_name=self._genesis.name,
            mining_mode=self._mode,
            pace_ms=self._block_timer.pace_ms,
            pool_transactions=len(self._pool),
            pool_queued=self._pool.count_gapped(),
            pool_bytes=self._pool.body_bytes,
            streams=len(self._feed),
            oldest_state=self._recent_states.oldest(self._state),
            is_auto_timers=self._time_control.is_auto,
            time_holds=self._time_control.holds,
            walls=self._walls,
        )

    @property
    def folder(self) -> Path | None:
        """Where the chain is kept; None if it is in memory."""
        return self._folder

    def outputs_of(self, block_hash: bytes) -> Mapping[int, Printout]:
        """What the executions of a block printed: see `Backend`."""
        return self._outputs.of(block_hash)

    def subscribe(self) -> FeedSubscription:
        """Notices of all that becomes visible after this call."""
        head = self._state.head
        return self._feed.subscribe(head.height, head.hash())

    async def run_read(
        self, function: Callable[[State], Result], at_height: int | None = None
    ) -> Result:
        """Run `function` on the worker thread with a state: see `Backend`."""
        return await self._reads.run(
            lambda: for_a_read(
                lambda: function(self._recent_states.at(self._state, at_height))
            )
        )

    def _require_own_consensus(self) -> None:
        """A chain goes on under the rules that it was executed by."""
        require_own_consensus("this chain", self._consensus)

    def next_nonce(self, sender: Address) -> int:
        """The lowest nonce of `sender` that neither the chain nor the pool has."""
        return self._pool.next_nonce(self._state, sender)

    # --- transactions ----------------------------------------------------------------

    async def submit(self, raw: bytes) -> Transaction:
        """Admit a transaction to the pool: see `Backend`."""
        try:
            return self._admit(decode_transaction(raw))
        except InvalidTransaction as error:
            self._parts.stats.refused[error.fault.value] += 1
            raise

    def _admit(self, transaction: Transaction) -> Transaction:
        if self.is_stopping:
            raise NodeStopping("the node is stopping")
        self._require_own_consensus()
        if not self._is_dev_admitted:
            refuse_dev(transaction)
        dropped = self._pool.admit(self._state, transaction)
        self._outcomes.forget(transaction.id)
        self._note_dropped(dropped)
        if self._mode is MiningMode.INSTANT:
            self._wake.set()
        return transaction

    def _note_dropped(self, dropped: Sequence[Evicted]) -> None:
        for evicted in dropped:
            self._parts.stats.dropped[evicted.reason.fault.value] += 1
            outcome = DroppedTransaction(evicted.transaction.id, evicted.reason)
            if evicted.transaction.id in self._in_block:
                self._outcomes.displace(outcome)
            else:
                self._outcomes.note(outcome)

    async def wait_for(self, transaction_id: bytes) -> TransactionOutcome:
        """Wait until a transaction is committed or dropped: see `Backend`."""
        id_ = Hash32(transaction_id)
        if id_ in self._pool or id_ in self._in_block:
            if self.is_stopping and not self._in_block:
                raise NodeStopping("the node is stopping")
            return await self._outcomes.wait(id_)
        outcome = self._outcomes.find(id_)
        if outcome is not None:
            return outcome
        # With all others of its block, which may be many: not here.
        committed = await self.run_read(lambda state: find_transaction(state, id_))
        if committed is None:
            raise UnknownTransaction(id_.hex())
        return committed

    def look_up(
        self, transaction_id: bytes
    ) -> Pending | DroppedTransaction | RevertedTransaction | None:
        """What the pool knows: waiting, lately dropped or undone, or nothing."""
        transaction = self._pool.get(transaction_id)
        if transaction is not None:
            return Pending(transaction)
        return self._outcomes.find(Hash32(transaction_id))

    # --- commands --------------------------------------------------------------------

    async def mine(self, blocks: int) -> Header:
        """Make blocks now, one after another, in any mode: see `Backend`."""
        assert blocks >= 1
        self._require_own_consensus()
        command = MineCommand(blocks, asyncio.get_running_loop().create_future())
        return (await self._await_command(command, command.done))[-1].header

    async def pass_heights(
        self, heights_max: int, is_done: Callable[[State], bool]
    ) -> tuple[BlockResult, ...]:
        """Make the next headers now, in any mode: see `Backend`."""
        self._require_own_consensus()
        future = asyncio.get_running_loop().create_future()
        command = MineCommand(heights_max, future, is_done=is_done)
        return await self._await_command(command, command.done)

    async def set_mining(self, mode: MiningMode, pace_ms: int | None) -> None:
        """Change the mode; `pace_ms` None keeps the pace."""
        self._mode = mode
        self._block_timer.restart(pace_ms)
        self._wake.set()

    async def reset(self) -> Header:
        """Go back to genesis: state, history and pool; genesis' header."""
        return await self._between_blocks(self._reset)

    @asynccontextmanager
    async def hold_time(self) -> AsyncIterator[Header]:
        """Time stands still while the context is open: see `Backend`."""
        in_turn = partial(asyncio.sleep, 0)  # once it is carried out, no block is made
        try:
            with self._time_control.held():
                await self._between_blocks(in_turn)
                yield self._state.head
        finally:
            self._wake.set()

    async def create_snapshot(self, name: str) -> NamedSnapshot:
        """Name the head and the pool, to return to them: see `Backend`."""
        self._require_own_consensus()

        async def create() -> NamedSnapshot:
            chain, head = self._chain, self._state.head
            waiting = tuple([each.raw for each in self._pool.transactions()])
            return await self._on_worker(
                lambda: chain.create_snapshot(name, head, waiting)
            )

        return await self._between_blocks(create)

    async def revert_to_snapshot(self, name: str) -> Header:
        """Go back to a named snapshot: see `Backend`."""
        self._require_own_consensus()
        return await self._between_blocks(lambda: self._revert(name))

    async def import_bundle(self, bundle: Bundle) -> Header:
        """Fill the empty chain with a bundle's blocks: see `Backend`."""
        self._require_own_consensus()
        return await self._between_blocks(lambda: self._fill(bundle))

    async def _fill(self, bundle: Bundle) -> Header:
        keep, waiting = self._chain.keep_blocks, len(self._pool)
        importing = ImportProgress(self._parts.store, self._genesis, bundle, keep)
        imported = await importing.run(
            self._parts.worker, waiting, lambda: self.is_stopping
        )
        head = self._go_back(imported.rewound, "bundle_imported")
        if imported.refusal is not None:
            raise imported.refusal
        return head

    async def list_snapshots(self) -> tuple[NamedSnapshot, ...]:
        """All named snapshots, the oldest height first."""
        return await self.run_read(lambda _state: self._chain.list_snapshots())

    async def delete_snapshot(self, name: str) -> None:
        """Delete a named snapshot: see `Backend`."""
        await self._between_blocks(
            lambda: self._on_worker(lambda: self._chain.delete_snapshot(name))
        )

    async def fund(self, to: Address, amount: Amount) -> Committed:
        """Mint to an account (D41); in a block on return, in any mode."""
        return await self._execute_dev(Fund(to, amount))

    async def set_balance(self, address: Address, amount: Amount) -> Committed:
        """Mint or take what is missing to a balance (D41); as `fund`."""
        return await self._execute_dev(SetBalance(address, amount))

    async def set_storage(self, wanted: SetStorage) -> Committed:
        """Write an actor's state (D58); as `fund`."""
        return await self._execute_dev(wanted)

    async def set_code(self, wanted: SetCode) -> Committed:
        """Replace an actor's code (D58); as `fund`."""
        return await self._execute_dev(wanted)

    async def _execute_dev(self, instruction: DevInstruction) -> Committed:
        """Send a development instruction as if the proposer had signed it.

        The proposer is nobody's test account (D42), so that nobody's nonce moves.
        """
        async with self._dev_turns:
            return await self._execute_dev_in_turn(instruction)

    async def _execute_dev_in_turn(self, instruction: DevInstruction) -> Committed:
        sender = self._state.params.proposer
        raw = dev_transaction(self._state, self.next_nonce(sender), instruction)
        transaction = self._admit(decode_transaction(raw))
        if self._mode is MiningMode.MANUAL:
            future = asyncio.get_running_loop().create_future()
            await self._await_command(MineCommand(1, future, first=sender), future)
            self._require_decided(transaction)
        outcome = await self.wait_for(transaction.id)
        if isinstance(outcome, DroppedTransaction):
            raise outcome.reason
        if isinstance(outcome, RevertedTransaction):
            raise UnknownTransaction(outcome.transaction_id.hex())
        return outcome

    def _require_decided(self, transaction: Transaction) -> None:
        """Drop what the block that was made for it did not take, and say so."""
        reason = left_out(transaction)
        self._note_dropped(self._pool.drop(transaction, reason))

    async def _between_blocks(self, action: Callable[[], Awaitable[Result]]) -> Result:
        done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        await self._await_command(StoreCommand(action, done), done)
        return cast("Result", done.result())

    async def _await_command(
        self, command: Command, done: asyncio.Future[Result]
    ) -> Result:
        if self.is_stopping:
            raise NodeStopping("the node is stopping")
        self._commands.add(command)
        self._wake.set()
        return await done

    def _on_worker(self, function: Callable[[], Result]) -> asyncio.Future[Result]:
        return on_worker(self._parts.worker, function)

    # --- the task --------------------------------------------------------------------

    def stop(self) -> None:
        """Ask the task to end after the block in hand."""
        self.is_stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Make blocks until `stop`; then everything committed is on disk."""
        try:
            self._block_timer.restart(None)
            while not self.is_stopping:
                if not await self._step():
                    await self._time_control.sleep(self._wake, self._mode)
        finally:
            self.is_stopping = True
            self._in_block = frozenset()
            self._end_waiting()
        await self._on_worker(lambda: self._parts.store.commit(WriteSet(), sync=True))

    def _end_waiting(self) -> None:
        stopping = NodeStopping("the node is stopping")
        self._commands.end(stopping)
        self._outcomes.fail_all(stopping)
        self._reads.stop(stopping)
        self._feed.stop()

    async def _step(self) -> bool:
        """Do what is most urgent; False if nothing is to be done."""
        command = self._commands.next()
        if command is not None:
            await self._carry_out(command)
            return True
        if self._consensus != CONSENSUS_NUMBER:
            return False  # what others executed does not go on here
        if self._mode is MiningMode.INSTANT and await self._step_instant():
            self._block_timer.restart(None)  # other time passes once this one is idle
            return True
        heights = self._time_control.heights(self._state, self._mode, self._pool)
        if not heights:
            return False
        is_paced = self._mode is MiningMode.INTERVAL
        candidates = self._pool.select(self._state) if is_paced else ()
        heights_max = self._pool.heights_to_pass(self._state, heights)
        await self._make_block(tuple(candidates), BuildRequest(heights_max))
        return True

    async def _step_instant(self) -> bool:
        """One transaction a block in order of admission, then pending messages."""
        transaction = self._pool.select_one(self._state)
        if transaction is not None:
            await self._make_block((transaction,), BuildRequest(is_empty_wanted=False))
            return True
        if is_any_pending(self._state.snapshot):
            await self._make_block((), BuildRequest())
            return True
        return False

    # --- commands, carried out -------------------------------------------------------

    async def _carry_out(self, command: Command) -> None:
        """The next part of a command, which keeps its place until it is done."""
        if isinstance(command, StoreCommand):
            await command.carry_out()
            return
        before = self._state.head.height
        candidates = self._pool.select(self._state, first=command.first)
        heights_max = self._pool.heights_to_pass(self._state, command.blocks_left)
        request = BuildRequest(heights_max, is_done=command.is_done)
        results = await self._make_block(tuple(candidates), request)
        command.blocks_left -= self._state.head.height - before
        if (command.is_done or not command.blocks_left) and not command.done.done():
            command.done.set_result(results)

    async def _reset(self) -> Header:
        genesis, store, before = self._genesis, self._parts.store, self._state
        keep = self._chain.keep_blocks
        return self._go_back(
            await self._on_worker(lambda: reset(store, genesis, before, keep)),
            "chain_reset",
        )

    async def _revert(self, name: str) -> Header:
        chain, before = self._chain, self._state
        return self._go_back(
            await self._on_worker(lambda: revert(chain, before, name)), "chain_reverted"
        )

    def _go_back(self, rewound: Rewound, event: str) -> Header:
        """Show a chain that was rewound, with the pool it had; tell whom it undid."""
        self._time_control.forget()
        undone = {dropped.id: None for dropped in self._pool.clear()}
        undone |= dict.fromkeys(reversed(rewound.undone))  # the latest is kept longest
        self._state, self._chain = rewound.state, rewound.chain
        self._consensus = history.load_consensus(self._state.snapshot)
        self._recent_states.note(self._state)
        self._outputs.forget_above(self._state.head.height)
        for transaction in rewound.waiting:
            undone.pop(transaction.id, None)
            self._admit_again(transaction)
        for transaction_id in undone:
            self._outcomes.note(RevertedTransaction(transaction_id))
        self._outcomes.forget_committed(self._state.snapshot)
        head, place = self._state.head, rewound.place or self._state.head
        self._feed.publish(RewindNotice(place, place.hash()))
        self._parts.log.info(event, height=head.height, hash=head.hash().hex())
        return head

    def _admit_again(self, transaction: Transaction) -> None:
        self._outcomes.forget(transaction.id)
        try:
            self._note_dropped(self._pool.admit(self._state, transaction))
        except InvalidTransaction as reason:  # prices were others when it first came
            self._outcomes.note(DroppedTransaction(transaction.id, reason))

    # --- one block -------------------------------------------------------------------

    async def _make_block(
        self, candidates: tuple[Transaction, ...], request: BuildRequest
    ) -> tuple[BlockResult, ...]:
        """Durable, visible, announced: see the top of this module."""
        state, parts, chain = self._state, self._parts, self._chain
        self._in_block = frozenset([transaction.id for transaction in candidates])
        is_alone = not candidates and not len(self._pool)
        make = partial(
            make_blocks,
            *(state, candidates, parts.clock, chain, request),
            is_alone=is_alone,
        )
        height = state.head.height + 1
        made = await on_worker(
            parts.worker, lambda: for_a_block(make, height, parts.on_exhausted)
        )
        if isinstance(made, BlockResult):
            self._in_block = frozenset()
            self._set_aside(made)
            return ()
        for built in made:
            await self._show(built)
        return tuple([built.result for built in made])

    async def _show(self, made: BuiltBlock) -> None:
        """Make a block visible that is durable, and announce it."""
        parts = self._parts
        began = parts.clock.monotonic()
        self._state = made.state
        dropped = self._pool.prune(made.result)
        self._in_block = frozenset()
        self._note_dropped(dropped)
        notice = made.notice
        height, outputs = notice.block.header.height, made.result.outputs
        self._outputs.note(height, notice.block_hash, outputs)
        self._feed.publish(notice, made.weight_bytes)
        await self._outcomes.settle(made.result, made.lookup)
        seconds = parts.clock.monotonic() - began
        await asyncio.sleep(0)  # those who waited answer first
        self._recent_states.note(made.state)  # of use once it is below the head
        note_block(parts, made, len(self._pool), seconds)

    def _set_aside(self, result: BlockResult) -> None:
        """Drop candidates for which no block was made.

        They were fit for one when they were chosen. Had they to wait for something,
        they would be chosen again, and again.
        """
        for transaction, reason in result.rejected:
            self._note_dropped(self._pool.drop(transaction, reason))
        self._outcomes.settle_displaced()
