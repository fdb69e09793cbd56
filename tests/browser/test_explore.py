"""A bundle and a folder, looked at where they lie: all there, nothing to be done."""

import re
import subprocess
import sys
from contextlib import contextmanager

import pytest

from node.client import Client
from node.testing.process import NodeProcess
from tests.browser.looks import hex_place, places
from tests.browser.worlds import World, fill_demo, origin_of

pytestmark = pytest.mark.browser

SHOWN = re.compile(r"is shown at (http://[\d.:]+)/")
VIEWS = ("now", "calendar", "block", "flame", "actor-shop", "timer-put_off")
VIEWS += ("transaction-buy", "transaction-failed")


@contextmanager
def explored(path):
    """Where the page of a file is, while it is shown."""
    command = [sys.executable, "-m", "node", "explore", str(path)]
    command += ["--http-listen", "127.0.0.1:0"]
    shown = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        lines = iter(shown.stdout.readline, "")
        yield next(found[1] for line in lines if (found := SHOWN.search(line)))
    finally:
        shown.terminate()
        shown.communicate(timeout=60)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A demo in a folder that no node has open any more, and as a bundle."""
    folder = tmp_path_factory.mktemp("kept")
    flags = ("--data-dir", str(folder / "data"), "--http-listen", "127.0.0.1:0")
    with NodeProcess(*flags) as node, Client(node.url) as client:
        world = World("fifo", client, origin_of(node))
        fill_demo(world)
        client.export_bundle(folder / "demo.bundle")
    return folder, world


@pytest.fixture(scope="module", params=["demo.bundle", "data"])
def shown(request, kept):
    """The page of the bundle, and of the folder."""
    folder, world = kept
    with explored(folder / request.param) as origin:
        yield origin, world


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_there_without_a_node(view, shown, open_tab):
    origin, world = shown
    tab = open_tab(origin, places(world)[view])
    assert tab.page.locator("main .failure:not(.why)").count() == 0
    assert tab.violations() == []


def test_nothing_can_be_sent_or_mined(shown, open_tab):
    origin, world = shown
    tab = open_tab(origin)
    assert "Mine a block" not in tab.text()
    assert "development chain" not in tab.text()
    told = tab.facts("Head")
    assert told["height"] == f"{world.heights['head']:,}"
    assert told["blocks are made"].startswith("no more")


def test_what_it_shows_is_what_the_node_showed(shown, open_tab):
    origin, world = shown
    tab = open_tab(origin, hex_place("transaction", world.transactions["buy"]))
    assert "self.storage['sold']: 0 → 1" in " ".join(tab.text(".calls").split())
