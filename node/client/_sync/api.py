# Written by scripts/gensync.py from _async/api.py: change that one.
"""Api: a node's API, call by call, for programs without an event loop.

Each method is one call of the node's API and returns its answer, typed; amounts are
decimal strings of base units, heights are integers, all else is bytes. What the node
refuses is a `NodeError` with its stable reason; a node that does not answer is
`NodeUnreachable`. Lists turn their pages by themselves.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from node.chain.transaction import Instruction
from node.client.channels import Endpoint, open_channel
from node.client.checks import check_api, check_connection
from node.client.grpc_errors import maps_grpc_errors, require_open
from node.client.inputs import check_bytes
from node.client.messages import (
    BUNDLE_SECONDS,
    CALL_SECONDS,
    EventFilter,
    TimerFilter,
    TimerQuery,
    advance_request,
    block_request,
    committed_of,
    draft,
    sign_prepared,
    simulate_request,
    storage_request,
)
from node.client.proofs import Proven, Subject, check_proof
from node.client.wallet import Wallet
from node.rpc.v1 import (
    costs_pb2,
    dev_pb2,
    dev_pb2_grpc,
    queries_pb2,
    queries_pb2_grpc,
    streams_pb2,
    streams_pb2_grpc,
    timers_pb2,
    timers_pb2_grpc,
    traces_pb2,
    transactions_pb2,
    transactions_pb2_grpc,
    types_pb2,
)

if TYPE_CHECKING:
    import grpc

__all__ = ["Api"]


_Request = TypeVar("_Request")
_Response = TypeVar("_Response")

_PAGE_ENTRIES = 500
_PAGE_BLOCKS = 100


class Api:
    """All calls of a node's API; close it, or leave that to `with`.

    Each method makes one call, with protobuf messages, and raises `NodeError` for a
    refusal and `NodeUnreachable` if no node answers.
    """

    def __init__(
        self,
        url: str = "127.0.0.1:50051",
        *,
        timeout: float = CALL_SECONDS,
        tls_ca: bytes | None = None,
        token: str | None = None,
    ) -> None:
        """Connect when the first call is made; nothing is sent before.

        Args:
            url: `host:port`, or `https://host:port` for TLS. Giving `tls_ca` means TLS,
                too.
            timeout: seconds that a call may take by default, above 0.
            tls_ca: certificates of the authorities to trust, as PEM; the system's if
                not given.
            token: the token of the node, if it requires one.

        Raises:
            InvalidArgument: an argument is of a wrong type or out of range.
        """
        check_connection(url, timeout)
        endpoint = Endpoint(url, tls_ca, token)
        self.url = endpoint.target
        self.timeout = timeout
        self.is_closed = False
        self._channel = open_channel(endpoint)
        self._transactions = transactions_pb2_grpc.TransactionServiceStub(self._channel)
        self._queries = queries_pb2_grpc.QueryServiceStub(self._channel)
        self._timers = timers_pb2_grpc.TimerServiceStub(self._channel)
        self._streams = streams_pb2_grpc.StreamServiceStub(self._channel)
        self._dev = dev_pb2_grpc.DevServiceStub(self._channel)

    def close(self) -> None:
        """Close the connection; calling it again has no effect."""
        self.is_closed = True
        self._channel.close()

    def __enter__(self) -> Self:
        """The client itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def _call(
        self,
        method: "grpc.UnaryUnaryMultiCallable[_Request, _Response]",
        request: _Request,
        timeout: float | None = None,
    ) -> _Response:
        require_open(self)
        with maps_grpc_errors(self.url):
            return method(request, timeout=timeout or self.timeout)

    # --- state ---------------------------------------------------------------------

    def status(self, *, include_supply: bool = False) -> queries_pb2.GetStatusResponse:
        """The head, the next basefees, the pool and what the node is doing.

        With `include_supply` all money is counted, which reads every account.
        """
        check_api(include_supply=include_supply)
        request = queries_pb2.GetStatusRequest(include_supply=include_supply)
        return self._call(self._queries.GetStatus, request)

    def ready(self, timeout: float | None = None) -> None:
        """Wait until the node answers, also for one that is not running yet."""
        require_open(self)
        check_api.optional(timeout=timeout)
        with maps_grpc_errors(self.url):
            self._queries.GetStatus(
                queries_pb2.GetStatusRequest(),
                timeout=timeout or self.timeout,
                wait_for_ready=True,
            )

    def params(self) -> queries_pb2.GetParamsResponse:
        """The parameters of genesis, and those that governance has changed."""
        return self._call(self._queries.GetParams, queries_pb2.GetParamsRequest())

    def account(self, address: bytes) -> queries_pb2.GetAccountResponse:
        """The balance in base units and the nonces of an address."""
        check_api(address=address)
        request = queries_pb2.GetAccountRequest(address=address)
        return self._call(self._queries.GetAccount, request)

    def actor(self, address: bytes) -> queries_pb2.GetActorResponse:
        """The code and the handlers of an actor, and what waits for it."""
        check_api(address=address)
        request = queries_pb2.GetActorRequest(address=address)
        return self._call(self._queries.GetActor, request)

    def storage(self, actor: bytes, key: str | bytes) -> queries_pb2.StorageEntry:
        """An entry of an actor's state, by its name in `self.storage` or raw key."""
        check_api(actor=actor, key=key)
        request = storage_request(actor, key)
        response = self._call(self._queries.GetStorage, request)
        return response.entry

    def list_storage(
        self, actor: bytes, prefix: bytes = b""
    ) -> Iterator[queries_pb2.StorageEntry]:
        """The entries of an actor's state, in ascending order of raw keys."""
        check_api(actor=actor, prefix=prefix)
        token = None
        while token != "":
            request = queries_pb2.ListStorageRequest(
                actor=actor,
                prefix=prefix,
                page_size=_PAGE_ENTRIES,
                page_token=token or "",
            )
            page = self._call(self._queries.ListStorage, request)
            for entry in page.entries:
                yield entry
            token = page.next_page_token

    def read(
        self,
        actor: bytes,
        handler: str,
        payload: bytes = b"",
        *,
        sender: bytes = b"",
        trace: bool = False,
    ) -> queries_pb2.CallReadOnlyResponse:
        """Call a handler on a read view: nothing is charged or kept (D15).

        With `trace` the answer tells which calls it made.
        """
        check_api(actor=actor, handler=handler, payload=payload, sender=sender)
        check_api(trace=trace)
        request = queries_pb2.CallReadOnlyRequest(
            actor=actor, handler=handler, payload=payload, sender=sender, trace=trace
        )
        return self._call(self._queries.CallReadOnly, request)

    def prove(self, subject: Subject, *, block_hash: bytes | None = None) -> Proven:
        """What a block's hash proves about a subject; the proof is checked here.

        It is about the head, unless `block_hash` is given. Trust the hash of the answer
        only after you compared it with one that you trust.

        Raises:
            BadProof: the node's answer does not prove it.
        """
        check_api(subject=subject)
        check_api.optional(block_hash=block_hash)
        answer = self._call(self._queries.GetProof, subject.request())
        return check_proof(subject, answer, block_hash)

    # --- what happened -------------------------------------------------------------

    def block(
        self,
        height: int | None = None,
        *,
        block_hash: bytes | None = None,
        view: "types_pb2.BlockView.ValueType" = types_pb2.BLOCK_VIEW_SUMMARY,
    ) -> types_pb2.Block:
        """A block by its height or hash, or the latest one."""
        check_api(view=view)
        check_api.optional(height=height, block_hash=block_hash)
        request = block_request(height, block_hash, view)
        response = self._call(self._queries.GetBlock, request)
        return response.block

    def block_profile(self, height: int) -> types_pb2.ExecutionProfile:
        """The cycles and cells of a recent block's executions, by line of source."""
        check_api(height=height)
        header = types_pb2.BLOCK_VIEW_HEADER
        request = queries_pb2.GetBlockRequest(height=height, view=header, profile=True)
        response = self._call(self._queries.GetBlock, request)
        return response.profile

    def blocks(
        self,
        from_height: int | None = None,
        *,
        is_descending: bool = False,
        view: "types_pb2.BlockView.ValueType" = types_pb2.BLOCK_VIEW_SUMMARY,
    ) -> Iterator[types_pb2.Block]:
        """Blocks from a height on, up to the head, or down to genesis."""
        check_api(is_descending=is_descending, view=view)
        check_api.optional(from_height=from_height)
        token = None
        while token != "":
            request = queries_pb2.ListBlocksRequest(
                from_height=from_height,
                descending=is_descending,
                view=view,
                page_size=_PAGE_BLOCKS,
                page_token=token or "",
            )
            page = self._call(self._queries.ListBlocks, request)
            for block in page.blocks:
                yield block
            token = page.next_page_token

    def trace_transaction(
        self, transaction_id: bytes
    ) -> traces_pb2.TraceTransactionResponse:
        """What a transaction did, call by call, in numbers and as `text`."""
        check_api(transaction_id=transaction_id)
        request = traces_pb2.TraceTransactionRequest(id=transaction_id)
        return self._call(self._queries.TraceTransaction, request)

    def trace_timer(
        self, timer_id: bytes, height: int | None = None
    ) -> traces_pb2.TraceTimerResponse:
        """What a timer's fire did, by default the latest, and its agent before it."""
        check_api(timer_id=timer_id)
        check_api.optional(height=height)
        request = traces_pb2.TraceTimerRequest(timer_id=timer_id, height=height)
        return self._call(self._queries.TraceTimer, request)

    def trace_block(self, height: int | None = None) -> traces_pb2.TraceBlockResponse:
        """What the executions of a block did, by default the latest; its changes."""
        check_api.optional(height=height)
        request = traces_pb2.TraceBlockRequest(height=height)
        return self._call(self._queries.TraceBlock, request)

    def lane_use(
        self,
        from_height: int | None = None,
        to_height: int | None = None,
        buckets: int = 0,
    ) -> queries_pb2.GetLaneUseResponse:
        """What blocks used of their lanes, and the fees, over a range of heights.

        The range goes by default from genesis to the head, in at most 256 buckets.
        """
        check_api(buckets=buckets)
        check_api.optional(from_height=from_height, to_height=to_height)
        request = queries_pb2.GetLaneUseRequest(
            from_height=from_height, to_height=to_height, buckets=buckets
        )
        return self._call(self._queries.GetLaneUse, request)

    def transaction(self, transaction_id: bytes) -> queries_pb2.GetTransactionResponse:
        """What became of a transaction: pending, in a block, or dropped."""
        check_api(transaction_id=transaction_id)
        request = queries_pb2.GetTransactionRequest(id=transaction_id)
        return self._call(self._queries.GetTransaction, request)

    def timer(self, timer_id: bytes) -> timers_pb2.GetTimerResponse:
        """A timer, pending or ended."""
        check_api(timer_id=timer_id)
        request = timers_pb2.GetTimerRequest(timer_id=timer_id)
        return self._call(self._timers.GetTimer, request)

    def timers(self, wanted: TimerQuery | None = None) -> Iterator[timers_pb2.Timer]:
        """The timers that pass a filter; without one, all that are pending."""
        check_api.optional(wanted=wanted)
        token = None
        while token != "":
            request = (wanted or TimerQuery()).request(_PAGE_ENTRIES, token or "")
            page = self._call(self._timers.ListTimers, request)
            for timer in page.timers:
                yield timer
            token = page.next_page_token

    def queue(self, target: bytes = b"") -> Iterator[timers_pb2.Timer]:
        """Fires queued in the Globalbox, in its order: of one target, or all."""
        check_api(target=target)
        token = None
        while token != "":
            request = timers_pb2.ListQueueRequest(
                target=target, page_size=_PAGE_ENTRIES, page_token=token or ""
            )
            page = self._call(self._timers.ListQueue, request)
            for timer in page.timers:
                yield timer
            token = page.next_page_token

    def explain_timer(
        self, timer_id: bytes, *, put_offs_to: int | None = None
    ) -> timers_pb2.ExplainTimerResponse:
        """Why a timer did what it did, and what awaits it, in numbers and as `text`.

        `put_offs_to` continues the search for put-offs below this height.
        """
        check_api(timer_id=timer_id)
        check_api.optional(put_offs_to=put_offs_to)
        request = timers_pb2.ExplainTimerRequest(
            timer_id=timer_id, put_offs_to=put_offs_to
        )
        return self._call(self._timers.ExplainTimer, request)

    def explain_block(self, height: int) -> Iterator[timers_pb2.BlockTimer]:
        """The decisions of a block about timers, those it looked at first, in order."""
        for page in self.explain_block_pages(height):
            for timer in page.timers:
                yield timer

    def explain_block_pages(
        self, height: int
    ) -> Iterator[timers_pb2.ExplainBlockResponse]:
        """The same by pages, with sentences and with the use of the lane."""
        check_api(height=height)
        token = None
        while token != "":
            request = timers_pb2.ExplainBlockRequest(
                height=height, page_size=_PAGE_ENTRIES, page_token=token or ""
            )
            page = self._call(self._timers.ExplainBlock, request)
            yield page
            token = page.next_page_token

    def count_due_timers(
        self,
        from_height: int | None = None,
        to_height: int | None = None,
        buckets: int = 0,
    ) -> timers_pb2.CountDueTimersResponse:
        """How many timers are due over a range of heights, and what came of others.

        The range goes by default from the head to the end of the epoch queue, in at
        most 256 buckets.
        """
        check_api(buckets=buckets)
        check_api.optional(from_height=from_height, to_height=to_height)
        request = timers_pb2.CountDueTimersRequest(
            from_height=from_height, to_height=to_height, buckets=buckets
        )
        return self._call(self._timers.CountDueTimers, request)

    def quote_timer(
        self, wanted: timers_pb2.QuoteTimerRequest
    ) -> timers_pb2.QuoteTimerResponse:
        """What a timer would cost, and how many fires its payer can pay for."""
        check_api(wanted=wanted)
        return self._call(self._timers.QuoteTimer, wanted)

    def stream_storage_history(
        self,
        actor: bytes,
        prefix: bytes = b"",
        from_height: int | None = None,
        to_height: int | None = None,
        changes: int = 0,
    ) -> Iterator[queries_pb2.StreamStorageHistoryResponse]:
        """An actor's storage over time, the latest change first; the end comes last.

        It tells by default of 1,000 changes, as far back as states are kept.
        """
        check_api(actor=actor, prefix=prefix, changes=changes)
        check_api.optional(from_height=from_height, to_height=to_height)
        request = queries_pb2.StreamStorageHistoryRequest(
            actor=actor,
            prefix=prefix,
            from_height=from_height,
            to_height=to_height,
            changes=changes,
        )
        return self._follow(self._queries.StreamStorageHistory, request)

    # --- streams -------------------------------------------------------------------

    def stream_blocks(
        self,
        resume_after: types_pb2.BlockRef | None = None,
        *,
        view: "types_pb2.BlockView.ValueType" = types_pb2.BLOCK_VIEW_SUMMARY,
        earlier: Sequence[types_pb2.BlockRef] = (),
    ) -> Iterator[streams_pb2.StreamBlocksResponse]:
        """Blocks as they are made, after `resume_after`, without end."""
        check_api(view=view, earlier=earlier)
        check_api.optional(resume_after=resume_after)
        request = streams_pb2.StreamBlocksRequest(
            resume_after=resume_after, view=view, earlier=earlier
        )
        return self._follow(self._streams.StreamBlocks, request)

    def stream_events(
        self,
        wanted: EventFilter | None = None,
        resume_after: streams_pb2.EventCursor | None = None,
        *,
        earlier: Sequence[types_pb2.BlockRef] = (),
    ) -> Iterator[streams_pb2.StreamEventsResponse]:
        """Events as they happen, after `resume_after`, without end."""
        check_api(earlier=earlier)
        check_api.optional(wanted=wanted, resume_after=resume_after)
        request = (wanted or EventFilter()).request(resume_after, earlier)
        return self._follow(self._streams.StreamEvents, request)

    def stream_timers(
        self,
        wanted: TimerFilter | None = None,
        resume_after: streams_pb2.TimerCursor | None = None,
        *,
        earlier: Sequence[types_pb2.BlockRef] = (),
    ) -> Iterator[streams_pb2.StreamTimersResponse]:
        """Changes of timers as they are decided, after `resume_after`, without end."""
        check_api(earlier=earlier)
        check_api.optional(wanted=wanted, resume_after=resume_after)
        request = (wanted or TimerFilter()).request(resume_after, earlier)
        return self._follow(self._streams.StreamTimers, request)

    def stream_output(
        self,
        actors: Sequence[bytes] = (),
        resume_after: types_pb2.BlockRef | None = None,
        *,
        earlier: Sequence[types_pb2.BlockRef] = (),
    ) -> Iterator[streams_pb2.StreamOutputResponse]:
        """What these actors print, or all if none is named, without end."""
        check_api(actors=actors, earlier=earlier)
        check_api.optional(resume_after=resume_after)
        request = streams_pb2.StreamOutputRequest(
            actors=actors, resume_after=resume_after, earlier=earlier
        )
        return self._follow(self._streams.StreamOutput, request)

    def _follow(
        self,
        method: "grpc.UnaryStreamMultiCallable[_Request, _Response]",
        request: _Request,
    ) -> Iterator[_Response]:
        """What a stream answers; begun when first asked, cancelled when left."""
        require_open(self)
        call = method(request)
        try:
            with maps_grpc_errors(self.url):
                for response in call:
                    yield response
        finally:
            call.cancel()

    def stream_costs(
        self,
        from_height: int | None = None,
        to_height: int | None = None,
        *,
        actor: bytes = b"",
    ) -> Iterator[costs_pb2.StreamCostsResponse]:
        """What lines cost in a range of heights: progress, then what was found.

        It ends by itself. By default the range is all that can be executed again.
        """
        check_api(actor=actor)
        check_api.optional(from_height=from_height, to_height=to_height)
        request = costs_pb2.StreamCostsRequest(
            from_height=from_height, to_height=to_height, actor=actor
        )
        return self._follow(self._queries.StreamCosts, request)

    # --- transactions --------------------------------------------------------------

    def prepare(self, wanted: types_pb2.Draft) -> transactions_pb2.PrepareResponse:
        """Have the node complete a draft: body, hash to sign, and highest cost."""
        check_api(wanted=wanted)
        request = transactions_pb2.PrepareRequest(draft=wanted)
        return self._call(self._transactions.Prepare, request)

    def submit(
        self, transaction: bytes, *, as_sender: bytes = b""
    ) -> transactions_pb2.SubmitResponse:
        """Send body ‖ signature to the pool, or the body alone with `as_sender`."""
        check_api(transaction=transaction, as_sender=as_sender)
        request = transactions_pb2.SubmitRequest(
            transaction=transaction, as_sender=as_sender
        )
        return self._call(self._transactions.Submit, request)

    def submit_and_wait(
        self,
        transaction: bytes,
        *,
        as_sender: bytes = b"",
        timeout: float | None = None,
    ) -> transactions_pb2.SubmitAndWaitResponse:
        """Send a transaction, and wait until it is in a block or dropped."""
        check_api(transaction=transaction, as_sender=as_sender)
        check_api.optional(timeout=timeout)
        request = transactions_pb2.SubmitAndWaitRequest(
            transaction=transaction, as_sender=as_sender
        )
        return self._call(self._transactions.SubmitAndWait, request, timeout)

    def execute(
        self, wallet: Wallet, instruction: Instruction, *, timeout: float | None = None
    ) -> types_pb2.CommittedTransaction:
        """Prepare, sign and submit an instruction, and wait until it is in a block.

        A failed execution is an answer, not an exception.

        Raises:
            TransactionDropped: it left the pool without a block.
        """
        check_api(wallet=wallet, instruction=instruction)
        check_api.optional(timeout=timeout)
        prepared = self.prepare(draft(wallet.address, instruction))
        raw = sign_prepared(prepared, wallet, instruction)
        return committed_of(self.submit_and_wait(raw, timeout=timeout))

    def simulate(
        self, subject: bytes | types_pb2.Draft, *, trace: bool = False
    ) -> transactions_pb2.SimulateResponse:
        """The receipt that a transaction or a draft would get at the head.

        With `trace` the answer tells which calls it would make.
        """
        check_api(subject=subject, trace=trace)
        request = simulate_request(subject)
        request.trace = trace
        return self._call(self._transactions.Simulate, request)

    def simulate_blocks(
        self, blocks: int, subject: bytes | types_pb2.Draft | None = None
    ) -> transactions_pb2.SimulateResponse:
        """What the next blocks would bring, with a transaction if one is given."""
        check_api(blocks=blocks)
        check_api.optional(subject=subject)
        request = simulate_request(subject, blocks)
        return self._call(self._transactions.Simulate, request)

    def estimate_limits(
        self, wanted: types_pb2.Draft
    ) -> transactions_pb2.EstimateLimitsResponse:
        """Cycles and cells that suffice for a draft, found by executing it."""
        check_api(wanted=wanted)
        request = transactions_pb2.EstimateLimitsRequest(draft=wanted)
        return self._call(self._transactions.EstimateLimits, request)

    # --- development ---------------------------------------------------------------

    def mine(
        self, blocks: int = 1, *, timeout: float | None = None
    ) -> types_pb2.Header:
        """Make 1 to 10,000 blocks now, and return the new head."""
        check_api(blocks=blocks)
        check_api.optional(timeout=timeout)
        request = dev_pb2.MineRequest(blocks=min(blocks, 2**32 - 1))
        response = self._call(self._dev.Mine, request, timeout)
        return response.head

    def advance(self, **target: int | bool) -> Iterator[dev_pb2.AdvanceResponse]:
        """Let time pass; the messages report the progress, and the last one has `done`.

        Args:
            target: one of `blocks`, `height`, `duration_ms`, `next_timer=True`, or
                `until_idle` with the most blocks that may pass.
        """
        require_open(self)
        call = self._dev.Advance(advance_request(target))
        try:
            with maps_grpc_errors(self.url):
                for response in call:
                    yield response
        finally:
            call.cancel()

    @contextmanager
    def hold_time(self) -> Iterator[types_pb2.Header]:
        """Stop time while the context is open; gives the header at which it stands."""
        require_open(self)
        call = self._dev.HoldTime(dev_pb2.HoldTimeRequest())
        try:
            with maps_grpc_errors(self.url):
                head = (next(call)).head
            yield head
        finally:
            call.cancel()

    def set_mining(
        self, mode: "queries_pb2.MiningMode.ValueType", pace_ms: int | None = None
    ) -> dev_pb2.SetMiningResponse:
        """Change when blocks are made, and the milliseconds between them."""
        check_api(mode=mode)
        check_api.optional(pace_ms=pace_ms)
        request = dev_pb2.SetMiningRequest(mode=mode, pace_ms=pace_ms)
        return self._call(self._dev.SetMining, request)

    def fund(self, to: bytes, amount: int) -> types_pb2.CommittedTransaction:
        """Mint base units to an account."""
        check_api(to=to, amount=amount)
        request = dev_pb2.FundRequest(to=to, amount=str(amount))
        response = self._call(self._dev.Fund, request)
        return response.committed

    def set_balance(
        self, address: bytes, amount: int
    ) -> types_pb2.CommittedTransaction:
        """Set a balance in base units, by minting or taking the difference."""
        check_api(address=address, amount=amount)
        request = dev_pb2.SetBalanceRequest(address=address, amount=str(amount))
        response = self._call(self._dev.SetBalance, request)
        return response.committed

    def set_storage(
        self, actor: bytes, key: bytes, value: bytes | None
    ) -> types_pb2.CommittedTransaction:
        """Write an entry of an actor's state by its raw key; None removes it."""
        check_api(actor=actor)
        check_bytes("key", key)
        if value is not None:
            check_bytes("value", value)
        request = dev_pb2.SetStorageRequest(actor=actor, key=key, value=value)
        response = self._call(self._dev.SetStorage, request)
        return response.committed

    def set_code(self, actor: bytes, code: bytes) -> types_pb2.CommittedTransaction:
        """Replace the code of an actor; no handler runs."""
        check_api(actor=actor)
        request = dev_pb2.SetCodeRequest(actor=actor, code=check_bytes("code", code))
        response = self._call(self._dev.SetCode, request)
        return response.committed

    def reset(self) -> types_pb2.Header:
        """Delete state, history and pool, and return the header of genesis."""
        response = self._call(self._dev.Reset, dev_pb2.ResetRequest())
        return response.head

    def export_bundle(self) -> Iterator[bytes]:
        """The whole chain as the parts of one file; equal chains give equal bytes."""
        require_open(self)
        call = self._dev.ExportBundle(dev_pb2.ExportBundleRequest())
        try:
            with maps_grpc_errors(self.url):
                for response in call:
                    yield response.data
        finally:
            call.cancel()

    def import_bundle(
        self, parts: Iterable[bytes], *, timeout: float = BUNDLE_SECONDS
    ) -> types_pb2.Header:
        """Execute such a file on an empty chain, and return the new head.

        Each part has at most 1 MiB.
        """
        require_open(self)
        check_api(parts=parts, timeout=timeout)
        requests = (dev_pb2.ImportBundleRequest(data=part) for part in parts)
        with maps_grpc_errors(self.url):
            response = self._dev.ImportBundle(requests, timeout=timeout)
        return response.head

    def create_snapshot(self, name: str) -> dev_pb2.NamedSnapshot:
        """Give the head, and the transactions that wait, a name to return to."""
        check_api(name=name)
        request = dev_pb2.CreateSnapshotRequest(name=name)
        response = self._call(self._dev.CreateSnapshot, request)
        return response.snapshot

    def revert_to_snapshot(self, name: str) -> types_pb2.Header:
        """Return to a named snapshot, and return the new head.

        The snapshot is kept; those of greater heights are deleted.
        """
        check_api(name=name)
        request = dev_pb2.RevertToSnapshotRequest(name=name)
        response = self._call(self._dev.RevertToSnapshot, request)
        return response.head

    def snapshots(self) -> list[dev_pb2.NamedSnapshot]:
        """All named snapshots, the lowest height first."""
        request = dev_pb2.ListSnapshotsRequest()
        response = self._call(self._dev.ListSnapshots, request)
        return list(response.snapshots)

    def delete_snapshot(self, name: str) -> None:
        """Delete the name of a snapshot; the chain stays where it is."""
        check_api(name=name)
        request = dev_pb2.DeleteSnapshotRequest(name=name)
        self._call(self._dev.DeleteSnapshot, request)
