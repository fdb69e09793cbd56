"""TimerService: timers, live ones and how others ended."""

from typing_extensions import override

from node import query
from node.primitives.types import Height
from node.query import EndedTimer, TimerFilter, require_head
from node.rpc import convert, requests
from node.rpc.queries import ENTRIES_DEFAULT, ENTRIES_MAX
from node.rpc.service import Context, Pager, at_height, tells
from node.rpc.v1 import timers_pb2 as pb
from node.rpc.v1.timers_pb2_grpc import TimerServiceServicer
from node.runtime.types import Backend
from node.state import keys

__all__ = ["Timers"]

_HEIGHT_MAX = 2**64 - 1
_INDEX_BYTES = 4


class Timers(TimerServiceServicer):
    """Serves `TimerService` from a backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @override
    @tells
    async def GetTimer(
        self,
        request: pb.GetTimerRequest,
        context: Context[pb.GetTimerRequest, pb.GetTimerResponse],
    ) -> pb.GetTimerResponse:
        """Pending, or how it ended and where."""
        state = self._backend.state
        require_head(state, at_height(request))
        timer_id = requests.read_timer_id(request.timer_id, "timer_id")
        view = query.timer(state, timer_id)
        response = pb.GetTimerResponse(timer=convert.show_timer(view))
        if isinstance(view, EndedTimer) and view.receipt is not None:
            receipt = convert.show_receipt(view.receipt, view.height)
            response.receipt.CopyFrom(receipt)
        return response

    @override
    @tells
    async def ListTimers(
        self,
        request: pb.ListTimersRequest,
        context: Context[pb.ListTimersRequest, pb.ListTimersResponse],
    ) -> pb.ListTimersResponse:
        """Timers that pass the filters, by pages."""
        state = self._backend.state
        require_head(state, at_height(request))
        wanted = _read_filter(request)
        count = requests.read_count(
            request.page_size, "page_size", ENTRIES_DEFAULT, ENTRIES_MAX
        )
        end = requests.read_end(request.status, "status")
        pager = Pager(
            "timers",
            wanted.actor,
            wanted.fee_payer,
            wanted.first_height,
            wanted.last_height,
            None if end is None else end.value,
        )
        if end is None:
            width = keys.HEIGHT_BYTES + keys.SEQUENCE_BYTES
            start = pager.start_of(request.page_token, width)
            live = query.live_timers_page(state, wanted, start, count)
            return pb.ListTimersResponse(
                timers=map(convert.show_timer, live.items),
                next_page_token=pager.token(live.next_key),
            )
        width = keys.HEIGHT_BYTES + _INDEX_BYTES
        start = pager.start_of(request.page_token, width)
        ended = query.ended_timers_page(state, wanted, end, start, count)
        return pb.ListTimersResponse(
            timers=map(convert.show_timer, ended.items),
            next_page_token=pager.token(ended.next_key),
        )


def _read_filter(request: pb.ListTimersRequest) -> TimerFilter:
    actor, payer = request.actor, request.fee_payer
    first, last = 0, _HEIGHT_MAX
    if request.HasField("from_height"):
        first = request.from_height
    if request.HasField("to_height"):
        last = request.to_height
    return TimerFilter(
        requests.read_address(actor, "actor") if actor else None,
        requests.read_address(payer, "fee_payer") if payer else None,
        Height(first),
        Height(last),
    )
