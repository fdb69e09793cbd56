"""How fast the page is, in a real browser: `python -m tests.browser.measure`.

No test: what a machine does at a moment proves nothing in CI. It fills a folder with a
million timers first, in which `--folder` finds them the next time. While pages follow,
the browser has the lowest priority, as if it were on a machine of its own: the node is
what is measured.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import psutil
from playwright.sync_api import Browser, sync_playwright

from node.client import Client
from node.testing.process import NodeProcess
from tests.browser.tabs import Tab
from tests.browser.worlds import origin_of

OPENINGS = 15
MOVES = 240
TRANSFERS = 300
PAGES = 10
ROUNDS = 3

PAINT = """() => performance.getEntriesByType("paint").find(
  ({name}) => name === "first-contentful-paint").startTime"""
COUNT_FRAMES = """() => {
  window.frames_seen = [];
  const note = (at) => { window.frames_seen.push(at); requestAnimationFrame(note); };
  requestAnimationFrame(note);
}"""


def paints(browser: Browser, origin: str) -> list[float]:
    """Milliseconds to the first paint, in a browser that knows nothing each time."""
    found = []
    for _ in range(OPENINGS):
        tab = Tab(browser, origin)
        tab.go("")
        found.append(tab.page.evaluate(PAINT))
        tab.close()
    return found


def frames(browser: Browser, origin: str, place: str) -> tuple[float, float]:
    """Frames a second while a calendar is dragged to and fro, and the longest one."""
    tab = Tab(browser, origin)
    tab.go(place)
    box = tab.page.locator(".calendar").bounding_box()
    assert box is not None, "a calendar is drawn"
    left, middle = box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2
    tab.page.mouse.move(left, middle)
    tab.page.mouse.down()
    tab.page.evaluate(COUNT_FRAMES)
    for step in range(MOVES):
        away = abs((step % 120) - 60)  # there and back again
        tab.page.mouse.move(left - 6 * away, middle)
    seen = tab.page.evaluate("window.frames_seen")
    tab.page.mouse.up()
    tab.close()
    gaps = [later - earlier for earlier, later in pairwise(seen)]
    return 1_000 * len(gaps) / (seen[-1] - seen[0]), max(gaps)


def latencies(client: Client) -> list[float]:
    """Milliseconds that transfers take until they are in a block."""
    found = []
    for _ in range(TRANSFERS):
        began = time.perf_counter()
        client.transfer(b"\xab" * 20, 1)
        found.append(1_000 * (time.perf_counter() - began))
    return found


def told(name: str, values: list[float], processor: float | None = None) -> None:
    """Median and 99th percentile of some milliseconds, and the greatest."""
    p99 = statistics.quantiles(values, n=100, method="inclusive")[98]
    line = f"{name}: median {statistics.median(values):.1f} ms, p99 {p99:.1f} ms, most "
    line += f"{max(values):.1f} ms"
    if processor is not None:
        line += f"; {processor:.1f} ms of the node's processor each"
    say(line)


def say(line: str) -> None:
    """Tell a figure when it is known."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def measure_waiting(browser: Browser) -> None:
    """What a transfer takes while nobody looks, and while ten pages follow."""
    with NodeProcess("--http-listen", "127.0.0.1:0") as node, node.client() as client:
        latencies(client)
        for _ in range(ROUNDS):
            told("transfer, nobody looks", *loaded(node, client))
            tabs = [Tab(browser, origin_of(node)) for _ in range(PAGES)]
            for tab in tabs:
                tab.go("")
            told(f"transfer, {PAGES} pages follow", *loaded(node, client))
            for tab in tabs:
                tab.close()


def loaded(node: NodeProcess, client: Client) -> tuple[list[float], float]:
    """Latencies of transfers, and milliseconds of the node's processor for each."""
    process = psutil.Process(node.process_id)
    before = sum(process.cpu_times()[:2])
    found = latencies(client)
    return found, 1_000 * (sum(process.cpu_times()[:2]) - before) / len(found)


def patiently(chromium: str) -> str:
    """A command that starts the browser with the lowest priority."""
    script = Path(tempfile.mkdtemp()) / "chromium"
    script.write_text(f'#!/bin/sh\nexec nice -n 19 {chromium} "$@"\n')
    script.chmod(0o755)
    return str(script)


def main() -> int:
    """Measure and print; exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("build/a-million"))
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    given = parser.parse_args()
    if not given.folder.exists():
        script = [sys.executable, "scripts/fill_timers.py", str(given.folder)]
        subprocess.run([*script, "--timers", "1000000", "--unchecked"], check=True)
    with ExitStack() as stack:
        driver = stack.enter_context(sync_playwright())
        browser = driver.chromium.launch(executable_path=given.chromium)
        node = NodeProcess(
            *("--http-listen", "127.0.0.1:0", "--data-dir", str(given.folder)),
            *("--mining", "manual"),
        )
        stack.enter_context(node)
        told("first paint", paints(browser, origin_of(node)))
        for place in ("#/calendar?from=0&to=2000", "#/calendar?from=0&to=20000000"):
            rate, longest = frames(browser, origin_of(node), place)
            say(f"{place}: {rate:.0f} frames a second, the longest {longest:.0f} ms")
        node.stop()
        browser.close()
        patient = driver.chromium.launch(executable_path=patiently(given.chromium))
        measure_waiting(patient)
        patient.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
