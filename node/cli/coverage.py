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
    wish = _CoverageWish(**given)  # type: ignore[arg-type]
    try:
        files = ActorFiles(wish.paths or (".",))
        with tells_bundle_refusals(Output()):
            if wish.executed_to is not None:
                _execute(wish, files, wish.executed_to)
            else:
                _report(wish, files)
    except CoverageRefused as refusal:
        raise click.UsageError(str(refusal)) from refusal


class _CoverageWish(Struct, frozen=True):
    """The words of the command."""

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


def _report(wish: _CoverageWish, files: ActorFiles) -> None:
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
    reports = CoverageReports(wish.data, list(map(parse_report, wish.reports)))
    with tempfile.TemporaryDirectory(prefix="cowboy-coverage-") as name:
        folder = Path(name)
        bundle = wish.bundle or fetched_bundle(folder, wish.url)
        executed = _executed_in_walls(wish, bundle, folder / "executed")
    written = reports.write(executed, files, has_unexecuted=bool(wish.paths))
    output = Output()
    for line in written.told:
        output.error(line)
    if written.text:
        output.line(written.text.rstrip())
    if not written.is_whole:
        raise click.exceptions.Exit(click.UsageError.exit_code)


def _executed_in_walls(wish: _CoverageWish, bundle: Path, to: Path) -> Executed:
    """What a process within walls found; it is believed nothing but its form."""
    done = subprocess.run(  # noqa: S603 - ourselves
        [
            *(sys.executable, "-m", "node", "coverage", str(bundle)),
            *("--executed-to", str(to), *_words(wish)),
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


def _words(wish: _CoverageWish) -> Sequence[str]:
    words = [f"--from={wish.first}", f"--confine={wish.confinement}"]
    words += [f"--actors={path}" for path in wish.paths]
    if wish.last is not None:
        words.append(f"--to={wish.last}")
    if wish.memory_max is not None:
        words.append(f"--memory-max={wish.memory_max}")
    return words


def _execute(wish: _CoverageWish, files: ActorFiles, to: Path) -> None:
    """Execute a bundle within walls, and write what ran."""
    assert wish.bundle is not None, "the process that starts this one gives it"
    watcher = CoverageWatcher(files.hashes)
    output = Output()
    wall_options = WallOptions(wish.confinement, wish.memory_max)
    try:
        with open_bundle(wish.bundle) as bundle:
            heights = _heights(wish, bundle)
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


def _heights(wish: _CoverageWish, bundle: Bundle) -> range:
    head = bundle.head.height
    last = head if wish.last is None else wish.last
    if not wish.first <= last <= head:
        raise CoverageRefused(
            f"the chain has heights 1 to {head}: --from {wish.first} and --to {last} "
            "are not in them, in this order"
        )
    return range(wish.first, last + 1)
