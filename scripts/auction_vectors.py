"""Vectors of the rules `auction`: prices, weights, bids, order, a chain that enters.

As all vectors they hold no price of the actor language: nothing is executed.
"""

from chain_vectors import Json, preset
from msgspec import Struct

from node.chain.fees import idle_lane_basefee, next_lane_basefee
from node.chain.genesis import build_genesis, parse_genesis
from node.chain.globals import load_globals
from node.chain.params import TIERS, TimerConfig
from node.chain.timers.fairness import network_median, note, weigh
from node.chain.timers.gba import fill_bid
from node.chain.timers.rules.auction import median_priority, tier_priorities
from node.chain.transition import build_next, next_state, open_state
from node.primitives.crypto import keccak256
from node.primitives.types import Address, Amount
from node.state.journal import Journal
from node.state.memory import MemoryStore

LANE = TimerConfig().lane_timer_cycles
ACTIVATION = 3


def auction_vectors() -> Json:
    """One list a rule; amounts are decimal strings."""
    return {
        "lane_basefee": _lane_basefees(),
        "idle_lane_basefee": [
            {
                "basefee": str(basefee),
                "heights": heights,
                "after": str(idle_lane_basefee(basefee, heights)),
            }
            for basefee in (1, 7, 1_000, 2**64)
            for heights in (0, 1, 2, 10, 10**6)
        ],
        "bid": _bids(),
        "median_priority": [
            {
                "priorities": [str(tip) for tip in tips],
                "median": str(median_priority(tips)),
            }
            for tips in ([], [4], [1, 4, 7, 20], [9, 1, 5], [2**100, 2**100 + 1])
        ],
        "tiers": _tiers(),
        "weight": _weights(),
        "order": [_order(tie_break) for tie_break in ("fair", "cip")],
        "chain": _chain(),
    }


def _lane_basefees() -> Json:
    uses = (0, 1, LANE * 7 // 16, LANE // 2 - 1, LANE // 2, LANE // 2 + 1, LANE)
    return [
        {
            "basefee": str(basefee),
            "used": used,
            "lane": LANE,
            "next": str(next_lane_basefee(basefee, used, LANE)),
        }
        for basefee in (1, 2, 7, 8, 1_000, 1_001, 80_000, 2**64)
        for used in (*uses, LANE * 9 // 16)
    ]


def _bids() -> Json:
    """What is stated, what the default agent makes of it, what is left of it."""
    fees = (None, 0, 999, 1_000, 1_500, 2**128 - 1)
    priorities = (None, 0, 40, 5_000)
    rows: list[Json] = []
    for fee in fees:
        for priority in priorities:
            bid = fill_bid(
                None if fee is None else Amount(fee),
                None if priority is None else Amount(priority),
                1_000,
                30,
            )
            rows.append(
                {
                    "stated_max_fee": None if fee is None else str(fee),
                    "stated_max_priority": None if priority is None else str(priority),
                    "basefee_lane": "1000",
                    "p50": "30",
                    "max_fee": str(bid.max_fee),
                    "max_priority": str(bid.max_priority),
                    "priority": str(bid.priority(1_000)),
                    "waits": bid.max_fee < 1_000,  # noqa: PLR2004 - the lane basefee
                }
            )
    return rows


def _tiers() -> Json:
    config = TimerConfig()
    return [
        {"p50": str(p50), "tier": tier, "max_priority": str(priority)}
        for p50 in (0, 1, 100, 10**12)
        for tier, priority in zip(TIERS, tier_priorities(config, p50), strict=True)
    ]


def _weights() -> Json:
    """Fires of actors within the window, their median, and each one's weight."""
    rows: list[Json] = []
    for fires in ([], [1], [2, 4], [1, 2, 4], [3, 3, 3, 10], [5, 1, 1, 1], [7] * 20):
        journal = Journal(MemoryStore().snapshot())
        note(journal, 1, {_actor(i): count for i, count in enumerate(fires)})
        median = network_median(journal)
        rows.append(
            {
                "fires": [str(count) for count in fires],
                "median": str(median),
                "weights_ppm": [weigh(count, median) for count in fires],
                "weight_ppm_of_another": weigh(0, median),
            }
        )
    return rows


def _actor(number: int) -> Address:
    return Address(number.to_bytes(20, "big"))


class _Due(Struct, frozen=True):
    priority: int
    weight_ppm: int
    due_height: int
    sequence: int
    scheduled_at: int
    timer_id: bytes


def _order(tie_break: str) -> Json:
    """Timers as they are due, and the places of their turns in that list (D33)."""
    offers = [
        *((5, 1_000_000), (4, 2_000_000), (8, 1_000_000), (0, 2_000_000)),
        *((0, 1_000_000), (0, 2_000_000), (4, 2_000_000), (5, 1_600_000)),
    ]
    terms = [
        (priority, weight, 50 + number % 2, number, 40 - number)
        for number, (priority, weight) in enumerate(offers)
    ]
    due = [_Due(*one, keccak256(b"timer %d" % one[3])) for one in terms]
    due.sort(key=lambda one: (one.due_height, one.sequence))

    def place(one: _Due) -> tuple[int | bytes, ...]:
        effective = one.priority * one.weight_ppm
        if tie_break == "cip":
            return -effective, one.timer_id, one.scheduled_at
        return -effective, -one.weight_ppm, one.due_height, one.sequence

    order = sorted(range(len(due)), key=lambda index: place(due[index]))
    return {
        "tie_break": tie_break,
        "due": [
            {
                "priority": str(one.priority),
                "weight_ppm": one.weight_ppm,
                "effective_priority": str(one.priority * one.weight_ppm),
                "due_height": one.due_height,
                "sequence": one.sequence,
                "scheduled_at": one.scheduled_at,
                "timer_id": one.timer_id.hex(),
            }
            for one in due
        ],
        "order": list(order),
    }


def _chain() -> Json:
    """Empty blocks and a run across an activation on genesis `devnet`, and back."""
    rules = [(0, "fifo"), (ACTIVATION, "auction"), (ACTIVATION + 30, "fifo")]
    activations = [{"height": height, "rules": name} for height, name in rules]
    genesis = parse_genesis(preset("devnet") | {"activations": activations})
    store = MemoryStore()
    first = build_genesis(genesis)
    store.commit(first.writes)
    state = open_state(genesis.params, first.header, store.snapshot())
    headers: list[Json] = []
    for span in (1, 1, 1, 1, 20, 8, 1, 1):
        result = build_next(state, (), span)
        store.commit(result.writes)
        state = next_state(state, result, store.snapshot())
        after = load_globals(store.snapshot())
        headers.append(
            {
                "height": str(result.header.height),
                "span": result.header.span,
                "basefee_lane": str(result.header.basefee_lane),
                "next_basefee_lane": str(after.basefee_lane),
                "state_root": result.header.state_root.hex(),
                "header": result.header.encode().hex(),
                "block_hash": result.header.hash().hex(),
            }
        )
    return {
        "activations": [
            {"height": str(height), "rules": name} for height, name in rules
        ],
        "state_root": first.header.state_root.hex(),
        "headers": headers,
    }
