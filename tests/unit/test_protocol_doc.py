"""docs/protocol.md names only functions and tests that exist."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "protocol.md").read_text()
HEADS = {"rule", "---"}
TICKED = re.compile(r"`([^`]+)`")


def rows(page):
    """(rule, names of functions, names of tests) of every row of every table."""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 3 and cells[0] not in HEADS:
            rule, functions, tests = cells
            yield rule, TICKED.findall(functions), TICKED.findall(tests)


def resolve(name):
    """Whatever a dotted name stands for; below `node.chain` if it does not say."""
    parts = name.split(".")
    if parts[0] not in ("node", "pvm"):
        parts = ["node", "chain", *parts]
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


def names_of_tests(folder):
    """Names of all test functions below a folder, as often as they occur."""
    return [
        node.name
        for path in sorted(folder.rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


FUNCTIONS = sorted({name for _, names, _ in rows(PAGE) for name in names})
TESTS = sorted({name for _, _, names in rows(PAGE) for name in names})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_function_exists(name):
    assert resolve(name) is not None


def test_the_tests_exist():
    assert sorted(set(TESTS) - set(names_of_tests(ROOT / "tests"))) == []


def test_every_test_of_the_timers_is_in_the_table():
    """A rule with a test and without a row would be a rule nobody finds."""
    files = [
        *(ROOT / "tests" / "spec").glob("test_cip5_*.py"),
        *(ROOT / "tests" / "spec").glob("test_cip1_*.py"),
        *(ROOT / "tests" / "spec").glob("test_cip1v1_*.py"),
        *(ROOT / "tests" / "spec").glob("test_decisions_*.py"),
    ]
    assert files
    named = {
        node.name
        for path in files
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    assert sorted(named - set(TESTS)) == []


def test_every_row_has_a_test_or_says_why():
    bare = [rule for rule, functions, tests in rows(PAGE) if functions and not tests]
    assert bare == []


def test_all_sections_of_cip_5_and_the_decisions_have_rows():
    rules = " ".join(rule for rule, _, _ in rows(PAGE))
    sections = ["3.1", "3.2", "3.3", "4.1", "4.2", "4.3", "5.1", "5.2", "5.3", "5.4"]
    sections += ["6.1", "6.2", "6.3", "6.4", "6.5", "7", "8"]
    wanted = [f"§{section} " for section in sections]
    wanted += [f"D{number} " for number in range(18, 28)]
    assert [name for name in wanted if name not in rules] == []


def test_a_name_that_is_not_there_is_found_out():
    with pytest.raises(AttributeError):
        resolve("timers.lane.not_there")
    table = "| rule | function | test |\n| --- | --- | --- |\n| a | `b.c` | `t` |"
    assert list(rows(table)) == [("a", ["b.c"], ["t"])]
