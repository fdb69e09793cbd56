"""`cowboy-devnet rehearse-upgrade`: what would differ, had an actor had other code.

The chain is a bundle's. That of a node is fetched as one first, by a process of its
own: what executes somebody's chain is confined before, and was connected to nothing.
"""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import astuple, replace

from node.archive.bundle import open_bundle
from node.archive.replay import Differs
from node.archive.upgrade_differences import Difference, DifferenceName
from node.archive.upgrade_rehearsal import (
    Rehearsal,
    RehearsalRefused,
    RehearsedUpgrade,
    rehearse_bundle,
)
from node.chain.bundle_errors import BundleRefused
from node.cli import arguments
from node.cli.arguments import confine_option, json_option, memory_max_option
from node.cli.connection import EXIT_REFUSED
from node.cli.output import JsonForm, Output
from node.cli.walls import WallOptions, fetched_bundle, worker_within_walls
from node.primitives.types import Address
from node.query.explain.numbers import counted
from pvm.language import SOURCE_BYTES_MAX

__all__ = ["rehearse_upgrade"]

_NAMES = [name.value for name in DifferenceName]


@click.command()
@click.argument("actor", type=arguments.address)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("payload", type=arguments.payload, default="")
@click.option(
    "--bundle",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The chain to rehearse on.  [default: that of the node at --url]",
)
@click.option(
    "--first",
    type=arguments.COUNT,
    metavar="H",
    help="The height where the new code begins.  [default: since the last upgrade]",
)
@click.option(
    "--last",
    type=arguments.COUNT,
    metavar="H",
    help="The last height.  [default: the head]",
)
@click.option(
    "--further",
    type=click.IntRange(0, 10_000_000),
    default=0,
    metavar="N",
    help="Let so many heights pass afterwards, on both.",
)
@click.option(
    "--costs-within",
    type=click.IntRange(0, 1_000),
    default=0,
    metavar="PERCENT",
    help="By how much an execution may be dearer or cheaper.",
)
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    metavar="NAME[:SUBJECT]",
    help="A difference that may be, as the list shows it; as often as wanted.",
)
@click.option(
    "--url",
    metavar="HOST:PORT",
    help="Where the node is whose chain is rehearsed on.  [default: as of `status`]",
)
@confine_option
@memory_max_option
@json_option
def rehearse_upgrade(**given: object) -> None:
    """Execute a chain with the code of ACTOR, and with that in FILE: what differs?

    `upgrade` of the new code gets PAYLOAD. Nothing is sent or kept. Exit code 0:
    nothing differs but what is allowed; 1: something else does; 2: it cannot be done.
    """
    options = _Options(**given)  # type: ignore[arg-type]
    _require_names(options.allowed)
    output = Output(options.form)
    with tempfile.TemporaryDirectory(prefix="cowboy-rehearsal-") as name:
        folder = Path(name)
        bundle = options.bundle or fetched_bundle(folder, options.url)
        found = replace(
            _rehearse(options, bundle, folder, output), allowed=options.allowed
        )
    _tell(found, output)


class _Options(Struct, frozen=True):
    """What the command was given."""

    actor: bytes
    file: Path
    payload: bytes
    bundle: Path | None
    first: int | None
    last: int | None
    further: int
    costs_within: int
    allowed: tuple[str, ...]
    url: str | None
    confinement: str
    memory_max: str | None
    form: JsonForm | None


def _require_names(names: Sequence[str]) -> None:
    for name in names:
        if name.partition(":")[0] not in _NAMES:
            known = ", ".join(_NAMES)
            raise click.BadParameter(f"{name!r} is none of {known}, or NAME:SUBJECT")


def _rehearse(options: _Options, path: Path, folder: Path, output: Output) -> Rehearsal:
    wanted = RehearsedUpgrade(
        Address(options.actor),
        arguments.file_bytes(options.file, SOURCE_BYTES_MAX),
        options.payload,
        options.first,
        options.last,
        options.further,
        options.costs_within,
    )
    wall_options = WallOptions(options.confinement, options.memory_max)
    try:
        with (
            open_bundle(path) as bundle,
            worker_within_walls(folder, wall_options, output) as worker,
            output.progress("rehearsing", bundle.head.height) as show,
        ):
            return worker.run(lambda: rehearse_bundle(bundle, wanted, show))
    except (BundleRefused, RehearsalRefused) as refusal:
        raise click.UsageError(str(refusal)) from refusal
    except Differs as difference:
        raise click.UsageError(
            "the bundle is not what executing it gives, see `bundle check`: "
            f"{difference.lines[0]}"
        ) from difference


def _tell(found: Rehearsal, output: Output) -> None:
    refused = found.refused
    if output.is_json:
        names = Difference.__struct_fields__
        told = [
            dict(zip(names, astuple(one), strict=True))
            | {"is_allowed": one not in refused}
            for one in found.differences
        ]
        answer = {"first": found.first, "last": found.last, "differences": told}
        output.line(json.dumps(answer))
    else:
        output.line(str(found))
    if refused:
        verb = "is" if len(refused) == 1 else "are"
        output.error(f"{counted(len(refused), 'difference')} {verb} not allowed")
        raise click.exceptions.Exit(EXIT_REFUSED)
