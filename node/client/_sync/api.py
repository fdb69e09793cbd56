# Written by scripts/gensync.py from _async/api.py: change that one.
"""Api: a node's API, call by call, for programs without an event loop.

Each method is one call of the node's API and returns its answer, typed; amounts are
decimal strings of base units, heights are integers, all else is bytes. What the node
refuses is a `NodeError` with its stable reason; a node that does not answer is
`NodeUnreachable`. Here are the calls that act: transactions and development; those
that only ask are in `api_reader`.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from node.chain.transaction import Instruction
from node.client._sync.api_reader import ApiReader
from node.client.checks import check_api
from node.client.grpc_errors import maps_grpc_errors, require_open
from node.client.messages import (
    BUNDLE_SECONDS,
    advance_request,
    committed_of,
    draft,
    sign_prepared,
    simulate_request,
)
from node.client.wallet import Wallet
from node.rpc.v1 import dev_pb2, transactions_pb2, types_pb2

if TYPE_CHECKING:
    from node.rpc.v1 import queries_pb2

__all__ = ["Api"]


class Api(ApiReader):
    """All calls of a node's API; close it, or leave that to `with`.

    Each method makes one call, with protobuf messages, and raises `NodeError` for a
    refusal and `NodeUnreachable` if no node answers.
    """

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
        self, subject: bytes | types_pb2.Draft
    ) -> transactions_pb2.SimulateResponse:
        """The receipt that a transaction or a draft would get at the head."""
        check_api(subject=subject)
        return self._call(self._transactions.Simulate, simulate_request(subject))

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
