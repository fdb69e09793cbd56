"""What stands on the page is what the API answers, read here by the Python client."""

import pytest

from node.client import TimerQuery
from node.primitives.amounts import cby_text
from node.query.trace.text import key_text, value_text
from node.rpc.v1 import timers_pb2, types_pb2
from tests.browser.looks import hex_place
from tests.browser.worlds import RULES

pytestmark = pytest.mark.browser

AMOUNTS = {"available", "max_cost", "required"}
PPM = {"weight_ppm", "effective_priority", "marginal_priority"}
BID = 2**96
DUE = "Due timers, in the order in which they were looked at"
NAMES = {
    "gas_limit": "limit",
    "weight_ppm": "weight",
    "current_height": "height",
    "bid_fp": "bid",
    "max_fee": "most for a cycle",
    "max_priority": "offered tip for a cycle",
}


def shown(name, text):
    """A number of a decision as the page writes it."""
    value = int(text)
    if name in AMOUNTS:
        return cby_text(value)
    if name in PPM:
        return f"{value // 10**6:,}" + f"{value % 10**6 / 10**6:.6f}"[1:].rstrip("0.")
    if name == "bid_fp":
        return f"{value // BID:,}" + f".{value % BID * 1000 // BID:03}".rstrip("0.")
    return f"{value:,}"


@pytest.mark.parametrize("rules", RULES)
def test_a_timer_s_life_is_told_with_the_numbers_that_were_compared(
    rules, worlds, open_tab
):
    world = worlds(rules)
    tab = open_tab(world.origin)
    for name, timer_id in world.timers.items():
        told = world.client.api.explain_timer(timer_id)
        tab.go(hex_place("timer", timer_id))
        stations = tab.stations()
        assert len(stations) == len(told.history), name
        for station, step in zip(stations, told.history, strict=True):
            decision = step.decision
            assert f"at height {decision.height:,}" in station.text
            assert station.numbers == {
                NAMES.get(key, key.replace("_", " ")): shown(key, value)
                for key, value in decision.numbers.items()
            }


@pytest.mark.parametrize("rules", RULES)
def test_what_awaits_a_timer_is_its_forecast(rules, worlds, open_tab):
    world = worlds(rules)
    told = world.client.api.explain_timer(world.timers["pending"])
    tab = open_tab(world.origin, hex_place("timer", world.timers["pending"]))
    facts, forecast = tab.facts("What awaits it"), told.forecast
    assert facts["looked at in block"] == f"{forecast.height:,}"
    assert facts["timers before it"] == f"{forecast.timers_before:,}"
    assert facts["sets aside at most"] == cby_text(int(forecast.max_cost))
    assert facts["balance of its payer"] == cby_text(int(forecast.available))
    cost = int(forecast.max_cost) + int(forecast.payer_cost_before or 0)
    part = f"{cby_text(cost)} of {cby_text(int(forecast.available))}"
    assert part in tab.text("[aria-label='What awaits it']")
    assert tab.facts("What it is")["sequence"] == f"{told.timer.record.sequence:,}"
    if told.timer.HasField("standing"):
        offered = tab.facts("What it offers")
        assert offered["most for a cycle"] == f"{int(told.timer.standing.max_fee):,}"


def test_a_calendar_of_the_past_counts_what_became_of_timers(worlds, open_tab):
    world = worlds("fifo")
    rush = world.heights["rush"]
    tab = open_tab(world.origin, f"#/calendar?from={rush - 2}&to={rush + 2}")
    rows = tab.calendar_rows()
    for height, counts in rows.items():
        told = [one.decision.decision for one in world.client.api.explain_block(height)]
        assert counts["fired"] == told.count("fired")
        assert counts["put off"] == told.count("put_off")
    assert rows[rush]["put off"] == 3


@pytest.mark.parametrize("rules", ["fifo", "auction", "bidding"])
def test_a_block_s_lane_is_told_in_the_order_in_which_it_was_filled(
    rules, worlds, open_tab
):
    world = worlds(rules)
    height = world.heights["rush"]
    tab = open_tab(world.origin, f"#/block/{height}")
    rows = [row for row in tab.rows(DUE) if row[0].isdigit()]
    assert [row[3].split()[0] for row in rows] == [
        one.decision.decision.split("_")[0]
        for one in world.client.api.explain_block(height)
        if one.is_due
    ]


def test_the_events_of_a_block_are_told_in_words(worlds, open_tab):
    """Those of the system are values; a trace has the same words, and cuts them."""
    world = worlds("fifo")
    height = world.heights["rush"]
    block = world.client.api.block(height, view=types_pb2.BLOCK_VIEW_FULL)
    tab = open_tab(world.origin, f"#/block/{height}")
    rows = tab.rows("Events of this block")
    for row, event in zip(rows, block.events, strict=True):
        words = value_text(event.data, is_cbor=not event.emitter)
        assert row[2][:60] == words[:60]
    assert any(row[2].startswith("{'actor': 0x") for row in rows)


def calls_of(call):
    """A call and all below it, in the order in which the page has them."""
    yield call
    for step in call.steps:
        if step.WhichOneof("step") == "call":
            yield from calls_of(step.call)


@pytest.mark.parametrize("name", ["buy", "late", "failed", "open", "transfer"])
def test_a_transaction_is_told_as_it_was_executed(name, worlds, open_tab):
    world = worlds("fifo")
    transaction_id = world.transactions[name]
    committed = world.client.api.transaction(transaction_id).committed
    trace = world.client.api.trace_transaction(transaction_id).trace
    tab = open_tab(world.origin, hex_place("transaction", transaction_id))
    receipt = committed.receipt
    facts = tab.facts("Outcome")
    assert facts["height"] == f"{receipt.height:,}"
    assert facts["fee"] == cby_text(int(receipt.fee))
    used = f"{receipt.cycles_used:,} of {receipt.cycles_limit:,} cycles"
    assert used in tab.text("[aria-label=Outcome]")
    calls = list(calls_of(trace.call)) if trace.HasField("call") else []
    bars = tab.page.locator(".cost svg").evaluate_all(
        "(bars) => bars.map((bar) => bar.getAttribute('aria-label'))"
    )
    assert [bar.split(" cycles")[0] for bar in bars] == [f"{c.cycles:,}" for c in calls]
    if calls:
        cycles = receipt.cycles_used - calls[0].cycles
        entry = f"{cycles:,} cycles and {receipt.cells_used - calls[0].cells:,} cells"
        assert f"{entry} were charged before any call" in tab.text()
    changes = [
        f"{key_text(one.key)} {stored(one, 'before')} → {stored(one, 'after')}"
        for one in trace.changes.storage
    ]
    rows = tab.rows("Changed storage") if changes else []
    assert [" ".join(row[1:]) for row in rows] == changes
    if committed.events:
        topics = [row[2] for row in tab.rows("Events of the transaction")]
        assert topics == [event.topic for event in committed.events]


def stored(change, side):
    """A value of an actor's state, before or after a change."""
    if not change.HasField(side):
        return "(none)"
    return value_text(getattr(change, side), is_cbor=True)


def test_a_failure_is_told_with_its_source_line_and_variables(worlds, open_tab):
    world = worlds("fifo")
    tab = open_tab(world.origin, hex_place("transaction", world.transactions["failed"]))
    assert "KeyError: 'plums'" in tab.text("[aria-label='Why it failed']")
    assert tab.text("pre.line") == "stock[kind] -= 1"
    tab.page.click("text=4 variables")
    variables = dict(tab.rows("Variables of Shop.buy"))
    assert variables["stock"] == "{'pears': 25, 'apples': 39}"


@pytest.mark.parametrize("rules", RULES)
def test_an_actor_s_money_timers_and_storage(rules, worlds, open_tab):
    world = worlds(rules)
    address = world.accounts["shop"]
    api = world.client.api
    told = api.actor(address)
    tab = open_tab(world.origin, hex_place("actor", address))
    facts = tab.facts("What it is")
    assert facts["balance"] == cby_text(int(told.balance))
    assert facts["live timers"] == f"{told.live_timers:,}"
    quote = api.quote_timer(timers_pb2.QuoteTimerRequest(actor=address))
    assert f"{quote.fires_free:,}" in tab.text("[aria-label='How long it lasts'] .big")
    entries = list(api.list_storage(address))
    assert [row[:2] for row in tab.rows("Entries of its storage")] == [
        [key_text(one.key), value_text(one.value, is_cbor=True)] for one in entries
    ]
    timers = list(api.timers(TimerQuery(actor=address)))
    due = [row[1] for row in tab.rows("Its pending timers")]
    assert due == [f"{timer.height:,}" for timer in timers]


def test_the_heat_beside_a_source_is_what_its_lines_cost(worlds, open_tab):
    world = worlds("fifo")
    address = world.accounts["shop"]
    tab = open_tab(world.origin, hex_place("actor", address))
    (costs,) = world.client.costs(actor=address).actors
    rows = tab.rows("Source, with cycles by line")
    heat = {int(row[0]): row[1] for row in rows if row[1]}
    assert heat == {
        line: f"{cost.cycles:,}" for line, cost in costs.lines.items() if line
    }
    assert [row[3] for row in rows] == [
        line.strip() for line in costs.source.rstrip("\n").split("\n")
    ]


def test_the_past_of_a_storage_is_every_change_that_was_made(worlds, open_tab):
    world = worlds("fifo")
    address = world.accounts["till"]
    tab = open_tab(world.origin, hex_place("actor", address))
    tab.page.click("text=its past")
    tab.settle()
    told = [
        (
            f"{one.change.height:,}",
            key_text(one.change.key),
            stored(one.change, "after"),
        )
        for one in world.client.api.stream_storage_history(address)
        if one.HasField("change")
    ]
    rows = tab.rows("Past of the storage")
    assert [(row[0], row[1], row[2].split(" → ")[1]) for row in rows] == told


@pytest.mark.parametrize("unit", ["cycles", "cells"])
def test_a_flame_graph_adds_up_to_what_was_used(unit, worlds, open_tab):
    world = worlds("fifo")
    costs = world.client.costs()
    tab = open_tab(world.origin, f"#/flame?unit={unit}")
    own: dict[str, int] = {}
    for running, cost in costs.stacks:
        if running.stack:
            name = running.stack[-1].name or "<module>"
            own[name] = own.get(name, 0) + getattr(cost, unit)
    tab.unfold()
    shown_own: dict[str, int] = {}
    for row in tab.rows("Cost by function"):
        shown_own[row[0]] = shown_own.get(row[0], 0) + int(row[2].replace(",", ""))
    assert {name: cost for name, cost in shown_own.items() if cost} == {
        name: cost for name, cost in own.items() if cost
    }
