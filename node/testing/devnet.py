"""Devnet: the same chain as the node's, driven by a test instead of a network.

It runs the core that the engine runs: build a block, commit its writes, take the next
state. Senders are impersonated (D41), so nothing has to be signed; blocks are mined
when the test says so. Everything executes on the virtual machine's own thread, as in
the node, so results do not depend on the caller's stack.

Failures are exceptions that show the actor's line.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Self, TypeVar

from typing_extensions import override

from node.chain.accounts import Account, load_account
from node.chain.advance import Passage, Target, is_done, stop_height, target_of
from node.chain.block import Event, Header, Receipt, ReceiptKind
from node.chain.errors import InvalidTransaction
from node.chain.genesis import build_genesis, dev_account
from node.chain.params import ChainParams
from node.chain.simulation import call_read_only, estimate_limits
from node.chain.timers import calendar
from node.chain.timers.timer import Timer, TimerDecision
from node.chain.transaction import (
    Body,
    DeployActor,
    Fund,
    Instruction,
    SetBalance,
    Transaction,
    Transfer,
    decode_transaction,
    impersonate,
)
from node.chain.transition import (
    BlockResult,
    State,
    build_next,
    head_globals,
    next_state,
    open_state,
)
from node.primitives.crypto import dev_private_key
from node.primitives.types import Address, Amount, Hash32
from node.query.chain import Supply, count_supply
from node.state.memory import MemoryStore
from node.state.store import Store
from node.testing.actor import Actor, DevAccount, Sender, address_of, amount_of
from node.testing.failures import (
    DevnetClosed,
    ReadFailed,
    TransactionFailed,
    TransactionRefused,
)
from node.testing.presets import preset
from node.testing.snapshots import ChainSnapshot, Mark, undo_since
from node.testing.stories import (
    BlockStory,
    OutlookStory,
    TimerStory,
    block_story,
    outlook_story,
    timer_story,
)
from pvm import Worker

FEE_HEADROOM = 16
"""Default maximum fee, in basefees: tests need not think of prices."""
_T = TypeVar("_T")


class Devnet:
    """A whole chain in this process; a context manager."""

    def __init__(
        self,
        genesis: str = "devnet",
        *,
        store: Store | None = None,
        **overrides: object,
    ) -> None:
        """A fresh chain.

        Args:
            genesis: a preset's name.
            store: where to keep it; empty. In memory if not given.
            overrides: fields of the genesis document, nested ones merged.

        Raises:
            InvalidGenesis: an override that cannot be.
        """
        self.genesis = preset(genesis, overrides)
        self.accounts = tuple(
            DevAccount(i, dev_account(i), dev_private_key(i))
            for i in range(self.genesis.dev_account_count)
        )
        self._store = store or MemoryStore()
        self._worker: Worker | None = Worker()
        self._queue: list[Transaction] = []
        self._sources: dict[Address, str] = {}
        first = build_genesis(self.genesis)
        self._store.commit(first.writes, sync=False)
        self.results: list[BlockResult] = [first]
        """Of every header since genesis, in order; a run of empty blocks is one."""
        self.state: State = open_state(
            self.genesis.params, first.header, self._store.snapshot()
        )

    @override
    def __repr__(self) -> str:
        return f"<devnet {self.genesis.name!r} at height {self.height}>"

    def __enter__(self) -> Self:
        """The chain itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the chain."""
        self.close()

    def close(self) -> None:
        """End the thread and release the store; calling it again is fine."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
            self._store.close()

    # --- the chain as it stands ----------------------------------------------------

    @property
    def head(self) -> Header:
        """The latest header."""
        return self.state.head

    @property
    def height(self) -> int:
        """Of the latest block."""
        return self.state.head.height

    @property
    def timestamp_ms(self) -> int:
        """Virtual time of the latest block (D37)."""
        return self.state.head.timestamp_ms

    @property
    def params(self) -> ChainParams:
        """What the genesis fixed."""
        return self.state.params

    @property
    def last(self) -> BlockResult:
        """The latest block's result."""
        return self.results[-1]

    def result_at(self, height: int) -> BlockResult:
        """What became of a height; within a run, the run's result.

        Raises:
            ValueError: the chain is not there yet.
        """
        if type(height) is not int or not 0 <= height <= self.height:
            raise ValueError(f"height: 0 to {self.height} exist, not {height!r}")
        index = bisect_left(self.results, height, key=lambda r: r.header.height)
        return self.results[index]

    def account(self, who: Sender) -> Account:
        """Balance, nonce and code of an account."""
        return load_account(self.state.snapshot, address_of(who))

    def balance(self, who: Sender) -> Amount:
        """Base units."""
        return self.account(who).balance

    def timers(self, actor: Sender | None = None) -> list[Timer]:
        """Live timers in due order, of one actor or of all."""
        if actor is not None:
            return list(calendar.timers_of(self.state.snapshot, address_of(actor)))
        return list(calendar.timers_between(self.state.snapshot, 0, 2**64 - 1))

    def timer(self, timer_id: bytes) -> Timer | None:
        """A live timer, or None."""
        return calendar.load_timer(self.state.snapshot, timer_id)

    def decisions(self, timer_id: bytes) -> list[tuple[int, TimerDecision]]:
        """Every decision about a timer with its height: its whole life."""
        return [
            (result.header.height, decision)
            for result in self.results
            for decision in result.trace
            if decision.timer_id == timer_id
        ]

    def explain(self, timer_id: bytes) -> TimerStory:
        """Why a timer did what it did, and what awaits it; raises `NotFound`."""
        return timer_story(self.state, self.results, timer_id)

    def explain_block(self, height: int) -> BlockStory:
        """What the block at a height decided about timers, in the order of looking."""
        return block_story(height, self.result_at(height))

    def simulate(self, blocks: int) -> OutlookStory:
        """What the next blocks would bring, with what is queued; nothing is kept."""
        return self._on_worker(lambda: outlook_story(self.state, blocks, self._queue))

    def events(self, topic: str | None = None) -> list[Event]:
        """Events of all blocks in order, or those of one topic."""
        return [
            event
            for result in self.results
            for event in result.events
            if topic is None or event.topic == topic
        ]

    def receipts(self, kind: ReceiptKind | None = None) -> list[Receipt]:
        """Receipts of all blocks in order, or those of one kind."""
        return [
            receipt
            for result in self.results
            for receipt in result.receipts
            if kind is None or receipt.kind is kind
        ]

    def supply(self) -> Supply:
        """The supply equation, recounted from every account and message."""
        return count_supply(self.state, records_max=None)

    # --- going back ----------------------------------------------------------------

    def snapshot(self) -> ChainSnapshot:
        """The present, to return to; leaving it as a context manager returns.

        It nests and serves again: height, clock, pool, timers, fees and results come
        back. Taking it costs nothing that grows with the chain, returning costs what
        happened since.

        Raises:
            DevnetClosed: the chain was closed.
        """
        self._require_open()
        queue, sources = tuple(self._queue), len(self._sources)
        mark = Mark(self.last, len(self.results), self.state.caches.known)

        def go_back() -> None:
            self._require_open()
            undo = undo_since(self.results, mark)
            if undo.changes:
                self._store.commit(undo, sync=False)
            self.state = mark.state(self.state, self._store.snapshot())
            self._queue = list(queue)
            while len(self._sources) > sources:
                self._sources.popitem()

        return ChainSnapshot(mark.last.header, go_back)

    # --- acting --------------------------------------------------------------------

    def mine(self, blocks: int = 1) -> BlockResult:
        """Make blocks; the first takes what was submitted. Returns the last."""
        if type(blocks) is not int or blocks < 1:
            raise ValueError(f"blocks: a count above 0 is wanted, not {blocks!r}")
        self._on_worker(lambda: self._mine(blocks))
        return self.last

    def mine_until(self, height: int) -> BlockResult:
        """Make blocks up to a height above the present one."""
        return self.mine(height - self.height)

    def advance(self, **wanted: int | bool) -> Passage:
        """Let time pass, at the cost of what happens; says what happened.

        Args:
            wanted: one of `blocks`, `height`, `duration_ms` (virtual time),
                `next_timer=True`, or `until_idle` with the number of blocks that may
                pass at the most.

        Raises:
            TypeError: not exactly one target.
            AdvanceRefused: the chain cannot advance to it; nothing happened.
        """
        target = target_of(self.height, wanted)
        return self._on_worker(lambda: self._advance(target))

    def _advance(self, target: Target) -> Passage:
        stop, passage = stop_height(self.state, target), Passage()
        while not is_done(
            self.state, target, stop, is_anything_waiting=bool(self._queue)
        ):
            passage.note(self._step(stop - self.height))
        return passage

    def _mine(self, blocks: int) -> None:
        last = self.height + blocks
        while self.height < last:
            self._step(last - self.height)

    def _step(self, heights_max: int) -> BlockResult:
        queue, self._queue = self._queue, []
        result = build_next(self.state, queue, heights_max)
        self._store.commit(result.writes, sync=False)
        self.state = next_state(self.state, result, self._store.snapshot())
        self.results.append(result)
        self._queue = [t for t, error in result.rejected if error.may_wait]
        return result

    def submit(
        self,
        instruction: Instruction,
        *,
        sender: Sender | None = None,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        **fees: int,
    ) -> Hash32:
        """Queue a transaction for the next block; returns its id.

        Limits are estimated when not given. `fees` are fields of `Body`.
        """
        address = address_of(sender if sender is not None else self.accounts[0])
        raw = self._body(instruction, address, cycles_limit, cells_limit, fees)
        return self.submit_raw(impersonate(raw, address))

    def submit_raw(self, raw: bytes) -> Hash32:
        """Queue a transaction as it would be on the wire.

        Raises:
            InvalidTransaction: it cannot be decoded.
        """
        transaction = decode_transaction(raw)
        self._queue.append(transaction)
        return transaction.id

    def _body(
        self,
        instruction: Instruction,
        sender: Address,
        cycles_limit: int | None,
        cells_limit: int | None,
        fees: Mapping[str, int],
    ) -> bytes:
        globals_ = head_globals(self.state)
        queued = sum(1 for t in self._queue if t.sender == sender)
        nonce = load_account(self.state.snapshot, sender).nonce
        fields = {
            "chain_id": self.params.chain_id,
            "nonce": nonce,
            "cycles_limit": 0,
            "cells_limit": 0,
            "max_fee_per_cycle": FEE_HEADROOM * globals_.basefee_cycle,
            "max_priority_fee_per_cycle": 0,
            "max_fee_per_cell": FEE_HEADROOM * globals_.basefee_cell,
            "max_priority_fee_per_cell": 0,
        }
        if isinstance(instruction, Fund | SetBalance):
            fields.update(dict.fromkeys(list(fields)[2:], 0))
        elif cycles_limit is None or cells_limit is None:
            draft = Body(**fields, instruction=instruction)  # type: ignore[arg-type]
            try:
                estimate = self._on_worker(
                    lambda: estimate_limits(self.state, draft, sender)
                )
            except InvalidTransaction as error:
                raise TransactionRefused(error) from None
            cycles_limit = estimate[0] if cycles_limit is None else cycles_limit
            cells_limit = estimate[1] if cells_limit is None else cells_limit
        if cycles_limit is not None and cells_limit is not None:
            fields["cycles_limit"], fields["cells_limit"] = cycles_limit, cells_limit
        fields.update(nonce=nonce + queued, **fees)
        body = Body(**fields, instruction=instruction)  # type: ignore[arg-type]
        return body.encode()

    def execute(
        self,
        instruction: Instruction,
        *,
        sender: Sender | None = None,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        expect_failure: bool = False,
        **fees: int,
    ) -> Receipt:
        """Submit a transaction and mine a block with it.

        Raises:
            TransactionRefused: it could not be included.
            TransactionFailed: it failed, unless `expect_failure`; and an
                AssertionError if it succeeded although a failure was expected.
        """

        def submit_and_mine() -> Hash32:
            submitted = self.submit(
                instruction,
                sender=sender,
                cycles_limit=cycles_limit,
                cells_limit=cells_limit,
                **fees,
            )
            self._mine(1)
            return submitted

        # One hop: what is called in there on the worker finds itself there already.
        transaction_id = self._on_worker(submit_and_mine)
        for transaction, error in self.last.rejected:
            if transaction.id == transaction_id:
                self._queue = [t for t in self._queue if t.id != transaction_id]
                raise TransactionRefused(error)
        receipt = next(r for r in self.last.receipts if r.id == transaction_id)
        if not receipt.is_success and not expect_failure:
            raise TransactionFailed(receipt, self._source_of(receipt, instruction))
        assert receipt.is_success != expect_failure, "a failure was expected"
        return receipt

    def _source_of(self, receipt: Receipt, instruction: Instruction) -> str | None:
        if isinstance(instruction, DeployActor):
            return instruction.code.decode("utf-8", "replace")
        return self._sources.get(receipt.actor)

    def deploy(
        self,
        source: str | bytes,
        *,
        sender: Sender | None = None,
        value: int | str = 0,
        payload: bytes = b"",
        salt: bytes | None = None,
        expect_failure: bool = False,
        **limits: int,
    ) -> Actor:
        """Deploy an actor and mine the block; its constructor ran.

        The salt is a count when not given, so equal sources can be deployed twice.
        """
        code = source.encode() if isinstance(source, str) else source
        number = len(self._sources) if salt is None else 0
        instruction = DeployActor(
            number.to_bytes(32, "big") if salt is None else salt,
            code,
            payload,
            amount_of(value),
        )
        receipt = self.execute(
            instruction, sender=sender, expect_failure=expect_failure, **limits
        )
        text = code.decode("utf-8", "replace")
        self._sources[receipt.actor] = text
        return Actor(self, receipt.actor, text, receipt)

    def transfer(
        self, to: Sender, amount: int | str, *, sender: Sender | None = None
    ) -> Receipt:
        """Move base units, or an amount such as "5 CBY"."""
        return self.execute(Transfer(address_of(to), amount_of(amount)), sender=sender)

    def fund(self, to: Sender, amount: int | str) -> Receipt:
        """Mint to an account (D41)."""
        return self.execute(Fund(address_of(to), amount_of(amount)))

    def read(
        self,
        actor: Sender,
        handler: str,
        payload: bytes = b"",
        sender: Sender | None = None,
    ) -> bytes:
        """A handler's answer on a read view; nothing is mined (D15)."""
        address = address_of(actor)
        caller = Address(bytes(20)) if sender is None else address_of(sender)
        result = self._on_worker(
            lambda: call_read_only(self.state, address, handler, payload, caller)
        )
        if result.failure is not None:
            raise ReadFailed(f"{result.failure.kind}: {result.failure.message}")
        return result.value

    def _on_worker(self, function: Callable[[], _T]) -> _T:
        return self._require_open().run(function)

    def _require_open(self) -> Worker:
        if self._worker is None:
            raise DevnetClosed("this chain was closed; make a new Devnet")
        return self._worker

    def blocks(self) -> Iterator[Header]:
        """Headers from genesis on."""
        return (result.header for result in self.results)
