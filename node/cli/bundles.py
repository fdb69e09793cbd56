"""`cowboy-devnet bundle`: a whole chain in one file, to be executed again anywhere.

The node writes one and takes one; checking one needs no node.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from node.archive.bundle import new_bundle, open_bundle, open_parts
from node.chain.bundle_errors import BundleRefused
from node.cli import Group
from node.cli.arguments import confine_option, json_option, memory_max_option
from node.cli.connection import Connection, client_command
from node.cli.formatting import header_fields
from node.cli.output import JsonForm, Output
from node.client.messages import BUNDLE_SECONDS
from node.rpc.v1 import dev_pb2 as messages
from node.rpc.v1.dev_pb2_grpc import DevServiceStub

__all__ = ["bundle"]

_file = click.argument("file", type=click.Path(path_type=Path))


@click.group(cls=Group)
def bundle() -> None:
    """A chain in one file: write it, take it, execute it again."""


@bundle.command()
@_file
@click.option(
    "--genesis-to",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the genesis that it begins from, for `start --genesis`.",
)
@confine_option
@memory_max_option
@json_option
def check(
    file: Path,
    genesis_to: Path | None,
    confinement: str,
    memory_max: str | None,
    form: JsonForm | None,
) -> None:
    """Execute the blocks of FILE again, and compare all that it tells; no node.

    Roots, order of fires, receipts, events and decisions about timers must be what the
    transactions give. The first difference is explained. Exit code 0: all the same; 1:
    a difference, or no whole bundle; 2: it cannot be read.
    """
    from node.cli.offline import check_bundle_file  # noqa: PLC0415 - needs LevelDB
    from node.cli.walls import WallOptions  # noqa: PLC0415 - as above

    options = WallOptions(confinement, memory_max)
    check_bundle_file(file, genesis_to, options, Output(form))


@bundle.command()
@_file
@client_command
def export(connection: Connection, file: Path) -> None:
    """Write the node's whole chain into FILE, which is not there yet.

    Equal chains give equal bytes. What waits in the pool is in no block, and not in it.
    """
    with _refusals_told(), new_bundle(file) as write:
        request = messages.ExportBundleRequest()
        for part in DevServiceStub(connection.channel).ExportBundle(request):
            write(part.data)
    with _refusals_told(), open_bundle(file) as written:
        height, blocks = written.head.height, written.blocks
    if connection.output.is_json:
        found = {"file": str(file), "height": height, "blocks": blocks}
        connection.output.line(json.dumps(found))
    else:
        connection.output.line(f"{blocks} blocks up to height {height} are in {file}")


@bundle.command("import")
@_file
@client_command
def import_(connection: Connection, file: Path) -> None:
    """Make the blocks of FILE those of the node's chain, in which only time passed.

    Each is executed and must be what FILE says. All of them are there at the end, or
    none.
    """
    with _refusals_told(), open_parts(file) as parts:
        answer = DevServiceStub(connection.channel).ImportBundle(
            (messages.ImportBundleRequest(data=part) for part in parts),
            timeout=max(connection.timeout, BUNDLE_SECONDS),
        )
    if connection.output.is_json:
        connection.output.message(answer)
    else:
        connection.output.fields("", header_fields(answer.head))


@contextmanager
def _refusals_told() -> Iterator[None]:
    """What is wrong with the file itself is wrong usage."""
    try:
        yield
    except BundleRefused as refusal:
        raise click.UsageError(str(refusal)) from refusal
