"""Prints what the VM makes of the corpora: run under every supported interpreter."""

import hashlib
import sys
from pathlib import Path

from pvm import CompileError, Worker, compile_actor
from pvm.testing import World

ACTORS = Path(__file__).parents[1] / "actors"
SCRIPTS = Path(__file__).parents[2] / "scripts"
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


def lines_of_benches():
    """The workloads, and every program that tries a row of the price table."""
    sys.path.insert(0, str(SCRIPTS))
    from benches import rows  # noqa: PLC0415 - scripts are no package
    from benches.workloads import WORKLOADS  # noqa: PLC0415

    sources = {name: one.source for name, one in WORKLOADS.items()}
    for programs in rows.tried().values():
        sources |= {program: rows.source(program) for program in programs}
    for name, source in sources.items():
        world = World()
        actor = world.add(source)
        result = world.call(actor, "run", cycles=20_000)
        used = (result.cycles_used, result.cells_used, result.memory_used)
        yield f"{name} {result.outcome} {used} {result.effects}"


if __name__ == "__main__":
    found = lines_of_benches if sys.argv[1:] == ["benches"] else lines
    for line in Worker().run(lambda: list(found())):
        sys.stdout.write(line.replace("\n", "; ") + "\n")
