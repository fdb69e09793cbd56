"""`itertools`: generators. As CPython's, but each can be iterated by `for` only.

A generator object costs 4,096 bytes of the allocation account. `groupby` gives lists as
groups; `tee` is missing: `list` keeps the items.
"""


def count(start=0, step=1):
    """start, start + step, …"""
    number = start
    while True:
        yield number
        number += step


def cycle(iterable):
    """The items again and again."""
    saved = []
    for item in iterable:
        yield item
        saved.append(item)
    while saved:
        for item in saved:
            yield item


def repeat(object, times=None):
    """One thing, for ever or so many times."""
    if times is None:
        while True:
            yield object
    for _ in range(times):
        yield object


def accumulate(iterable, func=None, *, initial=None):
    """Sums, or what `func` makes of the value so far and the next item."""
    total = initial
    has_total = initial is not None
    if has_total:
        yield total
    for item in iterable:
        if not has_total:
            total = item
            has_total = True
        elif func is None:
            total = total + item
        else:
            total = func(total, item)
        yield total


def chain(*iterables):
    """The items of each, one after another."""
    for iterable in iterables:
        for item in iterable:
            yield item


def compress(data, selectors):
    """Items whose selector is true."""
    for item, selector in zip(data, selectors):
        if selector:
            yield item


def dropwhile(predicate, iterable):
    """Items from the first that fails on."""
    is_dropping = True
    for item in iterable:
        if is_dropping and predicate(item):
            continue
        is_dropping = False
        yield item


def takewhile(predicate, iterable):
    """Items up to the first that fails."""
    for item in iterable:
        if not predicate(item):
            return
        yield item


def filterfalse(predicate, iterable):
    """Items that fail."""
    for item in iterable:
        if not (item if predicate is None else predicate(item)):
            yield item


def groupby(iterable, key=None):
    """Pairs of a key and the list of neighbours that have it."""
    group = []
    current = None
    for item in iterable:
        found = item if key is None else key(item)
        if group and found != current:
            yield current, group
            group = []
        current = found
        group.append(item)
    if group:
        yield current, group


def islice(iterable, start, *bounds):
    """Items of a range of places: `(stop)`, or `(start, stop[, step])`."""
    if len(bounds) > 2:
        raise TypeError("islice takes at most four arguments")
    if bounds:
        first, stop = start, bounds[0]
        step = bounds[1] if len(bounds) == 2 else 1
    else:
        first, stop, step = 0, start, 1
    first = 0 if first is None else first
    step = 1 if step is None else step
    if first < 0 or step < 1 or (stop is not None and stop < 0):
        raise ValueError("islice takes places of 0 or more, and a step of 1 or more")
    if stop is not None and stop <= 0:
        return
    wanted = first
    place = 0
    for item in iterable:
        if stop is not None and place >= stop:
            return
        if place == wanted:
            yield item
            wanted += step
        place += 1
        if stop is not None and (place >= stop or wanted >= stop):
            return


def pairwise(iterable):
    """Neighbours as pairs."""
    previous = None
    has_previous = False
    for item in iterable:
        if has_previous:
            yield previous, item
        previous = item
        has_previous = True


def starmap(function, iterable):
    """The function of each tuple of arguments."""
    for arguments in iterable:
        yield function(*arguments)


def zip_longest(*iterables, fillvalue=None):
    """Tuples of items side by side, filled up to the longest."""
    columns = [list(iterable) for iterable in iterables]
    longest = max([len(column) for column in columns], default=0)
    for row in range(longest):
        yield tuple(
            [column[row] if row < len(column) else fillvalue for column in columns]
        )


def product(*iterables, repeat=1):
    """Every choice of one item from each, the last changing fastest."""
    pools = [tuple(iterable) for iterable in iterables] * repeat
    sizes = [len(pool) for pool in pools]
    if 0 in sizes:
        return
    places = [0] * len(pools)
    while True:
        yield tuple([pool[place] for pool, place in zip(pools, places)])
        position = len(pools) - 1
        while position >= 0 and places[position] == sizes[position] - 1:
            places[position] = 0
            position -= 1
        if position < 0:
            return
        places[position] += 1


def combinations(iterable, r):
    """Choices of r items, in the order of their places."""
    pool = tuple(iterable)
    if r < 0:
        raise ValueError("r must be non-negative")
    places = list(range(r))
    if r > len(pool):
        return
    while True:
        yield tuple([pool[place] for place in places])
        position = r - 1
        while position >= 0 and places[position] == position + len(pool) - r:
            position -= 1
        if position < 0:
            return
        places[position] += 1
        for later in range(position + 1, r):
            places[later] = places[later - 1] + 1


def combinations_with_replacement(iterable, r):
    """Choices of r items, each as often as you like."""
    pool = tuple(iterable)
    if r < 0:
        raise ValueError("r must be non-negative")
    if not pool and r:
        return
    places = [0] * r
    while True:
        yield tuple([pool[place] for place in places])
        position = r - 1
        while position >= 0 and places[position] == len(pool) - 1:
            position -= 1
        if position < 0:
            return
        place = places[position] + 1
        for later in range(position, r):
            places[later] = place


def permutations(iterable, r=None):
    """Orders of r items, in the order of their places."""
    pool = tuple(iterable)
    size = len(pool)
    r = size if r is None else r
    if r < 0:
        raise ValueError("r must be non-negative")
    if r > size:
        return
    places = list(range(size))
    cycles = list(range(size, size - r, -1))
    yield tuple([pool[place] for place in places[:r]])
    while size:
        position = r - 1
        while position >= 0:
            cycles[position] -= 1
            if cycles[position]:
                break
            places[position:] = places[position + 1 :] + places[position : position + 1]
            cycles[position] = size - position
            position -= 1
        if position < 0:
            return
        other = size - cycles[position]
        places[position], places[other] = places[other], places[position]
        yield tuple([pool[place] for place in places[:r]])
