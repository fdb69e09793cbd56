"""What the VM makes of a source, in one line: the same on every interpreter.

Run as a program it answers each line of standard input, a JSON text, with a verdict.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from pvm import CompileError, compile_actor
from pvm.testing import World

ROOT = Path(__file__).parents[1]
CYCLES = 300_000


def compiled(source: bytes):
    """The code, or the text of the refusals."""
    try:
        return compile_actor(source)
    except CompileError as error:
        return str(error)


def verdict(source: str, cycles: int = CYCLES) -> str:
    """Refusals, or outcome, value and everything that was used."""
    code = compiled(source.encode("utf-8", "surrogatepass"))
    if isinstance(code, str):
        return f"refused {code}"
    with World().worker as worker:
        world = World(worker=worker)
        result = world.call(world.add(code), "run", cycles=cycles)
    used = (result.cycles_used, result.cells_used, result.memory_used)
    return f"{result.outcome} {used}"


class OtherInterpreter:
    """A process of another CPython that gives verdicts, with a hash seed of its own."""

    def __init__(self, python: Path) -> None:
        self.python = python
        self.process = subprocess.Popen(
            [python, "-m", "tests.compile_verdict"],
            env={**os.environ, "PYTHONHASHSEED": "11", "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def verdict(self, source: str) -> str:
        """What it makes of the source."""
        self.process.stdin.write(json.dumps(source) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"{self.python} died"
        return json.loads(answer)

    def close(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(json.dumps(verdict(json.loads(line))) + "\n")
        sys.stdout.flush()
