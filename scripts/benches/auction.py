"""Rules `auction`: due timers looked at, fires beside `fifo`, a large fairness map."""

import gc
import time

from benches.inprocess import fires_per_second
from benches.report import Row, Section, interleave, median, median_ratio
from node.chain.transition import build_block
from node.primitives.types import Address
from node.state import keys
from node.state.memory import MemoryStore
from node.state.store import WriteSet
from node.testing import Devnet

DUE = 10_000
DUE_ACTORS = 10
LOOKED_AT_US_MAX = 15
FIRES_RATIO_MIN = 0.8
FIRING_ACTORS = 1_000_000
QUIET_BLOCK_MS_MAX = 1
ROUNDS = 5
FIRES_ROUNDS = 15
"""The ratio is near its target: its median wants more rounds than the others'."""

_AUCTION = [{"height": 0, "rules": "auction"}]
_HORIZON = 20
_CROWD = f"""
import pvm_host

def arm(payload):
    height = int.from_bytes(payload, "big")
    for i in range({DUE // DUE_ACTORS}):
        pvm_host.schedule_timer(
            height,
            b"",
            gas_limit=100_000,
            max_fee_per_cycle=10 ** 6 if i % 3 == 0 else None,
            max_priority_fee_per_cycle=i % 90 if i % 3 < 2 else None,
        )

def handle_timer(payload):
    pass
"""
_NARROW = {
    "lane_timer_cycles": 100_000,
    "max_cycles_per_fire": 100_000,
    "max_cycles_per_fire_auction": 100_000,
}
"""A lane for one fire: all others are looked at, sorted and put off."""


def measure_looking() -> Section:
    """Blocks in which 10,000 timers are due and one fits."""
    with Devnet(activations=_AUCTION, timer_config=_NARROW) as chain:
        height = chain.height + _HORIZON + DUE_ACTORS
        for i in range(DUE_ACTORS):
            salt = i.to_bytes(32, "big")
            actor = chain.deploy(_CROWD, value="9000 CBY", salt=salt)
            actor.call("arm", height.to_bytes(8, "big"), cycles_limit=19_000_000)
        chain.mine_until(height)

        def look() -> float:
            gc.collect()
            began = time.perf_counter()
            result = build_block(chain.state, ())
            spent = time.perf_counter() - began
            assert len(result.trace) > DUE - 2 * ROUNDS
            return spent / len(result.trace)

        decided = build_block(chain.state, ()).trace
        places = [
            (
                -one.numbers["effective_priority"],
                one.due_height,
                one.numbers["sequence"],
            )
            for one in decided
            if "rank" in one.numbers
        ]
        places.sort(key=lambda place: place[-1])  # as they are due

        def sort_only() -> float:
            began = time.perf_counter()
            sorted(places)
            return (time.perf_counter() - began) / len(places)

        looked, sorted_only = interleave(ROUNDS, look, sort_only)
    microseconds = median(looked) * 1e6
    row = Row(
        "a due timer looked at, sorted and put off",
        f"{microseconds:.1f} µs",
        f"the same list sorted, no more: {median(sorted_only) * 1e6:.2f} µs",
        f"< {LOOKED_AT_US_MAX} µs",
        microseconds < LOOKED_AT_US_MAX,
    )
    method = (
        f"A block with {DUE:,} due timers of {DUE_ACTORS} actors, 90 priorities, a "
        "third with a maximum fee and a third without a priority, and a lane for one "
        "fire; its whole time divided by the timers: orders, records, classification, "
        "weights, sorting, trace."
    )
    return Section("Auction: due timers", method, (row,))


def measure_auction_fires() -> Section:
    """The fires of the section on fires, under both rules in turn."""
    auction, fifo = interleave(
        FIRES_ROUNDS,
        lambda: fires_per_second(activations=_AUCTION),
        fires_per_second,
    )
    ratio = median_ratio(auction, fifo)
    row = Row(
        "fires of a trivial handler under `auction`",
        f"{median(auction):,.0f}/s",
        f"under `fifo`: {median(fifo):,.0f}/s; ratio {ratio:.2f}",
        f"≥ {FIRES_RATIO_MIN}x",
        ratio >= FIRES_RATIO_MIN,
    )
    method = "The blocks of the section on fires, under both rules in turn."
    return Section("Auction: fires", method, (row,))


def measure_fairness() -> Section:
    """An empty block beside a million actors that fired within the window."""
    store = MemoryStore()
    with Devnet(activations=_AUCTION, store=store) as chain:
        chain.mine(1_500)
        head = chain.height
        changes: dict[bytes, bytes | None] = {
            keys.RECENT_ACTORS: keys.height8(FIRING_ACTORS),
            keys.actors_with(1): keys.height8(FIRING_ACTORS),
        }
        for i in range(FIRING_ACTORS):
            actor = Address(i.to_bytes(20, "big"))
            changes[keys.fairness(head - i % 100, actor)] = keys.height8(1)
            changes[keys.recent_fires(actor)] = keys.height8(1)
        store.commit(WriteSet(changes))
        del changes
        gc.collect()
        with Devnet(activations=_AUCTION) as other:
            full, bare = interleave(
                ROUNDS, lambda: _empty_blocks(chain), lambda: _empty_blocks(other)
            )
    milliseconds = median(full) * 1_000
    row = Row(
        "empty block beside 1,000,000 actors that fired",
        f"{milliseconds:.3f} ms",
        f"without any: {median(bare) * 1_000:.3f} ms",
        f"< {QUIET_BLOCK_MS_MAX} ms",
        milliseconds < QUIET_BLOCK_MS_MAX,
    )
    method = (
        "`Devnet.mine()`, blocks one by one, none of them with a due timer; the "
        "entries are put into the store as they are, in memory."
    )
    return Section("Auction: fairness map", method, (row,))


def _empty_blocks(chain: Devnet) -> float:
    blocks = 100
    began = time.perf_counter()
    for _ in range(blocks):
        chain.mine()
    return (time.perf_counter() - began) / blocks
