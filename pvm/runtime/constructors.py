"""Constructors as values: `int`, `str`, `bytes`, `list`, `tuple`, `dict`, `set`.

And what asks for classes: `type`, `isinstance`, `issubclass`.
"""

import sys
from types import GeneratorType

from pvm import costs, language
from pvm.runtime.arithmetic import checked
from pvm.runtime.classes import CLASS_OF, class_value, native_class
from pvm.runtime.containers import RANGE_BITS_MAX, SIZED, size_of, snapshot
from pvm.runtime.dict_keys import charge_keys, dict_from_keys, new_key
from pvm.runtime.exceptions import refused
from pvm.runtime.execution import Helper, VmExecution
from pvm.runtime.ordered_set import FrozenOrderedSet, OrderedSet
from pvm.runtime.strings import to_repr, to_str

_BASES = frozenset({0, *range(2, 37)})
_ENCODINGS = frozenset({"utf-8", "utf8", "ascii"})
_BITS_PER_DIGIT = 6
_WORD = 1 << 64
"""Shorter integers are printed for the price of the call."""
_MISSING = object()


def int_(vm: VmExecution, value: object = 0, base: object = _MISSING) -> int:
    """`int(value)`, `int(text, base)`."""
    if isinstance(value, str | bytes):
        vm.charge(len(value) + len(value) * len(value) // 512)
        if len(value) * _BITS_PER_DIGIT > 8 * language.INT_BITS_MAX:
            raise refused(OverflowError("an integer of more than 4,096 bits"))
        if not value.isascii():
            raise refused(ValueError("digits must be ASCII"))
        if base is _MISSING:
            return checked(vm, int(value))
        if type(base) is not int or base not in _BASES:
            raise refused(ValueError("a base must be 0 or 2 to 36"))
        return checked(vm, int(value, base))
    if base is not _MISSING:
        raise refused(TypeError("a base is for text only"))
    if type(value) is int or type(value) is bool:
        return int(value)
    raise refused(TypeError("int() takes an int, a bool, str or bytes"))


def str_(vm: VmExecution, value: object = "", encoding: object = _MISSING) -> str:
    """`str(value)`, `str(data, "utf-8")`."""
    if type(value) is int and -_WORD < value < _WORD and encoding is _MISSING:
        return str(value)
    if encoding is _MISSING:
        if type(value) is not int and type(value) is not str:
            vm.charge(costs.OPERATION)
        return to_str(vm, value)
    if type(value) is not bytes:
        raise refused(TypeError("only bytes are decoded"))
    return decode(vm, value, encoding)


def decode(vm: VmExecution, data: bytes, encoding: object = "utf-8") -> str:
    """Text of bytes, strictly."""
    if type(encoding) is not str or encoding not in _ENCODINGS:
        raise refused(ValueError("encodings are utf-8 and ascii"))
    vm.charge(len(data))
    vm.text(len(data), is_ascii=data.isascii())
    return data.decode("ascii" if encoding == "ascii" else "utf-8")


def encode(vm: VmExecution, text: str, encoding: object = "utf-8") -> bytes:
    """Bytes of a text, strictly."""
    if type(encoding) is not str or encoding not in _ENCODINGS:
        raise refused(ValueError("encodings are utf-8 and ascii"))
    vm.charge(len(text))
    vm.text(len(text), is_ascii=text.isascii())
    return text.encode("ascii" if encoding == "ascii" else "utf-8")


def bytes_(vm: VmExecution, value: object = b"", encoding: object = _MISSING) -> bytes:
    """`bytes(n)`, `bytes(items)`, `bytes(text, "utf-8")`."""
    if type(value) is str:
        if encoding is _MISSING:
            raise refused(TypeError("text needs an encoding"))
        return encode(vm, value, encoding)
    if encoding is not _MISSING:
        raise refused(TypeError("only text is encoded"))
    if type(value) is bytes:
        return value
    if type(value) is int:
        if value < 0:
            raise refused(ValueError("a negative count"))
        vm.text(value, is_ascii=True)
        return bytes(value)
    items = snapshot(vm, value)
    vm.text(len(items), is_ascii=True)
    if not all(type(item) is int for item in items):
        raise refused(TypeError("bytes are made of ints"))
    return bytes(items)  # type: ignore[arg-type] # ints


def bool_(_vm: VmExecution, value: object = False) -> bool:  # noqa: FBT002 - as Python's
    """`bool(value)`."""
    return bool(value)


def repr_(vm: VmExecution, value: object) -> str:
    """`repr(value)`."""
    return to_repr(vm, value)


def chr_(_vm: VmExecution, number: object, /) -> str:
    """`chr(number)`: below 3.13 CPython has an OverflowError for long integers."""
    if isinstance(number, int) and not 0 <= number <= sys.maxunicode:
        raise ValueError
    return chr(number)  # type: ignore[arg-type] # raises itself


def list_(vm: VmExecution, items: object = ()) -> list[object]:
    """`list(items)`."""
    if type(items) in SIZED:
        vm.charge(size_of(items))
    return snapshot(vm, items)


def tuple_(vm: VmExecution, items: object = ()) -> tuple[object, ...]:
    """`tuple(items)`."""
    if type(items) is tuple:
        return items
    return tuple(list_(vm, items))


def dict_(
    vm: VmExecution, items: object = (), /, **named: object
) -> dict[object, object]:
    """`dict(items)`, `dict(a=1)`."""
    result: dict[object, object] = {}
    update(vm, result, items, **named)
    return result


def update(
    vm: VmExecution,
    target: dict[object, object],
    items: object = (),
    /,
    **named: object,
) -> None:
    """Put pairs or another dict into `target`."""
    if type(items) is dict:
        vm.charge(costs.PER_KEY * len(items))
        vm.mapping(len(items))
        charge_keys(vm, items, len(items) + len(target))
        target.update(items)
    else:
        pairs = snapshot(vm, items)
        vm.charge(costs.ITERATED * len(pairs))
        vm.mapping(len(pairs))
        for pair in pairs:
            if type(pair) not in (tuple, list) or len(pair) != 2:  # type: ignore[arg-type] # noqa: PLR2004
                raise refused(TypeError("a dict is made of pairs"))
            target[new_key(vm, target, pair[0])] = pair[1]  # type: ignore[index]
    if named:
        vm.charge(costs.PER_KEY * len(named))
        vm.mapping(len(named))
        target.update(named)


def range_(_vm: VmExecution, *bounds: object) -> range:
    """`range(stop)`, `range(start, stop, step)`: of short integers.

    Whatever is asked of a range divides by its step: that is paid by syntax only
    where every number fits a word.
    """
    for bound in bounds:
        if type(bound) is not int and type(bound) is not bool:
            raise refused(TypeError("a range is of ints"))
        if bound.bit_length() > RANGE_BITS_MAX:
            raise refused(OverflowError("a range is of ints of 62 bits"))
    made: range = range(*bounds)  # type: ignore[call-overload] # ints
    return made


def set_(vm: VmExecution, items: object = ()) -> OrderedSet:
    """`set(items)`."""
    return OrderedSet(_distinct(vm, items))


def frozenset_(vm: VmExecution, items: object = ()) -> FrozenOrderedSet:
    """`frozenset(items)`."""
    return FrozenOrderedSet(_distinct(vm, items))


def _distinct(vm: VmExecution, items: object) -> dict[object, None]:
    listed = snapshot(vm, items)
    vm.charge(costs.ITERATED * len(listed))
    vm.mapping(len(listed))
    return dict_from_keys(vm, listed)


def type_(vm: VmExecution, value: object) -> object:
    """`type(value)`: a class of the actor's, or a priced constructor."""
    return class_value(vm, type(value))


def isinstance_(vm: VmExecution, value: object, classes: object) -> bool:
    """`isinstance` whose second argument is only known now."""
    return isinstance(value, _flat_classes(vm, classes))


def issubclass_(vm: VmExecution, class_: object, classes: object) -> bool:
    """`issubclass`, of classes as values."""
    native = native_class(vm, class_)
    if native is None:
        raise refused(TypeError("issubclass takes a class"))
    return issubclass(native, _flat_classes(vm, classes))


def _flat_classes(vm: VmExecution, classes: object) -> tuple[type, ...]:
    parts = classes if type(classes) is tuple else (classes,)
    vm.charge(costs.CLASS_AS_VALUE * len(parts))
    found = [native_class(vm, part) for part in parts]
    known = [class_ for class_ in found if class_ is not None]
    if len(known) != len(parts):
        raise refused(TypeError("a class, or a flat tuple of them"))
    return tuple(known)


def exception_constructor(name: str) -> Helper:
    """An exception class as a value: makes one, paid."""
    class_ = CLASS_OF[name]

    def construct(vm: VmExecution, *arguments: object) -> Exception:
        vm.allocate(costs.EXCEPTION_BYTES)
        error = class_(*arguments)
        assert isinstance(error, Exception)
        return error

    return construct


def made_by_host() -> Helper:
    """What stands for one class of errors that the host makes, and for no other."""

    def construct(_vm: VmExecution, *_arguments: object) -> None:
        raise refused(TypeError("the host makes its errors itself"))

    return construct


def made_by_loads(_vm: VmExecution, *_arguments: object) -> None:
    """A `JSONDecodeError` is made by `json.loads`."""
    raise refused(TypeError("json.loads makes its errors itself"))


def is_generator(value: object) -> bool:
    """Whether `value` came from a generator function."""
    return isinstance(value, GeneratorType)
