"""A chain with a million pending timers: the page asks for few, and shows all."""

import pytest

from node.client import TimerQuery
from tests.browser.looks import hex_place, look, places

pytestmark = pytest.mark.browser

VIEWS = ("now", "calendar", "timer-late", "actor-owner")


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_is_as_it_is_with_few(name, worlds, new_tab, pictures):
    world = worlds("million")
    picture = pictures / f"million-{name}.png"
    seen = look(new_tab, world.origin, places(world)[name], picture)
    assert seen.faults == []
    assert seen.heading_after_reload == seen.heading
    assert seen.violations == {"light": [], "dark": []}
    assert seen.overflow == 0
    assert seen.unreached == []


def test_a_timer_that_came_with_a_state_has_a_forecast_and_no_life(worlds, open_tab):
    """The blocks that scheduled a million timers at once are nobody's."""
    world = worlds("million")
    tab = open_tab(world.origin, hex_place("timer", world.timers["first"]))
    told = world.client.api.timer(world.timers["first"]).timer
    assert tab.facts("What it is")["due at height"] == f"{told.height:,}"
    assert "taken over" in tab.text("[aria-label='Its life']")
    assert tab.facts("What awaits it")["looked at in block"] == f"{told.height:,}"


def test_a_calendar_of_a_million_timers_counts_what_is_due(worlds, open_tab):
    world = worlds("million")
    tab = open_tab(world.origin, "#/calendar?from=296&to=303")
    tab.wait_for_text(".title", "1,000,001 pending timers")
    rows = tab.calendar_rows()
    for height in range(296, 304):
        due = TimerQuery(from_height=height, to_height=height)
        assert rows[height]["due"] == len(list(world.client.api.timers(due)))
