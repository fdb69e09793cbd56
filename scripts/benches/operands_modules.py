"""Modules whose body is the work: classes, imports, enums, and what is asked of them.

A body is run whole, once a message, and returns; `#` is the number of a repetition.
"""

from collections.abc import Callable, Mapping

_RUN = "\ndef run():\n    pass\n"


def _repeated(line: str, times: int = 200, head: str = "") -> str:
    numbered = (line.replace("#", str(number)) for number in range(times))
    return head + "".join(numbered) + _RUN


def _enums(values: Callable[[int], object], members: int, enums: int) -> str:
    body = "".join(f"    A{one} = {values(one)!r}\n" for one in range(members))
    return _repeated(f"class E#(Enum):\n{body}", enums, "from enum import Enum\n")


_EIGHT = "".join(f"class A{one}:\n    x = 1\n" for one in range(8))
_SIXTEEN = _EIGHT + "".join(f"class C{one}(A{one}):\n    x = 1\n" for one in range(8))
_CHAIN = "class A0:\n    x = 1\n" + "".join(
    f"class A{one}(A{one - 1}):\n    x = 1\n" for one in range(1, 15)
)
_NAMES = (
    "base64, binascii, hashlib, hmac, json, math, struct, bisect, collections, "
    "functools, heapq, itertools, operator, random, string, time, cowboy_sdk, "
    "cowboy_sdk.codec as codec"
)


def _lineage(ancestors: int, writes_every: int) -> str:
    """Attributes of the base, read of an object far below, where nothing is kept."""
    lines = ["class A0:", *(f"    a{number} = 1" for number in range(99))]
    for number in range(ancestors):
        lines += [f"class A{number + 1}(A{number}):", f"    z{number} = 1"]
    lines += ["def run():", f"    o = A{ancestors}()", "    for _ in range(30):"]
    for number in range(300):
        lines += ["        A0.q = 1"] * (number % writes_every == 0)
        lines.append(f"        o.a{number % 99}")
    return "\n".join(lines)


BODIES: Mapping[str, Mapping[str, str]] = {
    "ATTRIBUTE_ANCESTORS": {
        f"{ancestors} above, written to at each {every}": _lineage(ancestors, every)
        for ancestors in (3, 7, 11, 15)
        for every in (1, 8)
    },
    "CLASS": {
        "empty": _repeated("class A#:\n    pass\n"),
        "an exception": _repeated("class A#(ValueError):\n    pass\n"),
        "methods": _repeated(
            "class A#:\n    def __eq__(self, o): return 1\n"
            "    @property\n    def x(self): return 1\n",
            80,
        ),
        "a dataclass": _repeated(
            "@dataclass\nclass A#:\n    x: int\n    y: int = 1\n",
            40,
            "from dataclasses import dataclass\n",
        ),
    },
    "CLASS_PER_ANCESTOR": {
        "eight bases": _repeated(
            "class B#(A0, A1, A2, A3, A4, A5, A6, A7):\n    y = 1\n", 32, _EIGHT
        ),
        "eight bases of eight": _repeated(
            "class B#(C0, C1, C2, C3, C4, C5, C6, C7):\n    y = 1\n", 31, _SIXTEEN
        ),
        "a chain of fifteen": _repeated("class B#(A14):\n    y = 1\n", 18, _CHAIN),
    },
    "IMPORT_FIRST": {"every module": f"import {_NAMES}{_RUN}"},
    "IMPORT_AGAIN": {
        "a module": _repeated("import json as j#\n", 500),
        "a name": _repeated("from collections import deque as d#\n", 500),
        "a module of a package": _repeated(
            "from cowboy_sdk import runtime as d#\n", 500
        ),
    },
    "ENUM_MEMBER": {
        "one a class": _enums(int, 1, 100),
        "many": _enums(int, 400, 2),
        "texts": _enums(lambda one: "x" * one, 50, 5),
        "all the same": _enums(lambda _one: 1, 50, 5),
        "tuples": _enums(lambda one: (one, 0), 100, 5),
        "ints that collide": _enums(lambda one: ((1 << 61) - 1) * one, 400, 1),
    },
}
"""Row → what is tried → a source."""

_ENUM = "from enum import Enum\nclass E(Enum):\n" + "".join(
    f"    A{one} = {one}\n" for one in range(20)
)

QUESTIONS: tuple[str, ...] = (
    "| E(3)",
    "| E['A3']",
    "| len(E)",
    "e = E.A1 | e in E",
    "\nfor e in E: pass",
    "| list(E)",
    "| [e for e in E]",
    "\nif E: pass",
    "\ntry: E(99)\nexcept ValueError: pass",
    "\ntry: E['x']\nexcept KeyError: pass",
    "x = ((1 << 4095), (1 << 4094)) * 20\ntry: E(x)\nexcept ValueError: pass",
    "| E.A1 == E.A2",
    "| E.A1",
    "e = E.A1 | e.value",
    "e = E.A1 | f'{e}'",
    "e = E.A1 | str(e)",
)
"""Programs of the row `ENUM_QUESTION`, after the source of an Enum of twenty."""


def with_enum(source: str) -> str:
    """The source of such a program."""
    return _ENUM + source
