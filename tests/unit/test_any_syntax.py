"""Each form of expression in each place of a source: it is compiled, or refused."""

import pytest

from pvm import CompileError, compile_actor
from pvm.testing import World

pytestmark = pytest.mark.slow

HEAD = """
from dataclasses import dataclass, field
from enum import Enum, auto
from cowboy_sdk import CowboyModel, actor, bounded_loop, callable_by
import json
a = b = c = 1
def f(*x, **y):
    return 1
"""

FORMS = """
a | 1 | 't' | b'' | None | ... | 1.5 | __x | _x | a.x | a._x | a.__class__ | a[0]
a[0:1] | a[0:1, 2] | 0:1 | :: | *a | f(a) | f(*a) | f(**a) | f(x=a) | -a | not a | ~a
a + a | a / a | a ** -1 | a @ a | a and a | a < a < a | a is a | a in a
a if a else a | lambda: a | lambda *x, y=1: x | [a] | [] | (a, a) | () | (a, *a) | {a}
{a: a} | {**a} | [a for a in a] | {a for a in a} | {a: a for a in a} | (a for a in a)
[b for a in a for b in a if b] | (yield) | (yield a) | (yield from a) | (await a)
(b := a) | f'{a}' | f'{a!r:>5}' | f'{a:{a}}' | super | super() | super().x
super(f, a).x | type(a) | type(*a) | type(a).__name__ | getattr | getattr(a, 'x')
getattr(*a, 'x') | getattr(a, a) | hasattr(a, '__x__') | isinstance(a, int)
isinstance(*a) | print | property | json | json.loads | json.JSONDecodeError | json.x
auto() | auto(*a) | field(default=a) | field(*a) | field(**a) | Enum | dataclass
actor | callable_by(a) | CowboyModel | Exception | ValueError(a) | StopIteration
"""

PLACES = """
return {}
{}
{} = 1
{}, = a
*{}, = a
a = {} = 1
{} += 1
{}: int = 1
a: {} = 1
del {}
for {} in a: pass
for a in {}: pass
while {}: break
if {}: pass
with {}: pass
with a as {}: pass
raise {}
raise a from {}
assert {}, a
assert a, {}
a = yield {}
yield from {}
a[{}]
a[{}, 1]
a[{}:1]
a[{}] = 1
a[{}] += 1
del a[{}]
({}).x
({}).x = 1
({}).append(1)
({})[0]
({})()
f({})
f(*{})
f(**{})
f(x={})
len({})
sorted(a, key={})
isinstance({}, int)
isinstance(a, {})
isinstance(a, (int, {}))
getattr({}, 'x')
getattr(a, {})
{} is None
a == {}
a in {}
a in (1, {})
-{}
{} + 1
1 - {}
{} and a
a if {} else a
lambda a={}: a
lambda: {}
[{}, a]
{{a: {}}}
{{{}: a}}
[{} for a in a]
[a for {} in a]
[a for a in {}]
[a for a in a if {}]
{{{}: a for a in a}}
f"{{{}}}"
f"{{a:{{{}}}}}"
next(({} for a in a))
try: a⏎    except {}: pass
try: a⏎    except (ValueError, {}): pass
def g(a={}): pass
def g(a: {}): pass
def g() -> {}: pass
@{}⏎    def g(): pass
"""

STANDING = """
a = {}
@{}⏎def g(): pass
class C({}): pass
@{}⏎class C: pass
class C:⏎    x = {}
class C:⏎    x: {} = 1
class C:⏎    @{}⏎    def g(self): pass
class C:⏎    def g(self, x={}): pass
class C:⏎    def g(self): return {}
@actor⏎class C:⏎    @callable_by({})⏎    def g(self): pass
@actor⏎class C:⏎    @bounded_loop({})⏎    def g(self): pass
@dataclass⏎class C:⏎    x: int = {}
@dataclass⏎class C:⏎    x: {} = 1⏎    y: int
@dataclass⏎class C:⏎    x: int = field(default={})
@dataclass⏎class C:⏎    x: int = field(default_factory={})
@dataclass(order={})⏎class C:⏎    x: int
class C(CowboyModel):⏎    x: int = {}⏎    y: int
class C(Enum):⏎    X = {}
class C(Enum):⏎    X: int = {}
"""


def forms():
    return [
        one.strip() for line in FORMS.strip().splitlines() for one in line.split("|")
    ]


def lines(text):
    return [one.replace("⏎", "\n") for one in text.strip().splitlines()]


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.mark.parametrize("form", forms())
def test_a_form_of_expression_is_compiled_or_refused_wherever_it_stands(form, world):
    """security.md, Typed ends: whatever the source, and whatever comes of it."""
    inside = [f"def run(self=1):\n    {place}" for place in lines(PLACES)]
    for place in [*inside, *lines(STANDING)]:
        source = f"{HEAD}{place.format(form)}\n"
        try:
            code = compile_actor(source.encode())
        except CompileError:
            continue
        world.call(world.add(code), code.handlers[-1], cycles=10_000)
