"""A search for operands whose work is dearest for its price, row by row.

    python -m benches.searching --seconds 300 --seed 7

A program is a statement with operands: its kind from the tables of the code, each
operand from a grammar of values with sizes. The worst of what chance finds are varied,
one part at a time, and kept where they get worse. What is found worse than the bench's
rows becomes one of them (`benches.operands`). Run from the folder `scripts`.
"""

import argparse
import random
import time
from collections.abc import Iterator
from typing import NamedTuple

from benches import rows
from node.testing import Devnet
from pvm import CompileError, compile_actor
from pvm.language import EXCEPTIONS
from pvm.modules import EXPORTS
from pvm.runtime.builtins import NATIVE, PRICED
from pvm.runtime.methods.lookup import TABLES

CYCLES = 40_000
KEPT = 40
UNROLLED = 8

_BITS = (0, 1, 8, 29, 59, 63, 64, 65, 127, 128, 255, 256, 257, 512, 1_000, 2_000, 4_094)
_LENGTHS = (0, 1, 2, 3, 4, 8, 16, 17, 24, 25, 63, 64, 65, 100, 255, 999, 2_499, 9_999)
_COUNTS = (0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 63, 64, 65, 99, 300, 999, 3_000)
_LETTERS = (
    "a",
    "é",
    "Ā",
    "\\U00010348",
    " ",
    "7",
    "\\n",
    "ab",
    "a ",
    "\\x00",
    "'",
    '"',
)
_ATTRIBUTES = ("x", "c", "m", "p", "z", "absent", "w")

_PRELUDE = """{imports}
from cowboy_sdk import CowboyModel
from enum import Enum
class Kind(Enum):
    ONE = 1
    TWO = (1, 2)
class L0:
    c = 1
    def __init__(self, x=1):
        self.x = x
    def m(self):
        return 1
    @property
    def p(self):
        return 1
    @classmethod
    def k(cls):
        return 1
    @staticmethod
    def s():
        return 1
    def __eq__(self, other):
        return False
    def __len__(self):
        return 1
    def __iter__(self):
        return iter([1, 2])
    def __getitem__(self, key):
        return key
    def __contains__(self, key):
        return False
    def __str__(self):
        return "d"
    def __call__(self, *args, **named):
        return 1
    def __enter__(self):
        return 1
    def __exit__(self, a, b, c):
        return True
    def __lt__(self, other):
        return True
    def __add__(self, other):
        return self
{classes}
class Plain:
    def __init__(self):
        self.x = 1
class Sized(Plain):
    def __len__(self):
        return 0
class Failed(ValueError):
    pass
def none():
    pass
def one(a):
    return a
def any_(*args, **named):
    return 1
def gen(a):
    for i in a:
        yield i
def wide({wide}):
    pass
def narrow({narrow}):
    pass
def named(*, {narrow}):
    pass
def holes(d, n):
    for k in list(d)[:n]:
        d.pop(k)
    return d
def set_holes(d, n):
    for k in list(d)[:n]:
        d.discard(k)
    return d
class Actor:
    def run(self):
{setup}
        while True:
{body}
"""
_CLASSES = "\n".join(f"class L{n}(L{n - 1}):\n    a{n} = 1" for n in range(1, 17))


class Program(NamedTuple):
    """A statement, and what its operands are."""

    statement: str
    operands: tuple[str, ...]
    is_caught: bool = False

    def source(self) -> bytes:
        """An actor that runs the statement for ever."""
        setup = [
            f"        {name} = {value}"
            for name, value in zip("ABC", self.operands, strict=True)
        ]
        lines = self.statement.split("\n")
        if self.is_caught:
            lines = ["try:", *(f"  {line}" for line in lines), "except Exception: pass"]
        body = [" " * 12 + line for line in lines * UNROLLED]
        text = "\n".join([*setup, *body])
        used = [*EXPORTS, "collections"]
        imports = "\n".join(f"import {name}" for name in used if f"{name}." in text)
        return _PRELUDE.format(
            imports=imports,
            classes=_CLASSES,
            wide=", ".join(f"{'parameter' * 10}{n}" for n in range(60)),
            narrow=", ".join(f"{'parameter' * 10}{n}" for n in range(16)),
            setup="\n".join(setup),
            body="\n".join(body),
        ).encode()


def statements() -> Iterator[str]:
    """Every kind of statement: operators, builtins, methods, functions of modules."""
    for sign in "+ - * // % ** << >> | & ^ < <= == != in is and or".split():
        if sign != "is":
            yield f"A {sign} B"
    for sign in ("+=", "-=", "*=", "//=", "%=", "|=", "&=", "^=", "<<=", ">>="):
        yield f"q = A; q {sign} B"
    yield from ("-A", "~A", "not A", "A[B]", "A[B:]", "A[:B]", "A[::B]", "A[B:C]")
    yield from ("A[B] = C", "A[B] = C; del A[B]", "A[B:B] = C", "q = A[B]; A[B] = q")
    yield from ("*q, r = A", "q, r = A", "q, *r = A", "(q, r), *s = A")
    yield from ("[*A]", "{*A}", "{**A}", "(*A, *B)", "{A: B}", "{A}", "[A, B, C]")
    yield from ("any_(*A)", "any_(**A)", "any_(A, B, C)", "any_(q=A)", "A()", "A(B)")
    yield from ("wide()", "narrow()", "named()", "wide(A)", "none(A)", "one(q=A)")
    yield from ("one(*A)", "one(**A)", "narrow(*A)", "narrow(**A)", "wide(*A)")
    yield from ("f'{A}'", "f'{A!r}'", "f'{A:>64}'", "f'{A:x}'", "f'{A:,}'", "f'{A}{B}'")
    yield from ("if A: pass", "while A: break", "1 if A else 2", "assert A", "raise A")
    for source in (
        "A",
        "enumerate(A)",
        "zip(A, B)",
        "reversed(A)",
        "gen(A)",
        "A.items()",
    ):
        yield f"for q in {source}: pass"
        yield f"for q in {source}: break"
        yield f"[q for q in {source}]"
        yield f"{{q for q in {source}}}"
        yield f"{{q: q for q in {source}}}"
    yield from ("[q for q in A if q == B]", "[q for q in A for r in B]", "with A: pass")
    yield from (f"A.{name}" for name in _ATTRIBUTES)
    yield from ("A.x = B", "hasattr(A, 'absent')", "getattr(A, 'absent', B)", "A.k()")
    yield from ("hasattr(A, 'x')", "A.m()", "A.s()", "type(A)", "type(A).__name__")
    yield from ("isinstance(A, B)", "isinstance(A, L0)", "issubclass(A, B)")
    yield from ("next(iter(A))", "next(iter(A), B)", "A.q = 1", "del A[B]")
    for name in sorted((PRICED.keys() | NATIVE.keys()) - EXCEPTIONS):
        if name.isidentifier() and not name.startswith("_"):
            for arguments in ("", "A", "A, B", "A, B, C"):
                yield f"{name}({arguments})"
    yield from ("sorted(A, key=B)", "max(A, key=B)", "sorted(A, reverse=True)")
    for table in TABLES.values():
        for name in sorted(table):
            for arguments in ("", "B", "B, C"):
                yield f"A.{name}({arguments})"
    for module, names in sorted(EXPORTS.items()):
        if module != "pvm_host":
            for name in sorted(names - EXCEPTIONS):
                for arguments in ("A", "A, B"):
                    yield f"{module}.{name}({arguments})"
    yield from (f"pvm_host.{name}(A)" for name in ("cbor_encode", "cbor_decode"))
    yield from ("pvm_host.cbor_decode(pvm_host.cbor_encode(A))", "Kind(A)", "Kind[A]")
    yield from ("json.loads(json.dumps(A))", "raise Failed(A)", "raise ValueError(A)")


class Search:
    """Chance, and then climbing."""

    def __init__(self, chain: Devnet, seed: int) -> None:
        self.chain = chain
        self.random = random.Random(seed)
        self.statements = [*dict.fromkeys(statements())]
        self.best: dict[str, tuple[float, Program]] = {}
        self.tried = 0

    def scalar(self) -> str:
        """A scalar, by its expression."""
        pick = self.random.choice
        kind = self.random.randrange(8)
        if kind <= 1:
            return pick(("{}", "-{}")).format(
                f"((1 << {pick(_BITS)}) + {pick((0, 1, 5))})"
            )
        if kind <= 3:
            return f"'{pick(_LETTERS[:10])}' * {pick(_LENGTHS)}"
        if kind == 4:
            return f"b'{pick(('a', ' ', '7', '%', 'ab'))}' * {pick(_LENGTHS)}"
        return pick(("None", "True", "False", "5", "'x'", "'-'", "b'x'", "0", "''"))

    def value(self, depth: int = 2) -> str:
        """Any value."""
        pick = self.random.choice
        kind = self.random.randrange(14)
        if depth == 0 or kind <= 4:
            return self.scalar()
        count = pick(_COUNTS)
        if kind == 5:
            return f"[{self.value(depth - 1)}] * {count}"
        if kind == 6:
            return f"({self.value(depth - 1)},) * {count}"
        if kind == 7:
            return pick(("list", "tuple", "set", "dict.fromkeys", "frozenset")) + (
                f"(range({pick((0, 7, 1 << 40))}, {pick((0, 7, 1 << 40))} + {count}))"
            )
        if kind == 8:
            made = pick(("str(i)", "(i, i)", "(1 << 59) + i", "[i]", "{'a': i}", "-i"))
            return f"[{made} for i in range({count})]"
        if kind == 9:
            removed = pick((0, 1, 99, 500, 511, 512, 600, count, max(0, count - 1)))
            if self.random.random() < 0.5:
                return f"set_holes(set(range({count})), {removed})"
            return f"holes(dict.fromkeys(range({count})), {removed})"
        if kind == 10:
            return pick(
                (
                    f"L{pick((0, 1, 4, 8, 16))}()",
                    f"L{pick((0, 8, 16))}",
                    "Plain()",
                    "Sized()",
                    "Plain",
                    "Kind.ONE",
                    "Kind",
                    "ValueError",
                    "Failed('x')",
                    "ValueError('x')",
                    "KeyError('a' * 64)",
                )
            )
        if kind == 11:
            inner = self.value(depth - 1)
            return f"collections.{pick(('Counter', 'OrderedDict', 'deque'))}({inner})"
        if kind == 12:
            return pick(
                (
                    f"range({count})",
                    f"dict.fromkeys(range({count})).keys()",
                    f"dict.fromkeys(range({count})).items()",
                    "len",
                    "one",
                    "none",
                    f"iter([1] * {count})",
                    "str",
                    "int",
                    "dict",
                    "list",
                    "lambda a: a",
                )
            )
        inner = self.value(depth - 1)
        return f"pvm_host.cbor_encode({inner})" if pick((0, 1)) else f"{{'a': {inner}}}"

    def random_program(self) -> Program:
        """One by chance."""
        statement = self.random.choice(self.statements)
        return Program(statement, tuple(self.value() for _ in range(3)))

    def varied(self, program: Program) -> Program:
        """One of its parts another."""
        operands = list(program.operands)
        index = self.random.randrange(3)
        numbers = [
            part
            for part in operands[index].replace("(", " ").replace(")", " ").split()
            if part.isdigit()
        ]
        if numbers and self.random.random() < 0.6:
            old = self.random.choice(numbers)
            new = str(self.random.choice(_COUNTS + _LENGTHS + _BITS))
            operands[index] = operands[index].replace(old, new, 1)
        else:
            operands[index] = self.value()
        return program._replace(operands=tuple(operands))

    def measured(self, program: Program, rounds: int = 1) -> float:
        """Nanoseconds a cycle; 0 where it does not run."""
        self.tried += 1
        source = program.source()
        try:
            compile_actor(source)
            return self.chain._on_worker(  # noqa: SLF001 - the node's own thread
                lambda: rows._least(self.chain, source.decode(), CYCLES, rounds)  # noqa: SLF001
            )
        except (CompileError, AssertionError):
            return 0.0

    def look(self, program: Program) -> None:
        """Measure, and keep it if it is the worst of its statement."""
        spent = self.measured(program)
        if not spent and not program.is_caught:
            program = program._replace(is_caught=True)
            spent = self.measured(program)
        known = self.best.get(program.statement, (0.0, program))[0]
        if spent > known:
            spent = self.measured(program, rounds=3)
        if spent > known:
            self.best[program.statement] = spent, program

    def run(self, seconds: float) -> None:
        """Half of the time by chance, half by climbing."""
        began = time.monotonic()
        for statement in self.statements:  # each once, at least
            if time.monotonic() - began < seconds:
                self.look(Program(statement, tuple(self.value() for _ in range(3))))
        while time.monotonic() - began < seconds:
            if self.random.random() < 0.3:
                self.look(self.random_program())
                continue
            worst = sorted(self.best.values(), reverse=True)[:KEPT]
            weighted = (
                self.random.choice(worst)
                if self.random.random() < 0.5
                else (self.random.choice([*self.best.values()]))
            )
            self.look(self.varied(weighted[1]))


def main() -> None:
    """Search, and print what is worst."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shown", type=int, default=30)
    given = parser.parse_args()
    with Devnet() as chain:
        known = Program("A // B", ("(1 << 255) + 5", "3", "0"))
        search = Search(chain, given.seed)
        print(
            f"to compare: {search.measured(known, 5):.1f} ns a cycle, A // B of 256 bits"
        )
        search.run(given.seconds)
        print(f"{search.tried:,} programs, {len(search.best)} statements")
        for _, program in sorted(search.best.values(), reverse=True)[: given.shown]:
            spent = search.measured(program, 7)
            caught = " caught" if program.is_caught else ""
            print(f"{spent:6.1f}  {program.statement!r}{caught}  {program.operands}")


if __name__ == "__main__":
    main()
