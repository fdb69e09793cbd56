"""A search for sources that compile slowest for what their deployment pays.

    python -m benches.searching_sources --seconds 300 --seed 7

A source is a head, lines of a few shapes in a place (module, function, loop), and
dataclasses, models, methods with rules: what chance finds is varied and kept where it
gets worse. The worst ones are rows of the bench (`WORST`). Run from the folder `scripts`.
"""

import argparse
import gc
import random
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from node.chain.params import (
    DEPLOY_CYCLES,
    DEPLOY_CYCLES_PER_CODE_BYTE,
    INTRINSIC_CYCLES,
)
from pvm import CompileError, compile_actor, language

KEPT = 24

_ATOMS = ("a", "1", "a.x", "a[a]", "'s'", "C", "C()", "None", "b''", "(1 << 300)", "m")
_FORMS = (
    "{a for a in #}", "[a for a in #]", "{a: a for a in # if #}", "f'{#}'", "f'{#!r}'",
    "(# if # else #)", "(# and #)", "(# or # or #)", "(# < # < #)", "(# in #)", "#[#]",
    "#[#:#]", "#.x", "#(#)", "#.m(#)", "#(*#)", "#(**#)", "[*#]", "{**#}", "(-#)",
    "(# + #)", "(# * #)", "(# // #)", "(# ** #)", "(# << #)", "(# - 1)", "(not #)",
    "len(#)", "str(#)", "sorted(#)", "#.append(#)", "#.get(#)", "#.pop()", "{#}",
    "{#: #}", "[#, #]", "(#,)", "isinstance(#, int)", "getattr(#, 'x')", "(# is None)",
    "next(# for a in #)", "(lambda: #)", "type(#).__name__", "super().m()", "#.update(#)",
)  # fmt: skip
_LINES = (
    "#", "b = #", "a[#] = #", "a.x = #", "a += #", "a[#] += #", "a.x += #", "a[#:#] = #",
    "a, b = #", "a, *b = #", "del a[#]", "del a[#:#]", "if #: #", "while #: #",
    "for b in #: #", "assert #", "raise #", "return #", "b: int = #", "pass",
    "try: #\nexcept ValueError: #", "try: #\nfinally: #", "with #: #",
    "with #, #: return", "if #: #\nelif #: #", "yield #", "yield from #", "global q",
)  # fmt: skip
_PLACES = (
    "{}",
    "def f(a):\n{}",
    "def f(a):\n for a in a:\n{}",
    "def f(a):\n while a:\n{}",
)
_PIECES = (
    "def f#(): 0", "def f#(): yield", "def f#(a, b=1, *c, d=2, **e): 0", "class C#: pass",
    "class C#(Exception): pass", "class C#(Enum): A = 1", "class C#(B): pass",
    "class C#:\n x = 1\n def m(self): self.x = 1", "@dataclass\nclass C#: pass",
    "@dataclass\nclass C#:\n a: int\n b: int = 1", "class C#(CowboyModel): pass",
    "@dataclass(order=True)\nclass C#:\n a: int", "class C#(CowboyModel):\n a: int = 1",
    "@dataclass\nclass C#:\n a: list = field(default_factory=lambda: [1, 2])",
    "@dataclass(order=True)\nclass C#(W): pass", "class C#(V): pass",
    "import json as j#", "from json import dumps as d#", "v# = 1", "v# = (lambda: 0)",
    "@bounded_loop(9)\ndef f#():\n for a in BoundedRange(3): pass",
)  # fmt: skip
_HEAD = """from dataclasses import dataclass, field
from enum import Enum
from cowboy_sdk import BoundedRange, CowboyModel, actor, bounded_loop, public
q = a = m = b = 0
class C:
 def m(self): self.x = 1
class B: pass
@dataclass
class W:
{fields}
class V(CowboyModel):
{fields}
"""


class Source(NamedTuple):
    """What a source is made of."""

    lines: tuple[str, ...] = ()
    place: str = _PLACES[0]
    repeated: int = 0
    pieces: tuple[str, ...] = ()
    copies: int = 0
    fields: int = 1

    def text(self) -> bytes:
        """The source, as long as is asked for at most."""
        fields = "\n".join(f" w{number}: int = 1" for number in range(self.fields))
        parts = [_HEAD.format(fields=fields)]
        for number in range(self.copies):
            parts += [one.replace("#", str(number)) for one in self.pieces]
        indent = " " * self.place.count("\n")
        body = "\n".join(
            f"{indent}{line}" for one in self.lines for line in one.split("\n")
        )
        if body and self.repeated:
            parts.append(self.place.format("\n".join([body] * self.repeated)))
        return "\n".join(parts).encode()[: language.SOURCE_BYTES_MAX] + b"\n"


def paid(source: bytes) -> int:
    """Cycles that a deployment pays for compiling, the intrinsic ones included (D6)."""
    charged: list[int] = []
    compile_actor(source, charge=charged.append)
    intrinsic = INTRINSIC_CYCLES + DEPLOY_CYCLES
    return intrinsic + DEPLOY_CYCLES_PER_CODE_BYTE * len(source) + sum(charged)


def measured(source: bytes, rounds: int = 1) -> float:
    """Nanoseconds a cycle; of what is refused 0."""
    try:
        cycles = paid(source)
    except CompileError:
        return 0.0
    best = float("inf")
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        began = time.thread_time_ns()
        compile_actor(source)
        best = min(best, time.thread_time_ns() - began)
    gc.enable()
    return best / cycles


class Search:
    """Chance, and then climbing."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.best: list[tuple[float, Source]] = []
        self.tried = 0

    def expression(self, depth: int) -> str:
        """Any, nested at most so deep."""
        if depth == 0 or self.random.random() < 0.4:
            return self.random.choice(_ATOMS)
        parts = self.random.choice(_FORMS).split("#")
        return "".join(
            [parts[0], *(self.expression(depth - 1) + part for part in parts[1:])]
        )

    def line(self) -> str:
        """A statement of one or two lines."""
        parts = self.random.choice(_LINES).split("#")
        depth = self.random.choice((0, 0, 1, 2, 4))
        return "".join(
            [parts[0], *(self.expression(depth) + part for part in parts[1:])]
        )

    def chance(self) -> Source:
        """One by chance."""
        pick = self.random.choice
        if pick((0, 0, 1)):
            pieces = tuple(pick(_PIECES) for _ in range(pick((1, 1, 2))))
            copies = pick((5, 15, 30, 60, 120, 250))
            return Source(pieces=pieces, copies=copies, fields=pick((1, 3, 20, 60)))
        lines = tuple(self.line() for _ in range(pick((1, 1, 2, 4))))
        return Source(lines, pick(_PLACES), pick((50, 300, 700, 1_000, 2_000)))

    def varied(self, one: Source) -> Source:
        """A part of it another."""
        other, pick = self.chance(), self.random.choice
        field = pick(Source._fields)
        value = getattr(other, field)
        if field == "repeated" and one.repeated:
            value = max(1, one.repeated * pick((50, 80, 120, 200)) // 100)
        return one._replace(**{field: value or getattr(one, field)})

    def run(self, seconds: float) -> None:
        """Half of the time by chance, half by climbing."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            is_new = not self.best or self.random.random() < 0.4
            one = (
                self.chance()
                if is_new
                else self.varied(self.random.choice(self.best)[1])
            )
            self.tried += 1
            spent = measured(one.text())
            if len(self.best) < KEPT or spent > self.best[-1][0]:
                spent = min(spent, measured(one.text(), 2))
                shapes = {each: kept for kept, each in self.best} | {one: spent}
                ranked = sorted(
                    ((kept, each) for each, kept in shapes.items()), reverse=True
                )
                self.best = ranked[:KEPT]


WORST: Mapping[str, Callable[[], bytes]] = {
    "sums in a loop": Source(("a + a",), _PLACES[2], 2_000).text,
    "generators": Source(pieces=(_PIECES[1],), copies=220).text,
    "small dataclasses in order": Source(pieces=(_PIECES[11],), copies=32).text,
    "dataclasses of many fields": Source(
        pieces=("@dataclass\nclass C#(W): pass",), copies=28, fields=60
    ).text,
    "managers": Source(("with a: return",), _PLACES[1], 500).text,
}
"""The worst shapes that were found."""


def main() -> None:
    """Search, and print what is worst."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for name, make in WORST.items():
        print(f"{measured(make(), 3):6.1f}  {name}")
    search = Search(given.seed)
    search.run(given.seconds)
    print(f"{search.tried:,} sources")
    for _, one in search.best:
        text = one.text()
        print(f"{measured(text, 3):6.1f}  {len(text):6} bytes  {one}")


if __name__ == "__main__":
    main()
