"""Processes that are measured: the node, and Python programs to compare it with."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
from msgspec import Struct

from node.rpc.v1.queries_pb2 import GetStatusRequest
from node.rpc.v1.queries_pb2_grpc import QueryServiceStub

ROOT = Path(__file__).resolve().parents[2]
STOP_SECONDS = 10


class Running(Struct, frozen=True):
    """A node that serves."""

    process: subprocess.Popen[str]
    address: str
    seconds: float
    """From the start of its process to its first answer."""
    log: Path
    data: Path
    http: str
    """Where it serves HTTP, a little after it began to serve gRPC: connections wait."""


def start_command() -> list[str]:
    """The installed command, or the module if it is not installed."""
    script = Path(sys.executable).with_name("cowboy-devnet")
    return [str(script)] if script.exists() else [sys.executable, "-m", "node"]


@contextmanager
def running_node(
    *flags: str, prefix: tuple[str, ...] = (), data: Path | None = None
) -> Iterator[Running]:
    """A node on a free port, in a fresh folder or in `data`; killed at the end.

    `prefix` stands in for the command (an interpreter with options, say).
    """
    with tempfile.TemporaryDirectory(prefix="cowboy-bench-") as folder:
        ready = Path(folder) / "ready.json"
        data = data or Path(folder) / "data"
        command = [
            *(prefix or start_command()),
            *("start", "--data-dir", str(data)),
            *("--http-listen", "127.0.0.1:0"),
            *("--grpc-listen", "127.0.0.1:0", "--ready-file", str(ready)),
            *("--log-format", "json", *flags),
        ]
        with (Path(folder) / "log").open("w+", encoding="utf-8") as log:
            began = time.perf_counter()
            process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True
            )
            try:
                address, http = _wait_until_ready(process, ready, Path(log.name))
                _ask_status(address)
                seconds = time.perf_counter() - began
                yield Running(process, address, seconds, Path(log.name), data, http)
            finally:
                process.kill()
                process.communicate(timeout=STOP_SECONDS)


def _wait_until_ready(
    process: subprocess.Popen[str], ready: Path, log: Path
) -> tuple[str, str]:
    """Block until the banner comes, which follows the ready file; both addresses."""
    assert process.stdout is not None
    if not process.stdout.readline():
        raise RuntimeError(f"the node did not start: {log.read_text('utf-8')}")
    told = json.loads(ready.read_text(encoding="utf-8"))
    return str(told["grpc"]), str(told["http"])


def _ask_status(address: str) -> None:
    with grpc.insecure_channel(address) as channel:
        QueryServiceStub(channel).GetStatus(GetStatusRequest(), wait_for_ready=True)


def seconds_of_python(code: str) -> float:
    """How long a new interpreter takes for a program."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    return time.perf_counter() - began


def output_of_python(code: str) -> str:
    """What a program writes in a new interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
