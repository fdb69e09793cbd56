"""`--labels FILE`: names of addresses, which tables show and arguments may be."""

import json
from pathlib import Path

import click

from node.chain.params import ADDRESS_BYTES
from node.client.exceptions import InvalidArgument
from node.client.inputs import dev_account
from node.client.labels import Labels
from node.primitives.types import Address

__all__ = ["labelled", "labels_option"]

_KEY = "node.cli.labels"
"""Where a context has the names, for the arguments that are read after them."""

_BYTES_MAX = 2**20
_ACCOUNTS_NAMED = 10


def labelled(text: str) -> Address | None:
    """The address that has a name in the file that this command was given."""
    context = click.get_current_context(silent=True)
    labels = None if context is None else context.meta.get(_KEY)
    return labels.address(text) if isinstance(labels, Labels) else None


def _load(
    context: click.Context, _option: click.Parameter, path: Path | None
) -> Labels:
    labels = Labels()
    if path is not None:
        _read(labels, path)
        for index in range(_ACCOUNTS_NAMED):
            account = dev_account(index)
            labels.suggest(account.address, account.label)
    context.meta[_KEY] = labels
    return labels


def _read(labels: Labels, path: Path) -> None:
    """Names of addresses from a file.

    Raises:
        BadParameter: it cannot be read, or says something else.
    """
    try:
        with path.open("rb") as file:
            named = json.loads(file.read(_BYTES_MAX))
        for name, text in dict(named).items():
            labels.give(_address(text), name)
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be read: {error.strerror}") from error
    except InvalidArgument as error:
        raise click.BadParameter(f"{path}: {error}") from error
    except (ValueError, TypeError, RecursionError) as error:
        wanted = 'an object in JSON is wanted, such as {"treasury": "0x…"}'
        raise click.BadParameter(f"{path}: {wanted}") from error


def _address(text: object) -> Address:
    """20 bytes as hex.

    Raises:
        ValueError: anything else.
    """
    data = bytes.fromhex(text.removeprefix("0x")) if isinstance(text, str) else b""
    if len(data) != ADDRESS_BYTES:
        raise ValueError("no address")
    return Address(data)


labels_option = click.option(
    "--labels",
    type=click.Path(path_type=Path),
    callback=_load,
    is_eager=True,
    metavar="FILE",
    help='Names of addresses, as JSON: {"treasury": "0x…"}. Tables show them, and '
    "arguments may be names, too.",
)
