"""`cowboy-devnet bundle`: a whole chain in one file, to be executed again anywhere.

The node writes one and takes one; checking one needs no node.
"""

from pathlib import Path

import click

from node.cli.output import Output

__all__ = ["bundle"]

_file = click.argument("file", type=click.Path(path_type=Path))


@click.group()
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
@click.option("--json", "is_json", is_flag=True, help="Print one JSON object.")
def check(
    file: Path,
    genesis_to: Path | None,
    is_json: bool,  # noqa: FBT001 - a flag
) -> None:
    """Execute the blocks of FILE again, and compare all that it tells; no node.

    Roots, order of fires, receipts, events and decisions about timers must be what the
    transactions give. The first difference is explained. Exit code 0: all the same; 1:
    a difference, or no whole bundle; 2: it cannot be read.
    """
    from node.cli.offline import check_bundle_file  # noqa: PLC0415 - needs LevelDB

    check_bundle_file(file, genesis_to, Output(is_json=is_json))
