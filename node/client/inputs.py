"""Accounts, senders and amounts as callers name them, and what arguments may be.

Both chains, the one in this process and the one behind a connection, check with the
same functions what they are given, before anything happens: a refusal names the
argument and says what is wanted.
"""

import re
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from msgspec import Struct, field
from typing_extensions import override

from node.chain.advance import Target, target_of
from node.chain.block import Event, Header, Receipt, ReceiptKind, show_block
from node.chain.params import (
    ADDRESS_BYTES,
    STATE_KEY_BYTES_MAX,
    STATE_VALUE_BYTES_MAX,
    U64_MAX,
    U128_MAX,
)
from node.chain.transaction import SALT_BYTES
from node.client.exceptions import InvalidArgument
from node.client.sources import ActorSource
from node.primitives import codec
from node.primitives.amounts import parse_amount
from node.primitives.crypto import dev_private_key, public_key_address
from node.primitives.types import Address, Amount
from pvm import HostError, storage_key
from pvm.cbor import UnencodableValue
from pvm.language import SOURCE_BYTES_MAX

__all__ = [
    "Addressed",
    "BlockContent",
    "DevAccount",
    "FileSource",
    "Mined",
    "Sender",
    "Source",
    "Terms",
    "address_of",
    "amount_of",
    "check_bytes",
    "check_count",
    "check_id",
    "check_kind",
    "check_path",
    "check_salt",
    "check_target",
    "check_text",
    "dev_account",
    "given",
    "source_of",
    "state_entry",
]

_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})+")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

ID_BYTES_MAX = 64
"""Longer than any id of a timer or a transaction."""


class DevAccount(Struct, frozen=True):
    """A development account with funds from genesis; everybody knows its key (D42)."""

    index: int
    """Number of the account, from 0."""
    address: Address
    """Its address, 20 bytes."""
    private_key: bytes
    """Its private key, 32 bytes."""

    @property
    def label(self) -> str:
        """What it is called from the start."""
        return f"account {self.index}"

    @override
    def __repr__(self) -> str:
        return f"<{self.label} 0x{self.address.hex()}>"


def dev_account(index: int) -> DevAccount:
    """The development account with a number, from 0."""
    key = dev_private_key(index)
    return DevAccount(index, public_key_address(key), key)


class Addressed(Protocol):
    """An account, an actor or a wallet: whatever has an address."""

    @property
    def address(self) -> Address:
        """The address, 20 bytes."""
        ...


Sender = Addressed | bytes | str
"""Whom a caller names: something with an address, the 20 bytes, or `0x…` of them."""


class BlockContent(Protocol):
    """The content of a block, of a node or of a chain in this process."""

    @property
    def header(self) -> Header:
        """The header of the block."""
        ...

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The receipts of all that was executed, in order."""
        ...

    @property
    def events(self) -> tuple[Event, ...]:
        """The events, in order of execution."""
        ...


class Mined(Struct, frozen=True):
    """The content of a block, as a node tells it."""

    header: Header
    """The header of the block."""
    receipts: tuple[Receipt, ...]
    """The receipts of all that was executed, in order."""
    events: tuple[Event, ...]
    """The events, in order of execution."""

    @override
    def __repr__(self) -> str:
        return show_block(self.header, self.receipts, self.events)


class Terms(Struct, frozen=True):
    """Who sends a transaction, and what it may use; None is filled in."""

    sender: Sender
    cycles_limit: int | None = None
    cells_limit: int | None = None
    fees: Mapping[str, int] = field(default_factory=dict)
    """Base units a unit, by the names of `FEES`."""

    def check(self) -> None:
        """Look at every field.

        Raises:
            InvalidArgument: one that no transaction can have.
        """
        address_of(self.sender, "sender")
        for name in ("cycles_limit", "cells_limit"):
            value: int | None = getattr(self, name)
            if value is not None:
                check_count(name, value, 0)
        for name, price in self.fees.items():
            if name not in FEES:
                raise InvalidArgument(name, f"one of {', '.join(FEES)} is known", price)
            check_count(name, price, 0, U128_MAX)


FEES = (
    "max_fee_per_cycle",
    "max_priority_fee_per_cycle",
    "max_fee_per_cell",
    "max_priority_fee_per_cell",
)


def address_of(who: Sender, argument: str = "address") -> Address:
    """The address of whoever a caller names.

    Raises:
        InvalidArgument: it is none.
    """
    is_written = isinstance(who, bytes | str)
    address: object = _bytes_of(who) if is_written else getattr(who, "address", None)
    if not isinstance(address, bytes) or len(address) != ADDRESS_BYTES:
        wanted = (
            f"an account, an actor, a wallet or an address of {ADDRESS_BYTES} bytes is "
            f"wanted (of a text: 0x and {2 * ADDRESS_BYTES} hex digits)"
        )
        raise InvalidArgument(argument, wanted, who)
    return Address(address)


def _bytes_of(value: object) -> object:
    """The bytes of `0x…`, as everything prints them; else the value itself."""
    if isinstance(value, str) and _HEX.fullmatch(value) is not None:
        return bytes.fromhex(value[2:])
    return value


def amount_of(value: int | str, argument: str = "amount") -> Amount:
    """Base units, also of an amount such as "5 CBY".

    Raises:
        InvalidArgument: it is neither, or below 0 or above u128.
    """
    wanted = 'base units, or a text such as "5 CBY", from 0 to 2^128 - 1 base units'
    if isinstance(value, str):
        try:
            return parse_amount(value)
        except ValueError:
            raise InvalidArgument(argument, wanted, value) from None
    if type(value) is not int or not 0 <= value <= U128_MAX:
        raise InvalidArgument(argument, wanted, value)
    return Amount(value)


QUOTE_TERMS: Mapping[str, int] = MappingProxyType(
    {
        "height": U64_MAX,
        "gas_limit": U64_MAX,
        "expires_at": U64_MAX,
        "payload_bytes": 2**32 - 1,
        "max_fee_per_cycle": U128_MAX,
        "max_priority_fee_per_cycle": U128_MAX,
        "bid_fp": U128_MAX,
        "blocks": 2**32 - 1,
    }
)
"""What a quote can be told of a timer, as `schedule_timer` names it, and of how many of
the last blocks it is to tell; → the most of each."""


def check_terms(terms: Mapping[str, int]) -> dict[str, int]:
    """The terms of a quote.

    Raises:
        InvalidArgument: one is not known, of another type, or out of bounds.
    """
    for name in terms:
        if name not in QUOTE_TERMS:
            known = ", ".join(QUOTE_TERMS)
            raise InvalidArgument("terms", f"one of {known} is wanted", name)
    return {
        name: check_count(name, given, 0, QUOTE_TERMS[name])
        for name, given in terms.items()
    }


def check_count(argument: str, value: int, least: int = 1, most: int = U64_MAX) -> int:
    """A whole number within bounds.

    Raises:
        InvalidArgument: another type (bool is one), or out of bounds.
    """
    if type(value) is not int or not least <= value <= most:
        bound = "2^64 - 1" if most == U64_MAX else f"{most}"
        wanted = f"a whole number from {least} to {bound} is wanted"
        raise InvalidArgument(argument, wanted, value)
    return value


def check_bytes(argument: str, value: bytes) -> bytes:
    """Bytes, of whatever length.

    Raises:
        InvalidArgument: another type; a text is to be encoded by the caller.
    """
    if type(value) is not bytes:
        wanted = 'bytes are wanted (write b"…", or encode a text)'
        raise InvalidArgument(argument, wanted, value)
    return value


def check_id(argument: str, value: bytes | str) -> bytes:
    """The id of a timer or a transaction, also of `0x…`.

    Raises:
        InvalidArgument: no bytes, none of them or too many.
    """
    found = _bytes_of(value)
    if type(found) is not bytes or not 1 <= len(found) <= ID_BYTES_MAX:
        wanted = f"an id of 1 to {ID_BYTES_MAX} bytes is wanted, or 0x and hex digits"
        raise InvalidArgument(argument, wanted, value)
    return found


def check_salt(value: bytes) -> bytes:
    """What makes the address of a deployed actor differ from others'.

    Raises:
        InvalidArgument: not exactly 32 bytes.
    """
    if type(value) is not bytes or len(value) != SALT_BYTES:
        raise InvalidArgument("salt", f"{SALT_BYTES} bytes are wanted", value)
    return value


def check_kind(value: object) -> None:
    """Which receipts a caller wants.

    Raises:
        InvalidArgument: no kind of receipt.
    """
    if value is not None and not isinstance(value, ReceiptKind):
        names = ", ".join(kind.name for kind in ReceiptKind)
        raise InvalidArgument("kind", f"ReceiptKind.{{{names}}} is wanted", value)


def check_text(argument: str, value: object) -> str:
    """A text that UTF-8 can hold.

    Raises:
        InvalidArgument: another type, or a lone surrogate.
    """
    if isinstance(value, str) and not _LONE_SURROGATE.search(value):
        return value
    raise InvalidArgument(argument, "a text (str) is wanted", value)


def check_path(argument: str, value: str | PathLike[str]) -> Path:
    """A path of the file system.

    Raises:
        InvalidArgument: neither a text nor a path, or an empty one.
    """
    if isinstance(value, str | PathLike):
        text: object = fspath(value)  # of a path it may be bytes
        if isinstance(text, str) and text and "\0" not in text:
            return Path(check_text(argument, text))
    raise InvalidArgument(argument, "the path of a file is wanted", value)


def given(**named: int | None) -> dict[str, int]:
    """Of arguments those that a caller gave."""
    return {name: value for name, value in named.items() if value is not None}


def check_target(wanted: Mapping[str, int | bool], head: int = 0) -> Target:
    """Where to advance to, from a head: one target.

    Raises:
        InvalidArgument: not exactly one, or of another type.
    """
    try:
        return target_of(head, wanted)
    except TypeError as error:
        raise InvalidArgument("advance", str(error), dict(wanted)) from None


def state_entry(key: bytes | str, value: object) -> tuple[bytes, bytes | None]:
    """The raw key and the raw value of what is to be written into an actor's state.

    A str names an entry of `self.storage`, whose value is encoded as that does.

    Raises:
        InvalidArgument: a key or a value that no actor could write.
    """
    name = _state_key(key)
    data: object = value
    if isinstance(key, str) and value is not None:
        try:
            data = codec.encode(value)
        except UnencodableValue as error:
            reason = f"what canonical CBOR can hold is wanted: {error}"
            raise InvalidArgument("value", reason, value) from None
    if data is None:
        return name, None
    raw = check_bytes("value", data)  # type: ignore[arg-type]
    if len(raw) > STATE_VALUE_BYTES_MAX:
        reason = f"at most {STATE_VALUE_BYTES_MAX:,} bytes are wanted"
        raise InvalidArgument("value", reason, len(raw))
    return name, raw


def _state_key(key: bytes | str) -> bytes:
    if isinstance(key, str):
        try:
            return storage_key(check_text("key", key))
        except HostError:
            raise InvalidArgument("key", "a shorter name is wanted", key) from None
    name = check_bytes("key", key)
    if not 1 <= len(name) <= STATE_KEY_BYTES_MAX:
        reason = f"1 to {STATE_KEY_BYTES_MAX} bytes are wanted"
        raise InvalidArgument("key", reason, key)
    return name


Source = str | bytes | PathLike[str]
"""An actor's source as a caller gives it: the text itself, or the path of its file."""


class FileSource:
    """A source as it was read from its file, where by now another one may be."""

    __slots__ = ("_path", "content")

    def __init__(self, path: Path, content: bytes) -> None:
        self._path = path
        self.content = content

    def __fspath__(self) -> str:
        """The path of the file."""
        return str(self._path)


def source_of(source: Source) -> tuple[bytes, ActorSource]:
    """The bytes of an actor's source, and what its author knows of it.

    Raises:
        InvalidArgument: neither text, bytes nor the path of a file that can be read.
    """
    wanted = "an actor's source is wanted, or the file it is in: Path(…)"
    if isinstance(source, FileSource):
        return source.content, _in_file(source.content, Path(source))
    if isinstance(source, PathLike):
        return _source_in(check_path("source", source))
    if isinstance(source, str):
        if source.endswith(".py") and "\n" not in source:
            raise InvalidArgument("source", wanted, source)
        return check_text("source", source).encode(), ActorSource(source)
    if type(source) is not bytes:
        raise InvalidArgument("source", wanted, source)
    return source, ActorSource(source.decode("utf-8", "replace"))


def _source_in(path: Path) -> tuple[bytes, ActorSource]:
    """Of a file that is endless, not more is read than a source may have."""
    try:
        with path.open("rb") as file:
            code = file.read(SOURCE_BYTES_MAX + 1)
    except OSError as error:
        wanted = f"a file is wanted that can be read ({error.strerror})"
        raise InvalidArgument("source", wanted, path) from None
    if len(code) > SOURCE_BYTES_MAX:
        wanted = f"a file of at most {SOURCE_BYTES_MAX:,} bytes is wanted"
        raise InvalidArgument("source", wanted, path)
    return code, _in_file(code, path)


def _in_file(code: bytes, path: Path) -> ActorSource:
    return ActorSource(code.decode("utf-8", "replace"), str(path.resolve()))
