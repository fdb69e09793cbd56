"""CIP-5 §5: what happens to due timers at the end of a block."""

import pytest

from node.chain.block import ReceiptKind
from node.chain.transaction import CancelTimer, ExtendTimer, SetBalance
from node.primitives import codec
from tests.spec.driven_actors import (
    SCHEDULER,
    STEADY,
    decisions,
    fired_heights,
    fired_payloads,
    fires,
    said,
    schedule,
    schedule_all,
)

SMALL = {"gas_limit": 50_000}
"""Options of a timer of which forty fit the lane."""

# --- §5.1 --------------------------------------------------------------------------

PARTS = """
import pvm_host

def arm():
    height = pvm_host.block_height() + 1
    pvm_host.send_message(pvm_host.self_address(), "note", b"mailbox")
    pvm_host.create_deferred_tx("note", b"engine")
    pvm_host.schedule_timer_ex(height, b"timer", gas_limit=100_000)

def note(payload):
    order = pvm_host.get_state(b"order") or b""
    pvm_host.set_state(b"order", order + payload + b" ")

def handle_timer(payload):
    note(payload)
"""


def test_5_1_timers_come_after_transactions_and_before_messages(chain):
    # §5.1: "Timer delivery occurs at the end of block, after all user transactions
    # have been executed", and "Timer-created deferred transactions are ordered before
    # engine and mailbox deferred transactions within the same block".
    actor = chain.deploy(PARTS, value="5 CBY")
    actor.call("arm")
    actor.call("note", b"transaction")
    assert actor.state(b"order") == b"transaction timer engine mailbox "
    assert [r.kind for r in chain.last.receipts] == [
        ReceiptKind.TRANSACTION,
        ReceiptKind.FIRE,
        ReceiptKind.ENGINE_MESSAGE,
        ReceiptKind.MAILBOX_MESSAGE,
    ]


def test_5_1_due_timers_go_in_insertion_order(chain, actor):
    """§5.1 step 2: "returns all due timers in insertion order (FIFO)"."""
    names = [b"c", b"a", b"b"]
    schedule_all(actor, *[(9, name, SMALL) for name in names])
    schedule(actor, 9, b"0", gas_limit=10_000)
    chain.mine_until(9)
    assert fired_payloads(actor) == [b"c", b"a", b"b", b"0"]


def test_5_1_expired_and_unfunded_timers_are_removed_with_their_event(chain):
    # §5.1 step 3: "TTL expired … or insufficient funds → remove under
    # TIMER_GC_CYCLES (§6.5), emit the corresponding event, skip execution".
    actor = chain.deploy(SCHEDULER)  # without money
    expired = schedule(actor, 9, b"x", expires_at=8)
    unfunded = schedule(actor, 9, b"x")
    chain.mine_until(9)
    assert chain.timers() == []
    assert [e.topic for e in chain.last.events] == [
        "TimerExpired",
        "TimerCancelledInsufficientFunds",
    ]
    assert [said(e)["timer_id"] for e in chain.last.events] == [expired, unfunded]
    assert chain.last.use.gc_cycles == 400
    assert chain.last.receipts == ()


def test_5_1_due_timers_leave_store_and_index_when_classified(chain, actor):
    # §5.1 step 4: "Remove the timer from both the timer store and the height index
    # after each classification concludes": a handler no longer finds its own timer.
    timer_id = schedule(actor, 9, b"")
    assert [t.timer_id for t in actor.timers] == [timer_id]
    chain.mine_until(9)
    assert actor.timers == []
    assert chain.timer(timer_id) is None


# --- §5.2 --------------------------------------------------------------------------

WITNESS = """
import pvm_host

def schedule(payload):
    return pvm_host.schedule_timer_ex(9, payload, payload, 123_456)

def handle_timer(ctx, payload):
    pvm_host.set_state(b"sender", ctx["sender"])
    pvm_host.set_state(b"origin", ctx["origin"])
    pvm_host.set_state(b"tx_hash", ctx["tx_hash"])
    pvm_host.set_state(b"actor", ctx["actor_addr"])
    pvm_host.set_state(b"payload", payload)
    pvm_host.set_state(b"get_sender", pvm_host.get_sender())
"""


def test_5_2_a_fire_has_the_properties_of_the_table(chain):
    # §5.2: origin 32 zero bytes, ExecuteActor { actor, handler, payload }, limits
    # timer.gas_limit_per_fire and TimerConfig.max_cells_per_fire, sender the actor, fee
    # payer timer.fee_payer.
    actor = chain.deploy(WITNESS)
    payer = chain.accounts[4]
    timer_id = actor.call("schedule", payer.address, sender=payer).value
    chain.mine_until(9)
    (fire,) = fires(chain.last)
    assert fire.is_success
    assert fire.id == timer_id
    assert fire.origin == bytes(32)
    assert (fire.actor, fire.handler) == (actor.address, "handle_timer")
    assert (fire.cycles_limit, fire.cells_limit) == (123_456, 550_000)
    assert fire.sender == actor.address
    assert fire.payer == payer.address
    assert actor.state(b"sender") == actor.state(b"get_sender") == actor.address
    assert actor.state(b"origin") == actor.state(b"tx_hash") == bytes(32)
    assert actor.state(b"actor") == actor.address
    assert actor.state(b"payload") == payer.address


def test_5_2_a_fire_takes_nothing_from_the_deferred_lane(devnet):
    # §5.2: "timer deferred txs do not consume from a parent tx's
    # deferred_gas_pools entry; their gas budget is drawn from fee_payer's account
    # directly".
    chain = devnet(**STEADY)
    actor = chain.deploy(SCHEDULER, value="5 CBY")
    schedule(actor, 9, b"", **SMALL)
    held = chain.supply().held
    before = actor.balance
    chain.mine_until(9)
    (fire,) = fires(chain.last)
    assert held == 0
    assert chain.last.use.deferred_cycles == 0
    assert chain.last.use.timer_cycles == fire.cycles_used > 0
    assert actor.balance == before - fire.fee


# --- §5.3 --------------------------------------------------------------------------

EAGER = """
import pvm_host

def start():
    chain_on(b"")

def chain_on(payload):
    pvm_host.schedule_timer_ex(pvm_host.block_height() + 1, payload, None, 50_000)

def now():
    pvm_host.schedule_timer(pvm_host.block_height(), b"")

def handle_timer(payload):
    try:
        now()
    except pvm_host.HostError:
        chain_on(payload + b".")
"""


def test_5_3_no_timer_fires_in_the_block_that_made_it(chain):
    # §5.3: "Timers created within the current block's transactions MUST NOT fire in
    # the same block"; nor those made by a fire (§8 "Reentrancy").
    actor = chain.deploy(EAGER, value="20 CBY")
    actor.call("now", expect_failure=True)
    actor.call("start")
    assert fires(chain.last) == []
    for number in range(4):
        chain.mine()
        assert len(fires(chain.last)) == 1
        (waiting,) = actor.timers
        assert waiting.payload == b"." * (number + 1)
        assert waiting.height == chain.height + 1


# --- §5.4 --------------------------------------------------------------------------

FAILING = """
import pvm_host

def schedule():
    return pvm_host.schedule_timer_ex(9, b"", None, 60_000)

def handle_timer(payload):
    pvm_host.set_state(b"trace", b"left")
    raise ValueError("not today")
"""


def test_5_4_path_1_a_fire_removes_its_timer_even_when_it_reverts(chain, actor):
    """§5.4 path 1: "handler runs (success or revert); timer is removed"."""
    failing = chain.deploy(FAILING, value="5 CBY")
    succeeding_id = schedule(actor, 9, b"", **SMALL)
    failing_id = failing.call("schedule").value
    chain.mine_until(9)
    assert [f.is_success for f in fires(chain.last)] == [True, False]
    assert failing.state(b"trace") is None
    assert chain.timers() == []
    for timer_id in (succeeding_id, failing_id):
        assert decisions(chain, timer_id) == ["scheduled", "fired"]


def test_5_4_path_2_an_unfunded_timer_is_removed_without_executing(devnet):
    # §5.4 path 2: "balance(fee_payer) < max_cost …. The timer is removed without
    # executing. Event: TimerCancelledInsufficientFunds { timer_id, fee_payer, required,
    # available }. Clearing runs under the GC budget … not the execution lane".
    chain = devnet(**STEADY)
    actor, payer = chain.deploy(SCHEDULER, value="5 CBY"), chain.accounts[1]
    timer_id = schedule(actor, 9, b"", payer, fee_payer=payer.address, **SMALL)
    max_cost = (50_000 + 550_000) * 1_000
    chain.execute(SetBalance(payer.address, max_cost - 1))
    chain.mine_until(9)
    (event,) = chain.last.events
    assert event.topic == "TimerCancelledInsufficientFunds"
    assert said(event)["timer_id"] == timer_id
    assert said(event)["fee_payer"] == payer.address
    assert said(event)["required"] == max_cost
    assert said(event)["available"] == max_cost - 1
    assert chain.last.use.gc_cycles == 200
    assert chain.last.use.timer_cycles == 0
    assert chain.balance(payer) == max_cost - 1
    assert decisions(chain, timer_id) == ["scheduled", "removed_insufficient_funds"]


def test_5_4_path_2_exactly_max_cost_is_enough(devnet):
    """§5.4 path 2: "<": a balance equal to max_cost fires."""
    chain = devnet(**STEADY)
    actor = chain.deploy(SCHEDULER)
    timer_id = schedule(actor, 9, b"", **SMALL)
    chain.fund(actor, (50_000 + 550_000) * 1_000)
    chain.mine_until(9)
    assert decisions(chain, timer_id) == ["scheduled", "fired"]


def test_5_4_path_3_an_expired_timer_is_removed_without_executing(chain, actor):
    # §5.4 path 3: "at fire time, current_height > expires_at. The timer is removed
    # without executing. Event: TimerExpired { timer_id, expires_at, current_height }.
    # Also under the GC budget".
    late = schedule(actor, 9, b"late", expires_at=8)
    on_time = schedule(actor, 9, b"on time", expires_at=9, **SMALL)
    chain.mine_until(9)
    (event,) = chain.last.events
    assert event.topic == "TimerExpired"
    assert said(event) == {"timer_id": late, "expires_at": 8, "current_height": 9}
    assert chain.last.use.gc_cycles == 200
    assert fired_payloads(actor) == [b"on time"]
    assert decisions(chain, late) == ["scheduled", "expired"]
    assert decisions(chain, on_time) == ["scheduled", "fired"]


def test_5_4_path_4_the_actor_cancels_its_own(chain, actor):
    """§5.4 path 4, actor-self: "requires timer.actor_address == executing_actor"."""
    timer_id = schedule(actor, 9)
    actor.call("cancel", timer_id)
    receipt = actor.call("cancel", timer_id, expect_failure=True)
    assert receipt.failure.kind == "HostError.TimerNotFound"
    assert decisions(chain, timer_id) == ["scheduled", "cancelled"]


def test_5_4_path_4_system_deployers_cancel_any(chain, actor):
    # §5.4 path 4, validator set: "sender ∈ system_deployers …. Emits
    # timer.cancelled_by_governance with the timer_id as event data".
    timer_id = schedule(actor, 9)
    receipt = chain.execute(
        CancelTimer(timer_id), sender=chain.accounts[1], expect_failure=True
    )
    assert receipt.failure.kind == "Unauthorized"
    assert chain.timer(timer_id) is not None
    assert chain.params.system_deployers == (chain.accounts[0].address,)
    chain.execute(CancelTimer(timer_id), sender=chain.accounts[0])
    assert chain.timer(timer_id) is None
    (event,) = chain.last.events
    assert event.topic == "timer.cancelled_by_governance"
    assert said(event) == {"timer_id": timer_id}


@pytest.mark.parametrize("exit_path", ["expired", "unfunded", "fired", "never was"])
def test_5_4_path_4_a_system_cancel_is_idempotent(chain, exit_path):
    # §5.4 path 4: "cancelling a timer that has already self-destructed … succeeds as
    # a no-op".
    actor = chain.deploy(SCHEDULER, value="20 CBY" if exit_path == "fired" else 0)
    timer_id = bytes(32)
    if exit_path != "never was":
        expires_at = 8 if exit_path == "expired" else 99
        timer_id = schedule(actor, 9, b"", expires_at=expires_at)
        chain.mine_until(9)
    assert timer_id not in [timer.timer_id for timer in chain.timers()]
    assert chain.execute(CancelTimer(timer_id)).is_success
    assert chain.last.events == ()


def test_5_4_every_timer_leaves_by_exactly_one_path(chain, actor):
    """§5.4: "guaranteed to disappear through exactly one of the following paths"."""
    poor = chain.deploy(SCHEDULER)
    ids = [
        schedule(actor, 19, b"fires", **SMALL),
        schedule(poor, 19, b"unfunded"),
        schedule(actor, 19, b"expires", expires_at=18),
        schedule(actor, 19, b"cancelled"),
        schedule(actor, 19, b"cancelled by governance"),
    ]
    actor.call("cancel", ids[3])
    chain.execute(CancelTimer(ids[4]))
    chain.mine_until(25)
    exits = []
    for timer_id in ids:
        final = [d for _, d in chain.decisions(timer_id) if d.is_final]
        assert len(final) == 1
        exits.append((final[0].decision.value, final[0].reason))
    assert exits == [
        ("fired", ""),
        ("removed_insufficient_funds", ""),
        ("expired", ""),
        ("cancelled", "actor"),
        ("cancelled", "governance"),
    ]
    assert chain.timers() == []


# --- §5.4: extension -----------------------------------------------------------------


def test_5_4_the_actor_extends_its_own(chain, actor):
    # §5.4: "Caller must own the timer; new TTL must be strictly greater than the
    # current block height".
    timer_id = schedule(actor, 99, b"", expires_at=50)
    height = chain.height + 1
    receipt = actor.call(
        "extend", codec.encode([timer_id, height]), expect_failure=True
    )
    assert receipt.failure.kind == "HostError.InvalidInput"
    assert chain.timer(timer_id).expires_at == 50
    actor.call("extend", codec.encode([timer_id, chain.height + 2]))
    assert chain.timer(timer_id).expires_at == chain.height + 1


def test_5_4_system_deployers_extend_any(chain, actor):
    # §5.4: "Same system_deployers gate as CancelTimer …. Emits
    # timer.extended_by_governance".
    timer_id = schedule(actor, 99, b"", expires_at=50)
    receipt = chain.execute(
        ExtendTimer(timer_id, 60), sender=chain.accounts[1], expect_failure=True
    )
    assert receipt.failure.kind == "Unauthorized"
    receipt = chain.execute(
        ExtendTimer(timer_id, chain.height + 1), expect_failure=True
    )
    assert receipt.failure.kind == "InvalidInput"
    assert chain.timer(timer_id).expires_at == 50
    chain.execute(ExtendTimer(timer_id, 60))
    assert chain.timer(timer_id).expires_at == 60
    (event,) = chain.last.events
    assert event.topic == "timer.extended_by_governance"
    assert said(event) == {"timer_id": timer_id, "expires_at": 60}


@pytest.mark.parametrize("by", ["actor", "governance"])
def test_5_4_both_paths_clamp_the_expiry(chain, actor, by):
    # §5.4: "Both paths clamp the new TTL to current_height + TimerConfig.max_ttl_blocks
    # to prevent renewal past the unattended-lifespan ceiling".
    timer_id = schedule(actor, 99, b"", expires_at=50)
    if by == "actor":
        actor.call("extend", codec.encode([timer_id, 2**64 - 1]))
    else:
        chain.execute(ExtendTimer(timer_id, 2**64 - 1))
    assert chain.timer(timer_id).expires_at == chain.height + 2_592_000


def test_5_4_an_extended_timer_lives_on(chain, actor):
    """§5.4: extension rescues a timer that would expire before it is due (D20)."""
    timer_id = schedule(actor, 19, b"", expires_at=3)
    actor.call("extend", codec.encode([timer_id, 19]))
    chain.mine_until(19)
    assert fired_heights(actor) == [19]


CANCELLER = """
import pvm_host

def schedule():
    first = pvm_host.schedule_timer_ex(9, b"cancel", None, 100_000)
    second = pvm_host.schedule_timer_ex(9, b"never", None, 100_000)
    pvm_host.set_state(b"second", second)
    return second

def handle_timer(payload):
    pvm_host.set_state(b"ran " + payload, b"")
    if payload == b"cancel":
        before = pvm_host.get_balance(pvm_host.self_address())
        pvm_host.cancel_timer(pvm_host.get_state(b"second"))
        after = pvm_host.get_balance(pvm_host.self_address())
        pvm_host.set_state(b"refund", str(after - before).encode())
"""


def test_5_4_a_cancel_after_the_debit_refunds_it(devnet):
    # §5.4: "If the fire-time self-destruct check has already debited fee_payer …, the
    # cancel path refunds the unused portion", and §4.3: "Any pre-charged max_cost is
    # refunded on the same commit".
    chain = devnet(**STEADY)
    actor = chain.deploy(CANCELLER, value="5 CBY")
    timer_id = actor.call("schedule").value
    before = actor.balance
    chain.mine_until(9)
    (fire,) = fires(chain.last)
    assert fire.is_success
    assert actor.state(b"ran never") is None
    assert actor.state(b"refund") == str((100_000 + 550_000) * 1_000).encode()
    assert actor.balance == before - fire.fee
    assert decisions(chain, timer_id) == ["scheduled", "cancelled"]
    assert chain.supply().is_balanced
