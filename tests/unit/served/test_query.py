"""The read model answers from one state; lists are bounded and go on where they end."""

import pytest
from msgspec.structs import replace

from node import query
from node.archive.opening import resume_state
from node.chain.timers.tiers import Tier
from node.chain.timers.timer import Decision
from node.chain.transaction import (
    ExecuteActor,
    Fund,
    Transfer,
    UpdateBasefeeConfig,
)
from node.client import Wallet
from node.query import (
    EndedTimer,
    HeightNotReached,
    LiveTimer,
    MissingKind,
    NotFound,
    SupplyTooLarge,
    TimerCriteria,
    Warnings,
    pagination,
)

ALICE, BOB = Wallet.dev(0), Wallet.dev(1)
ABSENT = b"\x99" * 20


def test_status_names_genesis_head_and_what_is_in_force_next(chain):
    result = chain.block()
    status = query.chain_status(chain.state)
    assert status.head == result.block.header
    assert status.head_hash == result.block.header.hash()
    assert status.genesis_hash == chain.results[0].block.header.hash()
    assert status.globals.height == 1
    assert status.rules == "fifo"


def test_what_governance_may_change_starts_from_genesis(chain):
    governed = query.governed(chain.state)
    assert governed.timer_config == chain.state.params.timer_config
    assert governed.basefee_config == chain.state.params.basefee_config
    assert governed.activations == ((0, "fifo"),)


class Unwalked:
    """A snapshot of which only single keys are read."""

    def __init__(self, snapshot):
        self._snapshot = snapshot

    def get(self, key):
        return self._snapshot.get(key)


def test_status_and_params_walk_through_nothing(chain):
    """On disk a walk steps over every timer that was removed lately."""
    genesis = chain.state
    resumed = resume_state(genesis.params, genesis.head, genesis.snapshot)
    chain.block()
    for state in (resumed, chain.state):
        unwalked = replace(state, snapshot=Unwalked(state.snapshot))
        assert query.chain_status(unwalked).rules == "fifo"
        assert query.governed(unwalked).activations == ((0, "fifo"),)
        assert query.next_fees(unwalked).rules == "fifo"


def test_supply_is_balances_burned_and_held(chain, source):
    """D10: minted = balances + burned + held."""
    chain.deploy(source)
    supply = query.count_supply(chain.state)
    assert supply.globals.burned > 0
    assert supply.is_balanced
    assert supply.globals.minted == 10 * 10**15 + 10**12


def test_a_supply_too_large_to_count_is_refused(chain):
    with pytest.raises(SupplyTooLarge, match="9 accounts"):
        query.count_supply(chain.state, records_max=9)
    assert query.count_supply(chain.state, records_max=None).is_balanced


# --- accounts and actors -----------------------------------------------------------


def test_an_untouched_address_is_an_empty_account(chain):
    assert query.account(chain.state, ABSENT).balance == 0
    assert query.account(chain.state, ALICE.address).balance == 10**15


def test_an_actor_shows_its_code_and_what_waits_for_it(chain, source):
    actor = chain.deploy(source)
    chain.call(actor, "start", b"\x05")
    view = query.actor(chain.state, actor)
    assert view.source == source
    assert view.account.deployer == ALICE.address
    assert (view.live_timers, view.mailbox_length) == (1, 0)
    for address in (ABSENT, ALICE.address):
        with pytest.raises(NotFound) as error:
            query.actor(chain.state, address)
        assert error.value.missing is MissingKind.ACTOR


def test_storage_is_read_by_raw_key(chain, source):
    actor = chain.deploy(source)
    chain.call(actor, "say", b"hello")
    assert query.storage_value(chain.state, actor, b"said") == b"hello"
    with pytest.raises(NotFound) as error:
        query.storage_value(chain.state, actor, b"sai")
    assert error.value.missing is MissingKind.STORAGE_KEY


def test_storage_pages_follow_one_another_without_gap_or_repeat(chain, source):
    actor = chain.deploy(source)
    chain.call(actor, "say", b"hello")
    chain.call(actor, "count")
    whole = query.storage_page(chain.state, actor, b"", b"", 10)
    assert [key for key, _ in whole.items] == [b"said", b"storage:count"]
    assert whole.next_key is None
    first = query.storage_page(chain.state, actor, b"", b"", 1)
    second = query.storage_page(chain.state, actor, b"", first.next_key, 1)
    assert first.items + second.items == whole.items
    assert second.next_key is None
    narrow = query.storage_page(chain.state, actor, b"storage:", b"", 10)
    assert narrow.items == whole.items[1:]


def test_a_page_ends_when_its_entries_are_large(chain, source, monkeypatch):
    monkeypatch.setattr(pagination, "PAGE_BYTES_MAX", 5)
    actor = chain.deploy(source)
    chain.call(actor, "say", b"hello")
    chain.call(actor, "count")
    page = query.storage_page(chain.state, actor, b"", b"", 10)
    assert len(page.items) == 1
    assert page.next_key == b"storage:count"


# --- blocks and transactions -------------------------------------------------------


@pytest.fixture
def run_chains(chain, worker):
    """One transfer and then N empty heights: a block each, and as one run."""

    def make(heights):
        single = type(chain)(worker, chain.genesis)
        for one in (single, chain):
            one.block(one.transaction(ALICE, Transfer(BOB.address, 1)))
        for _ in range(heights):
            single.block()
        chain.run(heights)
        return single, chain

    return make


def test_blocks_are_found_by_height_and_hash_at_all_heights(chain):
    chain.block(chain.transaction(ALICE, Transfer(BOB.address, 1)))
    chain.block()
    view = query.block_at(chain.state, 1)
    assert view.block == chain.results[1].block
    assert view.receipts == chain.results[1].receipts
    assert query.block_by_hash(chain.state, view.block_hash) == view
    with pytest.raises(HeightNotReached):
        query.block_at(chain.state, 3)
    with pytest.raises(NotFound):
        query.block_by_hash(chain.state, bytes(32))


@pytest.mark.parametrize(
    ("start", "is_descending", "expected"),
    [
        (0, False, [0, 1, 2, 3]),
        (2, False, [2, 3]),
        (9, False, []),
        (3, True, [3, 2, 1, 0]),
        (9, True, [3, 2, 1, 0]),
    ],
)
def test_block_pages_cover_the_chain_in_both_directions(
    chain, start, is_descending, expected
):
    for _ in range(3):
        chain.block()
    heights, following = [], start
    while following is not None:
        views, following = query.blocks_page(
            chain.state, following, 1, is_descending=is_descending
        )
        heights += [view.block.header.height for view in views]
    assert heights == expected


def test_a_query_inside_a_run_answers_as_if_the_block_stood_there(run_chains):
    """D36: own height, timestamp, computed basefees, no content; `run` says which."""
    single, leap = run_chains(30)
    assert leap.state.head.span == 30
    for height in range(2, 32):
        view = query.block_at(leap.state, height)
        stood = query.block_at(single.state, height).block.header
        shown = view.block.header
        assert view.run == query.Run(2, 31)
        assert view.block_hash == leap.state.head.hash()
        assert (view.block.transactions, view.receipts, view.events) == ((), (), ())
        assert (shown.height, shown.timestamp_ms) == (height, stood.timestamp_ms)
        assert shown.basefee_cycle == stood.basefee_cycle
        assert shown.basefee_cell == stood.basefee_cell
    assert shown.state_root == stood.state_root
    assert query.block_by_hash(leap.state, view.block_hash) == view
    assert query.block_at(leap.state, 1) == query.block_at(single.state, 1)


def test_basefees_inside_a_run_are_those_of_its_own_time(run_chains):
    """A later change of the fee configuration does not touch what was."""
    _, leap = run_chains(30)
    before = query.block_at(leap.state, 20)
    config = replace(leap.genesis.params.basefee_config, alpha=3, denom=2)
    leap.block(leap.transaction(ALICE, UpdateBasefeeConfig(config)))
    leap.block()
    assert query.block_at(leap.state, 20) == before


def test_a_run_is_one_entry_of_a_page(run_chains):
    _, leap = run_chains(30)
    leap.block()
    for is_descending, expected in ((False, [0, 1, 31, 32]), (True, [32, 31, 1, 0])):
        start = 40 if is_descending else 0
        views, following = query.blocks_page(
            leap.state, start, 9, is_descending=is_descending
        )
        assert [view.block.header.height for view in views] == expected
        assert following is None
    inside, _ = query.blocks_page(leap.state, 12, 1, is_descending=True)
    assert inside[0].run == query.Run(2, 31)


def test_a_page_of_headers_has_no_content(chain):
    chain.block(chain.transaction(ALICE, Transfer(BOB.address, 1)))
    views, _ = query.blocks_page(
        chain.state, 1, 5, is_descending=False, is_header_wanted_only=True
    )
    assert views[0].block.header == chain.results[1].block.header
    assert (views[0].block.transactions, views[0].receipts) == ((), ())


def test_a_transaction_has_its_receipt_and_the_places_of_its_events(chain, source):
    actor = chain.deploy(source)
    result = chain.call(actor, "say", b"hi")
    found = query.find_transaction(chain.state, result.block.transactions[0].id)
    assert found.receipt == result.receipts[0]
    assert found.height == result.block.header.height
    assert found.block_hash == result.block.header.hash()
    assert [result.events[i] for i in found.event_indexes] == list(found.events)
    assert [event.topic for event in found.events] == ["said", "again"]
    assert query.find_transaction(chain.state, bytes(32)) is None


def test_transactions_of_one_block_have_each_their_own_receipt(chain, source):
    actor = chain.deploy(source)
    calls = [
        chain.transaction(ALICE, ExecuteActor(actor, "say", payload, 0))
        for payload in (b"one", b"two")
    ]
    chain.block(*calls)
    for index, call in enumerate(calls):
        found = query.find_transaction(chain.state, call.id)
        assert (found.index, found.receipt.index) == (index, index)
        assert found.event_indexes == (2 * index, 2 * index + 1)
        assert {event.data for event in found.events} == {call.instruction.payload}


def test_the_events_of_a_transaction_are_its_own(chain, source):
    actor = chain.deploy(source)
    chain.call(actor, "start", b"\x01")
    result = chain.call(actor, "say", b"hi")  # and the timer fires
    assert [e.topic for e in result.events if e.emitter] == ["said", "again", "fired"]
    found = query.find_transaction(chain.state, result.block.transactions[0].id)
    assert [event.topic for event in found.events] == ["said", "again"]


def test_a_timer_that_expires_before_it_is_due_is_warned_of(chain, source):
    """D20: scheduling beyond the expiry is accepted and never fires."""
    actor = chain.deploy(source)
    late = chain.call(actor, "start_expired")
    assert query.warnings_of(late.events) == {0: (Warnings.EXPIRES_BEFORE_DUE,)}
    assert query.warnings_of(chain.call(actor, "start", b"\x05").events) == {}


# --- timers ------------------------------------------------------------------------


def schedule(chain, actor, delay):
    return chain.call(actor, "start", bytes([delay])).receipts[0].scheduled[0]


def test_a_live_timer_shows_its_place(chain, source):
    actor = chain.deploy(source)
    timer_id = schedule(chain, actor, 9)
    view = query.timer(chain.state, timer_id)
    assert isinstance(view, LiveTimer)
    assert (view.timer.height, view.tier, view.bucket) == (11, Tier.RING, 11)


def test_an_ended_timer_says_how_and_where(chain, source):
    actor = chain.deploy(source)
    fired = schedule(chain, actor, 1)
    result = chain.block()
    view = query.timer(chain.state, fired)
    assert isinstance(view, EndedTimer)
    assert (view.height, view.decision.decision) == (3, Decision.FIRED)
    assert view.receipt == result.receipts[0]
    cancelled = schedule(chain, actor, 9)
    result = chain.call(actor, "stop", cancelled)
    view = query.timer(chain.state, cancelled)
    assert view.decision.decision is Decision.CANCELLED
    assert view.receipt == result.receipts[0]


def test_an_unknown_timer_is_not_found(chain):
    with pytest.raises(NotFound) as error:
        query.timer(chain.state, bytes(32))
    assert error.value.missing is MissingKind.TIMER


def all_live(chain, wanted, count):
    start, found = b"", []
    while start is not None:
        page = query.live_timers_page(chain.state, wanted, start, count)
        found += [view.timer.timer_id for view in page.items]
        start = page.next_key
    return found


@pytest.mark.parametrize("count", [1, 2, 100])
def test_live_timers_come_in_due_order_by_filter(chain, source, count):
    actor = chain.deploy(source)
    chain.block(chain.transaction(ALICE, Fund(actor, 1)))
    late, early = schedule(chain, actor, 90), schedule(chain, actor, 50)
    both = [early, late]
    height = {i: query.timer(chain.state, i).timer.height for i in both}
    assert all_live(chain, TimerCriteria(), count) == both
    assert all_live(chain, TimerCriteria(actor=actor), count) == both
    assert all_live(chain, TimerCriteria(fee_payer=actor), count) == both
    assert all_live(chain, TimerCriteria(actor=ABSENT), count) == []
    assert all_live(chain, TimerCriteria(fee_payer=ABSENT), count) == []
    only = TimerCriteria(first_height=height[late], last_height=height[late])
    assert all_live(chain, only, count) == [late]
    assert all_live(chain, TimerCriteria(actor, None, 0, height[early]), 1) == [early]
    assert all_live(chain, TimerCriteria(first_height=9, last_height=3), 1) == []


def test_a_filtered_list_examines_a_bounded_number_of_timers(
    chain, source, monkeypatch
):
    monkeypatch.setattr(pagination, "EXAMINED_MAX", 1)
    actor = chain.deploy(source)
    schedule(chain, actor, 50)
    schedule(chain, actor, 60)
    wanted = TimerCriteria(fee_payer=ABSENT)
    page = query.live_timers_page(chain.state, wanted, b"", 10)
    assert page.items == ()
    assert page.next_key is not None


def all_ended(chain, wanted, decision, count):
    start, found = b"", []
    while start is not None:
        page = query.ended_timers_page(chain.state, wanted, decision, start, count)
        found += [(view.height, view.decision.timer_id) for view in page.items]
        start = page.next_key
    return found


@pytest.mark.parametrize("count", [1, 100])
def test_ended_timers_come_in_the_order_of_their_end(chain, source, count):
    actor = chain.deploy(source)
    later, sooner = schedule(chain, actor, 3), schedule(chain, actor, 1)
    cancelled = schedule(chain, actor, 50)
    for _ in range(3):
        chain.block()
    chain.call(actor, "stop", cancelled)
    fired = [(4, sooner), (5, later)]
    assert all_ended(chain, TimerCriteria(), Decision.FIRED, count) == fired
    last = TimerCriteria(first_height=5)
    assert all_ended(chain, last, Decision.FIRED, count) == fired[1:]
    assert all_ended(chain, TimerCriteria(actor=ABSENT), Decision.FIRED, count) == []
    gone = all_ended(chain, TimerCriteria(), Decision.CANCELLED, count)
    assert gone == [(chain.state.head.height, cancelled)]
