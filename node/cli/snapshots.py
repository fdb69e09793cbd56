"""`cowboy-devnet snapshot`: heights to which the chain shall be able to return."""

import click

from node.cli.connection import Connection, client_command
from node.cli.describing import header_fields
from node.cli.output import hexadecimal
from node.rpc.v1 import dev_pb2 as messages
from node.rpc.v1.dev_pb2_grpc import DevServiceStub

__all__ = ["snapshot"]


@click.group()
def snapshot() -> None:
    """Name the head and the pool; go back to them."""


@snapshot.command()
@click.argument("name")
@client_command
def create(connection: Connection, name: str) -> None:
    """Name the head and what waits in the pool NAME."""
    answer = DevServiceStub(connection.channel).CreateSnapshot(
        messages.CreateSnapshotRequest(name=name), timeout=connection.timeout
    )
    if connection.output.is_json:
        connection.output.message(answer)
    else:
        connection.output.fields("", _fields(answer.snapshot))


@snapshot.command()
@click.argument("name")
@client_command
def revert(connection: Connection, name: str) -> None:
    """Go back to NAME: state, history, clock, fees and pool.

    NAME is kept, and snapshots of lower heights; those above it are deleted.
    """
    answer = DevServiceStub(connection.channel).RevertToSnapshot(
        messages.RevertToSnapshotRequest(name=name), timeout=connection.timeout
    )
    if connection.output.is_json:
        connection.output.message(answer)
    else:
        connection.output.fields("", header_fields(answer.head))


@snapshot.command("list")
@client_command
def list_(connection: Connection) -> None:
    """All snapshots, the oldest height first."""
    answer = DevServiceStub(connection.channel).ListSnapshots(
        messages.ListSnapshotsRequest(), timeout=connection.timeout
    )
    if connection.output.is_json:
        connection.output.message(answer)
        return
    rows = [tuple(_fields(one).values()) for one in answer.snapshots]
    connection.output.table("", ("name", "height", "hash", "waiting"), rows)


@snapshot.command()
@click.argument("name")
@client_command
def delete(connection: Connection, name: str) -> None:
    """Forget NAME; the chain stays where it is."""
    answer = DevServiceStub(connection.channel).DeleteSnapshot(
        messages.DeleteSnapshotRequest(name=name), timeout=connection.timeout
    )
    if connection.output.is_json:
        connection.output.message(answer)
    else:
        connection.output.line(f"{name} is forgotten")


def _fields(one: messages.NamedSnapshot) -> dict[str, str]:
    return {
        "name": one.name,
        "height": str(one.block.height),
        "hash": hexadecimal(one.block.hash),
        "waiting": str(one.waiting),
    }
