"""Costs of a run of tests: the file, what became dearer, and what GitHub is told."""

import json
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from node.testing import Devnet
from node.testing.costs.comparison import compare
from node.testing.costs.file import CostsFile, FiledHandler
from node.testing.costs.naming import NamedHandler
from node.testing.costs.plugin import RunCosts, name_of_test
from node.testing.costs.recording import RecordedCode, RecordedHandler
from node.testing.costs.report import (
    ANNOTATIONS_MAX,
    ROWS_MAX,
    annotations,
    dearer_lines,
    summary_table,
)
from node.testing.costs.statements import statements
from pvm import NO_LINE
from tests.recorded_costs import recorded_handler

pytest_plugins = ["pytester"]

GREETING = '''class Greeting:
    """Greets."""

    def greet(self, name):
        dots = b"." * 10
        total = len(dots)
        for i in range(10):
            total += i
        self.storage["last"] = name
        return self.answer(
            name,
        )

    def answer(self, name):
        return b"hello " + bytes(name)
'''
SUITE = """
from pathlib import Path
import pytest

@pytest.fixture
def greeting(devnet):
    return devnet.deploy(Path(__file__).with_name("greeting.py"), value="5 CBY")

def test_greets(greeting):
    greeting.greet(b"bob")

def test_twice(greeting, devnet):
    greeting.greet(b"bob")
    greeting.greet(b"alice")
    devnet.transfer(devnet.accounts[1], 5)
"""
OTHER = """
def test_other(devnet):
    devnet.deploy("def run(payload):\\n    return payload\\n").call("run", b"x")
"""


@pytest.fixture
def suite(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    write(pytester, "greeting.py", GREETING)
    write(pytester, "test_greeting.py", SUITE)
    write(pytester, "test_other.py", OTHER)
    return pytester


def write(pytester, name, text):
    (pytester.path / name).write_text(text, encoding="utf-8")


def change(pytester, old, new, name="greeting.py"):
    text = (pytester.path / name).read_text(encoding="utf-8")
    assert text.count(old) == 1
    write(pytester, name, text.replace(old, new))


PLUGINS = ("-p", "node.testing.plugin", "-p", "no:cacheprovider")


def run(pytester, *arguments):
    return pytester.runpytest_inprocess(
        *PLUGINS, "--devnet-costs", "costs.json", *arguments
    )


def check(pytester, *arguments):
    return run(pytester, "--devnet-costs-check", *arguments)


def costs_of(pytester):
    return json.loads((pytester.path / "costs.json").read_text(encoding="utf-8"))


def section(result):
    """What the run says about costs."""
    lines = result.outlines
    titles = [n for n, line in enumerate(lines) if line.strip("= ") == "devnet costs"]
    if not titles:
        return []
    rest = [line for line in lines[titles[0] + 1 :] if line]
    ends = [n for n, line in enumerate(rest) if line.startswith(("==", "!!", "FAILED"))]
    return rest[: min([*ends, len(rest)])]


# --- the file ------------------------------------------------------------------------


def test_the_file_has_each_test_handler_and_statement(suite):
    """Committed executions, to the unit of the receipts; sorted; versioned."""
    assert run(suite).ret == 0
    costs = costs_of(suite)
    assert list(costs) == ["version", "consensus", "tests"]
    assert costs["version"] == 1
    names = ["test_greeting.py::test_greets", "test_greeting.py::test_twice"]
    assert list(costs["tests"]) == [*names, "test_other.py::test_other"]
    with Devnet() as chain:
        actor = chain.deploy(GREETING, value="5 CBY")
        once, again = actor.greet(b"bob"), actor.greet(b"alice")
    greeted = costs["tests"][names[1]]["greeting.py greet"]
    assert greeted["executions"] == 2
    assert greeted["cycles"] == once.cycles_used + again.cycles_used
    assert greeted["cells"] == once.cells_used + again.cells_used
    rows = [row.split(" ", 2) for row in greeted["statements"]["greeting.py"]]
    assert [text for _, _, text in rows] == [
        "(module): class Greeting:",
        "Greeting: def greet(self, name):",
        'Greeting.greet: dots = b"." * 10',
        "Greeting.greet: total = len(dots)",
        "Greeting.greet: for i in range(10):",
        "Greeting.greet: total += i",
        'Greeting.greet: self.storage["last"] = name',
        "Greeting.greet: return self.answer(",
        "Greeting: def answer(self, name):",
        'Greeting.answer: return b"hello " + bytes(name)',
        "(payload and answer)",
    ]
    assert greeted["cycles"] - sum(int(cycles) for cycles, _, _ in rows) > 0
    assert sum(int(cells) for _, cells, _ in rows) < greeted["cells"]
    handlers = list(costs["tests"][names[1]])
    assert handlers == ["greeting.py deploy", "greeting.py greet"], "and no transfer"
    assert list(costs["tests"]["test_other.py::test_other"]) == [
        "actor deploy", "actor run",
    ]  # fmt: skip


def test_the_file_is_the_same_in_whatever_order_the_tests_ran(suite):
    run(suite, "test_greeting.py", "test_other.py")
    first = (suite.path / "costs.json").read_bytes()
    (suite.path / "costs.json").unlink()
    other = "test_greeting.py::test_twice", "test_greeting.py::test_greets"
    run(suite, "test_other.py", *other)
    assert (suite.path / "costs.json").read_bytes() == first


@pytest.mark.slow
def test_the_file_is_the_same_of_two_workers_and_of_any_hash_seed(suite, monkeypatch):
    run(suite)
    alone = (suite.path / "costs.json").read_bytes()
    (suite.path / "costs.json").unlink()
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    write(suite, "test_more.py", OTHER.replace("test_other", "test_more"))
    xdist = ("-p", "xdist", "-n", "2")
    options = (*PLUGINS, *xdist, "--devnet-costs", "costs.json")
    result = suite.runpytest_subprocess(*options, "--deselect", "test_more.py")
    result.assert_outcomes(passed=3, deselected=0)
    assert (suite.path / "costs.json").read_bytes() == alone
    change(suite, "total += i", "total += 7")
    result = suite.runpytest_subprocess(*options, "--devnet-costs-check")
    assert result.ret == 0
    change(suite, "total += 7", "total += i * 31")
    result = suite.runpytest_subprocess(*options, "--devnet-costs-check")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["greeting.py:8: 20 → 60 cycles"])


def test_what_only_some_tests_ran_leaves_the_others_as_they_were(suite):
    run(suite)
    before = costs_of(suite)
    change(suite, "total += i", "total += i * 31")
    run(suite, "-k", "twice")
    after = costs_of(suite)
    assert list(after["tests"]) == list(before["tests"])
    changed = {n for n in after["tests"] if after["tests"][n] != before["tests"][n]}
    assert changed == {"test_greeting.py::test_twice"}
    run(suite, "test_greeting.py::test_greets")
    assert list(costs_of(suite)["tests"]) == list(before["tests"])


def test_tests_that_are_gone_leave_the_file(suite):
    run(suite)
    change(suite, "def test_greets", "def test_welcomes", "test_greeting.py")
    (suite.path / "test_other.py").unlink()
    result = check(suite)
    assert result.ret == 0
    assert [line for line in section(result) if line.startswith("gone")] == [
        "gone, but in costs.json: test_greeting.py::test_greets: greeting.py deploy",
        "gone, but in costs.json: test_greeting.py::test_greets: greeting.py greet",
        "gone, but in costs.json: test_other.py::test_other: actor deploy",
        "gone, but in costs.json: test_other.py::test_other: actor run",
    ]
    run(suite)
    names = ["test_greeting.py::test_twice", "test_greeting.py::test_welcomes"]
    assert list(costs_of(suite)["tests"]) == names


def test_a_test_that_failed_tells_no_costs(suite):
    run(suite)
    before = costs_of(suite)
    change(suite, '    greeting.greet(b"alice")', "    assert 0", "test_greeting.py")
    result = run(suite)
    assert result.ret == 1
    assert costs_of(suite) == before
    assert section(check(suite, "--tb=no"))[-1].startswith("nothing costs more")


def test_codes_of_one_name_in_a_test_are_numbered(suite):
    write(
        suite,
        "test_other.py",
        "def test_other(devnet):\n"
        "    a = devnet.deploy('def run(payload):\\n    return 1\\n')\n"
        "    a.upgrade('def run(payload):\\n    return 2\\n')\n"
        "    a.call('run')\n",
    )
    run(suite, "test_other.py")
    (handlers,) = costs_of(suite)["tests"].values()
    assert list(handlers) == ["actor 2 run", "actor 2 upgrade", "actor deploy"]


def test_a_source_given_as_a_text_is_known_by_the_file_that_holds_it(suite):
    change(suite, '.with_name("greeting.py")', '.with_name("greeting.py").read_text()',
           "test_greeting.py")  # fmt: skip
    run(suite, "test_greeting.py")
    assert {
        name for test in costs_of(suite)["tests"].values() for name in test
    } == {"greeting.py deploy", "greeting.py greet"}  # fmt: skip


# --- what became dearer --------------------------------------------------------------


def test_a_price_that_changed_in_one_line_names_that_line_only(suite):
    """Of the same length and form, so that deploying costs the same."""
    run(suite)
    change(suite, 'b"." * 10', 'b"." * 99')
    result = check(suite)
    assert result.ret == 1
    told = section(result)
    assert told[0] == "dearer by more than 0 %: 2 handlers"
    assert told[1].startswith("greeting.py:5: ")
    assert told[2:4] == [
        '    Greeting.greet: dots = b"." * 99',
        "    in test_greeting.py::test_twice and 1 more test",
    ]
    assert [line.split(": ")[:2] for line in told[4:]] == [
        ["test_greeting.py::test_greets", "greeting.py greet"],
        ["test_greeting.py::test_twice", "greeting.py greet"],
    ]


def last_lines(result):
    """The last two of a run, without the time that it took."""
    *_, fault, last = [line for line in result.outlines if line]
    return fault.strip("! "), last.strip("= ").rpartition(" in ")[0]


def test_the_last_lines_say_that_costs_failed_a_run_whose_tests_passed(suite):
    """docs/costs.md: `7 passed` alone would leave the exit code unexplained."""
    run(suite)
    change(suite, 'b"." * 10', 'b"." * 99')
    said = "--devnet-costs-check: 2 handlers dearer than in costs.json"
    assert last_lines(check(suite)) == (said, "3 passed")
    assert last_lines(check(suite, "-q")) == (said, "3 passed")
    assert last_lines(check(suite, "--maxfail", "1"))[0] == said


def test_what_stopped_a_run_before_its_costs_is_said_as_ever(suite):
    run(suite)
    change(suite, 'b"." * 10', 'b"." * 99')
    write(suite, "test_zeal.py", "def test_it():\n    assert False\n")
    result = check(suite, "--maxfail", "1", "-p", "no:randomly")
    assert last_lines(result) == ("stopping after 1 failures", "1 failed, 3 passed")


def test_a_line_that_moved_is_the_same_and_a_new_one_is_named_where_it_stands(suite):
    run(suite)
    write(suite, "greeting.py", "# above\n\n" + GREETING)
    change(suite, "total += i", "total += i * 31")
    told = section(check(suite))
    named = [line for line in told if line.startswith("greeting.py:")]
    assert [line for line in named if line.split(":")[1].isdecimal()] == [
        "greeting.py:10: 20 → 60 cycles"
    ]
    assert len(named) == 2, "and what deploying costs more"


def test_what_deploying_costs_more_is_told_of_the_file(suite):
    run(suite)
    change(suite, "    def answer", "    def more(self):\n        return 1\n\n"
           "    def answer")  # fmt: skip
    result = check(suite)
    assert result.ret == 1
    assert section(result)[1].startswith("greeting.py: ")
    assert section(result)[2] == "    (before an actor runs)"


def test_what_rose_within_the_tolerance_and_what_is_new_pass(suite):
    run(suite, "test_greeting.py")
    change(suite, "total += i", "total += i * 3")
    result = check(suite, "--devnet-costs-tolerance", "2.5")
    assert result.ret == 0
    assert section(result) == [
        "new: 2 handlers",
        "nothing costs more than in costs.json",
    ]
    assert check(suite, "--devnet-costs-tolerance", "0.1").ret == 1


def test_what_became_cheaper_passes_and_is_told(suite):
    change(suite, "range(10)", "range(90)")
    run(suite)
    change(suite, "range(90)", "range(10)")
    result = check(suite)
    assert result.ret == 0
    assert section(result)[0] == "cheaper: 2 handlers"


def test_a_check_writes_nothing(suite):
    run(suite)
    before = (suite.path / "costs.json").read_bytes()
    change(suite, "total += i", "total += i * 3")
    check(suite)
    assert (suite.path / "costs.json").read_bytes() == before


def dearer(old, new):
    """Lines of the new rows that are named, with what they cost before and now."""
    found = compare({"t": {"h": old.filed()}}, {"t": {"h": new}}, Fraction(0))
    return [
        (one.line, *one.before, *one.now)
        for each in found.dearer
        for one in each.statements
    ]


def test_statements_are_matched_where_they_moved_and_where_they_were_rewritten():
    old = recorded_handler(
        (5, 0, "f: a"), (7, 0, "f: b"), (7, 0, "f: b"), (9, 3, "f: c")
    )
    moved = recorded_handler(
        (9, 3, "f: c"), (5, 0, "f: a"), (7, 0, "f: b"), (8, 0, "f: b")
    )
    assert dearer(old, moved) == [(4, 7, 0, 8, 0)]
    rewritten = recorded_handler(
        (5, 0, "f: a"), (9, 0, "f: B"), (7, 0, "f: b"), (9, 3, "f: c")
    )
    assert dearer(old, rewritten) == [(2, 7, 0, 9, 0)]
    rows = (5, 0, "f: a"), (7, 0, "f: b"), (1, 1, "f: x"), (7, 0, "f: b")
    added = recorded_handler(*rows, (9, 3, "f: c"))
    assert dearer(old, added) == [(3, 0, 0, 1, 1)]
    cells = recorded_handler(
        (5, 0, "f: a"), (7, 0, "f: b"), (7, 0, "f: b"), (1, 4, "f: c")
    )
    assert dearer(old, cells) == [(4, 9, 3, 1, 4)]
    assert dearer(old, old) == []


def test_a_tolerance_is_exact():
    old = FiledHandler(1, 1_000, 10)
    for cycles, cells, is_dearer in (
        (1_025, 10, False),
        (1_026, 10, True),
        (1_000, 11, True),
        (9, 10, False),
    ):
        new = NamedHandler(RecordedHandler("aa", "run", 1, cycles, cells), {})
        found = compare({"t": {"h": old}}, {"t": {"h": new}}, Fraction("2.5"))
        assert bool(found.dearer) is is_dearer


def test_a_line_belongs_to_its_innermost_statement():
    source = (
        "x = (1,\n"
        "     2)\n"
        "class A:\n"
        "    @property\n"
        "    def f(self):\n"
        "        if self:\n"
        "            return g(\n"
        "                1)\n"
        "        else:\n"
        "            y = '\\d'\n"
    )
    found = statements(source)
    assert {line: one.line for line, one in found.items()} == {
        NO_LINE: NO_LINE, 1: 1, 2: 1, 3: 3, 4: 4, 5: 4, 6: 6, 7: 7, 8: 7, 9: 6, 10: 10,
    }  # fmt: skip
    assert found[4].text == "A: def f(self):"
    assert found[8].text == "A.f: return g("


# --- GitHub --------------------------------------------------------------------------


def test_github_gets_a_warning_at_the_line_and_a_table(suite, monkeypatch):
    run(suite)
    summary = suite.path / "summary.html"
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(suite.path.parent))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert not any(line.startswith("::") for line in check(suite).outlines)
    assert summary.read_text(encoding="utf-8") == "before\n"
    change(suite, "range(10)", "range(20)")
    commands = [line for line in check(suite).outlines if line.startswith("::")]
    file = f"{suite.path.name}/greeting.py"
    assert len(commands) == 2
    assert commands[0] == (
        f"::warning file={file},line=7,title=An actor became dearer::"
        "Greeting.greet: for i in range(20):%0A64 → 104 cycles in "
        "test_greeting.py::test_twice and 1 more test"
    )
    written = summary.read_text(encoding="utf-8")
    assert written.startswith(
        "before\n<h2>Dearer actors</h2>\n<table><tr><th>test</th>"
    )
    assert "<td>test_greeting.py::test_twice</td><td>greeting.py greet</td>" in written
    assert written.count("<tr>") == 3


def test_github_gets_as_many_warnings_and_rows_as_it_shows():
    def handler(cycles, count):
        rows = [(cycles, 0, f"f: line {number}") for number in range(count)]
        return recorded_handler(*rows)

    old = {"t": {"h": handler(1, ANNOTATIONS_MAX + 1).filed()}}
    now = {"t": {"h": handler(2, ANNOTATIONS_MAX + 1)}}
    dearer = compare(old, now, Fraction(0)).dearer
    lines = dearer_lines(dearer, {"aa": RecordedCode("a", "a.py")}, Path())
    assert len(lines) == ANNOTATIONS_MAX + 1
    assert len(list(annotations(lines))) == ANNOTATIONS_MAX
    table = summary_table(dearer * (ROWS_MAX + 1))
    assert table.count("<tr>") == 1 + ROWS_MAX
    assert table.endswith("<p>and 1 more handler</p>\n")


def test_a_summary_that_cannot_be_written_is_said(suite, monkeypatch):
    run(suite)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(suite.path))
    change(suite, "range(10)", "range(20)")
    assert section(check(suite))[-1] == (
        f"{suite.path} cannot be written: Is a directory"
    )


# --- bad input -----------------------------------------------------------------------

WITH_A_BAD_ROW = (
    '{"version": 1, "tests": {"a": {"b": {"executions": 1, "cycles": 1, "cells": 1, '
    '"statements": {"c": ["x y z"]}}}}}'
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "costs.json is no file of costs: "),
        ("[]", "costs.json is no file of costs: "),
        ("\udcff", "costs.json is no file of costs: "),
        ('{"tests": {}}', "costs.json is no file of costs: "),
        ('{"version": 2, "more": 1}', "of version 2, and this cowboy-devnet reads"),
        ('{"version": 1, "tests": {"a": {"b": {"executions": 1}}}}', "missing"),
        (WITH_A_BAD_ROW, "costs.json is no file of costs: "),
    ],
)
def test_a_file_that_is_none_of_costs_is_refused_and_left(suite, content, said):
    data = content.encode(errors="surrogateescape")
    (suite.path / "costs.json").write_bytes(data)
    for start in (run, check):
        result = start(suite)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        (line,) = [one for one in result.errlines if one.startswith("ERROR")]
        assert said in line
        assert "Traceback" not in result.stderr.str() + result.stdout.str()
    assert (suite.path / "costs.json").read_bytes() == data


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--devnet-costs-check",), "name it"),
        (("--devnet-costs-tolerance", "5"), "name it"),
        (("--devnet-costs", "c", "--devnet-costs-tolerance", "5"), "give that, too"),
        (("--devnet-costs", "c", "--devnet-costs-check"), "c is not there: write it"),
        (("--devnet-costs", "no/c"), "the folder no is not there"),
        (("--devnet-costs", "."), "cannot be read: Is a directory"),
        *(
            (
                ("--devnet-costs", "c", "--devnet-costs-check", word),
                "a percent of 0 or more is wanted",
            )
            for word in (
                "--devnet-costs-tolerance=-1",
                "--devnet-costs-tolerance=many",
                "--devnet-costs-tolerance=nan",
                "--devnet-costs-tolerance=1e999999999",
                "--devnet-costs-tolerance=",
            )
        ),
    ],
)
def test_options_that_cannot_be_are_refused_in_a_sentence(suite, options, said):
    result = suite.runpytest_inprocess(*PLUGINS, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [one for one in result.errlines if one.startswith("ERROR")]
    assert said in line


def test_a_file_that_cannot_be_written_any_more_fails_the_run(suite):
    write(
        suite,
        "test_other.py",
        "from pathlib import Path\n"
        "def test_it(devnet):\n"
        "    Path('costs.json').mkdir()\n",
    )
    result = run(suite, "test_other.py")
    assert result.ret == 1
    assert "costs.json cannot be written: " in section(result)[0]
    said = "--devnet-costs: costs.json was not written"
    assert last_lines(result) == (said, "1 passed")
    assert [one.name for one in suite.path.glob(".costs*")] == []


def test_two_tests_of_one_id_are_named_and_left_out(suite):
    result = run(suite, "--keep-duplicates", "test_other.py", "test_other.py")
    assert section(result)[0] == (
        "two tests have the id test_other.py::test_other: what they cost is left out"
    )
    assert costs_of(suite)["tests"] == {}


def test_a_file_of_other_rules_says_that_prices_may_have_changed(suite):
    run(suite)
    costs = costs_of(suite) | {"consensus": 1}
    write(suite, "costs.json", json.dumps(costs))
    assert "was written under rules 1, and these are rules" in section(check(suite))[0]


def test_a_worker_that_crashed_is_named():
    class Terminal(list):
        write_line = list.append
        section = list.append

    class Config:
        getoption = staticmethod({"--devnet-costs": "c", "--devnet-costs-check": 0}.get)

    class Node:
        gateway = type("Gateway", (), {"id": "gw3"})

    costs = RunCosts(Config, CostsFile(), Fraction(0))
    costs.pytest_testnodedown(Node())
    lines = Terminal()
    costs.pytest_terminal_summary(lines)
    assert lines == ["devnet costs", "without what gw3 executed before it crashed"]


def test_a_group_of_xdist_is_no_part_of_a_tests_name():
    """`--dist loadgroup` writes it behind the id, for its own use."""

    class Item:
        nodeid = "test_a.py::test_it[@one]@one_two"
        marks = (pytest.mark.xdist_group("two"), pytest.mark.xdist_group(name="one"))

        def iter_markers(self, _name):
            return (each.mark for each in self.marks)

    item = Item()
    assert name_of_test(item) == "test_a.py::test_it[@one]"
    item.marks = ()
    assert name_of_test(item) == item.nodeid
    item.marks, item.nodeid = (pytest.mark.xdist_group(),), "test_a.py::test_it"
    assert name_of_test(item) == item.nodeid


def test_a_run_that_does_not_ask_imports_none_of_it(suite):
    write(
        suite,
        "test_other.py",
        "import sys\n"
        "def test_it(devnet):\n"
        "    unused = ('node.testing.costs', 'node.testing.console', 'node.coverage')\n"
        "    assert not [name for name in sys.modules if name.startswith(unused)]\n",
    )
    script = "import pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"
    result = suite.run(sys.executable, "-c", script, *PLUGINS, "-q", "test_other.py")
    assert result.ret == 0
