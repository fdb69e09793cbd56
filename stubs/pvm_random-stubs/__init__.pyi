"""`pvm_random`, also as `random`: integers from a generator of our own.

The functions use a generator that `pvm_host.randomness` has seeded: everybody can
predict them. It is not CPython's, and gives other numbers.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

_T = TypeVar("_T")

class Random:
    """A reproducible stream of numbers."""

    def __init__(self, seed: int | str | bytes) -> None:
        """The stream that follows from a seed.

        Raises:
            TypeError: the seed is something else.
        """

    def randbytes(self, n: int) -> bytes:
        """The next `n` bytes of the stream."""

    def getrandbits(self, k: int) -> int:
        """A number of at most `k` bits, 0 to 4,096, each as likely."""

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        """A number of `range(start, stop, step)`; ValueError if that is empty."""

    def randint(self, a: int, b: int) -> int:
        """A number from `a` to `b`, both included."""

    def choice(self, seq: Sequence[_T]) -> _T:
        """One item of a sequence; IndexError if it is empty."""

    def shuffle(self, x: list[_T]) -> None:
        """Bring a list in any order, where it is."""

    def sample(self, population: Iterable[_T], k: int) -> list[_T]:
        """`k` items, each at most once, in any order; ValueError beyond all."""

def randbytes(n: int) -> bytes:
    """`n` bytes."""

def getrandbits(k: int) -> int:
    """A number of at most `k` bits, 0 to 4,096."""

def randrange(start: int, stop: int | None = None, step: int = 1) -> int:
    """A number of `range(start, stop, step)`; ValueError if that is empty."""

def randint(a: int, b: int) -> int:
    """A number from `a` to `b`, both included."""

def choice(seq: Sequence[_T]) -> _T:
    """One item of a sequence; IndexError if it is empty."""

def shuffle(x: list[_T]) -> None:
    """Bring a list in any order, where it is."""

def sample(population: Iterable[_T], k: int) -> list[_T]:
    """`k` items, each at most once, in any order; ValueError beyond all."""
