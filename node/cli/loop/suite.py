"""The project's own tests, run by pytest beside the loop; a save ends an old run."""

from pathlib import Path

from msgspec import Struct

from node.cli.loop.background import BackgroundProcess, ProcessEnd
from node.cli.loop.saved_tests import SavedTests

__all__ = ["Suite", "SuiteOutcome"]

_FAILED, _NOTHING_COLLECTED = 1, 5

_PYTEST = "import pytest, sys; sys.path.append(''); sys.exit(pytest.main())"
"""As `python -m pytest`, but the current folder is the last where modules are found: an
actor in it may be called as one of Python's."""


class SuiteOutcome(Struct, frozen=True):
    """How a run ended."""

    is_passed: bool
    sentence: str
    output: str
    """The end of what pytest printed, if tests failed."""


class Suite:
    """Runs the tests of a folder or a file, one run at a time, once they are there."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        """None for a project without tests."""
        self._saved = None if path is None else SavedTests(path)
        self._process = BackgroundProcess()

    def is_saved(self, now: float) -> bool:
        """Whether a test was saved since this was asked last."""
        return self._saved is not None and self._saved.look(now)

    def start(self) -> None:
        """Begin a run; one that has not ended does not count any more."""
        if self.path is not None and self.path.exists():
            words = ["-P", "-c", _PYTEST, "-q", "--color=no", str(self.path)]
            self._process.start(words)

    def look(self) -> SuiteOutcome | None:
        """How the run ended, once it has; None before and afterwards."""
        ended = self._process.look()
        return None if ended is None else self._outcome(ended)

    def stop(self) -> None:
        """End a run; without one nothing happens."""
        self._process.stop()

    def _outcome(self, ended: ProcessEnd) -> SuiteOutcome:
        code, text = ended.code, ended.text
        last = text.splitlines()[-1].strip("= ") if text else "no output"
        if "No module named 'pytest'" in last:
            reason = "pytest is not installed here: `pip install pytest` adds it"
            return SuiteOutcome(is_passed=False, sentence=reason, output="")
        if code == _NOTHING_COLLECTED:
            reason = f"there is no test in {self.path}"
            return SuiteOutcome(is_passed=True, sentence=reason, output="")
        if code in {0, _FAILED}:
            output = text if code else ""
            return SuiteOutcome(is_passed=not code, sentence=last, output=output)
        reason = f"pytest ended with exit code {code}"
        return SuiteOutcome(is_passed=False, sentence=reason, output=text)
