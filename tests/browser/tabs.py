"""A tab of the browser, and what a page must never do, noted while it does it."""

from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

WIDE, NARROW = (1280, 800), (360, 740)
"""Viewports: of a laptop, and the narrowest at which the page is readable."""
SETTLED_MS = 20_000
"""For a page on a machine with other work; what is right comes at once."""

SETTLED = """
() => document.querySelector("main h1") && !document.querySelector("[role=status]")
"""
"""A view has its title, and nothing in it is still asked for."""
FACTS = """(card) => [...card.querySelectorAll("dl.values > div")].map((one) =>
  [one.querySelector("dt").innerText, one.querySelector("dd").innerText])"""
ROWS = """(region) => [...region.querySelectorAll("tbody tr")].map((row) =>
  [...row.cells].map((cell) => cell.innerText.trim()))"""
STATIONS = """(all) => all.map((one) => [one.innerText,
  [...one.querySelectorAll("dl.numbers > div")].map((pair) =>
    [pair.querySelector("dt").textContent, pair.querySelector("dd").textContent])])"""
HIDE = """(isHidden) => {
  Object.defineProperty(document, "hidden", {get: () => isHidden, configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""
WEIGHTS = """() => performance.getEntriesByType("resource").map((one) =>
  [one.name, one.encodedBodySize])"""
KINDS = ("fired", "put off", "lost", "due")
MORE = ("its past", "Execute it again, to see each call")
TRAPS = """
window.attacked = () => console.error("ATTACKED: an actor's text was executed");
document.addEventListener("securitypolicyviolation", (event) =>
  console.error("CSP: " + event.violatedDirective + " " + event.blockedURI));
"""


@cache
def axe_source() -> str:
    """The script of axe-core."""
    package = resources.files("axe_playwright_python")
    return (package / "axe.min.js").read_text(encoding="utf-8")


class Station(Struct):
    """A decision about a timer."""

    text: str
    numbers: dict[str, str]


class Tab:
    """A tab with cookies and storage of its own."""

    def __init__(
        self,
        browser,
        origin: str,
        *,
        size: tuple[int, int] = WIDE,
        excused: tuple[str, ...] = (),
    ) -> None:
        self.origin = origin
        self.faults: list[str] = []
        """What the page did and must not."""
        self.requests: list[str] = []
        self.streams: set[object] = set()
        """Requests of streams that are open."""
        self.streams_most = 0
        """How many streams were open at once."""
        self._excused = excused
        width, height = size
        self._context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="light",
            reduced_motion="reduce",
        )
        self._context.add_init_script(TRAPS)
        self.page = self._context.new_page()
        self.page.set_default_timeout(SETTLED_MS)
        self.page.on("request", self._note_request)
        for end in ("requestfinished", "requestfailed"):
            self.page.on(end, lambda request: self.streams.discard(request))  # noqa: PLW0108 - the driver takes no builtin
        self.page.on("console", self._note_line)
        self.page.on("pageerror", lambda error: self._note(f"exception: {error}"))
        self.page.on("dialog", lambda dialog: self._note(f"dialog: {dialog.message}"))
        self.page.on("popup", lambda page: self._note(f"window: {page.url}"))

    def _note_request(self, request) -> None:
        self.requests.append(request.url)
        if "/Stream" in urlsplit(request.url).path:
            self.streams.add(request)
            self.streams_most = max(self.streams_most, len(self.streams))
        whole = urlsplit(request.url)
        if whole.scheme != "data" and f"{whole.scheme}://{whole.netloc}" != self.origin:
            self._note(f"request outside: {request.url}")

    def _note_line(self, line) -> None:
        if line.type in ("error", "warning"):
            self._note(f"console: {line.text}")

    def _note(self, fault: str) -> None:
        if not any(part in fault for part in self._excused):
            self.faults.append(fault)

    def excuse(self, *parts: str) -> None:
        """What the browser itself writes of an answer that the test provokes."""
        self._excused += parts

    def go(self, place: str) -> None:
        """Open a place by its address, as a link that somebody was sent."""
        self.page.goto(f"{self.origin}/{place}")
        self.settle()

    def reload(self) -> None:
        """Open the same once more."""
        self.page.reload()
        self.settle()

    def settle(self) -> None:
        """Wait until the view shows all that it asked for."""
        self.page.wait_for_function(SETTLED)

    def wait_for_text(self, selector: str, text: str) -> None:
        """Wait until a text stands there."""
        self.page.locator(selector, has_text=text).first.wait_for()

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so of what was noted here."""
        for _ in range(SETTLED_MS // 100):
            if is_so():
                return
            self.page.wait_for_timeout(100)
        raise AssertionError("it does not come to be so")

    def streams_begun(self) -> int:
        """How many streams of blocks were begun in all."""
        return sum("/StreamBlocks" in url for url in self.requests)

    def hide(self, *, is_hidden: bool) -> None:
        """Let the page be in a tab behind others, or in front again."""
        self.page.evaluate(HIDE, is_hidden)

    def weights(self, path: str) -> dict[str, int]:
        """Bytes over the wire of what was fetched from below a path, by address."""
        entries = self.page.evaluate(WEIGHTS)
        return {name: size for name, size in entries if path in name}

    def unfold(self) -> None:
        """Show all of what is shown in part."""
        for button in self.page.locator("button:has-text('Show all')").all():
            button.click()

    def ask_for_more(self) -> None:
        """Press what a view shows only to those who want it."""
        for button in MORE:
            for found in self.page.locator(f"button:text-is('{button}')").all():
                found.click()
        self.settle()

    def text(self, selector: str = "main") -> str:
        """What stands there."""
        return self.page.inner_text(selector)

    def facts(self, card: str) -> dict[str, str]:
        """Names and values that stand on a card."""
        return dict(self.page.locator(f"section[aria-label='{card}']").evaluate(FACTS))

    def rows(self, caption: str) -> list[list[str]]:
        """The cells of a table, row by row."""
        table = self.page.locator(
            "table", has=self.page.locator(f"caption:text-is('{caption}')")
        )
        return table.evaluate(ROWS)

    def calendar_rows(self) -> dict[int, dict[str, int]]:
        """What a calendar tells of heights, each a bucket of its own, as a table."""
        self.page.click("text=As a table")
        # The counts come after the page, which shows its axis at once.
        self.page.locator("caption:text-is('Timers by bucket of heights')").wait_for()
        self.page.locator("details[open] tbody tr").first.wait_for()
        return {
            int(height): dict(zip(KINDS, map(int, counts), strict=True))
            for height, *counts in self.rows("Timers by bucket of heights")
        }

    def stations(self) -> list[Station]:
        """What was decided about a timer, as its life is told."""
        told = self.page.locator(".station:not(.ahead)").evaluate_all(STATIONS)
        return [Station(text, dict(numbers)) for text, numbers in told]

    def violations(self, *rules: str) -> list[str]:
        """What axe-core finds, by all its rules or these: each with who breaks it."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(axe_source())
        options = {"resultTypes": ["violations"]}
        if rules:
            options["runOnly"] = list(rules)
        found = self.page.evaluate("(options) => axe.run(document, options)", options)
        return [
            f"{rule['id']}: {node['html'][:120]} {node['any'][:1]}"
            for rule in found["violations"]
            for node in rule["nodes"][:3]
        ]

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth"
            " - document.documentElement.clientWidth"
        )

    def picture(self, file: Path) -> None:
        """Keep how it looks, as far as it goes down."""
        self.page.screenshot(path=file, full_page=True)

    def picture_of(self, part: str, file: Path, height_max: int) -> None:
        """Keep how the beginning of a part looks, or all that is in sight."""
        clip = None
        if part:
            clip = self.page.locator(part).bounding_box()
            clip["height"] = min(clip["height"], height_max)
        self.page.screenshot(path=file, clip=clip, full_page=bool(part))

    def close(self) -> None:
        """Close it; what it still asked for is dropped."""
        self._context.close()
