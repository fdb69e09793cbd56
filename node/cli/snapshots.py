"""`cowboy-devnet snapshot`: heights to which the chain shall be able to return.

The node names heights of its chain; a state file holds one, and needs no node.
"""

from pathlib import Path

import click

from node.cli import Group
from node.cli.arguments import data_dir_option
from node.cli.connection import Connection, client_command
from node.cli.formatting import header_fields
from node.cli.output import hexadecimal
from node.rpc.v1 import dev_pb2 as messages
from node.rpc.v1.dev_pb2_grpc import DevServiceStub

__all__ = ["snapshot"]


@click.group(cls=Group)
def snapshot() -> None:
    """Name the head and the pool, go back to them; state files."""


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


@snapshot.command()
@click.argument("file", type=click.Path(path_type=Path))
@data_dir_option
@click.option(
    "--height",
    type=click.IntRange(0, 2**63 - 1),
    metavar="H",
    help="Whose state.  [default: the head's]",
)
def export(file: Path, data_dir: Path, height: int | None) -> None:
    """Write a chain's whole state at a height into FILE, without a node.

    The height is the head's, one of the latest 64, or one that a named snapshot holds.
    """
    from node.cli.offline import export_state  # noqa: PLC0415 - no client needs it

    export_state(file, data_dir, height)


@snapshot.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@data_dir_option
def import_(file: Path, data_dir: Path) -> None:
    """Make a chain's folder of FILE: its state, at its height; no earlier blocks.

    Nothing is written unless FILE is whole; the state root is computed anew.
    """
    from node.cli.offline import import_state  # noqa: PLC0415 - no client needs it

    import_state(file, data_dir)


def _fields(one: messages.NamedSnapshot) -> dict[str, str]:
    return {
        "name": one.name,
        "height": str(one.block.height),
        "hash": hexadecimal(one.block.hash),
        "waiting": str(one.waiting),
    }
