"""Sets that keep the order of insertion (D40: order must not follow the hash seed).

Only helpers make and change them; what an actor may call is in the table of priced
methods. An actor cannot set an attribute on one: the only slot has a private name.
"""

from collections.abc import Iterable, Iterator, KeysView
from typing import Final


class OrderedSet:
    """A set as a dictionary without values.

    Whether two are equal `comparison` says: a search through many asks in C here.
    """

    __slots__ = ("_items",)
    __hash__ = None  # type: ignore[assignment] # as of a built-in set

    def __init__(self, items: Iterable[object] = ()) -> None:
        """The distinct `items`, each where it came first."""
        self._items: dict[object, None] = dict.fromkeys(items)

    def __len__(self) -> int:
        """Number of items."""
        return len(self._items)

    def __contains__(self, item: object) -> bool:
        """Membership, by hash."""
        return item in self._items

    def __iter__(self) -> Iterator[object]:
        """Items in the order of insertion."""
        return iter(self._items)


class FrozenOrderedSet(OrderedSet):
    """A set that has no method that changes it."""

    __slots__ = ()


DICT_KEYS: Final[type[KeysView[object]]] = type({}.keys())
"""Type of `d.keys()`, which stands where a set may; not the abstract class, whose
`isinstance` remembers every class it was asked about."""

SetLike = OrderedSet | KeysView[object]
SET_LIKE: Final[tuple[type[OrderedSet], type[KeysView[object]]]] = (
    OrderedSet,
    DICT_KEYS,
)
