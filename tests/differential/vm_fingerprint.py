"""Prints what the VM makes of the corpora: run under every supported interpreter."""

import hashlib
import json
import re
import sys
from pathlib import Path

from pvm import CompileError, Worker, compile_actor
from pvm.testing import World

ACTORS = Path(__file__).parents[1] / "actors"
SCRIPTS = Path(__file__).parents[2] / "scripts"
EXAMPLES = Path(__file__).parents[2] / "genesis" / "actors"
CYCLES = 300_000
_ADDRESS = "0x" + "07" * 20
_ADDRESSES = ("beneficiary", "heir", "owner", "pong", "seller", "spender", "to")
_NUMBERS = ("amount", "blocks", "instalments", "rounds", "supply")
PAYLOADS = (
    b"",
    json.dumps(
        {
            **dict.fromkeys(_ADDRESSES, _ADDRESS),
            **dict.fromkeys(_NUMBERS, 5),
            "name": "Hay",
            "quorum": 1,
            "reporters": [_ADDRESS],
        }
    ).encode(),
)
"""Nothing, and what most of the example actors ask for."""


def lines():
    """One line a chunk: refusal, or value, failure and everything that was used."""
    for name in ("accepted.py", "programs.py", "attacks.py", "sdk.py", "refused.py"):
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
            yield f"{name} {digest} {_told(result)}"
    yield from _lines_of_public_actors()
    yield from _lines_of_examples()


def _lines_of_public_actors():
    """Actors in the public conventions, asked for every action that they dispatch."""
    page = (ACTORS / "public.py").read_text()
    for number, chunk in enumerate(page.split("# --- ")[1:]):
        source = chunk.split("\n", 1)[1]
        code = compile_actor(source.encode())
        world = World()
        actor = world.add(code)
        asked = [json.loads(PAYLOADS[1]) | {"action": one} for one in _actions(source)]
        for handler in code.handlers:
            for payload in (*PAYLOADS, *(json.dumps(one).encode() for one in asked)):
                result = world.call(actor, handler, payload, cycles=CYCLES)
                yield f"public {number} {handler} {_told(result)}"


def _actions(source):
    """What stands behind `action ==`, or is a key of a table of functions."""
    return sorted({*re.findall(r'"(\w+)": _\w+', source), "nothing"})


def _lines_of_examples():
    """Each handler of the example actors, one after another on one state."""
    for path in sorted(EXAMPLES.glob("*.py")):
        world = World()
        code = compile_actor(path.read_bytes())
        actor = world.add(code)
        for payload in PAYLOADS:
            made = world.run(world.message(actor, ("deploy", "init"), payload))
            yield f"{path.name} deployment {_told(made)}"
            for handler in code.handlers:
                result = world.call(actor, handler, payload, cycles=CYCLES)
                yield f"{path.name} {handler} {_told(result)}"


def _told(result):
    used = (result.cycles_used, result.cells_used, result.memory_used)
    return f"{result.outcome} {used} {result.effects}"


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
        yield f"{name} {_told(result)}"


if __name__ == "__main__":
    found = lines_of_benches if sys.argv[1:] == ["benches"] else lines
    for line in Worker().run(lambda: list(found())):
        sys.stdout.write(line.replace("\n", "; ") + "\n")
