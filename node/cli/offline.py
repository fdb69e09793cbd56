"""Commands on files: `replay`, `bundle check`, state files; they need no node.

What executes somebody else's chain is confined first (`walls`).

Rules: exit code 0 when all is as it should be, 1 when the chain is not, 2 when the
command cannot be carried out as it was given.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from node.archive.bundle import Bundle, open_bundle, replay_of
from node.archive.folder import Folder, NoChain, open_folder, state_at
from node.archive.opening import DamagedChain
from node.archive.replay import (
    Differs,
    NotReplayable,
    Replay,
    Replayed,
    begin,
    begin_at_genesis,
    into,
    require_replayable,
)
from node.archive.state_file import (
    StateFile,
    StateFileRefused,
    check_state_file,
    write_state_file,
)
from node.archive.state_import import import_folder, load_state
from node.chain.consensus import OtherConsensus, require_own_consensus
from node.cli.arguments import (
    confine_option,
    data_dir_option,
    json_option,
    memory_max_option,
)
from node.cli.bundle_refusals import tells_bundle_refusals
from node.cli.connection import EXIT_REFUSED
from node.cli.output import JsonForm, Output
from node.cli.walls import WallOptions, scratch_within_walls
from node.history import load_consensus, load_header
from node.runtime.clock import SystemClock
from node.runtime.confinement.walls import Needs, refuse_links
from node.state.errors import StoreCorrupt, StoreError
from node.state.leveldb import LevelStore
from pvm import Worker

__all__ = [
    "check_bundle_file",
    "export_state",
    "folder_at",
    "import_state",
    "replay",
]

_STEP_HEADERS = 20
"""Between two looks at the progress: some milliseconds when they are small."""

_HEIGHT = click.IntRange(0, 2**63 - 1)


@contextmanager
def folder_at(path: Path, output: Output) -> Iterator[Folder]:
    """A chain's folder; what keeps the command from its work ends it."""
    try:
        with open_folder(path) as folder:
            yield folder
    except (DamagedChain, StoreCorrupt) as error:
        output.error(str(error))
        raise click.exceptions.Exit(EXIT_REFUSED) from error
    except (NoChain, NotReplayable, OtherConsensus, StoreError) as error:
        raise click.UsageError(str(error)) from error


@click.command()
@data_dir_option
@click.option(
    "--from-snapshot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Begin at this state file's height.  [default: at genesis]",
)
@click.option(
    "--until", type=_HEIGHT, metavar="H", help="Stop there.  [default: the head]"
)
@confine_option
@memory_max_option
@json_option
def replay(
    data_dir: Path,
    from_snapshot: Path | None,
    until: int | None,
    confinement: str,
    memory_max: str | None,
    form: JsonForm | None,
) -> None:
    """Execute a folder's blocks again, and compare all they left.

    Roots, receipts, events, failures and decisions about timers must be what the
    transactions give, their signatures included. The first difference is explained.
    Exit code 0: all the same; 1: a difference, or damage; 2: it cannot be done.
    """
    output = Output(form)
    clock = SystemClock()
    began = clock.monotonic()
    needs = Needs((data_dir,), read=() if from_snapshot is None else (from_snapshot,))
    options = WallOptions(confinement, memory_max)
    with (
        scratch_within_walls(needs, options, output) as (scratch, walls),
        folder_at(data_dir, output) as folder,
    ):
        refuse_links(walls)
        last = folder.head.height if until is None else min(until, folder.head.height)
        try:
            with LevelStore(scratch) as store:
                done = _replay(folder, store, from_snapshot, last, output)
        except StateFileRefused as refusal:
            raise click.UsageError(str(refusal)) from refusal
        except Differs as difference:
            _tell_difference(difference, output)
            raise click.exceptions.Exit(EXIT_REFUSED) from difference
    _tell(done, clock.monotonic() - began, output)


def _replay(
    folder: Folder,
    store: LevelStore,
    from_snapshot: Path | None,
    last: int,
    output: Output,
) -> Replayed:
    require_own_consensus("the chain", load_consensus(folder.snapshot))
    file = None if from_snapshot is None else _file_of(folder, from_snapshot)
    require_replayable(folder.snapshot, 0 if file is None else file.head.height)
    with Worker() as worker:
        state = worker.run(
            lambda: (
                begin_at_genesis(folder.snapshot, folder.genesis, store)
                if file is None
                else load_state(file, store)
            )
        )
        begun = state.head.height
        run = Replay(folder.snapshot, into(store), state, last)
        _drive(run, worker, last - begun, output)
        worker.run(run.require_same_state)
        return run.done


def _drive(run: Replay, worker: Worker, heights: int, output: Output) -> None:
    begun = run.done.height
    with output.progress("replaying", heights) as show:
        while worker.run(lambda: run.step(_STEP_HEADERS)):
            show(run.done.height - begun)


def check_bundle_file(
    file: Path, genesis_to: Path | None, options: WallOptions, output: Output
) -> None:
    """Execute a bundle's blocks, and compare all that it tells; `bundle check`."""
    clock = SystemClock()
    began = clock.monotonic()
    try:
        with tells_bundle_refusals(output), open_bundle(file) as bundle:
            if genesis_to is not None:
                _write_genesis(bundle, genesis_to)
            with (
                scratch_within_walls(Needs(), options, output) as (scratch, walls),
                LevelStore(scratch) as store,
            ):
                refuse_links(walls)
                done = _replay_bundle(bundle, store, output)
    except Differs as difference:
        _tell_difference(difference, output)
        raise click.exceptions.Exit(EXIT_REFUSED) from difference
    _tell(done, clock.monotonic() - began, output)


def _replay_bundle(bundle: Bundle, store: LevelStore, output: Output) -> Replayed:
    with Worker() as worker:
        state = worker.run(lambda: begin(bundle.genesis, store))
        run = replay_of(bundle, into(store), state)
        _drive(run, worker, bundle.head.height, output)
        return run.done


def _write_genesis(bundle: Bundle, path: Path) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            json.dump(bundle.genesis.document(), file, indent=2)
            file.write("\n")
    except OSError as error:
        raise click.UsageError(
            f"{path} cannot be written: {error.strerror or error}"
        ) from error


def _file_of(folder: Folder, path: Path) -> StateFile:
    """A state file of the folder's own chain."""
    file = check_state_file(path)
    held = load_header(folder.snapshot, file.head.height)
    if file.genesis.encode() != folder.genesis.encode() or held != file.head:
        raise StateFileRefused(
            f"{path} is of another chain than the folder, or of a height that it does "
            "not hold"
        )
    return file


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


def export_state(file: Path, data_dir: Path, height: int | None) -> None:
    """Write a chain's state at a height into a file; `snapshot export`."""
    output = Output()
    with folder_at(data_dir, output) as folder:
        try:
            head, snapshot = state_at(folder, height)
            count = write_state_file(file, folder.genesis, head, snapshot)
        except (LookupError, StateFileRefused) as refusal:
            raise click.UsageError(str(refusal)) from refusal
    output.line(f"{count} records of height {head.height} are in {file}")


def import_state(file: Path, data_dir: Path) -> None:
    """Make a chain's folder of a state file; `snapshot import`."""
    output = Output()
    try:
        found = check_state_file(file)
        with output.progress("importing", found.records) as show, Worker() as worker:
            worker.run(lambda: import_folder(found, data_dir, show))
    except (StateFileRefused, StoreError) as refusal:
        raise click.UsageError(str(refusal)) from refusal
    output.line(f"{data_dir} holds the chain from height {found.head.height} on")
