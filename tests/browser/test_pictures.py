"""The pictures of the documentation are of this page: `make page-pictures` takes them.

They are taken by every run, and looked at by people: what a browser draws differs from
machine to machine, so no test compares them.
"""

import os
import re
from pathlib import Path

import pytest

from tests.browser.looks import places

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "docs" / "images"
BYTES_MAX = 100 * 1024
SIZE = (1000, 640)
HEIGHT_MAX = 480
"""Of a part: the beginning of a long table says enough."""
LABELS = """(named) => localStorage.setItem(
  "cowboy-devnet-labels", JSON.stringify(named))"""
TAKEN = {
    "now": ("auction", "now", ""),
    "calendar": ("fifo", "calendar", "[aria-label=Calendar]"),
    "block": ("auction", "block", "[aria-label='The timer lane']"),
    "timer": ("auction", "timer-put_off", "[aria-label='Its life']"),
    "transaction": ("fifo", "transaction-buy", ""),
    "failure": ("fifo", "transaction-failed", "[aria-label='Why it failed']"),
    "actor": ("fifo", "actor-till", "[aria-label=Source]"),
    "flame": ("fifo", "flame-shop", "[aria-label='By call stack']"),
}
"""World, view, and the part of it that the picture shows; all that is in sight."""


@pytest.mark.parametrize("name", TAKEN)
def test_a_picture_of_a_view_is_taken_and_small_enough_to_keep(
    name, worlds, open_tab, pictures
):
    rules, view, part = TAKEN[name]
    world = worlds(rules)
    shop = f"0x{world.accounts['shop'].hex()}"
    flame = {"flame-shop": f"#/flame?actor={shop}"}
    tab = open_tab(world.origin, size=SIZE)
    named = {f"0x{address.hex()}": of for of, address in world.accounts.items()}
    tab.page.evaluate(LABELS, named)
    tab.go((flame | places(world))[view])
    tab.reload()
    folder = Path(os.environ.get("PAGE_PICTURES", pictures))
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"page-{name}.png"
    tab.picture_of(part, file, HEIGHT_MAX)
    assert file.stat().st_size < BYTES_MAX


def test_the_documentation_shows_each_of_them():
    page = (ROOT / "docs" / "page.md").read_text()
    shown = re.findall(r"\(images/page-(\w+)\.png\)", page)
    assert sorted(shown) == sorted(TAKEN)
    kept = {path.name for path in KEPT.iterdir()}
    assert kept == {f"page-{name}.png" for name in TAKEN}
