"""docs/loop.md: what it prints comes out, at the prompt, in files, of the loop."""

import io
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from node.cli import main as command_line
from node.testing import Devnet
from node.testing.console.prompt import Prompt
from node.testing.console.statements import LineReader
from tests.console_blocks import blocks, is_what_came
from tests.doc_runner import files, page, save

PAGE = page("loop.md")
SHOWN = [code for language, code in blocks(PAGE) if language == "console"]
TEXTS = [code for language, code in blocks(PAGE) if language == "text"]
PIECES = [code for language, code in blocks(PAGE) if language == "py"]
FAILING = "tests/test_nobody.py"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The folder of somebody who follows the page."""
    for name, code in files(PAGE).items():
        if name != FAILING:
            save(tmp_path, name, code)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typed_at(shown: str) -> list[str]:
    """The lines that are typed at the prompts of a block."""
    return re.findall(r"^(?:>>>|\.\.\.) (?!devnet of)(.*)$", shown, re.MULTILINE)


def transcript(chain, lines) -> str:
    """What a terminal shows of a session."""
    out = io.StringIO()
    prompt = Prompt(chain, io.StringIO(), out, out)
    prompt._is_terminal = True
    with prompt._lines():
        reader = LineReader(is_prompt=True)
        for line in lines:
            out.write(f">>> {line}\n")
            prompt._all(reader.push(line))
    return out.getvalue()


def test_sessions_at_the_prompt_answer_as_printed(project):
    answers = [
        shown for shown in SHOWN if shown.startswith("$ cowboy-devnet console\n")
    ]
    assert len(answers) == 2
    for shown in answers:
        with Devnet(strict=True) as chain:
            came = transcript(chain, typed_at(shown))
        printed = shown.partition("\n")[2]
        assert is_what_came(printed, came), came
    saved = (project / "tests" / "test_winner.py").read_text()
    (printed,) = [piece for piece in PIECES if piece.startswith('"""')]
    assert saved == printed


def test_the_words_of_the_page_are_those_of_the_commands():
    context = command_line.make_context("cowboy-devnet", ["status"])
    known = {
        flag
        for name in ("dev", "console", "bundle", "deploy")
        for option in command_line.get_command(context, name).params
        for flag in option.opts
    }
    of_pytest = {"--devnet-console", "--pdb"}
    assert set(re.findall(r"--[a-z][a-z-]*", PAGE)) <= known | of_pytest


@pytest.mark.slow
def test_a_failed_test_is_asked_as_printed(project):
    (shown,) = [shown for shown in SHOWN if shown.startswith("$ pytest")]
    save(project, FAILING, files(PAGE)[FAILING])
    lines = "".join(f"{line}\n" for line in typed_at(shown))
    plugin = ["-p", "node.testing.plugin", "-p", "no:cacheprovider"]
    words = shown.partition("\n")[0].split()[2:]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *words],
        input=lines,
        capture_output=True,
        text=True,
        check=False,
    )
    told = shown.split("\n\n", 1)[1]
    answers = [line for line in told.splitlines() if not line.startswith((">>> ", "<"))]
    title = re.search(r"^>>> devnet of .*$", told, re.MULTILINE)[0]
    assert f"{title}\n" + "".join(f"{line}\n" for line in answers) in done.stdout
    again = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, "tests/test_two_votes.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in again.stdout, again.stdout


def until(process, wanted):
    """The lines of a loop up to one that begins with a word."""
    lines = ""
    while True:
        line = process.stdout.readline()
        assert line, lines
        lines += line
        if line.startswith(wanted):
            return lines


@pytest.mark.slow
def test_a_new_project_begins_as_the_page_says(tmp_path):
    node = [sys.executable, "-m", "node"]
    subprocess.run([*node, "new", "shop"], cwd=tmp_path, check=True)
    (command,) = re.findall(r"`cowboy-devnet (dev actors/[^`]*)`", PAGE)
    process = subprocess.Popen(
        [*node, *shlex.split(command)],
        cwd=tmp_path / "shop",
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        came = until(process, "tests: ")
        assert "\npulse: deployed at 0x" in came
        assert " passed" in came
        assert "failed" not in came
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


@pytest.mark.slow
def test_the_loop_tells_of_saves_as_printed(project):
    (shown,) = [shown for shown in SHOWN if " dev " in shown.partition("\n")[0]]
    changed, refused = TEXTS
    command, _, begun = shown.partition("\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "node", *command.split()[2:]],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        came = until(process, "tests: ")
        assert is_what_came(begun, came), came
        source = (project / "votes.py").read_text()
        (added,) = [piece for piece in PIECES if piece.startswith("    def")]
        Path("votes.py").write_text(f"{source}\n{added}")
        came = until(process, "tests: ")
        assert is_what_came(changed, came), came
        Path("votes.py").write_text(
            "class Votes:\n    def share(self):\n        return 0.5\n"
        )
        came = until(process, "  votes.py")
        assert is_what_came(refused, came), came
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 0
