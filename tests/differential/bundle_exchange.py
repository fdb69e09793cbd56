"""Writes the bundle of a scripted chain, or takes one and writes it again."""

import sys
from pathlib import Path

from node.archive.bundle import new_bundle, pack_chain
from node.state import keys
from node.state.memory import MemoryStore
from node.state.store import WriteSet
from node.testing import Devnet
from pvm import Worker
from tests.worlds import KeptWorld, fixed_pick

SEED, BLOCKS = 12, 30


def write(path):
    """A chain with all that a world has: failures, fires, messages, runs."""
    with Worker() as worker:
        world = KeptWorld(MemoryStore(), fixed_pick(SEED), worker)
        world.store.commit(WriteSet({keys.GENESIS: world.genesis.encode()}))
        for _ in range(BLOCKS):
            world.step()
            world.run_empty(3)
        packing = pack_chain(world.store.snapshot(), world.state.head)
        with new_bundle(path) as put:
            for part in packing.parts():
                put(part)


def write_again(path, again):
    """Out of a chain that executed it."""
    with Devnet.from_bundle(path) as chain:
        chain.export_bundle(again)


if __name__ == "__main__":
    act = {"write": write, "again": write_again}[sys.argv[1]]
    act(*map(Path, sys.argv[2:]))
