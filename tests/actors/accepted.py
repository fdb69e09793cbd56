# What the language admits: a program for each row of the tables of docs/sandbox.md §1
# and docs/language.md and for each native module, separated by lines of three dashes.
# The first lines name the row; `run` answers each of its entries by name, as plain
# Python does, or, where it differs or has no such thing, as `gives` says.
# sandbox.md | functions, lambdas, defaults, `*args`, `**kw`, closures, `global`, `nonlocal`, walrus, conditional, chained comparison, slices, unpacking with `*`, `del`, `assert`, `with`, comprehensions
total = 0


def outer(first, /, second=2, *rest, third, fourth=4, **named):
    """A docstring costs nothing."""
    pass
    return [first, second, rest, third, fourth, sorted(named.items())]


def counter():
    count = 0

    def step(by=1):
        nonlocal count
        count += by
        return count

    return step


def count_globally():
    global total
    total += 3
    return total


def early(n):
    for i in range(n):
        if i == 1:
            continue
        elif i > 3:
            break
        while i < 2:
            i = i + 1
        else:
            i = -i
    else:
        return "not left"
    return i


def walrus(items):
    if (n := len(items)) > 2 and not (m := n - 5) > 0:
        return [n, m, [last := item for item in items], last]


def delete():
    gone, kept = [1, 2, 3, 4], {"a": 1, "b": 2}
    del gone[0], gone[1:2], kept["a"]
    name = 1
    del name
    return [gone, kept]


def asserted(x):
    try:
        assert x > 0, "positive"
    except AssertionError as error:
        return str(error)


class Manager:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")
        return self.log

    def __exit__(self, kind, error, trace):
        self.log.append(kind is not None)
        return True


def managed():
    log = []
    with Manager(log) as one, Manager(one):
        one.append("body")
        raise ValueError("kept")
    return log


def unpack():
    first, *middle, last = range(5)
    (a, b), c, *d = (1, 2), "x", "y", "z"
    return [first, middle, last, a, b, c, d, [*middle, *"ab"], {**{"k": 1}, "l": 2}]


def operate(a, b):
    values = [a + b, a - b, a * b, a // b, a % b, a**2, a << 2, a >> 1, a & b, a | b]
    a += b
    a -= 1
    a *= 3
    a //= 2
    a %= 50
    a **= 2
    a <<= 1
    a >>= 2
    a |= 1
    a &= 255
    a ^= 5
    unary = [~a, +a, -a, not a, ~(a == a), -(a == b), +(a != b)]
    return [values, a, a ^ b, unary, a == b, a != b, a < b, a <= b, a >= b]


def run():
    step = counter()
    text = "abcdefg"
    return {
        "functions": [outer(1, third=3), early(6), early(1), operate(23, 5), total],
        "lambdas": (lambda x, *, y=2: x * y)(5),
        "defaults": outer(1, third=3, fourth=5),
        "*args": outer(1, 2, *[7, 8], third=3),
        "**kw": outer(1, third=3, **{"fifth": 5}),
        "closures": [(lambda n: lambda m: n + m)(1)(2), [f() for f in [step, step]]],
        "global": [count_globally(), count_globally()],
        "nonlocal": [step(), step(5)],
        "walrus": walrus([5, 6, 7]),
        "conditional": ["yes" if text else "no", text and 5, [] or text[0]],
        "chained comparison": [1 < len(text) <= 7 != 8, 1 < 0 < undefined()],
        "slices": [text[1:3], text[::-1], text[-2:], [1, 2, 3][:2], b"abc"[1:]],
        "unpacking with *": unpack(),
        "del": delete(),
        "assert": [asserted(1), asserted(0)],
        "with": managed(),
        "comprehensions": [
            [(x, y) for x in range(3) if x for y in "ab" if y not in "c"],
            {k: v for k, v in zip("ab", range(2))},
        ],
    }


def undefined():
    raise NameError
---
# sandbox.md | classes
class Base:
    """A docstring."""

    SIZE = 3
    names: tuple = ("a", "b")
    note: str

    def size(self):
        return self.SIZE

    def who(self):
        return "base"


class Other:
    def who(self):
        return "other"

    def only(self):
        return 5


class Both(Base, Other):
    def who(self):
        return "both of " + super().who()


def run():
    one = Both()
    one.SIZE = 4
    return {"classes": [one.size(), Both().size(), one.names, one.who(), one.only()]}
---
# sandbox.md | base classes
from abc import ABC
from collections import deque
from enum import Enum


class Plain:
    kind = "plain"


class Derived(Plain):
    def tell(self):
        return self.kind


class Refused(ValueError):
    def __init__(self, code):
        super().__init__("code", code)
        self.number = code


class Narrow(Refused):
    pass


class Queue(deque):
    def first(self):
        return self[0]


class Colour(Enum):
    RED = 1
    BLUE = 2


class Shape(ABC):
    def corners(self):
        return 4


def caught():
    try:
        raise Narrow(7)
    except Refused as error:
        return [error.number, error.args, type(error).__name__]


def run():
    return {
        "base classes": [
            Derived().tell(), caught(), Queue([5, 6]).first(), Colour(2).name,
            Shape().corners(), issubclass(Narrow, ValueError),
        ]
    }
---
# sandbox.md | dunder methods
class Box:
    def __init__(self, items):
        self.items = items
        self.place = 0
        self.log = []

    def __str__(self):
        return "Box " + str(self.items)

    def __repr__(self):
        return "Box(" + repr(self.items) + ")"

    def __eq__(self, other):
        return self.items == other.items

    def __lt__(self, other):
        return self.items < other.items

    def __le__(self, other):
        return self.items <= other.items

    def __gt__(self, other):
        return self.items > other.items

    def __ge__(self, other):
        return self.items >= other.items

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        self.place = 0
        return self

    def __next__(self):
        if self.place >= len(self.items):
            raise StopIteration
        self.place += 1
        return self.items[self.place - 1]

    def __contains__(self, item):
        return item * 10 in self.items

    def __getitem__(self, key):
        return self.items[key]

    def __setitem__(self, key, value):
        self.items[key] = value

    def __delitem__(self, key):
        del self.items[key]

    def __call__(self, *arguments):
        return [len(self.items), arguments]

    def __bool__(self):
        return self.items[0] != 0

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, *error):
        self.log.append("exit")

    def __add__(self, other):
        return Box(self.items + other.items)

    def __sub__(self, other):
        return Box([one for one in self.items if one not in other.items])

    def __mul__(self, times):
        return Box(self.items * times)

    def __floordiv__(self, by):
        return Box([one // by for one in self.items])

    def __mod__(self, by):
        return Box([one % by for one in self.items])

    def __neg__(self):
        return Box([-one for one in self.items])


def changed(how):
    box = Box([10, 20, 30])
    if how == "set":
        box[1] = 5
    else:
        del box[0]
    return box.items


def entered():
    box = Box([1])
    with box as same:
        same.log.append("body")
    return box.log


def run():
    a, b = Box([10, 20]), Box([20])
    return {
        "init": Box([1]).items,
        "str": [str(a), f"{a}"],
        "repr": [repr(a), f"{a!r}"],
        "eq": [a == b, a == Box([10, 20]), a != b],
        "lt": [a < b, sorted([b, a])[0].items],
        "le": [a <= b, b <= a],
        "gt": [a > b, b > a],
        "ge": [a >= b, b >= a],
        "len": len(a),
        "iter": [one + 1 for one in a],
        "next": [next(iter(a)), list(b)],
        "contains": [2 in a, 20 in a, 3 not in a],
        "getitem": a[1],
        "setitem": changed("set"),
        "delitem": changed("delete"),
        "call": [a(), a(1, 2)],
        "bool": [bool(a), bool(Box([0])), not a, 1 if Box([0]) else 2],
        "enter": entered(),
        "exit": entered()[-1],
        "add": (a + b).items,
        "sub": (a - b).items,
        "mul": (a * 2).items,
        "floordiv": (a // 3).items,
        "mod": (a % 3).items,
        "neg": (-a).items,
        "dunder methods": type(a).__name__,
    }
---
# sandbox.md | decorators
from abc import abstractmethod
from dataclasses import dataclass, field


def twice(function):
    def both(*arguments):
        return [function(*arguments), function(*arguments)]

    return both


def times(count):
    return lambda function: lambda *arguments: function(*arguments) * count


class Sized:
    @abstractmethod
    def __len__(self):
        return 3


class Account:
    made = 0

    def __init__(self, balance):
        self._balance = balance

    @property
    def balance(self):
        return self._balance

    @balance.setter
    def balance(self, value):
        self._balance = max(0, value)

    @staticmethod
    def fee(amount):
        return amount // 10

    @classmethod
    def empty(cls):
        return cls(0)

    @twice
    @times(3)
    def name(self, letter):
        return letter


@dataclass
class Point:
    x: int
    y: int = 2
    tags: list = field(default_factory=list)


def set_below_zero():
    account = Account(5)
    before = account.balance
    account.balance = -7
    account.balance += 3
    return [before, account.balance]


def run():
    point = Point(1)
    point.tags.append("t")
    return {
        "property": Account(5).balance,
        "x.setter": set_below_zero(),
        "staticmethod": [Account.fee(55), Account(1).fee(70)],
        "classmethod": Account.empty().balance,
        "abstractmethod": len(Sized()),
        "dataclass": [repr(point), point == Point(1, 2, ["t"]), Point(1).tags],
        "cowboy_sdk": "public",
        "decorators": Account(1).name("a"),
    }
---
# sandbox.md | names and attributes `_x`
def _helper(_first):
    _second = _first + 1
    return _second


class Thing:
    def __init__(self):
        self._kept = _helper(1)

    def _own(self):
        return self._kept


def run():
    for _ in range(3):
        pass
    _, kept = 1, 2
    return {"names and attributes _x": [Thing()._own(), Thing()._kept, _, kept]}
---
# sandbox.md | attribute names
import json


class Thing:
    def __init__(self):
        self.field = {"list": [1]}

    def method(self):
        return self.field["list"]


def run():
    thing = Thing()
    thing.late = 5
    found = [thing.late, hasattr(thing, "later"), "late" in thing.field]
    return {"attribute names": [thing.method().copy(), *found, json.dumps([1])]}
---
# sandbox.md | identifiers, literals of integers
# gives | {"identifiers": "größe", "literals of integers": [2560, 4095, "OverflowError"]}
def beyond():
    try:
        return ((1 << 4095) * 2).bit_length()
    except OverflowError as error:
        return type(error).__name__


def run():
    longest = (1 << 4095) - 1
    literal = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF**10
    return {
        "identifiers": "größe",  # texts and comments may hold anything
        "literals of integers": [literal.bit_length(), longest.bit_length(), beyond()],
    }
---
# sandbox.md | `**` with a negative exponent
# gives | {"** with a negative exponent": [8, "ValueError"]}
def power(a, b):
    try:
        return a**b
    except ValueError as error:
        return type(error).__name__


def run():
    return {"** with a negative exponent": [power(2, 3), power(2, -1)]}
---
# sandbox.md | set display, `set`, set comprehension
# gives | {"set display": [3, 1, 2], "set": [5, 4], "set comprehension": [2, 0, 1], "order": [9, 1, 8]}
def run():
    ordered = {9, 1}
    ordered.add(8)
    ordered.add(1)
    return {
        "set display": list({3, 1, 3, 2}),
        "set": list(set([5, 4, 5])),
        "set comprehension": list({n % 3 for n in [2, 3, 4, 5]}),
        "order": [one for one in ordered],
    }
---
# sandbox.md | generator expression
def run():
    squares = (n * n for n in range(5) if n != 2)
    return {
        "generator expression": [
            list(squares), sum(n for n in [1, 2]), any(n > 1 for n in [1, 2]),
            ",".join(str(n) for n in [3, 4]), max((n, -n) for n in [1, 2]),
        ]
    }
---
# sandbox.md | `map`, `filter`, `zip`, `enumerate`, `reversed`
def looped():
    seen = []
    for i, (a, b) in enumerate(zip("ab", reversed([1, 2]))):
        seen.append([i, a, b])
    for one in map(str, filter(None, [0, 1, 2])):
        seen.append(one)
    return seen


def run():
    return {
        "map": list(map(lambda a, b: a * b, [1, 2, 3], [4, 5])),
        "filter": [list(filter(lambda n: n > 1, [1, 2])), list(filter(None, [0, 5]))],
        "zip": [[a, b, c] for a, b, c in zip([1, 2], "ab", range(9))],
        "enumerate": list(enumerate("ab", 5)),
        "reversed": [list(reversed([1, 2])), "".join(reversed("abc")), looped()],
    }
---
# sandbox.md | generator functions
def numbers(n):
    for i in range(n):
        yield i
    return


def talking(log):
    answer = yield 1
    log.append(answer)
    yield


def both(n):
    yield from numbers(n)
    yield from "ab"
    yield from [x * 2 for x in numbers(2)]


class Bag:
    def each(self):
        yield self
        yield 5


def run():
    log = []
    stepped = numbers(3)
    taken = [next(stepped), next(stepped), list(stepped), next(stepped, "end")]
    return {
        "generator functions": [
            list(both(3)), taken, [len(list(talking(log))), log],
            list(Bag().each())[1], sum(numbers(4)), dict(zip("ab", numbers(9))),
        ]
    }
---
# sandbox.md | `try`
class Own(Exception):
    pass


def tried(what, log):
    try:
        if what == "own":
            raise Own("o", 1)
        if what == "key":
            {}["k"]
        if what == "again":
            try:
                raise ValueError("inner")
            except ValueError:
                raise
        if what == "from":
            raise TypeError("t") from None
        if what == "zero":
            1 // 0
    except Own as error:
        log.append(["own", error.args])
    except (KeyError, TypeError) as error:
        log.append(["two", str(error)])
    except ZeroDivisionError:
        log.append("zero")
    except Exception as error:
        log.append(["any", str(error)])
    else:
        log.append("else")
    finally:
        log.append("finally")
    return log


def run():
    kinds = ["own", "key", "again", "from", "zero", "nothing"]
    return {"try": [tried(kind, []) for kind in kinds]}
---
# sandbox.md | `is`, `is not`
class A:
    pass


def run():
    x, yes = None, 1 == 1
    return {
        "is": [x is None, yes is True, yes is False, type(A()) is A, type(1) is int],
        "is not": [x is not None, yes is not False, type("") is not bytes],
    }
---
# sandbox.md | `getattr`, `hasattr`
class Thing:
    def __init__(self):
        self.size = 5


def run():
    thing = Thing()
    return {
        "getattr": [getattr(thing, "size"), getattr(thing, "colour", "none")],
        "hasattr": [hasattr(thing, "size"), hasattr(thing, "colour")],
    }
---
# sandbox.md | `type(x).__name__`, `x.__class__.__name__`
class Thing:
    pass


def kind(x):
    return [type(x).__name__, x.__class__.__name__]


def run():
    kinds = [kind(x) for x in [1, "", b"", None, True, (), [], {}, Thing(), KeyError()]]
    return {
        "type(x).__name__": [one[0] for one in kinds],
        "x.__class__.__name__": [one[1] for one in kinds],
    }
---
# sandbox.md | `bytearray`, `object`, `memoryview` as a class in `isinstance`
def run():
    return {
        "bytearray": [isinstance(b"", (bytes, bytearray)), isinstance(b"", bytearray)],
        "object": isinstance(5, object),
        "memoryview as a class in isinstance": isinstance(b"", (str, memoryview)),
    }
---
# sandbox.md | f-string
def run():
    n, big, s, data = 42, 1234567, "text", {"k": [1, 2]}
    return {
        "f-string": [
            f"{n}{s}{data['k'][1]}", f"{{{n}}}", f"{n!r:>5}", f"{s!s}{s!r}", f"{n=}",
            f"{s:>256}"[-5:], f"a" "b" f"{n:>4}", rf"\{n}",
        ],
        "d": f"{n:d}",
        "x": f"{n:x}",
        "X": f"{n + 213:X}",
        "o": f"{n:o}",
        "b": f"{n:b}",
        "s": f"{s:s}",
        ",": f"{big:,}",
        "_": f"{big:_}",
        "0": f"{n:05d}",
        "<": f"{s:<6}|",
        ">": f"{s:>6}|",
        "^": f"{s:*^7}|",
        "+": f"{n:+}",
        "#": f"{n:#x}",
    }
---
# sandbox.md | annotations
from __future__ import annotations

from typing import Any, Optional

LIMIT: int = 5
later: Optional[undefined]


class Thing:
    size: int = 3
    name: "forward"

    def get(self, key: str, default: Any = None) -> list[unknown]:
        found: nothing.at.all = default
        return [key, found]


def run():
    return {"annotations": [LIMIT, Thing.size, Thing().get("k")]}
---
# sandbox.md | `import a`, `import a as b`, `from a import b`
import json
import math as numbers
from base64 import b64encode, b64decode as decode


def run():
    return {
        "import a": json.loads("[1]"),
        "import a as b": numbers.gcd(12, 18),
        "from a import b": [b64encode(b"a"), decode(b"YQ==")],
    }
---
# language.md | builtins
class Animal:
    @classmethod
    def make(cls):
        return cls()

    @staticmethod
    def legs():
        return 4

    @property
    def name(self):
        return "animal"

    def sound(self):
        return "-"


class Dog(Animal):
    def sound(self):
        return super().sound() + "wuff"


def run():
    steps = iter([1, 2])
    return {
        "len": [len("ab"), len({1: 2}), len(range(0, 9, 2))],
        "abs": abs(-5),
        "chr": chr(8364),
        "ord": ord("a"),
        "callable": [callable(len), callable(5), callable(Dog)],
        "range": [list(range(5, 0, -2)), 4 in range(5), range(9)[2:5][1]],
        "isinstance": [isinstance(1, int), isinstance(Dog(), (str, Animal))],
        "issubclass": [issubclass(Dog, Animal), issubclass(KeyError, LookupError)],
        "int": [int("12"), int("-0x1f", 16), int(True), int(), int(b"7"), int("101", 2)],
        "str": [str(5), str(b"a", "utf-8"), str(None), str([1, "a"]), str()],
        "repr": [repr("a'b"), repr(b"\x00"), repr({"a": (1,)}), repr(True)],
        "bytes": [bytes(2), bytes([1, 255]), bytes("a", "ascii"), bytes()],
        "bool": [bool([]), bool("a"), bool()],
        "list": [list("ab"), list({"a": 1}), list()],
        "tuple": [tuple([1, 2]), tuple("ab"), tuple()],
        "dict": [dict([("a", 1)], b=2), dict({"c": 3}), dict()],
        "set": sorted(set([3, 1, 3])),
        "frozenset": sorted(frozenset("bab")),
        "sorted": [sorted([3, 1, 2], reverse=True), sorted(["bb", "a"], key=len)],
        "sum": [sum([1, 2, 3]), sum([[1], [2]], [])],
        "min": [min(3, 1), min([[2], [1]]), min([], default=7)],
        "max": [max("a", "b"), max([-5, 3], key=abs)],
        "any": [any([0, 1]), any([])],
        "all": [all([1, 0]), all([])],
        "map": list(map(int, "12")),
        "filter": list(filter(None, [0, 1])),
        "zip": list(zip("ab", [1, 2])),
        "enumerate": list(enumerate("ab")),
        "reversed": list(reversed((1, 2))),
        "iter": [next(steps), list(steps)],
        "next": [next(steps, 9), next(iter("a"))],
        "pow": [pow(2, 10), pow(3, 5, 7)],
        "divmod": divmod(-7, 2),
        "round": [round(15, -1), round(7)],
        "hex": hex(-255),
        "bin": bin(5),
        "type": [type(1) == int, type(Dog()) is Dog],
        "print": [print(end=""), print("", sep=None, end="")],
        "breakpoint": callable(breakpoint),
        "getattr": getattr(Dog(), "name"),
        "hasattr": hasattr(Dog(), "wings"),
        "super": Dog().sound(),
        "property": Dog().name,
        "staticmethod": Dog.legs(),
        "classmethod": Dog.make().sound(),
    }
---
# language.md | exceptions
# gives | {"Exception": ["Exception", ["t"]], "ArithmeticError": ["ArithmeticError", ["t"]], "AssertionError": ["AssertionError", ["t"]], "AttributeError": ["AttributeError", ["t"]], "ImportError": ["ImportError", ["t"]], "IndexError": ["IndexError", ["t"]], "KeyError": ["KeyError", ["t"]], "LookupError": ["LookupError", ["t"]], "NameError": ["NameError", ["t"]], "NotImplementedError": ["NotImplementedError", ["t"]], "OverflowError": ["OverflowError", ["t"]], "PermissionError": ["PermissionError", ["t"]], "RuntimeError": ["RuntimeError", ["t"]], "StopIteration": ["StopIteration", ["t"]], "TypeError": ["TypeError", ["t"]], "ValueError": ["ValueError", ["t"]], "ZeroDivisionError": ["ZeroDivisionError", []], "UnicodeError": ["UnicodeError", ["t"]], "UnicodeDecodeError": ["UnicodeDecodeError", []], "HostError": [1, "InvalidInput", true], "RevertError": true, "JSONDecodeError": [true, "not JSON"]}
import json
import pvm_host


def told(error):
    return [type(error).__name__, list(error.args)]


def caught(kind):
    try:
        raise kind("t")
    except Exception as error:
        return told(error)


def native(action):
    try:
        action()
    except (ZeroDivisionError, UnicodeDecodeError) as error:
        return told(error)


def refused():
    try:
        pvm_host.get_balance(b"short")
    except pvm_host.HostError as error:
        return [error.code, error.name, isinstance(error, pvm_host.HostError)]


def reverted():
    try:
        pvm_host.call_actor(pvm_host.self_address(), "run", b"", 0)
    except pvm_host.RevertError as error:
        return isinstance(error, pvm_host.RevertError)


def unread():
    try:
        json.loads("{")
    except json.JSONDecodeError as error:
        return [isinstance(error, json.JSONDecodeError), error.msg]


def run():
    kinds = {
        "Exception": Exception, "ArithmeticError": ArithmeticError,
        "AssertionError": AssertionError, "AttributeError": AttributeError,
        "ImportError": ImportError, "IndexError": IndexError, "KeyError": KeyError,
        "LookupError": LookupError, "NameError": NameError,
        "NotImplementedError": NotImplementedError, "OverflowError": OverflowError,
        "PermissionError": PermissionError, "RuntimeError": RuntimeError,
        "StopIteration": StopIteration, "TypeError": TypeError,
        "ValueError": ValueError, "UnicodeError": UnicodeError,
    }
    return {
        **{name: caught(kind) for name, kind in kinds.items()},
        "ZeroDivisionError": native(lambda: 1 % 0),
        "UnicodeDecodeError": native(lambda: b"\xff".decode()),
        "HostError": refused(),
        "RevertError": reverted(),
        "JSONDecodeError": unread(),
    }
---
# language.md | modules
# gives | {"base64": "YQ==", "binascii": "61", "hashlib": 32, "hmac": 32, "json": "{\"a\": 1}", "math": 6, "pvm_host": 5, "struct": 8, "typing": 1}
import base64
import binascii
import hashlib
import hmac
import json
import math
import struct
import typing


def run():
    hint: typing.Any = 1
    return {
        "base64": base64.b64encode(b"a").decode(),
        "binascii": binascii.hexlify(b"a").decode(),
        "hashlib": len(hashlib.sha256(b"").digest()),
        "hmac": len(hmac.digest(b"k", b"m", "sha256")),
        "json": json.dumps({"a": 1}),
        "math": math.gcd(12, 18),
        "pvm_host": pvm_host.block_height(),
        "struct": struct.calcsize("<Q"),
        "typing": hint,
    }
---
# language.md | library modules
# gives | {"bisect": 1, "collections": 2, "functools": 6, "heapq": 1, "itertools": [1, 2], "operator": 3, "pvm_random": true, "pvm_time": 1700000005000, "string": "0123456789"}
import bisect
import collections
import functools
import heapq
import itertools
import operator
import pvm_random
import pvm_time
import string


def run():
    return {
        "bisect": bisect.bisect([1, 2], 1),
        "collections": collections.Counter("aab")["a"],
        "functools": functools.reduce(lambda a, b: a * b, [1, 2, 3]),
        "heapq": heapq.nsmallest(1, [2, 1])[0],
        "itertools": list(itertools.chain([1], [2])),
        "operator": operator.add(1, 2),
        "pvm_random": 0 <= pvm_random.randrange(5) < 5,
        "pvm_time": pvm_time.time_ms(),
        "string": string.digits,
    }
---
# language.md | names of string
import string


def run():
    return {
        "ascii_letters": string.ascii_letters,
        "ascii_lowercase": string.ascii_lowercase,
        "ascii_uppercase": string.ascii_uppercase,
        "capwords": [string.capwords("a  bc D"), string.capwords("a-b", "-")],
        "digits": string.digits,
        "hexdigits": string.hexdigits,
        "octdigits": string.octdigits,
        "printable": string.printable,
        "punctuation": string.punctuation,
        "whitespace": string.whitespace,
    }
---
# language.md | names of operator
import operator


def changed(how):
    items = {"a": 1, "b": 2}
    if how == "set":
        operator.setitem(items, "c", 3)
    else:
        operator.delitem(items, "a")
    return items


def run():
    a, b = 13, 5
    return {
        "add": operator.add(a, b),
        "and_": operator.and_(a, b),
        "concat": operator.concat("a", "b"),
        "contains": operator.contains([1, 2], 2),
        "countOf": operator.countOf("abca", "a"),
        "delitem": changed("delete"),
        "eq": operator.eq(a, b),
        "floordiv": operator.floordiv(a, b),
        "ge": operator.ge(a, b),
        "getitem": operator.getitem([7, 8], 1),
        "gt": operator.gt(a, b),
        "indexOf": operator.indexOf([1, 2], 2),
        "inv": operator.inv(a),
        "invert": operator.invert(b),
        "itemgetter": [operator.itemgetter(1)("ab"), operator.itemgetter(0, 1)("ab")],
        "le": operator.le(a, b),
        "lshift": operator.lshift(a, b),
        "lt": operator.lt(a, b),
        "mod": operator.mod(a, b),
        "mul": operator.mul(a, b),
        "ne": operator.ne(a, b),
        "neg": operator.neg(a),
        "not_": operator.not_(a),
        "or_": operator.or_(a, b),
        "pos": operator.pos(a),
        "pow": operator.pow(a, b),
        "rshift": operator.rshift(a, 1),
        "setitem": changed("set"),
        "sub": operator.sub(a, b),
        "truth": operator.truth([]),
        "xor": operator.xor(a, b),
    }
---
# language.md | names of functools
from functools import cache, cmp_to_key, partial, reduce, wraps

calls = []


@cache
def slow(n):
    calls.append(n)
    return n * n


def shout(function):
    @wraps(function)
    def inner(*arguments):
        return function(*arguments).upper()

    return inner


@shout
def greet(name):
    return "hello " + name


def run():
    return {
        "cache": [slow(3), slow(3), slow(4), calls],
        "cmp_to_key": sorted([1, 3, 2], key=cmp_to_key(lambda a, b: b - a)),
        "partial": partial(lambda a, b, c: [a, b, c], 1, c=3)(2),
        "reduce": [reduce(lambda a, b: a + b, "abc"), reduce(max, [3, 1], 5)],
        "wraps": greet("you"),
    }
---
# language.md | names of itertools
import itertools


def run():
    return {
        "accumulate": list(itertools.accumulate([1, 2, 3], lambda a, b: a * b)),
        "chain": list(itertools.chain("ab", [1])),
        "combinations": list(itertools.combinations("abc", 2)),
        "combinations_with_replacement": list(
            itertools.combinations_with_replacement("ab", 2)
        ),
        "compress": list(itertools.compress("abc", [1, 0, 1])),
        "count": list(itertools.islice(itertools.count(5, 3), 3)),
        "cycle": list(itertools.islice(itertools.cycle("ab"), 5)),
        "dropwhile": list(itertools.dropwhile(lambda n: n < 3, [1, 3, 2])),
        "filterfalse": list(itertools.filterfalse(lambda n: n % 2, range(5))),
        "groupby": [[k, list(g)] for k, g in itertools.groupby("aab")],
        "islice": list(itertools.islice("abcdef", 1, 5, 2)),
        "pairwise": list(itertools.pairwise([1, 2, 3])),
        "permutations": list(itertools.permutations([1, 2, 3], 2)),
        "product": list(itertools.product("ab", [1, 2])),
        "repeat": list(itertools.repeat(7, 2)),
        "starmap": list(itertools.starmap(pow, [(2, 3), (3, 2)])),
        "takewhile": list(itertools.takewhile(lambda n: n < 3, [1, 3, 2])),
        "zip_longest": list(itertools.zip_longest("ab", [1], fillvalue=0)),
    }
---
# language.md | names of collections
from collections import Counter, OrderedDict, defaultdict, deque


def run():
    groups = defaultdict(list)
    groups["a"].append(1)
    ordered = OrderedDict([("a", 1), ("b", 2)])
    ordered.move_to_end("a")
    queue = deque([1, 2, 3], maxlen=3)
    queue.append(4)
    queue.appendleft(0)
    queue.rotate(1)
    return {
        "Counter": [Counter("abca").most_common(1), Counter("ab")["z"]],
        "OrderedDict": [list(ordered.items()), ordered.popitem()],
        "defaultdict": [list(groups.items()), groups["b"], len(groups)],
        "deque": [list(queue), queue.pop(), queue.popleft(), len(queue)],
    }
---
# language.md | names of heapq
import heapq


def run():
    heap = [5, 1, 4]
    heapq.heapify(heap)
    heapq.heappush(heap, 0)
    return {
        "heapify": list(heap),
        "heappush": heap[0],
        "heappop": heapq.heappop(heap),
        "heappushpop": heapq.heappushpop(heap, 3),
        "heapreplace": heapq.heapreplace(heap, 9),
        "nlargest": heapq.nlargest(2, [1, 3, 2], key=lambda n: -n),
        "nsmallest": [heapq.nsmallest(2, [3, 1, 2]), heap],
    }
---
# language.md | names of bisect
import bisect


def inserted(how, items):
    how(items, 2)
    return items


def run():
    items = [1, 2, 2, 3]
    return {
        "bisect": bisect.bisect(items, 2),
        "bisect_left": bisect.bisect_left(items, 2),
        "bisect_right": bisect.bisect_right(items, 2, 0, 2),
        "insort": inserted(bisect.insort, [1, 3]),
        "insort_left": inserted(bisect.insort_left, [1, 2]),
        "insort_right": inserted(bisect.insort_right, []),
    }
---
# language.md | names of pvm_random
# gives | {"Random": true, "choice": true, "getrandbits": true, "randbytes": 5, "randint": true, "randrange": true, "sample": [0, 1, 2, 3], "shuffle": [1, 2, 3]}
import pvm_random
from random import Random


def run():
    cards = [3, 1, 2]
    pvm_random.shuffle(cards)
    return {
        "Random": Random(7).randint(1, 6) == pvm_random.Random(7).randint(1, 6),
        "choice": pvm_random.choice("abc") in "abc",
        "getrandbits": pvm_random.getrandbits(8) < 256,
        "randbytes": len(pvm_random.randbytes(5)),
        "randint": pvm_random.randint(1, 6) in range(1, 7),
        "randrange": pvm_random.randrange(10, 20, 2) in range(10, 20, 2),
        "sample": sorted(pvm_random.sample(range(4), 4)),
        "shuffle": sorted(cards),
    }
---
# language.md | names of pvm_time
# gives | {"time_ms": [1700000005000, 1700000005000], "time_ns": 1700000005000000000}
import pvm_time
from time import time_ms


def run():
    return {
        "time_ms": [pvm_time.time_ms(), time_ms()],
        "time_ns": pvm_time.time_ns(),
    }
---
# language.md | names of the compiler
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum, auto


class Shape(ABC):
    @abstractmethod
    def area(self):
        return 0


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side**2


@dataclass(order=True)
class Version:
    major: int
    minor: int = 0
    notes: list = field(default_factory=list, compare=False, repr=False)
    text: str = field(init=False, default="")

    def __post_init__(self):
        self.text = f"{self.major}.{self.minor}"


class Level(Enum):
    LOW = auto()
    HIGH = auto()

    @property
    def title(self):
        return self.name.lower()


def run():
    old, new = Version(1, 2), Version(1, 10, ["n"])
    return {
        "ABC": isinstance(Square(2), Shape),
        "abstractmethod": Square(3).area(),
        "dataclass": [repr(old), old < new, old == Version(1, 2), sorted([new, old])[0].text],
        "field": [new.notes, new.text, old.notes],
        "Enum": [Level["LOW"].value, Level(2).title, [one.name for one in Level]],
        "auto": [Level.HIGH.value, len(Level), Level.LOW in Level],
    }
---
# language.md | methods of int
def run():
    return {
        "bit_length": [(255).bit_length(), (-256).bit_length()],
        "bit_count": (255).bit_count(),
        "to_bytes": [(258).to_bytes(2, "big"), (-2).to_bytes(2, "little", signed=True)],
        "from_bytes": [
            int.from_bytes(b"\x01\x02", "big"),
            int.from_bytes(b"\xfe\xff", "little", signed=True),
        ],
    }
---
# language.md | methods of str
def run():
    s = "abcab"
    return {
        "count": [s.count("ab"), s.count("a", 1), s.count("")],
        "encode": ["aé".encode(), "a".encode("ascii")],
        "endswith": [s.endswith("ab"), s.endswith(("x", "b"))],
        "find": [s.find("b"), s.find("b", 2), s.find("z")],
        "index": s.index("c"),
        "join": ",".join(["a", "b"]),
        "lstrip": [" a ".lstrip(), s.lstrip("ab")],
        "partition": s.partition("c"),
        "removeprefix": s.removeprefix("ab"),
        "removesuffix": s.removesuffix("ab"),
        "replace": [s.replace("ab", "x"), s.replace("a", "", 1)],
        "rfind": s.rfind("b"),
        "rpartition": s.rpartition("b"),
        "rsplit": ["a,b,c".rsplit(",", 1), " a  b ".rsplit()],
        "rstrip": [" a ".rstrip(), s.rstrip("b")],
        "split": ["a,b,c".split(","), " a  b ".split(), "a,b,c".split(",", 1)],
        "splitlines": ["a\nb\r\nc".splitlines(), "a\nb".splitlines(True)],
        "startswith": [s.startswith("ab"), s.startswith("b", 1)],
        "strip": [" a ".strip(), s.strip("ab")],
        "capitalize": "aBC".capitalize(),
        "isalnum": ["a1".isalnum(), "a ".isalnum()],
        "isalpha": ["a1".isalpha(), "ab".isalpha()],
        "isdecimal": ["12".isdecimal(), "".isdecimal()],
        "isdigit": ["12".isdigit(), "1a".isdigit()],
        "islower": ["ab".islower(), "aB".islower()],
        "isspace": [" \t".isspace(), "".isspace()],
        "isupper": ["AB".isupper(), "aB".isupper()],
        "lower": "ABc".lower(),
        "swapcase": "aBc".swapcase(),
        "title": "ab cd".title(),
        "upper": "abC".upper(),
        "center": ["ab".center(5), "ab".center(6, "*")],
        "ljust": ["ab".ljust(4), "ab".ljust(4, ".")],
        "rjust": ["ab".rjust(4), "ab".rjust(4, ".")],
        "zfill": ["42".zfill(5), "-42".zfill(5)],
    }
---
# language.md | methods of bytes
def run():
    b = b"abcab"
    return {
        "count": [b.count(b"ab"), b.count(97)],
        "decode": ["é".encode().decode(), b.decode("ascii")],
        "endswith": b.endswith(b"ab"),
        "find": [b.find(b"c"), b.find(b"z")],
        "hex": b.hex(),
        "index": b.index(b"b"),
        "join": b",".join([b"a", b"b"]),
        "replace": b.replace(b"ab", b"x"),
        "split": [b"a,b".split(b","), b" a  b ".split()],
        "startswith": b.startswith((b"x", b"a")),
        "strip": [b" a ".strip(), b.strip(b"ab")],
        "fromhex": bytes.fromhex("00ff"),
    }
---
# language.md | methods of list
def done(how, *arguments):
    items = [3, 1, 2, 1]
    if how == "append":
        items.append(*arguments)
    elif how == "clear":
        items.clear()
    elif how == "extend":
        items.extend(*arguments)
    elif how == "insert":
        items.insert(*arguments)
    elif how == "remove":
        items.remove(*arguments)
    elif how == "reverse":
        items.reverse()
    elif how == "sort":
        items.sort(key=lambda n: -n)
    return items


def run():
    items = [3, 1, 2, 1]
    return {
        "append": done("append", 5),
        "clear": done("clear"),
        "copy": [items.copy(), items.copy() is None],
        "count": items.count(1),
        "extend": done("extend", (7, 8)),
        "index": items.index(1),
        "insert": done("insert", 1, 9),
        "pop": [items.pop(), items.pop(0), items],
        "remove": done("remove", 1),
        "reverse": done("reverse"),
        "sort": done("sort"),
    }
---
# language.md | methods of tuple
def run():
    return {"count": (1, 2, 1).count(1), "index": (1, 2, 1).index(2)}
---
# language.md | methods of dict
def run():
    d = {"a": 1, "b": 2}
    other = d.copy()
    other.update({"c": 3}, d=4)
    gone = d.copy()
    gone.clear()
    return {
        "clear": gone,
        "copy": d.copy(),
        "get": [d.get("a"), d.get("z"), d.get("z", 5)],
        "items": list(d.items()),
        "keys": [list(d.keys()), "a" in d.keys()],
        "pop": [other.pop("a"), other.pop("z", 0)],
        "popitem": [other.popitem(), list(other)],
        "setdefault": [d.setdefault("a", 9), d.setdefault("e", 9), d],
        "update": other,
        "values": list(d.values()),
        "fromkeys": [dict.fromkeys("ab"), dict.fromkeys([1, 2], 0)[1]],
    }
---
# language.md | methods of set
def changed(how, items):
    one = {1, 2, 3}
    if how == "add":
        one.add(items)
    elif how == "clear":
        one.clear()
    elif how == "discard":
        one.discard(items)
        one.discard(99)
    elif how == "remove":
        one.remove(items)
    elif how == "update":
        one.update(items)
    return sorted(one)


def run():
    a, b = {1, 2, 3}, {3, 4}
    lonely = {5}
    return {
        "add": changed("add", 4),
        "clear": changed("clear", 0),
        "copy": sorted(a.copy()),
        "difference": [sorted(a.difference(b)), sorted(a - b)],
        "discard": changed("discard", 2),
        "intersection": [sorted(a.intersection(b)), sorted(a & b), sorted(a ^ b)],
        "issubset": [a.issubset(b), {3}.issubset(b), {3} <= b, a == {3, 2, 1}],
        "issuperset": [a.issuperset({1}), a.issuperset([9])],
        "pop": [lonely.pop(), len(lonely)],
        "remove": changed("remove", 1),
        "union": [sorted(a.union(b)), sorted(a | b)],
        "update": changed("update", [7, 8]),
    }
---
# language.md | methods of storage
# gives | {"get": [5, null, 0], "pop": [6, 1], "setdefault": [5, 7], "keys": ["a", "c"], "[]": true, "del": "KeyError", "in": [true, false]}
class Actor:
    def deleted(self):
        self.storage["d"] = 1
        del self.storage["d"]
        try:
            return self.storage["d"]
        except KeyError as error:
            return type(error).__name__

    def run(self):
        self.storage["a"] = 5
        self.storage["b"] = 6
        self.storage["a"] += 0
        return {
            "get": [
                self.storage.get("a"), self.storage.get("z"), self.storage.get("z", 0)
            ],
            "pop": [self.storage.pop("b"), self.storage.pop("z", 1)],
            "setdefault": [
                self.storage.setdefault("a", 9), self.storage.setdefault("c", 7)
            ],
            "keys": self.storage.keys(),
            "[]": self.storage["a"] == 5,
            "del": self.deleted(),
            "in": ["a" in self.storage, "z" in self.storage],
        }
---
# pvm.modules | base64
import base64


def run():
    return {
        "b16decode": base64.b16decode(b"FF00"),
        "b16encode": base64.b16encode(b"\xff"),
        "b64decode": [base64.b64decode(b"+/8="), base64.b64decode("YQ==")],
        "b64encode": base64.b64encode(b"\xfb\xff"),
        "urlsafe_b64decode": base64.urlsafe_b64decode(b"-_8="),
        "urlsafe_b64encode": base64.urlsafe_b64encode(b"\xfb\xff"),
    }
---
# pvm.modules | binascii
import binascii


def run():
    return {"hexlify": binascii.hexlify(b"a"), "unhexlify": binascii.unhexlify("ff")}
---
# pvm.modules | hashlib
import hashlib


def both(made):
    made.update(b"c")
    return [made.digest(), made.hexdigest()]


def run():
    return {
        "sha256": both(hashlib.sha256(b"ab")),
        "sha512": both(hashlib.sha512()),
        "sha3_256": both(hashlib.sha3_256(b"ab")),
        "blake2b": both(hashlib.blake2b(b"ab")),
    }
---
# pvm.modules | hmac
import hmac


def run():
    keyed = hmac.new(b"k", b"m", "sha256")
    return {
        "compare_digest": [hmac.compare_digest(b"a", b"a"), hmac.compare_digest(b"a", b"b")],
        "digest": hmac.digest(b"k", b"m", "sha512"),
        "new": [keyed.digest(), keyed.hexdigest()],
    }
---
# pvm.modules | json
import json
from json import JSONDecodeError


class Odd:
    pass


def shown(value):
    return type(value).__name__ if isinstance(value, Odd) else sorted(value)


def hex_of(digits):
    return hex(int(digits))


def unread(text):
    try:
        return json.loads(text)
    except JSONDecodeError as error:
        return [isinstance(error, ValueError), error.doc]


def run():
    data = {"b": [1, "é", None, True], "a": {"c": -5}}
    return {
        "dumps": [
            json.dumps(data), json.dumps(data, sort_keys=True, indent=2),
            json.dumps([1, 2], separators=(",", ":")),
            json.dumps(data, ensure_ascii=False, indent=" - "),
            json.dumps({(1, 2): 3, "a": [{b"x": 4}]}, skipkeys=True),
            json.dumps({"a": Odd(), "b": [{3, 1}]}, default=shown),
        ],
        "loads": [
            json.loads('{"a": [1, "\\u00e9", null]}'), json.loads(b"[true]"),
            json.loads('{"a": {"b": 1}, "c": 2}', object_hook=sorted),
            json.loads('{"a": {"a": 1, "a": 2}}', object_pairs_hook=list),
            json.loads("[17, 2.50, NaN]", parse_int=hex_of, parse_float=str,
                       parse_constant=lambda name: name),
        ],
        "JSONDecodeError": [unread("{"), unread("[1] 2"), unread("{}")],
    }
---
# pvm.modules | math
import math


def run():
    return {
        "comb": math.comb(10, 3),
        "factorial": math.factorial(20),
        "gcd": [math.gcd(12, 18), math.gcd(0, 5)],
        "isqrt": math.isqrt(10**40 + 1),
        "lcm": math.lcm(4, 6),
        "perm": math.perm(5, 2),
    }
---
# pvm.modules | struct
import struct


def run():
    return {
        "calcsize": struct.calcsize("<bQ4s"),
        "pack": struct.pack(">hI3s?x", -2, 7, b"ab", True),
        "unpack": struct.unpack("<bQ", struct.pack("<bQ", -1, 2**63)),
    }
