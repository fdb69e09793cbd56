"""A grammar that makes hostile programs, and the judges of what they come to.

A program puts odd values through odd operations: attributes of every kind of object,
names of a hundred letters, many children, deep and shared and circular values, nested
comprehensions, cascades of `__eq__`, natives with arguments nobody would give them.
Whatever it is, it is a typed outcome, the same on every interpreter, paid for in time
and in memory, and shows nothing of the machine. `tests/fuzz.py` makes them for as long
as one likes; whatever was found is a named case of `tests/actors/attacks.py`.
"""

import ctypes
import gc
import re
import time
from contextlib import suppress
from pathlib import Path
from random import Random

from node.chain.params import DEPLOY_CYCLES, DEPLOY_CYCLES_PER_CODE_BYTE
from pvm import CompileError, compile_actor, costs
from pvm.testing import World
from tests import reach, vm_invariants
from tests.actors import deep
from tests.compile_verdict import verdict

CYCLES = 3_000_000

LONG = "n" * 99

_NAMES = [
    "args",
    "name",
    "value",
    "obj",
    "code",
    "msg_id",
    "func",
    "keywords",
    "cache_clear",
    "errno",
    "reason",
    "object",
    "start",
    "stop",
    "step",
    "encoding",
    "end",
    "filename",
    "real",
    "imag",
    "numerator",
    "characters_written",
    "path",
    "msg",
    "count",
    "index",
    "items",
    "keys",
    "values",
    "get",
    "pop",
    "append",
    "add",
    "update",
    "sort",
    "join",
    "split",
    "encode",
    "decode",
    "hex",
    "fromkeys",
    "from_bytes",
    "to_bytes",
    "bit_length",
    "copy",
    "clear",
    "union",
    "storage",
    "address",
    "deployer",
    "deleter",
    "getter",
    "setter",
    "send",
    "throw",
    "close",
    "default_factory",
    "n",
    "s",
    "m",
    "p",
    "c",
    "x",
    "y",
]

_VALUES = """None@True@-1@0@2@10**1200@-(2**70)@""@"a"@"\\U0001f600" * 70@"ab" * 500
b""@b"ab"
b"\\xff" * 99@[]@[1, 2, 3]@[[1], [2]]@["b", "a"]@[None]@()@(1,)@((), ((),))@{}@{"k": 1}
{1: {2: {}}}@{1, 2}@set()@frozenset([1])@range(9)@range(10**9)@range(-5, 5, 3)@C@o@o.m
C.m@C.c@C.s@o.p@o.sup()@o.call()@(lambda: 1)@(lambda *a, **k: a)@gen()@next@iter([1])
iter({1: 2})@zip([1], [2])@map@len@int@str@bytes@list@dict@set@type@sorted@max@sum@repr
ValueError@ValueError(1)@ValueError("a", [1])@KeyError("k")@Mine()@Mine@caught()@E@E.A
E["A"]@P(1)@P@Child9@Child9()@partial(add, 1)@partial@cache(add)@deque([1, 2])@deque
Counter("aab")@OrderedDict({"a": 1})@defaultdict(list)@defaultdict@hashlib.sha256(b"a")
hashlib.sha256@hashlib@json@json.dumps@json.loads@struct.pack@struct@math.gcd@math
base64.b64encode@pvm_host@pvm_host.get_state@pvm_host.randomness(b"")
ActorRef(b"a" * 20)@ActorRef(b"a" * 20).m@Address@Address.ZERO@[].append@"a".join@{}.get
{}.keys()@{"a": 1}.items()@{"a": 1}.values()@{1}.add@b"".join@(1).to_bytes@deepened(9)
deepened(70)@shared(40)@shared(9)@circle()@circles()@keyed(50)@cascade()@add@run@self_
itemgetter(0)@cmp_to_key(add)@chain([1], [2])@accumulate@reduce@storage()
pvm_host.context()
[*range(200)]@{str(i): i for i in range(99)}@[o] * 99@["a" * 70] * 9
(1, "a", b"b", None)
BoundedRange@E.A.name@Named@Named()@property_of()@steps@heapify@bisect_left
string.digits
"""
VALUES = [one for one in re.split(r"[@\n]", _VALUES) if one]

_FORMS = """
V == V@V < V@V in V@V + V@V * V@V - V@V % V@V // V@V & V@V | V@V ^ V@V << 9@V ** V@-V
not V
V[V]@V[V:V]@V(V)@V()@V(V, V)@V(V, V, V)@V(*V)@V(**V)@V(V, K=V)@V(K=V)@V(V, K=V, K2=V)
V.N@V.N(V)@V.N()@V.N(K=V)@V.N(V, V)@V.N.N@V.L@V(L=V)@getattr(V, "N", V)@hasattr(V, "N")
str(V)@repr(V)@f"{V}"@f"{V!r}"@len(V)@bool(V)@list(V)@tuple(V)@set(V)@dict(V)@sorted(V)
sum(V)@max(V)@min(V)@max(V, V)@any(V)@all(V)@zip(V, V)@enumerate(V)@reversed(V)@iter(V)
next(V)@next(V, V)@map(V, V)@map(V, V, V)@filter(V, V)@sorted(V, key=V)@max(V, key=V)
sum(V, V)@isinstance(V, V)@issubclass(V, V)@type(V)@callable(V)@int(V)@int(V, V)
bytes(V)
str(V, V)@divmod(V, V)@pow(V, V)@pow(V, V, V)@round(V, V)@abs(V)@hex(V)@chr(V)@ord(V)
json.dumps(V)@json.dumps(V, K=V)@json.loads(V)@pvm_host.cbor_encode(V)
pvm_host.cbor_decode(V)@pvm_host.set_state(b"k", V)@pvm_host.emit_event("t", V)
pvm_host.call_actor(V, V, V, V)@pvm_host.schedule_timer(V, V)@pvm_host.keccak256(V)
pvm_host.send_message(V, V, V)@hashlib.sha256(V)@struct.pack(V, V)@struct.unpack(V, V)
base64.b64decode(V)@reduce(V, V)@reduce(V, V, V)@partial(V, V)(V)@cache(V)(V)
deque(V)@Counter(V)@OrderedDict(V)@defaultdict(V, V)@itemgetter(V)(V)@accumulate(V, V)
list(chain(V, V))@list(islice(V, 5))@heapify(V)@bisect_left(V, V)@{V: V}@{V}@[*V]
(*V, *V)
[V for x in V]@[x for x in V if V]@{x: V for x in V}@[y for x in V for y in V]
V if V else V@V and V@V or V@(lambda x: V)(V)@V is None@V == V == V@V < V < V@C(V)@P(V)
E(V)@E[V]@Mine(V)@Mine(V, K=V)@ValueError(V, V)@ImportError(V, K=V)@UnicodeError(V)
V.split(V)@V.split(K=V)@V.splitlines(V)@V.replace(V, V)@V.join(V)@V.count(V)@V.index(V)
V.find(V, V, V)@V.encode(V, V)@V.decode(K=V)@V.to_bytes(V, V)@int.from_bytes(V, V)
V.sort(key=V)@V.sort(K=V)@V.extend(V)@V.update(V)@V.get(V)@V.pop(V)@V.setdefault(V, V)
dict.fromkeys(V, V)@V.startswith(V)@V.strip(V)@V.center(V, V)@V.remove(V)@V.insert(V, V)
wanting()@wanting(V)@wanting(L=V)@wanting(1, 2, 3, 4, 5)@o.wants(V)@str([V])
str([V] * 50)
cascade() in cascade()@cascade() == cascade()@[cascade()].count(o)@str(Mine(V))@f"{[V]}"
steps(V)@list(steps(V))@ActorRef(V)@ActorRef(b"a" * 20).N(V)@Address(V)
BoundedRange(V, V)
"""
FORMS = [one for one in re.split(r"[@\n]", _FORMS) if one]

_STATEMENTS = """
seen.append(F)
x = F; seen.append(x)
for x in V: seen.append(F)
x = V; x += V; seen.append(x)
x = V; x *= V; seen.append(x)
x = V; x |= V; seen.append(x)
x = V; x[V] = V; seen.append(x)
x = V; x[V:V] = V; seen.append(x)
x = V; x.N = V; seen.append(x)
x = V; del x[V]; seen.append(x)
x = V; del x.N; seen.append(x)
a, b = V; seen.append(a)
a, *b = V; seen.append(b)
assert F, V
raise ValueError(V)
raise V
with V as x: seen.append(x)
seen.append(N1(V))
for i in range(R): kept.append(F)
for i in range(R): kept.append(V)
while len(kept) < R: kept.append([V, V])
for i in range(R): kept.append(wanting)
for i in range(R): kept.append(f"{i}{V}")
for i in range(R): kept.append((i, V, lambda: V))
text = text + text + str(V)
number = number * number + 1
for i in range(R): circle()
for i in range(R): kept.append(gen())
"""
STATEMENTS = [one for one in _STATEMENTS.split("\n") if one]

_KEYWORDS = [
    "key",
    "default",
    "sep",
    "maxsplit",
    "start",
    "reverse",
    "strict",
    "keepends",
    "byteorder",
    "signed",
    "errors",
    "encoding",
    "base",
    "end",
    "name",
    "name_from",
    "path",
    "obj",
    "msg",
    "code",
    "indent",
    "separators",
    "sort_keys",
    "ensure_ascii",
    "cls",
    "skipkeys",
    "initial",
    "func",
    "maxlen",
    "repeat",
    "fillvalue",
    "length",
    "value",
    "cycles_limit",
    "self",
    "x",
    "n",
]

_PRELUDE = """import base64
import hashlib
import json
import math
import pvm_host
import string
import struct
from bisect import bisect_left
from collections import Counter, OrderedDict, defaultdict, deque
from cowboy_sdk import ActorRef, Address, BoundedRange
from dataclasses import dataclass
from enum import Enum
from functools import cache, cmp_to_key, partial, reduce
from heapq import heapify
from itertools import accumulate, chain, islice
from operator import itemgetter

class Mine(ValueError):
    def __init__(self, *a, **k):
        super().__init__(*a)
        self.n = k

class E(Enum):
    A = 1
    B = "b"

@dataclass(order=True)
class P:
    n: object
    s: str = "p"

class Base:
    def m(self, *a, **k):
        return self
    def __repr__(self):
        return "Base"

class C(Base):
    def __init__(self, n=1):
        self.n, self.x = n, self
    def sup(self):
        return super().SUPER
    def call(self):
        return super().m
    def wants(self, LONG, LONG2):
        return LONG
    @property
    def p(self):
        return self.n
    @classmethod
    def c(cls, *a):
        return cls
    @staticmethod
    def s(*a):
        return a
    def __eq__(self, other):
        return EQUAL
    def __iter__(self):
        return ITER
    def __len__(self):
        return LENGTH
    def __getitem__(self, key):
        return key
    def __contains__(self, item):
        return CONTAINS
    def __call__(self, *a, **k):
        return a
    def __str__(self):
        return TEXT
    def __lt__(self, other):
        return LESS
    def __add__(self, other):
        return other
    def __bool__(self):
        return TRUTH

CHILDREN

class Cascade:
    def __init__(self, items, more):
        self.items, self.more = items, more
    def __eq__(self, other):
        return CASCADE
    def __iter__(self):
        return iter(self.items)
    def __contains__(self, item):
        return item in self.items
    def __repr__(self):
        return str(len(self.items))

class Named:
    NAMES = 0

o = C()
kept = []
self_ = [run_ for run_ in [1]]

def add(a, b=2, *c, **d):
    return a

def wanting(LONG, LONG2, n3, n4, *, LONG5, n6):
    return 1

def gen():
    yield 1
    x = yield [1]
    yield x

def steps(n):
    for x in n:
        yield x

def caught():
    try:
        [][9].x
    except Exception as error:
        return error

def storage():
    return o.m

def property_of():
    return C.p

def deepened(n):
    x = []
    for i in range(n):
        x = DEEPER
    return x

def keyed(n):
    x = ()
    for i in range(n):
        x = (x, i)
    return {x: x}

def shared(n):
    x = [1]
    for i in range(n):
        x = SHARED
    return x

def circle():
    x = [1]
    y = {"x": x}
    CIRCLE
    return x

def circles():
    return [circle(), circle()]

def cascade():
    x = Cascade([o, 1], o)
    for i in range(CASCADES):
        x = Cascade([x, i], x)
    return x

"""

_CHOICES = {
    "SUPER": ["__repr__", "__str__", "m", "__eq__", "__init__", "x", "__len__"],
    "EQUAL": ["self is None", "True", "1", "self.n == 1", "other in [self]", "[]"],
    "ITER": ["iter([1, 2])", "gen()", "self", "iter(self.n)", "iter({1: 2})", "[]"],
    "LENGTH": ["2", "-1", "10**30", "self.n", "len(kept)", "True"],
    "CONTAINS": ["True", "item == self", "[item]", "item in [item]"],
    "TEXT": ["'C'", "str([self.n])", "1", "f'{self!r}'", "'a' * 99", "str(self.x)"],
    "LESS": ["False", "True", "[]", "self.n < 1", "o == other"],
    "TRUTH": ["True", "False", "1", "self == 1"],
    "DEEPER": ["[x]", "(x,)", "{'a': x}", "[x, 1]", "ValueError(x)", "C(x)", "P(x)"],
    "SHARED": ["[x, x]", "(x, x)", "{'a': x, 'b': x}", "x + x", "Mine(x, x)"],
    "CIRCLE": ["x.append(x)", "x.append(y)", "y['y'] = y; x.append(y)", "o.x = x",
               "x.append(lambda: x)", "x.append(ValueError(x))"],
    "CASCADE": ["other in self.items", "self.more == other", "self.items == other",
                "self in other.more", "self.items.count(other)",
                "self.more in [other]"],
    "CASCADES": ["3", "9", "40", "300"],
}  # fmt: skip

_BUILTINS_WORDS = """
getattr getattr getattr hasattr super type isinstance issubclass property
staticmethod len iter next int str list dict set enumerate zip range print
breakpoint ValueError Exception HostError RevertError JSONDecodeError pvm_host
json field dataclass abstractmethod object
"""
_BUILTINS = _BUILTINS_WORDS.split()
"""Names with which the compiler means something of its own."""

_BINDINGS_IN_LINES = """
def b(x: (Z := 1) = 2):| return x
def b():| x: (lambda Z: 1) = 2| return x
def b() -> [1 for Z in ()]:| return 1
class S:| x: {Z: 1 for Z in ()} = 1
@dataclass(init=False)|class D:| a: int = field(default_factory=lambda Z: 1)
@dataclass|class D:| a: int = field(default=(Z := 1), default=2)
@dataclass|class D:| a: int = field(default_factory=lambda: [1 for Z in ''])| a: int = 2
@dataclass|class D:| Z: int = 1
@dataclass|class D:| a: int = field(default_factory=lambda: Z, init=False)
class S:| Z = 1
class S:| Z: int
class S:| def Z(self, *a):|  return a
class S:| @Z.setter| def y(self, v):|  pass
class M(Enum):| Z = auto()
class S(Base):| def m(self):|  return super().m()| Z = 1
def b(Z):| return Z
def b(*Z, **k):| return Z
def b():| Z = 1| del Z| return 1
def b():| global Z| Z = 1
def b():| for Z in ():|  pass
def b():| try:|  pass| except ValueError as Z:|  pass
def b():| return [Z for Z in (1,)]
def b():| return lambda Z=1: Z
def b():| return (Z := 1)
def b():| Z = 1| def c():|  nonlocal Z|  Z = 2| return c
Z = 1|del Z
if True:| from dataclasses import field as Z
if True:| from abc import ABC as Z
if True:| from typing import Any as Z
if True:| from pvm_host import HostError as Z
if True:| from json import JSONDecodeError as Z
if True:| import json as Z
from typing import Any as Z
from enum import auto as Z
from pvm_host import HostError as Z|def b(Z):| pass
from pvm_host import RevertError as Z|def b(Z):| pass
from json import JSONDecodeError as Z|def b(Z):| pass
from cowboy_sdk import Actor as Z|def b(Z):| pass
from cowboy_sdk import callable_by as Z|def b(Z):| pass
import pvm_host as Z|def b(Z):| pass
import json as Z
pass
"""
_ODD_BINDINGS = [one.split("|") for one in _BINDINGS_IN_LINES.strip().split("\n")]
"""Statements that bind a name, or seem to: in what the compiler drops, or moves."""

_ODD_USES = """
Z@[Z]@Z(run, t)@Z(run, "x", *[t])@Z(*[run, t], "x")@Z(*[run, t])@Z(run, "x", t)@Z()@Z(Z)
Z(run)@Z(Coded(), "m")@Z(Coded(), 1)@Z(*[1, 2])@Z("B", (), {})@Z("a", "b", 1)@Z(t)@Z(1)
Z.N@Z.N(1)@Z.HostError@Z.HostError(Coded(), "m")@isinstance(1, Z)@issubclass(int, Z)
isinstance(1, ((Z,), int))@Z(lambda: 1, t)@Z(gen(), t)@Z([].append, t)@Z(Coded, t)
sorted([1], key=Z)@[*map(Z, [1])]@type(1) is Z@getattr(Z, "x", 1)@Z(1, Z)
Z(Coded, Coded)
getattr(*[run, t], "x")@getattr(run, "x", *[t])@hasattr(*[run, t], "x")
"""
_USES = [one for one in re.split(r"[@\n]", _ODD_USES) if one]

_INTERNALS_WORDS = """
__globals__ __class__ __self__ __func__ __dict__ __code__ __builtins__
__subclasses__ __closure__ gi_frame gi_code mro fget x name
"""
_INTERNALS = _INTERNALS_WORDS.split()

_BINDINGS_PRELUDE = """from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum, auto
class Base:
    def m(self):
        return 1
class Coded:
    def __init__(self):
        self.name, self.x = "a", [self]
        self.HostError = self.RevertError = self.JSONDecodeError = self.mark = 1
def gen():
    yield 1
"""


class Hostile:
    """Writes hostile programs by the choices of a `Random`."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def program(self):
        """A program with `run()`, mostly inside of the language."""
        prelude = re.sub(
            r"\b(?:" + "|".join(_CHOICES) + r")\b",
            lambda match: self.random.choice(_CHOICES[match[0]]),
            _PRELUDE,
        )
        prelude = prelude.replace("CHILDREN", self._children())
        prelude = prelude.replace("NAMES", " = ".join((*_NAMES, LONG)))
        prelude = prelude.replace("self_ = [run_ for run_ in [1]]", "self_ = [1]")
        prelude = re.sub(r"\bLONG(\d?)", lambda found: LONG + found[1], prelude)
        lines = ["def run():", "    seen, text, number = [], 'a', 3"]
        for _ in range(self.random.randint(1, 12)):
            statement = self._filled(self.random.choice(STATEMENTS))
            lines += ["    try:", *self._lines(statement)]
            lines += ["    except Exception as error:"]
            lines += ["        seen.append([error, str(error)])"]
        lines += ["    return repr(seen)[:9_000]", ""]
        return prelude + "\n".join(lines)

    def binding(self):
        """A program that binds a name of the compiler's oddly, and then uses it.

        Where the policy takes that name for the actor's and what runs does not, a use
        that it admitted gives what nobody has looked at.
        """
        pick, name = self.random.choice, self.random.choice(_BUILTINS)
        lines = []
        for number in range(self.random.choice([1, 1, 1, 2])):
            for line in pick(_ODD_BINDINGS):
                numbered = re.sub(r"\b([bDMS])\b", rf"\g<1>{number}", line)
                lines.append(re.sub(r"\bZ\b", name, numbered))
        used = re.sub(r"\bN\b", pick(["name", "x", "HostError", "mark"]), pick(_USES))
        used = re.sub(r"\bZ\b", name, used)
        lines += ["def run():", f"    t = {pick(_INTERNALS)!r}", "    seen = []"]
        lines += ["    try:", f"        seen.append({used})"]
        lines += ["    except Exception as error:", "        seen.append(error)"]
        lines += pick([[], ["        raise error"], [f"        raise {name}"]])
        return _BINDINGS_PRELUDE + "\n".join([*lines, "    return repr(seen)", ""])

    def _lines(self, statement):
        """A statement, or several between semicolons, or one behind a colon."""
        return [f"        {one}" for one in statement.split("; ")]

    def _children(self):
        count = self.random.choice([10, 10, 10, 30])
        rows = []
        for number in range(count):
            base = f"Child{number - 1}" if 0 < number < 10 else "C"
            names = " = ".join(f"{LONG[:9]}{number}_{i}" for i in range(3))
            rows.append(f"class {'Child'}{number}({base}):\n    {names} = 1\n")
        return "\n".join(rows)

    def _filled(self, statement):
        form = self._form()
        statement = re.sub(r"\bF\b", lambda _: form, statement)
        statement = re.sub(r"\bV\b", lambda _: self._value(), statement)
        statement = re.sub(r"\bR\b", lambda _: self._rounds(), statement)
        statement = statement.replace("N1", self.random.choice(["str", "repr", "len"]))
        return re.sub(r"\bN\b", lambda _: self.random.choice(_NAMES), statement)

    def _form(self):
        form = self.random.choice(FORMS)
        if self.random.random() < 0.05:
            form = self.random.choice(deep.EXPRESSIONS)
            form = re.sub(r"\bagain\b", "run", re.sub(r"\bk\b", "o", form))
            form = re.sub(r"\b(?:Only|Says|Objects|Length|Items)\b", "C", form)
        form = re.sub(r"\bV\b", lambda _: self._value(), form)
        form = re.sub(r"\bN\b", lambda _: self.random.choice(_NAMES), form)
        form = re.sub(r"\bK2?\b", lambda _: self.random.choice(_KEYWORDS), form)
        form = re.sub(r"\bL\b", LONG, form)
        for number in range(self.random.choice([0] * 9 + [1, 3, 13])):
            form = f"[{form} for z{number} in {self.random.choice(['[1]', 'V'])}]"
            form = re.sub(r"\bV\b", lambda _: self._value(), form)
        return form

    def _value(self):
        if self.random.random() < 0.1:
            return f"({self._form()})"
        return f"({self.random.choice(VALUES)})"

    def _rounds(self):
        return str(self.random.choice([3, 50, 1_000, 10**6]))


# ---- the judges


WALKED_CYCLES = 30_000
"""While every value is walked, which is slow: enough for a round of each loop."""

NANOSECONDS_MAX = 200
"""For each cycle, four times what any row of the price table may cost: what is found
here is a hole in the prices, not noise."""

FLOOR_SECONDS = 0.004
"""What a call takes beside: nothing shorter is judged."""

MEMORY_RATIO_MAX = 14
"""Of the process, for each byte of the account (docs/security.md)."""

MEMORY_FLOOR = 24 << 20

REPEATS = 7
"""Runs of which the fastest counts, once one was too slow."""

_PEAK = re.compile(r"VmHWM:\s+(\d+)")
_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


def is_withstood(source, interpreters, choose):
    """All the judges; AssertionError says which one found what."""
    is_deployed_for_its_price(source)
    try:
        code = compile_actor(source.encode())
    except CompileError:
        code = None
    if code is not None:
        with World().worker as worker:
            world = World(worker=worker)
            actor = world.add(code)
            stands_for_its_account(world, actor)
            runs_for_its_price(world, actor)
            vm_invariants.keeps_an_exact_budget(world, actor, choose)
        if not choose(3):  # it takes longer than all others together
            shows_what_is_given_away(source)
    is_the_same_everywhere(source, interpreters)


def shows_what_is_given_away(source):
    """Each value that an expression comes to, walked: nothing of the machine."""
    walk = reach.Walk()
    with reach.watched(walk), World().worker as worker, suppress(CompileError):
        world = World(worker=worker)
        world.call(world.add(source), "run", cycles=WALKED_CYCLES)
    # `x.append.split()` reads a native method whose value goes nowhere: `subject`.
    leaks = {k: v for k, v in walk.leaks.items() if not k.startswith("native method ")}
    assert not leaks, leaks


def is_the_same_everywhere(source, interpreters):
    """Refusals, outcomes and all that is used."""
    here = verdict(source)
    for other in interpreters:
        assert other.verdict(source) == here, other.python


def runs_for_its_price(world, actor):
    """The time of the thread, for each cycle that was used."""

    def seconds():
        begun = time.thread_time()
        result = world.call(actor, "run", cycles=CYCLES)
        return time.thread_time() - begun, result.cycles_used

    spent, used = world.worker.run(lambda: _fastest(seconds))
    assert spent <= FLOOR_SECONDS + _slowness() * used * NANOSECONDS_MAX / 1e9, (
        f"{spent * 1e9 / used:.0f} ns a cycle, {used} cycles"
    )


def is_deployed_for_its_price(source):
    """Compiling takes the time that deploying pays, refused or not."""
    encoded = source.encode()
    paid = DEPLOY_CYCLES + DEPLOY_CYCLES_PER_CODE_BYTE * len(encoded)

    def seconds():
        begun, nodes = time.thread_time(), 0
        with suppress(CompileError):
            nodes = compile_actor(encoded).nodes
        return time.thread_time() - begun, paid + costs.COMPILE_PER_NODE * nodes

    with World().worker as worker:
        spent, used = worker.run(lambda: _fastest(seconds))
    assert spent <= FLOOR_SECONDS + _slowness() * used * NANOSECONDS_MAX / 1e9, (
        f"compiling takes {spent * 1e9 / used:.0f} ns a cycle, {used} cycles"
    )


def _fastest(seconds):
    """The least of a few runs, where the first seems to be too slow."""
    least = seconds()
    for _ in range(REPEATS):
        if least[0] <= FLOOR_SECONDS + least[1] * NANOSECONDS_MAX / 1e9:
            break
        least = min(least, seconds())
    return least


def _slowness():
    """How much slower this machine is now than one that the prices were made on."""
    begun = time.thread_time()
    for _ in range(20_000):
        pass
    return max(1.0, (time.thread_time() - begun) / 0.0005)


def stands_for_its_account(world, actor):
    """The process grows by what the account allows, while the program runs."""

    def grown():
        before = _resident()
        with suppress(OSError):
            _RESET.write_text("5")
        result = world.call(actor, "run", cycles=CYCLES)
        return _peak() - before, result.memory_used

    grew, used = world.worker.run(grown)
    assert grew <= MEMORY_FLOOR + MEMORY_RATIO_MAX * used, (
        f"{grew >> 20} MiB for {used >> 10} KiB of the account"
    )


def _resident():
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    return int(re.search(r"VmRSS:\s+(\d+)", _status())[1]) << 10


def _peak():
    return int(_PEAK.search(_status())[1]) << 10


def _status():
    """Linux tells it of itself; elsewhere nothing is judged."""
    with suppress(FileNotFoundError):
        return _STATUS.read_text()
    return "VmHWM: 0 VmRSS: 0"
