"""One execution: fresh globals, handlers of fires, reading, beacon: D11, D12, D15, D39.

And what D16 says of counters that are undone.
"""

import pytest

from node.primitives import codec
from node.primitives.crypto import keccak256

CBY = 10**9
ROOMY = {"cycles_limit": 2_000_000, "cells_limit": 500_000}


def msg_id(kind, height, index):
    return keccak256(
        bytes([kind]) + height.to_bytes(8, "big") + index.to_bytes(8, "big")
    )


FRESH = """
import pvm_host

COUNT = []

def handle(payload):
    COUNT.append(1)
    return len(COUNT)

def twice():
    me = pvm_host.self_address()
    COUNT.append(1)
    return [pvm_host.cbor_decode(pvm_host.call_actor(me, "handle", b"")), len(COUNT)]

def on_timer(payload):
    pvm_host.emit_event("on_timer", payload)

def custom(payload):
    pvm_host.emit_event("custom", payload)

def _hidden(payload):
    pvm_host.emit_event("hidden", payload)

def schedule(payload):
    pvm_host.schedule_timer(pvm_host.block_height() + 1, payload, None, 50_000)

def beacon():
    return [pvm_host.context()["block_hash"], pvm_host.randomness(b"a"),
            pvm_host.randomness(b"a"), pvm_host.context()["msg_id"]]

def same(payload):
    first = pvm_host.randomness(b"a")
    try:
        pvm_host.call_actor(pvm_host.self_address(), "draw", b"")
    except pvm_host.RevertError:
        pass
    return [first, pvm_host.randomness(b"a")]

def draw(payload):
    pvm_host.randomness(b"a")
    pvm_host.revert("undone")
"""

MUTATIONS = [
    "transfer(bytes([1] * 20), 1)",
    "set_state(b'k', b'v')",
    "delete_state(b'k')",
    "schedule_timer(99, b'')",
    "schedule_timer_ex(99, b'')",
    "extend_timer(bytes(32), 99)",
    "cancel_timer(bytes(32))",
    "send_message(pvm_host.self_address(), 'x', b'')",
    "create_deferred_tx('x', b'')",
    "emit_event('t', b'')",
    "upgrade_self(b'x = 1')",
]


def test_nothing_survives_in_python_objects(chain):
    """D11: every message runs in a fresh instance with fresh module globals."""
    actor = chain.deploy(FRESH)
    assert codec.decode(actor.call("handle").value) == 1
    assert codec.decode(actor.call("handle").value) == 1
    assert codec.decode(actor.call("twice").value) == [1, 1]


def test_a_fire_calls_handle_timer_and_only_else_on_timer(chain):
    """D12: `handle_timer`, only if absent `on_timer`."""
    actor = chain.deploy(FRESH, value=20 * CBY)
    actor.call("schedule", b"1")
    chain.mine()
    assert [e.topic for e in chain.last.events] == ["on_timer"]
    both = (
        FRESH + "\ndef handle_timer(payload):\n    pvm_host.emit_event('h', payload)\n"
    )
    actor = chain.deploy(both, value=20 * CBY)
    actor.call("schedule", b"1")
    chain.mine()
    assert [e.topic for e in chain.last.events] == ["h"]


@pytest.mark.parametrize(
    ("payload", "event"),
    [
        (b'{"_handler": "custom", "_payload": "aGk="}', ("custom", b"hi")),
        (b'{"_payload": "aGk=", "_handler": "custom"}', ("custom", b"hi")),
        (b'{"_handler": "custom"}', ("on_timer", b'{"_handler": "custom"}')),
        (b'{"_handler": 1, "_payload": ""}', None),
        (b'{"_handler": "custom", "_payload": "a"}', None),
        (b'{"_handler": "custom", "_payload": "", "x": ""}', None),
        (b"[]", None),
        (b"\xff", None),
    ],
)
def test_a_payload_may_name_its_handler(chain, payload, event):
    """A JSON object with exactly `_handler` and `_payload` (base64); else ordinary."""
    actor = chain.deploy(FRESH, value=20 * CBY)
    actor.call("schedule", payload)
    chain.mine()
    (found,) = [(e.topic, e.data) for e in chain.last.events]
    assert found == (event or ("on_timer", payload))


@pytest.mark.parametrize("handler", ["absent", "_hidden", "__init__", ""])
def test_a_handler_that_is_not_there_is_not_found_at_the_fire(chain, handler):
    """One that does not exist or starts with an underscore is `HandlerNotFound`."""
    actor = chain.deploy(FRESH, value=20 * CBY)
    actor.call("schedule", b'{"_handler": "%s", "_payload": ""}' % handler.encode())
    chain.mine()
    (receipt,) = chain.last.receipts
    if handler:
        assert receipt.failure.kind == "HandlerNotFound"
        assert receipt.cycles_used == 1_000
    else:
        assert receipt.is_success or receipt.failure.kind == "HandlerNotFound"


def test_a_handler_name_over_256_bytes_is_refused_at_scheduling(chain):
    actor = chain.deploy(FRESH)
    fits = b'{"_handler": "%s", "_payload": ""}' % (b"h" * 256)
    actor.call("schedule", fits)
    longer = b'{"_handler": "%s", "_payload": ""}' % (b"h" * 257)
    receipt = actor.call("schedule", longer, expect_failure=True, **ROOMY)
    assert receipt.failure.kind == "HostError.InvalidInput"


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_read_only_executions_change_nothing(chain, mutation):
    """D15: every mutating host call halts with `ReadOnlyViolation`, uncatchably."""
    source = f"""
import pvm_host

def run():
    try:
        pvm_host.{mutation}
    except Exception:
        pass
    return 1

def nested():
    try:
        pvm_host.call_actor(pvm_host.self_address(), "run", b"")
    except pvm_host.RevertError as error:
        return str(error)
"""
    actor = chain.deploy(source)
    root = chain.head.state_root
    with pytest.raises(Exception, match="ReadOnlyViolation"):
        actor.read("run")
    assert b"ReadOnlyViolation" in actor.read("nested")
    assert chain.head.state_root == root


def test_reading_needs_no_transaction(chain):
    actor = chain.deploy(FRESH)
    assert codec.decode(actor.read("handle")) == 1


def test_the_block_hash_is_a_beacon(chain):
    """D39: keccak256("beacon" ‖ chain id BE8 ‖ height BE8), and randomness from it."""
    actor = chain.deploy(FRESH)
    receipt = actor.call("beacon")
    beacon, first, second, id_ = codec.decode(receipt.value)
    height = chain.height
    assert beacon == keccak256(
        b"beacon" + (100).to_bytes(8, "big") + height.to_bytes(8, "big")
    )
    for counter, drawn in enumerate((first, second)):
        image = beacon + id_ + actor.address + b"a" + counter.to_bytes(8, "big")
        assert drawn == keccak256(image)


def test_an_undone_draw_is_not_counted(chain):
    """D16: every counter is undone, that of `randomness` too."""
    actor = chain.deploy(FRESH)
    first, second = codec.decode(actor.call("same", **ROOMY).value)
    beacon = keccak256(
        b"beacon" + (100).to_bytes(8, "big") + chain.height.to_bytes(8, "big")
    )
    id_ = msg_id(0, chain.height, 0)
    for counter, drawn in enumerate((first, second)):
        image = beacon + id_ + actor.address + b"a" + counter.to_bytes(8, "big")
        assert drawn == keccak256(image)
