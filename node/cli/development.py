"""Commands for a development chain: `faucet`, `set-code`, `mine` and others."""

import json
from pathlib import Path

import click

from node.cli import arguments
from node.cli.connection import Connection, client_command
from node.cli.formatting import advance_fields, header_fields, receipt_fields
from node.cli.outcome import print_committed
from node.client.messages import advance_request
from node.primitives import codec
from node.rpc.v1 import dev_pb2 as messages
from node.rpc.v1 import queries_pb2, types_pb2
from node.rpc.v1.dev_pb2_grpc import DevServiceStub
from pvm.language import SOURCE_BYTES_MAX

__all__ = ["advance", "faucet", "mine", "mining", "set_code", "set_storage"]

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
@click.argument("actor", type=arguments.address)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@client_command
def set_code(connection: Connection, actor: bytes, file: Path) -> None:
    """Replace the code of ACTOR by that in FILE, whoever owns it; no handler runs."""
    code = arguments.file_bytes(file, SOURCE_BYTES_MAX)
    answer = DevServiceStub(connection.channel).SetCode(
        messages.SetCodeRequest(actor=actor, code=code), timeout=connection.timeout
    )
    if connection.output.is_json:
        connection.output.message(answer)
    wish = types_pb2.Instruction(set_code=types_pb2.SetCode(actor=actor, code=code))
    print_committed(connection, answer.committed, wish)


@click.command()
@click.argument("actor", type=arguments.address)
@click.argument("key", type=arguments.payload)
@click.argument("value", required=False)
@click.option("--remove", "is_removed", is_flag=True, help="Remove the key.")
@client_command
def set_storage(
    connection: Connection,
    actor: bytes,
    key: bytes,
    value: str | None,
    is_removed: bool,  # noqa: FBT001 - a flag
) -> None:
    """Write VALUE under the raw KEY of ACTOR's state, as `storage` shows keys.

    VALUE is bytes: text, 0x… or @file. `cbor:JSON`, such as `cbor:42`, is what
    `self.storage` makes of a value: its entry n has the key `storage:n`.
    """
    if (value is None) is not is_removed:
        raise click.UsageError("either VALUE or --remove is wanted")
    answer = DevServiceStub(connection.channel).SetStorage(
        messages.SetStorageRequest(
            actor=actor, key=key, value=None if value is None else _stored(value)
        ),
        timeout=connection.timeout,
    )
    if connection.output.is_json:
        connection.output.message(answer)
    print_committed(connection, answer.committed, types_pb2.Instruction())


def _stored(text: str) -> bytes:
    """The bytes of a value to be stored."""
    if not text.startswith("cbor:"):
        return arguments.payload(text)
    try:
        return codec.encode(json.loads(text.removeprefix("cbor:")))
    except ValueError as error:  # of JSON, or of what CBOR cannot hold here
        raise click.BadParameter(f"{text!r} is no value: {error}") from error


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
