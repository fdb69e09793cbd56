"""`cowboy-devnet dev`: the words of the command.

Rules: Ctrl-C, or SIGTERM, ends the loop with all that it started, and with exit code 0.
Exit codes: 1 the node cannot be used, 2 usage, 3 no node at --url.
"""

from collections.abc import Iterable
from pathlib import Path

import click
from msgspec import Struct

from node.cli import arguments
from node.cli.arguments import json_option
from node.cli.connection import (
    EXIT_REFUSED,
    EXIT_UNREACHABLE,
    endpoint_of,
    tls_ca_option,
    token_file_option,
)
from node.cli.loop.dev_loop import DevLoop
from node.cli.loop.live_actor import DeploymentTerms, LiveActor
from node.cli.loop.node_link import NodeLink, OwnNode
from node.cli.loop.signals import ended_by_signals, ignore_endings
from node.cli.loop.suite import Suite
from node.cli.loop.telling import Teller
from node.cli.output import JsonForm, Output
from node.client.exceptions import NodeError, NodeUnreachable
from node.rpc.v1 import queries_pb2
from node.runtime.clock import SystemClock
from node.testing.process import NodeNotStarted

__all__ = ["dev"]

_TESTS = Path("tests")


@click.command()
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(dir_okay=False, path_type=Path),
)
@click.option(
    "--url",
    metavar="HOST:PORT",
    help="The node to deploy on.  [default: one that ends with this command]",
)
@tls_ca_option
@token_file_option
@click.option(
    "--fresh", is_flag=True, help="Deploy a new actor at each save: nothing is kept."
)
@click.option(
    "--tests",
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="What pytest runs after a save.  [default: the folder tests, if it is here]",
)
@click.option("--no-tests", is_flag=True, help="Run none.")
@click.option(
    "--rehearse",
    is_flag=True,
    help="Tell what a save would have changed in the blocks so far.",
)
@click.option(
    "--payload",
    type=arguments.payload,
    default="",
    help="What the constructors get.",
)
@click.option(
    "--value",
    type=arguments.amount,
    default="0",
    help='What each actor gets when it is deployed, such as "5 CBY".',
)
@json_option
def dev(**given: object) -> None:
    """Deploy the actor of each FILE, and again whenever it is saved, until Ctrl-C.

    Each save is checked; then the actor has the new code, with its storage, and pytest
    runs the project's tests. What is refused leaves the old code where it is.
    """
    options = _Options(**given)  # type: ignore[arg-type]
    if options.no_tests and options.tests is not None:
        raise click.UsageError("--tests says what to run, and --no-tests to run none")
    output = Output(options.form)
    teller = Teller(output)
    endpoint = (
        None
        if options.url is None
        else endpoint_of(options.url, options.tls_ca, options.token_file)
    )
    with ended_by_signals():
        link = NodeLink(teller, OwnNode() if endpoint is None else endpoint)
        try:
            status = _opened(link, output)
            _tell_node(teller, link, status)
            actors, suite = _actors(options, teller), _suite(options, teller)
            loop = DevLoop(link, actors, suite, teller, is_rehearsing=options.rehearse)
            loop.run(SystemClock())
        except KeyboardInterrupt:
            ignore_endings()
            teller.say("ended", "ended")
        finally:
            link.close()


class _Options(Struct, frozen=True):
    """What the command was given."""

    files: tuple[Path, ...]
    url: str | None
    tls_ca: Path | None
    token_file: Path | None
    fresh: bool
    tests: Path | None
    no_tests: bool
    rehearse: bool
    payload: bytes
    value: int
    form: JsonForm | None


def _opened(link: NodeLink, output: Output) -> queries_pb2.GetStatusResponse:
    """The node, which answers."""
    try:
        return link.open()
    except NodeUnreachable as error:
        output.error(f"{error}")
        raise click.exceptions.Exit(EXIT_UNREACHABLE) from error
    except (NodeError, NodeNotStarted) as error:
        output.error(f"{error}")
        raise click.exceptions.Exit(EXIT_REFUSED) from error


def _tell_node(
    teller: Teller, link: NodeLink, status: queries_pb2.GetStatusResponse
) -> None:
    url, height = link.client.api.url, status.head.height
    text = f"the node is at {url}, at height {height}; Ctrl-C ends"
    if link.page:
        text += f"\nits page is at {link.page}"
    if not status.dev:
        text += "\nwithout development: the owner upgrades, and `upgrade` runs"
    if status.mining_mode == queries_pb2.MINING_MODE_MANUAL:
        text += "\nit makes blocks by hand: `cowboy-devnet mining instant` changes that"
    teller.say("node", text, url=url, height=height, page=link.page or None)


def _actors(options: _Options, teller: Teller) -> list[LiveActor]:
    """An actor for each file; a file that is named twice is one."""
    terms = DeploymentTerms(options.payload, options.value, options.fresh)
    actors: dict[Path, LiveActor] = {}
    names: set[str] = set()
    for path in options.files:
        place = path.absolute()
        if place in actors:
            teller.say("twice", f"{path} is named twice: it is one actor")
            continue
        name = _free_name(path.stem, names)
        if name != path.stem:
            teller.say("name", f"{path} is called {name}: another file is {path.stem}")
        names.add(name)
        actors[place] = LiveActor(path, name, terms)
    return list(actors.values())


def _free_name(stem: str, names: Iterable[str]) -> str:
    number, name = 1, stem
    while name in names:
        number += 1
        name = f"{stem} {number}"
    return name


def _suite(options: _Options, teller: Teller) -> Suite:
    if options.no_tests:
        return Suite(None)
    if options.tests is None and not _TESTS.is_dir():
        text = "there is no folder `tests` here: --tests PATH names what pytest runs"
        teller.say("no_tests", text)
    return Suite(options.tests or _TESTS)
