"""Runs every attack in one process and says what that took: a child to be watched."""

import gc
import json
import re
import sys
from pathlib import Path

from pvm import CompileError, compile_actor
from pvm.testing import World

CORPUS = Path(__file__).parents[1] / "actors" / "attacks.py"
CYCLES = 20_000_000
"""As many as the transactions of a block may use."""


def megabytes():
    """The most memory that this process ever had resident, without its parent's.

    `getrusage` would count that of the process that started it, too.
    """
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]
    return int(peak) // 1024


def ends():
    """How each attack ended, and the most memory that the process had until then."""
    for chunk in CORPUS.read_text().split("\n---\n"):
        expected = chunk.split("\n")[0].removeprefix("# expect: ")
        try:
            world = World()
            result = world.call(
                world.add(compile_actor(chunk.encode())), "run", cycles=CYCLES
            )
            end = result.error or "returns"
        except CompileError:
            end = "refused"
        gc.collect()  # as between the blocks of a node
        yield {"expected": expected, "end": end, "megabytes": megabytes()}


if __name__ == "__main__":
    for line in ends():
        sys.stdout.write(json.dumps(line) + "\n")
