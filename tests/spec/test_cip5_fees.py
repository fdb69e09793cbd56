"""CIP-5 §6: what scheduling costs, what a fire may use, who pays and how much."""

import pytest
from msgspec.structs import astuple, replace

from node.chain.globals import load_globals
from node.chain.params import TimerConfig
from node.chain.transaction import UpdateBasefeeConfig, UpdateTimerConfig
from node.primitives import codec
from tests.spec.driven_actors import (
    SCHEDULER,
    STEADY,
    fired_payloads,
    fires,
    said,
    schedule,
    schedule_all,
)

# --- §6.1 --------------------------------------------------------------------------

PRICES = """
import pvm_host

def measure(payload):
    height = pvm_host.block_height() + 50
    far = height + 50
    before = pvm_host.gas_left()
    pvm_host.block_height()
    nothing = before - pvm_host.gas_left()
    before = pvm_host.gas_left()
    first = pvm_host.schedule_timer(height, payload)
    classic = before - pvm_host.gas_left()
    before = pvm_host.gas_left()
    second = pvm_host.schedule_timer_ex(height, payload, None, None, None)
    extended = before - pvm_host.gas_left()
    before = pvm_host.gas_left()
    pvm_host.extend_timer(first, far)
    extend = before - pvm_host.gas_left()
    before = pvm_host.gas_left()
    pvm_host.cancel_timer(first)
    cancel = before - pvm_host.gas_left()
    return [nothing, classic, extended, extend, cancel]

def schedule(payload):
    pvm_host.schedule_timer(99, payload)

def twice(payload):
    pvm_host.schedule_timer(99, payload)
    pvm_host.schedule_timer(99, payload)
"""


def test_6_1_each_call_costs_200_cycles(chain):
    # §6.1: "schedule_timer / schedule_timer_ex: SET_TIMER_BASE_CYCLES = 200",
    # "extend_timer 200 cycles", "CANCEL_TIMER_CYCLES = 200 cycles (flat)".
    #
    # Measured between two `gas_left`, against `block_height`, which costs 7.
    actor = chain.deploy(PRICES)
    nothing, *costs = codec.decode(actor.call("measure", b"p" * 60).value)
    assert [cost - nothing + 7 for cost in costs] == [200, 200, 200, 200]


def test_6_1_scheduling_also_costs_the_payload_in_cells(chain):
    """§6.1: "200 cycles + payload cells"; nothing else for it (D18)."""
    actor = chain.deploy(PRICES)

    def cells(handler, payload):
        receipt = actor.call(handler, payload)
        assert len(receipt.scheduled) == 1 + (handler == "twice")
        return receipt.cells_used - (len(handler) - len("schedule"))

    payload = b"p" * 50
    assert cells("twice", payload) - cells("schedule", payload) == 50


def test_6_1_the_sender_pays_for_scheduling_the_fee_payer_for_the_fire(devnet):
    # §6.1: "The schedule_timer fee charges the scheduling transaction's sender —
    # this is independent of the timer's fee_payer, which is only debited at fire time".
    chain = devnet(**STEADY)
    actor = chain.deploy(SCHEDULER, value="5 CBY")
    sender = chain.accounts[5]
    actor_before, sender_before = actor.balance, chain.balance(sender)
    schedule(actor, 9, sender=sender)
    assert actor.balance == actor_before
    assert chain.balance(sender) == sender_before - chain.last.receipts[0].fee
    sender_before = chain.balance(sender)
    chain.mine_until(9)
    (fire,) = fires(chain.last)
    assert actor.balance == actor_before - fire.fee
    assert chain.balance(sender) == sender_before


# --- §6.2 --------------------------------------------------------------------------

SPENDERS = """
import pvm_host

def schedule_cycles(payload):
    pvm_host.schedule_timer_ex(9, b"cycles", None, 50_000)

def schedule_cells(payload):
    pvm_host.schedule_timer_ex(9, b"cells", None, 550_000)

def handle_timer(payload):
    pvm_host.set_state(b"trace", b"")
    number, value = 0, b"x" * 60_000
    while True:
        if payload == b"cycles":
            number = number + 1
        else:
            pvm_host.set_state(b"x", value)
"""


def test_6_2_a_fire_has_its_own_limit_of_cycles(chain):
    """§6.2: "Cycles: timer.gas_limit_per_fire"."""
    actor = chain.deploy(SPENDERS, value="5 CBY")
    actor.call("schedule_cycles")
    chain.mine_until(9)
    (fire,) = fires(chain.last)
    assert fire.failure.kind == "OutOfCycles"
    assert fire.cycles_used == 50_000


def test_6_2_a_fire_has_the_configured_limit_of_cells(chain):
    """§6.2: "Cells: TimerConfig.max_cells_per_fire (default 550,000)"."""
    actor = chain.deploy(SPENDERS, value="5 CBY")
    actor.call("schedule_cells")
    chain.mine_until(9)
    (fire,) = fires(chain.last)
    assert fire.failure.kind == "OutOfCells"
    assert fire.cells_used == 550_000
    assert actor.state(b"trace") is None


def test_6_2_the_caps_default_to_550_000(chain):
    """§6.2: "TimerConfig.max_cycles_per_fire, default 550,000", and of cells."""
    config = chain.params.timer_config
    assert (config.max_cycles_per_fire, config.max_cells_per_fire) == (550_000, 550_000)


# --- §6.3 --------------------------------------------------------------------------

SETTLING = """
import pvm_host

def schedule(payload):
    pvm_host.schedule_timer_ex(9, payload, None, 80_000)

def handle_timer(payload):
    balance = pvm_host.get_balance(pvm_host.self_address())
    pvm_host.set_state(b"seen", str(balance).encode())
    pvm_host.emit_event("seen", pvm_host.get_state(b"seen"))
    if payload == b"fail":
        raise ValueError("no")
"""


@pytest.mark.parametrize("payload", [b"", b"fail"])
def test_6_3_a_fire_is_settled_to_the_unit(devnet, payload):
    # §6.3 steps 1, 2, 4 and 6: `max_cost = gas_limit * cycle_basefee +
    # max_cells_per_fire * cell_basefee`, debited before the handler, of which
    # `actual_cycles * cycle_basefee + actual_cells * cell_basefee` is kept; step 5: "On
    # revert: writeset is discarded; gas used is still charged".
    chain = devnet(
        basefee_cycle=700,
        basefee_cell=30,
        basefee_config={"target_cells": 1, "denom": 1_000, "alpha": 1_000},
    )
    actor = chain.deploy(SETTLING, value="5 CBY")
    actor.call("schedule", payload)
    chain.mine_until(8)
    before, globals_ = actor.balance, load_globals(chain.state.snapshot)
    cycle, cell = globals_.basefee_cycle, globals_.basefee_cell
    assert cycle != cell
    chain.mine()
    assert chain.head.basefee_cycle == cycle
    (fire,) = fires(chain.last)
    assert fire.is_success == (payload == b"")
    assert actor.balance == before - fire.cycles_used * cycle - fire.cells_used * cell
    assert fire.cycles_used > 1_000
    max_cost = 80_000 * cycle + 550_000 * cell
    if fire.is_success:
        assert fire.cells_used > 0
        assert actor.state(b"seen") == str(before - max_cost).encode()
    else:
        assert actor.state(b"seen") is None
        assert chain.last.events == ()
    (fired,) = chain.last.trace
    assert fired.numbers["max_cost"] == max_cost
    assert fired.numbers["available"] == before


def test_6_3_no_handler_executes_for_who_cannot_pay(chain):
    """§6.3 step 3: "No handler executes, no gas consumed on the execution lane"."""
    actor = chain.deploy(SCHEDULER)
    schedule(actor, 9)
    chain.mine_until(9)
    assert chain.last.receipts == ()
    assert chain.last.use.timer_cycles == chain.last.use.cycles == 0
    assert actor.storage.get("fires") is None


def test_6_3_the_basefee_part_is_burned(devnet):
    # §6.3 step 7: "the basefee portion of actual_cost is burned; any tip goes to the
    # block proposer. Timers contribute to block throughput accounting".
    chain = devnet(**STEADY)
    actor = chain.deploy(SCHEDULER, value="5 CBY")
    schedule(actor, 9)
    chain.mine_until(8)
    before = load_globals(chain.state.snapshot)
    tips = chain.balance(chain.params.proposer)
    chain.mine()
    after = load_globals(chain.state.snapshot)
    (fire,) = fires(chain.last)
    assert after.burned_cycle - before.burned_cycle == fire.cycles_used * 1_000
    assert after.burned_cell - before.burned_cell == fire.cells_used * 1_000
    assert chain.balance(chain.params.proposer) == tips
    assert chain.head.cycles_used == fire.cycles_used
    assert chain.head.cells_used == fire.cells_used
    assert after.last_cycles_used == fire.cycles_used
    assert chain.supply().is_balanced


def test_6_3_fires_move_the_basefee(devnet):
    """§6.3 step 7: "Timers contribute to block throughput accounting"."""
    chain = devnet(basefee_config={"target_cycles": 1_000})
    actor = chain.deploy(SCHEDULER, value="50 CBY")
    chain.mine_until(3)
    schedule(actor, 9)
    chain.mine_until(8)
    before = load_globals(chain.state.snapshot).basefee_cycle
    chain.mine()
    assert load_globals(chain.state.snapshot).basefee_cycle > before


def test_6_3_what_the_handler_schedules_is_a_fresh_fire(devnet):
    # §6.3: "Each re-schedule is a fresh fire with a fresh max_cost check …. When
    # fee_payer runs dry, the subscription ends automatically on the next fire".
    chain = devnet(**STEADY)
    source = SCHEDULER.replace(
        '        self._note("handle_timer", payload)',
        '        self._note("handle_timer", payload)\n'
        "        pvm_host.schedule_timer_ex(pvm_host.block_height() + 1, payload,\n"
        "                                   None, 50_000)",
    )
    actor = chain.deploy(source)
    schedule(actor, 9, b"tick", gas_limit=50_000)
    chain.fund(actor, (50_000 + 550_000) * 1_000 + 5_000_000)
    chain.mine_until(20)
    rounds = len(fired_payloads(actor))
    assert 1 < rounds < 11
    assert chain.timers() == []
    assert len(chain.events("TimerCancelledInsufficientFunds")) == 1
    assert len(chain.receipts()) - 3 == rounds


# --- §6.4 --------------------------------------------------------------------------


def test_6_4_the_defaults_of_the_structure(chain):
    """§6.4: `struct TimerConfig { max_ttl_blocks: 2_592_000, … }`."""
    config = chain.params.timer_config
    assert config.max_ttl_blocks == 2_592_000
    assert config.max_cycles_per_fire == 550_000
    assert config.max_cells_per_fire == 550_000
    assert config.max_timers_per_actor == 1_024
    assert config.gc_cycles_per_block == 5_000_000


def test_6_4_system_deployers_update_it(chain, actor):
    # §6.4: "Updated via SystemInstruction::UpdateTimerConfig … with sender ∈
    # system_deployers", "Emits timer_config.updated with the serialized new config as
    # event data".
    changed = replace(TimerConfig(), max_ttl_blocks=10)
    receipt = chain.execute(
        UpdateTimerConfig(changed), sender=chain.accounts[1], expect_failure=True
    )
    assert receipt.failure.kind == "Unauthorized"
    chain.execute(UpdateTimerConfig(changed))
    (event,) = chain.last.events
    assert event.topic == "timer_config.updated"
    fields = [list(v) if isinstance(v, tuple) else v for v in astuple(changed)]
    assert codec.decode(said(event)["config"]) == fields
    timer_id = schedule(actor, 99)
    assert chain.timer(timer_id).expires_at == chain.height + 10


def test_6_4_the_defaults_apply_while_no_config_is_stored(devnet):
    # §6.4: "The constants.rs defaults apply when the stored config is absent":
    # those of the genesis.
    chain = devnet(timer_config={"max_ttl_blocks": 77})
    actor = chain.deploy(SCHEDULER)
    timer_id = schedule(actor, 9)
    assert chain.timer(timer_id).expires_at == chain.height + 77


def test_6_4_basefee_config_is_updated_the_same_way(chain):
    """§6.4: "the same direct-governance pattern used by … UpdateBasefeeConfig"."""
    changed = replace(chain.params.basefee_config, min_basefee=900)
    receipt = chain.execute(
        UpdateBasefeeConfig(changed), sender=chain.accounts[1], expect_failure=True
    )
    assert receipt.failure.kind == "Unauthorized"
    chain.execute(UpdateBasefeeConfig(changed))
    assert [e.topic for e in chain.last.events] == ["basefee_config.updated"]
    chain.mine(30)
    assert load_globals(chain.state.snapshot).basefee_cycle == 900


# --- §6.5 --------------------------------------------------------------------------


def test_6_5_what_exceeds_the_lane_is_put_off_at_no_cost(devnet):
    # §6.5: "A timer whose gas_limit_per_fire exceeds the remaining lane budget is
    # deferred to the next block (it still costs its owner nothing in that block)".
    chain = devnet(**STEADY)
    actors = [chain.deploy(SCHEDULER, value="5 CBY") for _ in range(4)]
    ids = [schedule(a, 19, b"x") for a in actors]  # 550,000 each: three fit 2,000,000
    before = [a.balance for a in actors]
    chain.mine_until(19)
    assert [f.id for f in fires(chain.last)] == ids[:3]
    assert actors[3].balance == before[3]
    assert chain.last.trace[0].decision == "put_off"
    assert chain.last.trace[0].reason == "lane"
    assert chain.last.trace[0].numbers == {
        "current_height": 19,
        "sequence": 3,
        "limit": 550_000,
        "reserved": 1_650_000,
        "lane": 2_000_000,
    }
    chain.mine()
    assert [f.id for f in fires(chain.last)] == ids[3:]


def test_6_5_the_two_budgets_are_apart(chain, actor):
    # §6.5: removal "isolation prevents a resume-after-outage storm … from crowding
    # out live-timer execution".
    poor = chain.deploy(SCHEDULER)
    for start in range(0, 120, 40):
        entries = [(19, bytes([start + i]), {"expires_at": 18}) for i in range(40)]
        schedule_all(poor, *entries)
    schedule(actor, 19, b"live")
    chain.mine_until(19)
    assert chain.last.use.gc_cycles == 120 * 200
    assert fired_payloads(actor) == [b"live"]
    assert chain.timers() == []


def test_6_5_removals_beyond_the_gc_budget_roll_to_the_next_block(chain):
    # §6.5: "TIMER_GC_CYCLES … a separate budget for removing"; §8: "Timers not
    # cleared in one block roll to the next — still expired means still expired".
    #
    # No accepted configuration has so small a budget (D25): it is put in by hand.
    actor = chain.deploy(SCHEDULER)
    schedule_all(actor, *[(9, bytes([i]), {"expires_at": 8}) for i in range(3)])
    schedule_all(actor, *[(9, bytes([i]), {}) for i in range(2)])
    config = replace(chain.params.timer_config, gc_cycles_per_block=500)
    params = replace(chain.params, timer_config=config)
    chain.state = replace(chain.state, params=params)
    chain.mine_until(9)
    assert [e.topic for e in chain.last.events] == ["TimerExpired"] * 2
    assert [(d.decision.value, d.reason) for d in chain.last.trace[2:]] == [
        ("put_off", "gc")
    ] * 3
    chain.mine()
    topics = [e.topic for e in chain.last.events]
    assert topics == ["TimerExpired", "TimerCancelledInsufficientFunds"]
    chain.mine()
    assert chain.timers() == []


def test_6_5_neither_budget_grants_free_gas(chain, actor):
    """§6.5: "Every dispatched fire still charges fee_payer per §6.3"."""
    schedule_all(actor, *[(9, bytes([i]), {"gas_limit": 60_000}) for i in range(9)])
    chain.mine_until(8)
    before = actor.balance
    chain.mine()
    paid = sum(f.fee for f in fires(chain.last))
    assert len(fires(chain.last)) == 9
    assert all(f.fee > 0 for f in fires(chain.last))
    assert actor.balance == before - paid
