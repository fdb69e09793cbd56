# expect: OutOfCycles
def run():
    while True:
        pass
---
# expect: OutOfCycles
def run():
    while True:
        try:
            while True:
                pass
        except Exception:
            pass
---
# expect: OutOfCycles
def run():
    try:
        while True:
            pass
    finally:
        n = 0
        while True:
            n = n + 1
---
# expect: TooDeepRecursion
def f(n):
    return f(n + 1)
def run():
    return f(0)
---
# expect: returns 0
def f(n):
    if n == 0:
        return 0
    return f(n - 1)
def run():
    return f(250)
---
# expect: returns 120
def f(n):
    if n == 0:
        return 0
    return sorted([n], key=lambda x: f(x - 1))[0]
def run():
    return f(120)
---
# expect: TooDeepRecursion
def f(n):
    try:
        return f(n + 1)
    except Exception:
        return n
def run():
    return f(0)
---
# expect: TooDeepRecursion
def f(n):
    return sorted([1,2], key=f)
def run():
    return f(0)
---
# expect: TooDeepRecursion
def f(n):
    return map(f, [n])
def run():
    return f(0)
---
# expect: TooDeepRecursion
class A:
    def __eq__(self, o):
        return self == o
def run():
    return A() == A()
---
# expect: TooDeepRecursion
class A:
    @property
    def p(self):
        return self.p
def run():
    return A().p
---
# expect: TooDeepRecursion
class E(Exception):
    def __init__(self):
        raise E
def run():
    raise E
---
# expect: TooDeepRecursion
f = lambda: f()
def run():
    return f()
---
# expect: TooDeepRecursion
def g(n):
    yield from g(n + 1)
def run():
    return list(g(0))
---
# expect: OutOfMemory
def g(n):
    yield n
def run():
    x = g(0)
    for i in range(100000):
        x = chain(x)
    return next(x)
def chain(y):
    for v in y:
        yield v
---
# expect: TooDeepRecursion
def chain(y):
    for v in y:
        yield v
def run():
    x = chain([1])
    for i in range(2000):
        x = chain(x)
    return next(x)
---
# expect: OverflowError
def run():
    x = 3
    for i in range(60):
        x = x * x
    return 1
---
# expect: OverflowError
def run():
    x = 1
    for i in range(9999):
        x = x + x
    return 1
---
# expect: OverflowError
def run():
    x = 1
    for i in range(9999):
        x += x
    return 1
---
# expect: OutOfCycles
def run():
    return len("a" * 10000000000)
---
# expect: OutOfCycles
def run():
    return len([0] * 2000000)
---
# expect: OutOfCycles
def run():
    s = "a"
    while True:
        s = s + s
---
# expect: OutOfCycles
def run():
    s = "a"
    while True:
        s = f"{s}{s}"
---
# expect: OutOfMemory
def run():
    x = [1]
    while True:
        x = [*x, *x]
---
# expect: OutOfMemory
def run():
    l = []
    while True:
        l.append(1)
---
# expect: OutOfMemory
def run():
    d = {}
    i = 0
    while True:
        d[i] = i
        i = i + 1
---
# expect: ValueError
def run():
    x = []
    for i in range(100000):
        x = [x]
    return x == [x]
---
# expect: OutOfCycles
def run():
    x = [1]
    y = [1]
    for i in range(40):
        x = [x, x]
        y = [y, y]
    return x == y
---
# expect: OutOfCycles
def run():
    x = [1]
    y = [1]
    for i in range(40):
        x = [x, x]
        y = [y, y]
    x = [x]
    return str(x)
---
# expect: OutOfCycles
def run():
    x = [1]
    y = [1]
    for i in range(40):
        x = [x, x]
        y = [y, y]
    x = [x]
    return repr(x)
---
# expect: OutOfCycles
def run():
    x = [1]
    y = [1]
    for i in range(40):
        x = [x, x]
        y = [y, y]
    x = [x]
    return f"{x}"
---
# expect: OutOfCycles
def run():
    x = [1]
    y = [1]
    for i in range(40):
        x = [x, x]
        y = [y, y]
    x = [x]
    return x
---
# expect: TypeError
def run():
    x = [1]
    y = [1]
    for i in range(40):
        x = [x, x]
        y = [y, y]
    x = [x]
    return sorted([x, x])
---
# expect: OutOfCycles
def run():
    x = [1]
    y = [1]
    for i in range(40):
        x = [x, x]
        y = [y, y]
    return x in [y]
---
# expect: OutOfCycles
def run():
    x = [1]
    y = [1]
    for i in range(40):
        x = [x, x]
        y = [y, y]
    return (x, x) < (y, x)
---
# expect: TypeError
def run():
    x = [1]
    y = [1]
    for i in range(40):
        x = [x, x]
        y = [y, y]
    x = [x]
    return {(x,): 1}
---
# expect: OutOfCycles
def run():
    x = [1]
    for i in range(40):
        x = [x, x]
    raise ValueError(x)
---
# expect: OutOfCycles
def run():
    x = (1,)
    for i in range(40):
        x = (x, x)
    return {x: 1}
---
# expect: OutOfCycles
def run():
    x = (1,)
    d = {}
    for i in range(40):
        x = (x, x)
    return d.get(x)
---
# expect: OutOfCycles
def run():
    x = (1,)
    for i in range(40):
        x = (x, x)
    return set([x])
---
# expect: TypeError
def run():
    x = (int,)
    for i in range(40):
        x = (x, x)
    return isinstance(1, x)
---
# expect: ValueError
def run():
    d = {}
    d[2305843009213693951 * 5] = 1
---
# expect: ValueError
def run():
    return {2305843009213693951 * 5: 1}
---
# expect: ValueError
def run():
    return set([2305843009213693951 * 5])
---
# expect: OverflowError
def run():
    return 2 ** (2 ** 40)
---
# expect: OverflowError
def run():
    return 1 << 10000000
---
# expect: ValueError
def run():
    return 2 ** -1
---
# expect: ValueError
def run():
    return pow(3, -2)
---
# expect: AttributeError
class A:
    def format(self):
        return 1
def run():
    return "{0.__class__}".format(1)
---
# expect: OutOfCycles
def run():
    return sum([i for i in range(10000000)])
---
# expect: OutOfCycles
def run():
    return list(range(1000000000))
---
# expect: OutOfCycles
def run():
    return list(range(10**18))
---
# expect: returns [None]
def run():
    x = [0]
    return [x.append(1) for y in x]
---
# expect: OutOfMemory
def run():
    x = [0]
    for y in x:
        x.append(1)
---
# expect: returns [None]
def run():
    x = [0]
    return list(map(lambda y: x.append(1), x))
---
# expect: TypeError
def run():
    x = "%1000000000d"
    return x % 1
---
# expect: OutOfCycles
def run():
    return int("9" * 100000, 32)
---
# expect: ValueError
def run():
    return "x".center(10**9)
---
# expect: ValueError
def run():
    return "x".ljust(10**9)
---
# expect: OutOfCycles
def run():
    return " ".join(["x" * 1000] * 100000)
---
# expect: OutOfCycles
def run():
    return ("a" * 100000).replace("a", "b" * 1000)
---
# expect: OutOfCycles
def run():
    return bytes(10**10)
---
# expect: ValueError
def run():
    return (5).to_bytes(10**9, "big")
---
# expect: AttributeError
import json
def set_it(m):
    m.loads = 1
def run():
    set_it(json)
---
# expect: returns b'xay'
def run():
    f = "a".join
    return f(["x", "y"])
---
# expect: returns b'<function>'
def run():
    f = [].sort
    f()
    return str(f)
---
# expect: returns 5
def run():
    return type(1)(5)
---
# expect: returns b"<function><function><function>ValueError('x')<function><A>"
def run():
    return str(len) + str(run) + str(int) + repr(ValueError("x")) + str(lambda: 1) + str(object_of()) 
def object_of():
    return A()
class A:
    pass
---
# expect: returns ['IndexError', 'IndexError()', 0]
def run():
    try:
        return [][0]
    except IndexError as e:
        return [str(e), repr(e), len(e.args)]
---
# expect: returns b'NameError'
def run():
    try:
        return undefined_later
    except NameError as e:
        return str(e)
def f():
    global undefined_later
    undefined_later = 1
---
# expect: StopIteration
def run():
    raise StopIteration(5)
---
# expect: ReturnValue
def run():
    x = yield 5
---
# expect: OutOfCycles
def run():
    return [x for x in [1] if [y for y in [z for z in range(10**7)]]]
---
# expect: OutOfCycles
class A:
    def __enter__(self):
        return 1
    def __exit__(self, a, b, c):
        return True
def run():
    with A():
        while True:
            pass
    return 5
---
# expect: OutOfCycles
def gen():
    while True:
        pass
    yield 1
def run():
    return next(gen(), 5)
---
# expect: returns 5
def run():
    return next(iter([]), 5)
---
# expect: AttributeError
def run():
    len.x = 1
---
# expect: AttributeError
def run():
    int.x = 1
---
# expect: AttributeError
def run():
    ValueError.x = 1
---
# expect: AttributeError
def run():
    type(1).x = 1
---
# expect: AttributeError
def run():
    e = pvm_host
    e.x = 1
---
# expect: AttributeError
class A:
    x = 0
    def run(self):
        self.storage.x = 1
---
# expect: returns 1
class A:
    def run(self):
        self.storage = 5
        del self.storage
        return 1
---
# expect: AttributeError
def run():
    try:
        pvm_host.get_state(5)
    except pvm_host.HostError as e:
        t = type(e)
        t.x = 1
---
# expect: returns 5
def run():
    a = [lambda: 1] * 10
    a[0].z = 5
    return a[1].z
---
# expect: OutOfMemory
x = [0]
for i in x:
    x.append(1)
def run():
    return 1
---
# expect: OutOfCycles
def f(a=[i for i in range(10**8)]):
    pass
def run():
    pass
---
# expect: OverflowError
class A:
    x = 2 ** 4000 * 2 ** 4000
def run():
    pass
---
# expect: OutOfCycles
def run():
    a, *b = range(10**9)
---
# expect: OutOfMemory
def run():
    return {**{str(i): 1 for i in range(100000)}}
---
# expect: TypeError
def run():
    return dict(**{"_x": 1})
---
# expect: OutOfMemory
def run():
    x = {}
    for i in range(100000):
        x = {1: x}
    return str(x)
---
# expect: ValueError
def run():
    x = []
    x.append(x)
    return str(x)
---
# expect: returns True
def run():
    x = []
    x.append(x)
    return x == x
---
# expect: ValueError
def run():
    x = []
    x.append(x)
    y = []
    y.append(y)
    return x == y
---
# expect: ReturnValue
def run():
    x = []
    x.append(x)
    return x
---
# expect: returns 1
def run():
    x = []
    for i in range(100000):
        x = [x]
    return 1
---
# expect: returns 1
def run():
    e = ValueError("a")
    for i in range(12000):
        try:
            raise e
        except ValueError as f:
            e = f
    return 1
---
# expect: OutOfCycles
def run():
    return [g() for i in range(1000000)]
def g():
    yield 1
---
# expect: OutOfCycles
def run():
    return [ValueError() for i in range(1000000)]
---
# expect: OutOfCycles
def run():
    e = ValueError
    return [e() for i in range(1000000)]
---
# expect: returns 5
def run():
    _cycles = 5
    return _cycles
---
# expect: OutOfCycles
def run():
    global _cycles
    _cycles = 10**9
    while True:
        pass
---
# expect: OutOfCycles
def run():
    [(_halt := 1) for x in [1]]
    while True:
        pass
---
# expect: OutOfCycles
class A:
    _len = 5
    _halt = 3
    def run(self):
        while True:
            pass
---
# expect: OutOfCycles
from json import loads as _halt
def run():
    while True:
        pass
---
# expect: returns [3, 5, 8]
def len(x):
    return 3
int = 5
def run():
    return [len([]), int, 3 + int]
---
# expect: TypeError
class A:
    def __getitem__(self, k):
        return k
def run():
    cut = A()[0:]
    row = [0] * 50000
    kept = []
    while True:
        kept.append(row[cut])
---
# expect: TypeError
def run():
    return {"a": 1}[0:1]
---
# expect: TypeError
def run():
    from_storage = pvm_host.context()
    return from_storage[0:1]
---
# expect: AttributeError
class A:
    def __init__(self):
        self.name = 1
    def __str__(self):
        raise ValueError("out of execute")
def run():
    try:
        pvm_host.get_state(1)
    except pvm_host.HostError as e:
        e.name = A()
        raise e
---
# expect: AttributeError
class A:
    def __init__(self):
        self.code = 1
def run():
    try:
        pvm_host.get_state(1)
    except pvm_host.HostError as e:
        e.code = 5
        raise e
---
# expect: returns ['<A>', '<A>']
class A:
    def __str__(self):
        return super().__str__()
    def __repr__(self):
        return super().__repr__()
def run():
    return [str(A()), repr(A())]
---
# expect: OutOfCycles
class E(Exception):
    def __str__(self):
        return super().__str__()
def run():
    x = []
    for i in range(40):
        x = [x, x]
    return str(E(x))
---
# expect: OutOfCycles
class E(Exception):
    def __repr__(self):
        return super().__repr__()
def run():
    x = []
    for i in range(40):
        x = [x, x]
    return repr(E(x))
---
# expect: AttributeError
class A:
    def __eq__(self, other):
        return super().__eq__(other)
def run():
    return A() == 1
---
# expect: returns [['NameError'], 'NameError']
seen = []
def early(method):
    try:
        method(1)
    except Exception as e:
        seen.append(type(e).__name__)
    return method
class A:
    def g(self):
        return 1
class B(A):
    @early
    def f(self):
        return super().g()
    def h(self):
        del self
        return super().g()
def run():
    try:
        B().h()
    except Exception as e:
        return [seen, type(e).__name__]
---
# expect: returns 0
class A:
    def __init__(self):
        self.name = 1
    @property
    def p(self):
        raise AttributeError("x")
    @property
    def q(self):
        return "".title
def run():
    named = 0
    a = A()
    for i in range(100):
        try:
            a.p
        except AttributeError as e:
            named += e.name is not None
        try:
            a.missing
        except AttributeError as e:
            named += e.name is not None
    return named
def f(a):
    a.missing = 1
---
# expect: returns [[1, 2], [1, 2], [3], 1]
def run():
    loop = []
    for x in {1, 2}:
        loop.append(x)
    return [loop, [x for x in {1, 2}], [x for x in (y for y in [3])], len(*{"a"})]
---
# expect: returns {'vm': 3, 'self': 2, 'items': 1, 'value': 5, 'target': 4}
def run():
    d = dict(items=1, self=2)
    d.update(vm=3, target=4, value=5)
    return d
---
# expect: ZeroDivisionError
def run():
    return [(lambda: x // 0)() for x in [1]]
---
# expect: returns 4
def run():
    super = lambda x=1: x
    return super() + super(3)
---
# expect: returns [9000, 'AttributeError', 'AttributeError', 1000]
class A:
    @property
    def p(self):
        return 1
    def getter(self):
        return 2
    def deleter(self):
        return 2
def late():
    a = 3
    def change():
        nonlocal a
        a = "x" * 100000
        return 3000
    return a * change()
def fails():
    raise ValueError
def run():
    out = [late()]
    for make in (lambda: A.p.getter(A.p), lambda: A.p.deleter(A.p)):
        try:
            make()
        except Exception as e:
            out.append(type(e).__name__)
    times = 0
    for i in range(1000):
        try:
            (lambda: fails())()
        except ValueError:
            times += 1
    out.append(times)
    return out
---
# expect: returns ['<function>', '<function>', '<function>', '<function>', '<generator>']
import json
from enum import Enum
class E(Enum):
    ONE = 1
class A:
    def run(self):
        return self.storage
def g():
    yield 1
def run():
    kinds = [type(json), type(A().run()), type(run), type(type)]
    return [str(kind) for kind in kinds] + [str(g())]
---
# expect: actor.E
class E(Exception):
    def __init__(self):
        pass
    @property
    def args(self):
        raise ValueError("p")
    def __eq__(self, other):
        raise ValueError("eq")
    def __bool__(self):
        raise ValueError("bool")
    def __str__(self):
        raise self
def run():
    raise E
---
# expect: returns b''
class A:
    @property
    def storage(self):
        return 1
    @storage.setter
    def storage(self, view):
        while True:
            pass
def run():
    A()
---
# expect: ValueError
def run():
    raise ValueError(chr(0xd800))
---
# expect: OutOfCycles
def run():
    big = 1 << 4000
    pool = [[big + 1 - 1 for j in range(6)] for i in range(40)]
    rows = [(*pool[i % 40], i * 7919 % 1009) for i in range(3000)]
    while True:
        sorted(rows)
---
# expect: ValueError
def run():
    return round(5, -10**9)
---
# expect: ValueError
import struct
def run():
    return struct.pack("<1000000000x")
---
# expect: ValueError
import struct
def run():
    return struct.unpack("<d", bytes(8))
---
# expect: ValueError
import json
def run():
    return json.dumps([1], indent=10**9)
---
# expect: JSONDecodeError
import json
def run():
    return json.loads("1.5")
---
# expect: JSONDecodeError
import json
def run():
    return json.loads("NaN")
---
# expect: JSONDecodeError
import json
def run():
    return json.loads("9" * 1235)
---
# expect: JSONDecodeError
import json
def run():
    return json.loads("[" * 65)
---
# expect: OutOfCycles
import json
def run():
    x = [1]
    for i in range(40):
        x = [x, x]
    return json.dumps(x)
---
# expect: OutOfCycles
def run():
    x = [1]
    for i in range(40):
        x = [x, x]
    return pvm_host.cbor_encode(x)
---
# expect: OutOfCycles
class A:
    def run(self):
        x = [1]
        for i in range(40):
            x = [x, x]
        self.storage["x"] = x
---
# expect: HostError.InvalidInput
def run():
    x = [1]
    for i in range(40):
        x = [x, x]
    pvm_host.emit_event("x", x)
---
# expect: OutOfCycles
def run():
    return b"ab" * 10**10
---
# expect: OverflowError
def run():
    return pow(3, 10**9)
---
# expect: OutOfCycles
def run():
    d = {}
    for i in range(20000):
        d[(i * ((1 << 31) - 1), i)] = 1
    return len(d)
---
# expect: OutOfCycles
def run():
    f = lambda *a: len(a)
    return f(*range(10**9))
---
# expect: OutOfCycles
def run():
    return [zip, reversed, enumerate][1](range(10**9))
---
# expect: ValueError
def run():
    convert = int
    return map(convert, ["9" * 5000])
---
# expect: OutOfCycles
class A:
    join = "x".join
    def run(self):
        row = ["y" * 1000] * 1000
        while True:
            self.join(row)
---
# expect: TypeError
def run():
    return sum(["a", "b"], "")
---
# expect: ValueError
def run():
    return sum([2 ** -1])
---
# expect: ValueError
def run():
    return int("\u0663")
---
# expect: ValueError
def run():
    return "\u0663".isdigit()
---
# expect: AttributeError
import hashlib
def run():
    h = hashlib.sha256(b"")
    h.update = 1
---
# expect: returns ['z', 'a', 'm', 3, None]
def run():
    return [x for x in {"z", "a", "m", "z", 3, None}]
---
# expect: OutOfCycles
def run():
    try:
        while True:
            pass
    finally:
        [][0]
---
# expect: TypeError
def run():
    return {1: 2}.items() & {1: 2}.items()
---
# expect: TypeError
def run():
    return [q for q in ["a", "b", "c", "d"] - {}.items()]
---
# expect: TypeError
def run():
    x = ("a", "b", "c", "d")
    x -= {}.keys()
    return x
---
# expect: TypeError
def run():
    return "abcd" - {1: 2}.keys()
---
# expect: returns -2
def run():
    yes = 1 == 1
    return ~yes
---
# expect: TypeError
def run():
    x, y = [1], [1]
    for i in range(40):
        x, y = [x, x], [y, y]
    return {1: x}.items() <= {1: y}.items()
---
# expect: returns b'popitem of an empty dict'
def run():
    try:
        {}.popitem()
    except KeyError as error:
        return error.args[0]
---
# expect: returns b'\\N{WIRELESS}'
def run():
    return "\\N{WIRELESS}"
---
# expect: returns ['a', 'ValueError', 'ValueError']
def chained(n):
    error = ValueError("a")
    for i in range(n):
        error = ValueError(error)
    return error
def shown(n):
    try:
        return str(chained(n))
    except ValueError as error:
        return type(error).__name__
def run():
    return [shown(63), shown(64), shown(990)]
---
# expect: TooDeepRecursion
def run():
    wrapped, lists = [map], []
    for i in range(300):
        lists.append(wrapped)
        wrapped = [wrapped]
    return map(map, *lists)
---
# expect: TooDeepRecursion
class O:
    def __init__(self, d):
        self.d = d
    def __call__(self, x):
        if self.d:
            sort = [1].sort
            sort(key=O(self.d - 1))
        return 1
def run():
    return O(200)(1)
---
# expect: TooDeepRecursion
class O:
    def __init__(self, d):
        self.d = d
    def __call__(self, x):
        if self.d:
            map(map, [map], [[filter]], [[[O(self.d - 1)]]], [[[[1]]]])
        return 1
def run():
    return O(200)(1)
---
# expect: returns True
class O:
    def __init__(self, d):
        self.d = d
    def __eq__(self, other):
        if self.d:
            O(self.d - 1) in [[other]]
        return True
def run():
    return O(253) == 1
---
# expect: returns True
class O:
    def __init__(self, d):
        self.d = d
    def __eq__(self, other):
        if self.d:
            [O(self.d - 1)].count([other])
        return True
def run():
    return O(253) == 1
---
# expect: returns True
class O:
    def __init__(self, d):
        self.d = d
    def __eq__(self, other):
        if self.d:
            [O(self.d - 1)].index([other])
        return True
def run():
    return O(253) == 1
---
# expect: returns True
class O:
    def __init__(self, d):
        self.d = d
    def __eq__(self, other):
        if self.d:
            O(self.d - 1) != other
        return True
def run():
    return O(253) == 1
---
# expect: OutOfCycles
def run():
    m, rests = 1 << 4000, []
    for i in range(50_000):
        rests.append(~i % m)
---
# expect: OutOfCycles
def run():
    m, rests = -1 << 4000, []
    for i in range(1, 50_000):
        i %= m
        rests.append(i)
---
# expect: OutOfMemory
def run():
    m = 1 << 4000
    while True:
        m + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 - 1 - 1 - 1 - 1 - 1 - 1 - 1 - 1
---
# expect: OutOfMemory
def run():
    m = 1 << 4000
    while True:
        (e := (d := (c := (b := (a := m + 1) + 1) + 1) + 1) + 1) + 1
---
# expect: AttributeError
class A:
    names = func = 0
    def m(self):
        return super().__repr__
def run():
    f = A().m()
    look = f.args[0].names["_getattr"]
    return look(f.func, "__globals__")["__builtins__"]["__import__"]("os")
---
# expect: returns ['<A>', '<A>', '<function>', 'E(1)']
class A:
    def text(self):
        return super().__str__
    def form(self):
        return super().__repr__
class E(Exception):
    def form(self):
        return super().__repr__
def run():
    return [A().text()(), A().form()(), str(A().form()), E(1).form()()]
---
# expect: TooDeepRecursion
class E(Exception):
    def __str__(self):
        method = super().__str__
        return method()
def run():
    e = E()
    for i in range(128):
        e = E(e)
    return str(e)
---
# expect: AttributeError
class E(ValueError):
    unpaid = 0
def run():
    E.unpaid = E.args
    e = E()
    e.unpaid = range(3000000)
    return len(e.args)
---
# expect: returns [0, 0, 0, 0, 0, 0, 0, 0, 0]
from enum import Enum
class Names:
    start = object = value = errno = path = 1
class M(Enum):
    A = 1
    @classmethod
    def above(cls):
        return super().name
class K(ValueError):
    @classmethod
    def above(cls):
        return super().args
    @classmethod
    def made(cls):
        return super().__init__
class D(UnicodeDecodeError):
    pass
class S(StopIteration):
    pass
class N(NameError):
    pass
class P(PermissionError):
    pass
def found(read):
    try:
        read()
    except AttributeError:
        return 0
    return 1
def run():
    reads = [lambda: K.args, K.above, K.made, lambda: D.object, lambda: S.value]
    reads += [lambda: N.name, lambda: getattr(P, "errno"), lambda: M.value, M.above]
    return [found(read) for read in reads]
---
# expect: returns [[1, 2], 'here', 'why', 5, None, 4, 'M.A', 7, [8]]
from enum import Enum
class Names:
    start = path = name = 4
    value = 5
class M(Enum):
    A = 7
class E(ValueError):
    reason = "why"
class I(ImportError):
    def __init__(self, path):
        super().__init__("text", path=path)
class S(StopIteration):
    pass
class K(KeyError):
    def m(self):
        return super().args
def run():
    read = [E(1, 2).args, I("here").path, E.reason, Names.value, S(3).value]
    return [*read, Names.start, f"M.{M.A}"[2:], M.A.value, K(8).m()]
---
# expect: returns ['TypeError', 'TypeError', 'TypeError', 'TypeError', 'name', 'path']
class I(ImportError):
    def __init__(self, named):
        super().__init__("text", **named)
def kind(make):
    try:
        error = make()
    except TypeError as e:
        return type(e).__name__
    return error.name or error.path
class Names:
    path = 1
def run():
    named = {"name_from": "a"}
    return [
        kind(lambda: ImportError("text", name_from="a")),
        kind(lambda: ImportError("text", **named)),
        kind(lambda: I(named)),
        kind(lambda: ValueError("text", name="a")),
        kind(lambda: ImportError("text", name="name")),
        kind(lambda: I({"path": "path"})),
    ]
---
# expect: returns ['TypeError', 'TypeError', 'TypeError', 'TypeError', ['a\n', 'b'], ['a', 'b']]
def lines(*given, **named):
    try:
        return "a\nb".splitlines(*given, **named)
    except TypeError as e:
        return type(e).__name__
def run():
    wrong = [lines("x"), lines(1), lines(keepends=[]), lines(None)]
    return [*wrong, lines(keepends=True), lines(False)]
---
# expect: returns [[2, 2], [2, 2]]
# A comprehension is part of the function around it from 3.12 on: 3.12.1 takes the
# global for the variable of another one, which it then finds unset.
H = 2
def run():
    return [[H for _ in [H, 3]] for x in [g() for g in [lambda: 5 for H in [0, 4]]]]
---
# expect: returns [[5, 7], [{2: 7}], 7]
# In a lambda 3.13 does so, too, with another function's variable of that name.
def run():
    x = 7
    def inner():
        nonlocal x
        f = lambda: [{1: x for x in [5]}[1], (lambda: x)()]
        g = lambda: [{2: x for y in [x]} for x in [x]]
        return [f(), g(), x]
    return inner()
---
# expect: returns [[1, 1], 'NameError', [2, 3]]
# A name that a comprehension binds is no builtin anywhere: `getattr` reads nothing by a
# name that is made at run time.
def run():
    a = [getattr for getattr in (1, 1)]
    try:
        b = getattr(a, "app" + "end")
    except NameError:
        b = "NameError"
    return [a, b, [(lambda x: x + 1)(x) for x in (1, 2)]]
---
# expect: OutOfMemory
# A method of another actor, as a value: an object, and what it stands for.
from cowboy_sdk import ActorRef
def run():
    r = ActorRef(bytes(20))
    return len([r.name for _ in range(80000)])
---
# expect: OutOfCycles
# A priced method as a value takes more than an actor's function.
def run():
    f = "a".splitlines
    for _ in range(600000):
        f()
---
# expect: returns ['JSONDecodeError', 'not JSON', '[1,', 'sealed', 'sealed', 'no pos', True]
import json
class Names:
    pos = lineno = colno = 0
def sealed(write):
    try:
        write()
    except AttributeError:
        return "sealed"
def run():
    try:
        json.loads("[1,")
    except json.JSONDecodeError as caught:
        error = caught
    def say():
        error.msg = "other"
    def lie():
        error.doc = "other"
    told = [type(error).__name__, error.msg, error.doc, sealed(say), sealed(lie)]
    try:
        return error.pos
    except AttributeError:
        return [*told, "no pos", isinstance(error, ValueError)]
---
# expect: returns ['{"a": [1, 2]}', '[[[1]]]', 'ValueError', 'ValueError', 'TypeError', 0]
import json
class Odd:
    asked = 0
    def __eq__(self, other):
        Odd.asked += 1
        return True
    def __call__(self, value):
        return 1
def growing():
    held = {"a": [1, Odd()]}
    def default(value):
        held["b"] = held
        held["a"].append(held)
        return 2
    return json.dumps(held, default=default)
def failing(make):
    try:
        return make()
    except Exception as error:
        return type(error).__name__
def run():
    return [
        growing(),
        json.dumps(Odd(), default=lambda x: [[[1]]]),
        failing(lambda: json.dumps(Odd(), default=lambda x: x)),
        failing(lambda: json.dumps(Odd(), default=lambda x: [Odd()])),
        failing(lambda: json.dumps({Odd(): 1}, default=Odd())),
        json.loads("{}", object_hook=Odd()) and Odd.asked,
    ]
---
# expect: OutOfCycles
import json
def run():
    held = []
    while True:
        json.dumps([{1}] * 4000, default=lambda x: held.append(1))
---
# expect: TypeError
def f(counts, names=1):
    pass
def run():
    f(1, count=2)
---
# expect: TypeError
def f(counts, names=1):
    pass
def run():
    f(1, **{"count'. Did you mean 'counts": 2})
---
# expect: TypeError
class A:
    def m(self, first, second, /, *, third=3):
        return first
def run():
    A().m(1, 2, 3, third=4)
---
# expect: TypeError
class A:
    def m(self, first, second, /, third=3):
        return first
def run():
    A().m(1, second=2)
---
# expect: TypeError
def f(a, b, c, d, e, *, g):
    pass
def run():
    return [f() for _ in range(2)]
---
# expect: TypeError
from dataclasses import dataclass, field
@dataclass
class A:
    a: int = field(default_factory=lambda: [1 for type in (1, 2)])
    a: int = 2
def run():
    return type("B", (), {})
---
# expect: NameError
from collections import deque
class D(deque):
    super = 1
def run():
    function = super
    found = function(D, D).append
    found.mark = 1
class Marked:
    def __init__(self):
        self.mark = 1
---
# expect: TypeError
class Late:
    def __init__(self, lists):
        self.lists = lists
    def __bool__(self):
        for one in self.lists:
            shared = [1]
            for _ in range(60):
                shared = [shared, shared]
            one.append(shared)
        return True
def run():
    lists = [[1], [1]]
    return sorted(lists, reverse=Late(lists))
---
# expect: TypeError
class Late:
    def __init__(self, lists):
        self.lists = lists
    def __bool__(self):
        for one in self.lists:
            shared = [1]
            for _ in range(60):
                shared = [shared, shared]
            one.append(shared)
        return True
def run():
    lists = [[1], [1]]
    lists.sort(key=lambda one: one, reverse=Late(lists))
---
# expect: returns 3
from functools import reduce
from operator import add
class A:
    total = reduce
def run():
    return A().total(add, [1, 2])
---
# expect: TypeError
def run():
    return 1
run = 5
---
# expect: TypeError
from pvm_host import HostError
class Code:
    def __init__(self):
        self.name = "InvalidInput"
def hides(HostError):
    pass
def run():
    code = Code()
    error = HostError(code, "m")
    deep = []
    for _ in range(20000):
        deep = [deep]
    code.name = deep
    raise error
---
# expect: TypeError
from pvm_host import HostError
def hides(HostError):
    pass
class Code:
    def __init__(self):
        self.name = [self]
def run():
    raise HostError(Code(), "m")
---
# expect: TypeError
def hides(pvm_host):
    pass
class Named:
    RevertError = 1
def run():
    for _ in range(10):
        pvm_host.RevertError("x" * 100)
---
# expect: returns 3
import pvm_host as host
from json import JSONDecodeError, loads
def run():
    try:
        loads("{")
    except (host.HostError, JSONDecodeError) as error:
        assert isinstance(error, JSONDecodeError)
        assert type(error) == JSONDecodeError
        assert not isinstance(error, host.HostError)
        return 3
---
# expect: ValueError
def run():
    shared = ()
    for _ in range(60):
        shared = (shared, shared)
    return b"a".decode(shared)
---
# expect: ValueError
def run():
    shared = ()
    for _ in range(60):
        shared = (shared, shared)
    return "a".encode(shared)
---
# expect: returns 6
class Range(Exception):
    args = range(30_000_000)
    def __repr__(self):
        return super().__repr__()
def run():
    return len(repr(Range())) - 1
---
# expect: OutOfCycles
class Grows:
    def __init__(self, items, more):
        self.items = items
        self.more = more
    def __eq__(self, other):
        self.items.extend(self.more)
        return False
def run():
    text = "a" * 200_000
    items = []
    items.append(Grows(items, [text + "b"] * 250_000))
    return text + "c" in items
---
# expect: returns 2
class Grows:
    def __init__(self, items):
        self.items = items
    def __eq__(self, other):
        if len(self.items) < 3:
            self.items.append(5)
        return False
def run():
    items = []
    items.append(Grows(items))
    found = 5 in items
    return items.count(5) if found and items.index(5) == 1 else 0
---
# expect: ValueError
def run():
    return chr(2**31)
---
# expect: ValueError
def run():
    return [chr(one) for one in [65, -(2**70)]]
