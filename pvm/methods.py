"""Calling a method by a name that native types have: the type decides.

A native object's method is looked up in the tables, priced, and refused when it is in
none; an actor's object is called as it is. `f = s.split` gives a priced bound helper.
"""

from collections.abc import Mapping
from functools import partial
from types import FunctionType, MethodType

from pvm import costs, language
from pvm.classes import native_class
from pvm.exceptions import refused
from pvm.execution import HEAP_TYPE, Execution, Helper
from pvm.methods_containers import DICT, FROZENSET, LIST, SET, TUPLE, fromkeys
from pvm.methods_text import BYTES, INT, STR, from_bytes, from_hex
from pvm.sets import FrozenOrderedSet, OrderedSet

TABLES: Mapping[type, Mapping[str, Helper]] = {
    int: INT,
    bool: INT,
    str: STR,
    bytes: BYTES,
    list: LIST,
    tuple: TUPLE,
    dict: DICT,
    OrderedSet: SET,
    FrozenOrderedSet: FROZENSET,
}

CLASS_METHODS: Mapping[tuple[type, str], Helper] = {
    (int, "from_bytes"): from_bytes,
    (bytes, "fromhex"): from_hex,
    (dict, "fromkeys"): fromkeys,
}


def find(vm: Execution, value: object, name: str) -> Helper | None:
    """The priced method of a native object, unbound; None for an actor's object.

    Raises:
        AttributeError: a native object that has no such method for actors.
    """
    table = TABLES.get(type(value))
    if table is not None and name in table:
        return partial(table[name], vm, value)
    if isinstance(value, MethodType):
        class_ = native_class(vm, value)
        if class_ is not None and (class_, name) in CLASS_METHODS:
            return partial(CLASS_METHODS[class_, name], vm)
    if table is None and is_open(value):
        return None
    raise refused(AttributeError(f"no attribute {name!r}"))


def is_open(value: object) -> bool:
    """Whether attributes are looked up as they are: actors' objects, and ours."""
    kind = type(value)
    if kind in TABLES:
        return False  # our sets: theirs are the priced methods
    if kind is type:
        return bool(value.__flags__ & HEAP_TYPE)  # type: ignore[attr-defined] # a class
    return bool(kind.__flags__ & HEAP_TYPE) or kind is FunctionType


def caller(name: str) -> Helper:
    """The helper that calls `value.name(…)`."""
    by_type = {kind: table[name] for kind, table in TABLES.items() if name in table}

    def call(
        vm: Execution, value: object, *arguments: object, **named: object
    ) -> object:
        method = by_type.get(type(value))
        if method is not None:
            return method(vm, value, *arguments, **named)
        if is_open(value):
            return getattr(value, name)(*arguments, **named)
        found = find(vm, value, name)
        assert found is not None, "what is not open has a method or raises"
        return found(*arguments, **named)

    return call


def bind(vm: Execution, value: object, name: str) -> object:
    """`value.name`, not called: a priced method, or an actor's attribute."""
    if is_open(value):
        return getattr(value, name)
    found = find(vm, value, name)
    vm.charge(costs.METHOD_BOUND)
    vm.allocate(64)
    return _Bound(found)


def method(vm: Execution, value: object, name: str) -> object:
    """`value.name` that is called at once, where the module has such a name too."""
    if is_open(value):
        return getattr(value, name)
    return find(vm, value, name)


class _Bound:
    """A priced method as a value; nothing can be set on it."""

    __slots__ = ("_method",)

    def __init__(self, method: Helper | None) -> None:
        self._method = method

    def __call__(self, *arguments: object, **named: object) -> object:
        """Call it."""
        assert self._method is not None
        return self._method(*arguments, **named)


_MISSING = object()


def get_attribute(
    vm: Execution, value: object, name: str, default: object = _MISSING
) -> object:
    """`getattr(value, "name")`; the policy has checked the name."""
    try:
        if name in language.GUARDED_ATTRIBUTES:
            return bind(vm, value, name)
        result: object = getattr(value, name)
    except AttributeError:
        if default is _MISSING:
            raise
        return default
    return result


def has_attribute(vm: Execution, value: object, name: str) -> bool:
    """`hasattr(value, "name")`."""
    return get_attribute(vm, value, name, _MISSING2) is not _MISSING2


_MISSING2 = object()

CALLERS: Mapping[str, Helper] = {
    f"_m_{name}": caller(name) for name in language.GUARDED_ATTRIBUTES
}
