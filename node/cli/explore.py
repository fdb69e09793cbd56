"""`cowboy-devnet explore`: a chain in a bundle or a folder, looked at in a browser.

No node runs, and nothing is changed. What executes somebody else's chain is confined
first.
"""

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import uvloop

from node.archive.bundle import open_bundle
from node.cli.arguments import confine_option, memory_max_option
from node.cli.bundle_refusals import tells_bundle_refusals
from node.cli.offline import folder_at
from node.cli.output import Output
from node.cli.walls import WallOptions, scratch_within_walls
from node.config import ConfigError, Listen, parse_listen
from node.explorer.exploring import of_bundle, of_folder, serve_page
from node.explorer.resting_chain import RestingChain
from node.http.server import require_listenable
from node.runtime.confinement.walls import Needs, refuse_links
from node.runtime.memory_exhaustion import NoMemory
from node.runtime.types import CannotListen
from node.state.leveldb import LevelStore
from pvm.worker import Worker

__all__ = ["explore"]


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--http-listen",
    default="127.0.0.1:8080",
    metavar="HOST:PORT",
    help="Where the page is served; port 0 picks a free one.",
)
@confine_option
@memory_max_option
def explore(
    path: Path, http_listen: str, confinement: str, memory_max: str | None
) -> None:
    """Look at the chain in PATH, a bundle or a folder, in a browser; no node runs.

    A bundle is executed first, and must be what it says; a folder is read as it is, and
    no node may have it open. Nothing is changed. Ctrl-C ends it.
    """
    output = Output()
    try:
        listen = parse_listen(http_listen)
    except ConfigError as error:
        raise click.UsageError(f"--http-listen: {error}") from error
    options = WallOptions(confinement, memory_max)
    with _told(output):
        require_listenable(listen.host, listen.port)
        if path.is_dir():
            _explore_folder(path, listen, options, output)
        else:
            _explore_bundle(path, listen, options, output)


@contextmanager
def _told(output: Output) -> Iterator[None]:
    """What keeps the command from its work, in a sentence."""
    try:
        with tells_bundle_refusals(output):
            yield
    except (CannotListen, NoMemory) as refusal:
        raise click.UsageError(str(refusal)) from refusal


def _explore_folder(
    path: Path, listen: Listen, options: WallOptions, output: Output
) -> None:
    needs = Needs((path,), ports=(listen.port,))
    with (
        scratch_within_walls(needs, options, output) as (_, walls),
        folder_at(path, output) as folder,
        Worker() as worker,
    ):
        refuse_links(walls)
        opened = of_folder(folder, worker, walls.standing)
        _serve(opened, path, listen, output)


def _explore_bundle(
    path: Path, listen: Listen, options: WallOptions, output: Output
) -> None:
    needs = Needs(ports=(listen.port,))
    with (
        open_bundle(path) as bundle,
        scratch_within_walls(needs, options, output) as (at, walls),
        LevelStore(at) as store,
        Worker() as worker,
    ):
        refuse_links(walls)
        output.error(f"executing {bundle.blocks:,} blocks of {path}")
        opened = of_bundle(bundle, store, worker, walls.standing)
        _serve(opened, path, listen, output)


def _serve(
    opened: Awaitable[RestingChain], path: Path, listen: Listen, output: Output
) -> None:
    """The page of a chain that is to be opened, until it is told to end."""

    async def run() -> None:
        place = listen.host, listen.port
        await serve_page(await opened, str(path), place, announce)

    def announce(url: str) -> None:
        output.line(f"{path} is shown at {url}; Ctrl-C ends this")

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
