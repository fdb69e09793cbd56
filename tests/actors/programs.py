# Programs in both languages: plain Python and actors give the same value.
# Chunks are separated by a line of three dashes; each defines `run`.
def run():
    total = 0
    for i in range(200):
        total = (total * 31 + i) % 1000003
    return total
---
def run():
    total = 0
    i = 0
    while i < 50:
        if i % 3 == 0:
            total = total + i
        elif i % 5 == 0:
            total -= 2
        else:
            total = total - 1
        i += 1
    else:
        total += 1000
    return total
---
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)

def run():
    return fib(12)
---
def run():
    d = {}
    for i in range(100):
        k = "k" + str(i % 7)
        d[k] = d.get(k, 0) + i
    return [(k, d[k]) for k in d], len(d), "k3" in d, "z" not in d
---
def run():
    parts = []
    for i in range(40):
        parts.append("item-" + str(i))
    s = ",".join(parts)
    return s.split(",")[3:9:2], s.count("item"), s.startswith("item-0"), s[-3:], s.find("9"), s.upper()[:6]
---
def run():
    xs = [(i * 7919) % 10007 for i in range(60)]
    ys = sorted([x for x in xs if x % 2 == 0], reverse=True)
    return ys, min(xs), max(ys), sum(ys), sorted(xs, key=lambda x: (x % 10, x))[:5]
---
class Vec:
    size = 2

    def __init__(self, x, y=0):
        self.x = x
        self._y = y

    def step(self, dx):
        self.x += dx
        self._y = self._y - 1
        return self.x

    @property
    def y(self):
        return self._y

    @y.setter
    def y(self, value):
        self._y = value * 2

    @staticmethod
    def of(n):
        return Vec(n, n)

    @classmethod
    def zero(cls):
        return cls(0)

    def __add__(self, other):
        return Vec(self.x + other.x, self._y + other._y)

    def __eq__(self, other):
        return isinstance(other, Vec) and (self.x, self._y) == (other.x, other._y)

    def __str__(self):
        return f"Vec({self.x}, {self._y})"

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        return (self.x, self._y)[i]

    def __contains__(self, v):
        return v == self.x

    def __call__(self, n):
        return n * self.x

    def __bool__(self):
        return self.x != 0

    def __lt__(self, other):
        return self.x < other.x

def run():
    v = Vec(1)
    for i in range(5):
        v.step(i)
    v.y = 4
    w = Vec.of(3) + v
    return str(v), v.y, str(w), w == Vec(14, 11), w != v, len(w), w[1], 14 in w, w(2), bool(Vec.zero()), v < w, f"{v}", Vec.size
---
class Base:
    def __init__(self, n):
        self.n = n

    def name(self):
        return "base" + str(self.n)

class Left(Base):
    def name(self):
        return "left" + super().name()

class Right(Base):
    def name(self):
        return "right" + super().name()

class Both(Left, Right):
    def __init__(self):
        super().__init__(7)

def run():
    b = Both()
    return b.name(), isinstance(b, Right), isinstance(b, (int, Left)), issubclass(Both, Base), type(b).__name__, type(b) is Both
---
class Problem(ValueError):
    def __init__(self, code):
        super().__init__("problem " + str(code))
        self.code = code

def thrower(n):
    if n == 0:
        raise Problem(5)
    if n == 1:
        raise KeyError("k")
    if n == 2:
        return [][1]
    if n == 3:
        return 1 // 0
    if n == 4:
        return {}["missing"]
    if n == 5:
        assert n == 6, "not six"
    if n == 6:
        raise RuntimeError
    return n

def run():
    out = []
    for n in range(8):
        try:
            out.append(thrower(n))
        except Problem as e:
            out.append([str(e), e.code, e.args])
        except (KeyError, IndexError) as e:
            out.append(type(e).__name__)
        except ArithmeticError:
            out.append("arithmetic")
        except Exception as e:
            out.append([type(e).__name__, str(e)])
        else:
            out.append("else")
        finally:
            out.append("finally")
    return out
---
def run():
    log = []
    def inner(n):
        try:
            try:
                if n:
                    raise ValueError("first")
                log.append("no")
                return "returned"
            except ValueError as e:
                log.append(str(e))
                raise
            finally:
                log.append("f1")
        except ValueError as e:
            log.append("again " + str(e))
            return "caught"
    return inner(1), inner(0), log
---
class Manager:
    def __init__(self, log, swallow):
        self.log = log
        self.swallow = swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, error, trace):
        self.log.append("none" if kind is None else str(error))
        return self.swallow

def run():
    log = []
    with Manager(log, False) as a, Manager(log, True):
        log.append("body")
        raise ValueError("x")
    def early():
        with Manager(log, False):
            return 5
    log.append(early())
    for i in range(3):
        with Manager(log, False):
            if i == 1:
                break
    try:
        with a:
            raise KeyError("y")
    except KeyError:
        log.append("passed")
    return log
---
def counter():
    n = 0
    def step(by=1):
        nonlocal n
        n += by
        return n
    return step

total = 0

def add(n):
    global total
    total += n
    return total

def run():
    s = counter()
    s()
    s(by=5)
    t = counter()
    return s(), t(), add(2), add(3), (lambda a, *b, c=3, **d: (a, b, c, d))(1, 2, 3, c=4, e=5)
---
def evens(limit):
    n = 0
    while n < limit:
        yield n
        n += 2

def both(a, b):
    yield from a
    x = yield "middle"
    yield x
    yield from b

class Bag:
    def __init__(self, items):
        self.items_held = items

    def __iter__(self):
        for i in self.items_held:
            yield i * 2

class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n

def run():
    g = evens(6)
    first = next(g)
    rest = list(g)
    return first, rest, next(g, "done"), list(both([1], (2, 3))), [x for x in Bag([1, 2])], list(Countdown(3)), sum(evens(10)), dict(enumerate(evens(5)))
---
def run():
    a, b = 1, 2
    a, b = b, a
    c, *d, e = [1, 2, 3, 4]
    (f, g), h = (5, 6), 7
    [i, j] = "xy"
    k = l = [1]
    k += [2]
    m = [0, 1, 2, 3, 4, 5]
    m[1:3] = [9]
    del m[0]
    del m[1:2]
    n = {"a": 1, **{"b": 2}}
    del n["a"]
    x = [*d, *"zz", 5]
    y = (n2 := 10) + n2
    return a, b, c, d, e, f, g, h, i, j, k, l, m, n, x, y
---
def run():
    out = []
    for i, (a, b) in enumerate(zip([1, 2], "xy")):
        out.append((i, a, b))
    for pair in zip([1], [2], [3]):
        out.append(pair)
    for x in reversed([1, 2, 3]):
        if x == 2:
            continue
        out.append(x)
    else:
        out.append("else")
    for k, v in {"a": 1, "b": 2}.items():
        out.append(k * v)
    return out, list(zip([1, 2], [3, 4])), list(enumerate("ab", 1)), list(reversed((1, 2))), list(map(lambda x: x + 1, [1, 2])), list(filter(None, [0, 1, "", 2]))
---
def run():
    matrix = [[i * j for j in range(4)] for i in range(3)]
    flat = [x for row in matrix for x in row if x % 2 == 0]
    squares = {n: n * n for n in range(5) if n != 2}
    return matrix, flat, squares, {k: v for k, v in squares.items()}, any(x > 5 for x in flat), all(x >= 0 for x in flat), [(lambda y: y + x)(1) for x in range(3)]
---
def run():
    x = 7
    return [1 < x < 10, 1 < x > 8, x == 7 == 7, not x, x and 0, 0 or x, x if x else 1, -x, +x, ~x, x ** 3, x << 5, x >> 1, x & 3, x | 8, x ^ 2, x // -2, x % -4, divmod(-7, 2), pow(3, 200, 7), abs(-3)]
---
def run():
    big = 2 ** 300
    return [str(big), big * big - big, big // 3, big % 1000, (big + 1).bit_length(), int("123456789" * 10), hex(255), bin(5), int("ff", 16), (300).to_bytes(2, "big"), int.from_bytes(b"\x01\x00", "big"), round(1250, -2), sum([big, 1])]
---
def run():
    s = "Hello, World"
    return [s.lower(), s.swapcase(), s.title(), s.replace("l", "L"), s.partition(", "), s.rsplit(" ", 1), s.strip("Hd"), s.center(20, "*"), "7".zfill(3), s.isalpha(), "12".isdigit(), s.index("W"), s.encode(), b"ab".hex(), bytes.fromhex("0a0b"), b"a,b".split(b","), "a\nb".splitlines(), s.removeprefix("He"), " x ".lstrip(), s[::-1], "x" * 3, "b" in "abc"]
---
def run():
    n, name = 1234567, "bob"
    return [f"{n:,}", f"{n:>12}|", f"{n:x}", f"{n:#x}", f"{n:012d}", f"{name!r:>8}", f"{name:^9}", f"{n}{name}", f"{[1, 'a', None]}", f"{ {'k': (1,)} }", f"{True}", f"{-5:+}", f"{n=}"]
---
def run():
    l = [3, 1, 2]
    l.sort()
    l.insert(1, 9)
    l.extend((4, 5))
    l.reverse()
    m = l.copy()
    m.remove(9)
    d = {"x": 1}
    d.update({"y": 2})
    d.setdefault("z", []).append(3)
    e = d.copy()
    return [l, m, l.index(9), l.count(1), l.pop(), l.pop(0), d, e.pop("x"), e.pop("q", None), list(e.keys()), list(d.values()), d == e, d != e, [1, [2, (3,)]] == [1, [2, (3,)]], [1, 2] < [1, 3], (1, "b") > (1, "a"), dict.fromkeys("ab", 0), e.popitem(), list(d), dict([("a", 1)]), dict(a=1)]
---
def run():
    s = set([3, 1, 3])
    s.add(2)
    t = {1, 5}
    return [sorted(s), sorted(s | t), sorted(s & t), sorted(s - t), sorted(s ^ t), 3 in s, len(s), s == {1, 2, 3}, {1} <= s, s.issubset({1, 2, 3, 4}), bool(set()), sorted({1: 0}.keys() | {2: 0}.keys()), sorted({1: 0, 2: 0}.keys() - {2: 0}.keys())]
---
def deco(f):
    def wrapper(*args, **kw):
        return ["wrapped", f(*args, **kw)]
    return wrapper

@deco
def plain(a, b=2):
    return a + b

def run():
    args = [1]
    kw = {"b": 5}
    return plain(*args, **kw), plain(1), getattr(plain, "missing", 3), hasattr([], "append"), callable(plain), str(None), repr("a'b"), repr([1, "x"]), bool([]), list("ab"), tuple([1]), bytes([65, 66]), chr(65), ord("a"), isinstance(True, int), isinstance("x", (bytes, bytearray)), type(5) is int, type([]).__name__
---
def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)

def run():
    f = lambda n: 0 if n == 0 else 1 + f(n - 1)
    out = []
    for i in range(300):
        try:
            (lambda: [][0] + depth(1))()
        except IndexError:
            out.append(i)
    return depth(100), f(100), len(out)
---
from collections import Counter, OrderedDict, defaultdict, deque
from functools import cache, cmp_to_key, partial, reduce
from heapq import heapify, heappop, heappush
from itertools import chain, combinations, groupby, islice, product
import bisect
import operator
import string

@cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def by_length(a, b):
    return len(a) - len(b)

def run():
    groups = defaultdict(list)
    for word in "a bb c dd eee".split():
        groups[len(word)].append(word)
    heap = [5, 3, 8]
    heapify(heap)
    heappush(heap, 1)
    line = deque([1, 2, 3], maxlen=3)
    line.append(4)
    words = ["ccc", "a", "bb", "d"]
    ordered = OrderedDict(b=1, a=2)
    ordered.move_to_end("b")
    return [list(groups.items()), heappop(heap), list(line), fib(30), reduce(operator.mul, [1, 2, 3]), sorted(words, key=cmp_to_key(by_length)), sorted(words, key=cmp_to_key(by_length), reverse=True), Counter("hello").most_common(2), list(islice(chain("ab", "cd"), 3)), list(combinations([1, 2, 3], 2)), len(list(product("ab", repeat=3))), [[k, list(g)] for k, g in groupby([1, 1, 2])], bisect.bisect([1, 3, 5], 3), string.digits, partial(max, 3)(1), list(ordered)]
---
from dataclasses import dataclass, field
from enum import Enum, auto

class Side(Enum):
    BUY = auto()
    SELL = auto()

    def other(self):
        return Side.SELL if self is Side.BUY else Side.BUY

@dataclass(order=True)
class Order:
    price: int
    size: int = 1
    tags: list = field(default_factory=list)

    def cost(self):
        return self.price * self.size

def run():
    orders = [Order(3), Order(1, 2), Order(2, tags=["x"])]
    return [[o.cost() for o in sorted(orders, key=lambda o: o.price)], [o.price for o in sorted(orders)], [o.price for o in sorted(orders, reverse=True)], repr(orders[2]), Order(1) == Order(1), Side.BUY.other().name, [s.value for s in Side], Side(2).name, Side["BUY"].name, len(Side), str(Side.SELL)]
---
# names of builtins that are the program's own
def getattr(x, name):
    return [x, name]

def hasattr(x, name):
    return name

def next(items):
    return list(items)

def run():
    doubled = next(2 * x for x in (1, 2))
    return [getattr(1, "_x"), hasattr(1, "_x"), doubled]
---
# what a factory names is what the module has
from dataclasses import dataclass, field

def items():
    return [1]

def made():
    return [2]

@dataclass
class Held:
    items: list = field(default_factory=lambda: made())
    more: list = field(default_factory=made)
    kept: list = field(default_factory=list)
    taken: list = field(default_factory=lambda: [x for x in made()])

    def list(self):
        return items() + self.items

def run():
    first, second = Held(), Held(kept=[4])
    first.more.append(3)
    return [first.list(), second.more, first.more, second.kept, second.taken]
---
# what a dataclass has of the bases of its base
from dataclasses import dataclass

class Mixed:
    def own(self):
        return "own"

@dataclass
class Base:
    x: int = 1

    def __post_init__(self):
        self.x += 5

class Plain(Base):
    def twice(self):
        return 2 * self.x

@dataclass
class Derived(Mixed, Plain):
    y: int = 2

@dataclass
class Last(Derived):
    z: int = 3

    def __post_init__(self):
        self.z += 1

def run():
    one, last = Derived(10), Last(1, 2)
    return [repr(one), one.twice(), one.own(), repr(last), one == Derived(10, 2)]
