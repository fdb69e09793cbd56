"""What there is to be said of a view at once: it is opened once, and judged by many.

A look takes a second or two of a browser; each test of tests/browser/test_views.py asks
one thing of all of them.
"""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from tests.browser.tabs import NARROW, WIDE, Tab
from tests.browser.worlds import World

TABS_MAX = 400
"""Presses of a key, after which a page is a trap for the keyboard."""

REACHABLE = """() => {
  const OF_THEMSELVES = "a[href], button, input, select, textarea, summary";
  const INSIDE = ".flame"; // one stop, and arrows inside of it
  const seen = [...document.querySelectorAll(
    'a[href], button, input, select, textarea, summary, [tabindex]')].filter((one) =>
    !one.disabled && one.checkVisibility() &&
    (one.tabIndex >= 0 || one.matches(OF_THEMSELVES) && !one.closest(INSIDE)));
  seen.forEach((one, index) => { one.dataset.stop = index; });
  window.reachedStops = new Set();
  document.addEventListener("focusin",
    ({target}) => window.reachedStops.add(target.dataset.stop));
  document.activeElement.blur();
  window.scrollTo(0, 0);
  return seen.map((one) => one.outerHTML.slice(0, 160));
}"""
REACHED = "[...window.reachedStops]"


class Look(Struct):
    """What was seen of a view."""

    faults: list[str]
    """What a page must never do."""
    heading: str
    heading_after_reload: str
    violations: dict[str, list[str]]
    """What axe-core finds, by colour scheme."""
    overflow: int
    """Pixels by which the page is wider than the narrowest window."""
    unreached: list[str]
    """What a mouse can act on and the key Tab does not reach."""


def places(world: World) -> dict[str, str]:
    """Every view of a world by its name, and where on the page it is."""
    named = {"now": "", "calendar": "#/calendar", "flame": "#/flame"}
    named["block"] = f"#/block/{world.heights.get('rush', 2)}"
    named |= {
        f"actor-{name}": hex_place("actor", an) for name, an in world.accounts.items()
    }
    named |= {
        f"timer-{name}": hex_place("timer", an) for name, an in world.timers.items()
    }
    for name, an_id in world.transactions.items():
        named[f"transaction-{name}"] = hex_place("transaction", an_id)
    return named


def hex_place(view: str, name: bytes) -> str:
    """Where a view of something with an id is."""
    return f"#/{view}/0x{name.hex()}"


def look(new_tab: Callable[..., Tab], origin: str, place: str, picture: Path) -> Look:
    """Open a place, judge it, and keep pictures of it."""
    tab = new_tab(origin, place)
    heading = tab.text("main h1")
    tab.ask_for_more()
    light = tab.violations()
    unreached = unreached_by_keys(tab)
    tab.picture(picture)
    tab.page.emulate_media(color_scheme="dark")
    dark = tab.violations("color-contrast")
    tab.picture(picture.with_stem(f"{picture.stem}-dark"))
    tab.page.emulate_media(color_scheme="light")
    tab.page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    overflow = tab.overflow()
    tab.picture(picture.with_stem(f"{picture.stem}-narrow"))
    tab.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    tab.reload()
    again = tab.text("main h1")
    tab.close()
    return Look(
        tab.faults,
        heading,
        again,
        {"light": light, "dark": dark},
        overflow,
        unreached,
    )


def unreached_by_keys(tab: Tab) -> list[str]:
    """What the key Tab does not come to, from the beginning of the page to its end."""
    stops = tab.page.evaluate(REACHABLE)
    for _ in range(min(len(stops) + 2, TABS_MAX)):
        tab.page.keyboard.press("Tab")
    reached = set(tab.page.evaluate(REACHED))
    tab.page.evaluate("document.activeElement.blur()")
    return [stop for index, stop in enumerate(stops) if str(index) not in reached]
