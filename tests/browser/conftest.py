"""One Chromium and a node for each world, for the whole session; a tab for each test.

A tab notes whatever a page must never do, and the test fails for it at its end: a
request that leaves the origin, an error in the console, a refusal of the content
security policy, a script of an actor's that ran.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from node.client import Client
from node.testing.process import NodeProcess
from tests.browser import worlds as chains
from tests.browser.tabs import Tab
from tests.browser.worlds import (
    RULES,
    World,
    fill_demo,
    fill_hostile,
    fill_million,
)

NAMES = ("chromium", "chromium-browser", "google-chrome")
NO_BROWSER = (
    "make test-page needs Chromium: install it (Debian: apt-get install chromium), or "
    "let CHROMIUM name its executable"
)
NO_DRIVER = "make test-page installs what drives the browser: run it, not pytest alone"
ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "page"
FILLS = {"hostile": fill_hostile, "million": fill_million}
"""How worlds are filled that are not the demo's under some rules."""


def _installed() -> str:
    return next(filter(None, map(shutil.which, NAMES)), "")


@pytest.fixture(scope="session")
def chromium():
    """The browser, without a window."""
    found = os.environ.get("CHROMIUM") or next(
        filter(None, map(shutil.which, NAMES)), ""
    )
    if not found:
        pytest.exit(NO_BROWSER, returncode=1)
    try:
        from playwright.sync_api import (  # noqa: PLC0415 - it has a lock of its own
            sync_playwright,
        )
    except ImportError:
        pytest.exit(NO_DRIVER, returncode=1)
    with sync_playwright() as driver:
        # Names of other hosts lead nowhere, whatever a page asks for.
        rules = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        browser = driver.chromium.launch(executable_path=found, args=[rules])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def worlds(tmp_path_factory) -> Iterator[Callable[[str], World]]:
    """A world by its name, filled and served when it is first asked for."""
    kept: dict[str, World] = {}
    with ExitStack() as stack:

        def world(name: str) -> World:
            if name not in kept:
                folder = tmp_path_factory.mktemp(name) / "data"
                kept[name] = _start(name, stack, folder)
            return kept[name]

        yield world


def _start(name: str, stack: ExitStack, folder: Path) -> World:
    flags = ("--rules", name) if name in RULES else ()
    if name == "million":
        _fill(folder)
        flags = ("--data-dir", str(folder))
    node = stack.enter_context(NodeProcess("--http-listen", "127.0.0.1:0", *flags))
    client = stack.enter_context(node.client())
    world = World(name, client, chains.origin_of(node))
    FILLS.get(name, fill_demo)(world)
    return world


def _fill(folder: Path) -> None:
    """A chain with a million pending timers, in the ring, the epochs and beyond."""
    script = [sys.executable, "scripts/fill_timers.py", str(folder)]
    wanted = ["--timers", "1000000", "--unchecked"]
    subprocess.run([*script, *wanted], cwd=ROOT, check=True, capture_output=True)


@pytest.fixture
def own_world() -> Iterator[Callable[..., World]]:
    """A chain for one test, which may mine, rewind and end it."""
    with ExitStack() as stack:

        def start(*flags: str, token: str | None = None) -> World:
            node = NodeProcess("--http-listen", "127.0.0.1:0", *flags)
            stack.enter_context(node)
            client = stack.enter_context(Client(node.url, token=token))
            return World("own", client, chains.origin_of(node), node=node)

        yield start


@pytest.fixture(scope="session")
def new_tab(chromium) -> Callable[..., Tab]:
    """A tab of a browser that knows nothing, at a place; its user closes it."""

    def open_one(origin: str, place: str = "", **looks: object) -> Tab:
        tab = Tab(chromium, origin, **looks)
        tab.go(place)
        return tab

    return open_one


@pytest.fixture
def open_tab(new_tab) -> Iterator[Callable[..., Tab]]:
    """The same for one test, which fails for whatever the page must never do."""
    tabs: list[Tab] = []

    def open_one(origin: str, place: str = "", **looks: object) -> Tab:
        tabs.append(new_tab(origin, place, **looks))
        return tabs[-1]

    yield open_one
    for tab in tabs:
        tab.close()
    for tab in tabs:
        assert tab.faults == [], tab.faults


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Where pictures are kept."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    return PICTURES
