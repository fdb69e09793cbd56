"""Priced methods of list, tuple, dict and our set (sandbox.md §3, §4)."""

from collections.abc import Callable, Mapping
from operator import countOf

from pvm import costs
from pvm.runtime.comparison import SCALARS, is_sought
from pvm.runtime.constructors import update
from pvm.runtime.containers import (
    any_equal,
    charge_scalar_search,
    first_equal,
    paid_parts,
    snapshot,
)
from pvm.runtime.dict_keys import (
    charge_keys,
    charge_tuple,
    dict_from_keys,
    has_key,
    key,
    new_key,
    note_deletion,
)
from pvm.runtime.exceptions import refused
from pvm.runtime.execution import Helper, VmExecution
from pvm.runtime.iteration import sort
from pvm.runtime.ordered_set import OrderedSet

_MISSING = object()
_List = list[object]
_Sequence = list[object] | tuple[object, ...]
_Dict = dict[object, object]


def append(_vm: VmExecution, self: _List, item: object) -> None:
    """`l.append(item)`, paid in the block."""
    self.append(item)


def clear(_vm: VmExecution, self: _List | _Dict) -> None:
    """`l.clear()`, `d.clear()`."""
    self.clear()


def copy_list(vm: VmExecution, self: _List) -> _List:
    """`l.copy()`."""
    vm.sequence(len(self))
    return self.copy()


def extend(vm: VmExecution, self: _List, items: object) -> None:
    """`l.extend(items)`."""
    added = snapshot(vm, items)
    vm.allocate(8 * len(added))
    self.extend(added)


def insert(vm: VmExecution, self: _List, index: object, item: object) -> None:
    """`l.insert(index, item)`."""
    vm.charge(len(self))
    if type(index) is not int:
        raise refused(TypeError("an index is an int"))
    self.insert(index, item)


def pop_list(vm: VmExecution, self: _List, index: object = -1) -> object:
    """`l.pop()`, `l.pop(index)`."""
    if type(index) is not int:
        raise refused(TypeError("an index is an int"))
    if index != -1:
        vm.charge(len(self))
    return self.pop(index)


def _first(vm: VmExecution, self: _Sequence, item: object) -> int:
    if type(item) in SCALARS:
        known = len(self)
        if not any_equal(vm, item, self):
            return -1
        charge_scalar_search(vm, item, max(0, len(self) - known))
        return self.index(item, 0, len(self))
    vm.charge(len(self))
    return first_equal(vm, item, self)


def remove_item(vm: VmExecution, self: _List, item: object) -> None:
    """`l.remove(item)`."""
    index = _first(vm, self, item)
    if index < 0:
        raise refused(ValueError("the item is not in the list"))
    vm.charge(len(self))
    del self[index]


def index_of(
    vm: VmExecution, self: _Sequence, item: object, start: object = 0, *stop: object
) -> int:
    """`l.index(item)`."""
    if start != 0 or stop:
        raise refused(TypeError("index takes one argument"))
    index = _first(vm, self, item)
    if index < 0:
        raise refused(ValueError("the item is not in the sequence"))
    return index


def count_of(vm: VmExecution, self: _Sequence, item: object) -> int:
    """`l.count(item)`."""
    found = 0
    if type(self) is list and type(item) in SCALARS:
        for part in paid_parts(vm, item, self):
            found += countOf(part, item)
        return found
    if type(item) in SCALARS:
        charge_scalar_search(vm, item, len(self))
        return self.count(item)
    vm.charge(len(self))
    for one in self:
        found += is_sought(vm, item, one)
    return found


def reverse(vm: VmExecution, self: _List) -> None:
    """`l.reverse()`."""
    vm.charge(len(self))
    self.reverse()


def sort_list(
    vm: VmExecution,
    self: _List,
    /,
    *,
    key: Callable[[object], object] | None = None,
    reverse: object = False,
) -> None:
    """`l.sort()`."""
    vm.charge(len(self))
    self[:] = sort(vm, list(self), key, reverse)


def copy_dict(vm: VmExecution, self: _Dict) -> _Dict:
    """`d.copy()`."""
    vm.charge(costs.PER_KEY * len(self))
    vm.mapping(len(self))
    charge_keys(vm, self, len(self))
    return self.copy()


def get(vm: VmExecution, self: _Dict, wanted: object, default: object = None) -> object:
    """`d.get(key, default)`."""
    return self.get(key(vm, self, wanted), default)


def pop_dict(
    vm: VmExecution, self: _Dict, wanted: object, default: object = _MISSING
) -> object:
    """`d.pop(key)`, `d.pop(key, default)`."""
    found = key(vm, self, wanted)
    count = len(self)
    value = self.pop(found) if default is _MISSING else self.pop(found, default)
    if len(self) < count:
        note_deletion(vm, self)
    return value


def popitem(vm: VmExecution, self: _Dict) -> tuple[object, object]:
    """`d.popitem()`: the newest."""
    if not self:
        raise refused(KeyError("popitem of an empty dict"))
    newest = next(reversed(self))
    if type(newest) is tuple:
        charge_tuple(vm, newest, len(self))
    item = self.popitem()
    note_deletion(vm, self)
    return item


def setdefault(
    vm: VmExecution, self: _Dict, wanted: object, default: object = None
) -> object:
    """`d.setdefault(key, default)`."""
    return self.setdefault(new_key(vm, self, wanted), default)


def items(_vm: VmExecution, self: _Dict) -> object:
    """`d.items()`."""
    return self.items()


def keys(_vm: VmExecution, self: _Dict) -> object:
    """`d.keys()`."""
    return self.keys()


def values(_vm: VmExecution, self: _Dict) -> object:
    """`d.values()`."""
    return self.values()


def fromkeys(vm: VmExecution, wanted: object, value: object = None) -> _Dict:
    """`dict.fromkeys(keys, value)`."""
    listed = snapshot(vm, wanted)
    vm.charge(costs.ITERATED * len(listed))
    vm.mapping(len(listed))
    return dict.fromkeys(dict_from_keys(vm, listed), value)


# ---- sets


def _others(vm: VmExecution, others: tuple[object, ...]) -> list[dict[object, None]]:
    return [_distinct(vm, other) for other in others]


def _distinct(vm: VmExecution, other: object) -> dict[object, None]:
    listed = other if isinstance(other, OrderedSet) else snapshot(vm, other)
    vm.charge(costs.PER_KEY * len(listed))
    vm.mapping(len(listed))
    return dict_from_keys(vm, listed)


def _built(vm: VmExecution, self: OrderedSet, chosen: list[object]) -> OrderedSet:
    vm.charge(costs.PER_KEY * len(chosen))
    vm.mapping(len(chosen))
    return type(self)(dict_from_keys(vm, chosen))


def add_item(vm: VmExecution, self: OrderedSet, item: object) -> None:
    """`s.add(item)`."""
    self._items[new_key(vm, len(self), item)] = None
    vm.allocate(costs.MAPPING_BYTES_PER_ITEM - costs.STORE_BYTES)


def clear_set(_vm: VmExecution, self: OrderedSet) -> None:
    """`s.clear()`."""
    self._items.clear()


def copy_set(vm: VmExecution, self: OrderedSet) -> OrderedSet:
    """`s.copy()`."""
    return _built(vm, self, list(self))


def discard(vm: VmExecution, self: OrderedSet, item: object) -> None:
    """`s.discard(item)`."""
    count = len(self)
    self._items.pop(new_key(vm, count, item), None)
    if len(self) < count:
        note_deletion(vm, self._items)  # type: ignore[arg-type] # its values are None


def remove_member(vm: VmExecution, self: OrderedSet, item: object) -> None:
    """`s.remove(item)`; `KeyError` when absent."""
    del self._items[new_key(vm, len(self), item)]
    note_deletion(vm, self._items)  # type: ignore[arg-type] # its values are None


def pop_member(vm: VmExecution, self: OrderedSet) -> object:
    """`s.pop()`: the oldest."""
    vm.charge(costs.OPERATION)
    for item in self._items:
        del self._items[key(vm, self, item)]
        note_deletion(vm, self._items)  # type: ignore[arg-type] # its values are None
        return item
    raise refused(KeyError("pop from an empty set"))


def union(vm: VmExecution, self: OrderedSet, *others: object) -> OrderedSet:
    """`s.union(…)`."""
    chosen = list(self)
    for other in _others(vm, others):
        chosen += other
    return _built(vm, self, chosen)


def intersection(vm: VmExecution, self: OrderedSet, *others: object) -> OrderedSet:
    """`s.intersection(…)`."""
    found = _others(vm, others)
    vm.charge(costs.KEYED * len(self) * len(found))
    return _built(
        vm,
        self,
        [item for item in self if all(has_key(vm, other, item) for other in found)],
    )


def difference(vm: VmExecution, self: OrderedSet, *others: object) -> OrderedSet:
    """`s.difference(…)`."""
    found = _others(vm, others)
    vm.charge(costs.KEYED * len(self) * len(found))
    return _built(
        vm,
        self,
        [item for item in self if not any(has_key(vm, other, item) for other in found)],
    )


def update_set(vm: VmExecution, self: OrderedSet, *others: object) -> None:
    """`s.update(…)`."""
    for other in _others(vm, others):
        vm.charge(2 * len(other))
        vm.mapping(len(other))
        charge_keys(vm, other, len(other) + len(self))
        self._items.update(other)


def issubset(vm: VmExecution, self: OrderedSet, other: object) -> bool:
    """`s.issubset(other)`."""
    vm.charge(costs.KEYED * len(self))
    found = _distinct(vm, other)
    return all(has_key(vm, found, item) for item in self)


def issuperset(vm: VmExecution, self: OrderedSet, other: object) -> bool:
    """`s.issuperset(other)`."""
    found = _distinct(vm, other)
    vm.charge(costs.KEYED * len(found))
    return all(has_key(vm, self, item) for item in found)


LIST: Mapping[str, Helper] = {
    "append": append,
    "clear": clear,
    "copy": copy_list,
    "count": count_of,
    "extend": extend,
    "index": index_of,
    "insert": insert,
    "pop": pop_list,
    "remove": remove_item,
    "reverse": reverse,
    "sort": sort_list,
}
TUPLE: Mapping[str, Helper] = {"count": count_of, "index": index_of}
DICT: Mapping[str, Helper] = {
    "clear": clear,
    "copy": copy_dict,
    "get": get,
    "items": items,
    "keys": keys,
    "pop": pop_dict,
    "popitem": popitem,
    "setdefault": setdefault,
    "update": update,
    "values": values,
}
FROZENSET: Mapping[str, Helper] = {
    "copy": copy_set,
    "difference": difference,
    "intersection": intersection,
    "issubset": issubset,
    "issuperset": issuperset,
    "union": union,
}
SET: Mapping[str, Helper] = {
    **FROZENSET,
    "add": add_item,
    "clear": clear_set,
    "discard": discard,
    "pop": pop_member,
    "remove": remove_member,
    "update": update_set,
}
