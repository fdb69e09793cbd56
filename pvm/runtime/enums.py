"""`Enum`: classes whose constants are members, made once and never changed.

Rules: a member has a `name` and a `value`; two names of one value are one member;
`E(value)` and `E["NAME"]` look up, `for`, `len` and `in` see the members in the order
of the source. Values are int, str, bytes, bool, None or flat tuples of them, so that
whatever is looked up is hashed for a bounded price. The class knows the execution that
made it, and so what is asked of it is paid before it works.
"""

from collections.abc import Iterator
from types import FunctionType
from typing import NoReturn

from typing_extensions import override

from pvm import costs, language
from pvm.errors import Sealed
from pvm.runtime.exceptions import refused
from pvm.runtime.execution import VmExecution

ATTRIBUTES = frozenset({"name", "value"})
"""What a member shows."""

_SCALARS = frozenset({int, str, bytes, bool, type(None)})
_NAMES = "_pvm_names"
_VALUES = "_pvm_values"
_VM = "_pvm_vm"
_BITS_APART = 60
"""Of ints whose hashes differ (sandbox-internals.md §5)."""


class MissingArgument:
    """Its one instance stands for an argument that was not given."""

    __slots__ = ()


class EnumClass(Sealed):
    """Metaclass of enums: what an actor may do with one."""

    @override
    def __call__(self, value: object) -> object:
        """The member of that value; `ValueError` if there is none."""
        members = self._members(_VALUES)
        _pay_search(self._paid(), value, len(members))
        if type(value) is tuple and any(type(one) not in _SCALARS for one in value):
            raise refused(ValueError("no member has this value"))
        try:
            return members[value]
        except (KeyError, TypeError):
            raise refused(ValueError("no member has this value")) from None

    def __getitem__(self, name: object) -> object:
        """The member of that name; `KeyError` if there is none."""
        self._paid()
        if type(name) is not str:
            raise refused(KeyError("a member's name is a str"))
        return self._members(_NAMES)[name]

    def __iter__(self) -> Iterator[object]:
        """The members, in order, each once."""
        members = self._members(_VALUES)
        self._paid().charge(3 * len(members))
        return iter(tuple(members.values()))

    def __len__(self) -> int:
        """Number of members."""
        self._paid()
        return len(self._members(_VALUES))

    def __contains__(self, item: object) -> bool:
        """Whether it is a member."""
        self._paid()
        return type(item) is self

    def __bool__(self) -> bool:
        """An enum is true, whatever it has."""
        self._paid()
        return True

    @property
    def name(self) -> NoReturn:
        """A member has one, the class none: `AttributeError`."""
        raise AttributeError("name")

    @property
    def value(self) -> NoReturn:
        """A member has one, the class none: `AttributeError`."""
        raise AttributeError("value")

    def _members(self, table: str) -> dict[object, object]:
        found: dict[object, object] = vars(self).get(table, {})
        return found

    def _paid(self) -> VmExecution:
        """The execution that made the class, after paying for one question."""
        vm: VmExecution = vars(self)[_VM]
        vm.charge(costs.ENUM_QUESTION)
        return vm


class Enum(metaclass=EnumClass):
    """Base of enums: an instance is a member."""

    __slots__ = ("name", "value")

    name: str
    value: object

    @override
    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a member is the same for everybody."""
        raise AttributeError(name)

    @override
    def __delattr__(self, name: str) -> None:
        """Refuse, likewise."""
        raise AttributeError(name)


def make_members(vm: VmExecution, class_: EnumClass) -> None:
    """Make members of the constants of a class: what follows its statement."""
    names: dict[object, object] = {}
    values: dict[object, object] = {}
    type.__setattr__(class_, _VM, vm)
    for name, value in list(vars(class_).items()):
        if name.startswith(("_", "private_", "hidden_")) or _is_method(value):
            continue
        vm.charge(costs.ENUM_MEMBER)
        vm.allocate(costs.INSTANCE_BYTES + costs.MAPPING_BYTES_PER_ITEM)
        _pay_search(vm, value, len(values))
        _check(value)
        if value not in values:
            member: object = object.__new__(class_)  # type: ignore[arg-type] # a class
            object.__setattr__(member, "name", name)
            object.__setattr__(member, "value", value)
            values[value] = member
        names[name] = values[value]
        type.__setattr__(class_, name, values[value])
    type.__setattr__(class_, _NAMES, names)
    type.__setattr__(class_, _VALUES, values)


def member_text(member: Enum) -> str:
    """`Class.NAME`, as the actor wrote the class."""
    return f"{language.public_name(type(member).__name__)}.{member.name}"


def _is_method(value: object) -> bool:
    return isinstance(value, FunctionType | property | staticmethod | classmethod)


def _pay_search(vm: VmExecution, value: object, members: int) -> None:
    """Tuples and long ints can be made to collide with every member's value.

    A long text is compared with that of the member that is found.
    """
    if type(value) is tuple:
        vm.charge(len(value) + 2 * members)
        bits = length = 0
        for part in value:
            if type(part) is int:
                bits += part.bit_length()
            elif type(part) is str or type(part) is bytes:
                length += len(part)
        vm.charge(bits // costs.HASHED_BITS_PER + length // costs.COMPARED_PER)
    elif type(value) is int and value.bit_length() > _BITS_APART:
        vm.charge(2 * members)
    elif type(value) is str or type(value) is bytes:
        vm.charge(len(value) // costs.COMPARED_PER)


def _check(value: object) -> None:
    parts = value if type(value) is tuple else (value,)
    if not all(type(part) in _SCALARS for part in parts):
        reason = "a member's value is an int, str, bytes, bool, None or a tuple of them"
        raise refused(TypeError(reason))
