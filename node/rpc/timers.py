"""TimerService: timers, live ones and how others ended, why, and at what price."""

from typing_extensions import override

from node import query
from node.history import load_header
from node.primitives.types import Amount, Height
from node.query import (
    EndedTimer,
    InvalidQuote,
    LiveTimer,
    Page,
    QuoteRequest,
    TimerCriteria,
)
from node.rpc import convert, explanations, heights, requests
from node.rpc.answers import Answers
from node.rpc.queries import ENTRIES_DEFAULT, ENTRIES_MAX
from node.rpc.requests import InvalidRequest
from node.rpc.service import Context, Pager, at_height, state_at
from node.rpc.v1 import timers_pb2 as pb
from node.rpc.v1.timers_pb2_grpc import TimerServiceServicer
from node.runtime.types import Backend
from node.state import keys
from pvm.output import NO_PRINTOUT

__all__ = ["Timers"]

_HEIGHT_MAX = 2**64 - 1
_INDEX_BYTES = 4


class Timers(TimerServiceServicer):
    """Serves `TimerService` from a backend."""

    def __init__(self, backend: Backend, answers: Answers | None = None) -> None:
        self._backend = backend
        self._answers = answers or Answers()

    @override
    async def GetTimer(
        self,
        request: pb.GetTimerRequest,
        context: Context[pb.GetTimerRequest, pb.GetTimerResponse],
    ) -> pb.GetTimerResponse:
        """Pending, or how it ended and where."""
        timer_id = requests.parse_timer_id(request.timer_id, "timer_id")
        view = await self._backend.run_read(
            lambda state: query.timer(state, timer_id), at_height(request)
        )
        response = pb.GetTimerResponse(timer=convert.timer_to_proto(view))
        if isinstance(view, EndedTimer) and view.receipt is not None:
            header = load_header(self._backend.state.snapshot, view.height)
            printed = {} if header is None else self._backend.outputs_of(header.hash())
            output = printed.get(view.receipt.index, NO_PRINTOUT)
            receipt = convert.receipt_to_proto(view.receipt, view.height, output=output)
            response.receipt.CopyFrom(receipt)
        return response

    @override
    async def ListTimers(
        self,
        request: pb.ListTimersRequest,
        context: Context[pb.ListTimersRequest, pb.ListTimersResponse],
    ) -> pb.ListTimersResponse:
        """Timers that pass the filters, by pages."""
        state = await state_at(self._backend, at_height(request))
        wanted = _filter_from_proto(request)
        count = requests.parse_count(
            request.page_size, "page_size", ENTRIES_DEFAULT, ENTRIES_MAX
        )
        end = requests.parse_end(request.status, "status")
        pager = Pager(
            "timers",
            wanted.actor,
            wanted.fee_payer,
            wanted.first_height,
            wanted.last_height,
            None if end is None else end.value,
            None if wanted.kind is None else wanted.kind.value,
            wanted.watched,
        )
        if end is None:
            widths = keys.HEIGHT_BYTES + keys.SEQUENCE_BYTES, keys.FIRE_ORDER_BYTES
            start = pager.start_of(request.page_token, *widths)
            live = await self._backend.run_read(
                lambda state: query.live_timers_page(state, wanted, start, count),
                at_height(request),
            )
            return await self._show_page(live, pager)
        if wanted.kind is not None or wanted.watched is not None:
            field = "watched" if wanted.kind is None else "kind"
            raise InvalidRequest(field, "is a filter of pending timers alone")
        width = keys.HEIGHT_BYTES + _INDEX_BYTES
        start = pager.start_of(request.page_token, width)
        ended = await self._answers.run(
            lambda: query.ended_timers_page(state, wanted, end, start, count)
        )
        return await self._show_page(ended, pager)

    async def _show_page(
        self, page: Page[LiveTimer] | Page[EndedTimer], pager: Pager
    ) -> pb.ListTimersResponse:
        def show() -> pb.ListTimersResponse:
            return pb.ListTimersResponse(
                timers=map(convert.timer_to_proto, page.items),
                next_page_token=pager.token(page.next_key),
            )

        if len(page.items) <= ENTRIES_DEFAULT:
            return show()
        return await self._answers.run(show)

    @override
    async def ListQueue(
        self,
        request: pb.ListQueueRequest,
        context: Context[pb.ListQueueRequest, pb.ListQueueResponse],
    ) -> pb.ListQueueResponse:
        """Fires that are queued in the Globalbox, by pages."""
        target = None
        if request.target:
            target = requests.parse_address(request.target, "target")
        count = requests.parse_count(
            request.page_size, "page_size", ENTRIES_DEFAULT, ENTRIES_MAX
        )
        pager = Pager("queue", target)
        start = pager.start_of(request.page_token, keys.FIRE_ORDER_BYTES)
        page = await self._backend.run_read(
            lambda state: query.queue_page(state, target, start, count),
            at_height(request),
        )
        return await self._answers.run(
            lambda: pb.ListQueueResponse(
                timers=map(convert.queued_to_proto, page.items),
                next_page_token=pager.token(page.next_key),
            )
        )

    @override
    async def ExplainTimer(
        self,
        request: pb.ExplainTimerRequest,
        context: Context[pb.ExplainTimerRequest, pb.ExplainTimerResponse],
    ) -> pb.ExplainTimerResponse:
        """What was decided about a timer, and what awaits it."""
        timer_id = requests.parse_timer_id(request.timer_id, "timer_id")
        to = request.put_offs_to if request.HasField("put_offs_to") else None
        return await self._backend.run_read(
            lambda state: explanations.explanation_to_proto(
                state, query.explain_timer(state, timer_id, to)
            )
        )

    @override
    async def ExplainBlock(
        self,
        request: pb.ExplainBlockRequest,
        context: Context[pb.ExplainBlockRequest, pb.ExplainBlockResponse],
    ) -> pb.ExplainBlockResponse:
        """What a block decided about timers, by pages."""
        height = request.height
        count = requests.parse_count(
            request.page_size, "page_size", ENTRIES_DEFAULT, ENTRIES_MAX
        )
        pager = Pager("block_timers", height)
        start = int.from_bytes(pager.start_of(request.page_token, _INDEX_BYTES), "big")
        told = await self._backend.run_read(
            lambda state: query.explain_block(state, height)
        )
        response = await self._answers.run(
            lambda: explanations.block_explanation_to_proto(told, start, count)
        )
        if start + count < len(told.decisions):
            following = (start + count).to_bytes(_INDEX_BYTES, "big")
            response.next_page_token = pager.token(following)
        return response

    @override
    async def CountDueTimers(
        self,
        request: pb.CountDueTimersRequest,
        context: Context[pb.CountDueTimersRequest, pb.CountDueTimersResponse],
    ) -> pb.CountDueTimersResponse:
        """How many timers are due over a range of heights, and what came of others."""
        state = self._backend.state
        wanted = requests.parse_heights(request, query.upcoming(state))
        count = requests.parse_buckets(request.buckets)
        return await self._answers.run(
            lambda: heights.due_timers_to_proto(
                query.count_due(state, query.past_of(state), wanted, count), state.head
            )
        )

    @override
    async def QuoteTimer(
        self,
        request: pb.QuoteTimerRequest,
        context: Context[pb.QuoteTimerRequest, pb.QuoteTimerResponse],
    ) -> pb.QuoteTimerResponse:
        """What a timer would cost."""
        wanted = _wanted_from_proto(request)
        try:
            return await self._backend.run_read(
                lambda state: explanations.quote_to_proto(
                    state, query.quote_timer(state, wanted)
                )
            )
        except InvalidQuote as error:
            raise InvalidRequest(error.field, error.message) from None


def _wanted_from_proto(request: pb.QuoteTimerRequest) -> QuoteRequest:
    actor = requests.parse_address(request.actor, "actor")
    payer = request.fee_payer
    return QuoteRequest(
        actor,
        requests.parse_address(payer, "fee_payer") if payer else actor,
        request.height if request.HasField("height") else None,
        request.gas_limit if request.HasField("gas_limit") else None,
        request.expires_at if request.HasField("expires_at") else None,
        request.payload_bytes,
        _fee_from_proto(request.max_fee_per_cycle, "max_fee_per_cycle"),
        _fee_from_proto(
            request.max_priority_fee_per_cycle, "max_priority_fee_per_cycle"
        ),
        _fee_from_proto(request.bid_fp, "bid_fp"),
        request.blocks if request.HasField("blocks") else None,
    )


def _fee_from_proto(text: str, field: str) -> Amount | None:
    return requests.parse_amount(text, field) if text else None


def _filter_from_proto(request: pb.ListTimersRequest) -> TimerCriteria:
    actor, payer, watched = request.actor, request.fee_payer, request.watched
    first, last = 0, _HEIGHT_MAX
    if request.HasField("from_height"):
        first = request.from_height
    if request.HasField("to_height"):
        last = request.to_height
    return TimerCriteria(
        requests.parse_address(actor, "actor") if actor else None,
        requests.parse_address(payer, "fee_payer") if payer else None,
        Height(first),
        Height(last),
        requests.parse_kind(request.kind, "kind"),
        requests.parse_address(watched, "watched") if watched else None,
    )
