"""Loops that end: `BoundedRange` counts the rounds of a `for`."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar, overload

from cowboy_sdk.errors import LoopBoundExceeded as LoopBoundExceeded

_T = TypeVar("_T")

class BoundedRange(Generic[_T]):
    """The items of something, or of `range(items)`, at most `max_iterations` of them.

    In a function with `@bounded_loop` the bound is the decorator's. One round more
    raises `LoopBoundExceeded`.
    """

    items: Iterable[_T]
    max_iterations: int

    @overload
    def __init__(
        self: BoundedRange[int], items: int, max_iterations: int | None = None
    ) -> None:
        """Count from 0 to below `items`."""

    @overload
    def __init__(self, items: Iterable[_T], max_iterations: int | None = None) -> None:
        """Go through `items`; ValueError without a bound of 1 or more."""

    def __iter__(self) -> Iterator[_T]:
        """The items; LoopBoundExceeded after the bound."""
