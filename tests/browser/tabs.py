"""A tab of the browser, and what a page must never do, noted while it does it."""

from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

WIDE, NARROW = (1280, 800), (360, 740)
"""Viewports: of a laptop, and the narrowest at which the page is readable."""
SETTLED_MS = 20_000
"""For a page on a machine with other work; what is right comes at once."""

SETTLED = """
() => document.querySelector("main h1") && !document.querySelector("[role=status]")
"""
"""A view has its title, and nothing in it is still asked for."""
TRAPS = """
window.attacked = () => console.error("ATTACKED: an actor's text was executed");
document.addEventListener("securitypolicyviolation", (event) =>
  console.error("CSP: " + event.violatedDirective + " " + event.blockedURI));
"""


def axe_source() -> str:
    """The script of axe-core."""
    package = resources.files("axe_playwright_python")
    return (package / "axe.min.js").read_text(encoding="utf-8")


class Tab:
    """A tab with cookies and storage of its own."""

    def __init__(
        self,
        browser,
        origin: str,
        *,
        size: tuple[int, int] = WIDE,
        scheme: str = "light",
    ) -> None:
        self.origin = origin
        self.faults: list[str] = []
        """What the page did and must not."""
        self.requests: list[str] = []
        self._excused: tuple[str, ...] = ()
        width, height = size
        self._context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion="reduce",
        )
        self._context.add_init_script(TRAPS)
        self.page = self._context.new_page()
        self.page.set_default_timeout(SETTLED_MS)
        self.page.on("request", self._note_request)
        self.page.on("console", self._note_line)
        self.page.on("pageerror", lambda error: self._note(f"exception: {error}"))
        self.page.on("dialog", lambda dialog: self._note(f"dialog: {dialog.message}"))
        self.page.on("popup", lambda page: self._note(f"window: {page.url}"))

    def _note_request(self, request) -> None:
        self.requests.append(request.url)
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

    def text(self, selector: str = "main") -> str:
        """What stands there."""
        return self.page.inner_text(selector)

    def violations(self, *rules: str) -> list[str]:
        """What axe-core finds, by all its rules or these: each with who breaks it."""
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

    def close(self) -> None:
        """Close it; what it still asked for is dropped."""
        self._context.close()
