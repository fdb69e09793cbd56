"""RunCosts: what the tests of a run cost, written into a file or compared with it.

The plugin of this package loads this module only in a run that asks for it. Under xdist
each worker hands what it recorded to the process that reports. Only tests that passed
count: of another the file keeps what it has.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from node.chain.consensus import CONSENSUS_NUMBER
from node.client.sources import ActorSource
from node.query.explain.numbers import counted
from node.testing.costs.comparison import Comparison, compare
from node.testing.costs.file import (
    CostsFile,
    CostsFileRefused,
    read_costs,
    write_costs,
)
from node.testing.costs.naming import NamedHandler, named, source_names, with_files
from node.testing.costs.recording import Recorded, RecordedCode, record
from node.testing.costs.report import (
    annotations,
    dearer_lines,
    summary_table,
    told,
)

if TYPE_CHECKING:
    from node.testing.costs.statements import SourceStatement
    from node.testing.devnet import Devnet

__all__ = ["RunCosts", "begin", "name_of_test"]

_OUTPUT = "cowboy_devnet_costs"
"""Under which xdist carries it from a worker to the controller, as JSON."""

_PERCENT = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")

_ENDED = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.NO_TESTS_COLLECTED,
)
"""How runs end in which each test could run."""


def begin(config: pytest.Config) -> "RunCosts":
    """What a run was asked for.

    Raises:
        UsageError: the options do not go together, or the file is none of costs.
    """
    path = config.getoption("--devnet-costs")
    is_check = config.getoption("--devnet-costs-check")
    tolerance = config.getoption("--devnet-costs-tolerance")
    if path is None:
        raise pytest.UsageError(
            "--devnet-costs-check and --devnet-costs-tolerance compare with the file "
            "of --devnet-costs FILE: name it"
        )
    if tolerance is not None and not is_check:
        raise pytest.UsageError(
            "--devnet-costs-tolerance says what --devnet-costs-check lets pass: give "
            "that, too"
        )
    percent = _percent("0" if tolerance is None else tolerance)
    if hasattr(config, "workerinput"):
        return RunCosts(config, CostsFile(), percent)
    try:
        known = _known(Path(path), is_check=is_check)
    except CostsFileRefused as error:
        raise pytest.UsageError(f"--devnet-costs: {error}") from None
    return RunCosts(config, known, percent)


def _percent(text: str) -> Fraction:
    if not _PERCENT.fullmatch(text):
        raise pytest.UsageError(
            "--devnet-costs-tolerance: a percent of 0 or more is wanted, such as 2.5, "
            f"not {text!r}"
        )
    return Fraction(text)


def _known(path: Path, *, is_check: bool) -> CostsFile:
    """What the file says before the run, which may not be there before the first."""
    if is_check and not path.exists():
        raise CostsFileRefused(
            f"{path} is not there: write it by a run without --devnet-costs-check"
        )
    if not path.parent.is_dir():
        raise CostsFileRefused(f"the folder {path.parent} is not there")
    return read_costs(path) if path.exists() else CostsFile()


class RunCosts:
    """What a run of pytest executed on its chains, test by test; a plugin of it."""

    def __init__(
        self, config: pytest.Config, known: CostsFile, tolerance: Fraction
    ) -> None:
        self._config = config
        self._path = Path(config.getoption("--devnet-costs"))
        self._is_check = bool(config.getoption("--devnet-costs-check"))
        self._tolerance = tolerance
        self._known = known
        """What the file said before the run."""
        self._recorded = Recorded()
        self._tables: dict[bytes, dict[int, SourceStatement]] = {}
        self._failed: set[str] = set()
        """Ids of tests that did not pass."""
        self._lost: list[str] = []
        self._lines: list[str] = []
        """What the terminal is told."""

    # --- each process that runs tests -----------------------------------------------

    @contextmanager
    def watching(self, chain: "Devnet", item: pytest.Item) -> Iterator[None]:
        """Count what the chain executes inside for a test."""
        with chain.profile() as profile:
            yield
        test = record(name_of_test(item), profile, self._tables)
        self._recorded.tests[item.nodeid] = test
        for code_hash, source in profile.codes.items():
            name, file = ActorSource(source).name, profile.files.get(code_hash, "")
            self._recorded.codes[code_hash.hex()] = RecordedCode(name or "actor", file)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Know the tests of the run; the controller of xdist collects none."""
        names = Counter(map(name_of_test, session.items))
        self._recorded.known += names
        self._recorded.twins += [name for name, count in names.items() if count > 1]

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Know those that were left out."""
        self._recorded.left_out += map(name_of_test, items)

    # --- the process that reports ---------------------------------------------------

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Know which tests did not pass; one that is run again begins anew."""
        if report.when == "setup":
            self._failed.discard(report.nodeid)
        if report.outcome != "passed":
            self._failed.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Take over what a worker of xdist recorded; a crashed one told nothing."""
        output: dict[str, object] = getattr(node, "workeroutput", {})
        data = output.get(_OUTPUT)
        if isinstance(data, str):
            self._recorded.add(msgspec.json.decode(data, type=Recorded))
        else:
            gateway = getattr(node, "gateway", None)
            self._lost.append(str(getattr(gateway, "id", node)))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the file, or compare with it; or hand over what was recorded."""
        output: dict[str, object] | None
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_OUTPUT] = msgspec.json.encode(self._recorded).decode()
        elif exitstatus in _ENDED and not self._config.getoption("collectonly"):
            fault = self._compare() if self._is_check else self._write()
            if fault:
                session.shouldfail = session.shouldfail or fault  # pytest shows it last
            if fault and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _write(self) -> str:
        """Write the file; why that fails the run, or nothing."""
        now, gone = self._now(), self._gone()
        tests = {
            test: handlers
            for test, handlers in self._known.tests.items()
            if test not in gone
        }
        for test, handlers in now.items():
            tests[test] = {name: each.filed() for name, each in handlers.items()}
        tests = {test: handlers for test, handlers in tests.items() if handlers}
        try:
            write_costs(self._path, CostsFile(tests=tests))
        except CostsFileRefused as error:
            self._lines.append(f"{error}")
            return f"--devnet-costs: {self._path} was not written"
        ran = counted(len(list(filter(None, now.values()))), "test")
        kept = len(tests) - len([test for test in now if test in tests])
        self._lines.append(
            f"{ran} in {self._path}" + (f", and {kept:,} from before" if kept else "")
        )
        return ""

    def _compare(self) -> str:
        """Compare with the file; why that fails the run, or nothing."""
        comparison = compare(self._known.tests, self._now(), self._tolerance)
        comparison.gone += [
            (test, handler)
            for test in sorted(self._gone())
            for handler in sorted(self._known.tests[test])
        ]
        folder = self._config.rootpath
        lines = dearer_lines(comparison.dearer, self._recorded.codes, folder)
        if comparison.dearer:
            self._lines += told(lines, comparison, _shown(self._tolerance))
        self._lines += self._others(comparison)
        if os.environ.get("GITHUB_ACTIONS"):
            self._tell_github(comparison)
        if not comparison.dearer:
            return ""
        dearer = counted(len(comparison.dearer), "handler")
        return f"--devnet-costs-check: {dearer} dearer than in {self._path}"

    def _others(self, comparison: Comparison) -> Iterator[str]:
        """What lets the run pass, and what to do about it."""
        counts = {"cheaper": comparison.cheaper, "new": comparison.new}
        for what, handlers in counts.items():
            if handlers:
                yield f"{what}: {counted(len(handlers), 'handler')}"
        for test, handler in comparison.gone:
            yield f"gone, but in {self._path}: {test}: {handler}"
        if self._known.consensus != CONSENSUS_NUMBER:
            yield (
                f"{self._path} was written under rules {self._known.consensus}, and "
                f"these are rules {CONSENSUS_NUMBER}: prices may have changed"
            )
        if not comparison.dearer:
            yield f"nothing costs more than in {self._path}"

    def _tell_github(self, comparison: Comparison) -> None:
        root = os.environ.get("GITHUB_WORKSPACE") or self._config.rootpath
        lines = dearer_lines(comparison.dearer, self._recorded.codes, Path(root))
        self._lines += annotations(lines)
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if summary and comparison.dearer:
            try:
                with Path(summary).open("a", encoding="utf-8") as file:
                    file.write(summary_table(comparison.dearer))
            except OSError as error:
                self._lines.append(f"{summary} cannot be written: {error.strerror}")

    def _now(self) -> dict[str, dict[str, NamedHandler]]:
        """The tests that passed, by name; of two with one name neither."""
        recorded, root = self._recorded, self._config.rootpath
        with_files(recorded, root)
        twins = self._twins()
        passed: dict[str, dict[str, NamedHandler]] = {}
        for id_, test in recorded.tests.items():
            if id_ not in self._failed and test.name not in twins:
                names = source_names(test, recorded.codes, root)
                passed[test.name] = named(test.handlers, names)
        return passed

    def _twins(self) -> set[str]:
        twins = set(self._recorded.twins)
        for name in sorted(twins):
            self._lines.append(
                f"two tests have the id {name}: what they cost is left out"
            )
        return twins

    def _gone(self) -> set[str]:
        """Tests of the file that there are no more, as far as this run can know.

        A file of tests that is not there has none; nor has one that was collected
        whole tests that were not among them.
        """
        names = {*self._recorded.known, *self._recorded.left_out}
        root = self._config.rootpath
        parts = {
            (self._config.invocation_params.dir / path).resolve()
            for path, separator, _ in (arg.partition("::") for arg in self._config.args)
            if separator
        }
        whole = {name.partition("::")[0] for name in names}
        if self._config.getoption("lf", default=False):
            whole = set()
        gone = set()
        for test in self._known.tests.keys() - names:
            file = test.partition("::")[0]
            path = (root / file).resolve()
            if not path.exists() or (file in whole and path not in parts):
                gone.add(test)
        return gone

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        """Say what was written, or what became dearer."""
        if self._lost:
            names = ", ".join(self._lost)
            self._lines.append(f"without what {names} executed before it crashed")
        if self._lines:
            terminalreporter.section("devnet costs")
            for line in self._lines:
                terminalreporter.write_line(line)


def name_of_test(item: pytest.Item) -> str:
    """A test's id, without the group that xdist's `loadgroup` writes behind it."""
    groups = {
        str((*mark.args, mark.kwargs.get("name", "default"))[0])
        for mark in item.iter_markers("xdist_group")
    }
    suffix = f"@{'_'.join(sorted(groups))}" if groups else ""
    return item.nodeid.removesuffix(suffix)


def _shown(percent: Fraction) -> str:
    """As a decimal where it is one."""
    return f"{float(percent):g}"
