"""The chain and literal models of all its rules, in worlds that switch them.

They share no code: see `timer_model` and `timer_world`. Random worlds come first, then
corners that chance does not find.
"""

import sys

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from node.testing import Devnet
from tests.differential import timer_crowd
from tests.differential.timer_crowd import NUMBERS, genesis
from tests.differential.timer_world import ALL, TimerWorld

BLOCKS = 18
WORLDS = settings(
    max_examples=settings.default.max_examples // 4,
    suppress_health_check=list(HealthCheck),
    # A world of 18 blocks does not shrink in minutes, nor to anything simpler.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
BOUNDS = {
    "WRITES_BEFORE_DEFERRED_STOP": (20_000, timer_crowd.KEYS_MAX),
    "OVERDUE_ACTORS_MAX": (1_000, timer_crowd.STARVED_MAX),
    "LEAVING_FIRES_MAX": (1_000, timer_crowd.LEAVING_MAX),
}
"""Of D43, D48 and D55: as they are, and made near."""


@pytest.fixture(autouse=True)
def _near_bounds(monkeypatch):
    timers = [m for n, m in sys.modules.items() if n.startswith("node.chain.timers")]
    for name, (bound, near) in BOUNDS.items():
        users = [module for module in timers if hasattr(module, name)]
        assert users
        for module in users:
            assert getattr(module, name) == bound
            monkeypatch.setattr(module, name, near)


@pytest.mark.parametrize("rules", [*((name,) for name in ALL[1:]), ALL], ids="+".join)
@WORLDS
@given(crowd=st.randoms(use_true_random=False))
def test_the_chain_does_what_the_model_says(rules, crowd):
    """D8, D26 to D36, D43 to D56 at the level of blocks, and D1 between them."""
    pick = crowd.randrange
    numbers, arguments = genesis(pick, rules)
    with Devnet(**arguments) as chain:
        world = TimerWorld(chain, pick, rules, numbers)
        for _ in range(BLOCKS):
            world.step()


@pytest.fixture
def boxed():
    """A world under `globalbox`, in which nothing is left to chance."""

    def first(_count):
        return 0

    _, arguments = genesis(first, ("globalbox",))
    with Devnet(**arguments) as chain:
        world = TimerWorld(chain, first, ("globalbox",), NUMBERS)
        while chain.height < 5:
            world.play()
        yield world


def test_a_nonce_of_what_is_materialized_and_has_not_started(boxed):
    """D50: its timer lives until it starts."""
    terms = {"client_nonce": b"1", "limit": 60_000}
    early = boxed.packed("timeout", "a", 9, [], terms)
    again = boxed.packed("timeout", "a", 3, [], terms)
    boxed.play(
        (
            "a",
            [
                boxed.packed("timeout", "a", 1, [early], {"bid": 9, "limit": 60_000}),
                boxed.packed("timeout", "a", 1, [again, again], terms),
            ],
        )
    )
    told = boxed.play()
    results = [fire.results for fire in told.fires]
    timer_id = told.fires[1].timer_id
    assert results == [[timer_id], [timer_id, timer_id]]
    assert boxed.model.find(timer_id).due == boxed.model.height + 3


def test_what_is_done_to_materialized_watches(boxed):
    """D53, D54: their records change, and may go; their fires do not."""
    quick = {"limit": 60_000}
    watch = ["watch", "a", [b"k"], [["toggle", b"m"]], quick | {"client_nonce": b"1"}]
    boxed.play(("a", [boxed.packed(*watch)]))
    (second,) = [timer.id for timer in boxed.model.timers]
    actions = {
        "update": [boxed.packed("update", second, [["burn", 0]], {"bid": 2**97})],
        "extend": [["extend", second, 3]],
        "replace": [["cancel", second], boxed.packed(*watch)],
        "cancel": [["cancel", second]],
    }
    for action in actions.values():
        first = boxed.packed("timeout", "a", 1, action, quick | {"bid": 2**100})
        boxed.play(("a", [first]))
        told = boxed.play(("a", [["toggle", b"k"]]))
        assert [fire.timer_id for fire in told.fires][1:] == [second]
        assert not any(type(one) is str for one in told.fires[0].results)
        assert told.fires[1].trigger["kind"] == "STATE_WATCH"
    assert boxed.model.timers == []


@pytest.mark.parametrize("is_set_again", [False, True])
def test_of_a_watch_that_is_gone_only_the_money_comes_back(boxed, is_set_again):
    """D54: a gate refuses its fire after an earlier fire cancelled it."""
    terms = {"limit": 60_000, "client_nonce": b"1"}
    watch = boxed.packed("watch", "a", [b"k"], [], terms)
    boxed.play(("a", [watch]))
    (second,) = [timer.id for timer in boxed.model.timers]
    does = [["fill", timer_crowd.KEYS_MAX, 0], ["cancel", second]]
    does += [watch] * is_set_again
    boxed.play(("a", [boxed.packed("timeout", "a", 1, does, {"bid": 2**100})]))
    told = boxed.play(("a", [["toggle", b"k"]]))
    assert told.materialized[1:] == [second]
    assert len(told.fires) == 1
    assert len(boxed.model.timers) == is_set_again
    assert boxed.model.queue == {}


def test_watches_in_circles(boxed):
    """D51: each wakes the next, a block later, and all of them pay."""
    for name, other in ("ac", "ce", "ea"):
        key = [boxed.addresses[other], b"k"]
        watch = ["watch", name, [key], [["toggle", b"k"]], {"limit": 60_000}]
        boxed.play((name, [boxed.packed(*watch)]))
    boxed.play(("a", [["toggle", b"k"]]))
    fired = [fire.target for _ in range(6) for fire in boxed.play().fires]
    assert fired == list("caecae")


def test_bids_that_nobody_can_pay(boxed):
    """D53: removed with their event, a watch too, and no place is wasted."""
    most = {"bid": 2**128 - 1, "limit": 60_000}
    boxed.play(
        (
            "a",
            [
                boxed.packed("timeout", "a", 1, [], most),
                boxed.packed("watch", "a", [b""], [], most),
                boxed.packed("timeout", "c", 1, [], {"limit": 60_000}),
            ],
        )
    )
    told = boxed.play(("a", [["toggle", b"k"]]))
    assert [topic for topic, _ in told.events] == [
        "TimerCancelledInsufficientFunds"
    ] * 2
    assert [fire.target for fire in told.fires] == ["c"]


def test_everything_is_lowered_while_the_queue_is_full(boxed):
    """D56: limits, quotas, lanes and bounds; what is queued goes on as it can."""
    does = [["burn", 0], ["toggle", b"k"]]
    timers = [
        boxed.packed("timeout", target, 1, does, {"limit": 80_000})
        for target in "aacce"
    ]
    boxed.play(("a", timers), ("e", timers))
    boxed.play()
    assert boxed.model.queue
    lower = {
        "fires_max": 1,
        "fires_per_target": 1,
        "timers_per_target": 1,
        "w_age": 1,
        "w_bid": 2**64 - 1,
        "gas_min": 100_000,
        "bid_min": 2**100,
        "bid_max": 2**100,
        "keys_of_watch_max": 1,
        "hits_max": 1,
        "payload_max": 1,
    }
    boxed.change("globalbox", lower)
    boxed.play()
    boxed.change("timer", {"lane": 40_000, "cap": 40_000, "cap_auction": 30_000})
    boxed.change("timer", {"examined_max": 1, "timers_max": 1, "ttl": 1})
    while boxed.model.queue:
        assert len(boxed.play(("a", timers[:2])).fires) == 1


def test_leaving_takes_as_many_blocks_as_it_must(boxed):
    """D55: so many a block, the head first; what is left is there on the way back."""
    timers = [
        boxed.packed("timeout", "a", 1, [["toggle", b"k"]], {"limit": 120_000})
        for _ in range(6)
    ]
    watch = boxed.packed("watch", "a", [b"j"], [], {"limit": 120_000})
    boxed.activate("fifo", 5)
    boxed.activate("auction", 5)
    boxed.activate("globalbox", 5)
    boxed.play(("e", [watch, *timers]))
    boxed.play(("e", [["toggle", b"j"]]))
    left = []
    while boxed.model.timers[1:]:
        left.append(len(boxed.model.queue))
        boxed.play()
    assert left[:3] == [5, 3, 1]


def test_what_a_transaction_cancels_leaves_its_turn_to_the_next(boxed):
    """D55, D2: the queue is emptied before the timers, and after the transactions."""
    quick = {"limit": 120_000}
    timers = [boxed.packed("timeout", "a", 1, [], quick) for _ in range(7)]
    boxed.activate("fifo", 3)
    boxed.play(("e", timers))
    boxed.play()
    places = boxed.model.queue
    head, *behind = sorted(places, key=lambda timer_id: places[timer_id].key)
    assert len(behind) > timer_crowd.LEAVING_MAX
    boxed.play(("e", [["cancel", head]]))
    left = sorted(places, key=lambda timer_id: places[timer_id].key)
    assert left == behind[timer_crowd.LEAVING_MAX :]
