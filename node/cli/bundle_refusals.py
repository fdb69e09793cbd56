"""How a bundle that is refused is told, and turned into an exit code."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from node.chain.bundle_errors import BundleFault, BundleRefused
from node.cli.connection import EXIT_REFUSED
from node.cli.output import Output

__all__ = ["tells_bundle_refusals"]

_OF_THE_SYSTEM = (BundleFault.FILE_EXISTS, BundleFault.FILE_UNUSABLE)


@contextmanager
def tells_bundle_refusals(output: Output) -> Iterator[None]:
    """End the command if a bundle is refused: 2 for its file, 1 for what is in it."""
    try:
        yield
    except BundleRefused as refusal:
        if refusal.fault in _OF_THE_SYSTEM:
            raise click.UsageError(str(refusal)) from refusal
        output.error(f"{refusal.fault}: {refusal}")
        raise click.exceptions.Exit(EXIT_REFUSED) from refusal
