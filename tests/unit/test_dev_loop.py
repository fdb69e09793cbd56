"""`cowboy-devnet dev`: files that are saved, what differs, tests that run beside it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest
from click.testing import CliRunner

from node.cli import main as command_line
from node.cli.loop.background import ProcessEnd
from node.cli.loop.differences import difference_of
from node.cli.loop.rehearsals import rehearsal_text
from node.cli.loop.saved_file import GONE_SECONDS, REST_SECONDS, FileTrouble, SavedFile
from node.cli.loop.saved_tests import LOOK_SECONDS, SavedTests
from node.cli.loop.signals import ended_by_signals, without_interruption
from node.cli.loop.suite import Suite
from node.client import Client
from node.config import genesis_folder
from pvm import report_on
from pvm.language import SOURCE_BYTES_MAX

COUNTER = (genesis_folder() / "actors" / "counter.py").read_text()


# --- files ---------------------------------------------------------------------------


class Edited:
    """A file, and somebody who looks at it at times of the test's choice."""

    def __init__(self, path):
        self.path = path
        self.file = SavedFile(path)
        self.now = 100.0

    def look(self, later=0.0):
        self.now += later
        return self.file.look(self.now)

    def settled(self):
        """What is new once the file has rested."""
        first = self.look()
        return first if first is not None else self.look(REST_SECONDS)


@pytest.fixture
def edited(tmp_path):
    return Edited(tmp_path / "actor.py")


def test_a_file_that_an_editor_empties_before_it_fills_it_holds_nothing_new(edited):
    edited.path.write_text("x = 1\n")
    assert edited.settled() == b"x = 1\n"
    edited.path.write_text("")
    assert edited.settled() is None
    assert edited.look(GONE_SECONDS / 2) is None
    edited.path.write_text("x = 2\n")
    assert edited.settled() == b"x = 2\n"
    edited.path.write_text("")
    assert edited.settled() is None
    assert edited.look(GONE_SECONDS) == FileTrouble("it is empty")
    assert edited.look(GONE_SECONDS) is None
    edited.path.write_text("x = 2\n")
    assert edited.settled() is None


def test_a_save_counts_once_and_when_the_file_has_rested(edited):
    edited.path.write_text("one")
    assert edited.look() is None
    assert edited.file.is_resting
    assert edited.look(REST_SECONDS) == b"one"
    assert not edited.file.is_resting
    assert edited.look(9.0) is None


def test_a_save_in_the_midst_of_a_save_is_one(edited):
    edited.path.write_text("on")
    assert edited.look() is None
    edited.path.write_text("one and more")
    assert edited.look(REST_SECONDS) is None  # it rests since now
    assert edited.look(REST_SECONDS) == b"one and more"


def test_a_file_that_is_renamed_over_the_old_one_is_a_save(edited):
    edited.path.write_text("one")
    assert edited.settled() == b"one"
    beside = edited.path.with_suffix(".tmp")
    beside.write_text("two")
    edited.path.unlink()
    assert edited.look() is None
    beside.rename(edited.path)
    assert edited.settled() == b"two"


def test_the_same_bytes_are_no_save(edited):
    edited.path.write_text("one")
    assert edited.settled() == b"one"
    os.utime(edited.path, (1, 1))
    assert edited.settled() is None
    edited.path.write_text("one")
    assert edited.settled() is None
    edited.file.forget()
    assert edited.settled() == b"one"


def test_a_file_that_is_gone_is_told_once_and_found_again(edited):
    assert edited.look() is None
    assert edited.look(GONE_SECONDS) == FileTrouble("No such file or directory")
    assert edited.look(9.0) is None
    assert not edited.file.is_resting  # nobody asks more often for what is not there
    edited.path.write_text("one")
    assert edited.settled() == b"one"
    edited.path.unlink()
    assert edited.look() is None
    assert edited.look(GONE_SECONDS) == FileTrouble("No such file or directory")


def test_what_cannot_be_read_is_told_once(edited):
    edited.path.mkdir()
    assert edited.settled() == FileTrouble("Is a directory")
    (edited.path / "x").write_text("")
    assert edited.settled() is None


def test_of_a_file_that_is_too_long_no_more_is_read_than_tells_that(edited):
    edited.path.write_bytes(bytes(2 * SOURCE_BYTES_MAX))
    assert len(edited.settled()) == SOURCE_BYTES_MAX + 1


# --- differences ---------------------------------------------------------------------


def test_handlers_that_came_and_went_and_those_that_cost_more():
    before = report_on(COUNTER.encode())
    after = COUNTER.replace("def value", "def worth").replace(
        "    def reset(self", "    def also(self): pass\n\n    def reset(self"
    )
    after = after.replace(
        'self.storage["value"] = 0\n', 'self.storage["value"] = len("four") - 4\n', 1
    )
    found = difference_of(before, report_on(after.encode()))
    assert set(found.added) == {"worth", "also"}
    assert found.removed == ("value",)
    (name, (old, new)), *others = found.cycles.items()
    assert not others
    assert found.lines() == [
        "handlers: +worth +also -value",
        f"{name}: {old:,} → {new:,} cycles of its blocks (+{new - old:,})",
    ]
    assert difference_of(before, before).lines() == []
    assert difference_of(None, before).lines() == []


# --- the project's tests -------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "text", "is_passed", "sentence", "output"),
    [
        (0, "..\n2 passed in 0.1s", True, "2 passed in 0.1s", ""),
        (1, "F\n== 1 failed ==", False, "1 failed", "F\n== 1 failed =="),
        (5, "no tests ran", True, "there is no test in here", ""),
        (4, "ERROR: x", False, "pytest ended with exit code 4", "ERROR: x"),
        (-9, "", False, "pytest ended with exit code -9", ""),
        (
            1,
            "ModuleNotFoundError: No module named 'pytest'",
            False,
            "pytest is not installed here: `pip install pytest` adds it",
            "",
        ),
    ],
)
def test_how_a_run_ended_is_a_sentence(code, text, is_passed, sentence, output):
    outcome = Suite(Path("here"))._outcome(ProcessEnd(code, text))
    assert outcome.is_passed is is_passed
    assert outcome.sentence == sentence
    assert outcome.output == output


def test_without_tests_nothing_runs():
    suite = Suite(None)
    suite.start()
    assert suite.look() is None
    suite.stop()


class EditedTests:
    """A folder of tests, and somebody who looks at it at times of the test's choice."""

    def __init__(self, path):
        self.saved = SavedTests(path)
        self.now = 100.0

    def settled(self):
        """Whether one was saved, once all have rested."""
        for _ in range(3):
            self.now += 2 * LOOK_SECONDS
            if self.saved.look(self.now):
                return True
        return False


def test_a_saved_test_is_told_once(tmp_path):
    (tmp_path / "test_it.py").write_text("one")
    edited = EditedTests(tmp_path)
    assert not edited.settled()
    (tmp_path / "test_it.py").write_text("two")
    assert edited.settled()
    assert not edited.settled()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "helpers.py").write_text("")
    assert edited.settled()
    (tmp_path / "test_it.py").unlink()
    assert edited.settled()


def test_what_tests_write_begins_no_other_run(tmp_path):
    file = tmp_path / "test_it.py"
    file.write_text("one")
    edited = EditedTests(tmp_path)
    os.utime(file, (1, 1))
    (tmp_path / "test_it.bundle").write_text("two")
    for folder in ("__pycache__", ".cache", "node_modules"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "made.py").write_text("three")
    file.write_text("one")
    assert not edited.settled()


def test_a_save_of_a_test_in_the_midst_of_a_save_is_one(tmp_path):
    edited = EditedTests(tmp_path)
    edited.now += 2 * LOOK_SECONDS
    (tmp_path / "test_it.py").write_text("on")
    assert not edited.saved.look(edited.now)
    (tmp_path / "test_it.py").write_text("one and more")
    edited.now += 2 * LOOK_SECONDS
    assert not edited.saved.look(edited.now)  # it rests since now
    assert edited.settled()
    assert not edited.settled()


def test_a_file_of_tests_that_is_made_later_is_found(tmp_path):
    edited = EditedTests(tmp_path / "tests")
    suite = Suite(tmp_path / "tests")
    suite.start()
    assert suite.look() is None  # there is nothing to be run yet
    assert not edited.settled()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text("one")
    assert edited.settled()
    alone = EditedTests(tmp_path / "tests" / "test_it.py")
    (tmp_path / "tests" / "test_it.py").write_text("two")
    assert alone.settled()


# --- rehearsals ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "text", "told"),
    [
        (0, "heights 2 to 9: nothing differs", "heights 2 to 9: nothing differs"),
        (
            1,
            "heights 2 to 9: 1 difference\n  dearer:x\ncowboy-devnet: 1 is not allowed",
            "heights 2 to 9: 1 difference\n  dearer:x",
        ),
        (
            1,
            "\n".join(["heights", *"abcdefghij"]),
            "\n".join(["heights", *"abcdefg", "  … 3 more: see rehearse-upgrade"]),
        ),
    ],
)
def test_what_a_rehearsal_found_is_told_in_short(code, text, told):
    assert rehearsal_text(ProcessEnd(code, text)) == f"rehearsed over {told}"


def test_a_rehearsal_that_cannot_be_had_is_a_sentence():
    assert (
        rehearsal_text(ProcessEnd(2, "Usage: …\nError: no"))
        == "no rehearsal: Error: no"
    )
    assert rehearsal_text(ProcessEnd(-9, "")) == "no rehearsal: exit code -9"
    assert (
        rehearsal_text(ProcessEnd(1, "cowboy-devnet: X"))
        == "no rehearsal: cowboy-devnet: X"
    )


# --- signals -------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_no_signal_comes_between_a_process_and_its_number(number):
    noted = []

    def begin():
        with without_interruption():
            os.kill(os.getpid(), number)
            noted.append("its number")

    with ended_by_signals():
        with pytest.raises(KeyboardInterrupt):
            begin()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert noted == ["its number"]


# --- the command ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "Missing argument 'FILE...'"),
        (["."], 2, "is a directory"),
        (["a.py", "--tests", "nowhere"], 2, "does not exist"),
        (["a.py", "--tests", ".", "--no-tests"], 2, "--no-tests to run none"),
        (["a.py", "--value", "much"], 2, "--value"),
        (["a.py", "--url", ""], 2, "--url is empty"),
        (["a.py", "--url", "127.0.0.1:1"], 3, "no node answers at 127.0.0.1:1"),
    ],
)
def test_what_cannot_begin_is_a_sentence(words, code, said):
    done = CliRunner().invoke(command_line, ["dev", *words])
    assert done.exit_code == code
    assert said in done.stderr


class Loop:
    """`dev` in a process of its own, told by its lines of JSON."""

    def __init__(self, folder, *words):
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "node", "dev", "--json", *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )

    def until(self, event):
        """The next event of a name."""
        while True:
            line = self.process.stdout.readline()
            assert line, f"the loop ended before {event}"
            told = json.loads(line)
            if told["event"] == event:
                return told

    def until_tests(self, outcome):
        """What is told of a run that ended so; one of half a save may not have."""
        while outcome not in (text := self.until("tests")["text"]):
            pass
        return text

    def children(self):
        return psutil.Process(self.process.pid).children(recursive=True)

    def end(self, number=signal.SIGINT):
        """What is left of its children when it has ended; its exit code."""
        children = self.children()
        self.process.send_signal(number)
        code = self.process.wait()
        return [child for child in children if child.is_running()], code

    def close(self):
        if self.process.poll() is None:
            for child in self.children():
                child.kill()
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def loop(tmp_path):
    (tmp_path / "counter.py").write_text(COUNTER)
    loops = []

    def start(*words):
        loops.append(Loop(tmp_path, *words))
        return loops[-1]

    yield start
    for one in loops:
        one.close()


@pytest.mark.slow
def test_each_save_is_deployed_and_tested_until_ctrl_c(loop, tmp_path):
    (tmp_path / "tests").mkdir()
    test = tmp_path / "tests" / "test_it.py"
    test.write_text("def test_it():\n    assert True\n")
    running = loop("counter.py", "counter.py", "also/counter.py")
    assert (
        running.until("twice")["text"] == "counter.py is named twice: it is one actor"
    )
    assert "is called counter 2" in running.until("name")["text"]
    first = running.until("deployed")
    assert first["is_new"]
    assert running.until("file_trouble")["file"] == "also/counter.py"
    assert running.until("tests")["is_passed"]
    (tmp_path / "counter.py").write_text(COUNTER.replace("def value", "def worth"))
    second = running.until("deployed")
    assert (second["added"], second["removed"]) == (["worth"], ["value"])
    assert second["actor"] == first["actor"]
    assert not second["is_new"]
    assert running.until("tests")["is_passed"]
    (tmp_path / "counter.py").write_text("x = (")
    refused = running.until("refused")
    assert refused["text"].startswith("counter is refused; the old code stays\n")
    # A run of tests that has not ended, and the node, end with the loop.
    test.write_text(
        "import threading\n\ndef test_it():\n    print('begun', flush=True)\n"
        "    threading.Event().wait()\n"
    )
    (tmp_path / "counter.py").write_text(COUNTER)
    running.until("deployed")
    assert running.end() == ([], 0)


@pytest.mark.slow
def test_a_node_of_its_own_that_dies_is_started_again(loop):
    running = loop("counter.py", "--no-tests")
    first = running.until("deployed")
    (node,) = running.children()
    node.kill()
    assert "a new one is started" in running.until("node_gone")["text"]
    assert running.until("node_back")["height"] == 0
    again = running.until("deployed")
    assert "the chain no longer has it; deployed at" in again["text"]
    assert again["code_hash"] == first["code_hash"]
    assert running.end(signal.SIGTERM) == ([], 0)


@pytest.mark.slow
def test_a_rehearsal_tells_what_a_save_would_have_changed(loop, tmp_path):
    running = loop("counter.py", "--no-tests", "--rehearse")
    url = running.until("node")["url"]
    deployed = running.until("deployed")
    with Client(url) as client:
        client.actor(bytes.fromhex(deployed["actor"][2:])).increment()
    (tmp_path / "counter.py").write_text(COUNTER.replace("def increment", "def add"))
    told = running.until("rehearsed")["text"]
    assert told.startswith("counter: rehearsed over heights 2 to 2: ")
    assert "\n  handlers:increment at height 2: " in told
    assert running.end() == ([], 0)


@pytest.mark.slow
def test_tests_run_when_they_are_made_or_saved(loop, tmp_path):
    (tmp_path / "copy.py").write_text(COUNTER)  # as one of Python's modules
    (tmp_path / "expected.py").write_text("IS_RIGHT = True\n")
    running = loop("counter.py", "copy.py")
    running.until("no_tests")
    running.until("deployed")
    (tmp_path / "tests").mkdir()
    test = tmp_path / "tests" / "test_it.py"
    test.write_text("import expected\ndef test_it():\n    assert expected.IS_RIGHT\n")
    running.until_tests("1 passed")
    test.write_text("def test_it():\n    assert False\n")
    assert "Warning" not in running.until_tests("1 failed")
    assert running.end() == ([], 0)


@pytest.mark.slow
def test_a_loop_has_a_page_and_leaves_no_node_behind_when_it_is_killed(loop):
    running = loop("counter.py", "--no-tests")
    page = running.until("node")["page"]
    running.until("deployed")
    with urlopen(page) as answer:
        assert b"<title>cowboy-devnet</title>" in answer.read()
    (node,) = running.children()
    running.process.kill()
    node.wait(timeout=30)
    assert not node.is_running()
