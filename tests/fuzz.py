"""Try the laws of the VM for a time: `python -m tests.fuzz --seconds N [--seed S]`.

Round i of seed S is the round of seed S + i: what fails is repeated by its own seed,
alone, in no time: `make fuzz SEED=i SECONDS=0`. Each core tries seeds of its own.
"""

import argparse
import multiprocessing
import os
import sys
import time
import traceback
from contextlib import ExitStack, closing
from random import Random

from tests import laws
from tests.interpreters import others
from tests.verdicts import OtherInterpreter

APART = 10**9
"""Between the seeds of two processes."""


def main():
    """Exit code: 0 every law held, 1 one did not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=None, help="random if not given")
    arguments = parser.parse_args()
    seed = arguments.seed
    if seed is None:
        seed = int.from_bytes(os.urandom(5), "big")
    if not arguments.seconds:
        return _process(seed, 0)
    tasks = [
        (seed + APART * number, arguments.seconds)
        for number in range(os.cpu_count() or 1)
    ]
    with multiprocessing.get_context("spawn").Pool(len(tasks)) as pool:
        failed = sum(pool.starmap(_process, tasks))
    return int(failed > 0)


def _process(seed, seconds):
    """Try seeds from `seed` on, with processes of its own of other interpreters."""
    with ExitStack() as processes:
        found = [
            processes.enter_context(closing(OtherInterpreter(python)))
            for python in others()
        ]
        return run(seed, seconds, found)


def run(seed, seconds, interpreters):
    """Rounds until the time is over, at least one; 1 if a law failed, else 0."""
    ends = time.monotonic() + seconds
    tried = 0
    while not tried or time.monotonic() < ends:
        try:
            _round(seed + tried, interpreters)
        except Exception:  # noqa: BLE001 - whatever a law lets through
            traceback.print_exc()
            sys.stderr.write(
                f"repeat it alone: make fuzz SEED={seed + tried} SECONDS=0\n"
            )
            return 1
        tried += 1
    sys.stdout.write(f"seeds {seed} to {seed + tried - 1}: every law held\n")
    return 0


def _round(seed, interpreters):
    """Each law once, with what the seed chooses."""
    random = Random(seed)
    wildness = random.choice(laws.WILDNESS)
    laws.gives_what_plain_python_gives(seed)
    laws.has_an_exact_budget(seed, wildness, random.randrange)
    laws.costs_the_same_without_inlining(seed, wildness)
    laws.is_the_same_everywhere(interpreters, seed, wildness, random.randrange(3))
    noise = random.randbytes(random.randrange(9))
    laws.is_compiled_or_refused(laws.broken(seed, noise))
    laws.is_compiled_or_refused(random.randbytes(random.randrange(300)))


if __name__ == "__main__":
    sys.exit(main())
