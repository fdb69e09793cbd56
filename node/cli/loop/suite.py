"""The project's own tests, run by pytest beside the loop; a save ends an old run."""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

__all__ = ["Suite", "SuiteOutcome"]

OUTPUT_BYTES_SHOWN = 6_000
"""Of what pytest prints, the end: the failures and the summary."""

_FAILED, _NOTHING_COLLECTED = 1, 5


class SuiteOutcome(Struct, frozen=True):
    """How a run ended."""

    is_passed: bool
    sentence: str
    output: str
    """The end of what pytest printed, if tests failed."""


class Suite:
    """Runs the tests of a folder or a file, one run at a time."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        """None for a project without tests."""
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    def start(self) -> None:
        """Begin a run; one that has not ended does not count any more."""
        self.stop()
        if self.path is None:
            return
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - until the run ends
        # A session of its own: Ctrl-C at the terminal is for the loop, which ends it.
        self._process = subprocess.Popen(  # noqa: S603 - the user's own tests
            [sys.executable, "-m", "pytest", "-q", "--color=no", str(self.path)],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def look(self) -> SuiteOutcome | None:
        """How the run ended, once it has; None before and afterwards."""
        if self._process is None or self._process.poll() is None:
            return None
        code, self._process = self._process.returncode, None
        return self._outcome(code, self._take_output())

    def stop(self) -> None:
        """End a run with all that it started, at once; without one nothing happens."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._take_output()

    def _take_output(self) -> str:
        file, self._output = self._output, None
        assert file is not None, "a run has an output"
        with file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - OUTPUT_BYTES_SHOWN))
            text = file.read().decode("utf-8", "replace")
        if size <= OUTPUT_BYTES_SHOWN:
            return text.strip()
        return f"…{text.partition(chr(10))[2].rstrip()}"

    def _outcome(self, code: int, text: str) -> SuiteOutcome:
        last = text.splitlines()[-1].strip("= ") if text else "no output"
        if "No module named pytest" in last:
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
