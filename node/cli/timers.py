"""`cowboy-devnet timers`: those that wait, how others ended, and what changes."""

from collections.abc import Iterator

import click
from typing_extensions import override

from node.chain.params import U64_MAX
from node.chain.timers.timer import decode_timer
from node.cli import Group, arguments
from node.cli.connection import Connection, client_command
from node.cli.formatting import receipt_fields
from node.cli.output import amount, bytes_text, hexadecimal
from node.cli.proofs import Prover, prove_option
from node.cli.traces import tell_timer, trace_option
from node.client.proofs import DueProof, TimerProof
from node.query.explain.numbers import ppm_text
from node.rpc.convert import record_to_proto
from node.rpc.v1 import streams_pb2, transactions_pb2
from node.rpc.v1 import timers_pb2 as messages
from node.rpc.v1.streams_pb2_grpc import StreamServiceStub
from node.rpc.v1.timers_pb2_grpc import TimerServiceStub
from node.rpc.v1.transactions_pb2_grpc import TransactionServiceStub
from node.state import keys

__all__ = ["change_row", "timers"]

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
    if connection.output.is_json:
        return
    found = [
        record_to_proto(decode_timer(keys.TIMER_PREFIX + key, record))
        for key, record in proven.records
    ]
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
    while True:
        page = service.ListTimers(request, timeout=connection.timeout)
        yield from page.timers
        request.page_token = page.next_page_token
        if not request.page_token:
            return


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
        timer = decode_timer(keys.TIMER_PREFIX + key, record)
        _tell_timer(connection, record_to_proto(timer))
        prover.tell("this timer is pending")


def _tell_timer(connection: Connection, timer: messages.Timer) -> None:
    fields = {
        "id": hexadecimal(timer.id),
        "status": _NAMES[timer.status],
        "due": str(timer.height),
        "actor": hexadecimal(timer.actor),
        "paid by": hexadecimal(timer.fee_payer),
    }
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
    return fields | _standing_fields(timer)


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
        return fields | {"waited": f"{standing.waited:,} blocks", "rank": rank}
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
    answer = TimerServiceStub(connection.channel).QuoteTimer(
        messages.QuoteTimerRequest(
            actor=actor,
            fee_payer=payer or b"",
            max_fee_per_cycle="" if max_fee is None else str(max_fee),
            max_priority_fee_per_cycle="" if priority is None else str(priority),
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
    words = [
        str(decision.height),
        decision.decision,
        reason,
        hexadecimal(change.timer_id),
        f"of {hexadecimal(change.actor)}",
        f"due {change.due_height}",
        *numbers,
    ]
    return tuple(word for word in words if word)
