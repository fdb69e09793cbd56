"""`cowboy-devnet console`: Python's prompt on a chain, with a way back.

The chain is one of this process, new or a bundle's, or that of a node. Rules: what is
typed is the user's own program and runs as one; nothing of it goes to a node but calls
of the API. Exit codes: 0 left, 1 a statement of a pipe failed, 2 usage, 3 no node.
"""

import sys
from pathlib import Path

import click
from click.core import ParameterSource
from msgspec import Struct

from node.cli.bundle_refusals import tells_bundle_refusals
from node.cli.connection import (
    EXIT_REFUSED,
    EXIT_UNREACHABLE,
    endpoint_of,
    tls_ca_option,
    token_file_option,
)
from node.cli.labels import labels_option
from node.cli.output import Output
from node.client._sync.client import Client
from node.client.exceptions import NodeError, NodeUnreachable
from node.client.labels import Labels
from node.primitives.types import Address
from node.testing.console.prompt import Prompt
from node.testing.devnet import Devnet

__all__ = ["console"]


@click.command()
@click.option(
    "--bundle",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Begin with the chain in FILE, in this process.",
)
@click.option(
    "--url",
    metavar="HOST:PORT",
    help="Be on the node that is there.  [default: a new chain in this process]",
)
@tls_ca_option
@token_file_option
@labels_option
@click.pass_context
def console(context: click.Context, /, **given: object) -> None:
    """Open Python's prompt on a chain: try, undo, and save the session as a test.

    Without --url and --bundle the chain is a new one in this process, at genesis. What
    comes through a pipe is executed as it would be at the prompt, up to the first
    statement that fails.
    """
    options = _Options(**given)  # type: ignore[arg-type]
    is_variable = context.get_parameter_source("url") is ParameterSource.ENVIRONMENT
    if options.bundle is not None and options.url is not None and not is_variable:
        raise click.UsageError("--bundle and --url are two chains: give one of them")
    output = Output()
    try:
        with _chain(options, output) as chain:
            for address, name in options.labels.items():
                chain.label(Address(address), name)
            code = Prompt(chain, sys.stdin, sys.stdout, sys.stderr).run()
    except NodeUnreachable as error:
        output.error(f"{error}")
        raise click.exceptions.Exit(EXIT_UNREACHABLE) from error
    except NodeError as error:
        output.error(f"{error}")
        raise click.exceptions.Exit(EXIT_REFUSED) from error
    if code:
        raise click.exceptions.Exit(code)


class _Options(Struct, frozen=True):
    """What the command was given."""

    bundle: Path | None
    url: str | None
    tls_ca: Path | None
    token_file: Path | None
    labels: Labels


def _chain(options: _Options, output: Output) -> Devnet | Client:
    """The chain that is wanted; of failing fires it tells at once, as in a test."""
    if options.bundle is not None:
        with tells_bundle_refusals(output):
            chain = Devnet.from_bundle(options.bundle)
        chain.is_strict = True
        return chain
    if options.url is not None:
        endpoint = endpoint_of(options.url, options.tls_ca, options.token_file)
        return Client(
            options.url, tls_ca=endpoint.tls_ca, token=endpoint.token, strict=True
        )
    return Devnet(strict=True)
