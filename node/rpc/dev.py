"""DevService: what only a development chain does on request (D41)."""

from collections.abc import AsyncGenerator, AsyncIterator

from typing_extensions import override

from node.chain.advance import AdvanceSummary
from node.chain.advance_stop import stop_height
from node.chain.transaction import SetCode
from node.rpc import convert, requests
from node.rpc.answers import Answers
from node.rpc.bundles import Bundles
from node.rpc.limits import RpcLimits
from node.rpc.requests import InvalidRequest
from node.rpc.service import Context
from node.rpc.v1 import dev_pb2 as pb
from node.rpc.v1.dev_pb2_grpc import DevServiceServicer
from node.runtime.advance import advance
from node.runtime.types import Backend

__all__ = ["BLOCKS_MAX", "Development"]

BLOCKS_MAX = 10_000
"""Blocks of one `Mine`: some seconds when they are empty."""

HEIGHTS_A_MESSAGE = 100
"""Heights at which something happened between two messages of `Advance`."""

PACE_MS_MAX = 3_600_000
"""An hour between blocks; who wants more mines by hand."""


class Development(DevServiceServicer):
    """Serves `DevService` from a backend."""

    def __init__(
        self,
        backend: Backend,
        limits: RpcLimits | None = None,
        answers: Answers | None = None,
    ) -> None:
        self._backend = backend
        self._bundles = Bundles(backend, limits or RpcLimits(), answers)

    @override
    async def Mine(
        self, request: pb.MineRequest, context: Context[pb.MineRequest, pb.MineResponse]
    ) -> pb.MineResponse:
        """Makes blocks now, in any mining mode."""
        blocks = requests.parse_count(request.blocks, "blocks", 1, BLOCKS_MAX)
        head = await self._backend.mine(blocks)
        return pb.MineResponse(head=convert.header_to_proto(head))

    @override
    async def Advance(
        self,
        request: pb.AdvanceRequest,
        context: Context[pb.AdvanceRequest, pb.AdvanceResponse],
    ) -> AsyncGenerator[pb.AdvanceResponse, None]:
        """Lets time pass to a target; a stream of progress."""
        backend, summary, shown = self._backend, AdvanceSummary(), 0
        target = requests.target_from_proto(request, backend.state.head.height)
        stop = stop_height(backend.state, target)
        yield convert.advance_to_proto(backend.state.head, stop, summary)
        async for result in advance(backend, target, stop):
            summary.note(result)
            if len(summary.heights) - shown >= HEIGHTS_A_MESSAGE:
                yield convert.advance_to_proto(result.header, stop, summary, shown)
                shown = len(summary.heights)
        answer = convert.advance_to_proto(backend.state.head, stop, summary, shown)
        answer.done = True
        yield answer

    @override
    async def SetMining(
        self,
        request: pb.SetMiningRequest,
        context: Context[pb.SetMiningRequest, pb.SetMiningResponse],
    ) -> pb.SetMiningResponse:
        """Changes what makes the next block."""
        mode = requests.mining_mode_from_proto(request.mode, "mode")
        pace_ms = request.pace_ms if request.HasField("pace_ms") else None
        if pace_ms is not None and not 1 <= pace_ms <= PACE_MS_MAX:
            raise InvalidRequest("pace_ms", f"is from 1 to {PACE_MS_MAX}")
        await self._backend.set_mining(mode, pace_ms)
        status = self._backend.status
        return pb.SetMiningResponse(
            mode=convert.mining_mode_to_proto(status.mining_mode),
            pace_ms=status.pace_ms,
        )

    @override
    async def Fund(
        self, request: pb.FundRequest, context: Context[pb.FundRequest, pb.FundResponse]
    ) -> pb.FundResponse:
        """Mints to an account."""
        to = requests.parse_address(request.to, "to")
        amount = requests.parse_amount(request.amount, "amount")
        committed = await self._backend.fund(to, amount)
        return pb.FundResponse(committed=convert.committed_to_proto(committed))

    @override
    async def SetBalance(
        self,
        request: pb.SetBalanceRequest,
        context: Context[pb.SetBalanceRequest, pb.SetBalanceResponse],
    ) -> pb.SetBalanceResponse:
        """Mints, or takes, what is missing to a balance."""
        address = requests.parse_address(request.address, "address")
        amount = requests.parse_amount(request.amount, "amount")
        committed = await self._backend.set_balance(address, amount)
        return pb.SetBalanceResponse(committed=convert.committed_to_proto(committed))

    @override
    async def SetStorage(
        self,
        request: pb.SetStorageRequest,
        context: Context[pb.SetStorageRequest, pb.SetStorageResponse],
    ) -> pb.SetStorageResponse:
        """Writes an entry of an actor's state, or removes it."""
        wanted = requests.set_storage_from_proto(request)
        committed = await self._backend.set_storage(wanted)
        return pb.SetStorageResponse(committed=convert.committed_to_proto(committed))

    @override
    async def SetCode(
        self,
        request: pb.SetCodeRequest,
        context: Context[pb.SetCodeRequest, pb.SetCodeResponse],
    ) -> pb.SetCodeResponse:
        """Replaces the code of an actor; no handler runs."""
        actor = requests.parse_address(request.actor, "actor")
        committed = await self._backend.set_code(SetCode(actor, request.code))
        return pb.SetCodeResponse(committed=convert.committed_to_proto(committed))

    @override
    async def HoldTime(
        self,
        request: pb.HoldTimeRequest,
        context: Context[pb.HoldTimeRequest, pb.HoldTimeResponse],
    ) -> AsyncGenerator[pb.HoldTimeResponse, None]:
        """Time stands still while the call is open."""
        async with self._backend.hold_time() as head:
            yield pb.HoldTimeResponse(head=convert.header_to_proto(head))
            with self._backend.subscribe() as notices:  # which end when the node stops
                async for _ in notices:
                    pass

    @override
    async def ExportBundle(
        self,
        request: pb.ExportBundleRequest,
        context: Context[pb.ExportBundleRequest, pb.ExportBundleResponse],
    ) -> AsyncGenerator[pb.ExportBundleResponse, None]:
        """The whole chain, in parts of one file."""
        async for data in self._bundles.export():
            yield pb.ExportBundleResponse(data=data)

    @override
    async def ImportBundle(
        self,
        request_iterator: AsyncIterator[pb.ImportBundleRequest],
        context: Context[
            AsyncIterator[pb.ImportBundleRequest], pb.ImportBundleResponse
        ],
    ) -> pb.ImportBundleResponse:
        """Fills an empty chain with a bundle's blocks."""
        head = await self._bundles.take(request_iterator)
        return pb.ImportBundleResponse(head=convert.header_to_proto(head))

    @override
    async def Reset(
        self,
        request: pb.ResetRequest,
        context: Context[pb.ResetRequest, pb.ResetResponse],
    ) -> pb.ResetResponse:
        """Back to genesis: state, history and pool."""
        head = await self._backend.reset()
        return pb.ResetResponse(head=convert.header_to_proto(head))

    @override
    async def CreateSnapshot(
        self,
        request: pb.CreateSnapshotRequest,
        context: Context[pb.CreateSnapshotRequest, pb.CreateSnapshotResponse],
    ) -> pb.CreateSnapshotResponse:
        """Names the head and what waits in the pool."""
        created = await self._backend.create_snapshot(request.name)
        return pb.CreateSnapshotResponse(snapshot=convert.snapshot_to_proto(created))

    @override
    async def RevertToSnapshot(
        self,
        request: pb.RevertToSnapshotRequest,
        context: Context[pb.RevertToSnapshotRequest, pb.RevertToSnapshotResponse],
    ) -> pb.RevertToSnapshotResponse:
        """Back to a snapshot: state, history, clock, fees and pool."""
        head = await self._backend.revert_to_snapshot(request.name)
        return pb.RevertToSnapshotResponse(head=convert.header_to_proto(head))

    @override
    async def ListSnapshots(
        self,
        request: pb.ListSnapshotsRequest,
        context: Context[pb.ListSnapshotsRequest, pb.ListSnapshotsResponse],
    ) -> pb.ListSnapshotsResponse:
        """All of them, the oldest height first."""
        found = await self._backend.list_snapshots()
        return pb.ListSnapshotsResponse(snapshots=map(convert.snapshot_to_proto, found))

    @override
    async def DeleteSnapshot(
        self,
        request: pb.DeleteSnapshotRequest,
        context: Context[pb.DeleteSnapshotRequest, pb.DeleteSnapshotResponse],
    ) -> pb.DeleteSnapshotResponse:
        """Forgets one; the chain stays where it is."""
        await self._backend.delete_snapshot(request.name)
        return pb.DeleteSnapshotResponse()
