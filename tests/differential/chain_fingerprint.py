"""Prints the hash of every block of a scripted chain: run by each interpreter."""

import sys

from node.state.memory import MemoryStore
from pvm import Worker
from tests.worlds import MixedWorld, World, fixed_pick

WORLDS = (World, 1), (World, 2), (World, 3), (MixedWorld, 4), (MixedWorld, 5)
BLOCKS = 30


def lines():
    """One line a block: its hash, and how much happened in it."""
    with Worker() as worker:
        for kind, seed in WORLDS:
            world = kind(MemoryStore(), fixed_pick(seed), worker)
            for _ in range(BLOCKS):
                result = world.step()
                counts = (len(result.receipts), len(result.events), len(result.trace))
                faults = [error.fault.value for _, error in result.rejected]
                yield f"{seed} {result.header.hash().hex()} {counts} {faults}"
                for receipt in result.receipts:
                    used = (receipt.cycles_used, receipt.cells_used)
                    yield f"{receipt.failure} {used} {receipt.value.hex()}"


if __name__ == "__main__":
    for line in lines():
        sys.stdout.write(line.replace("\n", "; ") + "\n")
