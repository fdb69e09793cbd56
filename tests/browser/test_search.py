"""Finding one's way: the search box, and the keys that views have."""

import re

import pytest

from tests.browser.looks import hex_place

pytestmark = pytest.mark.browser

NOT_THIS = "status of 404"
"""The browser tells of each kind of thing that an id is not."""
HEIGHTS = re.compile(r"heights ([\d,]+) to ([\d,]+)")


@pytest.fixture
def world(worlds):
    return worlds("fifo")


def search(tab, text):
    """Type a text as somebody does who has no mouse."""
    tab.page.evaluate("document.activeElement.blur()")
    tab.page.keyboard.press("/")
    tab.page.keyboard.press("Control+A")
    tab.page.keyboard.type(text)
    tab.page.keyboard.press("Enter")


def place_of(tab):
    return "#" + tab.page.url.partition("#")[2]


def test_what_is_typed_leads_to_what_it_names(world, open_tab):
    tab = open_tab(world.origin, excused=(NOT_THIS,))
    block = world.client.api.block(2)
    sought = [
        ("2", "#/block/2"),
        (f"0x{block.header.hash.hex()}", "#/block/2"),
        (f" {world.heights['rush']:_} ", f"#/block/{world.heights['rush']}"),
        *(
            (name.hex().upper(), hex_place(view, name))
            for view, name in (
                ("transaction", world.transactions["buy"]),
                ("timer", next(iter(world.timers.values()))),
                ("actor", world.accounts["shop"]),
            )
        ),
    ]
    for text, place in sought:
        search(tab, text)
        tab.page.wait_for_url(f"**/{place}")
        tab.settle()


def test_an_address_is_found_by_the_name_that_it_was_given(world, open_tab):
    address = world.accounts["shop"]
    tab = open_tab(world.origin, hex_place("actor", address))
    tab.page.fill("input[name=name]", "corner shop")
    tab.page.click("text=Call it that")
    tab.wait_for_text("main h1", "corner shop")
    search(tab, "SHOP")
    tab.page.wait_for_url(f"**/{hex_place('actor', address)}")
    search(tab, "account")
    tab.wait_for_text("main h1", "Search: account")
    cards = tab.page.locator("[aria-label^='Account account ']")
    cards.first.wait_for()
    assert cards.count() == 10


def test_what_is_not_there_is_said_with_what_can_be_sought(world, open_tab):
    tab = open_tab(world.origin, excused=(NOT_THIS,))
    for text in ("nobody", "0x12", "f" * 64):
        search(tab, text)
        tab.wait_for_text("main h1", f"Search: {text}")
        tab.wait_for_text("main", "Nothing of this chain has this name.")
        assert "Type a height" in tab.text()
    head = world.client.height
    search(tab, f"{head + 5}")
    tab.wait_for_text("main", "this one is 5 blocks ahead")


def test_arrow_keys_go_from_block_to_block(world, open_tab):
    height = world.heights["rush"]
    tab = open_tab(world.origin, f"#/block/{height}")
    for key, place in (("ArrowLeft", height - 1), ("ArrowRight", height)):
        tab.page.keyboard.press(key)
        tab.page.wait_for_url(f"**/#/block/{place}")
        tab.wait_for_text("main h1", f"Block {place:,}")


def test_a_calendar_is_moved_and_zoomed_by_keys(world, open_tab):
    tab = open_tab(world.origin, "#/calendar?from=1000&to=1399")
    tab.page.focus("canvas")

    def shown(key):
        tab.page.keyboard.press(key)
        first, last = HEIGHTS.search(tab.text()).groups()
        return int(first.replace(",", "")), int(last.replace(",", ""))

    assert shown("ArrowRight") == (1_080, 1_479)
    assert shown("ArrowLeft") == (1_000, 1_399)
    first, last = shown("+")
    assert 1_000 < first < last < 1_399
    assert shown("-") == (1_000, 1_399)
