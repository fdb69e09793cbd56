"""What happened can be read back as it was; an empty block costs four keys."""

from msgspec.structs import replace

from node import history
from node.chain.timers.timer import Decision, TimerDecision
from node.chain.transaction import Transfer, decode_transaction
from node.client import Wallet
from node.primitives.codec import encode as cbor
from node.primitives.types import Address, Height, TimerId
from node.state import keys
from node.state.memory import MemoryStore
from node.state.store import WriteSet

ALICE, BOB = Wallet.dev(0), Wallet.dev(1)


def test_an_empty_block_costs_four_keys(chain):
    result = chain.block()
    assert set(history.record(result).changes) == {
        keys.HEAD,
        keys.header(1),
        keys.block_by_hash(result.block.header.hash()),
        keys.block_totals(0, 1),
    }


def test_a_store_without_a_chain_has_no_head():
    assert history.load_head(MemoryStore().snapshot()) is None


def test_the_head_is_the_latest_header(chain):
    assert history.load_head(chain.store.snapshot()) == chain.results[0].block.header
    result = chain.block()
    snapshot = chain.store.snapshot()
    assert history.load_head(snapshot) == result.block.header
    assert history.load_header(snapshot, Height(2)) is None


def test_blocks_come_back_with_their_transactions_and_senders(chain):
    transactions = (
        chain.transaction(ALICE, Transfer(BOB.address, 5)),
        chain.transaction(BOB, Transfer(ALICE.address, 7)),
    )
    result = chain.block(*transactions)
    block = history.load_block(chain.store.snapshot(), Height(1))
    assert block == result.block
    assert [t.sender for t in block.transactions] == [ALICE.address, BOB.address]
    assert [decode_transaction(t.raw) for t in block.transactions] == list(transactions)


def test_an_empty_block_comes_back_and_one_that_is_not_there_does_not(chain):
    result = chain.block()
    snapshot = chain.store.snapshot()
    assert history.load_block(snapshot, Height(1)) == result.block
    assert history.load_results(snapshot, Height(1)) == ((), ())
    assert history.load_block(snapshot, Height(2)) is None


def test_receipts_and_events_come_back_with_the_text_for_people(chain, source):
    actor = chain.deploy(source)
    spoken, failed = chain.call(actor, "say", b"hi"), chain.call(actor, "fail")
    snapshot = chain.store.snapshot()
    for result in (spoken, failed):
        height = result.block.header.height
        read = history.load_results(snapshot, height)
        assert read == (result.receipts, result.events)
    assert failed.receipts[0].failure.line is not None
    assert [event.topic for event in spoken.events] == ["said", "again"]


def test_a_block_is_found_by_its_hash(chain):
    block_hash = chain.block().block.header.hash()
    snapshot = chain.store.snapshot()
    assert history.load_height_by_hash(snapshot, block_hash) == 1
    assert history.load_height_by_hash(snapshot, bytes(32)) is None


def test_a_transaction_is_found_by_its_id(chain):
    first = chain.transaction(ALICE, Transfer(BOB.address, 5))
    second = chain.transaction(ALICE, Transfer(BOB.address, 6))
    chain.block()
    chain.block(first, second)
    snapshot = chain.store.snapshot()
    assert history.load_transaction_location(snapshot, first.id) == (2, 0)
    assert history.load_transaction_location(snapshot, second.id) == (2, 1)
    assert history.load_transaction_location(snapshot, bytes(32)) is None


def test_headers_come_in_order_from_any_height(chain):
    for _ in range(3):
        chain.block()
    snapshot = chain.store.snapshot()
    assert [h.height for h in history.headers_after(snapshot, -1)] == [0, 1, 2, 3]
    assert [h.height for h in history.headers_after(snapshot, 1)] == [2, 3]
    assert list(history.headers_after(snapshot, 3)) == []


# --- timers ------------------------------------------------------------------------


def test_a_timer_s_life_is_told_from_its_scheduling_to_its_end(chain, source):
    actor = chain.deploy(source)
    timer_id = chain.call(actor, "start", b"\x02").receipts[0].scheduled[0]
    chain.block()
    fired = chain.block()
    assert fired.trace, "the timer was due"
    life = history.load_timer_decisions(chain.store.snapshot(), timer_id)
    assert [(height, d.decision) for height, d in life] == [
        (2, Decision.SCHEDULED),
        (4, Decision.FIRED),
    ]
    assert life[-1][1] == fired.trace[-1]


def test_a_trace_holds_every_decision_of_its_block_in_order(chain, source):
    actor = chain.deploy(source)
    chain.call(actor, "start", b"\x01")
    result = chain.block()
    snapshot = chain.store.snapshot()
    assert history.load_trace(snapshot, Height(3)) == result.trace
    assert history.load_trace(snapshot, Height(1)) == ()


def test_put_offs_are_in_the_trace_alone(chain):
    """Of one block's 10,000 put-offs none costs a key of its own."""
    put_off = make_decision(b"\x01" * 32, Decision.PUT_OFF)
    gone = make_decision(b"\x02" * 32, Decision.EXPIRED)
    writes = record_trace(chain, put_off, gone)
    kinds = sorted(key[:2] for key in writes.changes)
    assert kinds == [keys.HEAD[:2], b"hd", b"hh", b"hl", b"hp", b"hs", b"hx"]
    snapshot = chain.store.snapshot()
    assert history.load_trace(snapshot, Height(1)) == (put_off, gone)
    assert history.load_timer_decisions(snapshot, put_off.timer_id) == []
    assert history.load_timer_decisions(snapshot, gone.timer_id) == [(1, gone)]


def test_put_offs_are_packed_and_come_back_in_their_places(chain):
    """A drain of 100,000 timers puts 9,000 off in each of a hundred blocks."""

    def put_off(number, limit):
        return replace(
            make_decision(number.to_bytes(32, "big"), Decision.PUT_OFF),
            actor=Address(bytes([number % 7]) * 20),
            due_height=Height(2**64 - 1 - number),
            reason="lane" if number % 5 else "cells",
            numbers={"sequence": number, "limit": limit, "reserved": 2**63},
        )

    decisions = [put_off(number, 1_000 + number % 3) for number in range(500)]
    for place in (0, 1, 250, 499):
        gone = make_decision(place.to_bytes(32, "little"), Decision.EXPIRED)
        decisions[place] = gone
    writes = record_trace(chain, *decisions)
    snapshot = chain.store.snapshot()
    assert history.load_trace(snapshot, Height(1)) == tuple(decisions)
    for first in (0, 1, 2, 3, 249, 250, 251, 499, 500):
        read = [
            (index, found)
            for _, index, found in history.decisions_between(snapshot, 1, 1, first)
        ]
        assert read == list(enumerate(decisions))[first:]
    (gone,) = history.load_timer_decisions(snapshot, decisions[250].timer_id)
    assert gone == (1, decisions[250])
    assert len(writes.changes[keys.timer_trace(1)]) < 500 * 66


def test_put_offs_of_an_auction_keep_their_ranks_and_rivals(chain):
    """Ranks differ in every one, prices and rivals in few."""
    decisions = [
        replace(
            make_decision(bytes([number]) * 32, Decision.PUT_OFF),
            numbers={"rank": number + 1, "priority": number % 4, "sequence": number},
            rival=TimerId(bytes([number % 2]) * 32) if number % 3 else None,
        )
        for number in range(60)
    ]
    bare = replace(make_decision(bytes(32), Decision.PUT_OFF), numbers={"sequence": 99})
    writes = record_trace(chain, *decisions, bare)
    loaded = history.load_trace(chain.store.snapshot(), Height(1))
    assert loaded == (*decisions, bare)
    assert len(writes.changes[keys.timer_trace(1)]) < 60 * 66 + 1_300


def test_an_id_that_begins_another_has_a_life_of_its_own(chain):
    """Ids may have any length up to 256 (CIP-5 §3.1)."""
    short = make_decision(b"\x01" * 20, Decision.EXPIRED)
    long = make_decision(b"\x01" * 32, Decision.EXPIRED)
    record_trace(chain, short, long)
    snapshot = chain.store.snapshot()
    assert history.load_timer_decisions(snapshot, short.timer_id) == [(1, short)]


def test_decisions_can_be_read_from_the_middle_of_a_block(chain):
    decisions = [make_decision(bytes([n]) * 32, Decision.EXPIRED) for n in range(4)]
    record_trace(chain, *decisions)
    read = list(history.decisions_between(chain.store.snapshot(), 1, 1, 2))
    assert read == [(1, 2, decisions[2]), (1, 3, decisions[3])]
    assert list(history.decisions_between(chain.store.snapshot(), 2, 2**64 - 1)) == []


def make_decision(timer_id, decision):
    return TimerDecision(
        TimerId(timer_id),
        Address(bytes(20)),
        Address(b"\x01" * 20),
        Height(1),
        decision,
        "lane",
        {"available": 1, "required": 2**70, "sequence": timer_id[-1]},
        None if decision is Decision.PUT_OFF else 3,  # what waits has no receipt
    )


def record_trace(chain, *decisions):
    result = replace(chain.block(), receipts=(), events=(), trace=decisions)
    writes = history.record(result)
    # Who was put off is in the calendar, or ended since.
    places = {
        keys.ended_timer(d.due_height, d.numbers["sequence"]): cbor(
            [d.timer_id, d.actor, d.fee_payer]
        )
        for d in decisions
        if d.decision is Decision.PUT_OFF
    }
    chain.store.commit(writes | WriteSet(places))
    return writes
