"""Prints the hash of every block of a scripted chain: run by each interpreter."""

import sys

from msgspec.structs import replace

from node.chain.transition import Caches, apply_block
from node.query.trace.tracing import trace_block
from node.query.trace.watcher import CallWatcher, TraceRoom
from node.state.memory import MemoryStore
from pvm import Worker
from tests.worlds import MixedWorld, UpgradingWorld, World, fixed_pick

WORLDS = (
    *((World, 1), (World, 2), (World, 3), (MixedWorld, 4), (MixedWorld, 5)),
    (UpgradingWorld, 6),
)
BLOCKS = 30
TRACED = 2
"""Seed of the world whose blocks are traced, too."""


def traced(state, result):
    """What the block's executions did, told by executing it again, watched."""
    caches = Caches(code=state.caches.code)
    found = trace_block(replace(state, caches=caches), result.block)
    watched = Caches(execute=CallWatcher(TraceRoom()).execute)
    again = apply_block(replace(state, caches=watched), result.block)
    assert again.header == result.header, "no watcher changes a root"
    return [*map(str, found.executions), str(found.changes)]


def lines():
    """One line a block: its hash, and how much happened in it."""
    with Worker() as worker:
        for kind, seed in WORLDS:
            world = kind(MemoryStore(), fixed_pick(seed), worker)
            for _ in range(BLOCKS):
                before = world.state
                result = world.step()
                counts = (len(result.receipts), len(result.events), len(result.trace))
                faults = [error.fault.value for _, error in result.rejected]
                yield f"{seed} {result.header.hash().hex()} {counts} {faults}"
                for receipt in result.receipts:
                    used = (receipt.cycles_used, receipt.cells_used)
                    yield f"{receipt.failure} {used} {receipt.value.hex()}"
                if seed == TRACED:
                    yield from worker.run(lambda s=before, r=result: traced(s, r))


if __name__ == "__main__":
    for line in lines():
        sys.stdout.write(line.replace("\n", "; ") + "\n")
