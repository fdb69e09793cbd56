"""`check --format`: what it refuses, as programs read it."""

import json
import os

import fastjsonschema
import pytest
from click.testing import CliRunner

from node.cli import main
from tests.sarif import require_sarif
from tests.unit.test_github_commands import read

REFUSED = """import os
x = 1.5
def f():
    e = "☃"; y = input("ü")
class A(dict):
    pass
"""
HINTED = "class Box:\n    def run(self):\n        self.storage['d']['k'] = 1\n"
FINE = "def run():\n    pass\n"


@pytest.fixture
def check(tmp_path, monkeypatch):
    """Run `check` in a folder of its own, on files with these texts."""
    monkeypatch.chdir(tmp_path)

    def run(form, code=1, **files):
        names = []
        for name, text in files.items():
            path = tmp_path / "actors" / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            names.append(f"actors/{name}.py")
        done = CliRunner().invoke(main, ["check", *names, "--format", form])
        assert done.exit_code == code, done.output
        return done.stdout

    return run


def places(log):
    """Rule, text of the place and message of each result."""
    (run,) = log["runs"]
    for result in run["results"]:
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        region = physical["region"]
        lines = REFUSED.splitlines()
        assert physical["artifactLocation"]["uri"] == "actors/bad.py"
        assert region["startLine"] == region["endLine"]
        line = lines[region["startLine"] - 1]
        text = line[region["startColumn"] - 1 : region["endColumn"] - 1]
        assert (
            run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]
            == (result["ruleId"])
        )
        yield result["ruleId"], text, result["message"]["text"]


def test_sarif_is_what_its_schema_wants(check):
    """SARIF 2.1.0, by the schema of OASIS."""
    require_sarif(json.loads(check("sarif", bad=REFUSED, fine=FINE, hinted=HINTED)))
    require_sarif(json.loads(check("sarif", 0, fine=FINE)))


def test_the_schema_refuses_what_is_none():
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        require_sarif({"version": "2.1.0", "runs": [{"results": []}]})


def test_sarif_has_each_refusal_with_what_it_is_about(check):
    found = list(places(json.loads(check("sarif", bad=REFUSED))))
    assert [(rule, text) for rule, text, _ in found] == [
        ("the-module-os-is-not-available", "import os"),
        ("floats-do-not-exist-in-actors", "1.5"),
        ("an-actor-has-no-input", "input"),
        ("a-base-class-that-is-none-of-this-module-s-no-exception-and-of-no-library",
         "dict"),
    ]  # fmt: skip
    assert found[2][2] == "an actor has no input; instead: the payload"


def test_columns_count_characters_and_not_bytes(check):
    """`ü` and `☃` are one each; JSON has bytes from 0, as the compiler counts."""
    text = 'x = "☃ü"; y = input\n'
    log = json.loads(check("sarif", snow=text))
    region = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert (region["startColumn"], region["endColumn"]) == (15, 20)
    assert log["runs"][0]["columnKind"] == "unicodeCodePoints"
    (refusal,) = json.loads(check("json", snow=text))["refusals"]
    assert (refusal["column"], refusal["end_column"]) == (17, 22)


def test_a_hint_is_a_warning(check):
    """docs/language.md: a write into what storage gave is lost."""
    log = json.loads(check("sarif", 0, hinted=HINTED))
    (result,) = log["runs"][0]["results"]
    assert (result["level"], result["ruleId"]) == ("warning", "probable-mistake")
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
    name, properties, message = read(check("github", 0, hinted=HINTED).strip())
    assert (name, properties["line"]) == ("warning", "3")
    assert "changes a copy" in message


def test_github_gets_an_annotation_for_each_refusal(check):
    lines = check("github", bad=REFUSED, fine=FINE).splitlines()
    every = [read(line) for line in lines]
    assert [name for name, _, _ in every] == ["error"] * 4
    assert every[2] == (
        "error",
        {
            "file": "actors/bad.py",
            "line": "4",
            "endLine": "4",
            "col": "18",
            "endColumn": "22",
            "title": "cowboy-devnet check: an-actor-has-no-input",
        },
        "an actor has no input; instead: the payload",
    )


def test_json_is_a_line_for_each_file(check):
    bad, fine = map(json.loads, check("json", bad=REFUSED, fine=FINE).splitlines())
    assert (bad["file"], fine["file"]) == ("actors/bad.py", "actors/fine.py")
    assert (bad["accepted"], fine["accepted"]) == (False, True)
    assert [one["line"] for one in bad["refusals"]] == [1, 2, 4, 5]
    assert [one["end_line"] for one in bad["refusals"]] == [1, 2, 4, 5]


def test_a_block_is_told_by_its_first_line(check):
    text = "class A:\n    def __del__(self):\n        pass\n        pass\n"
    (refusal,) = json.loads(check("json", long=text))["refusals"]
    assert (refusal["line"], refusal["end_line"]) == (2, 2)
    assert refusal["end_column"] == len("    def __del__(self):")


@pytest.mark.parametrize(
    "text",
    ["", "\n", "(", "x = (\n", "\ufeffx = 1.5\n", "x = 1.5", "\r\nx = 1.5\r\n", "é = 1",
     "x = '''\n", "f'{1:.2f}'\n", "x = " + "(" * 200 + ")" * 200, "\f\nx=1.5\n"],
)  # fmt: skip
@pytest.mark.parametrize("form", ["json", "sarif", "github"])
def test_every_place_lies_in_its_file(check, form, text):
    shown = check(form, code=0 if not text.strip() else 1, odd=text)
    if form == "sarif":
        log = json.loads(shown)
        require_sarif(log)
        lines = text.splitlines() or [""]
        for result in log["runs"][0]["results"]:
            region = result["locations"][0]["physicalLocation"]["region"]
            assert 1 <= region["startLine"] <= region["endLine"] <= len(lines)
            line = lines[region["endLine"] - 1]
            assert 1 <= region["startColumn"] <= region["endColumn"] <= len(line) + 2


def test_a_file_outside_is_told_by_its_whole_path(check, tmp_path, monkeypatch):
    check("json", bad=REFUSED)
    inside = tmp_path / "elsewhere"
    inside.mkdir()
    monkeypatch.chdir(inside)
    file = tmp_path / "actors" / "bad.py"
    for form, told in (("json", file.as_posix()), ("sarif", file.as_uri())):
        done = CliRunner().invoke(main, ["check", "../actors/bad.py", "--format", form])
        assert told in done.stdout


def test_json_and_another_form_exclude_each_other(check):
    check("json", bad=REFUSED)
    words = ["check", "actors/bad.py", "--json", "--format", "sarif"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert "--json and --format sarif exclude each other" in done.output


@pytest.mark.parametrize("form", ["human", "json", "sarif", "github"])
def test_a_file_that_cannot_be_read_hides_nothing_of_the_others(check, form):
    """docs/editors.md: exit code 2, and all that is to be said of the others."""
    check("json", bad=REFUSED, fine=FINE)
    words = ["actors", "actors/nowhere.py", "actors/bad.py", "actors/fine.py"]
    done = CliRunner().invoke(main, ["check", *words, "--format", form])
    assert done.exit_code == 2
    assert done.output.count("floats do not exist in actors") == 1
    reasons = {"actors": "Is a directory", "nowhere.py": "No such file or directory"}
    for name, reason in reasons.items():
        (line,) = [one for one in done.output.splitlines() if reason in one]
        assert f"the file cannot be read: {reason}" in line
        if form != "sarif":
            assert name in line


def test_a_name_that_is_no_text_hides_nothing(check, tmp_path):
    check("json", 0, fine=FINE)
    named = os.fsencode(tmp_path / "actors") + b"/\xff.py"
    with open(named, "w", encoding="utf-8") as file:  # noqa: PTH123 - by its bytes
        file.write(REFUSED)
    words = ["check", os.fsdecode(b"actors/\xff.py"), "actors/fine.py", "--format"]
    log = json.loads(CliRunner().invoke(main, [*words, "sarif"]).stdout)
    require_sarif(log)
    places = [one["locations"][0] for one in log["runs"][0]["results"]]
    assert {one["physicalLocation"]["artifactLocation"]["uri"] for one in places} == {
        "actors/%FF.py"
    }


def test_programs_are_told_which_file_cannot_be_read(check):
    check("json", 0, fine=FINE)
    words = ["check", "actors/nowhere.py", "actors/fine.py", "--format"]
    first, second = CliRunner().invoke(main, [*words, "json"]).stdout.splitlines()
    assert json.loads(second)["accepted"]
    (refusal,) = json.loads(first)["refusals"]
    assert (refusal["line"], refusal["column"]) == (1, 0)
    log = json.loads(CliRunner().invoke(main, [*words, "sarif"]).stdout)
    require_sarif(log)
    (result,) = log["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "actors/nowhere.py"


def test_what_comes_through_a_pipe_is_judged_by_what_came(check):
    """Its size is that of the source, which a pipe does not tell."""
    check("json", 0, fine=FINE)
    read_end, write_end = os.pipe()
    os.write(write_end, FINE.encode())
    os.close(write_end)
    piped = CliRunner().invoke(main, ["check", f"/dev/fd/{read_end}"]).output
    os.close(read_end)
    plain = CliRunner().invoke(main, ["check", "actors/fine.py"]).output
    assert piped.partition("\n")[2] == plain.partition("\n")[2]
