"""Page: a bounded part of a list, and where the list goes on.

A page ends when it has the entries asked for, when enough was read for it, or when its
entries are large: so no list costs more than some milliseconds of the event loop.
"""

from typing import Generic, TypeVar

from msgspec import Struct

PAGE_BYTES_MAX = 1 << 20
"""A page ends when its entries reach this: far below the message limit of clients."""

EXAMINED_MAX = 1_000
"""Records that a list reads for one page: some 20 ms."""

Item = TypeVar("Item")


class Page(Struct, Generic[Item], frozen=True):
    """Some entries of a list, and where it goes on."""

    items: tuple[Item, ...]
    next_key: bytes | None
    """Of the first entry of the next page; None at the end."""


class Budget:
    """How much one page may still read and hold."""

    __slots__ = ("_bytes", "_count", "_examined")

    def __init__(self, count: int) -> None:
        self._count = count
        self._examined = EXAMINED_MAX
        self._bytes = PAGE_BYTES_MAX

    @property
    def is_spent(self) -> bool:
        """Whether the next entry belongs to the next page."""
        return self._count <= 0 or self._examined <= 0 or self._bytes <= 0

    def examine(self, size: int) -> None:
        """Account for a record that was read."""
        self._examined -= 1
        self._bytes -= size

    def take(self) -> None:
        """Account for an entry of the page."""
        self._count -= 1
