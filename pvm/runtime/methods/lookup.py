"""Calling a method by a name that native types have: the type decides.

A native object's method is looked up in the tables, priced, and refused when it is in
none; an actor's object is called as it is. `f = s.split` gives a priced bound helper.
"""

from collections.abc import Mapping
from types import FunctionType, MethodType

from pvm import costs, language
from pvm.runtime.classes import CLASS_OF, OTHER_TYPES, is_descriptor, native_class
from pvm.runtime.exceptions import refused
from pvm.runtime.execution import HEAP_TYPE, Helper, PricedMethod, VmExecution
from pvm.runtime.freezing import sealed
from pvm.runtime.methods.containers import DICT, FROZENSET, LIST, SET, TUPLE, fromkeys
from pvm.runtime.methods.scalars import BYTES, INT, STR, from_bytes, from_hex
from pvm.runtime.ordered_set import FrozenOrderedSet, OrderedSet
from pvm.runtime.storage import StorageView

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


TYPES: tuple[type, ...] = (
    *(kind for kind in dict.fromkeys(CLASS_OF.values()) if kind is not object),
    *OTHER_TYPES,
    property,
)
"""Every type whose objects an actor can meet and has not defined itself."""


def find(vm: VmExecution, value: object, name: str) -> MethodType | None:
    """The priced method of a native object; None for an actor's object.

    Not for actors to hold, who get a `PricedMethod` of it: it shows `vm` and helper.

    Raises:
        AttributeError: a native object that has no such method for actors.
    """
    table = TABLES.get(type(value))
    if table is not None and name in table:
        return MethodType(vm.bind(table[name]), value)
    if isinstance(value, MethodType):
        class_ = native_class(vm, value)
        if class_ is not None and (class_, name) in CLASS_METHODS:
            return vm.bind(CLASS_METHODS[class_, name])
    if table is None and is_open(value):
        return None
    vm.charge(costs.OPERATION)
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
    by_class = {kind: own for (kind, one), own in CLASS_METHODS.items() if one == name}

    def call(
        vm: VmExecution, value: object, /, *arguments: object, **named: object
    ) -> object:
        method = by_type.get(type(value))
        if method is not None:
            if named:
                return method(vm, value, *arguments, **named)
            return method(vm, value, *arguments)  # a third less of a call
        if by_class and type(value) is MethodType:  # `bytes.fromhex`
            own = by_class.get(native_class(vm, value) or object)
            if own is not None:
                return own(vm, *arguments, **named)
        if type(value) is StorageView or is_open(value):  # which is open, too
            return getattr(value, name)(*arguments, **named)
        found = find(vm, value, name)
        assert found is not None, "what is not open has a method or raises"
        return found(*arguments, **named)

    return call


def bind(vm: VmExecution, value: object, name: str) -> object:
    """`value.name`, not called: a priced method, or an actor's attribute."""
    kind = type(value)
    if kind not in _BOUND[name]:
        return getattr(value, name)
    if kind is type:
        return _of_class(value, name)
    found = find(vm, value, name)
    assert found is not None, "no owner of a name is open"
    vm.charge(costs.METHOD_BOUND)
    vm.allocate(64)
    return PricedMethod(vm, found)


def _owners(name: str) -> frozenset[type]:
    """Native types whose objects have a public attribute `name`."""
    closed = {kind for kind in TYPES if not kind.__flags__ & HEAP_TYPE}
    found = {kind for kind in closed if hasattr(kind, name)}
    found.update(kind for kind, table in TABLES.items() if name in table)
    if name == "is_integer":
        found |= {int, bool}  # from 3.12
    if any(name == method for _, method in CLASS_METHODS):
        found.add(MethodType)  # native classes, as values
    return frozenset(found)


OWNERS: Mapping[str, frozenset[type]] = {
    name: _owners(name) for name in language.GUARDED_ATTRIBUTES
}
"""Every other object has the attribute by its actor's doing, or not at all."""


READERS: Mapping[str, frozenset[type]] = {
    name: OWNERS.get(name, frozenset()) | {type}
    for name in language.EXCEPTION_ATTRIBUTES
}
"""What `bind` has to look at where such a name is read."""

_BOUND = {**OWNERS, **READERS}


def above(_vm: VmExecution, proxy: object, name: str) -> object:
    """`super().name`, not called."""
    return sealed(_of_class(proxy, name))


def _of_class(value: object, name: str) -> object:
    """What an actor's class, or `super()`, has that is not CPython's own."""
    found: object = getattr(value, name)
    if is_descriptor(found):
        raise refused(AttributeError(f"no attribute {name!r}"))
    return found


class _Native:
    """A native object whose methods, called at once, are the priced ones."""

    __slots__ = ("_value", "_vm")

    def __init__(self, vm: VmExecution, value: object) -> None:
        self._vm = vm
        self._value = value

    def __getattr__(self, name: str) -> MethodType | None:
        """The priced method."""
        return find(self._vm, self._value, name)


def native(vm: VmExecution, value: object) -> object:
    """What stands for a native object whose method inserted code calls by name."""
    return _Native(vm, value)


def receiver(vm: VmExecution, value: object, name: str) -> object:
    """The object on which `name` is called: itself, or what stands for a native."""
    return _Native(vm, value) if type(value) in OWNERS[name] else value


_MISSING = object()


def get_attribute(
    vm: VmExecution, value: object, name: str, default: object = _MISSING
) -> object:
    """`getattr(value, "name")`; the policy has checked the name, and here it is again.

    Raises:
        AttributeError: there is none of the name, and no default; or the name is the
            interpreter's.
    """
    if name[:2] == "__" or name in language.NEVER_ATTRIBUTES:
        raise refused(AttributeError(f"no attribute {name!r}"))
    try:
        if name in _BOUND:
            return bind(vm, value, name)
        result: object = getattr(value, name)
    except AttributeError:
        vm.charge(costs.OPERATION)
        if default is _MISSING:
            raise
        return default
    return result


def has_attribute(vm: VmExecution, value: object, name: str) -> bool:
    """`hasattr(value, "name")`."""
    return get_attribute(vm, value, name, _MISSING2) is not _MISSING2


_MISSING2 = object()

CALLERS: Mapping[str, Helper] = {
    f"_m_{name}": caller(name) for name in language.GUARDED_ATTRIBUTES
}
