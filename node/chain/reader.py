"""Reader: what the loading functions of the chain need of a journal or a snapshot."""

from collections.abc import Iterator
from typing import Protocol


class Reader(Protocol):
    """A snapshot or a journal over one."""

    def get(self, key: bytes) -> bytes | None:
        """The value under `key`, or None."""
        ...

    def range(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Pairs with start ≤ key < stop, ascending by key."""
        ...


def load_count(reader: Reader, key: bytes) -> int:
    """A derived count, 0 when absent."""
    data = reader.get(key)
    return 0 if data is None else int.from_bytes(data, "big")
