"""CIP-5 §3 and §4: what a timer is, how it is made, kept, cancelled and extended."""

import pytest

from node.chain.block import ReceiptKind
from node.chain.params import PAYLOAD_BYTES_MAX
from node.chain.timers import calendar
from node.primitives import codec
from node.primitives.crypto import keccak256
from node.state import keys
from node.state.commitment import recompute
from node.state.journal import Journal
from node.testing import TransactionFailed
from tests.spec.driven_actors import (
    SCHEDULER,
    decisions,
    fired_payloads,
    refusal,
    refused,
    route,
    schedule,
    schedule_all,
)


def be8(number):
    return number.to_bytes(8, "big")


# --- §3 ----------------------------------------------------------------------------


def test_3_1_a_timer_holds_the_fields_of_the_structure(chain, actor):
    """§3.1: `struct Timer { actor_address, height, payload, timer_id, handler, … }`."""
    payer = chain.accounts[0].address
    timer_id = schedule(
        actor, 9, b"abc", fee_payer=payer, gas_limit=20_000, expires_at=40
    )
    timer = chain.timer(timer_id)
    assert timer.actor == actor.address
    assert timer.height == 9
    assert timer.payload == b"abc"
    assert timer.timer_id == timer_id
    assert timer.handler == ""  # the default one
    assert timer.fee_payer == payer
    assert timer.gas_limit == 20_000
    assert timer.expires_at == 40


def test_3_1_an_id_is_at_most_256_bytes(actor):
    """§3.1: "unique identifier (max 256 bytes)"."""
    receipt = actor.call("cancel", b"i" * 257, expect_failure=True)
    assert refused(receipt) == "InvalidInput"
    receipt = actor.call("cancel", b"i" * 256, expect_failure=True)
    assert refused(receipt) == "TimerNotFound"


def test_3_2_the_store_gives_the_record_by_id_the_index_the_order(chain, actor):
    """§3.2: "a list of timer_id values for each height, … in insertion order"."""
    ids = schedule_all(actor, (9, b"b", {}), (9, b"a", {}), (8, b"c", {}))
    assert [chain.timer(i).payload for i in ids] == [b"b", b"a", b"c"]
    snapshot = chain.state.snapshot
    at_nine = [t.timer_id for t in calendar.timers_between(snapshot, 9, 9)]
    assert at_nine == ids[:2]


def test_3_2_timers_contribute_to_the_state_root(chain, actor):
    """§3.2: "part of consensus state … and contribute to `state_root`"."""
    schedule(actor, 9, b"x")
    snapshot, key = chain.state.snapshot, keys.timer(9, 0)
    assert recompute(snapshot) == chain.head.state_root
    journal = Journal(snapshot)
    journal.delete(key)
    without = recompute(journal)
    journal.put(keys.timer(10, 0), snapshot.get(key))
    moved = recompute(journal)
    assert len({chain.head.state_root, without, moved}) == 3


def test_3_3_ids_are_derived(actor):
    """§3.3: `keccak256(actor_address[20] || height[8 BE] || payload || nonce[8 BE])`.

    The nonce is the actor's own scheduling counter (D19).
    """
    first = schedule(actor, 9, b"p")
    second = schedule(actor, 300, b"")
    assert first == keccak256(actor.address + be8(9) + b"p" + be8(0))
    assert second == keccak256(actor.address + be8(300) + be8(1))


def test_3_3_ids_are_unique_across_all_timers(chain, actor):
    """§3.3: "This guarantees uniqueness across all timers": equal calls, two actors."""
    twin = chain.deploy(SCHEDULER)
    ids = schedule_all(actor, (9, b"p", {}), (9, b"p", {}))
    ids += schedule_all(twin, (9, b"p", {}), (9, b"p", {}))
    assert len(set(ids)) == 4


# --- §4.1 --------------------------------------------------------------------------

CLASSIC = """
import pvm_host

def classic():
    return pvm_host.schedule_timer(pvm_host.block_height() + 5, b"x")

def positional(payload):
    return pvm_host.schedule_timer_ex(9, b"x", payload, 30_000, 77)

def none_is_default():
    return pvm_host.schedule_timer_ex(9, b"x", None, None, None)

def too_many():
    pvm_host.schedule_timer_ex(9, b"x", None, None, None, 1)
"""


@pytest.mark.parametrize("handler", ["classic", "none_is_default"])
def test_4_1_the_classic_form_uses_protocol_defaults(chain, handler):
    # §4.1: "fee_payer = actor_address, gas_limit = TimerConfig.max_cycles_per_fire,
    # expires_at = current_height + TimerConfig.max_ttl_blocks" and "Returns the
    # timer_id"; of the extended form: "None → …" the same.
    actor = chain.deploy(CLASSIC)
    timer = chain.timer(actor.call(handler).value)
    assert timer.fee_payer == actor.address
    assert timer.gas_limit == 550_000
    assert timer.expires_at == chain.height + 2_592_000


def test_4_1_the_extended_form_overrides_any_of_the_three(chain):
    # §4.1: "accepts actor-specified overrides for any of fee_payer / gas_limit /
    # expires_at", in this order.
    actor = chain.deploy(CLASSIC)
    sender = chain.accounts[3]
    receipt = actor.call("positional", sender.address, sender=sender)
    timer = chain.timer(receipt.value)
    assert timer.fee_payer == sender.address
    assert timer.gas_limit == 30_000
    assert timer.expires_at == 77


def test_4_1_the_extended_form_has_five_parameters(chain):
    """§4.1 prints schedule_timer_ex with five parameters and no more."""
    receipt = chain.deploy(CLASSIC).call("too_many", expect_failure=True)
    assert receipt.failure.kind == "TypeError"


@pytest.mark.parametrize("call", ["extend", "cancel"])
def test_4_1_only_the_owner_extends_and_cancels(chain, actor, call):
    # §4.1: "Caller must own the timer …; otherwise rejected as Unauthorized", and
    # §4.2: "Cross-actor cancellation via cancel_timer is rejected as Unauthorized".
    stranger = chain.deploy(SCHEDULER)
    timer_id = schedule(actor, 9)
    argument = timer_id if call == "cancel" else codec.encode([timer_id, 99])
    before = chain.timer(timer_id)
    receipt = stranger.call(call, argument, expect_failure=True)
    assert refused(receipt) == "Unauthorized"
    assert chain.timer(timer_id) == before
    actor.call(call, argument)
    assert chain.timer(timer_id) != before


# --- §4.2 --------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0, -1, -3])
def test_4_2_the_height_lies_in_the_future(chain, actor, offset):
    """§4.2: "height MUST be strictly greater than the current block height"."""
    height = chain.height + 1  # of the block in which the call executes
    assert refusal(actor, height + offset) == "InvalidInput"


def test_4_2_the_next_height_is_future_enough(chain, actor):
    """§4.2: "strictly greater": one more is enough."""
    schedule(actor, chain.height + 2, b"soon")
    chain.mine()
    assert fired_payloads(actor) == [b"soon"]


def test_4_2_a_timer_fires_exactly_once(chain, actor):
    """§4.2: "Each timer fires exactly once and is immediately removed"."""
    timer_id = schedule(actor, chain.height + 3, b"once")
    chain.mine(6)
    assert fired_payloads(actor) == [b"once"]
    assert chain.timer(timer_id) is None
    assert decisions(chain, timer_id) == ["scheduled", "fired"]


def test_4_2_a_payload_may_name_its_handler(chain, actor):
    # §4.2: "if payload is valid JSON containing {"_handler": …, "_payload":
    # "<base64>"}, the timer invokes the named handler with the inner payload.
    # Otherwise, the default handler handle_timer is invoked".
    schedule_all(
        actor, (9, route("other", b"in"), {"gas_limit": 50_000}), (9, b"out", {})
    )
    chain.mine_until(9)
    assert actor.storage["fires"] == [
        [9, "other", b"in"],
        [9, "handle_timer", b"out"],
    ]


BIG = f"""
import pvm_host

def fits():
    return pvm_host.schedule_timer(99, b"x" * {PAYLOAD_BYTES_MAX})

def exceeds():
    return pvm_host.schedule_timer(99, b"x" * {PAYLOAD_BYTES_MAX + 1})
"""


def test_4_2_a_payload_has_at_most_1_mib(chain):
    """§4.2: "Maximum 1,048,576 bytes (1 MiB)"."""
    assert PAYLOAD_BYTES_MAX == 1_048_576
    actor = chain.deploy(BIG)
    timer_id = actor.call("fits").value
    assert len(chain.timer(timer_id).payload) == 1_048_576
    receipt = actor.call("exceeds", expect_failure=True)
    assert refused(receipt) == "InvalidInput"


def test_4_2_a_handler_name_has_at_most_256_bytes(actor):
    """§4.2: "Handler name: Maximum 256 bytes"; of UTF-8."""
    schedule(actor, 99, route("h" * 256))
    assert refusal(actor, 99, route("h" * 257)) == "InvalidInput"
    assert refusal(actor, 99, route("ü" * 129)) == "InvalidInput"


@pytest.mark.parametrize("number", range(16))
def test_4_2_neither_zero_nor_a_system_actor_pays(chain, actor, number):
    # §4.2: "ZERO (burn address) is rejected", "The reserved system-actor band
    # 0x01..=0x0F is rejected": also when it is the signer who asks.
    reserved = number.to_bytes(20, "big")
    chain.fund(reserved, "50 CBY")
    arguments = codec.encode([99, b"", {"fee_payer": reserved}])
    receipt = actor.call("schedule", arguments, sender=reserved, expect_failure=True)
    assert refused(receipt) == "InvalidInput"


def test_4_2_the_first_address_above_the_band_may_pay(chain, actor):
    """§4.2: the band ends at 0x0F."""
    above = (16).to_bytes(20, "big")
    chain.fund(above, "50 CBY")
    timer_id = schedule(actor, 99, sender=above, fee_payer=above)
    assert chain.timer(timer_id).fee_payer == above


def test_4_2_only_the_actor_or_the_signer_pays(chain, actor):
    # §4.2: "MUST be either the executing actor_address … or the current tx_sender …
    # Any other third-party address is rejected with InvalidInput".
    signer, victim = chain.accounts[1], chain.accounts[2]
    for payer in (signer.address, actor.address):
        timer_id = schedule(actor, 99, sender=signer, fee_payer=payer)
        assert chain.timer(timer_id).fee_payer == payer
    arguments = codec.encode([99, b"", {"fee_payer": victim.address}])
    receipt = actor.call("schedule", arguments, sender=signer, expect_failure=True)
    assert refused(receipt) == "InvalidInput"


def test_4_2_a_limit_per_fire_is_at_most_the_cap(chain, actor):
    """§4.2: "gas_limit_per_fire: MUST be ≤ TimerConfig.max_cycles_per_fire"."""
    timer_id = schedule(actor, 99, gas_limit=550_000)
    assert chain.timer(timer_id).gas_limit == 550_000
    assert refusal(actor, 99, gas_limit=550_001) == "InvalidInput"


def test_4_2_an_expiry_lies_within_the_ttl(chain, actor):
    """§4.2: "MUST satisfy expires_at ≤ current_height + TimerConfig.max_ttl_blocks"."""
    latest = chain.height + 1 + 2_592_000
    timer_id = schedule(actor, 99, expires_at=latest)
    assert chain.timer(timer_id).expires_at == latest
    assert refusal(actor, 99, expires_at=latest + 2) == "InvalidInput"


def test_4_2_an_actor_holds_so_many_timers_and_no_more(devnet):
    # §4.2: "at most TimerConfig.max_timers_per_actor live timers at any time
    # (maintained via a per-actor secondary index)".
    chain = devnet(timer_config={"max_timers_per_actor": 3})
    actor = chain.deploy(SCHEDULER, value="20 CBY")
    ids = schedule_all(actor, *[(99, bytes([i]), {}) for i in range(3)])
    assert refusal(actor, 99) == "TimerLimit"
    assert calendar.count_of(chain.state.snapshot, actor.address) == 3
    twin = chain.deploy(SCHEDULER)
    schedule(twin, 99)  # each actor has its own count
    actor.call("cancel", ids[1])
    schedule(actor, chain.height + 2, b"fires")
    assert refusal(actor, 99) == "TimerLimit"
    assert fired_payloads(actor) == [b"fires"]
    schedule(actor, 99)  # the fired one has left its place
    assert calendar.count_of(chain.state.snapshot, actor.address) == 3


# --- §4.3 --------------------------------------------------------------------------

EFFECTS = """
import pvm_host

def schedule_and_fail():
    pvm_host.schedule_timer(99, b"x")
    raise ValueError("no")

def cancel_and_fail(payload):
    pvm_host.cancel_timer(payload)
    raise ValueError("no")

def extend_and_fail(payload):
    pvm_host.extend_timer(payload, 1_000)
    raise ValueError("no")

def schedule_and_refuse():
    pvm_host.schedule_timer(99, b"x")
    pvm_host.schedule_timer(0, b"x")

def schedule():
    return pvm_host.schedule_timer(99, b"x")

def handle_timer(payload):
    pass
"""


def test_4_3_validation_failure_reverts_the_transaction(chain):
    """§4.3: "validation failure reverts the tx"."""
    actor = chain.deploy(EFFECTS)
    receipt = actor.call("schedule_and_refuse", expect_failure=True)
    assert refused(receipt) == "InvalidInput"
    assert chain.timers() == []


def test_4_3_accepted_timers_are_persisted_on_commit(chain):
    # §4.3: "collected in ExecutionSideEffects.scheduled_timers and persisted to
    # storage after the transaction commits".
    actor = chain.deploy(EFFECTS)
    receipt = actor.call("schedule")
    assert receipt.scheduled == (receipt.value,)
    assert chain.timer(receipt.value) is not None


def test_4_3_cancelled_timers_are_removed_on_commit(chain, actor):
    """§4.3: "Cancelled timers … removed from storage after the transaction commits"."""
    timer_id = schedule(actor, chain.height + 3)
    actor.call("cancel", timer_id)
    assert chain.timer(timer_id) is None
    chain.mine(4)
    assert chain.receipts(ReceiptKind.FIRE) == []
    assert decisions(chain, timer_id) == ["scheduled", "cancelled"]


def test_4_3_rollback_discards_all_timer_side_effects(chain):
    # §4.3: "On transaction rollback, all timer side effects are discarded — no
    # scheduled timer is persisted, no cancelled timer is removed".
    actor = chain.deploy(EFFECTS)
    timer_id = actor.call("schedule").value
    kept = chain.timers()
    events = len(chain.events())
    for handler in ("schedule_and_fail", "cancel_and_fail", "extend_and_fail"):
        with pytest.raises(TransactionFailed, match="ValueError: no"):
            actor.call(handler, timer_id)
        assert chain.timers() == kept
    assert len(chain.events()) == events
    assert decisions(chain, timer_id) == ["scheduled"]
