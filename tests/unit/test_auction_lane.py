"""The contest for the lane as it is told: each number is what decided (D17, D28)."""

import pytest

from node.chain.timers import lane
from node.chain.timers.auction_lane import Contender
from node.chain.timers.timer import Decision
from node.query.explain import numbers
from node.testing import Devnet
from tests.spec.driven_actors import ALL, AUCTION, WORKER, fires, put_off, schedule_all

LANE = 2_000_000


def auction(**overrides):
    return Devnet(**AUCTION, **overrides)


@pytest.fixture
def chain():
    with auction() as chain:
        yield chain


def stated(priority, limit=250_000, fee=9_000):
    return {
        "max_fee_per_cycle": fee,
        "max_priority_fee_per_cycle": priority,
        "gas_limit": limit,
    }


def crowd(chain, *terms, value="900 CBY", payload=ALL):
    """Timers of one actor at one height, which by default use all they may; ids."""
    actor = chain.deploy(WORKER, value=value)
    height = chain.height + 3
    ids = schedule_all(actor, *[(height, payload, one) for one in terms])
    chain.mine_until(height)
    return ids


def decision_of(chain, timer_id):
    (found,) = [d for d in chain.last.trace if d.timer_id == timer_id]
    return found


FULL = tuple(stated(priority) for priority in range(10, 19))


@pytest.mark.parametrize("limit", [250_000, 100_000, 1_000])
def test_d17_who_outbids_the_rival_by_one_fires_and_who_matches_it_waits(limit):
    """The rival's is the last place that would have done, for a limit of this size."""
    with auction() as chain:
        ids = crowd(chain, *FULL, stated(1, limit))
        lost = decision_of(chain, ids[-1])
    assert (lost.decision, lost.reason) == (Decision.PUT_OFF, "lane")
    numbers = lost.numbers
    assert numbers["marginal_priority"] % numbers["weight_ppm"] == 0
    price = numbers["marginal_priority"] // numbers["weight_ppm"]
    assert ids[price - 10] == lost.rival
    for priority, expected in ((price + 1, "fired"), (price, "put_off")):
        with auction() as chain:
            ids = crowd(chain, *FULL, stated(priority, limit))
            assert decision_of(chain, ids[-1]).decision == expected


def test_d17_a_turn_tells_what_decided_its_place(chain):
    """Offered, clamped, weighed, ranked: as CIP-1 §3 step 6 compares them."""
    ids = crowd(chain, stated(7), stated(5, fee=880), {"gas_limit": 250_000})
    basefee = chain.head.basefee_lane
    fired = [decision_of(chain, timer_id).numbers for timer_id in ids]
    assert [numbers["rank"] for numbers in fired] == [1, 2, 3]
    first, second, third = fired
    assert (first["max_fee"], first["max_priority"]) == (9_000, 7)
    assert first["basefee_lane"] == basefee
    assert first["weight_ppm"] == 2_000_000
    assert first["effective_priority"] == first["priority"] * 2_000_000 == 14_000_000
    assert second["priority"] == min(5, 880 - basefee) == 5
    assert (third["max_fee"], third["max_priority"]) == (2 * basefee, 0)
    assert {numbers["contenders"] for numbers in fired} == {3}
    assert "agent_answered" not in first


def test_d17_who_cannot_pay_is_told_at_what_price(chain):
    """Before its turn and at it: the priority is part of the cost (D29)."""
    (poor,) = crowd(chain, stated(8_000), value="1 CBY")
    numbers = decision_of(chain, poor).numbers
    assert (numbers["priority"], numbers["limit"]) == (8_000, 250_000)
    assert numbers["required"] > numbers["available"]
    assert "rank" not in numbers
    chain_ids = crowd(chain, stated(9), stated(8), value="1.2 CBY")
    assert decision_of(chain, chain_ids[1]).decision == "removed_insufficient_funds"
    assert decision_of(chain, chain_ids[1]).numbers["rank"] == 2


CELLS = """
import pvm_host

def arm(payload):
    for priority in range(4):
        pvm_host.schedule_timer(
            9, bytes([priority]), max_priority_fee_per_cycle=9 - priority
        )

def handle_timer(payload):
    for number in range(5):
        pvm_host.set_state(bytes([number]), b"x" * 60_000)
"""


def test_d8_cells_and_writes_gate_a_turn_and_the_place_is_told_too(monkeypatch):
    """300,000 cells a fire, cap 550,000: used 0, 300,000, 600,000 go; then none."""
    cap = {"max_cycles_per_fire_auction": 550_000}
    with auction(block_cells=1_400_000, timer_config=cap) as chain:
        actor = chain.deploy(CELLS, value="50 CBY", cells_limit=200_000)
        actor.call("arm", cells_limit=20_000)
        chain.mine_until(9)
        assert [d.decision.value for d in chain.last.trace] == ["fired"] * 3 + [
            "put_off"
        ]
        last = chain.last.trace[3]
        assert (last.reason, last.rival, last.numbers["rank"]) == ("cells", None, 4)
        assert (
            "the block had no room for its cells" in f"{chain.explain(last.timer_id)}"
        )
    monkeypatch.setattr(lane, "WRITES_BEFORE_DEFERRED_STOP", 1)
    with auction() as chain:
        ids = crowd(chain, stated(2), stated(1), payload=b"note it")
        other = decision_of(chain, ids[1])
    assert (other.reason, other.numbers["rank"]) == ("writes", 2)


def test_the_block_is_told_in_the_order_of_turns(chain):
    """ExplainBlock: judged in due order, then by rank; the lane's fill above it."""
    ids = crowd(chain, *[stated(priority) for priority in range(1, 12)])
    told = chain.explain_block(chain.height)
    assert [one.timer_id for one in told.due] == ids[::-1]
    contest = told.contest
    assert (contest.contenders, contest.fires, contest.put_off) == (11, 8, 3)
    assert (contest.highest, contest.marginal) == (22_000_000, 8_000_000)
    assert (contest.cycles_used, contest.lane) == (LANE, LANE)
    assert contest.basefee_lane == chain.head.basefee_lane
    assert put_off(chain.last, "lane") == ids[2::-1]
    text = f"{told}"
    assert "looked at 11 due timers." in text
    assert "went from 22 down to 8, the price of the last place" in text
    assert chain.explain_block(1).contest is None
    chain.mine()
    assert chain.explain_block(chain.height).contest.marginal is None
    assert "nobody was put off" in f"{chain.explain_block(chain.height)}"


def test_a_life_reads_like_a_sentence(chain):
    """`timers why`: rank, offer, weight, who took the place, and what would have."""
    ids = crowd(chain, *[stated(priority) for priority in range(1, 12)])
    told = f"{chain.explain(ids[0])}"
    basefee = chain.head.basefee_lane
    assert (
        "put off: it came 11th of 11 by an effective priority of 2 (1 a cycle above "
        f"the lane's basefee of {basefee:,}, times its actor's weight of 2), and the "
        "timers before it used 2,000,000 of the lane's 2,000,000 cycles, too many for "
        "the 250,000 that it may use; the last place that would have done went to "
        f"timer 0x{ids[3].hex()} at 8, so 5 a cycle would have won it."
    ) in told
    assert "3rd of 3 known to compete" in told
    chain.mine()
    assert (
        "fired: it came 3rd of 3 by an effective priority of 1 "
        in f"{chain.explain(ids[0])}"
    )


def test_a_clamped_offer_and_an_agent_are_told(chain):
    """What the maximum fee leaves; who made the bid (CIP-1 §7)."""
    source = WORKER + (
        "\n    def get_gas_bid(self, context):\n"
        "        return [context['basefee_lane_timer'] + 4, 90]\n"
    )
    actor = chain.deploy(source, value="90 CBY")
    mute = chain.deploy(WORKER, value="90 CBY")
    height = chain.height + 3
    (bid,) = schedule_all(actor, (height, b"", {"gba": actor.address}))
    (silent,) = schedule_all(mute, (height + 1, b"", {"gba": mute.address}))
    chain.mine_until(height)
    assert (
        f"all that its maximum fee of {chain.head.basefee_lane + 4:,} leaves of the 90 "
        "offered, as its agent bid, times"
    ) in f"{chain.explain(bid)}"
    assert fires(chain.last)[0].price.cycle_tip == 4
    chain.mine_until(height + 1)
    assert "by default since its agent was not heard" in f"{chain.explain(silent)}"


def test_why_one_gets_no_turn_is_told(chain):
    """Over the cap, or a maximum fee below the lane's basefee: nobody outbids that."""
    actor = chain.deploy(WORKER, value="900 CBY")
    height = chain.height + 3
    full = [(height, ALL, stated(9))] * 40
    (low, *_) = schedule_all(
        actor, (height + 2, b"", stated(0, fee=chain.head.basefee_lane)), *full
    )
    chain.mine_until(height + 3)
    place = chain.standing(low)
    assert (place.rank, place.standing.waits_for) == (None, "lane_basefee")
    assert place.height > chain.height + 1
    told = f"{chain.explain(low)}"
    assert "It gets no turn whatever others offer: its maximum fee of " in told


@pytest.mark.parametrize("number", [1, 2, 3, 4, 10, 11, 12, 13, 21, 102, 112, 1_003])
def test_ordinals(number):
    wanted = {1: "1st", 2: "2nd", 3: "3rd", 21: "21st", 102: "102nd", 1_003: "1,003rd"}
    shown = numbers.ordinal(number)
    assert shown == wanted.get(number, f"{number:,}th")


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (1_500_000, "1.5"), (2_000_000_000, "2,000"), (1, "0.000001")],
)
def test_parts_per_million(number, text):
    assert numbers.ppm_text(number) == text


def test_effective_is_the_place():
    """The key that sorts is the number that is told."""
    assert Contender((-14, -2), None, 1, 0, None, 2, None).effective == 14
