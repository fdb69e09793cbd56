"""A grammar that makes programs: all of the actor language, and just outside.

A `Grammar` writes programs whose `run()` returns a list, alike in CPython and in the
VM: every name is bound, loops and recursion are bounded, sets are only seen sorted.
`mutated` breaks a program by a token or a line; what comes of it need not parse.
"""

import re
from random import Random

# What an expression of each type may be, with a line's end or the sign that is no
# operator here between two. `<type>` is another, `<type+x>` one in which the int `x`
# may be used as well.
EXPRESSIONS = {
    "int": """<int> + <int>@<int> - <int>@<int> * <int>@<int> // <int>@<int> % <int>
        -<int>@+<int>@~<int>@<int> & <int>@<int> | <int>@<int> ^ <int>
        <int> << <int> % 70@<int> >> <int> % 70@<int> ** (<int> % 5)
        <int> if <bool> else <int>@len(<str>)@len(<list>)@len(<dict>)@sum(<list>)
        max(<int>, <int>)@min(<int>, <int>, <int>)@abs(<int>)@<list>[<int>]
        <tuple>[<int> % 3]@<dict>[<str>]@<dict>.get(<str>, <int>)@<str>.find(<str>)
        <str>.count(<str>)@<list>.index(<int>)@<list>.count(<int>)@int(<bool>)
        int(str(<int>))@pow(<int>, <int> % 9, 1 + <int> % 50 % 9)
        divmod(<int>, <int>)[1]
        (<int>).bit_length()@<bytes>[<int>]@(lambda x: <int+x>)(<int>)
        f(<int> % 99, <int> % 9)
        <obj>.n@<obj>.twice@<obj>.m(<int>)@<obj>(<int>)@len(<obj>)@<obj>[<int>]
        sorted(<list>)[<int>]@(y := <int>) + y@int.from_bytes(<bytes>[:4], "big")
        next(steps(<int>))@reduce(lambda x, z: <int+x>, <list>, <int>)@ord("a")
        sum([<int+x> for x in <list> if <bool+x>])@round(<int>)@<int> or <int>
        <list>.pop()@<int> and <int>@add(b=<int>, a=<int>)@add(*[<int>, <int>])
        add(**{"a": <int>, "b": <int>})@rest(*<list>, k=<int>)@deep(<int> % 20)
        math.gcd(<int>, <int>)@counter()@max(<list>, key=lambda x: <int+x>)""",
    "bool": """<int> < <int>@<int> == <int>@<int> <= <int> < <int>@not <bool>
        <bool> and <bool>@<bool> or <bool>@<str> in <str>@<int> in <list>
        <str> in <dict>@<list> == <list>@<str> < <str>@<tuple> >= <tuple>
        isinstance(<int>, int)@<str>.startswith(<str>)@bool(<list>)@<int> != <int>
        any([<bool+x> for x in <list>])@all([<bool+x> for x in <list>])
        <obj> == <obj>@<obj> < <obj>@<int> in <obj>@<dict> == <dict>@<int> is None
        <str>.isdigit()@<int> not in (1, 2, 3)@callable(<int>)@<bytes> == <bytes>
        hasattr(<obj>, "n")@type(<int>) is int@bool(<obj>)@<list> > <list>""",
    "str": """<str> + <str>@<str>[<int>:<int>]@<str>[<int>]@<str> * (<int> % 4)
        f"{i}{G}"@f"{s}-{j:>7}"@f"{i:#x}{t!r}"@str(<int>)@repr(<str>)
        str(<list>)@str(<dict>)@repr(<tuple>)@<str>.upper()@<str>.replace(<str>, <str>)
        <str>.strip(<str>)@",".join(<strs>)@<str>.join(<strs>)@<strs>[<int>]@hex(<int>)
        <str> if <bool> else <str>@"".join([str(<int+x>) for x in <list>])@<obj>.s
        <str>.zfill(<int> % 9)@str(<obj>)@<bytes>.hex()@type(<int>).__name__@bin(<int>)
        <str>[::-1]@f"{i + j:,}"@<str>.partition(<str>)[0]@chr(97 + <int> % 26)
        <str>.title()@f"{l}{d}{u}{w}"@json.dumps(<dict>)@string.digits[<int>]
        repr(<bytes>)
        <str>.rjust(<int> % 9, "*")@min(<strs>)@getattr(<obj>, "s")@str(<bool>)""",
    "list": """[<int>, <int>]@[*<list>, <int>]@<list> + <list>@<list>[<int>:<int>]
        [<int+x> for x in <list>]@[<int+x> for x in <list> if <bool+x>]@list(<tuple>)
        sorted(<list>)@sorted(<list>, key=lambda x: <int+x>, reverse=<bool>)
        list(range(<int> % 7))@<list> * (<int> % 3)@list(reversed(<list>))@list(<obj>)
        list(<dict>.values())@[x * z for x in <list> for z in <list>]@list(steps(<int>))
        sorted(set(small(<list>)))@list(map(lambda x: <int+x>, <list>))
        sorted(<dict>.values())
        list(filter(lambda x: <bool+x>, <list>))@[a + b for a, b in zip(<list>, <list>)]
        <obj>.l@[i for i, x in enumerate(<list>)]@list(<bytes>)@<list>.copy()
        sorted(set(small(<list>)) | set(small(<list>)))
        sorted(set(small(<list>)) - {<int> % 9, <int> % 9})
        list(accumulate(<list>))@list(islice(<list>, <int> % 4))@<list> or [<int>]
        sorted({(<int+x>) % 99 for x in <list>})@heap(<list>)@[x for x in steps(<int>)]
        [len(x) for x in <strs>]@[sum([<int+x> for x in <list>]) for q in <list>]""",
    "tuple": """(<int>, <int>, <int>)@tuple(<list>)@<tuple> + <tuple>@(<int>, *<list>)
        <tuple>[<int>:]@divmod(<int>, <int>) + (<int>,)@(1, 2, 3)@tuple([<int>] * 3)
        <tuple> if <bool> else <tuple>@tuple(sorted(<tuple>))""",
    "dict": """{<str>: <int>}@{<str>: <int>, "a": <int>}@{**<dict>, <str>: <int>}
        {str(x): <int+x> for x in <list>}@dict(a=<int>, b=<int>)@<dict>.copy()
        dict(zip(<strs>, <list>))@dict.fromkeys(<strs>, <int>)@dict(<dict>)
        json.loads(json.dumps(<dict>))
        {k: v for k, v in <dict>.items() if v > <int>}""",
    "strs": """[<str>, <str>]@<str>.split(<str>)@list(<dict>)@list(<str>)@sorted(<strs>)
        [str(x) for x in <list>]@<strs>[<int>:]@<strs> + <strs>@<str>.splitlines()
        [k + str(v) for k, v in <dict>.items()]@list(<dict>.keys())""",
    "bytes": """<str>.encode()@<bytes> + <bytes>@<bytes>[<int>:<int>]@bytes([1, 2, 255])
        <bytes> * (<int> % 3)@(<int> % 256).to_bytes(2, "big")@b"".join([<bytes>])
        hashlib.sha256(<bytes>).digest()[:4]""",
    "any": """None@<list>[<any>:<any>]@<any> + <any>@<any> * <any>@<any> == <any>
        [<any>]
        <any> < <any>@<any> in <any>@str(<any>)@{<any>: <any>}@(<any>, <any>)
        <any>[<any>]
        sorted([<any>, <any>])@max(<any>)@sum(<any>)@list(<any>)@dict(<any>)@set(<any>)
        <any>.get(<any>)@<any>.append(<any>)@<any>.update(<any>)@<any>.join(<any>)
        <any>.pop(<any>)@len(<any>)@int(<any>, <any>)@bytes(<any>)@json.dumps(<any>)
        <any>.split(<any>, <any>)@range(<any>, <any>, <any>)@<any> % <any>
        <any> ** <any>
        <any> | <any>@<any> - <any>@<any> << <any>@-<any>@round(<any>, <any>)
        f"{i}{l!r}"
        isinstance(<any>, (int, str))@next(iter(<any>), <any>)@zip(<any>, <any>)
        f(*<any>)
        rest(**<any>)@reduce(<any>, <any>)@map(<any>, <any>)@<any>(<any>)
        <any>.index(<any>)
        partial(<any>, <any>)@<any>.sort(key=<any>)@divmod(<any>, <any>)
        pow(<any>, <any>)
        min(<any>, <any>, key=<any>)@<any>.items()@<any>.extend(<any>)@type(<any>)
        enumerate(<any>, <any>)@<any>.replace(<any>, <any>)@<any>.count(<any>)@{<any>}
        <any>.encode(<any>)@<any>.decode()@hashlib.sha256(<any>)
        <any>.insert(<any>, <any>)
        chr(<any>)@ord(<any>)@any(<any>)@<any>.remove(<any>)@<any>.sort()@iter(<any>)
        math.gcd(<any>, <any>)@math.isqrt(<any>)@heapify(<any>)@<any>.union(<any>)
        pvm_host.set_state(<any>, <any>)@pvm_host.emit_event(<any>, <any>)
        <any> or <any>
        pvm_host.get_state(<any>)@pvm_host.send_message(<any>, <any>)
        C(<any>, <any>, <any>)
        <any>.to_bytes(<any>, <any>)@frozenset(<any>)@<any> ^ <any>@<any> & <any>
        <any>.args
        struct.pack(<str>, <any>)@base64.b64decode(<any>)@<any>.startswith(<any>)
        print(<any>, <any>)@pvm_host.log("debug", <any>)@breakpoint()
        callable""",
    "obj": """C(<int>, <str>, <list>)@D(<int>, <str>, <list>)@<obj> + <obj>@-<obj>
        P(<int>)@<obj> if <bool> else <obj>""",
}  # fmt: skip

LEAVES = {
    "int": ["0", "1", "2", "-1", "7", "255", "(10**30)", "-(2**64)", "i", "j", "G"],
    "bool": ["True", "False", "i < j"],
    "str": ["''", "'a'", "'bb'", "'1'", "'a b,c'", "'\\n'", "s", "t"],
    "list": ["[]", "[3, 1, 2]", "[5]", "l", "m"],
    "tuple": ["(1, 2, 3)", "(0, 0, 9)", "u"],
    "dict": ["{}", "{'a': 1, 'b': 2}", "d", "e"],
    "strs": ["['a', 'bb']", "[]", "w"],
    "bytes": ["b''", "b'ab'", "b"],
    "obj": ["o", "C(1, 'q', [4])"],
    "any": [
        "None",
        "i",
        "l",
        "s",
        "d",
        "u",
        "w",
        "b",
        "o",
        "C",
        "P",
        "len",
        "int",
        "str",
        "max",
        "sorted",
        "[].append",
        '"a".join',
        "f",
        "G",
        "counter",
        "ValueError",
        "pvm_host",
        "Mine",
        "10**1200",
        "-1",
        '{"k":[1]}',
        "set([1,2])",
        "range(9)",
        "C.m",
        "steps(2)",
        "lambda:1",
        "(lambda*a:a)",
        "((),)",
        "[[1],[2]]",
        "bytes",
        "pvm_host.get_state",
        "{1}.add",
        "{}.keys()",
        "zip([1],[2])",
        "map",
        "deque([1])",
        'Counter("ab")',
        "ValueError(1)",
    ],
}

NAMES = {
    "int": "i j", "bool": "q", "str": "s t", "list": "l m", "tuple": "u",
    "dict": "d e", "strs": "w", "bytes": "b", "obj": "o",
}  # fmt: skip

START = """i, j, q, s, t = 3, -2, True, "ab", "c"
l, m, u, d, e = [1, 2], [9, 0, -4], (1, 2, 3), {"a": 1}, {}
w, b, o = ["x", "yy"], b"xy", C(5, "obj", [7, 8])"""

_START_OF_METHOD = "        " + START.replace("\n", "\n        ")

SIMPLE = """<list>.append(<int>)@l.append(<int>)@m.extend(<list>)@l.insert(<int>, <int>)
    d[<str>] = <int>@e[<str>] += <int>@l[<int>] = <int>@l[<int>] += <int>@del d[<str>]
    i += <int>@j -= <int>@i *= <int>@s += <str>@l += <list>@o.n = <int>@o.n += <int>
    o.l.append(<int>)@i, j = j, i@i, *m = <list>@(i, j), s = (<int>, <int>), <str>
    m[<int>:<int>] = <list>@del m[<int>:]@m.sort()@l.reverse()@d.update(<dict>)
    assert <bool>, <str>@raise ValueError(<str>)@raise Mine(<int>)
    d.setdefault(<str>, i)
    out.append(<int>)@out.append(<str>)@out.append(<dict>)@out.append(str(<dict>))
    out.append(<list>)@out.append(<bool>)@out.append(repr(<tuple>))@o = <obj>
    out.append(<bytes>)@print(<int>)@print(<list>, <str>, sep=<str>, end="")
    i = j = <int>@d.pop(<str>)@l.remove(<int>)@w.append(<str>)@l.clear()@q = not q
    i //= <int>@j %= <int>@i <<= <int> % 9@i |= <int>@i ^= j@o.l[<int>] += <int>
    l *= <int> % 3@u += (<int>,)@e.pop("a", None)@[i, s] = [<int>, <str>]
    G = <int>@G2.append(<int>)@u = tuple([<int+x> for x in <list>])"""

PRELUDE = """import base64
import hashlib
import json
import math
import struct
import string
from collections import Counter, deque
from dataclasses import dataclass
from functools import cache, partial, reduce
from heapq import heapify, heappop
from itertools import accumulate, islice

G = 4
G2 = [1]

class Mine(ValueError):
    def __init__(self, n):
        super().__init__("mine", n)
        self.n = n

@dataclass
class P:
    n: int
    s: str = "p"
    def m(self, x):
        return self.n + x

class C:
    size = 2
    def __init__(self, n, s, l):
        self.n, self.s, self.l = n, s, l
    @property
    def twice(self):
        return self.n * 2
    def m(self, x):
<m>
        return <int+x>
    def __call__(self, x):
        return x + self.n
    def __len__(self):
        return len(self.l)
    def __getitem__(self, k):
        return self.l[k]
    def __eq__(self, other):
        return isinstance(other, C) and self.n == other.n
    def __lt__(self, other):
        return self.n < other.n
    def __contains__(self, x):
        return x in self.l
    def __iter__(self):
        yield self.n
        for x in self.l:
            yield x
    def __add__(self, other):
        return C(self.n + other.n, self.s, self.l)
    def __neg__(self):
        return D(-self.n, self.s, self.l)
    def __str__(self):
        return f"C{self.n}"
    def __bool__(self):
        return self.n > 0

class D(C):
    def m(self, x):
        return super().m(x) - 1
    @staticmethod
    def make(n):
        return D(n, "", [])

class Manager:
    def __init__(self, out, swallow):
        self.out, self.swallow = out, swallow
    def __enter__(self):
        self.out.append("enter")
        return 6
    def __exit__(self, kind, error, trace):
        self.out.append("none" if kind is None else type(error).__name__)
        return self.swallow

def add(a, b=3):
    return a + b

def rest(*a, k=1, **kw):
    return len(a) * k

def deep(n):
    return 0 if n < 1 else 1 + deep(n - 1)

def small(items):
    return [x % 99 for x in items]

def heap(items):
    heapify(items)
    return [heappop(items) for x in list(items)]

def steps(n):
    i = 0
    yield n
    while i < 3:
        n = n * 2 + i
        x = yield n
        i += 1
    if n % 3 == 0:
        yield from [1, 2]

def make():
    n = 0
    def step():
        nonlocal n
        n += 1
        return n
    return step

counter = make()

@cache
def f(a, b):
    return a * 2 + b

"""

TOKEN = re.compile(r"\w+|\n\s*|[^\w\s]|\s+")

FOREIGN = [
    "async",
    "await",
    "match",
    "case",
    "type",
    "class",
    "def",
    "lambda",
    "yield",
    "return",
    "break",
    "continue",
    "pass",
    "raise",
    "try",
    "except",
    "finally",
    "with",
    "while",
    "for",
    "if",
    "elif",
    "else",
    "global",
    "nonlocal",
    "import",
    "from",
    "del",
    "assert",
    "is",
    "in",
    "not",
    "and",
    "or",
    "None",
    "True",
    "False",
    "self",
    "__class__",
    "__dict__",
    "__x",
    "_x",
    "_cycles",
    "private_a",
    "hidden_1",
    "gi_frame",
    "f_back",
    "tb_next",
    "with_traceback",
    "mro",
    "print",
    "eval",
    "getattr",
    "setattr",
    "super",
    "object",
    "open",
    "id",
    "hash",
    "1.5",
    "2j",
    "0x1F",
    "1_000",
    "...",
    "**",
    "//",
    "@",
    ":=",
    "->",
    "*",
    "/",
    "~",
    "%",
    "==",
    "!=",
    "<=",
    ">>",
    "|=",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    ";",
    ".",
    'f"{x!a}"',
    'f"{x:>9}"',
    'b"\\xff"',
    "'\\ud800'",
    "é",
    "StopIteration",
    "Exception",
    "BaseException",
    "GeneratorExit",
    "storage",
    "pvm_host",
    "format",
    "__init__",
    "__eq__",
    "10**400",
    '"%d"',
    "range(10**9)",
    "args",
    "code",
    "x.append",
    "x.join",
    "[x]*10**7",
]


class Grammar:
    """Writes programs by the choices of a `Random`."""

    def __init__(self, random: Random, wildness: float = 0) -> None:
        self.random = random
        self.wildness = wildness
        """How often an expression is of any type but the one that is wanted."""
        self.room = 60
        """Templates that may still be filled: bounds the size of a program."""

    def program(self):
        """A program inside of the language, with `run()`."""
        functions = [self._function(name) for name in ("g", "h")]
        prelude = PRELUDE.replace("<m>", _START_OF_METHOD).replace(
            "<int+x>", self.expression("int", 2, ("x",))
        )
        run = """def run():
    out = []
    for function in (g, h):
        try:
            function(out)
        except Mine as error:
            out.append(["mine", error.n, str(error.args)])
        except Exception as error:
            out.append(type(error).__name__)
    return out, G, G2
"""
        return prelude + "\n".join(functions) + run

    def expression(self, kind, depth, more=()):
        """An expression of a type; `more` are names of ints that may be used."""
        self.room -= 1
        if self.wildness and self.random.random() < self.wildness:
            kind = self.random.choice(["any", *LEAVES])
        if depth < 1 or self.room < 0 or self.random.random() < 0.15:
            leaves = LEAVES[kind]
            if kind == "int" and more:
                leaves = [*leaves, *more, *more]
            return self.random.choice(leaves)
        template = self._choice(EXPRESSIONS[kind])
        return f"({self._filled(template, depth - 1, more)})"

    def _choice(self, table):
        return self.random.choice(re.split(r"\s*[@\n]\s*", table))

    def _filled(self, template, depth, more):
        def fill(match):
            kind, _, name = match[1].partition("+")
            return self.expression(kind, depth, (*more, name) if name else more)

        return re.sub(r"<(\w+(?:\+x)?)>", fill, template)

    def _function(self, name):
        body = [*START.split("\n"), *self._block(3)]
        return f"def {name}(out):\n    global G\n" + _indented(body, 1) + "\n"

    def _block(self, depth):
        lines = []
        for _ in range(self.random.randint(1, 4)):
            lines += self._statement(depth)
        return lines

    def _statement(self, depth):
        kind = self.random.randrange(14 if depth > 0 else 7)
        if kind < 4:
            return [self._simple()]
        if kind < 7:
            type_ = self.random.choice(list(NAMES))
            name = self.random.choice(NAMES[type_].split())
            return [f"{name} = {self.expression(type_, 3)}"]
        return getattr(self, f"_{COMPOUND[kind - 7]}")(depth - 1)

    def _simple(self):
        return self._filled(self._choice(SIMPLE), 2, ())

    def _if(self, depth):
        lines = [f"if {self.expression('bool', 2)}:", *_deeper(self._block(depth))]
        if self.random.random() < 0.3:
            lines += [f"elif {self.expression('bool', 2)}:"]
            lines += _deeper(self._block(depth))
        if self.random.random() < 0.5:
            lines += ["else:", *_deeper(self._block(depth))]
        return lines

    def _for(self, depth):
        head = self.random.choice([
            "for i in range(<int> % 5):", "for j in <list>[:4]:", "for s in <str>[:3]:",
            "for i, j in enumerate(<list>[:3]):", "for s, i in <dict>.items():",
            "for i, s in zip(<list>[:3], <strs>):", "for j in reversed(<list>[:3]):",
            "for i in steps(<int>):", "for i in <obj>:", "for u in zip(m[:2], l):",
        ])  # fmt: skip
        lines = [self._filled(head, 2, ()), *_deeper(self._block(depth))]
        if self.random.random() < 0.3:
            jump = self.random.choice(["break", "continue"])
            lines += [f"    if {self.expression('bool', 1)}:", f"        {jump}"]
            lines += ["    i += 1"]
        if self.random.random() < 0.2:
            lines += ["else:", *_deeper(self._block(depth))]
        return ["if len(out) < 40 and len(l) + len(m) < 60:", *_deeper(lines)]

    def _while(self, depth):
        name = f"k{depth}"
        lines = [f"{name} = 0", f"while {name} < {self.random.randint(1, 4)}:"]
        return [*lines, f"    {name} += 1", *_deeper(self._block(depth))]

    def _try(self, depth):
        lines = ["try:", *_deeper(self._block(depth))]
        kinds = ["ValueError", "(KeyError, IndexError)", "Mine", "Exception"]
        for kind in self.random.sample(kinds, self.random.randint(0, 2)):
            lines += [
                f"except {kind} as error:",
                "    out.append(type(error).__name__)",
            ]
            lines += _deeper(self._block(depth - 1))
            if self.random.random() < 0.2:
                lines += ["    raise"]
        has_handler = len(lines) > 1 and any(
            line.startswith("except") for line in lines
        )
        if has_handler and self.random.random() < 0.3:
            lines += ["else:", *_deeper(self._block(depth - 1))]
        if not has_handler or self.random.random() < 0.4:
            lines += ["finally:", *_deeper(self._block(depth - 1))]
        return lines

    def _with(self, depth):
        swallow = self.random.choice(["True", "False"])
        head = f"with Manager(out, {swallow}) as i:"
        return [head, *_deeper(self._block(depth))]

    def _def(self, depth):
        name = self.random.choice(["inner", "other"])
        body = [*START.split("\n"), *self._block(depth)]
        body += [f"return {self.expression('int', 2, ('x',))}"]
        call = f"out.append({name}({self.expression('int', 1)}))"
        return [f"def {name}(x, y=2, *z, k=3, **kw):", *_deeper(body), call]

    def _generator(self, depth):
        body = [*START.split("\n"), "yield i", *self._block(depth), "yield j"]
        return ["def made():", *_deeper(body), "out.append(list(made()))"]


COMPOUND = ("if", "if", "for", "while", "try", "with", "def", "generator")


def mutated(source: str, random: Random) -> str:
    """The program with a few tokens or lines removed, doubled, swapped, replaced."""
    parts = TOKEN.findall(source)
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(parts))
        other = random.randrange(len(parts))
        kind = random.randrange(5)
        if kind == 0:
            del parts[place]
        elif kind == 1:
            parts.insert(place, random.choice(FOREIGN) + " ")
        elif kind == 2:
            parts[place] = random.choice(FOREIGN)
        elif kind == 3:
            parts[place], parts[other] = parts[other], parts[place]
        else:
            parts.insert(place, parts[other])
    return "".join(parts)


def _deeper(lines):
    return [f"    {line}" for line in lines]


def _indented(lines, level):
    return "\n".join("    " * level + line for line in lines) + "\n"
