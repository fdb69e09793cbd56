"""The pytest plugin: a chain for each test, and what happened on it when one fails.

Loaded by the entry point `cowboy_devnet` into every run of pytest where this package is
installed: so it imports nothing but pytest until a fixture is asked for, keeps nothing
between runs in one process, and shares nothing between the workers of xdist.

Rules: a test gets the chain as `devnet_base` left it and hands it back as it was. What
a test must not do to others (close the chain, leave threads behind) fails that test.
"""

import json
import re
import threading
import zlib
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from node.client import Chain, Client
    from node.testing.costs.plugin import RunCosts
    from node.testing.devnet import Devnet
    from node.testing.process import NodeProcess, RunningNode
    from node.testing.profiles import RunProfile
    from node.testing.run_coverage import RunCoverage

_MARK = (
    "devnet(genesis='devnet', **overrides): a chain of this test's own, of another "
    "genesis preset or with fields of its document replaced"
)
_SECTION = "devnet"
_PROFILE = "cowboy_devnet_profile"
_COVERAGE = "cowboy_devnet_coverage"
_COSTS = "cowboy_devnet_costs"
_COST_OPTIONS = (
    "--devnet-costs",
    "--devnet-costs-check",
    "--devnet-costs-tolerance",
)
_USED: "pytest.StashKey[dict[str, Chain]]" = pytest.StashKey()
"""Of a test: chains of our fixtures, however it came to them."""
_MEMBERS = ("__enter__", "height", "block", "timers", "explain", "export_bundle")
"""What makes a fixture a chain; an asynchronous client is none."""
_NAME_LENGTH = 120
"""Of a file: the end of a test's name, where its parameters are."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """What a run can be asked for."""
    group = parser.getgroup("cowboy-devnet")
    group.addoption(
        "--devnet-url",
        metavar="HOST:PORT",
        help="let `devnet_node` and `devnet_client` be this development node, not one "
        "of their own; each test begins with `Reset`, which drops its chain",
    )
    group.addoption(
        "--devnet-profile",
        metavar="FILE",
        help="write cycles and cells by line of all actors that fixture `devnet` "
        "executed: FILE for speedscope, and a report beside it (.txt)",
    )
    group.addoption(
        "--devnet-cov",
        metavar="PATH",
        action="append",
        help="measure which lines and branches of the actors in PATH run, a file or a "
        "folder; may be given several times. Needs coverage.py",
    )
    group.addoption(
        "--devnet-cov-report",
        metavar="KIND[:PLACE]",
        action="append",
        help="a report of it: term (the default), term-missing, lcov, xml, json or "
        "html, with the file or folder it goes to; may be given several times",
    )
    group.addoption(
        "--devnet-cov-data",
        metavar="FILE",
        default=".coverage.devnet",
        help="coverage.py's data file of it, for `coverage combine` (%(default)s)",
    )
    group.addoption(
        "--devnet-costs",
        metavar="FILE",
        help="write cycles and cells of each test that passes, by handler and by "
        "statement of the actors that fixture `devnet` executed",
    )
    group.addoption(
        "--devnet-costs-check",
        action="store_true",
        help="write nothing, and fail if a handler of a test costs more than the FILE "
        "of --devnet-costs says",
    )
    group.addoption(
        "--devnet-costs-tolerance",
        metavar="PERCENT",
        help="let costs rise by so much under --devnet-costs-check (default 0)",
    )
    group.addoption(
        "--devnet-debug",
        action="store_true",
        help="let actors run under the names of their files, so that breakpoints of "
        "pdb, PyCharm and VS Code stop in them, and `breakpoint()` does",
    )
    group.addoption(
        "--devnet-console",
        action="store_true",
        help="open a prompt on the chain of each test that fails, as --pdb does on its "
        "frames: ask it, try what would help, .save that as a test",
    )
    group.addoption(
        "--devnet-bundle",
        metavar="FOLDER",
        help="write the whole chain of each test that fails into a file in FOLDER, "
        "which `cowboy-devnet bundle check` executes again",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known, and begin what the run was asked for."""
    config.addinivalue_line("markers", _MARK)
    if config.getoption("--devnet-console"):
        from node.testing.console.failed_test import refuse_workers  # noqa: PLC0415

        refuse_workers(config)
    path = config.getoption("--devnet-profile")
    if path is not None:
        from node.testing.profiles import RunProfile  # noqa: PLC0415 - only if wanted

        config.pluginmanager.register(RunProfile(path, config), _PROFILE)
    if any(config.getoption(option) not in {None, False} for option in _COST_OPTIONS):
        from node.testing.costs.plugin import begin  # noqa: PLC0415 - only if wanted

        config.pluginmanager.register(begin(config), _COSTS)
    if config.getoption("--devnet-cov"):
        config.pluginmanager.register(_coverage_of(config), _COVERAGE)
    elif config.getoption("--devnet-cov-report"):
        raise pytest.UsageError("--devnet-cov-report needs --devnet-cov PATH")


def _coverage_of(config: pytest.Config) -> "RunCoverage":
    """Begin to measure; what cannot be had is said before a test runs."""
    try:
        from node.testing.run_coverage import RunCoverage  # noqa: PLC0415 - as above
    except ModuleNotFoundError as error:
        if error.name != "coverage":
            raise
        raise pytest.UsageError(
            "--devnet-cov needs coverage.py: pip install 'cowboy-devnet[coverage]'"
        ) from None
    from node.coverage.actor_files import CoverageRefused  # noqa: PLC0415 - as above

    try:
        return RunCoverage(config)
    except CoverageRefused as refusal:
        raise pytest.UsageError(f"--devnet-cov: {refusal}") from None


# --- a chain in this process ---------------------------------------------------------


@pytest.fixture(scope="session")
def devnet_base() -> "Iterator[Devnet]":
    """The chain with which the tests of a session begin.

    Override it to deploy once what all tests need; make a `Devnet` of your own for
    that, so that suites that run together do not see each other's actors. Each worker
    of pytest-xdist has one.
    """
    from node.testing.devnet import Devnet  # noqa: PLC0415 - costs nothing unused

    with Devnet() as chain:
        yield chain


@pytest.fixture
def devnet(request: pytest.FixtureRequest) -> "Iterator[Devnet]":
    """A chain as `devnet_base` left it; after the test everything it did is undone.

    The chain is strict: if a fire fails while `advance` lets time pass, that raises
    `FireFailed`. With the mark `devnet` the test has a chain of its own.
    """
    mark = request.node.get_closest_marker("devnet")
    threads = set(threading.enumerate())
    if mark is not None:
        from node.testing.devnet import Devnet  # noqa: PLC0415

        with (
            Devnet(*mark.args, **mark.kwargs) as chain,
            _counted(request, chain),
        ):
            _begin(request, chain)
            yield chain
            _refuse_threads(threads)
        return
    base: Devnet = request.getfixturevalue("devnet_base")
    threads.update(threading.enumerate())  # the chain's own
    with base.snapshot(), _counted(request, base):
        _begin(request, base)
        yield base
        _refuse_threads(threads)
        if base.is_closed:
            pytest.fail(
                "the test closed the chain that it shares with others: leave closing "
                "to the fixture, or take a chain of its own with @pytest.mark.devnet()",
                pytrace=False,
            )


@contextmanager
def _counted(request: pytest.FixtureRequest, chain: "Devnet") -> Iterator[None]:
    """Counts what a chain executes in a run that asked for it; else nothing."""
    manager = request.config.pluginmanager
    profile, costs = manager.get_plugin(_PROFILE), manager.get_plugin(_COSTS)
    with ExitStack() as stack:
        if profile is not None:
            stack.enter_context(cast("RunProfile", profile).watching(chain))
        if costs is not None:
            watching = cast("RunCosts", costs).watching(chain, request.node)
            stack.enter_context(watching)
        yield


def _begin(request: pytest.FixtureRequest, chain: "Devnet") -> None:
    """Make a chain ready for a test."""
    chain.is_strict = True
    if request.config.getoption("--devnet-debug"):
        chain.debug = True
    _note(request, "devnet", chain)


def _note(request: pytest.FixtureRequest, name: str, chain: "Chain") -> None:
    """For the report, should the test fail."""
    take = getattr(type(chain), "take_output", None)
    if take is not None:
        take(chain)  # of tests before
    request.node.stash.setdefault(_USED, {})[name] = chain


def _refuse_threads(before: set[threading.Thread]) -> None:
    """A thread that goes on would act on the chain of the next test."""
    names = [
        thread.name
        for thread in threading.enumerate()
        if thread not in before and not thread.daemon
    ]
    if names:
        pytest.fail(
            f"the test left threads running ({', '.join(sorted(names))}), which could "
            "act on the chain of another test: join them before it ends",
            pytrace=False,
        )


# --- a node in another process -------------------------------------------------------


@pytest.fixture(scope="session")
def devnet_node_process(
    request: pytest.FixtureRequest,
) -> "Iterator[NodeProcess | RunningNode]":
    """One node for a session, on a free port; each worker of pytest-xdist has one.

    With `--devnet-url` it is the node that runs there. Override it for any other node,
    with a `RunningNode`.
    """
    from node.testing.process import NodeProcess, RunningNode  # noqa: PLC0415

    url = request.config.getoption("--devnet-url")
    if url is None:
        with NodeProcess() as node:
            yield node
        return
    if hasattr(request.config, "workerinput"):
        pytest.fail(
            "--devnet-url names one node, and each worker of pytest-xdist needs one of "
            "its own: leave out -n, or the option",
            pytrace=False,
        )
    yield RunningNode(url)


@pytest.fixture
def devnet_node(
    request: pytest.FixtureRequest, tmp_path: Path
) -> "Iterator[NodeProcess | RunningNode]":
    """A real node at genesis; `devnet_node.url` is its address.

    With the mark `devnet` the test has a node of its own.
    """
    mark = request.node.get_closest_marker("devnet")
    if mark is not None:
        from node.testing.presets import preset  # noqa: PLC0415
        from node.testing.process import NodeProcess  # noqa: PLC0415

        name = mark.args[0] if mark.args else "devnet"
        genesis = tmp_path / "devnet-genesis.json"
        genesis.write_text(json.dumps(preset(name, mark.kwargs).document()))
        with (
            NodeProcess("--genesis", str(genesis)) as node,
            _node_covered(request, node),
        ):
            yield node
        return
    shared: NodeProcess | RunningNode = request.getfixturevalue("devnet_node_process")
    with shared.client() as client:
        client.api.reset()
    with _node_covered(request, shared):
        yield shared


@contextmanager
def _node_covered(
    request: pytest.FixtureRequest, node: "NodeProcess | RunningNode"
) -> Iterator[None]:
    """Count the blocks that a node makes for a test, in a run that asked for it."""
    plugin = request.config.pluginmanager.get_plugin(_COVERAGE)
    if plugin is None:
        yield
        return
    with (
        node.client() as client,
        cast("RunCoverage", plugin).covering_node(request.node.nodeid, client),
    ):
        yield


@pytest.fixture
def devnet_client(
    request: pytest.FixtureRequest, devnet_node: "NodeProcess | RunningNode"
) -> "Iterator[Client]":
    """A client of `devnet_node`: it does what `devnet` does, over gRPC."""
    with devnet_node.client() as client:
        client.is_strict = True
        _note(request, "devnet_client", client)
        yield client


# --- what a failed test shows --------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what happened on its chains to the report of a failed test."""
    if call.excinfo is not None and not item.config.getoption(
        "fulltrace", default=False
    ):
        _leave_out_our_frames(call.excinfo.value)
    if call.when == "call" and isinstance(item, pytest.Function):
        _add_output(item, is_failed=call.excinfo is not None)
    report = yield
    if report.when == "call" and report.failed and isinstance(item, pytest.Function):
        for name, chain in _chains_of(item).items():
            from node.testing.failure_report import chain_report  # noqa: PLC0415

            if call.excinfo is not None:
                _add_trace(report, name, chain, call.excinfo.value)
            report.sections.append((f"{_SECTION}: {name}", chain_report(chain)))
            folder = item.config.getoption("--devnet-bundle")
            if folder is not None:
                told = _write_bundle(chain, folder, item, name)
                report.sections.append((f"{_SECTION} bundle: {name}", told))
    return report


def pytest_exception_interact(
    node: pytest.Item | pytest.Collector, call: pytest.CallInfo[None]
) -> None:
    """Open a prompt on the chain of a failed test, in a run that asked for it."""
    is_wanted = node.config.getoption("--devnet-console") and call.when == "call"
    if is_wanted and call.excinfo is not None and isinstance(node, pytest.Function):
        chains = _chains_of(node)
        if chains:
            from node.testing.console.failed_test import prompt_on  # noqa: PLC0415

            prompt_on(node, chains, call.excinfo.value)


def _add_output(item: pytest.Function, *, is_failed: bool) -> None:
    """What actors printed, as pytest shows what it captures: with a failure, or -rP.

    A node is asked for it after a failure only.
    """
    for chain in item.stash.get(_USED, dict[str, "Chain"]()).values():
        printed, take = "", getattr(type(chain), "take_output", None)
        if take is not None:
            printed = "" if getattr(chain, "is_closed", False) else take(chain)
        elif is_failed:
            from node.testing.captured import printed_on_node  # noqa: PLC0415

            printed = printed_on_node(cast("Client", chain))
        if printed:
            item.add_report_section("call", "actor output", printed)


def _add_trace(
    report: pytest.TestReport, name: str, chain: "Chain", error: BaseException
) -> None:
    """Which calls led to the failure; told once, by the first chain that made it."""
    from node.testing.captured import failed_trace  # noqa: PLC0415 - after a failure

    title = f"{_SECTION} trace"
    if not any(section.startswith(title) for section, _ in report.sections):
        told = failed_trace(chain, error)
        if told:
            report.sections.append((f"{title}: {name}", told))


def _leave_out_our_frames(error: BaseException) -> None:
    """End the traceback of what a chain refuses where it was asked: the test's line.

    What is below is ours, and of no interest but with `--full-trace`.
    """
    before, entry = None, error.__traceback__
    while entry is not None and _is_of(type(error).__module__, "node"):
        if _is_of(entry.tb_frame.f_globals.get("__name__", ""), "node"):
            if before is not None and not _is_pytests(before):
                before.tb_next = None
            return
        before, entry = entry, entry.tb_next


def _is_pytests(entry: TracebackType) -> bool:
    return _is_of(entry.tb_frame.f_globals.get("__name__", ""), "_pytest", "pluggy")


def _is_of(module: str, *packages: str) -> bool:
    return module.partition(".")[0] in packages


def _chains_of(item: pytest.Function) -> "dict[str, Chain]":
    """The chains that a test used, each once, by the names of their fixtures.

    Ours, whoever asked for them, and all others that the test was given. Their types
    are asked what they are: members of a client would ask the node.
    """
    found = item.stash.get(_USED, dict[str, "Chain"]()).copy()
    for name, value in item.funcargs.items():
        is_chain = all(hasattr(type(value), member) for member in _MEMBERS)
        if is_chain and all(value is not known for known in found.values()):
            found[name] = cast("Chain", value)
    return found


def _write_bundle(chain: "Chain", folder: str, item: pytest.Item, name: str) -> str:
    """Where the chain of a failed test is now; one that an earlier run left goes."""
    number = zlib.crc32(
        item.nodeid.encode()
    )  # names of tests differ in more than words
    words = re.sub(r"[^\w.-]+", "-", item.nodeid).strip("-")[-_NAME_LENGTH:]
    path = Path(folder).absolute() / f"{words}-{number:08x}-{name}.bundle"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        chain.export_bundle(path)
    except Exception as error:  # noqa: BLE001 - the test's own failure matters more
        return f"no bundle could be written to {path}: {error}"
    return (
        f"the whole chain is in {path}\n"
        f"execute it again: cowboy-devnet bundle check {path}\n"
        f"or look into it: Devnet.from_bundle({str(path)!r})"
    )
