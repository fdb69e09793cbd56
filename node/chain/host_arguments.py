"""Exact types and ranges of host call arguments: `bytes` is `bytes`, `int` no `bool`.

Each function returns the value with its type or raises `HostError` InvalidInput with a
message that names the argument, what came and what is wanted (host-api.md §2).
"""

from typing import NoReturn

from node.chain.params import ADDRESS_BYTES, HANDLER_BYTES_MAX, U64_MAX, U128_MAX
from node.primitives.types import Address, Amount, Height
from pvm import HostError, HostErrorCode


def refuse(message: str) -> NoReturn:
    """Refuse a host call's argument."""
    raise HostError(HostErrorCode.InvalidInput, message)


def _describe(value: object) -> str:
    if type(value) is int:
        return f"the integer {value}" if abs(value) <= U128_MAX else "a huge integer"
    kind = type(value)
    if kind in (bytes, str, list, dict, tuple):
        return f"{kind.__name__} of length {len(value)}"  # type: ignore[arg-type]
    return "None" if value is None else "another type"


def expect_int(value: object, name: str, low: int, high: int) -> int:
    """An int from `low` to `high`, no bool."""
    if type(value) is not int or not low <= value <= high:
        refuse(f"{name}: an int from {low} to {high} is wanted, not {_describe(value)}")
    return value


def expect_height(value: object, name: str) -> Height:
    """Any u64."""
    return Height(expect_int(value, name, 0, U64_MAX))


def expect_amount(value: object, name: str) -> Amount:
    """Any u128."""
    return Amount(expect_int(value, name, 0, U128_MAX))


def expect_optional_amount(value: object, name: str) -> Amount | None:
    """Any u128 or None."""
    return None if value is None else expect_amount(value, name)


def expect_bytes(value: object, name: str, low: int, high: int) -> bytes:
    """Bytes of `low` to `high` length."""
    if type(value) is not bytes or not low <= len(value) <= high:
        refuse(
            f"{name}: {low} to {high} bytes are wanted, not {_describe(value)}"
            if low != high
            else f"{name}: {low} bytes are wanted, not {_describe(value)}"
        )
    return value


def expect_address(value: object, name: str) -> Address:
    """An address of 20 bytes."""
    return Address(expect_bytes(value, name, ADDRESS_BYTES, ADDRESS_BYTES))


def expect_text(value: object, name: str, bytes_max: int) -> str:
    """A str of at most `bytes_max` bytes of UTF-8."""
    if type(value) is not str:
        refuse(f"{name}: a str is wanted, not {_describe(value)}")
    if len(value) > bytes_max:  # before the work of encoding it, which nobody pays
        refuse(f"{name}: at most {bytes_max} bytes are wanted, not {len(value)}")
    try:
        length = len(value.encode())
    except UnicodeEncodeError:
        refuse(f"{name}: a str that UTF-8 can encode is wanted")
    if length > bytes_max:
        refuse(f"{name}: at most {bytes_max} bytes are wanted, not {length}")
    return value


def expect_handler(value: object, name: str = "handler") -> str:
    """The name of a handler: 1 to 256 bytes of text."""
    handler = expect_text(value, name, HANDLER_BYTES_MAX)
    if not handler:
        refuse(f"{name}: the name of a handler is wanted, not an empty str")
    return handler
