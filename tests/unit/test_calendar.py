"""The due queue: what a block put off is not decoded again, and nothing shows of it."""

import pytest
from msgspec.structs import replace

from node.chain.params import TimerConfig
from node.chain.timers import calendar
from node.chain.timers.calendar import QUEUED_RECORD_BYTES_MAX, DueQueue
from node.chain.timers.timer import Timer
from node.chain.transaction import UpdateTimerConfig
from node.chain.transition import Caches, open_state
from node.primitives import codec
from node.primitives.types import Address, Height, TimerId
from node.state.journal import Journal
from node.state.memory import MemoryStore
from node.testing import Devnet

ACTOR = """
import pvm_host

def arm(payload):
    height, count = pvm_host.cbor_decode(payload)
    for number in range(count):
        pvm_host.schedule_timer(height, b"", None, 40_000, height + 5)

def change(payload):
    timers = pvm_host.list_timers()
    pvm_host.cancel_timer(timers[0])
    pvm_host.extend_timer(timers[-1], pvm_host.block_height() + 100)

def handle_timer(payload):
    pass
"""


def timer_at(height: int, sequence: int, payload: bytes = b"") -> Timer:
    """A timer of which place and payload matter."""
    return Timer(
        Height(height),
        sequence,
        TimerId(sequence.to_bytes(32, "big")),
        Address(bytes(20)),
        payload,
        "",
        Address(bytes(20)),
        gas_limit=1_000,
        is_gas_limit_defaulted=False,
        expires_at=Height(9_999),
        scheduled_at=Height(0),
    )


@pytest.fixture
def journal() -> Journal:
    journal = Journal(MemoryStore().snapshot())
    for sequence in range(10):
        calendar.insert(journal, timer_at(5, sequence))
    return journal


def test_a_timer_that_waits_is_decoded_once(journal, monkeypatch):
    decoded = []
    decode = calendar.decode_timer

    def counted(key, record):
        decoded.append(key)
        return decode(key, record)

    monkeypatch.setattr(calendar, "decode_timer", counted)
    queue = DueQueue()
    first = calendar.due(journal, 5, 8, queue=queue)
    assert (len(decoded), len(queue)) == (8, 8)
    assert calendar.due(journal, 5, 8, queue=queue) == first
    assert len(decoded) == 8
    calendar.remove(journal, first[0])
    changed = replace(first[1], expires_at=Height(7))
    calendar.replace(journal, changed)
    assert calendar.due(journal, 5, 8, queue=queue)[:2] == [changed, first[2]]
    assert len(decoded) == 8 + 1 + 1  # the changed one, and one that came in sight


def test_it_remembers_no_more_than_the_latest_block_examined(journal):
    queue = DueQueue()
    calendar.due(journal, 5, 10, queue=queue)
    calendar.due(journal, 5, 3, queue=queue)
    assert len(queue) == 3
    large = timer_at(5, 0, bytes(QUEUED_RECORD_BYTES_MAX))
    calendar.replace(journal, large)
    assert calendar.due(journal, 5, 3, queue=queue)[0] == large
    assert len(queue) == 2


def test_an_empty_queue_is_filled_too(journal):
    queue = DueQueue()
    calendar.due(journal, 4, 10, queue=queue)
    assert len(queue) == 0
    calendar.due(journal, 5, 10, queue=queue)
    assert len(queue) == 10


def play(*, is_forgetting: bool) -> list:
    """Thirty timers at one height, two of which fit a block; results."""
    basefees = {"basefee_cycle": 1, "basefee_cell": 1}
    config = replace(
        TimerConfig(),
        lane_timer_cycles=100_000,
        max_cycles_per_fire=100_000,
        max_cycles_per_fire_auction=100_000,
        max_due_examined=20,
    )
    with Devnet(**basefees) as chain:
        actor = chain.deploy(ACTOR, value="1 CBY")
        chain.execute(UpdateTimerConfig(config))
        limits = {"cycles_limit": 1_000_000, "cells_limit": 100_000}
        actor.call("arm", codec.encode([chain.height + 2, 30]), **limits)
        for block in range(12):
            if is_forgetting:
                state = chain.state
                chain.state = open_state(
                    state.params, state.head, state.snapshot, Caches()
                )
            if block == 4:
                actor.call("change", b"", **limits)
            else:
                chain.mine()
        # Blocks again, over what is remembered of those that were taken back.
        with chain.snapshot():
            chain.mine(3)
        chain.mine()
        return chain.results


def test_with_and_without_it_the_chain_is_the_same():
    """D24: "the core is right without it, and a test compares"."""
    plain, other = play(is_forgetting=False), play(is_forgetting=True)
    assert [r.header for r in plain] == [r.header for r in other]
    assert [r.trace for r in plain] == [r.trace for r in other]
    kinds = {d.decision.value for r in plain for d in r.trace}
    assert {"put_off", "fired", "expired", "cancelled", "extended"} <= kinds
