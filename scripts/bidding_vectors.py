"""Vectors of the rules `bidding`: bids, folds of weights, order and slices.

As all vectors they hold no price of the actor language: nothing is executed.
"""

from itertools import product

from chain_vectors import Json
from msgspec import Struct
from msgspec.structs import asdict

from node.chain.params import WEIGHT_NEUTRAL, BiddingConfig, TimerConfig
from node.chain.timers.gba import fill_bid
from node.chain.timers.weights import ActorWeight, FireSums, Overdue, Scale
from node.primitives.types import Amount, Height

EPOCH_LENGTH = 100
LANE = TimerConfig().lane_timer_cycles


def bidding_vectors() -> Json:
    """One list a rule; amounts are decimal strings."""
    return {
        "bid": _bids(),
        "fold": _folds(),
        "rest": _rests(),
        "order": _order(),
    }


def _bids() -> Json:
    """What is paid above the cycle basefee; a bid that is not stated is the default."""
    fees: tuple[int | None, ...] = (None, 1_000, 1_050, 2**128 - 1)
    tips: tuple[int | None, ...] = (None, 0, 70, 2**128 - 1)
    bids = list[Json]()
    for fee, tip in product(fees, tips):
        bid = fill_bid(
            None if fee is None else Amount(fee),
            None if tip is None else Amount(tip),
            1_000,
            0,
        )
        bids.append(
            {
                "basefee_cycle": "1000",
                "max_fee_per_cycle": None if fee is None else str(fee),
                "tip_per_cycle": None if tip is None else str(tip),
                "effective_tip": str(bid.priority(1_000)),
            }
        )
    return bids


def _folds() -> Json:
    sums = (
        FireSums(),
        FireSums(1, 0, 2_000, 0),
        FireSums(3, 10, 5_000_000, 30),
        FireSums(400, 2**100, LANE * EPOCH_LENGTH, 100_000),
    )
    waits = Overdue(), Overdue(1, 1), Overdue(900, 40_000)
    configs = BiddingConfig(), BiddingConfig(1_000, 1, 2**40, 1_000_000)
    folds = list[Json]()
    for config, done, waited, everybody in product(
        configs, sums, waits, (None, 0, 3, 2**90)
    ):
        record = ActorWeight(Height(5), WEIGHT_NEUTRAL - 7, done)
        weight = Scale(config, EPOCH_LENGTH, LANE).fold(record, everybody, waited)
        folds.append(
            {
                "config": {name: str(n) for name, n in asdict(config).items()},
                "epoch_length": EPOCH_LENGTH,
                "lane": LANE,
                "weight": record.weight,
                "fires": {name: str(n) for name, n in asdict(done).items()},
                "overdue": asdict(waited),
                "mean_tip": None if everybody is None else str(everybody),
                "next_weight": str(weight),
            }
        )
    return folds


def _rests() -> Json:
    scale = Scale(BiddingConfig(), EPOCH_LENGTH, LANE)
    return [
        {"weight": weight, "epochs": epochs, "after": scale.rest(weight, epochs)}
        for weight in (250_000, 999_999, 1_000_000, 2_000_000)
        for epochs in (0, 1, 2, 39, 40, 41, 10**6)
    ]


class _Candidate(Struct):
    actor: str
    tip: int
    weight: int
    due: int
    sequence: int


def _order() -> Json:
    """At height 50 the order of candidates, and each actor's slice of the lane."""
    height = 50
    found = [
        _Candidate("a", 0, 1_000_000, 50, 7),
        _Candidate("b", 0, 1_500_000, 50, 8),
        _Candidate("a", 0, 1_000_000, 49, 5),
        _Candidate("c", 9, 250_000, 50, 9),
        _Candidate("d", 0, 2_000_000, 49, 3),
        _Candidate("b", 0, 1_500_000, 50, 6),
        _Candidate("d", 2**100, 2_000_000, 50, 4),
    ]

    def place(one: _Candidate) -> tuple[int, ...]:
        waited = one.weight * (height - one.due + 1)
        return -one.tip, -waited, one.due, one.sequence

    weights = {one.actor: one.weight for one in found}
    total = sum(weights.values())
    return {
        "height": height,
        "lane": LANE,
        "candidates": [
            {
                "actor": one.actor,
                "effective_tip": str(one.tip),
                "weight": one.weight,
                "due_height": one.due,
                "sequence": one.sequence,
            }
            for one in found
        ],
        "order": [one.sequence for one in sorted(found, key=place)],
        "slices": {actor: LANE * w // total for actor, w in weights.items()},
    }
