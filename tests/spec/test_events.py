"""Events: D17."""

import pytest

from node.primitives import codec

EMITTER = """
import pvm_host

class Emitter:
    def emit(self, payload):
        topic, size = pvm_host.cbor_decode(payload)
        data = bytes(size)
        before = pvm_host.gas_left()
        try:
            pvm_host.emit_event(topic, data)
        except pvm_host.HostError as error:
            return error.name
        return before - pvm_host.gas_left()

    def many(self, payload):
        for i in range(pvm_host.cbor_decode(payload)):
            pvm_host.emit_event("e", b"")

    def many_through_callee(self, payload):
        here, there = pvm_host.cbor_decode(payload)
        me = pvm_host.self_address()
        for i in range(here):
            pvm_host.emit_event("e", b"")
        pvm_host.call_actor(me, "many", pvm_host.cbor_encode(there), 9_000_000)

    def many_undone(self, payload):
        me = pvm_host.self_address()
        for i in range(2):
            try:
                pvm_host.call_actor(me, "many_and_revert", payload, 9_000_000)
            except pvm_host.RevertError:
                pass
        self.many(payload)

    def many_and_revert(self, payload):
        self.many(payload)
        pvm_host.revert("undone")

    def ordered(self):
        me = pvm_host.self_address()
        pvm_host.emit_event("1", b"")
        pvm_host.schedule_timer(pvm_host.block_height() + 5, b"")
        pvm_host.call_actor(me, "emit", pvm_host.cbor_encode(["3", 0]))
        pvm_host.emit_event("4", b"")
"""
PLENTY = {"cycles_limit": 10_000_000, "cells_limit": 60_000}


@pytest.fixture
def emitter(chain):
    return chain.deploy(EMITTER)


def test_events_carry_their_emitter_in_execution_order(chain, emitter):
    """Events carry their emitter (an actor or `system`); order is execution order."""
    emitter.call("ordered", **PLENTY)
    events = [(e.emitter, e.topic) for e in chain.last.events]
    me = emitter.address
    assert events == [(me, "1"), (None, "TimerScheduled"), (me, "3"), (me, "4")]
    assert {e.receipt_index for e in chain.last.events} == {0}


@pytest.mark.parametrize(
    ("topic", "size", "is_fine"),
    [
        ("t" * 64, 4_096, True),
        ("é" * 32, 0, True),
        ("t" * 65, 0, False),
        ("é" * 33, 0, False),
        ("t", 4_097, False),
        (b"t", 0, False),
        (5, 0, False),
    ],
)
def test_topics_and_data_are_bounded(emitter, topic, size, is_fine):
    """Topic ≤ 64 bytes, data ≤ 4,096."""
    value = emitter.call("emit", codec.encode([topic, size]), **PLENTY).value
    assert (value != b"InvalidInput") == is_fine


@pytest.mark.parametrize(
    ("size", "cells"), [(0, 0), (1, 1), (2, 1), (3, 2), (4_096, 2_048)]
)
def test_an_event_costs_by_the_byte(emitter, size, cells):
    """500 cycles + 5 a byte, 1 cell per 2 bytes rounded up."""
    empty = emitter.call("emit", codec.encode(["t", 0]), **PLENTY)
    full = emitter.call("emit", codec.encode(["t", size]), **PLENTY)
    spent = codec.decode(full.value) - codec.decode(empty.value)
    assert spent == 5 * size
    assert codec.decode(empty.value) - 500 < 40
    payloads = len(codec.encode(["t", size])) - len(codec.encode(["t", 0]))
    answers = len(full.value) - len(empty.value)
    assert full.cells_used - empty.cells_used - payloads - answers == cells


def test_an_execution_emits_at_most_1024(chain, emitter):
    """≤ 1,024 an execution."""
    emitter.call("many", codec.encode(1_024), **PLENTY)
    assert len(chain.last.events) == 1_024
    receipt = emitter.call("many", codec.encode(1_025), expect_failure=True, **PLENTY)
    assert receipt.failure.kind == "HostError.InvalidInput"
    assert chain.last.events == ()


def test_a_callees_events_count_towards_its_callers(chain, emitter):
    """A callee's events count towards its caller's 1,024."""
    payload = codec.encode([1_000, 24])
    emitter.call("many_through_callee", payload, **PLENTY)
    assert len(chain.last.events) == 1_024
    payload = codec.encode([1_000, 25])
    emitter.call("many_through_callee", payload, expect_failure=True, **PLENTY)


def test_undone_events_do_not_count(chain, emitter):
    emitter.call("many_undone", codec.encode(1_024), **PLENTY)
    assert len(chain.last.events) == 1_024
