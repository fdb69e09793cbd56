"""QueryService: the state at the head, and all blocks."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from typing_extensions import override

import node
from node import query
from node.chain.block import ReadOnlyResult
from node.chain.params import (
    BODY_BYTES_MAX,
    STATE_KEY_BYTES_MAX,
    ZERO_ADDRESS,
)
from node.chain.simulation import call_read_only
from node.chain.transition import State
from node.primitives.types import Address, Height
from node.query import ActorView, Supply
from node.rpc import convert, heights, instructions, requests
from node.rpc.answers import SMALL_BYTES, Answers, delimited
from node.rpc.requests import InvalidRequest
from node.rpc.service import Context, Pager, at_height, state_at
from node.rpc.v1 import costs_pb2 as pb_costs
from node.rpc.v1 import queries_pb2 as pb
from node.rpc.v1 import traces_pb2 as pb_traces
from node.rpc.v1 import types_pb2
from node.rpc.v1.queries_pb2_grpc import QueryServiceServicer
from node.runtime.types import Backend, DroppedTransaction, Pending, UnknownTransaction
from node.state import keys
from node.state.retention import load_oldest

if TYPE_CHECKING:
    from node.query.trace.records import ReadTrace
    from node.rpc.costing import CostStreams

__all__ = ["BLOCKS_MAX", "ENTRIES_MAX", "Queries"]

ENTRIES_DEFAULT = 100
ENTRIES_MAX = 1_000
"""Entries of a page of storage or timers; a page is full at 1 MiB as well."""

CHANGES_DEFAULT = 1_000
"""Of an actor's storage that one stream tells."""

BLOCKS_DEFAULT = 20
BLOCKS_MAX = 100
"""Blocks of a page."""


class Queries(QueryServiceServicer):
    """Serves `QueryService` from a backend."""

    def __init__(
        self, backend: Backend, answers: Answers | None = None, *, is_dev: bool
    ) -> None:
        self._backend = backend
        self._answers = answers or Answers()
        self._is_dev = is_dev
        self._costs: CostStreams | None = None

    # --- the chain -----------------------------------------------------------------

    @override
    async def GetStatus(
        self,
        request: pb.GetStatusRequest,
        context: Context[pb.GetStatusRequest, pb.GetStatusResponse],
    ) -> pb.GetStatusResponse:
        """Where the chain stands and what the node is doing."""
        supply = None
        if request.include_supply:
            state, supply = await self._backend.run_read(_count_supply)
        else:
            state = self._backend.state
        chain, status = query.chain_status(state), self._backend.status
        return pb.GetStatusResponse(
            chain_name=status.chain_name,
            chain_id=state.params.chain_id,
            node_version=node.__version__,
            head=convert.header_to_proto(chain.head, chain.head_hash),
            genesis_hash=chain.genesis_hash,
            dev=self._is_dev and not status.is_only_read,
            mining_mode=convert.mining_mode_to_proto(status.mining_mode),
            pace_ms=status.pace_ms,
            auto_timers=status.is_auto_timers,
            time_holds=status.time_holds,
            walls=status.walls,
            pool_transactions=status.pool_transactions,
            pool_queued=status.pool_queued,
            rules=chain.rules,
            next_basefee_cycle=str(chain.globals.basefee_cycle),
            next_basefee_cell=str(chain.globals.basefee_cell),
            next_basefee_lane=str(chain.globals.basefee_lane),
            oldest_state_height=status.oldest_state,
            oldest_block_height=load_oldest(state.snapshot).contents,
            supply=None if supply is None else _supply_to_proto(supply),
        )

    @override
    async def GetParams(
        self,
        request: pb.GetParamsRequest,
        context: Context[pb.GetParamsRequest, pb.GetParamsResponse],
    ) -> pb.GetParamsResponse:
        """What genesis fixed, and what governance made of the rest."""
        state = await state_at(self._backend, at_height(request))
        params, governed = state.params, query.governed(state)
        fees = query.next_fees(state)
        return pb.GetParamsResponse(
            chain_id=params.chain_id,
            genesis_timestamp_ms=params.genesis_timestamp_ms,
            block_interval_ms=params.block_interval_ms,
            dev=params.dev,
            proposer=params.proposer,
            system_deployers=params.system_deployers,
            lane_user_cycles=params.lane_user_cycles,
            lane_deferred_cycles=params.lane_deferred_cycles,
            block_cells=params.block_cells,
            transaction_cells_max=params.transaction_cells_max,
            message_cycles_max=params.message_cycles_max,
            ring_size=params.calendar.ring_size,
            epoch_length=params.calendar.epoch_length,
            epochs=params.calendar.epochs,
            auction_tie_break=params.auction_tie_break.value,
            timer_config=instructions.timer_config_to_proto(governed.timer_config),
            basefee_config=instructions.basefee_config_to_proto(
                governed.basefee_config
            ),
            bidding_config=instructions.bidding_config_to_proto(
                governed.bidding_config
            ),
            weights_reset=governed.weights_reset,
            globalbox_config=instructions.globalbox_config_to_proto(
                governed.globalbox_config
            ),
            activations=[
                pb.Activation(height=height, rules=rules)
                for height, rules in governed.activations
            ],
            transaction_body_bytes_max=BODY_BYTES_MAX,
            configs_hold_from=state.head.height + 1,
            rules=fees.rules,
            basefee_cycle=str(fees.basefee_cycle),
            basefee_cell=str(fees.basefee_cell),
            basefee_lane=str(fees.basefee_lane),
            p50_priority=str(fees.p50_priority),
            tier_priorities=map(str, fees.tier_priorities),
        )

    # --- accounts and actors -------------------------------------------------------

    @override
    async def GetAccount(
        self,
        request: pb.GetAccountRequest,
        context: Context[pb.GetAccountRequest, pb.GetAccountResponse],
    ) -> pb.GetAccountResponse:
        """Balance and nonces of an address."""
        state = await state_at(self._backend, at_height(request))
        address = requests.parse_address(request.address, "address")
        account = query.account(state, address)
        return pb.GetAccountResponse(
            address=address,
            balance=str(account.balance),
            nonce=account.nonce,
            is_actor=account.is_actor,
            next_nonce=self._backend.next_nonce(address),
        )

    @override
    async def GetActor(
        self,
        request: pb.GetActorRequest,
        context: Context[pb.GetActorRequest, pb.GetActorResponse],
    ) -> pb.GetActorResponse:
        """An actor's code, handlers, and what waits for it."""
        height = at_height(request)
        address = requests.parse_address(request.address, "address")
        view, handlers = await self._backend.run_read(
            lambda state: _inspect(state, address), height
        )
        return pb.GetActorResponse(
            address=address,
            code_hash=view.account.code_hash,
            source=view.source,
            deployer=view.account.deployer,
            handlers=handlers,
            balance=str(view.account.balance),
            live_timers=view.live_timers,
            mailbox_length=view.mailbox_length,
            scheduling_counter=view.account.scheduling_counter,
            versions=[
                pb.CodeVersion(height=one.height, code_hash=one.code_hash)
                for one in view.versions
            ],
        )

    @override
    async def GetStorage(
        self,
        request: pb.GetStorageRequest,
        context: Context[pb.GetStorageRequest, pb.GetStorageResponse],
    ) -> pb.GetStorageResponse:
        """One entry of an actor's state."""
        state = await state_at(self._backend, at_height(request))
        address = requests.parse_address(request.actor, "actor")
        key = requests.parse_storage_key(request)
        value = query.storage_value(state, address, key)
        return pb.GetStorageResponse(entry=_entry_to_proto(key, value))

    @override
    async def ListStorage(
        self,
        request: pb.ListStorageRequest,
        context: Context[pb.ListStorageRequest, pb.ListStorageResponse],
    ) -> pb.ListStorageResponse:
        """An actor's state, by pages."""
        state = await state_at(self._backend, at_height(request))
        address = requests.parse_address(request.actor, "actor")
        count = requests.parse_count(
            request.page_size, "page_size", ENTRIES_DEFAULT, ENTRIES_MAX
        )
        if len(request.prefix) > STATE_KEY_BYTES_MAX:
            raise InvalidRequest("prefix", f"has at most {STATE_KEY_BYTES_MAX} bytes")
        pager = Pager("storage", address, request.prefix)
        start = pager.start(request.page_token)

        def show() -> pb.ListStorageResponse:
            page = query.storage_page(state, address, request.prefix, start, count)
            return pb.ListStorageResponse(
                entries=[_entry_to_proto(key, value) for key, value in page.items],
                next_page_token=pager.token(page.next_key),
            )

        if count <= ENTRIES_DEFAULT:
            return show()
        return await self._answers.run(show)

    @override
    async def CallReadOnly(
        self,
        request: pb.CallReadOnlyRequest,
        context: Context[pb.CallReadOnlyRequest, pb.CallReadOnlyResponse],
    ) -> pb.CallReadOnlyResponse:
        """A handler's answer on a read view."""
        height = at_height(request)
        actor = requests.parse_address(request.actor, "actor")
        handler = requests.parse_handler(request.handler, "handler")
        sender = ZERO_ADDRESS
        if request.sender:
            sender = requests.parse_address(request.sender, "sender")

        def call(state: State) -> tuple[State, ReadOnlyResult]:
            query.require_actor(state, actor)
            payload = request.payload
            return state, call_read_only(state, actor, handler, payload, sender)

        if request.trace:
            return await self._read_traced(request, (actor, handler, sender), height)
        state, result = await self._backend.run_read(call, height)
        return _read_to_proto(state, result)

    async def _read_traced(
        self,
        request: pb.CallReadOnlyRequest,
        wanted: tuple[Address, str, Address],
        height: int | None,
    ) -> pb.CallReadOnlyResponse:
        # It compiles: it is imported if somebody asks.
        from node.query.trace.tracing import trace_read  # noqa: PLC0415
        from node.rpc.traces import call_to_proto  # noqa: PLC0415

        actor, handler, sender = wanted

        def call(state: State) -> tuple[State, "ReadTrace"]:
            query.require_actor(state, actor)
            payload = request.payload
            return state, trace_read(state, actor, handler, payload, sender)

        state, trace = await self._backend.run_read(call, height)

        def show() -> pb.CallReadOnlyResponse:
            response = _read_to_proto(state, trace.result)
            response.trace.CopyFrom(call_to_proto(trace.call))
            return response

        return await self._answers.run(show)

    @override
    async def StreamStorageHistory(
        self,
        request: pb.StreamStorageHistoryRequest,
        context: Context[
            pb.StreamStorageHistoryRequest, pb.StreamStorageHistoryResponse
        ],
    ) -> AsyncGenerator[pb.StreamStorageHistoryResponse, None]:
        """An actor's storage over time, the latest change first."""
        # It compiles: it is imported if somebody asks.
        from node.query.trace.storage_history import (  # noqa: PLC0415
            CHANGES_MAX,
            WantedHistory,
        )
        from node.rpc.storage_history import tell_history  # noqa: PLC0415

        actor = requests.parse_address(request.actor, "actor")
        if len(request.prefix) > STATE_KEY_BYTES_MAX:
            raise InvalidRequest("prefix", f"has at most {STATE_KEY_BYTES_MAX} bytes")
        head = self._backend.state.head.height
        range_ = requests.parse_heights(request, (0, head))
        count = requests.parse_count(
            request.changes, "changes", CHANGES_DEFAULT, CHANGES_MAX
        )
        wanted = WantedHistory(actor, request.prefix, *range_, count)
        async with aclosing(tell_history(self._backend, wanted)) as responses:
            async for response in responses:
                yield response

    # --- traces ---------------------------------------------------------------------

    @override
    async def TraceTransaction(
        self,
        request: pb_traces.TraceTransactionRequest,
        context: Context[
            pb_traces.TraceTransactionRequest, pb_traces.TraceTransactionResponse
        ],
    ) -> pb_traces.TraceTransactionResponse:
        """What a transaction did, call by call."""
        from node.rpc import tracing  # noqa: PLC0415 - it compiles: if asked
        from node.rpc.traces import trace_to_proto  # noqa: PLC0415

        wanted = requests.parse_hash(request.id, "id")
        trace = await tracing.transaction_trace(self._backend, self._answers, wanted)
        return await self._answers.run(
            lambda: pb_traces.TraceTransactionResponse(
                trace=trace_to_proto(trace), text=f"{trace}"
            )
        )

    @override
    async def TraceTimer(
        self,
        request: pb_traces.TraceTimerRequest,
        context: Context[pb_traces.TraceTimerRequest, pb_traces.TraceTimerResponse],
    ) -> pb_traces.TraceTimerResponse:
        """What a timer's fire did, and its agent before it."""
        from node.rpc import tracing  # noqa: PLC0415 - it compiles: if asked
        from node.rpc.traces import trace_to_proto  # noqa: PLC0415

        wanted = requests.parse_timer_id(request.timer_id, "timer_id")
        height = request.height if request.HasField("height") else None
        found = await tracing.timer_traces(self._backend, self._answers, wanted, height)
        return await self._answers.run(
            lambda: pb_traces.TraceTimerResponse(
                executions=map(trace_to_proto, found), text="\n".join(map(str, found))
            )
        )

    @override
    async def TraceBlock(
        self,
        request: pb_traces.TraceBlockRequest,
        context: Context[pb_traces.TraceBlockRequest, pb_traces.TraceBlockResponse],
    ) -> pb_traces.TraceBlockResponse:
        """What all executions of a block did, and what it changed."""
        from node.rpc import tracing  # noqa: PLC0415 - it compiles: if asked
        from node.rpc.traces import changes_to_proto, trace_to_proto  # noqa: PLC0415

        height = self._backend.state.head.height
        if request.HasField("height"):
            height = Height(request.height)
        trace = await tracing.block_trace(self._backend, self._answers, height)
        return await self._answers.run(
            lambda: pb_traces.TraceBlockResponse(
                executions=map(trace_to_proto, trace.executions),
                changes=changes_to_proto(trace.changes),
                text="\n".join(map(str, trace.executions)),
            )
        )

    @override
    async def StreamCosts(
        self,
        request: pb_costs.StreamCostsRequest,
        context: Context[pb_costs.StreamCostsRequest, pb_costs.StreamCostsResponse],
    ) -> AsyncGenerator[pb_costs.StreamCostsResponse, None]:
        """What lines and call stacks cost in a range of heights."""
        if not self._is_dev:
            raise InvalidRequest("costs", "are told on a development chain alone")
        if self._costs is None:
            # It compiles: it is imported if somebody asks.
            from node.rpc.costing import CostStreams  # noqa: PLC0415

            self._costs = CostStreams(self._backend, self._answers)
        async with aclosing(self._costs.stream(request)) as responses:
            async for response in responses:
                yield response

    # --- blocks and transactions ---------------------------------------------------

    @override
    async def GetBlock(
        self,
        request: pb.GetBlockRequest,
        context: Context[pb.GetBlockRequest, pb.GetBlockResponse],
    ) -> pb.GetBlockResponse:
        """A block, with as much of its content as is asked for."""
        state, detail = self._backend.state, request.view
        match request.WhichOneof("block"):
            case "height":
                height = request.height
            case "hash":
                block_hash = requests.parse_hash(request.hash, "hash")
                height = query.height_of(state, block_hash)
            case _:
                height = state.head.height
        if request.profile:
            return await self._profiled(state, height, detail)
        weight = query.content_bytes(state.snapshot, height)

        def show() -> pb.GetBlockResponse:
            view = query.block_at(state, height)
            printed = self._backend.outputs_of(view.block_hash)
            return pb.GetBlockResponse(
                block=convert.block_to_proto(view, detail, printed)
            )

        def encode() -> bytes:
            view = query.block_at(state, height)
            printed = self._backend.outputs_of(view.block_hash)
            parts = convert.encode_block(view, detail, printed)
            return delimited(pb.GetBlockResponse.BLOCK_FIELD_NUMBER, parts)

        make = show if weight <= SMALL_BYTES else encode
        return await self._answers.one(context, weight, pb.GetBlockResponse, make)

    async def _profiled(
        self, state: State, height: int, detail: "types_pb2.BlockView.ValueType"
    ) -> pb.GetBlockResponse:
        """A block that may be executed again, which is none with much content."""
        # Both compile: they are imported if somebody asks.
        from node.rpc.profiles import profile_to_proto  # noqa: PLC0415
        from node.rpc.profiling import block_profile  # noqa: PLC0415

        view = await self._answers.run(lambda: query.block_at(state, height))
        profile = await block_profile(self._backend, view, is_dev=self._is_dev)
        return await self._answers.run(
            lambda: pb.GetBlockResponse(
                block=convert.block_to_proto(view, detail),
                profile=profile_to_proto(profile),
            )
        )

    @override
    async def ListBlocks(
        self,
        request: pb.ListBlocksRequest,
        context: Context[pb.ListBlocksRequest, pb.ListBlocksResponse],
    ) -> pb.ListBlocksResponse:
        """Blocks in either direction, by pages."""
        if request.view == types_pb2.BLOCK_VIEW_FULL:
            raise InvalidRequest("view", "is not FULL in a list: use GetBlock")
        count = requests.parse_count(
            request.page_size, "page_size", BLOCKS_DEFAULT, BLOCKS_MAX
        )
        state = self._backend.state
        start = state.head.height if request.descending else Height(0)
        if request.HasField("from_height"):
            start = Height(request.from_height)
        pager = Pager("blocks", start, request.descending)
        if request.descending and not request.HasField("from_height"):
            pager = Pager("blocks", None, request.descending)
        key = pager.start_of(request.page_token, keys.HEIGHT_BYTES)
        if key:
            start = Height(int.from_bytes(key, "big"))
        is_header_wanted_only = request.view == types_pb2.BLOCK_VIEW_HEADER

        def show() -> pb.ListBlocksResponse:
            views, following = query.blocks_page(
                state,
                start,
                count,
                is_descending=request.descending,
                is_header_wanted_only=is_header_wanted_only,
            )
            next_key = None if following is None else keys.height8(following)
            return pb.ListBlocksResponse(
                blocks=[convert.block_to_proto(view, request.view) for view in views],
                next_page_token=pager.token(next_key),
            )

        if is_header_wanted_only:
            return show()
        return await self._answers.run(show)

    @override
    async def GetLaneUse(
        self,
        request: pb.GetLaneUseRequest,
        context: Context[pb.GetLaneUseRequest, pb.GetLaneUseResponse],
    ) -> pb.GetLaneUseResponse:
        """What blocks used and paid over a range of heights."""
        state = self._backend.state
        wanted = requests.parse_heights(request, (0, state.head.height))
        count = requests.parse_buckets(request.buckets)
        return await self._answers.run(
            lambda: heights.lane_use_to_proto(
                query.lane_use(state, query.past_of(state), wanted, count), state.head
            )
        )

    @override
    async def GetTransaction(
        self,
        request: pb.GetTransactionRequest,
        context: Context[pb.GetTransactionRequest, pb.GetTransactionResponse],
    ) -> pb.GetTransactionResponse:
        """What became of a transaction."""
        transaction_id = requests.parse_hash(request.id, "id")
        state = self._backend.state
        height = query.committed_height(state, transaction_id)
        if height is not None:

            def show() -> pb.GetTransactionResponse:
                committed = query.find_transaction(state, transaction_id)
                assert committed is not None, "it has a height"
                printed = self._backend.outputs_of(committed.block_hash)
                return pb.GetTransactionResponse(
                    committed=convert.committed_to_proto(committed, printed)
                )

            # Its receipt is read with all others of its block.
            if query.content_bytes(state.snapshot, height) <= SMALL_BYTES:
                return show()
            return await self._answers.run(show)
        known = self._backend.look_up(transaction_id)
        if known is None:
            raise UnknownTransaction(
                f"transaction 0x{transaction_id.hex()} is not known"
            )
        if isinstance(known, Pending):
            pending = convert.transaction_to_proto(known.transaction)
            return pb.GetTransactionResponse(pending=pending)
        if isinstance(known, DroppedTransaction):
            return pb.GetTransactionResponse(dropped=convert.dropped_to_proto(known))
        return pb.GetTransactionResponse(reverted=known.transaction_id)

    # --- proofs --------------------------------------------------------------------

    @override
    async def GetProof(
        self,
        request: pb.GetProofRequest,
        context: Context[pb.GetProofRequest, pb.GetProofResponse],
    ) -> pb.GetProofResponse:
        """What a root of a header says of one key, or of a range of due heights."""
        height, prove = at_height(request), requests.proof_from_proto(request)
        # Receipts have no stored tree, and records of a range may be many: not here.
        return convert.proof_to_proto(await self._backend.run_read(prove, height))


def _count_supply(state: State) -> tuple[State, Supply]:
    return state, query.count_supply(state)


def _inspect(state: State, address: Address) -> tuple[ActorView, tuple[str, ...]]:
    """An actor and its handlers: compiling is the worker's business."""
    view = query.actor(state, address)
    code = state.caches.code.get(view.account.code_hash, view.source)
    return view, code.handlers


def _supply_to_proto(supply: Supply) -> pb.Supply:
    globals_ = supply.globals
    return pb.Supply(
        minted=str(globals_.minted),
        balances=str(supply.balances),
        burned=str(globals_.burned),
        held=str(supply.held),
        burned_cycle=str(globals_.burned_cycle),
        burned_cell=str(globals_.burned_cell),
        burned_lane=str(globals_.burned_lane),
    )


def _entry_to_proto(key: bytes, value: bytes) -> pb.StorageEntry:
    return pb.StorageEntry(key=key, value=value, name=convert.storage_name(key))


def _read_to_proto(state: State, result: ReadOnlyResult) -> pb.CallReadOnlyResponse:
    return pb.CallReadOnlyResponse(
        status=convert.status_to_proto(result.failure),
        value=result.value,
        error=convert.failure_to_proto(result.failure),
        cycles_used=result.cycles_used,
        cells_used=result.cells_used,
        head=convert.ref_to_proto(state.head.height, state.head.hash()),
        output=convert.printout_to_proto(result.output),
    )
