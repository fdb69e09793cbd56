"""A project of Docker Compose as a user has it: commands, and a client from outside."""

import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from node.client import Api

__all__ = ["DEADLINE_SECONDS", "ROOT", "Devnet", "free_ports", "wait_until"]

ROOT = Path(__file__).resolve().parents[2]
COMMAND_SECONDS = 120
DEADLINE_SECONDS = 60


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Look again and again, a little later each time, but not for ever."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"not within {DEADLINE_SECONDS} s: {what}"
        pause.wait(0.02)


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@dataclass(frozen=True, slots=True)
class Devnet:
    """The project: its environment, and where its node is published."""

    environment: Mapping[str, str] = field(repr=False)
    grpc_port: int
    http_port: int

    @property
    def url(self) -> str:
        return f"127.0.0.1:{self.grpc_port}"

    @property
    def project(self) -> str:
        return self.environment["COMPOSE_PROJECT_NAME"]

    @property
    def image(self) -> str:
        return self.environment["COWBOY_DEVNET_IMAGE"]

    def run(
        self,
        *command: str,
        cwd: Path = ROOT,
        timeout: float = COMMAND_SECONDS,
        may_fail: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """A command of the host; fails with what it said."""
        done = subprocess.run(
            command,
            cwd=cwd,
            env=self.environment | {"PWD": str(cwd)},  # as a shell in that folder
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
        said = f"{' '.join(command)}\n{done.stdout}{done.stderr}"
        assert may_fail or done.returncode == 0, said
        return done

    def compose(self, *words: str, cwd: Path = ROOT) -> str:
        return self.run("docker", "compose", *words, cwd=cwd).stdout

    def cli(self, *words: str, cwd: Path = ROOT) -> str:
        """`cowboy-devnet …` in the service that sees the current folder alone."""
        return self.compose("run", "--rm", "-T", "cli", *words, cwd=cwd)

    def up(self) -> None:
        self.compose("up", "--detach", "--wait", "node")

    def container(self) -> dict:
        """What Docker knows of the node's container."""
        (name,) = self.compose("ps", "--all", "--quiet", "node").split()
        (known,) = json.loads(self.run("docker", "inspect", name).stdout)
        return known

    def inside(self, command: str, *, user: str = "10001") -> str:
        """What a shell in the node's container prints."""
        words = ("exec", "-T", "--user", user, "node", "sh", "-c", command)
        return self.compose(*words).strip()

    def kill(self) -> None:
        """SIGKILL to the container's main process, as the host's kernel does it."""
        killed = self.container()
        self.run(
            *("docker", "run", "--rm", "--pid", "host", "--user", "0"),
            *("--network", "none", "--entrypoint", "sh", self.image),
            *("-c", f"kill -9 {killed['State']['Pid']}"),
        )

        def is_back() -> bool:
            now = self.container()
            is_other = now["State"]["StartedAt"] != killed["State"]["StartedAt"]
            return is_other and now["State"]["Health"]["Status"] == "healthy"

        wait_until(is_back, "the restart policy brings the node back")

    @contextmanager
    def client(self) -> Iterator[Api]:
        """A client from outside; whatever waits for it ends at the deadline."""
        with Api(self.url) as client:
            late = threading.Timer(DEADLINE_SECONDS, client.close)
            late.start()
            try:
                yield client
            finally:
                late.cancel()
