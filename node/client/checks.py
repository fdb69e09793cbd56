"""What arguments may be, by their names: one table for every method of every chain.

A parameter of a name means the same wherever it stands, so its check stands here once.
A method makes it before anything else: nothing was sent, nothing happened.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import isfinite
from typing import Final, get_args

from node.chain.transaction import Instruction
from node.client.exceptions import InvalidArgument
from node.client.inputs import (
    address_of,
    amount_of,
    check_bytes,
    check_count,
    check_id,
    check_kind,
    check_path,
    check_salt,
    check_text,
    source_of,
)
from node.query.height_ranges import BUCKETS_MAX
from pvm import STORAGE_PREFIX

__all__ = [
    "CHANGES_DEFAULT",
    "Checks",
    "check_api",
    "check_chain",
    "check_connection",
    "check_heights",
    "check_prefix",
    "check_range",
]

_Check = Callable[[str, object], object]

CHANGES_DEFAULT = 1_000
"""Of an actor's storage that one answer tells."""

_CHANGES_MAX = 10_000
_ENUM_MAX = 2**31 - 1
_UINT32_MAX = 2**32 - 1
_INSTRUCTIONS: Final[tuple[type, ...]] = get_args(Instruction)


class Checks:
    """Checks by the names of arguments; called with the arguments themselves.

    A method calls it in its first lines: `check_chain(actor=actor, handler=handler)`.
    """

    __slots__ = ("_checks",)

    def __init__(self, checks: Mapping[str, _Check]) -> None:
        self._checks = checks

    def __call__(self, **given: object) -> None:
        """Check each argument by its name.

        Raises:
            InvalidArgument: one is not what its name means.
        """
        for name, value in given.items():
            self._checks[name](name, value)

    def optional(self, **given: object) -> None:
        """Check each argument that was given; None stands for one that was not.

        Raises:
            InvalidArgument: one is not what its name means.
        """
        for name, value in given.items():
            if value is not None:
                self._checks[name](name, value)


# --- one check a kind of argument ----------------------------------------------------


def _least(least: int) -> _Check:
    return partial(check_count, least=least)


def _flag(name: str, value: object) -> None:
    if type(value) is not bool:
        raise InvalidArgument(name, "True or False is wanted", value)


def _enumerated(name: str, value: object) -> None:
    check_count(name, value, 0, _ENUM_MAX)  # type: ignore[arg-type]


def _uint32(name: str, value: object) -> None:
    check_count(name, value, 0, _UINT32_MAX)  # type: ignore[arg-type]


def _instruction(name: str, value: object) -> None:
    if not isinstance(value, _INSTRUCTIONS):
        names = ", ".join(kind.__name__ for kind in _INSTRUCTIONS)
        raise InvalidArgument(name, f"one of {names} is wanted", value)


def _seconds(name: str, value: object) -> None:
    is_number = type(value) in (int, float) and isfinite(value)  # type: ignore[arg-type]
    if not is_number or value <= 0:  # type: ignore[operator]
        raise InvalidArgument(name, "seconds, more than 0, are wanted", value)


def check_connection(url: object, timeout: object) -> None:
    """Where a node is said to be, and how long a call to it may take.

    Raises:
        InvalidArgument: no text with a host in it, or no number above 0.
    """
    text = check_text("url", url)
    if not text.rpartition("://")[2].strip("/"):
        raise InvalidArgument("url", "`host:port` is wanted", url)
    _seconds("timeout", timeout)


def _key(name: str, value: object) -> None:
    if isinstance(value, str):
        check_text(name, value)
    else:
        check_bytes(name, value)  # type: ignore[arg-type]


def _message(name: str, value: object) -> None:
    """A message of the API, or a filter that makes one."""
    if not (hasattr(value, "DESCRIPTOR") or hasattr(value, "request")):
        raise InvalidArgument(name, "a message or a filter is wanted", value)


def _messages(name: str, value: object) -> None:
    if not isinstance(value, list | tuple):
        raise InvalidArgument(name, "a list of messages is wanted", value)
    for each in value:
        _message(name, each)


def _bytes_each(name: str, value: object) -> None:
    if not isinstance(value, list | tuple):
        raise InvalidArgument(name, "a list of bytes is wanted", value)
    for each in value:
        check_bytes(name, each)


def _subject(name: str, value: object) -> None:
    if not isinstance(value, bytes):
        _message(name, value)


def _parts(name: str, value: object) -> None:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidArgument(name, "parts, each bytes, are wanted", value)


def _wallet(name: str, value: object) -> None:
    if not hasattr(value, "sign_encoded"):
        raise InvalidArgument(name, "a wallet is wanted", value)


def _whole(name: str, value: object) -> None:
    if type(value) is not int:
        raise InvalidArgument(name, "a whole number of base units is wanted", value)


def _named(check: Callable[[object, str], object]) -> _Check:
    return lambda name, value: check(value, name)


_WHO: Final = _named(address_of)  # type: ignore[arg-type]
_AMOUNT: Final = _named(amount_of)  # type: ignore[arg-type]

_CHAIN: Final[Mapping[str, _Check]] = {
    "actor": _WHO,
    "address": _WHO,
    "amount": _AMOUNT,
    "blocks": _least(1),
    "cells_limit": _least(0),
    "cycles_limit": _least(0),
    "execution_id": check_id,  # type: ignore[dict-item]
    "expect_failure": _flag,
    "fee_payer": _WHO,
    "from_height": _least(0),
    "file": check_path,  # type: ignore[dict-item]
    "handler": check_text,
    "height": _least(0),
    "instruction": _instruction,
    "key": _key,
    "kind": lambda _name, value: check_kind(value),
    "payload": check_bytes,  # type: ignore[dict-item]
    "raw": check_bytes,  # type: ignore[dict-item]
    "resume_after": _message,
    "salt": lambda _name, value: check_salt(value),  # type: ignore[arg-type]
    "sender": _WHO,
    "strict": _flag,
    "source": lambda _name, value: source_of(value),  # type: ignore[arg-type]
    "timeout": _seconds,
    "timer_id": check_id,  # type: ignore[dict-item]
    "to": _WHO,
    "to_height": _least(0),
    "topic": check_text,
    "transaction_id": check_id,  # type: ignore[dict-item]
    "value": _AMOUNT,
    "wanted": _message,
    "who": _WHO,
}
check_chain: Final = Checks(_CHAIN)
"""Of `Devnet`, `Client` and `AsyncClient`."""


def check_heights(from_height: int | None, to_height: int | None) -> None:
    """A range of heights, both included, of which either may be left open.

    Raises:
        InvalidArgument: one is no height, or the first is above the last.
    """
    check_chain.optional(from_height=from_height, to_height=to_height)
    if from_height is not None and to_height is not None and from_height > to_height:
        wanted = f"at most to_height, {to_height}, is wanted"
        raise InvalidArgument("from_height", wanted, from_height)


def check_range(
    from_height: int | None,
    to_height: int | None,
    *,
    buckets: int = 1,
    changes: int = 1,
) -> None:
    """What a range of heights may be, and how much may be told of it.

    Raises:
        InvalidArgument: something is of a wrong type or out of range.
    """
    check_heights(from_height, to_height)
    check_count("buckets", buckets, 1, BUCKETS_MAX)
    check_count("changes", changes, 1, _CHANGES_MAX)


def check_prefix(prefix: bytes | str) -> bytes:
    """What raw keys begin with; a text begins names in `self.storage`.

    Raises:
        InvalidArgument: another type.
    """
    if isinstance(prefix, str):
        return STORAGE_PREFIX + check_text("prefix", prefix).encode()
    return check_bytes("prefix", prefix)


_BYTES: Final[_Check] = check_bytes  # type: ignore[assignment]

_API: Final[Mapping[str, _Check]] = {
    **_CHAIN,
    **dict.fromkeys(("actor", "address", "as_sender", "block_hash", "prefix"), _BYTES),
    **dict.fromkeys(("sender", "target", "timer_id", "to", "transaction"), _BYTES),
    "actors": _bytes_each,
    "amount": _whole,
    "blocks": _least(0),
    "buckets": _uint32,
    "changes": _uint32,
    "earlier": _messages,
    "include_supply": _flag,
    "is_descending": _flag,
    "mode": _enumerated,
    "name": check_text,
    "pace_ms": _least(0),
    "parts": _parts,
    "put_offs_to": _least(0),
    "subject": _subject,
    "to_height": _least(0),
    "transaction_id": _BYTES,
    "trace": _flag,
    "view": _enumerated,
    "wallet": _wallet,
}
check_api: Final = Checks(_API)
"""Of `Api` and `AsyncApi`: what the wire cannot carry. The node refuses the rest."""
