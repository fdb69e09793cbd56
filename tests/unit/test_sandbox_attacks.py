"""Attacks on the sandbox, at least one of each category (sandbox-internals.md §9).

`tests/actors/attacks.py` has those whose outcome is one word; here are those that
could kill the process, cost more time than they pay for, or need several calls.
"""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from pvm import CompileError, Worker, cbor, compile_actor
from pvm.testing import World, call_once

CORPUS = Path(__file__).parents[1] / "actors" / "attacks.py"


@pytest.mark.parametrize("chunk", CORPUS.read_text().split("\n---\n"))
def test_an_attack_ends_as_its_first_line_says(chunk):
    expected = chunk.split("\n")[0].removeprefix("# expect: ")
    started = time.process_time()
    result = call_once(chunk, cycles=2_000_000)
    assert time.process_time() - started < 2
    failure = result.outcome.failure
    if failure is not None:
        assert failure.kind == expected
        assert failure.handler == "run"
        return
    try:
        returned = cbor.decode(result.value)
    except cbor.MalformedCbor:
        returned = result.value
    assert expected == f"returns {returned!r}"


# Each of these has killed a process: by the stack, or while being freed.
DEADLY = {
    "lists 100,000 deep, freed": """
def run():
    x = []
    for i in range(100000):
        x = [x]
    return 1
""",
    "closures nested in closures, freed": """
def wrap(f):
    return lambda: f

def run():
    f = wrap(1)
    for i in range(10000):
        f = wrap(f)
    return 1
""",
    "instances nested, freed": """
class Node:
    def __init__(self, to):
        self.to = to

def run():
    x = None
    for i in range(15000):
        x = Node(x)
    return 1
""",
    "exceptions nested, freed": """
def run():
    e = ValueError(1)
    for i in range(15000):
        e = ValueError(e)
    return 1
""",
    "bound methods nested, freed": """
def run():
    f = [].append
    for i in range(30000):
        f = [f].append
    return 1
""",
    "sets nested, freed": """
class Holder:
    def __init__(self, x):
        self.x = x

def run():
    s = set()
    for i in range(10000):
        s = set([Holder(s)])
    return 1
""",
    "a million unstarted generators": """
def g():
    yield 1

def run():
    return [g() for i in range(1000000)]
""",
    "generators that hold generators": """
def g(x):
    for y in x:
        yield y

def run():
    x = [1]
    for i in range(2400):
        x = g(x)
    return 1
""",
    "generators that are started and hold generators": """
def g(x):
    yield 1
    for y in x:
        yield y

def run():
    x = g([1])
    next(x)
    for i in range(2000):
        y = g(x)
        next(y)
        x = y
    return 1
""",
    "a key function that sorts by itself": """
def f(x):
    return sorted([x, x], key=f)

def run():
    return f(1)
""",
    "a comparison that compares": """
class A:
    def __lt__(self, other):
        return self < other

    def __eq__(self, other):
        return [self] == [other]

    def __contains__(self, x):
        return x in self

    def __len__(self):
        return len(self)

    def __str__(self):
        return str(self)

    def __repr__(self):
        return repr([self])

    def __iter__(self):
        return iter(list(self))

    def __call__(self):
        return self()

    def __getitem__(self, i):
        return self[i]

    def __bool__(self):
        return not self

def run():
    return [str(A()), repr(A()), A() == A()]
""",
    "80 nested comprehensions": "def run():\n    return " + "[0 for i in " * 80
    + "[]" + "]" * 80,
    "10,000 minus signs": "def run():\n    return " + "-" * 10_000 + "1",
    "deep parentheses": "def run():\n    return " + "(" * 9_000 + ")" * 9_000,
    "deep calls": "def run():\n    return " + "str(" * 90 + "1" + ")" * 90,
    "deep ifs": "def run():\n"
    + "".join("    " * (n + 1) + "if 1:\n" for n in range(90))
    + "    " * 91 + "return 1",
}  # fmt: skip

CHILD = """
import sys
from pvm import CompileError, Worker
from pvm.testing import call_once
def work():
    try:
        return call_once(sys.stdin.read(), cycles=20_000_000).error or "returned"
    except CompileError:
        return "refused"
print("ended:", Worker().run(work))
"""


@pytest.mark.parametrize("name", DEADLY)
def test_a_deadly_source_ends_and_the_process_lives(name):
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=DEADLY[name],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert done.stdout.startswith("ended:")


# Each would work far longer than its cycles pay for, were it not guarded.
COSTLY = {
    "search in a range": 'return [("a" in range(10**9)) for i in range(9)]',
    "search in literals": "return [i in (" + "5," * 9_000 + ") for i in range(10**6)]",
    "hash of shared tuples in a view": """x = (1,)
    for i in range(50):
        x = (x, x)
    return len({1: x}.items() - {1: x}.items())""",
    "the same, with a number": """x = (1,)
    for i in range(50):
        x = (x, x)
    return {1: x}.items() - 1""",
    "arguments of an exception": "e = ValueError()\n    e.args = range(10**9)",
    "spread into a call": "return max(*range(10**9))",
    "a literal compared": "x = '" + "a" * 30_000 + "'\n    while x == '" + "a" * 30_000
    + "':\n        pass",
    "many targets": "while True:\n        " + "a=" * 5_000 + "1",
    "many items unpacked": "t = " + "1," * 3_000 + "\n    while True:\n        "
    + "a," * 3_000 + "= t",
    "many arguments": "while True:\n        f(" + "1," * 9_000 + ")\n"
    "def f(*a):\n    pass",
    "a tuple hashed again and again": """t = tuple(range(30000))
    s = set([t])
    while True:
        s = s | s""",
    "a test of a while": "while True:\n        while " + "0 or " * 5_000
    + "0:\n            pass",
}  # fmt: skip


@pytest.mark.parametrize("name", COSTLY)
def test_no_work_is_done_that_cycles_do_not_pay(name):
    """20 million cycles take a second (sandbox-internals.md §4); here a tenth."""
    source = "def run():\n    " + COSTLY[name]
    started = time.process_time()
    try:
        result = call_once(source, cycles=2_000_000)
    except CompileError:
        pass
    else:
        assert result.error
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("source", "failure"),
    [
        ("def run():\n    f(" + "1," * 200 + ")\ndef f(" + "".join(
            f"a{n}," for n in range(70)) + "):\n    pass", "parameters"),
        ("def run():\n" + "".join(f"    a{n} = 1\n" for n in range(300)), "variables"),
        ("def run():\n" + "".join(f"    a{n} = 1\n" for n in range(100))
         + "    return lambda: [" + "".join(f"a{n}," for n in range(100)) + "]",
         "functions around"),
        ("def run():\n    try:\n        pass\n"
         + "    except ValueError:\n        pass\n" * 20, "handlers"),
    ],
)  # fmt: skip
def test_what_a_call_must_make_room_for_is_bounded(source, failure):
    with pytest.raises(CompileError, match=failure):
        compile_actor(source.encode())


NAMES = [
    "_cycles",
    "_memory",
    "_depth",
    "_halt",
    "_e",
    "_len",
    "_int",
    "_tuple",
    "_pre",
]
FORMS = [
    "global {0}\n    {0} = 10**9\n    loop()",
    "{0} = 10**9\n    loop()",
    "({0} := 10**9)\n    loop()",
    "[({0} := 10**9) for i in [1]]\n    loop()",
    "for {0} in [1]:\n        loop()",
    "try:\n        raise ValueError\n    except ValueError as {0}:\n        loop()",
    "def {0}(*a):\n        return 10**9\n    loop()",
    "a, *{0} = [1, 2]\n    loop()",
    "f = lambda {0}=10**9: loop()\n    f()",
    "del {0}",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_no_inserted_name_can_be_rebound(name, form):
    """Every binding form of every inserted name (sandbox-internals.md §9)."""
    source = (
        "def run():\n    " + form.format(name) + "\ndef loop():\n"
        "    x = [len([1, 2][0:1])]\n    while True:\n        x = [i for i in x]\n"
    )
    try:
        result = call_once(source, cycles=20_000)
    except CompileError:
        return
    assert result.error.split(":")[0] in {"OutOfCycles", "NameError"}


@pytest.mark.parametrize("body", ["finally", "handler", "exit", "generator", "next"])
def test_nothing_of_the_actor_runs_after_a_halt(body):
    """A halt is not caught, delayed, or survived by an effect (sandbox.md §7)."""
    source = {
        "finally": """
def run():
    try:
        spin()
    finally:
        pvm_host.emit_event("survived", b"")
""",
        "handler": """
def run():
    try:
        spin()
    except Exception:
        pvm_host.emit_event("survived", b"")
""",
        "exit": """
class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        pvm_host.emit_event("survived", b"")
        return True

def run():
    with Quiet():
        spin()
    pvm_host.emit_event("survived", b"")
""",
        "generator": """
def steps():
    yield 1
    spin()
    pvm_host.emit_event("survived", b"")
    yield 2

def run():
    for step in steps():
        pass
""",
        "next": """
def steps():
    spin()
    yield 1

def run():
    next(steps(), 5)
    pvm_host.emit_event("survived", b"")
""",
    }[body]
    world = World()
    actor = world.add(source + "\ndef spin():\n    while True:\n        pass\n")
    result = world.call(actor, "run", cycles=50_000)
    assert result.outcome.failure.kind == "OutOfCycles"
    assert result.cycles_used == 50_000
    assert result.effects == ()


def test_every_halt_is_uncatchable_and_final():
    for call in ("pvm_host.revert('x')", "write()", "deep(0)", "fill()"):
        source = f"""
def run():
    try:
        {call}
    except Exception:
        return 1
    finally:
        pvm_host.emit_event("survived", b"")
    return 2

def write():
    pvm_host.set_state(b"k", b"v" * 2000)

def deep(n):
    return deep(n + 1)

def fill():
    x = []
    while True:
        x.append([x])
"""
        world = World()
        result = world.call(world.add(source), "run", cells=100)
        kind = result.outcome.failure.kind
        assert kind in {"Reverted", "OutOfCells", "TooDeepRecursion", "OutOfMemory"}
        assert result.effects == ()
        assert world.state == {}


def test_a_read_only_execution_halts_on_a_write():
    world = World()
    actor = world.add("def run():\n    pvm_host.set_state(b'k', b'v')")
    result = world.call(actor, "run", read_only=True)
    assert result.outcome.failure.kind == "ReadOnlyViolation"


def test_a_callee_has_its_own_budget_and_its_halt_is_catchable():
    """Its cycles are the caller's loss, its memory and depth the caller's (D14)."""
    world = World()
    callee = world.add("def run(payload):\n    while True:\n        pass")
    caller = world.add(f"""
def run():
    try:
        pvm_host.call_actor({bytes(callee)!r}, "run", b"", 5000)
    except pvm_host.RevertError as e:
        return str(e)

def recurse(payload):
    return pvm_host.call_actor(pvm_host.self_address(), "recurse", b"", 1000000)
""")
    result = world.call(caller, "run")
    assert result.value == b"OutOfCycles: the cycle limit is used up"
    assert result.cycles_used > 5_000
    assert "RevertError" in world.call(caller, "recurse").error


def test_what_one_message_did_to_objects_is_gone_in_the_next():
    """Fresh globals and a fresh instance (D11)."""
    world = World()
    actor = world.add("""
count = 0
seen = []

class A:
    total = 0

def run():
    global count
    count += 1
    seen.append(count)
    A.total += 1
    run.calls = getattr(run, "calls", 0) + 1
    return [count, len(seen), A.total, run.calls]
""")
    for _ in range(3):
        assert cbor.decode(world.call(actor, "run").value) == [1, 1, 1, 1]


def test_no_attribute_of_the_universe_can_be_set():
    """What executions share is immutable (sandbox-internals.md §2)."""
    shared = (
        "len, abs, chr, ord, callable, range, isinstance, int, str, bytes, bool, list, "
        "tuple, dict, set, frozenset, sorted, sum, min, max, map, zip, iter, next, "
        "type, ValueError, Exception, pvm_host"
    )
    names = [*shared.split(", "), "pvm_host.get_state"]
    lines = "".join(f"    change({name})\n" for name in names)
    lines += '    change("x".join)\n    change([].append)\n    change({}.keys())\n'
    lines += "    change(iter([]))\n    change(set())\n    change(type(set()))\n"
    source = f"""
def change(x):
    try:
        x.mark = 1
    except AttributeError:
        return
    except TypeError:
        return
    raise ValueError("changed")

def run():
{lines}    try:
        pvm_host.get_state(1)
    except pvm_host.HostError as e:
        change(type(e))
    return 1
"""
    assert call_once(source).error == ""


def test_a_halt_of_the_interpreter_is_ours():
    """Its recursion limit decides nothing on a worker (sandbox-internals.md §5)."""
    source = """
def f(n):
    return sorted([n], key=g)

def g(n):
    return max(f(n + 1), key=lambda x: 1)

def run():
    return f(0)
"""
    assert call_once(source).error.startswith("TooDeepRecursion")
    assert Worker().run(lambda: call_once(source).cycles_used) == (
        call_once(source).cycles_used
    )
