"""Which lines ran, and one after which: as stock coverage has it of plain Python."""

from pathlib import Path

import pytest
from coverage import Coverage

from pvm import Arcs, Meter, ProbedCode, ProbedExecutor, compile_actor
from pvm.testing import DictionaryHost, World
from pvm.types import Limits

ACTORS = Path(__file__).resolve().parents[1] / "actors"
PROGRAMS = (ACTORS / "programs.py").read_text().split("\n---\n")
CONSTRUCTS = """\
def whiles(n):
    while True:
        n -= 1
        if n < 0:
            break
        if n % 2:
            continue
        n -= 1
    else:
        n = 0
    while n < 3: n += 1
    while n < 6:
        n += 1
        if n == 5:
            pass
    else:
        n += 10
    return n


def fors(items):
    for item in items:
        if item:
            continue
        for _ in range(2):
            if item == 1: break
        else:
            item = 2
    for item in []:
        item += 1
    for item in items: item += 1
    return item


def tries(n):
    for i in range(n):
        try:
            if i == 1:
                raise KeyError(
                    "one",
                )
            if i == 2:
                raise ValueError("two")
            if i == 3:
                continue
            if i == 4:
                return i
        except KeyError:
            n += 1
        except (
            ValueError,
            TypeError,
        ) as error:
            n += len(str(error))
        else:
            n += 2
        finally:
            if i == 2:
                n += 3
    try:
        n += 1
    finally:
        n += 1
    return n


class Manager:
    \"\"\"Has a docstring.\"\"\"

    kept = 1

    def __init__(self, swallows):
        self.swallows = swallows

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return self.swallows


def withs(n):
    for i in range(n):
        with Manager(True) as one, Manager(
            i == 1
        ):
            if i == 1:
                raise ValueError("swallowed")
            if i == 2:
                continue
            if i == 3:
                return i
        with Manager(True):
            if i:
                n += 1
    return n


def steps(n):
    \"\"\"Only a generator.\"\"\"
    while n:
        yield n
        n -= 1
        if n == 2:
            yield from [7, 8]


def never(n):
    yield n


def unmatched():
    try:
        raise KeyError("other")
    except ValueError:
        return 1
    except TypeError:
        return 2


def nested(n):
    total = 0

    def add(by):
        nonlocal total
        total += by
        if total > n:
            return total

    def unused():
        return n

    add(1)
    add(n)
    y: int = 3
    z = [
        a
        for a in range(y)
        if a
    ]
    twice = lambda b: (
        b * 2
    )
    "a text"
    assert total, "never"
    one = (
        1
        if n > 5
        else 2
    )
    if n: total = 5
    elif total:
        total = 6
    return [twice(a) for a in z], one


def late(n):
    \"\"\"Declares in the midst of it.\"\"\"
    if n:
        n += 1
    global total
    total = n
    return total


def silent():
    global total


class Decorated:
    @staticmethod
    def plain(): return 1

    @property
    def read(
        self,
    ):
        return 2


def run():
    never(1)
    silent()
    shown = [Decorated.plain(), Decorated().read, late(0)]
    found = [shown, whiles(7), fors([0, 1, 2]), tries(9), tries(4), withs(5), withs(2)]
    try:
        unmatched()
    except KeyError:
        found.append(nested(4))
    for number in steps(4):
        if number == 8:
            break
    return found, list(steps(3))
"""


def ran(source, handler="run"):
    """What ran of a program, and what it cost."""
    world = World()
    actor = world.add(source)
    probed, executor = ProbedCode(source.encode()), ProbedExecutor()
    message = world.message(actor, (handler,), b"")

    def execute():
        meter = Meter(10**7, 10**6, limits=Limits())
        host = DictionaryHost(world, message, meter)
        outcome, arcs = executor.execute(probed, message, host, meter)
        return outcome, arcs, meter.cycles_used

    outcome, arcs, cycles = world.worker.run(execute)
    plain = world.call(actor, handler)
    assert outcome == plain.outcome
    assert cycles == plain.cycles_used
    return arcs


def counted(path, source):
    """What stock coverage finds of plain Python, its own way."""
    judge = Coverage(None, branch=True, config_file=False, include=[str(path)])
    names = {"__name__": "program"}
    with judge.collect():
        exec(compile(source, str(path), "exec", dont_inherit=True), names)
        names["run"]()
    return judge


def analysis(coverage, path):
    _, statements, _, missing, _ = coverage.analysis2(str(path))
    found = coverage._analyze(str(path))
    coverage.get_data().close(force=True)
    branches = found.executed_branch_arcs(), found.missing_branch_arcs()
    told = [{k: sorted(v) for k, v in one.items() if v} for one in branches]
    return statements, missing, told


@pytest.mark.parametrize("source", [*PROGRAMS, CONSTRUCTS])
def test_lines_and_branches_are_those_of_plain_python(source, tmp_path):
    """The judge is coverage.py alone: its tracer, its parser, its arithmetic."""
    path = tmp_path / "program.py"
    path.write_text(source)
    arcs = ran(source)
    ours = Coverage(None, branch=True, config_file=False)
    ours.get_data().add_arcs({str(path): arcs.body | arcs.functions})
    assert analysis(ours, path) == analysis(counted(path, source), path)


def test_a_body_that_never_changes_runs_once_and_is_told_apart():
    source = (
        "class A:\n    def a(self):\n        return 1\n\ndef run():\n    return 2\n"
    )
    probed, executor, world = ProbedCode(source.encode()), ProbedExecutor(), World()
    actor = world.add(source)

    def execute():
        message = world.message(actor, ("run",), b"")
        meter = Meter(10**7, 10**6, limits=Limits())
        host = DictionaryHost(world, message, meter)
        return executor.execute(probed, message, host, meter)[1]

    first, second = (world.worker.run(execute) for _ in range(2))
    assert {line for arc in first.body for line in arc} == {-1, 1, 2, 5}
    assert second == Arcs(set(), {(-5, 6), (6, -5)})
    first.add(second)
    assert first.functions == second.functions


def test_a_function_that_refuses_its_caller_has_not_run():
    source = (
        "from cowboy_sdk import actor, callable_by\n"
        "@actor\n"
        "class A:\n"
        f"    @callable_by('0x{'11' * 20}')\n"
        "    def run(self):\n"
        "        return 1\n"
    )
    assert ran(source).functions == set()


def test_probes_are_in_no_code_of_a_chain():
    """The chain's own code is as if there were no such tool."""
    names = compile_actor(CONSTRUCTS.encode()).module.co_names
    assert not {"_begin", "_at"} & set(names)
