"""Memory that the process takes for the account of an execution, by what tries hardest.

Run by itself (`python -m benches.hoarding NAME`) it measures under the interpreter it
runs in, and prints JSON. Each source was found by an attack.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from benches.report import Row, Section
from benches.vm import interpreters
from pvm.testing import World

ROOT = Path(__file__).resolve().parents[2]
CYCLES = 20_000_000
"""As many as the transactions of a block may use."""
MEBIBYTES_MAX = 140
"""For the account of 10 MiB, and what frames hold beside it."""
TRANSACTIONS = 31
"""Of a block, after one another, each with an account of its own."""
_FOUR_BYTES = "\\U0001f600"
_LONG_NAME = "N" * 96
_VARIABLES = [f"a{n}" for n in range(240)]


def _loop(body: str, before: str = "", top: str = "") -> str:
    """A source that does `body` again and again, and keeps `x`."""
    lines = ["x = []", *before.split("\n"), "while True:"]
    lines += [f"    {line}" for line in body.split("\n")]
    return f"{top}\ndef run():\n" + "".join(f"    {line}\n" for line in lines)


def _assigned(value: str) -> str:
    lines = [f"{name} = {value}" for name in _VARIABLES]
    return "\n".join([*lines, f"x.append([{', '.join(_VARIABLES)}])"])


_WIDE = "class Wide:\n    def __init__(self, e):\n" + "".join(
    f"        self.a{n} = e {{0}}\n" for n in range(60)
)
_KEPT = [f"a{n}" for n in range(16)]
_STEPPED = "".join(f"    {name} = e\n    {name} = {name} + 1\n" for name in _VARIABLES)
_MAKE = (
    "def make(e):\n"
    + "".join(f"    {name} = e + 1\n" for name in _KEPT)
    + f"    return lambda: ({', '.join(_KEPT)})\n"
)
_NESTED_SEARCH = """
class A:
    def __init__(self, held):
        self.held = held
    def __eq__(self, other):
        return self {search}
def run():
    held = {held}
    held[0] = A(held)
    return A(held) {search_first}
"""
_TEXT = f"e = '{_FOUR_BYTES}' * 31"
_INT = "e = 1 << 4090"

HOARDS: Mapping[str, str] = {
    "texts in variables": _loop(_assigned("e + e"), _TEXT),
    "texts in attributes": _loop("x.append(Wide(e))", _TEXT, _WIDE.format("+ e")),
    "long integers in closures": _loop("x.append(make(e))", _INT, _MAKE),
    "long integers in variables of generators": _loop(
        "g = gen(e)\nnext(g)\nx.append(g)",
        _INT,
        f"def gen(e):\n{_STEPPED}    yield 1\n",
    ),
    "long integers in variables of 250 calls": (
        f"def g(e, n):\n{_STEPPED}    return g(e, n - 1) if n else 0\n"
        f"def run():\n    {_INT}\n    return g(e, 250)\n"
    ),
    "long integers in attributes": _loop(
        "x.append(Wide(e))", _INT, _WIDE.format("+ 1")
    ),
    "long integers of long displays": _loop(f"x.append([{'e + 1, ' * 800}])", _INT),
    "long integers appended": _loop("x.append(e + 1)", _INT),
    "texts of long displays": _loop(f"x.append([{'e + e, ' * 800}])", _TEXT),
    "repr of classes with long names": (
        f"class {_LONG_NAME}:\n    pass\n"
        f"def run():\n    return len(str([{_LONG_NAME}] * 1_000_000))\n"
    ),
    "repr of objects with long names": (
        f"class {_LONG_NAME}:\n    pass\n"
        f"def run():\n    return len(str([{_LONG_NAME}()] * 1_000_000))\n"
    ),
    "str of a list of integers": (
        "def run():\n    return len(str([123456] * 1_200_000))"
    ),
    "str of a list of texts": (
        f"def run():\n    return len(str(['{_FOUR_BYTES * 60}'] * 1_200_000))"
    ),
    "a search in items() inside of a search": _NESTED_SEARCH.format(
        held="{i: i for i in range(60_000)}",
        search="in self.held.items()",
        search_first="in held.items()",
    ),
    "a search in values() inside of a search": _NESTED_SEARCH.format(
        held="{i: i for i in range(60_000)}",
        search="in self.held.values()",
        search_first="in held.values()",
    ),
    "a count inside of a count": _NESTED_SEARCH.format(
        held="[0] * 80_000",
        search="== self.held.count(self)",
        search_first="in held",
    ).replace("self ==", "0 =="),
    "comparing lists inside of a comparison": """
class A:
    def __init__(self, held):
        self.held = held
    def __eq__(self, other):
        return self.held == other.held
def run():
    one, other = [0] * 60_000, [0] * 60_000
    one[0], other[0] = A(one), A(other)
    return one == other
""",
    "comparing dicts inside of a comparison": """
class A:
    def __init__(self, held):
        self.held = held
    def __eq__(self, other):
        return self.held == other.held
def run():
    one = {i: i for i in range(30_000)}
    other = dict(one)
    one[0], other[0] = A(one), A(other)
    return one == other
""",
    "errors about 60 missing arguments": (
        f"def f({', '.join(f'{_LONG_NAME}{n}' for n in range(60))}):\n    pass\n"
        "def g(n):\n"
        + "".join(
            f"{'    ' * n}try:\n{'    ' * n}    f()\n{'    ' * n}except TypeError:\n"
            for n in range(1, 8)
        )
        + f"{'    ' * 8}if n:\n{'    ' * 9}return g(n - 1)\n{'    ' * 8}return 0\n"
        "def run():\n    return g(250)\n"
    ),
    "errors about long names": _loop(
        "try:\n    o.run\nexcept AttributeError as error:\n    x.append(error)",
        f"o = {_LONG_NAME}()",
        f"class {_LONG_NAME}:\n    pass\nclass B:\n    run = 1\n",
    ),
    f"circles of lists, {TRANSACTIONS} times": _loop(
        "y = [e + e, e + e, e + e, e + e]\ny.append(y)\nx.append(y)", _TEXT
    ),
    f"a circle around texts, {TRANSACTIONS} times": _loop(
        f"x.append([{'e + e, ' * 800}])", f"{_TEXT}\nx.append(x)"
    ),
    f"objects that know one another, {TRANSACTIONS} times": _loop(
        "o = Wide(e)\no.a0 = o\nx.append(o)", _TEXT, _WIDE.format("+ e")
    ),
    f"generators that hold themselves, {TRANSACTIONS} times": _loop(
        "h = []\ng = gen(h, e)\nnext(g)\nh.append(g)",
        _TEXT,
        "def gen(h, e):\n    y = [e + e, e + e, e + e, e + e]\n    yield 1\n",
    ),
}


def grown(name: str) -> float:
    """MiB by which running a source makes this process larger at most."""
    world = World()
    idle = world.add("def run():\n    return 1\n")
    actor = world.add(HOARDS[name])
    times = TRANSACTIONS if name.endswith("times") else 1

    def run() -> None:
        for _ in range(times):
            world.call(actor, "run", cycles=CYCLES)

    world.call(idle, "run")
    before = _peak_mib()
    try:
        world.worker.run(run)  # as the transactions of a block, one after another
    finally:
        world.worker.close()
    return _peak_mib() - before


def _peak_mib() -> float:
    """The most that this process, without its parent, ever had resident."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text("ascii"))
    assert found is not None, "Linux says so"
    return int(found[1]) / 1_024


def measure_in_child(python: Path, name: str) -> float:
    """As `grown`, in a process of its own."""
    done = subprocess.run(
        [python, "-m", "benches.hoarding", name],
        cwd=ROOT / "scripts",
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'scripts'}"},
        capture_output=True,
        text=True,
        check=True,
    )
    mebibytes: float = json.loads(done.stdout)
    return mebibytes


def measure_hoarding() -> Section:
    """What an account of 10 MiB stands for, in the worst sources that were found."""
    found = {
        name: {
            version: measure_in_child(python, name)
            for version, python in interpreters().items()
        }
        for name in HOARDS
    }
    rows = tuple(
        Row(
            name,
            ", ".join(f"{mib:.0f} MiB ({version})" for version, mib in each.items()),
            "an account: 10 MiB",
            f"< {MEBIBYTES_MAX} MiB",
            max(each.values()) < MEBIBYTES_MAX,
        )
        for name, each in sorted(found.items(), key=lambda one: -max(one[1].values()))
    )
    method = (
        "Growth of a process that does what the row says until its account or "
        f"{CYCLES:,} cycles are used up; where it says so, {TRANSACTIONS} times after "
        "one another, as the transactions of a block (`scripts/benches/hoarding.py`)."
    )
    return Section("Virtual machine: memory", method, rows)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(grown(sys.argv[1])))
