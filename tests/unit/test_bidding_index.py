"""The orders of bidding: the right ones are looked at, and no more is read."""

from hypothesis import given
from hypothesis import strategies as st

from node.chain.accounts import Account, save_account
from node.chain.timers import calendar, due_index
from node.chain.timers.bidding_index import BIDDING_INDEX, BiddingView
from node.chain.timers.timer import Timer
from node.state.journal import Journal
from node.state.memory import MemoryStore

HEIGHT, EPOCH_LENGTH, BASEFEE = 50, 20, 100
AGENT = b"g" * 20


def timer_of(sequence, **fields):
    """A timer that is due and lives for long."""
    owner = bytes([sequence % 5]) * 20
    stated = {
        "height": HEIGHT - 1 - sequence % 3,
        "sequence": sequence,
        "timer_id": sequence.to_bytes(32, "big"),
        "actor": owner,
        "payload": b"",
        "handler": "",
        "fee_payer": owner,
        "gas_limit": 1_000,
        "is_gas_limit_defaulted": False,
        "expires_at": 1_000,
        "scheduled_at": 1,
    }
    return Timer(**stated | fields)


def indexed(timers, balances=()):
    """A journal in which these timers stood as the latest block was made."""
    journal = Journal(MemoryStore().snapshot())
    for payer, balance in balances:
        save_account(journal, payer, Account(balance=balance))
    for timer in timers:
        calendar.insert(journal, timer)
        BIDDING_INDEX.add(journal, timer)
    BIDDING_INDEX.refresh(journal)
    return journal


def view_of(reader):
    epoch = HEIGHT // EPOCH_LENGTH
    return BiddingView(
        HEIGHT, BASEFEE, 2**64 - 1, 0,
        epoch=epoch, epoch_length=EPOCH_LENGTH, reader=reader,
    )  # fmt: skip


class Counting:
    """A reader that counts what is read in ranges."""

    def __init__(self, reader):
        self.reader = reader
        self.read = 0

    def get(self, key):
        return self.reader.get(key)

    def range(self, start, stop):
        for pair in self.reader.range(start, stop):
            self.read += 1
            yield pair


FEES = st.integers(0, 250)
TERMS = st.one_of(
    st.builds(
        lambda bid: {"gba": AGENT, "last_bid": bid},
        st.none() | st.tuples(FEES, FEES),
    ),
    st.builds(
        lambda fee, tip: {"max_fee_per_cycle": fee, "max_priority_fee_per_cycle": tip},
        st.none() | FEES,
        st.none() | FEES,
    ),
)
NOTES = st.none() | st.tuples(st.sampled_from([0, 1, 2]), st.sampled_from([5, 10, 15]))
BALANCES = st.lists(st.sampled_from([0, 5, 12]), min_size=5, max_size=5)


@given(st.lists(st.tuples(TERMS, NOTES), max_size=25), BALANCES, st.integers(1, 6))
def test_whom_a_block_looks_at_agrees_with_a_naive_model(stated, balances, count):
    """D8, D45: awake; without a note before with one; by rank, due height, sequence."""
    timers = [
        timer_of(sequence, **terms, poor_note=note)
        for sequence, (terms, note) in enumerate(stated)
    ]
    owned = [(bytes([i]) * 20, balance) for i, balance in enumerate(balances)]
    journal = indexed(timers, owned)
    funds = dict(owned)

    def is_awake(timer):
        fee, note = timer.max_fee_per_cycle, timer.poor_note
        is_poor = note and note[0] == 2 and funds[timer.fee_payer] < note[1]
        return not is_poor and (timer.gba or fee is None or fee >= BASEFEE)

    def place(timer):
        rank = timer.max_priority_fee_per_cycle or 0
        if timer.gba:
            fee, tip = timer.last_bid or (0, 0)
            rank = max(0, min(tip, fee - BASEFEE))
        return timer.poor_note is not None, -rank, timer.height, timer.sequence

    wanted = sorted(filter(is_awake, timers), key=place)[:count]
    found = BIDDING_INDEX.select(journal, view_of(journal), count)
    assert [one.timer for one in found] == sorted(
        wanted, key=lambda timer: (timer.height, timer.sequence)
    )
    expected = dict(BIDDING_INDEX.expected(journal, HEIGHT))
    assert dict(due_index.found(journal)) == expected
    for timer in timers:
        BIDDING_INDEX.forget(journal, timer)
    BIDDING_INDEX.refresh(journal)
    assert not due_index.is_any(journal)


def test_a_backlog_of_agents_is_not_read_through():
    """A block that looks at five of many reads few more, whatever they bid."""
    bids = [(10**6, tip % 7) for tip in range(300)]
    timers = [timer_of(i, gba=AGENT, last_bid=bid) for i, bid in enumerate(bids)]
    reader = Counting(indexed(timers))
    found = BIDDING_INDEX.select(reader, view_of(reader), 5)
    assert {one.timer.last_bid[1] for one in found} == {6}
    assert reader.read < 20


def test_the_poor_of_this_epoch_are_not_read():
    """They "cost nothing" (D36): of 300 that sleep none is looked up."""
    timers = [timer_of(i, gba=AGENT, poor_note=(2, 10 + i)) for i in range(300)]
    reader = Counting(indexed(timers, [(bytes([1]) * 20, 11)]))
    found = BIDDING_INDEX.select(reader, view_of(reader), 5)
    assert [one.timer.sequence for one in found] == [1]
    assert reader.read < 20


def test_the_poor_of_earlier_epochs_are_not_read_through():
    """D45: "one look an epoch" of 300; a block that looks at five reads few more."""
    notes = [(epoch, 10**6) for epoch in (0, 1)] * 150
    bids = [(10**6, number % 7) for number in range(300)]
    timers = [
        timer_of(i, gba=AGENT, poor_note=notes[i], last_bid=bids[i]) for i in range(300)
    ]
    reader = Counting(indexed(timers))
    found = BIDDING_INDEX.select(reader, view_of(reader), 5)
    assert {one.timer.last_bid[1] for one in found} == {6}
    assert reader.read < 30
