"""CIP-1 version 3 §7: Gas Bidding Agents, honest ones and others (D34)."""

import pytest
from msgspec.structs import replace

from node.chain.block import ReceiptKind
from node.chain.globals import load_globals
from node.chain.timers.rules import RULE_SETS
from node.chain.transition import head_globals
from node.primitives import codec
from node.testing import TransactionFailed
from tests.spec.driven_actors import (
    ALL,
    AUCTION,
    WORKER,
    decisions,
    fired_payloads,
    fires,
    put_off,
    refusal,
    said,
    schedule,
    schedule_all,
)


def bidder(body, name="get_gas_bid", extra=""):
    """A Worker whose agent does `body` with the context."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"{WORKER}\n    def {name}(self, context):\n{lines}\n{extra}"


BY_NAME = (
    "fee = 2 * context['basefee_lane_timer']\n"
    "return {'max_fee_per_cycle': fee, 'max_priority_fee_per_cycle': 11, 'x': b''}"
)
FAIR = "return [2 * context['basefee_lane_timer'], 11]"


@pytest.fixture
def chain(devnet):
    return devnet(**AUCTION)


def deploy(chain, body, value="500 CBY", **options):
    return chain.deploy(bidder(body, **options), value=value)


def agents(chain):
    return [r for r in chain.last.receipts if r.kind is ReceiptKind.AGENT]


def ask_once(chain, actor, **options):
    """A timer whose agent is its own actor, at its height."""
    height = chain.height + 3
    timer = schedule(actor, height, b"x", gba=actor.address, **options)
    chain.mine_until(height)
    return timer


def failures(chain):
    return [said(event)["reason"] for event in chain.events("GbaFailed")]


@pytest.mark.parametrize(
    "body",
    [
        FAIR,
        "return (2 * context['basefee_lane_timer'], 11)",
        BY_NAME,
    ],
)
@pytest.mark.parametrize("name", ["get_gas_bid", "getGasBid"])
def test_7_2_an_agent_prices_its_timer(chain, body, name):
    """§7.2: `getGasBid(context)` → TxFeeParams."""
    ask_once(chain, deploy(chain, body, name=name))
    (fire,) = fires(chain.last)
    assert fire.price.cycle_tip == 11
    assert failures(chain) == []


def test_7_2_the_context_has_these_names(chain):
    """§7.2: the eight values, balances before the charge (D34)."""
    body = (
        "wanted = ['trigger_block_height', 'current_block_height', 'basefee_cycle',\n"
        "    'basefee_cell', 'basefee_lane_timer', 'last_block_cycle_usage',\n"
        "    'previous_block_p50_priority_tip_per_cycle', 'owner_actor_balance']\n"
        "if sorted(context) != sorted(wanted):\n"
        "    return None\n"
        "seen = pvm_host.get_balance(self.address)\n"
        "if seen != context['owner_actor_balance']:\n"
        "    return None\n"
        "if context['current_block_height'] != pvm_host.block_height():\n"
        "    return None\n"
        "late = context['current_block_height'] - context['trigger_block_height']\n"
        "return [10 ** 6, 100 * late + context['basefee_cycle'] % 7]"
    )
    ask_once(chain, deploy(chain, body))
    assert failures(chain) == []
    assert fires(chain.last)[0].price.cycle_tip == 1_000 % 7


def test_7_2_asking_is_paid_for_and_burned(chain):
    """D34: "real cycles x cycle basefee are charged to the fee payer and burned"."""
    actor = deploy(chain, FAIR)
    height = chain.height + 3
    schedule(actor, height, gba=actor.address)
    chain.mine_until(height - 1)
    before, burned = chain.balance(actor), load_globals(chain.state.snapshot)
    chain.mine()
    (asked,), (fire,) = agents(chain), fires(chain.last)
    assert 1_000 < asked.cycles_used < 50_000 == asked.cycles_limit
    assert asked.cells_limit == 0  # it is "free of cells"
    assert (asked.cells_used, asked.tip, asked.burned_lane) == (0, 0, 0)
    assert asked.fee == asked.cycles_used * burned.basefee_cycle
    assert before - chain.balance(actor) == asked.fee + fire.fee
    after = load_globals(chain.state.snapshot)
    assert after.last_cycles_used == asked.cycles_used + fire.cycles_used
    assert chain.last.use.agent_cycles == asked.cycles_used
    assert chain.last.use.timer_cycles == fire.cycles_used


def test_7_2_a_bid_below_the_lane_basefee_waits_and_is_asked_again(chain):
    """D28: bid → below lane basefee; asked "also when the timer is then put off"."""
    timer = ask_once(chain, deploy(chain, "return [1, 0]"))
    assert put_off(chain.last, "lane_basefee") == [timer]
    assert len(agents(chain)) == 1
    assert chain.timer(timer).last_bid == (1, 0)
    # Not asked again, a forecast takes the last valid answer (D8), not the default.
    standing = chain.explain(timer).forecast.place.standing
    assert (standing.max_fee, standing.waits_for) == (1, "lane_basefee")
    record = replace(chain.timer(timer), last_bid=(5_000, 7))
    price = RULE_SETS["auction"].price(head_globals(chain.state), record)
    assert price.cycle_tip == 7
    chain.mine()
    assert len(agents(chain)) == 1
    assert put_off(chain.last, "lane_basefee") == [timer]


def test_7_2_an_agent_of_the_same_deployer(chain):
    """D34: "the scheduling actor or one with the same deployer"."""
    agent = deploy(chain, FAIR)
    actor = chain.deploy(WORKER, value="500 CBY")
    foreign = chain.deploy(bidder(FAIR), sender=chain.accounts[1])
    nobody = chain.accounts[2].address
    assert refusal(actor, 99, gba=foreign.address) == "InvalidInput"
    assert refusal(actor, 99, gba=nobody) == "InvalidInput"
    stated = {"gba": agent.address, "max_fee_per_cycle": 10**6}
    assert refusal(actor, 99, **stated) == "InvalidInput"
    height = chain.height + 3
    schedule(actor, height, gba=agent.address)
    chain.mine_until(height)
    assert agents(chain)[0].payer == actor.address
    assert fires(chain.last)[0].price.cycle_tip == 11


HOSTILE = {
    "loops": ("while True:\n    pass", "OutOfCycles"),
    "raises": ("raise ValueError('no')", "ValueError"),
    "reverts": ("pvm_host.revert('no')", "Reverted"),
    "writes": ("self.storage['a'] = 1", "ReadOnlyViolation"),
    "pays": ("pvm_host.transfer(bytes(20), 1)", "ReadOnlyViolation"),
    "schedules": ("pvm_host.schedule_timer(10 ** 6, b'')", "ReadOnlyViolation"),
    "recurses": ("return self.get_gas_bid(context)", None),
    "asks itself": (
        "return pvm_host.call_actor(self.address, 'get_gas_bid', b'')",
        None,
    ),
    "returns nothing": ("return None", "Answer"),
    "returns a negative": ("return [-1, 0]", "Answer"),
    "returns a negative priority": ("return [5000, -1]", "Answer"),
    "returns a bool": ("return [5000, True]", "Answer"),
    "returns 2^300": ("return [2 ** 300, 0]", "Answer"),
    "returns a string": ("return 'urgent'", "Answer"),
    "returns strings": ("return ['5000', '1']", "Answer"),
    "returns bytes of an answer": ("return b'\\x82\\x19\\x13\\x88\\x01'", "Answer"),
    "returns an address": ("return b'\\x01' * 20", "Answer"),
    "returns one": ("return [5000]", "Answer"),
    "returns three": ("return [5000, 1, 1]", "Answer"),
    "returns other names": ("return {'max_fee': 5000, 'tip': 1}", "Answer"),
    "returns an object": ("return self", "ReturnValue"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_agents_get_the_default_bid(chain, kind):
    """D34: "→ default bid and `GbaFailed`"; the block goes on, the question is paid."""
    body, reason = HOSTILE[kind]
    actor = deploy(chain, body)
    ask_once(chain, actor)
    (asked,), (fire,) = agents(chain), fires(chain.last)
    assert fire.price.cycle_tip == 0  # p50
    assert 0 < asked.cycles_used <= 50_000
    assert asked.fee == asked.cycles_used * 1_000
    (said_reason,) = failures(chain)
    assert reason in (None, said_reason)
    assert fired_payloads(actor) == [b"x"]
    assert actor.storage.get("a") is None
    assert chain.supply().is_balanced


def test_floats_do_not_exist_in_agents(chain):
    """One that would return a float is refused when it is deployed."""
    with pytest.raises(TransactionFailed, match="floats do not exist"):
        deploy(chain, "return [1.5, 0]")


def test_an_agent_without_a_handler(chain):
    """D34: "a handler that is absent"."""
    actor = chain.deploy(WORKER, value="500 CBY")
    ask_once(chain, actor)
    assert failures(chain) == ["HandlerNotFound"]
    assert agents(chain)[0].cycles_used == 1_000  # the entry charge
    assert len(fires(chain.last)) == 1


def test_a_payer_that_cannot_pay_for_the_question(chain):
    """D34: "a payer short of 50,000 x basefee": not asked, and then unfunded."""
    actor = deploy(chain, FAIR, value="0.04 CBY")
    timer = ask_once(chain, actor)
    assert failures(chain) == ["InsufficientBalance"]
    assert agents(chain) == []
    assert decisions(chain, timer) == ["scheduled", "removed_insufficient_funds"]


def test_past_the_budget_of_agents_the_default_bids(devnet):
    """D34: "past it the default bid, no event"."""
    chain = devnet(**AUCTION, timer_config={"lane_gba_cycles": 60_000})
    actor = deploy(chain, FAIR)
    height = chain.height + 3
    schedule_all(
        actor, *[(height, b"%d" % i, {"gba": actor.address}) for i in range(9)]
    )
    chain.mine_until(height)
    used = [receipt.cycles_used for receipt in agents(chain)]
    assert 0 < len(used) < 9
    assert sum(used[:-1]) + 50_000 <= 60_000 < sum(used) + 50_000
    tips = sorted(fire.price.cycle_tip for fire in fires(chain.last))
    assert tips == [0] * (9 - len(used)) + [11] * len(used)
    assert failures(chain) == []


def test_a_bid_of_all_there_is_destroys_only_its_own(chain):
    """A priority of 2^128 - 1: nobody can pay it (CIP-5 §5.4 path 2)."""
    actor = deploy(chain, "return [2 ** 128 - 1, 2 ** 128 - 1]")
    height = chain.height + 3
    greedy = schedule(actor, height, b"greedy", gba=actor.address)
    schedule(actor, height, b"other")
    chain.mine_until(height)
    assert decisions(chain, greedy)[-1] == "removed_insufficient_funds"
    assert fired_payloads(actor) == [b"other"]


def test_d8_the_last_valid_bid_ranks_and_is_kept_through_failures(devnet):
    """D8: "of its last valid bid, kept through failures in the timer's record"."""
    chain = devnet(**AUCTION, timer_config={"max_due_examined": 1})
    body = (
        "if context['current_block_height'] > context['trigger_block_height']:\n"
        "    return None\n"
        "return [1, 0]"
    )
    actor = deploy(chain, body)
    height = chain.height + 4
    timer = schedule(actor, height, ALL, gba=actor.address)
    other = schedule(actor, height, b"", max_priority_fee_per_cycle=0)
    chain.mine_until(height)
    assert put_off(chain.last, "lane_basefee") == [timer]
    assert chain.timer(timer).last_bid == (1, 0)
    assert chain.timer(other) is not None
    chain.mine()
    assert decisions(chain, timer)[-1] == "fired"  # the default bid, and first again
    assert codec.decode(chain.events("GbaFailed")[0].data)["gba"] == actor.address
