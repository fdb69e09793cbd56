"""Ranges of heights as charts: `timers calendar` and `fees`."""

from collections.abc import Callable, Iterable, Sequence

import click

from node.chain.params import U64_MAX
from node.cli import arguments
from node.cli.charts import Bar, Row, print_chart
from node.cli.connection import Connection, client_command
from node.cli.output import Output, amount
from node.query import BUCKETS_MAX
from node.query.explain.numbers import counted
from node.rpc.v1 import queries_pb2, timers_pb2
from node.rpc.v1.queries_pb2_grpc import QueryServiceStub
from node.rpc.v1.timers_pb2_grpc import TimerServiceStub

__all__ = ["all_that_waits", "calendar", "fees", "show_calendar", "show_fees"]

_ROWS = 32
_PARTS = ("green", "red", "cyan")
"""Of a bar of the calendar: fires, what was lost, what is pending."""

rows_option = click.option(
    "--rows",
    "buckets",
    type=click.IntRange(1, BUCKETS_MAX),
    default=_ROWS,
    help="At most so many; each has as many heights as a power of 4.",
)


def _heights_text(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


@click.command("calendar")
@click.option("--from", "from_height", type=arguments.HEIGHT, help="The first height.")
@click.option("--to", "to_height", type=arguments.HEIGHT, help="The last height.")
@rows_option
@client_command
def calendar(
    connection: Connection,
    from_height: int | None,
    to_height: int | None,
    buckets: int,
) -> None:
    """Show how many timers are due when, and what became of those that were.

    Without --from it begins at the head, and without --to it ends with the last timer
    that waits. Lost are timers that expired, were removed or cancelled.
    """
    service = TimerServiceStub(connection.channel)

    def ask(first: int | None, last: int | None) -> timers_pb2.CountDueTimersResponse:
        request = timers_pb2.CountDueTimersRequest(
            from_height=first, to_height=last, buckets=buckets
        )
        return service.CountDueTimers(request, timeout=connection.timeout)

    if to_height is None:
        answer = all_that_waits(ask, from_height)
    else:
        answer = ask(from_height, to_height)
    if connection.output.is_json:
        connection.output.message(answer)
        return
    show_calendar(connection.output, answer)


def all_that_waits(
    ask: Callable[[int | None, int | None], timers_pb2.CountDueTimersResponse],
    first: int | None,
) -> timers_pb2.CountDueTimersResponse:
    """Counts up to the last timer that waits; if none does, to the epoch queue's end.

    `ask` counts from a height, or from the head, up to another one. The fewer heights,
    the fewer of them share a row. That of the head stays what it was at the first time.
    """
    answer = ask(first, None)
    first = answer.head.height if first is None else first
    if answer.pending > sum(bucket.pending for bucket in answer.buckets):
        answer = ask(first, U64_MAX)
    while ends := [bucket.to_height for bucket in answer.buckets if bucket.pending]:
        if ends[-1] >= answer.buckets[-1].to_height:
            break
        answer = ask(first, ends[-1])
    return answer


def show_calendar(output: Output, answer: timers_pb2.CountDueTimersResponse) -> None:
    """A row for each bucket: what fired, what was lost, what waits."""
    title = f"head {answer.head.height:,}: {counted(answer.pending, 'timer')} pending"
    if answer.queued:
        title += f", {counted(answer.queued, 'fire')} queued in the Globalbox"
    if not any(bucket.put_offs or _weight(bucket) for bucket in answer.buckets):
        first, last = answer.buckets[0].from_height, answer.buckets[-1].to_height
        output.line(title)
        output.line(f"no timer is or was due at heights {_heights_text(first, last)}")
        return
    columns = ("due", "pending", "fires", "put off", "lost", "")
    print_chart(output, title, columns, list(_calendar_rows(answer)))


def _calendar_rows(answer: timers_pb2.CountDueTimersResponse) -> Iterable[Row]:
    most = max(map(_weight, answer.buckets), default=0) or 1
    tier = ""
    for bucket in answer.buckets:
        if _tier(answer, bucket.from_height) != tier:
            tier = _tier(answer, bucket.from_height)
            yield tier
        lost = _lost(bucket)
        numbers = bucket.pending, bucket.fires, bucket.put_offs, lost
        parts = zip((bucket.fires, lost, bucket.pending), _PARTS, strict=True)
        bar = Bar(tuple((count / most, style) for count, style in parts))
        heights = _heights_text(bucket.from_height, bucket.to_height)
        yield (heights, *[f"{number:,}" if number else "" for number in numbers], bar)


def _lost(bucket: timers_pb2.DueTimersBucket) -> int:
    return bucket.expired + bucket.removed + bucket.cancelled


def _weight(bucket: timers_pb2.DueTimersBucket) -> int:
    return bucket.pending + bucket.fires + _lost(bucket)


def _tier(answer: timers_pb2.CountDueTimersResponse, height: int) -> str:
    """Where a bucket begins: the past, or a tier of the calendar (D24)."""
    if height <= answer.head.height:
        return "the past, to the head"
    if height <= answer.ring_to:
        return f"ring, to height {answer.ring_to:,}"
    if height <= answer.epochs_to:
        return f"epoch queue, to height {answer.epochs_to:,}"
    return "overflow"


@click.command()
@click.option(
    "--blocks",
    type=click.IntRange(1, U64_MAX),
    default=256,
    help="So many heights up to the head.",
)
@rows_option
@client_command
def fees(connection: Connection, blocks: int, buckets: int) -> None:
    """Show the basefees of the last heights, and how full the lanes were.

    Basefees are base units for one cycle or cell, at the last height of a row; the bar
    is the greatest basefee of cycles. Lanes are shown as the part of their limits that
    blocks used on average, runs of empty heights among them.
    """
    service = QueryServiceStub(connection.channel)
    status = service.GetStatus(
        queries_pb2.GetStatusRequest(), timeout=connection.timeout
    )
    first = max(0, status.head.height - blocks + 1)
    answer = service.GetLaneUse(
        queries_pb2.GetLaneUseRequest(from_height=first, buckets=buckets),
        timeout=connection.timeout,
    )
    if connection.output.is_json:
        connection.output.message(answer)
        return
    show_fees(connection.output, answer, status)


def show_fees(
    output: Output,
    answer: queries_pb2.GetLaneUseResponse,
    status: queries_pb2.GetStatusResponse,
) -> None:
    """A row for each bucket in which headers stand; the basefees of what comes next."""
    told = [bucket for bucket in answer.buckets if bucket.headers]
    is_auction = any(int(bucket.basefee_lane.greatest) for bucket in told)
    title = (
        f"head {answer.head.height:,}; basefees of the next block: "
        f"{int(status.next_basefee_cycle):,} a cycle, "
        f"{int(status.next_basefee_cell):,} a cell"
    )
    if is_auction:
        title += f", {int(status.next_basefee_lane):,} a cycle of the timer lane"
    columns = ["heights", "cycle", "cell", *(["lane"] if is_auction else [])]
    columns += ["calls", "timers", "messages", "cells", "burned", "tipped", ""]
    limits = answer.limits.block
    greatest = max((int(one.basefee_cycle.greatest) for one in told), default=0) or 1
    rows = [_fee_row(one, limits, greatest, is_auction=is_auction) for one in told]
    print_chart(output, title, columns, rows)


def _fee_row(
    bucket: queries_pb2.LaneUseBucket,
    limits: queries_pb2.LaneAmounts,
    greatest: int,
    *,
    is_auction: bool,
) -> Sequence[str | Bar]:
    cycle, used = bucket.basefee_cycle, bucket.used
    basefees = [cycle, bucket.basefee_cell]
    basefees += [bucket.basefee_lane] if is_auction else []
    shares = (
        (used.transaction_cycles, limits.transaction_cycles),
        (used.timer_cycles, limits.timer_cycles),
        (used.message_cycles, limits.message_cycles),
        (used.cells, limits.cells),
    )
    bar = Bar(((int(cycle.greatest) / greatest, "yellow"),))
    return (
        _heights_text(bucket.from_height, bucket.to_height),
        *[f"{int(fee.last):,}" for fee in basefees],
        *[_percent(part, whole * bucket.heights) for part, whole in shares],
        _cby_text(bucket.burned),
        _cby_text(bucket.tipped),
        bar,
    )


def _cby_text(base_units: str) -> str:
    return amount(base_units).partition(" (")[0] if int(base_units) else ""


def _percent(part: int, whole: int) -> str:
    """Of a limit; what is less than a tenth of a percent is told as such."""
    if not part:
        return ""
    permille = part * 1_000 // whole
    return "<0.1 %" if not permille else f"{permille / 10:.1f} %"
