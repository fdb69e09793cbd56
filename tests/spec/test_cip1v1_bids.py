"""CIP-1 version 1 §3 to §5: terms, agents, order, slices and price (D44 to D47)."""

import pytest

from node.chain.block import ReceiptKind
from node.chain.globals import load_globals
from node.chain.params import U128_MAX
from node.chain.transaction import ExecuteActor, Transfer, UpdateTimerConfig
from node.primitives import codec
from node.primitives.types import Amount
from tests.spec.driven_actors import (
    AGENT,
    ALL,
    BIDDING,
    EPOCH,
    WORKER,
    agent_of,
    decisions,
    fired_heights,
    fired_payloads,
    fires,
    put_off,
    refusal,
    refused,
    route,
    schedule,
    schedule_all,
    tell,
)
from tests.spec.test_cip1_agents import HOSTILE, agents, bidder, failures

LIMIT = 500_000
"""Four such fires fill the lane."""


@pytest.fixture
def chain(devnet):
    return devnet(**BIDDING)


def worker(chain, value="900 CBY"):
    return chain.deploy(WORKER, value=value, salt=b"%032d" % chain.height)


def fire_of(chain, actor, agent, payload=b"x", **options):
    """A timer of an actor, at its height."""
    height = chain.height + 3
    timer = schedule(actor, height, payload, gba=agent.address, **options)
    chain.mine_until(height)
    return timer


def trace_of(chain, timer):
    """Decisions of the last block about a timer: word, reason, numbers."""
    return [
        (d.decision.value, d.reason, d.numbers)
        for d in chain.last.trace
        if d.timer_id == timer
    ]


# --- D44: what a timer has to state ---------------------------------------------------


def test_4_2_every_timer_names_an_agent(chain):
    """§4.2: "Every actor that schedules a timer MUST specify a GBA contract" (D44)."""
    actor = worker(chain)
    before = actor.call("list")
    failed = actor.call("schedule", codec.encode([99, b"", {}]), expect_failure=True)
    assert refused(failed) == "GbaRequired"
    # "Host calls charge their base first, then validate" (D16).
    assert failed.cycles_used > before.cycles_used + 200
    assert chain.timers() == []
    stated = {"max_fee_per_cycle": 5_000, "bid": 1}
    assert refusal(actor, 99, **stated) == "GbaRequired"


def test_d44_schedule_timer_ex_is_always_refused(chain):
    """D44: "so `schedule_timer_ex` is always refused"."""
    arguments = codec.encode([99, b"", {}])
    failed = worker(chain).call("schedule_ex", arguments, expect_failure=True)
    assert refused(failed) == "GbaRequired"


def test_d44_any_deployed_actor_may_be_the_agent(chain):
    """D44: "any deployed actor may be the agent …; else `NotFound`"."""
    actor = worker(chain)
    stranger = chain.deploy(AGENT.format(fee=9_000, tip=3), sender=chain.accounts[1])
    fire_of(chain, actor, stranger)
    (fire,) = fires(chain.last)
    assert (fire.payer, fire.price.cycle_tip) == (actor.address, 3)
    nobody = chain.accounts[2].address
    assert refusal(actor, 99, gba=nobody) == "NotFound"
    assert refusal(actor, 99, gba=bytes(20)) == "NotFound"


@pytest.mark.parametrize(
    "stated",
    [
        {"max_fee_per_cycle": 5_000},
        {"max_fee_per_cycle": 0},
        {"max_priority_fee_per_cycle": 1},
        {"priority_tier_hint": "fast"},
        {"bid": 1},
        {"gba": b"short"},
        {"gba": 7},
        {"max_fee_per_cycle": -1},
        {"max_fee_per_cycle": U128_MAX + 1},
        {"gas_limit": 550_001},
        {"gas_limit": 999},
        {"fee_payer": b"\x00" * 20},
        {"expires_at": -1},
    ],
)
def test_d44_nothing_is_stated_beside_an_agent(chain, stated):
    """D44: "stated fees, hint or `bid` beside it: `InvalidInput`"."""
    actor, agent = worker(chain), agent_of(chain)
    assert refusal(actor, 99, **({"gba": agent.address} | stated)) == "InvalidInput"
    assert chain.timers() == []


def test_4_1_the_owner_pays(chain):
    """§4.1: "deducted from the owning actor's main balance": nobody else's (D44)."""
    actor, agent = worker(chain), agent_of(chain)
    signer = chain.accounts[0].address
    terms = {"gba": agent.address}
    assert refusal(actor, 99, fee_payer=signer, **terms) == "InvalidInput"
    schedule(actor, 99, fee_payer=actor.address, **terms)
    before = chain.balance(actor)
    chain.mine_until(99)
    (fire,), (asked,) = fires(chain.last), agents(chain)
    assert before - chain.balance(actor) == fire.fee + asked.fee


def test_4_1_scheduling_costs_little_and_always_the_same(chain):
    """§4.1: "a small, fixed cycle cost upfront": 200 (CIP-5 §6.1)."""
    actor, agent = worker(chain), agent_of(chain)
    used = {}
    for count in (1, 2, 3):
        entries = [[99, b"", {"gba": agent.address}]] * count
        receipt = actor.call("schedule_all", codec.encode(entries))
        used[count] = receipt.cycles_used
    # The loop around the calls costs the same each time, too.
    assert 200 <= used[3] - used[2] == used[2] - used[1] < 1_000


def test_d44_limit_and_cap_are_those_of_fifo(devnet):
    """D44: "Limit and cap as under `fifo` …; nothing waits over the cap"."""
    chain = devnet(**BIDDING)
    actor, agent = worker(chain), agent_of(chain)
    height = chain.height + 5
    terms = {"gba": agent.address}
    stated = schedule(actor, height, b"stated", gas_limit=550_000, **terms)
    schedule(actor, height, b"default", **terms)
    config = chain.params.timer_config
    lower = UpdateTimerConfig(type(config)(max_cycles_per_fire=300_000))
    chain.execute(lower)
    chain.mine_until(height)
    assert [fire.cycles_limit for fire in fires(chain.last)] == [300_000] * 2
    assert not put_off(chain.last, "cap")
    assert decisions(chain, stated) == ["scheduled", "fired"]


def test_d44_records_of_other_rules_bid_what_they_state(devnet):
    """D44: "without an agent they bid what they state", and basefees for the rest."""
    rules = [{"height": 9, "rules": "bidding"}]
    chain = devnet(**BIDDING | {"activations": rules})
    actor = worker(chain)
    entries = [
        (12, b"plain", {}),
        (12, b"priority", {"max_priority_fee_per_cycle": 70}),
        (12, b"both", {"max_fee_per_cycle": 1_030, "max_priority_fee_per_cycle": 99}),
        (12, b"fee", {"max_fee_per_cycle": 5_000}),
        (12, b"low", {"max_fee_per_cycle": 999}),
    ]
    ids = schedule_all(
        actor, *((h, p, {"gas_limit": 20_000} | o) for h, p, o in entries)
    )
    payer = chain.accounts[0].address
    owner_free = schedule(actor, 12, b"signer", fee_payer=payer, gas_limit=20_000)
    chain.mine_until(12)
    assert fired_payloads(actor) == [b"priority", b"both", b"plain", b"fee", b"signer"]
    assert [f.price.cycle_tip for f in fires(chain.last)] == [70, 30, 0, 0, 0]
    assert fires(chain.last)[-1].payer == payer
    assert chain.timer(owner_free) is None
    # Below the basefee it is dormant: nobody looks at it.
    assert decisions(chain, ids[4]) == ["scheduled"]
    assert chain.advance(blocks=50).heights == []


# --- D45: who is asked, and what comes of it ------------------------------------------


@pytest.mark.parametrize("name", ["get_gas_bid", "getGasBid"])
@pytest.mark.parametrize(
    "body",
    [
        "return [2000, 11]",
        "return (2000, 11)",
        "return {'max_fee_per_cycle': 2000, 'tip_per_cycle': 11, 'other': b''}",
        "return {'max_fee_per_cycle': 2000, 'tip_per_cycle': 11, 'tip': None}",
    ],
)
def test_3_an_agent_bids_a_maximum_fee_and_a_tip(chain, body, name):
    """§3: "The GBA returns a bid (max_fee_per_cycle, tip_per_cycle, etc.)"."""
    actor = chain.deploy(bidder(body, name=name), value="900 CBY")
    timer = fire_of(chain, actor, actor)
    (fire,) = fires(chain.last)
    assert fire.price.cycle_tip == 11
    assert failures(chain) == []
    ((_, _, numbers),) = trace_of(chain, timer)
    assert (numbers["max_fee"], numbers["tip"]) == (2_000, 11)


def test_4_2_the_context_has_six_names(chain):
    """§4.2: trigger and current height, both basefees, last use, owner's balance."""
    body = (
        "wanted = ['trigger_block_height', 'current_block_height', 'basefee_cycle',\n"
        "    'basefee_cell', 'last_block_cycle_usage', 'owner_actor_balance']\n"
        "if sorted(context) != sorted(wanted):\n"
        "    return None\n"
        "if context['owner_actor_balance'] != pvm_host.get_balance(self.address):\n"
        "    return None\n"
        "if context['current_block_height'] != pvm_host.block_height():\n"
        "    return None\n"
        "late = context['current_block_height'] - context['trigger_block_height']\n"
        "return [10 ** 6, 1000 * late + context['basefee_cycle'] % 7]"
    )
    actor = chain.deploy(bidder(body), value="900 CBY")
    fire_of(chain, actor, actor)
    assert failures(chain) == []
    assert fires(chain.last)[0].price.cycle_tip == 1_000 % 7


def test_4_2_the_context_tells_what_is_in_force_when_its_timer_is_due(devnet):
    """§4.2: both basefees, "total cycles used in the previous block", the balance."""
    chain = devnet(**BIDDING, basefee_cell=100_000)
    names = ("basefee_cycle", "basefee_cell", "last_block_cycle_usage")
    actors = {}
    for name in (*names, "owner_actor_balance"):
        agent = chain.deploy(bidder(f"return [2 ** 100, context['{name}']]"))
        actors[name] = actor = worker(chain)
        schedule(actor, 20, gas_limit=1_001, gba=agent.address)
    chain.mine_until(18)
    worker(chain)  # a transaction in the block before
    used = chain.last.use.cycles
    balance = chain.balance(actors["owner_actor_balance"])
    basefee_cell = load_globals(chain.state.snapshot).basefee_cell
    chain.mine()
    tips = {d.actor: d.numbers["tip"] for d in chain.last.trace}
    wanted = 1_000, basefee_cell, used, balance
    assert tuple(tips[actor.address] for actor in actors.values()) == wanted
    assert len(set(wanted)) == 4


def test_4_2_the_trigger_is_the_due_height(chain):
    """§4.2: "The block height the timer was originally scheduled for" (D45)."""
    body = (
        "late = context['current_block_height'] - context['trigger_block_height']\n"
        "return [1000 if late >= 4 else 1, late]"
    )
    actor = chain.deploy(bidder(body), value="900 CBY")
    timer = fire_of(chain, actor, actor)
    assert put_off(chain.last, "below_basefee") == [timer]
    for _ in range(4):
        chain.mine()
    assert len(fires(chain.last)) == 1


@pytest.mark.parametrize("kind", HOSTILE)
def test_d45_hostile_agents_get_the_default_bid(chain, kind):
    """D45: "Default bid: `2 x cycle basefee`, tip 0", with `GbaFailed` (D34)."""
    body, reason = HOSTILE[kind]
    actor = chain.deploy(bidder(body), value="900 CBY")
    timer = fire_of(chain, actor, actor)
    (asked,), (fire,) = agents(chain), fires(chain.last)
    assert fire.price.cycle_tip == 0
    ((_, _, numbers),) = trace_of(chain, timer)
    assert (numbers["max_fee"], numbers["agent_answered"]) == (2_000, 0)
    assert asked.fee == asked.cycles_used * 1_000
    (said_reason,) = failures(chain)
    assert reason in (None, said_reason)
    assert actor.storage.get("a") is None
    assert chain.supply().is_balanced


def test_d45_an_answer_under_the_names_of_auction_alone_is_none(chain):
    """D45: "Answer: `max_fee_per_cycle` and `tip_per_cycle`"."""
    body = "return {'max_fee_per_cycle': 5000, 'max_priority_fee_per_cycle': 1}"
    actor = chain.deploy(bidder(body), value="900 CBY")
    fire_of(chain, actor, actor)
    assert failures(chain) == ["Answer"]


def test_d45_past_the_budget_of_agents_the_default_bids(devnet):
    """D34, D45: within the block's budget of agents; past it no event."""
    chain = devnet(**BIDDING, timer_config={"lane_gba_cycles": 60_000})
    actor, agent = worker(chain), agent_of(chain, tip=11)
    height = chain.height + 3
    terms = {"gba": agent.address, "gas_limit": 20_000}
    schedule_all(actor, *[(height, b"%d" % i, terms) for i in range(40)])
    chain.mine_until(height)
    used = [receipt.cycles_used for receipt in agents(chain)]
    assert sum(used[:-1]) + 50_000 <= 60_000 < sum(used) + 50_000
    tips = [fire.price.cycle_tip for fire in fires(chain.last)]
    assert tips == [11] * len(used) + [0] * (40 - len(used))
    assert failures(chain) == []


def test_d45_a_bid_below_the_basefee_waits_and_is_asked_in_every_block(chain):
    """D45: "max_fee below the basefee → put off `below_basefee`"."""
    actor, agent = worker(chain), agent_of(chain, fee=999, tip=50)
    timer = fire_of(chain, actor, agent)
    for _ in range(3):
        assert put_off(chain.last, "below_basefee") == [timer]
        assert len(agents(chain)) == 1
        chain.mine()
    assert chain.timer(timer).last_bid == (999, 50)
    tell(agent, 1_000, 50)
    (fire,) = fires(chain.last)
    assert fire.price.cycle_tip == 0  # all that the maximum fee leaves


def test_d45_the_poor_are_put_off_not_asked_and_never_destroyed(chain):
    """§4.1: "the timer execution fails for that block and is deferred" (D45)."""
    actor, agent = worker(chain, value="1 CBY"), agent_of(chain)
    timer = fire_of(chain, actor, agent)
    assert put_off(chain.last, "funds") == [timer]
    assert agents(chain) == []
    least = 550_000 * 1_000 + 550_000 * 1_000
    ((_, _, numbers), slept) = trace_of(chain, timer)
    assert (numbers["required"], numbers["available"]) == (least, 10**9)
    assert slept[:2] == ("slept", "funds")
    assert chain.timer(timer).poor_note == (0, least)
    chain.mine()
    assert chain.last.is_empty


def test_d45_through_its_epoch_the_poor_are_dormant_while_they_have_less(chain):
    """D45, D49: "dormant while its payer has less than noted", or the next epoch."""
    actor, agent = worker(chain, value="1 CBY"), agent_of(chain)
    timer = fire_of(chain, actor, agent)
    assert chain.advance(blocks=3 * EPOCH).heights == [EPOCH, 2 * EPOCH, 3 * EPOCH]
    words = decisions(chain, timer)
    assert words[:2] + words[-3:] == [
        "scheduled",
        "put_off",
        "woke",
        "put_off",
        "slept",
    ]
    assert chain.timer(timer).poor_note[0] == 3
    chain.transfer(actor.address, "0.09 CBY")  # too little
    assert chain.last.trace == ()
    chain.transfer(actor.address, "0.02 CBY")
    assert len(fires(chain.last)) == 1
    assert decisions(chain, timer)[-2:] == ["woke", "fired"]


def test_d45_who_is_paid_by_a_message_wakes_in_the_next_block(chain):
    """D45, D36: whatever funds the payer; the block after it is no empty one."""
    actor, agent = worker(chain, value="1 CBY"), agent_of(chain)
    friend = worker(chain)
    timer = fire_of(chain, actor, agent)
    give = codec.encode([actor.address, 5 * 10**8])
    when = chain.height + 2
    schedule(friend, when, route("send_away", give), gba=agent.address)
    chain.mine_until(when)
    assert chain.timer(timer).poor_note is not None
    chain.mine()
    assert [fire.id for fire in fires(chain.last)] == [timer]


def test_d45_money_that_leaves_again_wakes_nobody(chain):
    """D45: "dormant while its payer has less than noted", when the lane begins."""
    actor, agent = worker(chain, value="1 CBY"), agent_of(chain)
    timer = fire_of(chain, actor, agent)
    away = codec.encode([chain.accounts[3].address, 5 * 10**8])
    chain.submit(Transfer(actor.address, Amount(5 * 10**8)))
    chain.submit(ExecuteActor(actor.address, "send_away", away, Amount(0)))
    chain.mine()
    assert chain.balance(actor) == 10**9
    assert trace_of(chain, timer) == []


def test_d45_a_note_ranks_behind_all_that_have_none(devnet):
    """D45: "with a note it ranks behind all that have none (D8)"."""
    chain = devnet(**BIDDING, timer_config={"max_due_examined": 1})
    actor, agent = worker(chain, value="1 CBY"), agent_of(chain, tip=9)
    rich, modest = worker(chain), agent_of(chain, tip=0)
    noted = fire_of(chain, actor, agent)
    height = chain.height + 4
    terms = {"gas_limit": 20_000}
    schedule_all(
        rich, *[(height, b"%d" % i, terms | {"gba": modest.address}) for i in (1, 2)]
    )
    chain.mine_until(height - 1)
    chain.transfer(actor.address, "9 CBY")  # in the block at that height
    chain.mine(2)
    assert fired_heights(rich) == [height, height + 1]
    assert fired_heights(actor) == [height + 2]
    assert decisions(chain, noted)[-1] == "fired"


def test_d45_the_note_goes_when_its_payer_has_enough(chain):
    """D45: "and loses it when it is met and its payer has enough"."""
    actor, agent = worker(chain, value="1 CBY"), agent_of(chain, fee=1)
    timer = fire_of(chain, actor, agent)
    chain.transfer(actor.address, "9 CBY")
    assert put_off(chain.last, "below_basefee") == [timer]
    assert chain.timer(timer).poor_note is None


def test_d45_that_the_basefee_fell_is_noticed_with_the_next_epoch(devnet):
    """D45: "a basefee that has fallen is noticed with the next epoch"."""
    chain = devnet(**BIDDING, basefee_cell=3_000)
    actor, agent = worker(chain, value="1.2 CBY"), agent_of(chain)
    timer = fire_of(chain, actor, agent)
    assert put_off(chain.last, "funds") == [timer]
    assert chain.advance(blocks=EPOCH - 1 - chain.height).heights == []
    assert load_globals(chain.state.snapshot).basefee_cell == 1_000  # 1.1 CBY would do
    chain.mine()
    assert [fire.id for fire in fires(chain.last)] == [timer]


def test_4_1_the_ttl_collects_the_poor(chain):
    """D45: "never destroyed (CIP-1v1 §4.1; the TTL collects)"."""
    actor, agent = worker(chain, value="1 CBY"), agent_of(chain)
    height = chain.height + 3
    timer = schedule(actor, height, gba=agent.address, expires_at=height + 5)
    summary = chain.advance(blocks=20)
    assert summary.heights == [height, height + 6]
    assert decisions(chain, timer)[-2:] == ["woke", "expired"]
    assert (summary.expired, summary.removed) == (1, 0)


# --- D46: order, slices, two rounds ---------------------------------------------------


def bids(chain, tips, height, owner=None, **options):
    """A timer for each tip, of one actor or of one each, with a limit of a quarter."""
    ids = []
    for tip in tips:
        actor = owner or worker(chain, value="9000 CBY")
        terms = {"gas_limit": LIMIT, "gba": agent_of(chain, tip=tip).address} | options
        ids.append(schedule(actor, height, ALL, **terms))
    return ids


def test_3_the_queue_is_ordered_by_effective_tip(chain):
    """§3: "all due timers, ordered by their effective tip"; its formula is OVW's."""
    ids = bids(chain, [5, 80, 20, 0], 50)
    capped = agent_of(chain, fee=1_060, tip=10**9)
    actor = worker(chain)
    ids.append(schedule(actor, 50, ALL, gas_limit=LIMIT, gba=capped.address))
    chain.mine_until(50)
    assert [fire.price.cycle_tip for fire in fires(chain.last)] == [80, 60, 20, 5]
    assert put_off(chain.last, "lane") == [ids[3]]


def test_5_the_budget_is_a_hard_cap(chain):
    """§5: "a hard cap on the resources consumed by timers in any given block"."""
    bids(chain, [9, 8, 7, 6, 5], 50, gas_limit=550_000)
    small = bids(chain, [0], 50, gas_limit=300_000, owner=worker(chain))
    chain.mine_until(50)
    assert chain.last.use.timer_cycles == 3 * 550_000 + 300_000
    # "smaller ones behind may still go"
    assert small[0] in {fire.id for fire in fires(chain.last)}


def test_5_who_does_not_fit_is_carried_over(chain):
    """§5: "automatically carried over to the next block's bucket" (D22)."""
    ids = bids(chain, [9, 8, 7, 6, 5, 4], 50)
    chain.mine_until(50)
    records = [chain.timer(timer) for timer in put_off(chain.last, "lane")]
    assert [one.timer_id for one in records] == ids[4:]
    chain.mine()
    assert [fire.id for fire in fires(chain.last)] == ids[4:]
    assert decisions(chain, ids[5]) == ["scheduled", "put_off", "fired"]


def test_5_spam_is_priced_out_during_congestion(chain):
    """§5: "Low-priority or spam timers will be priced out during congestion"."""
    spam = bids(chain, [0] * 6, 50)
    urgent = bids(chain, [3, 2, 1, 1], 50, owner=worker(chain))
    chain.mine_until(50)
    fired = {fire.id for fire in fires(chain.last)}
    # One slice of seven holds none: all four come in the second round, by price.
    assert fired == set(urgent)
    assert set(put_off(chain.last, "lane")) == set(spam)


def test_d46_ties_go_by_weight_times_wait_then_due_height_and_sequence(chain):
    """D46: "`weight x (height - due + 1)` descending, due height, sequence"."""
    late = bids(chain, [0] * 5, 50)
    new = bids(chain, [0] * 3, 51, owner=worker(chain))
    chain.mine_until(51)
    # The one that was put off at 50 has waited a block more.
    order = [d for d in chain.explain_block(51).due if "rank" in d.numbers]
    assert order[0].timer_id == late[4]
    assert [d.timer_id for d in order[1:]] == new
    assert [d.numbers["waited"] for d in order] == [1, 0, 0, 0]


def test_d46_in_the_first_round_no_actor_exceeds_its_slice(chain):
    """D46: "those that only their slice kept out, in the same order without it"."""
    greedy, modest = worker(chain), worker(chain)
    ids = bids(chain, [9, 8, 7], 50, owner=greedy)
    cheap = schedule(
        modest, 50, ALL, gas_limit=LIMIT, gba=agent_of(chain, tip=1).address
    )
    chain.mine_until(50)
    # Slices of a million: two of the greedy one, then the cheap one, then the third.
    assert [fire.id for fire in fires(chain.last)] == [ids[0], ids[1], cheap, ids[2]]
    numbers = {d.timer_id: d.numbers for d in chain.last.trace}
    assert [numbers[i]["round"] for i in (*ids, cheap)] == [1, 1, 2, 1]
    assert [numbers[i]["actor_used"] for i in ids] == [0, LIMIT, 2 * LIMIT]
    assert {one["slice"] for one in numbers.values()} == {1_000_000}


def test_d46_whom_another_gate_refused_is_not_tried_again(chain):
    """D46: "whom another gate refused is not tried again", so it is said once."""
    ids = bids(chain, [9, 8, 7, 6, 5], 50, owner=worker(chain))
    chain.mine_until(50)
    assert put_off(chain.last, "lane") == [ids[4]]
    reasons = [d.reason for d in chain.last.trace if d.decision.value == "put_off"]
    assert reasons == ["lane"]


def test_d46_put_offs_are_in_the_order_of_the_decisions(chain):
    """D46: "Put-offs are in the trace in the order of the decisions"."""
    first = worker(chain)
    ids = bids(chain, [9, 9, 9, 9, 9, 9], 50, owner=first)
    other = bids(chain, [0], 50, owner=worker(chain))
    chain.mine_until(50)
    # Two, the other's one, then the lane's last quarter; three wait, all in round 2.
    fired = [fire.id for fire in fires(chain.last)]
    assert fired == [ids[0], ids[1], other[0], ids[2]]
    assert put_off(chain.last, "lane") == ids[3:]


def test_d46_short_of_its_bid_it_waits_awake(chain):
    """D46: "short of max_cost at its bid: put off `funds`, awake in the next block"."""
    actor, agent = worker(chain, value="2 CBY"), agent_of(chain, tip=10**5)
    timer = fire_of(chain, actor, agent)
    for _ in range(3):
        assert put_off(chain.last, "funds") == [timer]
        assert len(agents(chain)) == 1  # it is asked, and pays for that
        chain.mine()
    assert chain.timer(timer).poor_note is None


@pytest.mark.parametrize(("others", "reason"), [(9_999, "funds"), (10_001, "lane")])
def test_d46_the_gates_come_in_order(chain, others, reason):
    """D46: lane, keys, slice, funds, cells: without room nobody is told of money."""
    ids = bids(chain, [others] * 4, 50)
    broke, agent = worker(chain, value="2 CBY"), agent_of(chain, tip=10_000)
    last = schedule(broke, 50, gas_limit=LIMIT, gba=agent.address)
    chain.mine_until(50)
    assert put_off(chain.last, reason) == [last]
    assert [fire.id for fire in fires(chain.last)] == ids


def test_d46_one_that_a_fire_cancelled_has_no_turn(chain):
    """D21, D46: a candidate that an earlier fire cancelled leaves without a word."""
    actor, agent = worker(chain), agent_of(chain)
    height = chain.height + 4
    victim = schedule(actor, height, b"late", gas_limit=30_000, gba=agent.address)
    killer = route("meddle", codec.encode([victim, 0]))
    first = agent_of(chain, tip=9)
    schedule(actor, height, killer, gas_limit=30_000, gba=first.address)
    chain.mine_until(height)
    assert decisions(chain, victim) == ["scheduled", "cancelled"]
    assert len(fires(chain.last)) == 1


# --- D47: what a fire pays ------------------------------------------------------------


def test_d47_a_fire_pays_basefees_and_its_effective_tip(chain):
    """D47: "cycle basefee (burned) and effective tip (proposer) per cycle"."""
    actor, agent = worker(chain), agent_of(chain, fee=1_500, tip=600)
    proposer = chain.params.proposer
    before = chain.balance(proposer)
    fire_of(chain, actor, agent)
    (fire,) = fires(chain.last)
    price = fire.price
    assert (price.cycle_burn, price.cycle_tip, price.cell_burn) == (1_000, 500, 1_000)
    assert (price.lane_burn, price.cell_tip) == (0, 0)
    assert fire.fee == fire.cycles_used * 1_500 + fire.cells_used * 1_000
    assert chain.balance(proposer) - before == fire.cycles_used * 500
    after = load_globals(chain.state.snapshot)
    assert (after.basefee_lane, after.p50_priority, after.burned_lane) == (0, 0, 0)
    assert chain.last.header.basefee_lane == 0


def test_a_bid_of_all_there_is_holds_up_nobody(chain):
    """A bid of 2^128 - 1 cannot be paid: it waits, and the others fire."""
    greedy = worker(chain)
    most = agent_of(chain, fee=U128_MAX, tip=U128_MAX)
    height = chain.height + 5
    timer = schedule(greedy, height, gba=most.address)
    schedule(worker(chain), height, b"x", gba=agent_of(chain).address)
    chain.mine_until(height)
    assert put_off(chain.last, "funds") == [timer]
    assert len(fires(chain.last)) == 1
    assert chain.timer(timer).last_bid == (U128_MAX, U128_MAX)
    ((_, _, numbers),) = trace_of(chain, timer)
    assert numbers["effective_tip"] == U128_MAX - 1_000
    assert chain.explain(timer).forecast.place.standing.priority == U128_MAX - 1_000
    config = chain.params.timer_config
    chain.execute(UpdateTimerConfig(type(config)(max_due_examined=1)))
    chain.mine(2)  # it ranks first, and is looked at alone
    assert put_off(chain.last, "funds") == [timer]


def test_d8_the_last_valid_bid_ranks(devnet):
    """D8: "of its last valid bid"; D45: it "reads the cycle basefee for the lane's"."""
    chain = devnet(**BIDDING, timer_config={"max_due_examined": 2})
    low, high = agent_of(chain, fee=900, tip=5), agent_of(chain, fee=900, tip=6)
    actor = worker(chain)
    height = chain.height + 4
    terms = [{"gba": a.address, "gas_limit": 20_000} for a in (low, high)]
    schedule_all(actor, (height, b"a", terms[0]), (height, b"b", terms[1]))
    chain.mine_until(height)
    tell(low, 2_000, 5)  # in a block that looks at both
    assert fired_payloads(actor) == [b"a"]


def test_4_1_agents_are_asked_in_the_order_of_due_height_and_sequence(chain):
    """D45: "Classification of each examined timer, in (height, sequence) order"."""
    ids = bids(chain, [1, 9, 5], 50)
    chain.mine_until(50)
    asked = [r for r in chain.last.receipts if r.kind is ReceiptKind.AGENT]
    assert [receipt.id for receipt in asked] == ids
    assert [fire.id for fire in fires(chain.last)] == [ids[1], ids[2], ids[0]]
