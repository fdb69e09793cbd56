"""Differences between what a folder holds and what executing its blocks gives.

Rules: told key by key, in words of the chain, a bounded number of them; values that
are too long are shown from their beginning.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import Final

from msgspec import Struct

from node.chain.accounts import decode_account
from node.chain.block import Event, Header, Receipt
from node.chain.timers.timer import decode_timer
from node.primitives import codec
from node.state import keys
from node.state.store import StoreSnapshot

__all__ = [
    "DIFFERENCES_MAX",
    "differing_headers",
    "differing_items",
    "differing_states",
    "name_key",
]

DIFFERENCES_MAX = 20
"""Lines about one part of a block: the first ones say what went wrong."""

_SHOWN_MAX = 200
_ADDRESS_BYTES = 20
_COMMITTED: Final = (
    keys.GLOBALS, keys.FIRE_PREFIX, keys.STATE_PREFIX, keys.TIMER_PREFIX,
)  # fmt: skip

_NAMES: Final = {
    b"sa": "account",
    b"sc": "code",
    b"se": "engine message",
    b"sm": "mailbox message",
    b"sg": "configuration",
    b"sv": "activation",
    b"sn": "noted hit",
    b"q": "queued fire",
    b"t": "timer",
    b"g": "globals",
    b"hh": "header of block",
    b"hb": "transactions of block",
    b"hr": "receipts and events of block",
    b"hd": "timer decisions of block",
    b"hq": "fee configuration of run",
    b"hx": "height of the block with hash",
    b"ht": "place of transaction",
    b"hl": "history of timer",
    b"hs": "totals of blocks",
}


def name_key(key: bytes) -> str:
    """A key of the database in words."""
    if key.startswith(b"ss"):
        actor, name = key[2 : 2 + _ADDRESS_BYTES], key[2 + _ADDRESS_BYTES :]
        return f"storage 0x{name.hex()} of actor 0x{actor.hex()}"
    if key.startswith(b"sg"):
        return f"configuration {key[2:].decode()}"
    prefix = key[:2] if key[:2] in _NAMES else key[:1]
    rest = key[len(prefix) :]
    if prefix[:1] == b"h" and len(rest) == keys.HEIGHT_BYTES:
        return f"{_NAMES[prefix]} {int.from_bytes(rest, 'big')}"
    if prefix == keys.TIMER_PREFIX:
        height, sequence = rest[: keys.HEIGHT_BYTES], rest[keys.HEIGHT_BYTES :]
        due, number = int.from_bytes(height, "big"), int.from_bytes(sequence, "big")
        return f"timer due at {due}, number {number}"
    what = _NAMES.get(prefix, "record")
    return f"{what} 0x{rest.hex()}" if rest else what


def differing_headers(stored: Header, computed: Header) -> list[str]:
    """Each field in which they differ."""
    return _fields(f"block {stored.height}", stored, computed)


def differing_items(
    what: str, stored: Sequence[Receipt | Event], computed: Sequence[Receipt | Event]
) -> list[str]:
    """Each field in which two lists of receipts, or of events, differ."""
    lines: list[str] = []
    for index, (one, other) in enumerate(zip_longest(stored, computed)):
        name = f"{what} {index}"
        if one is None or other is None:
            lines.append(f"{name}: {_absent(one)}, computed {_absent(other)}")
        elif one != other:
            lines += _fields(name, one, other)
    return _bounded(lines)


def differing_states(stored: StoreSnapshot, computed: StoreSnapshot) -> list[str]:
    """Each committed record in which two states differ, by key."""
    found = islice(_differing_pairs(stored, computed), DIFFERENCES_MAX + 1)
    lines: list[str] = []
    for key, one, other in found:
        name = name_key(key)
        decoded = None if one is None or other is None else _decode(key, one, other)
        if decoded is None:
            lines.append(f"{name}: {_show(one)}, computed {_show(other)}")
        else:
            lines += _fields(name, *decoded)
    return _bounded(lines)


def _differing_pairs(
    stored: StoreSnapshot, computed: StoreSnapshot
) -> Iterator[tuple[bytes, bytes | None, bytes | None]]:
    for prefix in _COMMITTED:
        bounds = prefix, keys.prefix_stop(prefix)
        left, right = stored.range(*bounds), computed.range(*bounds)
        one, other = next(left, None), next(right, None)
        while one is not None or other is not None:
            if one == other:
                one, other = next(left, None), next(right, None)
            elif other is None or (one is not None and one[0] < other[0]):
                assert one is not None
                yield *one, None
                one = next(left, None)
            elif one is None or other[0] < one[0]:
                yield other[0], None, other[1]
                other = next(right, None)
            else:
                yield *one, other[1]
                one, other = next(left, None), next(right, None)


def _decode(key: bytes, one: bytes, other: bytes) -> tuple[object, object] | None:
    """Both records as what they say, if it is known and can be read."""
    try:
        if key.startswith(b"sa"):
            return decode_account(one), decode_account(other)
        if key.startswith(keys.TIMER_PREFIX):
            return decode_timer(key, one), decode_timer(key, other)
    except (codec.MalformedCbor, TypeError, ValueError, AssertionError):
        pass  # altered beyond reading: shown as bytes
    return None


def _fields(name: str, one: object, other: object) -> list[str]:
    assert isinstance(one, Struct)
    lines = []
    for field in one.__struct_fields__:
        value, wanted = getattr(one, field), getattr(other, field)
        if value != wanted:
            lines.append(f"{name}: {field} is {_show(value)}, computed {_show(wanted)}")
    return lines


def _absent(item: Receipt | Event | None) -> str:
    return "none" if item is None else "one"


def _bounded(lines: list[str]) -> list[str]:
    if len(lines) <= DIFFERENCES_MAX:
        return lines
    return [*lines[:DIFFERENCES_MAX], "… and more"]


def _show(value: object) -> str:
    if value is None:
        return "absent"
    shown = f"0x{value.hex()}" if isinstance(value, bytes) else str(value)
    return shown if len(shown) <= _SHOWN_MAX else f"{shown[:_SHOWN_MAX]}…"
