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
from contextlib import ExitStack, suppress
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
TRANSFERS = 1_000
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


def told(name: str, values: list[float], processors: str = "") -> None:
    """Median and 99th percentile of some milliseconds, and the greatest."""
    line = (
        f"{name}: median {statistics.median(values):.1f} ms, p99 {p99(values):.1f} ms, "
    )
    say(f"{line}most {max(values):.1f} ms{processors}")


def p99(values: list[float]) -> float:
    """The 99th percentile."""
    return statistics.quantiles(values, n=100, method="inclusive")[98]


def say(line: str) -> None:
    """Tell a figure when it is known."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def measure_waiting(browser: Browser) -> None:
    """What a transfer takes while nobody looks, and while ten pages follow."""
    ratios = []
    with NodeProcess("--http-listen", "127.0.0.1:0") as node, node.client() as client:
        latencies(client)
        for _ in range(ROUNDS):
            alone = loaded(node, client, "transfer, nobody looks")
            tabs = [Tab(browser, origin_of(node)) for _ in range(PAGES)]
            for tab in tabs:
                tab.go("")
            ratios.append(
                loaded(node, client, f"transfer, {PAGES} pages follow") / alone
            )
            for tab in tabs:
                tab.close()
    say(f"p99 with {PAGES} pages by p99 without: {statistics.median(ratios):.1f}")


def loaded(node: NodeProcess, client: Client, name: str) -> float:
    """Tell what transfers take, and what node and browser compute for each; the p99."""
    before = seconds_used()
    found = latencies(client)
    used = {"node": 0.0, "browser": 0.0}
    for process, seconds in seconds_used().items():
        kind = "node" if process == node.process_id else "browser"
        used[kind] += 1_000 * (seconds - before.get(process, 0.0)) / len(found)
    each = f"; each {used['node']:.1f} ms of the node's processor"
    told(name, found, f"{each}, {used['browser']:.1f} ms of the browser's")
    return p99(found)


def seconds_used() -> dict[int, float]:
    """Seconds of a processor that node and browser have used, by process."""
    used = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it ended meanwhile
            times = process.cpu_times()
            used[process.pid] = times.user + times.system
    return used


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
