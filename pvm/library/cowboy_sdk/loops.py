"""Loops that end: `BoundedRange` counts the rounds of a `for`."""

from cowboy_sdk.errors import LoopBoundExceeded


class BoundedRange:
    """The items of something, at most `max_iterations` of them.

    In a function with `@bounded_loop` the bound is the decorator's.
    """

    def __init__(self, items, max_iterations=None):
        if type(max_iterations) is not int or max_iterations < 1:
            raise ValueError("BoundedRange has max_iterations, or stands in a function "
                             "with @bounded_loop(max_iterations=…)")
        self.items = range(items) if isinstance(items, int) else items
        self.max_iterations = max_iterations

    def __iter__(self):
        rounds = 0
        for item in self.items:
            rounds += 1
            if rounds > self.max_iterations:
                raise LoopBoundExceeded(f"more than {self.max_iterations} iterations")
            yield item
