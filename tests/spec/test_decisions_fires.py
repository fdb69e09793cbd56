"""D12, D13, D16, D17: what they say of timers and fires (docs/decisions.md)."""

import pytest
from msgspec.structs import replace

from node.chain.transaction import UpdateTimerConfig
from node.primitives import codec
from tests.spec.driven_actors import (
    SCHEDULER,
    fires,
    refusal,
    route,
    said,
    schedule,
    schedule_all,
)

SMALL = {"gas_limit": 50_000}

# --- D12, D13, D16, D17: what they say of timers ------------------------------------

CALLBACKS = {
    "handle_timer": "def handle_timer(p):\n    pvm_host.set_state(b'by', b'handle')\n",
    "on_timer": "def on_timer(p):\n    pvm_host.set_state(b'by', b'on')\n",
}
ARM = "def arm(p):\n    pvm_host.schedule_timer_ex(9, p, None, 50_000)\n"


@pytest.mark.parametrize(
    ("defined", "called"),
    [
        (["handle_timer"], b"handle"),
        (["on_timer"], b"on"),
        (["on_timer", "handle_timer"], b"handle"),
        ([], None),
    ],
)
def test_d12_handle_timer_and_only_if_absent_on_timer(chain, defined, called):
    """D12: "`handle_timer`, only if absent `on_timer`"."""
    actor = chain.deploy(ARM + "".join(CALLBACKS[n] for n in defined), value="5 CBY")
    actor.call("arm")
    chain.mine_until(9)
    (fire,) = fires(chain.last)
    assert actor.state(b"by") == called
    assert fire.handler == ("on_timer" if called == b"on" else "handle_timer")
    if called is None:
        assert fire.failure.kind == "HandlerNotFound"


@pytest.mark.parametrize(
    "payload",
    [
        b'{"_handler": "other"}',
        b'{"_handler": "other", "_payload": "aW4=", "more": "x"}',
        b'{"_handler": "other", "_payload": "not base64!"}',
        b'{"_handler": "other", "_payload": "aW4"}',
        b'{"_handler": "other", "_payload": "aW 4="}',
        b'{"_handler": "other", "_payload": 1}',
        b'{"_handler": 1, "_payload": "aW4="}',
        b'{"_handler": "", "_payload": "aW4="}',
        b'{"_handler": "other", "_handler": "other", "_payload": "aW4="}',
        b'{"_handler": {"a": "b"}, "_payload": "aW4="}',
        b'[{"_handler": "other", "_payload": "aW4="}]',
        b'{"_handler": "\\ud800", "_payload": "aW4="}',
        b'{"_handler": "other", "_payload": "aW4="',
        b'{"_handler": "other", "_payload": "aW4="} {}',
        b'{"_handler": "other", "_payload": "aW4=",}',
        b'{"_handler": "other" "_payload": "aW4="}',
        b'{"_handler": "other",\x0b"_payload": "aW4="}',
        b"\xff\xfe{}",
        b"{" * 2_000,
    ],
)
def test_d12_what_does_not_route_is_an_ordinary_payload(chain, actor, payload):
    # D12: "exactly `_handler` and `_payload` (base64)"; "malformed, it is an ordinary
    # payload".
    schedule(actor, 9, payload, **SMALL)
    chain.mine_until(9)
    assert actor.storage["fires"] == [[9, "handle_timer", payload]]


@pytest.mark.parametrize("handler", ["absent", "_note", "__init__"])
def test_d12_a_named_handler_that_is_not_there(chain, actor, handler):
    # D12: "one that does not exist or starts with an underscore is `HandlerNotFound`
    # at the fire".
    schedule(actor, 9, route(handler, b"x"), **SMALL)
    chain.mine_until(9)
    (fire,) = fires(chain.last)
    assert fire.failure.kind == "HandlerNotFound"
    assert actor.storage.get("fires") is None


CONSENT = """
import pvm_host

def by_call(payload):
    target, payer = pvm_host.cbor_decode(payload)
    pvm_host.call_actor(target, "take", payer)

def by_message(payload):
    target, payer = pvm_host.cbor_decode(payload)
    pvm_host.send_message(target, "take", payer)

def take(payload):
    pvm_host.schedule_timer_ex(99, b"", payload)

def in_a_fire(payload):
    pvm_host.schedule_timer_ex(9, payload, None, 50_000)

def handle_timer(payload):
    pvm_host.schedule_timer_ex(99, b"", payload)
"""


def test_d13_consent_is_per_signed_transaction(chain):
    # D13: "in a fire and in a message, and in calls inside them, it is the executing
    # actor": `fee_payer` there can only be the actor; in a transaction's calls it is
    # the signer.
    signer = chain.accounts[2]
    caller = chain.deploy(CONSENT, value="5 CBY", sender=signer)
    callee = chain.deploy(CONSENT, value="5 CBY", sender=signer)
    pair = codec.encode([callee.address, signer.address])
    caller.call("by_call", pair, sender=signer)
    assert callee.timers[0].fee_payer == signer.address
    to_caller = codec.encode([callee.address, caller.address])
    receipt = caller.call("by_call", to_caller, sender=signer, expect_failure=True)
    assert "fee_payer" in receipt.failure.message
    caller.call("by_message", pair, sender=signer)
    caller.call("in_a_fire", signer.address, sender=signer)
    chain.mine_until(9)
    failed = [r for r in chain.receipts() if r.failure]
    kinds = [r.kind.name for r in failed if "fee_payer" in r.failure.message]
    assert kinds == ["TRANSACTION", "MAILBOX_MESSAGE", "FIRE"]
    assert len(callee.timers) == 1
    assert caller.timers == []


def test_d16_a_refused_call_is_charged_and_catchable(chain):
    # D16: "Host calls charge their base first, then validate"; "A refused host call
    # raises `HostError`, which the actor may catch".
    source = """
import pvm_host

def attempt(payload):
    before = pvm_host.gas_left()
    try:
        pvm_host.schedule_timer(0, payload)
    except pvm_host.HostError as error:
        return [before - pvm_host.gas_left(), error.code, error.name]
"""
    actor = chain.deploy(source)
    spent, code, name = codec.decode(actor.call("attempt", b"p" * 60).value)
    assert spent >= 200
    assert (code, name) == (1, "InvalidInput")
    assert chain.timers() == []


def test_d16_a_fire_starts_with_its_entry_charge(chain):
    # D16: "Fires … start with 1,000 cycles charged inside their budget
    # (`fire_base_cycles`); a smaller `gas_limit` is refused".
    source = ARM.replace("50_000", "1_000") + "def handle_timer():\n    pass\n"
    actor = chain.deploy(source, value="5 CBY")
    actor.call("arm")
    chain.mine_until(9)
    (fire,) = fires(chain.last)
    assert fire.failure.kind == "OutOfCycles"  # nothing was left for the handler
    assert fire.cycles_used == 1_000
    scheduler = chain.deploy(SCHEDULER)
    assert refusal(scheduler, 99, gas_limit=999) == "InvalidInput"
    schedule(scheduler, 99, gas_limit=1_000)


def test_d16_a_limit_below_a_raised_entry_charge_is_paid_in_full(chain, actor):
    # D16: "a recorded one below a raised entry charge ends out of cycles and pays its
    # limit".
    schedule(actor, 9, gas_limit=2_000)
    config = replace(chain.params.timer_config, fire_base_cycles=5_000)
    chain.execute(UpdateTimerConfig(config))
    chain.mine_until(9)
    (fire,) = fires(chain.last)
    assert fire.failure.kind == "OutOfCycles"
    assert (fire.cycles_used, fire.cycles_limit) == (2_000, 2_000)


def test_d17_scheduling_says_when_the_expiry_comes_first(chain, actor):
    """D17: "`TimerScheduled` (says when `expires_at < height`)"."""
    for expires_at, warned in ((98, True), (99, False)):
        timer_id = schedule(actor, 99, expires_at=expires_at)
        (event,) = chain.last.events
        assert event.topic == "TimerScheduled"
        assert said(event)["timer_id"] == timer_id
        assert said(event)["expires_before_due"] is warned


def test_d17_a_cancel_that_finds_nothing_emits_nothing(chain, actor):
    """D17: "A cancel that finds nothing emits nothing"; nor does one that finds."""
    timer_id = schedule(actor, 99)
    actor.call("cancel", timer_id)
    assert chain.last.events == ()


def test_d17_the_hint_of_an_unfunded_timer(chain):
    """D17: "with a hint: one reserve of max_cost per pending timer"."""
    schedule(chain.deploy(SCHEDULER), 9)
    chain.mine_until(9)
    (event,) = chain.last.events
    assert "one reserve of max_cost per pending timer" in said(event)["hint"]


def test_d17_put_offs_are_in_the_trace_only(chain, actor):
    """D17: "Put-offs have no event: they are in the block's timer trace"."""
    schedule_all(actor, *[(9, bytes([i]), {}) for i in range(4)])
    chain.mine_until(9)
    assert chain.last.events == ()
    assert [d.decision.value for d in chain.last.trace] == ["put_off"] + ["fired"] * 3
