"""What actors and links say stays text, and the page reaches nothing but its node."""

import json
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from tests.browser.looks import hex_place
from tests.browser.worlds import RULES

pytestmark = pytest.mark.browser

MARKUP = "<img src=x onerror=attacked()><script>attacked()</script>"
FOREIGN = "main img, main script, main b[onclick], main iframe, main [onerror]"
HIDDEN = r"""() => (document.documentElement.textContent.match(
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g
) ?? []).map((letter) => letter.codePointAt(0).toString(16))"""
WEIGHT_BYTES_MAX = 200 * 1024


def hostile_places(world):
    return {
        "actor": hex_place("actor", world.accounts["hostile"]),
        "timer": hex_place("timer", world.timers["hostile"]),
        "said": hex_place("transaction", world.transactions["said"]),
        "failed": hex_place("transaction", world.transactions["failed"]),
        "flame": "#/flame",
        "now": "",
        "block": "#/block/2",
    }


@pytest.mark.parametrize("name", ["actor", "timer", "said", "failed", "flame", "block"])
def test_what_an_actor_says_is_shown_and_never_obeyed(name, worlds, open_tab):
    """Markup as it was written; what hides or turns text round by its number."""
    world = worlds("hostile")
    tab = open_tab(world.origin, hostile_places(world)[name])
    if name in ("actor", "timer", "said", "failed"):
        assert MARKUP in tab.text()
    assert tab.page.locator(FOREIGN).count() == 0
    assert tab.page.evaluate(HIDDEN) == []


def test_a_text_that_turns_writing_round_is_shown_by_number(worlds, open_tab):
    world = worlds("hostile")
    tab = open_tab(world.origin, hostile_places(world)["failed"])
    assert r"\u{202e}moc.live\u{2066}" in tab.text()


def test_a_long_text_is_shown_in_part_until_somebody_wants_all(worlds, open_tab):
    world = worlds("hostile")
    tab = open_tab(world.origin, hostile_places(world)["actor"])
    assert len(tab.text()) < 20_000
    tab.page.locator("button:has-text('show all 45,002 characters')").click()
    assert len(tab.text()) > 45_000


@pytest.mark.parametrize(
    "place",
    [
        f"#/{view}/{quote(MARKUP)}"
        for view in ("timer", "transaction", "actor", "search")
    ]
    + [f"#/flame?actor={quote(MARKUP)}&from={quote(MARKUP)}", f"#/{quote(MARKUP)}"]
    + [f"#/actor/{'0' * 400_000}"],
)
def test_a_link_that_is_an_attack_says_what_is_wrong_with_it(place, worlds, open_tab):
    tab = open_tab(worlds("fifo").origin)
    tab.excuse("400", "404")
    tab.go(place)
    assert tab.page.locator(FOREIGN).count() == 0
    assert "This view broke" not in tab.text()


def test_a_label_is_text_like_all_others(worlds, open_tab):
    world = worlds("fifo")
    address = world.accounts["shop"]
    tab = open_tab(world.origin)
    labels = json.dumps({f"0x{address.hex()}": MARKUP})
    tab.page.evaluate(
        "(it) => localStorage.setItem('cowboy-devnet-labels', it)", labels
    )
    tab.go(hex_place("actor", address))
    tab.reload()
    assert MARKUP in tab.text("main h1")
    assert tab.page.locator(FOREIGN).count() == 0


def test_no_text_can_become_markup_or_a_script_on_this_page(worlds, open_tab):
    with urlopen(worlds("fifo").origin) as answer:
        policy = answer.headers["Content-Security-Policy"]
        document = answer.read().decode()
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "<script>" not in document
    assert "style=" not in document
    tab = open_tab(worlds("fifo").origin)
    tab.excuse("TrustedHTML", "CSP")
    refused = "(it) => { try { document.body.innerHTML = it; } catch { return true; } }"
    assert tab.page.evaluate(refused, MARKUP) is True


def test_all_of_the_page_weighs_less_than_200_kib(worlds, open_tab):
    """As it goes over the wire, every view with its parts, each of them once."""
    world = worlds("fifo")
    tab = open_tab(world.origin)
    for view in ("flame", "calendar", "block", "search/shop"):
        tab.go(f"#/{view}")
    for view, an_id in (
        ("actor", world.accounts["shop"]),
        ("timer", world.timers["pending"]),
        ("transaction", world.transactions["buy"]),
    ):
        tab.go(hex_place(view, an_id))
    sizes = tab.weights("/static/")
    assert len(sizes) > 20
    assert sum(sizes.values()) < WEIGHT_BYTES_MAX


@pytest.mark.parametrize("rules", RULES)
def test_a_tab_has_one_stream_at_a_time(rules, worlds, open_tab):
    """A browser gives six connections to an origin, and there are other tabs."""
    world = worlds(rules)
    tab = open_tab(world.origin)
    tab.go(hex_place("actor", world.accounts["shop"]))
    tab.page.click("text=its past")
    tab.settle()
    tab.go("#/flame")
    assert tab.streams_most == 1
