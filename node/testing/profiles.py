"""The profile of a run of tests: a report, and a file of speedscope's.

The plugin loads this module only in a run that asks for a profile. Under xdist each
worker hands what it counted to the process that reports, so there is one of both.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from node.client.profiles import Profile, profile_from_proto

if TYPE_CHECKING:
    from node.testing.devnet import Devnet

__all__ = ["RunProfile"]

_OUTPUT = "cowboy_devnet_profile"
"""Under which xdist carries it from a worker to the controller, as bytes."""


class RunProfile:
    """What a run of pytest executed on its chains; a plugin of that run."""

    def __init__(self, path: str, config: pytest.Config) -> None:
        self._file = Path(path)
        self._profile = Profile()
        self._output: dict[str, object] | None = getattr(config, "workeroutput", None)
        """Of a worker of xdist."""
        self._workers: dict[str, Profile] = {}
        self._lost: list[str] = []

    @contextmanager
    def watching(self, chain: "Devnet") -> Iterator[None]:
        """Count what the chain executes inside."""
        with chain.profile() as profile:
            try:
                yield
            finally:
                self._profile.add(profile)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Take over what a worker of xdist counted; a crashed one told nothing."""
        name = str(getattr(getattr(node, "gateway", None), "id", node))
        output: dict[str, object] = getattr(node, "workeroutput", {})
        data = output.get(_OUTPUT)
        if isinstance(data, bytes):
            from node.rpc.v1 import types_pb2  # noqa: PLC0415 - of workers alone

            message = types_pb2.ExecutionProfile.FromString(data)
            self._workers[name] = profile_from_proto(message)
        else:
            self._lost.append(name)

    def pytest_sessionfinish(self) -> None:
        """Write both forms, speedscope's and beside it the report; or hand it over."""
        if self._output is not None:
            from node.rpc.profiles import profile_to_proto  # noqa: PLC0415 - of workers

            message = profile_to_proto(self._profile)
            self._output[_OUTPUT] = message.SerializeToString()
            return
        for name in sorted(self._workers, key=lambda name: (len(name), name)):
            self._profile.add(self._workers[name])
        if self._profile.executions:
            self._profile.save(self._file)
            report = self._file.with_suffix(".txt")
            report.write_text(f"{self._profile}\n", encoding="utf-8")

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        """Say where it is, and what is missing."""
        if self._profile.executions:
            told = f"{self._profile!r} in {self._file} and as .txt"
        else:
            told = "no fixture `devnet` executed anything"
        terminalreporter.write_line(f"devnet profile: {told}")
        if self._lost:
            names = ", ".join(self._lost)
            terminalreporter.write_line(
                f"devnet profile: without what {names} executed before it crashed"
            )
