"""`DueBook`: what a block knows of due timers, and the order of its calls (D36)."""

import pytest

from node.chain.params import CalendarSizes
from node.chain.timers import calendar, due_index
from node.chain.timers.due_book import DueBook
from node.chain.timers.due_index import LaneView
from node.chain.timers.tiers import TieredCalendar
from node.primitives.types import Amount
from node.state.journal import Journal
from node.state.memory import MemoryStore
from tests.unit.test_calendar import timer_at

VIEW = LaneView(5, Amount(1), 10_000, Amount(0))


@pytest.fixture
def journal():
    journal = Journal(MemoryStore().snapshot())
    for height in (3, 4, 5, 6):
        calendar.insert(journal, timer_at(height, height))
    due_index.AUCTION_INDEX.add(journal, timer_at(3, 3))
    due_index.AUCTION_INDEX.add(journal, timer_at(4, 4))
    return journal


@pytest.fixture
def book(journal):
    return DueBook(journal, TieredCalendar(journal, 4, CalendarSizes()))


def orders(journal):
    return dict(due_index.found(journal))


def expected(journal, height):
    return dict(due_index.AUCTION_INDEX.expected(journal, height))


def test_the_fresh_join_the_orders_when_they_are_left(book, journal):
    book.resume(4)
    fresh = book.gather(VIEW, is_run=False)
    assert [due.timer.sequence for due in fresh] == [5]
    assert book.is_any_due()
    assert not book.is_indexed(fresh[0].timer)
    assert book.is_indexed(timer_at(4, 4))
    book.close()
    assert orders(journal) == expected(journal, 5)
    assert book.is_indexed(fresh[0].timer)


def test_who_leaves_is_taken_out_wherever_it_stands(book, journal):
    book.resume(4)
    calendar.remove(journal, timer_at(3, 3))
    book.forget(timer_at(3, 3))
    fresh = book.gather(VIEW, is_run=False)
    calendar.remove(journal, fresh[0].timer)
    book.forget(fresh[0].timer)
    book.close(gone={fresh[0].timer.timer_id})
    assert orders(journal) == expected(journal, 5)
    calendar.remove(journal, timer_at(4, 4))
    book.forget(timer_at(4, 4))
    assert orders(journal) == expected(journal, 5) == {}


def test_the_first_block_gathers_all_that_is_due():
    journal = Journal(MemoryStore().snapshot())
    for height in (3, 5, 6):
        calendar.insert(journal, timer_at(height, height))
    book = DueBook(journal, TieredCalendar(journal, 4, CalendarSizes()))
    fresh = book.gather(VIEW, is_run=False)
    assert [due.timer.sequence for due in fresh] == [3, 5]
    book.close()
    assert orders(journal) == expected(journal, 5)


def test_under_other_rules_nothing_stands_in_the_orders(book):
    assert not book.is_indexed(timer_at(3, 3))


def test_the_calls_come_in_their_order(book):
    with pytest.raises(AssertionError, match="nobody has looked yet"):
        book.is_any_due()
    with pytest.raises(AssertionError, match="CLOSED follows NEW"):
        book.close()
    book.resume(4)
    with pytest.raises(AssertionError, match="RESUMED follows RESUMED"):
        book.resume(4)
    book.gather(VIEW, is_run=False)
    with pytest.raises(AssertionError, match="GATHERED follows GATHERED"):
        book.gather(VIEW, is_run=False)
    with pytest.raises(AssertionError, match="RESUMED follows GATHERED"):
        book.resume(5)
    book.close()
    with pytest.raises(AssertionError, match="CLOSED follows CLOSED"):
        book.close()
