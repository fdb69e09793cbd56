"""`block --lane`: who was considered for a block's timer lane, and who got it."""

from collections.abc import Iterator, Sequence

from node.cli.charts import Bar, Row, print_chart, short
from node.cli.connection import Connection
from node.cli.output import Output, hexadecimal
from node.query.explain.numbers import counted, ppm_text
from node.rpc.v1 import timers_pb2
from node.rpc.v1.timers_pb2_grpc import TimerServiceStub

__all__ = ["show_lane", "tell_lane"]

_PAGE_ENTRIES = 1_000
_FIRED = "fired"
_PUT_OFF = "put_off"
_LANE = "lane"


def tell_lane(connection: Connection, height: int) -> None:
    """Every due timer of a block in the order considered, with what decided it."""
    request = timers_pb2.ExplainBlockRequest(height=height, page_size=_PAGE_ENTRIES)
    service = TimerServiceStub(connection.channel)
    pages = list(connection.pages(service.ExplainBlock, request))
    if connection.output.is_json:
        for page in pages:
            connection.output.message(page)
    else:
        show_lane(connection.output, height, pages)


def show_lane(
    output: Output, height: int, pages: Sequence[timers_pb2.ExplainBlockResponse]
) -> None:
    """A row for each due timer, and a line where the lane was full."""
    due = [timer for page in pages for timer in page.timers if timer.is_due]
    if not due:
        output.line(f"no timer was due in block {height:,}")
        return
    numbers = [timer.decision.numbers for timer in due]
    if any("effective_priority" in each for each in numbers):
        columns, rows = _by_priority(output, due)
    elif any("effective_tip" in each for each in numbers):
        columns, rows = _by_tip(output, due)
    else:
        columns, rows = _by_order(output, due)
    lane = next((each["lane"] for each in numbers if "lane" in each), "0")
    fires = sum(timer.decision.decision == _FIRED for timer in due)
    title = (
        f"block {height:,}: {counted(len(due), 'due timer')} in the order considered, "
        f"{fires:,} fired; the lane has {int(lane):,} cycles"
    )
    print_chart(output, title, columns, list(_with_cut(due, rows)), names=_NAMED)


def _with_cut(
    due: Sequence[timers_pb2.BlockTimer], rows: Sequence[Row]
) -> Iterator[Row]:
    """The rows, and a line before the first one for which the lane had no room."""
    is_cut = False
    for timer, row in zip(due, rows, strict=True):
        decision = timer.decision
        if not is_cut and (decision.decision, decision.reason) == (_PUT_OFF, _LANE):
            is_cut = True
            taken = _number(timer, "reserved") or _number(timer, "used") or 0
            yield f"no room in the lane: {taken:,} cycles were taken before"
        yield row


_Chart = tuple[Sequence[str], Sequence[Row]]


def _by_priority(output: Output, due: Sequence[timers_pb2.BlockTimer]) -> _Chart:
    """Under `auction`: priority times weight, of which the greatest fills the bar."""
    columns = ("rank", *_NAMES, "priority", "weight", "effective", "")
    effective = [_number(timer, "effective_priority") for timer in due]
    most = max((number or 0 for number in effective), default=0) or 1
    rows = [
        (
            *_named(output, timer),
            _text(timer, "priority"),
            _ppm(timer, "weight_ppm"),
            _ppm(timer, "effective_priority"),
            Bar((((number or 0) / most, _style(timer)),)),
        )
        for timer, number in zip(due, effective, strict=True)
    ]
    return columns, rows


def _by_tip(output: Output, due: Sequence[timers_pb2.BlockTimer]) -> _Chart:
    """Under `bidding`: effective tips; equal ones go by weight times wait."""
    columns = ("rank", *_NAMES, "tip", "weight", "waited", "")
    tips = [_number(timer, "effective_tip") for timer in due]
    most = max((number or 0 for number in tips), default=0) or 1
    rows = [
        (
            *_named(output, timer),
            _text(timer, "effective_tip"),
            _ppm(timer, "weight_ppm"),
            _text(timer, "waited"),
            Bar((((number or 0) / most, _style(timer)),)),
        )
        for timer, number in zip(due, tips, strict=True)
    ]
    return columns, rows


def _by_order(output: Output, due: Sequence[timers_pb2.BlockTimer]) -> _Chart:
    """Where nobody bids: the part of the lane that each one stands for."""
    columns = ("due", *_NAMES, "limit", "")
    rows = []
    for timer in due:
        lane = _number(timer, "lane") or 1
        before, limit = _number(timer, "reserved") or 0, _number(timer, "limit") or 0
        parts = ((before / lane, ""), (limit / lane, _style(timer)))
        row = (
            f"{timer.due_height:,}",
            *_named(output, timer)[1:],
            _text(timer, "limit"),
        )
        rows.append((*row, Bar(parts)))
    return columns, rows


_NAMES = ("timer", "actor", "decision")
_NAMED = 1 + len(_NAMES)
"""Columns with the rank or the due height, and the names."""


def _named(output: Output, timer: timers_pb2.BlockTimer) -> tuple[str, str, str, str]:
    decision = timer.decision
    reason = f" ({decision.reason})" if decision.reason else ""
    words = decision.decision.replace("_", " ") + reason
    actor = hexadecimal(timer.actor)
    named = output.labels.replaced(actor)
    actor = short(timer.actor) if named == actor else named
    return _text(timer, "rank"), short(timer.timer_id), actor, words


def _number(timer: timers_pb2.BlockTimer, name: str) -> int | None:
    number = timer.decision.numbers.get(name)
    return None if number is None else int(number)


def _text(timer: timers_pb2.BlockTimer, name: str) -> str:
    number = _number(timer, name)
    return "" if number is None else f"{number:,}"


def _ppm(timer: timers_pb2.BlockTimer, name: str) -> str:
    number = _number(timer, name)
    return "" if number is None else ppm_text(number)


def _style(timer: timers_pb2.BlockTimer) -> str:
    return "green" if timer.decision.decision == _FIRED else "red"
