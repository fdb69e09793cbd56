"""Examples whose timers wait for room, each under every rule set of the chain.

Where rules ask agents (`auction`, `bidding`), the examples bid; where they do not, the
same source is served in its turn. Every chain ends with the supply equation recounted
(D10), and every figure that an example's header states is measured.
"""

import json
import re

import pytest

from node.chain.block import ReceiptKind
from node.chain.timers.rules import RULE_SETS
from node.primitives import codec
from node.state import keys
from node.testing import Devnet, TransactionFailed
from tests.unit.test_examples import (
    assert_costs,
    hexed,
    is_about,
    packed,
    refused,
    source,
)

CBY = 10**9
ASKING = [name for name in ("auction", "bidding") if name in RULE_SETS]
"""Rules that ask agents."""


@pytest.fixture(params=RULE_SETS)
def rules(request):
    return request.param


@pytest.fixture
def chain(rules):
    with open_chain(rules) as devnet:
        yield devnet
        assert devnet.supply().is_balanced


def open_chain(rules, **overrides):
    return Devnet(
        activations=[{"height": 0, "rules": rules}],
        basefee_config={"min_basefee": 1_000},
        **overrides,
    )


@pytest.fixture
def people(chain):
    return chain.accounts


def of_kind(chain, kind):
    return chain.receipts(kind)


def fires(chain):
    found = of_kind(chain, ReceiptKind.FIRE)
    assert not [r.failure for r in found if r.failure]
    return found


def questions(chain):
    return of_kind(chain, ReceiptKind.AGENT)


def answer(actor, handler, payload=b""):
    return codec.decode(actor.read(handler, payload))


def assert_question_costs(name, receipt):
    """What the header says of a question to the agent."""
    stated = re.search(r"agent:\s+about\s+([\d,]+)\s+cycles", source(name))
    assert is_about(receipt.cycles_used, int(stated[1].replace(",", "")))


def assert_asked_only_where_agents_are(chain, rules):
    assert bool(questions(chain)) == (rules in ASKING)
    assert not chain.events("GbaFailed")


@pytest.mark.parametrize(
    ("name", "refusal"),
    [("heartbeat", "GbaRequired"), ("heartbeat_deployer_funded", "fee_payer")],
)
def test_bidding_refuses_the_timers_of_other_examples(name, refusal):
    """D44, as docs/language.md says: without an agent, or at another's cost."""
    with (
        open_chain("bidding") as chain,
        pytest.raises(TransactionFailed, match=refusal),
    ):
        chain.deploy(source(name), value="5 CBY")


# --- the oracle that bids -------------------------------------------------------------


@pytest.fixture
def oracle(chain, people):
    reporters = [hexed(who) for who in people[1:3]]
    wanted = packed(reporters=reporters, blocks=20)
    return chain.deploy(source("bidding_oracle"), payload=wanted, value="20 CBY")


def report(oracle, people, *prices):
    return [
        oracle.call("report", str(price).encode(), sender=who)
        for who, price in zip(people[1:], prices, strict=False)
    ]


def test_the_oracle_bids_the_more_the_further_prices_moved(
    chain, people, oracle, rules
):
    report(oracle, people, 1_000, 1_000)
    chain.advance(next_timer=True)
    assert answer(oracle, "price") == {"price": 1_000, "height": chain.height}
    (reporting, _) = report(oracle, people, 1_100, 1_100)
    chain.advance(next_timer=True)
    assert answer(oracle, "price")["price"] == 1_100
    tips = [fire.price.cycle_tip for fire in fires(chain)]
    assert tips == ([0, 100 * 20] if rules in ASKING else [0, 0])
    assert_asked_only_where_agents_are(chain, rules)
    assert_costs("bidding_oracle", {"report": reporting, "fire": fires(chain)[-1]})
    for question in questions(chain)[-1:]:
        assert_question_costs("bidding_oracle", question)


def test_the_oracle_pays_no_more_than_its_most(chain, people, oracle, rules):
    """FEE_MAX bounds the bid, whatever happens to the reports."""
    report(oracle, people, 1, 1)
    chain.advance(next_timer=True)
    report(oracle, people, 10**18, 10**18)
    chain.advance(next_timer=True)
    last = fires(chain)[-1].price
    assert last.lane_burn + last.cycle_tip <= 20_000
    assert (last.cycle_tip > 15_000) == (rules in ASKING)


def test_strangers_report_nothing_and_start_nothing(people, oracle):
    assert refused(oracle, "report", b"5") == "only a reporter reports"
    assert refused(oracle, "report", b"0", sender=people[1]) == (
        "a price is an integer above 0"
    )
    assert refused(oracle, "start") == "the oracle runs already"
    assert refused(oracle, "handle_timer") == "only a timer calls this"
    assert refused(oracle, "price") == "no price was published yet"


# --- the game loop --------------------------------------------------------------------


@pytest.fixture
def game(chain):
    return chain.deploy(source("game_loop"), value="20 CBY")


def test_moves_are_made_on_the_beat_and_coins_are_found(chain, people, game, rules):
    joining = game.call("join", sender=people[1])
    start = chain.height
    game.call("join", sender=people[2])
    name = people[1].address.hex()
    while not answer(game, "board")["players"][name]["coins"]:
        board = answer(game, "board")
        is_below = board["players"][name]["at"][0] == board["coin"][0]
        move = b"south" if is_below else b"east"
        moving = game.call("move", move, sender=people[1])
        chain.advance(next_timer=True)
        assert (chain.height - start) % 5 == 0, "ticks come on the beat"
    assert people[1].address in [event.data for event in chain.events("coin")]
    board = answer(game, "board")
    assert board["ticks"] == len(fires(chain))
    assert board["missed"] == 0
    assert board["players"][people[2].address.hex()]["at"] == [0, 0]
    assert_asked_only_where_agents_are(chain, rules)
    tick = min(fires(chain)[1:], key=lambda fire: fire.cycles_used)  # without a coin
    measured = {"join": joining, "move": moving, "fire": tick}
    assert_costs("game_loop", measured)
    for question in questions(chain)[:1]:
        assert_question_costs("game_loop", question)


def test_a_late_tick_is_played_once_and_the_beat_stays(chain, people, game, rules):
    """Twelve full lanes are due before the second beat.

    Under `bidding` the game has a slice of its own, and no beat is lost.
    """
    game.call("join", sender=people[1])
    start = chain.height
    blocker = chain.deploy(BLOCKER, value="9000 CBY")
    blocker.call("fill", codec.encode([start + 5, 12]))
    chain.mine(30)
    heights = fires_of(chain, game)
    late = [(height - start) % 5 for height in heights]
    assert any(late) == (rules != "bidding")
    board = answer(game, "board")
    assert board["ticks"] == len(heights)
    assert board["missed"] == (heights[-1] - start) // 5 - len(heights)
    assert (game.timers[0].height - start) % 5 == 0


BLOCKER = """
import pvm_host

def fill(payload):
    height, blocks = pvm_host.cbor_decode(payload)
    for number in range(8 * blocks):
        pvm_host.schedule_timer(
            height,
            number.to_bytes(2, "big"),
            gas_limit=250_000,
            gba=pvm_host.self_address(),
        )

def handle_timer(payload):
    pvm_host.charge_gas(pvm_host.gas_left() - 10)

def get_gas_bid(context):
    return {
        "max_fee_per_cycle": 100_000,
        "max_priority_fee_per_cycle": 5_000,
        "tip_per_cycle": 5_000,
    }
"""
"""Timers that use the whole lane, and would pay ten times what the examples would."""


def fires_of(chain, actor):
    """Heights."""
    return [
        result.header.height
        for result in chain.results
        for receipt in result.receipts
        if receipt.kind is ReceiptKind.FIRE and receipt.actor == actor.address
    ]


def test_an_empty_board_costs_nothing(chain, people, game):
    assert refused(game, "start") == "the game runs, or nobody plays"
    assert refused(game, "leave") == "you do not play"
    game.call("join", sender=people[1])
    assert refused(game, "join", sender=people[1]) == "you play already"
    assert refused(game, "move", b"up", sender=people[1]) == (
        "a move is north, east, south or west"
    )
    assert refused(game, "move", b"north") == "join first"
    game.call("leave", sender=people[1])
    chain.mine(30)
    assert len(fires(chain)) == 1
    assert game.timers == []


# --- subscriptions --------------------------------------------------------------------

PRICE, PERIOD = 1_000_000, 300


@pytest.fixture
def service(chain):
    return chain.deploy(
        source("subscriptions"), payload=packed(price=PRICE, blocks=PERIOD)
    )


@pytest.fixture
def clock(chain, service):
    wanted = packed(actor=hexed(service), handler="collect", blocks=PERIOD)
    return chain.deploy(source("alarm_clock"), payload=wanted, value="40 CBY")


def deposits(chain, service):
    """Sum of what customers have paid in advance."""
    return sum(
        codec.decode(record)[0]
        for record in states(chain, service, b"customer:").values()
    )


def states(chain, actor, prefix):
    start = keys.storage(actor.address, prefix)
    found = chain.state.snapshot.range(start, keys.prefix_stop(start))
    return {key[len(start) :]: record for key, record in found}


def enroll(service, numbers, periods):
    names = ["0x" + number.to_bytes(20, "big").hex() for number in numbers]
    value = len(names) * periods * PRICE
    service.call("enroll", json.dumps(names).encode(), value=value)


def assert_each_period_is_charged_once(chain, service, count):
    for first in range(1_000, 1_000 + count, 200):
        enroll(service, range(first, min(first + 200, 1_000 + count)), 3)
    assert len(states(chain, service, b"customer:")) == count
    enrolled = chain.height
    for period in (1, 2, 3):
        earned = service.storage["earned"]
        assert earned == count * period * PRICE
        assert service.balance == deposits(chain, service) + earned
        chain.advance(height=enrolled + period * PERIOD + count // 20)
    assert len(chain.events("lapsed")) == count == len(set(chain.events("lapsed")))
    assert service.storage["customers"] == 0
    assert states(chain, service, b"due:") == {}
    service.call("withdraw")
    assert service.balance == 0


def test_one_timer_serves_more_customers_than_one_fire(chain, service, clock, rules):
    assert_each_period_is_charged_once(chain, service, 120)
    assert len(fires(chain)) >= 3 * 3
    assert {fire.payer for fire in fires(chain)} == {clock.address}
    assert_asked_only_where_agents_are(chain, rules)
    for question in questions(chain)[:1]:
        assert_question_costs("alarm_clock", question)


@pytest.mark.slow
def test_one_timer_serves_more_customers_than_an_actor_may_have_timers(
    chain, service, clock
):
    assert chain.params.timer_config.max_timers_per_actor < 3_000
    assert_each_period_is_charged_once(chain, service, 3_000)
    assert len(clock.timers) == 1


def test_a_customer_pays_tops_up_and_leaves(chain, people, service):
    alice = people[1]
    joining = service.call("subscribe", value=2 * PRICE, sender=alice)
    due = chain.height + PERIOD
    where = hexed(alice).encode()
    assert answer(service, "customer", where) == {"deposit": PRICE, "due": due}
    assert refused(service, "subscribe", value=PRICE, sender=alice) == (
        "is a customer already"
    )
    service.call("top_up", value=5, sender=alice)
    before = chain.balance(alice)
    leaving = service.call("cancel", sender=alice)
    assert chain.balance(alice) == before - leaving.fee + PRICE + 5
    assert service.balance == service.storage["earned"] == PRICE
    assert refused(service, "cancel", sender=alice) == "is no customer"
    assert refused(service, "top_up", value=5, sender=alice) == "is no customer"
    assert_costs("subscriptions", {"subscribe": joining, "cancel": leaving})


def test_anybody_may_collect_and_no_period_is_charged_twice(chain, people, service):
    service.call("subscribe", value=4 * PRICE, sender=people[1])
    due = chain.height + PERIOD
    service.call("subscribe", value=PRICE, sender=people[2])
    chain.mine(PERIOD)
    before = chain.balance(people[2])
    first = service.call("collect", sender=people[3])
    service.call("collect", sender=people[3])
    assert service.storage["earned"] == 3 * PRICE
    assert codec.decode(first.value) == due + PERIOD
    assert [event.data for event in chain.events("lapsed")] == [people[2].address]
    assert chain.balance(people[2]) == before
    assert refused(service, "withdraw", sender=people[1]) == (
        "only the merchant may do this"
    )


def test_a_subscription_refuses_what_does_not_add_up(people, service):
    message = f"a deposit is {PRICE} or more"
    assert refused(service, "subscribe", value=PRICE - 1) == message
    two = json.dumps([hexed(who) for who in people[1:3]]).encode()
    assert refused(service, "enroll", two, value=2 * PRICE + 1) == (
        "the value is not the same deposit for each"
    )
    assert refused(service, "enroll", b'["0x01"]', value=PRICE) == (
        "an address is 20 bytes"
    )
    assert refused(service, "enroll", two, value=2 * PRICE, sender=people[1]) == (
        "only the merchant may do this"
    )
    assert service.balance == 0


# --- the alarm clock ------------------------------------------------------------------

SLEEPER = """
import pvm_host

def wake(payload):
    if pvm_host.get_state(b"broken"):
        while True:
            pass
    pvm_host.emit_event("awake", b"")
    return pvm_host.cbor_encode(pvm_host.block_height() + 4)

def break_down():
    pvm_host.set_state(b"broken", b"1")
"""


@pytest.fixture
def sleeper(chain):
    return chain.deploy(SLEEPER)


@pytest.fixture
def waker(chain, sleeper):
    wanted = packed(actor=hexed(sleeper), handler="wake", blocks=10)
    return chain.deploy(source("alarm_clock"), payload=wanted, value="9 CBY")


def test_the_clock_wakes_another_when_it_asked_to_be_woken(chain, sleeper, waker):
    start = chain.height
    chain.mine(9)
    assert [h - start for h in fires_of(chain, waker)] == [1, 5, 9]
    assert len(chain.events("awake")) == 3
    assert sleeper.balance == 0


def test_the_clock_goes_on_when_the_other_fails(chain, sleeper, waker):
    sleeper.call("break_down")
    start = chain.height
    chain.mine(25)
    assert len(chain.events("not_woken")) == 3
    heights = fires_of(chain, waker)[-2:]
    assert heights[1] - heights[0] == 10
    assert chain.height - start == 25


@pytest.mark.parametrize("answer", ["'soon'", "bytes(60_000)", "cbor", "None", "-5"])
def test_the_clock_goes_on_whatever_the_other_answers(chain, answer):
    """Nor can whom it wakes start it a second time."""
    given = "pvm_host.cbor_encode(['a', 1])" if answer == "cbor" else answer
    strange = chain.deploy(
        "def wake(payload):\n"
        "    try:\n"
        "        pvm_host.call_actor(pvm_host.get_sender(), 'start', b'')\n"
        "    except pvm_host.RevertError:\n"
        "        pass\n"
        f"    return {given}\n"
    )
    wanted = packed(actor=hexed(strange), handler="wake", blocks=10)
    clock = chain.deploy(source("alarm_clock"), payload=wanted, value="9 CBY")
    chain.mine(25)
    assert len(fires(chain)) == 3
    assert len(clock.timers) == 1


def test_the_clocks_money_comes_back_to_its_owner(people, waker):
    assert refused(waker, "withdraw", sender=people[1]) == "only the owner may do this"
    assert refused(waker, "start") == "the clock runs already"
    waker.call("withdraw")
    assert waker.balance == 0
    assert waker.timers == []


# --- liquidation ----------------------------------------------------------------------


@pytest.fixture
def token(chain, people):
    found = chain.deploy(source("token"), payload=packed(name="Hay", supply=1_000))
    found.call("transfer", packed(to=hexed(people[3]), amount=500))
    return found


@pytest.fixture
def market(chain, people):
    """Prices come from two reporters, every 20 blocks."""
    wanted = packed(reporters=[hexed(who) for who in people[1:3]], blocks=20)
    found = chain.deploy(source("bidding_oracle"), payload=wanted, value="90 CBY")
    set_price(chain, people, found, 10 * CBY)
    return found


def set_price(chain, people, oracle, price):
    report(oracle, people, price, price)
    while "price" not in oracle.storage or oracle.storage["price"] != price:
        chain.mine()


@pytest.fixture
def lender(chain, token, market):
    wanted = packed(token=hexed(token), oracle=hexed(market))
    return chain.deploy(source("liquidation"), payload=wanted, value="900 CBY")


def held(token, who):
    return answer(token, "balance_of", packed(owner=hexed(who)))


def borrow(lender, token, people, tokens=50):
    token.call(
        "approve", packed(spender=hexed(lender), amount=tokens), sender=people[3]
    )
    return lender.call("borrow", str(tokens).encode(), sender=people[3])


def test_a_loan_is_paid_out_and_repaid(chain, people, token, market, lender):
    before = chain.balance(people[3])
    borrowing = borrow(lender, token, people)
    debt = 50 * 10 * CBY * 60 // 100
    paid = sum(r.fee for r in chain.receipts() if r.payer == people[3].address)
    assert chain.balance(people[3]) == before + debt - paid
    assert (held(token, people[3]), held(token, lender)) == (450, 50)
    loan = answer(lender, "loan", b"1")
    assert (loan["debt"], loan["tokens"], loan["risk"]) == (debt, 50, 60)
    assert refused(lender, "repay", b"1", sender=people[2], value=debt) == (
        "only the borrower repays"
    )
    assert refused(lender, "repay", b"1", sender=people[3], value=debt - 1) == (
        f"the debt is {debt}"
    )
    assert refused(lender, "liquidate", b"1") == "the loan is sound"
    repaying = lender.call("repay", b"1", sender=people[3], value=debt)
    assert (held(token, people[3]), held(token, lender)) == (500, 0)
    borrow(lender, token, people)
    set_price(chain, people, market, 11 * CBY)
    chain.mine(5)
    watching = [r for r in fires(chain) if r.actor == lender.address][-1]
    assert_costs(
        "liquidation", {"borrow": borrowing, "repay": repaying, "fire": watching}
    )
    asked = [r for r in questions(chain) if r.actor == lender.address]
    for question in asked[-1:]:
        assert_question_costs("liquidation", question)


def test_a_price_that_falls_sells_the_loan_off(
    chain, people, token, market, lender, rules
):
    """Debt 300 CBY; at 7 CBY a token it is 86 %: 48 tokens are worth 110 % of it.

    A state watch sees the price in the block after the oracle's fire (D51).
    """
    borrow(lender, token, people)
    before = held(token, people[0])
    set_price(chain, people, market, 7 * CBY)
    known = chain.height
    while not chain.events("liquidated"):
        chain.mine()
    assert chain.height - known <= (1 if rules == "globalbox" else 5)
    assert held(token, people[0]) - before == 48
    assert held(token, people[3]) == 450 + 2
    assert held(token, lender) == 0
    assert refused(lender, "loan", b"1") == "there is no open loan 1"


def test_its_agent_bids_by_the_riskiest_loan(
    chain, people, token, market, lender, rules
):
    borrow(lender, token, people)
    chain.mine(6)
    calm = [r.price.cycle_tip for r in fires(chain) if r.actor == lender.address]
    assert set(calm) <= {0}
    set_price(chain, people, market, 8 * CBY)  # a risk of 75 %
    chain.mine(6)
    worried = [r.price.cycle_tip for r in fires(chain) if r.actor == lender.address]
    assert worried[-1] == (5 * 200 if rules in ASKING else 0)
    assert not chain.events("GbaFailed")


def test_one_loan_that_cannot_be_sold_off_stops_no_other(
    chain, people, token, market, lender
):
    borrow(lender, token, people, 10)
    borrow(lender, token, people, 20)
    lost = packed(to=hexed(people[6]), amount=10)
    token.call("transfer", lost, sender=lender)  # as if the token had lost them
    set_price(chain, people, market, 6 * CBY)
    while not chain.events("liquidated"):
        chain.mine()
    chain.mine(6)
    assert len(chain.events("liquidated")) == 1
    assert chain.events("not_liquidated")
    assert lender.timers


def test_only_the_lender_withdraws(chain, people, lender):
    assert refused(lender, "withdraw", b"5", sender=people[1]) == (
        "only the lender may do this"
    )
    before = chain.balance(people[0])
    receipt = lender.call("withdraw", b"5")
    assert chain.balance(people[0]) == before - receipt.fee + 5


def test_without_a_price_it_waits(chain, people, token, rules):
    wanted = packed(reporters=[hexed(people[1])], blocks=500)
    silent = chain.deploy(source("bidding_oracle"), payload=wanted, value="9 CBY")
    wanted = packed(token=hexed(token), oracle=hexed(silent))
    lender = chain.deploy(source("liquidation"), payload=wanted, value="90 CBY")
    chain.mine(11)
    assert len(fires(chain)) == (0 if rules == "globalbox" else 2)
    assert lender.timers
