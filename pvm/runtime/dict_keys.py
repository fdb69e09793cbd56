"""Keys of dicts and sets: what may be one, and what a tuple as key costs.

A tuple pays for its items and for half the container wherever it is hashed, since
CPython does not remember a tuple's hash and tuples of small ints can be made to
collide in full (sandbox-internals.md §4, §5).
"""

from collections.abc import Iterable

from pvm import costs
from pvm.language import KEY_LENGTH_MAX
from pvm.runtime.exceptions import refused
from pvm.runtime.execution import HEAP_TYPE, Helper, VmExecution
from pvm.runtime.ordered_set import SET_LIKE, OrderedSet

KEY_INT_MAX = 1 << 60

_SIZED: tuple[type, ...] = (dict, *SET_LIKE)


def key(vm: VmExecution, container: object, wanted: object) -> object:
    """A key that is read: only a tuple costs more than its syntax."""
    if type(wanted) is tuple:
        charge_tuple(vm, wanted, _length(container))
    return wanted


def getter(vm: VmExecution, container: object) -> Helper:
    """`container.get`, looked up before the key is made: a tuple as key pays."""
    found: Helper = container.get  # type: ignore[attr-defined] # or AttributeError

    def get(wanted: object, /, *default: object) -> object:
        return found(key(vm, container, wanted), *default)

    return get


def new_key(vm: VmExecution, container: object, wanted: object) -> object:
    """A key that is written, or found unfit; `container` may be a length."""
    kind = type(wanted)
    if kind is int:
        if -KEY_INT_MAX < wanted < KEY_INT_MAX or type(container) is list:  # type: ignore[operator]
            return wanted  # out of a list's range it is an IndexError
        raise refused(ValueError("an int key of 60 bits or more"))
    if kind is str or kind is bytes:
        if len(wanted) > KEY_LENGTH_MAX:  # type: ignore[arg-type] # text
            raise refused(ValueError("a key longer than 1,024"))
        return wanted
    if kind is tuple:
        charge_tuple(vm, wanted, _length(container))
        _check_items(vm, wanted)
    elif kind is not bool and wanted is not None:
        vm.charge(costs.OBJECT_KEY)
        if not _is_plain(kind):
            reason = "a key that is no str, bytes, int, bool, None or tuple"
            raise refused(TypeError(reason))
    return wanted


_find = type.__getattribute__


def _is_plain(kind: type) -> bool:
    """A class of the actor's whose objects are equal to themselves only."""
    return bool(
        _find(kind, "__flags__") & HEAP_TYPE
        and _find(kind, "__eq__") is object.__eq__
        and _find(kind, "__hash__") is object.__hash__
    )


def _length(container: object) -> int:
    if type(container) is int:
        return container
    return len(container) if isinstance(container, _SIZED) else 0  # type: ignore[arg-type]


def charge_tuple(vm: VmExecution, wanted: object, size: int) -> None:
    """Pay for hashing a tuple, whatever it holds, and for its collisions."""
    vm.charge(size // 2)
    stack: list[tuple[object, int]] = [(wanted, 1)]
    while stack:
        part, depth = stack.pop()
        if type(part) is tuple:
            if depth > costs.NESTING_MAX:
                raise refused(ValueError("a key nested more than 64 deep"))
            vm.charge(costs.WALK_CONTAINER + costs.WALK_ITEM * len(part))
            stack.extend((item, depth + 1) for item in part)


def _check_items(vm: VmExecution, wanted: object) -> None:
    stack = [wanted]
    while stack:
        part = stack.pop()
        if type(part) is tuple:
            stack.extend(part)
        else:
            new_key(vm, 0, part)


def charge_keys(vm: VmExecution, keys: Iterable[object], size: int) -> None:
    """Pay for the tuples among keys that go into a container of up to `size`."""
    for one in keys:
        if type(one) is tuple:
            charge_tuple(vm, one, size)


def note_deletion(vm: VmExecution, container: dict[object, object]) -> None:
    """Pack a dict that has lost many items.

    CPython leaves a hole where an item was, over which whatever begins to iterate has
    to step, and which the search for a colliding tuple passes: that is paid by
    syntax only where the holes are few.
    """
    count, _ = vm.holes.get(id(container), (0, container))
    if count + 1 < costs.HOLES_MAX:
        vm.holes[id(container)] = (count + 1, container)
        return
    vm.holes[id(container)] = (0, container)
    vm.charge(costs.PACK_PER_ITEM * len(container))
    charge_keys(vm, container, len(container))
    packed = container.copy()
    container.clear()
    container.update(packed)


def dict_from_keys(vm: VmExecution, items: Iterable[object]) -> dict[object, None]:
    """The items as keys, checked and paid."""
    result: dict[object, None] = {}
    for item in items:
        result[new_key(vm, result, item)] = None
    return result


def has_key(
    vm: VmExecution, container: "dict[object, None] | OrderedSet", item: object
) -> bool:
    """Membership by hash."""
    return key(vm, container, item) in container
