"""Prints what the VM makes of the corpora: run under every supported interpreter."""

import hashlib
import sys
from pathlib import Path

from pvm import CompileError, Worker, compile_actor
from pvm.testing import World

ACTORS = Path(__file__).parents[1] / "actors"
CYCLES = 300_000


def lines():
    """One line a chunk: refusal, or value, failure and everything that was used."""
    for name in ("programs.py", "attacks.py", "sdk.py", "refused.py"):
        for chunk in (ACTORS / name).read_text().split("\n---\n"):
            source = chunk.encode()
            digest = hashlib.sha256(source).hexdigest()[:8]
            try:
                code = compile_actor(source)
            except CompileError as error:
                yield f"{name} {digest} refused {error}"
                continue
            world = World()
            result = world.call(world.add(code), "run", cycles=CYCLES)
            used = (result.cycles_used, result.cells_used, result.memory_used)
            yield f"{name} {digest} {result.outcome} {used}"


if __name__ == "__main__":
    for line in Worker().run(lambda: list(lines())):
        sys.stdout.write(line.replace("\n", "; ") + "\n")
