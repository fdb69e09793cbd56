"""Commands on a chain's folder while no node runs on it: `replay`.

Rules: exit code 0 when all is as it should be, 1 when the chain is not, 2 when the
command cannot be carried out as it was given.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from node.cli.connection import EXIT_REFUSED
from node.cli.output import Output
from node.runtime.clock import SystemClock
from node.runtime.folder import Folder, NoChain, open_folder
from node.runtime.replay import Differs, Replay, Replayed, begin_at_genesis
from node.runtime.startup import DamagedChain
from node.state.errors import StoreCorrupt, StoreError
from node.state.leveldb import LevelStore
from pvm import Worker

__all__ = ["data_dir_option", "folder_at", "replay"]

_STEP_HEADERS = 20
"""Between two looks at the progress: some milliseconds when they are small."""

_HEIGHT = click.IntRange(0, 2**63 - 1)

data_dir_option = click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    default=Path("./devnet-data"),
    help="Folder of the chain; no node may have it open.",
)


@contextmanager
def folder_at(path: Path, output: Output) -> Iterator[Folder]:
    """A chain's folder; what keeps the command from its work ends it."""
    try:
        with open_folder(path) as folder:
            yield folder
    except (DamagedChain, StoreCorrupt) as error:
        output.error(str(error))
        raise click.exceptions.Exit(EXIT_REFUSED) from error
    except (NoChain, StoreError) as error:
        raise click.UsageError(str(error)) from error


@click.command()
@data_dir_option
@click.option(
    "--until", type=_HEIGHT, metavar="H", help="Stop there.  [default: the head]"
)
@click.option("--json", "is_json", is_flag=True, help="Print one JSON object.")
def replay(
    data_dir: Path,
    until: int | None,
    is_json: bool,  # noqa: FBT001 - a flag
) -> None:
    """Execute a folder's blocks again, and compare all they left.

    Roots, receipts, events, failures and decisions about timers must be what the
    transactions give, their signatures included. The first difference is explained.
    Exit code 0: all the same; 1: a difference, or damage; 2: it cannot be done.
    """
    output = Output(is_json=is_json)
    clock = SystemClock()
    began = clock.monotonic()
    with folder_at(data_dir, output) as folder:
        last = folder.head.height if until is None else min(until, folder.head.height)
        try:
            done = _replay(folder, last, output)
        except Differs as difference:
            _tell_difference(difference, output)
            raise click.exceptions.Exit(EXIT_REFUSED) from difference
    _tell(done, clock.monotonic() - began, output)


def _replay(folder: Folder, last: int, output: Output) -> Replayed:
    with (
        tempfile.TemporaryDirectory(prefix="cowboy-replay-") as scratch,
        LevelStore(Path(scratch)) as store,
        Worker() as worker,
    ):
        state = worker.run(
            lambda: begin_at_genesis(folder.snapshot, folder.genesis, store)
        )
        begun = state.head.height
        run = Replay(folder.snapshot, store, state, last)
        with output.progress("replaying", last - begun) as show:
            while worker.run(lambda: run.step(_STEP_HEADERS)):
                show(run.done.height - begun)
        worker.run(run.require_same_state)
        return run.done


def _tell_difference(difference: Differs, output: Output) -> None:
    if output.is_json:
        found = {"height": difference.height, "differences": difference.lines}
        output.line(json.dumps(found))
        return
    for line in difference.lines:
        sys.stderr.write(f"{line}\n")


def _tell(done: Replayed, seconds: float, output: Output) -> None:
    rate = done.transactions / seconds
    found = {
        "height": done.height,
        "blocks": done.headers,
        "transactions": done.transactions,
        "receipts": done.receipts,
        "events": done.events,
        "seconds": round(seconds, 3),
        "transactions_per_second": round(rate),
    }
    if output.is_json:
        output.line(json.dumps(found))
        return
    output.fields("", {name: f"{value}" for name, value in found.items()})
