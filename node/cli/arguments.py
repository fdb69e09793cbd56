"""Arguments of commands: addresses, payloads, amounts, ids, senders.

A wrong one is a usage error (exit code 2) with a sentence.
"""

import json
from pathlib import Path

import click
from msgspec import Struct

from node.chain.params import ADDRESS_BYTES, U64_MAX
from node.cli.labels import labelled
from node.cli.output import JsonForm
from node.config import ConfigError, parse_amount, parse_duration_ms
from node.primitives.crypto import dev_private_key, public_key_address
from node.primitives.types import Address
from node.rpc.limits import RpcLimits
from node.runtime.settings import Confinement

__all__ = [
    "COUNT",
    "HEIGHT",
    "Sender",
    "address",
    "amount",
    "at_option",
    "confine_option",
    "data_dir_option",
    "duration",
    "file_bytes",
    "hash32",
    "json_option",
    "memory_max_option",
    "payload",
    "sender",
]

confine_option = click.option(
    "--confine",
    "confinement",
    type=click.Choice([choice.value for choice in Confinement]),
    envvar="COWBOY_DEVNET_CONFINE",
    default=Confinement.AUTO.value,
    help="Walls around what is executed: those of the kernel, all of it, none.",
)
"""For commands that execute a chain which may be somebody else's."""

memory_max_option = click.option(
    "--memory-max",
    metavar="SIZE|off",
    envvar="COWBOY_DEVNET_MEMORY_MAX",
    help="Memory it may use (2GiB).  [default: 4GiB, at most half of the machine's]",
)
"""Likewise."""

data_dir_option = click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    default=Path("./devnet-data"),
    help="Folder of the chain; no node may have it open.",
)
"""For commands on the folder of a chain."""

_HASH_BYTES = 32

HEIGHT = click.IntRange(0, U64_MAX)
COUNT = click.IntRange(1, U64_MAX)

at_option = click.option(
    "--at",
    "at_height",
    type=HEIGHT,
    help="State after this block.  [default: the head's]",
)
"""For commands that read the state: each node keeps that of its last blocks."""


def _json_form(text: str) -> JsonForm | None:
    """Which JSON is printed; the variable says it as `1`, too."""
    if text.lower() in {"", "0", "false", "no", "off"}:
        return None
    if text.lower() in {"1", "true", "yes", "on", "human"}:
        return JsonForm.HUMAN
    if text == JsonForm.PROTO.value:
        return JsonForm.PROTO
    raise click.BadParameter(f"{text!r} is no form: --json, or --json=proto")


json_option = click.option(
    "--json",
    "form",
    type=_json_form,
    envvar="COWBOY_DEVNET_JSON",
    metavar="[=proto]",
    help="Print JSON: what one command prints, the next accepts; or protobuf's form.",
)


class Sender(Struct, frozen=True):
    """Who signs; without a key the node is asked to take his name (D41)."""

    address: Address
    private_key: bytes | None


def address(text: str) -> Address:
    """20 bytes as hex, or the number of a development account."""
    key = _dev_key(text)
    if key is not None:
        return public_key_address(key)
    data = labelled(text) or _hex(text)
    if data is None or len(data) != ADDRESS_BYTES:
        raise click.BadParameter(
            f"{text!r} is no address: 0x and 40 hex digits, or the number of a "
            "development account"
        )
    return Address(data)


def sender(text: str) -> Sender:
    """The number of a development account, a private key, or an address."""
    key = _dev_key(text)
    data = key if key is not None else labelled(text) or _hex(text)
    try:
        if data is not None and len(data) == _HASH_BYTES:
            return Sender(public_key_address(data), data)
    except ValueError:
        data = None  # zero, or not below the order of the curve
    if data is None or len(data) != ADDRESS_BYTES:
        raise click.BadParameter(
            "a sender is the number of a development account, a private key (0x and 64 "
            "hex digits), or an address to be impersonated"
        )
    return Sender(Address(data), None)


def hash32(text: str) -> bytes:
    """32 bytes as hex."""
    data = _hex(text)
    if data is None or len(data) != _HASH_BYTES:
        raise click.BadParameter(f"{text!r} is not 0x and 64 hex digits")
    return data


def payload(text: str) -> bytes:
    """Bytes of a text, of `0x…`, of `@file`, or of `json:{…}`."""
    try:
        return _payload(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no payload: {error}") from error


def amount(text: str) -> int:
    """Base units of `5 CBY`, or of base units."""
    try:
        return parse_amount(text)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error


def duration(text: str) -> int:
    """Milliseconds of `250ms` or `1s`."""
    try:
        milliseconds = parse_duration_ms(text)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error
    if milliseconds > U64_MAX:
        raise click.BadParameter(f"{text!r} is longer than any chain: 2^64 ms end it")
    return milliseconds


def file_bytes(path: Path, bytes_max: int) -> bytes:
    """What is in a file; of one that is longer, or endless, not more is read."""
    try:
        with path.open("rb") as file:
            data = file.read(bytes_max + 1)
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > bytes_max:
        raise click.BadParameter(f"{path} has more than {bytes_max:,} bytes")
    return data


def _payload(text: str) -> bytes:
    if text.startswith("@"):
        return file_bytes(Path(text[1:]), RpcLimits().request_bytes_max)
    if text.startswith("json:"):
        # As an actor's json module would write it: what it says, without the spaces.
        return json.dumps(json.loads(text[5:]), separators=(",", ":")).encode()
    if text.startswith("0x"):
        return bytes.fromhex(text[2:])
    return text.encode()


def _hex(text: str) -> bytes | None:
    try:
        return bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        return None


def _dev_key(text: str) -> bytes | None:
    is_number = text.isascii() and text.isdecimal() and len(text) <= len("999")
    return dev_private_key(int(text)) if is_number else None
