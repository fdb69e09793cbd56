"""Recursions without an end, one through each construct that calls (sandbox.md §5).

Each program ends by the depth of the actor's own functions, and by nothing else: no
stack, no cache and no interpreter may give up before. `again` stands for the function
that goes on; `K` has every method that operators and native code call.
"""

from collections.abc import Mapping

from pvm import language

SCOPES = language.SCOPES_NESTED_MAX

_K = """
class K:
    def __str__(self):
        return again()
    def __repr__(self):
        return again()
    def __eq__(self, other):
        return again()
    def __lt__(self, other):
        return again()
    def __le__(self, other):
        return again()
    def __gt__(self, other):
        return again()
    def __ge__(self, other):
        return again()
    def __len__(self):
        return again()
    def __iter__(self):
        return again()
    def __next__(self):
        return again()
    def __contains__(self, item):
        return again()
    def __getitem__(self, key):
        return again()
    def __setitem__(self, key, value):
        again()
    def __delitem__(self, key):
        again()
    def __call__(self, *items, **named):
        return again()
    def __bool__(self):
        return again()
    def __enter__(self):
        return again()
    def __exit__(self, *args):
        return again()
    def __add__(self, other):
        return again()
    def __sub__(self, other):
        return again()
    def __mul__(self, other):
        return again()
    def __floordiv__(self, other):
        return again()
    def __mod__(self, other):
        return again()
    def __neg__(self):
        return again()
    def m(self, *items, **named):
        return again()
    @property
    def p(self):
        return again()
    @p.setter
    def p(self, value):
        again()
    @classmethod
    def c(cls):
        return again()
    @staticmethod
    def s():
        return again()
class Base:
    def m(self):
        return again()
class Above(Base):
    def m(self):
        return super().m()
class Made:
    def __init__(self):
        again()
class Mine(ValueError):
    def __str__(self):
        return again()
    def __repr__(self):
        return again()
class Only:
    def __init__(self):
        self.n = 0
    def __iter__(self):
        return self
    def __next__(self):
        return again()
class Length:
    def __len__(self):
        return again()
class Items:
    def __getitem__(self, index):
        return again()
class Leaves:
    def __enter__(self):
        return 1
    def __exit__(self, *args):
        return again()
class Says:
    def __init__(self):
        self.n = 1
    def __eq__(self, other):
        return again()
def in_object(function):
    return K()
class Objects:
    @property
    @in_object
    def p(self):
        return 1
    @staticmethod
    @in_object
    def s():
        return 1
    @classmethod
    @in_object
    def c(cls):
        return 1
    @in_object
    def m(self):
        return 1
@dataclass
class Field:
    n: object = field(default_factory=lambda: again())
@dataclass(order=True)
class Record:
    n: object
def steps():
    yield again()
def late(n):
    if n:
        yield n
    yield from late2()
def late2():
    yield again()
def decorate(function):
    again()
    return function
def any_of(*items, **named):
    return again()
k = K()
"""

_IMPORTS = """import pvm_host
from bisect import bisect_left
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from functools import cache, cmp_to_key, partial, reduce
from heapq import heapify, heappush
from itertools import (
    accumulate, chain, dropwhile, filterfalse, groupby, islice, starmap, takewhile,
    zip_longest,
)
import operator
from cowboy_sdk import ActorRef, call
"""

EXPRESSIONS = """
again()
(lambda: again())()
(lambda *a, **n: again())(*[1], **{"a": 1})
any_of(*[1], **{"a": 1})
str(k)
repr(k)
repr([[k]])
repr({1: (k,)})
f"{k}"
f"{k!r}"
f"{[k]}"
str(Mine())
f"{Mine()}"
repr(Mine())
str([Mine()])
str(ValueError(k))
str(KeyError(k))
str(ValueError(ValueError(Mine(1))))
k == 1
[k] == [Says()]
((k,),) == ((Says(),),)
{"a": k} == {"a": Says()}
k != 1
k < 1
[k] < [Says()]
k <= 1
k > 1
k >= 1
1 < k
k in [Says()]
k in (Says(),)
k in {"a": Says()}.values()
("a", k) in {"a": Says()}.items()
[Says()].index(k)
(Says(),).index(k)
[Says()].count(k)
[Says()].remove(k)
len(k)
len(Length())
bool(Length())
bool(k)
not k
k and 1
k or 1
1 if k else 2
[x for x in [1] if k]
list(k)
list(Only())
tuple(Only())
set(Only())
frozenset(Only())
dict(Only())
sorted(Only())
sum(Only())
sum([1], k)
max(Only())
min(Only())
any(Only())
all(Only())
any([Length()])
all([k])
zip(Only(), [1])
list(zip(Only(), [1]))
list(enumerate(Only()))
reversed([x for x in Only()])
map(str, Only())
filter(None, [k])
filter(lambda x: again(), [1])
map(lambda x: again(), [1])
map(k, [1])
map(k.m, [1])
map(lambda x: K.c(), [1])
sorted([1], key=lambda x: again())
sorted([2, 1], key=k)
sorted([2, 1], key=k.m)
sorted([k, k])
max([k, k], key=k)
min([1, 2], key=lambda x: again())
max(1, 2, key=lambda x: again())
[2, 1].sort(key=lambda x: again())
[k, k].sort()
[x for x in Only()]
{x for x in Only()}
{x: 1 for x in Only()}
list(x for x in Only())
[1 for x in k]
[*Only()]
any_of(*Only())
(lambda *a: a)(*Only())
",".join(Only())
b",".join(Only())
[].extend(Only())
{}.update(Only())
{1}.union(Only())
{1}.update(Only())
dict.fromkeys(Only())
list(Items())
list(map(list, [Only()]))
map(map, [list], [[Only()]])
[].append(again())
k[1]
k["a"]
1 in k
1 in Only()
1 in Items()
k(1)
k(*[1], **{"a": 1})
k.m(*[1], **{"a": 1})
k.p
getattr(k, "p")
getattr(k, "p", 1)
hasattr(k, "p")
k.c()
K.c()
K.s()
k.s()
Objects().p
getattr(Objects(), "p")
hasattr(Objects(), "p")
Objects.s(*[1], **{"a": 1})
Objects.c()
Objects().m(*[1])
[Objects().s][0](*[1])
map(Objects.s, [1])
sorted([2, 1], key=Objects.s)
Above().m()
Base.m(k)
Made()
Field()
Record(k) == Record(Says())
Record(k) < Record(Says())
k + 1
k - 1
k - k
k * 2
k // 2
k % 2
-k
operator.add(k, 1)
operator.eq(k, 1)
operator.getitem(k, 1)
operator.contains(k, 1)
next(k)
next(k, 1)
next(steps())
list(steps())
[x for x in steps()]
list(late(1))
sum(late(1))
next(iter(Only()))
iter(k)
reduce(lambda a, b: again(), [1, 2])
reduce(k, [1, 2])
partial(again)()
partial(partial, partial, again)()()()
cache(lambda x: again())(1)
sorted([1, 2], key=cmp_to_key(lambda a, b: again()))
bisect_left([k], 1)
bisect_left([1], k)
heappush([k], k)
heapify([k, k])
list(accumulate([1, 2], lambda a, b: again()))
list(accumulate([k, k]))
list(chain([1], Only()))
list(dropwhile(lambda x: again(), [1]))
list(filterfalse(lambda x: again(), [1]))
list(groupby([1, 2], lambda x: again()))
list(islice(Only(), 2))
list(starmap(k, [[1]]))
list(takewhile(k, [1]))
list(zip_longest(Only()))
list(chain(*[chain(*[chain(Only())])]))
list(islice(islice(islice(islice(Only(), 3), 3), 3), 3))
defaultdict(again)[1]
defaultdict(k)[1]
Counter(Only())
OrderedDict(Only())
deque(Only())
deque([k]) == deque([Says()])
OrderedDict({"a": k}) == OrderedDict({"a": Says()})
repr(OrderedDict({"a": k}))
repr(deque([k]))
k in deque([Says()])
isinstance(again(), int)
[[1].index][0](again())
[[Says()].index][0](k)
[[1, 2].sort][0](key=k)
[[].extend][0](Only())
[",".join][0](Only())
pvm_host.emit_event(again(), b"")
""".strip().splitlines()
"""Each ends in `again`, but the few that only take it as far as they can."""

STATEMENTS = {
    "with enters": "with k:\n    pass",
    "with leaves": "with Leaves():\n    pass",
    "with leaves a failure": "with Leaves():\n    raise ValueError(1)",
    "with in with": "with Leaves() as a, Leaves() as b, Leaves() as c:\n    pass",
    "for": "for x in k:\n    pass",
    "for next": "for x in Only():\n    pass",
    "for items": "for x in Items():\n    pass",
    "for zip": "for x in zip(Only(), Only()):\n    pass",
    "for enumerate": "for i, x in enumerate(Only()):\n    pass",
    "for reversed": "for x in reversed([1]):\n    again()",
    "while": "while k:\n    pass",
    "if": "if k:\n    pass",
    "unpack": "a, b = Only()",
    "unpack star": "a, *b = Only()",
    "set item": 'k["a"] = 1',
    "add item": 'k["a"] += 1',
    "delete item": 'del k["a"]',
    "set property": "k.p = 1",
    "add property": "k.p += 1",
    "add in place": "x = k\nx += 1",
    "set slice": "x = []\nx[:] = Only()",
    "assert": "assert k",
    "raise": "raise Mine(again())",
    "caught": (
        "try:\n    raise ValueError(1)\nexcept ValueError as e:\n    return again()"
    ),
    "finally": "try:\n    x = 1\nfinally:\n    again()",
    "finally fails": (
        "try:\n    raise ValueError(1)\nexcept KeyError:\n    pass\n"
        "finally:\n    again()"
    ),
    "else": "try:\n    x = 1\nexcept KeyError:\n    pass\nelse:\n    again()",
    "caught again": (
        "try:\n    return again()\nexcept Exception as e:\n    return again()"
    ),
    "default": "def inner(x=again()):\n    pass",
    "decorator": "@decorate\ndef inner():\n    pass",
    "decorators": "@decorate\n@decorate\ndef inner():\n    pass",
    "closure": "def inner(n):\n    return again()\nreturn inner(1)",
    "yield": "def inner():\n    x = yield 1\n    again()\nreturn list(inner())",
    "yield from": "def inner():\n    yield from steps()\nreturn list(inner())",
    "delegate": "def inner():\n    yield from Only()\nreturn list(inner())",
}  # fmt: skip


def _program(body: str, more: str = "") -> str:
    lines = "\n    ".join(body.splitlines())
    return (
        f"{_IMPORTS}{_K}{more}def again(*given):\n    {lines}\n"
        "def run():\n    return again()\n"
    )


def _nested(expression: str, comprehensions: int) -> str:
    """The expression in comprehensions, each inside the element of the next."""
    source = expression
    for number in range(comprehensions):
        source = f"[{source} for c{number} in [1]]"
    return source


def _conditions(expression: str, comprehensions: int) -> str:
    source = expression
    for number in range(comprehensions):
        source = f"[1 for c{number} in [1] if {source}]"
    return source


def _sources(expression: str, comprehensions: int) -> str:
    """Each comprehension runs over the next: no frame stands on another."""
    source = expression
    for number in range(comprehensions):
        source = f"[c{number} for c{number} in [{source}]]"
    return source


_LAMBDAS = "(" + "(lambda: " * (SCOPES - 1) + "again()" + ")()" * (SCOPES - 1) + ")"

_FORMS = {
    "comprehensions": lambda one: _nested(one, SCOPES - 1),
    "conditions": lambda one: _conditions(one, SCOPES - 1),
    "sources": lambda one: _sources(one, SCOPES - 1),
    "dicts": lambda one: _nested(f"{{1: {one} for d in [1]}}", SCOPES - 2),
    "sets": lambda one: _nested(f"{{{one} for d in [1]}}", SCOPES - 2),
    "generators": lambda one: _nested(f"list({one} for d in [1])", SCOPES - 2),
    "lambdas": lambda one: _nested(f"(lambda: {_nested(one, 6)})()", 7),
}

_INSIDE = (
    "again()",
    "k == 1",
    "k(*[1], **{'a': 1})",
    "k.p",
    "str([k])",
    "list(Only())",
    "sorted([2, 1], key=k)",
    "map(map, [list], [[Only()]])",
    "next(steps())",
    "defaultdict(k)[1]",
)

PROGRAMS: Mapping[str, str] = {
    **{one: _program(f"return {one}") for one in EXPRESSIONS},
    **{name: _program(body) for name, body in STATEMENTS.items()},
    **{
        f"{name} of {one}": _program(f"return {form(one)}")
        for name, form in _FORMS.items()
        for one in _INSIDE
    },
    "lambdas in lambdas": _program(f"return {_LAMBDAS}"),
}
"""Each recurs until a limit ends it."""


def _deepest_source() -> str:
    """As deep as a source may be: what compiling it takes of a stack is the most."""
    sums = "(" * 90 + "n" + " + n)" * 90
    elifs = "".join(f"    elif n == {i}:\n        n += 1\n" for i in range(1, 280))
    nots = "not " * 90 + "n"
    some = "(" * 40 + "n" + " + n)" * 40
    calls = "len(" * 80 + "n" + ")" * 80
    return f"""from pvm_host import HostError
import pvm_host
def sums(n):
    return {sums}
def nots(n):
    return {nots}
def calls(n):
    return {calls}
def many(n):
    if n == 0:
        n += 1
{elifs}    return n
def comprehended(n):
    return {_nested(some, SCOPES - 1)}
def lambdas(n):
    return {"(lambda: " * (SCOPES - 1)}{some}{")()" * (SCOPES - 1)}
def call_deeper(payload):
    try:
        return pvm_host.call_actor(payload, "run", b"", 2**40)
    except HostError as error:
        return error.name
def run(payload):
    return b"compiled"
"""


CALLEE = _deepest_source().encode()
"""What is called at the end of a chain, where no cache knows it."""

CALLER = f"""
import pvm_host
from pvm_host import HostError, RevertError
from collections import deque

CALLS = 31

class Link:
    # Compared, it goes on by a method as a value: two of depth, the most of C.
    def __init__(self, n, told):
        self.n, self.told = n, told
    def __eq__(self, other):
        if self.n:
            {_nested('[[Link(self.n - 1, self.told)].index][0](other)', SCOPES - 1)}
        else:
            FOUND.append(call(self.told))
        return True

FOUND = []

def call(told):
    me, other, depth, way = told
    if depth < CALLS and way != "cold alone":
        more = pvm_host.cbor_encode([me, other, depth + 1, way])
        return pvm_host.call_actor(me, "run", more, 2**40)
    return last(other, way)

def last(other, way):
    if way == "recursion":
        return recursion()
    if way in ("cold", "cold alone"):
        return pvm_host.call_actor(other, "run", b"", 2**40)
    if way == "too deep":
        return [pvm_host.call_actor(other, "call_deeper", other, 2**40)]
    if way == "values":
        value = key = 1
        for i in range(60):
            value, key = [value], (key,)
        encoded = pvm_host.cbor_encode(value)
        same = pvm_host.cbor_decode(encoded) == value
        return [same, len(str(value)), {{key: 1}}[key], key in [key]]
    if way == "library":
        from_library = deque([1, 2, 3])
        return list(from_library)
    return None

def recursion():
    return [recursion() for i in [1]]

def run(payload):
    told = pvm_host.cbor_decode(payload)
    [Link(2 if told[3] != "cold alone" else 125, told)].index(FOUND)
    found = FOUND[-1]
    while type(found) is list and len(found) == 1:
        found = found[0]
    return found
""".encode()
"""Calls itself 31 times, each time through functions full of comprehensions."""

WAYS = ("recursion", "cold", "cold alone", "too deep", "values", "library")
"""What happens at the end of the chain."""
