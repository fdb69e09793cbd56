"""`cowboy-devnet events`: what happened lately, or as it happens."""

from collections.abc import Iterator

import click

from node.cli import arguments
from node.cli.connection import Connection, client_command
from node.cli.formatting import EVENT_COLUMNS, event_row
from node.rpc.v1 import queries_pb2, streams_pb2, types_pb2
from node.rpc.v1.queries_pb2_grpc import QueryServiceStub
from node.rpc.v1.streams_pb2_grpc import StreamServiceStub

__all__ = ["events"]

_PAGE_BLOCKS = 100


@click.command()
@click.option("--follow", is_flag=True, help="Go on as they happen, until Ctrl-C.")
@click.option(
    "--actor", "actors", type=arguments.address, multiple=True, help="Only of these."
)
@click.option("--topic", "topics", multiple=True, help="Only with these topics.")
@click.option(
    "--last",
    type=click.IntRange(0, 100_000),
    default=100,
    metavar="BLOCKS",
    help="How many blocks to look back; with --follow, of old ones none.",
)
@client_command
def events(
    connection: Connection,
    follow: bool,  # noqa: FBT001 - a flag
    actors: tuple[bytes, ...],
    topics: tuple[str, ...],
    last: int,
) -> None:
    """Show events of actors and of the system."""
    output = connection.output
    if follow:
        _follow(connection, actors, topics)
        return
    found = [
        event
        for event in _lately(connection, last)
        if (not actors or event.emitter in actors)
        and (not topics or event.topic in topics)
    ]
    if output.is_json:
        for event in found:
            output.message(event)
    else:
        output.table("", EVENT_COLUMNS, [event_row(event) for event in found])


def _lately(connection: Connection, blocks: int) -> Iterator[types_pb2.Event]:
    """Events of the latest blocks, oldest first."""
    service = QueryServiceStub(connection.channel)
    heights: list[int] = []
    request = queries_pb2.ListBlocksRequest(
        descending=True, view=types_pb2.BLOCK_VIEW_SUMMARY
    )
    while blocks > 0:
        request.page_size = min(blocks, _PAGE_BLOCKS)
        page = service.ListBlocks(request, timeout=connection.timeout)
        heights += [block.header.height for block in page.blocks if block.event_count]
        blocks -= request.page_size
        request.page_token = page.next_page_token
        if not request.page_token:
            break
    for height in reversed(heights):
        answer = service.GetBlock(
            queries_pb2.GetBlockRequest(height=height, view=types_pb2.BLOCK_VIEW_FULL),
            timeout=connection.timeout,
        )
        yield from answer.block.events


def _follow(
    connection: Connection, actors: tuple[bytes, ...], topics: tuple[str, ...]
) -> None:
    output = connection.output
    request = streams_pb2.StreamEventsRequest(
        emitters=actors, topics=topics, include_system=not actors
    )
    for message in StreamServiceStub(connection.channel).StreamEvents(request):
        if output.is_json:
            output.message(message)
        elif message.HasField("reverted"):
            output.line(f"the chain was rewound to height {message.reverted.height}")
        else:
            output.row(event_row(message.event))
