"""What rules `fifo` decide: D26, D27, and D8, D21, D43 as far as they go with them."""

from msgspec.structs import replace

from node.chain import host
from node.chain.block import ReceiptKind
from node.chain.timers import lane
from node.chain.transaction import ExecuteActor
from node.chain.transition import Caches, build_block, open_state
from node.primitives import codec
from pvm import Worker
from tests.spec.driven_actors import (
    SCHEDULER,
    STEADY,
    decisions,
    fired_payloads,
    fires,
    said,
    schedule,
    schedule_all,
)

SMALL = {"gas_limit": 50_000}


def exits(chain):
    """Decision and reason of each entry of the latest trace."""
    return [(d.decision.value, d.reason) for d in chain.last.trace]


# --- D26 ---------------------------------------------------------------------------


def test_d26_what_does_not_fit_is_put_off_smaller_ones_go(chain, actor):
    # D26: "if its limit exceeds the lane's remaining **reservation** → put off (later,
    # smaller ones may still go)".
    ids = schedule_all(
        actor,
        (9, b"a", {"gas_limit": 550_000}),
        (9, b"b", {"gas_limit": 550_000}),
        (9, b"c", {"gas_limit": 550_000}),
        (9, b"large", {"gas_limit": 350_001}),
        (9, b"small", {"gas_limit": 350_000}),
        (9, b"none left", {"gas_limit": 1_000}),
    )
    chain.mine_until(9)
    assert fired_payloads(actor) == [b"a", b"b", b"c", b"small"]
    put_off = [d.timer_id for d in chain.last.trace if d.decision == "put_off"]
    assert put_off == [ids[3], ids[5]]
    chain.mine()
    assert fired_payloads(actor)[4:] == [b"large"]


def test_d26_expired_goes_before_unfunded_goes_before_lane(devnet):
    # D26: "expired, then unfunded → removed …; else if its limit exceeds the lane's
    # remaining reservation → put off": funds before lane (D8).
    chain = devnet(**STEADY)
    poor, rich = chain.deploy(SCHEDULER), chain.deploy(SCHEDULER, value="20 CBY")
    schedule_all(rich, *[(9, bytes([i]), {}) for i in range(3)])
    schedule_all(poor, (9, b"expired and unfunded", {"expires_at": 8}), (9, b"u", {}))
    schedule_all(rich, (9, b"no room", {}), (9, b"expired", {"expires_at": 8}))
    chain.mine_until(9)
    assert exits(chain) == [
        ("expired", ""),
        ("removed_insufficient_funds", ""),
        ("put_off", "lane"),
        ("expired", ""),
        ("fired", ""),
        ("fired", ""),
        ("fired", ""),
    ]


def test_d26_one_reserve_for_two_timers_destroys_the_second(devnet):
    # D26: "Two timers of a payer who can reserve only one: the second is destroyed,
    # though the first would have returned most of it".
    chain = devnet(**STEADY)
    actor = chain.deploy(SCHEDULER)
    max_cost = (50_000 + 550_000) * 1_000
    first, second = schedule_all(actor, (9, b"1", SMALL), (9, b"2", SMALL))
    chain.fund(actor, 2 * max_cost - 1)
    chain.mine_until(9)
    assert decisions(chain, first) == ["scheduled", "fired"]
    assert decisions(chain, second) == ["scheduled", "removed_insufficient_funds"]
    (event,) = chain.last.events
    assert said(event)["available"] == max_cost - 1
    assert actor.balance > max_cost


def test_d26_all_are_classified_before_any_runs(devnet):
    # D26: "Two passes": what the first fire sends away cannot unfund the second, whose
    # reserve was taken already.
    source = """
import pvm_host

def arm(payload):
    for number in range(2):
        pvm_host.schedule_timer_ex(9, payload, None, 50_000)

def handle_timer(payload):
    rest = pvm_host.get_balance(pvm_host.self_address())
    pvm_host.transfer(payload, rest)
"""
    chain = devnet(**STEADY)
    actor = chain.deploy(source, value="5 CBY")
    actor.call("arm", chain.accounts[9].address)
    chain.mine_until(9)
    assert [f.is_success for f in fires(chain.last)] == [True, True]
    assert chain.supply().is_balanced


def test_d26_an_expired_timer_that_was_put_off_is_judged_anew(chain, actor):
    """D26: judged in each block: one put off by the lane may expire in the next."""
    schedule_all(actor, *[(9, bytes([i]), {}) for i in range(3)])
    timer_id = schedule(actor, 9, b"too late", expires_at=9)
    chain.mine_until(10)
    assert decisions(chain, timer_id) == ["scheduled", "put_off", "expired"]


# --- D27 ---------------------------------------------------------------------------


def test_d27_a_fire_pays_exactly_the_basefees(chain, actor):
    """D27: "no tip, no lane basefee", whatever was stated."""
    schedule(actor, 9, b"", max_fee_per_cycle=10**9, max_priority_fee_per_cycle=10**9)
    tips = chain.balance(chain.params.proposer)
    chain.mine_until(9)
    (fire,) = fires(chain.last)
    assert (fire.price.cycle, fire.price.cell) == (
        chain.head.basefee_cycle,
        chain.head.basefee_cell,
    )
    assert fire.tip == fire.burned_lane == chain.head.basefee_lane == 0
    assert chain.balance(chain.params.proposer) == tips


# --- D8 ----------------------------------------------------------------------------


def test_d8_the_timer_lane_is_on_top_of_the_user_lane(devnet):
    """D8: "**user lane** …, for transactions only"; the others "are on top"."""
    chain = devnet(lane_user_cycles=300_000)
    actor = chain.deploy(SCHEDULER, value="20 CBY")
    schedule_all(actor, (9, b"a", {}), (9, b"b", {}), (9, b"c", {}))
    chain.mine_until(8)
    chain.submit(
        ExecuteActor(actor.address, "list", b"", 0),
        cycles_limit=300_000,
        cells_limit=100_000,
    )
    chain.mine()
    assert chain.last.rejected == ()
    assert [r.kind for r in chain.last.receipts] == [
        ReceiptKind.TRANSACTION,
        *[ReceiptKind.FIRE] * 3,
    ]


CELLS = """
import pvm_host

def arm(payload):
    for number in range(4):
        pvm_host.schedule_timer_ex(9, bytes([number]), None, 400_000)

def handle_timer(payload):
    pvm_host.set_state(b"ran" + payload, b"")
    for number in range(5):
        pvm_host.set_state(bytes([number]), b"x" * 60_000)
"""


def test_d8_cells_gate_fires_when_they_run(devnet):
    # D8: "fires … when they run by `cells used + their cell cap ≤ limit`, else
    # refunded whole and put off". D21: "one that the cells gate refuses in the second
    # pass gets its record back unchanged".
    # 300,000 cells a fire, cap 550,000: used 0, 300,000, 600,000 go; 900,000 does not.
    chain = devnet(
        block_cells=1_400_000, timer_config={"max_due_examined": 50}, **STEADY
    )
    actor = chain.deploy(CELLS, value="50 CBY", cells_limit=200_000)
    actor.call("arm", cells_limit=20_000)
    records = actor.timers
    chain.mine_until(8)
    before = actor.balance
    chain.mine()
    assert [f.is_success for f in fires(chain.last)] == [True] * 3
    assert exits(chain) == [("fired", "")] * 3 + [("put_off", "cells")]
    assert chain.last.trace[3].numbers == {
        "current_height": 9,
        "sequence": 3,
        "cells_used": chain.head.cells_used,
        "cells_cap": 550_000,
        "cells_limit": 1_400_000,
    }
    assert actor.timers == records[3:]
    assert actor.balance == before - sum(f.fee for f in fires(chain.last))
    chain.mine()
    assert [f.id for f in fires(chain.last)] == [records[3].timer_id]


def test_d21_a_record_given_back_may_exceed_the_cap(devnet):
    # D21: "Queued timers do not count for `max_timers_per_actor`; one that the cells
    # gate refuses in the second pass gets its record back unchanged, even above that
    # cap; its reservation stays".
    source = CELLS.replace(
        "    for number in range(5):\n        pvm",
        "    if payload == b'\\0':\n"
        "        for number in range(4):\n"
        "            pvm_host.schedule_timer(99, bytes([number]))\n"
        "    for number in range(5):\n        pvm",
    )
    overrides = {"max_due_examined": 50, "max_timers_per_actor": 4}
    chain = devnet(block_cells=1_400_000, timer_config=overrides, **STEADY)
    actor = chain.deploy(source, value="50 CBY", cells_limit=200_000)
    actor.call("arm", cells_limit=20_000)
    chain.mine_until(9)
    assert len(fires(chain.last)) == 3
    assert all(f.is_success for f in fires(chain.last))
    assert len(actor.timers) == 5
    chain.mine()
    assert len(actor.timers) == 4


def test_d8_at_most_so_many_due_timers_are_examined(devnet):
    # D8: "At most 10,000 due timers are examined in a block (`max_due_examined`):
    # `fifo` the first of due(h)"; "What is behind waits untouched".
    chain = devnet(timer_config={"max_due_examined": 2})
    actor = chain.deploy(SCHEDULER, value="20 CBY")
    assert chain.genesis.params.timer_config.max_due_examined == 2
    ids = schedule_all(actor, *[(9, bytes([i]), SMALL) for i in range(5)])
    chain.mine_until(9)
    assert [d.timer_id for d in chain.last.trace] == ids[:2]
    chain.mine()
    assert [f.id for f in fires(chain.last)] == ids[2:4]
    chain.mine()
    assert [f.id for f in fires(chain.last)] == ids[4:]


def test_d8_behind_a_cancelled_one_nothing_is_forgotten(devnet):
    # D8, D24: what was not examined is due again, also when one that was examined is
    # cancelled in the queue, and whether or not anything is held in memory.
    source = """
import pvm_host

def arm():
    ids = [pvm_host.schedule_timer_ex(9, p, None, 50_000) for p in (b"a", b"b", b"c")]
    pvm_host.set_state(b"second", ids[1])

def handle_timer(payload):
    if payload == b"a":
        pvm_host.cancel_timer(pvm_host.get_state(b"second"))
"""
    chain = devnet(timer_config={"max_due_examined": 2})
    actor = chain.deploy(source, value="20 CBY")
    actor.call("arm")
    chain.mine_until(9)
    assert exits(chain) == [("fired", ""), ("cancelled", "actor")]
    fresh = open_state(chain.params, chain.head, chain.state.snapshot, Caches())
    worker = Worker()
    try:
        expected = worker.run(lambda: build_block(fresh, []))
    finally:
        worker.close()
    chain.mine()
    assert len(fires(chain.last)) == 1
    assert chain.head == expected.header


# --- D21 under fifo ------------------------------------------------------------------

QUEUED = """
import pvm_host

def arm():
    first = pvm_host.schedule_timer_ex(9, b"first", None, 150_000)
    second = pvm_host.schedule_timer_ex(9, b"second", None, 150_000)
    pvm_host.set_state(b"second", second)

def attempt(function, *arguments):
    try:
        function(*arguments)
        return b"done"
    except pvm_host.HostError as error:
        return error.name.encode()

def cancel_and_fail(payload):
    pvm_host.cancel_timer(payload)
    raise ValueError("undo it")

def handle_timer(payload):
    second = pvm_host.get_state(b"second")
    pvm_host.set_state(b"ran " + payload, b"")
    if payload == b"first":
        pvm_host.set_state(b"extend", attempt(pvm_host.extend_timer, second, 99))
        pvm_host.set_state(b"get", str(pvm_host.get_timer(second)).encode())
        try:
            pvm_host.call_actor(pvm_host.self_address(), "cancel_and_fail", second)
        except pvm_host.RevertError:
            pass
"""


def test_d21_a_queued_timer_cannot_be_extended(devnet):
    # D21: "extending it is `TimerNotFound`"; a cancel is "undone with the cancelling
    # execution": the timer runs after all.
    chain = devnet(**STEADY)
    actor = chain.deploy(QUEUED, value="5 CBY")
    actor.call("arm")
    before = actor.balance
    chain.mine_until(9)
    assert actor.state(b"extend") == b"TimerNotFound"
    assert actor.state(b"get") == b"None"
    assert actor.state(b"ran second") == b""
    assert [f.is_success for f in fires(chain.last)] == [True, True]
    assert actor.balance == before - sum(f.fee for f in fires(chain.last))
    assert chain.supply().is_balanced


def test_d21_cancelling_a_queued_timer_refunds_it(devnet):
    # D21: "cancelling one that waits in this block's queue refunds its whole
    # pre-charge at once …, it does not run"; a second cancel finds nothing.
    source = QUEUED.replace(
        'pvm_host.call_actor(pvm_host.self_address(), "cancel_and_fail", second)',
        'pvm_host.set_state(b"once", attempt(pvm_host.cancel_timer, second))\n'
        "            again = attempt(pvm_host.cancel_timer, second)\n"
        '            pvm_host.set_state(b"twice", again)',
    )
    chain = devnet(**STEADY)
    actor = chain.deploy(source, value="5 CBY")
    actor.call("arm")
    before = actor.balance
    chain.mine_until(9)
    (fire,) = fires(chain.last)
    assert (actor.state(b"once"), actor.state(b"twice")) == (b"done", b"TimerNotFound")
    assert actor.state(b"ran second") is None
    assert actor.balance == before - fire.fee
    (_, cancelled) = chain.last.trace
    assert cancelled.numbers["refunded"] == (150_000 + 550_000) * 1_000


def test_d21_the_reservation_is_not_given_back(devnet):
    """D21: "the reservation is not given back": no later timer takes the room."""
    source = QUEUED.replace(
        'pvm_host.call_actor(pvm_host.self_address(), "cancel_and_fail", second)',
        "pvm_host.cancel_timer(second)",
    ).replace(
        '    pvm_host.set_state(b"second", second)\n',
        (
            '    third = pvm_host.schedule_timer_ex(9, b"third", None, 150_000)\n'
            '    pvm_host.set_state(b"second", second)\n'
        ),
        1,
    )
    caps = {"max_cycles_per_fire": 300_000, "lane_timer_cycles": 300_000}
    chain = devnet(timer_config=caps, **STEADY)
    actor = chain.deploy(source, value="5 CBY")
    actor.call("arm")
    chain.mine_until(9)
    assert sorted(exits(chain)) == [
        ("cancelled", "actor"),
        ("fired", ""),
        ("put_off", "lane"),
    ]
    chain.mine()
    assert actor.state(b"ran third") == b""


def test_d21_a_stranger_cannot_cancel_a_queued_timer(devnet):
    """CIP-5 §4.2 holds for queued timers as well: `Unauthorized`."""
    thief = """
import pvm_host

def arm():
    pvm_host.schedule_timer_ex(9, b"", None, 150_000)

def aim(payload):
    pvm_host.set_state(b"aim", payload)

def handle_timer(payload):
    try:
        pvm_host.cancel_timer(pvm_host.get_state(b"aim"))
    except pvm_host.HostError as error:
        pvm_host.set_state(b"got", error.name.encode())
"""
    chain = devnet(**STEADY)
    stranger = chain.deploy(thief, value="5 CBY")
    actor = chain.deploy(SCHEDULER, value="5 CBY")
    stranger.call("arm")
    stranger.call("aim", schedule(actor, 9, b"mine", **SMALL))
    chain.mine_until(9)
    assert stranger.state(b"got") == b"Unauthorized"
    assert fired_payloads(actor) == [b"mine"]


# --- D43: the gate --------------------------------------------------------------------


def test_d43_writes_gate_fires_with_the_cells_gate(devnet, monkeypatch):
    # D43: "once 20,000 [are changed] no fire or message; the gate stands with the
    # lane's, in fifo's second pass with the cells gate of D21". With 2 instead of
    # 20,000.
    assert lane.WRITES_BEFORE_DEFERRED_STOP == 20_000
    monkeypatch.setattr(lane, "WRITES_BEFORE_DEFERRED_STOP", 2)
    chain = devnet(**STEADY)
    actor = chain.deploy(SCHEDULER, value="20 CBY")
    ids = schedule_all(actor, *[(9, bytes([i]), SMALL) for i in range(3)])
    record = chain.timer(ids[2])
    chain.mine_until(8)
    before = actor.balance
    chain.mine()
    assert chain.last.use.writes == 2
    assert exits(chain) == [("fired", ""), ("fired", ""), ("put_off", "writes")]
    assert chain.timer(ids[2]) == record
    assert actor.balance == before - sum(f.fee for f in fires(chain.last))
    chain.mine()
    assert [f.id for f in fires(chain.last)] == ids[2:]


def test_d43_each_timer_is_one_key_of_its_execution(devnet):
    # D43: "each timer accepted, extended or cancelled" counts, one key each, however
    # often it is touched.
    source = """
import pvm_host

def touch():
    first = pvm_host.schedule_timer(99, b"")
    pvm_host.extend_timer(first, 500)
    pvm_host.cancel_timer(first)
    pvm_host.schedule_timer(99, b"")
    pvm_host.set_state(b"x", b"y")
    pvm_host.set_state(b"x", b"z")
"""
    chain = devnet()
    chain.deploy(source).call("touch")
    assert chain.last.use.writes == 3


def test_d43_an_execution_changes_at_most_so_many_keys(devnet, monkeypatch):
    # D43: "changes at most 4,000 distinct state keys … or halts `OutOfWrites`, paying
    # what the meter counted"; the timers it scheduled are undone.
    assert host.WRITES_PER_EXECUTION_MAX == 4_000
    monkeypatch.setattr(host, "WRITES_PER_EXECUTION_MAX", 3)
    chain = devnet()
    actor = chain.deploy(SCHEDULER)
    schedule_all(actor, *[(99, bytes([i]), {}) for i in range(3)])
    entries = codec.encode([[99, bytes([i]), {}] for i in range(4)])
    receipt = actor.call(
        "schedule_all",
        entries,
        expect_failure=True,
        cycles_limit=200_000,
        cells_limit=20_000,
    )
    assert receipt.failure.kind == "OutOfWrites"
    assert 5_000 < receipt.cycles_used < 200_000
    assert len(actor.timers) == 3
    assert chain.last.use.writes == 0


def test_d23_d26_the_reservation_is_the_limit_in_force(devnet):
    """D23, D26: the lane reserves `min(gas_limit, cap in force)`."""
    chain = devnet()
    actor = chain.deploy(SCHEDULER, value="50 CBY")
    schedule_all(actor, *[(9, bytes([i]), {}) for i in range(5)])
    config = replace(chain.params.timer_config, max_cycles_per_fire=400_000)
    params = replace(chain.params, timer_config=config)
    chain.state = replace(chain.state, params=params)
    chain.mine_until(9)
    assert len(fires(chain.last)) == 5
