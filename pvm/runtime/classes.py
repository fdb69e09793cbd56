"""Classes as an actor sees them: as values, in `isinstance`, and by name.

A native class is reached only through its priced constructor, so that nothing can be
made without paying; `isinstance`, `except` and base classes name the class itself.
"""

import builtins
from collections.abc import Mapping
from types import (
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
)

from pvm import language
from pvm.errors import HostError, JSONDecodeError, RevertError
from pvm.runtime.execution import ACTOR_MODULE, SealedModule, VmExecution
from pvm.runtime.ordered_set import FrozenOrderedSet, OrderedSet
from pvm.runtime.storage import StorageView

_find = type.__getattribute__
"""Of a class itself: what its metaclass has to say costs time."""

ORIGIN = "_origin"
"""Attribute of a library's classes: the module that defines them."""


class Never:
    """Stands for `bytearray` and `memoryview` in `isinstance`: nothing is one."""

    __slots__ = ()


CLASS_OF: Mapping[str, type] = {
    "int": int,
    "str": str,
    "bytes": bytes,
    "bool": bool,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "set": OrderedSet,
    "frozenset": FrozenOrderedSet,
    "range": range,
    "object": object,
    "bytearray": Never,
    "memoryview": Never,
    **{name: getattr(builtins, name) for name in language.EXCEPTIONS},
    "HostError": HostError,
    "RevertError": RevertError,
    "JSONDecodeError": JSONDecodeError,
}
"""Native classes by the name under which an actor knows them."""

_NAME_OF: Mapping[type, str] = {
    class_: name
    for name, class_ in CLASS_OF.items()
    if name not in language.CLASSES_NEVER
}

_OTHER_NAMES: Mapping[type, str] = {
    type(None): "NoneType",
    FunctionType: "function",
    MethodType: "builtin_function_or_method",
    type(len): "builtin_function_or_method",
    GeneratorType: "generator",
    type({}.keys()): "dict_keys",
    type({}.values()): "dict_values",
    type({}.items()): "dict_items",
    SealedModule: "module",
    StorageView: "storage",
    type: "type",
    UnboundLocalError: "NameError",
    UnicodeEncodeError: "UnicodeError",
    UnicodeTranslateError: "UnicodeError",
}

OTHER_TYPES: tuple[type, ...] = tuple(_OTHER_NAMES)
"""Types that have no name in an actor's source."""


def origin_of(class_: type) -> str:
    """Who defined a class: `actor`, a package of the library, or "" for the rest."""
    if not is_actor_class(class_):
        return ""
    module: str = vars(class_).get(ORIGIN, ACTOR_MODULE)
    return module.partition(".")[0]


def is_actor_class(class_: type) -> bool:
    """Whether an actor's source defined the class."""
    return bool(_find(class_, "__module__") == ACTOR_MODULE)


_DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType)


def is_descriptor(value: object) -> bool:
    """Whether it is how CPython's own classes keep an attribute."""
    return isinstance(value, _DESCRIPTORS)


def class_value(vm: VmExecution, class_: type) -> object:
    """What stands for a class where an actor sees it as a value.

    Native classes are their priced constructors; an actor's class is itself.
    """
    name = _NAME_OF.get(class_)
    if name is not None:
        return vm.builtin(name)
    if class_ in _OTHER_NAMES and _OTHER_NAMES[class_] in language.EXCEPTIONS:
        return vm.builtin(_OTHER_NAMES[class_])  # a subclass without a name here
    return class_ if is_actor_class(class_) else vm.builtin("type")


def native_class(vm: VmExecution, value: object) -> type | None:
    """The class that `value` stands for, or None if it stands for none."""
    if isinstance(value, type):
        return value
    if isinstance(value, MethodType) and value.__self__ is vm:
        return vm.classes.get(value.__func__)
    return None


def name_of_class(class_: type) -> str:
    """A class's name, the same on every interpreter, as the actor wrote it."""
    name = _NAME_OF.get(class_) or _OTHER_NAMES.get(class_)
    if name is not None:
        return name
    if is_actor_class(class_):
        return language.public_name(_find(class_, "__name__"))
    return "object"


def class_name(_vm: VmExecution, value: object) -> str:
    """`type(value).__name__`."""
    return name_of_class(type(value))
