"""The example actors, each through its whole life: what works, what is refused, money.

Every chain here ends with the supply equation recounted (D10), and every figure that an
example's header states is measured.
"""

import ast
import json
import re
from pathlib import Path

import pytest

from node.chain.block import ReceiptKind
from node.chain.transaction import SetBalance
from node.primitives import codec
from node.testing import Devnet, TransactionFailed
from pvm.driver.actors import compile_actor

FOLDER = Path(__file__).resolve().parents[2] / "genesis" / "actors"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
CBY = 10**9
RESERVE = 570_000_000
"""20,000 cycles and 550,000 cells at the genesis basefees of 1,000."""

STEADY = {"basefee_config": {"min_basefee": 1_000}}
"""Basefees stay at their genesis value: what is set aside does not shrink."""


def source(name):
    return (FOLDER / f"{name}.py").read_text()


def packed(**fields):
    return json.dumps(fields).encode()


def hexed(who):
    return "0x" + who.address.hex()


@pytest.fixture
def chain():
    with Devnet(**STEADY) as devnet:
        yield devnet
        assert devnet.supply().is_balanced


@pytest.fixture
def people(chain):
    return chain.accounts


def refused(actor, handler, payload=b"", **call):
    """The message of a call that reverts; its money comes back but the fee."""
    receipt = actor.call(handler, payload, expect_failure=True, **call)
    return receipt.failure.message


def fires(chain):
    return chain.receipts(ReceiptKind.FIRE)


def answer(actor, handler, payload=b""):
    return codec.decode(actor.read(handler, payload))


# --- every example -------------------------------------------------------------------


def test_the_examples_are_all_here():
    assert NAMES == [
        "alarm_clock",
        "bidding_oracle",
        "counter",
        "dead_mans_switch",
        "escrow",
        "game_loop",
        "heartbeat",
        "heartbeat_deployer_funded",
        "liquidation",
        "ping",
        "pong",
        "price_oracle",
        "subscriptions",
        "token",
        "vesting",
        "visitors",
        "visitors_2",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_header_that_says_what_how_and_how_much(name):
    header = ast.get_docstring(ast.parse(source(name)))
    parts = [line.split()[0] for line in header.splitlines() if line[:1].isalpha()]
    assert parts[1:] == ["Shows", "Use", "Costs"]
    assert max(map(len, source(name).splitlines())) <= 88


@pytest.mark.parametrize("name", NAMES)
def test_each_states_the_limit_of_every_timer(name):
    """Three default fires fill the lane of a block (CIP-5 §6.2, §6.5)."""
    for node in ast.walk(ast.parse(source(name))):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if is_call and node.func.attr.startswith("schedule_timer"):
            assert "gas_limit" in {keyword.arg for keyword in node.keywords}


@pytest.mark.parametrize("name", NAMES)
def test_each_names_handlers_that_it_has(name):
    header = ast.get_docstring(ast.parse(source(name)))
    used = re.findall(r"cowboy-devnet (?:call|read) ACTOR (\w+)", header)
    assert set(used) <= compile_actor(source(name).encode()).methods


def stated_costs(name):
    header = ast.get_docstring(ast.parse(source(name)))
    pattern = r"`?(\w+)`?: about\s+([\d,]+)\s+cycles\s+and\s+([\d,]+)\s+cells"
    return {
        what: (int(cycles.replace(",", "")), int(cells.replace(",", "")))
        for what, cycles, cells in re.findall(pattern, header)
    }


def is_about(measured, stated):
    return abs(measured - stated) * 10 <= stated


def assert_costs(name, measured):
    """Receipts of transactions count without their 5,000 cycles and 500 cells (D6)."""
    stated = stated_costs(name)
    assert stated.keys() == measured.keys()
    for what, receipt in measured.items():
        is_transaction = receipt.kind is ReceiptKind.TRANSACTION
        cycles = receipt.cycles_used - (5_000 if is_transaction else 0)
        cells = receipt.cells_used - (500 if is_transaction else 0)
        assert is_about(cycles, stated[what][0]), (what, cycles)
        assert is_about(cells, stated[what][1]), (what, cells)


# --- heartbeat -----------------------------------------------------------------------


def test_the_heart_beats_every_ten_blocks_and_pays_for_itself(chain, people):
    heart = chain.deploy(source("heartbeat"), value="5 CBY")
    before = chain.balance(people[0])
    start = chain.height
    chain.mine(30)
    beats = fires(chain)
    assert [h - start for h, d in decisions(chain) if d.decision.value == "fired"] == [
        10,
        20,
        30,
    ]
    assert {receipt.payer for receipt in beats} == {heart.address}
    assert heart.balance == 5 * CBY - sum(receipt.fee for receipt in beats)
    assert chain.balance(people[0]) == before
    assert answer(heart, "status") == {
        "beats": 3,
        "last_beat": start + 30,
        "balance": heart.balance,
    }
    assert_costs("heartbeat", {"fire": beats[-1]})


def decisions(chain):
    return [
        (result.header.height, decision)
        for result in chain.results
        for decision in result.trace
    ]


def test_the_heart_stops_when_its_money_does_and_starts_again(chain):
    """CIP-5 Appendix B: when fee_payer runs dry, the loop ends at the next fire."""
    heart = chain.deploy(source("heartbeat"), value=RESERVE)
    chain.mine(20)
    assert len(fires(chain)) == 1, "after one fee, less than a reserve is left"
    (event,) = chain.events("TimerCancelledInsufficientFunds")
    said = codec.decode(event.data)
    assert said["required"] == RESERVE
    assert said["available"] == heart.balance < RESERVE
    assert heart.timers == []
    assert refused(heart, "handle_timer") == "only a timer calls this"
    chain.transfer(heart, "1 CBY")
    heart.call("start")
    assert refused(heart, "start") == "the heart beats already"
    chain.mine(10)
    assert heart.storage["beats"] == 2


def test_three_default_fires_fill_a_block_and_a_hundred_of_these_fit(chain):
    """The lane has 2,000,000 cycles, a default fire reserves 550,000 (CIP-5 §6.2)."""
    for name, limit in (("default", None), ("stated", 20_000)):
        text = (
            "def deploy(count):\n"
            "    for i in range(int(count)):\n"
            f"        pvm_host.schedule_timer(60, str(i).encode(), gas_limit={limit})\n"
            "def handle_timer(payload):\n"
            f"    pvm_host.emit_event('{name}', payload)\n"
        )
        chain.deploy(text, payload=b"4" if limit is None else b"100", value="200 CBY")
    chain.mine_until(60)
    assert len(chain.events("default")) == 3
    assert len(chain.events("stated")) == 17, "those that fit beside the three"
    chain.mine()
    assert len(chain.events("default")) == 4
    assert len(chain.events("stated")) == 17 + 72
    chain.mine()
    assert len(chain.events("stated")) == 100


# --- heartbeat, funded by its deployer -----------------------------------------------


def test_the_deployer_pays_what_the_deployers_transactions_scheduled(chain, people):
    """CIP-5 §4.2: fee_payer is the actor or who signed; D13: a fire has no signer."""
    heart = chain.deploy(source("heartbeat_deployer_funded"))
    before = chain.balance(people[0])
    chain.mine(60)
    beats = fires(chain)
    assert len(beats) == 6
    assert {receipt.payer for receipt in beats} == {people[0].address}
    assert chain.balance(people[0]) == before - sum(receipt.fee for receipt in beats)
    assert heart.balance == 0
    assert heart.timers == [], "nothing re-arms itself at the deployer's cost"
    renewal = heart.call("renew")
    chain.mine(60)
    assert heart.storage["beats"] == 12
    assert_costs("heartbeat_deployer_funded", {"renew": renewal, "fire": beats[-1]})


def test_only_the_deployer_renews_and_stops(chain, people):
    heart = chain.deploy(source("heartbeat_deployer_funded"))
    for handler in ("renew", "stop"):
        message = refused(heart, handler, sender=people[1])
        assert message == "only the deployer may do this"
    heart.call("stop")
    chain.mine(60)
    assert fires(chain) == []
    heart.call("renew")
    chain.mine(60)
    assert len(fires(chain)) == 6


def test_the_naive_variant_fires_once_at_the_deployers_cost(chain, people):
    """What the header says of re-arming with fee_payer=self.deployer in a fire."""
    naive = (
        "class Naive:\n"
        "    def deploy(self):\n"
        "        self.again()\n"
        "    def handle_timer(self, payload):\n"
        "        self.again()\n"
        "    def again(self):\n"
        "        pvm_host.schedule_timer_ex(pvm_host.block_height() + 10, b'',\n"
        "            fee_payer=self.deployer, gas_limit=20_000)\n"
    )
    actor = chain.deploy(naive)
    chain.mine(30)
    (receipt,) = fires(chain)
    assert receipt.payer == people[0].address
    assert receipt.failure.kind == "HostError.InvalidInput"
    assert "fee_payer" in receipt.failure.message
    assert actor.timers == []


# --- counter -------------------------------------------------------------------------


def test_the_counter_counts_and_refuses(chain, people):
    counter = chain.deploy(source("counter"))
    receipt = counter.call("increment", sender=people[1])
    assert codec.decode(receipt.value) == 1
    counter.call("increment", b"5")
    assert [event.data for event in chain.events("incremented")] == [b"1", b"6"]
    assert refused(counter, "increment", b"0") == "a step is 1 to 1000, not 0"
    assert refused(counter, "increment", b"1001") == "a step is 1 to 1000, not 1001"
    with pytest.raises(TransactionFailed, match="ValueError"):
        counter.call("increment", b"five")
    assert answer(counter, "value") == 6
    message = refused(counter, "reset", sender=people[1])
    assert message == "only the deployer may reset the counter"
    counter.call("reset")
    assert counter.storage == {"value": 0}
    assert_costs("counter", {"increment": receipt})


# --- token ---------------------------------------------------------------------------


@pytest.fixture
def token(chain):
    return chain.deploy(source("token"), payload=packed(name="Hay", supply=1_000))


def held(token, who):
    return answer(token, "balance_of", packed(owner=hexed(who)))


def test_tokens_move_and_their_sum_stays(chain, people, token):
    alice, bob, carol = people[:3]
    assert answer(token, "about") == {"name": "Hay", "supply": 1_000}
    moving = token.call("transfer", packed(to=hexed(bob), amount=300))
    token.call("transfer", packed(to=hexed(carol), amount=300), sender=bob)
    assert [held(token, who) for who in (alice, bob, carol)] == [700, 0, 300]
    assert f"balance:{bob.address.hex()}" not in token.storage
    token.call("transfer", packed(to=hexed(alice), amount=700))
    assert held(token, alice) == 700, "to oneself changes nothing"
    said = json.loads(chain.events("transfer")[0].data)
    assert said["amount"] == 300
    assert said["to"] == bob.address.hex()
    approval = token.call("approve", packed(spender=hexed(carol), amount=1))
    assert_costs("token", {"transfer": moving, "approve": approval})


def test_an_allowance_is_used_up(people, token):
    alice, bob, carol = people[:3]
    token.call("approve", packed(spender=hexed(bob), amount=100))
    both = packed(owner=hexed(alice), spender=hexed(bob))
    wanted = {"owner": hexed(alice), "to": hexed(carol)}
    token.call("transfer_from", packed(**wanted, amount=60), sender=bob)
    assert answer(token, "allowance", both) == 40
    message = refused(token, "transfer_from", packed(**wanted, amount=41), sender=bob)
    assert message == "40 are allowed, not 41"
    token.call("transfer_from", packed(**wanted, amount=40), sender=bob)
    assert answer(token, "allowance", both) == 0
    assert not [key for key in token.storage if key.startswith("allowance:")]
    assert held(token, carol) == 100


@pytest.mark.parametrize(
    ("amount", "message"),
    [
        (1_001, "1000 are there, not 1001"),
        (-1, "an amount is an integer of 0 or more"),
        ("5", "an amount is an integer of 0 or more"),
        (True, "an amount is an integer of 0 or more"),
    ],
)
def test_a_token_refuses_what_is_no_amount(people, token, amount, message):
    wanted = packed(to=hexed(people[1]), amount=amount)
    assert refused(token, "transfer", wanted) == message
    assert held(token, people[0]) == 1_000


def test_a_token_refuses_what_is_no_address(token):
    message = refused(token, "transfer", packed(to="0x01", amount=1))
    assert message == "an address is 20 bytes, not 1"


# --- escrow --------------------------------------------------------------------------


@pytest.fixture
def escrow(chain):
    return chain.deploy(source("escrow"))


def open_deal(escrow, people, blocks=10):
    wanted = packed(seller=hexed(people[2]), blocks=blocks)
    receipt = escrow.call("open", wanted, value="3 CBY", sender=people[1])
    return receipt, str(codec.decode(receipt.value)).encode()


def test_the_buyer_releases_the_deposit_to_the_seller(chain, people, escrow):
    opening, number = open_deal(escrow, people)
    assert escrow.balance == 3 * CBY
    before = chain.balance(people[2])
    message = refused(escrow, "release", number, sender=people[2])
    assert message == "only the buyer releases the deposit"
    releasing = escrow.call("release", number, sender=people[1])
    assert chain.balance(people[2]) - before == 3 * CBY - chain_fees(chain, people[2])
    assert escrow.balance == 0
    assert escrow.timers == []
    assert refused(escrow, "release", number, sender=people[1]) == (
        f"there is no open deal {number.decode()}"
    )
    _, other = open_deal(escrow, people)
    chain.mine(10)
    assert [event.data for event in chain.events("expired")] == [other]
    assert_costs(
        "escrow", {"open": opening, "release": releasing, "fire": fires(chain)[-1]}
    )


def chain_fees(chain, who):
    """What an account paid for its transactions."""
    return sum(r.fee for r in chain.receipts() if r.payer == who.address)


def test_a_deal_that_expires_returns_to_the_buyer_who_pays_the_fire(
    chain, people, escrow
):
    open_deal(escrow, people)
    open_deal(escrow, people, blocks=1_000)
    before = chain.balance(people[1])
    chain.mine(9)
    (receipt,) = fires(chain)
    assert receipt.handler == "time_is_up"
    assert receipt.payer == people[1].address
    assert chain.balance(people[1]) == before + 3 * CBY - receipt.fee
    assert escrow.balance == 3 * CBY, "the other deal's deposit, whole"
    assert answer(escrow, "deal", b"2")["buyer"] == people[1].address
    assert refused(escrow, "time_is_up", b"2") == "only a timer calls this"


def test_the_seller_may_give_the_deposit_back(chain, people, escrow):
    _, number = open_deal(escrow, people)
    message = refused(escrow, "refund", number, sender=people[3])
    assert message == "only the seller gives the deposit back"
    before = chain.balance(people[1])
    escrow.call("refund", number, sender=people[2])
    assert chain.balance(people[1]) == before + 3 * CBY
    assert escrow.timers == []


def test_a_deal_whose_timer_was_lost_can_be_expired_by_anybody(chain, people, escrow):
    """CIP-5 §5.4 path 2: who cannot cover max_cost loses the timer, not the deposit."""
    poor = bytes.fromhex("77" * 20)
    chain.fund(poor, "50 CBY")
    wanted = packed(seller=hexed(people[2]), blocks=10)
    escrow.call("open", wanted, value="3 CBY", sender=poor)
    assert refused(escrow, "expire", b"1") == (
        f"the deal stands until height {chain.height + 9}"
    )
    chain.execute(SetBalance(poor, RESERVE))
    chain.mine(10)
    assert len(chain.events("TimerCancelledInsufficientFunds")) == 1
    assert escrow.balance == 3 * CBY
    before = chain.balance(poor)
    escrow.call("expire", b"1", sender=people[3])
    assert chain.balance(poor) == before + 3 * CBY


@pytest.mark.parametrize(
    ("fields", "value", "message"),
    [
        ({"blocks": 10}, 0, "a deal needs a deposit: send it along as value"),
        ({"blocks": 0}, 1, "blocks is 1 to 100000"),
        ({"blocks": 100_001}, 1, "blocks is 1 to 100000"),
        ({"seller": "0x02", "blocks": 1}, 1, "a seller is an address of 20 bytes"),
    ],
)
def test_an_escrow_refuses_what_is_no_deal(people, escrow, fields, value, message):
    wanted = packed(**{"seller": hexed(people[2])} | fields)
    assert refused(escrow, "open", wanted, value=value) == message
    assert escrow.balance == 0, "the value comes back with the failure (D5)"


def test_an_actor_cannot_make_a_signer_pay_for_its_deal(chain, people, escrow):
    """The buyer is the calling actor, which did not sign (CIP-5 §4.2, D13)."""
    wanted = packed(seller=hexed(people[2]), blocks=10)
    go_between = chain.deploy(
        "def go(payload):\n"
        f"    pvm_host.call_actor({escrow.address!r}, 'open', {wanted!r})\n"
    )
    receipt = go_between.call("go", expect_failure=True)
    assert receipt.failure.kind == "RevertError"


# --- vesting -------------------------------------------------------------------------


def vest(chain, people, instalments=4, blocks=5, value="10 CBY"):
    wanted = packed(
        beneficiary=hexed(people[1]), instalments=instalments, blocks=blocks
    )
    return chain.deploy(source("vesting"), payload=wanted, value=value)


def test_a_grant_is_paid_in_instalments_that_the_deployer_pays_for(chain, people):
    grant = vest(chain, people, instalments=3, value=10)
    start, deployer = chain.balance(people[1]), chain.balance(people[0])
    seen = []
    for _ in range(3):
        chain.mine(5)
        seen.append(chain.balance(people[1]) - start)
    assert seen == [3, 6, 10], "what a division leaves over comes last"
    assert grant.balance == 0
    assert grant.timers == []
    assert {receipt.payer for receipt in fires(chain)} == {people[0].address}
    assert chain.balance(people[0]) == deployer - sum(r.fee for r in fires(chain))
    assert answer(grant, "status") == {"grant": 10, "released": 10, "vested": 10}
    assert refused(grant, "release") == "nothing is due yet"


def test_a_lost_fire_costs_the_beneficiary_nothing(chain, people):
    pauper = bytes.fromhex("66" * 20)
    chain.fund(pauper, "100 CBY")
    wanted = packed(beneficiary=hexed(people[1]), instalments=4, blocks=5)
    grant = chain.deploy(
        source("vesting"), payload=wanted, value="10 CBY", sender=pauper
    )
    chain.execute(SetBalance(pauper, RESERVE - 1))
    chain.mine(20)
    assert fires(chain) == []
    before = chain.balance(people[1])
    releasing = grant.call("release", sender=people[2])
    assert chain.balance(people[1]) == before + 10 * CBY
    vest(chain, people)
    chain.mine(5)
    assert_costs("vesting", {"release": releasing, "fire": fires(chain)[0]})


def test_a_revoked_grant_pays_what_is_vested_and_returns_the_rest(chain, people):
    grant = vest(chain, people)
    message = refused(grant, "revoke", sender=people[1])
    assert message == "only the deployer may revoke the grant"
    chain.mine(11)
    before, start = chain.balance(people[1]), chain.balance(people[0])
    receipt = grant.call("revoke")
    assert chain.balance(people[1]) == before
    assert chain.balance(people[0]) == start - receipt.fee + 5 * CBY
    assert grant.timers == []
    assert grant.balance == 0
    chain.mine(10)
    assert refused(grant, "release") == "nothing is due yet"


@pytest.mark.parametrize(
    ("fields", "value", "message"),
    [
        ({}, 0, "there is nothing to vest: send the grant along as value"),
        ({"instalments": 0}, 1, "instalments is 1 to 120"),
        ({"instalments": 121}, 1, "instalments is 1 to 120"),
        ({"blocks": 0}, 1, "blocks is 1 or more"),
        ({"beneficiary": "0x"}, 1, "a beneficiary is an address of 20 bytes"),
    ],
)
def test_a_grant_that_cannot_be_is_not_deployed(chain, people, fields, value, message):
    wanted = {"beneficiary": hexed(people[1]), "instalments": 4, "blocks": 5} | fields
    with pytest.raises(TransactionFailed, match=re.escape(message)):
        chain.deploy(source("vesting"), payload=packed(**wanted), value=value)


def test_the_longest_grant_can_be_deployed(chain, people):
    assert len(vest(chain, people, instalments=120).timers) == 120


# --- dead man's switch ---------------------------------------------------------------


@pytest.fixture
def switch(chain, people):
    wanted = packed(heir=hexed(people[1]), blocks=20)
    return chain.deploy(source("dead_mans_switch"), payload=wanted, value="50 CBY")


def test_signs_of_life_keep_the_money(chain, people, switch):
    for _ in range(3):
        chain.mine(19)
        receipt = switch.call("alive")
        assert codec.decode(receipt.value) == chain.height + 20
    assert fires(chain) == []
    assert len(switch.timers) == 1
    assert switch.balance == 50 * CBY
    message = refused(switch, "alive", sender=people[1])
    assert message == "only the owner may do this"
    assert refused(switch, "withdraw", b"1", sender=people[1]) == message
    before = chain.balance(people[0])
    withdrawal = switch.call("withdraw", str(30 * CBY).encode())
    assert chain.balance(people[0]) == before + 30 * CBY - withdrawal.fee
    assert "base units are wanted" in refused(
        switch, "withdraw", str(21 * CBY).encode()
    )


def test_the_deadline_itself_is_still_the_owners(chain, people, switch):
    """Transactions come before timers in a block (CIP-5 §5.1)."""
    deadline = switch.storage["deadline"]
    chain.mine_until(deadline - 1)
    switch.call("alive")
    assert chain.height == deadline
    assert fires(chain) == []
    chain.mine_until(deadline + 19)
    message = refused(switch, "claim", sender=people[1])
    assert message == f"not before height {deadline + 21}"
    assert len(fires(chain)) == 1, "in the same block, after it"


def test_silence_pays_the_heir_and_claim_brings_what_is_left(chain, people, switch):
    before = chain.balance(people[1])
    deadline = switch.storage["deadline"]
    assert refused(switch, "claim") == f"not before height {deadline + 1}"
    assert refused(switch, "handle_timer") == "only a timer calls this"
    chain.mine_until(deadline)
    (receipt,) = fires(chain)
    assert chain.balance(people[1]) == before + 50 * CBY - RESERVE
    assert switch.balance == RESERVE - receipt.fee, (
        "set aside while it ran (CIP-5 §6.3)"
    )
    assert refused(switch, "alive") == "too late: the heir may claim"
    assert refused(switch, "withdraw", b"1") == "too late: the heir may claim"
    switch.call("claim", sender=people[3])
    assert chain.balance(people[1]) == before + 50 * CBY - receipt.fee
    assert switch.balance == 0


def test_a_switch_too_poor_for_its_fire_still_pays_by_claim(chain, people):
    wanted = packed(heir=hexed(people[1]), blocks=5)
    switch = chain.deploy(source("dead_mans_switch"), payload=wanted, value=1_000)
    chain.mine(6)
    assert len(chain.events("TimerCancelledInsufficientFunds")) == 1
    before = chain.balance(people[1])
    switch.call("claim", sender=people[2])
    assert chain.balance(people[1]) == before + 1_000


def test_what_the_switch_costs(chain, switch):
    alive = switch.call("alive")
    chain.mine(20)
    assert_costs("dead_mans_switch", {"alive": alive, "fire": fires(chain)[-1]})


# --- price oracle --------------------------------------------------------------------


@pytest.fixture
def oracle(chain, people):
    reporters = [hexed(who) for who in people[:3]]
    wanted = packed(reporters=reporters, blocks=5, quorum=2)
    return chain.deploy(source("price_oracle"), payload=wanted, value="5 CBY")


def test_the_oracle_publishes_medians_and_goes_on(chain, people, oracle):
    start = chain.height
    assert refused(oracle, "price") == "no price was published yet"
    for who, price in zip(people[:3], (b"300", b"100", b"120"), strict=True):
        reporting = oracle.call("report", price, sender=who)
    chain.mine_until(start + 5)
    full = fires(chain)[-1]
    assert answer(oracle, "price") == {"price": 120, "height": start + 5, "round": 2}
    for who, price in zip(people[:2], (b"101", b"104"), strict=True):
        oracle.call("report", price, sender=who)
    chain.mine_until(start + 10)
    assert answer(oracle, "price")["price"] == 102, (
        "the mean of the middle two, floored"
    )
    assert [event.data for event in chain.events("price")] == [b"120", b"102"]
    assert {receipt.payer for receipt in fires(chain)} == {oracle.address}
    assert oracle.balance == 5 * CBY - sum(receipt.fee for receipt in fires(chain))
    assert_costs("price_oracle", {"report": reporting, "fire": full})


def test_a_round_without_quorum_is_an_event_and_not_the_end(chain, people, oracle):
    start = chain.height
    oracle.call("report", b"7", sender=people[1])
    chain.mine_until(start + 15)
    failed = [event.data for event in chain.events("round_failed")]
    assert failed[0] == b"1 reports came, 2 are wanted"
    assert failed[1:] == [b"0 reports came, 2 are wanted"] * 2
    assert all(receipt.is_success for receipt in fires(chain))
    assert len(oracle.timers) == 1
    assert oracle.storage["round"] == 4


def test_the_oracle_refuses_strangers_and_nonsense(chain, people, oracle):
    assert (
        refused(oracle, "report", b"7", sender=people[5]) == "only a reporter reports"
    )
    assert refused(oracle, "report", b"0") == "a price is an integer above 0"
    assert refused(oracle, "report", str(10**18 + 1).encode()) == (
        "a price is an integer above 0"
    )
    assert refused(oracle, "start") == "the oracle runs already"
    assert refused(oracle, "handle_timer") == "only a timer calls this"
    wanted = packed(reporters=[hexed(people[0])], blocks=5, quorum=2)
    with pytest.raises(TransactionFailed, match="quorum"):
        chain.deploy(source("price_oracle"), payload=wanted)


def test_an_oracle_that_ran_dry_is_started_again(chain, people):
    wanted = packed(reporters=[hexed(people[0])], blocks=5, quorum=1)
    oracle = chain.deploy(source("price_oracle"), payload=wanted)
    chain.mine(5)
    assert oracle.timers == []
    chain.transfer(oracle, "2 CBY")
    oracle.call("start", sender=people[4])
    oracle.call("report", b"42")
    chain.mine(5)
    assert answer(oracle, "price")["price"] == 42


def test_another_actor_asks_the_oracle(chain, people, oracle):
    for who in people[:2]:
        oracle.call("report", b"42", sender=who)
    chain.mine(5)
    asking = chain.deploy(
        "def ask(payload):\n"
        f"    answer = pvm_host.call_actor({oracle.address!r}, 'price', b'')\n"
        "    return pvm_host.cbor_decode(answer)['price']\n"
    )
    assert answer(asking, "ask") == 42


# --- ping and pong -------------------------------------------------------------------


@pytest.fixture
def players(chain):
    pong = chain.deploy(source("pong"))
    return chain.deploy(source("ping"), value="2 CBY"), pong


def test_a_rally_goes_to_and_fro_a_block_for_each_ball(chain, people, players):
    """D14: a message is delivered in the next block, prepaid by who set it off."""
    ping, pong = players
    money = chain.balance(people[0])
    serving = ping.call("serve", packed(pong=hexed(pong), rounds=4))
    assert chain.supply().held > 0, "the budget of the message that waits (D10)"
    start = chain.height
    chain.mine(8)
    balls = chain.receipts(ReceiptKind.MAILBOX_MESSAGE)
    assert [r.actor for r in balls] == [pong.address, ping.address] * 4
    assert [event.data for event in chain.events("rally")] == [b"8"]
    assert chain.height == start + 8
    assert {r.payer for r in balls} == {people[0].address}
    spent = serving.fee + sum(r.fee for r in balls)
    assert chain.balance(people[0]) == money - spent, "what was not used came back"
    assert chain.supply().held == 0
    assert ping.storage["rallies"] == 1
    assert ping.timers == [], "cancelled with each answer"
    assert pong.storage["returned"] == 4
    assert_costs("ping", {"serve": serving, "message": balls[1]})
    assert_costs("pong", {"message": balls[0]})


def test_a_rally_without_an_answer_is_lost(chain, people, players):
    ping, _ = players
    silent = chain.deploy("def ping(payload):\n    return None\n")
    ping.call("serve", packed(pong=hexed(silent), rounds=1))
    assert refused(ping, "serve", packed(pong=hexed(silent), rounds=1)) == (
        "a rally is on"
    )
    chain.mine(10)
    assert ping.storage["lost"] == 1
    assert len(chain.events("lost")) == 1
    assert fires(chain)[0].payer == ping.address
    message = refused(ping, "pong", b"2", sender=people[1])
    assert message == "only the other player returns the ball"
    chain.fund(silent, "1 CBY")
    assert refused(ping, "pong", b"2", sender=silent) == "the rally is over"


def test_a_serve_to_nobody_is_refused(players, people):
    ping, pong = players
    assert "no actor" in refused(ping, "serve", packed(pong=hexed(people[1]), rounds=1))
    message = refused(ping, "serve", packed(pong=hexed(pong), rounds=5))
    assert message == "rounds is 1 to 4"
    assert "timer" not in ping.storage


# --- visitors: storage that changes its form -------------------------------------


def guests(count):
    return [bytes([i + 1]) * 20 for i in range(count)]


def counts(visitors, people_):
    return [answer(visitors, "visits_of", who.hex().encode()) for who in people_]


@pytest.fixture
def visitors(chain):
    """An actor of the first version that sixty guests visited, some of them twice."""
    actor = chain.deploy(source("visitors"), value="20 CBY")
    for i, who in enumerate(guests(60)):
        chain.fund(who, "9 CBY")
        for _ in range(1 + (i % 7 == 0)):
            actor.call("visit", sender=who)
    return actor


def test_no_visit_is_lost_while_the_storage_changes_its_form(chain, visitors):
    """The form is stated, steps are bounded, both forms are read meanwhile."""
    before = counts(visitors, guests(61))
    assert sorted(set(before)) == [0, 1, 2]
    visitors.upgrade(FOLDER / "visitors_2.py")
    (next_day,) = [t for t in visitors.timers if not t.handler]
    seen = []
    while left := answer(visitors, "left"):
        seen.append(left)
        assert counts(visitors, guests(61)) == before
        visitors.call("visit", sender=guests(61)[40])  # of both forms, or of one
        before[40] += 1
    assert seen == [35, 10]
    assert counts(visitors, guests(61)) == before
    assert "visits" not in visitors.storage
    assert visitors.storage["form"] == 2
    assert [t.timer_id for t in visitors.timers] == [next_day.timer_id]
    chain.advance(height=next_day.height)
    assert visitors.storage["days"] == 2, "a timer of the old code finds its handler"


def test_a_form_that_is_not_known_is_left_as_it_is(visitors):
    visitors.upgrade(FOLDER / "visitors_2.py")
    again = source("visitors_2") + "\n# another\n"
    failed = visitors.upgrade(again, expect_failure=True)
    assert failed.failure.message == "only storage of the form 1 can be moved"
    assert visitors.source == source("visitors_2")


def test_only_timers_move_and_count_days(chain, visitors):
    assert refused(visitors, "handle_timer") == "only a timer calls this"
    visitors.upgrade(FOLDER / "visitors_2.py")
    for handler in ("move", "handle_timer"):
        assert refused(visitors, handler) == "only a timer calls this"
    new = chain.deploy(source("visitors_2"), value="5 CBY")
    assert answer(new, "left") == 0
    assert new.call("visit").value == codec.encode(1)


def test_the_rehearsal_of_visitors_shows_the_form_and_nothing_else(chain, visitors):
    chain.advance(blocks=150)
    rehearsal = chain.rehearse_upgrade(
        visitors,
        FOLDER / "visitors_2.py",
        over=range(chain.height - 60, chain.height + 1),
        allow=["storage:form", "storage:visits*", "fires:move"],
        costs_within=5,
    )
    assert rehearsal.refused == (), rehearsal
    assert len(rehearsal.differences) > 60


def test_what_visitors_cost(chain):
    old = chain.deploy(source("visitors"), value="20 CBY")
    first = old.call("visit")
    chain.advance(next_timer=True)
    assert_costs("visitors", {"visit": first, "fire": fires(chain)[-1]})
    for who in guests(50):
        chain.fund(who, "9 CBY")
        old.call("visit", sender=who)
    old.upgrade(FOLDER / "visitors_2.py")
    chain.advance(blocks=3)
    visit = old.call("visit", sender=guests(1)[0])
    move = next(one for one in fires(chain) if one.handler == "move")
    chain.advance(blocks=100)
    days = [fire for fire in fires(chain) if fire.handler == "handle_timer"]
    assert_costs("visitors_2", {"visit": visit, "move": move, "fire": days[-1]})
