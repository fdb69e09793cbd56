"""What arguments may be, by their names: one table for every method of every chain.

A parameter of a name means the same wherever it stands, so its check stands here once
and is made before the method begins: nothing was sent, nothing happened. None stands
for what was not given where it is the default.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from itertools import chain
from math import isfinite
from typing import Concatenate, Final, ParamSpec, TypeVar, get_args

from node.chain.transaction import Instruction
from node.client.failures import InvalidArgument
from node.client.values import (
    address_of,
    amount_of,
    check_bytes,
    check_count,
    check_id,
    check_kind,
    check_path,
    check_salt,
    check_text,
    code_of,
)

__all__ = ["API_CHECKS", "CHAIN_CHECKS", "checked"]

_Kind = TypeVar("_Kind")
_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")
_Check = Callable[[str, object], object]

_ENUM_MAX = 2**31 - 1
_INSTRUCTIONS: Final[tuple[type, ...]] = get_args(Instruction)


def checked(
    checks: Mapping[str, _Check], first: Callable[[_Kind], object] | None = None
) -> Callable[[type[_Kind]], type[_Kind]]:
    """Have all public methods of a class look at their arguments; a decorator.

    `first` is called before each of them but `close`, if it is given.
    """

    def decorate(kind: type[_Kind]) -> type[_Kind]:
        for name in dir(kind):
            method = inspect.getattr_static(kind, name)
            is_public = not name.startswith("_") and inspect.isfunction(method)
            if is_public and method is not first:
                begin = None if name == "close" else first
                setattr(kind, name, _looking(method, checks, begin))
        return kind

    return decorate


def _looking(
    method: Callable[Concatenate[_Kind, _Given], _Answer],
    checks: Mapping[str, _Check],
    first: Callable[[_Kind], object] | None,
) -> Callable[Concatenate[_Kind, _Given], _Answer]:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    wanted = {
        each.name: checks[each.name]
        for each in parameters
        if each.name in checks and each.kind is not each.VAR_KEYWORD
    }
    optional = {each.name for each in parameters if each.default is None}
    if not wanted and first is None:
        return method
    places = [each.name for each in parameters]

    @wraps(method)
    def look(self: _Kind, /, *args: _Given.args, **named: _Given.kwargs) -> _Answer:
        if first is not None:
            first(self)
        given = chain(zip(places, args, strict=False), named.items())
        for name, value in given if args else named.items():
            if name in wanted and (value is not None or name not in optional):
                wanted[name](name, value)
        return method(self, *args, **named)

    return look


# --- one check a kind of argument ----------------------------------------------------


def _least(least: int) -> _Check:
    return partial(check_count, least=least)


def _flag(name: str, value: object) -> None:
    if type(value) is not bool:
        raise InvalidArgument(name, "True or False is wanted", value)


def _enumerated(name: str, value: object) -> None:
    check_count(name, value, 0, _ENUM_MAX)  # type: ignore[arg-type]


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

CHAIN_CHECKS: Final[Mapping[str, _Check]] = {
    "actor": _WHO,
    "address": _WHO,
    "amount": _AMOUNT,
    "blocks": _least(1),
    "cells_limit": _least(0),
    "cycles_limit": _least(0),
    "expect_failure": _flag,
    "fee_payer": _WHO,
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
    "source": lambda _name, value: code_of(value),  # type: ignore[arg-type]
    "timeout": _seconds,
    "timer_id": check_id,  # type: ignore[dict-item]
    "to": _WHO,
    "topic": check_text,
    "transaction_id": check_id,  # type: ignore[dict-item]
    "value": _AMOUNT,
    "wanted": _message,
    "who": _WHO,
}
"""Of `Devnet`, `Client` and `AsyncClient`."""

_BYTES: Final[_Check] = check_bytes  # type: ignore[assignment]

API_CHECKS: Final[Mapping[str, _Check]] = {
    **CHAIN_CHECKS,
    **dict.fromkeys(("actor", "address", "as_sender", "block_hash", "prefix"), _BYTES),
    **dict.fromkeys(("sender", "timer_id", "to", "transaction"), _BYTES),
    "amount": _whole,
    "blocks": _least(0),
    "earlier": _messages,
    "from_height": _least(0),
    "include_supply": _flag,
    "is_descending": _flag,
    "mode": _enumerated,
    "name": check_text,
    "pace_ms": _least(0),
    "parts": _parts,
    "put_offs_to": _least(0),
    "subject": _subject,
    "transaction_id": _BYTES,
    "view": _enumerated,
    "wallet": _wallet,
}
"""Of `Api` and `AsyncApi`: what the wire cannot carry. The node refuses the rest."""
