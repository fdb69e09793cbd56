"""NodeProcess: a real node beside a test, on a free port, with nothing on disk.

It is the installed node as users run it, in another process, so that a test meets what
gRPC, the engine and time really do. It ends with its `with`, whatever the test did, and
with the process of the test, even if that is killed.
"""

import json
import selectors
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from typing_extensions import override

from node.client._sync.client import Client
from node.client.inputs import check_text

__all__ = ["NodeNotStarted", "NodeProcess", "RunningNode"]

START_SECONDS = 60
STOP_SECONDS = 20
LOG_BYTES_SHOWN = 4_000


class NodeNotStarted(RuntimeError):  # noqa: N818 - names what happened
    """The node ended before it served; the message ends with the node's log."""


class NodeProcess:
    """A node in a process of its own; start and end it with `with`."""

    def __init__(self, *flags: str) -> None:
        """Choose how to start the node.

        Args:
            flags: flags of `cowboy-devnet start`. They follow, and so override, those
                chosen here: port 0, no HTTP, a chain in memory, mining `instant`.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="cowboy-devnet-")
        folder = Path(self._folder.name)
        self.log_file = folder / "node.log"
        self._ready_file = folder / "ready.json"
        chosen = {
            "--grpc-listen": "127.0.0.1:0",
            "--http-listen": "off",
            "--data-dir": ":memory:",
            "--mining": "instant",
            "--ready-file": str(self._ready_file),
        }
        words = [word for pair in chosen.items() for word in pair]
        # Without the current folder, whose files may be called as Python's modules.
        start = [sys.executable, "-P", "-m", "node", "start", "--end-with-stdin"]
        self._command = [*start, *words, *flags]
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""
        """`host:port`, once it serves."""
        self.page = ""
        """URL of its page, once it serves one: flags may give it an HTTP port."""

    @override
    def __repr__(self) -> str:
        return f"<node at {self.url}>" if self.url else "<node, not started>"

    @property
    def process_id(self) -> int | None:
        """Number of the running process, or None."""
        return None if self._process is None else self._process.pid

    def client(self, *, timeout: float = 30.0) -> Client:
        """A client of the node; close it, or leave that to `with`."""
        return Client(self.url, timeout=timeout)

    def log(self) -> str:
        """The end of the node's log."""
        if not self.log_file.exists():
            return ""
        return self.log_file.read_bytes()[-LOG_BYTES_SHOWN:].decode("utf-8", "replace")

    def start(self) -> None:
        """Start the node, and wait until it serves.

        Raises:
            NodeNotStarted: it ended, or did not serve in time.
        """
        with self.log_file.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        # The banner is printed when it serves.
        if not self._is_anything_printed() or not self._ready_file.exists():
            self.stop()
            raise NodeNotStarted(f"the node did not start:\n{self.log()}")
        ready = json.loads(self._ready_file.read_text())
        self.url, self.page = ready["grpc"], ready["page"] or ""

    def _is_anything_printed(self) -> bool:
        assert self._process is not None
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(START_SECONDS):
                return False
        return self._process.stdout.readline() != b""

    def stop(self) -> None:
        """End the node; a second call has no effect."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    def __enter__(self) -> Self:
        """The node, serving."""
        try:
            self.start()
        except BaseException:
            self._folder.cleanup()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the node and remove what it wrote."""
        self.stop()
        self._folder.cleanup()


class RunningNode:
    """A node that somebody else starts and ends, such as a container."""

    def __init__(self, url: str) -> None:
        """Take the node's address, `host:port`."""
        self.url = check_text("url", url)

    @override
    def __repr__(self) -> str:
        return f"<node at {self.url}>"

    def client(self, *, timeout: float = 30.0) -> Client:
        """A client of the node; close it, or leave that to `with`."""
        return Client(self.url, timeout=timeout)
