"""Try the laws of the VM for a time: `python -m tests.fuzz --seconds N [--seed S]`.

Round i of seed S is the round of seed S + i: what fails is repeated by its own seed,
alone, in no time: `make fuzz SEED=i SECONDS=0`. Each core tries seeds of its own, in a
process of its own, whose death is told as any failure is. With `--hostile` programs are
those of `tests/hostile.py`, before its judges.
"""

import argparse
import gc
import mmap
import os
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random

from tests import hostile, vm_invariants
from tests.compile_verdict import OtherInterpreter
from tests.interpreters import others

APART = 10**9
"""Between the seeds of two processes."""

_SEED_BYTES = 8


def main():
    """Exit code: 0 every law held, 1 one did not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=None, help="random if not given")
    parser.add_argument("--hostile", action="store_true", help="hostile programs")
    parser.add_argument("--tried", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    seed = arguments.seed
    if seed is None:
        seed = int.from_bytes(os.urandom(5), "big")
    if arguments.tried is not None or not arguments.seconds:
        return _process(seed, arguments)
    with ExitStack() as cores:
        children = [
            cores.enter_context(Child(seed + APART * number, arguments))
            for number in range(os.cpu_count() or 1)
        ]
        failed = sum(child.failed() for child in children)
    return int(failed > 0)


class Child:
    """A process that tries seeds, and writes each down before it does."""

    def __init__(self, seed, arguments, python=(sys.executable, "-m", "tests.fuzz")):
        self.arguments = arguments
        self.file = tempfile.NamedTemporaryFile()  # noqa: SIM115 - this one closes it
        self.file.write(seed.to_bytes(_SEED_BYTES, "big"))
        self.file.flush()
        options = ["--hostile"] if arguments.hostile else []
        options += ["--seed", str(seed), "--seconds", str(arguments.seconds)]
        options += ["--tried", self.file.name]
        self.process = subprocess.Popen([*python, *options])

    def __enter__(self):
        """The child itself."""
        return self

    def __exit__(self, *_):
        """End it, if it still runs."""
        self.process.kill()
        self.process.wait()
        self.file.close()

    def failed(self):
        """Wait; whether a law did not hold, or the process died of one."""
        code = self.process.wait()
        if code < 0:
            self.file.seek(0)
            seed = int.from_bytes(self.file.read(_SEED_BYTES), "big")
            sys.stderr.write(f"a process died of signal {-code}\n")
            sys.stderr.write(_repeat(seed, self.arguments.hostile))
        return code != 0


def _repeat(seed, is_hostile):
    target = "fuzz-hostile" if is_hostile else "fuzz"
    return f"repeat it alone: make {target} SEED={seed} SECONDS=0\n"


def _process(seed, arguments):
    """Try seeds from `seed` on, with processes of its own of other interpreters."""
    with ExitStack() as processes:
        found = [
            processes.enter_context(closing(OtherInterpreter(python)))
            for python in others()
        ]
        note = None
        if arguments.tried is not None:
            file = processes.enter_context(Path(arguments.tried).open("r+b"))
            note = processes.enter_context(mmap.mmap(file.fileno(), _SEED_BYTES))
        gc.freeze()  # what is there stays, so that looking for garbage takes no time
        return run(
            seed, arguments.seconds, found, is_hostile=arguments.hostile, note=note
        )


def run(seed, seconds, interpreters, *, is_hostile=False, note=None):
    """Rounds until the time is over, at least one; 1 if a law failed, else 0.

    The seed of each goes into `note` first, for whoever finds this process dead.
    """
    ends = time.monotonic() + seconds
    tried = 0
    while not tried or time.monotonic() < ends:
        if note is not None:
            note[:] = (seed + tried).to_bytes(_SEED_BYTES, "big")
        try:
            if is_hostile:
                _hostile_round(seed + tried, interpreters)
            else:
                _round(seed + tried, interpreters)
        except BaseException:  # noqa: BLE001 - whatever a law lets through
            traceback.print_exc()
            sys.stderr.write(_repeat(seed + tried, is_hostile))
            return 1
        tried += 1
    sys.stdout.write(f"seeds {seed} to {seed + tried - 1}: every law held\n")
    return 0


def _hostile_round(seed, interpreters):
    """A hostile program, before all its judges."""
    random = Random(seed)
    writer = hostile.Hostile(random)
    if random.randrange(4):
        source = writer.program()
    else:
        source = writer.binding()
        hostile.shows_what_is_given_away(source)
    hostile.is_withstood(source, interpreters, random.randrange)


def _round(seed, interpreters):
    """Each law once, with what the seed chooses."""
    random = Random(seed)
    wildness = random.choice(vm_invariants.WILDNESS)
    vm_invariants.gives_what_plain_python_gives(seed)
    vm_invariants.has_an_exact_budget(seed, wildness, random.randrange)
    vm_invariants.costs_the_same_without_inlining(seed, wildness)
    vm_invariants.is_the_same_everywhere(
        interpreters, seed, wildness, random.randrange(3)
    )
    noise = random.randbytes(random.randrange(9))
    vm_invariants.is_compiled_or_refused(vm_invariants.broken(seed, noise))
    vm_invariants.is_compiled_or_refused(random.randbytes(random.randrange(300)))


if __name__ == "__main__":
    sys.exit(main())
