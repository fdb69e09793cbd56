"""Priced methods of int, str and bytes (sandbox.md §3, §4).

What depends on a Unicode table is for ASCII text only: the tables differ between
interpreters (sandbox-internals.md §6).
"""

from collections.abc import Mapping
from typing import Literal

from pvm import costs
from pvm.runtime.arithmetic import checked
from pvm.runtime.constructors import decode, encode
from pvm.runtime.containers import charge_search, snapshot
from pvm.runtime.exceptions import refused
from pvm.runtime.execution import Helper, VmExecution

_INT_BYTES_MAX = 512
_WIDTH_MAX = 4_096
_Text = str | bytes
_TEXTS = (str, bytes)


def _text(vm: VmExecution, value: object) -> None:
    if isinstance(value, _TEXTS):
        vm.text(len(value), is_ascii=value.isascii())


def _search(vm: VmExecution, value: _Text) -> None:
    vm.charge(len(value) // costs.SEARCH_PER)


def searching(name: str) -> Helper:
    """A method that looks through the text: `find`, and `startswith`."""
    is_affix = name in {"startswith", "endswith"}
    is_backward = name == "rfind"

    def method(vm: VmExecution, self: _Text, *arguments: object) -> object:
        _search(vm, self)
        _refuse_many(vm, arguments)
        if arguments and not is_affix:
            charge_search(vm, self, arguments[0], is_backward=is_backward)
        result: object = getattr(self, name)(*arguments)
        return result

    return method


def _refuse_many(vm: VmExecution, arguments: tuple[object, ...]) -> None:
    """`startswith` takes a tuple: pay for each of its items."""
    for argument in arguments:
        if type(argument) is tuple:
            vm.charge(6 * len(argument))
            for one in argument:
                vm.charge(len(one) if isinstance(one, _TEXTS) else 0)
        elif isinstance(argument, _TEXTS):
            vm.charge(len(argument) // costs.SEARCH_PER)


def building(name: str) -> Helper:
    """A method whose result is at most as long as the text, as of `strip`."""
    is_strip = name.endswith("strip")

    def method(vm: VmExecution, self: _Text, *arguments: object) -> object:
        _search(vm, self)
        _refuse_many(vm, arguments)
        if is_strip and arguments and isinstance(arguments[0], _TEXTS):
            vm.charge(len(self) * len(arguments[0]) // costs.STRIP_SET_PER)
        result: object = getattr(self, name)(*arguments)
        _text(vm, result)
        return result

    return method


def ascii_only(name: str) -> Helper:
    """A method that asks a Unicode table: for ASCII text."""

    def method(vm: VmExecution, self: str) -> object:
        _search(vm, self)
        if not self.isascii():
            raise refused(ValueError(f"{name} is for ASCII text"))
        result: object = getattr(self, name)()
        _text(vm, result)
        return result

    return method


def padding(name: str) -> Helper:
    """`center`, `ljust`, `rjust`, `zfill`."""

    def method(vm: VmExecution, self: str, width: object, *fill: object) -> str:
        if type(width) is not int:
            raise refused(TypeError("a width is an int"))
        if width > _WIDTH_MAX:
            raise refused(ValueError("a width over 4,096"))
        if not self.isascii():
            raise refused(ValueError(f"{name} is for ASCII text"))
        vm.text(max(width, len(self)), is_ascii=not fill)
        result: str = getattr(self, name)(width, *fill)
        return result

    return method


def splitting(name: str) -> Helper:
    """`split`, `rsplit`, `splitlines`: pieces are counted first."""

    def method(
        vm: VmExecution, self: _Text, *arguments: object, **named: object
    ) -> list[object]:
        separator = arguments[0] if arguments and name != "splitlines" else None
        separator = named.get("sep", separator)
        if set(named) - {"sep", "maxsplit", "keepends"}:
            raise refused(TypeError(f"{name} has no such argument"))
        if name == "splitlines":
            _require_bools(*arguments, *named.values())
        _search(vm, self)
        charge_search(vm, self, separator, is_backward=name == "rsplit")
        if isinstance(separator, _TEXTS) and separator:
            pieces = self.count(separator) + 1  # type: ignore[arg-type] # or TypeError
        else:
            pieces = len(self) // 2 + 1
        limit = arguments[1] if len(arguments) > 1 else named.get("maxsplit", -1)
        if type(limit) is int and 0 <= limit < pieces:
            pieces = limit + 1
        vm.charge(pieces)
        vm.allocate(costs.SPLIT_BYTES * pieces + 4 * len(self))
        result: list[object] = getattr(self, name)(*arguments, **named)
        return result

    return method


def _require_bools(*values: object) -> None:
    """`keepends`: 3.11 takes an int, too, and 3.12 whatever is true or false."""
    if not all(type(value) is bool for value in values):
        raise refused(TypeError("keepends is a bool"))


def partitioning(name: str) -> Helper:
    """`partition`, `rpartition`."""

    def method(vm: VmExecution, self: str, separator: object) -> tuple[object, ...]:
        _search(vm, self)
        charge_search(vm, self, separator, is_backward=name == "rpartition")
        vm.allocate(3 * costs.SPLIT_BYTES)
        _text(vm, self)
        result: tuple[object, ...] = getattr(self, name)(separator)
        return result

    return method


def join(vm: VmExecution, self: _Text, items: object) -> _Text:
    """`separator.join(items)`."""
    parts = snapshot(vm, items)
    if not {type(self)}.issuperset(map(type, parts)):
        raise refused(TypeError("join takes texts of the separator's type"))
    length = sum(map(len, parts)) + len(self) * max(0, len(parts) - 1)  # type: ignore[arg-type]
    vm.charge(length)
    vm.allocate(costs.TEXT_BYTES + length)
    result = self.join(parts)  # type: ignore[arg-type] # checked above
    if not result.isascii() and isinstance(result, str):
        vm.allocate(3 * length)
    return result


def replace(
    vm: VmExecution, self: _Text, old: object, new: object, count: object = -1
) -> _Text:
    """`text.replace(old, new)`."""
    kind = type(self)
    if type(old) is not kind or type(new) is not kind or type(count) is not int:
        raise refused(TypeError("replace takes two texts and a count"))
    assert isinstance(old, _TEXTS)
    assert isinstance(new, _TEXTS)
    _search(vm, self)
    charge_search(vm, self, old)
    found = self.count(old)  # type: ignore[arg-type] # same type
    if 0 <= count < found:
        found = count
    length = len(self) + found * max(0, len(new) - len(old))
    is_ascii = self.isascii() and new.isascii()
    vm.charge(length)
    vm.allocate(
        costs.TEXT_BYTES + (length if is_ascii or kind is bytes else 4 * length)
    )
    return self.replace(old, new, count)  # type: ignore[arg-type] # same type


def hex_(vm: VmExecution, self: bytes) -> str:
    """`data.hex()`."""
    length = len(self)
    vm.charge(length)
    if 2 * length > costs.TEXT_FREE:
        vm.text(2 * length, is_ascii=True)
    return self.hex()


def to_bytes(
    vm: VmExecution,
    self: int,
    length: object = 1,
    byteorder: object = "big",
    *,
    signed: object = False,
) -> bytes:
    """`number.to_bytes(length, "big")`."""
    if type(length) is not int or not 0 <= length <= _INT_BYTES_MAX:
        raise refused(ValueError("a length of 0 to 512 bytes"))
    vm.text(length, is_ascii=True)
    return int(self).to_bytes(length, _order(byteorder), signed=bool(signed))


def from_bytes(
    vm: VmExecution,
    data: object,
    byteorder: object = "big",
    *,
    signed: object = False,
) -> int:
    """`int.from_bytes(data, "big")`."""
    if type(data) is not bytes:
        raise refused(TypeError("from_bytes takes bytes"))
    vm.charge(len(data))
    if len(data) > _INT_BYTES_MAX:
        raise refused(OverflowError("an integer of more than 4,096 bits"))
    number = int.from_bytes(data, _order(byteorder), signed=bool(signed))
    return checked(vm, number)


def _order(byteorder: object) -> Literal["big", "little"]:
    if byteorder == "big":
        return "big"
    if byteorder == "little":
        return "little"
    raise refused(ValueError("a byte order is big or little"))


def from_hex(vm: VmExecution, text: object) -> bytes:
    """`bytes.fromhex(text)`."""
    if type(text) is not str:
        raise refused(TypeError("fromhex takes a str"))
    vm.charge(len(text))
    vm.text(len(text) // 2, is_ascii=True)
    return bytes.fromhex(text)


def bit_length(_vm: VmExecution, self: int) -> int:
    """`number.bit_length()`."""
    return self.bit_length()


def bit_count(_vm: VmExecution, self: int) -> int:
    """`number.bit_count()`."""
    return self.bit_count()


INT: Mapping[str, Helper] = {
    "bit_length": bit_length,
    "bit_count": bit_count,
    "to_bytes": to_bytes,
}
STR: Mapping[str, Helper] = {
    **{
        name: searching(name)
        for name in ("count", "endswith", "find", "index", "rfind", "startswith")
    },
    **{
        name: building(name)
        for name in ("lstrip", "removeprefix", "removesuffix", "rstrip", "strip")
    },
    **{name: splitting(name) for name in ("rsplit", "split", "splitlines")},
    **{name: partitioning(name) for name in ("partition", "rpartition")},
    **{
        name: ascii_only(name)
        for name in (
            "capitalize", "isalnum", "isalpha", "isdecimal", "isdigit", "islower",
            "isspace", "isupper", "lower", "swapcase", "title", "upper",
        )
    },
    **{name: padding(name) for name in ("center", "ljust", "rjust", "zfill")},
    "encode": encode,
    "join": join,
    "replace": replace,
}  # fmt: skip
BYTES: Mapping[str, Helper] = {
    **{
        name: searching(name)
        for name in ("count", "endswith", "find", "index", "startswith")
    },
    "strip": building("strip"),
    "split": splitting("split"),
    "decode": decode,
    "hex": hex_,
    "join": join,
    "replace": replace,
}
