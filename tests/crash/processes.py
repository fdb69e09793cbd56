"""A node's process that is started, used over its port, and killed."""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEADLINE_SECONDS = 60


class Process:
    """`cowboy-devnet start` on a free port."""

    def __init__(self, folder, *flags):
        self._ready = folder / "ready.json"
        self._log = (folder / "log").open("ab")
        self._ready.unlink(missing_ok=True)
        self._popen = subprocess.Popen(
            [
                *(sys.executable, "-m", "node", "start"),
                *("--data-dir", str(folder / "data"), "--grpc-listen", "127.0.0.1:0"),
                *("--http-listen", "127.0.0.1:0"),
                *("--ready-file", str(self._ready), "--log-format", "json", *flags),
            ],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
        )

    @property
    def pid(self):
        return self._popen.pid

    def wait_ready(self, deadline_seconds=DEADLINE_SECONDS):
        """Its address; None if it is not ready by then."""
        deadline = time.monotonic() + deadline_seconds
        while not self._ready.exists():
            assert self._popen.poll() is None, "the node ended before it was ready"
            if time.monotonic() > deadline:
                return None
            os.sched_yield()
        return json.loads(self._ready.read_text())["grpc"]

    def kill(self):
        """SIGKILL, and wait until it is gone."""
        self._popen.kill()
        self._popen.wait(DEADLINE_SECONDS)
        self._log.close()

    def stop(self):
        """SIGTERM; the exit code."""
        self._popen.terminate()
        code = self._popen.wait(DEADLINE_SECONDS)
        self._log.close()
        return code


@contextmanager
def running(folder, *flags):
    """A node that serves; killed at the end."""
    process = Process(folder, *flags)
    try:
        address = process.wait_ready()
        assert address is not None, "the node was not ready in time"
        yield process, address
    finally:
        process.kill()
