"""Executing somebody's chain: its walls stand first, and it has one folder to do it in.

For commands on files, and for those that fetch a node's chain as a file; the walls are
those of `node.runtime.confinement`.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import replace

from node.chain.messages import forget_frames
from node.cli.output import Output
from node.config import ConfigError, parse_memory_max
from node.runtime.confinement.walls import (
    CannotConfine,
    Needs,
    Walls,
    confine,
    memory_max_default,
    refuse_links,
)
from node.runtime.settings import Confinement
from pvm import HostMemoryExhausted, Worker

__all__ = [
    "WallOptions",
    "fetched_bundle",
    "scratch_within_walls",
    "worker_within_walls",
]


class WallOptions(Struct, frozen=True):
    """What the options `--confine` and `--memory-max` say."""

    confinement: str
    memory_max: str | None


def _confine(needs: Needs, options: WallOptions, output: Output) -> Walls:
    choice = Confinement(options.confinement)
    try:
        walls = confine(
            replace(
                needs,
                memory_max=(
                    memory_max_default()
                    if options.memory_max is None
                    else parse_memory_max(options.memory_max)
                ),
            ),
            choice,
        )
    except (CannotConfine, ConfigError) as error:
        raise click.UsageError(str(error)) from error
    if choice is Confinement.AUTO and walls.missing:
        output.error(walls.warnings()[0])
    return walls


@contextmanager
def scratch_within_walls(
    needs: Needs, options: WallOptions, output: Output
) -> Iterator[tuple[Path, Walls]]:
    """A folder to execute in, and the walls that stand from here on."""
    with tempfile.TemporaryDirectory(prefix="cowboy-replay-") as name:
        path = Path(name)
        more = replace(needs, folders=(*needs.folders, path), removed=(path,))
        walls = _confine(more, options, output)
        with _no_memory_told():
            yield path, walls


@contextmanager
def worker_within_walls(
    folder: Path, options: WallOptions, output: Output
) -> Iterator[Worker]:
    """A worker to execute on, in a process that has only one folder, to remove it."""
    walls = _confine(Needs((folder,), removed=(folder,)), options, output)
    refuse_links(walls)
    with _no_memory_told(), Worker() as worker:
        yield worker


def fetched_bundle(folder: Path, url: str | None) -> Path:
    """The chain of a node, brought by a process that may reach it."""
    path = folder / "chain.bundle"
    where = [] if url is None else ["--url", url]
    done = subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, "-P", "-m", "node", "bundle", "export", str(path), *where],
        check=False,
        stdout=subprocess.DEVNULL,
    )
    if done.returncode:
        raise click.exceptions.Exit(done.returncode)
    return path


@contextmanager
def _no_memory_told() -> Iterator[None]:
    """A chain that needs more memory than there is: neither sound nor unsound."""
    try:
        yield
    except (HostMemoryExhausted, MemoryError) as error:
        forget_frames(error)
    else:
        return
    raise click.UsageError(
        "there is no memory left to execute this chain: give it a larger --memory-max"
    )
