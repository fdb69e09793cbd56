"""Coverage of the actors that a run of tests executes, on all chains of its process.

The plugin loads this module only in a run that asks for coverage. Counted are blocks
and reads; what `Devnet` executes to estimate limits, to simulate or to explain is not.
Under xdist each worker hands what it gathered to the process that reports.

Rule: whatever is wrong with coverage is told, and changes the outcome of no test.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from node.archive.bundle import open_bundle
from node.archive.replay import Differs
from node.client.exceptions import BundleRefused, NodeError
from node.coverage.actor_files import ActorFiles
from node.coverage.bundle_coverage import cover_bundle
from node.coverage.executed import decode_executed
from node.coverage.reports import (
    CoverageReports,
    is_measuring_lines_alone,
    parse_report,
)
from node.coverage.watcher import CoverageWatcher
from node.state.memory import MemoryStore
from node.testing.watchers import WATCHERS
from pvm import Worker

if TYPE_CHECKING:
    from node.client import Client

__all__ = ["RunCoverage"]

_OUTPUT = "cowboy_devnet_coverage"
"""Under which xdist carries what ran from a worker to the controller, as bytes."""


class RunCoverage:
    """What a run of pytest executed of wanted files; a plugin of that run."""

    def __init__(self, config: pytest.Config) -> None:
        """Begin to watch.

        Raises:
            CoverageRefused: what the run was asked for cannot be had.
        """
        self._files = ActorFiles(config.getoption("--devnet-cov"))
        self._output: dict[str, object] | None = getattr(config, "workeroutput", None)
        """Of a worker of xdist."""
        self._reports = None if self._output is not None else _reports(config)
        self._watcher = CoverageWatcher(self._files.hashes)
        WATCHERS.append(self._watcher)
        self._workers: dict[str, bytes] = {}
        self._told: list[str] = []
        self._text = ""

    # --- in which test ---------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Count for what the test is given."""
        self._watcher.context = f"{item.nodeid}|setup"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Count for the test."""
        self._watcher.context = f"{item.nodeid}|run"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Count for what ends after the test."""
        self._watcher.context = f"{item.nodeid}|teardown"

    def pytest_runtest_logfinish(self) -> None:
        """Count for no test."""
        self._watcher.context = ""

    @contextmanager
    def covering_node(self, nodeid: str, client: "Client") -> Iterator[None]:
        """Count the blocks that a node makes inside, from its genesis on."""
        yield
        before, self._watcher.context = self._watcher.context, f"{nodeid}|run"
        try:
            self._cover_node(client)
        except (BundleRefused, NodeError, Differs, OSError) as error:
            self._told.append(f"without what the node of {nodeid} executed: {error}")
        finally:
            self._watcher.context = before

    def _cover_node(self, client: "Client") -> None:
        with tempfile.TemporaryDirectory(prefix="cowboy-coverage-") as folder:
            file = client.export_bundle(Path(folder) / "chain.bundle")
            with open_bundle(file) as bundle:
                heights = range(1, bundle.head.height + 1)
                wanted = bundle, MemoryStore(), self._watcher, heights
                with Worker() as worker:
                    worker.run(lambda: cover_bundle(*wanted))

    # --- at the end ------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Take over what a worker of xdist gathered; a crashed one told nothing."""
        name = str(getattr(getattr(node, "gateway", None), "id", node))
        output: dict[str, object] = getattr(node, "workeroutput", {})
        data = output.get(_OUTPUT)
        if isinstance(data, bytes):
            self._workers[name] = data
        else:
            self._told.append(f"without what {name} executed before it crashed")

    def pytest_sessionfinish(self) -> None:
        """Write data and reports, or hand over what they are made of."""
        executed = self._watcher.executed
        if self._output is not None:
            self._output[_OUTPUT] = executed.encode()
            return
        for name in sorted(self._workers, key=lambda name: (len(name), name)):
            executed.add(decode_executed(self._workers[name]))
        assert self._reports is not None, "it is no worker"
        written = self._reports.write(executed, self._files, has_unexecuted=True)
        self._told += written.told
        self._text = written.text

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        """Show the reports that are shown, and say where the others are."""
        terminalreporter.section("devnet coverage")
        for line in self._told:
            terminalreporter.write_line(line)
        terminalreporter.write(self._text)

    def pytest_unconfigure(self) -> None:
        """Watch no chain that is made from now on."""
        WATCHERS.remove(self._watcher)


def _reports(config: pytest.Config) -> CoverageReports:
    """Where the reports go; the data are of the kind that this process measures."""
    wanted = config.getoption("--devnet-cov-report") or ["term"]
    return CoverageReports(
        Path(cast("str", config.getoption("--devnet-cov-data"))),
        [parse_report(one) for one in wanted],
        has_branches=not is_measuring_lines_alone(),
    )
