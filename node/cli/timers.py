"""`cowboy-devnet timers`: those that wait, how others ended, and what changes."""

from collections.abc import Iterable, Iterator

import click
from typing_extensions import override

from node.chain.params import U64_MAX
from node.chain.timers.globalbox.fires import BID_FRACTION_BITS, decode_fire
from node.chain.timers.timer import Timer, decode_timer
from node.cli import Group, arguments
from node.cli.connection import Connection, client_command
from node.cli.formatting import receipt_fields
from node.cli.heights import calendar
from node.cli.output import amount, bytes_text, hexadecimal
from node.cli.proofs import Prover, prove_option
from node.cli.traces import tell_timer, trace_option
from node.client.proofs import DueProof, QueueProof, TimerProof
from node.query.explain.numbers import counted, ppm_text
from node.rpc.convert import record_to_proto
from node.rpc.v1 import streams_pb2, transactions_pb2, types_pb2
from node.rpc.v1 import timers_pb2 as messages
from node.rpc.v1.streams_pb2_grpc import StreamServiceStub
from node.rpc.v1.timers_pb2_grpc import TimerServiceStub
from node.rpc.v1.transactions_pb2_grpc import TransactionServiceStub
from node.state import keys

__all__ = ["change_row", "timers", "watched_text"]

_PAGE_TIMERS = 1_000
_HELP = ("-h", "--help")
_STATUSES = {
    messages.TimerStatus.Name(number)
    .removeprefix("TIMER_STATUS_")
    .lower()
    .replace("_", "-"): number
    for number in messages.TimerStatus.values()
    if number != messages.TIMER_STATUS_UNSPECIFIED
}
_COLUMNS = ("due", "status", "actor", "paid by", "handler", "gas limit", "id")
_QUEUE_COLUMNS = ("rank", "score", "bid", "since", "calls", "actor", "id")
_WATCH_COLUMNS = ("state", "fires", "watches", "calls", "actor", "expires after", "id")
_AUCTION_COLUMNS = ("rank", "effective priority")
_NAMES = {number: name for name, number in _STATUSES.items()}


class _ListByDefault(Group):
    """`timers` alone is `timers list`."""

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # a shell completes what is typed
            return super().parse_args(ctx, args)
        is_named = bool(args) and (args[0][:1] != "-" or args[0] in _HELP)
        return super().parse_args(ctx, args if is_named else ["list", *args])


@click.group(cls=_ListByDefault)
def timers() -> None:
    """Show timers that wait, and how others ended."""


timers.add_command(calendar)


@timers.command("list")
@click.option("--actor", type=arguments.address, help="Only those of this actor.")
@click.option(
    "--payer", type=arguments.address, help="Only those that this account pays."
)
@click.option("--status", type=click.Choice(list(_STATUSES)), default="pending")
@click.option("--first", "from_height", type=arguments.HEIGHT, help="Height.")
@click.option("--last", "to_height", type=arguments.HEIGHT, help="Height.")
@arguments.at_option
@prove_option
@client_command
def list_timers(
    connection: Connection,
    /,
    actor: bytes | None,
    payer: bytes | None,
    status: str,
    is_proven: bool,  # noqa: FBT001 - a flag
    **heights: int | None,
) -> None:
    """List timers in the order in which they are due.

    With --prove it is proven, too, that no other timer is due from --first to --last.
    """
    request = messages.ListTimersRequest(
        actor=actor or b"",
        fee_payer=payer or b"",
        status=_STATUSES[status],
        from_height=heights["from_height"],
        to_height=heights["to_height"],
        at_height=heights["at_height"],
        page_size=_PAGE_TIMERS,
    )
    if is_proven:
        _list_proven(connection, request)
        return
    found = _pages(connection, request)
    if connection.output.is_json:
        for timer in found:
            connection.output.message(timer)
        return
    _show_list(connection, list(found))


def _show_list(connection: Connection, found: list[messages.Timer]) -> None:
    """A row each; under `auction` and `bidding` with the place in the lane."""
    rows = [_row(timer) for timer in found]
    if not any(timer.HasField("standing") for timer in found):
        connection.output.table("", _COLUMNS, rows)
        return
    columns = (*_COLUMNS[:2], *_AUCTION_COLUMNS, *_COLUMNS[2:])
    placed = [
        (*row[:2], *_standing_cells(timer), *row[2:])
        for row, timer in zip(rows, found, strict=True)
    ]
    connection.output.table("", columns, placed)


def _standing_cells(timer: messages.Timer) -> tuple[str, str]:
    if not timer.HasField("standing"):
        return "", ""
    standing = timer.standing
    rank = f"{standing.rank:,} of {standing.contenders:,}"
    if not standing.HasField("rank"):
        rank = f"waits: {standing.waits_for}" if standing.waits_for else ""
    return rank, ppm_text(int(standing.effective_priority))


def _list_proven(connection: Connection, request: messages.ListTimersRequest) -> None:
    if request.status != messages.TIMER_STATUS_PENDING:
        raise click.UsageError(
            "--prove needs --status pending: the state has no others"
        )
    first = request.from_height
    last = request.to_height if request.HasField("to_height") else U64_MAX
    if first > last:
        raise click.UsageError("--last is below --first")
    at_height = request.at_height if request.HasField("at_height") else None
    prover = Prover(connection, at_height)
    proven = prover.prove(DueProof(first, last))
    lying = [
        decode_timer(keys.TIMER_PREFIX + key, record) for key, record in proven.records
    ]
    if not proven.is_globalbox_empty:
        fires = prover.prove(QueueProof()).records
        queued = (decode_fire(order, record) for order, record in fires)
        heights = [one.height_timer() for one in queued if not one.is_of_watch]
        lying += [timer for timer in heights if first <= timer.height <= last]
    if connection.output.is_json:
        return
    found = [record_to_proto(timer) for timer in lying]
    wanted = [
        timer
        for timer in found
        if request.actor in (b"", timer.actor)
        and request.fee_payer in (b"", timer.fee_payer)
    ]
    _show_list(connection, wanted)
    prover.tell(f"these timers, and no other of those asked for, due {first} to {last}")


def _pages(
    connection: Connection, request: messages.ListTimersRequest
) -> Iterator[messages.Timer]:
    service = TimerServiceStub(connection.channel)
    for page in connection.pages(service.ListTimers, request):
        yield from page.timers


def _row(timer: messages.Timer) -> tuple[str, ...]:
    return (
        str(timer.height),
        _NAMES[timer.status],
        hexadecimal(timer.actor),
        hexadecimal(timer.fee_payer),
        timer.record.handler,
        f"{timer.record.gas_limit:,}" if timer.HasField("record") else "",
        hexadecimal(timer.id),
    )


@timers.command("queue")
@click.option("--target", type=arguments.address, help="Only those that call this.")
@arguments.at_option
@prove_option
@client_command
def show_queue(
    connection: Connection,
    target: bytes | None,
    is_proven: bool,  # noqa: FBT001 - a flag
    at_height: int | None,
) -> None:
    """List the fires queued in the Globalbox, in the order in which they will run.

    With --prove it is proven, too, that no other is queued.
    """
    if is_proven:
        _show_queue_proven(connection, target or b"", at_height)
        return
    request = messages.ListQueueRequest(
        target=target or b"", at_height=at_height, page_size=_PAGE_TIMERS
    )
    found = _queue_pages(connection, request)
    if connection.output.is_json:
        for timer in found:
            connection.output.message(timer)
        return
    rows = [_queue_row(timer) for timer in found]
    connection.output.table("", _QUEUE_COLUMNS, rows)


def _queue_pages(
    connection: Connection, request: messages.ListQueueRequest
) -> Iterator[messages.Timer]:
    service = TimerServiceStub(connection.channel)
    for page in connection.pages(service.ListQueue, request):
        yield from page.timers


def _queue_row(timer: messages.Timer) -> tuple[str, ...]:
    place = timer.queued
    is_watch = timer.record.kind == messages.TIMER_KIND_STATE_WATCH
    return (
        f"{place.rank:,}" if place.HasField("rank") else "",
        f"{int(place.score):,}",
        f"{int(place.bid_fp) >> BID_FRACTION_BITS:,}",
        f"{'hit' if is_watch else 'due'} {place.origin}",
        hexadecimal(timer.record.target or timer.actor),
        hexadecimal(timer.actor),
        hexadecimal(timer.id),
    )


def _show_queue_proven(
    connection: Connection, target: bytes, at_height: int | None
) -> None:
    prover = Prover(connection, at_height)
    proven = prover.prove(QueueProof())
    if connection.output.is_json:
        return
    fires = [decode_fire(order, record) for order, record in proven.records]
    rows = [
        (
            f"{rank:,}",
            f"{fire.bid_fp >> BID_FRACTION_BITS:,}",
            f"{'hit' if fire.is_of_watch else 'due'} {fire.origin}",
            hexadecimal(fire.target),
            hexadecimal(fire.timer_id),
        )
        for rank, fire in enumerate(fires, 1)
        if target in (b"", fire.target)
    ]
    columns = ("rank", "bid", "since", "calls", "id")
    connection.output.table("", columns, rows)
    prover.tell(f"{len(fires)} fires are queued in the Globalbox, and no others")


@timers.command("watches")
@click.option("--actor", type=arguments.address, help="Only those of this actor.")
@click.option(
    "--on", "watched", type=arguments.address, help="Only those on this one's state."
)
@arguments.at_option
@client_command
def show_watches(
    connection: Connection,
    actor: bytes | None,
    watched: bytes | None,
    at_height: int | None,
) -> None:
    """List watches: what they watch, what they are doing, how often they fired."""
    request = messages.ListTimersRequest(
        actor=actor or b"",
        kind=messages.TIMER_KIND_STATE_WATCH,
        watched=watched or b"",
        at_height=at_height,
        page_size=_PAGE_TIMERS,
    )
    found = _pages(connection, request)
    if connection.output.is_json:
        for timer in found:
            connection.output.message(timer)
        return
    rows = [_watch_row(timer) for timer in found]
    connection.output.table("", _WATCH_COLUMNS, rows)


def _watch_row(timer: messages.Timer) -> tuple[str, ...]:
    watch = timer.watch
    state = messages.WatchState.Name(watch.state).removeprefix("WATCH_STATE_").lower()
    since = f", hit at {watch.hit_height}" if watch.HasField("hit_height") else ""
    return (
        f"{state}{since}",
        f"{timer.record.fire_seq:,}",
        watched_text(timer.record.watch_keys),
        hexadecimal(timer.record.target or timer.actor),
        hexadecimal(timer.actor),
        str(timer.record.expires_at),
        hexadecimal(timer.id),
    )


def watched_text(keys: Iterable[types_pb2.WatchKey]) -> str:
    """Keys that are watched or changed, or their beginnings, each with its actor."""
    return ", ".join(
        f"{bytes_text(one.key) if one.key else 'all'} of {hexadecimal(one.actor)}"
        for one in keys
    )


@timers.command("show")
@click.argument("timer_id", type=arguments.hash32, metavar="ID")
@arguments.at_option
@prove_option
@client_command
def show_timer(
    connection: Connection,
    timer_id: bytes,
    is_proven: bool,  # noqa: FBT001 - a flag
    at_height: int | None,
) -> None:
    """Show a timer: what it is, or how it ended and where (that has no --prove)."""
    if is_proven:
        _show_proven(connection, timer_id, at_height)
        return
    answer = TimerServiceStub(connection.channel).GetTimer(
        messages.GetTimerRequest(timer_id=timer_id, at_height=at_height),
        timeout=connection.timeout,
    )
    output = connection.output
    if output.is_json:
        output.message(answer)
        return
    _tell_timer(connection, answer.timer)
    if answer.HasField("receipt"):
        output.fields("\nreceipt", receipt_fields(answer.receipt))


def _show_proven(
    connection: Connection, timer_id: bytes, at_height: int | None
) -> None:
    prover = Prover(connection, at_height)
    ((key, record),) = prover.prove(TimerProof(timer_id)).records
    if not connection.output.is_json:
        _tell_timer(connection, record_to_proto(_proven_timer(key, record)))
        prover.tell("this timer is pending")


def _proven_timer(key: bytes, record: bytes) -> Timer:
    """Of a record in the calendar, or of a fire in the Globalbox."""
    if len(key) == keys.FIRE_ORDER_BYTES:
        return decode_fire(key, record).height_timer()
    return decode_timer(keys.TIMER_PREFIX + key, record)


def _tell_timer(connection: Connection, timer: messages.Timer) -> None:
    is_watch = timer.record.kind == messages.TIMER_KIND_STATE_WATCH
    due = {} if is_watch else {"due": str(timer.height)}
    fields = {"id": hexadecimal(timer.id), "status": _NAMES[timer.status], **due}
    fields["actor"] = hexadecimal(timer.actor)
    fields["paid by"] = hexadecimal(timer.fee_payer)
    fields |= _record_fields(timer) | _end_fields(timer)
    connection.output.fields("", fields)


def _record_fields(timer: messages.Timer) -> dict[str, str]:
    if not timer.HasField("record"):
        return {}
    record = timer.record
    default = ", by default" if record.is_gas_limit_defaulted else ""
    fields = {
        "handler": record.handler or "handle_timer, else on_timer",
        "payload": bytes_text(record.payload),
        "gas limit": f"{record.gas_limit:,} cycles{default}",
        "expires after": str(record.expires_at),
        "scheduled at": str(record.scheduled_at),
        "sequence": str(record.sequence),
    }
    if record.tier:
        tier = messages.TimerTier.Name(record.tier)
        fields["tier"] = tier.removeprefix("TIMER_TIER_").lower()
    if record.max_fee_per_cycle:
        fields["max fee per cycle"] = amount(record.max_fee_per_cycle)
    if record.max_priority_fee_per_cycle:
        fields["max priority fee per cycle"] = amount(record.max_priority_fee_per_cycle)
    if record.gba:
        fields["gas bidding agent"] = hexadecimal(record.gba)
    return fields | _globalbox_fields(timer) | _standing_fields(timer)


def _globalbox_fields(timer: messages.Timer) -> dict[str, str]:
    """What it states under `globalbox`, and its place in the queue."""
    record, fields = timer.record, dict[str, str]()
    if record.target:
        fields["calls"] = hexadecimal(record.target)
    if record.bid_fp:
        bid = int(record.bid_fp) >> BID_FRACTION_BITS
        fields["bid per cycle"] = amount(str(bid))
    if record.watch_keys:
        fields["watches"] = watched_text(record.watch_keys)
        fields["fires"] = f"{record.fire_seq:,}"
    if timer.HasField("watch"):
        fields["state"] = _watch_row(timer)[0]
    if timer.HasField("queued"):
        rank, score, *_ = _queue_row(timer)
        fields["rank in the queue"] = rank
        fields["score"] = score
        fields["queue key"] = hexadecimal(timer.queued.order)
    return fields


def _standing_fields(timer: messages.Timer) -> dict[str, str]:
    """Its place where timers bid, at the prices of the next block."""
    if not timer.HasField("standing"):
        return {}
    standing = timer.standing
    rank, effective = _standing_cells(timer)
    fields = {"looked at": str(standing.height)}
    if standing.basefee_cycle:
        fields["basefee"] = amount(standing.basefee_cycle)
        fields["effective tip"] = amount(standing.priority)
        fields["weight"] = ppm_text(standing.weight_ppm)
        if standing.HasField("slice_cycles"):
            fields["slice"] = f"{standing.slice_cycles:,} cycles"
        waited = counted(standing.waited, "block")
        return fields | {"waited": waited, "rank": rank}
    return fields | {
        "lane basefee": amount(standing.basefee_lane),
        "priority": amount(standing.priority),
        "weight": ppm_text(standing.weight_ppm),
        "effective priority": effective,
        "rank": rank,
    }


def _end_fields(timer: messages.Timer) -> dict[str, str]:
    if not timer.HasField("end"):
        return {}
    end = timer.end
    fields = {"ended at": str(end.height), "decision": end.decision}
    if end.reason:
        fields["reason"] = end.reason
    return fields | {
        name.replace("_", " "): number for name, number in sorted(end.numbers.items())
    }


@timers.command("why")
@click.argument("timer_id", type=arguments.hash32, metavar="ID")
@trace_option
@client_command
def explain_timer(
    connection: Connection,
    timer_id: bytes,
    is_traced: bool,  # noqa: FBT001 - a flag
) -> None:
    """Tell the story of a timer: what was decided about it, and what awaits it."""
    if is_traced:
        tell_timer(connection, timer_id)
        return
    answer = TimerServiceStub(connection.channel).ExplainTimer(
        messages.ExplainTimerRequest(timer_id=timer_id), timeout=connection.timeout
    )
    if connection.output.is_json:
        connection.output.message(answer)
    else:
        connection.output.line(answer.text)


@timers.command("ahead")
@click.argument("blocks", type=arguments.COUNT, default=100)
@client_command
def look_ahead(connection: Connection, blocks: int) -> None:
    """Show what the next BLOCKS would bring: fires, costs, and who runs dry when."""
    answer = TransactionServiceStub(connection.channel).Simulate(
        transactions_pb2.SimulateRequest(blocks=blocks), timeout=connection.timeout
    )
    if connection.output.is_json:
        connection.output.message(answer)
    else:
        connection.output.line(answer.outlook.text)


@timers.command("quote")
@click.argument("actor", type=arguments.address)
@click.option("--payer", type=arguments.address, help="Who pays; else the actor.")
@click.option("--gas-limit", type=arguments.COUNT, help="Cycles of a fire.")
@click.option("--height", type=arguments.COUNT, help="When it would be due.")
@click.option("--expires-at", type=arguments.HEIGHT, help="Height.")
@click.option("--blocks", type=click.IntRange(0, 100), help="So many of the last ones.")
@click.option("--max-fee", type=arguments.amount, help="A cycle, where timers bid.")
@click.option("--priority", type=arguments.amount, help="A cycle, where timers bid.")
@click.option("--bid", type=arguments.amount, help="A cycle, under globalbox.")
@client_command
def quote_timer(
    connection: Connection,
    /,
    actor: bytes,
    payer: bytes | None,
    max_fee: int | None,
    priority: int | None,
    **wanted: int | None,
) -> None:
    """Show what a timer of ACTOR would cost, and for how many fires there is money.

    Under `auction` also what a turn would have cost in each of the last blocks.
    """
    bid = wanted["bid"]
    answer = TimerServiceStub(connection.channel).QuoteTimer(
        messages.QuoteTimerRequest(
            actor=actor,
            fee_payer=payer or b"",
            max_fee_per_cycle="" if max_fee is None else str(max_fee),
            max_priority_fee_per_cycle="" if priority is None else str(priority),
            bid_fp="" if bid is None else str(bid << BID_FRACTION_BITS),
            height=wanted["height"],
            gas_limit=wanted["gas_limit"],
            expires_at=wanted["expires_at"],
            blocks=wanted["blocks"],
        ),
        timeout=connection.timeout,
    )
    if connection.output.is_json:
        connection.output.message(answer)
    else:
        connection.output.line(answer.text)


@timers.command("watch")
@click.option(
    "--actor", "actors", type=arguments.address, multiple=True, help="Only of these."
)
@click.option(
    "--timer", "timer_ids", type=arguments.hash32, multiple=True, help="Only these."
)
@client_command
def watch_timers(
    connection: Connection, actors: tuple[bytes, ...], timer_ids: tuple[bytes, ...]
) -> None:
    """Show every change in timers' lives as it happens, until Ctrl-C."""
    output = connection.output
    request = streams_pb2.StreamTimersRequest(actors=actors, timer_ids=timer_ids)
    for message in StreamServiceStub(connection.channel).StreamTimers(request):
        if output.is_json:
            output.message(message)
        elif message.HasField("reverted"):
            output.line(f"the chain was rewound to height {message.reverted.height}")
        else:
            output.row(change_row(message.change))


def change_row(change: streams_pb2.TimerChange) -> tuple[str, ...]:
    """A change in words: when, what, why, of which timer, with the numbers compared."""
    decision = change.decision
    numbers = [f"{name}={number}" for name, number in sorted(decision.numbers.items())]
    reason = f"({decision.reason})" if decision.reason else ""
    is_watch = "hit_height" in decision.numbers or "watch_keys" in decision.numbers
    changed = watched_text(decision.matched_keys)
    words = [
        str(decision.height),
        decision.decision,
        reason,
        hexadecimal(change.timer_id),
        f"of {hexadecimal(change.actor)}",
        "a watch" if is_watch else f"due {change.due_height}",
        f"on {changed}" if changed else "",
        *numbers,
    ]
    return tuple(word for word in words if word)
