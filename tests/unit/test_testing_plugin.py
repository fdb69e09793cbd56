"""The pytest plugin, used as a test suite of actors uses it."""

import pytest

from node.config import genesis_folder
from node.testing import (
    Devnet,
    InvalidArgument,
    NodeProcess,
    assert_event,
    assert_fires_at,
)

pytest_plugins = ["pytester"]

HEARTBEAT = (genesis_folder() / "actors" / "heartbeat.py").read_text()
SUITE = f"""
import pytest
from node.testing import Devnet, assert_event, assert_fires_at

SOURCE = {HEARTBEAT!r}
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run a suite in this process, with the plugin and nothing else."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(body, *arguments, conftest=""):
        pytester.makepyfile(SUITE + body)
        if conftest:
            pytester.makeconftest(SUITE + conftest)
        plugin = ["-p", "node.testing.plugin", "-p", "no:cacheprovider"]
        return pytester.runpytest_inprocess(*plugin, "--strict-markers", *arguments)

    return run


def test_each_test_has_the_chain_as_the_base_left_it(run):
    result = run(
        """
def test_one(devnet):
    assert devnet.height == 1
    clock = devnet.clock
    assert_fires_at(devnet, clock, 11)
    assert clock.storage["beats"] == 1

def test_two(devnet):
    assert devnet.height == 1
    assert devnet.clock.storage["beats"] == 0
    devnet.advance(blocks=1_000)

@pytest.mark.devnet(chain_id=7, accounts={"count": 3, "balance": "5"})
def test_with_a_genesis_of_its_own(devnet):
    assert (devnet.height, devnet.params.chain_id) == (0, 7)
    assert [devnet.balance(account) for account in devnet.accounts] == [5, 5, 5]

def test_three(devnet):
    assert devnet.height == 1
    assert devnet.params.chain_id == 100
""",
        conftest="""
@pytest.fixture(scope="session")
def devnet_base(devnet_base):
    devnet_base.clock = devnet_base.deploy(SOURCE, value="5 CBY")
    return devnet_base
""",
    )
    result.assert_outcomes(passed=4)


def test_suites_that_run_together_have_bases_of_their_own(run, pytester):
    """As docs/ci.md writes them."""
    for name in ("one", "two"):
        folder = pytester.mkdir(name)
        (folder / "conftest.py").write_text(f"""
import pytest
from node.testing import Devnet

@pytest.fixture(scope="session")
def devnet_base():
    with Devnet() as chain:
        chain.name = {name!r}
        chain.deploy({HEARTBEAT!r}, value="5 CBY")
        yield chain
""")
        (folder / f"test_{name}.py").write_text(f"""
def test_first(devnet):
    assert (devnet.name, devnet.height) == ({name!r}, 1)
    devnet.advance(blocks=50)

def test_second(devnet):
    assert (devnet.name, devnet.height) == ({name!r}, 1)
""")
    run("").assert_outcomes(passed=4)


def test_a_failed_test_shows_blocks_events_and_why_timers_did_what(run):
    result = run("""
def test_that_fails(devnet):
    clock = devnet.deploy(SOURCE, value="5 CBY")
    devnet.advance(next_timer=True)
    assert clock.storage["beats"] == 2
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- devnet: devnet -*",
            "<devnet 'devnet' at height 11>, the last blocks:",
            "  height 1: 1 transaction, 0 fires, 0 messages",
            "  heights 2 to 10: nothing happened",
            "  height 11: 0 transactions, 1 fire, 0 messages",
            "    fire handle_timer of Heartbeat: succeeded, * cycles",
            "Timer 0x* of actor Heartbeat, paid by the actor itself, *",
            "Height 11: fired: *handle_timer succeeded.",
        ]
    )


TALKING = '''
TALKING = """
def work(payload):
    print("at work")
    if payload:
        held = [1, 2]
        pvm_host.call_actor(pvm_host.self_address(), "fail", b"")

def fail(payload):
    print("about to fail\\x1b[31m")
    raise ValueError("no")

def later(payload):
    pvm_host.schedule_timer(pvm_host.block_height() + 1, b"")

def handle_timer(payload):
    print("fired")
    fail(payload)
"""
'''


def test_a_failed_test_shows_what_actors_printed_and_the_tree_of_the_call(run):
    """The tree once, in at most 40 lines, deepest frame first."""
    result = run(
        TALKING
        + """
def test_before(devnet):
    devnet.deploy(TALKING).call("work")

def test_that_fails(devnet):
    actor = devnet.deploy(TALKING)
    actor.call("work")
    actor.call("work", b"x")
"""
    )
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            "*- Captured actor output call -*",
            "at work",
            "at work",
            "about to fail\\x1b[[]31m",
            "*- devnet trace: devnet -*",
            "transaction 0x* before any call); failed: RevertError: ValueError: no",
            "failed: ValueError: no",
            "failed in fail, line * of *: raise ValueError(*no*)",
            "in work, line *",
            "    held = [[]1, 2]",
            "*.work('x') by *; undone",
            "  | at work",
            "  *.fail() by *; failed: ValueError: no; undone",
            "    | about to fail\\x1b[[]31m",
        ]
    )
    shown = result.stdout.str()
    assert shown.count("devnet trace: ") == 1
    assert shown.count("at work") == 3
    assert "\x1b[31m" not in shown.partition("Captured actor output")[2]


def test_a_fire_that_fails_shows_its_tree(run):
    result = run(
        TALKING
        + """
def test_that_fails(devnet):
    devnet.deploy(TALKING, value="5 CBY").call("later")
    devnet.advance(blocks=3)
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*- devnet trace: devnet -*", "fire 0x* call); failed: ValueError: no"]
    )


def test_a_read_that_fails_shows_its_tree(run):
    result = run(
        TALKING
        + """
def test_that_fails(devnet):
    devnet.deploy(TALKING).read("work", b"x")
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*- devnet trace: devnet -*", "failed in fail, line *", "*.work('x') by *"]
    )


def test_what_a_test_that_passes_printed_is_shown_when_asked(run):
    result = run(
        TALKING
        + """
def test_that_passes(devnet):
    devnet.deploy(TALKING).call("work")
""",
        "-rP",
    )
    result.stdout.fnmatch_lines(["*- Captured actor output call -*", "at work"])


BUSY = """
class Actor:
    def deploy(self):
        for after in range(1, 20):
            pvm_host.schedule_timer(
                pvm_host.block_height() + after // 4 + 1, b"", gas_limit=20_000
            )

    def handle_timer(self, payload):
        for number in range(4):
            self.storage["count"] = self.storage.get("count", 0) + 1
            text = "\\x1b[2J " + str(self.storage["count"])
            pvm_host.emit_event("fired", text.encode())
        if pvm_host.block_height() > 4:
            self._fail()

    def _fail(self):
        raise ValueError("\\x1b[2Jat last")
"""


def test_a_report_has_at_most_forty_lines_and_no_event_twice(run, pytester):
    """However much happened; labels and prints move no terminal."""
    (pytester.path / "busy.py").write_text(BUSY)
    result = run("""
from pathlib import Path

def test_that_fails(devnet):
    busy = devnet.deploy(Path("busy.py"), value="100 CBY")
    devnet.label(busy, "\\x1b[31mred")
    devnet.advance(blocks=10)
""")
    result.assert_outcomes(failed=1)
    lines = result.stdout.lines
    begin = next(i for i, row in enumerate(lines) if "- devnet: devnet -" in row)
    end = next(i for i, row in enumerate(lines) if "short test summary" in row)
    told = lines[begin + 1 : end]
    assert len(told) <= 40
    assert any("more lines about these blocks" in row for row in told)
    events = [row for row in told if row.lstrip().startswith("event ")]
    assert len(events) == len(set(events)) > 0
    assert not any("\x1b" in row for row in told)
    assert any("handle_timer of \\x1b[31mred: " in row for row in told)
    file = pytester.path / "busy.py"
    explained = [row for row in lines if row.startswith("E  ") and "File" in row]
    assert explained == [
        f'E         File "{file}", line 18, in Actor._fail',
        f'E         File "{file}", line 15, in Actor.handle_timer',
    ]


def test_a_test_that_passes_or_uses_no_chain_shows_nothing(run):
    result = run("""
def test_that_passes(devnet):
    pass

def test_without_a_chain():
    assert False
""")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.no_fnmatch_line("*the last blocks*")


def test_chains_are_told_whatever_the_fixture_that_brought_them(run, pytester):
    """A project has one chain in the process and one over gRPC, say, in turns."""
    result = run(
        """
@pytest.fixture
def chain(request):
    return request.getfixturevalue("devnet")

@pytest.fixture
def of_its_own():
    with Devnet(chain_id=7) as chain:
        yield chain

def test_that_fails(chain, of_its_own):
    chain.mine(3)
    assert of_its_own.height == 1
""",
        "--devnet-bundle",
        "kept",
        conftest="",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- devnet: devnet -*",
            "<devnet 'devnet' at height 3>, the last blocks:",
            "*- devnet: of_its_own -*",
            "<devnet 'devnet' at height 0>, the last blocks:",
        ]
    )
    result.stdout.no_fnmatch_line("*- devnet: chain -*")
    assert len(list((pytester.path / "kept").iterdir())) == 2


def test_a_refusal_is_shown_at_the_line_that_asked(run):
    """Not in the depths of this package, unless they are asked for."""
    suite = """
def ask(chain):
    chain.deploy("def f(payload):\\n    return 1 // 0\\n").call("f")

def test_that_fails(devnet):
    ask(devnet)

def test_that_refuses(devnet):
    devnet.timer(b"nothing")
"""
    result = run(suite)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*chain.deploy*",
            "E   *TransactionFailed: ZeroDivisionError*",
            "E    *return 1 // 0",
            "E   *UnknownId: timer_id: *",
        ]
    )
    result.stdout.no_fnmatch_line("*def execute(*")
    result.stdout.no_fnmatch_line("*_require_known*")
    run(suite, "--full-trace").stdout.fnmatch_lines(["*_require_known*"])


def test_a_fixture_of_the_same_name_that_is_no_chain_is_left_alone(run):
    """A project may have a `devnet` of its own: nothing can be told of it."""
    result = run(
        """
@pytest.fixture
def devnet():
    return {"url": "elsewhere"}

def test_that_fails(devnet):
    assert devnet is None
""",
        "--devnet-bundle",
        "kept",
    )
    result.assert_outcomes(failed=1)
    for words in ("*- devnet*", "*cannot be told*", "*bundle*"):
        result.stdout.no_fnmatch_line(words)


def test_what_a_test_must_not_do_to_others_fails_it(run):
    result = run("""
import threading
never = threading.Event()

def test_that_leaks(devnet):
    threading.Thread(target=never.wait, name="leaked").start()

def test_that_cleans_up(devnet):
    never.set()

@pytest.mark.devnet()
def test_that_closes_its_own(devnet):
    devnet.close()

def test_that_closes(devnet):
    devnet.close()

def test_after_it(devnet):
    pass
""")
    result.assert_outcomes(passed=4, errors=3)
    result.stdout.fnmatch_lines(
        ["*the test left threads running (leaked)*join them before it ends"]
    )
    result.stdout.fnmatch_lines(["*the test closed the chain that it shares*"])
    result.stdout.fnmatch_lines(["*DevnetClosed: this chain was closed*"])


def test_a_failed_test_leaves_its_chain_in_a_bundle(run, pytester):
    """And the report names the file; one of an earlier run is replaced."""
    suite = """
@pytest.mark.parametrize("text", ["a/b", "a-b"])
def test_that_fails(devnet, text):
    devnet.deploy(SOURCE, value="5 CBY")
    devnet.advance(blocks=50)
    assert False, text

def test_that_passes(devnet):
    devnet.mine()
"""
    for _ in range(2):
        result = run(suite, "--devnet-bundle", "kept/here")
        result.assert_outcomes(failed=2, passed=1)
    folder = pytester.path / "kept" / "here"
    files = sorted(folder.iterdir())
    assert len(files) == 2
    result.stdout.fnmatch_lines_random(
        line
        for file in files
        for line in (
            f"the whole chain is in {file}",
            f"execute it again: cowboy-devnet bundle check {file}",
            f"or look into it: Devnet.from_bundle('{file}')",
        )
    )
    for file in files:
        assert file.name.startswith("test_a_failed_test_leaves")
        with Devnet.from_bundle(file) as chain:
            assert chain.height == 51
            assert chain.timers()[0].height == 61
    result = run(suite)
    result.stdout.no_fnmatch_line("*the whole chain is in*")


def test_a_bundle_that_cannot_be_written_hides_no_failure(run, pytester):
    (pytester.path / "file").write_text("no folder")
    result = run(
        """
def test_that_fails(devnet):
    assert devnet.height == 7
""",
        "--devnet-bundle",
        "file",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 0 == 7", "no bundle could be written to *"])


def test_the_plugin_is_loaded_once_however_it_is_asked_for(pytester, monkeypatch):
    """As the entry point, by its name, or both: pytest itself refuses a second one."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile("def test_one(devnet):\n    devnet.mine()\n")
    entry, plugin = "node.testing.entry", "node.testing.plugin"
    for names in ([entry], [plugin], [entry, plugin], [plugin, entry]):
        words = [word for name in names for word in ("-p", name)]
        # Run after run in one process: they share nothing.
        pytester.runpytest_inprocess(*words).assert_outcomes(passed=1)
    pytester.makeconftest("pytest_plugins = ['node.testing.plugin']\n")
    result = pytester.runpytest_inprocess("-p", "node.testing.entry")
    result.assert_outcomes(passed=1)


def test_a_real_node_is_there_when_it_is_asked_for(run):
    """On a free port, at genesis in each test, or with a genesis of the test's own."""
    result = run("""
def test_one(devnet_client, devnet_node):
    assert devnet_node.url.startswith("127.0.0.1:")
    clock = devnet_client.deploy(SOURCE, value="5 CBY")
    assert_fires_at(devnet_client, clock, 11)
    assert_event(devnet_client, "TimerScheduled")
    with pytest.raises(AssertionError, match="does not fire at height 12"):
        assert_fires_at(devnet_client, clock, 12)

def test_two(devnet_client):
    assert devnet_client.height == 0

@pytest.mark.devnet(chain_id=7)
def test_with_a_genesis_of_its_own(devnet_client):
    assert devnet_client.api.params().chain_id == 7
    devnet_client.fund(bytes(20), 1)
    devnet_client.deploy("def say(payload):\\n    print('on a node')").call("say")
    assert devnet_client.height == 5
""")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- Captured actor output call -*",
            "on a node",
            "*- devnet: devnet_client -*",
            "<client of *>, the last blocks:",
        ]
    )


def test_a_node_that_runs_already_is_used_and_begins_anew_in_each_test(run):
    """`--devnet-url`: a service of a workflow, say; never shared between workers."""
    body = """
@pytest.mark.parametrize("number", [1, 2])
def test_on_it(devnet_client, devnet_node, number):
    assert devnet_client.height == 0
    devnet_client.mine(number)
    assert (devnet_client.height, repr(devnet_node)) == (number, NODE)
"""
    with NodeProcess() as node:
        known = f"NODE = {f'<node at {node.url}>'!r}\n"
        run(known + body, "--devnet-url", node.url).assert_outcomes(passed=2)
        with node.client() as client:
            assert client.height == 2
        alone = "def pytest_configure(config):\n    config.workerinput = {}\n"
        result = run(known + body, "--devnet-url", node.url, conftest=alone)
        result.assert_outcomes(errors=2)
        result.stdout.fnmatch_lines(["*each worker of pytest-xdist needs one of*"])


@pytest.mark.slow
def test_workers_of_xdist_have_chains_and_nodes_of_their_own(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        SUITE
        + """
@pytest.mark.parametrize("number", range(12))
def test_in_process(devnet, number):
    devnet.deploy(SOURCE, value="5 CBY")
    devnet.advance(blocks=25)
    assert devnet.height == 26

@pytest.mark.parametrize("number", range(4))
def test_over_grpc(devnet_client, number):
    devnet_client.mine(2)
    assert devnet_client.height == 2

def test_that_fails(devnet):
    assert devnet.height == 1
"""
    )
    result = pytester.runpytest_subprocess(
        "-p", "xdist", "-p", "node.testing.plugin", "-n", "2"
    )
    result.assert_outcomes(passed=16, failed=1)
    result.stdout.fnmatch_lines(["<devnet 'devnet' at height 0>, the last blocks:"])


# --- the assertions ------------------------------------------------------------------


@pytest.fixture
def clock():
    with Devnet() as chain:
        yield chain.deploy(HEARTBEAT, value="5 CBY"), chain


def test_a_fire_is_asserted_by_actor_timer_or_id(clock):
    actor, chain = clock
    receipt = assert_fires_at(chain, actor, 11)
    assert (receipt.actor, chain.height) == (actor.address, 11)
    (timer,) = actor.timers
    assert assert_fires_at(chain, timer, 21).id == timer.timer_id
    assert assert_fires_at(chain, timer.timer_id, 21).id == timer.timer_id


def test_a_fire_that_does_not_come_is_explained(clock):
    actor, chain = clock
    (timer,) = actor.timers
    with pytest.raises(AssertionError) as error:
        assert_fires_at(chain, timer, 12)
    assert f"{chain.explain(timer.timer_id)}" in str(error.value)
    with pytest.raises(InvalidArgument, match="timer: an actor with a live timer"):
        assert_fires_at(chain, chain.deploy("def nothing(payload):\n    pass\n"), 50)


def test_the_fixture_lets_no_fire_fail_in_silence(run):
    """`advance` of the fixtures' chains is strict unless it is told otherwise."""
    result = run(
        """
BROKEN = SOURCE.replace("timer(self, payload: bytes)", "timer(self, a, b, c)")
assert BROKEN != SOURCE

def test_one(devnet):
    devnet.deploy(BROKEN, value="5 CBY")
    devnet.advance(next_timer=True)

def test_two(devnet):
    devnet.deploy(BROKEN, value="5 CBY")
    devnet.advance(next_timer=True, expect_failure=True)

@pytest.mark.devnet
def test_three(devnet):
    devnet.deploy(BROKEN, value="5 CBY")
    devnet.advance(next_timer=True)
"""
    )
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*FireFailed: TypeError*"])


def test_an_event_is_asserted_by_topic_data_and_emitter(clock):
    actor, chain = clock
    chain.advance(next_timer=True)
    event = assert_event(chain, "TimerScheduled")
    assert assert_event(chain, "TimerScheduled", event.data) == event
    with pytest.raises(AssertionError, match="events of this topic"):
        assert_event(chain, "TimerScheduled", emitter=actor)
    with pytest.raises(AssertionError, match="topics of this chain: TimerScheduled"):
        assert_event(chain, "TimerSleeps")
