"""What the value of a statement looks like, and what a test asserts of it.

Rules: a receipt is a line, what people read is its text, an address or an id is `0x…`,
all else is Python's own form.
What a test asserts holds on every machine: prices are no part of it where a receipt
can say what matters, nor are addresses in memory.
"""

import ast
import re
from pprint import PrettyPrinter

from msgspec import Struct
from typing_extensions import TypeIs, override

from node.chain.block import Receipt
from node.client._sync.receipt import SentReceipt
from node.client.labels import Labels
from node.primitives.hex_repr import foreign

__all__ = ["Check", "check_of", "displayed"]

WIDTH = 88
DISPLAYED_MAX = 20_000
"""Characters of a value that are shown: more than fits anybody's screen."""

ASSERTED_MAX = 2_000
"""Characters of a value that a test asserts: what somebody may want to read there."""

_IN_MEMORY = re.compile(r" at 0x[0-9a-f]{6,16}>")
_ATOMS = (bool, int, str, bytes, float, type(None))
_GROUPS = (list, tuple, set, frozenset)


_ID_BYTES = (20, 32)
"""Of addresses, and of hashes and ids."""


class _Printer(PrettyPrinter):
    """Python's own form, but of addresses, hashes and ids, which are `0x…`."""

    @override
    def format(
        self, object: object, context: dict[int, int], maxlevels: int, level: int
    ) -> tuple[str, bool, bool]:
        if _is_id(object):
            return f"0x{object.hex()}", True, False
        return super().format(object, context, maxlevels, level)


def _is_id(value: object) -> TypeIs[bytes]:
    """Whether it is bytes that look like an address, a hash or an id."""
    if not isinstance(value, bytes) or len(value) not in _ID_BYTES:
        return False
    return not (value.isascii() and value.decode().isprintable())


def _written(value: object) -> str:
    return _Printer(width=WIDTH, sort_dicts=False).pformat(value)


class Check(Struct, frozen=True):
    """What is to be asserted of an expression: what stands before it, and behind."""

    before: str
    after: str

    def of(self, expression: str) -> str:
        """The expression that is to be true."""
        return f"{self.before}{expression}{self.after}"


def displayed(value: object) -> str:
    """A value as the prompt shows it; None is shown as nothing."""
    if value is None:
        return ""
    if isinstance(value, Receipt):
        text = _receipt_text(value)
    elif _is_text_for_people(value) or (isinstance(value, str) and "\n" in value):
        text = foreign(f"{value}", is_multiline=True)
    else:
        shown = dict(value) if isinstance(value, Labels) else value
        text = foreign(_written(shown), is_multiline=True)
    if len(text) > DISPLAYED_MAX:
        more = len(text) - DISPLAYED_MAX
        return f"{text[:DISPLAYED_MAX]}… {more:,} characters more"
    return text


def _is_text_for_people(value: object) -> bool:
    """Whether it is an answer of ours that is printed to be read."""
    kind = type(value)
    is_ours = kind.__module__.partition(".")[0] in {"node", "pvm"}
    return is_ours and kind.__str__ is not object.__str__ and not isinstance(value, str)


def _receipt_text(receipt: Receipt) -> str:
    used = f"{receipt.cycles_used:,} cycles, {receipt.cells_used:,} cells"
    if receipt.failure is not None:
        reason = foreign(receipt.failure.message.partition("\n")[0])
        said = f"{receipt.failure.kind}: {reason}" if reason else receipt.failure.kind
        line = f" in line {receipt.failure.line}" if receipt.failure.line else ""
        return f"<receipt: failed with {said}{line}; {used}>"
    result = _result_of(receipt)
    returned = "" if result is None else f", returned {_written(result)}"
    return f"<receipt: succeeded{returned}; {used}>"


def _result_of(receipt: Receipt) -> object:
    return receipt.result if isinstance(receipt, SentReceipt) else receipt.value or None


def check_of(value: object) -> Check | None:
    """What a test asserts of a value; None of what is none, or is too long."""
    try:
        check = _check_of(value)
    except Exception:  # noqa: BLE001 - of somebody's own class: it cannot be shown
        return None
    return check if check is not None and len(check.after) <= ASSERTED_MAX else None


def _check_of(value: object) -> Check | None:
    if isinstance(value, Receipt):
        return _check_of_receipt(value)
    if isinstance(value, bool):
        return Check("" if value else "not ", "")
    return None if value is None else _check_of_text(value)


def _check_of_text(value: object) -> Check | None:
    """Of a value by what is written of it; None if that names a place in memory."""
    if _is_id(value):
        return Check("", f' == bytes.fromhex("{value.hex()}")')
    if _is_literal(value):
        return Check("", f" == {value!r}")
    if _is_text_for_people(value):
        return Check("str(", f") == {f'{value}'!r}")
    shown = repr(value)
    return None if _IN_MEMORY.search(shown) else Check("repr(", f") == {shown!r}")


def _check_of_receipt(receipt: Receipt) -> Check | None:
    if receipt.failure is not None:
        return Check("", f".failure.kind == {receipt.failure.kind!r}")
    result = _result_of(receipt)
    if result is None:
        return Check("", ".is_success")
    name = "result" if isinstance(receipt, SentReceipt) else "value"
    return Check("", f".{name} == {result!r}")


def _is_literal(value: object) -> bool:
    """Whether Python reads the same value from what it writes of it."""
    if type(value) is dict:
        return all(map(_is_literal, [*value, *value.values()]))
    if type(value) in _GROUPS:
        return bool(value or type(value) is not set) and all(map(_is_literal, value))  # type: ignore[call-overload]
    if type(value) not in _ATOMS:
        return False
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except ValueError:  # a float that is no number, or without an end
        return False
