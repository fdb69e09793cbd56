"""A process beside the loop: what it prints is read when it has ended."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from msgspec import Struct

from node.cli.loop.signals import without_interruption

__all__ = ["BackgroundProcess", "ProcessEnd"]

OUTPUT_BYTES_KEPT = 6_000
"""Of what it prints, the end."""


class ProcessEnd(Struct, frozen=True):
    """What a process left."""

    code: int
    """Its exit code."""
    text: str
    """The end of what it printed."""


class BackgroundProcess:
    """Runs a module of Python's in a process, one at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    def start(self, words: Sequence[str]) -> None:
        """Begin; a process that has not ended is ended.

        Args:
            words: the flags of Python, the module, and the words of its command line.
        """
        self.stop()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - until it has ended
        # A session of its own: Ctrl-C at the terminal is for the loop, which ends it.
        with without_interruption():
            self._process = subprocess.Popen(  # noqa: S603 - pytest, or ourselves
                [sys.executable, *words],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def look(self) -> ProcessEnd | None:
        """What the process left, once it has ended; None before and afterwards."""
        if self._process is None or self._process.poll() is None:
            return None
        code, self._process = self._process.returncode, None
        return ProcessEnd(code, self._take_output())

    def stop(self) -> None:
        """End the process with all that it started; without one nothing happens."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._take_output()

    def _take_output(self) -> str:
        file, self._output = self._output, None
        assert file is not None, "a process has an output"
        with file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - OUTPUT_BYTES_KEPT))
            text = file.read().decode("utf-8", "replace")
        if size <= OUTPUT_BYTES_KEPT:
            return text.strip()
        return f"…{text.partition(chr(10))[2].rstrip()}"
