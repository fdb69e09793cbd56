"""`collections`: `OrderedDict`, `defaultdict`, `Counter`, `deque`.

Each holds its items in a dict of its own and is none itself: `isinstance(x, dict)` is
false, JSON and storage take `dict(x.items())`. A dict keeps the order of insertion
anyway; `OrderedDict` adds `move_to_end`, `popitem(last=False)` and an order that
counts when two of them are compared. `namedtuple` and `ChainMap` are missing.
"""


def _pairs(source):
    """The pairs of a mapping or of an iterable of pairs."""
    if isinstance(source, dict) or hasattr(source, "items"):
        return list(source.items())
    return [(key, value) for key, value in source]


def _plain(value):
    """The dict inside, or what else it is."""
    return value._items if isinstance(value, _Mapping) else value


_MISSING = ("missing",)


class _Mapping:
    """What the mappings share."""

    def __init__(self, source=(), **named):
        self._items = {}
        self.update(source, **named)

    def __getitem__(self, key):
        return self._items[key]

    def __setitem__(self, key, value):
        self._items[key] = value

    def __delitem__(self, key):
        del self._items[key]

    def __contains__(self, key):
        return key in self._items

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def __eq__(self, other):
        return self._items == _plain(other)

    def get(self, key, default=None):
        return self._items.get(key, default)

    def keys(self):
        return self._items.keys()

    def values(self):
        return self._items.values()

    def items(self):
        return self._items.items()

    def pop(self, key, *default):
        if key in self._items or not default:
            return self._items.pop(key)
        return default[0]

    def popitem(self):
        return self._items.popitem()

    def setdefault(self, key, default=None):
        return self._items.setdefault(key, default)

    def update(self, source=(), **named):
        for key, value in _pairs(source):
            self._items[key] = value
        for key, value in named.items():
            self._items[key] = value

    def clear(self):
        self._items.clear()


class OrderedDict(_Mapping):
    """A dict whose order can be changed, and counts."""

    def __eq__(self, other):
        if isinstance(other, OrderedDict):
            return list(self._items.items()) == list(other._items.items())
        return self._items == _plain(other)

    def __repr__(self):
        if not self._items:
            return "OrderedDict()"
        return f"OrderedDict({list(self._items.items())!r})"

    def copy(self):
        return OrderedDict(self._items)

    def move_to_end(self, key, last=True):
        value = self._items.pop(key)
        if last:
            self._items[key] = value
        else:
            self._items = {key: value, **self._items}

    def popitem(self, last=True):
        if last or not self._items:
            return self._items.popitem()
        for key in self._items:
            return key, self._items.pop(key)


class defaultdict(_Mapping):
    """A dict that makes what is missing."""

    def __init__(self, default_factory=None, source=(), **named):
        if default_factory is not None and not callable(default_factory):
            raise TypeError("default_factory must be callable or None")
        self.default_factory = default_factory
        self._items = {}
        self.update(source, **named)

    def __getitem__(self, key):
        if key in self._items:
            return self._items[key]
        if self.default_factory is None:
            raise KeyError(key)
        value = self.default_factory()
        self._items[key] = value
        return value

    def __repr__(self):
        return f"defaultdict({self.default_factory!r}, {self._items!r})"

    def copy(self):
        return defaultdict(self.default_factory, self._items)


class Counter(_Mapping):
    """How often each thing was seen; 0 for what was not."""

    def __getitem__(self, key):
        return self._items.get(key, 0)

    def __delitem__(self, key):
        if key in self._items:
            del self._items[key]

    def __repr__(self):
        if not self._items:
            return "Counter()"
        ordered = {key: count for key, count in self.most_common()}
        return f"Counter({ordered!r})"

    def __eq__(self, other):
        if not isinstance(other, Counter):
            return False
        for key in self._items:
            if self._items[key] != other[key]:
                return False
        for key in other._items:
            if other._items[key] != self[key]:
                return False
        return True

    def __add__(self, other):
        total = Counter(self._items)
        total.update(other._items)
        return total._positive()

    def __sub__(self, other):
        total = Counter(self._items)
        total.subtract(other._items)
        return total._positive()

    def update(self, source=(), **named):
        if isinstance(source, dict) or isinstance(source, _Mapping):
            for key, count in source.items():
                self._items[key] = self[key] + count
        else:
            for key in source:
                self._items[key] = self[key] + 1
        for key, count in named.items():
            self._items[key] = self[key] + count

    def subtract(self, source=(), **named):
        if isinstance(source, dict) or isinstance(source, _Mapping):
            for key, count in source.items():
                self._items[key] = self[key] - count
        else:
            for key in source:
                self._items[key] = self[key] - 1
        for key, count in named.items():
            self._items[key] = self[key] - count

    def copy(self):
        return Counter(self._items)

    def elements(self):
        return [key for key, count in self._items.items() for _ in range(count)]

    def most_common(self, n=None):
        ordered = sorted(self._items.items(), key=lambda pair: pair[1], reverse=True)
        return ordered if n is None else ordered[: max(n, 0)]

    def total(self):
        return sum(self._items.values())

    def _positive(self):
        return Counter({key: count for key, count in self._items.items() if count > 0})


class deque:
    """A list with two cheap ends: items lie in a dict, by consecutive numbers."""

    def __init__(self, iterable=(), maxlen=None):
        if maxlen is not None and maxlen < 0:
            raise ValueError("maxlen must be non-negative")
        self.maxlen = maxlen
        self._items = {}
        self._first = 0
        self._end = 0
        self.extend(iterable)

    def __len__(self):
        return self._end - self._first

    def __bool__(self):
        return self._end > self._first

    def __iter__(self):
        return iter(self._listed())

    def __contains__(self, item):
        return item in self._listed()

    def __getitem__(self, index):
        return self._items[self._place(index)]

    def __setitem__(self, index, item):
        self._items[self._place(index)] = item

    def __delitem__(self, index):
        self._place(index)
        listed = self._listed()
        del listed[index]
        self._fill(listed)

    def __eq__(self, other):
        return isinstance(other, deque) and self._listed() == other._listed()

    def __add__(self, other):
        return deque(self._listed() + other._listed(), self.maxlen)

    def __repr__(self):
        if self.maxlen is None:
            return f"deque({self._listed()!r})"
        return f"deque({self._listed()!r}, maxlen={self.maxlen})"

    def append(self, item):
        self._items[self._end] = item
        self._end += 1
        if self.maxlen is not None and len(self) > self.maxlen:
            self.popleft()

    def appendleft(self, item):
        self._first -= 1
        self._items[self._first] = item
        if self.maxlen is not None and len(self) > self.maxlen:
            self.pop()

    def pop(self):
        if self._end == self._first:
            raise IndexError("pop from an empty deque")
        self._end -= 1
        item = self._items[self._end]
        del self._items[self._end]
        return item

    def popleft(self):
        if self._end == self._first:
            raise IndexError("pop from an empty deque")
        item = self._items[self._first]
        del self._items[self._first]
        self._first += 1
        return item

    def extend(self, iterable):
        for item in list(iterable):
            self.append(item)

    def extendleft(self, iterable):
        for item in list(iterable):
            self.appendleft(item)

    def insert(self, index, item):
        if self.maxlen is not None and len(self) >= self.maxlen:
            raise IndexError("deque already at its maximum size")
        listed = self._listed()
        listed.insert(index, item)
        self._fill(listed)

    def remove(self, item):
        listed = self._listed()
        listed.remove(item)
        self._fill(listed)

    def rotate(self, n=1):
        listed = self._listed()
        if listed:
            n = n % len(listed)
            self._fill(listed[len(listed) - n :] + listed[: len(listed) - n])

    def reverse(self):
        self._fill(self._listed()[::-1])

    def clear(self):
        self._fill([])

    def copy(self):
        return deque(self._listed(), self.maxlen)

    def count(self, item):
        return self._listed().count(item)

    def index(self, item, *bounds):
        return self._listed().index(item, *bounds)

    def _listed(self):
        return [self._items[place] for place in range(self._first, self._end)]

    def _fill(self, listed):
        self._items = {place: item for place, item in enumerate(listed)}
        self._first = 0
        self._end = len(listed)

    def _place(self, index):
        size = self._end - self._first
        if index < -size or index >= size:
            raise IndexError("deque index out of range")
        return self._first + (index if index >= 0 else size + index)
