"""`bisect`: places in a sorted sequence. With `key`, as CPython's module."""


def bisect_left(a, x, lo=0, hi=None, *, key=None):
    """The first place at which `x` keeps the order."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        found = a[middle] if key is None else key(a[middle])
        if found < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


def bisect_right(a, x, lo=0, hi=None, *, key=None):
    """The last place at which `x` keeps the order."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        found = a[middle] if key is None else key(a[middle])
        if x < found:
            hi = middle
        else:
            lo = middle + 1
    return lo


def insort_left(a, x, lo=0, hi=None, *, key=None):
    """Insert `x` before what is equal."""
    sought = x if key is None else key(x)
    a.insert(bisect_left(a, sought, lo, hi, key=key), x)


def insort_right(a, x, lo=0, hi=None, *, key=None):
    """Insert `x` after what is equal."""
    sought = x if key is None else key(x)
    a.insert(bisect_right(a, sought, lo, hi, key=key), x)


def bisect(a, x, lo=0, hi=None, *, key=None):
    """As `bisect_right`."""
    return bisect_right(a, x, lo, hi, key=key)


def insort(a, x, lo=0, hi=None, *, key=None):
    """As `insort_right`."""
    insort_right(a, x, lo, hi, key=key)
