"""DevnetReader: what a chain in this process tells; the half that changes nothing.

Everything is read from the state and the results since genesis, without a copy of
either: asking costs what the answer costs.
"""

from bisect import bisect_left
from collections import ChainMap
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
    """What a chain in this process can be asked."""

    def __init__(self, genesis: Genesis, first: BlockResult, state: State) -> None:
        self._worker: NearWorker | None = NearWorker()
        self.genesis = genesis
        self._sources: dict[bytes, str] = {}
        self.state = state
        self.results = [first]
        """Of every header since genesis, in order; a run of empty blocks is one."""

    @property
    def is_closed(self) -> bool:
        """Whether the chain was closed, so that questions raise `DevnetClosed`."""
        return self._worker is None

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

    def result_at(self, height: int) -> BlockResult:
        """The result of the block at a height; within a run, that of the run.

        Raises:
            UnknownId: the chain has not reached this height.
        """
        if check_count("height", height, 0) > self.height:
            raise unknown_height("height", height, self.height)
        index = bisect_left(self.results, height, key=lambda r: r.header.height)
        return self.results[index]

    def block(self, height: int | None = None) -> BlockResult:
        """The header, receipts and events of one block.

        Without a height it is the latest block. Within a run of empty blocks it is the
        run.

        Raises:
            UnknownId: the chain has not reached this height.
            InvalidArgument: the height is no whole number of 0 or more.
        """
        return self.last if height is None else self.result_at(height)

    def account(self, who: Sender) -> Account:
        """An account: balance in base units, nonce, code hash and deployer."""
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
        return self._sources if own is None else ChainMap({b"": own}, self._sources)

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
        if actor is not None:
            return list(calendar.timers_of(self._snapshot, self._actor_at(actor)))
        return list(calendar.timers_between(self._snapshot, 0, U64_MAX))

    def timer(self, timer_id: bytes) -> Timer | None:
        """A live timer, or None if it has ended.

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
        """All decisions about a timer, each with its height, from the first on.

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
        """Why a timer did what it did, and what awaits it; print it to read it.

        Raises:
            UnknownId: no timer ever had this id.
        """
        self.require_open()
        check_id("timer_id", timer_id)
        return timer_story(self.state, self.results, timer_id)

    def explain_block(self, height: int) -> BlockStory:
        """What a block decided about timers, in the order in which it looked at them.

        Print the answer to read it as sentences.
        """
        return block_story(height, self.result_at(height))

    def standing(self, timer_id: bytes) -> LanePosition | None:
        """The effective priority and rank of a live timer under the rules `auction`.

        It is None under other rules, and for a timer that has ended.

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
                `max_fee_per_cycle`, `max_priority_fee_per_cycle`; and `blocks`, how
                many of the last blocks to look back over.

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
        wanted = QuoteRequest(
            address,
            address if payer is None else payer,
            max_fee=None if fee is None else Amount(fee),
            max_priority=None if priority is None else Amount(priority),
            **known,
        )
        return quote_story(self.state, self.result_at, wanted)

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

        Raises:
            UnknownId: no actor was deployed at the address.
        """
        start = keys.storage(self._actor_at(actor), STORAGE_PREFIX)
        return {
            key[len(start) :].decode(): codec.decode(value)
            for key, value in self._snapshot.range(start, keys.prefix_stop(start))
        }

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
        result = self._on_worker(
            lambda: call_read_only(self.state, address, handler, payload, caller)
        )
        if result.failure is not None:
            raise ReadFailed(result.failure, self._sources_of(address))
        return result.value

    def export_bundle(self, file: str | PathLike[str]) -> Path:
        """Write the chain into a new file, for `import_bundle` or `bundle check`.

        Equal chains give equal bytes. Transactions that are queued are not in the file.

        Raises:
            BundleRefused: the file exists, or cannot be written.
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
        """The headers of all blocks from genesis on."""
        self.require_open()
        return (result.header for result in self.results)
