"""`pytest --devnet-cov`: what is counted, what is told, what changes nothing."""

import json
import sys
from contextlib import closing

import pytest
from click.testing import CliRunner
from coverage import CoverageData

from node.cli import main
from node.coverage.executed import Executed, UnmatchedActor, decode_executed
from node.coverage.watcher import CoverageWatcher
from node.testing import Devnet, NodeProcess
from node.testing.run_coverage import RunCoverage
from node.testing.watchers import WATCHERS
from pvm import Arcs, keccak256

pytest_plugins = ["pytester"]

COUNTER = """\
import pvm_host


class Counter:
    def deploy(self):
        self.storage["n"] = 0

    def add(self, payload):
        if payload == b"stop":
            pvm_host.revert("stopped")
        self.storage["n"] += len(payload)

    def total(self):
        n = self.storage["n"]
        if n > 99:
            return "many"
        return n

    def unused(self):
        return 1
"""
COUNTER_2 = COUNTER.replace('return "many"', 'return "very many"').replace(
    "    def unused", "    def upgrade(self):\n        pass\n\n    def unused"
)
SUITE = """
from pathlib import Path
import pytest
from node.testing import Devnet

HERE = Path(__file__).parent
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run a suite beside a folder of actors, with the plugin and nothing else."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    actors = pytester.mkdir("actors")
    (actors / "counter.py").write_text(COUNTER)

    def run(body, *arguments, paths=("actors",)):
        pytester.makepyfile(SUITE + body)
        plugin = ["-p", "node.testing.plugin", "-p", "no:cacheprovider"]
        wanted = [f"--devnet-cov={path}" for path in paths]
        return pytester.runpytest_inprocess(*plugin, *wanted, *arguments)

    run.actors = actors
    return run


@pytest.fixture
def found(pytester):
    """What a JSON report says of each file, by its name."""

    def found():
        report = json.loads((pytester.path / "coverage.json").read_text())
        return {name.split("/")[-1]: told for name, told in report["files"].items()}

    return found


JSON = "--devnet-cov-report=json"
CALLS = """
def test_adds(devnet):
    counter = devnet.deploy((HERE / "actors/counter.py").read_text())
    counter.call("add", b"three")
    with pytest.raises(Exception, match="stopped"):
        counter.call("add", b"stop")

def test_reads():
    with Devnet() as chain:
        counter = chain.deploy(HERE / "actors/counter.py")
        assert counter.read("total") == b"\\x00"
"""


def test_lines_and_branches_of_blocks_and_reads_count(run, found):
    result = run(CALLS, JSON)
    result.assert_outcomes(passed=2)
    told = found()["counter.py"]
    assert told["missing_lines"] == [16, 20]
    assert told["missing_branches"] == [[15, 16]]
    assert told["executed_branches"] == [[9, 10], [9, 11], [15, 17]]
    result.stdout.fnmatch_lines(
        ["*= devnet coverage =*", "data in */.coverage.devnet", "json report in *.json"]
    )
    assert WATCHERS == []


def test_the_table_is_shown_unless_something_else_is_asked_for(run):
    result = run(CALLS)
    result.stdout.fnmatch_lines(["actors/counter.py *15 *2 *4 *1 *84%"])
    again = run(CALLS, "--devnet-cov-report=term-missing")
    again.stdout.fnmatch_lines(["actors/counter.py *84%*16, 20"])


def test_each_test_is_a_context_by_its_phases(run, pytester):
    """As pytest-cov names them, so that merged data have one name for a test."""
    run(
        """
@pytest.fixture
def counter(devnet):
    return devnet.deploy(HERE / "actors/counter.py")

def test_adds(counter):
    counter.call("add", b"1")

def test_reads(counter):
    counter.read("total")
"""
    )
    with closing(CoverageData(str(pytester.path / ".coverage.devnet"))) as data:
        data.read()
        (name,) = data.measured_files()
        contexts = data.contexts_by_lineno(name)
    tests = {line: {one.split("::")[1] for one in contexts[line]} for line in contexts}
    assert tests[11] == {"test_adds|run"}
    assert tests[14] == {"test_reads|run"}
    assert tests[6] == {"test_adds|setup", "test_reads|setup"}
    # The body of the module ran once, and serves all of them.
    assert tests[1] == tests[6] | tests[11] | tests[14]


def test_estimates_simulations_and_traces_do_not_count(run, found):
    run(
        """
def test_refused(devnet):
    counter = devnet.deploy(HERE / "actors/counter.py")
    counter.call("add", b"1")
    devnet.trace_read(counter, "total")
    with pytest.raises(Exception, match="nothing"):
        counter.call("unused", value=10**30)
        raise Exception("nothing")
""",
        JSON,
    )
    assert {14, 20} < set(found()["counter.py"]["missing_lines"])


def test_an_upgraded_actor_counts_for_the_files_of_both_versions(run, found):
    (run.actors / "counter_2.py").write_text(COUNTER_2)
    result = run(
        """
def test_upgrades(devnet):
    counter = devnet.deploy(HERE / "actors/counter.py")
    counter.call("add", b"1" * 100)
    devnet.upgrade(counter, HERE / "actors/counter_2.py")
    assert b"very many" in counter.read("total")
""",
        JSON,
    )
    result.assert_outcomes(passed=1)
    files = found()
    assert files["counter.py"]["missing_lines"] == [10, 14, 15, 16, 17, 20]
    assert 16 in files["counter_2.py"]["executed_lines"]
    assert 11 in files["counter_2.py"]["missing_lines"]


def test_a_file_that_no_test_deploys_has_no_coverage_and_helpers_are_no_actors(
    run, found
):
    (run.actors / "idle.py").write_text(COUNTER_2)
    (run.actors / "__init__.py").write_text("")
    (run.actors / "helper.py").write_text("import os\n\ndef read():\n    os.getcwd()\n")
    run(CALLS, JSON)
    assert set(found()) == {"counter.py", "idle.py"}
    assert found()["idle.py"]["summary"]["covered_lines"] == 0


def test_files_of_one_content_count_together_and_are_named(run, found):
    (run.actors / "twin.py").write_text(COUNTER)
    result = run(CALLS, JSON)
    files = found()
    assert files["twin.py"] == files["counter.py"]
    result.stdout.fnmatch_lines(
        ["*counter.py and *twin.py have the same content: what ran counts for each"]
    )


def test_line_ends_of_windows_make_no_other_actor(run, found):
    (run.actors / "counter.py").write_bytes(COUNTER.replace("\n", "\r\n").encode())
    run(CALLS, JSON)
    assert found()["counter.py"]["missing_lines"] == [16, 20]


def test_an_actor_of_no_file_is_named_with_hash_and_deployer(run):
    result = run(
        """
def test_other(devnet):
    for number in range(11):
        actor = devnet.deploy(f"def f():\\n    return {number}\\n")
    print(devnet.accounts[0].address.hex())
    print(actor.address.hex())
""",
        "-rP",
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "no file has the code of actor 0x*, deployed by 0x* (code hash 0x*)*",
            "and 1 more code is in no file",
        ]
    )


def test_a_file_that_holds_no_actor_is_named(run, pytester):
    pytester.makefile(".py", helper="import os\n")
    result = run(CALLS, paths=("actors", "helper.py"))
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*helper.py holds no actor: it is not counted"])


@pytest.mark.parametrize(
    ("paths", "arguments", "told"),
    [
        (["nowhere"], [], "*--devnet-cov: nowhere cannot be read: No such file*"),
        (["actors"], ["--devnet-cov-data=no/x"], "*no/x cannot be written: No such*"),
        (["actors"], ["--devnet-cov-data=actors"], "*actors cannot be written: Is a*"),
        (["actors"], ["--devnet-cov-report=pdf"], "*'pdf' is no report: term, *"),
        (["actors"], ["--devnet-cov-report=term:x"], "*this report is shown, and*"),
        ([], ["--devnet-cov-report=xml"], "*--devnet-cov-report needs --devnet-cov*"),
    ],
)
def test_what_cannot_be_had_is_said_before_a_test_runs(run, paths, arguments, told):
    result = run(CALLS, *arguments, paths=paths)
    result.stderr.fnmatch_lines([told])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert WATCHERS == []


def test_a_file_that_holds_something_else_is_not_taken_for_data(run):
    result = run(CALLS, "--devnet-cov-data=actors/counter.py")
    result.stderr.fnmatch_lines(
        ["*counter.py holds something else than coverage.py's*"]
    )
    assert (run.actors / "counter.py").read_text() == COUNTER


def test_without_coverage_installed_the_option_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "coverage", None)
    monkeypatch.delitem(sys.modules, "node.testing.run_coverage", raising=False)
    monkeypatch.delitem(sys.modules, "node.coverage.reports", raising=False)
    result = run(CALLS)
    result.stderr.fnmatch_lines(["*pip install 'cowboy-devnet?coverage?'*"])


def test_a_report_that_cannot_be_written_loses_no_outcome(run, pytester):
    pytester.makefile(".txt", taken="a file, not a folder")
    result = run(CALLS, "--devnet-cov-report=html:taken.txt")
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*the report html:taken.txt cannot be made: *"])


def test_where_no_file_matches_the_actors_are_named_all_the_same(run):
    (run.actors / "counter.py").write_text("import os\n")
    body = CALLS.replace('HERE / "actors/counter.py"', repr(COUNTER))
    result = run(
        body.replace('(HERE / "actors/counter.py").read_text()', repr(COUNTER))
    )
    result.stdout.fnmatch_lines(
        [
            "no file has the code of actor 0x*",
            "the report term cannot be made: No data*",
        ]
    )


def test_a_profile_a_debugger_and_coverage_go_together(run, found):
    """Who else watches has the execution; coverage executes the block again."""
    result = run(
        """
def test_all(devnet):
    counter = devnet.deploy(HERE / "actors/counter.py")
    with devnet.profile() as profile:
        counter.call("add", b"1")
    assert profile.lines(counter.address)[11].cycles
    devnet.debug = True
    counter.call("add", b"1")
    counter.read("total")
    assert counter.storage["n"] == 2
""",
        JSON,
    )
    result.assert_outcomes(passed=1)
    assert found()["counter.py"]["missing_lines"] == [10, 16, 20]


def test_the_root_is_the_same_and_a_chain_of_no_run_is_not_watched():
    def grown():
        with Devnet() as chain:
            counter = chain.deploy(COUNTER)
            counter.call("add", b"three")
            counter.call("add", b"stop", expect_failure=True)
            failing = COUNTER_2.replace('self.storage["n"] = 0', "raise KeyError(1)")
            chain.deploy(failing, expect_failure=True)
            return chain.head

    watcher = CoverageWatcher({keccak256(COUNTER.encode())})
    WATCHERS.append(watcher)
    try:
        watched = grown()
    finally:
        WATCHERS.remove(watcher)
    assert watched == grown()
    assert len(watcher.executed.codes) == len(watcher.executed.unmatched) == 1


def test_what_ran_goes_from_process_to_process():
    executed = Executed()
    assert decode_executed(executed.encode()) == executed
    hostile = [
        b'{"codes": 1}',
        b'{"codes": {"../x": {}}}',
        b'{"codes": {"%064d": {"body": [[1, 99999999]]}}}' % 0,
        b'{"unmatched": {"%064d": {"actor": "\\u001b", "deployer": ""}}}' % 0,
    ]
    for data in hostile:
        with pytest.raises(ValueError, match="Expected"):
            decode_executed(data)


def test_what_two_processes_executed_adds_up():
    both, other = Executed(), Executed()
    both.note(bytes(32), "a", Arcs({(-1, 1)}, {(2, 3)}))
    other.note(bytes(32), "a", Arcs({(1, -1)}, {(3, 4)}))
    other.note(bytes(32), "b", Arcs(set(), {(2, 3)}))
    actors = [UnmatchedActor(f"0x{n:040}", f"0x{0:040}") for n in (1, 2, 3)]
    both.unmatched = {"1": actors[0]}
    other.unmatched = {"1": actors[1], "2": actors[2]}
    both.add(other)
    code = both.codes[bytes(32).hex()]
    assert code.body == {(-1, 1), (1, -1)}
    assert code.contexts == {"a": {(2, 3), (3, 4)}, "b": {(2, 3)}}
    assert both.unmatched == {"1": actors[0], "2": actors[2]}


def test_a_worker_that_crashed_is_named(tmp_path):
    class Lines(list):
        write_line = write = list.append

        def section(self, title):
            self.append(title)

    class Config:
        def getoption(self, name):
            return {"--devnet-cov-data": str(tmp_path / "data")}.get(name, [])

    class Node:
        gateway = type("Gateway", (), {"id": "gw3"})

    run, lines = RunCoverage(Config()), Lines()
    try:
        run.pytest_testnodedown(Node())
        run.pytest_sessionfinish()
        run.pytest_terminal_summary(lines)
    finally:
        run.pytest_unconfigure()
    assert lines[:2] == [
        "devnet coverage",
        "without what gw3 executed before it crashed",
    ]
    assert "the report term cannot be made: No data to report" in lines[3]


@pytest.mark.slow
def test_workers_of_xdist_have_one_coverage_together(pytester, monkeypatch, found):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (pytester.mkdir("actors") / "counter.py").write_text(COUNTER)
    pytester.makepyfile(SUITE + CALLS)
    plugins = ("-p", "xdist", "-p", "node.testing.plugin", "-p", "no:cacheprovider")
    arguments = "-n", "2", "--devnet-cov=actors", JSON
    result = pytester.runpytest_subprocess(*plugins, *arguments)
    result.assert_outcomes(passed=2)
    assert found()["counter.py"]["missing_lines"] == [16, 20]
    with closing(CoverageData(str(pytester.path / ".coverage.devnet"))) as data:
        data.read()
        assert len(data.measured_contexts()) == 2


# --- of a bundle's blocks, or a node's -----------------------------------------------


@pytest.fixture
def lived(pytester):
    """A bundle, in a folder with the file of its actor: heights 1, 2 and 12 act.

    A file beside it is called as a module of Python's, which nothing may take it for.
    """
    (pytester.path / "counter.py").write_text(COUNTER)
    (pytester.path / "token.py").write_text("import pvm_host\n")
    with Devnet() as chain:
        counter = chain.deploy(COUNTER)
        chain.deploy("def f():\n    return 1\n")
        chain.advance(height=11)
        counter.call("add", b"1")
        chain.export_bundle("chain.bundle")


def told(*words):
    """What the command says; it executes in a process of its own."""
    result = CliRunner().invoke(main, ["coverage", *words])
    return result.exit_code, result.output


LINES = "--report=json"


@pytest.mark.usefixtures("lived")
def test_the_blocks_of_a_bundle_count(found):
    code, said = told("chain.bundle", LINES, "--report=term-missing")
    assert code == 0, said
    assert found()["counter.py"]["missing_lines"] == [10, 14, 15, 16, 17, 20]
    assert "10, 14-17, 20" in said
    assert "no file has the code of actor 0x" in said


@pytest.mark.slow
@pytest.mark.usefixtures("lived")
def test_only_the_heights_that_are_wanted_count(found):
    assert told("chain.bundle", LINES, "--from=1", "--to=11")[0] == 0
    assert found()["counter.py"]["missing_lines"] == [9, 10, 11, 14, 15, 16, 17, 20]
    assert told("chain.bundle", LINES, "--from=12")[0] == 0
    assert found()["counter.py"]["missing_lines"] == [6, 10, 14, 15, 16, 17, 20]


@pytest.mark.slow
@pytest.mark.usefixtures("lived")
def test_the_command_refuses_in_a_sentence(capfd):
    assert told("chain.bundle", "--from=13") == (2, "")
    said = capfd.readouterr().err
    assert "heights 1 to 12: --from 13 and --to 12 are not in them" in said
    assert "nowhere cannot be read" in told("chain.bundle", "--actors=nowhere")[1]
    assert "'pdf' is no report" in told("chain.bundle", "--report=pdf")[1]
    assert "cannot be written" in told("chain.bundle", "--data=no/x")[1]
    assert told("counter.py") == (1, "")
    assert "counter.py is no bundle" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("lived")
def test_the_blocks_of_a_node_are_fetched_and_count(found):
    with NodeProcess() as node:
        with node.client() as client:
            client.deploy(COUNTER).call("add", b"1")
        assert told(f"--url={node.url}", LINES)[0] == 0
    assert found()["counter.py"]["missing_lines"] == [10, 14, 15, 16, 17, 20]


@pytest.mark.slow
def test_tests_on_a_node_count_its_blocks(run, found):
    result = run(
        """
def test_adds(devnet_client):
    counter = devnet_client.deploy(HERE / "actors/counter.py")
    counter.call("add", b"1")

def test_stops(devnet_client):
    counter = devnet_client.deploy(HERE / "actors/counter.py")
    counter.call("add", b"stop", expect_failure=True)
""",
        JSON,
    )
    result.assert_outcomes(passed=2)
    assert found()["counter.py"]["missing_lines"] == [14, 15, 16, 17, 20]
