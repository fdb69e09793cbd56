"""The tiers in memory: what waits is not read again, and nothing shows of it (D24)."""

import gc

import pytest
from msgspec.structs import replace

from node.chain.params import CalendarSizes, TimerConfig
from node.chain.timers import calendar, tiers
from node.chain.timers.tiers import TieredCalendar
from node.chain.timers.timer import Timer
from node.chain.transaction import UpdateTimerConfig
from node.chain.transition import Caches, open_state
from node.primitives import codec
from node.primitives.types import Address, Height, TimerId
from node.state import keys
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


def due_of(tiered: TieredCalendar, height: int) -> list[Timer]:
    return [held.timer(key, tiered.reader) for key, held in tiered.due(height)]


def test_a_timer_that_waits_is_read_and_decoded_once(journal, monkeypatch):
    decoded = []
    decode = tiers.decode_timer

    def counted(key, record):
        decoded.append(key)
        return decode(key, record)

    monkeypatch.setattr(tiers, "decode_timer", counted)
    tiered = TieredCalendar(journal, 4, CalendarSizes())
    first = due_of(tiered, 5)
    assert len(first) == len(decoded) == 10
    empty = Journal(MemoryStore().snapshot())
    tiered.advance(empty, 5, {})
    assert due_of(tiered, 6) == first
    assert len(decoded) == 10
    changed = replace(first[1], expires_at=Height(7))
    gone, key = (keys.timer(t.height, t.sequence) for t in first[:2])
    tiered.advance(empty, 6, {gone: None, key: changed.encode(), b"other": b""})
    assert due_of(tiered, 7) == [changed, *first[2:]]
    assert len(decoded) == 11


def test_what_is_held_makes_no_search_for_cycles_longer(journal):
    """Thousands of buckets that are searched make an empty block take 20 ms."""
    tiered = TieredCalendar(journal, 0, CalendarSizes())
    assert list(tiered.timers(0, 9))  # read and decoded

    buckets = list(tiered._all())
    assert [len(bucket) for bucket in buckets] == [10]
    assert not any(map(gc.is_tracked, buckets))
    assert not any(gc.is_tracked(held) for held in buckets[0].values())


def test_a_large_record_stays_in_the_store(journal):
    large = timer_at(5, 0, bytes(tiers.RECORD_BYTES_HELD_MAX))
    calendar.replace(journal, large)
    tiered = TieredCalendar(journal, 4, CalendarSizes())
    held = dict(tiered.due(5))[keys.timer(large.height, large.sequence)]
    assert held.record is None
    assert held.timer(keys.timer(large.height, large.sequence), journal) == large


def test_no_more_timers_are_held_than_the_bound_says(journal, monkeypatch):
    """D24: "memory is bounded"; what is not held is read from the store."""
    monkeypatch.setattr(tiers, "HELD_MAX", 6)
    tiered = TieredCalendar(journal, 4, CalendarSizes())
    assert len(due_of(tiered, 5)) == 10
    assert len(list(tiered.held())) == 6
    for sequence in range(10, 14):
        timer = timer_at(5, sequence)
        calendar.insert(journal, timer)
    tiered.advance(journal, 5, {b"t": None})
    assert [t.sequence for t in due_of(tiered, 6)] == list(range(14))
    assert len(list(tiered.held())) <= 6


def test_one_block_fills_a_bounded_number_from_the_overflow_set(journal, monkeypatch):
    """D24: promotion "costs a bounded amount per block"."""
    monkeypatch.setattr(tiers, "FILLED_A_BLOCK_MAX", 3)
    tiered = TieredCalendar(journal, 0, CalendarSizes(2, 4, 2))
    held = []
    for height in range(1, 4):
        tiered.advance(journal, height, {})
        held.append(sorted(tier.value for tier, _, _ in tiered.held()))
    assert held == [["epoch"] * 3, ["epoch"] * 6, ["epoch"] * 9]
    tiered.advance(journal, 4, {})
    assert {tier.value for tier, _, _ in tiered.held()} == {"ring"}
    assert tiered.tally.ring == 10


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
