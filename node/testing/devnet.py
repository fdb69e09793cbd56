"""Devnet: the same chain as the node's, driven by a test instead of a network.

It runs the core that the engine runs: build a block, commit its writes, take the next
state. Senders are impersonated (D41), so nothing has to be signed; blocks are mined
when the test says so. Everything executes where there is room for the deepest actor, so
results do not depend on the caller's stack: on the main thread, else on one of its own.

Failures are exceptions that show the actor's line. What is asked is read from the state
and the results since genesis, without a copy of either: asking costs what the answer
costs.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from msgspec.structs import replace
from typing_extensions import override

from node.chain.accounts import Account, load_account, load_code
from node.chain.advance import AdvanceSummary, Target
from node.chain.advance_stop import is_done, stop_height
from node.chain.block import (
    CodeVersion,
    Event,
    Header,
    ReadOnlyResult,
    Receipt,
    ReceiptKind,
)
from node.chain.errors import InvalidTransaction
from node.chain.genesis import Genesis, build_genesis
from node.chain.params import ADDRESS_BYTES, U128_MAX, ChainParams
from node.chain.simulation import call_read_only, estimate_limits
from node.chain.timers import calendar
from node.chain.timers.timer import Timer, TimerDecision, TimerKind
from node.chain.transaction import (
    DEV_INSTRUCTIONS,
    Body,
    DeployActor,
    Fund,
    Instruction,
    SetBalance,
    SetCode,
    SetStorage,
    Transaction,
    Transfer,
    UpgradeActor,
    decode_transaction,
    impersonated,
)
from node.chain.transition import (
    BlockResult,
    State,
    build_next,
    head_globals,
    next_state,
    open_state,
)
from node.client._sync.actor import Actor
from node.client._sync.receipt import (
    SentReceipt,
    complete_receipt,
    pending_receipt,
    sent_receipt,
)
from node.client.checks import (
    CHANGES_DEFAULT,
    check_chain,
    check_heights,
    check_prefix,
    check_range,
)
from node.client.exceptions import (
    BlockOpen,
    FireFailed,
    InvalidArgument,
    ReadFailed,
    TransactionFailed,
    TransactionRefused,
    check_fires,
    failed_fire,
    unknown_actor,
    unknown_height,
    unknown_timer,
)
from node.client.inputs import (
    Sender,
    Source,
    address_of,
    amount_of,
    check_bytes,
    check_count,
    check_id,
    check_kind,
    check_path,
    check_salt,
    check_target,
    check_terms,
    check_text,
    dev_account,
    given,
    source_of,
    state_entry,
)
from node.client.labels import Labels
from node.client.profiles import Profile
from node.client.sources import ActorSource, Sources
from node.primitives import codec
from node.primitives.crypto import derive_actor_address, keccak256
from node.primitives.types import NOTHING, Address, Amount, Hash32
from node.query.chain import Supply, count_supply
from node.query.costs.profiling import CountingWatcher, profile_next
from node.query.explain.quote import QuoteRequest
from node.query.forecasts.forecast import Lineups
from node.query.forecasts.lane_position import LanePosition
from node.query.globalbox import QueueView, queue_page
from node.query.height_ranges import (
    BUCKETS_DEFAULT,
    DueTimers,
    LaneUseRange,
    within,
)
from node.query.heights import count_due, lane_use, upcoming
from node.query.queue_place import LiveWatch, QueuedTimer, QueuePlace
from node.query.timers import TimerCriteria, live_timers
from node.query.trace.records import (
    Changes,
    ExecutionTrace,
    ReadTrace,
    StorageHistory,
    with_names,
)
from node.query.trace.storage_history import StorageWalk, WantedHistory
from node.query.trace.tracing import trace_read
from node.state import keys
from node.state.memory import MemoryStore
from node.state.store import Store, StoreSnapshot
from node.testing import bundles
from node.testing.captured import CapturedOutput
from node.testing.exceptions import DevnetClosed
from node.testing.explanations import (
    BlockStory,
    OutlookStory,
    QuoteStory,
    TimerStory,
    block_story,
    outlook_story,
    quote_story,
    timer_story,
    versions_of,
)
from node.testing.heights import ResultsPast, UndoneResults
from node.testing.one_block import DevnetBlock, SentHere, block_of
from node.testing.presets import preset
from node.testing.snapshots import ChainSnapshot, ResultsMark, undo_since
from node.testing.sources import StateSources
from node.testing.traces import changes_at, execution_trace
from node.testing.watchers import WATCHERS
from pvm import STORAGE_PREFIX, NearWorker, storage_key, stored_values
from pvm.errors import without_memory_errors

if TYPE_CHECKING:
    from node.client._sync.actor import Chain
    from node.client._sync.client import Client
    from node.coverage.watcher import BuildNext
    from node.query.costs.ranges import RangeCosts
    from node.testing.debugging import Debugging
    from node.testing.rehearsals import Rehearsal


_T = TypeVar("_T")


FEE_HEADROOM = 16
"""The default max fee is the basefee times this, so that tests need not state fees."""
_PAGE_FIRES = 1_000
_BODY_NUMBERS = tuple(name for name in Body.__struct_fields__ if name != "instruction")


class Devnet:
    """A whole chain in this process, to be used with `with`.

    If this machine has no memory left for what an actor may allocate, methods that
    execute raise `pvm.HostMemoryExhausted`. The chain is then as before, without the
    transactions that waited.
    """

    def __init__(
        self,
        genesis: str | Genesis = "devnet",
        *,
        store: Store | None = None,
        strict: bool = False,
        debug: bool = False,
        **overrides: object,
    ) -> None:
        """Make a new chain.

        Args:
            genesis: the name of a preset (`devnet`, `mesa`), or a genesis.
            store: an empty store to keep the chain in; it is in memory if not given.
            strict: whether `advance` raises the failure of a fire by default.
            debug: whether debuggers stop in actors; see `debug`.
            overrides: fields of the genesis that are replaced; nested ones are merged.

        Raises:
            InvalidGenesis: the genesis with these fields is invalid.
            InvalidArgument: no preset has this name.
        """
        chosen = preset(genesis, overrides)
        self.accounts = tuple(map(dev_account, range(chosen.dev_account_count)))
        self.is_strict = strict
        self._store = store or MemoryStore()
        self._queue: list[Transaction] = []
        self._open: list[SentHere] | None = None
        """What waits for the block that is open, if one is."""
        self._profiles: list[Profile] = []
        self._counting: CountingWatcher | None = None
        """Who watched for the profiles before."""
        self._build: BuildNext = build_next
        first = build_genesis(chosen)
        self._store.commit(first.writes, sync=False)
        state = open_state(chosen.params, first.header, self._store.snapshot())
        self._worker: NearWorker | None = NearWorker()
        self.genesis = chosen
        self._named: dict[bytes, None] = {}
        self._files: dict[bytes, str] = {}
        """Of sources by code hash, as deployments name them."""
        self._labels = Labels({one.address: one.label for one in self.accounts})
        self._printed = CapturedOutput(self._labels)
        self._debugging: Debugging | None = None
        self._coverage = WATCHERS[-1] if WATCHERS else None
        """Of the run of tests in which it was made, if that has one."""
        self.debug = debug
        self.state = state
        self.results = [first]
        """Of every header since genesis, in order; a run of empty blocks is one."""

    @property
    def is_closed(self) -> bool:
        """Whether the chain was closed, so that questions raise `DevnetClosed`."""
        return self._worker is None

    @property
    def debug(self) -> bool:
        """Whether actors run under the names of their files, for debuggers.

        Breakpoints of pdb, PyCharm and VS Code stop in an actor's file then, and so
        does `breakpoint()` in an actor. Receipts and roots are the same. Files are
        those given to `deploy`; else those below the current folder are compared.
        """
        return self._debugging is not None

    @debug.setter
    def debug(self, debug: bool) -> None:
        self._debugging = None
        if debug:
            from node.testing.debugging import Debugging  # noqa: PLC0415 - few want it

            self._debugging = Debugging(self._files)
        self._choose_build()

    def _choose_build(self) -> None:
        if self._profiles:
            self._build = self._build_profiled
        elif self._debugging is not None:
            self._build = self._debugging.build_next
        elif self._coverage is not None:
            self._build = self._coverage.build_next
            return
        else:
            self._build = build_next
        if self._coverage is not None:
            self._build = self._coverage.after(self._build)

    @property
    def _snapshot(self) -> StoreSnapshot:
        self.require_open()
        return self.state.snapshot

    # --- the chain as it stands ----------------------------------------------------

    @property
    def head(self) -> Header:
        """The header of the latest block."""
        self.require_open()
        return self.state.head

    @property
    def height(self) -> int:
        """Height of the latest block; genesis has height 0."""
        self.require_open()
        return self.state.head.height

    @property
    def timestamp_ms(self) -> int:
        """Timestamp of the latest block, in milliseconds of virtual time (D37)."""
        self.require_open()
        return self.state.head.timestamp_ms

    @property
    def params(self) -> ChainParams:
        """The parameters of the chain that its genesis fixed."""
        self.require_open()
        return self.state.params

    @property
    def last(self) -> BlockResult:
        """The result of the latest block."""
        self.require_open()
        return self.results[-1]

    @property
    def waiting(self) -> tuple[Transaction, ...]:
        """The transactions that wait for the next block, in order."""
        self.require_open()
        return tuple(self._queue)

    def result_at(self, height: int) -> BlockResult:
        """The result of the block at a height; within a run, that of the run.

        Raises:
            UnknownId: the chain has not reached this height.
        """
        if check_count("height", height, 0) > self.height:
            raise unknown_height("height", height, self.height)
        index = bisect_left(self.results, height, key=lambda r: r.header.height)
        return self.results[index]

    def block(self, height: int | None = None) -> DevnetBlock:
        """The header, receipts and events of one block.

        Without a height it is the latest block, and `with chain.block():` makes one
        block of all that is sent inside, whose receipts can be read afterwards. Within
        a run of empty blocks it is the run.

        Raises:
            UnknownId: the chain has not reached this height.
            InvalidArgument: the height is no whole number of 0 or more.
        """
        if height is None:
            return block_of(self.last, self._one_block)
        return block_of(self.result_at(height), None)

    @contextmanager
    def _one_block(self) -> Iterator[list[BlockResult]]:
        """Let what is sent inside wait, and be in one block."""
        self.require_open()
        self._require_no_block()
        sent: list[SentHere] = []
        self._open = sent
        made: list[BlockResult] = []
        try:
            yield made
        finally:
            self._open = None
        self._on_worker(lambda: self._mine(1))
        made.append(self.last)
        refusals = [self._refused(one.id) for one in sent]
        for one in sent:
            for receipt in self.last.receipts:
                if receipt.id == one.id:
                    complete_receipt(one.receipt, receipt)
        for one, refusal in zip(sent, refusals, strict=True):
            if refusal is not None:
                raise refusal
            self._require_outcome(one)

    def _require_no_block(self) -> None:
        if self._open is not None:
            raise BlockOpen("the `with` of a block is not over: it makes the block")

    def account(self, who: Sender) -> Account:
        """An account: balance in base units, nonce, code hash and deployer."""
        return load_account(self._snapshot, address_of(who, "who"))

    def _actor_at(self, actor: Sender, argument: str = "actor") -> Address:
        address = address_of(actor, argument)
        if not load_account(self._snapshot, address).is_actor:
            raise unknown_actor(argument, address)
        return address

    def _code_of(self, actor: Address) -> bytes:
        code_hash = load_account(self._snapshot, actor).code_hash
        return load_code(self._snapshot, code_hash)

    def _known(self, code: bytes) -> ActorSource:
        """A source, with the file that it was deployed from."""
        file = self._files.get(keccak256(code), "")
        is_made_up = file.startswith("<")  # for a debugger, of a source in no file
        text = code.decode("utf-8", "replace")
        return ActorSource(text, "" if is_made_up else file)

    def _sources_of(self, own: Address | ActorSource) -> Sources:
        """The code that actors have now; of the one that failed, or what failed."""
        known = StateSources(self._snapshot, self._known, own)
        return Sources(known, self._labels)

    # --- names -----------------------------------------------------------------------

    @property
    def labels(self) -> Mapping[bytes, str]:
        """Names by address: `account 0`, an actor's file or class, or what you gave."""
        return self._labels

    def label(self, who: Sender, name: str) -> None:
        """Call an address by a name in everything that this chain shows.

        Going back to a snapshot returns to the names of then, too.

        Raises:
            InvalidArgument: the name has not 1 to 64 characters, reads as an address or
                a number, or is that of another address.
        """
        self.require_open()
        self._labels.give(address_of(who, "who"), name)

    def balance(self, who: Sender) -> Amount:
        """The balance of an account in base units; 1 CBY is 1,000,000,000 of them."""
        return self.account(who).balance

    def nonce(self, who: Sender) -> int:
        """How many transactions of a sender are in blocks: its next nonce."""
        return self.account(who).nonce

    def timers(self, actor: Sender | None = None) -> list[Timer]:
        """The live timers of one actor, or of all, in the order in which they are due.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        address = None if actor is None else self._actor_at(actor)
        return list(live_timers(self._snapshot, TimerCriteria(actor=address)))

    def queue(self, target: Sender | None = None) -> list[QueuedTimer]:
        """The timers whose fires are queued in the Globalbox, in its order.

        Args:
            target: only those that call this actor; all if not given.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        self.require_open()
        address = None if target is None else self._actor_at(target, "target")
        found: list[QueuedTimer] = []
        order: bytes | None = b""
        while order is not None:
            page = queue_page(self.state, address, order, _PAGE_FIRES)
            found += page.items
            order = page.next_key
        return found

    def queue_place(self, timer_id: bytes | str) -> QueuePlace | None:
        """Where the fire of a live timer stands in the Globalbox, or None.

        Raises:
            UnknownId: no timer ever had this id.
        """
        timer = self.timer(timer_id)
        return None if timer is None else QueueView(self.state).place_of(timer)

    def watches(
        self, actor: Sender | None = None, *, watched: Sender | None = None
    ) -> list[LiveWatch]:
        """The live watches, in the order in which they are collected.

        Args:
            actor: only those that this actor owns.
            watched: only those that watch state of this actor; it need not exist.

        Raises:
            UnknownId: no actor was deployed at the address of `actor`.
        """
        wanted = TimerCriteria(
            actor=None if actor is None else self._actor_at(actor),
            kind=TimerKind.STATE_WATCH,
            watched=None if watched is None else address_of(watched, "watched"),
        )
        box = QueueView(self.state)
        found = live_timers(self._snapshot, wanted)
        return [LiveWatch(watch, box.status_of(watch)) for watch in found]

    def timer(self, timer_id: bytes | str) -> Timer | None:
        """A live timer, or None if it has ended.

        Raises:
            UnknownId: no timer ever had this id.
        """
        timer_id = check_id("timer_id", timer_id)
        live = calendar.load_timer(self._snapshot, timer_id)
        if live is None:
            self._require_known(timer_id)
        return live

    def _require_known(self, timer_id: bytes) -> None:
        # The latest first: who asks after a timer that ended asks soon.
        for result in reversed(self.results):
            if any(decision.timer_id == timer_id for decision in result.trace):
                return
        raise unknown_timer("timer_id", timer_id)

    def decisions(self, timer_id: bytes | str) -> list[tuple[int, TimerDecision]]:
        """All decisions about a timer, each with its height, from the first on.

        Raises:
            UnknownId: no timer ever had this id.
        """
        self.require_open()
        timer_id = check_id("timer_id", timer_id)
        decisions: list[tuple[int, TimerDecision]] = [
            (result.header.height, decision)
            for result in self.results
            for decision in result.trace
            if decision.timer_id == timer_id
        ]
        if not decisions:
            raise unknown_timer("timer_id", timer_id)
        return decisions

    def explain(self, timer_id: bytes | str) -> TimerStory:
        """Why a timer did what it did, and what awaits it; print it to read it.

        Raises:
            UnknownId: no timer ever had this id.
        """
        self.require_open()
        timer_id = check_id("timer_id", timer_id)
        return timer_story(self.state, self.results, timer_id, self._labels)

    def trace(
        self,
        execution_id: bytes | str,
        height: int | None = None,
        kind: ReceiptKind | None = None,
    ) -> ExecutionTrace:
        """Which calls an execution made, and what each did; print it to read it.

        It is executed again in the state before it: what is not traced costs nothing.

        Args:
            execution_id: id of a transaction that is in a block, of a timer that fired,
                or of a message that was delivered.
            height: height of its block, for a timer that fired several times; the
                latest one if not given.
            kind: what is wanted of a timer whose agent was asked in the block that it
                fired in; the fire if not given.

        Raises:
            UnknownId: nothing was executed under this id, or not at this height.
        """
        self.require_open()
        check_kind(kind)
        check_chain.optional(height=height)
        wanted = check_id("execution_id", execution_id), height, kind
        trace = self._on_worker(
            lambda: execution_trace(self.state, self.results, *wanted)
        )
        return with_names(trace, self._labels)

    def trace_read(
        self,
        actor: Sender,
        handler: str,
        payload: bytes = b"",
        sender: Sender | None = None,
    ) -> ReadTrace:
        """As `read`, whatever comes of it, with the calls that were made.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        check_chain(handler=handler, payload=payload)
        nobody = Address(bytes(ADDRESS_BYTES))
        caller = nobody if sender is None else address_of(sender, "sender")
        address = self._actor_at(actor)
        trace = self._on_worker(
            lambda: trace_read(self.state, address, handler, payload, caller)
        )
        return with_names(trace, self._labels)

    def changes(self, height: int | None = None) -> Changes:
        """What a block changed, by default the latest; print it to read it.

        Keys of actors, balances, timers and code, each with its value before and after;
        what is as before is left out.

        Raises:
            UnknownId: the chain has not reached this height.
        """
        self.require_open()
        check_chain.optional(height=height)
        at = self.height if height is None else height
        changed = self._on_worker(lambda: changes_at(self.state, self.results, at))
        return with_names(changed, self._labels)

    def storage_history(
        self,
        actor: Sender,
        prefix: bytes | str = b"",
        from_height: int | None = None,
        to_height: int | None = None,
        changes: int = CHANGES_DEFAULT,
    ) -> StorageHistory:
        """How an actor's storage came to be what it is, the latest change first.

        Each change is net of one execution, and says which: a transaction, a fire, a
        message. `stop` says why there are no more, and `next_height` where to go on.

        Args:
            actor: the actor, or its address.
            prefix: what raw keys begin with; a text begins names in `self.storage`.
            from_height: the first height; genesis if not given.
            to_height: the last height; the head if not given.
            changes: about so many, 1 to 10,000; the last block is told whole.

        Raises:
            UnknownId: no actor was deployed at the address.
            InvalidArgument: an argument is of a wrong type or out of range.
        """
        check_range(from_height, to_height, changes=changes)
        names, address = check_prefix(prefix), self._actor_at(actor)
        heights = within(from_height, to_height, (0, self.height))
        wanted = WantedHistory(address, names, *heights, changes)
        walk = StorageWalk(self.state, UndoneResults(self.results), wanted)
        return self._on_worker(walk.whole)

    def count_due(
        self,
        from_height: int | None = None,
        to_height: int | None = None,
        buckets: int = BUCKETS_DEFAULT,
    ) -> DueTimers:
        """How many timers are due over a range of heights, and what came of others.

        The range is cut into buckets of equal width, a power of 4, each beginning at a
        multiple of it.

        Args:
            from_height: the first height; the head if not given.
            to_height: the last one; the end of the epoch queue if not given.
            buckets: at most so many, 1 to 1,024.

        Raises:
            InvalidArgument: an argument is of a wrong type or out of range.
        """
        self.require_open()
        check_range(from_height, to_height, buckets=buckets)
        heights = within(from_height, to_height, upcoming(self.state))
        return count_due(self.state, ResultsPast(self.results), heights, buckets)

    def lane_use(
        self,
        from_height: int | None = None,
        to_height: int | None = None,
        buckets: int = BUCKETS_DEFAULT,
    ) -> LaneUseRange:
        """How blocks used their lanes over a range of heights, and what was paid.

        The range is cut as by `count_due`.

        Args:
            from_height: the first height; genesis if not given.
            to_height: the last one; the head if not given.
            buckets: at most so many, 1 to 1,024.

        Raises:
            InvalidArgument: an argument is of a wrong type or out of range.
        """
        check_range(from_height, to_height, buckets=buckets)
        heights = within(from_height, to_height, (0, self.height))
        return lane_use(self.state, ResultsPast(self.results), heights, buckets)

    def explain_block(self, height: int) -> BlockStory:
        """What a block decided about timers, in the order in which it looked at them.

        Print the answer to read it as sentences.
        """
        return block_story(height, self.result_at(height), self._labels)

    def standing(self, timer_id: bytes | str) -> LanePosition | None:
        """Where a live timer stands in the lane under `auction` and `bidding`.

        It has its rank and what decides it: effective priority or tip, and weight. It
        is None under other rules, and for a timer that has ended.

        Raises:
            UnknownId: no timer ever had this id.
        """
        timer = self.timer(timer_id)
        return None if timer is None else Lineups(self.state).place(timer)

    def quote(
        self, actor: Sender, fee_payer: Sender | None = None, **terms: int
    ) -> QuoteStory:
        """What a timer would cost; print the answer to read it as sentences.

        Args:
            actor: the actor that would schedule it.
            fee_payer: who would pay for its fires; the actor if not given.
            terms: `height`, `gas_limit`, `expires_at`, `payload_bytes`,
                `max_fee_per_cycle`, `max_priority_fee_per_cycle`, `bid_fp`; and
                `blocks`, how many of the last blocks to look back over.

        Raises:
            InvalidArgument: there is no such term, or its value is out of range.
            UnknownId: no actor was deployed at the address.
            InvalidQuote: scheduling such a timer would be refused.
        """
        known = check_terms(terms)
        payer = None if fee_payer is None else address_of(fee_payer, "fee_payer")
        address = self._actor_at(actor)
        fee, priority = (
            known.pop(name, None)
            for name in ("max_fee_per_cycle", "max_priority_fee_per_cycle")
        )
        request = QuoteRequest(
            address,
            address if payer is None else payer,
            max_fee=None if fee is None else Amount(fee),
            max_priority=None if priority is None else Amount(priority),
            **known,
        )
        return quote_story(self.state, self.result_at, request, self._labels)

    def events(self, topic: str | None = None) -> list[Event]:
        """The events of all blocks, in order, or only those of one topic."""
        self.require_open()
        if topic is not None:
            check_text("topic", topic)
        return [
            event
            for result in self.results
            for event in result.events
            if topic is None or event.topic == topic
        ]

    def receipts(self, kind: ReceiptKind | None = None) -> list[Receipt]:
        """The receipts of all blocks, in order, or only those of one kind."""
        self.require_open()
        check_kind(kind)
        return [
            receipt
            for result in self.results
            for receipt in result.receipts
            if kind is None or receipt.kind is kind
        ]

    def storage(self, actor: Sender) -> Mapping[str, codec.Value]:
        """A copy of what an actor's `self.storage` holds, with decoded values.

        What `pvm_host.set_state` wrote past it, which is no value, is left out.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        state = keys.storage(self._actor_at(actor), b"")
        start = state + STORAGE_PREFIX
        entries = self._snapshot.range(start, keys.prefix_stop(start))
        return stored_values((key[len(state) :], value) for key, value in entries)

    def storage_entry(self, actor: Sender, key: bytes | str) -> bytes | None:
        """The raw bytes of an entry of an actor's state, or None if it is absent.

        A str as key names an entry of `self.storage`; bytes are a raw key.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        if isinstance(key, str):
            name = storage_key(check_text("key", key))
        else:
            name = check_bytes("key", key)
        return self._snapshot.get(keys.storage(self._actor_at(actor), name))

    def supply(self) -> Supply:
        """All money by where it is, counted from every account and message (D10)."""
        self.require_open()
        return count_supply(self.state, records_max=None)

    def read(
        self,
        actor: Sender,
        handler: str,
        payload: bytes = b"",
        sender: Sender | None = None,
    ) -> bytes:
        """Call a handler on a read view, and return the bytes that it returns (D15).

        No block is made, nothing is charged or kept. A handler that tries to change
        something fails.

        Args:
            actor: the actor, or its address.
            handler: name of the handler.
            payload: bytes that the handler gets.
            sender: who seems to call; 20 zero bytes if not given.

        Raises:
            ReadFailed: the handler failed; shows the actor's traceback.
            UnknownId: no actor was deployed at the address.
        """
        check_text("handler", handler)
        check_bytes("payload", payload)
        nobody = Address(bytes(ADDRESS_BYTES))
        caller = nobody if sender is None else address_of(sender, "sender")
        address = self._actor_at(actor)
        asked = address, handler, payload, caller
        result = self._on_worker(lambda: self._read(*asked))
        self._printed.note(result.output)
        if result.failure is not None:
            raise ReadFailed(result.failure, self._sources_of(address), asked)
        return result.value

    def take_output(self) -> str:
        """What actors printed since this was asked last, as text (D59).

        It tells of all executions in blocks and of `read`, also of those that failed
        and of those that a snapshot undid. At most a million characters are kept.
        """
        self.require_open()
        return self._printed.take()

    def export_bundle(self, file: str | PathLike[str]) -> Path:
        """Write the chain into a new file, for `import_bundle` or `bundle check`.

        Equal chains give equal bytes. Transactions that are queued are not in the file.

        Raises:
            BundleRefused: the file exists, or cannot be written.
        """
        path = check_path("file", file)
        self.require_open()
        bundles.export(path, self.genesis, self.results)
        return path

    def _read(
        self, actor: Address, handler: str, payload: bytes, sender: Address
    ) -> ReadOnlyResult:
        """As `call_read_only`, for whoever watches: each of them executes it."""
        watchers = [one for one in (self._coverage, self._debugging) if one is not None]
        states = [one.watching(self.state) for one in watchers] or [self.state]
        results = [
            call_read_only(state, actor, handler, payload, sender) for state in states
        ]
        return results[-1]

    def _on_worker(self, function: Callable[[], _T]) -> _T:
        return self.require_open().run(without_memory_errors(function))

    def require_open(self) -> NearWorker:
        """What it executes on.

        Raises:
            DevnetClosed: the chain was closed.
        """
        if self._worker is None:
            raise DevnetClosed("this chain was closed; make a new Devnet")
        return self._worker

    def blocks(self) -> Iterator[Header]:
        """The headers of all blocks from genesis on."""
        self.require_open()
        return (result.header for result in self.results)

    @override
    def __repr__(self) -> str:
        return f"<devnet {self.genesis.name!r} at height {self.state.head.height}>"

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
        """End the chain's thread and release its store; a second call has no effect."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
            self._store.close()

    # --- going back ----------------------------------------------------------------

    def snapshot(self) -> ChainSnapshot:
        """The present state of the chain, to return to.

        Leaving it as a context manager returns. Returning restores height, clock, pool,
        timers, fees and results. Snapshots nest, and one can be returned to again.
        Taking one costs the same for every chain; returning costs what happened since.

        Raises:
            DevnetClosed: the chain was closed.
        """
        self.require_open()
        queue, named = tuple(self._queue), len(self._named)
        rename = self._labels.mark()
        mark = ResultsMark(self.last, len(self.results), self.state.caches.known)

        def go_back() -> None:
            self.require_open()
            self._return_to(mark, named)
            self._queue = list(queue)
            rename()

        return ChainSnapshot(mark.last.header, go_back)

    @contextmanager
    def profile(self) -> Iterator[Profile]:
        """Count cycles and cells by line of every execution in the blocks made inside.

        The profile can be printed or saved at any time. Execution is much slower
        inside. If profiles nest, each counts its own part.

        Raises:
            DevnetClosed: the chain was closed.
        """
        self.require_open()
        profile = Profile(labels=self._labels, files=self._files)
        self._profiles.append(profile)
        self._choose_build()
        try:
            yield profile
        finally:
            self._profiles = [each for each in self._profiles if each is not profile]
            self._choose_build()

    def costs(
        self,
        from_height: int | None = None,
        to_height: int | None = None,
        actor: Sender | None = None,
    ) -> "RangeCosts":
        """What lines of actors, and call stacks, cost in a range of heights.

        The blocks are executed again to count. If the work becomes too much, it ends
        before; the answer says so, and what else was left out.

        Args:
            from_height: the first height; by default all are meant.
            to_height: the last one; by default the latest.
            actor: only lines of this actor, and stacks in which it stands.

        Raises:
            InvalidArgument: the range has no heights.
            UnknownId: the chain has not reached these heights, or no actor was deployed
                at the address.
        """
        from node.testing.range_costs import range_costs  # noqa: PLC0415 - few want them

        check_heights(from_height, to_height)
        only = None if actor is None else self._actor_at(actor)
        last = self.height if to_height is None else to_height
        for name, height in {"from_height": from_height, "to_height": last}.items():
            if height is not None and height > self.height:
                raise unknown_height(name, height, self.height)
        wanted = max(1, from_height or 0), last, only
        found = self._on_worker(lambda: range_costs(self.state, self.results, *wanted))
        return with_names(found, self._labels)

    def _build_profiled(
        self, state: State, candidates: Iterable[Transaction], heights_max: int
    ) -> BlockResult:
        watcher = self._counting = self._counting or CountingWatcher()
        result, executed = profile_next(state, candidates, heights_max, watcher)
        for profile in self._profiles:
            profile.add(executed)
        return result

    def _return_to(self, mark: ResultsMark, named: int = 0) -> None:
        undo = undo_since(self.results, mark)
        if undo.changes:
            self._store.commit(undo, sync=False)
        self.state = mark.state(self.state, self._store.snapshot())
        while len(self._named) > named:
            self._named.popitem()

    # --- the whole chain in a file ---------------------------------------------------

    def import_bundle(self, file: str | PathLike[str]) -> Header:
        """Execute the blocks of a bundle on an empty chain, and return the new head.

        Each block must give what the bundle says.

        Raises:
            BundleRefused: the file is no complete bundle of this chain's genesis, or
                the chain is not empty: nothing happened. Or a block gave something
                else: the chain is at genesis.
        """
        path = check_path("file", file)
        self.require_open()
        waiting = len(self._queue)
        with bundles.opened(path, self.genesis, self.results, waiting) as bundle:
            genesis = ResultsMark(self.results[0], 1, self.results[0].known)
            self._return_to(genesis)
            try:
                self.state = self._on_worker(
                    lambda: bundles.execute(bundle, self._keep, self.state)
                )
            except BaseException:
                self._return_to(genesis)
                raise
        for result in self.results:
            for actor, text in bundles.sources_of(result).items():
                self._name(Address(actor), ActorSource(text))
        return self.head

    @classmethod
    def from_bundle(cls, file: str | PathLike[str]) -> Self:
        """Make the chain of a bundle, whatever its genesis, by executing it.

        Raises:
            BundleRefused: the file is no complete bundle, or a block gave something
                else.
        """
        with bundles.open_bundle(check_path("file", file)) as bundle:
            chain = cls(bundle.genesis)
        try:
            chain.import_bundle(file)
        except BaseException:
            chain.close()
            raise
        return chain

    def _keep(self, _parent: State, result: BlockResult) -> StoreSnapshot:
        self._store.commit(result.writes, sync=False)
        self.results.append(result)
        return self._store.snapshot()

    # --- acting --------------------------------------------------------------------

    def mine(self, blocks: int = 1) -> BlockResult:
        """Make blocks now, and return the last of them.

        The first block takes the transactions that wait.

        Args:
            blocks: how many, 1 or more.

        Raises:
            InvalidArgument: the number is out of this range.
        """
        check_count("blocks", blocks)
        self._require_no_block()
        self._on_worker(lambda: self._mine(blocks))
        return self.last

    def mine_until(self, height: int) -> BlockResult:
        """Make blocks up to a height above the present one, and return the last.

        Raises:
            InvalidArgument: the height is not above the present one.
        """
        return self.mine(check_count("height", height, self.height + 1) - self.height)

    def advance(  # noqa: PLR0913 - a keyword for each target
        self,
        *,
        blocks: int | None = None,
        height: int | None = None,
        duration_ms: int | None = None,
        next_timer: bool | None = None,
        until_idle: int | None = None,
        strict: bool | None = None,
        expect_failure: bool = False,
    ) -> AdvanceSummary:
        """Let time pass up to one target, and sum up what happened.

        Exactly one of the first five arguments is given. Empty heights cost almost
        nothing, so that a million of them may pass.

        Args:
            blocks: how many heights pass, 1 or more.
            height: the height to reach, above the present one.
            duration_ms: the milliseconds of virtual time that pass, at least.
            next_timer: True to go to the height at which the next timer is looked at.
            until_idle: go on until nothing waits, for at most so many blocks.
            strict: whether the failure of a fire is raised; by default as the chain's
                `is_strict`.
            expect_failure: whether a fire must fail; it is then not raised.

        Raises:
            InvalidArgument: not exactly one target was given, or one of a wrong type.
            AdvanceRefused: the chain cannot advance to the target; nothing happened.
            FireFailed: a fire failed and the chain is strict; time did pass.
            AssertionError: a failure was expected, and no fire failed.
        """
        check_chain(expect_failure=expect_failure)
        check_chain.optional(strict=strict)
        stated = given(
            blocks=blocks,
            height=height,
            duration_ms=duration_ms,
            next_timer=next_timer,
            until_idle=until_idle,
        )
        target = check_target(stated, self.height)
        self._require_no_block()
        begun = len(self.results)
        summary = self._on_worker(lambda: self._advance(target))
        is_strict = self.is_strict if strict is None else strict
        if check_fires(
            summary.fires_failed, is_strict=is_strict, expect_failure=expect_failure
        ):
            raise self._fire_failed(begun, summary.fires_failed)
        return summary

    def _fire_failed(self, begun: int, count: int) -> FireFailed:
        """The first of the failed fires among the results from `begun` on."""
        for result in self.results[begun:]:
            receipt = failed_fire(result.receipts)
            if receipt is not None:
                sources = self._sources_of(receipt.actor)
                return FireFailed(receipt, result.header.height, count, sources)
        raise AssertionError("a failed fire has a receipt")

    def _advance(self, target: Target) -> AdvanceSummary:
        stop, summary = stop_height(self.state, target), AdvanceSummary()
        while not is_done(
            self.state, target, stop, is_anything_waiting=bool(self._queue)
        ):
            summary.note(self._step(stop - self.height))
        return summary

    def _mine(self, blocks: int) -> None:
        last = self.state.head.height + blocks
        while (height := self.state.head.height) < last:
            self._step(last - height)

    def _step(self, heights_max: int) -> BlockResult:
        queue, self._queue = self._queue, []
        result = self._build(self.state, queue, heights_max)
        self._store.commit(result.writes, sync=False)
        self.state = next_state(self.state, result, self._store.snapshot())
        self.results.append(result)
        if result.outputs:
            self._printed.note_block(result)
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
        """Queue a transaction for the next block, and return its id.

        Args:
            instruction: what the transaction does: `Transfer`, `DeployActor`,
                `ExecuteActor` and so on.
            sender: who sends it, the first account by default; it is impersonated.
            cycles_limit: most cycles that it may use; estimated if not given.
            cells_limit: most cells that it may use; estimated if not given.
            fees: fields of `Body` by name, such as `max_fee_per_cycle` in base units.

        Raises:
            TransactionRefused: executing it to find its limits showed that it cannot be
                included.
            InvalidArgument: an argument is of a wrong type or out of range.
        """
        check_chain(instruction=instruction)
        check_chain.optional(cycles_limit=cycles_limit, cells_limit=cells_limit)
        return self._submit(instruction, sender, cycles_limit, cells_limit, fees)

    def _submit(
        self,
        instruction: Instruction,
        sender: Sender | None,
        cycles_limit: int | None,
        cells_limit: int | None,
        fees: Mapping[str, int],
    ) -> Hash32:
        """Of arguments that were checked, but for the names and sizes of fees."""
        address = address_of(self.accounts[0] if sender is None else sender, "sender")
        for name, fee in fees.items():
            if name not in _BODY_NUMBERS:
                raise InvalidArgument(
                    name, f"{', '.join(_BODY_NUMBERS)} are known", fee
                )
            check_count(name, fee, 0, U128_MAX)
        body = self._body(instruction, address, cycles_limit, cells_limit, fees)
        self.require_open()
        transaction = impersonated(body, address)
        self._queue.append(transaction)
        return transaction.id

    def submit_raw(self, raw: bytes) -> Hash32:
        """Queue a transaction as it would be sent to a node: body ‖ signature.

        Raises:
            InvalidTransaction: it cannot be decoded.
        """
        self.require_open()
        transaction = decode_transaction(check_bytes("raw", raw))
        self._queue.append(transaction)
        return transaction.id

    def _body(
        self,
        instruction: Instruction,
        sender: Address,
        cycles_limit: int | None,
        cells_limit: int | None,
        fees: Mapping[str, int],
    ) -> Body:
        globals_ = head_globals(self.state)
        nonce = load_account(self.state.snapshot, sender).nonce
        headroom = 0 if isinstance(instruction, DEV_INSTRUCTIONS) else FEE_HEADROOM
        draft = Body(
            self.state.params.chain_id,
            nonce,
            0,
            0,
            Amount(headroom * globals_.basefee_cycle),
            NOTHING,
            Amount(headroom * globals_.basefee_cell),
            NOTHING,
            instruction,
        )
        queued = [t for t in self._queue if t.sender == sender]
        earlier = () if self._open is None else tuple(self._queue)
        if headroom and (cycles_limit is None or cells_limit is None):
            sent = replace(draft, nonce=nonce + len(queued)) if earlier else draft
            try:
                estimate = self._on_worker(
                    lambda: estimate_limits(self.state, sent, sender, earlier)
                )
            except InvalidTransaction as error:
                raise TransactionRefused(error) from None
            cycles_limit = estimate[0] if cycles_limit is None else cycles_limit
            cells_limit = estimate[1] if cells_limit is None else cells_limit
        if cycles_limit is not None and cells_limit is not None:
            draft = replace(draft, cycles_limit=cycles_limit, cells_limit=cells_limit)
        return replace(draft, **{"nonce": nonce + len(queued), **fees})

    def execute(
        self,
        instruction: Instruction,
        *,
        sender: Sender | None = None,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        expect_failure: bool = False,
        **fees: int,
    ) -> SentReceipt:
        """Submit a transaction, make a block with it, and return its receipt.

        Args:
            instruction: what the transaction does: `Transfer`, `DeployActor`,
                `ExecuteActor` and so on.
            sender: who sends it, the first account by default; it is impersonated.
            cycles_limit: most cycles that it may use; estimated if not given.
            cells_limit: most cells that it may use; estimated if not given.
            expect_failure: whether it must fail; its receipt is then returned.
            fees: fields of `Body` by name, such as `max_fee_per_cycle` in base units.

        Raises:
            TransactionRefused: it cannot be included.
            TransactionFailed: it is in a block and failed, unless `expect_failure`.
            AssertionError: a failure was expected, and it succeeded.
        """
        check_chain(instruction=instruction, expect_failure=expect_failure)
        check_chain.optional(cycles_limit=cycles_limit, cells_limit=cells_limit)

        def submit_and_mine() -> Hash32:
            submitted = self._submit(
                instruction, sender, cycles_limit, cells_limit, fees
            )
            if self._open is None:
                self._mine(1)
            return submitted

        # One hop: what is called in there on the worker finds itself there already.
        transaction_id = self._on_worker(submit_and_mine)
        if self._open is not None:
            waiting = pending_receipt(self)
            sent = SentHere(waiting, instruction, transaction_id, expect_failure)
            self._open.append(sent)
            return waiting
        refusal = self._refused(transaction_id)
        if refusal is not None:
            raise refusal
        made = next(r for r in self.last.receipts if r.id == transaction_id)
        receipt = sent_receipt(made, self)
        sent = SentHere(receipt, instruction, transaction_id, expect_failure)
        self._require_outcome(sent)
        return receipt

    def _refused(self, transaction_id: Hash32) -> TransactionRefused | None:
        """Why the latest block left a transaction out, which then waits no longer."""
        for transaction, error in self.last.rejected:
            if transaction.id == transaction_id:
                self._queue = [t for t in self._queue if t.id != transaction_id]
                return TransactionRefused(error)
        return None

    def _require_outcome(self, sent: SentHere) -> None:
        """Raise what became of a transaction, unless that was expected."""
        receipt, is_expected = sent.receipt, sent.is_failure_expected
        if not receipt.is_success and not is_expected:
            sources = self._sources_told(receipt, sent.instruction)
            raise TransactionFailed(receipt, sources)
        assert receipt.is_success != is_expected, "a failure was expected"

    def _sources_told(self, receipt: Receipt, instruction: Instruction) -> Sources:
        if isinstance(instruction, DeployActor | UpgradeActor | SetCode):
            return self._sources_of(self._known(instruction.code))
        return self._sources_of(receipt.actor)

    def _name(self, actor: Address, source: ActorSource) -> None:
        """What is known of an actor from now on."""
        self._named[actor] = None
        self._labels.suggest(actor, source.name)

    def deploy(
        self,
        source: Source,
        payload: bytes = b"",
        *,
        sender: Sender | None = None,
        value: int | str = 0,
        salt: bytes | None = None,
        expect_failure: bool = False,
        **limits: int,
    ) -> Actor:
        """Deploy an actor, make a block with it, and return the actor as an object.

        Its constructor (`deploy`, else `init`) has run then.

        Args:
            source: the actor's source, or the path of its file: `Path("heart.py")`,
                which failures and debuggers then name.
            payload: bytes that the constructor gets.
            sender: who deploys, the first account by default.
            value: base units, or a text such as "5 CBY", that the actor gets.
            salt: 32 bytes that make the address differ; by default a count, so that a
                source can be deployed twice.
            expect_failure: whether the deployment must fail.
            limits: `cycles_limit` and `cells_limit`; estimated if not given.

        Raises:
            TransactionRefused: the transaction cannot be included.
            TransactionFailed: the source was refused or the constructor failed, unless
                `expect_failure`.
            InvalidArgument: an argument is of a wrong type or out of range.
        """
        code, known = source_of(source)
        number = len(self._named) if salt is None else 0
        instruction = DeployActor(
            number.to_bytes(32, "big") if salt is None else check_salt(salt),
            code,
            check_bytes("payload", payload),
            amount_of(value, "value"),
        )
        if known.file:
            self._files[keccak256(code)] = known.file
        try:
            receipt = self.execute(
                instruction, sender=sender, expect_failure=expect_failure, **limits
            )
        except TransactionFailed as failed:  # which reports tell of by its name, too
            self._labels.suggest(failed.receipt.actor, known.name)
            raise
        address = receipt.actor if self._open is None else self._deployed(sender)
        self._name(address, known)
        return Actor(self, address, known.text, receipt, known.file)

    def _deployed(self, sender: Sender | None) -> Address:
        """The address of the actor whose deployment was sent last."""
        deployment = self._queue[-1].body.instruction
        assert isinstance(deployment, DeployActor), "it was just sent"
        deployer = address_of(self.accounts[0] if sender is None else sender, "sender")
        code_hash = keccak256(deployment.code)
        return derive_actor_address(deployer, deployment.salt, code_hash)

    def upgrade(
        self,
        actor: Sender,
        source: Source,
        payload: bytes = b"",
        *,
        sender: Sender | None = None,
        expect_failure: bool = False,
        **limits: int,
    ) -> SentReceipt:
        """Give an actor new code, and run the handler `upgrade` of that code (D58).

        Address, storage, balance and timers stay.

        Args:
            actor: the actor, or its address.
            source: its new source; of a path, the file that holds it.
            payload: bytes that `upgrade` gets.
            sender: the actor's owner, or a system deployer; the first account by
                default.
            expect_failure: whether the upgrade must fail; its receipt is then returned.
            limits: `cycles_limit` and `cells_limit`; estimated if not given.

        Raises:
            TransactionFailed: it is not the sender's to upgrade, the source is refused,
                or `upgrade` failed, unless `expect_failure`. The actor is as before.
            TransactionRefused: the transaction cannot be included.
            InvalidArgument: an argument is of a wrong type, or the file is not there.
        """
        address, (code, known) = address_of(actor, "actor"), source_of(source)
        wanted = UpgradeActor(address, code, check_bytes("payload", payload))
        if known.file:
            self._files[keccak256(code)] = known.file
        return self.execute(
            wanted, sender=sender, expect_failure=expect_failure, **limits
        )

    def code_versions(self, actor: Sender) -> list[CodeVersion]:
        """The code that an actor got, by its deployment and by upgrades, in order.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        return versions_of(self.results, self._actor_at(actor))

    def transfer(
        self, to: Sender, amount: int | str, *, sender: Sender | None = None
    ) -> SentReceipt:
        """Send base units, or an amount such as "5 CBY", from one account to another.

        The sender is the first account if none is given.
        """
        return self.execute(
            Transfer(address_of(to, "to"), amount_of(amount)), sender=sender
        )

    def simulate(self, blocks: int) -> OutlookStory:
        """What the next blocks would bring, with the transactions that are queued.

        This is a dry run: nothing of it is kept. Print the answer to read it.

        Raises:
            AdvanceRefused: there are not so many heights.
        """
        check_count("blocks", blocks)
        return self._on_worker(
            lambda: outlook_story(self.state, blocks, self._queue, self._labels)
        )

    def rehearse_upgrade(
        self,
        actor: Sender,
        source: Source,
        payload: bytes = b"",
        *,
        over: range | str | PathLike[str] | None = None,
        allow: Iterable[str] = (),
        **options: int,
    ) -> "Rehearsal":
        """What would have been different, had an actor had other code (D58).

        The blocks are gone through with the old code and with the new one; nothing of
        that is kept. Print the answer to read the differences; `refused` has those that
        are not allowed.

        Args:
            actor: the actor, or its address.
            source: its new source; of a path, the file that holds it.
            payload: bytes that `upgrade` of the new code gets.
            over: the heights, as `range(first, last + 1)`; or the path of a bundle, of
                another chain in which the actor lives. By default all heights since the
                actor got the code that it has.
            allow: names of differences that may be, such as `dearer`, or with their
                subject, such as `storage:version` or `storage:visits*`.
            options: `further`, heights that pass on both afterwards, without
                transactions; `costs_within`, percent by which an execution may cost
                more or less.

        Raises:
            RehearsalRefused: no such actor, or no such heights, are there.
            BundleRefused: the file is no complete bundle, or a block of it gave
                something else.
            InvalidArgument: an argument is of a wrong type, or the file is not there.
        """
        from node.testing import rehearsals  # noqa: PLC0415 - few want one

        self.require_open()
        wanted = rehearsals.RehearsedUpgrade(
            address_of(actor, "actor"),
            source_of(source)[0],
            check_bytes("payload", payload),
            **rehearsals.check_options(options),
        )
        asked = rehearsals.asked(wanted, over if isinstance(over, range) else None)
        names = rehearsals.check_names(allow)
        if over is None or isinstance(over, range):
            found = self._on_worker(
                lambda: rehearsals.rehearse_results(self.genesis, self.results, asked)
            )
        else:
            path = check_path("over", over)
            found = self._on_worker(lambda: rehearsals.rehearse_file(path, asked))
        return replace(found, allowed=names)

    def fund(self, to: Sender, amount: int | str) -> SentReceipt:
        """Mint base units, or an amount such as "5 CBY", to an account (D41).

        Only a development chain admits this.
        """
        return self.execute(Fund(address_of(to, "to"), amount_of(amount)))

    def set_balance(self, who: Sender, amount: int | str) -> SentReceipt:
        """Set the balance of an account by minting or taking the difference (D41).

        The amount is in base units, or a text such as "5 CBY". Only a development chain
        admits this.
        """
        return self.execute(SetBalance(address_of(who, "who"), amount_of(amount)))

    def set_storage(
        self, actor: Sender, key: bytes | str, value: object
    ) -> SentReceipt:
        """Write an entry of an actor's state; None as value removes it (D58).

        A str as key names an entry of `self.storage`, whose value is any that canonical
        CBOR can hold; bytes are a raw key, with bytes as value. Only a development
        chain admits this.

        Raises:
            TransactionFailed: no actor is there, or the key is the runtime's own.
            InvalidArgument: key or value are of a wrong type, or too long.
        """
        return self.execute(
            SetStorage(address_of(actor, "actor"), *state_entry(key, value))
        )

    def set_code(self, actor: Sender, source: Source) -> SentReceipt:
        """Replace the code of an actor, whoever owns it; no handler runs (D58).

        The source may be a path, of the file that holds it. Only a development chain
        admits this.

        Raises:
            TransactionFailed: no actor is there, it has this code, or it is refused.
            InvalidArgument: no source is given, or the file is not there.
        """
        code, known = source_of(source)
        if known.file:
            self._files[keccak256(code)] = known.file
        return self.execute(SetCode(address_of(actor, "actor"), code))

    def actor(self, address: Sender) -> Actor:
        """An actor that was deployed earlier, as an object.

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        own = self._actor_at(address, "address")
        known = self._known(self._code_of(own))
        self._labels.suggest(own, known.name)
        return Actor(self, own, known.text, None, known.file)


if TYPE_CHECKING:
    # One Protocol, one suite of behaviour: mypy compares both chains with it here.
    _CHAINS: tuple[type[Chain], ...] = (Devnet, Client)
