"""`str`, `repr` and f-strings: built by our own walk, the same text everywhere.

No address, no hash order, nothing outside ASCII in a `repr`; containers are walked on
an explicit stack and paid as they are printed (sandbox.md §3, §5).
"""

from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, GeneratorType, MethodType

from pvm import costs
from pvm.runtime.classes import class_name, is_actor_class, name_of_class
from pvm.runtime.containers import snapshot
from pvm.runtime.enums import Enum, member_text
from pvm.runtime.exceptions import arguments_of, is_stripped, refused
from pvm.runtime.execution import PricedMethod, SealedModule, VmExecution
from pvm.runtime.freezing import ACTOR_FUNCTIONS, sealed
from pvm.runtime.ordered_set import FrozenOrderedSet, OrderedSet
from pvm.runtime.storage import StorageView

_WORD_BITS = 64
_PARTS_MAX = 256
"""Of a text that grows, until it is paid: short ones, for long ones have paid."""
_VIEWS = {
    type({}.keys()): "dict_keys",
    type({}.values()): "dict_values",
    type({}.items()): "dict_items",
}
_COMMAS = (", ", ", ")
_COLONS = (", ", ": ")

_Open = tuple[Iterator[object], str, tuple[str, str], int]

_FIXED = {
    FunctionType: "<function>",
    MethodType: "<function>",
    type(len): "<function>",
    GeneratorType: "<generator>",
    SealedModule: "<module>",
    StorageView: "<storage>",
}


def integer_text(vm: VmExecution, value: int) -> str:
    """Decimal digits; longer than a word is paid by its length."""
    bits = value.bit_length()
    if bits <= _WORD_BITS:
        return str(value)
    vm.charge(bits // 3 + bits * bits // 4096)
    text = str(value)
    vm.text(len(text), is_ascii=True)
    return text


def to_str(  # noqa: PLR0911 - a line for each kind
    vm: VmExecution, value: object
) -> str:
    """`str(value)`."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[return-value] # exactly a str
    if kind is int:
        return integer_text(vm, value)  # type: ignore[arg-type] # exactly an int
    if isinstance(value, Exception):
        return exception_text(vm, value)
    method = _actor_method(kind, "__str__")
    if method is not None:
        return _text_result(method(value))  # type: ignore[operator] # a function
    if isinstance(value, Enum):
        return member_text(value)
    return to_repr(vm, value)


def to_repr(  # noqa: C901 - one loop, over containers inside one another
    vm: VmExecution, value: object
) -> str:
    """`repr(value)`: ASCII only.

    Containers wait on a stack as (items left, closing, separators, position).
    """
    text = _scalar(vm, value)
    if text is not None:
        return text
    chunks: list[str] = []
    parts: list[str] = []
    paid = 0
    emit = parts.append
    stack: list[_Open] = []
    items, closing, separators, position = _opened(vm, value, emit)
    while True:
        for item in items:
            if len(parts) > _PARTS_MAX:
                paid = _grown(vm, chunks, parts, paid)
            if position:
                emit(separators[position & 1])
            position += 1
            text = _scalar(vm, item)
            if text is not None:
                emit(text)
                continue
            stack.append((items, closing, separators, position))
            if len(stack) >= costs.NESTING_MAX:
                raise refused(ValueError("values nested more than 64 deep"))
            items, closing, separators, position = _opened(vm, item, emit)
            break
        else:
            emit(closing)
            if not stack:
                break
            items, closing, separators, position = stack.pop()
    result = "".join([*chunks, *parts])
    if len(result) > costs.TEXT_FREE:
        vm.charge(len(result) - paid)
        vm.allocate(costs.TEXT_BYTES + len(result) - paid)
    return result


def _grown(vm: VmExecution, chunks: list[str], parts: list[str], paid: int) -> int:
    """Pay for what was written since, in one piece; how much is paid then."""
    chunks.append("".join(parts))
    parts.clear()
    length = len(chunks[-1])
    vm.charge(length)
    vm.allocate(length)
    return paid + length


def _scalar(  # noqa: C901, PLR0911 - a line for each kind, the frequent first
    vm: VmExecution, value: object
) -> str | None:
    """The text of what holds no other values; None for what does."""
    kind = type(value)
    if kind is int:
        return integer_text(vm, value)  # type: ignore[arg-type] # exactly an int
    if kind is list or kind is tuple or kind is dict:
        return None
    if kind is str or kind is bytes:
        vm.text(len(value), is_ascii=True)  # type: ignore[arg-type] # text
        text = ascii(value)
        vm.text(len(text), is_ascii=True)
        return text
    if kind is bool or value is None or kind is range:
        return repr(value)
    if kind in _FIXED:
        return _FIXED[kind]
    if isinstance(value, type):
        vm.charge(costs.WALK_CONTAINER)
        return f"<class {name_of_class(value)}>"
    if _is_container(value) or isinstance(value, Exception):
        return None
    vm.charge(costs.WALK_CONTAINER + costs.WALK_ITEM)
    method = _actor_method(kind, "__repr__")
    if method is not None:
        return _text_result(method(value))  # type: ignore[operator] # a function
    if is_actor_class(kind):
        return _inherited_repr(vm, value)
    return "<function>" if callable(value) else "<object>"


def _is_container(value: object) -> bool:
    kind = type(value)
    return (
        kind in (list, tuple, dict) or kind in _VIEWS or isinstance(value, OrderedSet)
    )


def _opened(vm: VmExecution, value: object, emit: Callable[[str], None]) -> _Open:
    """Pay for a container and write its opening."""
    kind = type(value)
    separators = _COMMAS
    items: Sequence[object]
    if kind is list:
        opening, items, closing = "[", tuple(value), "]"  # type: ignore[arg-type]
    elif kind is tuple:
        opening, items, closing = "(", value, ")"  # type: ignore[assignment]
        closing = ",)" if len(items) == 1 else ")"
    elif isinstance(value, dict):
        opening, closing, separators = "{", "}", _COLONS
        items = [part for pair in value.items() for part in pair]
    else:
        opening, items, closing = _other_brackets(vm, value)
    vm.charge(costs.WALK_CONTAINER + costs.WALK_ITEM * len(items))
    emit(opening)
    return iter(items), closing, separators, 0


def _other_brackets(
    vm: VmExecution, value: object
) -> tuple[str, Sequence[object], str]:
    kind = type(value)
    if isinstance(value, Exception):
        method = _actor_method(kind, "__repr__")
        if method is not None:
            return _text_result(method(value)), (), ""  # type: ignore[operator]
        return name_of_class(kind) + "(", arguments_of(value), ")"
    vm.charge(costs.WALK_CONTAINER)
    items = snapshot(vm, value)
    if kind in _VIEWS:
        return f"{_VIEWS[kind]}([", items, "])"
    name = "frozenset" if kind is FrozenOrderedSet else "set"
    if not items:
        return f"{name}(", items, ")"
    return ("{", items, "}") if name == "set" else ("frozenset({", items, "})")


def _actor_method(kind: type, name: str) -> object:
    """A method that the actor's class defines, or None for a native one."""
    method = getattr(kind, name, None)
    return method if isinstance(method, ACTOR_FUNCTIONS) else None


def _text_result(text: object) -> str:
    if type(text) is not str:
        raise refused(TypeError("__str__ or __repr__ returned something else than str"))
    return text


def exception_text(vm: VmExecution, error: Exception) -> str:
    """`str(error)` without the interpreter's own words (sandbox-internals.md §6)."""
    for _ in range(costs.NESTING_MAX):
        method = _actor_method(type(error), "__str__")
        if method is not None:
            return _text_result(method(error))  # type: ignore[operator] # a function
        arguments = arguments_of(error)
        inner = arguments[0] if len(arguments) == 1 else None
        if isinstance(error, KeyError) or not isinstance(inner, Exception):
            return _arguments_text(vm, error)
        vm.charge(costs.WALK_CONTAINER + costs.WALK_ITEM)
        error = inner
    raise refused(ValueError("values nested more than 64 deep"))


def _arguments_text(vm: VmExecution, error: Exception) -> str:
    arguments = arguments_of(error)
    if not arguments:
        return name_of_class(type(error)) if is_stripped(error) else ""
    if len(arguments) > 1:
        return to_repr(vm, arguments)
    if isinstance(error, KeyError):
        return to_repr(vm, arguments[0])
    return to_str(vm, arguments[0])


def inherited(vm: VmExecution, proxy: object, name: str) -> object:
    """`super().__str__` and its like: what a class of the actor's or a library's says.

    What CPython's own classes say is not for actors: their texts hold addresses and
    walk shared structure unpaid, their comparisons give `NotImplemented`.
    """
    vm.charge(costs.METHOD_BOUND)
    found = getattr(proxy, name, None)
    function = found.__func__ if isinstance(found, MethodType) else found
    if isinstance(function, ACTOR_FUNCTIONS):
        return sealed(found)
    value = proxy.__self__  # type: ignore[attr-defined] # of `super`
    method = _INHERITED.get(name)
    if method is None or isinstance(value, type):
        raise refused(AttributeError(f"no class above has {name}"))
    vm.allocate(64)
    return PricedMethod(vm, MethodType(vm.bind(method), value))


def _inherited_str(vm: VmExecution, value: object) -> str:
    if isinstance(value, Exception):
        return _arguments_text(vm, value)
    return member_text(value) if isinstance(value, Enum) else to_repr(vm, value)


def _inherited_repr(vm: VmExecution, value: object) -> str:
    if isinstance(value, Exception):
        arguments = to_repr(vm, list(arguments_of(value)))[1:-1]
        return f"{class_name(vm, value)}({arguments})"
    if isinstance(value, Enum):
        return f"<{member_text(value)}: {to_repr(vm, value.value)}>"
    return f"<{class_name(vm, value)}>"


_INHERITED = {"__repr__": _inherited_repr, "__str__": _inherited_str}


def format_field(  # noqa: C901 - a line for each form of a field
    vm: VmExecution, value: object, conversion: str = "", specification: str = ""
) -> str:
    """One field of an f-string."""
    if conversion == "r":
        value = to_repr(vm, value)
    elif conversion == "s" or type(value) not in (int, bool, str):
        if specification and not isinstance(value, Exception) and conversion != "s":
            raise refused(TypeError("only int, str and bool have a format"))
        if type(value) is not int and type(value) is not str:
            vm.charge(costs.OPERATION)
        value = to_str(vm, value)
    elif type(value) is bool:
        vm.charge(costs.OPERATION)
    if not specification:
        text = to_str(vm, value)
        if value is text:
            vm.text(len(text), is_ascii=text.isascii())
        return text
    if isinstance(value, int):
        bits = value.bit_length()
        if bits > _WORD_BITS:
            vm.charge(bits // 3 + bits * bits // 4096)
    text = format(value, specification)
    vm.text(len(text), is_ascii=text.isascii())
    return text
