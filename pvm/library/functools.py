"""`functools`: `reduce`, `partial`, `wraps`, `cmp_to_key`, `cache`.

`partial` and `cache` give plain functions: a partial has no `func`, a cached function
no `cache_clear`. A cache lives as long as the message that runs. `cache` takes
positional arguments that can be keys, and tells `1` and `True` not apart, as CPython's;
`wraps` changes nothing, since names and docstrings of functions cannot be read.
"""


def reduce(function, iterable, *initial):
    """Combine the items from the left."""
    if len(initial) > 1:
        raise TypeError("reduce takes two or three arguments")
    value = initial[0] if initial else None
    has_value = bool(initial)
    for item in iterable:
        value = function(value, item) if has_value else item
        has_value = True
    if not has_value:
        raise TypeError("reduce of nothing, and no initial value")
    return value


def partial(func, *args, **keywords):
    """A function that has some arguments already."""

    def call(*more, **others):
        return func(*args, *more, **{**keywords, **others})

    return call


def wraps(wrapped):
    """A decorator that gives back what it decorates."""

    def decorate(wrapper):
        return wrapper

    return decorate


def cmp_to_key(mycmp):
    """A key function whose results are ordered by `mycmp`: for `sorted` and `sort`."""

    def key(value):
        return _Compared(mycmp, value)

    return key


class _Compared:
    """A value whose order a function says."""

    def __init__(self, compare, value):
        self.compare = compare
        self.value = value

    def __lt__(self, other):
        return self.compare(self.value, other.value) < 0

    def __le__(self, other):
        return self.compare(self.value, other.value) <= 0

    def __gt__(self, other):
        return self.compare(self.value, other.value) > 0

    def __ge__(self, other):
        return self.compare(self.value, other.value) >= 0

    def __eq__(self, other):
        return self.compare(self.value, other.value) == 0


def cache(user_function):
    """The function, which computes each result once."""
    results = {}

    def call(*args):
        if args in results:
            return results[args]
        result = user_function(*args)
        results[args] = result
        return result

    return call
