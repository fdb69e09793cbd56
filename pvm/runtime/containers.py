"""Keys, items, slices, spreading: containers as inserted code uses them.

What may be a key is listed in sandbox.md §5; a tuple as key pays for its items and
for half the container, since tuples of small ints can be made to collide.
"""

import operator
from collections.abc import Iterable, Iterator
from itertools import islice

from pvm import costs, language
from pvm.runtime.comparison import SCALARS, is_sought
from pvm.runtime.dict_keys import (
    charge_keys,
    dict_from_keys,
    key,
    new_key,
    note_deletion,
)
from pvm.runtime.exceptions import refused
from pvm.runtime.execution import VmExecution
from pvm.runtime.ordered_set import FrozenOrderedSet, OrderedSet

_HUGE = 1 << 62

RANGE_BITS_MAX = 62
"""Bits of the numbers that make a range."""

_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
SIZED = frozenset(
    {
        list, tuple, dict, str, bytes, range, OrderedSet, FrozenOrderedSet, *_VIEWS,
    }
)  # fmt: skip
"""Types whose length is known without running anything of the actor's."""

_FROZEN = frozenset({tuple, str, bytes, range})


def size_of(items: object) -> int:
    """Length of a sized native; a range may be too long to count."""
    try:
        return len(items)  # type: ignore[arg-type] # of SIZED
    except OverflowError:
        return _HUGE


def getitem(vm: VmExecution, container: object, wanted: object) -> object:
    """`container[wanted]` where nothing could be bound."""
    return operator.getitem(container, key(vm, container, wanted))  # type: ignore[call-overload]


def delete(vm: VmExecution, container: object, wanted: object) -> None:
    """`del container[wanted]`."""
    if type(container) is list:
        vm.charge(len(container))
    operator.delitem(container, key(vm, container, wanted))  # type: ignore[call-overload]
    if type(container) is dict:
        note_deletion(vm, container)


_SLICED = frozenset({str, bytes, list, tuple, range})


def slice_(
    vm: VmExecution, container: object, start: object, stop: object, step: object
) -> object:
    """`container[start:stop:step]`: the result is paid.

    No method of an actor's gets a slice: it would cut lists unpaid with it, and one
    interpreter takes it for a key of a dict.
    """
    if type(container) not in _SLICED:
        raise refused(TypeError("only texts, bytes, lists, tuples, ranges are sliced"))
    vm.charge(costs.OPERATION)
    result: object = operator.getitem(container, slice(start, stop, step))  # type: ignore[call-overload]
    pay_for_built(vm, result)
    return result


def pay_for_built(vm: VmExecution, value: object) -> None:
    """Pay for a text or sequence by its length."""
    kind = type(value)
    if kind is str:
        vm.text(len(value), is_ascii=value.isascii())  # type: ignore[arg-type, attr-defined]
    elif kind is bytes:
        vm.text(len(value), is_ascii=True)  # type: ignore[arg-type]
    elif kind is list or kind is tuple:
        vm.sequence(len(value))  # type: ignore[arg-type]
    elif kind is range:
        _require_short(value)  # type: ignore[arg-type]


def _require_short(value: range) -> None:
    """A slice of a range multiplies its step: it stays a range of short integers."""
    longest = max(map(int.bit_length, (value.start, value.stop, value.step)))
    if longest > RANGE_BITS_MAX + 2:
        raise refused(OverflowError("a range is of ints of 62 bits"))


def set_slice(
    vm: VmExecution,
    value: object,
    container: object,
    start: object,
    stop: object,
    step: object,
) -> None:
    """`container[start:stop:step] = value`; only lists have it."""
    if type(container) is not list:
        raise refused(TypeError("only a list can be assigned to by slices"))
    vm.charge(costs.OPERATION)
    items = listed(vm, value)
    vm.charge(len(container) + len(items))
    operator.setitem(container, slice(start, stop, step), items)  # type: ignore[arg-type] # checked by it
    vm.allocate(8 * len(items))


def delete_slice(
    vm: VmExecution, container: object, start: object, stop: object, step: object
) -> None:
    """`del container[start:stop:step]`; only lists have it."""
    if type(container) is not list:
        raise refused(TypeError("only a list can be cut by slices"))
    vm.charge(len(container))
    operator.delitem(container, slice(start, stop, step))  # type: ignore[arg-type] # checked by it


def star(vm: VmExecution, items: object) -> list[object] | tuple[object, ...]:
    """What `*items` spreads."""
    vm.charge(costs.SPREAD)
    return listed(vm, items)


def listed(vm: VmExecution, items: object) -> list[object] | tuple[object, ...]:
    """What an iterable gives: paid, and no longer changing."""
    if type(items) is tuple:
        vm.sequence(len(items))
        return items
    return snapshot(vm, items)


def snapshot(vm: VmExecution, items: object) -> list[object]:
    """A new list of what an iterable gives, each item paid."""
    if type(items) in SIZED:
        size = size_of(items)
        vm.charge(size)
        per_item = 8 if type(items) in (list, tuple) else costs.ITERATED_BYTES_PER_ITEM
        vm.allocate(costs.SEQUENCE_BYTES + per_item * size)
        return list(items)  # type: ignore[call-overload, no-any-return] # iterable
    result: list[object] = []
    append = result.append
    vm.allocate(costs.SEQUENCE_BYTES)
    for item in iterate(items):
        vm.charge(costs.ITERATED)
        vm.allocate(costs.ITERATED_BYTES_PER_ITEM)
        append(item)
    return result


def iterate(items: object) -> Iterable[object]:
    """An iterable as Python iterates it; TypeError for what is none."""
    return iter(items)  # type: ignore[call-overload, no-any-return] # raises itself


def pre(vm: VmExecution, items: object, cycles: int, bytes_: int) -> Iterable[object]:
    """The source of a comprehension: a snapshot, all its rounds paid."""
    kind = type(items)
    if kind in SIZED:
        size = size_of(items)
        vm.charge(cycles * size)
        vm.allocate(bytes_ * size)
        return items if kind in _FROZEN else list(items)  # type: ignore[call-overload, return-value]
    result: list[object] = []
    append = result.append
    for item in iterate(items):
        vm.charge(cycles)
        vm.allocate(bytes_)
        append(item)
    return result


def spread_dict(vm: VmExecution, items: object) -> dict[object, object]:
    """What `{**items}` spreads."""
    if type(items) is not dict:
        raise refused(TypeError("only a dict can be spread"))
    vm.charge(costs.PER_KEY * len(items))
    vm.mapping(len(items))
    charge_keys(vm, items, len(items))
    return items


def keywords(vm: VmExecution, items: object) -> dict[str, object]:
    """What `f(**items)` passes: names that an actor could write."""
    spread = spread_dict(vm, items)
    # Each is compared with the parameters, which may differ in their last letter.
    vm.charge(len(spread) * min(len(spread), language.PARAMETERS_MAX) // 4)
    for name in spread:
        if type(name) is not str or name.startswith(("_", "private_", "hidden_")):
            raise refused(TypeError("a keyword argument that is no public name"))
    return spread  # type: ignore[return-value] # checked above


def dict_of(
    vm: VmExecution, pairs: list[tuple[object, object]]
) -> dict[object, object]:
    """A dict comprehension, whose pairs its source has paid for."""
    vm.charge(costs.KEYED * len(pairs))
    vm.allocate(costs.MAPPING_BYTES)
    result: dict[object, object] = {}
    for wanted, value in pairs:
        result[new_key(vm, result, wanted)] = value
    return result


def set_of(vm: VmExecution, items: list[object]) -> OrderedSet:
    """A set display or comprehension, whose items were paid as a list."""
    vm.charge(costs.KEYED * len(items))
    result = dict_from_keys(vm, items)
    vm.mapping(len(result))
    return OrderedSet(result)


def contains(  # noqa: PLR0911 - a line for each kind of container
    vm: VmExecution, item: object, container: object
) -> bool:
    """`item in container`."""
    kind = type(container)
    if kind is dict and type(item) is not tuple:
        return item in container  # type: ignore[operator]
    vm.charge(costs.OPERATION)
    if kind is dict or isinstance(container, OrderedSet) or kind is _VIEWS[0]:
        return key(vm, container, item) in container  # type: ignore[operator]
    if kind is str or kind is bytes:
        vm.charge(len(container) // costs.SEARCH_PER)  # type: ignore[arg-type]
        charge_search(vm, container, item)  # type: ignore[arg-type]
        return item in container  # type: ignore[operator]
    if kind is list or kind is tuple or kind in _VIEWS:
        return any_equal(vm, item, container)  # type: ignore[arg-type]
    if kind is range:
        if not isinstance(item, int):
            raise refused(TypeError("only an int is searched for in a range"))
        vm.charge(item.bit_length() // costs.SEARCH_PER)
        return item in container  # type: ignore[operator]
    if hasattr(kind, "__contains__"):
        return item in container  # type: ignore[operator] # an actor's, or storage
    return any_equal(vm, item, snapshot(vm, container))


def charge_search(
    vm: VmExecution, text: str | bytes, sought: object, *, is_backward: bool = False
) -> None:
    """Pay for a search whose needle nearly matches everywhere.

    CPython compares at every place in short texts, for short needles, and always
    when it searches from the end.
    """
    if type(sought) is not type(text):
        return
    needle = len(sought)
    places = len(text) - needle
    if needle < 2 or places < 1:  # noqa: PLR2004 - one character has no partial match
        return
    if not is_backward and len(text) >= costs.SEARCH_NAIVE_BELOW:
        needle = min(needle, costs.SEARCH_NAIVE_NEEDLE)
    vm.charge(places * needle // costs.SEARCH_NAIVE_PER)


def any_equal(vm: VmExecution, item: object, container: Iterable[object]) -> bool:
    """Search from the front; each comparison is paid."""
    if type(container) is list and type(item) in SCALARS:
        for part in paid_parts(vm, item, container):  # noqa: SIM110 - less of the stack
            if item in part:
                return True
        return False
    size = size_of(container)
    if type(item) in SCALARS:
        charge_scalar_search(vm, item, size)
        return item in container
    vm.charge(size)
    return first_equal(vm, item, container) >= 0


def paid_parts(
    vm: VmExecution, item: object, container: list[object]
) -> Iterator[Iterable[object]]:
    """What is to be compared with a scalar: what it grows by meanwhile is paid, too.

    An `__eq__` of what the list holds may add to it, while C goes on to its end.
    """
    items, done, size = iter(container), 0, len(container)
    while True:
        charge_scalar_search(vm, item, size - done)
        yield islice(items, size - done)
        done, size = size, len(container)
        if size <= done:
            return


def charge_scalar_search(vm: VmExecution, item: object, size: int) -> None:
    """Pay for comparing a scalar with so many items."""
    vm.charge(size)
    kind = type(item)
    if kind is int:
        vm.charge(size * (item.bit_length() // costs.SEARCHED_BITS_PER))  # type: ignore[attr-defined]
    elif kind is str or kind is bytes:
        length = len(item)  # type: ignore[arg-type] # text
        if length > costs.TEXT_FREE:
            vm.charge(size * (length // costs.COMPARED_PER))


def first_equal(vm: VmExecution, item: object, container: Iterable[object]) -> int:
    """Where an object or container is found, from the front, or -1.

    Without a generator, which would take more of the stack for each comparison, and
    without a copy, of which nested searches would hold one each, unpaid. A list may
    change meanwhile; a dict that does ends the search, as it ends a loop over it.
    """
    for index, one in enumerate(container):
        if is_sought(vm, item, one):
            return index
    return -1
