"""Rules `bidding`: fires beside `fifo`, and the first block of an epoch."""

import gc
import time

from benches.inprocess import fires_per_second
from benches.report import Row, Section, interleave, median, median_ratio
from node.chain.transaction import DeployActor
from node.primitives import codec
from node.primitives.types import Amount
from node.testing import Devnet

FIRES_ROUNDS = 15
FIRES_RATIO_MIN = 0.7
ACTORS = 1_000
TIMERS_PER_ACTOR = 10
EPOCH_LENGTH = 4
EPOCHS = 7
EPOCH_RATIO_MAX = 3

_ACTIVATION = 20
"""Above the heights at which timers are scheduled, below those at which they fire."""
_DEPLOYMENT = (200_000, 300_000)
"""Limits of one, in cycles and cells."""
_DEPLOYED_A_BLOCK = 40
_AGENT = """
def get_gas_bid(context):
    return [2 * context["basefee_cycle"], 0]
"""
_SLEEPER = """
import pvm_host

def deploy(payload):
    agent, height = pvm_host.cbor_decode(payload)
    for i in range(%d):
        pvm_host.schedule_timer(height, b"", gas_limit=100_000, gba=agent)

def handle_timer(payload):
    pass
"""
_NARROW = {"lane_timer_cycles": 250_000, "max_cycles_per_fire": 250_000}
"""A lane for a few fires: all others are overdue from then on."""


def measure_bidding_fires() -> Section:
    """The fires of the section on fires, scheduled under `fifo`, under both rules."""
    rules = [{"height": _ACTIVATION, "rules": "bidding"}]
    bidding, fifo = interleave(
        FIRES_ROUNDS, lambda: fires_per_second(activations=rules), fires_per_second
    )
    ratio = median_ratio(bidding, fifo)
    row = Row(
        "fires of a trivial handler under `bidding`, without an agent",
        f"{median(bidding):,.0f}/s",
        f"under `fifo`: {median(fifo):,.0f}/s; ratio {ratio:.2f}",
        f"≥ {FIRES_RATIO_MIN}x",
        ratio >= FIRES_RATIO_MIN,
    )
    method = (
        "The blocks of the section on fires, under both rules in turn. Only timers "
        "that were scheduled under other rules have no agent."
    )
    return Section("Bidding: fires", method, (row,))


def measure_epoch() -> Section:
    """The first block of an epoch, beside the one before it."""
    first, before = _epoch_blocks()
    ratio = median_ratio(first, before)
    count = ACTORS * TIMERS_PER_ACTOR
    row = Row(
        f"first block of an epoch, {count:,} timers of {ACTORS:,} actors overdue",
        f"{median(first) * 1_000:.0f} ms",
        f"the block before: {median(before) * 1_000:.0f} ms; ratio {ratio:.2f}",
        f"< {EPOCH_RATIO_MAX}x",
        ratio < EPOCH_RATIO_MAX,
    )
    method = (
        f"`Devnet.mine()` at the turns of {EPOCHS} epochs of {EPOCH_LENGTH} blocks, "
        "every timer with an agent, a lane for a few fires: in the first block all "
        "weights are folded, and the records of the overdue are written (D48)."
    )
    return Section("Bidding: epochs", method, (row,))


def _epoch_blocks() -> tuple[list[float], list[float]]:
    with Devnet(
        activations=[{"height": 0, "rules": "bidding"}],
        calendar={"epoch_length": EPOCH_LENGTH},
        timer_config=_NARROW,
        lane_user_cycles=40_000_000,
    ) as chain:
        _fill(chain)
        first, before = list[float](), list[float]()
        while len(first) < EPOCHS:
            gc.collect()
            began = time.perf_counter()
            chain.mine()
            spent = time.perf_counter() - began
            if chain.height % EPOCH_LENGTH == 0 and before:
                first.append(spent)
            elif (chain.height + 1) % EPOCH_LENGTH == 0:
                before.append(spent)
        return first, before


def _fill(chain: Devnet) -> None:
    """Actors that schedule all their timers as they are deployed."""
    agent = chain.deploy(_AGENT)
    blocks = ACTORS // _DEPLOYED_A_BLOCK + 1
    due = chain.height + blocks + 2
    payload = codec.encode([agent.address, due])
    code = (_SLEEPER % TIMERS_PER_ACTOR).encode()
    for index in range(ACTORS):
        salt = index.to_bytes(32, "big")
        chain.submit(
            DeployActor(salt, code, payload, Amount(10**12)),
            cycles_limit=_DEPLOYMENT[0],
            cells_limit=_DEPLOYMENT[1],
        )
        if index % _DEPLOYED_A_BLOCK == _DEPLOYED_A_BLOCK - 1:
            chain.mine()
    chain.mine_until(due)
    waiting = len(chain.timers())
    assert waiting > ACTORS * TIMERS_PER_ACTOR * 9 // 10, waiting
