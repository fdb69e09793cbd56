"""The judges of hostile programs: each bites where a weakness is planted."""

import re
import subprocess
import sys
import types
from random import Random

import pytest

from pvm.compiler import pipeline
from pvm.compiler.facts import gather
from pvm.driver import execution_pool
from pvm.testing import World
from tests import fuzz, hostile

CALLS = "import pvm_host\ndef run():\n    return pvm_host.randomness(b'')\n"


def judged(source):
    """The judges that look at one program, on its own world."""
    with World().worker as worker:
        world = World(worker=worker)
        actor = world.add(source)
        hostile.stands_for_its_account(world, actor)
        hostile.runs_for_its_price(world, actor)


def planted(monkeypatch, effect):
    """Let `pvm_host.randomness` do something that it must not."""
    monkeypatch.setattr(
        "pvm.testing.DictionaryHost.randomness", lambda _host, _domain: effect()
    )


def test_a_sound_program_stands_before_them():
    judged(CALLS)


def test_time_that_nobody_pays_is_found(monkeypatch):
    planted(monkeypatch, lambda: bytes(sum(range(3_000_000)) % 9))
    with pytest.raises(AssertionError, match="ns a cycle"):
        judged(CALLS)


def test_memory_that_nobody_pays_is_found(monkeypatch):
    planted(monkeypatch, lambda: (b"x" * (64 << 20))[:9])
    with pytest.raises(AssertionError, match="MiB for 0 KiB of the account"):
        judged(CALLS)


def test_a_value_of_the_machine_is_found(monkeypatch):
    planted(monkeypatch, lambda: sys)
    with pytest.raises(AssertionError, match=r"builtins\.module"):
        hostile.shows_what_is_given_away(CALLS)


def binding(*parts):
    """The first program of odd bindings that has all the parts."""
    sources = (hostile.Hostile(Random(seed)).binding() for seed in range(40_000))
    return next(one for one in sources if all(part in one for part in parts))


def without_walls(monkeypatch):
    """Compile as if the gate asked for no names, and look up whatever is asked for."""
    monkeypatch.setattr("pvm.compiler.gate.check_names", lambda _found: None)
    monkeypatch.setitem(
        execution_pool.HELPERS,
        "_getattr",
        lambda _vm, value, name, *_: getattr(value, name),
    )
    monkeypatch.setattr(execution_pool, "_IDLE", [])


GETS = "t = '__globals__'"


def test_a_name_that_only_a_dropped_part_binds_is_found(monkeypatch):
    """What compiles knows no more that the policy took the name for the actor's."""
    source = binding("default=(getattr := 1)", "(getattr(run, t))", GETS)
    hostile.shows_what_is_given_away(source)
    without_walls(monkeypatch)
    hostile.shows_what_is_given_away(source)
    monkeypatch.setattr(
        pipeline,
        "gather",
        lambda tree, find, found, _admitted=None: gather(tree, find, found),
    )
    with pytest.raises(AssertionError, match="builtin isinstance"):
        hostile.shows_what_is_given_away(source)


def test_a_literal_that_is_another_argument_than_it_seems_is_found(monkeypatch):
    source = binding("\npass\ndef run", '(getattr(*[run, t], "x"))', GETS)
    hostile.shows_what_is_given_away(source)
    monkeypatch.setattr("pvm.compiler.policy.names._check_getattr", lambda *_: None)
    hostile.shows_what_is_given_away(source)
    without_walls(monkeypatch)
    with pytest.raises(AssertionError, match="builtin isinstance"):
        hostile.shows_what_is_given_away(source)


def test_compiling_that_nobody_pays_is_found(monkeypatch):
    def slow(source):
        sum(range(5_000_000))
        return hostile_compile(source)

    hostile_compile = hostile.compile_actor
    monkeypatch.setattr(hostile, "compile_actor", slow)
    with pytest.raises(AssertionError, match="compiling takes"):
        hostile.is_deployed_for_its_price(CALLS)


def test_an_interpreter_that_differs_is_found():
    class Differs:
        python = "another"

        def verdict(self, _source):
            return "another verdict"

    with pytest.raises(AssertionError, match="another"):
        hostile.is_the_same_everywhere(CALLS, [Differs()])


@pytest.mark.parametrize("error", [RecursionError, MemoryError, SystemError])
def test_whatever_is_no_typed_failure_is_found(monkeypatch, capsys, error):
    """The machine gave up, or a defect of C's; the seed is told."""

    def fails(*_arguments):
        raise error

    monkeypatch.setattr(hostile, "is_deployed_for_its_price", fails)
    assert fuzz.run(7, 0, (), is_hostile=True) == 1
    assert "make fuzz-hostile SEED=7 SECONDS=0" in capsys.readouterr().err


DIES = """
import os, sys
with open(sys.argv[sys.argv.index("--tried") + 1], "r+b") as note:
    note.write((12345).to_bytes(8, "big"))
os.abort()
"""


def test_a_process_that_dies_names_the_seed_it_died_of(capsys):
    arguments = types.SimpleNamespace(hostile=True, seconds=1)
    with fuzz.Child(7, arguments, (sys.executable, "-c", DIES)) as child:
        assert child.failed()
    told = capsys.readouterr().err
    assert "died of signal 6" in told
    assert "make fuzz-hostile SEED=12345 SECONDS=0" in told


def test_programs_come_to_all_kinds_of_ends():
    """Refused, exhausted and through: none alone would look at much."""
    ends = set()
    for seed in range(40):
        told = hostile.verdict(hostile.Hostile(Random(seed)).program())
        kind = re.search(r"kind='(\w+)'", told)
        ends.add("refused" if told.startswith("refused") else kind and kind[1])
    assert ends >= {"refused", "OutOfMemory", None}


def test_the_fuzzer_runs_by_its_command():
    """As `make fuzz-hostile SEED=3 SECONDS=0.1` does, on every core."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--hostile", "--seed=3", "--seconds=0.1"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert "seeds 3 to " in done.stdout
