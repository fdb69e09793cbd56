"""`cowboy-devnet coverage`: which lines and branches of actors a chain's blocks ran.

The blocks of a bundle are executed again and watched. Those of a node are fetched as a
bundle first, so that a node does nothing for it but write its chain. What executes
somebody's chain is a process of its own, confined: this one only reads what that found,
as data, and has the files and the reports.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec import Struct

from node.archive.bundle import Bundle, open_bundle
from node.archive.replay import Differs
from node.cli import arguments
from node.cli.arguments import confine_option, memory_max_option
from node.cli.bundle_refusals import tells_bundle_refusals
from node.cli.output import Output
from node.cli.walls import WallOptions, fetched_bundle, worker_within_walls
from node.coverage.actor_files import ActorFiles, CoverageRefused
from node.coverage.bundle_coverage import cover_bundle
from node.coverage.executed import Executed, decode_executed
from node.coverage.watcher import CoverageWatcher
from node.state.memory import MemoryStore

__all__ = ["coverage"]


@click.command()
@click.argument(
    "bundle",
    required=False,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--from",
    "first",
    type=arguments.COUNT,
    default=1,
    metavar="H",
    help="The first height that counts.",
)
@click.option(
    "--to",
    "last",
    type=arguments.COUNT,
    metavar="H",
    help="The last height that counts.  [default: the head]",
)
@click.option(
    "--actors",
    "paths",
    multiple=True,
    metavar="PATH",
    help="A file or a folder of actors; as often as wanted. What did not execute "
    "counts, too.  [default: what executed of the current folder]",
)
@click.option(
    "--report",
    "reports",
    multiple=True,
    default=("term",),
    metavar="KIND[:PLACE]",
    help="term, term-missing, lcov, xml, json or html, and where it goes; as often as "
    "wanted.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=Path(".coverage.devnet"),
    metavar="FILE",
    help="coverage.py's data file, for `coverage combine`.",
)
@click.option(
    "--url",
    metavar="HOST:PORT",
    help="Where the node is, if no BUNDLE is given.  [default: as of `status`]",
)
@confine_option
@memory_max_option
@click.option("--executed-to", type=click.Path(path_type=Path), hidden=True)
def coverage(**given: object) -> None:
    """Execute the blocks of BUNDLE again: which lines and branches of actors run?

    Without BUNDLE it is the chain of a node, from its genesis on. Lines are those of
    the files whose content is that of an actor's code. What comes before the heights
    that count is executed, too. Needs coverage.py. Exit code 0: reported; 1: the bundle
    is damaged or another's; 2: it cannot be done.
    """
    options = _Options(**given)  # type: ignore[arg-type]
    try:
        files = ActorFiles(options.paths or (".",))
        with tells_bundle_refusals(Output()):
            if options.executed_to is not None:
                _execute(options, files, options.executed_to)
            else:
                _report(options, files)
    except CoverageRefused as refusal:
        raise click.UsageError(str(refusal)) from refusal


class _Options(Struct, frozen=True):
    """What the command was given."""

    bundle: Path | None
    first: int
    last: int | None
    paths: tuple[str, ...]
    reports: tuple[str, ...]
    data: Path
    url: str | None
    confinement: str
    memory_max: str | None
    executed_to: Path | None


def _report(options: _Options, files: ActorFiles) -> None:
    try:
        from node.coverage.reports import (  # noqa: PLC0415 - an extra
            CoverageReports,
            parse_report,
        )
    except ModuleNotFoundError as error:
        if error.name != "coverage":
            raise
        raise click.UsageError(
            "this needs coverage.py: pip install 'cowboy-devnet[coverage]'"
        ) from None
    reports = CoverageReports(options.data, list(map(parse_report, options.reports)))
    with tempfile.TemporaryDirectory(prefix="cowboy-coverage-") as name:
        folder = Path(name)
        bundle = options.bundle or fetched_bundle(folder, options.url)
        executed = _executed_in_walls(options, bundle, folder / "executed")
    written = reports.write(executed, files, has_unexecuted=bool(options.paths))
    output = Output()
    for line in written.told:
        output.error(line)
    if written.text:
        output.line(written.text.rstrip())
    if not written.is_whole:
        raise click.exceptions.Exit(click.UsageError.exit_code)


def _executed_in_walls(options: _Options, bundle: Path, to: Path) -> Executed:
    """What a process within walls found; it is believed nothing but its form."""
    done = subprocess.run(  # noqa: S603 - ourselves
        [
            *(sys.executable, "-P", "-m", "node", "coverage", str(bundle)),
            *("--executed-to", str(to), *_words(options)),
        ],
        check=False,
        stdout=subprocess.DEVNULL,
    )
    if done.returncode:
        raise click.exceptions.Exit(done.returncode)
    try:
        return decode_executed(to.read_bytes())
    except (OSError, ValueError) as error:
        raise click.UsageError(
            f"the process that executed the chain answered nothing of use: {error}"
        ) from error


def _words(options: _Options) -> Sequence[str]:
    words = [f"--from={options.first}", f"--confine={options.confinement}"]
    words += [f"--actors={path}" for path in options.paths]
    if options.last is not None:
        words.append(f"--to={options.last}")
    if options.memory_max is not None:
        words.append(f"--memory-max={options.memory_max}")
    return words


def _execute(options: _Options, files: ActorFiles, to: Path) -> None:
    """Execute a bundle within walls, and write what ran."""
    assert options.bundle is not None, "the process that starts this one gives it"
    watcher = CoverageWatcher(files.hashes)
    output = Output()
    wall_options = WallOptions(options.confinement, options.memory_max)
    try:
        with open_bundle(options.bundle) as bundle:
            heights = _heights(options, bundle)
            with (
                worker_within_walls(to.parent, wall_options, output) as worker,
                output.progress("executing", heights.stop - 1) as show,
            ):
                worker.run(
                    lambda: cover_bundle(bundle, MemoryStore(), watcher, heights, show)
                )
    except Differs as difference:
        raise click.UsageError(
            "the bundle is not what executing it gives, see `bundle check`: "
            f"{difference.lines[0]}"
        ) from difference
    to.write_bytes(watcher.executed.encode())


def _heights(options: _Options, bundle: Bundle) -> range:
    head, first = bundle.head.height, options.first
    last = head if options.last is None else options.last
    if not first <= last <= head:
        raise CoverageRefused(
            f"the chain has heights 1 to {head}: --from {first} and --to {last} "
            "are not in them, in this order"
        )
    return range(first, last + 1)
