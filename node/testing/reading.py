"""DevnetReader: what a chain in this process tells; the half that changes nothing.

Everything is read from the state and the results since genesis, without a copy of
either: asking costs what the answer costs.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TypeVar

from node.chain.accounts import Account, load_account, load_code
from node.chain.block import Event, Header, Receipt, ReceiptKind
from node.chain.genesis import Genesis
from node.chain.params import ADDRESS_BYTES, U64_MAX, ChainParams
from node.chain.simulation import call_read_only
from node.chain.timers import calendar
from node.chain.timers.timer import Timer, TimerDecision
from node.chain.transition import BlockResult, State
from node.client.exceptions import (
    ReadFailed,
    Sources,
    unknown_actor,
    unknown_height,
    unknown_timer,
)
from node.client.inputs import (
    Sender,
    address_of,
    check_bytes,
    check_count,
    check_id,
    check_kind,
    check_path,
    check_terms,
    check_text,
)
from node.primitives import codec
from node.primitives.types import Address, Amount
from node.query.chain import Supply, count_supply
from node.query.explain.quote import QuoteRequest
from node.query.forecasts.forecast import Lineups
from node.query.forecasts.lane_position import LanePosition
from node.state import keys
from node.state.store import StoreSnapshot
from node.testing.exceptions import DevnetClosed
from node.testing.explanations import (
    BlockStory,
    QuoteStory,
    TimerStory,
    block_story,
    quote_story,
    timer_story,
)
from pvm import STORAGE_PREFIX, NearWorker, storage_key
from pvm.errors import without_memory_errors

_T = TypeVar("_T")


class DevnetReader:
    """A chain and what can be asked of it."""

    def __init__(self, genesis: Genesis, first: BlockResult, state: State) -> None:
        self._worker: NearWorker | None = NearWorker()
        self.genesis = genesis
        self._sources: dict[bytes, str] = {}
        self.state = state
        self.results = [first]
        """Of every header since genesis, in order; a run of empty blocks is one."""

    @property
    def is_closed(self) -> bool:
        """Whether the chain was closed: nothing can be asked of it any more."""
        return self._worker is None

    @property
    def _snapshot(self) -> StoreSnapshot:
        self.require_open()
        return self.state.snapshot

    # --- the chain as it stands ----------------------------------------------------

    @property
    def head(self) -> Header:
        """The latest header."""
        self.require_open()
        return self.state.head

    @property
    def height(self) -> int:
        """Of the latest block."""
        self.require_open()
        return self.state.head.height

    @property
    def timestamp_ms(self) -> int:
        """Virtual time of the latest block (D37)."""
        self.require_open()
        return self.state.head.timestamp_ms

    @property
    def params(self) -> ChainParams:
        """What the genesis fixed."""
        self.require_open()
        return self.state.params

    @property
    def last(self) -> BlockResult:
        """The latest block's result."""
        self.require_open()
        return self.results[-1]

    def result_at(self, height: int) -> BlockResult:
        """What became of a height; within a run, the run's result.

        Raises:
            UnknownId: the chain is not there yet.
        """
        if check_count("height", height, 0) > self.height:
            raise unknown_height("height", height, self.height)
        index = bisect_left(self.results, height, key=lambda r: r.header.height)
        return self.results[index]

    def block(self, height: int | None = None) -> BlockResult:
        """What happened at a height; the latest without one.

        Raises:
            UnknownId: the chain is not there yet.
        """
        return self.last if height is None else self.result_at(height)

    def account(self, who: Sender) -> Account:
        """Balance, nonce and code of an account."""
        return load_account(self._snapshot, address_of(who, "who"))

    def _actor_at(self, actor: Sender, argument: str = "actor") -> Address:
        address = address_of(actor, argument)
        if not load_account(self._snapshot, address).is_actor:
            raise unknown_actor(argument, address)
        return address

    def _code_of(self, actor: Address) -> str:
        code_hash = load_account(self._snapshot, actor).code_hash
        return load_code(self._snapshot, code_hash).decode("utf-8", "replace")

    def _sources_of(self, actor: Address) -> Sources:
        """What is known of actors' sources, and of the one that failed, if any did."""
        own = self._sources.get(actor)
        if own is None and load_account(self._snapshot, actor).is_actor:
            own = self._code_of(actor)
        return self._sources if own is None else {**self._sources, b"": own}

    def balance(self, who: Sender) -> Amount:
        """Base units."""
        return self.account(who).balance

    def nonce(self, who: Sender) -> int:
        """Transactions of a sender that were included."""
        return self.account(who).nonce

    def timers(self, actor: Sender | None = None) -> list[Timer]:
        """Live timers in due order, of one actor or of all.

        Raises:
            UnknownId: nothing was deployed there.
        """
        if actor is not None:
            return list(calendar.timers_of(self._snapshot, self._actor_at(actor)))
        return list(calendar.timers_between(self._snapshot, 0, U64_MAX))

    def timer(self, timer_id: bytes) -> Timer | None:
        """A live timer; None when it ended.

        Raises:
            UnknownId: no timer ever had this id.
        """
        live = calendar.load_timer(self._snapshot, check_id("timer_id", timer_id))
        if live is None:
            self._require_known(timer_id)
        return live

    def _require_known(self, timer_id: bytes) -> None:
        # The latest first: who asks after a timer that ended asks soon.
        for result in reversed(self.results):
            if any(decision.timer_id == timer_id for decision in result.trace):
                return
        raise unknown_timer("timer_id", timer_id)

    def decisions(self, timer_id: bytes) -> list[tuple[int, TimerDecision]]:
        """Every decision about a timer with its height: its whole life.

        Raises:
            UnknownId: no timer ever had this id.
        """
        self.require_open()
        check_id("timer_id", timer_id)
        found: list[tuple[int, TimerDecision]] = [
            (result.header.height, decision)
            for result in self.results
            for decision in result.trace
            if decision.timer_id == timer_id
        ]
        if not found:
            raise unknown_timer("timer_id", timer_id)
        return found

    def explain(self, timer_id: bytes) -> TimerStory:
        """Why a timer did what it did, and what awaits it.

        Raises:
            UnknownId: no timer ever had this id.
        """
        self.require_open()
        check_id("timer_id", timer_id)
        return timer_story(self.state, self.results, timer_id)

    def explain_block(self, height: int) -> BlockStory:
        """What the block at a height decided about timers, in the order of looking."""
        return block_story(height, self.result_at(height))

    def standing(self, timer_id: bytes) -> LanePosition | None:
        """Where a live timer stands under `auction`: effective priority, rank.

        None under other rules, and when it ended.

        Raises:
            UnknownId: no timer ever had this id.
        """
        timer = self.timer(timer_id)
        return None if timer is None else Lineups(self.state).place(timer)

    def quote(
        self, actor: Sender, fee_payer: Sender | None = None, **terms: int
    ) -> QuoteStory:
        """What a timer would cost; printing it tells it.

        `terms` are those of `schedule_timer`, and `blocks`: of how many of the last
        ones it is told what a turn would have cost there under `auction`.

        Raises:
            InvalidArgument: there is no such term.
            UnknownId: nothing was deployed at the actor's address.
            InvalidQuote: the schedule call would be refused.
        """
        known = check_terms(terms)
        payer = None if fee_payer is None else address_of(fee_payer, "fee_payer")
        address = self._actor_at(actor)
        fee, priority = (
            known.pop(name, None)
            for name in ("max_fee_per_cycle", "max_priority_fee_per_cycle")
        )
        wanted = QuoteRequest(
            address,
            address if payer is None else payer,
            max_fee=None if fee is None else Amount(fee),
            max_priority=None if priority is None else Amount(priority),
            **known,
        )
        return quote_story(self.state, self.result_at, wanted)

    def events(self, topic: str | None = None) -> list[Event]:
        """Events of all blocks in order, or those of one topic."""
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
        """Receipts of all blocks in order, or those of one kind."""
        self.require_open()
        check_kind(kind)
        return [
            receipt
            for result in self.results
            for receipt in result.receipts
            if kind is None or receipt.kind is kind
        ]

    def storage(self, actor: Sender) -> Mapping[str, codec.Value]:
        """What an actor's `self.storage` holds, decoded; a copy.

        Raises:
            UnknownId: nothing was deployed there.
        """
        start = keys.storage(self._actor_at(actor), STORAGE_PREFIX)
        return {
            key[len(start) :].decode(): codec.decode(value)
            for key, value in self._snapshot.range(start, keys.prefix_stop(start))
        }

    def storage_entry(self, actor: Sender, key: bytes | str) -> bytes | None:
        """A raw entry of an actor's state; a str names one of `self.storage`.

        Raises:
            UnknownId: nothing was deployed there; a key that is not there is None.
        """
        if isinstance(key, str):
            name = storage_key(check_text("key", key))
        else:
            name = check_bytes("key", key)
        return self._snapshot.get(keys.storage(self._actor_at(actor), name))

    def supply(self) -> Supply:
        """The supply equation, recounted from every account and message."""
        self.require_open()
        return count_supply(self.state, records_max=None)

    def read(
        self,
        actor: Sender,
        handler: str,
        payload: bytes = b"",
        sender: Sender | None = None,
    ) -> bytes:
        """A handler's answer on a read view; nothing is mined (D15).

        Raises:
            ReadFailed: the handler failed.
            UnknownId: nothing was deployed there.
        """
        check_text("handler", handler)
        check_bytes("payload", payload)
        nobody = Address(bytes(ADDRESS_BYTES))
        caller = nobody if sender is None else address_of(sender, "sender")
        address = self._actor_at(actor)
        result = self._on_worker(
            lambda: call_read_only(self.state, address, handler, payload, caller)
        )
        if result.failure is not None:
            raise ReadFailed(result.failure, self._sources_of(address))
        return result.value

    def export_bundle(self, file: str | PathLike[str]) -> Path:
        """Write the chain into a new file, for `import_bundle` or `bundle check`.

        Equal chains give equal bytes. What is queued is in no block, and not in it.

        Raises:
            BundleRefused: there is a file already, or it cannot be written.
        """
        from node.testing import bundles  # noqa: PLC0415 - few want one

        path = check_path("file", file)
        self.require_open()
        bundles.export(path, self.genesis, self.results)
        return path

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
        """Headers from genesis on."""
        self.require_open()
        return (result.header for result in self.results)
