# What the language refuses: the reason stands after three hashes on its line.
async def f():  ### async functions
    pass
---
def f(x):
    match x:  ### match reads attributes
        case 1:
            pass
---
def f():
    return 1.5  ### floats do not exist
---
def f():
    return 2j  ### floats do not exist
---
def f(a, b):
    return a / b  ### true division
---
def f(a):
    a /= 2  ### true division
    return a
---
def f(a):
    return a @ a  ### matrix multiplication
---
def f():
    input("x")  ### an actor has no input
---
def f():
    return eval("1")  ### code cannot be made
---
def f():
    return open("x")  ### an actor has no files
---
def f(x):
    return id(x)  ### addresses differ
---
def f(x):
    return hash(x)  ### hashes differ
---
def f():
    return undefined  ### the name 'undefined' is not defined
---
def f(x):
    return x.undefined  ### no class of this module
---
def f(x):
    return x.__class__  ### CPython's own business
---
def f(x):
    return x.__dict__  ### CPython's own business
---
def f(x):
    return x.gi_frame  ### inspects the interpreter
---
class A:
    def mro(self):
        return 1

def f(x):
    return A.mro()  ### inspects the interpreter
---
def f(x):
    return x.with_traceback(None)  ### inspects the interpreter
---
def f(x, name):
    return getattr(x, name)  ### is not a literal
---
def f(x):
    return getattr(x, "__class__")  ### inspects the interpreter
---
def f(x):
    return hasattr(x, "gi_code")  ### inspects the interpreter
---
def f(x):
    g = getattr  ### can only be called
    return g(x, "y")
---
def f(x):
    setattr(x, "y", 1)  ### names are static
---
def f(x):
    return type("A", (), {})  ### type takes one argument
---
def f(x):
    __x = 1  ### two underscores
    return x
---
def f(private_x):  ### the prefix of private_x
    return 1
---
def f():
    hidden_1 = 2  ### the prefix of hidden_1
---
def f(naïve):  ### is not ASCII
    return 1
---
def f():
    try:
        pass
    except:  ### a bare except
        pass
---
def f():
    try:
        pass
    except BaseException:  ### halts must pass
        pass
---
def f(e):
    try:
        pass
    except e:  ### no exception class
        pass
---
class A:
    pass

def f():
    try:
        pass
    except A:  ### no exception class
        pass
---
ValueError = 5

def f():
    try:
        pass
    except ValueError:  ### no exception class
        pass
---
def f():
    try:
        pass
    finally:
        return 1  ### return leaves a finally
---
def f():
    for i in [1]:
        try:
            pass
        finally:
            break  ### break leaves a finally
---
def f():
    try:
        pass
    finally:
        for i in [1]:
            break
---
def f():
    raise  ### outside of a handler
---
def f(x):
    return x is 5  ### compares with None
---
def f(x, y):
    return x is not y  ### compares with None
---
class A(str):  ### a base class
    pass
---
class A(object):  ### object as a base class
    pass
---
class A(metaclass=int):  ### keywords or a metaclass
    pass
---
def f():
    class A:  ### a class inside
        pass
---
class A:
    def __del__(self):  ### would call __del__ unseen
        pass
---
class A:
    def __hash__(self):  ### an ordinary method
        return 1
---
class A:
    def __getattr__(self, name):  ### an ordinary method
        return 1
---
class A:
    __slots__ = ()  ### two underscores
---
class A:
    for i in [1]:  ### methods and constants only
        pass
---
class A:
    x = [i for i in [1]]  ### a comprehension stands in a class body
---
class A:
    x = lambda: 1  ### a lambda stands in a class body
---
class A:  ### bound twice
    pass

A = 5
def f():
    return A
---
def deco(f):
    return f

@deco
class A:  ### a class has a decorator that is neither
    pass
---
def f():
    return property  ### a decorator of methods only
---
@property  ### decorates something else
def f():
    return 1
---
def f():
    return super().x  ### outside of a method
---
class A:
    def f(self):
        return super(A, self).f()  ### super takes no arguments
---
class A:
    def f(self):
        return [super().f() for i in [1]]  ### outside of a method
---
import os  ### is not available
---
import re  ### is not available
---
from json import nothing  ### has no 'nothing'
---
from json import *  ### import *
---
from . import x  ### a relative import
---
def f():
    import json  ### inside another statement
---
import json

def f():
    return json.decoder  ### has no 'decoder'
---
import json

def f():
    json.loads = 1  ### cannot be changed
---
def f():
    return pvm_host.nothing  ### has no 'nothing'
---
def f():
    return pvm_host.HostError(1, "x")  ### can only be caught
---
import json

def f():
    raise json.JSONDecodeError("x", "y", 0)  ### can only be caught
---
from json import JSONDecodeError

def f():
    x = JSONDecodeError  ### can only be caught
---
from pvm_host import HostError

def f():
    x = HostError  ### can only be caught
---
def f(x, w):
    return f"{x:{w}}"  ### not a literal
---
def f(x):
    return f"{x:300}"  ### a width over
---
def f(x):
    return f"{x:.2f}"  ### the format
---
def f(x):
    return f"{x:n}"  ### the format
---
def f(x):
    return f"{x!a}"  ### the conversion !a
---
def f(x):
    return "%d" % x  ### % on text
---
def f(x):
    return "{}".format(x)  ### no class of this module
---
def f(x):
    return [(yield 1)]  ### inside an expression
---
def f(x):
    y = (yield 1) + 1  ### inside an expression
---
def f(x):
    try:
        yield 1  ### inside try or with
    except ValueError:
        pass
---
def f(x):
    with x:
        yield 1  ### inside try or with
---
def f(x):
    for a, *b in x:  ### a starred target
        pass
---
def f(x):
    return [a for a, *b in x]  ### a starred target
---
def f(x):
    x[1:2] += [1]  ### augmented assignment to a slice
---
def f(x):
    return ...  ### is not in the language
---
def f(x):
    g(_y=1)  ### starts with an underscore

def g(_y):
    return _y
---
def f(x):
    y: int  ### an annotation without a value
---
return 5  ### return outside of a function
---
def f():
    break  ### break outside of a loop
---
def f(a, a):  ### stands where it may not
    pass
---
def f(:  ### does not parse
    pass
---
type X = int  ### does not parse
---
def f[T](x):  ### does not parse
    pass
---
def f(d):
    return f"{d["a"]}"  ###
---
from typing import Optional

def f(x: Optional[int]):
    return Optional  ### Optional is a name of annotations only
---
def f(x=(y := 1) < 2 < 3):
    return x
---
def f(x=1 < max(2, 3) < 3):  ### a chained comparison
    return x
---
def f(x):
    return [1 for x[0] in [1]]  ### assigns to something else
---
from __future__ import annotations
from typing import List, Optional

class Actor:
    """A docstring."""

    count: int = 0
    names: List[str]

    def handle(self, payload: Optional[bytes] = None) -> List[int]:
        x: int = 1
        return [x]
---
def f(x):
    type(x).__name__ = "y"  ### CPython's own business
---
import re  ### methods of str
x = 1.5  ### integers of base units
y = 7 / 2  ### //
input()  ### the payload
z = 1 is 2  ### ==
def f(a):
    import json  ### at the top
    a, a[1:2] = 1, 2  ### an assignment of its own
    return a.format(1)  ### an f-string
class A(dict):  ### hold it in an attribute
    def __del__(self):  ### an ordinary method
        pass
return 1  ### return outside of a function
break  ### break outside of a loop
w = "%d" % 1  ### an f-string
async def g():  ### def
    pass
---
from typing import List
def f(x: List) -> List:
    return x
x = List  ### a name of annotations only
---
x = [1].__class__  ### type(x).__name__
---
class A0:
    pass
class A1(A0):
    pass
class A2(A1):
    pass
class A3(A2):
    pass
class A4(A3):
    pass
class A5(A4):
    pass
class A6(A5):
    pass
class A7(A6):
    pass
class A8(A7):
    pass
class A9(A8):
    pass
class A10(A9):
    pass
class A11(A10):
    pass
class A12(A11):
    pass
class A13(A12):
    pass
class A14(A13):
    pass
class A15(A14):
    pass
class A16(A15):
    pass
class A17(A16):  ### derives from more than 16 others
    pass
---
x = *[1]  ### a star stands where nothing is spread
---
def f(a):
    return *a  ### a star stands where nothing is spread
---
*x = [1]  ### a star stands where nothing is spread
---
def f(a):
    for x in *a:  ### a star stands where nothing is spread
        pass
---
x = 1
from __future__ import annotations  ### stands first
---
def f():
    global x
    x: int = 1  ### an annotated name is global
---
x = f"{1!r }"  ### does not parse
---
x = f"{f'\x41'}"  ### does not parse
---
x = f"{'#'=}"  ### does not parse
---
x = 1
y = f"{x!=1=}"  ### does not parse
---
x = rf"{1:\x3e5}"  ### does not parse
---
x = f"{1:\N{DIGIT FIVE}}"  ### a character by its name
---
x = "\N{WIRELESS}"  ### a character by its name
---
x = f"{f'{f"""{1}"""}'}"  ### does not parse
---
𝐱 = 1  ### is not ASCII
---
y = f"{𞀰}"  ### is not ASCII
---
def f():
    x: (getattr := 1) = 2  ### an annotation that could bind a name
    return x
---
def f(x: (lambda getattr: 1) = 2):  ### an annotation that could bind a name
    return x
---
def f() -> [1 for type in ()]:  ### an annotation that could bind a name
    return 1
---
def f():
    x: (yield) = 1  ### an annotation that could bind a name
    return x
---
class A:
    x: {getattr: 1 for getattr in ()}  ### an annotation that could bind a name
---
def f(pair):
    return getattr(*pair, "name")  ### takes an object and a literal name
---
def f(pair):
    return hasattr(*pair, "name")  ### takes an object and a literal name
---
def f(x, more):
    return getattr(x, "name", *more)  ### takes an object and a literal name
---
from cowboy_sdk import CowboyModel
class A(CowboyModel):  ### has no default after one that has
    x: int = 1
    y: int
---
from cowboy_sdk import CowboyModel
class A(CowboyModel):
    x: int = 1
class B(A):  ### has no default after one that has
    y: int
---
def f(x):
    return x[1:2, 3]  ### a slice among other items
---
def f(x):
    x[0, :] = 1  ### a slice among other items
---
def f(x):
    del x[(1, ::2), 3]  ### does not parse
---
def f(x):
    x[1, :] += 1  ### a slice among other items
---
def f(x):
    del x[:, 1]  ### a slice among other items
---
class A:
    @hidden_enter.setter  ### hidden_enter
    def f(self, value):
        pass
---
class A:
    @nothing.setter  ### the name 'nothing' is not defined
    def f(self, value):
        pass
---
from dataclasses import dataclass, field
@dataclass(init=False)
class A:
    a: int = field(default_factory=lambda: [1 for getattr in ()])
def run():
    name = "__globals__"
    return getattr(run, name)  ### nothing binds the name 'getattr'
---
from dataclasses import dataclass, field
@dataclass
class A:
    a: int = field(default=(getattr := 1), default=2)
def run():
    name = "__globals__"
    return getattr(run, name)  ### nothing binds the name 'getattr'
---
if True:
    from typing import Any  ### inside another statement
    from enum import auto as property  ### inside another statement
x = property
---
if True:
    import time  ### inside another statement
---
try:
    from json import loads  ### inside another statement
except ValueError:
    loads = None
---
for x in (1,):
    import math  ### at the top level
---
from cowboy_sdk import OWNER, actor, callable_by  ### callable_by is bound twice
@actor
class A:
    @callable_by(OWNER)
    def reset(self):
        pass
def other():
    callable_by = 1
---
from cowboy_sdk import actor, public  ### public is bound twice
@actor
class A:
    @public
    def f(self):
        pass
    def g(self, public):
        pass
---
from cowboy_sdk import actor, pure  ### pure is bound twice
from cowboy_sdk import pure  ### pure is bound twice
@actor
class A:
    @pure
    def f(self):
        pass
---
from cowboy_sdk import actor, reentrancy_guard as once  ### once is bound twice
@actor
class A:
    @once
    def f(self):
        pass
    def once(self):
        pass
---
import cowboy_sdk as sdk  ### sdk is bound twice
class A:
    @sdk.deferred
    def f(self):
        pass
    def deferred(self, sdk):
        pass
---
from cowboy_sdk import BoundedRange, bounded_loop  ### BoundedRange is bound twice
@bounded_loop(max_iterations=2)
def run(items):
    return [x for x in BoundedRange(items)]
def other(BoundedRange):
    pass
---
import enum  ### enum is bound twice
from enum import auto  ### auto is bound twice
def f(auto, enum):
    pass
---
from abc import abstractmethod  ### abstractmethod is bound twice
class A:
    @abstractmethod
    def f(self, abstractmethod):
        pass
---
from dataclasses import dataclass, field
def items():
    return [1]
@dataclass
class A:
    items: list = field(default_factory=items)  ### a parameter of the __init__
---
from dataclasses import dataclass, field
def items():
    return [1]
@dataclass
class A:
    made: list = field(default_factory=lambda: items())  ### 'items', a parameter
    items: int = 0
---
from dataclasses import dataclass, field
self = 1
@dataclass
class A:
    made: int = field(default_factory=lambda: self)  ### 'self', a parameter
---
from dataclasses import dataclass, field
def items():
    return [1]
@dataclass
class A:
    made: list = field(default_factory=lambda: items())
@dataclass
class B(A):  ### a parameter of the __init__
    items: int = 0
---
from dataclasses import dataclass, field
def made():
    return 1
@dataclass
class A:
    x: int = field(default_factory=made)  ### bound twice
def made():
    return 2
---
from dataclasses import dataclass, field
@dataclass
class A:
    def made():
        return 1
    x: int = field(default_factory=made)  ### 'made' of the class
---
from dataclasses import dataclass, field
@dataclass
class A:
    x: int = field(default_factory=lambda n=1: n)  ### takes parameters
---
from dataclasses import dataclass
@dataclass
class A:
    x: int = 1
@dataclass
class B:
    y: int = 2
@dataclass
class C(A, B):  ### fields of several bases
    z: int = 3
---
from dataclasses import dataclass
@dataclass
class A:
    x: int = 1
class B(A):
    pass
class C(A):
    pass
class D(B, C):
    pass
@dataclass
class E(D):  ### fields of several bases
    z: int = 3
---
from dataclasses import dataclass
from typing import ClassVar
@dataclass
class A:
    x: "ClassVar[int]" = 1  ### a quoted ClassVar
---
from enum import Enum
class A(Enum):
    X = 1
    _y = 2  ### a member begins with an underscore
    def _of(self):
        return self.value
