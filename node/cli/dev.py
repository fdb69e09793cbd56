"""Commands for a development chain: `faucet`, `mine`, `advance`, `mining`."""

import click

from node.cli import arguments
from node.cli.connection import Connection, client_command
from node.cli.formatting import advance_fields, header_fields, receipt_fields
from node.client.messages import advance_request
from node.rpc.v1 import dev_pb2 as messages
from node.rpc.v1 import queries_pb2
from node.rpc.v1.dev_pb2_grpc import DevServiceStub

__all__ = ["advance", "faucet", "mine", "mining"]

_MODES = {
    "interval": queries_pb2.MINING_MODE_INTERVAL,
    "instant": queries_pb2.MINING_MODE_INSTANT,
    "manual": queries_pb2.MINING_MODE_MANUAL,
}


@click.command()
@click.argument("to", type=arguments.address)
@click.argument("amount", type=arguments.amount, default="100 CBY")
@client_command
def faucet(connection: Connection, to: bytes, amount: int) -> None:
    """Mint AMOUNT (`5 CBY`, or base units) to the address TO."""
    answer = DevServiceStub(connection.channel).Fund(
        messages.FundRequest(to=to, amount=str(amount)), timeout=connection.timeout
    )
    if connection.output.is_json:
        connection.output.message(answer)
    else:
        connection.output.fields("", receipt_fields(answer.committed.receipt))


@click.command()
@click.argument("blocks", type=click.IntRange(1, 10_000), default=1)
@client_command
def mine(connection: Connection, blocks: int) -> None:
    """Make BLOCKS blocks now, in any mode."""
    answer = DevServiceStub(connection.channel).Mine(
        messages.MineRequest(blocks=blocks), timeout=connection.timeout
    )
    if connection.output.is_json:
        connection.output.message(answer)
    else:
        connection.output.fields("", header_fields(answer.head))


@click.command()
@click.option("--next-timer", is_flag=True, help="Through the next timer's height.")
@click.option("--until-idle", is_flag=True, help="Until nothing waits; see --within.")
@click.option(
    "--within",
    type=arguments.COUNT,
    default=100_000,
    metavar="BLOCKS",
    help="With --until-idle: how far at the most.",
)
@click.option("--blocks", type=arguments.COUNT, metavar="N", help="So many.")
@click.option("--height", type=arguments.COUNT, metavar="H", help="Up to this.")
@click.option(
    "--for",
    "duration_ms",
    type=arguments.duration,
    metavar="TIME",
    help="So much virtual time: 250ms, 30s, 10m, 2h, 1d.",
)
@client_command
def advance(connection: Connection, /, **wanted: int | bool | None) -> None:
    """Let time pass, at the cost of what happens in it; one target."""
    within = wanted.pop("within") or 0
    targets = {name: value for name, value in wanted.items() if value}
    if len(targets) != 1:
        raise click.UsageError(
            "one of --next-timer, --until-idle, --blocks, --height, --for is wanted"
        )
    if "until_idle" in targets:
        targets["until_idle"] = within
    request = advance_request(targets)
    answers = DevServiceStub(connection.channel).Advance(request)
    if connection.output.is_json:
        for answer in answers:
            connection.output.message(answer)
        return
    answer = next(answers)
    start, heights = answer.head.height, 0
    with connection.output.progress("advancing", answer.stop_height - start) as show:
        for answer in answers:
            heights += len(answer.heights)
            show(answer.head.height - start)
    connection.output.fields("", advance_fields(answer, heights))


@click.command()
@click.argument("mode", type=click.Choice(list(_MODES)))
@click.option(
    "--pace", type=arguments.duration, help="Wall time between blocks: 250ms, 1s."
)
@client_command
def mining(connection: Connection, mode: str, pace: int | None) -> None:
    """Choose when blocks are made."""
    request = messages.SetMiningRequest(mode=_MODES[mode])
    if pace is not None:
        request.pace_ms = pace
    answer = DevServiceStub(connection.channel).SetMining(
        request, timeout=connection.timeout
    )
    if connection.output.is_json:
        connection.output.message(answer)
    else:
        connection.output.line(f"{mode}, pace {answer.pace_ms} ms")
