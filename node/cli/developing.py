"""Commands for a development chain: `faucet`, `mine`, `mining`."""

import click

from node.cli import arguments
from node.cli.connection import Connection, client_command
from node.cli.describing import header_fields, receipt_fields
from node.rpc.v1 import dev_pb2 as messages
from node.rpc.v1 import queries_pb2
from node.rpc.v1.dev_pb2_grpc import DevServiceStub

__all__ = ["faucet", "mine", "mining"]

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
