"""`cowboy-devnet costs`: what lines of actors cost in a range of heights."""

from collections.abc import Iterator
from pathlib import Path

import click

from node.cli import arguments
from node.cli.connection import Connection, client_command
from node.client.costs import costs_from_proto
from node.query.trace.records import with_names
from node.rpc.v1 import costs_pb2
from node.rpc.v1.queries_pb2_grpc import QueryServiceStub

__all__ = ["costs"]


@click.command()
@click.option("--from", "from_height", type=arguments.HEIGHT, help="The first height.")
@click.option("--to", "to_height", type=arguments.HEIGHT, help="The last height.")
@click.option("--actor", type=arguments.address, help="Only lines of this actor.")
@click.option(
    "--folded",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write call stacks for a flame graph.",
)
@client_command
def costs(
    connection: Connection,
    from_height: int | None,
    to_height: int | None,
    actor: bytes | None,
    folded: Path | None,
) -> None:
    """Show what each line of actors cost in a range of heights.

    The node executes the blocks again. Without --from it begins at the oldest one that
    it can execute, and without --to it ends at the head.
    """
    request = costs_pb2.StreamCostsRequest(
        from_height=from_height, to_height=to_height, actor=actor or b""
    )
    found = costs_from_proto(_told(connection, request))
    found = with_names(found, connection.output.labels)
    if folded is not None:
        try:
            folded.write_text(found.folded(), encoding="utf-8")
        except OSError as error:
            connection.refuse(f"{folded} cannot be written: {error.strerror}")
    if not connection.output.is_json:
        connection.output.line(f"{found}")


def _told(
    connection: Connection, request: costs_pb2.StreamCostsRequest
) -> Iterator[costs_pb2.StreamCostsResponse]:
    """What the node tells, each message as it comes where programs read it."""
    for message in QueryServiceStub(connection.channel).StreamCosts(request):
        if connection.output.is_json:
            connection.output.message(message)
        yield message
