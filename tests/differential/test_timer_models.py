"""The models alone: the numbers that the decisions themselves print, by hand.

So that a model and the chain do not err alike. See `timer_model`.
"""

from collections import defaultdict
from dataclasses import replace

import pytest

from tests.differential.auction_model import AuctionModel
from tests.differential.bidding_model import (
    BiddingModel,
    Record,
    Starved,
    weight_in,
)
from tests.differential.fifo_model import FifoModel
from tests.differential.globalbox_model import GlobalboxModel, age_of, place_key
from tests.differential.timer_model import Fixed, Model, Numbers, Use, keccak256

NUMBERS = Numbers(
    lane=2_000_000,
    cap=550_000,
    cells_max=550_000,
    examined_max=10_000,
    agents_lane=10_000_000,
    ttl=10_000,
)
FREE = Use(0, 0, is_success=True)
EPOCH = 100
IN_FORCE = NUMBERS, EPOCH


class Played:
    """A model whose fires use a part of their limits."""

    def __init__(self, rules, actors="ab", numbers=NUMBERS, **fixed):
        addresses = {n: bytes([i]) * 20 for i, n in enumerate(actors, 1)}
        kinds = (FifoModel, AuctionModel, BiddingModel, GlobalboxModel)
        self.model = Model(
            Fixed(addresses, dict.fromkeys(actors, "s"), **fixed),
            numbers,
            dict.fromkeys(actors, 10**30),
            {kind.name: kind for kind in kinds},
        )
        self.model.activations[1] = rules
        self.model.answers = {name: [2**64, 0] for name in actors}
        self.told = []

    def block(self, *sent, used=1.0):
        """Transactions as (actor, actions), then the timers; what they came to."""
        self.model.begin(b"root")
        results = [self.model.transact(who, does, FREE, "s") for who, does in sent]
        return results, self.finish_block(used)

    def finish_block(self, used=1.0):
        told = self.model.run(
            lambda _: Use(2_000, 0, is_success=True),
            lambda _: Use(
                int(self.model.told.fires[-1].limit * used), 0, is_success=True
            ),
        )
        self.told.append(told)
        return told


def timer(ahead=1, does=(), **terms):
    return ["timer", ahead, list(does), {"packed": b"", **terms}]


def timeout(target, ahead=1, **terms):
    return ["timeout", target, ahead, [], {"packed": b"", **terms}]


def watch(target, *keys, **terms):
    return ["watch", target, list(keys), [], {"packed": b"", **terms}]


# --- bidding --------------------------------------------------------------------------


@pytest.mark.parametrize("length", [100, 400])
def test_equal_actors_at_no_tip_wait_three_blocks(length):
    """D46: twenty of them, eight places a block: some 240 fires in 600 blocks each."""
    actors = [f"a{number}" for number in range(20)]
    played = Played("bidding", actors, epoch_length=length, targets=(10**9, 10**9))
    again = {actor: timer(agent=actor, limit=250_000) for actor in actors}
    for one in again.values():  # each fire sets the next one
        one[2].append(one)
    played.block(*((actor, [one]) for actor, one in again.items()))
    waits = defaultdict(list)
    for _ in range(600):
        owners = {one.id: (one.owner, one.due) for one in played.model.timers}
        for fire in played.block()[1].fires:
            owner, due = owners[fire.timer_id]
            waits[owner].append(played.model.height - due + 1)
    assert all(220 < len(one) < 260 for one in waits.values())
    assert max(max(one) for one in waits.values()) == 3


def test_a_weight_stands_for_its_epoch():
    """D48: of its own epoch as it stands, without any record neutral."""
    record = Record(written=512, weight=1_234_567, fires=9, tips=9)
    assert weight_in(5, record, {}, Starved(), IN_FORCE) == 1_234_567
    assert weight_in(5, None, {}, Starved(), IN_FORCE) == 1_000_000


def test_the_score_of_an_epoch_with_fires():
    """D48: price, deferral, lateness and thrift, each of a million."""
    record = Record(
        written=512, weight=1_000_000, fires=4, tips=13, cycles=50_000_000, lateness=66
    )
    price = 1_000_000 * 3 // (3 + 5)  # 13 // 4 = 3 against 5
    deferred = 1_000_000 * 2 // 6
    late = 1_000_000 * 12 // (12 + 16)  # (66 + 6) // 6 = 12
    thrift = 1_000_000 - 250_000  # a quarter of 2,000,000 * 100
    score = (price + deferred + late + thrift) // 2
    assert (price, deferred, late, score) == (375_000, 333_333, 428_571, 943_452)
    weight = (800 * 1_000_000 + 200 * score) // 1_000
    assert weight_in(6, record, {5: 5}, Starved(2, 6), IN_FORCE) == weight == 988_690


def test_a_price_without_comparison_is_half():
    """D48: 500,000 if both are 0, or the epoch is no longer in everybody's two."""
    record = Record(written=512, weight=1_000_000, fires=1, tips=900)
    score = (500_000 + 0 + 0 + 1_000_000) // 2
    expected = (800 * 1_000_000 + 200 * score) // 1_000
    assert weight_in(6, record, {4: 900}, Starved(), IN_FORCE) == expected == 950_000
    untipped = replace(record, tips=0)
    assert weight_in(6, untipped, {5: 0}, Starved(), IN_FORCE) == expected


def test_the_starved_get_the_floor():
    """D48: without fires and with overdue candidates, at least the floor."""
    assert weight_in(6, None, {}, Starved(3, 300), IN_FORCE) == 1_500_000
    low = Record(written=150, weight=250_000)
    assert weight_in(6, low, {}, Starved(1, 1), IN_FORCE) == 1_500_000
    high = Record(written=512, weight=2_000_000)
    score = (500_000 + 1_000_000 + 1_000_000 * 400 // 416 + 1_000_000) // 2
    expected = (800 * 2_000_000 + 200 * score) // 1_000
    assert weight_in(6, high, {}, Starved(1, 400), IN_FORCE) == expected


def test_idle_epochs_move_to_neutral():
    """D48: by λ, and after more than forty of them all the way."""
    record = Record(written=512, weight=2_000_000)  # an epoch without fires itself
    assert weight_in(6, record, {}, Starved(), IN_FORCE) == 1_800_000
    assert weight_in(7, record, {}, Starved(), IN_FORCE) == 1_640_000
    still = replace(NUMBERS, lambda_permille=0), EPOCH
    assert weight_in(46, record, {}, Starved(), still) == 2_000_000
    assert weight_in(47, record, {}, Starved(), still) == 1_000_000


def test_weights_stay_within_bounds():
    """D48: clamped to [weight_min, weight_max]."""
    swift = replace(NUMBERS, lambda_permille=1_000), EPOCH
    hungry = Record(written=512, weight=1_000_000, fires=1, cycles=200_000_000, tips=0)
    assert weight_in(6, hungry, {5: 9}, Starved(), swift) == 250_000
    late = Record(written=512, weight=1_000_000, fires=1, tips=10**9, lateness=10**9)
    score = weight_in(6, late, {5: 0}, Starved(99, 10**9), swift)
    assert score == (1_000_000 + 990_000 + 999_998 + 1_000_000) // 2


def test_who_cannot_pay_any_bid_sleeps_until_the_next_epoch():
    """D45: put off `funds`, then dormant while there is less than was noted."""
    played = Played("bidding", epoch_length=10)
    model = played.model
    model.balances["a"] = 1
    (got,), _ = played.block(("a", [timer(agent="a")]))
    _, told = played.block()
    assert told.put_off == [(got[0], "funds")]
    assert told.asked == []
    assert model.work_height() == 10
    assert played.block()[1].put_off == []
    enough = model.timers[0].poor[1]
    assert enough == 550_000 * 875 + 550_000 * 875
    model.balances["a"] = enough
    assert model.work_height() == 4
    assert played.block()[1].fires[0].timer_id == got[0]


def test_slices_then_price():
    """D46: within slices first, in the order of tips; then without them."""
    played = Played("bidding", numbers=replace(NUMBERS, lane=1_000_000))
    played.model.answers = {"a": [2**64, 9], "b": [2**64, 5]}
    (of_a, of_b), _ = played.block(
        ("a", [timer(agent="a", limit=250_000)] * 3),
        ("b", [timer(agent="b", limit=250_000)] * 3),
    )
    _, told = played.block()
    order = [fire.timer_id for fire in told.fires]
    assert order == [of_a[0], of_a[1], of_b[0], of_b[1]]
    assert told.put_off == [(of_b[2], "lane"), (of_a[2], "lane")]
    _, told = played.block()
    assert [fire.price[1] for fire in told.fires] == [9, 5]


def test_what_a_slice_leaves_goes_by_price():
    """D46, round 2: so no room is wasted."""
    played = Played("bidding", numbers=replace(NUMBERS, lane=1_000_000))
    played.model.answers = {"a": [2**64, 9], "b": [2**64, 5]}
    (of_a, of_b), _ = played.block(
        ("a", [timer(agent="a", limit=250_000)] * 4),
        ("b", [timer(agent="b", limit=250_000)]),
    )
    _, told = played.block()
    order = [fire.timer_id for fire in told.fires]
    assert order == [of_a[0], of_a[1], of_b[0], of_a[2]]
    assert told.put_off == [(of_a[3], "lane")]


def test_a_reset_holds_from_the_next_block():
    """D49: what was written at or below its height counts as none."""
    played = Played("bidding", epoch_length=4)
    for _ in range(6):
        played.block(("a", [timer(agent="a", limit=2_000)]))
    old = played.model.records["a"]
    assert (old.written, old.fires) == (6, 3)
    assert old.weight != 1_000_000
    played.model.begin(b"")
    played.model.reset_height = 7
    played.model.transact("a", [timer(agent="a", limit=2_000)], FREE, "s")
    played.finish_block()
    assert played.model.records["a"].fires == 4
    played.block()
    assert played.model.records["a"].weight == 1_000_000
    assert [one.fires for one in played.model.everybody] == [1]


# --- globalbox ------------------------------------------------------------------------


def test_a_block_of_age_weighs_as_much_as_a_bid_of_one():
    """D56: w_age 2^96, w_bid 1; D52: a tie goes to who waits longer."""
    played = Played("globalbox", numbers=replace(NUMBERS, fires_max=1))
    (bids,), _ = played.block(
        ("a", [timeout("a", 1), timeout("b", 1), timeout("a", 2, bid=2**96)])
    )
    played.block()
    _, told = played.block()
    scores = {timer_id: score for timer_id, score, _ in told.enqueued}
    assert scores == {bids[2]: 2**96}
    assert len(played.model.queue) == 1
    keys = [key for told in played.told for _, _, key in told.enqueued]
    assert len(keys) == 3
    first, second, third = keys
    assert first[:32] == second[:32] == third[:32]


def test_a_change_of_weights_moves_nobody():
    """D52: A(h) goes on from where it stands."""
    played = Played("globalbox")
    model = played.model
    model.height = 100
    assert age_of(model) == 100 * 2**96
    model.clock = age_of(model), 100
    model.numbers = replace(model.numbers, w_age=1)
    assert age_of(model) == 100 * 2**96
    model.height = 107
    assert age_of(model) == 100 * 2**96 + 7


def test_the_key_of_a_place():
    """D52, byte by byte."""
    key = place_key(5, 4, 7, (300, b"t" * 20, b"i" * 32))
    assert key[:32] == (2**255 - 5).to_bytes(32, "big")
    assert key[32:] == b"\xfb" + bytes([0, 0, 0, 7]) + bytes(6) + b"\x01\x2c" + (
        b"t" * 20 + b"i" * 32
    )


def test_targets_take_turns_among_equals():
    """D52: the cursor counts candidates of the same target before it."""
    played = Played("globalbox")
    (of_a, of_b), _ = played.block(("a", [timeout("a")] * 3), ("b", [timeout("b")] * 2))
    _, told = played.block()
    targets = [fire.target for fire in told.fires]
    assert targets == ["a", "b", "a"]
    assert [one for one, _ in told.put_off] in ([sorted(of_b)[1]], [sorted(of_a)[2]])


def test_a_full_target_shuts_nobody_out():
    """D53: it is passed over, and its fires keep their places."""
    played = Played("globalbox", numbers=replace(NUMBERS, fires_per_target=1))
    (of_a, of_b), _ = played.block(
        ("a", [timeout("a", limit=1_000, bid=2**100)] * 3),
        ("b", [timeout("b", limit=1_000)]),
    )
    _, told = played.block()
    assert [fire.timer_id for fire in told.fires] == [min(of_a), of_b[0]]
    assert told.put_off == []
    assert [f.target for f in played.block()[1].fires] == ["a"]


def test_a_watch_is_net_and_sees_nothing_of_its_own_block():
    """D51."""
    played = Played("globalbox")
    (got, _), told = played.block(
        ("a", [watch("b", b"k")]), ("a", [["set", b"k", b"0"]])
    )
    assert told.enqueued == []
    _, told = played.block(("a", [["set", b"k", b"1"], ["set", b"k", b"0"]]))
    assert told.enqueued == []
    _, told = played.block(("a", [["set", b"k", b"1"]]))
    (fire,) = told.fires
    assert (fire.timer_id, fire.target, fire.sender) == (got[0], "b", "a")
    height, seq = (3).to_bytes(8, "big"), bytes(4)
    assert fire.trigger == {
        "kind": "STATE_WATCH",
        "due_height": None,
        "hit_height": 3,
        "matched_keys": ((b"\x01" * 20, b"k"),),
        "deliver_id": keccak256(height, b"root", got[0], seq),
        "deliver_seq": 0,
        "fire_seq": 0,
    }
    assert played.model.find(got[0]).fire_seq == 1


def test_a_watch_that_changes_what_it_watches_fires_in_every_block():
    """D51: noted at the block's end, enqueued in the next."""
    played = Played("globalbox")
    does = [["fill", 1, 1], ["set", b"k", b"1"], ["drop", b"k2"]]
    played.block(("a", [["watch", "a", [b"k"], does, {"packed": b""}]]))
    played.block(("a", [["set", b"k", b"0"]]))
    assert len(played.told[-1].fires) == 1
    assert played.model.work_height() == 3
    assert len(played.block()[1].fires) == 1  # 0 became 1
    assert played.block()[1].fires == []  # 1 stays 1


def test_no_more_hits_than_the_bound():
    """D51: the rest is lost, and the first key not matched to its end is named."""
    played = Played("globalbox", numbers=replace(NUMBERS, hits_max=2))
    played.block(("a", [watch("a", b"k")] * 3 + [watch("a", b"")]))
    _, told = played.block(("a", [["set", b"k", b"1"], ["set", b"j", b"1"]]))
    assert len(told.fires) == 2
    assert told.events == [("WatchHitsPruned", (b"\x01" * 20, b"k"))]


def test_one_nonce_one_timer():
    """D50: while it lives, the call returns its id and changes nothing."""
    played = Played("globalbox")
    (got,), _ = played.block(
        ("a", [timeout("b", 2, client_nonce=b"n"), timeout("b", 5, client_nonce=b"n")])
    )
    expected = keccak256(b"client", b"\x01" * 20, b"\x02" * 20, b"n")
    assert got == [expected, expected]
    assert [one.due for one in played.model.timers] == [3]
    assert played.model.counters == {"a": 0, "b": 0}
    (other,), _ = played.block(("b", [timeout("b", 5, client_nonce=b"n")]))
    assert other != [expected]


def test_nothing_is_lost_between_rules():
    """D55: queued timers are due again, watches wait with the hit they had."""
    played = Played("globalbox", numbers=replace(NUMBERS, fires_max=1))
    model = played.model
    (got,), _ = played.block(("a", [timeout("b", 1, bid=2**100), watch("a", b"k")]))
    played.block(("a", [["set", b"k", b"1"]] + [timer(1)] * 2))
    assert [fire.timer_id for fire in played.told[-1].fires] == [got[0]]
    model.activations |= {3: "fifo", 5: "globalbox"}
    assert set(model.queue) == {got[1]}
    _, told = played.block()
    assert len(told.fires) == 2
    assert (set(model.queue), set(model.noted)) == (set(), {got[1]})
    assert model.noted[got[1]].height == 2
    assert played.block()[1].fires == []
    _, told = played.block()
    assert told.enqueued[0][1] == 3 * 2**96
    assert [fire.timer_id for fire in told.fires] == [got[1]]
