"""Prints the hash of every block of a scripted chain: run by each interpreter."""

import sys

from node.state.memory import MemoryStore
from pvm import Worker
from tests.worlds import World, fixed_pick

SEEDS = (1, 2, 3)
BLOCKS = 30


def lines():
    """One line a block: its hash, and how much happened in it."""
    with Worker() as worker:
        for seed in SEEDS:
            world = World(MemoryStore(), fixed_pick(seed), worker)
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
