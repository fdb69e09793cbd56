"""`cowboy-devnet output`: what actors print, as they print it."""

import click

from node.cli import arguments
from node.cli.connection import Connection, client_command
from node.cli.formatting import printed_text
from node.cli.output import hexadecimal
from node.rpc.v1 import streams_pb2, types_pb2
from node.rpc.v1.streams_pb2_grpc import StreamServiceStub

__all__ = ["output"]


@click.command()
@click.option(
    "--actor", "actors", type=arguments.address, multiple=True, help="Only of these."
)
@client_command
def output(connection: Connection, actors: tuple[bytes, ...]) -> None:
    """Print what actors print as they do, until Ctrl-C.

    Of a transaction that is past, `cowboy-devnet tx ID` shows it.
    """
    request = streams_pb2.StreamOutputRequest(actors=actors)
    for message in StreamServiceStub(connection.channel).StreamOutput(request):
        if connection.output.is_json:
            connection.output.message(message)
        elif message.HasField("reverted"):
            height = message.reverted.height
            connection.output.line(f"the chain was rewound to height {height}")
        else:
            connection.output.line(_text(message.output))


def _text(told: streams_pb2.ExecutionOutput) -> str:
    kind = types_pb2.ReceiptKind.Name(told.kind).removeprefix("RECEIPT_KIND_")
    words = kind.lower().replace("_", " ")
    is_failed = told.status == types_pb2.EXECUTION_STATUS_FAILED
    failed = ", which failed" if is_failed else ""
    who = f"{told.handler} of {hexadecimal(told.actor)}"
    head = f"height {told.block.height}: {words} {who}{failed}"
    return f"{head}\n{printed_text(told.output)}"
