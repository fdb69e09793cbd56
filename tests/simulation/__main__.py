"""Simulate many small worlds: `python -m tests.simulation --seed N [--worlds N]`.

World i of seed N is the world of seed N + i. One that fails is repeated by its own
seed, alone.
"""

import argparse
import sys

from pvm import CodeCache, Worker
from tests.simulation.world import World


def main():
    """Exit code: 0 every world held, 1 one did not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worlds", type=int, default=1)
    parser.add_argument("--quiet", action="store_true", help="only the last line")
    arguments = parser.parse_args()
    code = CodeCache()
    blocks = deaths = power_cuts = 0
    with Worker() as worker:
        for seed in range(arguments.seed, arguments.seed + arguments.worlds):
            world = World(seed, code=code)
            try:
                digest = worker.run(world.run)
            except BaseException:
                sys.stderr.write(
                    f"seed {seed} fails at height {world.height}; "
                    f"repeat it: make simulate SEED={seed} WORLDS=1\n"
                )
                raise
            blocks += world.blocks
            deaths += world.deaths
            power_cuts += world.power_cuts
            if not arguments.quiet:
                sys.stdout.write(f"{seed} {digest}\n")
    sys.stdout.write(
        f"{arguments.worlds} worlds from seed {arguments.seed}: {blocks} blocks, "
        f"{deaths - power_cuts} kills, {power_cuts} power cuts, nothing lost\n"
    )


if __name__ == "__main__":
    main()
