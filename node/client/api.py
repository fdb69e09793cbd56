# Written by scripts/gensync.py from api_async.py: change that one.
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
from node.client.checks import API_CHECKS, checked
from node.client.errors import errors_told, require_open
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
    dev_pb2,
    dev_pb2_grpc,
    queries_pb2,
    queries_pb2_grpc,
    streams_pb2,
    streams_pb2_grpc,
    timers_pb2,
    timers_pb2_grpc,
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


@checked(API_CHECKS, require_open)
class Api:
    """A connection to a node; close it, or leave it to `with`."""

    def __init__(
        self,
        url: str = "127.0.0.1:50051",
        *,
        timeout: float = CALL_SECONDS,
        tls_ca: bytes | None = None,
        token: str | None = None,
    ) -> None:
        """Connect lazily: nothing is sent before the first call.

        `https://…` means TLS, and so do authorities to trust, as PEM.
        """
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
        """Close the connection."""
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
        with errors_told(self.url):
            return method(request, timeout=timeout or self.timeout)

    # --- transactions --------------------------------------------------------------

    def prepare(self, wanted: types_pb2.Draft) -> transactions_pb2.PrepareResponse:
        """A body, completed by the node, and what to sign."""
        request = transactions_pb2.PrepareRequest(draft=wanted)
        return self._call(self._transactions.Prepare, request)

    def submit(
        self, transaction: bytes, *, as_sender: bytes = b""
    ) -> transactions_pb2.SubmitResponse:
        """Admit body ‖ signature; with `as_sender` (dev), the body alone."""
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
        """The same, and wait until it is in a block, or dropped."""
        request = transactions_pb2.SubmitAndWaitRequest(
            transaction=transaction, as_sender=as_sender
        )
        return self._call(self._transactions.SubmitAndWait, request, timeout)

    def execute(
        self, wallet: Wallet, instruction: Instruction, *, timeout: float | None = None
    ) -> types_pb2.CommittedTransaction:
        """Prepare, sign, submit and wait; a failed execution is an answer, too.

        Raises:
            TransactionDropped: It left the pool without a block.
        """
        prepared = self.prepare(draft(wallet.address, instruction))
        raw = sign_prepared(prepared, wallet, instruction)
        return committed_of(self.submit_and_wait(raw, timeout=timeout))

    def simulate(
        self, subject: bytes | types_pb2.Draft
    ) -> transactions_pb2.SimulateResponse:
        """The receipt that a transaction, or a draft, would get at the head."""
        return self._call(self._transactions.Simulate, simulate_request(subject))

    def simulate_blocks(
        self, blocks: int, subject: bytes | types_pb2.Draft | None = None
    ) -> transactions_pb2.SimulateResponse:
        """The same, if there is a subject, and what the next blocks would bring."""
        request = simulate_request(subject, blocks)
        return self._call(self._transactions.Simulate, request)

    def estimate_limits(
        self, wanted: types_pb2.Draft
    ) -> transactions_pb2.EstimateLimitsResponse:
        """Limits that suffice, found by execution."""
        request = transactions_pb2.EstimateLimitsRequest(draft=wanted)
        return self._call(self._transactions.EstimateLimits, request)

    # --- state ---------------------------------------------------------------------

    def status(self, *, include_supply: bool = False) -> queries_pb2.GetStatusResponse:
        """Where the chain stands and what the node is doing."""
        request = queries_pb2.GetStatusRequest(include_supply=include_supply)
        return self._call(self._queries.GetStatus, request)

    def ready(self, timeout: float | None = None) -> None:
        """Wait until the node answers, also one that is not there yet."""
        with errors_told(self.url):
            self._queries.GetStatus(
                queries_pb2.GetStatusRequest(),
                timeout=timeout or self.timeout,
                wait_for_ready=True,
            )

    def params(self) -> queries_pb2.GetParamsResponse:
        """What genesis fixed, and what governance made of the rest."""
        return self._call(self._queries.GetParams, queries_pb2.GetParamsRequest())

    def account(self, address: bytes) -> queries_pb2.GetAccountResponse:
        """Balance and nonces of an address."""
        request = queries_pb2.GetAccountRequest(address=address)
        return self._call(self._queries.GetAccount, request)

    def actor(self, address: bytes) -> queries_pb2.GetActorResponse:
        """An actor's code, handlers, and what waits for it."""
        request = queries_pb2.GetActorRequest(address=address)
        return self._call(self._queries.GetActor, request)

    def storage(self, actor: bytes, key: str | bytes) -> queries_pb2.StorageEntry:
        """An entry, by its name in `self.storage` or by its raw key."""
        request = storage_request(actor, key)
        response = self._call(self._queries.GetStorage, request)
        return response.entry

    def list_storage(
        self, actor: bytes, prefix: bytes = b""
    ) -> Iterator[queries_pb2.StorageEntry]:
        """Entries of an actor, ascending by raw key."""
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
        self, actor: bytes, handler: str, payload: bytes = b"", *, sender: bytes = b""
    ) -> queries_pb2.CallReadOnlyResponse:
        """A handler's answer on a read view: nothing is charged or kept."""
        request = queries_pb2.CallReadOnlyRequest(
            actor=actor, handler=handler, payload=payload, sender=sender
        )
        return self._call(self._queries.CallReadOnly, request)

    def prove(self, subject: Subject, *, block_hash: bytes | None = None) -> Proven:
        """What the head's hash proves about a subject, checked here.

        Compare `block_hash` of the outcome with one that you trust, or give that one.

        Raises:
            BadProof: The node's answer does not prove it.
        """
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
        """A block by height or hash; the latest without either."""
        request = block_request(height, block_hash, view)
        response = self._call(self._queries.GetBlock, request)
        return response.block

    def blocks(
        self,
        from_height: int | None = None,
        *,
        is_descending: bool = False,
        view: "types_pb2.BlockView.ValueType" = types_pb2.BLOCK_VIEW_SUMMARY,
    ) -> Iterator[types_pb2.Block]:
        """Blocks from a height on, to the head or to genesis."""
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

    def transaction(self, transaction_id: bytes) -> queries_pb2.GetTransactionResponse:
        """What became of a transaction."""
        request = queries_pb2.GetTransactionRequest(id=transaction_id)
        return self._call(self._queries.GetTransaction, request)

    def timer(self, timer_id: bytes) -> timers_pb2.GetTimerResponse:
        """A timer, pending or ended."""
        request = timers_pb2.GetTimerRequest(timer_id=timer_id)
        return self._call(self._timers.GetTimer, request)

    def timers(self, wanted: TimerQuery | None = None) -> Iterator[timers_pb2.Timer]:
        """Timers that pass the filters; without any, all that are pending."""
        token = None
        while token != "":
            request = (wanted or TimerQuery()).request(_PAGE_ENTRIES, token or "")
            page = self._call(self._timers.ListTimers, request)
            for timer in page.timers:
                yield timer
            token = page.next_page_token

    def explain_timer(
        self, timer_id: bytes, *, put_offs_to: int | None = None
    ) -> timers_pb2.ExplainTimerResponse:
        """Why a timer did what it did, and what awaits it; `text` says it in words."""
        request = timers_pb2.ExplainTimerRequest(
            timer_id=timer_id, put_offs_to=put_offs_to
        )
        return self._call(self._timers.ExplainTimer, request)

    def explain_block(self, height: int) -> Iterator[timers_pb2.BlockTimer]:
        """Decisions about timers in a block, those it looked at first, in order."""
        token = None
        while token != "":
            request = timers_pb2.ExplainBlockRequest(
                height=height, page_size=_PAGE_ENTRIES, page_token=token or ""
            )
            page = self._call(self._timers.ExplainBlock, request)
            for timer in page.timers:
                yield timer
            token = page.next_page_token

    def quote_timer(
        self, wanted: timers_pb2.QuoteTimerRequest
    ) -> timers_pb2.QuoteTimerResponse:
        """What a timer would cost, and how many fires its payer's balance covers."""
        return self._call(self._timers.QuoteTimer, wanted)

    # --- streams -------------------------------------------------------------------

    def stream_blocks(
        self,
        resume_after: types_pb2.BlockRef | None = None,
        *,
        view: "types_pb2.BlockView.ValueType" = types_pb2.BLOCK_VIEW_SUMMARY,
        earlier: Sequence[types_pb2.BlockRef] = (),
    ) -> Iterator[streams_pb2.StreamBlocksResponse]:
        """Blocks as they come, after the one that was seen last; without end."""
        request = streams_pb2.StreamBlocksRequest(
            resume_after=resume_after, view=view, earlier=earlier
        )
        call = self._streams.StreamBlocks(request)
        try:
            with errors_told(self.url):
                for response in call:
                    yield response
        finally:
            call.cancel()

    def stream_events(
        self,
        wanted: EventFilter | None = None,
        resume_after: streams_pb2.EventCursor | None = None,
        *,
        earlier: Sequence[types_pb2.BlockRef] = (),
    ) -> Iterator[streams_pb2.StreamEventsResponse]:
        """Events as they come, after the one that was seen last; without end."""
        request = (wanted or EventFilter()).request(resume_after, earlier)
        call = self._streams.StreamEvents(request)
        try:
            with errors_told(self.url):
                for response in call:
                    yield response
        finally:
            call.cancel()

    def stream_timers(
        self,
        wanted: TimerFilter | None = None,
        resume_after: streams_pb2.TimerCursor | None = None,
        *,
        earlier: Sequence[types_pb2.BlockRef] = (),
    ) -> Iterator[streams_pb2.StreamTimersResponse]:
        """Changes of timers as they come, after the one seen last; without end."""
        request = (wanted or TimerFilter()).request(resume_after, earlier)
        call = self._streams.StreamTimers(request)
        try:
            with errors_told(self.url):
                for response in call:
                    yield response
        finally:
            call.cancel()

    # --- development ---------------------------------------------------------------

    def mine(
        self, blocks: int = 1, *, timeout: float | None = None
    ) -> types_pb2.Header:
        """Make blocks now; the new head."""
        request = dev_pb2.MineRequest(blocks=min(blocks, 2**32 - 1))
        response = self._call(self._dev.Mine, request, timeout)
        return response.head

    def advance(self, **target: int | bool) -> Iterator[dev_pb2.AdvanceResponse]:
        """Let time pass; progress as it is made, the last message has `done`.

        Args:
            target: one of `blocks`, `height`, `duration_ms`, `next_timer=True`, or
                `until_idle` with the number of blocks that may pass at the most.
        """
        call = self._dev.Advance(advance_request(target))
        try:
            with errors_told(self.url):
                for response in call:
                    yield response
        finally:
            call.cancel()

    @contextmanager
    def hold_time(self) -> Iterator[types_pb2.Header]:
        """Time stands still while the context is open; where it does."""
        call = self._dev.HoldTime(dev_pb2.HoldTimeRequest())
        try:
            with errors_told(self.url):
                head = (next(call)).head
            yield head
        finally:
            call.cancel()

    def set_mining(
        self, mode: "queries_pb2.MiningMode.ValueType", pace_ms: int | None = None
    ) -> dev_pb2.SetMiningResponse:
        """Change what makes the next block."""
        request = dev_pb2.SetMiningRequest(mode=mode, pace_ms=pace_ms)
        return self._call(self._dev.SetMining, request)

    def fund(self, to: bytes, amount: int) -> types_pb2.CommittedTransaction:
        """Mint base units to an account."""
        request = dev_pb2.FundRequest(to=to, amount=str(amount))
        response = self._call(self._dev.Fund, request)
        return response.committed

    def set_balance(
        self, address: bytes, amount: int
    ) -> types_pb2.CommittedTransaction:
        """Mint or take what is missing to a balance, in base units."""
        request = dev_pb2.SetBalanceRequest(address=address, amount=str(amount))
        response = self._call(self._dev.SetBalance, request)
        return response.committed

    def reset(self) -> types_pb2.Header:
        """Back to genesis: state, history and pool; genesis' header."""
        response = self._call(self._dev.Reset, dev_pb2.ResetRequest())
        return response.head

    def export_bundle(self) -> Iterator[bytes]:
        """The whole chain, as the parts of one file; equal chains, equal bytes."""
        call = self._dev.ExportBundle(dev_pb2.ExportBundleRequest())
        try:
            with errors_told(self.url):
                for response in call:
                    yield response.data
        finally:
            call.cancel()

    def import_bundle(
        self, parts: Iterable[bytes], *, timeout: float = BUNDLE_SECONDS
    ) -> types_pb2.Header:
        """Fill an empty chain with such a file, in parts of 1 MiB at most; the head."""
        requests = (dev_pb2.ImportBundleRequest(data=part) for part in parts)
        with errors_told(self.url):
            response = self._dev.ImportBundle(requests, timeout=timeout)
        return response.head

    def create_snapshot(self, name: str) -> dev_pb2.NamedSnapshot:
        """Name the head and what waits in the pool, to return to them."""
        request = dev_pb2.CreateSnapshotRequest(name=name)
        response = self._call(self._dev.CreateSnapshot, request)
        return response.snapshot

    def revert_to_snapshot(self, name: str) -> types_pb2.Header:
        """Back to a snapshot, which is kept; those above it are deleted. The head."""
        request = dev_pb2.RevertToSnapshotRequest(name=name)
        response = self._call(self._dev.RevertToSnapshot, request)
        return response.head

    def snapshots(self) -> list[dev_pb2.NamedSnapshot]:
        """All snapshots, the oldest height first."""
        request = dev_pb2.ListSnapshotsRequest()
        response = self._call(self._dev.ListSnapshots, request)
        return list(response.snapshots)

    def delete_snapshot(self, name: str) -> None:
        """Forget a snapshot; the chain stays where it is."""
        request = dev_pb2.DeleteSnapshotRequest(name=name)
        self._call(self._dev.DeleteSnapshot, request)
