"""Every view, under every set of timer rules, as anybody may come to it."""

import re

import pytest

from tests.browser.looks import Look, look, places
from tests.browser.worlds import RULES

pytestmark = pytest.mark.browser

ALL = (
    "now",
    "calendar",
    "block",
    "flame",
    "actor-shop",
    "timer-pending",
    "timer-put_off",
    "timer-expired",
    "timer-cancelled",
    "timer-removed_insufficient_funds",
    "transaction-buy",
    "transaction-failed",
    "transaction-transfer",
)
OF_THE_RULES = ("now", "block", "timer-pending", "timer-put_off")
"""What other rules change about the page."""
HOSTILE = (
    "block",
    "flame",
    "actor-hostile",
    "timer-hostile",
    "transaction-said",
    "transaction-failed",
)
VIEWS = [("fifo", place) for place in ALL]
VIEWS += [
    (rules, place) for rules in RULES if rules != "fifo" for place in OF_THE_RULES
]
VIEWS += [
    ("globalbox", f"timer-{name}") for name in ("watch", "passed_over", "put_back")
]
VIEWS += [("hostile", place) for place in HOSTILE]


@pytest.fixture(scope="session")
def looks():
    """Looks that were had, by world and place."""
    return {}


@pytest.fixture(params=VIEWS, ids="-".join)
def seen(request, looks, worlds, new_tab, pictures) -> Look:
    """A look at a view of a world."""
    name, place = request.param
    if (name, place) not in looks:
        world = worlds(name)
        picture = pictures / f"{name}-{place}.png"
        looks[name, place] = look(new_tab, world.origin, places(world)[place], picture)
    return looks[name, place]


def test_it_asks_its_own_node_alone_and_the_browser_has_nothing_to_complain_of(seen):
    assert seen.faults == []


def test_it_opens_by_its_address_and_once_more(seen):
    assert re.search(r"\w", seen.heading)
    assert seen.heading_after_reload == seen.heading


def test_a_machine_that_reads_pages_to_people_finds_its_way(seen):
    assert seen.violations["light"] == []


def test_it_is_as_legible_in_the_dark(seen):
    assert seen.violations["dark"] == []


def test_it_is_no_wider_than_a_phone(seen):
    assert seen.overflow == 0


def test_all_that_a_mouse_can_do_a_keyboard_can(seen):
    assert seen.unreached == []


def test_a_flame_graph_is_one_stop_and_arrows_walk_it(worlds, open_tab):
    """Down to what it calls and up again; Enter shows a box alone."""
    tab = open_tab(worlds("fifo").origin, "#/flame")
    boxes = tab.page.locator(".flame .box")
    assert (
        boxes.evaluate_all("(all) => all.filter((it) => it.tabIndex === 0).length") == 1
    )
    boxes.first.focus()
    for key, told in (
        ("ArrowDown", "fire: handle_timer"),
        ("ArrowUp", "all calls"),
        ("ArrowDown", "fire: handle_timer"),
    ):
        tab.page.keyboard.press(key)
        tab.wait_for_text(".flame .box:focus", told)
        tab.wait_for_text(".told b", told)
    tab.page.keyboard.press("Enter")
    tab.wait_for_text(".flame .box:first-child", "fire: handle_timer")
