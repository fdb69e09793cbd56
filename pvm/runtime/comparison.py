"""Comparing: containers by a walk on an explicit stack, paid as it goes.

CPython compares nested containers by recursion in C, which shared structure makes
exponential and depth makes fatal; here each container costs 16, each item 8, and 64
levels are the limit (sandbox.md §4, §5).
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TypeAlias

from pvm import costs
from pvm.runtime.dict_keys import key
from pvm.runtime.exceptions import refused
from pvm.runtime.execution import VmExecution
from pvm.runtime.ordered_set import (
    DICT_KEYS,
    SET_LIKE,
    FrozenOrderedSet,
    OrderedSet,
    SetLike,
)

_TEXT = (str, bytes)
SCALARS = frozenset({int, bool, str, bytes, type(None)})
_VIEWS: tuple[type, ...] = (type({}.values()), type({}.items()))
"""Equal to themselves only, as `values()` is in Python: `list` them first."""

_WALKED = frozenset(
    {list, tuple, dict, OrderedSet, FrozenOrderedSet, DICT_KEYS, *_VIEWS}
)
"""Native types that hold others; they have no subclasses here."""

_Pair: TypeAlias = tuple[object, object]
_Test = Callable[..., object]  # type: ignore[explicit-any] # of `operator`


def equal(  # noqa: C901 - one loop over the kinds, unrolled
    vm: VmExecution, left: object, right: object
) -> bool:
    """Whether two values are equal, `__eq__` of actors' objects included."""
    waiting: list[Iterator[_Pair]] = [iter([(left, right)])]
    while waiting:
        pair = next(waiting[-1], None)
        if pair is None:
            waiting.pop()
            continue
        one, other = pair
        depth = len(waiting) - 1
        if one is other:
            continue
        kind = type(one)
        if kind in SCALARS or type(other) in SCALARS:
            if not _scalars_equal(vm, one, other):
                return False
        elif (kind is list or kind is tuple) and kind is type(other):
            if not _enter(vm, one, other, depth):
                return False
            waiting.append(_pairs(one, other))  # type: ignore[arg-type]
        elif kind is dict and type(other) is dict:
            if not _enter(vm, one, other, depth):
                return False
            vm.charge(costs.WALK_ITEM * len(one))  # type: ignore[arg-type]
            waiting.append(_pairs_of_dicts(vm, one, other))  # type: ignore[arg-type]
        elif not _others_equal(vm, one, other, depth):
            return False
    return True


def is_sought(vm: VmExecution, item: object, one: object) -> bool:
    """Whether a search for an object or container ends here."""
    vm.charge(costs.SEARCHED_ITEM)
    return equal(vm, item, one)


def _pairs(one: Sequence[object], other: Sequence[object]) -> Iterator[_Pair]:
    """What two sequences hold, as it is when it is asked for, and then their lengths.

    Nothing is copied: comparisons inside one another would hold a copy each, unpaid.
    """
    items: Iterator[_Pair] = zip(one, other, strict=False)
    return chain(items, map(_lengths, (one,), (other,)))


def _lengths(one: Sequence[object], other: Sequence[object]) -> _Pair:
    return len(one), len(other)


def _pairs_of_dicts(
    vm: VmExecution, one: dict[object, object], other: dict[object, object]
) -> Iterator[_Pair]:
    """Values under equal keys, and a last pair that differs where the keys do."""
    for name, value in one.items():
        if key(vm, other, name) not in other:
            yield False, True
            return
        yield value, other[name]


def _enter(vm: VmExecution, one: object, other: object, depth: int) -> bool:
    """Pay for two containers; False if their lengths differ."""
    vm.charge(costs.COMPARED_CONTAINER)
    if len(one) != len(other):  # type: ignore[arg-type] # both are containers
        return False
    if depth >= costs.NESTING_MAX:
        raise refused(ValueError("values nested more than 64 deep"))
    vm.charge(costs.WALK_ITEM * len(one))  # type: ignore[arg-type]
    return True


def _scalars_equal(vm: VmExecution, one: object, other: object) -> bool:
    if type(one) in _TEXT and type(one) is type(other):
        vm.charge(min(len(one), len(other)) // costs.COMPARED_PER)  # type: ignore[arg-type]
    return bool(one == other)


def _others_equal(vm: VmExecution, one: object, other: object, depth: int) -> bool:
    """Sets, views, and what an actor's class decides."""
    if isinstance(one, SET_LIKE) and isinstance(other, SET_LIKE):
        return _enter(vm, one, other, depth) and all(
            key(vm, other, item) in other for item in one
        )
    if isinstance(one, _VIEWS) or isinstance(other, _VIEWS):
        return False
    return bool(one == other)


def eq(vm: VmExecution, left: object, right: object) -> object:
    """`left == right`."""
    if type(left) is int:  # as inserted code does it
        return left == right
    vm.charge(costs.OPERATION)
    if _walks(left) or _walks(right):
        return equal(vm, left, right)
    _charge_texts(vm, left, right)
    return left == right


def ne(vm: VmExecution, left: object, right: object) -> object:
    """`left != right`."""
    if type(left) is int:  # as inserted code does it
        return left != right
    vm.charge(costs.OPERATION)
    if _walks(left) or _walks(right):
        return not equal(vm, left, right)
    _charge_texts(vm, left, right)
    return left != right


def _walks(value: object) -> bool:
    return type(value) in _WALKED


def _charge_texts(vm: VmExecution, left: object, right: object) -> None:
    if type(left) in _TEXT and type(left) is type(right):
        vm.charge(min(len(left), len(right)) // costs.COMPARED_PER)  # type: ignore[arg-type]


def _ordered(vm: VmExecution, left: object, right: object, test: _Test) -> object:
    """Lexicographic order of sequences, item by item; else Python's own."""
    if type(left) is int:  # as inserted code does it
        return test(left, right)
    vm.charge(costs.OPERATION)
    depth = 0
    while True:
        kind = type(left)
        if kind is not type(right) or (kind is not list and kind is not tuple):
            break
        if depth >= costs.NESTING_MAX:
            raise refused(ValueError("values nested more than 64 deep"))
        depth += 1
        vm.charge(costs.COMPARED_CONTAINER)
        found = _first_difference(vm, left, right)
        if found is None:
            return test(len(left), len(right))  # type: ignore[arg-type]
        left, right = found
    if isinstance(left, SET_LIKE) and isinstance(right, SET_LIKE):
        return _subset(vm, left, right, test)
    if isinstance(left, _VIEWS) and isinstance(right, _VIEWS):
        # CPython's own would compare the values, unpaid and by recursion.
        raise refused(TypeError("values() and items() have no order"))
    _charge_texts(vm, left, right)
    return test(left, right)


def _first_difference(
    vm: VmExecution, left: object, right: object
) -> tuple[object, object] | None:
    for one, other in zip(left, right, strict=False):  # type: ignore[call-overload]
        vm.charge(costs.WALK_ITEM)
        if type(one) in SCALARS and type(other) in SCALARS:
            if not _scalars_equal(vm, one, other):
                return one, other
            continue
        vm.charge(costs.WALK_ITEM)
        if not equal(vm, one, other):
            return one, other
    return None


def _subset(vm: VmExecution, left: SetLike, right: SetLike, test: _Test) -> bool:
    """Sets are ordered by inclusion."""
    if test in (operator.gt, operator.ge):
        flipped = operator.lt if test is operator.gt else operator.le
        return _subset(vm, right, left, flipped)
    vm.charge(costs.COMPARED_CONTAINER + costs.WALK_ITEM * len(left))
    is_proper = test is operator.lt
    if is_proper and len(left) >= len(right):
        return False
    return all(key(vm, right, item) in right for item in left)


def lt(vm: VmExecution, left: object, right: object) -> object:
    """`left < right`."""
    return _ordered(vm, left, right, operator.lt)


def le(vm: VmExecution, left: object, right: object) -> object:
    """`left <= right`."""
    return _ordered(vm, left, right, operator.le)


def gt(vm: VmExecution, left: object, right: object) -> object:
    """`left > right`."""
    return _ordered(vm, left, right, operator.gt)


def ge(vm: VmExecution, left: object, right: object) -> object:
    """`left >= right`."""
    return _ordered(vm, left, right, operator.ge)
