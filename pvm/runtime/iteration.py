"""Builtins over iterables: paid by the item, results are lists.

sandbox-internals.md, rule 5, says why.
"""

import operator
import struct
from collections.abc import Callable, Iterable

from pvm import costs, language
from pvm.runtime.arithmetic import _INTS, added, checked, floordiv, mod
from pvm.runtime.containers import RANGE_BITS_MAX, iterate, snapshot
from pvm.runtime.exceptions import refused
from pvm.runtime.execution import Helper, VmExecution
from pvm.runtime.freezing import ACTOR_FUNCTIONS

_LOOKED_THROUGH = 24
"""Keys that a loop weighs as fast as C does."""
_SCALARS = frozenset({int, bool, str, bytes})
_MISSING = object()
_Key = Callable[[object], object] | None


def sort_factor(vm: VmExecution, keys: list[object]) -> int:
    """1 + longest // 64, in bytes; refuses what cannot be compared natively."""
    vm.charge(len(keys))
    if len(keys) > _LOOKED_THROUGH and type(keys[0]) is int and _are_words(keys):
        return 1
    longest = 0
    for one in keys:
        kind = type(one)
        if kind is int or kind is bool:
            if one.bit_length() > costs.INT_FREE_BITS:  # type: ignore[attr-defined]
                longest = max(longest, one.bit_length() // 8)  # type: ignore[attr-defined]
            continue
        if kind is str or kind is bytes:
            longest = max(longest, len(one))  # type: ignore[arg-type] # text
        elif kind is tuple or kind is list:
            longest = max(longest, _sequence_weight(vm, one))  # type: ignore[arg-type]
        else:
            raise refused(TypeError("only int, str, bytes and tuples sort; use key="))
    return 1 + longest // 64


def _are_words(keys: list[object]) -> bool:
    """Whether all are integers of 63 bits: packing them finds it without a loop."""
    try:
        struct.pack(f"{len(keys)}q", *keys)
    except struct.error:
        return False
    return True


def _sequence_weight(vm: VmExecution, items: Iterable[object]) -> int:
    weight = 0
    for item in items:
        if type(item) not in _SCALARS:
            raise refused(TypeError("only flat tuples of int, str, bytes sort"))
        weight += 16
        weight += item.bit_length() // 8 if isinstance(item, int) else len(item)  # type: ignore[arg-type]
    vm.charge(6 + weight // 8)
    return weight


def sort(
    vm: VmExecution, items: list[object], key: _Key = None, reverse: object = None
) -> list[object]:
    """A sorted copy of `items`, which the caller has paid for.

    Nothing of the actor's runs between weighing the keys and comparing them.
    """
    count, is_reverse = len(items), bool(reverse)
    keys = _keys_of(vm, items, key)
    if keys and all(_has_order(one) for one in keys):
        return [items[index] for index in _merged(vm, keys, is_reverse=is_reverse)]
    vm.charge(costs.SORT + count * count.bit_length() * sort_factor(vm, keys))
    vm.allocate(costs.SEQUENCE_BYTES + 16 * count)
    if key is None:
        return sorted(items, reverse=is_reverse)  # type: ignore[type-var]
    order = sorted(range(count), key=keys.__getitem__, reverse=is_reverse)  # type: ignore[arg-type]
    return [items[index] for index in order]


def _keys_of(vm: VmExecution, items: list[object], key: _Key) -> list[object]:
    """By what items are ordered: each call of a key function is paid."""
    if key is None:
        return items
    vm.charge(costs.CALL * len(items))
    return [key(item) for item in items]


def _has_order(value: object) -> bool:
    """Whether the actor's or the library's own `__lt__` compares it."""
    return isinstance(getattr(type(value), "__lt__", None), ACTOR_FUNCTIONS)


def _merged(vm: VmExecution, keys: list[object], *, is_reverse: bool) -> list[int]:
    """The order of objects, by merging: which are compared is ours to say."""
    count = len(keys)
    vm.charge(costs.SORT + count * count.bit_length() * costs.CALL)
    vm.allocate(costs.SEQUENCE_BYTES + 16 * count)
    runs = [[index] for index in range(count)]
    while len(runs) > 1:
        pairs = zip(runs[::2], runs[1::2], strict=False)
        merged = [_merge(keys, *pair, is_reverse=is_reverse) for pair in pairs]
        runs = merged + runs[len(runs) - len(runs) % 2 :]
    return runs[0]


def _merge(
    keys: list[object], left: list[int], right: list[int], *, is_reverse: bool
) -> list[int]:
    """Two runs as one; of equals the left one goes first."""
    result: list[int] = []
    i = j = 0
    while i < len(left) and j < len(right):
        one, other = keys[left[i]], keys[right[j]]
        goes_right = one < other if is_reverse else other < one  # type: ignore[operator]
        if goes_right:
            result.append(right[j])
            j += 1
        else:
            result.append(left[i])
            i += 1
    return result + left[i:] + right[j:]


def sorted_(
    vm: VmExecution, items: object, /, *, key: _Key = None, reverse: object = False
) -> list[object]:
    """`sorted(items)`."""
    return sort(vm, snapshot(vm, items), key, reverse)


def sum_(vm: VmExecution, items: object, start: object = 0) -> object:
    """`sum(items)`; not of texts."""
    if isinstance(start, str | bytes):
        raise refused(TypeError("texts are joined, not summed"))
    total = start
    listed = snapshot(vm, items)
    vm.charge(3 * len(listed))
    for item in listed:
        if isinstance(item, int) and type(total) is int:
            total += item
            if total.bit_length() > costs.INT_FREE_BITS:
                checked(vm, total)
        else:
            total = added(vm, operator.add(total, item))
    return total


def min_(
    vm: VmExecution, *items: object, key: _Key = None, default: object = _MISSING
) -> object:
    """`min(a, b)`, `min(items)`."""
    return _extreme(vm, items, key, default, min)


def max_(
    vm: VmExecution, *items: object, key: _Key = None, default: object = _MISSING
) -> object:
    """`max(a, b)`, `max(items)`."""
    return _extreme(vm, items, key, default, max)


def _extreme(
    vm: VmExecution,
    items: tuple[object, ...],
    key: _Key,
    default: object,
    choose: Helper,
) -> object:
    if len(items) == 2 and key is None:  # noqa: PLR2004 - the common call
        first, second = items
        if type(first) is int and type(second) is int:
            vm.charge(3)
            return choose(first, second)
    if not items:
        raise refused(TypeError("min and max need something to choose from"))
    values = snapshot(vm, items[0]) if len(items) == 1 else list(items)
    if not values:
        if default is _MISSING:
            raise refused(ValueError("nothing to choose from"))
        return default
    keys = _keys_of(vm, values, key)
    vm.charge(costs.SORT + len(values) * sort_factor(vm, keys))
    if key is None:
        return choose(values)
    return values[choose(range(len(values)), key=keys.__getitem__)]  # type: ignore[call-overload]


def any_(vm: VmExecution, items: object) -> bool:
    """`any(items)`."""
    return any(_asked(vm, items))


def all_(vm: VmExecution, items: object) -> bool:
    """`all(items)`."""
    return all(_asked(vm, items))


def _asked(vm: VmExecution, items: object) -> Iterable[object]:
    """Items whose truth is asked for: paid as those of a test are."""
    if type(items) is not tuple:
        items = snapshot(vm, items)
    else:
        vm.charge(len(items))
    vm.charge(costs.TRUTH * len(items))
    return items


def map_(vm: VmExecution, function: object, *items: object) -> list[object]:
    """`map` as a list."""
    if not callable(function) or not items:
        raise refused(TypeError("map takes a function and iterables"))
    rows = zip_(vm, *items)
    vm.charge(10 * len(rows))
    vm.sequence(len(rows))
    # `map` may map `map`: what is called need not be an actor's, which counts itself.
    depth = vm.deeper()
    result = [function(*row) for row in rows]
    vm.depth.cell_contents = depth
    return result


def filter_(vm: VmExecution, function: object, items: object) -> list[object]:
    """`filter` as a list."""
    listed = snapshot(vm, items)
    if function is None:
        vm.charge(costs.TRUTH * len(listed))
        return [item for item in listed if item]
    if not callable(function):
        raise refused(TypeError("filter takes a function"))
    vm.charge(10 * len(listed))
    depth = vm.deeper()
    result = [item for item in listed if function(item)]
    vm.depth.cell_contents = depth
    return result


def zip_(vm: VmExecution, *items: object) -> list[tuple[object, ...]]:
    """`zip` as a list."""
    vm.charge(costs.ZIPPED * max(0, len(items) - costs.ZIPPED_FREE))
    sources = [snapshot(vm, one) for one in items]
    count = min((len(source) for source in sources), default=0)
    vm.charge(count * len(sources))
    vm.allocate(count * (costs.SEQUENCE_BYTES + 8 + 8 * len(sources)))
    return list(zip(*sources, strict=False))


def abs_(vm: VmExecution, value: object) -> object:
    """`abs(value)`: of integers."""
    if not isinstance(value, _INTS):
        raise refused(TypeError("abs takes an int"))
    return checked(vm, abs(value))


def enumerate_(
    vm: VmExecution, items: object, start: object = 0
) -> list[tuple[int, object]]:
    """`enumerate` as a list."""
    if type(start) is not int:
        raise refused(TypeError("enumerate starts at an int"))
    if start.bit_length() > RANGE_BITS_MAX:
        raise refused(OverflowError("enumerate starts at an int of 62 bits"))
    listed = snapshot(vm, items)
    vm.charge(len(listed))
    vm.allocate(len(listed) * (costs.SEQUENCE_BYTES + 24))
    return list(enumerate(listed, start))


def reversed_(vm: VmExecution, items: object) -> list[object]:
    """`reversed` as a list."""
    if type(items) not in (list, tuple, str, bytes, range, dict):
        raise refused(TypeError("reversed takes a sequence or a dict"))
    return snapshot(vm, items)[::-1]


def iter_(vm: VmExecution, items: object) -> object:
    """`iter(items)`, with one argument."""
    vm.allocate(64)
    return iterate(items)


def next_(_vm: VmExecution, iterator: object, default: object = _MISSING) -> object:
    """`next(iterator)`, `next(iterator, default)`."""
    if default is _MISSING:
        return next(iterator)  # type: ignore[call-overload]
    return next(iterator, default)  # type: ignore[call-overload]


def divmod_(vm: VmExecution, left: object, right: object) -> tuple[object, object]:
    """`divmod(left, right)`."""
    vm.allocate(costs.SEQUENCE_BYTES + 16)
    return floordiv(vm, left, right), mod(vm, left, right)


def round_(vm: VmExecution, value: object, digits: object = None) -> int:
    """`round(value)`: integers only; negative digits round to powers of ten."""
    if not isinstance(value, _INTS):
        raise refused(TypeError("round takes an int"))
    if digits is None or (type(digits) is int and digits >= 0):
        return int(value)
    if type(digits) is not int or digits < -language.INT_BITS_MAX:
        raise refused(ValueError("too many digits to round away"))
    vm.charge(-digits + digits * digits // 64)
    return checked(vm, round(value, digits))


def hex_(vm: VmExecution, value: object) -> str:
    """`hex(value)`."""
    return _digits(vm, value, hex)


def bin_(vm: VmExecution, value: object) -> str:
    """`bin(value)`."""
    return _digits(vm, value, bin)


def _digits(vm: VmExecution, value: object, convert: Callable[[int], str]) -> str:
    if not isinstance(value, _INTS):
        raise refused(TypeError("digits are of integers"))
    text = convert(value)
    vm.text(len(text), is_ascii=True)
    return text
